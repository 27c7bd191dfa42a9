/* test_condensate.c - the staggered condensate. On 4^4 it agrees with traces of dense inverses by
 * LAPACKE: exactly with every unit vector as source, and within its own error with noise, where
 * the error is the one that the inverse predicts. The sum of the Goldstone pion is the condensate
 * at its source, on random links and on MILC's. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#define lapack_complex_double double _Complex
#define lapack_complex_float float _Complex
#include <lapacke.h>

#include <kaon/measure.h>

#include "tests/util/staggered_case.h"
#include "tests/util/test_util.h"

static const int extents[4] = {4, 4, 4, 4};
enum { N = 768, SITES = 256 };
static const double mass = 0.2, tol = 1e-12;

/* x = M^-1 b, all columns. */
static void solve(kaon_context *ctx, kaon_operator *M, const kaon_vector *b, kaon_vector *x) {
  kaon_operator *A = NULL;
  kaon_solver *solver = NULL;
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  o.method = KAON_CG;
  o.tol = tol;
  must(ctx, kaon_staggered_even_odd(M, KAON_EVEN, &A));
  must(ctx, kaon_solver_create(A, kaon_vector_columns(b), &o, &solver));
  must(ctx, kaon_vector_zero(x));
  must(ctx, kaon_solver_solve(solver, b, x, NULL, NULL));
  kaon_solver_destroy(&solver);
  kaon_operator_destroy(&A);
}

static void free_case(staggered_case *s, kaon_operator **M, kaon_vector **b, kaon_vector **x) {
  kaon_vector_destroy(b);
  kaon_vector_destroy(x);
  kaon_operator_destroy(M);
  staggered_close(s);
}

static int parity_of(int i) {
  const int site = i / 3;
  return (site + site / 4 + site / 16 + site / 64) & 1;
}

/* The reference's M^-1, column by column: inverse[row + N column]. One column more, because
 * zgemv_n of OpenBLAS 0.3.21 reads beyond the last one. */
static ref_complex *dense_inverse(const ref_staggered *d) {
  ref_complex *a = ref_new((size_t)N * (N + 1)), *unit = ref_new(N);
  lapack_int *pivot = calloc(N, sizeof *pivot);
  for (int k = 0; k < N; k++) {
    memset(unit, 0, N * sizeof *unit);
    unit[k] = 1;
    ref_staggered_apply(d, 1, unit, a + (size_t)N * (size_t)k);
  }
  assert_int_equal(LAPACKE_zgetrf(LAPACK_COL_MAJOR, N, N, a, N, pivot), 0);
  assert_int_equal(LAPACKE_zgetri(LAPACK_COL_MAJOR, N, a, N, pivot), 0);
  free(pivot);
  free(unit);
  return a;
}

/* Every unit vector once: N times the mean is the trace. M >= 2 mass: an element is off by
 * tol / (2 mass) at most. */
static void unit_vectors(staggered_case *s, kaon_operator *M, const double trace[2]) {
  kaon_vector *b = staggered_vector(s, KAON_FULL, KAON_DOUBLE, N),
              *x = staggered_vector(s, KAON_FULL, KAON_DOUBLE, N);
  double *unit = calloc(2 * N, sizeof *unit);
  kaon_condensate c = KAON_CONDENSATE_INIT;
  for (int k = 0; k < N; k++) {
    unit[2 * k] = 1;
    must(s->c.ctx, kaon_vector_import(b, k, unit, KAON_BASIS_UKQCD));
    unit[2 * k] = 0;
  }
  solve(s->c.ctx, M, b, x);
  must(s->c.ctx, kaon_condensate_measure(b, x, &c, NULL));
  const double bound = 1.1 * tol / (2 * mass) * 3 + 1e-13;
  test_below("even sites, of the trace", fabs(N * c.even - trace[0]), bound);
  test_below("odd sites", fabs(N * c.odd - trace[1]), bound);
  test_below("both", fabs(N * c.whole - (trace[0] + trace[1]) / 2), bound);
  assert_int_equal(c.sources, N);
  free(unit);
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
}

/* Z4 noise: the variance of Re eta^dagger B eta is sum_{i != j} |H_ij|^2, H the Hermitian part;
 * that of an error of n sources is known to 1 / sqrt(2 n) of itself. */
static void noise(staggered_case *s, kaon_operator *M, const double trace[2],
                  const ref_complex *inverse, int gauss) {
  enum { SOURCES = 240 };
  kaon_vector *b = staggered_vector(s, KAON_FULL, KAON_DOUBLE, SOURCES),
              *x = staggered_vector(s, KAON_FULL, KAON_DOUBLE, SOURCES);
  static double columns[SOURCES][2];
  kaon_condensate c = KAON_CONDENSATE_INIT;
  double variance = 0, mean = 0;
  must(s->c.ctx, gauss ? kaon_source_gauss(b, 11) : kaon_source_z4(b, 11));
  solve(s->c.ctx, M, b, x);
  must(s->c.ctx, kaon_condensate_measure(b, x, &c, columns));
  for (int k = 0; k < SOURCES; k++) mean += 0.5 * (columns[k][0] + columns[k][1]) / SOURCES;
  for (size_t i = 0; i < N; i++)
    for (size_t j = 0; j < N; j++) {
      const ref_complex h = 0.5 * (inverse[i + N * j] + conj(inverse[j + N * i]));
      if (i != j || gauss) variance += creal(h * conj(h));
    }
  const double whole = (trace[0] + trace[1]) / 2, error = sqrt(variance / SOURCES) / SITES;
  printf(
      "  %s: even %.5f +- %.5f (%.5f), odd %.5f +- %.5f (%.5f), both %.5f +- %.5f (%.5f +- %.5f)\n",
      gauss ? "gauss" : "z4", c.even, c.even_error, trace[0], c.odd, c.odd_error, trace[1], c.whole,
      c.whole_error, whole, error);
  assert_true(fabs(mean - c.whole) <= 1e-13);
  test_below("off the trace, in errors", fabs(c.whole - whole) / c.whole_error, 3);
  test_below("even, likewise", fabs(c.even - trace[0]) / c.even_error, 3);
  test_below("odd, likewise", fabs(c.odd - trace[1]) / c.odd_error, 3);
  test_below("error, off the inverse's", fabs(c.whole_error / error - 1), 3 / sqrt(2.0 * SOURCES));
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
}

static void noise_finds_the_trace_of_the_inverse(void **state) {
  (void)state;
  for (int improved = 0; improved < (TEST_SLOWED ? 1 : 2); improved++) {
    staggered_case s;
    double trace[2] = {0, 0};
    assert_true(staggered_open(&s, KAON_ISA_AUTO, extents, 1, improved));
    kaon_operator *M =
        staggered_operator(&s, mass, 0, KAON_PHASES_MILC, KAON_DOUBLE, KAON_RECONSTRUCT_18);
    const ref_staggered d = staggered_reference(&s, mass, 0, KAON_PHASES_MILC);
    ref_complex *inverse = dense_inverse(&d);
    for (int i = 0; i < N; i++)
      trace[parity_of(i)] += 2 * creal(inverse[i + (size_t)N * (size_t)i]) / SITES;
    if (!improved) unit_vectors(&s, M, trace);
    for (int gauss = 0; gauss < 2 - improved; gauss++) noise(&s, M, trace, inverse, gauss);
    free(inverse);
    kaon_operator_destroy(&M);
    staggered_close(&s);
  }
}

/* M^-1 + M^-dagger = 4 mass (M^dagger M)^-1, so sum_t C(t) of a point source is Re tr S(0, 0) / (2
 * mass); and the three columns are sources of a condensate there. */
static void pion_adds_up(const char *name, kaon_context *ctx, kaon_operator *M, double m,
                         kaon_vector *b, kaon_vector *x, int slices, double volume) {
  double pion[16], sum = 0;
  kaon_condensate c = KAON_CONDENSATE_INIT;
  must(ctx, kaon_source_point(b, (const int[4]){0, 0, 0, 0}));
  solve(ctx, M, b, x);
  must(ctx, kaon_correlator_pion(x, 0, pion));
  must(ctx, kaon_condensate_measure(b, x, &c, NULL));
  for (int t = 0; t < slices; t++) sum += pion[t];
  const double local = 3 * c.even * volume / 2; /* the mean of three columns, (2 / V) Re S(0, 0) */
  printf("  %s: sum of the pion %.12f, condensate over 2 mass %.12f\n", name, sum, local / (2 * m));
  test_below("difference, relative", fabs(sum * 2 * m / local - 1), 1e-10);
  assert_true(c.odd == 0);
}

static void pions_add_up_to_the_condensate(void **state) {
  (void)state;
  for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++) {
    staggered_case s;
    if (!staggered_open(&s, machine, (const int[4]){4, 4, 4, 8}, 1, 1)) continue;
    kaon_operator *M =
        staggered_operator(&s, mass, 0, KAON_PHASES_MILC, KAON_DOUBLE, KAON_RECONSTRUCT_18);
    kaon_vector *b = staggered_vector(&s, KAON_FULL, KAON_DOUBLE, 3),
                *x = staggered_vector(&s, KAON_FULL, KAON_DOUBLE, 3);
    pion_adds_up(machine_name(machine), s.c.ctx, M, mass, b, x, 8, 512);
    free_case(&s, &M, &b, &x);
  }
}

/* On the links that MILC fattened. */
static void pions_on_recorded_links_add_up(void **state) {
  static const int eight[4] = {8, 8, 8, 8};
  char fat[1024], naik[1024];
  dirac_case c;
  (void)state;
  if (!test_data("milc/milc_fat.l8", fat) || !test_data("milc/milc_long.l8", naik)) skip();
  assert_true(case_open(&c, KAON_ISA_AUTO, eight, 1, LINKS_UNIT, 0));
  kaon_gauge *U = NULL, *L = NULL;
  kaon_operator *M = NULL;
  kaon_vector *b = NULL, *x = NULL;
  kaon_staggered_options o = KAON_STAGGERED_OPTIONS_INIT;
  const kaon_space *space = kaon_lattice_staggered(c.lattice, KAON_FULL);
  must(c.ctx, kaon_gauge_create(c.lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &U));
  must(c.ctx, kaon_gauge_create(c.lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &L));
  must(c.ctx, kaon_staggered_read_links(U, fat, 0));
  must(c.ctx, kaon_staggered_read_links(L, naik, 0));
  must(c.ctx, kaon_staggered_fold(U, 1, KAON_PHASES_MILC));
  must(c.ctx, kaon_staggered_fold(L, 3, KAON_PHASES_MILC));
  o.mass = 0.1;
  must(c.ctx, kaon_staggered_create(U, L, &o, &M));
  must(c.ctx, kaon_vector_create(c.ctx, space, KAON_DOUBLE, 3, &b));
  must(c.ctx, kaon_vector_create(c.ctx, space, KAON_DOUBLE, 3, &x));
  pion_adds_up("milc_fat.l8, milc_long.l8, mass 0.1", c.ctx, M, o.mass, b, x, 8, 4096);
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
  kaon_operator_destroy(&M);
  kaon_gauge_destroy(&U);
  kaon_gauge_destroy(&L);
  case_close(&c);
}

static void refusals(void **state) {
  staggered_case s;
  kaon_condensate c = KAON_CONDENSATE_INIT;
  (void)state;
  assert_true(staggered_open(&s, KAON_ISA_AUTO, extents, 1, 0));
  kaon_vector *b = staggered_vector(&s, KAON_FULL, KAON_DOUBLE, 2),
              *x = staggered_vector(&s, KAON_FULL, KAON_DOUBLE, 3),
              *even = staggered_vector(&s, KAON_EVEN, KAON_DOUBLE, 2),
              *one = staggered_vector(&s, KAON_FULL, KAON_DOUBLE, 1);
  must_refuse(s.c.ctx, KAON_ERR_SHAPE, kaon_condensate_measure(b, x, &c, NULL));
  must_refuse(s.c.ctx, KAON_ERR_SHAPE, kaon_condensate_measure(even, even, &c, NULL));
  must_refuse(s.c.ctx, KAON_ERR_ARGUMENT, kaon_condensate_measure(b, NULL, &c, NULL));
  must_refuse(s.c.ctx, KAON_ERR_ARGUMENT, kaon_condensate_measure(b, b, NULL, NULL));
  must(s.c.ctx, kaon_source_z4(one, 1));
  must(s.c.ctx, kaon_condensate_measure(one, one, &c, NULL));
  assert_true(isnan(c.whole_error) && fabs(c.whole - 3) < 1e-12); /* |eta|^2 a site */
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&even);
  kaon_vector_destroy(&one);
  staggered_close(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(noise_finds_the_trace_of_the_inverse),
      cmocka_unit_test(pions_add_up_to_the_condensate),
      cmocka_unit_test(pions_on_recorded_links_add_up),
      cmocka_unit_test(refusals),
  };
  return test_main(tests, NULL, NULL);
}
