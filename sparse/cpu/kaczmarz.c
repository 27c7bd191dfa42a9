/* kaczmarz.c - sweeps of row projections on the CPU. One thread processes the rows of a group, so a
 * sweep in row order is sequential. Threads share the groups of a launch. The result does not
 * depend on how, since groups of a launch touch no common elements. */
#include "lib/cpu/reduce.h"
#include "lib/cpu/team.h"
#include "sparse/cpu/kernels.h"
#include "sparse/cpu/lanes.h"
#include "lib/math/steps/projection.h"

enum { SHARED_ROWS = 1024 }; /* rows of a launch from which threads share it */

typedef struct projections {
  const kaon_project_args *args;
  source from; /* addresses of vector elements */
} projections;

/* Projects onto one row, for one column. plain: one column of reals, whose elements are at their
 * index. */
KAON_INLINE void project_row(const projections *p, int64_t row, int64_t skip, const int reals,
                             const int wide, const int plain) {
  const kaon_project_args *a = p->args;
  const kaon_stored_matrix *m = a->matrix;
  const int64_t begin = wide ? ((const int64_t *)m->start)[row] : ((const int32_t *)m->start)[row];
  const int64_t end =
      wide ? ((const int64_t *)m->start)[row + 1] : ((const int32_t *)m->start)[row + 1];
  const real *value = m->value;
  real *y = (real *)a->y.data + skip;
  real s[2] = {0, 0}, c[2] = {0, 0};
  for (int64_t n = begin; n < end; n++)
    projection_dot(s, value + n * reals,
                   y + (plain ? (int64_t)m->column[n] : source_offset(&p->from, m->column[n])),
                   KAON_W, reals);
  if (a->b.data != NULL) {
    const real *b = (const real *)a->b.data + skip + source_offset(&p->from, row);
    for (int i = 0; i < reals; i++) c[i] = ((const real *)a->weight)[row] * b[i * KAON_W];
  }
  for (int i = 0; i < reals; i++) c[i] -= s[i];
  for (int64_t n = begin; n < end; n++)
    projection_add(y + (plain ? (int64_t)m->column[n] : source_offset(&p->from, m->column[n])),
                   value + n * reals, c, KAON_W, reals);
}

/* Projects onto rows [first, last) of the order. */
KAON_INLINE void project_rows(const projections *p, int64_t first, int64_t last, const int reals,
                              const int wide, const int plain) {
  const kaon_project_args *a = p->args;
  for (int64_t n = first; n < last; n++) {
    const int64_t row = a->order->row[a->backward ? first + last - 1 - n : n];
    for (int k = 0; k < (plain ? 1 : a->nrhs); k++)
      if (plain || kaon_gate_open(&a->gate, k))
        project_row(p, row, (int64_t)k * reals * KAON_W, reals, wide, plain);
  }
}

static void project_any(const projections *p, int64_t first, int64_t last) {
  const kaon_stored_matrix *m = p->args->matrix;
  if (m->reals == 1 && p->args->nrhs == 1 && !m->wide)
    project_rows(p, first, last, 1, 0, 1);
  else if (m->reals == 1)
    project_rows(p, first, last, 1, m->wide, 0);
  else
    project_rows(p, first, last, 2, m->wide, 0);
}

/* The first row of a group. */
static int64_t group_begin(const kaon_sweep_order_view *o, int64_t group) {
  const int64_t step = o->group != NULL ? o->group[group] : group;
  return o->step != NULL ? o->step[step] : step;
}

static void project_groups(const projections *p, int64_t first, int64_t last) {
  const kaon_sweep_order_view *o = p->args->order;
  if (o->group == NULL) /* rows in any order: one loop */
    project_any(p, group_begin(o, first), group_begin(o, last));
  else
    for (int64_t g = first; g < last; g++) project_any(p, group_begin(o, g), group_begin(o, g + 1));
}

void KAON_EXPORT(kaon_row_project)(const kaon_launch *launch, const kaon_project_args *args) {
  const kaon_sweep_order_view *o = args->order;
  const projections p = {.args = args,
                         .from = {.stride = (int64_t)args->nrhs * args->matrix->reals * KAON_W}};
  int open = 0;
  for (int k = 0; k < args->nrhs; k++) open += kaon_gate_open(&args->gate, k);
  for (int i = 0; i < o->launches && open; i++) {
    const int l = args->backward ? o->launches - 1 - i : i;
    const int64_t first = o->launch[l], last = o->launch[l + 1];
    const int64_t rows = group_begin(o, last) - group_begin(o, first);
    const int shared = last - first > 1 && rows * args->nrhs >= SHARED_ROWS;
    const int threads = kaon_team(launch, shared);
    if (threads == 1) {
      project_groups(&p, first, last);
      continue;
    }
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int t = 0; t < threads; t++)
      project_groups(&p, first + (last - first) * t / threads,
                     first + (last - first) * (t + 1) / threads);
  }
}
