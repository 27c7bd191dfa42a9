/* levels.cu - triangular sweeps level by level, and packing of messages, on the GPU. A level of
 * many rows is one launch. One block processes consecutive small levels, with barriers between
 * them. */
#include "sparse/cuda/rows.h"

/* LEVEL_THREADS: threads of a block. LEVEL_TURNS: a level is small if one block completes it in so
 * many turns. */
enum { LEVEL_THREADS = 512, LEVEL_TURNS = 4 };

typedef struct levels_call {
  rows_call rows; /* lanes: threads of a row; x, y */
  int half, backward;
  int from, count; /* levels of this launch: from, from + 1 (backward: from - 1), ... */
  int chunks;      /* blocks for a column; 1 where count > 1 */
  const int64_t *level;
  const int32_t *row;
  const real *diagonal; /* [row * REALS + part]; NULL: 1 */
} levels_call;

/* sum_j t_ij y_j over a thread's share of row i, with y_j of earlier levels. It does not use the
 * read-only path, since this block may have written them. */
template <int REALS>
KAON_DEVICE kaon_packet<real, REALS> level_sum(const levels_call &a, int row, int lane, int column,
                                               uint64_t policy) {
  typedef kaon_packet<real, REALS> number;
  const rows_call &r = a.rows;
  const int64_t end = start_read(r, row + 1);
  number s = {};
#pragma unroll 2
  for (int64_t i = start_read(r, row) + lane; i < end; i += r.lanes) {
    const int c = column_read(r.column + i, policy);
    number v;
#if defined(KAON_PREC_SINGLE)
    if (a.half)
      v = entry_number<REALS, 1>(entry_read<REALS, 1>(r.value, i, policy));
    else
#endif
      v = entry_number<REALS, 0>(entry_read<REALS, 0>(r.value, i, policy));
    number_add<REALS>(&s, v, ((const number *)r.y)[number_at(r, c) + column * KAON_LANES]);
  }
  return s;
}

template <int REALS>
KAON_DEVICE void level_end(const levels_call &a, int row, int column, kaon_packet<real, REALS> s) {
  typedef kaon_packet<real, REALS> number;
  const rows_call &r = a.rows;
  const int64_t at = number_at(r, row) + column * KAON_LANES;
  number x = ((const number *)r.x)[at];
  real scale = 1;
#if defined(KAON_PREC_SINGLE)
  if (a.half) scale = __ldg(r.scale + row) * (1.0f / 32767);
#endif
#pragma unroll
  for (int c = 0; c < REALS; c++) x.v[c] = -scale * s.v[c] + x.v[c];
  number y = x;
  if (a.diagonal != NULL) {
    const number d = ((const number *)a.diagonal)[row];
    y = number{};
    number_add<REALS>(&y, d, x);
  }
  ((number *)r.y)[at] = y;
}

template <int REALS>
static __global__ void __launch_bounds__(LEVEL_THREADS)
    levels_kernel(const __grid_constant__ levels_call a) {
  const int column = (int)(blockIdx.x % (unsigned)a.rows.nrhs);
  const int chunk = (int)(blockIdx.x / (unsigned)a.rows.nrhs);
  const int lanes = a.rows.lanes, lane = threadIdx.x & (lanes - 1);
  const int each = LEVEL_THREADS / lanes;
  const uint64_t policy = matrix_policy(a.rows);
  kaon_wait_for_previous();
  if (!gate_open(a.rows.sums.gate, column)) return;
  for (int n = 0; n < a.count; n++) {
    const int level = a.backward ? a.from - n : a.from + n;
    const int64_t begin = a.level[level], end = a.level[level + 1];
    for (int64_t i = begin + (int64_t)chunk * each; i < end; i += (int64_t)a.chunks * each) {
      const int64_t mine = i + threadIdx.x / lanes;
      const int row = mine < end ? a.row[mine] : 0;
      kaon_packet<real, REALS> s = {};
      if (mine < end) s = level_sum<REALS>(a, row, lane, column, policy);
      for (int other = lanes / 2; other > 0; other /= 2)
#pragma unroll
        for (int c = 0; c < REALS; c++) s.v[c] += __shfl_xor_sync(0xffffffffu, s.v[c], other);
      if (mine < end && lane == 0) level_end<REALS>(a, row, column, s);
    }
    if (n + 1 < a.count) __syncthreads();
  }
}

static int level_lanes(const kaon_stored_matrix *m) {
  const int64_t mean = m->rows > 0 ? m->entries / m->rows : 0;
  int lanes = 1;
  while (lanes < KAON_LANES && mean > 2 * lanes) lanes *= 2;
  return lanes;
}

static bool level_small(const kaon_levels_args *args, int level, int lanes) {
  const int64_t rows = args->level_host[level + 1] - args->level_host[level];
  return rows * lanes <= LEVEL_THREADS * LEVEL_TURNS;
}

static void launch_levels(const kaon_launch *launch, const levels_call &a, int reals) {
  const unsigned blocks = (unsigned)a.chunks * (unsigned)a.rows.nrhs;
  if (reals == 1)
    kaon_cuda_launch(launch, levels_kernel<1>, blocks, LEVEL_THREADS, a);
  else
    kaon_cuda_launch(launch, levels_kernel<2>, blocks, LEVEL_THREADS, a);
}

extern "C" void KAON_EXPORT(kaon_sparse_levels)(const kaon_launch *launch,
                                                const kaon_levels_args *args) {
  const kaon_stored_matrix *m = args->matrix;
  levels_call a = {};
  a.rows.start = m->start;
  a.rows.column = m->column;
  a.rows.value = m->value;
  a.rows.scale = m->scale;
  a.rows.wide = m->wide;
  a.rows.rows = (int)m->rows;
  a.rows.nrhs = args->nrhs;
  a.rows.gap = (int64_t)(args->nrhs - 1) * KAON_LANES;
  a.rows.x = args->x.data;
  a.rows.y = args->y.data;
  a.rows.policy = rows_bytes(m) <= row_cache ? row_evict_normal : row_evict_first;
  a.rows.sums.gate = args->gate;
  a.rows.lanes = level_lanes(m);
  a.half = m->half;
  a.backward = args->backward;
  a.level = args->level;
  a.row = args->row;
  a.diagonal = (const real *)args->diagonal;
  for (int n = 0; n < args->levels; n += a.count) {
    const int step = args->backward ? -1 : 1;
    a.from = args->backward ? args->levels - 1 - n : n;
    a.count = 1;
    a.chunks = 1;
    const int64_t rows = args->level_host[a.from + 1] - args->level_host[a.from];
    if (level_small(args, a.from, a.rows.lanes)) {
      while (n + a.count < args->levels && level_small(args, a.from + step * a.count, a.rows.lanes))
        a.count++;
    } else
      a.chunks = (int)((rows * a.rows.lanes + LEVEL_THREADS - 1) / LEVEL_THREADS);
    launch_levels(launch, a, m->reals);
  }
}

/* ---- packing of messages ---- */

typedef struct pick_call {
  int nrhs, reals;
  int64_t count;
  const int32_t *row;
  const real *x;
  real *to;
  kaon_gate gate;
} pick_call;

/* Component c of index n of a column. */
KAON_DEVICE int64_t component_at(const pick_call &a, int64_t n, int column, int c) {
  return (((n >> 5) * a.nrhs + column) * KAON_LANES + (n & 31)) * a.reals + c;
}

static __global__ void __launch_bounds__(KAON_THREADS)
    pick_kernel(const __grid_constant__ pick_call a) {
  const int column = (int)(blockIdx.x % (unsigned)a.nrhs);
  const int64_t n = (int64_t)(blockIdx.x / (unsigned)a.nrhs) * KAON_THREADS + threadIdx.x;
  kaon_wait_for_previous();
  if (!gate_open(a.gate, column) || n >= a.count) return;
  const int32_t row = a.row[n];
#pragma unroll 1
  for (int c = 0; c < a.reals; c++)
    a.to[component_at(a, n, column, c)] = a.x[component_at(a, row, column, c)];
}

extern "C" void KAON_EXPORT(kaon_sparse_pick)(const kaon_launch *launch,
                                              const kaon_pick_args *args) {
  pick_call a;
  a.nrhs = args->nrhs;
  a.reals = args->reals;
  a.count = args->count;
  a.row = args->row;
  a.x = (const real *)args->x.data;
  a.to = (real *)args->to.data;
  a.gate = args->gate;
  const int64_t blocks = (args->count + KAON_THREADS - 1) / KAON_THREADS * args->nrhs;
  if (blocks > 0) kaon_cuda_launch(launch, pick_kernel, (unsigned)blocks, KAON_THREADS, a);
}
