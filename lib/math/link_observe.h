/* link_observe.h - what sites give to plaquette and topological charge, and how far a link is from
 * SU(3). Written over the backend's sites, like link_paths.h. */
#ifndef KAON_LIB_MATH_LINK_OBSERVE_H
#define KAON_LIB_MATH_LINK_OBSERVE_H

#include <math.h>

#include "lib/math/link_paths.h"

/* sum[] += Re tr of the space plaquettes, of the time plaquettes, of the links at x. */
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

/* q = KAON_CHARGE_FACTOR tr (F_xy F_zt - F_xz F_yt + F_yz F_xt): the traces of its three products
 * of field strengths, and their signs. */
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

/* worst[0]: the largest |U U^dag - 1|^2; [1]: the largest deviation, [2]: where. At first 0, -1, 0.
 * Of equal deviations the first link. */
static inline KAON_HD void kaon_track_worst(double deviation, double where, double worst[3]) {
  if (!(deviation < 1e300)) deviation = HUGE_VAL; /* NaN and overflow */
  if (deviation > worst[1] || (deviation == worst[1] && where < worst[2])) {
    worst[1] = deviation;
    worst[2] = where;
  }
}

/* One link: su3_unitarity2, su3_det_deviation2, and the sum of its squares. */
static inline KAON_HD void kaon_inspect_link(double unitary, double det, double size, double where,
                                             double worst[3]) {
  if (unitary > worst[0]) worst[0] = unitary;
  /* max() loses a NaN, the sum of squares does not */
  const double larger = unitary > det ? unitary : det;
  kaon_track_worst(larger + 0 * size, where, worst);
}

#endif
