/* clover_build.h - computes the clover blocks of a site from its links. Written in terms of the
 * backend's sites, like link_paths.h. Packing as in clover.h.
 * In the chiral basis of docs/conventions.md sigma_{ij} = -eps_{ijk} sigma_k and sigma_{k4} = +-
 * sigma_k. So a block is 1 - c sum_k sigma_k G_k with
 *   G = B +- E,   B = (-F_yz, F_xz, -F_xy),   E = (F_xt, F_yt, F_zt):
 *   [[1 - c G_3, h.c.], [-c (G_1 + i G_2), 1 + c G_3]].
 * On anisotropic lattices E has a coefficient of its own: G = B +- r E. */
#pragma once

#include "lib/math/clover_block.h"
#include "lib/math/link_paths.h"

/* b[k], e[k] = B_k, E_k */
KAON_MATH void clover_fields(const kaon_stencil *st, const void *const links[2], const vsites *x,
                             vsu3 b[3], vsu3 e[3]) {
  static const int plane[3][2] = {{1, 2}, {0, 2}, {0, 1}};
  for (int k = 0; k < 3; k++) {
    path_field_strength(st, links, x, plane[k][0], plane[k][1], &b[k]);
    path_field_strength(st, links, x, k, 3, &e[k]);
    if (k == 1) continue;
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++) b[k].e[i][j] = c_make(-b[k].e[i][j].re, -b[k].e[i][j].im);
  }
}

/* Writes the block of one chirality (electric = +r, -r) as 36 reals, KAON_W apart. */
KAON_MATH void clover_store_chirality(const vsu3 b[3], const vsu3 e[3], double electric,
                                      double coefficient, double *to) {
  const vreal one = v_set(1), c = v_set(coefficient), s = v_set(electric);
  for (int i = 0; i < 3; i++) {
    const vreal g = v_fma(s, e[2].e[i][i].re, b[2].e[i][i].re);
    v_store_real(to + i * KAON_W, v_fnma(c, g, one));
    v_store_real(to + (3 + i) * KAON_W, v_fma(c, g, one));
  }
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      double *mixed = to + kaon_block_index(3 + i, j) * KAON_W; /* -c (G_1 + i G_2) */
      const vcomplex g1 = c_make(v_fma(s, e[0].e[i][j].re, b[0].e[i][j].re),
                                 v_fma(s, e[0].e[i][j].im, b[0].e[i][j].im));
      const vcomplex g2 = c_make(v_fma(s, e[1].e[i][j].re, b[1].e[i][j].re),
                                 v_fma(s, e[1].e[i][j].im, b[1].e[i][j].im));
      v_store_real(mixed, c * (g2.im - g1.re));
      v_store_real(mixed + KAON_W, -c * (g1.im + g2.re));
      if (j >= i) continue;
      double *upper = to + kaon_block_index(i, j) * KAON_W;
      double *lower = to + kaon_block_index(3 + i, 3 + j) * KAON_W;
      const vreal re = c * v_fma(s, e[2].e[i][j].re, b[2].e[i][j].re);
      const vreal im = c * v_fma(s, e[2].e[i][j].im, b[2].e[i][j].im);
      v_store_real(upper, -re);
      v_store_real(upper + KAON_W, -im);
      v_store_real(lower, re);
      v_store_real(lower + KAON_W, im);
    }
}
