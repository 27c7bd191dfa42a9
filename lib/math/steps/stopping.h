/* stopping.h - when a column stops, waits or continues: the bookkeeping that all methods share.
 * Common subset of C and CUDA C.
 * A column iterates (gate STEP) until its recurrence residual makes a request. It is then frozen
 * (gate SERVICE) and waits for the host to run solvers/engine/service.c. That recomputes the
 * residual in the outer precision and calls kaon_stop_verify. Nothing here depends on when the host
 * polls, so iteration counts do not either.
 *
 * Residual replacement: van der Vorst and Ye, SIAM J. Sci. Comput. 22 (2000) 835. The trigger is
 * that of Sleijpen and van der Vorst, Computing 56 (1996) 141, with the peak since the last
 * replacement. */
#pragma once

#include "lib/math/steps/recurrence.h"

/* kaon_column_state.reason: why a column finished, or why it waits. The first values equal those
 * of kaon_stop_reason; solvers/engine/solve.c asserts this, because kernels include no public
 * header. */
enum {
  KAON_END_NONE,
  KAON_END_CONVERGED,
  KAON_END_MAX_ITERATIONS,
  KAON_END_STAGNATED,
  KAON_END_BREAKDOWN,
  KAON_END_DIVERGING,
  KAON_END_CANCELLED,
  KAON_WAIT_BEGIN = 64, /* nothing done yet */
  KAON_WAIT_STOP,       /* the recurrence residual is below the threshold */
  KAON_WAIT_UPDATE,     /* reliable update due */
  KAON_WAIT_PERIOD,     /* periodic update due; says nothing about progress */
  KAON_WAIT_TRUSTED,    /* reliable update that does not verify (kaon_stop_outer) */
  KAON_WAIT_BLOCK,      /* requested by another column of the block; says nothing about progress of
                       * this one */
  KAON_WAIT_CYCLE,      /* the cycle is full */
  KAON_WAIT_LIMIT,      /* iteration limit reached */
  KAON_WAIT_STALL,      /* no new minimum for kaon_stall_steps steps */
  KAON_WAIT_GROWTH,     /* the residual grew */
  KAON_WAIT_BROKEN,     /* a denominator of the recurrence is 0 or not finite */
  KAON_WAIT_CANCEL
};

/* kaon_column_state.cause, with the values of kaon_breakdown. */
enum {
  KAON_CAUSE_NONE,
  KAON_CAUSE_ZERO,
  KAON_CAUSE_NOT_FINITE,
  KAON_CAUSE_OPERATOR,
  KAON_CAUSE_PRECONDITIONER
};

enum {
  KAON_FLAG_NORMAL = 1,   /* the watched residual is A^dag r */
  KAON_FLAG_RESTART = 2,  /* restart after each replacement */
  KAON_FLAG_ADAPT = 4,    /* delta adapts to the drift that replacements find */
  KAON_FLAG_FIXED = 8,    /* a fixed number of steps, no verification */
  KAON_FLAG_TRUST = 16,   /* NORMAL: an update need not recompute A^dag r in the outer precision */
  KAON_FLAG_EITHER = 32,  /* |r|^2 is computed by a recurrence: drift counts with either sign */
  KAON_FLAG_PRINTED = 64, /* reordered BiCGStab: rho as in the paper */
  KAON_FLAG_SPACED = 256, /* replacements keep a minimum distance (kaon_update_due) */
  KAON_FLAG_DEFLATED =
      512, /* periodic services are frequent and do not reset the search for a stall */
  KAON_FLAG_AFRESH = 1024,        /* restart after a replacement that finds no progress */
  KAON_FLAG_SPACED_CLOSER = 2048, /* SPACED: they keep the smaller distance */
  KAON_FLAG_MONITOR = 128 /* the chosen residual does not follow from that of the recurrence. It is
                           * recomputed now and then (kaon_monitor_due), and only it ends the
                           * column. */
};

/* Slots of all methods. TRUE, OUTER: the chosen and the plain squared residual in the outer
 * precision. R2: the squared residual of the inner process. S2: that of its normal equations. */
enum { KAON_S_TRUE, KAON_S_OUTER, KAON_S_R2, KAON_S_S2, KAON_S_METHOD };

enum {
  KAON_STALL_STEPS = 1000,
  KAON_STALL_SHARE = 16, /* the limit is this part of the steps so far, if that is more than
                          * STALL_STEPS; half of it for columns that end after STALLED_CYCLES */
  KAON_STALLS = 3,       /* verifications without progress, in a row, that end a column */
  KAON_STALLED_CYCLES = 10,
  KAON_RESTARTS = 8 /* restarts allowed after breakdowns */
};
#define KAON_LOST 3.0        /* drift beyond which the old process is useless */
#define KAON_DRIFT 5e-5      /* drift that an adapting delta aims at */
#define KAON_DELTA2_MIN 1e-4 /* bounds of delta squared: delta is 0.01 to 0.5 */
#define KAON_DELTA2_MAX 0.25
/* Minimum distance of replacements, since one costs as much as several steps. SPACED: UPDATE_STEPS
 * steps, unless the squared residual has dropped by UPDATE_DROP2. SPACED_CLOSER, for half precision
 * with a preconditioner: fewer steps, since such a step drops the residual by more than 16 bits
 * hold (bench/notes/design-reliable-updates.md). */
enum { KAON_UPDATE_STEPS = 24, KAON_UPDATE_STEPS_CLOSER = 8 };
#define KAON_UPDATE_DROP2 1e-5
#define KAON_TRUST 1e-2 /* drift beyond which the inner process is not trusted */
/* Squared residual over its first value that counts as diverging. |r| of CG may grow by the square
 * root of the condition number before it drops. A residual that has grown by 1e8 cannot fall below
 * 1e-8 in double. */
#define KAON_GROWTH2 1e16
#define KAON_CLOSE2 1.21 /* (1.1 tol)^2 counts as converged if no progress is possible */
/* MONITOR: how often the chosen residual is recomputed. It is estimated from its last ratio to the
 * recurrence residual. If the estimate is within this factor (squared) of the tolerance, it is
 * recomputed 1 + n / 512 steps after the last time, n being the iteration; otherwise after 1 +
 * n / 8. A column stops at most that late, and the total cost grows like log n. */
#define KAON_MONITOR_NEAR2 100.0
/* MONITOR: a method that minimises the error, not the residual, may keep a residual near its
 * initial size for many steps. Exact arithmetic takes as many steps as there are unknowns. A stall
 * therefore does not end the column until the squared residual was below this fraction, or that
 * many steps are done. */
#define KAON_PLATEAU2 1e-2
enum { KAON_MONITOR_OFTEN = 512, KAON_MONITOR_SELDOM = 8, KAON_MONITOR_LIMIT = 200 };

static inline KAON_HD int kaon_finite(double x) {
  return x - x == 0.0;
}

/* Freezes a column. keep: its inner solution is usable. MONITOR: a periodic check does not disturb
 * the process; every other reason requires the chosen residual to be recomputed. */
static inline KAON_HD void kaon_wait(kaon_column_state *s, int reason, int keep) {
  s->gate = keep ? KAON_GATE_SERVICE | KAON_GATE_SOLUTION : KAON_GATE_SERVICE;
  if ((s->flags & KAON_FLAG_MONITOR) && reason != KAON_WAIT_PERIOD) s->gate |= KAON_GATE_VERIFY;
  s->reason = reason;
}

/* Freezes a column whose recurrence cannot continue. */
static inline KAON_HD void kaon_broken(kaon_column_state *s, int cause, int keep) {
  s->cause = cause;
  kaon_wait(s, KAON_WAIT_BROKEN, keep);
}

static inline KAON_HD void kaon_finish(kaon_column_state *s, int reason) {
  s->gate = 0;
  s->reason = reason;
}

/* 1: the chosen residual is to be recomputed. */
static inline KAON_HD int kaon_monitor_due(const kaon_column_state *s, double watched) {
  const double fallen = watched * s->scale / s->relative; /* as the heavy-quark residual, too */
  const int near =
      watched * s->scale <= KAON_MONITOR_NEAR2 * s->limit &&
      (s->heavy_limit2 == 0 || s->heavy2 * fallen <= KAON_MONITOR_NEAR2 * s->heavy_limit2);
  return s->iterations - s->renewed >=
         1 + s->iterations / (near ? KAON_MONITOR_OFTEN : KAON_MONITOR_SELDOM);
}

/* Judges a monitored residual. Checks without progress do not end the column while steps go on.
 * Returns 1 after so long without progress that the recurrence may have drifted. The residual is
 * then replaced (KAON_WAIT_STALL), and KAON_STALLED_CYCLES such replacements without success end
 * the column. */
static inline KAON_HD int kaon_monitor_stalled(kaon_column_state *s, double relative) {
  const int progress = relative < 0.98 * s->best;
  const int lost = s->iterations - s->best_at > KAON_MONITOR_LIMIT + s->iterations / 8;
  if (progress) {
    s->best = relative;
    s->stalls = 0;
  }
  if (progress || lost) s->best_at = s->iterations;
  return lost && !progress;
}

/* 1: the residual has dropped so far since its last replacement that the next one is due. */
static inline KAON_HD int kaon_update_due(const kaon_column_state *s, double watched) {
  const int spacing =
      s->flags & KAON_FLAG_SPACED_CLOSER ? KAON_UPDATE_STEPS_CLOSER : KAON_UPDATE_STEPS;
  const int early = (s->flags & KAON_FLAG_SPACED) && s->iterations - s->renewed < spacing;
  return watched < s->delta2 * s->peak && !(early && watched >= KAON_UPDATE_DROP2 * s->peak);
}

/* Steps without a new minimum after which a column is verified. The limit grows with the iteration
 * count, because long processes have proportionally long plateaus. */
static inline KAON_HD int kaon_stall_steps(const kaon_column_state *s) {
  const int patient = (s->flags & (KAON_FLAG_EITHER | KAON_FLAG_AFRESH | KAON_FLAG_MONITOR)) != 0;
  const int part = s->iterations / (patient ? 2 * KAON_STALL_SHARE : KAON_STALL_SHARE);
  return part > KAON_STALL_STEPS ? part : KAON_STALL_STEPS;
}

/* Ends a step. watched: the squared residual norm after it. */
static inline KAON_HD_CALLED void kaon_step_end(kaon_column_state *s, double watched) {
  if (!kaon_finite(watched)) {
    kaon_broken(s, KAON_CAUSE_NOT_FINITE, 0);
    return;
  }
  s->gate &= ~KAON_GATE_FLUSH; /* the flush that was due has been done */
  s->iterations++;
  s->history[s->iterations % KAON_HISTORY] = watched * s->scale;
  if (watched < s->lowest) {
    s->lowest = watched;
    s->lowest_at = s->iterations;
  }
  if (watched > s->peak && !(s->flags & KAON_FLAG_RESTART)) s->peak = watched;

  if ((s->flags & KAON_FLAG_MONITOR) && kaon_monitor_due(s, watched)) {
    s->slot[KAON_S_OUTER][0] = watched; /* used if it is not recomputed */
    kaon_wait(s, s->iterations < s->max_iterations ? KAON_WAIT_PERIOD : KAON_WAIT_LIMIT, 1);
  } else if (watched <= s->threshold && !(s->flags & KAON_FLAG_MONITOR))
    kaon_wait(s, KAON_WAIT_STOP, 1);
  else if (s->cycle > 0 && s->aux >= s->cycle)
    kaon_wait(s, s->iterations < s->max_iterations ? KAON_WAIT_CYCLE : KAON_WAIT_LIMIT, 1);
  else if (s->flags & KAON_FLAG_FIXED)
    return;
  else if (s->iterations >= s->max_iterations)
    kaon_wait(s, KAON_WAIT_LIMIT, 1);
  else if (watched * s->scale > KAON_GROWTH2 * s->first)
    kaon_wait(s, KAON_WAIT_GROWTH, 1);
  else if (kaon_update_due(s, watched))
    kaon_wait(s, KAON_WAIT_UPDATE, 1);
  else if (s->iterations - s->lowest_at >= kaon_stall_steps(s))
    kaon_wait(s, KAON_WAIT_STALL, 1);
  else if (s->period > 0 && s->iterations - s->renewed >= s->period &&
           s->iterations >= s->period_begin)
    kaon_wait(s, KAON_WAIT_PERIOD, 1);
  else if (s->flush > 0 && (s->iterations - s->renewed) % s->flush == 0)
    s->gate |= KAON_GATE_FLUSH;
}

/* Counts verifications without progress; returns 1 if there were too many. A cycle may win little
 * and still be useful. If the recurrence saw a real drop that the true residual did not follow, the
 * precision is exhausted. A drop that was only computed by recurrence may not have been real, which
 * allows more verifications. */
static inline KAON_HD int kaon_stalled(kaon_column_state *s, double relative) {
  const int cycle = s->reason == KAON_WAIT_CYCLE;
  const int patient =
      cycle || (s->flags & (KAON_FLAG_EITHER | KAON_FLAG_AFRESH | KAON_FLAG_MONITOR));
  const int progress = relative < s->best * (cycle ? 1 - 1e-4 : 0.98);
  const int plateau = (s->flags & KAON_FLAG_MONITOR) && s->best > KAON_PLATEAU2 * s->first &&
                      s->iterations < s->unknowns;
  s->stalls = progress || plateau ? 0 : s->stalls + 1;
  if (relative < s->best) s->best = relative;
  return s->stalls >= (patient ? KAON_STALLED_CYCLES : KAON_STALLS);
}

/* Counts breakdowns; returns 1 if restarting no longer helps. */
static inline KAON_HD int kaon_restarts_exhausted(kaon_column_state *s, double relative) {
  s->restarts++;
  if (s->restarts > KAON_RESTARTS || (s->restarts > 1 && relative > 0.25 * s->mark)) return 1;
  s->mark = relative;
  return 0;
}

/* 1: the column is to restart. Either that was requested, or the recurrence broke down, or it
 * drifted so far from the true residual that scalars of the old process would mix two scales. */
static inline KAON_HD int kaon_fresh(const kaon_column_state *s) {
  return (s->flags & KAON_FLAG_RESTART) || s->reason == KAON_WAIT_BEGIN ||
         ((s->flags & KAON_FLAG_AFRESH) && s->stalls > 0) || s->reason == KAON_WAIT_BROKEN ||
         s->reason == KAON_WAIT_GROWTH || s->drift > KAON_LOST;
}

/* Adapts delta to the drift. A replacement moves the residual by J = sqrt(drift) of its size
 * against the directions that the process remembers. J grows like 1 / delta, so delta follows it,
 * by at most a factor of 2 at a time. KAON_DRIFT means J = 0.7 %. delta stays between 0.01 and 0.5:
 * a solve to 1e-10 then has 5 to 33 replacements. tests/test_solvers_dirac.c pins the resulting
 * step counts. */
static inline KAON_HD void kaon_adapt_delta(kaon_column_state *s) {
  const int turned = s->drift < 0 && (s->flags & KAON_FLAG_EITHER);
  const double factor2 = (turned ? -s->drift : s->drift) / KAON_DRIFT;
  const int update = s->reason == KAON_WAIT_UPDATE || s->reason == KAON_WAIT_BLOCK;
  if (!(s->flags & KAON_FLAG_ADAPT) || !update) return;
  s->delta2 *= factor2 < 0.25 ? 0.25 : factor2 > 4 ? 4 : factor2;
  if (s->delta2 < KAON_DELTA2_MIN) s->delta2 = KAON_DELTA2_MIN;
  if (s->delta2 > KAON_DELTA2_MAX) s->delta2 = KAON_DELTA2_MAX;
}

/* The heavy-quark residual, before the verification that takes it into account. TRUE: the sum of
 * |r|^2 / |x|^2 over sites with x != 0, and the number of these. All others count as 1. */
static inline KAON_HD void kaon_rec_heavy(kaon_column_state *s) {
  const double *sum = s->slot[KAON_S_TRUE];
  s->heavy2 = (sum[0] + (s->heavy_sites - sum[1])) / s->heavy_sites;
}

/* 1: both residuals are within sqrt(factor2) of their tolerances. */
static inline KAON_HD int kaon_within(const kaon_column_state *s, double factor2) {
  const int heavy = s->heavy_limit2 == 0 || s->heavy2 <= factor2 * s->heavy_limit2;
  return s->relative <= factor2 * s->limit && heavy;
}

/* Decides how a column goes on; needs the recomputed chosen residual squared in slot TRUE. It ends
 * the column, or sets gate START or CONTINUE beside SERVICE. */
static inline KAON_HD_CALLED void kaon_stop_verify(kaon_column_state *s) {
  const double relative = s->slot[KAON_S_TRUE][0] / s->reference;
  const int why = s->reason;
  s->relative = relative;
  const int close = kaon_within(s, KAON_CLOSE2);
  kaon_adapt_delta(s);
  if (why == KAON_WAIT_BEGIN) {
    s->first = s->best = s->mark = relative;
    s->history[0] = relative;
  } else {
    s->updates++;
  }

  if (!kaon_finite(relative)) {
    s->cause = KAON_CAUSE_NOT_FINITE;
    kaon_finish(s, KAON_END_BREAKDOWN);
  } else if (kaon_within(s, 1))
    kaon_finish(s, KAON_END_CONVERGED);
  else if (why == KAON_WAIT_CANCEL)
    kaon_finish(s, KAON_END_CANCELLED);
  else if (s->iterations >= s->max_iterations)
    kaon_finish(s, close ? KAON_END_CONVERGED : KAON_END_MAX_ITERATIONS);
  else if (relative > KAON_GROWTH2 * s->first)
    kaon_finish(s, KAON_END_DIVERGING);
  else if ((s->flags & KAON_FLAG_MONITOR) && why == KAON_WAIT_PERIOD &&
           kaon_monitor_stalled(s, relative))
    kaon_wait(s, KAON_WAIT_STALL, 0); /* its inner solution has already been added */
  else if (why == KAON_WAIT_BROKEN && kaon_restarts_exhausted(s, relative))
    kaon_finish(s, close ? KAON_END_CONVERGED : KAON_END_BREAKDOWN);
  else if (why != KAON_WAIT_BEGIN && why != KAON_WAIT_BROKEN && why != KAON_WAIT_BLOCK &&
           why != KAON_WAIT_PERIOD && kaon_stalled(s, relative))
    kaon_finish(s, close ? KAON_END_CONVERGED : KAON_END_STAGNATED);
  else
    s->gate = KAON_GATE_SERVICE | (kaon_fresh(s) ? KAON_GATE_START : KAON_GATE_CONTINUE);
}

/* Decides whether the chosen residual A^dag r must be recomputed. Slots OUTER and R2 hold |b - A
 * x|^2 in the outer precision and from the recurrence. If the two agree, a reliable update needs no
 * A^dag r in the outer precision, because the inner process computes it anyway (kaon_stop_resume).
 * All other services verify. */
static inline KAON_HD void kaon_stop_outer(kaon_column_state *s) {
  const double drift = s->slot[KAON_S_OUTER][0] / s->slot[KAON_S_R2][0] - 1;
  const int agree = drift <= KAON_TRUST && drift >= -KAON_TRUST;
  if (!(s->flags & KAON_FLAG_TRUST) || s->reason != KAON_WAIT_UPDATE || !agree) {
    s->gate |= KAON_GATE_VERIFY;
    return;
  }
  s->drift = drift;
  kaon_adapt_delta(s);
  s->reason = KAON_WAIT_TRUSTED;
  s->updates++;
  s->trusted++;
  s->gate = KAON_GATE_SERVICE | KAON_GATE_CONTINUE;
}

static inline KAON_HD double kaon_watched(const kaon_column_state *s) {
  return s->slot[s->flags & KAON_FLAG_NORMAL ? KAON_S_S2 : KAON_S_R2][0];
}

static inline KAON_HD void kaon_renew(kaon_column_state *s, double watched) {
  s->peak = watched;
  if (!((s->flags & KAON_FLAG_DEFLATED) && s->reason == KAON_WAIT_PERIOD)) {
    s->lowest = watched;
    s->lowest_at = s->iterations;
  }
  s->renewed = s->iterations;
  s->aux = 0;
  s->gate = KAON_GATE_STEP;
}

/* The inner process is ready to continue. Sets a new threshold from the residual that the
 * recurrence now sees. If the previous threshold was too lax, the new one is 10 % tighter. The
 * heavy-quark residual is expected to fall as the residual does, and is computed at least each time
 * that this has fallen to a tenth. */
static inline KAON_HD_CALLED void kaon_stop_resume(kaon_column_state *s) {
  const double watched = kaon_watched(s);
  if (s->reason == KAON_WAIT_TRUSTED) { /* scale and threshold stay; no progress: verify */
    s->relative = watched * s->scale;
    const int lost = !(watched > 0) || !kaon_finite(watched); /* the directions are lost too */
    const int stalled = lost || kaon_stalled(s, s->relative);
    kaon_renew(s, watched);
    if (stalled) kaon_wait(s, lost ? KAON_WAIT_BROKEN : KAON_WAIT_STALL, !lost);
    return;
  }
  if (!(watched > 0) || !kaon_finite(watched)) {
    kaon_finish(s, kaon_within(s, KAON_CLOSE2) ? KAON_END_CONVERGED : KAON_END_STAGNATED);
    return;
  }
  s->scale = s->relative / watched;
  s->threshold = s->limit / s->scale * (s->reason == KAON_WAIT_STOP ? 0.9 : 1.0);
  if (s->heavy_limit2 > 0 && s->heavy2 > s->heavy_limit2) {
    const double part = s->heavy_limit2 / s->heavy2;
    const double next = 0.9 * watched * (part > 1e-2 ? part : 1e-2);
    if (next < s->threshold) s->threshold = next;
  }
  kaon_renew(s, watched);
}

/* The user's monitor function cancelled the solve. */
static inline KAON_HD void kaon_stop_cancel(kaon_column_state *s) {
  if (s->gate & KAON_GATE_STEP) kaon_wait(s, KAON_WAIT_CANCEL, 1);
  s->reason = KAON_WAIT_CANCEL;
}

/* Begins a fixed number of steps. Nothing is verified; only an exact 0 freezes the column. */
static inline KAON_HD void kaon_fixed_begin(kaon_column_state *s) {
  s->gate = KAON_GATE_SERVICE | KAON_GATE_START;
  s->reason = KAON_WAIT_BEGIN;
  s->flags = KAON_FLAG_FIXED | (s->flags & KAON_FLAG_PRINTED);
  s->iterations = s->updates = 0;
  s->threshold = s->delta2 = 0;
}

static inline KAON_HD void kaon_fixed_resume(kaon_column_state *s) {
  const double watched = kaon_watched(s);
  if (s->reason == KAON_WAIT_BEGIN) {
    s->scale = 1 / watched;
    s->history[0] = 1;
  }
  if (!(watched > 0) || !kaon_finite(watched))
    kaon_wait(s, KAON_WAIT_BROKEN, 0);
  else if (s->reason == KAON_WAIT_BEGIN || s->reason == KAON_WAIT_CYCLE)
    kaon_renew(s, watched);
}

/* Decides whether waiting columns are served now while `stepping` others iterate. Services cost
 * less together. Columns do not affect each other, so waiting changes no result. They are served if
 * half of the remaining columns wait, or after a few polls (counted in *patience). */
static inline KAON_HD int kaon_service_due(int stepping, int waiting, int *patience) {
  enum { POLLS = 3 };
  if (waiting == 0) return 0;
  if (waiting < stepping && ++*patience < POLLS) return 0;
  *patience = 0;
  return 1;
}
