/* measure.c - sources and meson contractions on the CPU (measure_ops.h). */
#include "dslash/measure/source.h"
#include "lib/core/kernel.h"
#include "lib/cpu/chunks.h"
#include "lib/math/half.h"
#include "lib/math/meson.h"

/* ---- sources: one site and one column at a time ---- */

/* Stores psi into its lane, components KAON_W apart; scale: half only. */
static void store_site(const double psi[24], stored *to, float *scale) {
#if KAON_IS_HALF
  float largest = 0;
  for (int i = 0; i < 24; i++) largest = fmaxf(largest, fabsf((float)psi[i]));
  *scale = largest;
  const float factor = kaon_half_factor(largest);
  for (int i = 0; i < 24; i++) to[i * KAON_W] = (stored)lrintf((float)psi[i] * factor);
#else
  (void)scale;
  for (int i = 0; i < 24; i++) to[i * KAON_W] = (stored)psi[i];
#endif
}

static void source_chunk(const void *args, int64_t begin, int64_t end, double *partial) {
  (void)partial;
  const kaon_source_args *a = args;
  for (int64_t block = begin; block < end; block++)
    for (int k = 0; k < a->nrhs; k++)
      for (int lane = 0; lane < KAON_W; lane++) {
        double psi[24];
        kaon_source_site(a, a->sites[block * KAON_W + lane], k, psi);
        store_site(
            psi, (stored *)a->out.data + kaon_field_index(block, k, 0, lane, a->nrhs, 24, KAON_W),
            KAON_IS_HALF ? a->out.scale + kaon_field_index(block, k, 0, lane, a->nrhs, 1, KAON_W)
                         : NULL);
      }
}

static void source(const kaon_launch *launch, const kaon_source_args *a) {
  chunks_run(launch, a->nblocks, 0, source_chunk, a);
}

/* ---- mesons ---- */

KAON_INLINE void load_column(const kaon_meson_args *a, int64_t block, int part, int column,
                             vcomplex s[4][3]) {
  const int lane = part * KAON_VL;
  const stored *p =
      (const stored *)a->propagator.data + kaon_field_index(block, column, 0, lane, 12, 24, KAON_W);
  vreal *v = (vreal *)s;
  for (int i = 0; i < 24; i++) v[i] = v_load(p + i * KAON_W);
#if KAON_IS_HALF
  const vreal unit =
      v_load_real(a->propagator.scale + kaon_field_index(block, column, 0, lane, 12, 1, KAON_W)) *
      v_set(KAON_HALF_STEP);
  for (int i = 0; i < 24; i++) v[i] = v[i] * unit;
#endif
}

/* Columns are contracted one by one and added in double. */
static void meson_part(const kaon_meson_args *a, int64_t block, int part) {
  double *density = a->density + block * KAON_W + part * KAON_VL;
  for (int l = 0; l < KAON_VL; l++) density[l] = 0;
  for (int k = 0; k < 12; k++) {
    vcomplex s[4][3], pair[4][3];
    real sum[KAON_VL] __attribute__((aligned(64)));
    load_column(a, block, part, k, s);
    if (a->meson == KAON_MESON_PION) {
      v_store_real(sum, meson_pion(s));
    } else {
      const int s0 = k / 3;
      load_column(a, block, part, 3 * (s0 ^ 1) + k % 3, pair);
      v_store_real(sum, meson_rho(s, pair, s0) * v_set(1.0 / 3));
    }
    for (int l = 0; l < KAON_VL; l++) density[l] += (double)sum[l];
  }
}

static void meson_chunk(const void *args, int64_t begin, int64_t end, double *partial) {
  (void)partial;
  for (int64_t block = begin; block < end; block++)
    for (int part = 0; part < KAON_PARTS; part++) meson_part(args, block, part);
}

static void meson(const kaon_launch *launch, const kaon_meson_args *a) {
  chunks_run(launch, a->nblocks, 0, meson_chunk, a);
}

const kaon_measure_ops KAON_EXPORT(kaon_measure_ops) = {.source = source, .meson = meson};
