/* su2_heatbath.h - random SU(2) elements with weight exp(alpha x_0), for the Cabibbo-Marinari
 * heatbath. Common subset of C and CUDA C.
 * P(x_0) ~ sqrt(1 - x_0^2) exp(alpha x_0). For alpha >= 1.7: Kennedy, Pendleton, Phys. Lett. B 156
 * (1985) 393. Below, where its acceptance drops: Creutz, Phys. Rev. D 21 (1980) 2308. Subgroups:
 * Cabibbo, Marinari, Phys. Lett. B 119 (1982) 387.
 * KAON_DRAW_LANES sites (one for a GPU thread) are drawn together, so that the arithmetic
 * vectorises. A rejected lane tries again with the next numbers of its own stream, while the others
 * keep their results. So the result of a lane does not depend on the other lanes. */
#pragma once

#include "lib/math/philox.h"

#ifndef KAON_DRAW_LANES
#define KAON_DRAW_LANES 1
#define KAON_EACH_LANE for (int l = 0; l < 1; l++)
#else
#define KAON_EACH_LANE _Pragma("omp simd") for (int l = 0; l < KAON_DRAW_LANES; l++)
#endif

/* Selects the random bits. site < 0: the lane has no site. */
typedef struct kaon_draw {
  uint64_t seed;
  uint32_t sweep;
  int mu, subgroup;
  const int64_t *site;
} kaon_draw;

/* A trial is rejected with probability below 0.5, so this many rejections never occur. */
enum { KAON_HEATBATH_TRIALS = 200 };
#define KAON_KENNEDY_PENDLETON 1.7

/* Random words of one trial: two blocks of four, [word][lane]. */
static inline KAON_HD void kaon_draw_bits(const kaon_draw *draw, uint32_t trial,
                                          uint32_t bits[8][KAON_DRAW_LANES]) {
  const uint32_t minor = (uint32_t)draw->subgroup << 16 | trial << 1;
  for (uint32_t half = 0; half < 2; half++) KAON_EACH_LANE {
      const kaon_philox r = kaon_random_bits(draw->seed, draw->site[l], KAON_STREAM_HEATBATH,
                                             draw->mu, draw->sweep, minor | half);
      bits[4 * half][l] = r.v[0];
      bits[4 * half + 1][l] = r.v[1];
      bits[4 * half + 2][l] = r.v[2];
      bits[4 * half + 3][l] = r.v[3];
    }
}

/* Creutz: draws x_0 from the exponential, then corrects for the square root by rejection. */
static inline KAON_HD int kaon_draw_creutz(double alpha, double u, double v, double *delta) {
  const double x0 = alpha < 1e-9 ? 2.0 * u - 1.0 : 1.0 + log1p(u * expm1(-2.0 * alpha)) / alpha;
  *delta = 1.0 - x0;
  return v * v <= 1.0 - x0 * x0;
}

/* x[i][lane]: SU(2) elements with weight exp(alpha x_0) times Haar measure. alpha >= 0. */
static inline KAON_HD void kaon_heatbath_su2(const kaon_draw *draw, const double *alpha,
                                             double x[4][KAON_DRAW_LANES]) {
  double delta[KAON_DRAW_LANES], z[KAON_DRAW_LANES], turn[KAON_DRAW_LANES];
  int open[KAON_DRAW_LANES], left = 1;
  for (int l = 0; l < KAON_DRAW_LANES; l++) {
    open[l] = draw->site[l] >= 0;
    delta[l] = 0.0, z[l] = 0.0, turn[l] = 0.0;
  }
  for (uint32_t trial = 0; left && trial < KAON_HEATBATH_TRIALS; trial++) {
    uint32_t bits[8][KAON_DRAW_LANES];
    double fresh[KAON_DRAW_LANES];
    int accepted[KAON_DRAW_LANES];
    kaon_draw_bits(draw, trial, bits);
    KAON_EACH_LANE { /* Kennedy and Pendleton */
      double c, s;
      kaon_cos_sin_2pi(kaon_uniform32(bits[4][l]), &c, &s);
      const double sum = kaon_ln(kaon_uniform(bits[0][l], bits[1][l])) +
                         c * c * kaon_ln(kaon_uniform(bits[2][l], bits[3][l]));
      const double v = kaon_uniform32(bits[5][l]);
      const double a = alpha[l] < KAON_KENNEDY_PENDLETON ? KAON_KENNEDY_PENDLETON : alpha[l];
      fresh[l] = -sum / a;
      accepted[l] = v * v <= 1.0 - 0.5 * fresh[l];
    }
    for (int l = 0; l < KAON_DRAW_LANES; l++)
      if (alpha[l] < KAON_KENNEDY_PENDLETON)
        accepted[l] = kaon_draw_creutz(alpha[l], kaon_uniform(bits[0][l], bits[1][l]),
                                       kaon_uniform32(bits[5][l]), &fresh[l]);
    left = 0;
    for (int l = 0; l < KAON_DRAW_LANES; l++) {
      delta[l] = open[l] ? fresh[l] : delta[l];
      z[l] = open[l] ? 2.0 * kaon_uniform32(bits[6][l]) - 1.0 : z[l];
      turn[l] = open[l] ? kaon_uniform32(bits[7][l]) : turn[l];
      open[l] = open[l] && !accepted[l];
      left |= open[l];
    }
  }
  KAON_EACH_LANE { /* the direction is uniform on the sphere */
    double c, s;
    kaon_cos_sin_2pi(turn[l], &c, &s);
    const double radius2 = delta[l] * (2.0 - delta[l]);
    const double radius = sqrt(radius2 > 0.0 ? radius2 : 0.0);
    const double rho = radius * sqrt(1.0 - z[l] * z[l]);
    x[0][l] = 1.0 - delta[l];
    x[1][l] = rho * c;
    x[2][l] = rho * s;
    x[3][l] = radius * z[l];
  }
}
