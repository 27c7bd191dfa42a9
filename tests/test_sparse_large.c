/* test_sparse_large.c - products by the kernel tables of sparse matrices that the small cases of
 * test_sparse_kernels.c do not reach on a device: columns whose groups stand side by side in a
 * block of threads, and rows shared out by entries in many tiles. Bounds: tests/util/sparse_bed.h.
 */
#include <stdio.h>

#include "tests/util/sparse_bed.h"

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

static double check_calls(bed *b, int count) {
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

/* 2 have a kernel of their own; groups of 4, and fewer: 5 to 8 are two, side by side; 9 to 12
 * three, in single; 13 to 16 four, in double twice two. Of some a whole group is closed, or a first
 * one. */
static const columns_case columns_cases[] = {
    {2, 0, 0, KAON_STORED_SELL, KAON_COLUMNS_WHOLE, 1, 0},
    {2, 1, 1, KAON_STORED_SELL, KAON_COLUMNS_NARROW, 1, 1},
    {8, 0xf0, 0, KAON_STORED_SELL, KAON_COLUMNS_WHOLE, 1, 1},
    {8, 1, 1, KAON_STORED_ELL, KAON_COLUMNS_NARROW, 1, 0},
    {7, 1 << 3, 0, KAON_STORED_ELL, KAON_COLUMNS_SHARED, 1, 0},
    {12, 0, 1, KAON_STORED_SELL, KAON_COLUMNS_SHARED, 1, 0},
    {12, 0xf0, 2, KAON_STORED_SELL, KAON_COLUMNS_WHOLE, 1, 0},
    {12, 1 << 1, 0, KAON_STORED_ELL, KAON_COLUMNS_SHARED, 1, 0},
    {13, 1, 1, KAON_STORED_ELL, KAON_COLUMNS_SHARED, 1, 0},
    {16, 1 << 15, 1, KAON_STORED_SELL, KAON_COLUMNS_NARROW, 1, 0},
    {14, 0x7f, 0, KAON_STORED_SELL, KAON_COLUMNS_NARROW, 1, 0},
    {6, 1 << 2, 0, KAON_STORED_SELL, KAON_COLUMNS_SHARED, 2, 0},
    {8, 0, 2, KAON_STORED_ELL, KAON_COLUMNS_WHOLE, 2, 0},
    {5, 0x1e, 1, KAON_STORED_ELL, KAON_COLUMNS_NARROW, 2, 0},
    {8, 1 << 5, 0, KAON_STORED_CSR, KAON_COLUMNS_WHOLE, 1, 0}};
enum { COLUMNS_CASES = sizeof columns_cases / sizeof *columns_cases };

static void columns_stand_side_by_side(kaon_context *ctx, const char *name) {
  enum { ROWS = 64040 };
  const int width = ctx->backend->width;
  const int64_t interior = ROWS * 2 / 3 / width;
  for (int i = 0; i < COLUMNS_CASES; i++) {
    const columns_case *c = &columns_cases[i];
    const stored_shape shape = shape_of(c->type, c->form, c->kind, 4, c->wide, interior);
    kaon_csr csr = make_stencil(ROWS, c->reals, interior * width);
    bed b;
    bed_open(&b, ctx, &csr, &shape, c->columns, c->closed);
    const double worst = check_calls(&b, CALLS);
    check_bits(&b, calls[1]);
    bed_close(&b);
    free_rows(&csr);
    print_message("%s, case %d, %d columns: error / bound %.3f\n", name, i, c->columns, worst);
    assert_true(worst <= 1);
  }
}

/* ---- rows shared out by entries ---- */

/* Every 200th row has `length` entries all over the matrix, a few have none, the others up to 5. */
static kaon_csr make_skewed(int64_t rows, int reals, int64_t length, int64_t interior) {
  kaon_csr csr = empty_rows(rows, reals, (rows / 200 + 1) * length + 6 * rows);
  for (int64_t i = 0; i < rows; i++) {
    csr.rows = i + 1;
    csr.start[i + 1] = csr.start[i];
    if (i % 200 == 37) {
      for (int64_t n = 0; n < length; n++) add_entry(&csr, n * rows / length);
    } else {
      for (int64_t n = 0; n < i * 7919 % 6; n++) add_entry(&csr, (i + n * n * 31) % rows);
    }
    if (i >= interior && i % 3 == 0) add_entry(&csr, rows + i % GHOSTS);
  }
  return csr;
}

/* So many entries that every block of threads has more tiles than it looks for at once, or (1e6)
 * two of them; rows that go on through many blocks, and tiles within them; the last: rows of
 * hundreds. */
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
        shape_of(cases[i].type, KAON_STORED_CSR, KAON_COLUMNS_WHOLE, 0, cases[i].wide, interior);
    kaon_csr csr = make_skewed(cases[i].rows, cases[i].reals, cases[i].length, interior * width);
    bed b;
    bed_open(&b, ctx, &csr, &shape, cases[i].columns, cases[i].closed);
    const double worst = check_calls(&b, 3);
    check_bits(&b, calls[0]);
    bed_close(&b);
    print_message("%s, shared out, case %d, %lld entries: error / bound %.3f\n", name, (int)i,
                  (long long)csr.start[csr.rows], worst);
    free_rows(&csr);
    assert_true(worst <= 1);
  }
}

/* Processors have nothing of the kind: there the cases themselves are tried. */
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

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(several_columns),
                                     cmocka_unit_test(shared_rows)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
