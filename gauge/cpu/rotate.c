/* rotate.c - a gauge transformation applied to spinors on the CPU (gauge_ops.h). */
#include "gauge/cpu/kernels.h"
#include "lib/cpu/chunks.h"
#include "lib/cpu/sites.h"
#include "lib/math/half.h"

/* Loads and stores the 24 components of a column in a part of a block; in half with its scale. */
KAON_INLINE void load_spinor(const stored *data, const float *scale, vreal v[24]) {
  for (int i = 0; i < 24; i++) v[i] = v_load(data + i * KAON_W);
#if KAON_IS_HALF
  const vreal unit = v_load_real(scale) * v_set(KAON_HALF_STEP);
  for (int i = 0; i < 24; i++) v[i] = v[i] * unit;
#else
  (void)scale;
#endif
}

KAON_INLINE void store_spinor(stored *data, float *scale, const vreal v[24]) {
#if KAON_IS_HALF
  vreal largest = v_set(0), poison = v_set(0);
  for (int i = 0; i < 24; i++) {
    largest = v_max(largest, v_abs(v[i]));
    poison = v_fma(v[i], v_set(0), poison);
  }
  v_store_real(scale, largest + poison);
  const vreal factor = v_set(KAON_HALF_MAX) / v_max(largest, v_set(KAON_HALF_TINY));
  for (int i = 0; i < 24; i++) v_store_int16(data + i * KAON_W, v[i] * factor);
#else
  (void)scale;
  for (int i = 0; i < 24; i++) v_store_real(data + i * KAON_W, v[i]);
#endif
}

static void rotate_chunk(const void *args, int64_t begin, int64_t end, double *partial) {
  (void)partial;
  const kaon_rotate_args *a = args;
  for (int64_t block = begin; block < end; block++)
    for (int part = 0; part < KAON_PARTS; part++) {
      const int lane = part * KAON_VL;
      const real *from = (const real *)a->g + kaon_field_index(block, 0, 0, lane, 1, 18, KAON_W);
      vsu3 g;
      for (int i = 0; i < 18; i++) ((vreal *)&g)[i] = v_load_real(from + i * KAON_W);
      for (int k = 0; k < a->nrhs; k++) {
        if (!kaon_inner_gate_open(&a->gate, k)) continue;
        const int64_t at = kaon_field_index(block, k, 0, lane, a->nrhs, 24, KAON_W);
        const int64_t at_scale = kaon_field_index(block, k, 0, lane, a->nrhs, 1, KAON_W);
        vcomplex v[4][3];
        load_spinor((const stored *)a->in.data + at, KAON_IS_HALF ? a->in.scale + at_scale : NULL,
                    (vreal *)v);
        for (int s = 0; s < 4; s++) {
          if (a->dagger)
            su3_rotate(&g, 1, v[s]);
          else
            su3_rotate(&g, 0, v[s]);
        }
        store_spinor((stored *)a->out.data + at, KAON_IS_HALF ? a->out.scale + at_scale : NULL,
                     (const vreal *)v);
      }
    }
}

void KAON_EXPORT(kaon_links_rotate)(const kaon_launch *launch, const kaon_rotate_args *a) {
  chunks_run(launch, a->nblocks, 0, rotate_chunk, a);
}
