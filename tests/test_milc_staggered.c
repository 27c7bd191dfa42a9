/* test_milc_staggered.c - MILC's recorded staggered answers: fat and long links of its sample
 * lattice (asqtad, u0 = .502) with its signs folded in, a source, and its solutions of M and of
 * M^dagger M at mass .1, all in f32 (check_ks_invert.2.sample-out).
 *
 * Bounds: the solutions carry MILC's own tolerances, |r| <= 1e-9 |b| for M^dagger M with |b| of
 * size |x| / |A^-1|, and 1e-10 for M. Links, source and solution are rounded to f32, 6e-8 each.
 * The condition of M, at most |M| / (2 m) = 40, may amplify these in x; residuals are not
 * amplified. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/util/staggered_case.h"
#include "tests/util/test_util.h"

static const double mass = 0.1, u0 = 0.502;

typedef struct sample {
  staggered_case s; /* of which c alone is there, and the links */
  kaon_operator *M;
} sample;

/* The recorded links without MILC's signs. 0: data or machine are missing. */
static int sample_open(sample *m, int machine, kaon_precision precision,
                       kaon_reconstruct reconstruct) {
  static const int extents[4] = {8, 8, 8, 8};
  char fat[1024], naik[1024];
  if (!test_data("milc/milc_fat.l8", fat) || !test_data("milc/milc_long.l8", naik)) return 0;
  memset(m, 0, sizeof *m);
  if (!case_open(&m->s.c, machine, extents, 1, LINKS_UNIT, 0)) return 0;
  kaon_context *ctx = m->s.c.ctx;
  if (ctx->backend->staggered[precision] == NULL) {
    case_close(&m->s.c);
    return 0;
  }
  must(ctx, kaon_gauge_create(m->s.c.lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &m->s.fat));
  must(ctx, kaon_gauge_create(m->s.c.lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &m->s.naik));
  must(ctx, kaon_staggered_read_links(m->s.fat, fat, 0));
  must(ctx, kaon_staggered_read_links(m->s.naik, naik, 0));
  must(ctx, kaon_staggered_fold(m->s.fat, 1, KAON_PHASES_MILC));
  must(ctx, kaon_staggered_fold(m->s.naik, 3, KAON_PHASES_MILC));
  kaon_staggered_options o = KAON_STAGGERED_OPTIONS_INIT;
  o.mass = mass;
  o.naik = -1 / (24 * u0 * u0);
  o.precision = precision;
  o.reconstruct = reconstruct;
  must(ctx, kaon_staggered_create(m->s.fat, m->s.naik, &o, &m->M));
  return 1;
}

static void sample_close(sample *m) {
  kaon_operator_destroy(&m->M);
  kaon_gauge_destroy(&m->s.fat);
  kaon_gauge_destroy(&m->s.naik);
  case_close(&m->s.c);
}

static kaon_vector *recorded(sample *m, const char *name) {
  char path[1024];
  kaon_vector *v = staggered_vector(&m->s, KAON_FULL, KAON_DOUBLE, 1);
  assert_non_null(test_data(name, path));
  must(m->s.c.ctx, kaon_staggered_read_vector(v, 0, path, 0));
  return v;
}

static ref_complex *numbers(sample *m, const kaon_vector *v) {
  ref_complex *chi = ref_new(staggered_size(&m->s));
  must(m->s.c.ctx, kaon_vector_export(v, 0, (double *)chi, KAON_BASIS_UKQCD));
  return chi;
}

static double difference(sample *m, const kaon_vector *a, const kaon_vector *b) {
  ref_complex *x = numbers(m, a), *y = numbers(m, b);
  const double d = ref_rel_diff(x, y, staggered_size(&m->s));
  free(x);
  free(y);
  return d;
}

static const char source_file[] = "milc/milc_ksvector.src.sample.l8",
                  m_file[] = "milc/milc_ksvector.ans.Minv.sample.l8",
                  normal_file[] = "milc/milc_ksvector.ans.MdaggerMinv.sample.l8";

/* M on MILC's M^-1 source, and M^dagger M on its (M^dagger M)^-1 source, are the source. */
static void recorded_solutions_solve_the_system(void **state) {
  (void)state;
  static const kaon_reconstruct storages[] = {KAON_RECONSTRUCT_18, KAON_RECONSTRUCT_12,
                                              KAON_RECONSTRUCT_8};
  int seen = 0;
  for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++)
    for (int r = 0; r < 3; r++) {
      sample m;
      if (machine_lacks(machine) || !sample_open(&m, machine, KAON_DOUBLE, storages[r])) continue;
      seen = 1;
      kaon_vector *b = recorded(&m, source_file), *x = recorded(&m, m_file),
                  *z = recorded(&m, normal_file);
      kaon_vector *y = staggered_vector(&m.s, KAON_FULL, KAON_DOUBLE, 1);
      must(m.s.c.ctx, kaon_operator_apply(m.M, KAON_PLAIN, x, y));
      test_below("|b - M x| / |b|", difference(&m, y, b), 2e-7);
      must(m.s.c.ctx, kaon_operator_apply(m.M, KAON_PLAIN, z, x));
      must(m.s.c.ctx, kaon_operator_apply(m.M, KAON_DAGGER, x, y));
      test_below("|b - M^dag M x| / |b|", difference(&m, y, b), 2e-7);
      kaon_vector_destroy(&b);
      kaon_vector_destroy(&x);
      kaon_vector_destroy(&y);
      kaon_vector_destroy(&z);
      sample_close(&m);
    }
  if (!seen) skip();
}

/* (M^dagger M) x = b on the sites of `parity`; returns the steps. */
static int solve_parity(sample *m, kaon_parity parity, const ref_complex *b, ref_complex *x) {
  kaon_operator *A = NULL;
  kaon_solver *solver = NULL;
  kaon_column_report report;
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  kaon_vector *source = staggered_vector(&m->s, parity, KAON_DOUBLE, 1);
  kaon_vector *solution = staggered_vector(&m->s, parity, KAON_DOUBLE, 1);
  must(m->s.c.ctx, kaon_staggered_even_odd(m->M, parity, &A));
  must(m->s.c.ctx, kaon_vector_import(source, 0, (const double *)b, KAON_BASIS_UKQCD));
  o.method = KAON_CG;
  o.tol = 1e-9;
  o.stop = KAON_STOP_REDUCED;
  must(m->s.c.ctx, kaon_solver_create(A, 1, &o, &solver));
  must(m->s.c.ctx, kaon_solver_solve(solver, source, solution, &report, NULL));
  assert_int_equal(report.reason, KAON_CONVERGED);
  must(m->s.c.ctx, kaon_vector_export(solution, 0, (double *)x, KAON_BASIS_UKQCD));
  kaon_solver_destroy(&solver);
  kaon_vector_destroy(&source);
  kaon_vector_destroy(&solution);
  kaon_operator_destroy(&A);
  return report.iterations;
}

static void normal_equations_take_the_recorded_steps(void **state) {
  (void)state;
  sample m;
  if (!sample_open(&m, KAON_ISA_AUTO, KAON_DOUBLE, KAON_RECONSTRUCT_18)) skip();
  kaon_vector *b = recorded(&m, source_file), *expected = recorded(&m, normal_file);
  ref_complex *source = numbers(&m, b), *known = numbers(&m, expected);
  ref_complex *x = ref_new(staggered_size(&m.s));
  for (int parity = 0; parity < 2; parity++) {
    const int steps = solve_parity(&m, (kaon_parity)parity, source, x);
    printf("  parity %d: %d steps to 1e-9; MILC 61, its first residual among them\n", parity,
           steps);
    assert_in_range(steps + 1, 60, 62); /* the count of a product at the threshold may differ */
  }
  test_below("(M^dag M)^-1 b", ref_rel_diff(x, known, staggered_size(&m.s)), 40 * 6e-8);
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&expected);
  free(source);
  free(known);
  free(x);
  sample_close(&m);
}

/* By the reduction, from M's source to M's solution, in mixed precision. */
static void the_propagator_is_the_recorded_one(void **state) {
  (void)state;
  sample m;
  if (!sample_open(&m, KAON_ISA_AUTO, KAON_DOUBLE, KAON_RECONSTRUCT_18)) skip();
  kaon_vector *b = recorded(&m, source_file), *expected = recorded(&m, m_file);
  kaon_vector *x = staggered_vector(&m.s, KAON_FULL, KAON_DOUBLE, 1);
  kaon_operator *A = NULL;
  must(m.s.c.ctx, kaon_staggered_even_odd(m.M, KAON_EVEN, &A));
  for (int sloppy = KAON_DOUBLE; sloppy <= KAON_HALF; sloppy++) {
    kaon_solver *solver = NULL;
    kaon_column_report report;
    kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
    o.method = KAON_CG;
    o.sloppy = (kaon_precision)sloppy;
    o.reconstruct = KAON_RECONSTRUCT_12;
    must(m.s.c.ctx, kaon_vector_zero(x));
    must(m.s.c.ctx, kaon_solver_create(A, 1, &o, &solver));
    must(m.s.c.ctx, kaon_solver_solve(solver, b, x, &report, NULL));
    assert_int_equal(report.reason, KAON_CONVERGED);
    printf("  %s inside: %d steps, residual %.2e\n", precision_names[sloppy], report.iterations,
           report.residual);
    test_below("M^-1 b", difference(&m, x, expected), 40 * 6e-8);
    kaon_solver_destroy(&solver);
  }
  kaon_operator_destroy(&A);
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&expected);
  kaon_vector_destroy(&x);
  sample_close(&m);
}

static void vectors_come_back_from_files(void **state) {
  (void)state;
  staggered_case s;
  const int extents[4] = {4, 6, 2, 10};
  char path[] = "/tmp/kaon_staggered_XXXXXX";
  if (!staggered_open(&s, KAON_ISA_AUTO, extents, 1, 0)) skip();
  const int descriptor = mkstemp(path);
  assert_true(descriptor >= 0);
  close(descriptor);
  ref_complex **chi = staggered_columns(&s, KAON_FULL, 1, 5);
  kaon_vector *v = staggered_vector(&s, KAON_FULL, KAON_DOUBLE, 1);
  for (int bits = 32; bits <= 64; bits += 32) {
    staggered_import(&s, v, chi);
    must(s.c.ctx, kaon_staggered_write_vectors(v, path, bits, "a <test>"));
    must(s.c.ctx, kaon_vector_zero(v));
    must(s.c.ctx, kaon_staggered_read_vector(v, 0, path, 0));
    test_below("read back", staggered_deviation(&s, v, chi), bits == 32 ? 6e-8 : 0);
  }
  must_refuse(s.c.ctx, KAON_ERR_FORMAT, kaon_staggered_read_links(s.c.gauge, path, 0));
  must_refuse(s.c.ctx, KAON_ERR_ARGUMENT, kaon_staggered_write_vectors(v, path, 16, NULL));
  unlink(path);
  must_refuse(s.c.ctx, KAON_ERR_IO, kaon_staggered_read_vector(v, 0, path, 0));
  kaon_vector_destroy(&v);
  case_free_columns(chi, 1);
  staggered_close(&s);
}

static void all_columns_come_back_from_one_file(void **state) {
  (void)state;
  staggered_case s;
  kaon_staggered_file_info info = KAON_STAGGERED_FILE_INFO_INIT;
  const int extents[4] = {4, 6, 2, 10}, others[4] = {4, 6, 2, 8};
  char path[] = "/tmp/kaon_staggered_XXXXXX";
  if (!staggered_open(&s, KAON_ISA_AUTO, extents, 1, 0)) skip();
  const int descriptor = mkstemp(path);
  assert_true(descriptor >= 0);
  close(descriptor);
  ref_complex **chi = staggered_columns(&s, KAON_FULL, 3, 5);
  kaon_vector *v = staggered_vector(&s, KAON_FULL, KAON_DOUBLE, 3), *two = NULL, *there = NULL;
  for (int bits = 32; bits <= 64; bits += 32) {
    staggered_import(&s, v, chi);
    must(s.c.ctx, kaon_staggered_write_vectors(v, path, bits, "three <of them>"));
    must(s.c.ctx, kaon_staggered_file_probe(s.c.ctx, path, &info));
    assert_int_equal(info.columns, 3);
    assert_int_equal(info.precision, bits);
    assert_memory_equal(info.extents, extents, sizeof extents);
    assert_string_equal(info.text, "three <of them>");
    must(s.c.ctx, kaon_vector_zero(v));
    must(s.c.ctx, kaon_staggered_read_vectors(v, path, 0));
    test_below("all read back", staggered_deviation(&s, v, chi), bits == 32 ? 6e-8 : 0);
  }
  two = staggered_vector(&s, KAON_FULL, KAON_DOUBLE, 2);
  must_refuse(s.c.ctx, KAON_ERR_SHAPE, kaon_staggered_read_vectors(two, path, 0));
  kaon_lattice *lattice = NULL;
  must(s.c.ctx, kaon_lattice_create(s.c.ctx, others, KAON_PERIODIC, &lattice));
  must(s.c.ctx, kaon_vector_create(s.c.ctx, kaon_lattice_staggered(lattice, KAON_FULL), KAON_DOUBLE,
                                   3, &there));
  must_refuse(s.c.ctx, KAON_ERR_SHAPE, kaon_staggered_read_vectors(there, path, 0));
  must_refuse(s.c.ctx, KAON_ERR_ARGUMENT, kaon_staggered_file_probe(s.c.ctx, path, NULL));
  unlink(path);
  must_refuse(s.c.ctx, KAON_ERR_IO, kaon_staggered_read_vectors(v, path, 0));
  must_refuse(s.c.ctx, KAON_ERR_IO, kaon_staggered_file_probe(s.c.ctx, path, &info));
  kaon_vector_destroy(&there);
  kaon_lattice_destroy(&lattice);
  kaon_vector_destroy(&two);
  kaon_vector_destroy(&v);
  case_free_columns(chi, 3);
  staggered_close(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(recorded_solutions_solve_the_system),
      cmocka_unit_test(normal_equations_take_the_recorded_steps),
      cmocka_unit_test(the_propagator_is_the_recorded_one),
      cmocka_unit_test(vectors_come_back_from_files),
      cmocka_unit_test(all_columns_come_back_from_one_file),
  };
  return test_main(tests, NULL, NULL);
}
