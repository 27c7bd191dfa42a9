/* test_quda_milc_clover.c - MILC's clover calls, compared with kaon's own interface in all bits.
 * Links carry the sign of an antiperiodic time; the clover term is random, Hermitian and close to
 * 1. Its diagonal is 1 to within 0.1, and the 5 others of a row have sizes below 0.05, so it is
 * positive. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <kaon/kaon.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "milc_case.h"
#include "quda_milc_interface.h"

#ifdef KAON_QUDA_MPI
#include <mpi.h>
#endif

static const int extents[4] = {4, 4, 4, 8};
static const double kappa = 0.12, coefficient = 0.1;
static int ranks = 1, rank = 0, grid[4] = {1, 1, 1, 1};

static void start(void) {
  QudaInitArgs_t args = {.verbosity = QUDA_SILENT, .layout = {extents, grid, -1}};
  qudaInit(args);
}

static QudaInvertArgs_t arguments(QudaInverterType solver, int mixed) {
  QudaInvertArgs_t args;
  memset(&args, 0xa5, sizeof args);
  args.mixed_precision = mixed;
  args.max_iter = 1000;
  args.solver_type = solver;
  for (int d = 0; d < 4; d++) args.boundary_phase[d] = d == 3;
  return args;
}

/* ---- fields of both sides ---- */

typedef struct fields {
  milc_case c;
  double *links, *term, *b, *x; /* of this rank */
  double *plain;                /* links without the sign */
  size_t bytes;                 /* of a spinor */
  kaon_context *ctx;
  kaon_lattice *lattice;
  kaon_gauge *gauge;
  kaon_operator *M;
} fields;

static void must(kaon_context *ctx, kaon_status status) {
  if (status != KAON_OK) fail_msg("%s", kaon_last_error(ctx));
}

static double *part_of(fields *f, double *whole, int reals) {
  double *part = milc_part(&f->c, whole, reals, 8);
  free(whole);
  return part;
}

static double *random_term(const milc_case *c, uint64_t seed) {
  double *term = milc_random(c, 72, seed);
  for (int64_t i = 0; i < 72 * c->sites; i++)
    term[i] = i % 36 < 6 ? 1 + 0.1 * term[i] : 0.035 * term[i];
  return term;
}

static void make_operator(fields *f) {
  kaon_dirac_options options = KAON_DIRAC_OPTIONS_INIT;
  options.kappa = kappa;
  kaon_operator_destroy(&f->M);
  must(f->ctx,
       kaon_dirac_create_clover(f->gauge, &options, KAON_ORDER_MILC, KAON_DOUBLE, f->term, &f->M));
}

static void open_fields(fields *f) {
  memset(f, 0, sizeof *f);
  milc_open(&f->c, extents, grid, rank, 0);
  double *whole = malloc(576 * (size_t)f->c.sites), *plain = malloc(576 * (size_t)f->c.sites);
  const int64_t slice = 18 * 4 * f->c.sites / extents[3];
  for (int64_t i = 0; i < 72 * f->c.sites; i++) { /* fat links are SU(3) times signs */
    const int mu = (int)(i / 18 % 4);
    const int64_t site = i / 72, x = site % 4, y = site / 4 % 4, t = i / slice;
    const int64_t sum[4] = {t, t + x, t + x + y, 0};
    const double sign = sum[mu] % 2 == 0 ? 1 : -1;
    whole[i] = f->c.fat[i] * sign;
    plain[i] = mu == 3 && t == extents[3] - 1 ? -whole[i] : whole[i];
  }
  f->links = part_of(f, whole, 72);
  f->plain = part_of(f, plain, 72);
  f->term = part_of(f, random_term(&f->c, 5), 72);
  f->b = part_of(f, milc_random(&f->c, 24, 6), 24);
  f->bytes = 192 * (size_t)f->c.part;
  f->x = calloc(1, f->bytes);
  must(NULL, ranks == 1 ? kaon_context_create(NULL, &f->ctx)
                        : kaon_context_create_ranks(NULL, NULL, grid, &f->ctx));
  must(f->ctx, kaon_lattice_create(f->ctx, extents, KAON_ANTIPERIODIC, &f->lattice));
  must(f->ctx, kaon_gauge_create(f->lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &f->gauge));
  const void *arrays = f->plain;
  must(f->ctx, kaon_gauge_import(f->gauge, KAON_ORDER_MILC, KAON_DOUBLE, &arrays));
  make_operator(f);
}

static void close_fields(fields *f) {
  kaon_operator_destroy(&f->M);
  kaon_gauge_destroy(&f->gauge);
  kaon_lattice_destroy(&f->lattice);
  kaon_context_destroy(&f->ctx);
  free(f->links);
  free(f->plain);
  free(f->term);
  free(f->b);
  free(f->x);
  milc_close(&f->c);
}

static kaon_vector_layout layout_of(kaon_site_order sites) {
  kaon_vector_layout layout = KAON_VECTOR_LAYOUT_INIT;
  layout.sites = sites;
  layout.basis = KAON_BASIS_DEGRAND_ROSSI;
  return layout;
}

static kaon_vector *vector_of(fields *f, const kaon_space *space, int columns) {
  kaon_vector *v;
  must(f->ctx, kaon_vector_create(f->ctx, space, KAON_DOUBLE, columns, &v));
  return v;
}

/* |b - M x| / |b| */
static double residual_of(fields *f, const void *x) {
  const kaon_vector_layout layout = layout_of(KAON_SITES_EVEN_ODD);
  const kaon_space *space = kaon_operator_space(f->M);
  kaon_vector *b = vector_of(f, space, 1), *v = vector_of(f, space, 1), *r = vector_of(f, space, 1);
  double norm_b, norm_r;
  must(f->ctx, kaon_vector_import_ordered(b, 0, f->b, f->bytes, &layout));
  must(f->ctx, kaon_vector_import_ordered(v, 0, x, f->bytes, &layout));
  must(f->ctx, kaon_operator_apply(f->M, KAON_PLAIN, v, r));
  must(f->ctx, kaon_vector_axpy(-1, 0, b, r));
  must(f->ctx, kaon_vector_norm2(b, &norm_b));
  must(f->ctx, kaon_vector_norm2(r, &norm_r));
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&v);
  kaon_vector_destroy(&r);
  return sqrt(norm_r / norm_b);
}

static int invert(fields *f, QudaInvertArgs_t args, const void *links, void *term,
                  double *residual) {
  double fermilab;
  int iters = 0;
  qudaCloverInvert(2, 2, kappa, coefficient, args, 1e-9, 0, links, term, term, f->b, f->x, residual,
                   &fermilab, &iters);
  return iters;
}

/* ---- tests ---- */

static void check_own(fields *f, kaon_method method, int iters) {
  const kaon_vector_layout layout = layout_of(KAON_SITES_EVEN_ODD);
  kaon_even_odd_options reduction = KAON_EVEN_ODD_OPTIONS_INIT;
  kaon_solver_options options = KAON_SOLVER_OPTIONS_INIT;
  kaon_operator *A;
  kaon_solver *solver;
  kaon_column_report column;
  double *expected = malloc(f->bytes);
  kaon_vector *b = vector_of(f, kaon_operator_space(f->M), 1);
  kaon_vector *x = vector_of(f, kaon_operator_space(f->M), 1);
  reduction.parity = KAON_ODD;
  options.method = method;
  options.tol = 1e-9;
  must(f->ctx, kaon_dirac_even_odd(f->M, &reduction, &A));
  must(f->ctx, kaon_solver_create(A, 1, &options, &solver));
  must(f->ctx, kaon_vector_import_ordered(b, 0, f->b, f->bytes, &layout));
  must(f->ctx, kaon_solver_solve(solver, b, x, &column, NULL));
  must(f->ctx, kaon_vector_export_ordered(x, 0, expected, f->bytes, &layout));
  assert_int_equal(iters, column.iterations);
  assert_memory_equal(f->x, expected, f->bytes);
  kaon_solver_destroy(&solver);
  kaon_operator_destroy(&A);
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
  free(expected);
}

static void test_invert(void **state) {
  fields f;
  double residual;
  (void)state;
  open_fields(&f);
  for (int k = 0; k < 2; k++) {
    const QudaInverterType solver = k == 0 ? QUDA_BICGSTAB_INVERTER : QUDA_CG_INVERTER;
    const int iters = invert(&f, arguments(solver, 0), f.links, f.term, &residual);
    assert_true(residual <= 1.1e-9);
    check_own(&f, k == 0 ? KAON_BICGSTAB : KAON_CGNR, iters);
  }
  for (int mixed = 1; mixed < 3; mixed++) {
    memset(f.x, 0, f.bytes);
    invert(&f, arguments(QUDA_BICGSTAB_INVERTER, mixed), f.links, f.term, &residual);
    assert_true(residual <= 1.1e-9 && residual_of(&f, f.x) <= 1.2e-9);
  }
  double fermilab;
  int iters = 0; /* Fermilab's residual alone: sites with a small |x| are solved, too */
  memset(f.x, 0, f.bytes);
  qudaCloverInvert(2, 2, kappa, coefficient, arguments(QUDA_BICGSTAB_INVERTER, 2), 0, 1e-8, f.links,
                   f.term, NULL, f.b, f.x, &residual, &fermilab, &iters);
  assert_true(iters > 0 && fermilab <= 1.1e-8 && residual_of(&f, f.x) <= 1e-6);
  close_fields(&f);
}

/* Other fields in the same arrays, the same fields in other arrays, fields that stay. */
static void test_fields(void **state) {
  const QudaInvertArgs_t args = arguments(QUDA_BICGSTAB_INVERTER, 0);
  fields f;
  double residual, trlog[2], logdet;
  int64_t negative;
  (void)state;
  open_fields(&f);
  invert(&f, args, f.links, f.term, &residual);
  double *term = part_of(&f, random_term(&f.c, 7), 72);
  memcpy(f.term, term, 576 * (size_t)f.c.part);
  make_operator(&f);
  invert(&f, args, f.links, f.term, &residual);
  assert_true(residual_of(&f, f.x) <= 1.2e-9);
  memset(f.x, 0, f.bytes);
  invert(&f, args, f.links, term, &residual); /* the same bits */
  assert_true(residual_of(&f, f.x) <= 1.2e-9);
  qudaFreeGaugeField();
  qudaFreeCloverField();
  qudaLoadGaugeField(2, 2, args, f.links);
  qudaLoadCloverField(2, 2, args, f.term, NULL, QUDA_MAT_SOLUTION, QUDA_DIRECT_PC_SOLVE,
                      coefficient, 1, trlog);
  for (int p = 0; p < 2; p++) {
    must(f.ctx, kaon_dirac_clover_logdet(f.M, (kaon_parity)p, &logdet, &negative));
    assert_true(trlog[p] == logdet);
  }
  memset(f.x, 0, f.bytes);
  invert(&f, args, NULL, NULL, &residual);
  assert_true(residual_of(&f, f.x) <= 1.2e-9);
  free(term);
  close_fields(&f);
}

/* Floats in, floats out: solution and fields are rounded by 6e-8. The norm of M is below 1.3 + 8
 * kappa, and |x| below |b| / (0.8 - 8 kappa / ...) is a few |b|; 1e-5 is above all of it. */
static void test_floats(void **state) {
  fields f;
  double residual, fermilab;
  int iters = 0;
  (void)state;
  open_fields(&f);
  const size_t links = 72 * (size_t)f.c.part, numbers = 24 * (size_t)f.c.part;
  float *u = malloc(4 * links), *a = malloc(4 * links), *b = malloc(4 * numbers);
  float *x = calloc(4, numbers);
  for (size_t i = 0; i < links; i++) {
    u[i] = (float)f.links[i];
    a[i] = (float)f.term[i];
  }
  for (size_t i = 0; i < numbers; i++) b[i] = (float)f.b[i];
  qudaCloverInvert(1, 1, kappa, coefficient, arguments(QUDA_BICGSTAB_INVERTER, 2), 1e-6, 0, u, a, a,
                   b, x, &residual, &fermilab, &iters);
  for (size_t i = 0; i < numbers; i++) f.x[i] = (double)x[i];
  assert_true(iters > 0 && residual <= 1.1e-6 && residual_of(&f, f.x) <= 1e-5);
  free(u);
  free(a);
  free(b);
  free(x);
  close_fields(&f);
}

static void test_multishift(void **state) {
  const kaon_vector_layout layout = layout_of(KAON_SITES_ONE_PARITY);
  double offset[3] = {0.01, 0.1, 1}, tol[3] = {1e-9, 1e-8, 1e-7}, residual[3], trlog[2];
  kaon_even_odd_options reduction = KAON_EVEN_ODD_OPTIONS_INIT;
  kaon_multishift *solver;
  kaon_operator *A, *normal;
  QudaInvertArgs_t args = arguments(QUDA_CG_INVERTER, 0);
  fields f;
  double *x[3];
  int iters = 0;
  (void)state;
  open_fields(&f);
  const size_t half = f.bytes / 2;
  double *expected = malloc(half);
  for (int i = 0; i < 3; i++) x[i] = calloc(1, half);
  qudaLoadGaugeField(2, 2, args, f.links);
  qudaLoadCloverField(2, 2, args, f.term, NULL, QUDA_MATPCDAG_MATPC_SOLUTION, QUDA_NORMOP_PC_SOLVE,
                      coefficient, 0, trlog);
  args.make_resident_solution = 0;
  qudaCloverMultishiftInvert(2, 2, 3, offset, kappa, coefficient, args, tol, f.b, (void **)x,
                             residual, &iters);
  reduction.parity = KAON_EVEN;
  reduction.form = KAON_EVEN_ODD_ASYMMETRIC;
  must(f.ctx, kaon_dirac_even_odd(f.M, &reduction, &A));
  must(f.ctx, kaon_operator_normal(A, &normal));
  must(f.ctx, kaon_multishift_create(normal, 3, offset, NULL, &solver));
  must(f.ctx, kaon_multishift_set_tol(solver, tol));
  kaon_vector *b = vector_of(&f, kaon_operator_space(A), 1);
  kaon_vector *own = vector_of(&f, kaon_operator_space(A), 3);
  must(f.ctx, kaon_vector_import_ordered(b, 0, f.b, half, &layout));
  must(f.ctx, kaon_multishift_solve(solver, b, own, NULL, NULL));
  for (int i = 0; i < 3; i++) {
    must(f.ctx, kaon_vector_export_ordered(own, i, expected, half, &layout));
    assert_memory_equal(x[i], expected, half);
    assert_true(residual[i] <= 1.1 * tol[i]);
    free(x[i]);
  }
  assert_true(iters > 0);
  qudaFreeCloverField();
  qudaFreeGaugeField();
  kaon_multishift_destroy(&solver);
  kaon_operator_destroy(&normal);
  kaon_operator_destroy(&A);
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&own);
  free(expected);
  close_fields(&f);
}

static void test_refusals(void **state) {
  const QudaInvertArgs_t args = arguments(QUDA_BICGSTAB_INVERTER, 0);
  fields f;
  double residual = 0, fermilab = 0;
  int iters = 0;
  (void)state;
  open_fields(&f);
  setenv("KAON_QUDA_ON_ERROR", "return", 1);
  qudaCloverInvert(2, 2, kappa, coefficient, args, 0, 0, f.links, f.term, NULL, f.b, f.x, &residual,
                   &fermilab, &iters);
  assert_true(isnan(residual) && isnan(fermilab) && iters == -1);
  for (int k = 0; k < 2; k++) {
    double *where = k == 0 ? f.links : f.term;
    const double kept = where[3];
    where[3] = NAN;
    assert_int_equal(invert(&f, args, f.links, f.term, &residual), -1);
    assert_true(isnan(residual));
    where[3] = kept;
  }
  invert(&f, args, f.links, f.term, &residual);
  assert_true(residual_of(&f, f.x) <= 1.2e-9);
  unsetenv("KAON_QUDA_ON_ERROR");
  close_fields(&f);
}

int main(int argc, char **argv) {
#ifdef KAON_QUDA_MPI
  static const int by_ranks[3][4] = {{1, 1, 1, 1}, {1, 1, 1, 2}, {1, 1, 2, 2}};
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  memcpy(grid, by_ranks[ranks / 2], sizeof grid);
#else
  (void)argc, (void)argv;
#endif
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_invert),   cmocka_unit_test(test_fields),
      cmocka_unit_test(test_floats),   cmocka_unit_test(test_multishift),
      cmocka_unit_test(test_refusals),
  };
  start();
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  qudaFinalize();
#ifdef KAON_QUDA_MPI
  MPI_Finalize();
#endif
  return failed;
}
