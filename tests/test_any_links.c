/* test_any_links.c - operators on links that are not in SU(3), as applications have
 * them: with phases, with the boundary's sign, or with 1 / xi multiplied in. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/util/dirac_case.h"
#include "tests/util/test_util.h"

static const double kappa = 0.124, csw = 0.7, twist = 0.9;
static const int extents[4] = {4, 6, 2, 10};
enum { COLUMNS = 2 };

/* Multiplies every link by factor[mu] e^{i angle[mu]}, and U_t of the last slice by `sign`, on both
 * sides. */
static void multiply(dirac_case *c, const double factor[4], const double angle[4], double sign) {
  const size_t volume = ref_volume(&c->L), last = volume - volume / (size_t)c->L.n[3];
  for (size_t i = 0; i < ref_links_size(&c->L); i++) {
    const size_t mu = i / 9 % 4;
    c->u[i] *= factor[mu] * cexp(I * angle[mu]) * (mu == 3 && i / 36 >= last ? sign : 1);
  }
  must(c->ctx, kaon_gauge_import_matrices(c->gauge, KAON_ORDER_NATURAL, KAON_DOUBLE,
                                          (const void *[]){c->u}));
}

static kaon_operator *operator_of(dirac_case *c, double cs, double mu, kaon_precision precision) {
  kaon_dirac_options options = KAON_DIRAC_OPTIONS_INIT;
  kaon_operator *M = NULL;
  options.kappa = kappa;
  options.csw = cs;
  options.mu = mu;
  options.precision = precision;
  must(c->ctx, kaon_dirac_create(c->gauge, &options, &M));
  return M;
}

/* |y - expected| / |expected|. Random spinors allow 3 times the rms error (case_rounding_rms): of a
 * hop, whose norm is at most 8 kappa, of storage, and of A or its inverse, with norms below 4. A
 * reduction has all of them twice. */
static void near(dirac_case *c, const kaon_vector *y, ref_complex *const *expected,
                 kaon_precision precision, const char *what) {
  const rounding e = case_rounding_rms(precision, KAON_RECONSTRUCT_18);
  const double deviation = case_deviation(c, y, expected);
  const double bound = 6 * (8 * kappa * e.e_hop + e.e_store + 4 * e.e_clover);
  printf("  machine %d, %s: %.1e of %.1e\n", c->isa, what, deviation, bound);
  assert_true(deviation <= bound);
}

/* M and its symmetric reduction, and their daggers, against the reference. */
static void check_operator(dirac_case *c, double cs, double mu, kaon_precision precision) {
  ref_dirac d = case_reference(c, kappa, cs, 1), opposite = case_reference(c, kappa, cs, 1);
  if (mu != 0) ref_dirac_twist(&d, mu), ref_dirac_twist(&opposite, -mu);
  kaon_operator *M = operator_of(c, cs, mu, precision);
  kaon_operator *S = case_even_odd(c, M, KAON_EVEN_ODD_SYMMETRIC, KAON_EVEN, 0);
  for (int reduced = 0; reduced < 2; reduced++)
    for (int dagger = 0; dagger < 2; dagger++) {
      const kaon_parity parity = reduced ? KAON_EVEN : KAON_FULL;
      kaon_vector *x = case_vector(c, parity, precision, COLUMNS);
      kaon_vector *y = case_vector(c, parity, precision, COLUMNS);
      ref_complex **in = case_random_columns(c, COLUMNS, 3), **out = NULL;
      case_import(c, x, in);
      out = case_random_columns(c, COLUMNS, 4);
      for (int k = 0; k < COLUMNS; k++) {
        ref_complex *read = case_export(c, x, k); /* as it was stored */
        memset(out[k], 0, ref_spinor_size(&c->L) * sizeof **out);
        if (reduced)
          (dagger ? ref_schur_dagger : ref_schur)(dagger ? &opposite : &d, 0, 1, read, out[k]);
        else
          (dagger ? ref_apply_dagger : ref_apply)(dagger ? &opposite : &d, read, out[k]);
        if (reduced) case_restrict(c, 0, out[k]);
        free(read);
      }
      must(c->ctx, kaon_operator_apply(reduced ? S : M, dagger ? KAON_DAGGER : KAON_PLAIN, x, y));
      near(c, y, out, precision, precision_names[precision]);
      kaon_vector_destroy(&x);
      kaon_vector_destroy(&y);
      case_free_columns(in, COLUMNS);
      case_free_columns(out, COLUMNS);
    }
  kaon_operator_destroy(&S);
  kaon_operator_destroy(&M);
  ref_dirac_free(&d);
  ref_dirac_free(&opposite);
}

/* ---- phases ---- */

/* Phases cancel in the clover term: each element is a sum of closed loops, with a few roundings. */
static void phases_on(int machine) {
  static const double one[4] = {1, 1, 1, 1}, angle[4] = {0.3, -0.2, 0.7, 3.0 / 10};
  dirac_case c;
  if (!case_open(&c, machine, extents, 0, LINKS_RANDOM, 7)) return;
  ref_dirac bare = case_reference(&c, kappa, csw, 1);
  multiply(&c, one, angle, 1);
  ref_dirac phased = case_reference(&c, kappa, csw, 1);
  for (size_t i = 0; i < 144 * ref_volume(&c.L); i++)
    assert_true(cabs(bare.clover[i] - phased.clover[i]) <= 100 * 0x1p-53);
  ref_dirac_free(&bare);
  ref_dirac_free(&phased);
  for (int precision = KAON_DOUBLE; precision <= KAON_HALF; precision++) {
    check_operator(&c, csw, 0, (kaon_precision)precision);
    check_operator(&c, csw, twist, (kaon_precision)precision);
  }
  check_operator(&c, 0, 0, KAON_SINGLE);
  case_close(&c);
}

static void phases_act_in_hops_alone(void **state) {
  (void)state;
  for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++) phases_on(machine);
}

/* ---- the boundary's sign ---- */

static void apply_both(dirac_case *c, kaon_operator *const A[2], kaon_parity parity,
                       kaon_precision precision) {
  ref_complex **in = case_random_columns(c, 1, 5);
  for (int dagger = 0; dagger < 2; dagger++) {
    ref_complex *got[2];
    for (int i = 0; i < 2; i++) {
      kaon_vector *x = case_vector(&c[i], parity, precision, 1);
      kaon_vector *y = case_vector(&c[i], parity, precision, 1);
      case_import(&c[i], x, in);
      must(c[i].ctx, kaon_operator_apply(A[i], dagger ? KAON_DAGGER : KAON_PLAIN, x, y));
      got[i] = case_export(&c[i], y, 0);
      kaon_vector_destroy(&x);
      kaon_vector_destroy(&y);
    }
    /* a sign is exact, and so all roundings are the same; == takes -0 for 0 */
    for (size_t i = 0; i < ref_spinor_size(&c->L); i++) assert_true(got[0][i] == got[1][i]);
    free(got[0]);
    free(got[1]);
  }
  case_free_columns(in, 1);
}

static void sign_on(int machine) {
  static const double one[4] = {1, 1, 1, 1}, none[4] = {0, 0, 0, 0};
  dirac_case c[2]; /* antiperiodic; periodic with the sign in its links */
  if (!case_open(&c[0], machine, extents, 1, LINKS_RANDOM, 7)) return;
  assert_true(case_open(&c[1], machine, extents, 0, LINKS_RANDOM, 7));
  multiply(&c[1], one, none, -1);
  for (int precision = KAON_DOUBLE; precision <= KAON_HALF; precision++)
    for (int twisted = 0; twisted < 2; twisted++) {
      kaon_operator *M[2], *S[2];
      for (int i = 0; i < 2; i++) {
        M[i] = operator_of(&c[i], csw, twisted * twist, (kaon_precision)precision);
        S[i] = case_even_odd(&c[i], M[i], KAON_EVEN_ODD_ASYMMETRIC, KAON_ODD, 0);
      }
      apply_both(c, M, KAON_FULL, (kaon_precision)precision);
      apply_both(c, S, KAON_ODD, (kaon_precision)precision);
      for (int i = 0; i < 2; i++) {
        kaon_operator_destroy(&S[i]);
        kaon_operator_destroy(&M[i]);
      }
    }
  case_close(&c[0]);
  case_close(&c[1]);
}

static void a_folded_sign_is_the_boundary(void **state) {
  (void)state;
  for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++) sign_on(machine);
}

/* ---- factors, and what cannot be done ---- */

static void refused(dirac_case *c, kaon_status status, kaon_status expected, const char *part) {
  assert_int_equal(status, expected);
  printf("  %s\n", kaon_last_error(c->ctx));
  assert_non_null(strstr(kaon_last_error(c->ctx), part));
}

static void factors_are_taken_as_far_as_numbers_go(void **state) {
  static const double none[4] = {0, 0, 0, 0}, below[4] = {0.4, 0.4, 0.4, 1},
                      above[4] = {4, 4, 4, 4};
  dirac_case c;
  kaon_dirac_options options = KAON_DIRAC_OPTIONS_INIT;
  kaon_even_odd_options form = KAON_EVEN_ODD_OPTIONS_INIT;
  kaon_operator *M = NULL, *S = NULL;
  (void)state;
  if (!case_open(&c, MACHINE_CPU, extents, 0, LINKS_RANDOM, 7)) return;
  multiply(&c, below, none, 1);
  for (int precision = KAON_DOUBLE; precision <= KAON_HALF; precision++)
    check_operator(&c, 0, 0, (kaon_precision)precision);
  must(c.ctx, kaon_dirac_create(c.gauge, &options, &M));
  form.temporal_gauge = 1;
  refused(&c, kaon_dirac_even_odd(M, &form, &S), KAON_ERR_UNITARITY, "off U(3)");
  kaon_operator_destroy(&M);
  options.reconstruct = KAON_RECONSTRUCT_12;
  refused(&c, kaon_dirac_create(c.gauge, &options, &M), KAON_ERR_UNITARITY, "off SU(3)");
  multiply(&c, above, none, 1); /* 1.6 and 4 */
  options.reconstruct = KAON_RECONSTRUCT_18;
  options.precision = KAON_HALF;
  refused(&c, kaon_dirac_create(c.gauge, &options, &M), KAON_ERR_UNSUPPORTED, "up to 1");
  assert_null(M);
  case_close(&c);
}

/* y = D x on the even sites, with thin links alone. */
static void staggered_hop(dirac_case *c, kaon_precision precision, const kaon_vector *x,
                          kaon_vector *y) {
  kaon_staggered_options options = KAON_STAGGERED_OPTIONS_INIT;
  kaon_operator *M = NULL;
  kaon_vector *in = NULL, *out = NULL;
  options.precision = precision;
  must(c->ctx, kaon_staggered_create(c->gauge, NULL, &options, &M));
  must(c->ctx, kaon_vector_create(c->ctx, kaon_vector_space(x), precision, COLUMNS, &in));
  must(c->ctx, kaon_vector_create(c->ctx, kaon_vector_space(y), precision, COLUMNS, &out));
  must(c->ctx, kaon_vector_copy(in, x));
  must(c->ctx, kaon_staggered_hop(M, KAON_EVEN, in, out));
  must(c->ctx, kaon_vector_copy(y, out));
  kaon_vector_destroy(&in);
  kaon_vector_destroy(&out);
  kaon_operator_destroy(&M);
}

static void staggered_links_above_1_are_scaled_in_half(void **state) {
  static const double none[4] = {0, 0, 0, 0}, factor[4] = {4, 4, 4, 4};
  const rounding e = case_rounding_rms(KAON_HALF, KAON_RECONSTRUCT_18);
  dirac_case c;
  kaon_vector *whole = NULL, *x = NULL, *y[2] = {NULL, NULL};
  double norm[COLUMNS], off[COLUMNS];
  (void)state;
  if (!case_open(&c, MACHINE_CPU, extents, 0, LINKS_RANDOM, 7)) return;
  multiply(&c, factor, none, 1);
  must(c.ctx, kaon_vector_create(c.ctx, kaon_lattice_staggered(c.lattice, KAON_FULL), KAON_DOUBLE,
                                 COLUMNS, &whole));
  must(c.ctx, kaon_vector_create(c.ctx, kaon_lattice_staggered(c.lattice, KAON_ODD), KAON_DOUBLE,
                                 COLUMNS, &x));
  must(c.ctx, kaon_source_gauss(whole, 3));
  must(c.ctx, kaon_vector_copy_parity(x, whole));
  for (int half = 0; half < 2; half++) {
    must(c.ctx, kaon_vector_create(c.ctx, kaon_lattice_staggered(c.lattice, KAON_EVEN), KAON_DOUBLE,
                                   COLUMNS, &y[half]));
    staggered_hop(&c, half ? KAON_HALF : KAON_DOUBLE, x, y[half]);
  }
  must(c.ctx, kaon_vector_norm2(y[0], norm));
  must(c.ctx, kaon_vector_axpy(-1, 0, y[0], y[1]));
  must(c.ctx, kaon_vector_norm2(y[1], off));
  /* As for SU(3) links: 3 times the rms error of a hop and of storing. */
  for (int k = 0; k < COLUMNS; k++)
    assert_true(sqrt(off[k] / norm[k]) <= 3 * (e.e_hop + 2 * e.e_store));
  kaon_vector_destroy(&whole);
  kaon_vector_destroy(&x);
  for (int half = 0; half < 2; half++) kaon_vector_destroy(&y[half]);
  case_close(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(phases_act_in_hops_alone),
      cmocka_unit_test(a_folded_sign_is_the_boundary),
      cmocka_unit_test(factors_are_taken_as_far_as_numbers_go),
      cmocka_unit_test(staggered_links_above_1_are_scaled_in_half),
  };
  return test_main(tests, NULL, NULL);
}
