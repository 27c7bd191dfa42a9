/* solve.c - one solve: from the user's b and x to the system's, the run, and back, with the final
 * residuals. If A is a reduction and b and x are of its parent's space, four things are done:
 * - prepare the reduced source;
 * - solve the reduced system;
 * - reconstruct the parent's solution;
 * - report the parent's residual. */
#include <math.h>
#include <string.h>

#include "solvers/spectra/deflate.h"
#include "solvers/relax/relax_internal.h"
#include "solvers/shifts/shifted.h"
#include "lib/core/threads.h"
#include "lib/core/output.h"
#include "lib/core/entry.h"

_Static_assert((int)KAON_CONVERGED == KAON_END_CONVERGED &&
                   (int)KAON_MAX_ITERATIONS == KAON_END_MAX_ITERATIONS &&
                   (int)KAON_STAGNATED == KAON_END_STAGNATED &&
                   (int)KAON_BREAKDOWN == KAON_END_BREAKDOWN &&
                   (int)KAON_DIVERGING == KAON_END_DIVERGING &&
                   (int)KAON_CANCELLED == KAON_END_CANCELLED,
               "recurrences end columns with the public reasons");
_Static_assert((int)KAON_BREAKDOWN_ZERO == KAON_CAUSE_ZERO &&
                   (int)KAON_BREAKDOWN_NOT_FINITE == KAON_CAUSE_NOT_FINITE &&
                   (int)KAON_BREAKDOWN_OPERATOR == KAON_CAUSE_OPERATOR &&
                   (int)KAON_BREAKDOWN_PRECONDITIONER == KAON_CAUSE_PRECONDITIONER,
               "and name what they broke down at by the public words");

const char *kaon_stop_reason_name(kaon_stop_reason reason) {
  static const char *const names[] = {
      [KAON_RUNNING] = "running",
      [KAON_CONVERGED] = "converged",
      [KAON_MAX_ITERATIONS] = "max-iterations",
      [KAON_STAGNATED] = "stagnated",
      [KAON_BREAKDOWN] = "breakdown",
      [KAON_DIVERGING] = "diverging",
      [KAON_CANCELLED] = "cancelled",
  };
  const size_t i = (size_t)reason;
  return i < sizeof names / sizeof *names ? names[i] : "unknown";
}

const char *kaon_breakdown_text(kaon_breakdown breakdown) {
  static const char *const texts[] = {
      [KAON_BREAKDOWN_NONE] = "",
      [KAON_BREAKDOWN_ZERO] = "a denominator of the recurrence is 0",
      [KAON_BREAKDOWN_NOT_FINITE] = "a product is NaN or infinite",
      [KAON_BREAKDOWN_OPERATOR] =
          "(p, A p) is negative, so the operator is not Hermitian positive definite",
      [KAON_BREAKDOWN_PRECONDITIONER] =
          "(r, K r) is not positive, so the preconditioner is not Hermitian positive definite",
  };
  const size_t i = (size_t)breakdown;
  return i < sizeof texts / sizeof *texts ? texts[i] : "";
}

/* Sets the states to those of columns outside a solve, open to a run of fixed steps. */
void kaon_solver_idle(kaon_solver *s) {
  static const double epsilon[KAON_PRECISIONS] = {0x1p-53, 0x1p-24, 0x1p-16};
  /* Richardson's relaxation has the unit of 1 / A; that of other methods is a pure number */
  const int of_unit = kaon_method_has(s->method, KAON_METHOD_STATIONARY) ? s->A->exponent : 0;
  const double relaxation = ldexp(s->process.damping, of_unit);
  for (int k = 0; k < s->columns; k++) {
    kaon_column_state *state = &s->states.host[k];
    memset(state, 0, sizeof *state);
    state->slot[KAON_S_RELAXATION][0] = relaxation;
    state->epsilon2 = epsilon[s->inner->precision] * epsilon[s->inner->precision];
    state->max_iterations = s->options.max_iterations;
    state->flags = s->ctx->lab.as_printed ? KAON_FLAG_PRINTED : 0;
    state->cycle = s->process.cycle;
    state->unknowns = s->process.unknowns;
    state->flush = s->process.flush;
    state->period = s->deflation != NULL ? (int)KAON_DEFLATION_STEPS
                                         : s->method->replacement.period[s->inner->precision];
    state->period_begin = s->deflation != NULL ? (int)KAON_DEFLATION_BEGIN : 0;
    state->gate = KAON_GATE_SERVICE;
    state->reason = KAON_WAIT_BEGIN;
  }
}

/* The system's A and x are 2^-of_A and 2^of_A times the user's. So the heavy-quark residual is
 * 2^-of_A times the user's. */
static void prepare_heavy(const kaon_solver *s, kaon_column_state *state) {
  const double tol = ldexp(s->options.heavy_quark_tol, -s->solve.units.of_A);
  state->heavy_limit2 = tol * tol;
  state->heavy_sites = kaon_solver_heavy_of_parent(s) ? s->process.parent_sites : s->process.sites;
}

void kaon_solver_prepare_states(kaon_solver *s) {
  const kaon_solver_options *o = &s->options;
  int flags = (o->refinement == KAON_REFINE_RESTART ? KAON_FLAG_RESTART : 0) |
              (s->ctx->lab.as_printed ? KAON_FLAG_PRINTED : 0);
  const unsigned own = s->method->flags;
  if (o->delta == 0 && s->process.delta > 0 && s->process.mixed && s->process.cycle == 0 && !flags)
    flags |= KAON_FLAG_ADAPT;
  /* only classic CG: other methods can stagnate in single precision (test_preconditioned) */
  if (flags & KAON_FLAG_ADAPT) flags |= own & KAON_FLAG_SPACED;
  if (s->K != NULL && o->sloppy == KAON_HALF) flags |= KAON_FLAG_SPACED_CLOSER;
  if (o->stop == KAON_STOP_NORMAL && kaon_method_has(s->method, KAON_METHOD_NORMAL))
    flags |= KAON_FLAG_NORMAL;
  if ((flags & KAON_FLAG_NORMAL) && !(flags & KAON_FLAG_RESTART) && s->process.mixed)
    flags |= own & KAON_FLAG_TRUST;
  flags |= own & (KAON_FLAG_EITHER | KAON_FLAG_AFRESH);
  if (kaon_solver_monitors_residual(s)) flags |= KAON_FLAG_MONITOR;
  if (s->deflation != NULL) flags |= KAON_FLAG_DEFLATED;
  kaon_deflation_reset(s);
  kaon_solver_idle(s);
  for (int k = 0; k < s->columns; k++) {
    kaon_column_state *state = &s->states.host[k];
    state->reference = s->states.norm2[k];
    state->limit = o->tol * o->tol;
    prepare_heavy(s, state);
    state->delta2 = s->process.delta * s->process.delta;
    state->flags = flags;
    if (flags & KAON_FLAG_MONITOR) state->gate |= KAON_GATE_VERIFY;
    if (s->states.norm2[k] == 0) {
      state->gate = 0;
      state->reason = KAON_CONVERGED;
    }
    if (!kaon_null_ends(s, k)) continue;
    state->gate = 0; /* x = 0 */
    state->reason = KAON_STAGNATED;
    state->relative = 1;
    state->slot[KAON_S_OUTER][0] = s->states.norm2_full[k];
  }
}

/* b = 0 has the solution 0, whatever the guess. An inconsistent b has none, and x becomes 0. */
static kaon_status clear_zero_columns(kaon_solver *s) {
  int any = 0;
  for (int k = 0; k < s->columns; k++) {
    s->states.host[k].gate = s->states.norm2[k] == 0 || kaon_null_ends(s, k) ? KAON_GATE_START : 0;
    any |= s->states.host[k].gate;
  }
  if (!any || s->solve.zero_guess) return KAON_OK;
  const kaon_pass chosen = kaon_gated(s, KAON_GATE_START);
  KAON_TRY(kaon_scalars_write(s->states.scalars, s->states.host));
  return kaon_blas_zero(s->outer.x, &chosen);
}

static kaon_status run(kaon_solver *s) {
  kaon_history_clear(s);
  s->history.monitored = 1;
  if (s->shifts != NULL) return kaon_shifted_run(s);
  KAON_TRY(clear_zero_columns(s));
  kaon_solver_prepare_states(s);
  KAON_TRY(kaon_scalars_write(s->states.scalars, s->states.host));
  return kaon_runner_run(s);
}

/* A single-launch solve; needs that the solve before had ended at its first poll. */
static kaon_status run_single_launch(kaon_solver *s) {
  kaon_history_clear(s);
  s->history.monitored = s->solve.from_zero = 1;
  s->solve.zero_guess = 0; /* the first residual is computed with the beginning */
  return kaon_runner_run(s);
}

/* tol = 0: the steps, then one verification for the report. */
static kaon_status run_fixed(kaon_solver *s) {
  int cancelled = 0;
  kaon_history_clear(s);
  s->history.monitored = 1;
  KAON_TRY(clear_zero_columns(s));
  kaon_solver_idle(s);
  KAON_TRY(kaon_scalars_write(s->states.scalars, s->states.host));
  KAON_TRY(kaon_runner_fixed(s, kaon_solver_fixed_steps(s), &cancelled));
  kaon_solver_prepare_states(s);
  for (int k = 0; k < s->columns; k++) {
    s->states.host[k].iterations = s->history.column[k].count - 1;
    s->states.host[k].max_iterations = 0;
  }
  KAON_TRY(kaon_scalars_write(s->states.scalars, s->states.host));
  s->solve.zero_guess = 0;
  KAON_TRY(kaon_service_run(s));
  KAON_TRY(kaon_scalars_read(s->states.scalars, s->states.host));
  for (int k = 0; cancelled && k < s->columns; k++)
    if (s->states.host[k].reason != KAON_CONVERGED) s->states.host[k].reason = KAON_CANCELLED;
  return KAON_OK;
}

/* 1: the chosen residual must be recomputed at the end. This holds if it is not that of the user's
 * system, and the run's x was rounded to the user's precision. */
static int retakes_chosen(const kaon_solver *s) {
  return s->A->precision != s->system->precision && kaon_solver_source_slot(s) != KAON_OF_B &&
         (!s->solve.reduces || s->system->reduction->guess != NULL);
}

/* Puts its square into KAON_OF_CHOSEN of s->states.sums. */
static kaon_status retake_chosen(kaon_solver *s) {
  const kaon_pass norm = kaon_solver_norm_pass(s, KAON_OF_CHOSEN);
  const int normal = s->options.stop == KAON_STOP_NORMAL;
  if (s->solve.reduces) {
    KAON_TRY(s->system->reduction->guess(s->system, s->outer.user_x, s->outer.own_x));
    KAON_TRY(kaon_operator_run(s->system, KAON_PLAIN, s->outer.own_x, s->outer.r, NULL));
    KAON_TRY(kaon_blas_xpay(s->outer.own_b, KAON_NUMBER(-1), s->outer.r, normal ? NULL : &norm));
  }
  if (!normal) return KAON_OK;
  return kaon_operator_run(s->system, KAON_DAGGER, s->outer.r, s->outer.chosen_r, &norm);
}

/* Gives the solution to the user. Puts |b - A x|^2 of the user's system into KAON_OF_RESIDUAL of
 * s->states.sums, unless the run has left it there. */
kaon_status kaon_solver_issue_end(kaon_solver *s) {
  const kaon_pass norm = kaon_solver_norm_pass(s, KAON_OF_RESIDUAL);
  const int other_precision = s->A->precision != s->system->precision;
  const kaon_vector *b = s->solve.b;
  kaon_vector *x = s->solve.x;
  if (s->solve.reduces) {
    const kaon_vector *full_b = other_precision ? s->outer.user_b : b;
    kaon_vector *full_x = other_precision ? s->outer.user_x : x;
    KAON_TRY(s->system->reduction->reconstruct(s->system, s->outer.own_x, full_b, full_x));
    if (other_precision) {
      KAON_TRY(kaon_vector_copy(x, full_x));
      KAON_TRY(kaon_vector_copy(full_x, x));
    }
    KAON_TRY(
        kaon_operator_run(s->system->reduction->parent, KAON_PLAIN, full_x, s->outer.full_r, NULL));
    KAON_TRY(kaon_blas_xpay(full_b, KAON_NUMBER(-1), s->outer.full_r, &norm));
    return retakes_chosen(s) ? retake_chosen(s) : KAON_OK;
  }
  if (!other_precision) return KAON_OK;
  KAON_TRY(kaon_vector_copy(x, s->outer.own_x));
  KAON_TRY(kaon_vector_copy(s->outer.own_x, x));
  KAON_TRY(kaon_operator_run(s->system, KAON_PLAIN, s->outer.own_x, s->outer.r, NULL));
  KAON_TRY(kaon_blas_xpay(s->outer.own_b, KAON_NUMBER(-1), s->outer.r, &norm));
  return retakes_chosen(s) ? retake_chosen(s) : KAON_OK;
}

static kaon_status queue_end(kaon_solver *s) {
  return s->launch.replays ? s->ctx->backend->record->service_waiting(s->launch.before_after)
                           : kaon_solver_issue_end(s);
}

/* 1: the end may be enqueued before the host knows that the loop has ended. A reduced system has a
 * solution of its own, so the user's x is not disturbed if the run continues. The end must not use
 * the system's vectors. */
int kaon_solver_can_end_early(const kaon_solver *s) {
  return s->solve.reduces && s->options.tol > 0 && !retakes_chosen(s);
}

/* 1: a single launch has an end after its loop, which runs once no column is open. It must wait for
 * that, because rounding x to the user's precision changes x. */
int kaon_solver_ends_behind(const kaon_solver *s) {
  return s->options.tol > 0 && (s->solve.reduces || s->A->precision != s->system->precision);
}

kaon_status kaon_solver_end_early(kaon_solver *s) {
  s->solve.ended_early = 1;
  return queue_end(s);
}

/* norm2_r[k] = |b - A x|^2 */
static kaon_status final_norms(kaon_solver *s, double *norm2_r) {
  if (s->solve.reduces || s->A->precision != s->system->precision) {
    if (s->solve.ended_early) { /* the norms came with the last poll */
      kaon_recorder *posted = s->launch.single ? s->launch.whole : s->replay.recorder;
      KAON_TRY(s->ctx->backend->record->wait(posted, 1, s->states.sums_host));
    } else {
      KAON_TRY(queue_end(s));
      KAON_TRY(kaon_scalars_read(s->states.sums, s->states.sums_host));
    }
    kaon_solver_take_norms(s, KAON_OF_RESIDUAL, norm2_r);
    return KAON_OK;
  }
  for (int k = 0; k < s->columns; k++) norm2_r[k] = s->states.host[k].slot[KAON_S_OUTER][0];
  return KAON_OK;
}

static kaon_column_report column_report(const kaon_solver *s, int k, double norm2_r) {
  const kaon_column_state *state = &s->states.host[k];
  const double b2 = s->states.norm2_full[k];
  kaon_column_report c = {.iterations = state->iterations,
                          .updates = state->updates,
                          .reason = (kaon_stop_reason)state->reason,
                          .unreachable = kaon_null_unreachable(s, k),
                          .heavy_quark = ldexp(sqrt(state->heavy2), s->solve.units.of_A),
                          .residual = b2 > 0 ? sqrt(norm2_r / b2) : 0};
  /* A^dag b = 0: the solve ends with x = 0 and b - A x was not computed */
  if (state->reference == 0 && b2 > 0 && !s->solve.reduces &&
      s->A->precision == s->system->precision)
    c.residual = 1;
  const int same = s->options.stop == KAON_STOP_FULL ||
                   (s->options.stop == KAON_STOP_REDUCED && !s->solve.reduces);
  c.stop_residual = same ? c.residual : sqrt(state->relative);
  if (retakes_chosen(s) && state->reference > 0)
    c.stop_residual = sqrt(s->states.sums_host[k].slot[KAON_OF_CHOSEN][0] / state->reference);
  if (c.reason == KAON_BREAKDOWN) c.breakdown = (kaon_breakdown)state->cause;
  /* a block's A^dag A is positive semidefinite: any other value is due to rounding */
  if (c.breakdown == KAON_BREAKDOWN_OPERATOR && kaon_method_has(s->method, KAON_METHOD_NORMAL) &&
      kaon_method_has(s->method, KAON_METHOD_BLOCK))
    c.breakdown = KAON_BREAKDOWN_ZERO;
  if (c.reason == KAON_CONVERGED && !(c.stop_residual <= 1.1 * s->options.tol) &&
      c.stop_residual > 0) {
    c.reason = KAON_STAGNATED;
    c.rounded = s->A->precision != s->system->precision;
  }
  return c;
}

/* Ends the solve: the user's x, the true residuals and the reports of its columns. */
static kaon_status end(kaon_solver *s, kaon_column_report *columns_out) {
  double *norm2_r = s->states.norm2; /* the sources' norms are no longer needed */
  if (s->shifts != NULL) return kaon_shifted_end(s, columns_out);
  KAON_TRY(final_norms(s, norm2_r));
  KAON_TRY(kaon_relax_end(s));
  for (int k = 0; columns_out != NULL && k < s->columns; k++)
    columns_out[k] = column_report(s, k, norm2_r[k]);
  return KAON_OK;
}

/* Applications of the inner operator that led to a column's state. */
static int inner_applications(const kaon_solver *s, const kaon_column_state *state) {
  const kaon_method_calls *m = &s->method->products;
  const int normal = (state->flags & KAON_FLAG_NORMAL) != 0;
  const int restart = s->options.refinement == KAON_REFINE_RESTART;
  const int renewed = state->updates > 1 ? state->updates - 1 : 0;
  const int saved = m->hidden > 0 ? m->hidden * !kaon_comm_sums(s->ctx->comm) : m->saved * !normal;
  const int known = s->options.tol > 0 && s->solve.from_zero && kaon_solver_takes_dagger(s);
  return state->iterations * m->step + m->start - known +
         renewed * (restart ? m->start : m->proceed) - state->updates * saved +
         state->deflated * kaon_deflation_applications(s);
}

/* Applications of the outer operator:
 * - residuals, the first one free if the guess is 0;
 * - for A^dag r: its verifications (the first one free likewise) and |A^dag b|. */
static int outer_applications(const kaon_solver *s, const kaon_column_state *state) {
  const int normal = s->options.stop == KAON_STOP_NORMAL;
  const int residuals = state->updates + 1 - s->solve.from_zero;
  if (s->options.tol == 0) return residuals + 1 + 2 * normal; /* only at the end, and all of them */
  return residuals + (normal ? residuals - state->trusted + 1 : 0);
}

/* The column whose count of steps defines the work of column k. It is column k itself, so that the
 * work does not depend on other columns. In a block method it is the block's last column. */
static const kaon_column_state *worker(const kaon_solver *s, int k) {
  int last = k;
  for (int j = 0; j < s->columns && kaon_method_has(s->method, KAON_METHOD_BLOCK); j++)
    if (s->states.host[j].iterations > s->states.host[last].iterations) last = j;
  return &s->states.host[last];
}

/* Applications of the preconditioner. */
static int precond_calls(const kaon_solver *s, const kaon_column_state *state) {
  const kaon_method_calls *m = &s->method->preconditions;
  const int restart = s->options.refinement == KAON_REFINE_RESTART;
  const int renewed = state->updates > 1 ? state->updates - 1 : 0;
  return state->iterations * m->step + m->start + renewed * (restart ? m->start : m->proceed) +
         state->updates * m->finish;
}

/* Counts the work from the operators' costs. */
static void count_work(const kaon_solver *s, kaon_solve_report *report) {
  report->flops = 0;
  report->applications = 0;
  for (int k = 0; k < s->columns; k++) {
    const kaon_column_state *state = worker(s, k);
    if (s->states.host[k].reference == 0 || kaon_null_ends(s, k)) continue;
    const int ours = inner_applications(s, state), theirs = outer_applications(s, state);
    report->flops += ours * s->process.flops.inner + theirs * s->process.flops.outer +
                     precond_calls(s, state) * s->process.flops.preconditioner +
                     state->iterations * s->process.flops.sweep;
    if (ours + theirs > report->applications) report->applications = ours + theirs;
  }
  if (s->shifts != NULL) kaon_shifted_count(s, report);
}

static kaon_status solve(kaon_solver *s, const kaon_vector *b, kaon_vector *x,
                         kaon_column_report *columns_out, kaon_solve_report *report) {
  KAON_TRY(kaon_current(s->revision));
  const double start = kaon_seconds();
  const kaon_traffic before = s->ctx->comm->traffic;
  s->solve.repeated = (kaon_traffic){0};
  s->solve.b = b;
  s->solve.x = x;
  s->solve.ended_early = 0;
  kaon_scalars_drop_deferred(s->states.scalars);
  s->solve.issued = kaon_separate(s->ctx) ? s->ctx->lab.issue : KAON_ISSUE_PLAIN;
  KAON_TRY(kaon_relax_begin(s));
  kaon_solver_bind(s);
  KAON_TRY(kaon_solve_launch_prepare(s));
  if (s->launch.single) KAON_TRY(run_single_launch(s));
  if (!s->launch.single) {
    KAON_TRY(kaon_solver_begin(s));
    KAON_TRY(s->options.tol > 0 ? run(s) : run_fixed(s));
  }
  KAON_TRY(end(s, columns_out));
  if (report != NULL) {
    kaon_solve_report made = {.seconds = kaon_seconds() - start,
                              .traffic = kaon_traffic_since(s->ctx, &before),
                              .issue = (int)s->solve.issued,
                              .fused = s->solve.issued < KAON_ISSUE_SEPARATE ||
                                       kaon_method_has(s->method, KAON_METHOD_FUSED)};
    count_work(s, &made);
    made.traffic.sums += s->solve.repeated.sums;
    made.traffic.exchanges += s->solve.repeated.exchanges;
    made.traffic.bytes += s->solve.repeated.bytes;
    made.traffic.hidden += s->solve.repeated.hidden;
    made.traffic.ahead += s->solve.repeated.ahead;
    kaon_output_fill(report, &made, sizeof made);
  }
  if (s->options.tol > 0) return KAON_OK;
  kaon_solver_idle(s);
  return kaon_scalars_write(s->states.scalars, s->states.host);
}

/* Solves A' y = b. solve_begin.c scales a source that is far from 1; this scales the solution back.
 * inverts: 1: the result is y, not x of A x = b. */
static kaon_status solve_scaled(kaon_solver *s, const kaon_vector *b, kaon_vector *x, int inverts,
                                kaon_column_report *columns_out, kaon_solve_report *report) {
  KAON_TRY(kaon_agree(s->ctx, kaon_solver_check_vectors(s, b, x)));
  s->solve.units =
      (kaon_scaling){.columns = s->columns, .sums = s->states.sums, .host = s->states.sums_host};
  const kaon_reduction *reduction = s->A->reduction;
  const int reduces = reduction != NULL && b->space == reduction->parent->space;
  s->solve.inverts = inverts;
  if (!inverts) s->solve.units.of_A = kaon_solver_exponent(s, reduces);
  KAON_TRY(kaon_scaling_guess(&s->solve.units, 0, x));
  const kaon_status status = solve(s, b, x, columns_out, report);
  return kaon_scaling_end(&s->solve.units, x, s->options.tol, status);
}

/* Recurrences divide before they know whether the divisor is 0. Floating-point traps of the
 * application are therefore disabled during the solve. */
static kaon_status solve_untrapped(kaon_solver *s, const kaon_vector *b, kaon_vector *x,
                                   int inverts, kaon_column_report *columns_out,
                                   kaon_solve_report *report) {
  KAON_RETURN_UNTRAPPED(s->ctx,
                        kaon_agree(s->ctx, solve_scaled(s, b, x, inverts, columns_out, report)));
}

static kaon_status solve_at_work(kaon_solver *solver, const kaon_vector *b, kaon_vector *x,
                                 int inverts, kaon_column_report *columns_out,
                                 kaon_solve_report *report) {
  KAON_TRY(kaon_begin_work(solver->ctx, &solver->at_work, kaon_method_name(solver->options.method),
                           "solver"));
  solver->references++; /* a function of the application may destroy it */
  const kaon_status status = solve_untrapped(solver, b, x, inverts, columns_out, report);
  solver->at_work = 0;
  kaon_solver_destroy(&solver);
  return status;
}

kaon_status kaon_solver_solve(kaon_solver *solver, const kaon_vector *b, kaon_vector *x,
                              kaon_column_report *columns_out, kaon_solve_report *report) {
  KAON_ENTER(KAON_OF(solver), solver);
  KAON_TRY(kaon_output_check(solver->ctx, "kaon_solve_report", report));
  return solve_at_work(solver, b, x, 0, columns_out, report);
}

static kaon_status invert_fixed(kaon_solver *s, const kaon_vector *b, kaon_vector *x) {
  const kaon_reduction *within = kaon_reduces_within(s->A) ? s->A->reduction : NULL;
  kaon_scalars_drop_deferred(s->states.scalars);
  s->solve.reduces = s->history.monitored = s->launch.replays = 0;
  s->solve.zero_guess = 1;
  s->outer.b = within ? s->outer.own_b : b;
  s->outer.x = within ? s->outer.own_x : x;
  if (!s->process.mixed) s->x_inner = s->outer.x;
  if (within) KAON_TRY(within->prepare(s->A, b, s->outer.own_b));
  int cancelled = 0; /* its value is not used */
  KAON_TRY(kaon_runner_fixed(s, kaon_solver_fixed_steps(s), &cancelled));
  return within ? within->reconstruct(s->A, s->outer.own_x, b, x) : KAON_OK;
}

/* x = approximately A'^-1 b from zero, in A's space, without a report. If A is a reduction of an
 * operator of the same space, b and x belong to that operator, as in a solve. With tol = 0 the host
 * does not poll, and another solver can record the steps. Otherwise the solve records its own, and
 * a recording must not begin within another one. */
kaon_status kaon_solver_invert(kaon_solver *s, const kaon_vector *b, kaon_vector *x) {
  if (s->options.tol > 0) {
    if (s->ctx->recording)
      return kaon_fail(s->ctx, KAON_ERR_UNSUPPORTED,
                       "inverse: a solve to a tolerance cannot be part of a recording");
    KAON_TRY(kaon_vector_zero(x));
    return solve_at_work(s, b, x, 1, NULL, NULL);
  }
  KAON_TRY(kaon_current(s->revision));
  KAON_TRY(kaon_begin_work(s->ctx, &s->at_work, kaon_method_name(s->options.method), "solver"));
  const kaon_status status = invert_fixed(s, b, x);
  s->at_work = 0;
  return status;
}
