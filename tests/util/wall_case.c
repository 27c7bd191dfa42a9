/* wall_case.c - see wall_case.h. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "wall_case.h"

#include <math.h>
#include <stdlib.h>

#include "lib/vector/space.h"

kaon_operator *wall_operator(dirac_case *c, int ls, kaon_precision precision,
                             kaon_reconstruct reconstruct) {
  return wall_operator_of(c, WALL_M5, ls, precision, reconstruct);
}

kaon_operator *wall_operator_of(dirac_case *c, double m5, int ls, kaon_precision precision,
                                kaon_reconstruct reconstruct) {
  kaon_domain_wall_options options = KAON_DOMAIN_WALL_OPTIONS_INIT;
  options.mass = WALL_MASS;
  options.m5 = m5;
  options.ls = ls;
  options.precision = precision;
  options.reconstruct = reconstruct;
  kaon_operator *M = NULL;
  must(c->ctx, kaon_domain_wall_create(c->gauge, &options, &M));
  return M;
}

kaon_operator *wall_in_form(dirac_case *c, kaon_operator *M, int form, int parity, int temporal) {
  static const kaon_even_odd forms[WALL_FORMS] = {KAON_EVEN_ODD_SYMMETRIC, KAON_EVEN_ODD_ASYMMETRIC,
                                                  KAON_EVEN_ODD_NONE};
  return case_even_odd(c, M, forms[form], form < 2 ? (kaon_parity)parity : KAON_EVEN, temporal);
}

ref_domain_wall wall_reference(const dirac_case *c, int ls) {
  return (ref_domain_wall){case_reference(c, 0, 0, 1), ls, WALL_M5, WALL_MASS};
}

wall_application wall_application_of(int i) {
  return i < 8 ? (wall_application){i / 4, i / 2 % 2, i % 2}
               : (wall_application){2, KAON_FULL, i % 2};
}

/* |T| <= a + 1 with a = 5 - m5, |T^-1| <= 1 / (a - 1), and D x has size 4 |x|. A row of T^-1 has ls
 * products, of T two. Two hops, each with T^-1 and two stores, and T. */
double wall_bound(int ls, kaon_precision precision, kaon_reconstruct storage) {
  const rounding r = case_rounding_rms(precision, storage);
  const double u = precision == KAON_DOUBLE ? 0x1p-53 : 0x1p-24;
  const double inverse = 1 / (4 - WALL_M5), whole = 6 - WALL_M5, size = 2 * inverse;
  const double site = 2 * r.e_store + sqrt(ls) * u;
  const double hop = 0.5 * inverse * (r.e_hop + 4 * site);
  return 3 * sqrt(2) * (2 * hop * (1 + size) + whole * inverse * site * (1 + size * size));
}

size_t wall_length(const dirac_case *c, int ls) {
  return (size_t)ls * ref_spinor_size(&c->L);
}

ref_complex *wall_random(const dirac_case *c, int ls, uint64_t seed) {
  ref_complex *psi = ref_new(wall_length(c, ls));
  for (int s = 0; s < ls; s++)
    ref_random_spinor(&c->L, psi + wall_length(c, s), 1000 * seed + (uint64_t)s);
  return psi;
}

void wall_restrict(const dirac_case *c, int ls, int parity, ref_complex *psi) {
  for (int s = 0; s < ls; s++) case_restrict(c, parity, psi + wall_length(c, s));
}

kaon_vector *wall_vector(const dirac_case *c, const kaon_space *space, kaon_precision precision,
                         int nrhs) {
  kaon_vector *v = NULL;
  must(c->ctx, kaon_vector_create(c->ctx, space, precision, nrhs, &v));
  return v;
}

void wall_import(const dirac_case *c, kaon_vector *v, int k, const ref_complex *psi) {
  must(c->ctx, kaon_vector_import(v, k, (const double *)psi, KAON_BASIS_UKQCD));
}

ref_complex *wall_export(const dirac_case *c, const kaon_vector *v, int k) {
  ref_complex *psi = ref_new(wall_length(c, v->space->inner));
  must(c->ctx, kaon_vector_export(v, k, (double *)psi, KAON_BASIS_UKQCD));
  return psi;
}

void wall_fill(const dirac_case *c, kaon_vector *v, uint64_t seed) {
  for (int k = 0; k < kaon_vector_columns(v); k++) {
    ref_complex *psi = wall_random(c, v->space->inner, seed + (uint64_t)k);
    wall_import(c, v, k, psi);
    free(psi);
  }
}

void wall_solve(dirac_case *c, kaon_operator *A, kaon_method method, kaon_precision sloppy,
                double tol, const kaon_vector *b, kaon_vector *x, kaon_column_report *report) {
  kaon_solver_options options = KAON_SOLVER_OPTIONS_INIT;
  kaon_solver *solver = NULL;
  const int columns = kaon_vector_columns(b);
  options.method = method;
  options.sloppy = sloppy;
  options.tol = tol;
  options.max_iterations = 20000;
  must(c->ctx, kaon_vector_zero(x));
  must(c->ctx, kaon_solver_create(A, columns, &options, &solver));
  must(c->ctx, kaon_solver_solve(solver, b, x, report, NULL));
  for (int k = 0; k < columns; k++) {
    assert_int_equal(report[k].reason, KAON_CONVERGED);
    assert_true(report[k].residual <= 1.1 * tol);
  }
  kaon_solver_destroy(&solver);
}
