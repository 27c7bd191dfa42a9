/* link_update.h - Cabibbo-Marinari heatbath and over-relaxation of one link, given its staple.
 * Heatbath: N. Cabibbo, E. Marinari, Phys. Lett. B 119 (1982) 387. Over-relaxation: S. Adler, Phys.
 * Rev. D 23 (1981) 2901; F. Brown, T. Woch, Phys. Rev. Lett. 58 (1987) 2394.
 * Random numbers come from su2_heatbath.h, compiled here for KAON_VL lanes. */
#pragma once

#include "lib/math/su3_matrix.h"

#if KAON_VL > 1
#define KAON_DRAW_LANES KAON_VL
#endif
#include "lib/math/su2_heatbath.h"

typedef struct link_update {
  int overrelax; /* 1: over-relaxation, 0: heatbath */
  double beta;
  kaon_draw draw; /* its subgroup is set here */
} link_update;

/* A separate function, since it is large and used three times. */
#ifdef __CUDACC__
static __device__ __noinline__
#else
__attribute__((noinline)) static
#endif
    vsu2
    link_draw(const link_update *how, int subgroup, vreal alpha) {
  real strength[KAON_VL] __attribute__((aligned(64)));
  real x[4][KAON_VL] __attribute__((aligned(64)));
  v_store_real(strength, alpha);
  kaon_draw draw = how->draw;
  draw.subgroup = subgroup;
  kaon_heatbath_su2(&draw, strength, x);
  vsu2 result;
  for (int i = 0; i < 4; i++) result.a[i] = v_load_real(x[i]);
  return result;
}

/* Returns g = X v^dag for the SU(2) direction v of w = U staple. Heatbath: X is random.
 * Over-relaxation: X = v^dag, which preserves the trace. If the staple vanishes, v = 1. */
KAON_MATH vsu2 link_subgroup_step(const link_update *how, const vsu3 *w, const int subgroup,
                                  const int i, const int j) {
  vsu2 v = su2_part(w, i, j);
  const vreal norm2 = v.a[0] * v.a[0] + v.a[1] * v.a[1] + v.a[2] * v.a[2] + v.a[3] * v.a[3];
  const vreal norm = v_sqrt(norm2);
  const vreal inverse = v_set(1) / v_max(norm, v_set(1e-100));
  for (int c = 0; c < 4; c++) v.a[c] = v.a[c] * inverse;
  v.a[0] = v.a[0] + (v_set(1) - norm * inverse);
  if (how->overrelax) {
    const vsu2 x = {{v.a[0], -v.a[1], -v.a[2], -v.a[3]}};
    return su2_mul_dagger(&x, &v);
  }
  const vsu2 x = link_draw(how, subgroup, norm * v_set(how->beta / 3));
  return su2_mul_dagger(&x, &v);
}

KAON_MATH void link_subgroup(const link_update *how, const int subgroup, const int i, const int j,
                             vsu3 *u, vsu3 *w) {
  const vsu2 g = link_subgroup_step(how, w, subgroup, i, j);
  su2_left_multiply(&g, i, j, u);
  su2_left_multiply(&g, i, j, w);
}

/* Replaces u by its next value, given its staple. */
KAON_MATH void link_next(const link_update *how, const vsu3 *staple, vsu3 *u) {
  vsu3 w;
  su3_mul(&w, u, staple);
  link_subgroup(how, 0, 0, 1, u, &w);
  link_subgroup(how, 1, 1, 2, u, &w);
  link_subgroup(how, 2, 0, 2, u, &w);
  su3_project(u, 0); /* keeps rounding errors from accumulating over sweeps */
}
