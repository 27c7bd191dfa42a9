/* link_paths.h - products of links along short paths: plaquettes, staples, the clover-leaf field
 * strength. Written in terms of vsites, sites_step and sites_link of the backend, whose header must
 * be included first (lib/cpu/sites.h, lib/cuda/memory/sites.h). Leaves and normalisation:
 * docs/conventions.md. */
#pragma once

#include "lib/math/su3_matrix.h"

/* Re tr U_mu(x) U_nu(x+mu) U_mu(x+nu)^dag U_nu(x)^dag */
KAON_MATH vreal path_plaquette(const kaon_stencil *st, const void *const links[2], const vsites *x,
                               int mu, int nu) {
  vsu3 a, b, ab, dc;
  const vsites x_mu = sites_step(st, x, mu), x_nu = sites_step(st, x, nu);
  sites_link(st, links, x, mu, &a);
  sites_link(st, links, &x_mu, nu, &b);
  su3_mul(&ab, &a, &b);
  sites_link(st, links, x, nu, &a);
  sites_link(st, links, &x_nu, mu, &b);
  su3_mul(&dc, &a, &b);
  return su3_re_trace_dagger(&ab, &dc);
}

/* staple += the two paths that close U_mu(x) to a plaquette in the (mu, nu) plane:
 *   U_nu(x+mu) U_mu(x+nu)^dag U_nu(x)^dag + U_nu(x+mu-nu)^dag U_mu(x-nu)^dag U_nu(x-nu). */
KAON_MATH void path_add_staple(const kaon_stencil *st, const void *const links[2], const vsites *x,
                               int mu, int nu, vsu3 *staple) {
  vsu3 a, b, ab, abc;
  const vsites x_mu = sites_step(st, x, mu), x_nu = sites_step(st, x, nu);
  sites_link(st, links, &x_mu, nu, &a);
  sites_link(st, links, &x_nu, mu, &b);
  su3_mul_dagger(&ab, &a, &b);
  sites_link(st, links, x, nu, &a);
  su3_mul_dagger(&abc, &ab, &a);
  su3_add(staple, &abc);
  const vsites down = sites_step(st, x, nu + 4), down_mu = sites_step(st, &x_mu, nu + 4);
  sites_link(st, links, &down, mu, &a);
  sites_link(st, links, &down_mu, nu, &b);
  su3_mul(&ab, &a, &b); /* (U_nu^dag U_mu^dag) = (U_mu U_nu)^dag */
  sites_link(st, links, &down, nu, &a);
  su3_dagger_mul(&abc, &ab, &a);
  su3_add(staple, &abc);
}

/* q += the product of four links along a closed path from x. Steps are directions 0..7. */
KAON_MATH void path_add_loop(const kaon_stencil *st, const void *const links[2], const vsites *x,
                             const int dirs[4], vsu3 *q) {
  vsites at = *x;
  vsu3 product, next, u;
  for (int i = 0; i < 4; i++) {
    const int mu = dirs[i] % 4, back = dirs[i] >= 4;
    const vsites to = sites_step(st, &at, dirs[i]);
    sites_link(st, links, back ? &to : &at, mu, &u);
    if (i == 0) {
      su3_unit(&next);
      if (back) {
        su3_mul_dagger(&product, &next, &u);
      } else {
        product = u;
      }
    } else {
      if (back) {
        su3_mul_dagger(&next, &product, &u);
      } else {
        su3_mul(&next, &product, &u);
      }
      product = next;
    }
    at = to;
  }
  su3_add(q, &product);
}

/* f = F_{mu nu}(x) = (Q - Q^dag) / 8i, Hermitian. The trace is not removed. */
KAON_MATH void path_field_strength(const kaon_stencil *st, const void *const links[2],
                                   const vsites *x, int mu, int nu, vsu3 *f) {
  const int leaves[4][4] = {{mu, nu, mu + 4, nu + 4},
                            {nu, mu + 4, nu + 4, mu},
                            {mu + 4, nu + 4, mu, nu},
                            {nu + 4, mu, nu, mu + 4}};
  vsu3 q;
  su3_zero(&q);
  for (int i = 0; i < 4; i++) path_add_loop(st, links, x, leaves[i], &q);
  const vreal eighth = v_set(0.125);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      /* (q - conj(q^T)) / 8i; 1/i maps (re, im) to (im, -re) */
      f->e[i][j].re = (q.e[i][j].im + q.e[j][i].im) * eighth;
      f->e[i][j].im = (q.e[j][i].re - q.e[i][j].re) * eighth;
    }
}
