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

/* staple += the two paths that close U_mu(x) to a plaquette in the (mu, nu) plane, the lower one
 * times s = +1 or -1:
 *   U_nu(x+mu) U_mu(x+nu)^dag U_nu(x)^dag + s U_nu(x+mu-nu)^dag U_mu(x-nu)^dag U_nu(x-nu). */
KAON_MATH void path_add_staple(const kaon_stencil *st, const void *const links[2], const vsites *x,
                               int mu, int nu, const int s, vsu3 *staple) {
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
  su3_add_signed(staple, &abc, s);
}

/* f = F_{mu nu}(x) = (Q - Q^dag) / 8i, Hermitian; Q is the sum of the four leaves. The trace is not
 * removed. With D the upper less the lower path of a staple, U_mu(x) D(x) is the first leaf less the
 * adjoint of the fourth, and D(x-mu) U_mu(x-mu) the second less that of the third. */
KAON_MATH void path_field_strength(const kaon_stencil *st, const void *const links[2],
                                   const vsites *x, int mu, int nu, vsu3 *f) {
  const vsites back = sites_step(st, x, mu + 4);
  vsu3 u, d, q, p;
  su3_zero(&d);
  path_add_staple(st, links, x, mu, nu, -1, &d);
  sites_link(st, links, x, mu, &u);
  su3_mul(&q, &u, &d);
  su3_zero(&d);
  path_add_staple(st, links, &back, mu, nu, -1, &d);
  sites_link(st, links, &back, mu, &u);
  su3_mul(&p, &d, &u);
  su3_add(&q, &p);
  const vreal eighth = v_set(0.125);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      /* (q - conj(q^T)) / 8i; 1/i maps (re, im) to (im, -re) */
      f->e[i][j].re = (q.e[i][j].im + q.e[j][i].im) * eighth;
      f->e[i][j].im = (q.e[j][i].re - q.e[i][j].re) * eighth;
    }
}
