/* test_sweep_orders.c - orders of rows for sweeps: each row occurs once, and rows that are updated
 * together share no column. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "sparse/order/sweep_order.h"
#include "tests/util/machine.h"
#include "tests/util/sweep_case.h"
#include "tests/util/test_util.h"

static kaon_context *open_host(void) {
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  kaon_context *ctx = NULL;
  options.threads = 2;
  must(NULL, machine_open(MACHINE_CPU, options, &ctx));
  return ctx;
}

/* Marks the columns touched by the rows of steps [first, last) of a launch. 1: two rows that are
 * updated together share a column. owner: of a column, -1: nobody. */
static int touch(const kaon_csr *a, const kaon_sweep_rows *o, int64_t first, int64_t last,
                 int64_t as, int64_t *owner) {
  int twice = 0;
  for (int64_t r = first; r < last; r++)
    for (int64_t n = a->start[o->row[r]]; n < a->start[o->row[r] + 1]; n++) {
      int64_t *mine = &owner[a->column[n]];
      twice |= *mine >= 0 && *mine != as;
      *mine = as;
    }
  return twice;
}

static int64_t begin_of(const kaon_sweep_rows *o, int64_t group) {
  const int64_t step = o->group != NULL ? o->group[group] : group;
  return o->step != NULL ? o->step[step] : step;
}

/* blocks: they may overlap, their steps' rows may not. */
static void check_order(const kaon_csr *a, const kaon_sweep_rows *o, int blocks) {
  int64_t *owner = malloc((size_t)(a->columns + 1) * sizeof *owner);
  int *times = calloc((size_t)a->rows + 1, sizeof *times), twice = 0;
  assert_int_equal(o->rows, a->rows);
  assert_int_equal(o->launch[0], 0);
  assert_int_equal(o->launch[o->launches], o->groups);
  assert_int_equal(begin_of(o, o->groups), a->rows);
  for (int64_t i = 0; i < a->rows; i++) times[o->row[i]]++;
  for (int64_t i = 0; i < a->rows; i++) assert_int_equal(times[i], 1);
  for (int l = 0; l < o->launches && !blocks; l++) {
    for (int64_t j = 0; j < a->columns; j++) owner[j] = -1;
    for (int64_t g = o->launch[l]; g < o->launch[l + 1]; g++)
      twice |= touch(a, o, begin_of(o, g), begin_of(o, g + 1), g, owner);
  }
  for (int64_t s = 0; s < o->steps && o->step != NULL; s++) {
    for (int64_t j = 0; j < a->columns; j++) owner[j] = -1;
    for (int64_t r = o->step[s]; r < o->step[s + 1]; r++) twice |= touch(a, o, r, r + 1, r, owner);
  }
  assert_false(twice);
  free(owner);
  free(times);
}

/* Blocks of neighbours, of consecutive numbers and of a permutation, each by rows and by colours.
 */
static void check_blocks(kaon_matrix *matrix, const int32_t *permutation) {
  for (int kind = 0; kind < 6; kind++) {
    kaon_kaczmarz_options o = KAON_KACZMARZ_OPTIONS_INIT;
    kaon_sweep_rows *rows = NULL;
    o.blocks = 7;
    o.colour = kind & 1;
    o.block_rows = kind & 2 ? KAON_CARP_CONSECUTIVE : KAON_CARP_NEAR;
    o.order = kind >= 4 ? KAON_SWEEP_PERMUTATION : KAON_SWEEP_ROWS;
    o.permutation = kind >= 4 ? permutation : NULL;
    must(matrix->ctx, kaon_sweep_rows_blocks(matrix, &o, &rows));
    check_order(matrix->rows->rows, rows, 1);
    kaon_sweep_rows_destroy(&rows);
  }
}

static void orders_hold_what_they_promise(void **state) {
  (void)state;
  enum { N = 24, ROWS = N * N };
  kaon_context *ctx = open_host();
  ref_sparse systems[3] = {ref_sparse_laplace(N, 2, 0.1, 0.3), make_system(ROWS, 0, 0),
                           make_system(ROWS, 0, 1)};
  double at[ROWS][2];
  int32_t backwards[ROWS];
  for (int i = 0; i < ROWS; i++) {
    at[i][0] = i % N;
    at[i][1] = i / N;
    backwards[i] = ROWS - 1 - i;
  }
  for (int s = 0; s < 3; s++)
    for (int rcm = 0; rcm < 2; rcm++) {
      kaon_matrix_options options = KAON_MATRIX_OPTIONS_INIT;
      options.ordering = rcm ? KAON_ORDERING_RCM : KAON_ORDERING_NONE;
      kaon_matrix *matrix = sparse_matrix(ctx, &systems[s], 1, &options);
      for (int order = KAON_SWEEP_ROWS; order <= KAON_SWEEP_SECTIONS; order++) {
        kaon_kaczmarz_options o = with_order((kaon_sweep_order)order, backwards, &at[0][0]);
        kaon_sweep_rows *rows = NULL;
        must(ctx, kaon_sweep_rows_create(matrix, &o, &rows));
        check_order(matrix->rows->rows, rows, 0);
        if (order == KAON_SWEEP_SECTIONS && s == 0) assert_int_equal(rows->launches, 4);
        if (order == KAON_SWEEP_STRIDES && s == 2 && !rcm) assert_int_equal(rows->launches, 5);
        if (order == KAON_SWEEP_GROUPS && s == 2 && !rcm) assert_int_equal(o.groups, ROWS / 8);
        if (order == KAON_SWEEP_PERMUTATION && !rcm)
          assert_int_equal(matrix->order != NULL ? matrix->order[rows->row[0]] : rows->row[0],
                           ROWS - 1);
        kaon_sweep_rows_destroy(&rows);
      }
      check_blocks(matrix, backwards);
      kaon_matrix_destroy(&matrix);
    }
  for (int s = 0; s < 3; s++) ref_sparse_free(&systems[s]);
  kaon_matrix *mesh = NULL; /* the paper's sections of the domain */
  kaon_sweep_rows *rows = NULL;
  double *points = NULL;
  kaon_kaczmarz_options o = with_order(KAON_SWEEP_SECTIONS, NULL, NULL);
  must(ctx, kaon_matrix_generate(ctx, "fem:2,1,5", NULL, &mesh, NULL));
  must(ctx, kaon_matrix_generate_points(ctx, "fem:2,1,5", &o.dimensions, &points));
  o.coordinates = points;
  must(ctx, kaon_sweep_rows_create(mesh, &o, &rows));
  free(points);
  check_order(mesh->rows->rows, rows, 0);
  print_message("fem:2,1,5: %lld sections in %d classes\n", (long long)rows->groups,
                rows->launches);
  assert_true(rows->groups >= 36);
  must_refuse(ctx, KAON_ERR_UNSUPPORTED,
              kaon_matrix_generate_points(ctx, "fem:2,2,5", &o.dimensions, &points));
  kaon_sweep_rows_destroy(&rows);
  kaon_matrix_destroy(&mesh);
  kaon_context_destroy(&ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(orders_hold_what_they_promise)};
  return test_main(tests, NULL, NULL);
}
