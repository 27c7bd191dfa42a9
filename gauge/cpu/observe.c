/* observe.c - plaquette, topological charge, Polyakov loop and the check for SU(3) on the CPU
 * (gauge_ops.h). */
#if defined(KAON_PREC_DOUBLE) /* link physics exists only in double */

#include "gauge/cpu/kernels.h"
#include "lib/cpu/chunks.h"
#include "lib/cpu/sites.h"
#include "lib/math/link_observe.h"

static const void *const *links_of(const kaon_links_args *a) {
  return (const void *const *)a->links;
}

enum { MEANS = KAON_PLAQUETTE_MEANS };

static void plaquette_chunk(const void *args, int64_t begin, int64_t end, double *partial) {
  const kaon_links_args *a = args;
  for (int64_t block = begin; block < end; block++)
    for (int part = 0; part < KAON_PARTS; part++) {
      const vsites x = sites_local(a->stencil, a->parity, block, part);
      vreal sum[MEANS] = {v_set(0), v_set(0), v_set(0)};
      path_add_plaquettes(a->stencil, links_of(a), &x, sum);
      for (int i = 0; i < MEANS; i++) {
        vreal parts[KAON_EXACT_PARTS];
        KAON_EXACT_SPLIT(a->scale, sum[i], parts);
        for (int p = 0; p < KAON_EXACT_PARTS; p++) partial[p * MEANS + i] += v_sum(parts[p]);
      }
    }
}

void KAON_EXPORT(kaon_links_plaquette)(const kaon_launch *launch, const kaon_links_args *a) {
  chunks_run(launch, a->stencil->nblocks, KAON_PLAQUETTE_RESULTS, plaquette_chunk, a);
  chunks_sum(launch, a->stencil->nblocks, KAON_PLAQUETTE_RESULTS, a->result);
}

static void charge_chunk(const void *args, int64_t begin, int64_t end, double *partial) {
  const kaon_links_args *a = args;
  for (int64_t block = begin; block < end; block++)
    for (int part = 0; part < KAON_PARTS; part++) {
      const vsites x = sites_local(a->stencil, a->parity, block, part);
      for (int i = 0; i < 3; i++)
        partial[0] +=
            kaon_charge_sign(i) * v_sum(path_charge_product(a->stencil, links_of(a), &x, i));
    }
}

void KAON_EXPORT(kaon_links_charge)(const kaon_launch *launch, const kaon_links_args *a) {
  chunks_run(launch, a->stencil->nblocks, KAON_CHARGE_RESULTS, charge_chunk, a);
  chunks_sum(launch, a->stencil->nblocks, KAON_CHARGE_RESULTS, a->result);
  a->result[0] *= KAON_CHARGE_FACTOR;
}

/* tr g(x) U_t(x) at the ends of the lines: the sites with index (T - 1) slices and above. */
static void polyakov_chunk(const void *args, int64_t begin, int64_t end, double *partial) {
  const kaon_transport_args *a = args;
  const kaon_links_args *on = &a->on;
  const int64_t first = a->slice * a->t;
  for (int64_t block = begin; block < end; block++)
    for (int part = 0; part < KAON_PARTS; part++) {
      const int64_t *site = on->sites + block * KAON_W + part * KAON_VL;
      const vsites x = sites_local(on->stencil, on->parity, block, part);
      vsu3 g, u;
      sites_matrix(on->stencil, (const void *const *)a->g, &x, &g);
      sites_link(on->stencil, links_of(on), &x, 3, &u);
      const vcomplex trace = su3_trace_of_product(&g, &u);
      real re[KAON_VL] __attribute__((aligned(64))), im[KAON_VL] __attribute__((aligned(64)));
      v_store_real(re, trace.re);
      v_store_real(im, trace.im);
      for (int l = 0; l < KAON_VL; l++)
        if (site[l] >= first) {
          partial[0] += re[l];
          partial[1] += im[l];
        }
    }
}

void KAON_EXPORT(kaon_links_polyakov)(const kaon_launch *launch, const kaon_transport_args *a) {
  const int64_t nblocks = a->on.stencil->nblocks;
  chunks_run(launch, nblocks, KAON_POLYAKOV_RESULTS, polyakov_chunk, a);
  chunks_sum(launch, nblocks, KAON_POLYAKOV_RESULTS, a->on.result);
}

static void inspect_chunk(const void *args, int64_t begin, int64_t end, double *partial) {
  const kaon_links_args *a = args;
  partial[1] = -1;
  for (int64_t block = begin; block < end; block++)
    for (int part = 0; part < KAON_PARTS; part++) {
      const int64_t *site = a->sites + block * KAON_W + part * KAON_VL;
      const vsites x = sites_local(a->stencil, a->parity, block, part);
      for (int mu = 0; mu < 4; mu++) {
        vsu3 u;
        sites_link(a->stencil, links_of(a), &x, mu, &u);
        real unitary[KAON_VL] __attribute__((aligned(64)));
        real det[KAON_VL] __attribute__((aligned(64)));
        real size[KAON_VL] __attribute__((aligned(64)));
        v_store_real(unitary, su3_unitarity2(&u));
        v_store_real(det, su3_det_deviation2(&u));
        v_store_real(size, su3_re_trace_dagger(&u, &u));
        for (int l = 0; l < KAON_VL; l++) {
          if (site[l] < 0) continue;
          kaon_inspect_link(unitary[l], det[l], size[l], 4.0 * (double)site[l] + mu, partial);
        }
      }
    }
}

void KAON_EXPORT(kaon_links_inspect)(const kaon_launch *launch, const kaon_links_args *a) {
  const int64_t nblocks = a->stencil->nblocks;
  chunks_run(launch, nblocks, KAON_INSPECT_RESULTS, inspect_chunk, a);
  double worst[KAON_INSPECT_RESULTS] = {0, -1, 0};
  for (int chunk = 0; chunk < kaon_chunk_count(nblocks); chunk++) {
    const double *p = launch->partials + chunk * KAON_INSPECT_RESULTS;
    if (p[0] > worst[0]) worst[0] = p[0];
    kaon_track_worst(p[1], p[2], worst);
  }
  a->result[0] = sqrt(worst[0]);
  a->result[1] = sqrt(worst[1]);
  a->result[2] = worst[2];
}

#endif
