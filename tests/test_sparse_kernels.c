/* test_sparse_kernels.c - the kernel tables of sparse matrices, of every machine that has them,
 * against plain C in long double: products and their sums (tests/util/sparse_fixture.h has the
 * bounds), the numbers packed into messages, triangular sweeps. In a sweep errors of terms
 * propagate with the sum of |t| a row, which is below 1 / 2. */
#include <stdio.h>

#include "tests/util/sparse_fixture.h"

/* Columns that are closed. */
enum { CLOSED = 1 << 1 | 1 << 4 };

/* ---- rows ---- */

/* EVEN: about 9 entries a row near the diagonal, some rows empty. SKEWED: most rows short, some
 * with hundreds of entries, one full. GRID: a stencil on lines of 50 rows. Rows from `interior` on
 * also read a few ghosts each (GRID: one in the entry's place, so blocks repeat there too). */
enum kind { EVEN, SKEWED, GRID };
enum { REACH = 50 }; /* of rows without hundreds of entries */

static int entry_wanted(enum kind kind, int64_t rows, int64_t i, int64_t j) {
  if (kind == GRID) {
    if (j == i - 1) return i % 50 != 0;
    if (j == i + 1) return i % 50 != 49;
    return j == i || j == i - 50 || j == i + 50;
  }
  if (i % 41 == 5) return 0;
  if (kind == EVEN) return llabs(i - j) < 12 && test_uniform(&seed) > -0.2;
  if (i == rows / 3) return 1;
  if (i % 97 == 0) return test_uniform(&seed) > 0;
  return llabs(i - j) < 3;
}

static kaon_csr make_rows(enum kind kind, int64_t rows, int reals, int64_t interior) {
  kaon_csr csr = {.rows = 0, .columns = rows + GHOSTS, .reals = reals};
  const size_t most = (size_t)rows * (kind == EVEN ? 40 : 80) + (size_t)(rows * rows / 90) + 4096;
  csr.start = stored_room((size_t)(rows + 1) * sizeof *csr.start);
  csr.column = stored_room(most * sizeof *csr.column);
  csr.value = stored_room(most * (size_t)reals * sizeof *csr.value);
  for (int64_t i = 0; i < rows; i++) {
    csr.rows = i + 1;
    csr.start[i + 1] = csr.start[i];
    const int dense = kind == SKEWED && (i == rows / 3 || i % 97 == 0);
    const int64_t end = dense || i + REACH >= rows ? rows : i + REACH + 1;
    for (int64_t j = dense || i < REACH ? 0 : i - REACH; j < end; j++)
      if (entry_wanted(kind, rows, i, j)) add_entry(&csr, j);
    for (int64_t g = 0; i >= interior && g < GHOSTS; g++)
      if (kind == GRID ? i % GHOSTS == g : test_uniform(&seed) > 0.9) add_entry(&csr, rows + g);
  }
  assert_true((size_t)csr.start[rows] <= most);
  return csr;
}

static const call calls[] = {{NO_B, 0, 0, W, 1},      {NO_B, 1, 7, W, 1},    {OTHER_B, 0, 3, X, -1},
                             {OTHER_B, 1, 1, X, 2.5}, {OWN_B, 0, 7, X, 0.5}, {NO_B, 0, 2, Y, 1},
                             {OWN_B, 1, 2, W, -1}};
enum { CALLS = sizeof calls / sizeof *calls };

static double check_forms(kaon_context *ctx, enum kind kind, int64_t rows, int reals) {
  const int width = ctx->backend->width;
  static const int lanes[] = {1, 2, 4, 8, 16, 32, 0};
  static const int columns[] = {1, 5, 3, 1, 4, 2};
  const int64_t interior = rows / 2 / width;
  kaon_csr csr = make_rows(kind, rows, reals, interior * width);
  double worst = 0;
  int turn = 0;
  for (int type = 0; type < 3; type++) /* double, single, 16 bits */
    for (int f = kind == GRID ? 7 : 0; f < 9; f++, turn++) {
      if (ctx->backend->host_accessible && f > 2 && f < 7) continue; /* lanes are a device's */
      const stored_shape shape = {.precision = type == 0 ? KAON_DOUBLE : KAON_SINGLE,
                                  .half = type == 2,
                                  .form = f == 7   ? KAON_STORED_SELL
                                          : f == 8 ? KAON_STORED_ELL
                                                   : KAON_STORED_CSR,
                                  .lanes = f < 7 ? lanes[f] : 0,
                                  .columns = f < 7          ? KAON_COLUMNS_32BIT
                                             : kind == GRID ? KAON_COLUMNS_SHARED
                                                            : (type + f) % 3,
                                  .wide = turn % 2,
                                  .interior = interior};
      for (int n = 0; n < (test_brief() || TEST_SLOWED ? 1 : 2); n++) {
        fixture b;
        fixture_open(&b, ctx, &csr, &shape, columns[(turn + 3 * n) % 6], CLOSED);
        for (int i = 0; i < (test_brief() ? 2 : CALLS); i++) {
          const double error = check_product(&b, &calls[i]);
          if (!(error <= 1))
            print_message("form %d, columns %d, lanes %d, type %d, %d columns, call %d: %g\n",
                          shape.form, shape.columns, shape.lanes, type, b.nrhs, i, error);
          worst = larger(worst, error);
        }
        if (!test_brief()) check_bits(&b, calls[turn % 2]);
        fixture_close(&b);
      }
    }
  free_rows(&csr);
  return worst;
}

static void products_and_their_sums(void **state) {
  (void)state;
  static const int64_t rows[] = {77, 1000, 20, 3000}; /* the last: on a device alone */
  for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++) {
    if (machine_lacks(machine)) continue;
    kaon_context *ctx = NULL;
    const kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
    must(NULL, machine_open(machine, options, &ctx));
    const int cases = test_brief() ? 6 : machine == MACHINE_CUDA ? 24 : 18;
    for (int i = 0; i < cases && !lacks_table(ctx, machine); i++) {
      const double worst = check_forms(ctx, (enum kind)(i % 3), rows[i / 6], 1 + i / 3 % 2);
      print_message("%s, %lld rows, kind %d, %d reals: error / bound %.3f\n", machine_name(machine),
                    (long long)rows[i / 6], i % 3, 1 + i / 3 % 2, worst);
      assert_true(worst <= 1);
    }
    kaon_context_destroy(&ctx);
  }
}

/* ---- what messages take ---- */

static void rows_are_picked(void **state) {
  (void)state;
  enum { COUNT = 333, ROWS = 500 };
  kaon_csr csr = make_rows(EVEN, ROWS, 2, ROWS);
  for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++) {
    if (machine_lacks(machine)) continue;
    kaon_context *ctx = NULL;
    const kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
    must(NULL, machine_open(machine, options, &ctx));
    for (int p = KAON_DOUBLE; p <= KAON_SINGLE && !lacks_table(ctx, machine); p++) {
      const stored_shape shape = {.precision = (kaon_precision)p, .form = KAON_STORED_SELL};
      const int width = ctx->backend->width;
      fixture b;
      kaon_launch launch;
      int32_t row[COUNT];
      fixture_open(&b, ctx, &csr, &shape, 3, CLOSED);
      kaon_space places = b.space;
      places.nsites = COUNT;
      places.nblocks = (COUNT + width - 1) / width;
      kaon_vector *to = NULL;
      must(ctx, kaon_vector_create(ctx, &places, (kaon_precision)p, 3, &to));
      for (int n = 0; n < COUNT; n++) row[n] = (int32_t)(n * 7919 % ROWS);
      void *device = machine_array(ctx, row, sizeof row);
      must(ctx, kaon_launch_prepare(ctx, 3, 0, &launch));
      const kaon_pick_args args = {.nrhs = 3,
                                   .reals = 2,
                                   .count = COUNT,
                                   .row = device,
                                   .x = kaon_view_of(b.v[X]),
                                   .to = kaon_view_of(to),
                                   .gate = {b.scalars->state, KAON_GATE_STEP}};
      ctx->backend->sparse[p]->pick(&launch, &args);
      for (int k = 0; k < 3; k++) {
        double found[2 * COUNT];
        must(ctx, kaon_vector_export(to, k, found, KAON_BASIS_UKQCD));
        for (int n = 0; n < 2 * COUNT; n++)
          assert_true(
              found[n] ==
              (is_open(&b, k)
                   ? b.host[X][(size_t)k * column_count(&b) + (size_t)(2 * row[n / 2] + n % 2)]
                   : 0));
      }
      machine_array_free(ctx, device);
      kaon_vector_destroy(&to);
      fixture_close(&b);
    }
    kaon_context_destroy(&ctx);
  }
  free_rows(&csr);
}

/* ---- triangular sweeps ---- */

/* Strictly lower or upper rows of up to 4 entries whose sum of magnitudes is below 1 / 2. Three
 * entries are in nearby rows, so levels are small and many; the first `wide` rows have no entries.
 */
static kaon_csr make_triangle(int64_t rows, int reals, int backward, int64_t free_ones) {
  kaon_csr csr = {.rows = rows, .columns = rows, .reals = reals};
  csr.start = stored_room((size_t)(rows + 1) * sizeof *csr.start);
  csr.column = stored_room((size_t)rows * 4 * sizeof *csr.column);
  csr.value = stored_room((size_t)rows * 4 * (size_t)reals * sizeof *csr.value);
  for (int64_t i = 0; i < rows; i++) {
    const int64_t place = backward ? rows - 1 - i : i; /* in the sweep's order */
    int64_t n = csr.start[i];
    for (int64_t back = 4; back > 0 && place >= free_ones; back--) {
      const int64_t far = back * (back < 3 ? 17 : 201), other = backward ? i + far : i - far;
      if (other < 0 || other >= rows || test_uniform(&seed) < -0.5) continue;
      csr.column[n] = (int32_t)other;
      for (int c = 0; c < reals; c++)
        csr.value[n * reals + c] = test_uniform(&seed) / (8.1 * reals);
      n++;
    }
    csr.start[i + 1] = n;
  }
  return csr;
}

/* Rows sorted by level; returns how many levels there are. */
static int make_levels(const kaon_csr *csr, int backward, int64_t *level, int32_t *row) {
  int *depth = stored_room((size_t)csr->rows * sizeof *depth), levels = 0;
  int64_t n = 0;
  for (int64_t place = 0; place < csr->rows; place++) {
    const int64_t i = backward ? csr->rows - 1 - place : place;
    for (int64_t e = csr->start[i]; e < csr->start[i + 1]; e++)
      if (depth[csr->column[e]] >= depth[i]) depth[i] = depth[csr->column[e]] + 1;
    if (depth[i] >= levels) levels = depth[i] + 1;
  }
  for (int l = 0; l < levels; l++) { /* a backward sweep takes the last level first */
    level[l] = n;
    for (int64_t i = 0; i < csr->rows; i++)
      if (depth[i] == (backward ? levels - 1 - l : l)) row[n++] = (int32_t)i;
  }
  level[levels] = n;
  free(depth);
  return levels;
}

static void expect_sweep(const fixture *b, int backward, const double *diagonal, int k,
                         long double *y) {
  const kaon_csr *m = b->csr;
  const int reals = m->reals;
  for (int64_t place = 0; place < m->rows; place++) {
    const int64_t i = backward ? m->rows - 1 - place : place;
    const double *x = b->host[X] + (size_t)k * column_count(b) + (size_t)(i * reals);
    const float largest = stored_largest(m, i);
    long double s[2] = {x[0], x[reals - 1]};
    for (int64_t e = m->start[i]; e < m->start[i + 1]; e++) {
      const long double *from = y + m->column[e] * reals;
      const double re = stored_number(m->value[e * reals], largest, &b->shape);
      const double im = reals == 2 ? stored_number(m->value[e * reals + 1], largest, &b->shape) : 0;
      s[0] -= re * from[0] - (reals == 2 ? im * from[reals - 1] : 0);
      if (reals == 2) s[1] -= re * from[1] + im * from[0];
    }
    const double dr = diagonal != NULL ? diagonal[i * reals] : 1;
    const double di = diagonal != NULL && reals == 2 ? diagonal[i * reals + 1] : 0;
    y[i * reals] = dr * s[0] - (reals == 2 ? di * s[1] : 0);
    if (reals == 2) y[i * reals + 1] = dr * s[1] + di * s[0];
  }
}

/* |d| <= 1, so an error of the size of one row's roundings grows by less than a factor of 2. */
static double check_sweep(fixture *b, int backward, const double *diagonal) {
  const size_t n = column_count(b);
  const double u = b->shape.precision == KAON_DOUBLE ? 0x1p-53 : 0x1p-24;
  double worst = 0;
  long double *y = stored_room(n * sizeof *y);
  memcpy(b->host[W], b->host[Y], n * (size_t)b->nrhs * sizeof(double));
  export_vector(b, Y);
  for (int k = 0; k < b->nrhs; k++) {
    const double *found = b->host[Y] + (size_t)k * n, *before = b->host[W] + (size_t)k * n;
    expect_sweep(b, backward, diagonal, k, y);
    for (size_t i = 0; i < n; i++)
      worst = larger(worst, is_open(b, k)           ? (double)fabsl(found[i] - y[i]) / (60 * u)
                            : found[i] == before[i] ? 0
                                                    : HUGE_VAL);
  }
  free(y);
  return worst;
}

static double sweep(kaon_context *ctx, const kaon_csr *csr, const stored_shape *shape, int backward,
                    int own_diagonal, int nrhs) {
  fixture b;
  kaon_launch launch;
  const int64_t rows = csr->rows;
  const size_t n = (size_t)(rows * csr->reals);
  int64_t *level = stored_room((size_t)(rows + 1) * sizeof *level);
  int32_t *row = stored_room((size_t)rows * sizeof *row);
  double *diagonal = stored_room(n * sizeof *diagonal);
  float *single = stored_room(n * sizeof *single);
  fixture_open(&b, ctx, csr, shape, nrhs, CLOSED);
  for (size_t i = 0; i < n; i++) diagonal[i] = single[i] = (float)(0.7 * test_uniform(&seed));
  const int levels = make_levels(csr, backward, level, row);
  assert_true(levels > 20);
  void *on_device[3] = {machine_array(ctx, level, (size_t)(levels + 1) * sizeof *level),
                        machine_array(ctx, row, (size_t)rows * sizeof *row),
                        shape->precision == KAON_DOUBLE
                            ? machine_array(ctx, diagonal, n * sizeof *diagonal)
                            : machine_array(ctx, single, n * sizeof *single)};
  must(ctx, kaon_launch_prepare(ctx, nrhs, 0, &launch));
  const kaon_levels_args args = {.matrix = &b.stored.matrix,
                                 .nrhs = nrhs,
                                 .backward = backward,
                                 .levels = levels,
                                 .level = on_device[0],
                                 .level_host = level,
                                 .row = on_device[1],
                                 .diagonal = own_diagonal ? on_device[2] : NULL,
                                 .x = kaon_view_of(b.v[X]),
                                 .y = kaon_view_of(b.v[Y]),
                                 .gate = {b.scalars->state, KAON_GATE_STEP}};
  ctx->backend->sparse[shape->precision]->levels(&launch, &args);
  const double worst = check_sweep(&b, backward, own_diagonal ? diagonal : NULL);
  for (int i = 0; i < 3; i++) machine_array_free(ctx, on_device[i]);
  free(level), free(row), free(diagonal), free(single);
  fixture_close(&b);
  return worst;
}

static void sweeps_level_by_level(void **state) {
  (void)state;
  for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++) {
    if (machine_lacks(machine)) continue;
    kaon_context *ctx = NULL;
    const kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
    must(NULL, machine_open(machine, options, &ctx));
    for (int i = 0; i < 12 && !lacks_table(ctx, machine); i += test_brief() ? 6 : 1) {
      const int type = i % 3, reals = 1 + i / 3 % 2, backward = i / 6;
      const stored_shape shape = {.precision = type == 0 ? KAON_DOUBLE : KAON_SINGLE,
                                  .half = type == 2,
                                  .form = KAON_STORED_CSR,
                                  .lanes = 1,
                                  .wide = i % 2};
      kaon_csr csr = make_triangle(9000, reals, backward, 5000);
      const double worst = sweep(ctx, &csr, &shape, backward, i % 2, i % 4 == 3 ? 3 : 1);
      print_message("%s, type %d, %d reals, %s: error / bound %.3f\n", machine_name(machine), type,
                    reals, backward ? "backward" : "forward", worst);
      assert_true(worst <= 1);
      free_rows(&csr);
    }
    kaon_context_destroy(&ctx);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(products_and_their_sums),
                                     cmocka_unit_test(rows_are_picked),
                                     cmocka_unit_test(sweeps_level_by_level)};
  return test_main(tests, NULL, NULL);
}
