/* sweep.c - elements for messages, and triangular sweeps, on the CPU.
 * - By level: rows of a level do not depend on each other, so threads share them. A level that is
 *   too short stays with one thread, and so does a sweep of such levels.
 * - By index: rows of a level are far apart in memory. If row indices are a valid order
 *   (kaon_levels_args.in_order), one thread in index order is faster than a few threads by level.
 * - Pipelined: if there is a plan (kaon_pipeline), several threads follow one another in index
 *   order.
 * By index a row may wait only for the one before it. Therefore the product with that row's result
 * is added last; else a downward sweep would wait for all additions of a row. A row's bits do not
 * depend on when it is computed. */
#include <omp.h>
#include <sched.h>
#include <stdatomic.h>

#include "lib/cpu/reduce.h"
#include "lib/cpu/team.h"
#include "sparse/cpu/kernels.h"
#include "sparse/cpu/lanes.h"

enum { PICKED_ALONE = 8192 };
enum { LEVEL_ROWS = 256 }; /* average rows of a level from which threads share levels */

static void pick_some(const kaon_pick_args *args, int column, int64_t first, int64_t last) {
  const source from = {.stride = (int64_t)args->nrhs * args->reals * KAON_W};
  const real *x = args->x.data;
  real *to = args->to.data;
  for (int64_t n = first; n < last; n++)
    for (int i = 0; i < args->reals; i++) {
      const int64_t skip = ((int64_t)column * args->reals + i) * KAON_W;
      to[skip + source_offset(&from, n)] = x[skip + source_offset(&from, args->row[n])];
    }
}

void KAON_EXPORT(kaon_pick)(const kaon_launch *launch, const kaon_pick_args *args) {
  for (int k = 0; k < args->nrhs; k++) {
    if (!kaon_gate_open(&args->gate, k)) continue;
    const int threads = kaon_team(launch, args->count > PICKED_ALONE);
    if (threads == 1) {
      pick_some(args, k, 0, args->count);
      continue;
    }
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int t = 0; t < threads; t++)
      pick_some(args, k, args->count * t / threads, args->count * (t + 1) / threads);
  }
}

typedef struct sweep {
  const kaon_levels_args *args;
  const real *x;
  real *y;
  int64_t stride;
  int in_row_order; /* rows are processed by index, not by level */
} sweep;

/* y_i = (x_i - sum_j t_ij y_j) d_i of one row and column. */
KAON_INLINE void solve_row(const sweep *s, int64_t row, int64_t skip, const int reals,
                           const int half, const int wide) {
  const kaon_stored_matrix *m = s->args->matrix;
  const source from = {.stride = s->stride};
  const int64_t begin = wide ? ((const int64_t *)m->start)[row] : ((const int32_t *)m->start)[row];
  const int64_t end =
      wide ? ((const int64_t *)m->start)[row + 1] : ((const int32_t *)m->start)[row + 1];
  const int64_t at = skip + source_offset(&from, row);
  const real *d = s->args->diagonal;
  const int down = s->args->in_order < 0;
  real re = 0, im = 0;
  for (int64_t i = begin; i < end; i++) {
    const int64_t n = down ? begin + end - 1 - i : i;
    const real *y = s->y + skip + source_offset(&from, m->column[n]);
    const real tr =
        half ? (real)((const int16_t *)m->value)[n * reals] : ((const real *)m->value)[n * reals];
    re += tr * y[0];
    if (reals == 1) continue;
    const real ti = half ? (real)((const int16_t *)m->value)[n * reals + 1]
                         : ((const real *)m->value)[n * reals + 1];
    re -= ti * y[KAON_W];
    im += tr * y[KAON_W] + ti * y[0];
  }
  if (half) {
    const real step = (real)m->scale[row] * (real)KAON_HALF_STEP;
    re *= step;
    im *= step;
  }
  re = s->x[at] - re;
  if (reals == 1) {
    s->y[at] = d != NULL ? re * d[row] : re;
    return;
  }
  im = s->x[at + KAON_W] - im;
  const real dr = d != NULL ? d[2 * row] : 1, di = d != NULL ? d[2 * row + 1] : 0;
  s->y[at] = re * dr - im * di;
  s->y[at + KAON_W] = re * di + im * dr;
}

/* The same for one column of reals with 4-byte starts, whose elements are at their row index. */
KAON_INLINE void solve_plain(const sweep *s, int64_t first, int64_t last, const int down) {
  const kaon_levels_args *a = s->args;
  const kaon_stored_matrix *m = a->matrix;
  const int32_t *start = m->start, *column = m->column;
  const real *value = m->value, *d = a->diagonal, *x = s->x;
  real *y = s->y, before = 0;
  int64_t near = -1; /* the row whose result is `before` */
  for (int64_t n = first; n < last; n++) {
    const int64_t row = !s->in_row_order ? a->row[n] : down ? m->rows - 1 - n : n;
    const int64_t begin = start[row], count = start[row + 1] - begin;
    const real *v = value + (down ? begin + count - 1 : begin);
    const int32_t *c = column + (down ? begin + count - 1 : begin);
    real sum = 0;
    for (int64_t i = 0; i < count; i++) {
      const int64_t at = down ? c[-i] : c[i];
      const real z = at == near ? before : y[at];
      sum += (down ? v[-i] : v[i]) * z;
    }
    sum = x[row] - sum;
    before = d != NULL ? sum * d[row] : sum;
    near = row;
    y[row] = before;
  }
}

KAON_INLINE void solve_rows(const sweep *s, int64_t first, int64_t last, const int reals,
                            const int half, const int wide) {
  const kaon_levels_args *a = s->args;
  for (int64_t n = first; n < last; n++) {
    const int64_t row = !s->in_row_order  ? a->row[n]
                        : a->in_order > 0 ? n
                                          : a->matrix->rows - 1 - n;
    for (int k = 0; k < a->nrhs; k++)
      if (kaon_gate_open(&a->gate, k))
        solve_row(s, row, (int64_t)k * reals * KAON_W, reals, half, wide);
  }
}

static void solve_any(const sweep *s, int64_t first, int64_t last) {
  const kaon_stored_matrix *m = s->args->matrix;
  if (s->stride == KAON_W && m->reals == 1 && !m->half && !m->wide) {
    if (!kaon_gate_open(&s->args->gate, 0)) return;
    if (s->args->in_order < 0)
      solve_plain(s, first, last, 1);
    else
      solve_plain(s, first, last, 0);
  } else if (m->reals == 1 && !m->half && !m->wide)
    solve_rows(s, first, last, 1, 0, 0);
  else if (m->reals == 1)
    solve_rows(s, first, last, 1, m->half, m->wide);
  else
    solve_rows(s, first, last, 2, m->half, m->wide);
}

/* ---- several threads, each by index (sparse/sweeps/pipeline.h) ---- */

/* POLLS: polls before the thread yields, since the awaited thread may have no core. */
enum { LINE = 64, POLLS = 4096 };

/* Rows that a thread has completed, counted in sweep order, in a cache line of its own. */
typedef struct passed {
  _Alignas(LINE) _Atomic int32_t rows;
} passed;

/* Lets the core's other hardware thread run. */
static void pause_briefly(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

static void wait_for_others(const kaon_pipeline *p, passed *threads, int chunk) {
  const int32_t *need = p->need + (size_t)chunk * (size_t)p->threads;
  for (int t = 0; t < p->threads; t++)
    for (int polls = 0; need[t] > atomic_load_explicit(&threads[t].rows, memory_order_acquire);)
      if (++polls > POLLS)
        sched_yield();
      else
        pause_briefly();
}

static void solve_strips(const sweep *s, const kaon_pipeline *p, passed *threads, int own) {
  for (int strip = own; strip < p->strips; strip += p->threads)
    for (int chunk = p->strip[strip]; chunk < p->strip[strip + 1]; chunk++) {
      wait_for_others(p, threads, chunk);
      solve_any(s, p->chunk[chunk], p->chunk[chunk + 1]);
      atomic_store_explicit(&threads[own].rows, p->chunk[chunk + 1], memory_order_release);
    }
}

/* A team smaller than requested would wait for threads that do not exist. */
static void solve_ahead(const sweep *s, const kaon_pipeline *p) {
  passed threads[KAON_PIPELINE_THREADS];
  for (int t = 0; t < p->threads; t++) atomic_init(&threads[t].rows, 0);
#pragma omp parallel num_threads(p->threads)
  {
    const int own = omp_get_thread_num(), whole = omp_get_num_threads() == p->threads;
    if (whole)
      solve_strips(s, p, threads, own);
    else if (own == 0)
      solve_any(s, 0, s->args->matrix->rows);
  }
}

void KAON_EXPORT(kaon_levels)(const kaon_launch *launch, const kaon_levels_args *args) {
  const kaon_stored_matrix *m = args->matrix;
  const int shared = m->rows / LEVEL_ROWS * args->nrhs >= args->levels;
  const int team = kaon_team(launch, shared);
  const kaon_pipeline *ahead = args->pipeline;
  int open = 0;
  for (int k = 0; k < args->nrhs; k++) open |= kaon_gate_open(&args->gate, k);
  if (!open) return;
  if (ahead != NULL && ahead->threads != launch->threads) ahead = NULL;
  const sweep s = {
      .args = args,
      .in_row_order = ahead != NULL || (args->in_order != 0 && team < KAON_LEVEL_THREADS),
      .x = args->x.data,
      .y = args->y.data,
      .stride = (int64_t)args->nrhs * m->reals * KAON_W};
  const int threads = s.in_row_order ? 1 : team;
  if (ahead != NULL) {
    solve_ahead(&s, ahead);
    return;
  }
  if (s.in_row_order) {
    solve_any(&s, 0, m->rows);
    return;
  }
  for (int i = 0; i < args->levels && threads == 1; i++) { /* a level may be a single row */
    const int level = args->backward ? args->levels - 1 - i : i;
    solve_any(&s, args->level_host[level], args->level_host[level + 1]);
  }
  if (threads == 1) return;
#pragma omp parallel num_threads(threads)
  for (int i = 0; i < args->levels; i++) {
    const int level = args->backward ? args->levels - 1 - i : i;
    const int64_t first = args->level_host[level], count = args->level_host[level + 1] - first;
#pragma omp for schedule(static)
    for (int t = 0; t < threads; t++)
      solve_any(&s, first + count * t / threads, first + count * (t + 1) / threads);
  }
}
