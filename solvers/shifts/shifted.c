/* shifted.c - a solve of several shifts (kaon/multishift.h): through which precisions the process of
 * methods/multishift.c goes, and the true residuals of all shifts at the end.
 *
 * Shifted residuals cannot be replaced: a recomputed b - (A + sigma_i) x_i is no multiple of r. But
 * the error of an application is proportional to the size of its direction, which falls with the
 * residual. So the process runs in A's precision until the error of a coarser one is below the
 * smallest tolerance. Then it continues in single, and later in half precision. Shifts that miss
 * their tolerance nevertheless are refined one by one (shifted_refine.c).
 *
 * A process ends at the tolerance of the least shift. If another shift has a smaller one, it goes
 * on until all have converged.
 *
 * Several right-hand sides are as many processes side by side. They share applications, and each
 * leaves a precision by its own residual. */
#include <math.h>
#include <string.h>

#include "blas/precond_updates.h"
#include "solvers/shifts/shifted.h"

/* A process may begin in a coarser precision at the residual tol / (roundoff max(sloppy_least,
 * sloppy_margin spread)). `spread` estimates the accumulated rounding in units of roundoff times
 * residual (spread_of). For operators of condition 1e2 to 1e4 the actual error is 0.4 to 3 times
 * `spread`, hence the margin (tests/test_multishift.c, tests/ranks/test_multishift.c). */
static const double sloppy_margin = 8, sloppy_least = 128;

/* A step rounds all of x in a coarser precision. So x is added to the user's and zeroed every
 * FLUSH_INTERVAL steps. */
enum { FLUSH_INTERVAL = 16 };

/* ---- states ---- */

static kaon_status write_states(kaon_solver *s) {
  return kaon_agree(s->ctx, kaon_scalars_write(&s->shifts->states, s->states.host));
}

/* The residual that process j has to reach at this level, squared. */
static double threshold(const kaon_solver *s, int j) {
  const double relative = fmax(s->shifts->source[j].between, s->shifts->source[j].goal);
  return relative * relative * s->states.norm2[j];
}

/* Sets all states for the start: r = p = p_i = b, x_i = 0. Right-hand sides of 0 stay closed. */
static void begin_states(kaon_solver *s) {
  const kaon_multishift *f = s->shifts;
  const int c = s->columns;
  kaon_solver_prepare_states(s);
  for (int j = 0; j < c; j++) {
    kaon_column_state *base = &s->states.host[j];
    const double b2 = s->states.norm2[j];
    if (b2 == 0) continue;
    base->gate = KAON_GATE_STEP;
    base->scale = 1 / b2;
    base->first = base->history[0] = 1;
    base->lowest = b2;
    base->threshold = threshold(s, j);
    kaon_set(base, KAON_S_SIGMA, f->least, 0);
    kaon_set(base, KAON_S_DIRECTION2, b2, 0);
    kaon_set(base, KAON_S_SHIFTS, f->n, c);
    kaon_set(base, KAON_S_RHO, b2, 0);
    kaon_set(base, KAON_S_R2, b2, 0);
  }
  for (int m = 0; m < kaon_shifted_columns(s); m++) {
    kaon_column_state *state = kaon_shifted_state(s, m);
    const double sigma = f->sigma[m / c], tol = kaon_shifted_tol(s, m);
    *state = (kaon_column_state){.gate = s->states.host[m % c].gate,
                                 .aux = c + m - m % c,
                                 .threshold = tol > 0 ? tol * tol * s->states.norm2[m % c] : -1};
    kaon_set(state, KAON_S_SIGMA, sigma - f->least, 0);
    kaon_set(state, KAON_S_SIGMA_WHOLE, sigma, 0);
    kaon_set(state, KAON_S_ZETA, 1, 1);
    kaon_set(state, KAON_S_OLD, 1, 0);
  }
}

/* 1: column m of x goes only as far as the least shift, and its process is beyond that. */
static int has_followed(const kaon_solver *s, int m) {
  const kaon_multishift *f = s->shifts;
  return kaon_shifted_tol(s, m) == 0 && f->source[m % s->columns].goal < f->tol_least;
}

/* 1: a shift of right-hand side j is open. */
static int any_open(const kaon_solver *s, int j) {
  int open = 0;
  for (int m = j; m < kaon_shifted_columns(s); m += s->columns)
    open |= kaon_shifted_state(s, m)->gate != 0;
  return open;
}

/* Processes that run have ended and continue to a smaller residual, unless all their shifts have
 * converged. The columns of the others stay closed, and retain the reason for which they ended. */
static void resume_states(kaon_solver *s) {
  const int c = s->columns;
  for (int j = 0; j < c; j++) {
    kaon_column_state *base = &s->states.host[j];
    const double r2 = base->slot[KAON_S_R2][0];
    base->gate = s->shifts->source[j].runs ? KAON_GATE_STEP : 0;
    if (base->gate == 0) continue;
    base->flush = s->process.flush;
    base->renewed = base->iterations;
    base->threshold = threshold(s, j);
    kaon_set(base, KAON_S_BETA, r2 / base->slot[KAON_S_RHO][0], 0);
    kaon_set(base, KAON_S_RHO, r2, 0);
  }
  for (int m = 0; m < kaon_shifted_columns(s); m++) {
    kaon_column_state *state = kaon_shifted_state(s, m);
    const int done = state->reason == KAON_WAIT_STOP || state->reason == KAON_END_CONVERGED ||
                     has_followed(s, m);
    if (done) state->reason = KAON_END_CONVERGED;
    state->gate = done ? 0 : s->states.host[m % c].gate;
  }
  for (int j = 0; j < c; j++)
    if (!any_open(s, j)) s->states.host[j].gate = 0;
}

/* ---- the process ---- */

static kaon_status proceed(kaon_solver *s);

/* Makes level l the one whose steps the engine issues. */
static void enter(kaon_solver *s, int l) {
  kaon_multishift *f = s->shifts;
  f->level[f->at].replay = s->replay;
  s->replay = f->level[l].replay;
  s->process.flush = s->process.mixed && l > 0 ? FLUSH_INTERVAL : 0;
  s->replay.block = kaon_solver_block(s);
  f->at = l;
}

static kaon_status begin(kaon_solver *s) {
  const kaon_shift_level *w = &s->shifts->level[0];
  enter(s, 0);
  begin_states(s);
  KAON_TRY(write_states(s));
  KAON_TRY(kaon_vector_zero(s->outer.x));
  KAON_TRY(kaon_vector_zero(w->P));
  KAON_TRY(kaon_vector_copy(w->r, s->solve.b));
  KAON_TRY(kaon_vector_copy(w->p, s->solve.b));
  KAON_TRY(kaon_blas_shifted(KAON_NUMBER(0), w->P, s->outer.x, w->r, KAON_NUMBER(0), NULL));
  return proceed(s);
}

/* 1: process j has reached the residual that it had to. */
static int reached(const kaon_solver *s, int j) {
  const kaon_column_state *base = &s->states.host[j];
  return base->reason == KAON_WAIT_STOP && base->slot[KAON_S_R2][0] <= base->threshold;
}

/* Continues the running processes at level l, after completing the step that ended them. */
static kaon_status go_on(kaon_solver *s, int l) {
  const kaon_multishift *f = s->shifts;
  const kaon_shift_level *from = &f->level[f->at], *to = &f->level[l];
  KAON_TRY(kaon_agree(s->ctx, kaon_scalars_read(&f->states, s->states.host)));
  enter(s, l);
  resume_states(s);
  KAON_TRY(write_states(s));
  KAON_TRY(kaon_shifted_direction(s, from));
  if (to->r != from->r) {
    KAON_TRY(kaon_vector_copy(to->r, from->r));
    KAON_TRY(kaon_vector_copy(to->p, from->p));
    KAON_TRY(kaon_vector_copy(to->P, from->P));
    KAON_TRY(kaon_vector_zero(s->x_inner));
  }
  return proceed(s);
}

/* Issues steps until no process runs. Those that have reached the tolerance of the least shift,
 * where shifts without their own end, then continue to the smallest tolerance. */
static kaon_status proceed(kaon_solver *s) {
  const kaon_multishift *f = s->shifts;
  int count = 0;
  KAON_TRY(kaon_runner_loop(s));
  for (int j = 0; j < s->columns; j++) {
    kaon_shift_source *source = &f->source[j];
    source->runs = source->goal > f->finest && source->between <= source->goal && reached(s, j);
    if (source->runs) source->goal = f->finest;
    count += source->runs;
  }
  return count > 0 ? go_on(s, f->at) : KAON_OK;
}

/* Squares of a vector with the columns of b or x, read by norm2_of. */
static kaon_status norms(const kaon_solver *s, const kaon_vector *v) {
  static const int slots[3] = {KAON_NO_SLOT, KAON_OF_B, KAON_NO_SLOT};
  kaon_scalars view = *s->states.sums;
  kaon_pass all = KAON_PASS_INIT;
  view.columns = v->nrhs;
  all.scalars = &view;
  KAON_TRY(kaon_blas_dot(v, v, slots, &all));
  return kaon_agree(s->ctx, kaon_scalars_read(&view, s->states.sums_host));
}

static double norm2_of(const kaon_solver *s, int column) {
  return s->states.sums_host[column].slot[KAON_OF_B][0];
}

/* Selects the processes that continue: those that reached the residual of this level, but not yet
 * their goal. Returns their number. */
static int choose_next(kaon_solver *s) {
  int count = 0;
  for (int j = 0; j < s->columns; j++) {
    kaon_shift_source *source = &s->shifts->source[j];
    source->runs = source->between > source->goal && reached(s, j);
    count += source->runs;
  }
  return count;
}

/* The residual at which a process may begin at this level. */
static double begins_at(const kaon_solver *s, const kaon_shift_level *w, double spread) {
  const double bound = s->shifts->finest / w->unit;
  return fmin(1, bound / fmax(sloppy_least, sloppy_margin * spread));
}

/* Estimates `spread`: the residual caused by one unit of rounding in all remaining applications,
 * over the residual. It is |A| times the remaining change of x.
 * - |A|: from the diagonal of the Lanczos matrix.
 * - remaining change: a step moves x by alpha |p|, and the residual is assumed to fall at its
 *   average rate so far.
 * Larger shifts need smaller changes. */
static double spread_of(const kaon_solver *s, int j) {
  const kaon_column_state *base = &s->states.host[j];
  const double r2 = base->slot[KAON_S_R2][0], largest = base->slot[KAON_S_LARGEST][0];
  const double steps = 2 * base->iterations / log(s->states.norm2[j] / r2);
  return largest * base->slot[KAON_S_ALPHA][0] * sqrt(norm2_of(s, j) / r2) * steps;
}

/* Of the processes that continue, selects those whose residual is still too large for level `next`,
 * by what they have shown. Only these run then. *count: their number. */
static kaon_status choose_again(kaon_solver *s, const kaon_shift_level *next, int *count) {
  const kaon_multishift *f = s->shifts;
  *count = 0;
  KAON_TRY(norms(s, f->level[f->at].p));
  for (int j = 0; j < s->columns; j++) {
    kaon_shift_source *source = &f->source[j];
    if (!source->runs) continue;
    source->spread = spread_of(s, j);
    const double between = begins_at(s, next, source->spread);
    source->runs = between < source->between;
    if (source->runs) source->between = between;
    *count += source->runs;
  }
  return KAON_OK;
}

kaon_status kaon_shifted_run(kaon_solver *s) {
  kaon_multishift *f = s->shifts;
  for (int j = 0; j < s->columns; j++)
    f->source[j] = (kaon_shift_source){.goal = f->follows ? f->tol_least : f->finest};
  for (int l = 0; l < f->levels; l++) {
    const kaon_shift_level *next = l + 1 < f->levels ? &f->level[l + 1] : NULL;
    int again = 0;
    for (int j = 0; j < s->columns; j++)
      f->source[j].between = next != NULL ? begins_at(s, next, f->source[j].spread) : 0;
    KAON_TRY(l == 0 ? begin(s) : go_on(s, l));
    if (next != NULL && choose_next(s) > 0) KAON_TRY(choose_again(s, next, &again));
    if (again > 0) KAON_TRY(go_on(s, l));
    if (s->process.flush > 0) KAON_TRY(kaon_blas_add_and_zero(s->x_inner, s->outer.x, NULL));
    if (choose_next(s) == 0) break;
  }
  return KAON_OK;
}

/* ---- residuals and reports ---- */

/* P = b - (A + sigma_i) x_i, and their squares. */
static kaon_status residuals(kaon_solver *s) {
  kaon_multishift *f = s->shifts;
  kaon_vector *x = s->outer.x, *P = f->level[0].P;
  const kaon_pass pass = kaon_shifted_pass(s, KAON_REC_NONE);
  for (int m = 0; m < kaon_shifted_columns(s); m++) kaon_shifted_state(s, m)->gate = KAON_GATE_STEP;
  KAON_TRY(write_states(s));
  KAON_TRY(kaon_operator_run(s->system, KAON_PLAIN, x, P, NULL));
  f->verified++;
  KAON_TRY(kaon_blas_axpy(KAON_PLUS(KAON_S_SIGMA_WHOLE), x, P, &pass));
  KAON_TRY(kaon_blas_shifted(KAON_NUMBER(0), P, x, s->solve.b, KAON_NUMBER(-1), NULL));
  return norms(s, P);
}

/* Why a process ended whose column missed the tolerance. */
static kaon_stop_reason reason_of(const kaon_column_state *base) {
  switch (base->reason) {
    case KAON_WAIT_LIMIT:
      return KAON_MAX_ITERATIONS;
    case KAON_WAIT_GROWTH:
      return KAON_DIVERGING;
    case KAON_WAIT_BROKEN:
      return KAON_BREAKDOWN;
    default:
      return KAON_STAGNATED; /* also if the recurrence has converged, but not the residual */
  }
}

/* 1: column m of x had no tolerance of its own, and its process reached that of the least shift. */
static int ended_with_least(const kaon_solver *s, int m) {
  const int reason = s->states.host[m % s->columns].reason;
  return kaon_shifted_tol(s, m) == 0 && (reason == KAON_WAIT_STOP || has_followed(s, m));
}

/* Takes the residuals into the reports. Returns the number of columns that missed their tolerance.
 */
static int take_residuals(kaon_solver *s) {
  int count = 0;
  for (int m = 0; m < kaon_shifted_columns(s); m++) {
    kaon_column_report *r = &s->shifts->reports[m];
    const double b2 = s->states.norm2[m % s->columns];
    r->residual = r->stop_residual = b2 > 0 ? sqrt(norm2_of(s, m) / b2) : 0;
    if (r->residual <= 1.1 * kaon_shifted_tol(s, m) || ended_with_least(s, m))
      r->reason = KAON_CONVERGED;
    count += kaon_shifted_missed(s, m);
  }
  return count;
}

kaon_status kaon_shifted_end(kaon_solver *s, kaon_column_report *reports) {
  kaon_multishift *f = s->shifts;
  const size_t bytes = (size_t)kaon_shifted_columns(s) * sizeof *reports;
  double all2 = 0;
  f->verified = 0;
  f->refined = (kaon_solve_report)KAON_SOLVE_REPORT_INIT;
  KAON_TRY(kaon_agree(s->ctx, kaon_scalars_read(&f->states, s->states.host)));
  for (int m = 0; m < kaon_shifted_columns(s); m++) {
    const kaon_column_state *base = &s->states.host[m % s->columns];
    f->reports[m] = (kaon_column_report){.iterations = kaon_shifted_state(s, m)->iterations,
                                         .reason = reason_of(base)};
    if (f->reports[m].reason == KAON_BREAKDOWN)
      f->reports[m].breakdown = (kaon_breakdown)base->cause;
    all2 += base->reference;
  }
  if (all2 > 0) KAON_TRY(residuals(s));
  if (take_residuals(s) > 0 && f->levels > 1) {
    KAON_TRY(kaon_shifted_refine(s));
    KAON_TRY(residuals(s));
    take_residuals(s);
  }
  if (reports != NULL) memcpy(reports, f->reports, bytes);
  return KAON_OK;
}

void kaon_shifted_count(const kaon_solver *s, kaon_solve_report *report) {
  const kaon_multishift *f = s->shifts;
  double open = 0;
  for (int j = 0; j < s->columns; j++) open += s->states.norm2[j] > 0;
  report->applications += f->verified + f->refined.applications;
  report->applications *= 1 + f->options.normal;
  report->flops += f->verified * open * f->n * s->process.flops.outer + f->refined.flops;
}
