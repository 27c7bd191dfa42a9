/* start.h - the start of a solve if the host does not wait for the norms of its vectors. The host
 * prepares the states beforehand; the code that has the norms completes them. Common subset of C
 * and CUDA C. */
#pragma once

#include <stddef.h>
#include <string.h>

#include "lib/math/steps/stopping.h"

/* Inputs and output of the start: states and norms of `columns` columns, in the backend's
 * memory. */
typedef struct kaon_start {
  const kaon_column_state *prepared; /* ready for their first service, except for `reference` */
  const kaon_column_state *norms;    /* squared norms, in the slots that follow */
  int b, x, source;                  /* source: the vector that residuals are relative to */
  double least, most;                /* range of |b|^2 in which b is solved for without rescaling */
  kaon_column_state *state;          /* output */
  int columns;
} kaon_start;

/* 1: column k has x = 0 and an ordinary source. The host handles all other cases. */
static inline KAON_HD int kaon_start_ordinary(const kaon_start *start, int k) {
  const kaon_column_state *norms = &start->norms[k];
  const double b = norms->slot[start->b][0], source = norms->slot[start->source][0];
  return norms->slot[start->x][0] == 0 && b >= start->least && b <= start->most && source > 0 &&
         kaon_finite(source);
}

/* Completes column k. If one column is not ordinary, no column is opened. */
static inline KAON_HD void kaon_start_column(const kaon_start *start, int k, int ordinary) {
  kaon_column_state *state = &start->state[k];
  state->reference = start->norms[k].slot[start->source][0];
  state->source = start->norms[k].slot[start->b][0];
  if (!ordinary) state->gate = 0;
}

/* 1: the start was refused and the column is unchanged. */
static inline KAON_HD int kaon_start_refused(const kaon_column_state *state) {
  return state->gate == 0 && state->reason == KAON_WAIT_BEGIN;
}

/* What the host poll of a whole solve copies from states (number 0) and norms (number 1): the first
 * slots. Of states it also copies the history so far and everything after it. */
enum {
  KAON_SNAPSHOT_SLOTS = KAON_S_METHOD,
  KAON_SNAPSHOT_TAIL = offsetof(kaon_column_state, reference)
};

static inline KAON_HD int kaon_snapshot_history(const kaon_column_state *state) {
  return state->iterations < KAON_HISTORY ? state->iterations + 1 : KAON_HISTORY;
}

/* The host's side of the copy. It leaves the rest of *to unchanged. */
static inline void kaon_snapshot_read(kaon_column_state *to, const kaon_column_state *from,
                                      int number) {
  memcpy(to->slot, from->slot, KAON_SNAPSHOT_SLOTS * sizeof from->slot[0]);
  if (number != 0) return;
  memcpy(to->history, from->history, (size_t)kaon_snapshot_history(from) * sizeof from->history[0]);
  memcpy(&to->reference, &from->reference, sizeof *from - KAON_SNAPSHOT_TAIL);
}
