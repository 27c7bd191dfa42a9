/* history.c - residuals by iteration: from the ring on the device to the host's record and the
 * user's monitor. The ring holds KAON_HISTORY entries, so the runner polls at least that often. */
#include <math.h>
#include <stdlib.h>

#include "solvers/engine/method.h"
#include "lib/core/entry.h"

enum { FIRST_CAPACITY = 1024 };

kaon_status kaon_history_create(kaon_solver *s) {
  s->history.column = calloc((size_t)s->columns, sizeof *s->history.column);
  if (s->history.column == NULL)
    return kaon_fail(s->ctx, KAON_ERR_MEMORY, "solver: out of host memory");
  return KAON_OK;
}

void kaon_history_destroy(kaon_solver *s) {
  for (int k = 0; s->history.column != NULL && k < s->columns; k++)
    free(s->history.column[k].residual);
  free(s->history.column);
  s->history.column = NULL;
}

void kaon_history_clear(kaon_solver *s) {
  for (int k = 0; k < s->columns; k++) s->history.column[k].count = 0;
}

static kaon_status append(kaon_solver *s, kaon_column_history *h, double residual) {
  if (h->count == h->room) {
    const int room = h->room > 0 ? 2 * h->room : FIRST_CAPACITY;
    double *grown = realloc(h->residual, (size_t)room * sizeof *grown);
    if (grown == NULL)
      return kaon_fail(s->ctx, KAON_ERR_MEMORY, "solver: out of host memory for %d residuals",
                       room);
    h->residual = grown;
    h->room = room;
  }
  h->residual[h->count++] = residual;
  return KAON_OK;
}

/* Within one poll the monitor gets iteration i of all columns before iteration i + 1. A column that
 * waited may follow later with lower iterations. */
kaon_status kaon_history_drain(kaon_solver *s, int *cancel) {
  for (int more = 1; more;) {
    int next = INT32_MAX;
    for (int k = 0; k < s->columns; k++)
      if (s->history.column[k].count <= s->states.host[k].iterations &&
          s->history.column[k].count < next)
        next = s->history.column[k].count;
    more = next != INT32_MAX;
    for (int k = 0; more && k < s->columns; k++) {
      kaon_column_history *h = &s->history.column[k];
      if (h->count != next || h->count > s->states.host[k].iterations) continue;
      const double residual = sqrt(s->states.host[k].history[next % KAON_HISTORY]);
      KAON_TRY(append(s, h, residual));
      if (s->options.monitor == NULL || *cancel) continue;
      const int calls = kaon_callback_begin();
      *cancel = s->options.monitor(s->options.monitor_user, next, k, residual) != 0;
      kaon_callback_end(calls);
    }
  }
  return KAON_OK;
}

kaon_status kaon_solver_history(const kaon_solver *solver, int column, double *history,
                                int *count) {
  KAON_ENTER(KAON_OF(solver), solver, count);
  if (history == NULL && *count > 0)
    return kaon_fail(solver->ctx, KAON_ERR_ARGUMENT,
                     "history: there is room for %d values, but the array is NULL", *count);
  if (column < 0 || column >= solver->columns)
    return kaon_fail(solver->ctx, KAON_ERR_ARGUMENT, "history: column %d is not in 0 .. %d", column,
                     solver->columns - 1);
  const kaon_column_history *h = &solver->history.column[column];
  for (int i = 0; i < h->count && i < *count; i++) history[i] = h->residual[i];
  *count = h->count;
  return KAON_OK;
}
