/* test_sparse_large.c - products by the kernel tables of sparse matrices that the small cases of
 * test_sparse_kernels.c do not reach on a device: groups of columns side by side in a block of
 * threads, and rows distributed by entries over many tiles. Bounds: tests/util/sparse_fixture.h. */
#include <stdio.h>

#include "sparse/storage/long_entries.h"
#include "tests/util/sparse_fixture.h"

/* Of one value type: 0 double, 1 single, 2 16 bits. */
static stored_shape shape_of(int type, int form, int columns, int lanes, int wide,
                             int64_t interior) {
  return (stored_shape){.precision = type == 0 ? KAON_DOUBLE : KAON_SINGLE,
                        .half = type == 2,
                        .form = form,
                        .columns = columns,
                        .lanes = lanes,
                        .wide = wide,
                        .interior = interior};
}

static const call calls[] = {{NO_B, 0, 0, W, 1},
                             {NO_B, 1, 7, W, 1},
                             {OTHER_B, 0, 2, X, -1},
                             {OWN_B, 1, 1, X, 2.5},
                             {NO_B, 0, 4, Y, 1}};
enum { CALLS = sizeof calls / sizeof *calls };

static double check_calls(fixture *b, int count) {
  double worst = 0;
  for (int i = 0; i < (TEST_SLOWED ? 2 : count); i++) {
    const double error = check_product(b, &calls[i]);
    if (!(error <= 1)) print_message("call %d: error / bound %g\n", i, error);
    worst = larger(worst, error);
  }
  return worst;
}

static kaon_csr empty_rows(int64_t rows, int reals, int64_t most) {
  kaon_csr csr = {.rows = 0, .columns = rows + GHOSTS, .reals = reals};
  csr.start = stored_room((size_t)(rows + 1) * sizeof *csr.start);
  csr.column = stored_room((size_t)most * sizeof *csr.column);
  csr.value = stored_room((size_t)most * (size_t)reals * sizeof *csr.value);
  return csr;
}

/* A CPU, which has no kernels of their own for them, takes cases of a tenth of the size. Rows that
 * a device shares out keep theirs: from so many entries on, a CPU wakes all threads. */
static int64_t share_of(const kaon_context *ctx) {
  return ctx->backend->host_accessible ? 10 : 1;
}

/* ---- several columns ---- */

enum { LINE = 200 };

/* A stencil on lines of LINE rows; rows from `interior` on meet a ghost each as well. */
static kaon_csr make_stencil(int64_t rows, int reals, int64_t interior) {
  static const int steps[] = {-LINE, -1, 0, 1, LINE};
  kaon_csr csr = empty_rows(rows, reals, 6 * rows);
  for (int64_t i = 0; i < rows; i++) {
    csr.rows = i + 1;
    csr.start[i + 1] = csr.start[i];
    for (int s = 0; s < 5; s++)
      if (i + steps[s] >= 0 && i + steps[s] < rows &&
          (i + steps[s] / LINE * LINE) / LINE == (i + steps[s]) / LINE)
        add_entry(&csr, i + steps[s]);
    if (i >= interior) add_entry(&csr, rows + i % GHOSTS);
  }
  return csr;
}

typedef struct columns_case {
  int columns;
  unsigned closed;
  int type, form, kind, reals, wide;
} columns_case;

/* 2 columns have a kernel of their own. Otherwise groups of 4 and fewer: 5 to 8 are two groups
 * side by side; in single 9 to 12 are three and 13 to 16 four; in double each group has blocks of
 * its own. In some cases a whole group is closed, or a first one. */
static const columns_case columns_cases[] = {
    {2, 0, 0, KAON_STORED_SELL, KAON_COLUMNS_32BIT, 1, 0},
    {2, 1, 1, KAON_STORED_SELL, KAON_COLUMNS_16BIT, 1, 1},
    {8, 0xf0, 0, KAON_STORED_SELL, KAON_COLUMNS_32BIT, 1, 1},
    {8, 1, 1, KAON_STORED_ELL, KAON_COLUMNS_16BIT, 1, 0},
    {7, 1 << 3, 0, KAON_STORED_ELL, KAON_COLUMNS_SHARED, 1, 0},
    {12, 0, 1, KAON_STORED_SELL, KAON_COLUMNS_SHARED, 1, 0},
    {12, 0xf0, 2, KAON_STORED_SELL, KAON_COLUMNS_32BIT, 1, 0},
    {12, 1 << 1, 0, KAON_STORED_ELL, KAON_COLUMNS_SHARED, 1, 0},
    {13, 1, 1, KAON_STORED_ELL, KAON_COLUMNS_SHARED, 1, 0},
    {16, 1 << 15, 1, KAON_STORED_SELL, KAON_COLUMNS_16BIT, 1, 0},
    {14, 0x7f, 0, KAON_STORED_SELL, KAON_COLUMNS_16BIT, 1, 0},
    {6, 1 << 2, 0, KAON_STORED_SELL, KAON_COLUMNS_SHARED, 2, 0},
    {8, 0, 2, KAON_STORED_ELL, KAON_COLUMNS_32BIT, 2, 0},
    {5, 0x1e, 1, KAON_STORED_ELL, KAON_COLUMNS_16BIT, 2, 0},
    {8, 1 << 5, 0, KAON_STORED_CSR, KAON_COLUMNS_32BIT, 1, 0}};
enum { COLUMNS_CASES = sizeof columns_cases / sizeof *columns_cases };

static void columns_stand_side_by_side(kaon_context *ctx, const char *name) {
  const int64_t rows = 64040 / share_of(ctx);
  const int width = ctx->backend->width;
  const int64_t interior = rows * 2 / 3 / width;
  for (int i = 0; i < COLUMNS_CASES; i++) {
    const columns_case *c = &columns_cases[i];
    const stored_shape shape = shape_of(c->type, c->form, c->kind, 4, c->wide, interior);
    kaon_csr csr = make_stencil(rows, c->reals, interior * width);
    fixture b;
    fixture_open(&b, ctx, &csr, &shape, c->columns, c->closed);
    const double worst = check_calls(&b, CALLS);
    check_bits(&b, calls[1]);
    fixture_close(&b);
    free_rows(&csr);
    print_message("%s, case %d, %d columns: error / bound %.3f\n", name, i, c->columns, worst);
    assert_true(worst <= 1);
  }
}

/* ---- rows shared out by entries ---- */

/* Every 200th row has `length` entries all over the matrix, the second and third of those `most`;
 * a few rows have none, the others up to 5. */
static kaon_csr make_skewed(int64_t rows, int reals, int64_t length, int64_t most,
                            int64_t interior) {
  kaon_csr csr = empty_rows(rows, reals, (rows / 200 + 1) * length + 2 * most + 6 * rows);
  for (int64_t i = 0; i < rows; i++) {
    csr.rows = i + 1;
    csr.start[i + 1] = csr.start[i];
    if (i % 200 == 37) {
      const int64_t count = i == 237 || i == 437 ? most : length;
      for (int64_t n = 0; n < count; n++) add_entry(&csr, n * rows / count);
    } else {
      for (int64_t n = 0; n < i * 7919 % 6; n++) add_entry(&csr, (i + n * n * 31) % rows);
    }
    if (i >= interior && i % 3 == 0) add_entry(&csr, rows + i % GHOSTS);
  }
  return csr;
}

/* So many entries that every block of threads has more tiles than it searches at once, or (1e6)
 * two of them; rows that continue through many blocks and tiles; the last: rows of hundreds of
 * entries. */
static void rows_are_shared_out(kaon_context *ctx, const char *name) {
  static const struct {
    int columns;
    unsigned closed;
    int type, reals, wide;
    int64_t rows, length;
  } cases[] = {{1, 0, 0, 1, 0, 60000, 30000}, {2, 2, 1, 1, 1, 60000, 30000},
               {1, 0, 2, 1, 0, 60000, 30000}, {1, 0, 0, 2, 0, 60000, 20000},
               {2, 1, 1, 2, 1, 20000, 10000}, {3, 2, 0, 1, 0, 70000, 300}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const int width = ctx->backend->width;
    const int64_t interior = cases[i].rows / 2 / width;
    const stored_shape shape =
        shape_of(cases[i].type, KAON_STORED_CSR, KAON_COLUMNS_32BIT, 0, cases[i].wide, interior);
    kaon_csr csr = make_skewed(cases[i].rows, cases[i].reals, cases[i].length, cases[i].length,
                               interior * width);
    fixture b;
    fixture_open(&b, ctx, &csr, &shape, cases[i].columns, cases[i].closed);
    const double worst = check_calls(&b, 3);
    check_bits(&b, calls[0]);
    fixture_close(&b);
    print_message("%s, shared out, case %d, %lld entries: error / bound %.3f\n", name, (int)i,
                  (long long)csr.start[csr.rows], worst);
    free_rows(&csr);
    assert_true(worst <= 1);
  }
}

/* The library's own choice on a device: long rows are stored apart, in some cases one row in more
 * chunks than a warp adds. Parts, b, sums and closed columns as everywhere. */
static void long_rows_apart(kaon_context *ctx, const char *name) {
  static const struct {
    int columns;
    unsigned closed;
    int type, reals;
    int64_t rows, length, most;
  } cases[] = {{1, 0, 0, 1, 130000, 1400, 1400}, {1, 0, 1, 1, 60000, 1000, 50000},
               {1, 0, 2, 1, 70000, 1200, 1200},  {3, 2, 0, 1, 60000, 1000, 40000},
               {1, 0, 0, 2, 60000, 1000, 40000}, {4, 1, 1, 2, 60000, 900, 900},
               {8, 8, 2, 1, 60000, 1000, 1000},  {2, 0, 2, 2, 60000, 1000, 30000}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const int width = ctx->backend->width;
    const int64_t share = share_of(ctx), rows = cases[i].rows / share;
    const int64_t interior = rows / 2 / width;
    const stored_shape shape =
        shape_of(cases[i].type, KAON_STORED_CSR, KAON_COLUMNS_32BIT, 0, 0, interior);
    kaon_csr csr = make_skewed(rows, cases[i].reals, cases[i].length / share, cases[i].most / share,
                               interior * width);
    fixture b;
    fixture_open_made(&b, ctx, &csr, &shape, cases[i].columns, cases[i].closed);
    const kaon_long_entries *long_part = b.stored.matrix.long_part;
    assert_true((long_part != NULL) == !ctx->backend->host_accessible);
    if (long_part != NULL) {
      assert_int_equal(long_part->rows, (rows - 37 + 199) / 200);
      assert_true(long_part->units > 1 && long_part->chunks > long_part->rows);
      assert_true(strstr(b.made->text, "few rows are much longer") != NULL);
      assert_int_equal(b.stored.matrix.entries + long_part->entries, csr.start[csr.rows]);
    }
    const double worst = check_calls(&b, CALLS);
    check_bits(&b, calls[1]);
    print_message("%s, long rows apart, case %d, %s: error / bound %.3f\n", name, (int)i,
                  b.made->text, worst);
    fixture_close(&b);
    free_rows(&csr);
    assert_true(worst <= 1);
  }
}

/* Every row is in one of the two parts, whole. */
static void check_division(const kaon_csr *csr, int width) {
  kaon_long_rows parts;
  int64_t n = 0, places = 0;
  must(NULL, kaon_long_rows_divide(NULL, csr, width, &parts));
  assert_non_null(parts.short_part);
  for (int64_t i = 0, most = 0; i < csr->rows; i++) {
    const int apart = n < parts.long_part->rows && parts.row[n] == i;
    const kaon_csr *in = apart ? parts.long_part : parts.short_part;
    const int64_t row = apart ? n++ : i, length = csr->start[i + 1] - csr->start[i];
    const size_t reals = (size_t)csr->reals;
    assert_int_equal(in->start[row + 1] - in->start[row], length);
    assert_memory_equal(in->column + in->start[row], csr->column + csr->start[i],
                        (size_t)length * sizeof *csr->column);
    assert_memory_equal(in->value + in->start[row] * csr->reals,
                        csr->value + csr->start[i] * csr->reals,
                        (size_t)length * reals * sizeof *csr->value);
    if (apart) assert_int_equal(parts.short_part->start[i + 1], parts.short_part->start[i]);
    if (i % width == 0) most = 0;
    if (!apart && length > most) most = length;
    if (i % width == width - 1 || i == csr->rows - 1) places += most * width;
  }
  assert_int_equal(n, parts.long_part->rows);
  assert_true(places < 3 * csr->start[csr->rows]);
  kaon_long_rows_clear(&parts);
}

static void check_whole(const kaon_csr *csr, int width) {
  kaon_long_rows parts;
  must(NULL, kaon_long_rows_divide(NULL, csr, width, &parts));
  assert_null(parts.short_part);
  assert_null(parts.long_part);
  assert_null(parts.row);
}

static void long_rows_are_found(void **state) {
  (void)state;
  kaon_csr csr = make_skewed(60000, 1, 1000, 1000, 30000);
  check_division(&csr, 32);
  check_division(&csr, 8);
  free_rows(&csr);
  csr = make_skewed(60001, 2, 1000, 30000, 40000); /* the last block is not full */
  check_division(&csr, 32);
  free_rows(&csr);
  csr = make_skewed(60000, 1, 30000, 30000, 30000); /* the others are next to nothing */
  check_whole(&csr, 32);
  free_rows(&csr);
  csr = make_skewed(6000, 1, 1000, 1000, 3000); /* small */
  check_whole(&csr, 32);
  free_rows(&csr);
  csr = make_stencil(64040, 1, 64040);
  check_whole(&csr, 32);
  free_rows(&csr);
  csr = empty_rows(0, 1, 1);
  check_whole(&csr, 32);
  free_rows(&csr);
}

/* What a device adds, in its order but in plain C: entry by entry, sum[row] += v x. Every place of
 * a sum is written once. */
static void walk(const kaon_long_entries *e, int reals, int64_t own, const double *x, double *sum,
                 double *size) {
  char *written = stored_room((size_t)e->chunks);
  double *chunks = stored_room((size_t)(e->chunks * reals) * sizeof *chunks);
  double *sizes = stored_room((size_t)e->chunks * sizeof *sizes);
  int64_t slice = 0;
  for (int64_t u = 0; u < e->units; u++) {
    const kaon_long_unit *unit = &e->unit[u];
    assert_int_equal(unit->slice, slice);
    assert_true(unit->slices > 0 && unit->columns > 0 && unit->columns <= e->range_columns);
    assert_true(unit->column >= own || unit->column + unit->columns <= own);
    for (slice = unit->slice; slice < unit->slice + unit->slices; slice++)
      for (int lane = 0; lane < 32; lane++) {
        const int64_t place = e->place[slice * 32 + lane];
        if (place < 0) continue;
        assert_true(place < e->chunks && !written[place]);
        written[place] = 1;
        for (int64_t j = e->start[slice]; j < e->start[slice + 1]; j++) {
          const int64_t at = j * 32 + lane, column = unit->column + e->column[at];
          assert_true(e->column[at] < unit->columns);
          const double *v = (const double *)e->value + at * reals, *y = x + column * reals;
          for (int c = 0; c < reals; c++) sizes[place] += fabs(v[c]) * 2;
          chunks[place * reals] += reals == 2 ? v[0] * y[0] - v[1] * y[1] : v[0] * y[0];
          if (reals == 2) chunks[place * 2 + 1] += v[0] * y[1] + v[1] * y[0];
        }
      }
  }
  for (int64_t i = 0; i < e->rows; i++)
    for (int64_t n = e->first[i]; n < e->first[i + 1]; n++) {
      assert_true(written[n]);
      for (int c = 0; c < reals; c++) sum[i * reals + c] += chunks[n * reals + c];
      size[i] += sizes[n];
    }
  assert_int_equal(e->first[e->rows], e->chunks);
  free(written), free(chunks), free(sizes);
}

static void check_entries(kaon_context *ctx, const kaon_csr *csr) {
  const int reals = csr->reals;
  kaon_long_rows parts;
  kaon_long_entries *e;
  int64_t bytes = 0, index_bytes = 0;
  const int64_t before = kaon_pool_usage(ctx).now;
  must(ctx, kaon_long_rows_divide(ctx, csr, 32, &parts));
  assert_non_null(parts.long_part);
  const kaon_csr *a = parts.long_part;
  must(ctx,
       kaon_long_entries_create(ctx, &parts, csr->rows, KAON_DOUBLE, 0, &e, &bytes, &index_bytes));
  double *x = stored_room((size_t)(csr->columns * reals) * sizeof *x);
  double *sum = stored_room((size_t)(a->rows * reals) * sizeof *sum);
  double *size = stored_room((size_t)a->rows * sizeof *size);
  for (int64_t i = 0; i < csr->columns * reals; i++) x[i] = test_uniform(&seed);
  walk(e, reals, csr->rows, x, sum, size);
  for (int64_t i = 0; i < a->rows; i++) {
    long double found[2] = {0, 0};
    for (int64_t n = a->start[i]; n < a->start[i + 1]; n++) {
      const double *v = a->value + n * reals, *y = x + a->column[n] * reals;
      found[0] += reals == 2 ? (long double)v[0] * y[0] - (long double)v[1] * y[1]
                             : (long double)v[0] * y[0];
      if (reals == 2) found[1] += (long double)v[0] * y[1] + (long double)v[1] * y[0];
    }
    const double n = (double)(a->start[i + 1] - a->start[i]);
    for (int c = 0; c < reals; c++)
      assert_true(fabsl(found[c] - sum[i * reals + c]) <= (2 * n + 6) * 0x1p-53 * size[i]);
  }
  assert_true(bytes > (2 + 8 * reals) * a->start[a->rows] && index_bytes < bytes);
  assert_true(kaon_pool_usage(ctx).now - before >= bytes);
  kaon_long_entries_destroy(ctx, &e);
  assert_int_equal(kaon_pool_usage(ctx).now, before);
  kaon_long_rows_clear(&parts);
  free(x), free(sum), free(size);
}

static void long_entries_hold_the_rows(void **state) {
  (void)state;
  kaon_context *ctx = NULL;
  const kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  must(NULL, machine_open(KAON_ISA_SCALAR, options, &ctx));
  kaon_csr csr = make_skewed(60000, 1, 1000, 1000, 30000);
  check_entries(ctx, &csr);
  free_rows(&csr);
  csr = make_skewed(60001, 2, 1000, 30000, 40000);
  check_entries(ctx, &csr);
  free_rows(&csr);
  csr = make_skewed(130000, 1, 1300, 1300, 129000);
  check_entries(ctx, &csr);
  free_rows(&csr);
  kaon_context_destroy(&ctx);
}

/* CPUs have no such kernels; there most cases only check themselves. */
static void on_machines(void (*check)(kaon_context *, const char *)) {
  static const int machines[] = {MACHINE_CPU, MACHINE_CUDA};
  for (int i = 0; i < 2; i++) {
    const int machine = machines[i];
    if (machine_lacks(machine)) continue;
    kaon_context *ctx = NULL;
    const kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
    must(NULL, machine_open(machine, options, &ctx));
    if (ctx->backend->sparse[KAON_DOUBLE] != NULL) check(ctx, machine_name(machine));
    kaon_context_destroy(&ctx);
  }
}

static void several_columns(void **state) {
  (void)state;
  on_machines(columns_stand_side_by_side);
}

static void shared_rows(void **state) {
  (void)state;
  on_machines(rows_are_shared_out);
}

static void long_rows(void **state) {
  (void)state;
  on_machines(long_rows_apart);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(several_columns), cmocka_unit_test(shared_rows), cmocka_unit_test(long_rows),
      cmocka_unit_test(long_rows_are_found), cmocka_unit_test(long_entries_hold_the_rows)};
  return test_main(tests, NULL, NULL);
}
