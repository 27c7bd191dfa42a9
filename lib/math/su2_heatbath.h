/* su2_heatbath.h - random SU(2) elements with weight exp(alpha x_0) for the Cabibbo-Marinari
 * heatbath, in the common subset of C and CUDA C.
 * P(x_0) ~ sqrt(1 - x_0^2) exp(alpha x_0): Kennedy, Pendleton, Phys. Lett. B 156 (1985) 393, for
 * alpha >= 1.7; below, where its acceptance falls, Creutz, Phys. Rev. D 21 (1980) 2308. Subgroups:
 * Cabibbo, Marinari, Phys. Lett. B 119 (1982) 387. */
#ifndef KAON_LIB_MATH_SU2_HEATBATH_H
#define KAON_LIB_MATH_SU2_HEATBATH_H

#include "lib/math/philox.h"

/* Where the random bits of one draw come from. */
typedef struct kaon_draw {
  uint64_t seed;
  int64_t site;
  uint32_t sweep;
  int mu, subgroup;
} kaon_draw;

/* A trial is refused with probability below 0.5, so this many refusals do not happen. */
enum { KAON_HEATBATH_TRIALS = 200 };

/* One trial for delta = 1 - x_0 >= 0; returns 1 if accepted. u: three uniforms in (0, 1). */
static inline KAON_HD int kaon_heatbath_trial(double alpha, const double u[4], double *delta) {
  if (alpha >= 1.7) { /* Kennedy and Pendleton */
    const double c = cos(6.283185307179586476925 * u[2]);
    *delta = -(log(u[0]) + c * c * log(u[1])) / alpha;
    return u[3] * u[3] <= 1.0 - 0.5 * *delta;
  }
  /* Creutz: x_0 from the exponential alone, then the square root by rejection. */
  const double x0 =
      alpha < 1e-9 ? 2.0 * u[0] - 1.0 : 1.0 + log1p(u[0] * expm1(-2.0 * alpha)) / alpha;
  *delta = 1.0 - x0;
  return u[3] * u[3] <= 1.0 - x0 * x0;
}

/* x: an SU(2) element with weight exp(alpha x_0) Haar. */
static inline KAON_HD void kaon_heatbath_su2(double alpha, const kaon_draw *draw, double x[4]) {
  double delta = 0.0;
  kaon_philox bits = {{0, 0, 0, 0}};
  for (uint32_t trial = 0; trial < KAON_HEATBATH_TRIALS; trial++) {
    const uint32_t minor = (uint32_t)draw->subgroup << 16 | trial << 1;
    const kaon_philox first = kaon_random_bits(draw->seed, draw->site, KAON_STREAM_HEATBATH,
                                               draw->mu, draw->sweep, minor);
    bits = kaon_random_bits(draw->seed, draw->site, KAON_STREAM_HEATBATH, draw->mu, draw->sweep,
                            minor | 1);
    const double u[4] = {kaon_uniform(first.v[0], first.v[1]), kaon_uniform(first.v[2], first.v[3]),
                         kaon_uniform32(bits.v[0]), kaon_uniform32(bits.v[1])};
    if (kaon_heatbath_trial(alpha, u, &delta)) break;
  }
  /* The direction of the other three components is uniform on the sphere. */
  const double radius2 = delta * (2.0 - delta);
  const double radius = sqrt(radius2 > 0.0 ? radius2 : 0.0);
  const double z = 2.0 * kaon_uniform32(bits.v[2]) - 1.0;
  const double phi = 6.283185307179586476925 * kaon_uniform32(bits.v[3]);
  const double rho = radius * sqrt(1.0 - z * z);
  x[0] = 1.0 - delta;
  x[1] = rho * cos(phi);
  x[2] = rho * sin(phi);
  x[3] = radius * z;
}

#endif
