/* test_columns.c - how SELL and ELL store column indices: whole, as 16 bits from the smallest of a
 * line, or as lists that blocks of rows share. The test checks which form is chosen and that every
 * index can be read back. Products and sums have the same bits in all forms, on every machine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blas/blas.h"
#include "lib/vector/space.h"
#include "sparse/storage/csr.h"
#include "sparse/storage/stored.h"
#include "tests/util/machine.h"
#include "tests/util/test_util.h"

enum { GHOSTS = 64, NORM = 30, MOST_COLUMNS = 3 };

static void *room(size_t bytes) {
  void *p = calloc(bytes + 1, 1);
  assert_non_null(p);
  return p;
}

/* ---- rows ---- */

/* GRID: 5 points on lines of 50 rows, so x is cut within blocks; RAGGED: lengths 0 to 7, columns
 * within 300 of each other; FAR: GRID with entries all over the columns. */
enum { GRID, RAGGED, FAR, MATRICES };

static int64_t jitter(int64_t n) { /* 0 to 31 */
  uint64_t h = (uint64_t)n * UINT64_C(0x9e3779b97f4a7c15);
  h = (h ^ h >> 31) * UINT64_C(0xbf58476d1ce4e5b9);
  return (int64_t)(h >> 59);
}

static void put(kaon_csr *a, int64_t column) {
  const int64_t at = a->start[a->rows]++;
  if (column < 0 || column >= a->columns ||
      (at > a->start[a->rows - 1] && a->column[at - 1] >= column)) {
    a->start[a->rows]--;
    return;
  }
  a->column[at] = (int32_t)column;
  for (int c = 0; c < a->reals; c++)
    a->value[at * a->reals + c] = (double)((at * 7919 + c * 31) % 1009) / 1009 - 0.4;
}

/* Rows from `interior` on meet a ghost each, in the place of the last column. */
static kaon_csr make(int matrix, int64_t rows, int reals, int64_t interior) {
  kaon_csr a = {.columns = rows + GHOSTS, .reals = reals};
  a.start = room((size_t)(rows + 1) * sizeof *a.start);
  a.column = room((size_t)rows * 9 * sizeof *a.column);
  a.value = room((size_t)rows * 9 * (size_t)reals * sizeof *a.value);
  for (int64_t i = 0; i < rows; i++) {
    a.rows = i + 1;
    a.start[i + 1] = a.start[i];
    const int64_t last = i < rows - 51 ? i + 50 : rows - 1;
    if (matrix == RAGGED)
      for (int64_t j = 0; j < i * i % 8; j++)
        put(&a, (i > 150 ? i - 150 : 0) + j * 37 + jitter(8 * i + j));
    if (matrix == FAR) put(&a, i * 7907 % (rows / 2));
    if (matrix != RAGGED) {
      put(&a, i - 50);
      if (i % 50 != 0) put(&a, i - 1);
      put(&a, i);
      if (i % 50 != 49) put(&a, i + 1);
      put(&a, last);
    }
    if (i >= interior) put(&a, rows + i % GHOSTS);
    while (a.start[i + 1] > a.start[i] && i < interior && a.column[a.start[i + 1] - 1] >= rows)
      a.start[i + 1]--;
  }
  a.rows = rows;
  return a;
}

static void drop(kaon_csr *a) {
  free(a->start), free(a->column), free(a->value);
}

/* ---- what is stored ---- */

static int64_t begin_of(const kaon_stored_matrix *m, int64_t block) {
  return m->form == KAON_STORED_ELL ? block * m->length : ((const int32_t *)m->start)[block];
}

/* Where line e of a block has its columns. */
static int64_t line_of(const kaon_stored_matrix *m, int64_t block, int64_t e) {
  return m->columns == KAON_COLUMNS_SHARED ? m->pattern[block] + e - begin_of(m, block) : e;
}

/* The column of a lane of line e; -1 where a run has padding. *run: whether it belongs to a run. */
static int64_t column_of(const kaon_stored_matrix *m, int width, int64_t block, int64_t e, int lane,
                         int *run) {
  const int shared = m->columns == KAON_COLUMNS_SHARED;
  const int64_t from = shared ? block * width : 0, line = line_of(m, block, e);
  *run = m->lanes_in != NULL && (shared ? m->line[line] != KAON_NO_RUN : m->line[line] >= 0);
  if (*run) return (m->lanes_in[line] >> lane & 1) ? m->line[line] + from + lane : -1;
  if (m->columns == KAON_COLUMNS_16BIT)
    return (int64_t)~m->line[line] + m->columns16[line * width + lane];
  return m->column[line * width + lane] + from;
}

/* Every column of a row is present once; the others repeat columns of the row or are padding of a
 * run. Runs come first, and all W elements of x at a run's columns belong to this rank. */
static void check_columns(const kaon_csr *a, const kaon_stored_matrix *m, int width, int64_t *cut) {
  for (int64_t row = 0; row < a->rows; row++) {
    const int64_t block = row / width, begin = begin_of(m, block), end = begin_of(m, block + 1);
    const int lane = (int)(row % width);
    int64_t found = 0, padding = 0;
    int run, before = 1;
    for (int64_t e = begin; e < end; e++) {
      const int none = column_of(m, width, block, e, lane, &run) < 0;
      assert_true(before || !run);
      before = run;
      if (!run) continue;
      const int64_t line = line_of(m, block, e);
      const int64_t first = m->line[line] + (m->columns == KAON_COLUMNS_SHARED ? block * width : 0);
      assert_true(first >= 0 && first + width <= a->rows);
      padding += none;
      *cut += none && m->lanes_in[line] != 0;
    }
    for (int64_t n = a->start[row]; n < a->start[row + 1]; n++) {
      int64_t times = 0;
      for (int64_t e = begin; e < end; e++)
        times += column_of(m, width, block, e, lane, &run) == a->column[n];
      assert_true(times >= 1);
      found += times;
    }
    if (a->start[row + 1] > a->start[row]) assert_true(found + padding == end - begin);
  }
}

/* the request, then the expected form; *cut += places of padding beside entries of a run */
static void expect(kaon_context *ctx, const kaon_csr *a, int64_t interior, int asked, int found,
                   int64_t *cut) {
  kaon_stored *s = NULL;
  for (int form = KAON_STORE_ELL; form <= KAON_STORE_SELL; form++) {
    must(ctx, kaon_stored_create_as(ctx, a, interior, KAON_DOUBLE, 0, (kaon_matrix_format)form,
                                    asked, &s));
    if (s->matrix.columns != found) print_message("%s\n", s->text);
    assert_int_equal(s->matrix.columns, found);
    check_columns(a, &s->matrix, ctx->backend->width, cut);
    kaon_stored_destroy(&s);
  }
}

static void columns_are_read_back(void **state) {
  (void)state;
  for (int isa = KAON_ISA_SCALAR; isa <= KAON_ISA_AVX512; isa++) {
    if (machine_lacks(isa)) continue;
    kaon_context *ctx = NULL;
    const kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
    must(NULL, machine_open(isa, options, &ctx));
    const int width = ctx->backend->width;
    int64_t cut = 0, any = 0;
    for (int ghosts = 0; ghosts < 2; ghosts++) {
      const int64_t rows = 2003, interior = ghosts ? rows / 2 / width * width : rows;
      kaon_csr grid = make(GRID, rows, 1, interior), ragged = make(RAGGED, rows, 2, interior);
      kaon_csr far = make(FAR, 150001, 1, ghosts ? 100000 / width * width : 150001);
      const int64_t far_interior = ghosts ? 100000 / width * width : 150001;
      for (int kind = KAON_COLUMNS_32BIT; kind <= KAON_COLUMNS_SHARED; kind++) {
        expect(ctx, &grid, interior, kind, kind, &cut);
        expect(ctx, &ragged, interior, kind, kind, &any);
      }
      kaon_csr large = make(GRID, 20003, 1, 20003);
      expect(ctx, &large, 20003, -1, KAON_COLUMNS_SHARED, &any);
      drop(&large);
      if (width > 1) {
        expect(ctx, &ragged, interior, -1, KAON_COLUMNS_16BIT, &any);
        expect(ctx, &far, far_interior, KAON_COLUMNS_16BIT, KAON_COLUMNS_32BIT,
               &any); /* cannot be */
      }
      drop(&grid), drop(&ragged), drop(&far);
    }
    assert_true((cut > 0) == (width > 2)); /* lines of 50 rows end within blocks */
    kaon_context_destroy(&ctx);
  }
}

/* Two blocks with equal columns relative to their first rows, where those of the second are
 * ghosts: they may share no list and so no run. */
static void ghosts_share_no_list_with_own_columns(void **state) {
  (void)state;
  kaon_context *ctx = NULL;
  const kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  must(NULL, kaon_context_create(&options, &ctx));
  const int width = ctx->backend->width;
  if (ctx->backend->host_accessible && width > 1) {
    kaon_csr a = {.rows = 2 * width, .columns = 3 * width, .reals = 1};
    a.start = room((size_t)(2 * width + 1) * sizeof *a.start);
    a.column = room((size_t)(2 * width) * sizeof *a.column);
    a.value = room((size_t)(2 * width) * sizeof *a.value);
    for (int i = 0; i < 2 * width; i++) {
      a.start[i + 1] = i + 1;
      a.column[i] = i + width; /* from row `width` on: ghosts */
    }
    kaon_stored *s = NULL;
    must(ctx, kaon_stored_create_as(ctx, &a, width, KAON_SINGLE, 0, KAON_STORE_ELL,
                                    KAON_COLUMNS_SHARED, &s));
    assert_int_equal(s->matrix.columns, KAON_COLUMNS_SHARED);
    assert_int_not_equal(s->matrix.pattern[0], s->matrix.pattern[1]);
    assert_int_equal(s->matrix.line[s->matrix.pattern[0]], width);
    assert_int_equal(s->matrix.line[s->matrix.pattern[1]], KAON_NO_RUN);
    kaon_stored_destroy(&s);
    drop(&a);
  }
  kaon_context_destroy(&ctx);
}

/* ---- bits ---- */

typedef struct outcome {
  double *y; /* [column][row][part] */
  double sum[MOST_COLUMNS][6];
} outcome;

static void *make_ghosts(kaon_context *ctx, int reals, kaon_precision precision, int nrhs) {
  const size_t count = (size_t)(GHOSTS * reals * nrhs);
  double *numbers = room(count * sizeof *numbers);
  float *single = room(count * sizeof *single);
  for (size_t i = 0; i < count; i++) numbers[i] = single[i] = (float)(i % 37) / 37 - 0.3f;
  void *device = precision == KAON_DOUBLE ? machine_array(ctx, numbers, count * sizeof *numbers)
                                          : machine_array(ctx, single, count * sizeof *single);
  free(numbers), free(single);
  return device;
}

/* Makes all numbers of one row of x NaN, in host memory. */
static void poison(void *data, kaon_precision precision, int width, int numbers, int64_t row) {
  for (int i = 0; i < numbers; i++) {
    const int64_t at = (row / width * numbers + i) * width + row % width;
    if (precision == KAON_DOUBLE)
      ((double *)data)[at] = NAN;
    else
      ((float *)data)[at] = NAN;
  }
}

/* poisoned: a row of x that is NaN, if the host can reach it; -1: none. */
static outcome run(kaon_context *ctx, const kaon_csr *a, const kaon_stored *s, int nrhs, int parts,
                   int64_t poisoned) {
  const int width = ctx->backend->width, reals = a->reals;
  const size_t n = (size_t)(a->rows * reals);
  kaon_space space = {.ctx = ctx,
                      .inner = 1,
                      .nblocks = (a->rows + width - 1) / width,
                      .nsites = a->rows,
                      .width = width,
                      .ncomp = reals,
                      .complex_space = reals == 2};
  kaon_vector *x = NULL, *y = NULL;
  kaon_scalars *scalars = NULL;
  kaon_column_state state[MOST_COLUMNS];
  outcome o = {.y = room(n * (size_t)nrhs * sizeof *o.y)};
  must(ctx, kaon_vector_create(ctx, &space, s->precision, nrhs, &x));
  must(ctx, kaon_vector_create(ctx, &space, s->precision, nrhs, &y));
  for (size_t i = 0; i < n; i++) o.y[i] = (double)(i * 7 % 101) / 101 - 0.5;
  for (int k = 0; k < nrhs; k++) must(ctx, kaon_vector_import(x, k, o.y, KAON_BASIS_UKQCD));
  if (poisoned >= 0) poison(kaon_view_of(x).data, s->precision, width, nrhs * reals, poisoned);
  must(ctx, kaon_scalars_create(ctx, nrhs, &scalars));
  must(ctx, kaon_scalars_read(scalars, state));
  for (int k = 0; k < nrhs; k++) state[k].gate = KAON_GATE_STEP;
  must(ctx, kaon_scalars_write(scalars, state));
  void *ghosts = make_ghosts(ctx, reals, s->precision, nrhs);
  kaon_launch launch;
  must(ctx, kaon_launch_prepare(ctx, nrhs, 0, &launch));
  kaon_spmv_args args = {.matrix = &s->matrix, .nrhs = nrhs, .a = 1};
  args.x = args.w = kaon_view_of(x);
  args.y = kaon_view_of(y);
  args.ghosts.data = ghosts;
  const kaon_sparse_ops *ops = ctx->backend->sparse[s->precision];
  const int separate = !(ops->sums(&s->matrix, nrhs) & KAON_SUMS_NORM);
  args.gate.state = scalars->state;
  args.gate.mask = KAON_GATE_STEP;
  args.sum.state = separate ? NULL : scalars->state;
  for (int i = 0; i < 4; i++) args.sum.slot[i] = i < 3 ? NORM + i : KAON_NO_SLOT;
  args.part = parts ? KAON_ROWS_INTERIOR : KAON_ROWS_ALL;
  ops->spmv(&launch, &args);
  args.part = KAON_ROWS_BOUNDARY;
  if (parts) ops->spmv(&launch, &args);
  if (separate) {
    const int slot[3] = {NORM + 1, NORM + 2, NORM}; /* (x, y), |x|^2, |y|^2 */
    kaon_pass pass = KAON_PASS_INIT;
    pass.scalars = scalars;
    must(ctx, kaon_blas_dot(x, y, slot, &pass));
  }
  must(ctx, kaon_scalars_read(scalars, state));
  for (int k = 0; k < nrhs; k++) {
    must(ctx, kaon_vector_export(y, k, o.y + (size_t)k * n, KAON_BASIS_UKQCD));
    for (int i = 0; i < 6; i++) o.sum[k][i] = state[k].slot[NORM + i / 2][i % 2];
  }
  machine_array_free(ctx, ghosts);
  kaon_scalars_destroy(&scalars);
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&y);
  return o;
}

/* One matrix, precision, form and number of columns in all three kinds. */
static void compare_kinds(kaon_context *ctx, const kaon_csr *a, int64_t interior, int type,
                          kaon_matrix_format form, int nrhs, int parts) {
  outcome whole = {0};
  for (int kind = KAON_COLUMNS_32BIT; kind <= KAON_COLUMNS_SHARED; kind++) {
    kaon_stored *s = NULL;
    must(ctx, kaon_stored_create_as(ctx, a, interior, type == 0 ? KAON_DOUBLE : KAON_SINGLE,
                                    type == 2, form, kind, &s));
    assert_int_equal(s->matrix.columns, kind);
    outcome o = run(ctx, a, s, nrhs, parts, -1);
    kaon_stored_destroy(&s);
    if (kind == KAON_COLUMNS_32BIT) {
      whole = o;
      continue;
    }
    assert_memory_equal(whole.y, o.y, (size_t)(a->rows * a->reals * nrhs) * sizeof *o.y);
    assert_memory_equal(whole.sum, o.sum, sizeof o.sum);
    free(o.y);
  }
  double size = 0;
  for (int64_t i = 0; i < a->rows * a->reals; i++) size += whole.y[i] * whole.y[i];
  assert_true(size > 0);
  free(whole.y);
}

static void bits_are_those_of_whole_columns(void **state) {
  (void)state;
  for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++) {
    if (machine_lacks(machine)) continue;
    kaon_context *ctx = NULL;
    const kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
    must(NULL, machine_open(machine, options, &ctx));
    for (int i = 0; i < 2 * 2 * 2 && ctx->backend->sparse[KAON_DOUBLE] != NULL; i++) {
      const int64_t width = ctx->backend->width, rows = 2003;
      const int64_t interior = i / 2 % 2 ? rows / 2 / width * width : rows;
      kaon_csr a = make(i / 4 ? RAGGED : GRID, rows, 1 + i % 2, interior);
      for (int type = 0; type < 3; type++)
        for (int form = KAON_STORE_ELL; form <= KAON_STORE_SELL; form++)
          for (int nrhs = 1; nrhs <= MOST_COLUMNS; nrhs += 2)
            compare_kinds(ctx, &a, interior, type, (kaon_matrix_format)form, nrhs, interior < rows);
      drop(&a);
    }
    kaon_context_destroy(&ctx);
  }
}

/* A NaN in x appears in the results of exactly those rows that have its column. Where runs are
 * cut, lanes read x of other rows except at padding. */
static void rows_meet_no_other_x(void **state) {
  (void)state;
  for (int isa = KAON_ISA_SCALAR; isa <= KAON_ISA_AVX512; isa++) {
    if (machine_lacks(isa)) continue;
    kaon_context *ctx = NULL;
    const kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
    must(NULL, machine_open(isa, options, &ctx));
    const int64_t rows = 403;
    for (int i = 0; i < 2 * 2 * 2 * 2 * 3; i++) {
      const int reals = 1 + i % 2, nrhs = i / 2 % 2 ? MOST_COLUMNS : 1, kind = i / 16;
      const kaon_precision precision = i / 4 % 2 ? KAON_DOUBLE : KAON_SINGLE;
      kaon_csr a = make(GRID, rows, reals, rows);
      kaon_stored *s = NULL;
      must(ctx,
           kaon_stored_create_as(ctx, &a, rows, precision, precision == KAON_SINGLE && nrhs > 1,
                                 i / 8 % 2 ? KAON_STORE_SELL : KAON_STORE_ELL, kind, &s));
      for (int64_t j = 0; j < rows; j += 13) {
        outcome o = run(ctx, &a, s, nrhs, 0, j);
        for (int64_t r = 0; r < rows * nrhs; r++)
          assert_true((isnan(o.y[r * reals]) != 0) ==
                      (kaon_csr_find(&a, r % rows, (int32_t)j) >= 0));
        free(o.y);
      }
      kaon_stored_destroy(&s);
      drop(&a);
    }
    kaon_context_destroy(&ctx);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(columns_are_read_back),
                                     cmocka_unit_test(ghosts_share_no_list_with_own_columns),
                                     cmocka_unit_test(bits_are_those_of_whole_columns),
                                     cmocka_unit_test(rows_meet_no_other_x)};
  return test_main(tests, NULL, NULL);
}
