/* test_async.c - asynchronous relaxation on several ranks, whose blocks read each other's rows as
 * they arrive. In any order of arrival it ends at a true residual of the whole system, with one
 * verdict on all ranks. The age of remote values is recorded and bounded. A rank that is slow,
 * fails or is frozen delays nobody. One rank does the same solves without exchange. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>

#include "ranks.h"
#include "tests/util/precond_case.h"
#include "tests/util/row_case.h"

typedef struct part {
  kaon_context *ctx;
  kaon_matrix *matrix;
  kaon_operator *A;
  kaon_csr *whole;
  int64_t first, rows;
  int columns;
  number *b; /* [column * rows of the whole + row] */
  kaon_vector *right, *x;
} part;

/* Takes `whole` over. b = 1 in every row of column 0, noise in the others. */
static part open_part(kaon_csr *whole, int skewed, int columns, int threads) {
  kaon_context_options options = ranks_options(KAON_ISA_AUTO);
  part p = {.whole = whole, .columns = columns};
  const int rank = world_rank(), ranks = world_size();
  const size_t n = (size_t)whole->rows;
  options.threads = threads;
  options.patience = 20;
  must(NULL, kaon_context_create_ranks(&options, NULL, NULL, &p.ctx));
  p.first = ranks_first_row(whole->rows, rank, ranks, skewed);
  p.rows = ranks_first_row(whole->rows, rank + 1, ranks, skewed) - p.first;
  int64_t *start = calloc((size_t)p.rows + 1, sizeof *start);
  for (int64_t i = 0; i <= p.rows; i++)
    start[i] = whole->start[p.first + i] - whole->start[p.first];
  const kaon_csr_arrays arrays = {.global_rows = whole->rows,
                                  .first_row = p.first,
                                  .rows = p.rows,
                                  .reals = whole->reals,
                                  .start64 = start,
                                  .column32 = whole->column + whole->start[p.first],
                                  .values = whole->value + whole->start[p.first] * whole->reals};
  must(p.ctx, kaon_matrix_create_csr(p.ctx, &arrays, NULL, &p.matrix));
  free(start);
  must(p.ctx, kaon_matrix_operator(p.matrix, NULL, &p.A));
  must(p.ctx, kaon_vector_create(p.ctx, p.A->space, KAON_DOUBLE, columns, &p.right));
  must(p.ctx, kaon_vector_create(p.ctx, p.A->space, KAON_DOUBLE, columns, &p.x));
  p.b = calloc(n * (size_t)columns, sizeof *p.b);
  for (int k = 0; k < columns; k++) {
    for (size_t i = 0; i < n && k == 0; i++) p.b[i] = 1;
    if (k > 0) row_case_vector((int64_t)n, whole->reals, (uint64_t)k, p.b + (size_t)k * n);
    precond_import(p.right, k, p.rows, p.b + (size_t)k * n + p.first);
  }
  return p;
}

static void close_part(part *p) {
  kaon_vector_destroy(&p->right);
  kaon_vector_destroy(&p->x);
  kaon_operator_destroy(&p->A);
  kaon_matrix_destroy(&p->matrix);
  kaon_csr_destroy(&p->whole);
  free(p->b);
  kaon_context_destroy(&p->ctx);
}

/* |b - A x| / |b| of a column, by the rows that the host has. */
static double residual_of(const part *p, int column) {
  const size_t n = (size_t)p->whole->rows;
  number *x = calloc(2 * n, sizeof *x), *y = x + n;
  const number *b = p->b + (size_t)column * n;
  precond_export(p->x, column, p->rows, x + p->first);
  MPI_Allreduce(MPI_IN_PLACE, x, (int)(2 * n), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  row_case_multiply(p->whole, 0, x, y);
  for (size_t i = 0; i < n; i++) y[i] -= b[i];
  const double residual = row_case_norm((int64_t)n, y) / row_case_norm((int64_t)n, b);
  free(x);
  return residual;
}

static int same_everywhere(int mine) {
  int low = mine, high = mine;
  MPI_Allreduce(MPI_IN_PLACE, &low, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, &high, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return low == high;
}

typedef struct ending {
  kaon_status created, solved;
  kaon_column_report column[3];
  kaon_relax_report relax;
} ending;

static ending solve(const part *p, const kaon_relax_options *relax, kaon_precision sloppy,
                    double tol, int steps) {
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  kaon_solver *solver = NULL;
  ending e = {.solved = KAON_OK};
  o.method = KAON_ASYNC;
  o.sloppy = sloppy;
  o.tol = tol;
  o.max_iterations = steps;
  o.relax = relax;
  must(p->ctx, kaon_vector_zero(p->x));
  e.created = kaon_solver_create(p->A, p->columns, &o, &solver);
  if (e.created == KAON_OK) {
    e.solved = kaon_solver_solve(solver, p->right, p->x, e.column, NULL);
    e.relax = (kaon_relax_report)KAON_RELAX_REPORT_INIT;
    if (e.solved == KAON_OK) must(p->ctx, kaon_solver_relaxation(solver, &e.relax));
  }
  kaon_solver_destroy(&solver);
  return e;
}

static const char *const names[] = {"auto", "amc", "dc", "dk", "push", "sync"};

static kaon_lab_relax_options lab; /* of the options that were made last */

/* Blocks are small, so that there are many. A rank must not run far ahead of others merely because
 * they share a core, unless a test wants that. */
static kaon_relax_options options_of(kaon_relax_exchange exchange, kaon_relax_driver driver) {
  kaon_relax_options o = KAON_RELAX_OPTIONS_INIT;
  o.block = 24;
  o.local_sweeps = 2;
  lab = (kaon_lab_relax_options)KAON_LAB_RELAX_OPTIONS_INIT;
  lab.exchange = exchange;
  lab.rank_lag = 3;
  o.driver = driver;
  o.lab = &lab;
  return o;
}

/* ---- it converges ---- */

static void check_case(const part *p, kaon_relax_exchange exchange, kaon_relax_driver driver,
                       kaon_precision sloppy) {
  const double tol = 1e-10;
  const kaon_relax_options o = options_of(exchange, driver);
  const ending e = solve(p, &o, sloppy, tol, 4000);
  char what[96];
  assert_int_equal(e.created, KAON_OK);
  assert_int_equal(e.solved, KAON_OK);
  for (int k = 0; k < p->columns; k++) {
    assert_int_equal(e.column[k].reason, KAON_CONVERGED);
    assert_true(same_everywhere(e.column[k].iterations));
    snprintf(what, sizeof what, "%s, %s, %s, column %d (%d iterations, shifts %d to %d)",
             names[e.relax.exchange], driver == KAON_RELAX_FREE ? "free" : "launch",
             sloppy == KAON_SINGLE ? "single" : "double", k, e.column[k].iterations,
             e.relax.rank_newest, e.relax.rank_oldest);
    test_below(what, residual_of(p, k), 1.1 * tol);
  }
  const int alone = world_size() == 1 || strstr(e.relax.exchange_note, "no rank reads") != NULL;
  if (alone) assert_int_equal(e.relax.exchange, KAON_EXCHANGE_SYNC);
  if (!alone && e.relax.exchange != exchange && exchange != KAON_EXCHANGE_AUTO) {
    printf("  %s\n", e.relax.exchange_note);
    assert_non_null(strstr(e.relax.exchange_note, names[exchange]));
  }
  if (!alone && exchange == KAON_EXCHANGE_AUTO)
    assert_int_equal(e.relax.exchange == KAON_EXCHANGE_SYNC, driver == KAON_RELAX_LAUNCH);
  if (!alone) assert_true(e.relax.rank_oldest <= lab.rank_lag);
}

static void every_way_ends_at_a_true_residual(void **state) {
  (void)state;
  for (int kind = 0; kind < 4; kind++) {
    const int reals = kind & 1 ? 2 : 1, columns = kind & 2 ? 3 : 1;
    part p = open_part(row_case_random(401, 5, reals, 0, 7), kind == 1 || kind == 2, columns,
                       kind == 3 ? 2 : 1);
    for (int way = KAON_EXCHANGE_AUTO; way <= KAON_EXCHANGE_SYNC; way++)
      for (int driver = KAON_RELAX_LAUNCH; driver <= KAON_RELAX_FREE; driver++)
        check_case(&p, (kaon_relax_exchange)way, (kaon_relax_driver)driver,
                   way % 2 ? KAON_SINGLE : KAON_DOUBLE);
    close_part(&p);
  }
}

/* Limits hold for all ranks alike. */
static void iterations_end_where_they_are_told_to(void **state) {
  (void)state;
  part p = open_part(row_case_laplace(20, 20, 1), 0, 1, 1);
  for (int driver = KAON_RELAX_LAUNCH; driver <= KAON_RELAX_FREE; driver++) {
    const kaon_relax_options o = options_of(KAON_EXCHANGE_PUSH, (kaon_relax_driver)driver);
    const ending e = solve(&p, &o, KAON_DOUBLE, 1e-12, 21);
    assert_int_equal(e.solved, KAON_OK);
    assert_int_equal(e.column[0].reason, KAON_MAX_ITERATIONS);
    assert_int_equal(e.column[0].iterations, 21);
    assert_int_equal(e.relax.most, e.relax.blocks > 0 ? 21 : 0);
    /* synchronous, and of this x */
    assert_true(fabs(e.column[0].residual - residual_of(&p, 0)) <= 1e-13);
  }
  close_part(&p);
}

/* ---- lags ---- */

static const kaon_relax_exchange ways[] = {KAON_EXCHANGE_PUSH, KAON_EXCHANGE_DK, KAON_EXCHANGE_DC,
                                           KAON_EXCHANGE_AMC};
enum { WAYS = sizeof ways / sizeof *ways };

/* The last rank sleeps before each iteration, longer than the others need for all of theirs. So it
 * is behind by many iterations, unless `lag` limits the others. Rows are coupled both ways, so
 * nobody sees another more than lag + 1 ahead: one more iteration may have ended since it asked. */
static void a_slow_rank_is_seen_to_lag_and_no_more_than_it_may(void **state) {
  (void)state;
  part p = open_part(row_case_random(601, 5, 1, 1, 9), 0, 1, 1);
  const int here = p.ctx->comm->local_ranks;
  if (world_rank() == world_size() - 1) p.ctx->comm->pause = 1000000;
  for (int i = 0; i <= WAYS && world_size() > 1; i++) {
    /* the last time as for ranks on two nodes: through windows that are not mapped */
    p.ctx->comm->local_ranks = i < WAYS ? here : 1;
    for (int driver = KAON_RELAX_LAUNCH; driver <= KAON_RELAX_FREE; driver++)
      for (int lag = -1; lag <= 3; lag += lag < 0 ? 1 : 3) {
        kaon_relax_options o =
            options_of(i < WAYS ? ways[i] : KAON_EXCHANGE_AMC, (kaon_relax_driver)driver);
        lab.rank_lag = lag;
        o.stride = 20;
        const ending e = solve(&p, &o, KAON_DOUBLE, 1e-5, 1000);
        printf("  %s, %s, lag %d: %d iterations, shifts %d to %d, %.0f %% not synchronous\n",
               names[e.relax.exchange], driver ? "free" : "launch", lag, e.column[0].iterations,
               e.relax.rank_newest, e.relax.rank_oldest, 100 * e.relax.rank_asynchronous);
        assert_int_equal(e.solved, KAON_OK);
        assert_int_equal(e.column[0].reason, KAON_CONVERGED);
        test_below("residual", residual_of(&p, 0), 1.1e-5);
        assert_true(e.relax.rank_oldest > 0 || lag == 0);
        if (lag < 0) assert_true(e.relax.rank_oldest > 3);
        if (lag >= 0) assert_true(e.relax.rank_oldest <= lag);
        if (lag >= 0) assert_true(e.relax.rank_newest >= -(lag + 1));
      }
  }
  p.ctx->comm->local_ranks = here;
  close_part(&p);
}

/* ---- failures ---- */

static void ranks_that_disagree_are_told(void **state) {
  (void)state;
  part p = open_part(row_case_laplace(12, 12, 1), 0, 1, 1);
  kaon_relax_options o =
      options_of(world_rank() == 0 ? KAON_EXCHANGE_PUSH : KAON_EXCHANGE_AMC, KAON_RELAX_FREE);
  if (world_size() > 1) {
    const ending e = solve(&p, &o, KAON_DOUBLE, 1e-6, 100);
    assert_int_equal(e.created, KAON_ERR_ARGUMENT);
    assert_non_null(strstr(kaon_last_error(p.ctx), "asks for"));
  }
  lab.exchange = (kaon_relax_exchange)17;
  const ending e = solve(&p, &o, KAON_DOUBLE, 1e-6, 100);
  assert_int_equal(e.created, KAON_ERR_ARGUMENT);
  close_part(&p);
}

static kaon_comm_ops failing_ops;
static const kaon_comm_ops *true_ops;
static int puts_left;

static kaon_status failing_put(kaon_window *board, int peer, size_t at, const void *numbers,
                               int width, int64_t n) {
  if (puts_left-- == 0) return kaon_fail(board->comm->ctx, KAON_ERR_COMM, "a put that fails");
  return true_ops->window_put(board, peer, at, numbers, width, n);
}

/* One rank's messages fail during the solve, when the others may already wait for its iterations.
 * All end with its sentence, and the next solve works. */
static void a_failing_rank_holds_up_nobody(void **state) {
  (void)state;
  part p = open_part(row_case_laplace(16, 16, 1), 0, 1, 1);
  kaon_relax_options o = options_of(KAON_EXCHANGE_AMC, KAON_RELAX_FREE);
  lab.rank_lag = 0;
  true_ops = p.ctx->comm->ops;
  failing_ops = *true_ops;
  failing_ops.window_put = failing_put;
  for (int n = 0; n < 24 && world_size() > 1; n += 1 + n / 4) {
    o.driver = n % 2 ? KAON_RELAX_LAUNCH : KAON_RELAX_FREE;
    puts_left = n;
    if (world_rank() == 1) p.ctx->comm->ops = &failing_ops;
    ending e = solve(&p, &o, KAON_DOUBLE, 1e-8, 400);
    p.ctx->comm->ops = true_ops;
    assert_int_equal(e.created, KAON_OK);
    assert_int_equal(e.solved, KAON_ERR_COMM);
    assert_non_null(strstr(kaon_last_error(p.ctx), "a put that fails"));
    e = solve(&p, &o, KAON_DOUBLE, 1e-8, 4000);
    assert_int_equal(e.solved, KAON_OK);
    assert_int_equal(e.column[0].reason, KAON_CONVERGED);
  }
  close_part(&p);
}

/* A NaN on one rank ends the solve on all, because nobody waits for a rank that has ended. */
static void what_diverges_ends_everywhere(void **state) {
  (void)state;
  kaon_csr *csr = row_case_laplace(12, 12, 1);
  for (int64_t i = 0; i < csr->rows; i++) { /* far from diagonally dominant */
    for (int64_t n = csr->start[i]; n < csr->start[i + 1]; n++)
      if (csr->column[n] != i) csr->value[n] *= 1e6;
  }
  part p = open_part(csr, 0, 1, 1);
  for (int i = 0; i < WAYS; i++)
    for (int driver = KAON_RELAX_LAUNCH; driver <= KAON_RELAX_FREE; driver++) {
      kaon_relax_options o = options_of(ways[i], (kaon_relax_driver)driver);
      lab.rank_lag = 1;
      const ending e = solve(&p, &o, KAON_DOUBLE, 1e-8, 3000);
      assert_int_equal(e.solved, KAON_OK);
      assert_true(e.column[0].reason != KAON_CONVERGED);
      assert_true(same_everywhere((int)e.column[0].reason));
      assert_true(same_everywhere(e.column[0].iterations));
    }
  close_part(&p);
}

/* ---- faults ---- */

/* A rank's part is frozen and released, by time or by the monitor, while the others continue with
 * its old values. Every rank's report has the same number of rows and the same iterations of
 * detection and return, and the residual is reached nevertheless. */
static void a_frozen_rank_comes_back(void **state) {
  (void)state;
  part p = open_part(row_case_random(301, 5, 1, 1, 3), 0, 1, 1);
  const int last = world_size() - 1;
  const int64_t rows = p.whole->rows - ranks_first_row(p.whole->rows, last, world_size(), 0);
  for (int kind = 0; kind < 6; kind++) {
    const int recovery = kind % 2 ? 15 : 0;
    const kaon_relax_exchange way = kind < 2   ? KAON_EXCHANGE_SYNC
                                    : kind < 4 ? KAON_EXCHANGE_PUSH
                                               : KAON_EXCHANGE_AMC;
    kaon_fault_options faults = KAON_FAULT_OPTIONS_INIT;
    kaon_relax_options o = options_of(way, KAON_RELAX_FREE);
    faults.kind = KAON_FAULT_RANK;
    faults.share = 1;
    faults.rank = last;
    faults.begin = 12;
    faults.recovery = recovery;
    lab.rank_lag = 0;
    lab.faults = &faults;
    const ending e = solve(&p, &o, KAON_DOUBLE, 1e-10, 2000);
    printf("  %s: frozen at %d, noticed at %d, back at %d%s, %d alarms; %d iterations\n",
           names[e.relax.exchange], e.relax.frozen_at, e.relax.first_alarm, e.relax.restored_at,
           e.relax.restored_by_monitor ? " by the monitor" : "", e.relax.alarms,
           e.column[0].iterations);
    assert_int_equal(e.solved, KAON_OK);
    assert_int_equal(e.column[0].reason, KAON_CONVERGED);
    test_below("residual", residual_of(&p, 0), 1.1e-10);
    assert_int_equal(e.relax.frozen, rows);
    assert_int_equal(e.relax.frozen_at, 12);
    assert_true(e.relax.alarms > 0 && e.relax.first_alarm > 12);
    assert_int_equal(e.relax.restored_by_monitor, recovery == 0);
    if (recovery > 0)
      assert_int_equal(e.relax.restored_at, 27);
    else
      assert_true(e.relax.restored_at >= e.relax.first_alarm);
    assert_true(same_everywhere(e.relax.alarms) && same_everywhere(e.relax.restored_at));
    assert_int_equal(e.relax.exchange, world_size() > 1 ? way : KAON_EXCHANGE_SYNC);
  }
  close_part(&p);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_way_ends_at_a_true_residual),
    cmocka_unit_test(iterations_end_where_they_are_told_to),
    cmocka_unit_test(a_slow_rank_is_seen_to_lag_and_no_more_than_it_may),
    cmocka_unit_test(ranks_that_disagree_are_told),
    cmocka_unit_test(a_failing_rank_holds_up_nobody),
    cmocka_unit_test(what_diverges_ends_everywhere),
    cmocka_unit_test(a_frozen_rank_comes_back),
};

RANKS_MAIN(tests)
