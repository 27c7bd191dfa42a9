/* test_ahead.c - pipelined CG whose product sends ahead of the updates (KAON_OVERLAP_UPDATES): the
 * bits of one pass, with every kind of preconditioner, precision and share of the rows; in what
 * order messages and sums begin and end; what a step that failed between the two leaves. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>

#include "ranks.h"
#include "solvers/method.h"
#include "tests/util/sparse_case.h"

enum { COLUMNS = 2, ROOM = 4096, LOG = 64 };
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
} part;

typedef struct how {
  kaon_overlap overlap;
  int kind, reals, skewed;
  kaon_precision sloppy;
  double delay;
  kaon_transport transport;
} how;

/* 1: devices talk that way here; hosts have but one. The same on all ranks. */
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
  part p = {0};
  kaon_context_options options = ranks_options(KAON_ISA_AUTO);
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  options.overlap = h->overlap;
  options.reduce_delay = h->delay;
  options.transport = h->transport;
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
  must(p.ctx, kaon_solver_create(p.A, COLUMNS, &o, &p.solver));
  p.b = sparse_vector(p.A, COLUMNS);
  p.x = sparse_vector(p.A, COLUMNS);
  for (int k = 0; k < COLUMNS; k++) {
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
  ref_complex *x[COLUMNS];
  kaon_column_report column[COLUMNS];
  kaon_solve_report report;
  double history[COLUMNS][ROOM];
  int count[COLUMNS];
} outcome;

static void solve(part *p, outcome *o) {
  must(p->ctx, kaon_vector_zero(p->x));
  must(p->ctx, kaon_solver_solve(p->solver, p->b, p->x, o->column, &o->report));
  for (int k = 0; k < COLUMNS; k++) {
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
  for (int k = 0; k < COLUMNS; k++) free(o->x[k]);
  free(o);
}

static void assert_same(const outcome *a, const outcome *b, size_t rows) {
  for (int k = 0; k < COLUMNS; k++) {
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
  const int slowest = whole->column[0].iterations > whole->column[1].iterations
                          ? whole->column[0].iterations
                          : whole->column[1].iterations;
  assert_same(whole, cut, rows);
  assert_int_equal(whole->report.traffic.ahead, 0);
  if (ranks > 2 || (ranks == 2 && !h.skewed)) /* else one rank has all rows */
    assert_true(cut->report.traffic.ahead >= slowest);
  else
    assert_int_equal(cut->report.traffic.ahead, 0);
  assert_int_equal(whole->report.traffic.exchanges, cut->report.traffic.exchanges);
  assert_int_equal(whole->report.traffic.sums, cut->report.traffic.sums);
  assert_int_equal(whole->report.traffic.hidden, cut->report.traffic.hidden);
  assert_int_equal(whole->report.traffic.bytes, cut->report.traffic.bytes);
  release(whole);
  release(cut);
}

static void bits_are_those_of_one_pass(void **state) {
  static const kaon_transport transports[] = {KAON_TRANSPORT_AUTO, KAON_TRANSPORT_NCCL,
                                              KAON_TRANSPORT_HOST};
  (void)state;
  for (int t = 0; t < 3 * 2; t++) {
    const int n = t % 2;
    if (!possible(transports[t / 2])) continue;
    ref_sparse a = n == 0 ? ref_sparse_laplace(24, 2, 0.1, 0) : ref_sparse_laplace(9, 3, 0.1, 0);
    for (int i = 0; i < KINDS * 2 * 2; i++) {
      const how h = {.kind = i / 4,
                     .reals = 1 + (n + i) % 2,
                     .skewed = i / 2 % 2,
                     .sloppy = i % 2 ? KAON_SINGLE : KAON_DOUBLE,
                     .transport = transports[t / 2]};
      check_bits(&a, h);
    }
    printf("  transport %d, matrix %d: %d preconditioners\n", (int)transports[t / 2], n, KINDS);
    ref_sparse_free(&a);
  }
}

/* Sums that take their time are hidden behind the same product. */
static void a_delay_changes_no_bit(void **state) {
  (void)state;
  ref_sparse a = ref_sparse_laplace(24, 2, 0.1, 0);
  for (int kind = NONE; kind <= FSAI; kind++) {
    const how at_once = {.overlap = KAON_OVERLAP_UPDATES, .kind = kind, .reals = 1};
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

/* What the communicator was asked for: S, s a sum's two halves, X, x an exchange's. */
static struct {
  const kaon_comm_ops *own;
  char text[LOG + 1];
  int n;
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
  return seen.own->exchange_start(exchange);
}

static kaon_status note_exchange_finish(kaon_exchange *exchange) {
  note('x');
  return seen.own->exchange_finish(exchange);
}

/* Some steps by themselves, the last of which are in the log. */
static void log_steps(const ref_sparse *a, kaon_overlap overlap, int kind) {
  const how h = {.overlap = overlap, .kind = kind, .reals = 1};
  part p = open_part(a, &h);
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  kaon_operator *inverse = NULL;
  kaon_solver_destroy(&p.solver);
  o.method = KAON_PIPECG;
  o.preconditioner = p.K;
  o.tol = 0;
  o.max_iterations = 12;
  must(p.ctx, kaon_solver_create(p.A, COLUMNS, &o, &p.solver));
  must(p.ctx, kaon_solver_as_operator(p.solver, &inverse));
  kaon_comm_ops ops = *p.ctx->comm->ops;
  seen.own = p.ctx->comm->ops;
  seen.n = 0;
  ops.sum_start = note_sum_start;
  ops.sum_finish = note_sum_finish;
  ops.exchange_start = note_exchange_start;
  ops.exchange_finish = note_exchange_finish;
  p.ctx->comm->ops = &ops;
  must(p.ctx, kaon_operator_apply(inverse, KAON_PLAIN, p.b, p.x));
  p.ctx->comm->ops = seen.own;
  kaon_operator_destroy(&inverse);
  close_part(&p);
}

/* A step's messages begin before its sums, which begin behind the updates that are left. */
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

static kaon_status (*true_apply)(kaon_operator *, kaon_mode, const kaon_vector *, kaon_vector *,
                                 const kaon_pass *);
static int calls_left;

static kaon_status failing_apply(kaon_operator *A, kaon_mode mode, const kaon_vector *x,
                                 kaon_vector *y, const kaon_pass *pass) {
  if (--calls_left < 0) return kaon_fail(A->ctx, KAON_ERR_STATE, "this product fails");
  return true_apply(A, mode, x, y, pass);
}

/* Messages that were under way then are neither the next product's nor in its way, nor in that of
 * the end of all of it. */
static void a_failed_step_leaves_nothing_behind(void **state) {
  (void)state;
  ref_sparse a = ref_sparse_laplace(24, 2, 0.1, 0);
  for (int kind = NONE; kind < KINDS; kind++) {
    const how h = {
        .overlap = KAON_OVERLAP_UPDATES, .kind = kind, .reals = 1, .sloppy = KAON_SINGLE};
    outcome *wanted = solve_so(&a, &h), *found = calloc(1, sizeof *found);
    part p = open_part(&a, &h);
    kaon_operator *inner = p.solver->inner;
    const kaon_operator_ops *own = inner->ops;
    kaon_operator_ops failing = *own;
    true_apply = own->apply;
    failing.apply = failing_apply;
    for (int calls = 3; calls < 8; calls++) {
      inner->ops = &failing;
      calls_left = calls;
      must(p.ctx, kaon_vector_zero(p.x));
      must_refuse(p.ctx, KAON_ERR_STATE,
                  kaon_solver_solve(p.solver, p.b, p.x, found->column, NULL));
      inner->ops = own;
      if (calls == 7) break; /* the solver and the context end with messages under way */
      solve(&p, found);
      assert_same(wanted, found, p.rows);
      for (int k = 0; k < COLUMNS; k++) free(found->x[k]);
    }
    close_part(&p);
    release(wanted);
    free(found);
  }
  ref_sparse_free(&a);
}

static const struct CMUnitTest ahead[] = {
    cmocka_unit_test(bits_are_those_of_one_pass),
    cmocka_unit_test(a_delay_changes_no_bit),
    cmocka_unit_test(messages_begin_before_sums),
    cmocka_unit_test(a_failed_step_leaves_nothing_behind),
};
RANKS_MAIN(ahead)
