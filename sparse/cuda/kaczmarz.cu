/* kaczmarz.cu - sweeps of row projections on the GPU. `lanes` threads of a warp share a row. Each
 * holds what it read of the row and of y from the product to the correction, so both are read once.
 * The next matrix data are read while a row waits for the previous ones; the first row reads them
 * before the previous launch has ended.
 *
 * There are two ways to distribute an order.
 * - By launches: all blocks share the groups of a launch, and lanes process the rows of a group in
 *   order. Several launches of few groups are one block's, with barriers between them.
 * - Owned: a block has one group. Its steps follow one another, and all threads share the rows of a
 *   step. The group's part of y is copied to shared memory if it fits (CARP's blocks). */
#include "sparse/cuda/rows.h"

#include "lib/math/steps/projection.h"

/* PROJECT_THREADS, OWNER_THREADS: threads of a block by launches, and of an owner. PROJECT_TURNS: a
 * launch is small if one block completes it in so many turns. KEPT: entries of a row that a
 * thread holds. */
enum { PROJECT_THREADS = 256, OWNER_THREADS = 128, PROJECT_TURNS = 4, KEPT = 4 };
enum { PROJECT_SHARED = 48 << 10 }; /* bytes of shared memory without opt-in */

typedef struct project_call {
  const void *start;
  const int32_t *column;
  const void *value;
  int wide, early, lanes, nrhs;
  uint64_t policy; /* as in rows_call */
  int64_t gap;     /* as in rows_call */
  int backward, owned, shared;
  int from, count; /* launches in this kernel launch: from, from + 1 (backward: from - 1), ... */
  int chunks;      /* blocks for a column */
  int longest;     /* rows of the longest group; owned: 1 */
  const int64_t *launch, *group, *step, *part;
  const int32_t *row;
  const real *weight;
  const real *b; /* NULL: 0 */
  real *y;
  kaon_gate gate;
} project_call;

/* The iteration space of a block: turns n over bounds[first +- n], the bounds of groups or of an
 * owner's rows; in a turn position i and row r of its groups. The same for all threads of the
 * block. */
typedef struct project_walk {
  const int64_t *bounds;
  int64_t first;
  int turns;
  int64_t offset, stride; /* of this block's threads in a turn */
  int n, r;
  int64_t i, end;
} project_walk;

KAON_DEVICE void walk_turn(const project_call &a, project_walk *w) {
  if (w->n >= w->turns) return;
  const int64_t at = a.backward ? w->first - w->n : w->first + w->n;
  w->i = __ldg(w->bounds + at) + w->offset;
  w->end = __ldg(w->bounds + at + 1);
}

KAON_DEVICE void walk_on(const project_call &a, project_walk *w) {
  if (++w->r < a.longest) return;
  w->r = 0;
  w->i += w->stride;
  if (w->i < w->end) return;
  w->n++;
  walk_turn(a, w);
}

/* A thread's share of a row: its first KEPT entries, and the position of the rest. */
template <int REALS>
struct row_share {
  int row; /* -1: none */
  int64_t begin, end;
  int column[KEPT];
  kaon_packet<real, REALS> value[KEPT];
};

KAON_DEVICE int64_t project_start(const project_call &a, int64_t i) {
  return a.wide ? __ldg((const int64_t *)a.start + i)
                : (int64_t)__ldg((const int32_t *)a.start + i);
}

template <int REALS>
KAON_DEVICE void share_read(const project_call &a, const project_walk &w, uint64_t policy,
                            row_share<REALS> *s) {
  s->row = -1;
  if (w.n >= w.turns) return;
  const int64_t mine = w.i + threadIdx.x / a.lanes;
  if (mine >= w.end) return;
  int64_t at = mine;
  if (!a.owned && a.group != NULL) {
    const int64_t low = __ldg(a.group + mine), high = __ldg(a.group + mine + 1);
    if (w.r >= high - low) return;
    at = a.backward ? high - 1 - w.r : low + w.r;
  }
  s->row = __ldg(a.row + at);
  s->begin = project_start(a, s->row) + (threadIdx.x & (a.lanes - 1));
  s->end = project_start(a, (int64_t)s->row + 1);
#pragma unroll
  for (int k = 0; k < KEPT; k++) {
    const int64_t n = s->begin + (int64_t)k * a.lanes;
    if (n >= s->end) continue;
    s->column[k] = column_read(a.column + n, policy);
    s->value[k] = entry_number<REALS, 0>(entry_read<REALS, 0>(a.value, n, policy));
  }
}

/* Address of element c of y for this block's column: in shared memory from `part` on. */
template <int REALS>
KAON_DEVICE kaon_packet<real, REALS> *number_of(const project_call &a,
                                                kaon_packet<real, REALS> *copy, int64_t part,
                                                int column, int64_t c) {
  typedef kaon_packet<real, REALS> number;
  if (copy != NULL) return copy + (c - part);
  return (number *)a.y + c + (c >> 5) * a.gap + column * KAON_LANES;
}

/* All threads of the warp must call it. */
template <int REALS>
KAON_DEVICE void share_project(const project_call &a, const row_share<REALS> &s,
                               kaon_packet<real, REALS> *copy, int64_t part, int column,
                               uint64_t policy) {
  typedef kaon_packet<real, REALS> number;
  number y[KEPT], sum = {}, c = {};
  const int64_t rest = s.begin + (int64_t)KEPT * a.lanes;
  if (s.row >= 0) {
#pragma unroll
    for (int k = 0; k < KEPT; k++) {
      if (s.begin + (int64_t)k * a.lanes >= s.end) continue;
      y[k] = *number_of<REALS>(a, copy, part, column, s.column[k]);
      projection_dot(sum.v, s.value[k].v, y[k].v, 1, REALS);
    }
#pragma unroll 1
    for (int64_t n = rest; n < s.end; n += a.lanes) {
      const number v = entry_number<REALS, 0>(entry_read<REALS, 0>(a.value, n, policy));
      const number x = *number_of<REALS>(a, copy, part, column, column_read(a.column + n, policy));
      projection_dot(sum.v, v.v, x.v, 1, REALS);
    }
  }
  for (int other = a.lanes / 2; other > 0; other /= 2)
#pragma unroll
    for (int i = 0; i < REALS; i++) sum.v[i] += __shfl_xor_sync(0xffffffffu, sum.v[i], other);
  if (s.row < 0) return;
  if (a.b != NULL) {
    const int64_t at = (int64_t)s.row + (s.row >> 5) * a.gap + column * KAON_LANES;
    const number b = ((const number *)a.b)[at];
    const real weight = __ldg(a.weight + s.row);
#pragma unroll
    for (int i = 0; i < REALS; i++) c.v[i] = weight * b.v[i];
  }
#pragma unroll
  for (int i = 0; i < REALS; i++) c.v[i] -= sum.v[i];
#pragma unroll
  for (int k = 0; k < KEPT; k++) {
    if (s.begin + (int64_t)k * a.lanes >= s.end) continue;
    projection_add(y[k].v, s.value[k].v, c.v, 1, REALS);
    *number_of<REALS>(a, copy, part, column, s.column[k]) = y[k];
  }
#pragma unroll 1
  for (int64_t n = rest; n < s.end; n += a.lanes) {
    const number v = entry_number<REALS, 0>(entry_read<REALS, 0>(a.value, n, policy));
    number *x = number_of<REALS>(a, copy, part, column, column_read(a.column + n, policy));
    number corrected = *x;
    projection_add(corrected.v, v.v, c.v, 1, REALS);
    *x = corrected;
  }
}

/* Copies an owner's part of y from global memory, or back to it. */
template <int REALS>
KAON_DEVICE void part_copy(const project_call &a, kaon_packet<real, REALS> *copy, int64_t part,
                           int64_t end, int column, bool back) {
  typedef kaon_packet<real, REALS> number;
  for (int64_t c = part + threadIdx.x; c < end; c += blockDim.x) {
    number *y = number_of<REALS>(a, (number *)NULL, 0, column, c);
    if (back)
      *y = copy[c - part];
    else
      copy[c - part] = *y;
  }
}

template <int REALS>
static __global__ void __launch_bounds__(PROJECT_THREADS)
    project_kernel(const __grid_constant__ project_call a) {
  typedef kaon_packet<real, REALS> number;
  extern __shared__ __align__(16) unsigned char project_shared[];
  const int column = (int)(blockIdx.x % (unsigned)a.nrhs);
  const int chunk = (int)(blockIdx.x / (unsigned)a.nrhs);
  const int each = blockDim.x / a.lanes;
  const uint64_t policy = stored_policy(a.policy);
  if (!a.early) kaon_wait_for_previous();
  project_walk w = {a.launch, a.from, a.count, (int64_t)chunk * each, (int64_t)a.chunks * each, 0,
                    0,        0,      0};
  number *copy = NULL;
  int64_t part = 0, part_end = 0;
  if (a.owned) {
    const int64_t low = __ldg(a.group + chunk), high = __ldg(a.group + chunk + 1);
    w.bounds = a.step;
    w.first = a.backward ? high - 1 : low;
    w.turns = (int)(high - low);
    w.offset = 0;
    w.stride = each;
    if (a.shared) {
      copy = (number *)project_shared;
      part = __ldg(a.part + chunk);
      part_end = __ldg(a.part + chunk + 1);
    }
  }
  row_share<REALS> now, next;
  walk_turn(a, &w);
  share_read<REALS>(a, w, policy, &now);
  if (a.early) kaon_wait_for_previous();
  kaon_let_next_start();
  if (!gate_open(a.gate, column)) return;
  if (copy != NULL) {
    part_copy<REALS>(a, copy, part, part_end, column, false);
    __syncthreads();
  }
  while (w.n < w.turns) {
    const int turn = w.n;
    walk_on(a, &w);
    share_read<REALS>(a, w, policy, &next);
    share_project<REALS>(a, now, copy, part, column, policy);
    if (w.n != turn)
      __syncthreads();
    else
      __syncwarp();
    now = next;
  }
  if (copy != NULL) part_copy<REALS>(a, copy, part, part_end, column, true);
}

static int project_lanes(const kaon_stored_matrix *m) {
  const int64_t mean = m->rows > 0 ? m->entries / m->rows : 0;
  int lanes = 1;
  while (lanes < KAON_LANES && mean > 2 * lanes) lanes *= 2;
  return lanes;
}

static bool project_small(const kaon_sweep_order_view *o, int launch, int lanes) {
  const int64_t groups = o->launch[launch + 1] - o->launch[launch];
  return groups * lanes * o->longest <= PROJECT_THREADS * PROJECT_TURNS;
}

/* Few groups are distributed over the multiprocessors: two blocks each, of fewer threads. */
static unsigned project_threads(int64_t groups, int lanes) {
  unsigned threads = PROJECT_THREADS;
  while (threads > 32 && groups * lanes < (int64_t)threads * 264) threads /= 2;
  return threads;
}

static void project_launch(const kaon_launch *launch, const project_call &a, int reals,
                           unsigned threads, unsigned shared) {
  const unsigned blocks = (unsigned)a.chunks * (unsigned)a.nrhs;
  if (reals == 1)
    kaon_cuda_launch(launch, project_kernel<1>, blocks, threads, a, shared);
  else
    kaon_cuda_launch(launch, project_kernel<2>, blocks, threads, a, shared);
}

/* All launches of an owned order are one kernel launch. */
static void project_owned(const kaon_launch *launch, const kaon_project_args *args,
                          project_call a) {
  const kaon_sweep_order_view *o = args->order;
  const int64_t bytes = o->largest * args->matrix->reals * (int64_t)sizeof(real);
  a.owned = 1;
  a.longest = 1;
  a.shared = o->part != NULL && bytes <= PROJECT_SHARED;
  a.part = o->part;
  a.chunks = (int)o->launch[o->launches];
  if (a.chunks > 0)
    project_launch(launch, a, args->matrix->reals, OWNER_THREADS, a.shared ? (unsigned)bytes : 0);
}

extern "C" void KAON_EXPORT(kaon_row_project)(const kaon_launch *launch,
                                              const kaon_project_args *args) {
  const kaon_stored_matrix *m = args->matrix;
  const kaon_sweep_order_view *o = args->order;
  project_call a = {};
  a.start = m->start;
  a.column = m->column;
  a.value = m->value;
  a.wide = m->wide;
  a.policy = rows_bytes(m) <= row_cache ? row_evict_normal : row_evict_first;
  a.early = launch->early;
  a.lanes = project_lanes(m);
  a.nrhs = args->nrhs;
  a.gap = (int64_t)(args->nrhs - 1) * KAON_LANES;
  a.backward = args->backward;
  a.longest = (int)o->longest;
  a.launch = o->launch_there;
  a.group = o->group;
  a.step = o->step;
  a.row = o->row;
  a.weight = (const real *)args->weight;
  a.b = (const real *)args->b.data;
  a.y = (real *)args->y.data;
  a.gate = args->gate;
  if (o->step != NULL && o->launches == 1) {
    project_owned(launch, args, a);
    return;
  }
  for (int n = 0; n < o->launches; n += a.count) {
    const int step = args->backward ? -1 : 1;
    a.from = args->backward ? o->launches - 1 - n : n;
    a.count = 1;
    a.chunks = 1;
    unsigned threads = PROJECT_THREADS;
    const int64_t groups = o->launch[a.from + 1] - o->launch[a.from];
    if (project_small(o, a.from, a.lanes)) {
      while (n + a.count < o->launches && project_small(o, a.from + step * a.count, a.lanes))
        a.count++;
    } else {
      threads = project_threads(groups, a.lanes);
      a.chunks = (int)((groups * a.lanes + threads - 1) / threads);
    }
    project_launch(launch, a, m->reals, threads, 0);
    a.early = launch->dependent; /* the previous kernel is one of these, which write only y */
  }
}
