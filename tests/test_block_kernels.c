/* test_block_kernels.c - the vector kernels that combine columns (gram, block_axpy, block_rotate).
 * The property: every instruction set, the device and every precision agree with plain C on
 * exported arrays.
 *
 * Bounds as in test_update_kernels.c, with u = 2^-53 or 2^-24:
 * - Updates: each of the k complex products behind a number rounds 6 times, by u of the sum of the
 *   terms' magnitudes. Half adds one quantisation, 0.51 / 32767 of the row's largest number.
 * - Half on the device (tf32_split in lib/cuda/reduction/mma.h): both factors are split into two
 *   parts of 11 bits. The second part is truncated (2^-21 of each factor) and the product of the
 *   two second parts is left out (2^-22): below 32 u in all. There are 3 k / 4 sums of nine
 *   addends, each truncated at 2^-23 of the largest at worst: 14 u k.
 * - Sums: (ncomp + 8 + blocks in a chunk + chunks) 2^-53 of the sum of the magnitudes; half (ncomp
 *   + 2) 2^-24 more. There are at most 264 chunks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blas/blas.h"
#include "lib/math/steps/block_recurrences.h"
#include "tests/util/machine.h"
#include "tests/util/test_util.h"

typedef double complex number;
enum {
  VECTORS = 3,
  MOST = 64,
  MATRIX = 64,
  NORM = 600,
  GRAM = 400,
  SENTINEL = -77,
  LAST_CHUNKS = 264
};

typedef struct shape {
  int rows, ncomp, complex_space, columns, closed; /* every `closed`-th column; 0: none */
} shape;

/* Spinors and other spaces; more columns than fit into a register or a block's memory. */
static const shape shapes[] = {{77, 24, 1, 1, 0},   {3000, 24, 1, 12, 0}, {500, 24, 1, 12, 4},
                               {77, 24, 1, 5, 2},   {200, 24, 1, 16, 0},  {150, 24, 1, 40, 7},
                               {100, 24, 1, 64, 0}, {77, 6, 1, 3, 0},     {77, 5, 0, 3, 0},
                               {90, 1, 0, 4, 3},    {40, 128, 1, 8, 0},   {40, 127, 0, 3, 0},
                               {120, 24, 1, 24, 5}, {65, 12, 1, 13, 3}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

typedef struct fixture {
  const shape *s;
  kaon_context *ctx;
  kaon_space space;
  kaon_precision precision;
  size_t count; /* reals of a column */
  kaon_vector *v[VECTORS];
  double *before[VECTORS], *after[VECTORS]; /* [column][row][component] */
  kaon_scalars *scalars;
  kaon_column_state *state;
} fixture;

static uint64_t seed;
static inline int is_open(const fixture *b, int k) {
  return b->s->closed == 0 || k % b->s->closed != 1;
}

static void export_all(const fixture *b, double *const *to) {
  for (int i = 0; i < VECTORS; i++)
    for (int k = 0; k < b->s->columns; k++)
      must(b->ctx, kaon_vector_export(b->v[i], k, to[i] + (size_t)k * b->count, KAON_BASIS_UKQCD));
}

/* Random vectors whose rows differ in size, random matrices; the same at every call. */
static void fill(fixture *b) {
  static const double sizes[] = {1e-2, 1e-1, 1, 10};
  const size_t nc = (size_t)b->s->ncomp;
  seed = 4711;
  for (int i = 0; i < VECTORS; i++) {
    for (size_t n = 0; n < b->count * (size_t)b->s->columns; n++)
      b->before[i][n] = test_uniform(&seed) * sizes[n / nc % 4];
    for (int k = 0; k < b->s->columns; k++)
      must(b->ctx,
           kaon_vector_import(b->v[i], k, b->before[i] + (size_t)k * b->count, KAON_BASIS_UKQCD));
  }
  for (int k = 0; k < b->s->columns; k++) {
    kaon_column_state *s = &b->state[k];
    memset(s, 0, sizeof *s);
    s->gate = is_open(b, k) ? KAON_GATE_STEP : KAON_GATE_SERVICE;
    for (int n = 0; n < KAON_SLOTS; n++)
      for (int c = 0; c < 2; c++) s->slot[n][c] = n < 3 * MATRIX ? test_uniform(&seed) : SENTINEL;
  }
  must(b->ctx, kaon_scalars_write(b->scalars, b->state));
  export_all(b, b->before);
}

static void open_fixture(fixture *b, int machine, int threads, const shape *s,
                         kaon_precision precision) {
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  options.threads = threads;
  *b = (fixture){.s = s, .precision = precision};
  must(NULL, machine_open(machine, options, &b->ctx));
  const int width = b->ctx->backend->width;
  b->space = (kaon_space){.ctx = b->ctx,
                          .inner = 1,
                          .nblocks = (s->rows + width - 1) / width,
                          .nsites = s->rows,
                          .width = width,
                          .ncomp = s->ncomp,
                          .complex_space = s->complex_space};
  b->count = (size_t)s->rows * (size_t)s->ncomp;
  for (int i = 0; i < VECTORS; i++) {
    must(b->ctx, kaon_vector_create(b->ctx, &b->space, precision, s->columns, &b->v[i]));
    b->before[i] = calloc(b->count * (size_t)s->columns, sizeof(double));
    b->after[i] = calloc(b->count * (size_t)s->columns, sizeof(double));
  }
  must(b->ctx, kaon_scalars_create(b->ctx, s->columns, &b->scalars));
  b->state = calloc((size_t)s->columns, sizeof *b->state);
  fill(b);
}

static void close_fixture(fixture *b) {
  for (int i = 0; i < VECTORS; i++) {
    kaon_vector_destroy(&b->v[i]);
    free(b->before[i]), free(b->after[i]);
  }
  free(b->state);
  kaon_scalars_destroy(&b->scalars);
  kaon_context_destroy(&b->ctx);
}

static kaon_pass pass_of(const fixture *b) {
  kaon_pass pass = KAON_PASS_INIT;
  pass.scalars = b->scalars;
  return pass;
}

/* Component c of a row as a number: a real space's reals are numbers with imaginary part 0. */
static inline number number_at(const fixture *b, const double *v, int column, int row, int c) {
  const double *x = v + (size_t)column * b->count + (size_t)row * (size_t)b->s->ncomp;
  return b->s->complex_space ? x[2 * c] + I * x[2 * c + 1] : x[c];
}

static inline number entry(const fixture *b, int k, double sign, int i, int j) {
  const double *z = b->state[j].slot[k * MATRIX + i];
  return sign * (z[0] + (b->s->complex_space ? I * z[1] : 0));
}

typedef struct sum {
  number value;
  double magnitude;
  int terms;
} sum;

static void add(sum *s, number z) {
  s->value += z;
  s->magnitude += fabs(creal(z)) + fabs(cimag(z));
  s->terms++;
}

/* s += sum_i x_i m_ij of matrix k. */
static void add_products(const fixture *b, sum *s, const double *x, int k, double sign, int j,
                         int row, int c) {
  for (int i = 0; i < b->s->columns; i++)
    if (is_open(b, i)) {
      const number z = number_at(b, x, i, row, c), m = entry(b, k, sign, i, j);
      s->value += z * m;
      s->magnitude += (fabs(creal(z)) + fabs(cimag(z))) * (fabs(creal(m)) + fabs(cimag(m)));
      s->terms++;
    }
}

/* What component c of a row of vector o becomes; `vectors` of block_rotate, 0: block_axpy. */
static sum expected(const fixture *b, int vectors, int o, int j, int row, int c) {
  sum s = {0, 0, 0};
  if (vectors == 0 || o == 2) add(&s, number_at(b, b->before[o], j, row, c));
  if (vectors == 0) add_products(b, &s, b->before[0], 0, -1, j, row, c);
  if (vectors > 0 && o < 2) add_products(b, &s, b->before[0], 0, 1, j, row, c);
  if (vectors > 0 && o == 1) add_products(b, &s, b->before[1], 1, 1, j, row, c);
  if (vectors > 0 && o == 2) add_products(b, &s, b->before[1], 2, -1, j, row, c);
  return s;
}

/* Largest error / bound of one column of vector o. */
static double check_column(const fixture *b, int vectors, int o, int j) {
  const int numbers = b->s->complex_space ? b->s->ncomp / 2 : b->s->ncomp;
  const double u = b->precision == KAON_DOUBLE ? 0x1p-53 : 0x1p-24;
  double worst = 0;
  for (int row = 0; row < b->s->rows; row++) {
    sum s[128];
    double largest = 0;
    for (int c = 0; c < numbers; c++) {
      s[c] = expected(b, vectors, o, j, row, c);
      largest = larger(largest, fmax(fabs(creal(s[c].value)), fabs(cimag(s[c].value))));
    }
    for (int c = 0; c < numbers; c++) {
      const number d = number_at(b, b->after[o], j, row, c) - s[c].value;
      const int split = b->precision == KAON_HALF && !b->ctx->backend->host_accessible;
      const int roundings = split ? 14 * s[c].terms + 33 : 6 * s[c].terms + 1;
      double bound = roundings * u * s[c].magnitude;
      if (b->precision == KAON_HALF) bound += 0.51 / 32767 * (largest + bound);
      worst = larger(worst, fmax(fabs(creal(d)), fabs(cimag(d))) / (bound + 1e-300));
    }
  }
  return worst;
}

/* Of all vectors; what is not written must be as it was. */
static double check_update(fixture *b, int vectors) {
  const int first = vectors == 0 ? 1 : 0, end = vectors == 0 ? 2 : vectors;
  double worst = 0;
  export_all(b, b->after);
  for (int o = 0; o < VECTORS; o++)
    for (int j = 0; j < b->s->columns; j++) {
      const size_t at = (size_t)j * b->count;
      if (o < first || o >= end || !is_open(b, j))
        assert_memory_equal(b->before[o] + at, b->after[o] + at, b->count * sizeof(double));
      else
        worst = larger(worst, check_column(b, vectors, o, j));
    }
  return worst;
}

/* |(slot of column j) - (x_i, y_j)| / bound from the exported arrays. */
static double check_sum(const fixture *b, int slot, const double *x, int i, const double *y,
                        int j) {
  const int numbers = b->s->complex_space ? b->s->ncomp / 2 : b->s->ncomp;
  long double re = 0, im = 0, magnitude = 0;
  for (int row = 0; row < b->s->rows; row++)
    for (int c = 0; c < numbers; c++) {
      const number u = number_at(b, x, i, row, c), w = number_at(b, y, j, row, c);
      const number z = conj(u) * w;
      re += creal(z);
      im += cimag(z);
      magnitude += (fabs(creal(u)) + fabs(cimag(u))) * (fabs(creal(w)) + fabs(cimag(w)));
    }
  const double *found = b->state[j].slot[slot];
  double bound = (b->s->ncomp + 8 + (double)b->space.nblocks / 32 + LAST_CHUNKS) * 0x1p-53;
  if (b->precision == KAON_HALF) bound += (b->s->ncomp + 2) * 0x1p-24;
  return fmax(fabs(found[0] - (double)re), fabs(found[1] - (double)im)) /
         (bound * (double)magnitude);
}

static double check_gram(fixture *b, const double *x, const double *y) {
  double worst = 0;
  must(b->ctx, kaon_scalars_read(b->scalars, b->state));
  for (int j = 0; j < b->s->columns; j++)
    for (int i = 0; i < MATRIX; i++) {
      if (i < b->s->columns && is_open(b, i) && is_open(b, j))
        worst = larger(worst, check_sum(b, GRAM + i, x, i, y, j));
      else
        assert_true(b->state[j].slot[GRAM + i][0] == SENTINEL);
    }
  return worst;
}

static double run_gram(fixture *b, int x, int y, int hermitian) {
  const kaon_pass pass = pass_of(b);
  fill(b);
  must(b->ctx, kaon_blas_gram(b->v[x], b->v[y], hermitian, GRAM, &pass));
  return check_gram(b, b->before[x], b->before[y]);
}

static double run_axpy(fixture *b, double *sums) {
  kaon_pass pass = pass_of(b);
  pass.norm = NORM;
  fill(b);
  must(b->ctx, kaon_blas_block_axpy(KAON_MINUS(0), b->v[0], b->v[1], &pass));
  const double worst = check_update(b, 0);
  must(b->ctx, kaon_scalars_read(b->scalars, b->state));
  *sums = 0;
  for (int j = 0; j < b->s->columns; j++) {
    if (is_open(b, j))
      *sums = larger(*sums, check_sum(b, NORM, b->after[1], j, b->after[1], j));
    else
      assert_true(b->state[j].slot[NORM][0] == SENTINEL);
  }
  return worst;
}

static double run_rotate(fixture *b, int vectors) {
  const kaon_pass pass = pass_of(b);
  fill(b);
  must(b->ctx, kaon_blas_block_rotate(KAON_PLUS(0), b->v[0], KAON_PLUS(MATRIX),
                                      vectors > 1 ? b->v[1] : NULL, KAON_MINUS(2 * MATRIX),
                                      vectors > 2 ? b->v[2] : NULL, &pass));
  return check_update(b, vectors);
}

static void entries_agree_with_plain_c(void **state) {
  (void)state;
  for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++) {
    if (machine_lacks(machine)) continue;
    for (int precision = KAON_DOUBLE; precision <= KAON_HALF; precision++)
      for (int i = 0; i < SHAPES; i++) {
        fixture b;
        shape few = shapes[i];
        const shape *s = &few;
        if (TEST_SLOWED && (i + precision + machine) % 2) continue;
        if (TEST_SLOWED && few.rows > 1000) few.rows /= 4; /* still two chunks */
        double sums;
        open_fixture(&b, machine, 1, s, (kaon_precision)precision);
        const double gram = run_gram(&b, 0, 1, 0), hermitian = run_gram(&b, 2, 2, 1);
        const double axpy = run_axpy(&b, &sums);
        double rotate[3];
        for (int n = 0; n < 3; n++) rotate[n] = run_rotate(&b, n + 1);
        print_message(
            "%s precision %d, %d rows of %d, %d columns: error / bound: gram %.3f "
            "(hermitian %.3f), axpy %.3f (norm %.3f), rotate %.3f %.3f %.3f\n",
            machine_name(machine), precision, s->rows, s->ncomp, s->columns, gram, hermitian, axpy,
            sums, rotate[0], rotate[1], rotate[2]);
        assert_true(gram <= 1 && hermitian <= 1 && axpy <= 1 && sums <= 1);
        for (int n = 0; n < 3; n++) assert_true(rotate[n] <= 1);
        close_fixture(&b);
      }
  }
}

/* (x_j, x_i) must be the conjugate of (x_i, x_j) to the last bit where the kernel computes only
 * one of them. */
static void known_symmetry_is_exact(void **state) {
  (void)state;
  for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++) {
    if (machine_lacks(machine)) continue;
    fixture b;
    open_fixture(&b, machine, 2, &shapes[2], KAON_SINGLE);
    run_gram(&b, 0, 0, 1);
    for (int j = 0; j < b.s->columns; j++)
      for (int i = 0; i <= j; i++) {
        const double *z = b.state[j].slot[GRAM + i], *w = b.state[i].slot[GRAM + j];
        assert_true(z[0] == w[0]);
        if (is_open(&b, i) && is_open(&b, j)) assert_true(z[1] == -w[1] && (i != j || z[1] == 0));
      }
    close_fixture(&b);
  }
}

/* The first test checks the numbers; here only bits are compared. */
static void bits_do_not_depend_on_the_number_of_threads(void **state) {
  (void)state;
  for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++) {
    if (machine_lacks(machine)) continue;
    for (int precision = KAON_DOUBLE; precision <= KAON_HALF; precision++) {
      fixture b[3];
      for (int t = 0; t < 3; t++) {
        open_fixture(&b[t], machine, t + 1, &shapes[1], (kaon_precision)precision);
        kaon_pass pass = pass_of(&b[t]);
        must(b[t].ctx, kaon_blas_gram(b[t].v[0], b[t].v[1], 0, GRAM, &pass));
        pass.norm = NORM;
        must(b[t].ctx, kaon_blas_block_axpy(KAON_MINUS(0), b[t].v[0], b[t].v[1], &pass));
        export_all(&b[t], b[t].after);
        must(b[t].ctx, kaon_scalars_read(b[t].scalars, b[t].state));
      }
      for (int t = 1; t < 3; t++) {
        assert_memory_equal(b[0].state, b[t].state, 12 * sizeof *b[0].state);
        assert_memory_equal(b[0].after[1], b[t].after[1], 12 * b[0].count * sizeof(double));
      }
      for (int t = 0; t < 3; t++) close_fixture(&b[t]);
    }
  }
}

static void what_does_not_fit_is_refused(void **state) {
  (void)state;
  fixture b;
  open_fixture(&b, KAON_ISA_AUTO, 1, &shapes[3], KAON_DOUBLE);
  const kaon_pass pass = pass_of(&b);
  kaon_vector *many = NULL;
  must(b.ctx, kaon_vector_create(b.ctx, &b.space, KAON_DOUBLE, MOST + 1, &many));
  kaon_scalars *scalars = NULL;
  must(b.ctx, kaon_scalars_create(b.ctx, MOST + 1, &scalars));
  kaon_pass wide = pass;
  wide.scalars = scalars;
  assert_int_equal(kaon_blas_gram(many, many, 1, 0, &wide), KAON_ERR_UNSUPPORTED);
  print_message("%s\n", kaon_last_error(b.ctx));
  assert_int_equal(kaon_blas_gram(b.v[0], b.v[1], 0, 0, NULL), KAON_ERR_ARGUMENT);
  assert_int_equal(kaon_blas_gram(b.v[0], b.v[1], 0, KAON_SLOTS - 4, &pass), KAON_ERR_ARGUMENT);
  print_message("%s\n", kaon_last_error(b.ctx));
  assert_int_equal(kaon_blas_block_axpy(KAON_NUMBER(1), b.v[0], b.v[1], &pass), KAON_ERR_ARGUMENT);
  assert_int_equal(kaon_blas_block_axpy(KAON_PLUS(0), b.v[1], b.v[1], &pass), KAON_ERR_ALIAS);
  assert_int_equal(kaon_blas_block_rotate(KAON_PLUS(0), b.v[0], KAON_PLUS(0), b.v[1], KAON_PLUS(0),
                                          b.v[0], &pass),
                   KAON_ERR_ALIAS);
  assert_int_equal(kaon_blas_gram(b.v[0], many, 0, 0, &wide), KAON_ERR_UNSUPPORTED);
  kaon_scalars_destroy(&scalars);
  kaon_vector_destroy(&many);
  close_fixture(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(entries_agree_with_plain_c),
      cmocka_unit_test(known_symmetry_is_exact),
      cmocka_unit_test(bits_do_not_depend_on_the_number_of_threads),
      cmocka_unit_test(what_does_not_fit_is_refused),
  };
  return test_main(tests, NULL, NULL);
}
