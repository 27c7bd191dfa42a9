/* test_openfoam.c - OpenFOAM's own matrices, serial and as decomposePar divides them. Products
 * agree with lduMatrix::Amul and solutions with OpenFOAM's solvers
 * (tests/data/openfoam/README.md). */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>

#include "ranks.h"
#include "sparse/storage/matrix.h"
#include "tests/util/sparse_case.h"

enum { CELLS = 48, FACES = 96, SIDES = 8 };
static const int *const any_grid = NULL;

typedef struct foam_part {
  kaon_ldu_arrays arrays;
  int cells, faces, asymmetric;
  int32_t cell[CELLS], owner[FACES], neighbour[FACES], side[SIDES][FACES];
  double diagonal[CELLS], upper[FACES], lower[FACES], beyond[SIDES][FACES];
  double source[CELLS], psi[CELLS], product[CELLS];
  kaon_ldu_interface interface[SIDES];
} foam_part;

static void read_word(FILE *file, const char *word) {
  char found[32] = "";
  assert_int_equal(fscanf(file, "%31s", found), 1);
  assert_string_equal(found, word);
}

static void read_labels(FILE *file, const char *word, int n, int32_t *to) {
  read_word(file, word);
  for (int i = 0; i < n; i++) assert_int_equal(fscanf(file, "%d", &to[i]), 1);
}

static void read_numbers(FILE *file, const char *word, int n, double *to) {
  read_word(file, word);
  for (int i = 0; i < n; i++) assert_int_equal(fscanf(file, "%lf", &to[i]), 1);
}

static void read_part(const char *name, int rank, int ranks, foam_part *p) {
  char path[512];
  int interfaces = 0;
  *p = (foam_part){0};
  snprintf(path, sizeof path, KAON_SOURCE_DIR "/tests/data/openfoam/%s.%d.%d.txt", name, ranks,
           rank);
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  read_word(file, "sizes");
  assert_int_equal(fscanf(file, "%d %d %d %d", &p->cells, &p->faces, &p->asymmetric, &interfaces),
                   4);
  assert_true(p->cells <= CELLS && p->faces <= FACES && interfaces <= SIDES);
  read_labels(file, "cell", p->cells, p->cell);
  read_labels(file, "owner", p->faces, p->owner);
  read_labels(file, "neighbour", p->faces, p->neighbour);
  read_numbers(file, "diagonal", p->cells, p->diagonal);
  read_numbers(file, "upper", p->faces, p->upper);
  if (p->asymmetric) read_numbers(file, "lower", p->faces, p->lower);
  for (int n = 0; n < interfaces; n++) {
    int faces = 0;
    kaon_ldu_interface *i = &p->interface[n];
    read_word(file, "interface");
    assert_int_equal(fscanf(file, "%d %d", &i->rank, &faces), 2);
    assert_true(faces <= FACES);
    read_labels(file, "cells", faces, p->side[n]);
    read_numbers(file, "coefficients", faces, p->beyond[n]);
    i->faces = faces;
    i->cells = p->side[n];
    i->coefficients = p->beyond[n];
  }
  read_numbers(file, "source", p->cells, p->source);
  read_numbers(file, "psi", p->cells, p->psi);
  read_numbers(file, "product", p->cells, p->product);
  fclose(file);
  p->arrays = (kaon_ldu_arrays){.cells = p->cells,
                                .faces = p->faces,
                                .owner = p->owner,
                                .neighbour = p->neighbour,
                                .diagonal = p->diagonal,
                                .upper = p->upper,
                                .lower = p->asymmetric ? p->lower : NULL,
                                .interfaces = interfaces,
                                .interface = p->interface};
}

static void multiply(kaon_operator *A, const double *x, double *y) {
  kaon_vector *u = sparse_vector(A, 1), *v = sparse_vector(A, 1);
  must(A->ctx, kaon_vector_import(u, 0, x, KAON_BASIS_UKQCD));
  must(A->ctx, kaon_operator_apply(A, KAON_PLAIN, u, v));
  must(A->ctx, kaon_vector_export(v, 0, y, KAON_BASIS_UKQCD));
  kaon_vector_destroy(&u);
  kaon_vector_destroy(&v);
}

/* x of A x = source by BiCGStab, to 1e-13. */
static void solve(kaon_operator *A, const double *source, double *x) {
  kaon_vector *b = sparse_vector(A, 1), *v = sparse_vector(A, 1);
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  kaon_solver *solver = NULL;
  kaon_column_report report;
  o.method = KAON_BICGSTAB;
  o.tol = 1e-13;
  must(A->ctx, kaon_vector_import(b, 0, source, KAON_BASIS_UKQCD));
  must(A->ctx, kaon_solver_create(A, 1, &o, &solver));
  must(A->ctx, kaon_solver_solve(solver, b, v, &report, NULL));
  assert_true(report.residual <= 1.1e-13);
  must(A->ctx, kaon_vector_export(v, 0, x, KAON_BASIS_UKQCD));
  kaon_solver_destroy(&solver);
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&v);
}

/* A row has at most five entries, none larger than the diagonal, and the vector is at most 2: both
 * sides round each of 9 operations by 2^-53 of 2 * 5 * the largest diagonal entry. The next two
 * bounds come from OpenFOAM's runs: its solvers stopped at 1e-13 in each of ten earlier steps, so
 * serial and divided runs have different coefficients from there on. A wrong sign would be off by
 * 1e8 times as much. inverse: the Frobenius norm of A^-1, from an independent elimination.
 * Residuals are 1.1e-13 here and at most 2.4e-13 of |source| in OpenFOAM's logs, so |x - psi| is
 * at most inverse times their sum. Cases are divided for 1, 2 and 4 ranks. */
static void check_case(const char *name, double inverse) {
  kaon_context *ctx = ranks_open(KAON_ISA_AUTO, any_grid);
  const int ranks = ctx->comm->ranks;
  foam_part p, all;
  double x[CELLS], y[CELLS] = {0}, r[CELLS] = {0}, worst = 0, left = 0, apart = 0, largest = 0,
                   norm = 0;
  kaon_matrix *matrix = NULL;
  if (ranks > 4) {
    printf("%s: divided for 1, 2 and 4 ranks alone: skipped\n", name);
    kaon_context_destroy(&ctx);
    skip();
  }
  read_part(name, 0, 1, &all);
  read_part(name, ctx->comm->rank, ranks, &p);
  for (int i = 0; i < all.cells; i++) largest = larger(largest, fabs(all.diagonal[i]));
  for (int i = 0; i < all.cells; i++) norm += all.source[i] * all.source[i];
  must(ctx, kaon_matrix_create_ldu(ctx, &p.arrays, NULL, &matrix));
  kaon_operator *A = sparse_operator(matrix, KAON_DOUBLE, KAON_STORE_AUTO);
  for (int i = 0; i < p.cells; i++) x[i] = 1 + 7 * p.cell[i] % 11 / 16.0;
  multiply(A, x, y);
  multiply(A, p.psi, r);
  for (int i = 0; i < p.cells; i++) {
    worst = larger(worst, fabs(y[i] - p.product[i]));
    apart = larger(apart, fabs(y[i] - all.product[p.cell[i]]));
    left = larger(left, fabs(r[i] - p.source[i]));
  }
  printf("%s, %d ranks: largest diagonal entry %.3g\n", name, ranks, largest);
  test_below("A x against lduMatrix::Amul on as many ranks", worst, 9 * 10 * largest * 0x1p-52);
  test_below("A x against the serial run's", apart, 1e-9 * largest);
  test_below("A psi - source of OpenFOAM's solution", left, 1e-10 * largest);
  solve(A, p.source, x);
  worst = 0;
  for (int i = 0; i < p.cells; i++) worst = larger(worst, fabs(x[i] - p.psi[i]));
  test_below("x against OpenFOAM's solution", worst, inverse * (1.1e-13 + 2.4e-13) * sqrt(norm));
  kaon_operator_destroy(&A);
  kaon_matrix_destroy(&matrix);
  kaon_context_destroy(&ctx);
}

static void pressure_is_openfoams(void **state) {
  (void)state;
  check_case("pressure", 5.57e6);
}

static void transport_is_openfoams(void **state) {
  (void)state;
  check_case("transport", 1.23e4);
}

static const struct CMUnitTest openfoam[] = {cmocka_unit_test(pressure_is_openfoams),
                                             cmocka_unit_test(transport_is_openfoams)};
RANKS_MAIN(openfoam)
