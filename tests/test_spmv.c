/* test_spmv.c - sparse matrix-vector products against the reference, on every machine: storage
 * forms, precisions, real and complex values, matrices of odd sizes, columns, gates and sums; the
 * adjoint. Results depend neither on threads nor on the other columns.
 *
 * Bounds. A sum of n products in precision u is within (n + 2) u sum |a| |x| of the exact one
 * (complex: four times as many operations on parts of magnitude up to |a| |x|); values and x
 * rounded to u add 2 more. 16-bit values are off by 0.51 / 32767 of their row's largest. Sums run
 * over the stored numbers: rows + 8 roundings of double. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "blas/blas.h"
#include "sparse/storage/matrix.h"
#include "sparse/storage/stored.h"
#include "tests/util/machine.h"
#include "tests/util/sparse_case.h"
#include "tests/util/test_util.h"

enum { CASES = 9, MOST = 12, NORM = 20, DOT = 21 };
static const int column_counts[] = {1, 3, 12};
static const kaon_matrix_format forms[] = {KAON_STORE_AUTO, KAON_STORE_CSR, KAON_STORE_SELL,
                                           KAON_STORE_ELL};

static ref_sparse make_case(int number, int reals) {
  ref_sparse a;
  switch (number) {
    case 0: /* one row */
      a = ref_sparse_new(1);
      ref_sparse_add(&a, 0, 0, reals == 2 ? 3 - 2 * I : 3);
      return a;
    case 1: /* no entries */
      return ref_sparse_new(17);
    case 2: /* a block and a row */
      return ref_sparse_random(17, 4, 3, reals == 2, 5);
    case 3: /* empty rows */
      return ref_sparse_random(75, 1, 0, reals == 2, 6);
    case 4: /* a dense row and a dense column */
      a = ref_sparse_random(150, 3, 1, reals == 2, 7);
      for (size_t j = 0; j < a.rows; j++) {
        ref_sparse_add(&a, 100, j, 0.01 * (double)j);
        ref_sparse_add(&a, j, 33, reals == 2 ? 0.02 * I * (double)j : 0.02);
      }
      return a;
    case 5: /* runs */
      return ref_sparse_laplace(20, 2, 0.1, 0);
    case 6: /* unsymmetric runs, over several chunks of sums */
      return ref_sparse_laplace(18, 3, 0.1, 0.2);
    case 7: /* all lengths */
      a = ref_sparse_new(130);
      for (size_t i = 0; i < a.rows; i++)
        for (size_t j = 0; j < i; j++) ref_sparse_add(&a, i, j, 1.0 / (double)(i + j));
      return a;
    default:
      return ref_sparse_random(1001, 9, 20, reals == 2, 8);
  }
}

static double unit_of(kaon_precision p) {
  return p == KAON_DOUBLE ? 0x1p-53 : 0x1p-24;
}

/* A matrix, columns x, and the reference's product of each in both modes, with the sum of the terms'
 * magnitudes and their number. The largest count of columns holds the others. */
typedef struct product {
  ref_sparse a;
  int reals;
  ref_complex *x[MOST], *y[2][MOST];
  double *sum[2][MOST], *half[2][MOST];
  int *count[2];
} product;

/* |largest component of row i| * sum |x_j| over its entries; both modes use the stored rows. */
static void half_errors(const product *p, int dagger, int column, double *error) {
  const ref_sparse *a = &p->a;
  double *largest = calloc(a->rows + 1, sizeof *largest);
  for (size_t n = 0; n < a->entries; n++) { /* duplicates add up: their sum is an upper bound */
    const int64_t i = dagger ? a->column[n] : a->row[n];
    largest[i] += fmax(fabs(creal(a->value[n])), fabs(cimag(a->value[n])));
  }
  for (size_t n = 0; n < a->entries; n++) {
    const int64_t i = dagger ? a->column[n] : a->row[n], j = dagger ? a->row[n] : a->column[n];
    error[i] += 1.5 * 0.51 / 32767 * largest[i] * cabs(p->x[column][j]);
  }
  free(largest);
}

static product open_product(int number, int reals) {
  product p = {.a = make_case(number, reals), .reals = reals};
  const size_t rows = p.a.rows;
  for (int k = 0; k < MOST; k++) p.x[k] = sparse_random(rows, reals, 100 + (uint64_t)k);
  for (int dagger = 0; dagger < 2; dagger++) {
    p.count[dagger] = calloc(rows + 1, sizeof **p.count);
    for (int k = 0; k < MOST; k++) {
      p.y[dagger][k] = calloc(rows + 1, sizeof(ref_complex));
      p.sum[dagger][k] = calloc(rows + 1, sizeof(double));
      p.half[dagger][k] = calloc(rows + 1, sizeof(double));
      ref_sparse_apply(&p.a, dagger, p.x[k], p.y[dagger][k], p.sum[dagger][k], p.count[dagger]);
      half_errors(&p, dagger, k, p.half[dagger][k]);
    }
  }
  return p;
}

static void close_product(product *p) {
  for (int k = 0; k < MOST; k++) free(p->x[k]);
  for (int dagger = 0; dagger < 2; dagger++) {
    free(p->count[dagger]);
    for (int k = 0; k < MOST; k++)
      free(p->y[dagger][k]), free(p->sum[dagger][k]), free(p->half[dagger][k]);
  }
  ref_sparse_free(&p->a);
}

/* Worst error / bound of column k against the reference. */
static double compare(const product *p, kaon_precision precision, int dagger, int k,
                      const ref_complex *found) {
  const double u = unit_of(precision);
  double worst = 0;
  for (size_t i = 0; i < p->a.rows; i++) {
    const double half = precision == KAON_HALF ? p->half[dagger][k][i] : 0;
    const double bound =
        (p->count[dagger][i] + 6) * (p->reals == 2 ? 4 : 1) * u * p->sum[dagger][k][i] + half;
    const double error = cabs(found[i] - p->y[dagger][k][i]);
    if (!(error <= 0)) worst = larger(worst, bound > 0 ? error / bound : INFINITY);
  }
  return worst;
}

/* Both modes in one precision (of the operator's options) and form. */
static double both_modes(kaon_matrix *matrix, const product *p, kaon_precision precision,
                         kaon_matrix_format form, int columns) {
  kaon_operator *A = sparse_operator(matrix, precision, form);
  kaon_vector *x = sparse_vector(A, columns), *y = sparse_vector(A, columns);
  ref_complex *found = calloc(p->a.rows + 1, sizeof *found);
  double worst = 0;
  assert_int_equal(A->precision, precision == KAON_DOUBLE ? KAON_DOUBLE : KAON_SINGLE);
  for (int k = 0; k < columns; k++) sparse_import(x, k, p->a.rows, p->x[k]);
  for (int dagger = 0; dagger < 2; dagger++) {
    must(A->ctx, kaon_operator_apply(A, dagger ? KAON_DAGGER : KAON_PLAIN, x, y));
    for (int k = 0; k < columns; k++) {
      sparse_export(y, k, p->a.rows, found);
      worst = larger(worst, compare(p, precision, dagger, k, found));
    }
  }
  free(found);
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&y);
  kaon_operator_destroy(&A);
  return worst;
}

static kaon_context *open_machine(int machine, int threads, int check) {
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  kaon_context *ctx = NULL;
  options.threads = threads;
  options.check = check;
  must(NULL, machine_open(machine, options, &ctx));
  return ctx;
}

/* No sparse kernels on this machine. */
static int lacks(int machine) {
  if (machine_lacks(machine)) return 1;
  kaon_context *ctx = open_machine(machine, 1, 0);
  const int none = ctx->backend->sparse[KAON_DOUBLE] == NULL;
  if (none) printf("%s: no sparse kernels, skipped\n", machine_name(machine));
  kaon_context_destroy(&ctx);
  return none;
}

/* Every form, precision and number of columns of one matrix. */
static void check_products(kaon_context *ctx, const product *p, int window, double worst[3]) {
  kaon_matrix_options options = KAON_MATRIX_OPTIONS_INIT;
  options.window = window;
  kaon_matrix *matrix = sparse_matrix(ctx, &p->a, p->reals, &options);
  for (int n = 0; n < 3 * 3 * 4; n++) {
    if (window != 0 && n % 3 == 2) continue; /* 12 columns in one order of the rows */
    const kaon_precision precision = (kaon_precision)(n / 3 % 3);
    worst[precision] = larger(worst[precision],
                              both_modes(matrix, p, precision, forms[n / 9], column_counts[n % 3]));
  }
  kaon_matrix_destroy(&matrix);
}

static void products_are_the_references(void **state) {
  (void)state;
  product p[2 * CASES];
  for (int i = 0; i < 2 * CASES; i++) p[i] = open_product(i / 2, 1 + i % 2);
  for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++) {
    if (lacks(machine)) continue;
    /* a team on every second one: waking it takes most of the time of such small products */
    kaon_context *ctx = open_machine(machine, machine % 2 ? 3 : 1, machine != MACHINE_CUDA);
    double worst[3] = {0};
    for (int i = 0; i < 2 * CASES; i++) {
      check_products(ctx, &p[i], 0, worst); /* by rule, none, 40 rows */
      check_products(ctx, &p[i], 1, worst);
      check_products(ctx, &p[i], 40, worst);
    }
    for (int precision = 0; precision < 3; precision++) {
      char what[64];
      snprintf(what, sizeof what, "%s %s: error / bound", machine_name(machine),
               precision_names[precision]);
      test_below(what, worst[precision], 1);
    }
    kaon_context_destroy(&ctx);
  }
  for (int i = 0; i < 2 * CASES; i++) close_product(&p[i]);
}

/* Sums, gates and bits: closed columns keep their contents; a column has the same bits alone,
 * beside others, and with any number of threads. */
typedef struct sums {
  double norm, re, im;
  ref_complex *y;
} sums;

static sums summed(kaon_operator *A, size_t rows, int columns, int column, int reals) {
  kaon_vector *x = sparse_vector(A, columns), *y = sparse_vector(A, columns);
  kaon_vector *w = sparse_vector(A, columns);
  kaon_scalars *scalars = NULL;
  kaon_column_state states[MOST];
  must(A->ctx, kaon_scalars_create(A->ctx, columns, &scalars));
  must(A->ctx, kaon_scalars_read(scalars, states));
  for (int k = 0; k < columns; k++) {
    ref_complex *numbers = sparse_random(rows, reals, (uint64_t)(column + k));
    sparse_import(x, k, rows, numbers);
    sparse_import(y, k, rows, numbers);
    free(numbers);
    numbers = sparse_random(rows, reals, 50 + (uint64_t)(column + k));
    sparse_import(w, k, rows, numbers);
    free(numbers);
    if (k % 3 == 2) states[k].gate = KAON_GATE_SERVICE;
    states[k].slot[NORM][0] = -7;
  }
  must(A->ctx, kaon_scalars_write(scalars, states));
  kaon_pass pass = KAON_PASS_INIT;
  pass.scalars = scalars;
  pass.norm = NORM;
  pass.dot = DOT;
  pass.w = w;
  must(A->ctx, kaon_operator_run(A, KAON_PLAIN, x, y, &pass));
  must(A->ctx, kaon_scalars_read(scalars, states));
  sums s = {states[0].slot[NORM][0], states[0].slot[DOT][0], states[0].slot[DOT][1],
            calloc(rows + 1, sizeof *s.y)};
  ref_complex *other = calloc(rows + 1, sizeof *other), *mine = calloc(rows + 1, sizeof *mine);
  sparse_export(y, 0, rows, s.y);
  for (int k = 2; k < columns; k += 3) {
    sparse_export(x, k, rows, mine);
    sparse_export(y, k, rows, other);
    assert_memory_equal(mine, other, rows * sizeof *mine);
    assert_true(states[k].slot[NORM][0] == -7);
  }
  sparse_export(w, 0, rows, mine);
  double norm = 0, magnitude = 0;
  ref_complex dot = 0;
  for (size_t i = 0; i < rows; i++) {
    norm += creal(s.y[i] * conj(s.y[i]));
    dot += conj(mine[i]) * s.y[i];
    magnitude += cabs(mine[i]) * cabs(s.y[i]);
  }
  const double few = 4 * ((double)rows + 8) * 0x1p-53;
  assert_true(fabs(s.norm - norm) <= few * norm);
  assert_true(cabs(s.re + I * s.im - dot) <= few * magnitude);
  free(other);
  free(mine);
  kaon_scalars_destroy(&scalars);
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&y);
  kaon_vector_destroy(&w);
  return s;
}

static void bits_depend_on_the_column_alone(void **state) {
  (void)state;
  for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++) {
    if (lacks(machine)) continue;
    for (int n = 0; n < 2 * 3 * 3; n++) {
      const int reals = 1 + n % 2, number = 6 + n / 2 % 3;
      const kaon_precision precision = (kaon_precision)(n / 6);
      ref_sparse a = make_case(number, reals);
      for (int f = 1; f < 4; f++) {
        sums first = {0};
        /* 1 column; 1, 2, 5 threads with 7 columns, whose kernels add up in another order on a GPU
         */
        const int begin = machine == MACHINE_CUDA;
        for (int run = begin; run < 4; run++) {
          kaon_context *ctx = open_machine(machine, run == 0 ? 2 : run == 3 ? 5 : run, 0);
          kaon_matrix *matrix = sparse_matrix(ctx, &a, reals, NULL);
          kaon_operator *A = sparse_operator(matrix, precision, forms[f]);
          sums s = summed(A, a.rows, run == 0 ? 1 : 7, 300, reals);
          if (run == begin) {
            first = s;
          } else {
            assert_memory_equal(s.y, first.y, a.rows * sizeof *s.y);
            assert_true(s.norm == first.norm && s.re == first.re && s.im == first.im);
          }
          if (s.y != first.y) free(s.y);
          kaon_operator_destroy(&A);
          kaon_matrix_destroy(&matrix);
          kaon_context_destroy(&ctx);
        }
        free(first.y);
      }
      ref_sparse_free(&a);
    }
  }
}

/* Infinities reach only rows with an entry in their column, whatever the padding of blocks. */
static void padding_multiplies_nothing_foreign(void **state) {
  (void)state;
  for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++) {
    if (lacks(machine)) continue;
    kaon_context *ctx = open_machine(machine, 1, 0);
    for (int number = 2; number < CASES; number++) {
      ref_sparse a = make_case(number, 1);
      kaon_matrix *matrix = sparse_matrix(ctx, &a, 1, NULL);
      for (int f = 1; f < 4; f++) {
        kaon_operator *A = sparse_operator(matrix, KAON_SINGLE, forms[f]);
        kaon_vector *x = sparse_vector(A, 1), *y = sparse_vector(A, 1);
        ref_complex *in = sparse_random(a.rows, 1, 9), *out = calloc(a.rows, sizeof *out);
        double *meets = calloc(a.rows, sizeof *meets);
        const size_t huge = a.rows / 3;
        in[huge] = 3e37; /* overflows with the 128 of `scale` */
        sparse_import(x, 0, a.rows, in);
        must(ctx, kaon_blas_scale(KAON_NUMBER(128), x, NULL));
        must(ctx, kaon_operator_apply(A, KAON_PLAIN, x, y));
        meets[huge] = 1; /* a row without entries meets its own element */
        for (size_t n = 0; n < a.entries; n++)
          if ((size_t)a.column[n] == huge) meets[a.row[n]] = 1;
        sparse_export(y, 0, a.rows, out);
        for (size_t i = 0; i < a.rows; i++)
          if (!meets[i]) assert_true(isfinite(creal(out[i])));
        free(in), free(out), free(meets);
        kaon_vector_destroy(&x);
        kaon_vector_destroy(&y);
        kaon_operator_destroy(&A);
      }
      kaon_matrix_destroy(&matrix);
      ref_sparse_free(&a);
    }
    kaon_context_destroy(&ctx);
  }
}

/* ---- triangular sweeps ---- */

enum { SWEEP_ROWS = 700, SWEEP_COLUMNS = 3 };

typedef struct sweep {
  kaon_csr *t; /* strictly triangular in the order of levels */
  int32_t level_of[SWEEP_ROWS], row[SWEEP_ROWS];
  int64_t level[SWEEP_ROWS + 1];
  int levels;
  ref_complex d[SWEEP_ROWS];
} sweep;

/* Levels are drawn first; a row meets rows of lower ones (backward: of higher ones). */
static void make_sweep(sweep *w, int reals, int backward) {
  ref_rng rng;
  ref_rng_seed(&rng, 77);
  int64_t i_of[9 * SWEEP_ROWS], j_of[9 * SWEEP_ROWS], n = 0;
  double value[18 * SWEEP_ROWS];
  w->levels = 11;
  for (int i = 0; i < SWEEP_ROWS; i++) {
    w->level_of[i] = (int32_t)(11 * ref_uniform(&rng));
    const double re = 0.5 + ref_uniform(&rng), im = ref_uniform(&rng);
    w->d[i] = reals == 2 ? re + I * im : re;
  }
  for (int i = 0; i < SWEEP_ROWS; i++)
    for (int k = 0; k < 9; k++) {
      const int j = (int)(SWEEP_ROWS * ref_uniform(&rng));
      const int lower = w->level_of[j]<w->level_of[i], higher = w->level_of[j]> w->level_of[i];
      if (!(backward ? higher : lower)) continue;
      i_of[n] = i;
      j_of[n] = j;
      for (int c = 0; c < reals; c++) value[n * reals + c] = 0.4 * ref_uniform(&rng) - 0.2;
      n++;
    }
  int at = 0;
  for (int l = 0; l < w->levels; l++) {
    w->level[l] = at;
    for (int i = 0; i < SWEEP_ROWS; i++)
      if (w->level_of[i] == l) w->row[at++] = i;
  }
  w->level[w->levels] = at;
  must(NULL, kaon_csr_from_triplets(NULL, SWEEP_ROWS, SWEEP_ROWS, reals, n, i_of, j_of, value,
                                    KAON_CSR_ADD, &w->t));
}

static double sweep_error(const sweep *w, int backward, const ref_complex *x,
                          const ref_complex *found) {
  ref_complex y[SWEEP_ROWS];
  double worst = 0;
  for (int n = 0; n < SWEEP_ROWS; n++) {
    const int i = w->row[backward ? SWEEP_ROWS - 1 - n : n];
    ref_complex sum = x[i];
    for (int64_t e = w->t->start[i]; e < w->t->start[i + 1]; e++) {
      const double *v = w->t->value + e * w->t->reals;
      sum -= (w->t->reals == 2 ? v[0] + I * v[1] : v[0]) * y[w->t->column[e]];
    }
    y[i] = sum * w->d[i];
    worst = larger(worst, cabs(found[i] - y[i]));
  }
  return worst;
}

static void one_sweep(kaon_context *ctx, const sweep *w, int backward, kaon_precision precision,
                      double *worst) {
  const int reals = w->t->reals, width = ctx->backend->width;
  const kaon_space space = {.ctx = ctx,
                            .inner = 1,
                            .nblocks = (SWEEP_ROWS + width - 1) / width,
                            .nsites = SWEEP_ROWS,
                            .width = width,
                            .ncomp = reals,
                            .complex_space = reals == 2};
  kaon_stored *stored = NULL;
  kaon_vector *x = NULL, *y = NULL;
  kaon_launch launch;
  double d[2 * SWEEP_ROWS];
  float single[2 * SWEEP_ROWS];
  for (int i = 0; i < SWEEP_ROWS * reals; i++) {
    d[i] = reals == 2 && i % 2 ? cimag(w->d[i / 2]) : creal(w->d[i / reals]);
    single[i] = (float)d[i];
  }
  must(ctx, kaon_stored_create(ctx, w->t, SWEEP_ROWS, precision, 0, KAON_STORE_CSR, &stored));
  must(ctx, kaon_vector_create(ctx, &space, precision, SWEEP_COLUMNS, &x));
  must(ctx, kaon_vector_create(ctx, &space, precision, SWEEP_COLUMNS, &y));
  ref_complex *in[SWEEP_COLUMNS], found[SWEEP_ROWS];
  for (int k = 0; k < SWEEP_COLUMNS; k++) {
    in[k] = sparse_random(SWEEP_ROWS, reals, 40 + (uint64_t)k);
    sparse_import(x, k, SWEEP_ROWS, in[k]);
  }
  void *level = machine_array(ctx, w->level, sizeof w->level);
  void *row = machine_array(ctx, w->row, sizeof w->row);
  void *diagonal = precision == KAON_DOUBLE ? machine_array(ctx, d, sizeof d)
                                            : machine_array(ctx, single, sizeof single);
  const kaon_levels_args args = {.matrix = &stored->matrix,
                                 .nrhs = SWEEP_COLUMNS,
                                 .backward = backward,
                                 .levels = w->levels,
                                 .level = level,
                                 .level_host = w->level,
                                 .row = row,
                                 .diagonal = diagonal,
                                 .x = kaon_view_of(x),
                                 .y = kaon_view_of(y),
                                 .gate = {NULL, KAON_GATE_ANY}};
  must(ctx, kaon_launch_prepare(ctx, SWEEP_COLUMNS, 0, &launch));
  ctx->backend->sparse[precision]->levels(&launch, &args);
  for (int k = 0; k < SWEEP_COLUMNS; k++) {
    sparse_export(y, k, SWEEP_ROWS, found);
    *worst = larger(*worst, sweep_error(w, backward, in[k], found));
    free(in[k]);
  }
  machine_array_free(ctx, level);
  machine_array_free(ctx, row);
  machine_array_free(ctx, diagonal);
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&y);
  kaon_stored_destroy(&stored);
}

/* Up to 9 entries of at most 0.2 a row, factors of at most 1.8: a row's own errors are about 10
 * roundings, and levels usually reduce the errors that they pass on. */
static void sweeps_solve_level_by_level(void **state) {
  (void)state;
  for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++) {
    if (lacks(machine)) continue;
    double worst[2] = {0};
    for (int n = 0; n < 2 * 2 * 2 * 2; n++) {
      sweep w = {0};
      kaon_context *ctx = open_machine(machine, n & 8 ? 3 : 1, 0);
      make_sweep(&w, 1 + (n & 1), n >> 1 & 1);
      if (ctx->backend->sparse[KAON_DOUBLE]->levels != NULL)
        one_sweep(ctx, &w, n >> 1 & 1, n & 4 ? KAON_SINGLE : KAON_DOUBLE, &worst[n >> 2 & 1]);
      kaon_csr_destroy(&w.t);
      kaon_context_destroy(&ctx);
    }
    test_below("sweeps in double", worst[0], 64 * 0x1p-53);
    test_below("sweeps in single", worst[1], 64 * 0x1p-24);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(products_are_the_references),
                                     cmocka_unit_test(sweeps_solve_level_by_level),
                                     cmocka_unit_test(bits_depend_on_the_column_alone),
                                     cmocka_unit_test(padding_multiplies_nothing_foreign)};
  return test_main(tests, NULL, NULL);
}
