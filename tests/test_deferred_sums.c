/* test_deferred_sums.c - sums that a pass defers to a product (kaon_pass.completed_by,
 * lib/operator/pass.h): the update of Chronopoulos and Gear's CG, then a matrix product that
 * completes them. On every machine, for real and complex rows of several sizes, in
 * double and single, slots agree with sums of the stored numbers in long double. Closed columns
 * and the remains of a failed step change nothing. Other operations refuse partial sums.
 *
 * Bound: a sum of n numbers s_i in double is off by at most n 2^-53 sum |s_i| in any order; each
 * number is a product of two doubles, with one more rounding. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <complex.h>
#include <math.h>
#include <stdlib.h>

#include "blas/precond_updates.h"
#include "lib/operator/fused_apply.h"
#include "tests/util/machine.h"
#include "tests/util/test_util.h"

typedef long double complex wide;
enum { D, W, U, S, R, P, X, VECTORS };
enum { ALPHA, BETA, FIRST = 10, OWN = 14, SUMS = 5 };
enum { PLAIN, PRECONDITIONED, SCALED, WAYS };
static const double untouched = -17.25;

typedef struct {
  kaon_context *ctx;
  kaon_matrix *matrix;
  kaon_operator *A;
  int64_t rows;
  int reals;
  kaon_vector *v[VECTORS];
  double *host[VECTORS];
  kaon_scalars *scalars;
} bench;

static uint64_t seed = 1;

/* Of n entries, whose arrays are freed. */
static void make_matrix(bench *b, int64_t n, int64_t *row, int64_t *column, double *value) {
  const kaon_triplet_arrays arrays = {.global_rows = b->rows,
                                      .rows = b->rows,
                                      .reals = b->reals,
                                      .entries = n,
                                      .row = row,
                                      .column = column,
                                      .values = value};
  must(b->ctx, kaon_matrix_create_triplets(b->ctx, &arrays, NULL, &b->matrix));
  free(row), free(column), free(value);
}

/* Rows of complex numbers: three diagonals. */
static void make_complex(bench *b) {
  const int64_t rows = b->rows;
  int64_t n = 0, *row = calloc((size_t)(3 * rows), sizeof *row),
          *column = calloc((size_t)(3 * rows), sizeof *column);
  double *value = calloc((size_t)(6 * rows), sizeof *value);
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = i - 1; j <= i + 1; j++) {
      if (j < 0 || j >= rows) continue;
      row[n] = i, column[n] = j;
      for (int c = 0; c < 2; c++) value[2 * n + c] = test_uniform(&seed);
      n++;
    }
  make_matrix(b, n, row, column, value);
}

/* An arrow: the diagonal, the first row and the first column, all full. A device stores the first
 * row apart, and another kernel sums such products. */
static void make_arrow(bench *b) {
  const int64_t rows = b->rows;
  int64_t n = 0, *row = calloc((size_t)(3 * rows), sizeof *row),
          *column = calloc((size_t)(3 * rows), sizeof *column);
  double *value = calloc((size_t)(3 * rows), sizeof *value);
  for (int64_t i = 0; i < rows; i++)
    for (int way = 0; way < (i == 0 ? 1 : 3); way++) {
      row[n] = way == 1 ? 0 : i, column[n] = way == 2 ? 0 : i;
      value[n++] = test_uniform(&seed);
    }
  make_matrix(b, n, row, column, value);
}

/* side 0: the arrow. */
static void open_bench(bench *b, int machine, int side, int reals, kaon_precision precision) {
  const kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  char name[32];
  *b = (bench){.rows = side == 0 ? 100000 : (int64_t)side * side * side, .reals = reals};
  must(NULL, machine_open(machine, options, &b->ctx));
  snprintf(name, sizeof name, "laplace3d:%d", side);
  if (side == 0)
    make_arrow(b);
  else if (reals == 2)
    make_complex(b);
  else
    must(b->ctx, kaon_matrix_generate(b->ctx, name, NULL, &b->matrix, NULL));
  kaon_operator *A = NULL;
  must(b->ctx, kaon_matrix_operator(b->matrix, NULL, &A));
  if (precision == KAON_DOUBLE)
    b->A = A;
  else {
    must(b->ctx, A->ops->twin(A, precision, KAON_RECONSTRUCT_18, &b->A));
    kaon_operator_destroy(&A);
  }
  for (int i = 0; i < VECTORS; i++) {
    b->host[i] = calloc((size_t)(b->rows * reals), sizeof(double));
    must(b->ctx, kaon_vector_create(b->ctx, kaon_matrix_space(b->matrix), precision, 1, &b->v[i]));
    for (int64_t n = 0; n < b->rows * reals; n++) b->host[i][n] = test_uniform(&seed);
    must(b->ctx, kaon_vector_import(b->v[i], 0, b->host[i], KAON_BASIS_UKQCD));
  }
  must(b->ctx, kaon_scalars_create(b->ctx, 1, &b->scalars));
}

static void close_bench(bench *b) {
  for (int i = 0; i < VECTORS; i++) {
    kaon_vector_destroy(&b->v[i]);
    free(b->host[i]);
  }
  kaon_scalars_destroy(&b->scalars);
  kaon_operator_destroy(&b->A);
  kaon_matrix_destroy(&b->matrix);
  kaon_context_destroy(&b->ctx);
}

static void set_slots(bench *b, int gate) {
  kaon_column_state state;
  must(b->ctx, kaon_scalars_read(b->scalars, &state));
  state.gate = gate;
  for (int i = FIRST; i < FIRST + SUMS; i++)
    for (int c = 0; c < 2; c++) state.slot[i][c] = untouched;
  state.slot[ALPHA][0] = 0.5, state.slot[BETA][0] = 0.25;
  state.slot[ALPHA][1] = state.slot[BETA][1] = 0;
  must(b->ctx, kaon_scalars_write(b->scalars, &state));
}

/* The update, whose sums wait; how many there are. */
static int update(bench *b, int way) {
  static const int all_slots[4] = {FIRST, FIRST + 1, FIRST + 2, FIRST + 3},
                   two[4] = {FIRST, KAON_NO_SLOT, FIRST + 1, KAON_NO_SLOT};
  const int *slots = way == PRECONDITIONED ? two : all_slots;
  kaon_vector **v = b->v;
  kaon_chrongear_vectors all = {.w = v[W], .s = v[S], .r = v[R], .p = v[P], .x = v[X]};
  kaon_pass pass = KAON_PASS_INIT;
  pass.scalars = b->scalars;
  pass.sum = KAON_SUM_DEFER;
  pass.completed_by = b->A;
  if (way != PLAIN) all.u = v[U];
  if (way == SCALED) all.d = v[D];
  must(b->ctx, kaon_blas_chrongear(ALPHA, BETA, &all, slots, &pass));
  return way == PLAIN ? 3 : way == PRECONDITIONED ? 2 : 4;
}

static kaon_status product(bench *b, int way, kaon_vector **u) {
  kaon_pass pass = KAON_PASS_INIT;
  *u = way == PLAIN ? b->v[R] : b->v[U];
  pass.scalars = b->scalars;
  pass.dot = OWN;
  pass.w = *u;
  return kaon_operator_run(b->A, KAON_PLAIN, *u, b->v[W], &pass);
}

static wide number_at(const bench *b, int i, int64_t n) {
  const double *x = b->host[i] + n * b->reals;
  return b->reals == 2 ? x[0] + I * (wide)x[1] : (wide)x[0];
}

/* (x, y) of what is stored beside a slot. */
static double off(const bench *b, const kaon_column_state *state, int slot, int x, int y) {
  wide sum = 0;
  long double sizes = 0;
  for (int64_t n = 0; n < b->rows; n++) {
    const wide term = conjl(number_at(b, x, n)) * number_at(b, y, n);
    sum += term;
    sizes += fabsl(creall(term)) + fabsl(cimagl(term));
  }
  const long double apart =
      hypotl(state->slot[slot][0] - creall(sum), state->slot[slot][1] - cimagl(sum));
  return (double)(apart / ((long double)(2 * b->rows + 2) * 0x1p-53L * sizes));
}

static void check(bench *b, int way, int count) {
  static const int pairs[WAYS][4][2] = {
      {{R, R}, {R, S}, {P, S}}, {{R, R}, {P, S}}, {{R, R}, {U, S}, {P, S}, {R, U}}};
  const int u = way == PLAIN ? R : U;
  kaon_column_state state;
  double worst = 0;
  for (int i = 0; i < VECTORS; i++)
    must(b->ctx, kaon_vector_export(b->v[i], 0, b->host[i], KAON_BASIS_UKQCD));
  must(b->ctx, kaon_scalars_read(b->scalars, &state));
  for (int i = 0; i < count; i++)
    worst = larger(worst, off(b, &state, FIRST + i, pairs[way][i][0], pairs[way][i][1]));
  worst = larger(worst, off(b, &state, OWN, u, W));
  if (!(worst <= 1)) print_message("way %d, %lld rows: %g\n", way, (long long)b->rows, worst);
  assert_true(worst <= 1);
}

/* Slots have their sums when the product has ended, and not before if the sums are left to it. */
static void both_ways(bench *b, int leaves, int way) {
  kaon_column_state state;
  kaon_vector *u;
  set_slots(b, KAON_GATE_STEP);
  update(b, (way + 1) % WAYS);
  set_slots(b, KAON_GATE_STEP); /* that step ends here */
  const int count = update(b, way);
  assert_int_equal(b->scalars->deferred.left, leaves ? count : 0);
  must(b->ctx, kaon_scalars_read(b->scalars, &state));
  for (int i = 0; i < count && leaves; i++) assert_true(state.slot[FIRST + i][0] == untouched);
  must(b->ctx, product(b, way, &u));
  check(b, way, count);
  assert_int_equal(b->scalars->deferred.left, 0);
}

static void closed_columns_rest(bench *b, int way) {
  kaon_column_state state;
  kaon_vector *u;
  set_slots(b, KAON_GATE_SERVICE);
  update(b, way);
  must(b->ctx, product(b, way, &u));
  must(b->ctx, kaon_scalars_read(b->scalars, &state));
  for (int i = FIRST; i < FIRST + SUMS; i++) assert_true(state.slot[i][0] == untouched);
}

static void kept_sums_are_taken_along(void **state) {
  static const int sides[] = {1, 3, 12, 40, 96};
  (void)state;
  for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++) {
    if (machine_lacks(machine)) continue;
    for (size_t i = 0; i < sizeof sides / sizeof *sides; i++)
      for (int reals = 1; reals <= 2; reals++)
        for (int p = KAON_DOUBLE; p <= KAON_SINGLE; p++) {
          if (sides[i] > 12 && machine != MACHINE_LAST && machine != KAON_ISA_SCALAR) continue;
          bench b;
          open_bench(&b, machine, sides[i], reals, (kaon_precision)p);
          for (int way = 0; way < WAYS; way++) {
            both_ways(&b, machine == MACHINE_CUDA, way);
            closed_columns_rest(&b, way);
          }
          close_bench(&b);
        }
  }
}

/* Nor are they left where the product's kernel ends none. */
static void products_without_sums_of_their_own_take_none(void **state) {
  static const int machines[] = {KAON_ISA_SCALAR, MACHINE_CUDA};
  (void)state;
  for (int m = 0; m < 2; m++)
    for (int p = KAON_DOUBLE; p <= KAON_SINGLE; p++) {
      if (machine_lacks(machines[m])) continue;
      bench b;
      open_bench(&b, machines[m], 0, 1, (kaon_precision)p);
      for (int way = 0; way < WAYS; way++) {
        both_ways(&b, 0, way);
        closed_columns_rest(&b, way);
      }
      close_bench(&b);
    }
}

/* An update does not complete sums that were left in parts; the next step starts anew. */
static void others_refuse_parts(void **state) {
  static const int slots[3] = {OWN, KAON_NO_SLOT, KAON_NO_SLOT};
  kaon_vector *u;
  bench b;
  (void)state;
  if (machine_lacks(MACHINE_CUDA)) skip();
  open_bench(&b, MACHINE_CUDA, 12, 1, KAON_DOUBLE);
  set_slots(&b, KAON_GATE_STEP);
  kaon_pass end = KAON_PASS_INIT;
  end.scalars = b.scalars;
  update(&b, SCALED);
  must_refuse(b.ctx, KAON_ERR_INTERNAL, kaon_blas_dot(b.v[R], b.v[R], slots, &end));
  const int count = update(&b, SCALED);
  must(b.ctx, product(&b, SCALED, &u));
  check(&b, SCALED, count);
  close_bench(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(kept_sums_are_taken_along),
      cmocka_unit_test(products_without_sums_of_their_own_take_none),
      cmocka_unit_test(others_refuse_parts),
  };
  return test_main(tests, NULL, NULL);
}
