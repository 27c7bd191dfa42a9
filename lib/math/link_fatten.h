/* link_fatten.h - fat and long links: staples of staples, and products along a line. Written in
 * terms of vsites, sites_step and sites_link of the backend, like link_paths.h.
 *
 * V(x) is a sum of paths from x to x + mu. Its staples in direction nu are
 *   (T_nu V)(x) = U_nu(x) V(x+nu) U_nu(x+mu)^dag + U_nu(x-nu)^dag V(x-nu) U_nu(x-nu+mu).
 * T_nu is linear in V, so sums are taken first. Let {b, c, d} be the directions other than mu.
 *   S_b = T_b U_mu                                                            (STAPLES)
 *   X_b = three U_mu + lepage S_b + five (S_c + S_d)
 *         + seven (T_c S_d + T_d S_c)                                         (SECOND_STAPLES)
 *   fat = (one - 6 lepage) U_mu + sum_b T_b X_b                               (LINK)
 * The result has every path of three, five and seven links once, and the Lepage paths, which use
 * one direction twice. This takes 12 staples instead of 18. T_b S_b also contains the paths that go
 * out and return. For links in U(3) these are U_mu, twice for each b; the term 6 lepage subtracts
 * them. */
#pragma once

#include "lib/math/fatten_factors.h"
#include "lib/math/su3_matrix.h"

/* A GPU has one copy of the loop body, to save registers and code. */
#ifdef __CUDACC__
#define FATTEN_LOOP _Pragma("unroll 1")
#else
#define FATTEN_LOOP
#endif

/* sum += factor T_nu V; V is in slot `slot` of `field`. */
KAON_MATH void fat_add_staples(const kaon_stencil *st, const void *const links[2],
                               const void *const field[2], int slot, const vsites *x, int mu,
                               int nu, vreal factor, vsu3 *sum) {
  vsu3 a, v, av;
  const vsites x_mu = sites_step(st, x, mu), up = sites_step(st, x, nu);
  sites_link(st, links, x, nu, &a);
  sites_link(st, field, &up, slot, &v);
  su3_mul(&av, &a, &v);
  sites_link(st, links, &x_mu, nu, &a);
  su3_mul_dagger(&v, &av, &a);
  su3_add_scaled(sum, factor, &v);
  const vsites down = sites_step(st, x, nu + 4), down_mu = sites_step(st, &x_mu, nu + 4);
  sites_link(st, links, &down, nu, &a);
  sites_link(st, field, &down, slot, &v);
  su3_dagger_mul(&av, &a, &v);
  sites_link(st, links, &down_mu, nu, &a);
  su3_mul(&v, &av, &a);
  su3_add_scaled(sum, factor, &v);
}

/* sum += factor V at x */
KAON_MATH void fat_add_link(const kaon_stencil *st, const void *const field[2], int slot,
                            const vsites *x, vreal factor, vsu3 *sum) {
  vsu3 v;
  sites_link(st, field, x, slot, &v);
  su3_add_scaled(sum, factor, &v);
}

/* S_b */
KAON_MATH void fat_staples(const kaon_stencil *st, const void *const links[2], const vsites *x,
                           int mu, int b, vsu3 *sum) {
  su3_zero(sum);
  fat_add_staples(st, links, links, mu, x, mu, b, v_set(1), sum);
}

/* X_b, from the S stored in the slots of their directions. */
KAON_MATH void fat_second_staples(const kaon_stencil *st, const void *const links[2],
                                  const void *const staples[2], const kaon_fat_factors *f,
                                  const vsites *x, int mu, int b, vsu3 *sum) {
  su3_zero(sum);
  fat_add_link(st, links, mu, x, v_set(f->three), sum);
  fat_add_link(st, staples, b, x, v_set(f->lepage), sum);
  FATTEN_LOOP
  for (int c = 0; c < 4; c++) {
    if (c == mu || c == b) continue;
    fat_add_link(st, staples, c, x, v_set(f->five), sum);
    fat_add_staples(st, links, staples, 6 - mu - b - c, x, mu, c, v_set(f->seven), sum);
  }
}

/* The fat link, from the X stored in the slots of their directions. */
KAON_MATH void fat_link(const kaon_stencil *st, const void *const links[2],
                        const void *const bent[2], const kaon_fat_factors *f, const vsites *x,
                        int mu, vsu3 *sum) {
  su3_zero(sum);
  fat_add_link(st, links, mu, x, v_set(f->one - 6 * f->lepage), sum);
  FATTEN_LOOP
  for (int b = 0; b < 4; b++)
    if (b != mu) fat_add_staples(st, links, bent, b, x, mu, b, v_set(1), sum);
}

/* product = factor A_mu(x) B_mu(x+mu) */
KAON_MATH void fat_line(const kaon_stencil *st, const void *const left[2],
                        const void *const right[2], vreal factor, const vsites *x, int mu,
                        vsu3 *product) {
  vsu3 a, b, ab;
  const vsites ahead = sites_step(st, x, mu);
  sites_link(st, left, x, mu, &a);
  sites_link(st, right, &ahead, mu, &b);
  su3_mul(&ab, &a, &b);
  su3_zero(product);
  su3_add_scaled(product, factor, &ab);
}
