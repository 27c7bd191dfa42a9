/* link_observe.h - contributions of sites to plaquette and topological charge, and the deviation of
 * a link from SU(3). Written in terms of the backend's sites, like link_paths.h. */
#pragma once

#include <math.h>

#include "lib/math/link_paths.h"

/* Adds Re tr at x to sum[]: of the spatial plaquettes, the temporal plaquettes, and the links. */
KAON_MATH void path_add_plaquettes(const kaon_stencil *st, const void *const links[2],
                                   const vsites *x, vreal sum[3]) {
  for (int mu = 0; mu < 4; mu++) {
    vsu3 u;
    sites_link(st, links, x, mu, &u);
    sum[2] = sum[2] + su3_re_trace(&u);
    for (int nu = mu + 1; nu < 4; nu++)
      sum[nu == 3] = sum[nu == 3] + path_plaquette(st, links, x, mu, nu);
  }
}

/* The charge density is q = KAON_CHARGE_FACTOR tr (F_xy F_zt - F_xz F_yt + F_yz F_xt). The
 * functions give the signs and the traces of its three products. */
#define KAON_CHARGE_FACTOR (1.0 / 39.47841760435743447534) /* 4 pi^2 */

static inline KAON_HD double kaon_charge_sign(int product) {
  return product == 1 ? -1 : 1;
}

KAON_MATH vreal path_charge_product(const kaon_stencil *st, const void *const links[2],
                                    const vsites *x, int product) {
  static const int plane[3][4] = {{0, 1, 2, 3}, {0, 2, 1, 3}, {1, 2, 0, 3}};
  const int *p = plane[product];
  vsu3 f, g;
  path_field_strength(st, links, x, p[0], p[1], &f);
  path_field_strength(st, links, x, p[2], p[3], &g);
  return su3_trace_of_product(&f, &g).re;
}

/* Tracks the worst link. worst[0]: the largest |U U^dag - 1|^2; worst[1]: the largest deviation;
 * worst[2]: its position. Initial values are 0, -1, 0. Of equal deviations the first position
 * wins. */
static inline KAON_HD void kaon_track_worst(double deviation, double where, double worst[3]) {
  if (!(deviation < 1e300)) deviation = HUGE_VAL; /* NaN and overflow */
  if (deviation > worst[1] || (deviation == worst[1] && where < worst[2])) {
    worst[1] = deviation;
    worst[2] = where;
  }
}

/* Adds one link: its su3_unitarity2 and su3_det_deviation2, and the sum of its squared elements. */
static inline KAON_HD void kaon_inspect_link(double unitary, double det, double size, double where,
                                             double worst[3]) {
  if (unitary > worst[0]) worst[0] = unitary;
  /* max() drops a NaN; the sum of squares keeps it */
  const double larger = unitary > det ? unitary : det;
  kaon_track_worst(larger + 0 * size, where, worst);
}
