/* test_philox.c - the random numbers: published known answers, uniformity, independent streams.
 * Known answers come from the file kat_vectors of Random123 (Salmon et al., SC'11), philox4x32
 * with 10 rounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "lib/math/philox.h"
#include "lib/math/su2_heatbath.h"
#include "tests/util/test_util.h"

static void answers_are_the_published_ones(void **state) {
  (void)state;
  static const struct {
    kaon_philox counter;
    uint32_t key[2];
    kaon_philox answer;
  } known[] = {{{{0, 0, 0, 0}}, {0, 0}, {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}}},
               {{{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}},
                {0xffffffff, 0xffffffff},
                {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}}},
               {{{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}},
                {0xa4093822, 0x299f31d0},
                {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}}};
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
    const kaon_philox r =
        kaon_philox4x32(known[i].counter, known[i].key[0] | (uint64_t)known[i].key[1] << 32);
    for (int k = 0; k < 4; k++) assert_int_equal(r.v[k], known[i].answer.v[k]);
  }
}

static void uniforms_stay_inside_the_open_interval(void **state) {
  (void)state;
  assert_true(kaon_uniform(0, 0) > 0 && kaon_uniform(0xffffffff, 0xffffffff) < 1);
  assert_true(kaon_uniform32(0) > 0 && kaon_uniform32(0xffffffff) < 1);
  printf("  smallest %.3g, 1 - largest %.3g\n", kaon_uniform(0, 0),
         1 - kaon_uniform(0xffffffff, 0xffffffff));
}

/* Every argument changes the bits: no two of these streams share a counter. */
static void streams_differ_in_every_argument(void **state) {
  (void)state;
  const kaon_philox base = kaon_random_bits(7, 5, KAON_STREAM_WEAK, 2, 3, 4);
  const kaon_philox other[] = {
      kaon_random_bits(8, 5, KAON_STREAM_WEAK, 2, 3, 4),
      kaon_random_bits(7 + (UINT64_C(1) << 32), 5, KAON_STREAM_WEAK, 2, 3, 4),
      kaon_random_bits(7, 6, KAON_STREAM_WEAK, 2, 3, 4),
      kaon_random_bits(7, 5 + (INT64_C(1) << 32), KAON_STREAM_WEAK, 2, 3, 4),
      kaon_random_bits(7, 5, KAON_STREAM_Z4, 2, 3, 4),
      kaon_random_bits(7, 5, KAON_STREAM_WEAK, 1, 3, 4),
      kaon_random_bits(7, 5, KAON_STREAM_WEAK, 2, 2, 4),
      kaon_random_bits(7, 5, KAON_STREAM_WEAK, 2, 3, 5)};
  for (size_t i = 0; i < sizeof other / sizeof other[0]; i++)
    assert_true(other[i].v[0] != base.v[0] && other[i].v[1] != base.v[1]);
}

/* Mean and variance of n numbers, and of Gaussians, to 4 standard deviations of their estimates. */
static void moments_are_those_of_the_distribution(void **state) {
  (void)state;
  enum { N = 200000 };
  double u1 = 0, u2 = 0, g1 = 0, g2 = 0, g4 = 0;
  for (int i = 0; i < N / 2; i++) {
    const kaon_philox r = kaon_random_bits(1, i, KAON_STREAM_GAUSS, 0, 0, 0);
    const double u[2] = {kaon_uniform(r.v[0], r.v[1]), kaon_uniform(r.v[2], r.v[3])};
    double g[2];
    kaon_gauss_pair(r, g);
    for (int k = 0; k < 2; k++) {
      u1 += u[k], u2 += u[k] * u[k];
      g1 += g[k], g2 += g[k] * g[k], g4 += g[k] * g[k] * g[k] * g[k];
    }
  }
  test_close("uniform: mean", u1 / N, 0.5, 4 * sqrt(1.0 / 12 / N));
  test_close("uniform: second moment", u2 / N, 1.0 / 3, 4 * sqrt(4.0 / 45 / N));
  test_close("Gauss: mean", g1 / N, 0, 4 * sqrt(1.0 / N));
  test_close("Gauss: variance", g2 / N, 1, 4 * sqrt(2.0 / N));
  test_close("Gauss: fourth moment", g4 / N, 3, 4 * sqrt(96.0 / N));
}

/* kaon_ln and kaon_cos_sin_2pi against long double, over all binades that uniforms reach. */
static void elementary_functions_keep_their_bounds(void **state) {
  (void)state;
  double worst_log = 0, worst_cos = 0, worst_sin = 0;
  for (int i = 0; i < 2000000; i++) {
    const kaon_philox r = kaon_random_bits(3, i, KAON_STREAM_GAUSS, 0, 0, 0);
    const double u = ldexp(kaon_uniform(r.v[0], r.v[1]), i % 4 == 0 ? -(int)(r.v[2] % 50) : 0);
    const double v = i % 4 == 1 ? 1 - ldexp(u, -(int)(r.v[2] % 50)) : u;
    if (v >= 1) continue;
    const long double log_v = logl(v), turn = 2 * acosl(-1.0L) * v;
    double c, s;
    kaon_cos_sin_2pi(v, &c, &s);
    worst_log = larger(worst_log, (double)fabsl((kaon_ln(v) - log_v) / log_v));
    worst_cos = larger(worst_cos, (double)fabsl(c - cosl(turn)));
    worst_sin = larger(worst_sin, (double)fabsl(s - sinl(turn)));
  }
  test_below("log, relative", worst_log, 3 * 0x1p-53);
  test_below("cos", worst_cos, 2 * 0x1p-53);
  test_below("sin", worst_sin, 2 * 0x1p-53);
}

/* <x_0> of the weight sqrt(1 - x_0^2) exp(alpha x_0) by quadrature (x_0 = cos theta). */
static double exact_mean(double alpha, int power) {
  enum { STEPS = 20000 };
  double top = 0, bottom = 0;
  for (int i = 1; i < STEPS; i++) {
    const double theta = 3.14159265358979323846 * i / STEPS, c = cos(theta), s = sin(theta);
    const double w = s * s * exp(alpha * (c - 1));
    top += w * (power == 1 ? c : c * c);
    bottom += w;
  }
  return top / bottom;
}

/* Both algorithms, below and above the field where they meet, and in the limit of no field. */
static void su2_draws_have_the_right_weight(void **state) {
  (void)state;
  enum { N = 100000 };
  static const double alphas[] = {0, 1e-10, 0.1, 1.0, 1.69, 1.71, 4.0, 20.0, 300.0};
  for (size_t a = 0; a < sizeof alphas / sizeof alphas[0]; a++) {
    double mean = 0, square = 0, direction[3] = {0}, norm = 0;
    for (int i = 0; i < N; i++) {
      const int64_t site = i;
      const kaon_draw draw = {11, (uint32_t)a, 0, 0, &site};
      double drawn[4][1], x[4];
      kaon_heatbath_su2(&draw, &alphas[a], drawn);
      for (int k = 0; k < 4; k++) x[k] = drawn[k][0];
      mean += x[0] / N;
      square += x[0] * x[0] / N;
      for (int k = 0; k < 3; k++) direction[k] += x[1 + k] / N;
      const double n2 = x[0] * x[0] + x[1] * x[1] + x[2] * x[2] + x[3] * x[3];
      norm = larger(norm, fabs(n2 - 1));
    }
    const double exact = exact_mean(alphas[a], 1), exact2 = exact_mean(alphas[a], 2);
    const double sigma = sqrt((exact2 - exact * exact) / N);
    char text[64];
    snprintf(text, sizeof text, "alpha = %g: <x_0>", alphas[a]);
    test_close(text, mean, exact, 4 * sigma);
    const double spread = sqrt((1 - exact2) / 3 / N); /* of each other component */
    for (int k = 0; k < 3; k++) assert_true(fabs(direction[k]) <= 4.5 * spread);
    test_below("| |x|^2 - 1 |", norm, 16 * 1.1e-16);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(answers_are_the_published_ones),
      cmocka_unit_test(uniforms_stay_inside_the_open_interval),
      cmocka_unit_test(streams_differ_in_every_argument),
      cmocka_unit_test(moments_are_those_of_the_distribution),
      cmocka_unit_test(elementary_functions_keep_their_bounds),
      cmocka_unit_test(su2_draws_have_the_right_weight),
  };
  return test_main(tests, NULL, NULL);
}
