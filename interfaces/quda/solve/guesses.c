/* guesses.c - chronological guesses: earlier solutions, by index. Contract: solves.h.
 * Solutions stay when links change; that is what they are for. */
#include "solves.h"

static void flush(kaon_quda_solutions *s, int most) {
  while (s->count > most) kaon_vector_destroy(&s->kept[--s->count]);
}

/* The solutions of an index. Those of other vectors than x are no help, and are dropped. */
static kaon_status find(int index, const kaon_vector *x, kaon_quda_solutions **found) {
  if (index < 0 || index >= KAON_QUDA_CHRONO)
    return kaon_quda_refuse(KAON_ERR_ARGUMENT, "chrono_index is %d, but must be from 0 to %d",
                            index, KAON_QUDA_CHRONO - 1);
  kaon_quda_solutions *s = *found = &kaon_quda()->solutions[index];
  if (x != NULL && s->count > 0 &&
      (kaon_vector_space(s->kept[0]) != kaon_vector_space(x) ||
       kaon_vector_columns(s->kept[0]) != kaon_vector_columns(x)))
    flush(s, 0);
  return KAON_OK;
}

kaon_status kaon_quda_guess(const QudaInvertParam *param, kaon_operator *A, const kaon_vector *b,
                            kaon_vector *x) {
  kaon_quda_solutions *s;
  const kaon_status status = find(param->chrono_index, x, &s);
  return status == KAON_OK ? kaon_forecast(A, s->count, s->kept, b, x) : status;
}

kaon_status kaon_quda_keep_solution(const QudaInvertParam *param, const kaon_vector *x) {
  kaon_quda_solutions *s;
  kaon_vector *first = NULL;
  const int wanted = param->chrono_max_dim,
            most = wanted < KAON_FORECAST_MOST ? wanted : KAON_FORECAST_MOST;
  kaon_status status = find(param->chrono_index, x, &s);
  if (status != KAON_OK) return status;
  if (wanted < 1)
    return kaon_quda_refuse(KAON_ERR_ARGUMENT, "chrono_max_dim is %d, but must be positive",
                            wanted);
  if (param->chrono_replace_last && s->count > 0) return kaon_vector_copy(s->kept[0], x);
  flush(s, most - 1); /* the oldest */
  status = kaon_vector_create(kaon_quda()->ctx, kaon_vector_space(x), kaon_vector_precision(x),
                              kaon_vector_columns(x), &first);
  if (status != KAON_OK) return status;
  for (int i = s->count++; i > 0; i--) s->kept[i] = s->kept[i - 1];
  s->kept[0] = first;
  return kaon_vector_copy(first, x);
}

void flushChronoQuda(int index) {
  kaon_quda_solutions *s;
  if (index >= 0) kaon_quda_check(__func__, find(index, NULL, &s));
  for (int i = 0; i < KAON_QUDA_CHRONO; i++)
    if (index < 0 || index == i) flush(&kaon_quda()->solutions[i], 0);
}
