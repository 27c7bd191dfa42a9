/* test_applied_link.c - links of 8 reals, applied to a colour vector as the GPU's staggered hops
 * apply them (lib/math/recon8.h). The property: U chi and U^dagger chi agree with decoded elements
 * and with the link itself, in the arithmetic and storage of every precision. Links are random
 * ones, the unit link, permutations with phases, and links whose first two elements are equal in
 * size, where a rounding decides whether V's columns are exchanged.
 *
 * Bounds, for |chi| = 1:
 * - Applying a link rounds by at most 30 eps.
 * - Decoding rounds each element by at most 12 eps, so a product by 12 sqrt(3). The product is
 *   taken in double. In all 51 eps.
 * - Stored reals are off by e: eps / 2 in single; 1 / 32767 in half, where one of them carries a
 *   bit; below 4 eps in double, where the encoder's roundings count (those of n, a sum, a division
 *   and a product before the real's own). This moves a row by at most 10 e (recon.h). U^dagger chi
 *   takes a column, whose three elements are off together: sqrt(3) times as much.
 * - Links are made orthogonal twice, because once leaves 28 eps. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reference/reference.h"
#include "tests/util/applied_link.h"
#include "tests/util/test_util.h"

enum { SPECIAL = 49, LINKS = 20000 };
static void (*const apply[3])(const double *, const double *, applied_link *) = {
    applied_link_d, applied_link_s, applied_link_h};
static const char *const names[3] = {"double", "single", "half"};

/* Rows 0 and 1 at right angles and of length one; row 2 after them. */
static void complete(ref_complex *u) {
  for (int i = 0; i < 3; i++)
    u[6 + i] = conj(u[(i + 1) % 3] * u[3 + (i + 2) % 3] - u[(i + 2) % 3] * u[3 + (i + 1) % 3]);
}

/* Link number n: special ones first. */
static void make_link(int n, ref_rng *rng, ref_complex *u) {
  const double pi = acos(-1);
  ref_random_su3(rng, u);
  if (n >= SPECIAL) { /* make rows 0 and 1 orthogonal once more: the first time leaves 28 eps */
    ref_complex overlap = 0;
    for (int j = 0; j < 3; j++) overlap += conj(u[j]) * u[3 + j];
    for (int j = 0; j < 3; j++) u[3 + j] -= overlap * u[j];
    for (int i = 0; i < 2; i++) {
      double norm2 = 0;
      for (int j = 0; j < 3; j++) norm2 += creal(u[3 * i + j] * conj(u[3 * i + j]));
      for (int j = 0; j < 3; j++) u[3 * i + j] /= sqrt(norm2);
    }
    complete(u);
    return;
  }
  memset(u, 0, 9 * sizeof *u);
  if (n < 36) { /* each place of two rows, with phases of quarters */
    const int first = n % 3, second = (first + 1 + n / 3 % 2) % 3;
    u[first] = cexp(I * (pi / 2) * (n / 6 % 4));
    u[3 + second] = n < 24 ? 1 : cexp(I * (pi / 2) * (n / 2));
  } else if (n == SPECIAL - 1) { /* beyond 1 by a rounding */
    u[2] = 1 + DBL_EPSILON;
    u[3] = 1;
  } else { /* all of one size; |V_00| ties */
    for (int i = 0; i < 2; i++)
      for (int j = 0; j < 3; j++)
        u[3 * i + j] = cexp(2 * pi / 3 * I * (((i + n) * j + n) % 3)) / sqrt(3);
  }
  complete(u);
}

static double distance(const double *a, const double *b) {
  double most = 0;
  for (int i = 0; i < 6; i++) most = larger(most, fabs(a[i] - b[i]));
  return most;
}

static void applied_links_are_the_decoded_ones(void **state) {
  (void)state;
  for (int p = 0; p < 3; p++) {
    const double eps = p == 0 ? DBL_EPSILON : (double)FLT_EPSILON;
    const double e = p == 2 ? 1.0 / 32767 : p == 1 ? eps / 2 : 4 * eps;
    double from_decoded = 0, from_link = 0;
    ref_rng rng;
    ref_rng_seed(&rng, 5);
    for (int n = 0; n < LINKS; n++) {
      ref_complex u[9], chi[3], exact[2][3];
      applied_link a;
      double size = 0;
      make_link(n, &rng, u);
      for (int i = 0; i < 3; i++) { /* as the precision holds it; sometimes a colour alone */
        chi[i] = n % 4 == 3 && i != n / 4 % 3
                     ? 0
                     : (float)ref_uniform(&rng) - 0.5f + I * ((float)ref_uniform(&rng) - 0.5f);
        size += creal(chi[i] * conj(chi[i]));
      }
      size = sqrt(size);
      for (int i = 0; i < 3; i++) {
        exact[0][i] = exact[1][i] = 0;
        for (int j = 0; j < 3; j++) {
          exact[0][i] += u[3 * i + j] * chi[j];
          exact[1][i] += conj(u[3 * j + i]) * chi[j];
        }
      }
      apply[p]((const double *)u, (const double *)chi, &a);
      for (int dagger = 0; dagger < 2; dagger++) {
        from_decoded = larger(from_decoded, distance(a.applied[dagger], a.decoded[dagger]) / size);
        from_link =
            larger(from_link, distance(a.applied[dagger], (const double *)exact[dagger]) / size);
      }
    }
    test_below(names[p], from_decoded / eps, 30 + 12 * sqrt(3));
    test_below("from the link itself", from_link, 10 * sqrt(3) * e + 30 * eps);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(applied_links_are_the_decoded_ones)};
  return test_main(tests, NULL, NULL);
}
