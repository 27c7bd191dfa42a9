/* runner.h - what the ways of issuing steps share: one operation after another (runner.c), recorded
 * blocks (replay.c). */
#ifndef KAON_SOLVERS_RUNNER_H
#define KAON_SOLVERS_RUNNER_H

#include "solvers/engine/method.h"

/* Since the last look. Steps take `rate` seconds, on the average of the last ones (0: not known
 * yet); several ranks agree on it, since they have to issue the same steps. */
typedef struct kaon_step_rate {
  double begin, rate;
  int steps, limit;
} kaon_step_rate;

typedef struct kaon_columns_now {
  int stepping, waiting;
} kaon_columns_now;

/* runner.c */
kaon_step_rate kaon_step_rate_begin(void);
/* By the host's copies of the states. */
kaon_columns_now kaon_columns_count(const kaon_solver *s);
/* Adds x_inner to x and sets it to zero in the columns where that is due. */
kaon_status kaon_runner_flush(kaon_solver *s);
/* What each rank found out by itself at a look becomes what all do: one monitor's wish to end ends
 * the solve, one's failure is everybody's. Begins the pace anew. Collective. */
kaon_status kaon_runner_agree(const kaon_solver *s, kaon_status status, kaon_step_rate *p, int *cancel);
/* Whether columns that wait are served now; `begins`: the method stands between two cycles. */
int kaon_runner_service_due(const kaon_solver *s, kaon_columns_now n, int begins, int *patience);

/* replay.c: 1: this solve can be tried so. */
int kaon_replay_possible(const kaon_solver *s);
/* Steps and serves until no column is left or the monitor said no (*cancel), or not at all where
 * the operators cannot be recorded. What is left to do is the plain loop's, whatever comes back.
 * *over: no column is left, by the last look; or, of a solve in one go (straight), nothing was
 * done, and it is straight no more. */
kaon_status kaon_replay_run(kaon_solver *s, int *cancel, int *over);

/* The most independent form that what passes between ranks can be recorded in. */
kaon_issue kaon_replay_most(const kaon_context *ctx);

/* Whether the loop is recorded for this solve, in a form that the device repeats by itself. */
int kaon_replay_loops(const kaon_solver *s);
/* Records a whole solve into s->whole, in the same form: what goes ahead of the loop and behind it
 * (NULL: nothing). */
kaon_status kaon_replay_record_whole(kaon_solver *s, kaon_status (*before)(void *),
                                     kaon_status (*after)(void *));

/* Whether what was recorded for `a` holds for `b`: vectors, memory, launch choices, block. */
int kaon_recorded_same(const kaon_recorded *a, const kaon_recorded *b);

#endif
