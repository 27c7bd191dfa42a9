/* relax.c - relaxation methods: x += K r, r = b - A x, with K ~ A^-1 a splitting:
 *   jacobi     K = tau D^-1
 *   gs, sor    K = (D / omega + L)^-1, L before the diagonal in the order of the rows or by colours
 *   two-stage  K = `local_sweeps` Jacobi sweeps from 0 within blocks of rows
 *   async      x is changed in place: blocks read what the others have written so far
 * In exact arithmetic x + K (b - A x) is the usual sweep. r is recomputed from x after each sweep,
 * so the monitored residual belongs to one x.
 *
 * Couplings between ranks are only in r, so a sweep covers the rank's own rows. Asynchronous solves
 * with an exchange are different (relax_run.c): there x changes in place on all ranks.
 *
 * With two precisions x_inner is a correction from 0, with the residual as its source. Sources:
 * include/kaon/relax.h; Saad, Iterative Methods for Sparse Linear Systems, 2nd edition, section
 * 4.1.
 * Storage: z, and with two precisions the source. A step: 1 A, 1 K; besides, vectors read 4,
 * written 2; async on one rank: read 2, written 1. */
#include "solvers/relax/relax_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kaon/context.h>
#include <kaon/lab.h>
#include <kaon/precond.h>

#include "lib/vector/space.h"
#include "lib/core/options_table.h"
#include "lib/core/output.h"
#include "solvers/spectra/lanczos.h"
#include "lib/core/entry.h"

enum { Z, SOURCE, VECTORS };
enum { LANCZOS_STEPS = 200 };

static int uses_blocks(kaon_method method) {
  return method == KAON_TWO_STAGE || method == KAON_ASYNC;
}

/* ---- a sweep ---- */

const kaon_vector *kaon_relax_source(const kaon_solver *s) {
  return s->process.mixed ? s->work[SOURCE] : s->outer.b;
}

kaon_status kaon_relax_residual(kaon_solver *s, int then) {
  const kaon_pass plain = kaon_gated(s, KAON_GATE_STEP);
  const kaon_pass sums = kaon_gated_norm(s, KAON_GATE_STEP, KAON_S_R2, then);
  KAON_TRY(kaon_operator_run(s->inner, KAON_PLAIN, s->x_inner, s->r, &plain));
  return kaon_blas_xpay(kaon_relax_source(s), KAON_NUMBER(-1), s->r, &sums);
}

static kaon_row_sweep sweep_of(const kaon_solver *s) {
  const kaon_relaxation *relax = s->relax;
  const kaon_relax_options *o = &relax->options;
  kaon_row_sweep how = {.inner = o->local_sweeps,
                        .cut = s->options.method == KAON_TWO_STAGE,
                        .damping = relax->tau,
                        .rounds = 1,
                        .together = o->together};
  if (o->seed != 0) how.shuffle = (o->seed + relax->turn) * UINT64_C(0x9e3779b97f4a7c15) | 1;
  return how;
}

/* 1: blocks read each other's x in place, since this rank has all of them. */
static int in_place(const kaon_solver *s) {
  return s->options.method == KAON_ASYNC && s->ctx->comm->ranks == 1;
}

kaon_status kaon_relax_advance(kaon_solver *s) {
  kaon_relaxation *relax = s->relax;
  const kaon_pass gate = kaon_gated(s, KAON_GATE_STEP);
  kaon_vector *z = s->work[Z];
  const kaon_row_sweep how = sweep_of(s);
  relax->turn++;
  if (relax->jacobi != NULL) {
    KAON_TRY(kaon_operator_run(relax->jacobi, KAON_PLAIN, s->r, z, &gate));
    return kaon_blas_axpy(KAON_NUMBER(relax->tau), z, s->x_inner, &gate);
  }
  if (in_place(s))
    return relax->rows->ops->sweep(relax->rows, &how, kaon_relax_source(s), s->x_inner, &gate);
  if (s->options.method == KAON_ASYNC) KAON_TRY(kaon_blas_zero(z, &gate));
  KAON_TRY(relax->rows->ops->sweep(relax->rows, &how, s->r, z, &gate));
  return kaon_blas_axpy(KAON_NUMBER(1), z, s->x_inner, &gate);
}

/* With fixed steps and no monitor, the residual is computed only where it is needed. */
static kaon_status step(kaon_solver *s, int position) {
  (void)position;
  if (s->relax->residual_stale && !in_place(s)) KAON_TRY(kaon_relax_residual(s, KAON_REC_NONE));
  KAON_TRY(kaon_relax_advance(s));
  s->relax->residual_stale = s->options.tol == 0 && !s->history.monitored;
  return s->relax->residual_stale ? KAON_OK : kaon_relax_residual(s, KAON_REC_MR_RESIDUAL);
}

/* The residual becomes the source of x_inner, which is 0. */
static kaon_status take_source(kaon_solver *s, int gate) {
  const kaon_pass pass = kaon_gated(s, gate);
  s->relax->residual_stale = 0;
  if (s->relax->faults != NULL) kaon_faults_renew(s); /* copies were of another x_inner */
  return s->process.mixed ? kaon_blas_copy(s->r, s->work[SOURCE], &pass) : KAON_OK;
}

static kaon_status start(kaon_solver *s) {
  return take_source(s, KAON_GATE_START);
}

static kaon_status continue_process(kaon_solver *s) {
  return take_source(s, KAON_GATE_CONTINUE);
}

#define KAON_RELAX_METHOD(text, ...)                                                    \
  {                                                                                     \
    .title = text,                                                                      \
    .traits = KAON_METHOD_NO_HALF | KAON_METHOD_STATIONARY | KAON_METHOD_RELAXATION,    \
    .storage = {.vectors = VECTORS, .scratch = Z}, .products = {.step = 1},             \
    __VA_ARGS__.replacement = {.delta = {0, 0.1, 0.1}, .delta_restart = {0, 0.1, 0.1}}, \
    .step = step, .start = start, .continue_process = continue_process                  \
  }
const kaon_method_ops kaon_method_jacobi = KAON_RELAX_METHOD("Jacobi", .cost = {{1, 0, 6, 3}}, ),
                      kaon_method_gs = KAON_RELAX_METHOD("Gauss-Seidel", ),
                      kaon_method_sor = KAON_RELAX_METHOD("SOR", ),
                      kaon_method_two_stage = KAON_RELAX_METHOD("two-stage block Jacobi", ),
                      kaon_method_async = KAON_RELAX_METHOD("block-asynchronous relaxation", );

/* ---- creation ---- */

static kaon_status check(const kaon_solver *s, const kaon_relax_options *o,
                         const kaon_lab_relax_options *lab) {
  const char *name = kaon_method_name(s->options.method);
  const int blocks = uses_blocks(s->options.method);
  if (o->driver == KAON_RELAX_FREE && s->options.method != KAON_ASYNC)
    return kaon_fail(s->ctx, KAON_ERR_ARGUMENT, "%s: driver free is only for method async", name);
  if (lab->faults != NULL && (!blocks || !(s->options.tol > 0)))
    return kaon_fail(s->ctx, KAON_ERR_UNSUPPORTED,
                     "%s: faults are for solves by two-stage and async with a tolerance", name);
  if (s->options.method != KAON_JACOBI &&
      kaon_operator_capability(s->inner, KAON_CAPABILITY_ROWS) == NULL)
    return kaon_fail(s->ctx, KAON_ERR_UNSUPPORTED,
                     "%s: works on an operator's rows, which a %s operator does not offer; take "
                     "%smr or gcr",
                     name, s->inner->ops->name, s->inner->ops->diagonal != NULL ? "jacobi, " : "");
  return KAON_OK;
}

/* tau = 0: chosen from the eigenvalues. */
static kaon_status choose_tau(kaon_solver *s) {
  kaon_relaxation *relax = s->relax;
  kaon_operator *jacobi = NULL;
  kaon_extremes e;
  relax->tau = relax->options.tau;
  if (relax->tau > 0) return KAON_OK;
  KAON_TRY(kaon_precond_jacobi(s->inner, &jacobi));
  const kaon_status status =
      kaon_lanczos(s->inner, jacobi, LANCZOS_STEPS, 0, kaon_method_name(s->options.method), &e);
  kaon_operator_destroy(&jacobi);
  KAON_TRY(status);
  relax->tau = 2 / (e.least + e.high); /* a singular A's null vectors stay for any tau */
  return KAON_OK;
}

/* Only the damping: the diagonal is a source, which follows by itself. */
kaon_status kaon_relax_follow(void *solver) {
  kaon_solver *s = solver;
  return s->relax != NULL ? choose_tau(s) : KAON_OK;
}

/* How blocks see the rows of other ranks while they iterate. */
static kaon_relax_exchange exchange_of(const kaon_solver *s) {
  const kaon_relax_options *o = &s->relax->options;
  const kaon_relax_exchange asked = s->relax->lab.exchange;
  const int plain = asked == KAON_EXCHANGE_AUTO && o->driver == KAON_RELAX_LAUNCH;
  if (s->options.method != KAON_ASYNC || plain || !(s->options.tol > 0)) return KAON_EXCHANGE_SYNC;
  return asked;
}

static void note_exchange(kaon_solver *s, const kaon_row_info *info) {
  kaon_relaxation *relax = s->relax;
  kaon_relax_report *r = &relax->report;
  relax->ranks = s->ctx->comm->ranks > 1 && info->exchange != KAON_EXCHANGE_SYNC;
  r->exchange = relax->ranks ? info->exchange : KAON_EXCHANGE_SYNC;
  if (info->exchange_note != NULL)
    snprintf(r->exchange_note, sizeof r->exchange_note, "%s", info->exchange_note);
}

static kaon_status take_rows(kaon_solver *s) {
  kaon_relaxation *relax = s->relax;
  const kaon_relax_options *o = &relax->options;
  kaon_row_how how = {.kind = KAON_ROW_TRIANGLE, .by_colour = o->by_colour, .omega = o->omega};
  if (s->options.method == KAON_JACOBI) {
    KAON_TRY(kaon_precond_jacobi(s->inner, &relax->jacobi));
    kaon_made_of(s->revision, relax->jacobi->revision);
    return KAON_OK;
  }
  if (s->options.method == KAON_GS) how.omega = 1;
  if (uses_blocks(s->options.method)) {
    how.kind = KAON_ROW_BLOCKS;
    how.block = o->block;
    how.exchange = exchange_of(s);
  }
  const kaon_row_access *access = kaon_operator_capability(s->inner, KAON_CAPABILITY_ROWS);
  KAON_TRY(access->rows(s->inner, &how, &relax->rows));
  KAON_TRY(kaon_agree(s->ctx, relax->rows->ops->reserve(relax->rows, s->columns)));
  kaon_row_info info = {.blocks = 0};
  relax->rows->ops->describe(relax->rows, &info);
  relax->report.blocks = info.blocks;
  relax->report.colours = info.colours;
  relax->report.levels = info.levels;
  if (uses_blocks(s->options.method)) note_exchange(s, &info);
  return KAON_OK;
}

kaon_status kaon_relax_create(kaon_solver *s) {
  kaon_relax_options own;
  kaon_lab_relax_options lab;
  const size_t columns = (size_t)s->columns;
  const int damped = s->options.method == KAON_MR || s->options.method == KAON_RICHARDSON;
  if (!damped && !kaon_method_has(s->method, KAON_METHOD_RELAXATION)) return KAON_OK;
  KAON_TRY(kaon_options_take(KAON_OPTIONS_RELAX, s->options.relax, &own));
  if (damped && own.tau == 0)
    return kaon_fail(s->ctx, KAON_ERR_ARGUMENT,
                     "solver: tau = 0, an estimate, is not for method %s; give a positive factor",
                     kaon_method_name(s->options.method));
  if (damped) s->process.damping = own.tau;
  if (damped) return KAON_OK;
  KAON_TRY(kaon_options_take(KAON_OPTIONS_LAB_RELAX, own.lab, &lab));
  KAON_TRY(check(s, &own, &lab));
  kaon_relaxation *relax = s->relax = calloc(1, sizeof *relax);
  if (relax != NULL) {
    relax->done = calloc(columns, sizeof *relax->done);
    relax->open = calloc(columns, sizeof *relax->open);
    relax->before = calloc(columns, sizeof *relax->before);
    relax->goal = calloc(columns, sizeof *relax->goal);
    relax->limit = calloc(columns + 1, sizeof *relax->limit);
  }
  if (relax == NULL || relax->done == NULL || relax->goal == NULL || relax->limit == NULL ||
      relax->open == NULL || relax->before == NULL)
    return kaon_fail(s->ctx, KAON_ERR_MEMORY, "relaxation: out of host memory");
  relax->options = own;
  relax->options.lab = NULL;
  relax->lab = lab;
  relax->lab.faults = NULL;
  KAON_TRY(choose_tau(s));
  relax->report.tau = relax->tau;
  KAON_TRY(take_rows(s));
  return lab.faults != NULL ? kaon_faults_create(s, lab.faults) : KAON_OK;
}

void kaon_relax_destroy(kaon_solver *s) {
  kaon_relaxation *relax = s->relax;
  if (relax == NULL) return;
  kaon_faults_destroy(s);
  kaon_row_sweeps_destroy(&relax->rows);
  kaon_operator_destroy(&relax->jacobi);
  free(relax->done);
  free(relax->open);
  free(relax->before);
  free(relax->goal);
  free(relax->limit);
  free(relax);
  s->relax = NULL;
}

/* ---- counts ---- */

kaon_status kaon_relax_begin(kaon_solver *s) {
  kaon_relaxation *relax = s->relax;
  if (relax == NULL) return KAON_OK;
  relax->residual_stale = 0;
  relax->turn = 0;
  for (int k = 0; k < s->columns; k++) relax->before[k] = 0;
  if (relax->rows != NULL && relax->rows->ops->reset != NULL)
    KAON_TRY(relax->rows->ops->reset(relax->rows));
  return relax->faults != NULL ? kaon_faults_begin(s) : KAON_OK;
}

/* Smallest and largest shift of a histogram, and the share of shifts other than 0. */
static void summarise(const int64_t *shifts, int *newest, int *oldest, double *asynchronous) {
  int64_t reads = 0;
  *newest = *oldest = 0;
  for (int i = 0; i < KAON_SHIFT_BINS; i++) {
    if (shifts[i] == 0) continue;
    if (reads == 0) *newest = i - KAON_SHIFTS;
    *oldest = i - KAON_SHIFTS;
    reads += shifts[i];
  }
  *asynchronous = reads > 0 ? 1 - (double)shifts[KAON_SHIFTS] / (double)reads : 0;
}

/* Adds the shifts of all ranks. Collective. */
static kaon_status add_rank_shifts(kaon_solver *s, const kaon_row_record *record) {
  kaon_relax_report *r = &s->relax->report;
  double sums[KAON_SHIFT_BINS];
  for (int i = 0; i < KAON_SHIFT_BINS; i++) sums[i] = (double)record->rank_shifts[i];
  KAON_TRY(kaon_comm_sum(s->ctx, sums, KAON_SHIFT_BINS));
  for (int i = 0; i < KAON_SHIFT_BINS; i++) r->rank_shifts[i] = (int64_t)sums[i];
  summarise(r->rank_shifts, &r->rank_newest, &r->rank_oldest, &r->rank_asynchronous);
  return KAON_OK;
}

kaon_status kaon_relax_end(kaon_solver *s) {
  kaon_relaxation *relax = s->relax;
  kaon_row_record record;
  if (relax == NULL) return KAON_OK;
  const kaon_relax_report made = relax->report;
  kaon_relax_report *r = &relax->report;
  *r = (kaon_relax_report){.frozen_at = -1, .restored_at = -1, .first_alarm = -1};
  if (relax->faults != NULL) *r = relax->faults->noted;
  r->tau = relax->tau;
  r->blocks = made.blocks;
  r->colours = made.colours;
  r->levels = made.levels;
  r->exchange = made.exchange;
  memcpy(r->exchange_note, made.exchange_note, sizeof r->exchange_note);
  if (s->options.method != KAON_ASYNC) return KAON_OK;
  _Static_assert(KAON_SHIFT_BINS == 2 * KAON_RELAX_SHIFTS + 1, "one histogram");
  kaon_status status = relax->rows->ops->record(relax->rows, &record);
  if (relax->ranks) status = kaon_agree(s->ctx, status);
  KAON_TRY(status);
  r->updates = record.updates;
  r->least = record.least;
  r->most = record.most;
  memcpy(r->shifts, record.shifts, sizeof r->shifts);
  summarise(r->shifts, &r->newest, &r->oldest, &r->asynchronous);
  int oldest_after;
  memcpy(r->shifts_after, record.shifts_after, sizeof r->shifts_after);
  summarise(r->shifts_after, &r->newest_after, &oldest_after, &r->asynchronous_after);
  return relax->ranks ? add_rank_shifts(s, &record) : KAON_OK;
}

double kaon_relax_flops(const kaon_solver *s) {
  const kaon_relaxation *relax = s->relax;
  if (relax == NULL) return 0;
  if (relax->jacobi != NULL) return relax->jacobi->ops->cost(relax->jacobi, s->columns).flops;
  const int times = uses_blocks(s->options.method) ? relax->options.local_sweeps : 1;
  return times * relax->rows->ops->cost(relax->rows, s->columns).flops;
}

kaon_status kaon_solver_relaxation(const kaon_solver *solver, kaon_relax_report *report) {
  KAON_ENTER(KAON_OF(solver), solver, report);
  if (solver->relax == NULL)
    return kaon_fail(solver->ctx, KAON_ERR_ARGUMENT,
                     "relaxation: the solver's method is %s; only jacobi, gs, sor, two-stage and "
                     "async have such a report",
                     kaon_method_name(solver->options.method));
  KAON_TRY(kaon_output_check(solver->ctx, "kaon_relax_report", report));
  kaon_output_fill(report, &solver->relax->report, sizeof *report);
  return KAON_OK;
}
