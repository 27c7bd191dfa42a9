/* test_early_sends.c - pipelined CG whose matrix product sends before the updates (KAON_OVERLAP_UPDATES)
 * has the bits of the usual order, with every kind of preconditioner, precision and distribution
 * of rows. Messages and sums begin and end in the expected order, and a step that fails between
 * the two leaves a usable solver. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>

#include "ranks.h"
#include "solvers/engine/method.h"
#include "tests/util/failing_apply.h"
#include "tests/util/sparse_case.h"

enum { MOST = 2, ROOM = 4096, LOG = 64 };      /* columns; entries of a history */
enum { NONE, JACOBI, FSAI, CHEBYSHEV, KINDS }; /* of preconditioners */
static const char *const kind_names[] = {"none", "jacobi", "fsai", "chebyshev"};
static const int *const any_grid = NULL;

typedef struct part {
  kaon_context *ctx;
  kaon_matrix *matrix;
  kaon_operator *A, *K;
  kaon_solver *solver;
  kaon_vector *b, *x;
  size_t first, rows;
  int columns;
} part;

typedef struct how {
  kaon_overlap overlap;
  int kind, reals, skewed, columns;
  kaon_issue issue;
  kaon_precision sloppy;
  double delay;
  kaon_transport transport;
} how;

/* 1: devices have this transport here; hosts have only one. The same on all ranks. */
static int possible(kaon_transport transport) {
  kaon_context_options options = ranks_options(KAON_ISA_AUTO);
  kaon_context *ctx = NULL;
  if (transport == KAON_TRANSPORT_AUTO) return 1;
  if (options.backend != KAON_BACKEND_CUDA || world_size() == 1) return 0;
  options.transport = transport;
  const kaon_status status = kaon_context_create_ranks(&options, NULL, any_grid, &ctx);
  if (status != KAON_OK) printf("  transport %d: %s\n", (int)transport, kaon_last_error(NULL));
  kaon_context_destroy(&ctx);
  return status == KAON_OK;
}

static void make_preconditioner(part *p, int kind) {
  kaon_precond_options rows = KAON_PRECOND_OPTIONS_INIT;
  kaon_chebyshev_options polynomial = KAON_CHEBYSHEV_OPTIONS_INIT;
  rows.kind = KAON_PRECOND_FSAI;
  polynomial.degree = 3;
  if (kind == JACOBI) must(p->ctx, kaon_precond_jacobi(p->A, &p->K));
  if (kind == FSAI) must(p->ctx, kaon_precond_create(p->matrix, &rows, &p->K));
  if (kind == CHEBYSHEV) must(p->ctx, kaon_precond_chebyshev(p->A, &polynomial, &p->K));
}

static part open_part(const ref_sparse *a, const how *h) {
  part p = {.columns = h->columns};
  kaon_context_options options = ranks_options(KAON_ISA_AUTO);
  kaon_lab_options lab = KAON_LAB_OPTIONS_INIT;
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  options.overlap = h->overlap;
  options.lab = &lab;
  lab.reduce_delay = h->delay;
  if (h->transport != KAON_TRANSPORT_AUTO) options.transport = h->transport;
  lab.issue = h->issue;
  must(NULL, kaon_context_create_ranks(&options, NULL, any_grid, &p.ctx));
  const int rank = world_rank(), ranks = world_size();
  const int64_t all = (int64_t)a->rows;
  p.first = (size_t)ranks_first_row(all, rank, ranks, h->skewed);
  p.rows = (size_t)ranks_first_row(all, rank + 1, ranks, h->skewed) - p.first;
  p.matrix = sparse_matrix_part(p.ctx, a, h->reals, p.first, p.rows, NULL);
  p.A = sparse_operator(p.matrix, KAON_DOUBLE, KAON_STORE_AUTO);
  make_preconditioner(&p, h->kind);
  o.method = KAON_PIPECG;
  o.sloppy = h->sloppy;
  o.tol = 1e-9;
  o.preconditioner = p.K;
  must(p.ctx, kaon_solver_create(p.A, p.columns, &o, &p.solver));
  p.b = sparse_vector(p.A, p.columns);
  p.x = sparse_vector(p.A, p.columns);
  for (int k = 0; k < p.columns; k++) {
    ref_complex *numbers = sparse_random(a->rows, h->reals, 31 + (uint64_t)k);
    sparse_import(p.b, k, p.rows, numbers + p.first);
    free(numbers);
  }
  return p;
}

static void close_part(part *p) {
  kaon_solver_destroy(&p->solver);
  kaon_operator_destroy(&p->K);
  kaon_vector_destroy(&p->b);
  kaon_vector_destroy(&p->x);
  kaon_operator_destroy(&p->A);
  kaon_matrix_destroy(&p->matrix);
  kaon_context_destroy(&p->ctx);
}

/* ---- bits ---- */

typedef struct outcome {
  int columns;
  ref_complex *x[MOST];
  kaon_column_report column[MOST];
  kaon_solve_report report;
  double history[MOST][ROOM];
  int count[MOST];
} outcome;

static void solve(part *p, outcome *o) {
  o->columns = p->columns;
  must(p->ctx, kaon_vector_zero(p->x));
  o->report = (kaon_solve_report)KAON_SOLVE_REPORT_INIT;
  must(p->ctx, kaon_solver_solve(p->solver, p->b, p->x, o->column, &o->report));
  for (int k = 0; k < p->columns; k++) {
    o->x[k] = calloc(p->rows + 1, sizeof *o->x[k]);
    sparse_export(p->x, k, p->rows, o->x[k]);
    o->count[k] = ROOM;
    must(p->ctx, kaon_solver_history(p->solver, k, o->history[k], &o->count[k]));
    assert_true(o->count[k] <= ROOM);
    assert_int_equal(o->column[k].reason, KAON_CONVERGED);
  }
}

static outcome *solve_so(const ref_sparse *a, const how *h) {
  outcome *o = calloc(1, sizeof *o);
  part p = open_part(a, h);
  solve(&p, o);
  close_part(&p);
  return o;
}

static void release(outcome *o) {
  for (int k = 0; k < o->columns; k++) free(o->x[k]);
  free(o);
}

static void assert_same(const outcome *a, const outcome *b, size_t rows) {
  assert_int_equal(a->columns, b->columns);
  for (int k = 0; k < a->columns; k++) {
    assert_int_equal(a->column[k].iterations, b->column[k].iterations);
    assert_int_equal(a->column[k].updates, b->column[k].updates);
    assert_int_equal(a->count[k], b->count[k]);
    assert_memory_equal(a->history[k], b->history[k], (size_t)a->count[k] * sizeof(double));
    assert_memory_equal(a->x[k], b->x[k], rows * sizeof *a->x[k]);
  }
}

/* Every step sends ahead where there is anybody to send to. */
static void check_bits(const ref_sparse *a, how h) {
  const int ranks = world_size();
  how ahead = h;
  ahead.overlap = KAON_OVERLAP_UPDATES;
  outcome *whole = solve_so(a, &h), *cut = solve_so(a, &ahead);
  const int64_t all = (int64_t)a->rows;
  const int rank = world_rank();
  const size_t rows = (size_t)(ranks_first_row(all, rank + 1, ranks, h.skewed) -
                               ranks_first_row(all, rank, ranks, h.skewed));
  int slowest = 0;
  for (int k = 0; k < h.columns; k++)
    if (whole->column[k].iterations > slowest) slowest = whole->column[k].iterations;
  assert_same(whole, cut, rows);
  assert_int_equal(whole->report.traffic.ahead, 0);
  if (ranks > 2 || (ranks == 2 && !h.skewed)) /* else one rank has all rows */
    assert_true(cut->report.traffic.ahead >= slowest &&
                cut->report.traffic.ahead < cut->report.traffic.exchanges);
  else
    assert_int_equal(cut->report.traffic.ahead, 0);
  /* How long a column waits for a check, beside others, depends on time. So does the number of
   * steps issued after the end, which exchange but sum nothing. */
  if (h.columns == 1) {
    assert_int_equal(whole->report.traffic.sums, cut->report.traffic.sums);
    assert_int_equal(whole->report.traffic.hidden, cut->report.traffic.hidden);
  }
  release(whole);
  release(cut);
}

/* With one column a device packs messages and updates rows by separate kernels; steps are issued
 * singly or recorded. NCCL, which needs time to start for each context, runs a part of the cases.
 */
static void check_matrix(const ref_sparse *a, int n, kaon_transport transport, kaon_issue issue) {
  for (int i = 0; i < KINDS * 2 * 2 * 2; i++) {
    if (transport == KAON_TRANSPORT_NCCL && i % 8 != 1 + 4 * n) continue;
    const how h = {.kind = i / 8,
                   .columns = 1 + i / 4 % 2,
                   .reals = 1 + (n + i) % 2,
                   .skewed = i / 2 % 2,
                   .sloppy = i % 2 ? KAON_SINGLE : KAON_DOUBLE,
                   .issue = issue,
                   .transport = transport};
    check_bits(a, h);
  }
  printf("  transport %d, issue %d, matrix %d: %d preconditioners\n", (int)transport, (int)issue, n,
         KINDS);
}

static void bits_are_those_of_one_pass(void **state) {
  static const kaon_transport transports[] = {KAON_TRANSPORT_AUTO, KAON_TRANSPORT_NCCL,
                                              KAON_TRANSPORT_HOST};
  const int issues = ranks_options(KAON_ISA_AUTO).backend == KAON_BACKEND_CUDA ? 2 : 1;
  (void)state;
  for (int n = 0; n < 2; n++) {
    ref_sparse a = n == 0 ? ref_sparse_laplace(24, 2, 0.1, 0) : ref_sparse_laplace(9, 3, 0.1, 0);
    for (int t = 0; t < 3; t++)
      for (int i = 0; i < issues && possible(transports[t]); i++)
        check_matrix(&a, n, transports[t], i == 0 ? KAON_ISSUE_AUTO : KAON_ISSUE_PLAIN);
    ref_sparse_free(&a);
  }
}

/* Sums that take their time are hidden behind the same product. */
static void a_delay_changes_no_bit(void **state) {
  (void)state;
  ref_sparse a = ref_sparse_laplace(24, 2, 0.1, 0);
  for (int kind = NONE; kind <= FSAI; kind++) {
    const how at_once = {
        .overlap = KAON_OVERLAP_UPDATES, .kind = kind, .reals = 1, .columns = MOST};
    how later = at_once;
    later.delay = 2e-6;
    outcome *first = solve_so(&a, &at_once), *second = solve_so(&a, &later);
    const int64_t all = (int64_t)a.rows;
    const int rank = world_rank(), ranks = world_size();
    if (ranks > 1) /* one rank runs recurrences sooner without a delay */
      assert_same(first, second,
                  (size_t)(ranks_first_row(all, rank + 1, ranks, 0) -
                           ranks_first_row(all, rank, ranks, 0)));
    release(first);
    release(second);
  }
  ref_sparse_free(&a);
}

/* ---- order ---- */

/* Calls to the communicator: S and s are the two halves of a sum, X and x those of an exchange. */
static struct {
  const kaon_comm_ops *own;
  char text[LOG + 1];
  int n, started, finished; /* of all; exchanges */
} seen;

static void note(char what) {
  memmove(seen.text, seen.text + 1, LOG - 1);
  seen.text[LOG - 1] = what;
  seen.n++;
}

static kaon_status note_sum_start(kaon_comm *comm, double *values, int n) {
  note('S');
  return seen.own->sum_start(comm, values, n);
}

static kaon_status note_sum_finish(kaon_comm *comm) {
  note('s');
  return seen.own->sum_finish(comm);
}

static kaon_status note_exchange_start(kaon_exchange *exchange) {
  note('X');
  seen.started++;
  return seen.own->exchange_start(exchange);
}

static kaon_status note_exchange_finish(kaon_exchange *exchange) {
  note('x');
  seen.finished++;
  return seen.own->exchange_finish(exchange);
}

static void listen(kaon_context *ctx) {
  static kaon_comm_ops ops;
  seen.own = ctx->comm->ops;
  seen.n = seen.started = seen.finished = 0;
  ops = *seen.own;
  ops.sum_start = note_sum_start;
  ops.sum_finish = note_sum_finish;
  ops.exchange_start = note_exchange_start;
  ops.exchange_finish = note_exchange_finish;
  ctx->comm->ops = &ops;
}

/* Some steps by themselves, the last of which are in the log. */
static void log_steps(const ref_sparse *a, kaon_overlap overlap, int kind) {
  const how h = {.overlap = overlap, .kind = kind, .reals = 1, .columns = MOST};
  part p = open_part(a, &h);
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  kaon_operator *inverse = NULL;
  kaon_solver_destroy(&p.solver);
  o.method = KAON_PIPECG;
  o.preconditioner = p.K;
  o.tol = 0;
  o.max_iterations = 12;
  must(p.ctx, kaon_solver_create(p.A, p.columns, &o, &p.solver));
  must(p.ctx, kaon_solver_as_operator(p.solver, &inverse));
  listen(p.ctx);
  must(p.ctx, kaon_operator_apply(inverse, KAON_PLAIN, p.b, p.x));
  p.ctx->comm->ops = seen.own;
  kaon_operator_destroy(&inverse);
  close_part(&p);
}

/* A step's messages begin before its sums, which begin after the remaining updates. */
static void messages_begin_before_sums(void **state) {
  (void)state;
  ref_sparse a = ref_sparse_laplace(24, 2, 0.1, 0);
  if (world_size() == 1 || ranks_options(KAON_ISA_AUTO).backend == KAON_BACKEND_CUDA) skip();
  for (int kind = NONE; kind <= FSAI; kind++)
    for (int ahead = 0; ahead < 2; ahead++) {
      const char *step = ahead ? "XSxs" : "SXxs";
      log_steps(&a, ahead ? KAON_OVERLAP_UPDATES : KAON_OVERLAP_AUTO, kind);
      printf("  %s, %s: %.12s\n", kind_names[kind], ahead ? "updates" : "auto",
             seen.text + LOG - 12);
      assert_true(seen.n >= 32);
      for (int i = 0; i < 32; i++) assert_int_equal(seen.text[LOG - 32 + i], step[i % 4]);
    }
  ref_sparse_free(&a);
}

/* ---- failures ---- */

/* Fails at the product number `calls`, and then solves again. */
static void fail_and_solve(part *p, int calls, outcome *found) {
  kaon_operator *inner = p->solver->inner;
  const kaon_operator_ops *own = inner->ops;
  kaon_operator_ops failing = *own;
  true_apply = own->apply;
  failing.apply = failing_apply;
  inner->ops = &failing;
  calls_left = calls;
  must(p->ctx, kaon_vector_zero(p->x));
  must_refuse(p->ctx, KAON_ERR_STATE,
              kaon_solver_solve(p->solver, p->b, p->x, found->column, NULL));
  inner->ops = own;
  assert_int_equal(seen.started, seen.finished);
  solve(p, found);
  assert_int_equal(seen.started, seen.finished);
}

/* Messages of a step whose product failed are received within that step, so nothing later meets
 * them. */
static void a_failed_step_leaves_nothing_behind(void **state) {
  const int devices = ranks_options(KAON_ISA_AUTO).backend == KAON_BACKEND_CUDA;
  (void)state;
  ref_sparse a = ref_sparse_laplace(24, 2, 0.1, 0);
  for (int i = 0; i < KINDS * MOST; i++) {
    const how h = {.overlap = KAON_OVERLAP_UPDATES,
                   .kind = i / MOST,
                   .reals = 1,
                   .columns = 1 + i % MOST,
                   .sloppy = KAON_SINGLE,
                   .issue = devices && i % 3 == 0 ? KAON_ISSUE_PLAIN : KAON_ISSUE_AUTO};
    outcome *wanted = solve_so(&a, &h), *found = calloc(1, sizeof *found);
    part p = open_part(&a, &h);
    listen(p.ctx);
    for (int calls = 3; calls < 8; calls++) {
      fail_and_solve(&p, calls, found);
      assert_same(wanted, found, p.rows);
      for (int k = 0; k < h.columns; k++) free(found->x[k]);
    }
    assert_true(devices || world_size() == 1 || seen.started > 100);
    p.ctx->comm->ops = seen.own;
    close_part(&p);
    release(wanted);
    free(found);
  }
  ref_sparse_free(&a);
}

/* The order of sums would not be the same on all of them. */
static void ranks_that_differ_are_refused(void **state) {
  kaon_context_options options = ranks_options(KAON_ISA_AUTO);
  kaon_context *ctx = NULL;
  (void)state;
  if (world_size() == 1) skip();
  options.overlap = world_rank() == 1 ? KAON_OVERLAP_UPDATES : KAON_OVERLAP_AUTO;
  assert_int_equal(kaon_context_create_ranks(&options, NULL, any_grid, &ctx), KAON_ERR_ARGUMENT);
  assert_null(ctx);
  printf("  %s\n", kaon_last_error(NULL));
}

static const struct CMUnitTest ahead[] = {
    cmocka_unit_test(bits_are_those_of_one_pass),
    cmocka_unit_test(a_delay_changes_no_bit),
    cmocka_unit_test(messages_begin_before_sums),
    cmocka_unit_test(a_failed_step_leaves_nothing_behind),
    cmocka_unit_test(ranks_that_differ_are_refused),
};
RANKS_MAIN(ahead)
