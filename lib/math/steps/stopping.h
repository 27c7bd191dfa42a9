/* stopping.h - when a column stops, waits or goes on: the bookkeeping that all methods share.
 * Common subset of C and CUDA C. A column iterates (gate STEP) until its recurrence residual asks
 * for something; it then freezes (gate SERVICE) and waits for the host to run solvers/engine/service.c,
 * which recomputes the residual in the outer precision and calls kaon_stop_verify. Nothing here
 * knows when the host looks, so iteration counts do not depend on it.
 *
 * Residual replacement: van der Vorst and Ye, SIAM J. Sci. Comput. 22 (2000) 835; the trigger is
 * that of Sleijpen and van der Vorst, Computing 56 (1996) 141, with the peak since the last
 * replacement. */
#ifndef KAON_LIB_MATH_STOPPING_H
#define KAON_LIB_MATH_STOPPING_H

#include "lib/math/steps/recurrence.h"

/* kaon_column_state.reason: why a column finished, with the values of kaon_stop_reason (kernels see
 * no public header; solvers/engine/solve.c holds the two lists together), or why it waits. */
enum {
  KAON_END_NONE,
  KAON_END_CONVERGED,
  KAON_END_MAX_ITERATIONS,
  KAON_END_STAGNATED,
  KAON_END_BREAKDOWN,
  KAON_END_DIVERGING,
  KAON_END_CANCELLED,
  KAON_WAIT_BEGIN = 64, /* nothing done yet */
  KAON_WAIT_STOP,       /* the recurrence says: converged */
  KAON_WAIT_UPDATE,     /* reliable update due */
  KAON_WAIT_PERIOD,     /* due whatever the residual did: says nothing of progress */
  KAON_WAIT_TRUSTED,    /* the same, and the inner process is believed (kaon_stop_outer) */
  KAON_WAIT_BLOCK,    /* of another column of the block: says nothing of this one's progress */
  KAON_WAIT_CYCLE,      /* the cycle is full */
  KAON_WAIT_LIMIT,      /* all steps done */
  KAON_WAIT_STALL,      /* no new minimum for kaon_stall_steps */
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
  KAON_FLAG_RESTART = 2,  /* a fresh process after each replacement */
  KAON_FLAG_ADAPT = 4,    /* delta follows the drift of the replacements */
  KAON_FLAG_FIXED = 8,    /* a fixed number of steps, no verification */
  KAON_FLAG_TRUST = 16,   /* NORMAL: updates may do without A^dag r in the outer precision */
  KAON_FLAG_EITHER = 32,  /* |r|^2 is worked out, not taken: drift counts whatever its sign */
  KAON_FLAG_PRINTED = 64, /* reordered BiCGStab: rho as in the paper */
  KAON_FLAG_SPACED = 256,  /* replacements keep a distance (kaon_update_due) */
  KAON_FLAG_DEFLATED =
      512, /* services of a period are many, and leave the search for a stall alone */
  KAON_FLAG_AFRESH = 1024, /* a replacement that finds no progress begins a fresh process */
  KAON_FLAG_SPACED_CLOSER = 2048, /* APART: they keep the smaller distance */
  KAON_FLAG_MONITOR = 128 /* the chosen residual does not follow from the recurrence's: it is looked
                           at now and then (kaon_monitor_due), and ends the column alone */
};

/* Slots of all methods. TRUE, OUTER: the chosen and the plain residual squared in the outer
 * precision; R2: of the inner process; S2: of its normal equations. */
enum { KAON_S_TRUE, KAON_S_OUTER, KAON_S_R2, KAON_S_S2, KAON_S_METHOD };

enum {
  KAON_STALL_STEPS = 1000,
  KAON_STALL_SHARE = 16, /* a part of the steps till then, where that is longer, of those whose
                          verdict takes KAON_STALLS; half of it of the others */
  KAON_STALLS = 3,       /* verifications in a row without progress */
  KAON_STALLED_CYCLES = 10,
  KAON_RESTARTS = 8 /* after breakdowns */
};
#define KAON_LOST 3.0        /* drift beyond which the old process is of no use */
#define KAON_DRIFT 5e-5      /* drift of a replacement that an adapting delta aims at */
#define KAON_DELTA2_MIN 1e-4 /* of delta squared: 0.01 to 0.5 */
#define KAON_DELTA2_MAX 0.25
/* A replacement costs as much as several steps. APART: this many steps lie between two of them, or
 * a drop of the residual squared by this. CLOSER, which is half with a preconditioner: fewer, since
 * such steps drop by more than 16 bits hold (bench/notes/design-reliable-updates.md). */
enum { KAON_UPDATE_STEPS = 24, KAON_UPDATE_STEPS_CLOSER = 8 };
#define KAON_UPDATE_DROP2 1e-5
#define KAON_TRUST 1e-2 /* drift beyond which the inner process is not believed */
/* Residual squared over its first value: diverging. CG's |r| may grow by the square root of the
 * condition number before it drops; what has grown by 1e8 cannot come below 1e-8 in double. */
#define KAON_GROWTH2 1e16
#define KAON_CLOSE2 1.21 /* (1.1 tol)^2 is still converged when no better can be had */
/* WATCH: where the chosen residual is guessed, by its last ratio to the recurrence's, within this
 * factor (squared) of the tolerance, it is recomputed after 1 + n / 512 steps of n, else after 1 +
 * n / 8: a column stops at most that late, and what all looks cost together grows like log n. */
#define KAON_MONITOR_NEAR2 100.0
/* WATCH: a process that makes the error least, not the residual, may have a residual of about its
 * first size for a good part of its steps, of which exact arithmetic takes as many as there are
 * unknowns (CGMNC on 90561 of them: 7800 steps above the first one's 0.2). Until it was below this
 * (squared) no stall is a verdict, but behind so many steps. */
#define KAON_PLATEAU2 1e-2
enum { KAON_MONITOR_OFTEN = 512, KAON_MONITOR_SELDOM = 8, KAON_MONITOR_LIMIT = 200 };

static inline KAON_HD int kaon_finite(double x) {
  return x - x == 0.0;
}

/* keep: the inner solution is usable. WATCH: a look at the chosen residual leaves the process its
 * own, whatever else the column waits for wants it recomputed. */
static inline KAON_HD void kaon_wait(kaon_column_state *s, int reason, int keep) {
  s->gate = keep ? KAON_GATE_SERVICE | KAON_GATE_SOLUTION : KAON_GATE_SERVICE;
  if ((s->flags & KAON_FLAG_MONITOR) && reason != KAON_WAIT_PERIOD) s->gate |= KAON_GATE_VERIFY;
  s->reason = reason;
}

/* The recurrence cannot go on. */
static inline KAON_HD void kaon_broken(kaon_column_state *s, int cause, int keep) {
  s->cause = cause;
  kaon_wait(s, KAON_WAIT_BROKEN, keep);
}

static inline KAON_HD void kaon_finish(kaon_column_state *s, int reason) {
  s->gate = 0;
  s->reason = reason;
}

/* 1: the chosen residual is to be looked at. */
static inline KAON_HD int kaon_monitor_due(const kaon_column_state *s, double watched) {
  const int near = watched * s->scale <= KAON_MONITOR_NEAR2 * s->limit;
  return s->iterations - s->renewed >=
         1 + s->iterations / (near ? KAON_MONITOR_OFTEN : KAON_MONITOR_SELDOM);
}

/* Looks without progress are no verdict while steps go on: 1 where there was none for so long that
 * the recurrence may have lost touch; its residual is then replaced (KAON_WAIT_STALL), which ends
 * the column after KAON_STALLED_CYCLES times in vain. */
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

/* 1: the residual has dropped by so much since it was last replaced that it is to be replaced
 * again. */
static inline KAON_HD int kaon_update_due(const kaon_column_state *s, double watched) {
  const int apart = s->flags & KAON_FLAG_SPACED_CLOSER ? KAON_UPDATE_STEPS_CLOSER : KAON_UPDATE_STEPS;
  const int early = (s->flags & KAON_FLAG_SPACED) && s->iterations - s->renewed < apart;
  return watched < s->delta2 * s->peak && !(early && watched >= KAON_UPDATE_DROP2 * s->peak);
}

/* Steps without a new minimum after which a column is looked into. A process of many steps has
 * plateaus in proportion: CG on Cimmino's system of 361345 unknowns (fem:3,2,7) stood at 0.09 for
 * more than 10000 of its 290000. */
static inline KAON_HD int kaon_stall_steps(const kaon_column_state *s) {
  const int patient = (s->flags & (KAON_FLAG_EITHER | KAON_FLAG_AFRESH | KAON_FLAG_MONITOR)) != 0;
  const int part = s->iterations / (patient ? 2 * KAON_STALL_SHARE : KAON_STALL_SHARE);
  return part > KAON_STALL_STEPS ? part : KAON_STALL_STEPS;
}

/* The end of a step that left `watched` = residual norm squared. */
static inline KAON_HD_CALLED void kaon_step_end(kaon_column_state *s, double watched) {
  if (!kaon_finite(watched)) {
    kaon_broken(s, KAON_CAUSE_NOT_FINITE, 0);
    return;
  }
  s->gate &= ~KAON_GATE_FLUSH; /* what was due has been done */
  s->iterations++;
  s->history[s->iterations % KAON_HISTORY] = watched * s->scale;
  if (watched < s->lowest) {
    s->lowest = watched;
    s->lowest_at = s->iterations;
  }
  if (watched > s->peak && !(s->flags & KAON_FLAG_RESTART)) s->peak = watched;

  if ((s->flags & KAON_FLAG_MONITOR) && kaon_monitor_due(s, watched)) {
    s->slot[KAON_S_OUTER][0] = watched; /* where it is not recomputed */
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

/* Counts verifications without progress; 1: too many. A cycle may win little and be useful; where
 * the recurrence saw a real drop and the true residual did not follow, the precision is spent; a
 * drop that was worked out may have been none. */
static inline KAON_HD int kaon_stalled(kaon_column_state *s, double relative) {
  const int cycle = s->reason == KAON_WAIT_CYCLE;
  const int patient = cycle || (s->flags & (KAON_FLAG_EITHER | KAON_FLAG_AFRESH | KAON_FLAG_MONITOR));
  const int progress = relative < s->best * (cycle ? 1 - 1e-4 : 0.98);
  const int plateau = (s->flags & KAON_FLAG_MONITOR) && s->best > KAON_PLATEAU2 * s->first &&
                      s->iterations < s->unknowns;
  s->stalls = progress || plateau ? 0 : s->stalls + 1;
  if (relative < s->best) s->best = relative;
  return s->stalls >= (patient ? KAON_STALLED_CYCLES : KAON_STALLS);
}

/* Counts breakdowns; 1: restarting no longer helps. */
static inline KAON_HD int kaon_restarts_exhausted(kaon_column_state *s, double relative) {
  s->restarts++;
  if (s->restarts > KAON_RESTARTS || (s->restarts > 1 && relative > 0.25 * s->mark)) return 1;
  s->mark = relative;
  return 0;
}

/* 1: the column is to begin a fresh process: asked for, broken, or the recurrence lost touch with
 * the true residual, so that scalars of the old process would mix two scales. */
static inline KAON_HD int kaon_fresh(const kaon_column_state *s) {
  return (s->flags & KAON_FLAG_RESTART) || s->reason == KAON_WAIT_BEGIN ||
         ((s->flags & KAON_FLAG_AFRESH) && s->stalls > 0) || s->reason == KAON_WAIT_BROKEN ||
         s->reason == KAON_WAIT_GROWTH || s->drift > KAON_LOST;
}

/* A replacement moves the residual by J = sqrt(drift) of its size against the directions that the
 * process remembers. J grows like 1 / delta, so delta follows it, by at most a factor of 2 at a
 * time: KAON_DRIFT is J = 0.7 %. Whatever J is, delta stays within 0.01, where a solve to 1e-10 has
 * five replacements, so that fewer would save nothing, and 0.5, where it has 33.
 * tests/test_solvers_dirac.c holds the counts of steps that come of it. */
static inline KAON_HD void kaon_adapt_delta(kaon_column_state *s) {
  const int turned = s->drift < 0 && (s->flags & KAON_FLAG_EITHER);
  const double factor2 = (turned ? -s->drift : s->drift) / KAON_DRIFT;
  const int update = s->reason == KAON_WAIT_UPDATE || s->reason == KAON_WAIT_BLOCK;
  if (!(s->flags & KAON_FLAG_ADAPT) || !update) return;
  s->delta2 *= factor2 < 0.25 ? 0.25 : factor2 > 4 ? 4 : factor2;
  if (s->delta2 < KAON_DELTA2_MIN) s->delta2 = KAON_DELTA2_MIN;
  if (s->delta2 > KAON_DELTA2_MAX) s->delta2 = KAON_DELTA2_MAX;
}

/* slot TRUE holds the chosen residual squared, recomputed: ends the column, or says how it goes on
 * (gate START or INJECT beside SERVICE). */
static inline KAON_HD_CALLED void kaon_stop_verify(kaon_column_state *s) {
  const double relative = s->slot[KAON_S_TRUE][0] / s->reference;
  const int why = s->reason;
  const int close = relative <= KAON_CLOSE2 * s->limit;
  s->relative = relative;
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
  } else if (relative <= s->limit)
    kaon_finish(s, KAON_END_CONVERGED);
  else if (why == KAON_WAIT_CANCEL)
    kaon_finish(s, KAON_END_CANCELLED);
  else if (s->iterations >= s->max_iterations)
    kaon_finish(s, close ? KAON_END_CONVERGED : KAON_END_MAX_ITERATIONS);
  else if (relative > KAON_GROWTH2 * s->first)
    kaon_finish(s, KAON_END_DIVERGING);
  else if ((s->flags & KAON_FLAG_MONITOR) && why == KAON_WAIT_PERIOD && kaon_monitor_stalled(s, relative))
    kaon_wait(s, KAON_WAIT_STALL, 0); /* its inner solution has been added */
  else if (why == KAON_WAIT_BROKEN && kaon_restarts_exhausted(s, relative))
    kaon_finish(s, close ? KAON_END_CONVERGED : KAON_END_BREAKDOWN);
  else if (why != KAON_WAIT_BEGIN && why != KAON_WAIT_BROKEN && why != KAON_WAIT_BLOCK &&
           why != KAON_WAIT_PERIOD && kaon_stalled(s, relative))
    kaon_finish(s, close ? KAON_END_CONVERGED : KAON_END_STAGNATED);
  else
    s->gate = KAON_GATE_SERVICE | (kaon_fresh(s) ? KAON_GATE_START : KAON_GATE_CONTINUE);
}

/* Slots OUTER and R2 hold |b - A x|^2 in the outer precision and the recurrence's, where the chosen
 * residual is A^dag r. A reliable update needs no A^dag r in the outer precision if the two agree:
 * the inner process computes it anyway when it goes on (kaon_stop_resume). All others are verified.
 */
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

/* The inner process is ready again: new threshold from what the recurrence now sees of the true
 * residual. Where the last threshold was too lax, one tenth is added to the request. */
static inline KAON_HD_CALLED void kaon_stop_resume(kaon_column_state *s) {
  const double watched = kaon_watched(s);
  if (s->reason == KAON_WAIT_TRUSTED) { /* scale and threshold stay; without progress: verify */
    s->relative = watched * s->scale;
    const int lost = !(watched > 0) || !kaon_finite(watched); /* and with it the directions */
    const int stalled = lost || kaon_stalled(s, s->relative);
    kaon_renew(s, watched);
    if (stalled) kaon_wait(s, lost ? KAON_WAIT_BROKEN : KAON_WAIT_STALL, !lost);
    return;
  }
  if (!(watched > 0) || !kaon_finite(watched)) {
    kaon_finish(s, s->relative <= KAON_CLOSE2 * s->limit ? KAON_END_CONVERGED : KAON_END_STAGNATED);
    return;
  }
  s->scale = s->relative / watched;
  s->threshold = s->limit / s->scale * (s->reason == KAON_WAIT_STOP ? 0.9 : 1.0);
  kaon_renew(s, watched);
}

/* The monitor said no. */
static inline KAON_HD void kaon_stop_cancel(kaon_column_state *s) {
  if (s->gate & KAON_GATE_STEP) kaon_wait(s, KAON_WAIT_CANCEL, 1);
  s->reason = KAON_WAIT_CANCEL;
}

/* A fixed number of steps begins: nothing is verified, only an exact 0 freezes. */
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

/* Whether columns that wait are served now, as `stepping` others iterate. Services are cheaper
 * together, and as columns do not see each other, waiting for company changes no result: served
 * when half of those left wait, or when some have waited for a few looks (counted in *patience). */
static inline KAON_HD int kaon_service_due(int stepping, int waiting, int *patience) {
  enum { POLLS = 3 };
  if (waiting == 0) return 0;
  if (waiting < stepping && ++*patience < POLLS) return 0;
  *patience = 0;
  return 1;
}

#endif
