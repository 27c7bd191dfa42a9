/* runner.h - what the two ways of issuing steps share: one operation after another (runner.c) and
 * recorded blocks (replay.c). */
#pragma once

#include "solvers/engine/method.h"

/* Measures steps since the last poll. rate: seconds a step, averaged over the last ones (0: not
 * known). Several ranks agree on the rate, since they must issue the same steps. */
typedef struct kaon_step_rate {
  double begin, rate;
  int steps, limit;
} kaon_step_rate;

typedef struct kaon_columns_now {
  int stepping, waiting;
} kaon_columns_now;

/* runner.c */
kaon_step_rate kaon_step_rate_begin(void);
/* Counts columns in the host's copies of the states. */
kaon_columns_now kaon_columns_count(const kaon_solver *s);
/* Adds x_inner to x and zeroes it, in the columns where that is due. */
kaon_status kaon_runner_flush(kaon_solver *s);
/* Makes the ranks agree after a poll. If one rank's monitor cancels, all cancel; if one rank fails,
 * all fail. Restarts the measurement of the rate. Collective. */
kaon_status kaon_runner_agree(const kaon_solver *s, kaon_status status, kaon_step_rate *p,
                              int *cancel);
/* 1: columns that wait are served now. begins: the method stands between two cycles. */
int kaon_runner_service_due(const kaon_solver *s, kaon_columns_now n, int begins, int *patience);

/* replay.c: 1 if recording can be tried for this solve. */
int kaon_replay_possible(const kaon_solver *s);
/* Runs steps and services until no column is open or the monitor cancels (*cancel). It does nothing
 * if the operators cannot be recorded. The plain loop then continues with what is left.
 * *over: the last poll found no open column. For a single-launch solve it can also mean that
 * nothing was done; then the solve is no longer a single launch. */
kaon_status kaon_replay_run(kaon_solver *s, int *cancel, int *over);

/* The form that needs the host least, of those in which communication between ranks can be
 * recorded. */
kaon_issue kaon_replay_most(const kaon_context *ctx);

/* 1: the loop is recorded for this solve, in a form that the device repeats without the host. */
int kaon_replay_loops(const kaon_solver *s);
/* Records a whole solve into s->launch.whole, in the same form. before, after: what runs before and
 * after the loop (NULL: nothing). */
kaon_status kaon_replay_record_whole(kaon_solver *s, kaon_status (*before)(void *),
                                     kaon_status (*after)(void *));

/* 1: what was recorded for `a` is valid for `b`: same vectors, memory, launch choices and block. */
int kaon_recorded_same(const kaon_recorded *a, const kaon_recorded *b);
