/* split.c - the size of links, and the split of U(3) links into phases and SU(3) links, on the CPU
 * (gauge_ops.h). */
#if defined(KAON_PREC_DOUBLE) /* link physics exists only in double */

#include "gauge/cpu/kernels.h"
#include "lib/cpu/chunks.h"
#include "lib/cpu/sites.h"
#include "lib/math/link_split.h"

static void keep_largest(vreal values, double *largest) {
  real lanes[KAON_VL] __attribute__((aligned(64)));
  v_store_real(lanes, values);
  for (int l = 0; l < KAON_VL; l++)
    if (lanes[l] > *largest) *largest = lanes[l];
}

static void size_chunk(const void *args, int64_t begin, int64_t end, double *partial) {
  const kaon_links_args *a = args;
  vreal largest = v_set(0);
  for (int64_t block = begin; block < end; block++)
    for (int part = 0; part < KAON_PARTS; part++) {
      const vsites x = sites_local(a->stencil, a->parity, block, part);
      vreal sum = v_set(0), parts[KAON_EXACT_PARTS];
      for (int mu = 0; mu < 4; mu++) {
        vsu3 u;
        sites_link(a->stencil, (const void *const *)a->links, &x, mu, &u);
        sum = sum + link_size(&u, &largest);
      }
      KAON_EXACT_SPLIT(a->scale, sum, parts);
      for (int p = 0; p < KAON_EXACT_PARTS; p++) partial[p] += v_sum(parts[p]);
    }
  keep_largest(largest, &partial[KAON_EXACT_PARTS]);
}

void KAON_EXPORT(kaon_links_size)(const kaon_launch *launch, const kaon_links_args *a) {
  const int64_t nblocks = a->stencil->nblocks;
  chunks_run(launch, nblocks, KAON_SIZE_RESULTS, size_chunk, a);
  chunks_sum(launch, nblocks, KAON_SIZE_RESULTS, a->result);
  double *largest = &a->result[KAON_EXACT_PARTS];
  *largest = 0;
  for (int chunk = 0; chunk < kaon_chunk_count(nblocks); chunk++) {
    const double found = launch->partials[chunk * KAON_SIZE_RESULTS + KAON_EXACT_PARTS];
    if (found > *largest) *largest = found;
  }
}

/* Divides the links by their phases, stores these from `at` on, and raises *largest to the largest
 * |theta|. */
static void split_angles(const kaon_split_args *a, vcomplex det, vsu3 *u, int64_t at,
                         double *largest) {
  real re[KAON_VL] __attribute__((aligned(64))), im[KAON_VL] __attribute__((aligned(64)));
  v_store_real(re, det.re);
  v_store_real(im, det.im);
  for (int l = 0; l < KAON_VL; l++) {
    double turn[2];
    const double theta = link_angle(re[l], im[l], turn);
    link_store_angle(a->phase, at + l, a->bytes, theta);
    if (fabs(theta) > *largest) *largest = fabs(theta);
    re[l] = turn[0];
    im[l] = turn[1];
  }
  link_turn(u, c_make(v_load_real(re), v_load_real(im)));
}

static void split_chunk(const void *args, int64_t begin, int64_t end, double *partial) {
  const kaon_split_args *a = args;
  const kaon_stencil *st = a->on.stencil;
  const int64_t all = kaon_matrix_blocks(st);
  for (int64_t block = begin; block < end; block++)
    for (int half = 0; half < 4 * KAON_PARTS; half++) {
      const int mu = half % 4, first = half / 4 * KAON_VL;
      const vsites x = sites_local(st, a->on.parity, block, half / 4);
      vsu3 u;
      sites_link(st, (const void *const *)a->on.links, &x, mu, &u);
      const vcomplex det = link_scale(&u, v_set(a->factor));
      if (a->phase != NULL)
        split_angles(a, det, &u, kaon_link_index(block, mu, 0, first, all, 1, KAON_W), partial);
      sites_store(
          (real *)a->on.links[a->on.parity] + kaon_link_index(block, mu, 0, first, all, 18, KAON_W),
          &u);
    }
}

void KAON_EXPORT(kaon_links_split)(const kaon_launch *launch, const kaon_split_args *a) {
  const int64_t nblocks = a->on.stencil->nblocks;
  chunks_run(launch, nblocks, KAON_SPLIT_RESULTS, split_chunk, a);
  *a->on.result = 0;
  for (int chunk = 0; chunk < kaon_chunk_count(nblocks); chunk++)
    if (launch->partials[chunk] > *a->on.result) *a->on.result = launch->partials[chunk];
}

#endif
