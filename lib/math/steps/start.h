/* start.h - how a solve is begun where nobody waits for the norms of its vectors: from states that
 * the host prepared before, and from those norms, by the one who has them.
 * Common subset of C and CUDA C. */
#ifndef KAON_LIB_MATH_START_H
#define KAON_LIB_MATH_START_H

#include <stddef.h>
#include <string.h>

#include "lib/math/steps/stopping.h"

/* What it is begun from; states and norms of `columns` columns, in the machine's memory. */
typedef struct kaon_start {
  const kaon_column_state *prepared; /* open for their first service, `reference` left out */
  const kaon_column_state *norms;    /* squares in these slots: */
  int b, x, source;                  /* source: what residuals are relative to */
  double least, most;                /* |b|^2 of which b is solved for as it is */
  kaon_column_state *state;          /* what becomes of them */
  int columns;
} kaon_start;

/* 1: column k begins from 0 and has an ordinary source. Anything else is the host's to judge. */
static inline KAON_HD int kaon_start_ordinary(const kaon_start *start, int k) {
  const kaon_column_state *norms = &start->norms[k];
  const double b = norms->slot[start->b][0], source = norms->slot[start->source][0];
  return norms->slot[start->x][0] == 0 && b >= start->least && b <= start->most && source > 0 &&
         kaon_finite(source);
}

/* Ends column k's preparation; no column is open where one of them is not ordinary. */
static inline KAON_HD void kaon_start_column(const kaon_start *start, int k, int ordinary) {
  kaon_column_state *state = &start->state[k];
  state->reference = start->norms[k].slot[start->source][0];
  state->source = start->norms[k].slot[start->b][0];
  if (!ordinary) state->gate = 0;
}

/* 1: nothing was done to the column. */
static inline KAON_HD int kaon_start_refused(const kaon_column_state *state) {
  return state->gate == 0 && state->reason == KAON_WAIT_BEGIN;
}

/* What the look of a whole solve brings of states (number 0) and norms (1) to the host: the first
 * slots; of states histories so far and all behind them besides. */
enum { KAON_SNAPSHOT_SLOTS = KAON_S_METHOD, KAON_SNAPSHOT_TAIL = offsetof(kaon_column_state, reference) };

static inline KAON_HD int kaon_snapshot_history(const kaon_column_state *state) {
  return state->iterations < KAON_HISTORY ? state->iterations + 1 : KAON_HISTORY;
}

/* The host's part; the rest of *to stays as it is. */
static inline void kaon_snapshot_read(kaon_column_state *to, const kaon_column_state *from,
                                  int number) {
  memcpy(to->slot, from->slot, KAON_SNAPSHOT_SLOTS * sizeof from->slot[0]);
  if (number != 0) return;
  memcpy(to->history, from->history, (size_t)kaon_snapshot_history(from) * sizeof from->history[0]);
  memcpy(&to->reference, &from->reference, sizeof *from - KAON_SNAPSHOT_TAIL);
}

#endif
