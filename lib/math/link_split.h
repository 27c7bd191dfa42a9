/* link_split.h - links of U(3) as a phase and a link of SU(3), u = e^{i theta} v with theta = arg
 * det u / 3, and the size of links. */
#pragma once

#include <math.h>

#include "lib/math/su3_matrix.h"

/* u *= factor; returns its determinant. */
KAON_MATH vcomplex link_scale(vsu3 *u, vreal factor) {
  vcomplex row[3], det = c_make(v_set(0), v_set(0));
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) u->e[i][j] = c_scale(u->e[i][j], factor);
  su3_cross(row, u->e[0], u->e[1]);
  for (int i = 0; i < 3; i++) det = c_conj_fma(row[i], u->e[2][i], det);
  return det;
}

/* u *= phase */
KAON_MATH void link_turn(vsu3 *u, vcomplex phase) {
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) u->e[i][j] = c_mul(phase, u->e[i][j]);
}

/* Returns theta; turn: cos theta and -sin theta. 0 where the determinant is, in masked lanes. */
static inline KAON_HD double link_angle(double re, double im, double turn[2]) {
  const double theta = atan2(im, re) / 3;
  turn[0] = cos(theta);
  turn[1] = -sin(theta);
  return theta;
}

/* Stores tan(theta / 2), the form that hops read (staggered_hop.h). bytes: 8, 4 or 2 (half). */
static inline KAON_HD void link_store_angle(void *to, int64_t at, int bytes, double theta) {
  const double y = tan(theta / 2);
  if (bytes == 8) ((double *)to)[at] = y;
  if (bytes == 4) ((float *)to)[at] = (float)y;
  if (bytes == 2) ((int16_t *)to)[at] = (int16_t)lrint(y * 32767);
}

/* Raises *largest to the largest |component|; returns the sum of their squares. */
KAON_MATH vreal link_size(const vsu3 *u, vreal *largest) {
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      *largest = v_max(*largest, v_max(v_abs(u->e[i][j].re), v_abs(u->e[i][j].im)));
  return su3_re_trace_dagger(u, u);
}
