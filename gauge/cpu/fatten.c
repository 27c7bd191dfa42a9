/* fatten.c - fat and long links and their unitarisation on the CPU (gauge_ops.h). */
#if !defined(KAON_PREC_HALF)

#include "gauge/cpu/kernels.h"
#include "lib/cpu/chunks.h"
#include "lib/cpu/sites.h"
#include "lib/math/link_fatten.h"
#include "lib/math/unitary.h"

/* For chunks over both parities: block i of 2 nblocks, where the odd blocks come last. */
static vsites local_site_of(const kaon_stencil *st, int64_t i, int part) {
  return sites_local(st, i >= st->nblocks, i % st->nblocks, part);
}

static void store(const kaon_stencil *st, void *const field[2], const vsites *x, int slot,
                  const vsu3 *u) {
  sites_store((real *)field[x->parity] + kaon_link_index(x->block, slot, 0, x->part * KAON_VL,
                                                         kaon_matrix_blocks(st), 18, KAON_W),
              u);
}

static void stage_part(const kaon_fatten_args *a, const vsites *x) {
  const kaon_stencil *st = a->stencil;
  vsu3 u;
  if (a->stage == KAON_FATTEN_LINK) {
    fat_link(st, a->links, a->from, &a->factors, x, a->mu, &u);
    store(st, a->to, x, a->mu, &u);
    return;
  }
  for (int b = 0; b < 4; b++) {
    if (b == a->mu) continue;
    if (a->stage == KAON_FATTEN_STAPLES)
      fat_staples(st, a->links, x, a->mu, b, &u);
    else
      fat_second_staples(st, a->links, a->from, &a->factors, x, a->mu, b, &u);
    store(st, a->to, x, b, &u);
  }
}

static void stage_chunk(const void *args, int64_t begin, int64_t end, double *partial) {
  const kaon_fatten_args *a = args;
  (void)partial;
  for (int64_t i = begin; i < end; i++)
    for (int part = 0; part < KAON_PARTS; part++) {
      const vsites x = local_site_of(a->stencil, i, part);
      stage_part(a, &x);
    }
}

void KAON_EXPORT(kaon_links_fatten)(const kaon_launch *launch, const kaon_fatten_args *a) {
  chunks_run(launch, 2 * a->stencil->nblocks, 0, stage_chunk, a);
}

static void line_chunk(const void *args, int64_t begin, int64_t end, double *partial) {
  const kaon_line_args *a = args;
  (void)partial;
  for (int64_t i = begin; i < end; i++)
    for (int part = 0; part < KAON_PARTS; part++) {
      const vsites x = local_site_of(a->stencil, i, part);
      for (int mu = 0; mu < 4; mu++) {
        vsu3 u;
        fat_line(a->stencil, a->left, a->right, v_set(a->factor), &x, mu, &u);
        store(a->stencil, a->to, &x, mu, &u);
      }
    }
}

void KAON_EXPORT(kaon_links_line)(const kaon_launch *launch, const kaon_line_args *a) {
  chunks_run(launch, 2 * a->stencil->nblocks, 0, line_chunk, a);
}

static void keep_smallest(double det, double where, double *result) {
  if (det < result[1] || (det == result[1] && where < result[2])) {
    result[1] = det;
    result[2] = where;
  }
}

static void unitarise_lane(const kaon_unitarise_args *a, real *p, double where, double *result) {
  double v[18];
  int fallback = 0;
  for (int c = 0; c < 18; c++) v[c] = (double)p[c * KAON_W];
  const double det = unitary_project(&a->limits, v, &fallback);
  for (int c = 0; c < 18; c++) p[c * KAON_W] = (real)v[c];
  result[0] += fallback;
  result[3] += !isfinite(det);
  keep_smallest(det, where, result);
}

static void unitarise_chunk(const void *args, int64_t begin, int64_t end, double *partial) {
  const kaon_unitarise_args *a = args;
  const kaon_stencil *st = a->stencil;
  partial[1] = HUGE_VAL;
  for (int64_t i = begin; i < end; i++) {
    const int parity = i >= st->nblocks;
    const int64_t block = i % st->nblocks;
    for (int mu = 0; mu < 4; mu++)
      for (int l = 0; l < KAON_W; l++) {
        const int64_t site = a->sites[parity][block * KAON_W + l];
        if (site < 0) continue;
        real *p = (real *)a->links[parity] +
                  kaon_link_index(block, mu, 0, l, kaon_matrix_blocks(st), 18, KAON_W);
        unitarise_lane(a, p, 4.0 * (double)site + mu, partial);
      }
  }
}

void KAON_EXPORT(kaon_links_unitarise)(const kaon_launch *launch, const kaon_unitarise_args *a) {
  const int64_t blocks = 2 * a->stencil->nblocks;
  chunks_run(launch, blocks, KAON_UNITARISE_RESULTS, unitarise_chunk, a);
  double result[KAON_UNITARISE_RESULTS] = {0, HUGE_VAL, 0, 0};
  for (int chunk = 0; chunk < kaon_chunk_count(blocks); chunk++) {
    const double *p = launch->partials + chunk * KAON_UNITARISE_RESULTS;
    result[0] += p[0];
    result[3] += p[3];
    keep_smallest(p[1], p[2], result);
  }
  for (int i = 0; i < KAON_UNITARISE_RESULTS; i++) a->result[i] = result[i];
}

#endif
