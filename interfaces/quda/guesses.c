/* guesses.c - chronological guesses: earlier solutions, by index. Contract: solves.h.
 * Solutions stay when links change; that is what they are for. */
#include "solves.h"

enum { INDICES = 12 };

static struct {
  int count;
  kaon_vector *kept[KAON_FORECAST_MOST]; /* the newest first */
} solutions[INDICES];

static void flush(int index) {
  for (int i = 0; i < solutions[index].count; i++) kaon_vector_destroy(&solutions[index].kept[i]);
  solutions[index].count = 0;
}

static void flush_all(void) {
  for (int index = 0; index < INDICES; index++) flush(index);
}

static kaon_status check(int index) {
  if (index >= 0 && index < INDICES) return KAON_OK;
  return kaon_quda_refuse(KAON_ERR_ARGUMENT, "chrono_index is %d, but must be from 0 to %d", index,
                          INDICES - 1);
}

/* Solutions of other vectors are no help. */
static void flush_others(int index, const kaon_vector *x) {
  if (solutions[index].count == 0) return;
  const kaon_vector *kept = solutions[index].kept[0];
  if (kaon_vector_space(kept) != kaon_vector_space(x) ||
      kaon_vector_columns(kept) != kaon_vector_columns(x))
    flush(index);
}

kaon_status kaon_quda_guess(const QudaInvertParam *param, kaon_operator *A, const kaon_vector *b,
                            kaon_vector *x) {
  const int index = param->chrono_index;
  const kaon_status status = check(index);
  if (status != KAON_OK) return status;
  flush_others(index, x);
  return kaon_forecast(A, solutions[index].count, solutions[index].kept, b, x);
}

/* Makes room in front; the oldest is dropped if there are `most`. */
static kaon_status make_room(int index, int most, const kaon_vector *x) {
  kaon_vector **kept = solutions[index].kept, *first = NULL;
  while (solutions[index].count > most) kaon_vector_destroy(&kept[--solutions[index].count]);
  if (solutions[index].count == most)
    first = kept[--solutions[index].count];
  else {
    const kaon_status status =
        kaon_vector_create(kaon_quda()->ctx, kaon_vector_space(x), kaon_vector_precision(x),
                           kaon_vector_columns(x), &first);
    if (status != KAON_OK) return status;
  }
  for (int i = solutions[index].count++; i > 0; i--) kept[i] = kept[i - 1];
  kept[0] = first;
  return KAON_OK;
}

kaon_status kaon_quda_keep_solution(const QudaInvertParam *param, const kaon_vector *x) {
  const int index = param->chrono_index;
  const int most =
      param->chrono_max_dim < KAON_FORECAST_MOST ? param->chrono_max_dim : KAON_FORECAST_MOST;
  kaon_status status = check(index);
  if (status != KAON_OK) return status;
  if (most < 1)
    return kaon_quda_refuse(KAON_ERR_ARGUMENT, "chrono_max_dim is %d, but must be positive",
                            param->chrono_max_dim);
  kaon_quda_at_end(flush_all);
  flush_others(index, x);
  if (!param->chrono_replace_last || solutions[index].count == 0)
    status = make_room(index, most, x);
  return status == KAON_OK ? kaon_vector_copy(solutions[index].kept[0], x) : status;
}

void flushChronoQuda(int index) {
  if (index < 0) {
    flush_all();
    return;
  }
  kaon_quda_check(__func__, check(index));
  flush(index);
}
