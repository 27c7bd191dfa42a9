/* shared.cu - products of matrices in CSR with rows of very different lengths, on the GPU.
 *
 * Row ends and entries, merged in their order, are items. Every block has equally many items and
 * takes them in tiles (Merrill and Garland's merge-based product, Supercomputing 2016).
 * - A search by a warp for each tile, for several tiles at once, finds the rows in which tiles end.
 * - All loads of a tile (columns, values, row ends) are issued before any is used.
 * - Products go through shared memory. Groups of threads add up the rows, and warps those that are
 *   much longer than the others. A tile in which no row ends skips this.
 * - A block's part of a row that ends in a later block is a carry. A second kernel adds the carries
 *   of each row in order. So bits do not depend on which block comes first.
 * Sums are then computed by the vector kernels. */
#include "sparse/cuda/rows.h"

/* In this order: items of a tile, and of a thread; doubles of a carry (re, im, row); entries for a
 * thread of a group; entries from which a row is long, and how many such rows a tile can have;
 * multiprocessors by whose number items are distributed, whatever the device, so that sums have the
 * same bits. */
enum {
  TILE = 2048,
  ITEMS = TILE / KAON_THREADS,
  CARRY_DOUBLES = 3,
  LONG = 24,
  LONG_ROWS = TILE / LONG,
  MULTIPROCESSORS = 132
};

typedef struct shared_call {
  rows_call rows;  /* first, last: of rows */
  double *carries; /* [column][chunk][CARRY_DOUBLES] */
  int half, reals, chunks;
} shared_call;

/* How many of the rows first, first + 1, ... below `last` end before item d: row r ends after item
 * start[r + 1] - base + r - origin. All lanes of a warp must call it; they test 32 positions at a
 * time. */
KAON_DEVICE int rows_before(const rows_call &a, int first, int last, int origin, int64_t base,
                            int64_t d) {
  const int lane = threadIdx.x % 32;
  int low = first, high = last; /* the resulting row is in [low, high] */
  while (low < high) {
    const int step = (high - low + 31) / 32;
    const int64_t r = low + (int64_t)step * (lane + 1) - 1; /* the last one of a lane's share */
    const bool before = r < high && start_read(a, (int64_t)r + 1) - base + (r - origin) < d;
    const int count = __popc(__ballot_sync(0xffffffffu, before));
    const int64_t end = (int64_t)low + (int64_t)step * (count + 1) - 1;
    low += step * count;
    if (end < high) high = (int)end;
  }
  return low;
}

/* Thread blocks that a multiprocessor holds, and entries of a thread in flight. */
template <int REALS>
static __host__ __device__ constexpr int shared_resident() {
  return REALS * (int)sizeof(real) > 4 ? 3 : 4;
}
template <int REALS>
static __host__ __device__ constexpr int shared_batch() {
  return REALS * (int)sizeof(real) > 8 ? ITEMS / 2 : ITEMS;
}

/* Loads a thread's entries first, first + KAON_THREADS, ... below `end` of the matrix. */
template <int REALS, int COUNT>
struct entries {
  int32_t column[COUNT];
  entry<REALS, 0> value[COUNT];
};

template <int REALS, int COUNT>
KAON_DEVICE void entries_prefetch(const shared_call &a, int64_t first, int64_t end, uint64_t policy,
                                  entries<REALS, COUNT> *e) {
#pragma unroll
  for (int u = 0; u < COUNT; u++)
    if (first + u * KAON_THREADS < end)
      e->column[u] = column_read(a.rows.column + first + u * KAON_THREADS, policy);
#if defined(KAON_PREC_SINGLE)
  if (a.half) {
#pragma unroll
    for (int u = 0; u < COUNT; u++)
      if (first + u * KAON_THREADS < end) {
        const entry<REALS, 1> v =
            entry_read<REALS, 1>(a.rows.value, first + u * KAON_THREADS, policy);
        e->value[u].w[0] = v.w[0];
      }
    return;
  }
#endif
#pragma unroll
  for (int u = 0; u < COUNT; u++)
    if (first + u * KAON_THREADS < end)
      e->value[u] = entry_read<REALS, 0>(a.rows.value, first + u * KAON_THREADS, policy);
}

template <int REALS>
KAON_DEVICE kaon_packet<real, REALS> value_of(const shared_call &a, const entry<REALS, 0> &v) {
#if defined(KAON_PREC_SINGLE)
  if (a.half) {
    entry<REALS, 1> half;
    half.w[0] = v.w[0];
    return entry_number<REALS, 1>(half);
  }
#endif
  return entry_number<REALS, 0>(v);
}

/* Their products; 0 for those after the end. */
template <int REALS, int COUNT>
KAON_DEVICE void entries_multiply(const shared_call &a, int column, int64_t first, int64_t end,
                                  const entries<REALS, COUNT> &e,
                                  kaon_packet<real, REALS> *product) {
  kaon_packet<real, REALS> x[COUNT];
#pragma unroll
  for (int u = 0; u < COUNT; u++)
    if (first + u * KAON_THREADS < end)
      x[u] = source_of<REALS, false, true>(a.rows, e.column[u])[column * KAON_LANES];
#pragma unroll
  for (int u = 0; u < COUNT; u++) {
    product[u] = {};
    if (first + u * KAON_THREADS < end)
      number_add<REALS>(&product[u], value_of<REALS>(a, e.value[u]), x[u]);
  }
}

KAON_DEVICE real shared_scale(const shared_call &a, int row) {
  return a.half && row < a.rows.rows ? (real)(__ldg(a.rows.scale + row) * (1.0f / 32767)) : (real)1;
}

template <int REALS>
KAON_DEVICE void shared_store(const shared_call &a, int row, int column,
                              kaon_packet<real, REALS> s) {
  typedef kaon_packet<real, REALS> number;
  const int64_t at = number_at(a.rows, row) + column * KAON_LANES;
  const real scale = shared_scale(a, row);
  number b = {};
  if (a.rows.b != NULL) b = ((const number *)a.rows.b)[at];
#pragma unroll
  for (int i = 0; i < REALS; i++)
    s.v[i] = a.rows.b != NULL ? a.rows.a * scale * s.v[i] + b.v[i] : scale * s.v[i];
  ((number *)a.rows.y)[at] = s;
}

/* Threads of a group that adds up a row, for a tile with the given number of rows. */
KAON_DEVICE int group_of(int rows) {
  int group = 32;
  while (group > 1 && rows * group > KAON_THREADS) group /= 2;
  return group;
}

/* The sum over `group` adjacent threads, in all of them. */
template <int REALS>
KAON_DEVICE kaon_packet<real, REALS> group_sum(kaon_packet<real, REALS> s, int group) {
  for (int other = group / 2; other > 0; other /= 2)
#pragma unroll
    for (int c = 0; c < REALS; c++) s.v[c] += __shfl_xor_sync(0xffffffffu, s.v[c], other);
  return s;
}

/* The shared memory of a block. */
template <int REALS>
struct shared_tile {
  kaon_packet<real, REALS> products[TILE], carry[2], warps[KAON_WARPS];
  int32_t ends[TILE + 1]; /* of the rows that end in the tile, counted from its first entry */
  int32_t found[KAON_WARPS], rows_long[LONG_ROWS], longs;
};

/* Adds entries begin, begin + step, ... below `stop` of a tile. */
template <int REALS>
KAON_DEVICE kaon_packet<real, REALS> tile_add(const shared_tile<REALS> &t, int begin, int stop,
                                              int step) {
  kaon_packet<real, REALS> s = {};
#pragma unroll 4
  for (int i = begin; i < stop; i += step)
#pragma unroll
    for (int c = 0; c < REALS; c++) s.v[c] += t.products[i].v[c];
  return s;
}

/* Stores the sum of row `mine` of a tile in which `rows` rows end. One thread must call it. */
template <int REALS>
KAON_DEVICE void tile_row(const shared_call &a, shared_tile<REALS> *t, int row, int mine, int rows,
                          int turn, int column, kaon_packet<real, REALS> s) {
  if (mine == 0)
#pragma unroll
    for (int c = 0; c < REALS; c++) s.v[c] += t->carry[turn].v[c];
  if (mine == rows)
    t->carry[turn ^ 1] = s;
  else
    shared_store<REALS>(a, row + mine, column, s);
}

/* The rows from `row` on of a tile of `count` entries in which `rows` of them end. The next row has
 * begun, or may have. All threads must call it. */
template <int REALS>
KAON_DEVICE void tile_rows(const shared_call &a, shared_tile<REALS> *t, int row, int rows,
                           int count, int turn, int column) {
  const int group = group_of(rows + 1), lane = threadIdx.x & (group - 1);
  const int groups = KAON_THREADS / group, warp = threadIdx.x / 32;
  for (int n = 0; n <= rows; n += groups) { /* all threads loop alike: they shuffle */
    const int mine = n + (int)threadIdx.x / group;
    const int begin = mine > 0 && mine <= rows ? t->ends[mine - 1] : 0;
    const int stop = mine < rows ? t->ends[mine] : mine == rows ? count : begin;
    const bool is_long = stop - begin > LONG * group;
    if (is_long && lane == 0) t->rows_long[atomicAdd(&t->longs, 1)] = mine;
    const kaon_packet<real, REALS> s =
        group_sum(tile_add(*t, begin + lane, is_long ? begin : stop, group), group);
    if (mine <= rows && !is_long && lane == 0) tile_row(a, t, row, mine, rows, turn, column, s);
  }
  __syncthreads();
  for (int n = warp; n < t->longs; n += KAON_WARPS) { /* in any order, since each has its own sum */
    const int mine = t->rows_long[n], begin = mine > 0 ? t->ends[mine - 1] : 0;
    const int stop = mine < rows ? t->ends[mine] : count, own = (int)threadIdx.x % 32;
    const kaon_packet<real, REALS> s = group_sum(tile_add(*t, begin + own, stop, 32), 32);
    if (own == 0) tile_row(a, t, row, mine, rows, turn, column, s);
  }
}

/* A tile within one row: adds `s` of each thread to the carry. All threads must call it. */
template <int REALS>
KAON_DEVICE void tile_within(shared_tile<REALS> *t, int turn, kaon_packet<real, REALS> s) {
  s = group_sum(s, 32);
  if (threadIdx.x % 32 == 0) t->warps[threadIdx.x / 32] = s;
  __syncthreads();
  if (threadIdx.x != 0) return;
  s = t->carry[turn];
  for (int w = 0; w < KAON_WARPS; w++)
#pragma unroll
    for (int c = 0; c < REALS; c++) s.v[c] += t->warps[w].v[c];
  t->carry[turn ^ 1] = s;
}

/* Processes a tile: the products of `count` entries from `entry` on, and the ends of `rows` rows
 * from `row` on. All threads must call it. */
template <int REALS>
KAON_DEVICE void tile_fill(const shared_call &a, shared_tile<REALS> *t, int row, int rows,
                           int64_t entry, int count, int column, uint64_t policy, int turn) {
  typedef kaon_packet<real, REALS> number;
  constexpr int COUNT = shared_batch<REALS>();
  const int own = (int)threadIdx.x;
  number within = {};
#pragma unroll
  for (int first = 0; first < TILE; first += COUNT * KAON_THREADS) {
    const int64_t from = entry + first + own, end = entry + count;
    number product[COUNT];
    entries<REALS, COUNT> e;
    entries_prefetch<REALS, COUNT>(a, from, end, policy, &e);
    if (first == 0)
#pragma unroll 1
      for (int i = own; i < rows; i += KAON_THREADS)
        t->ends[i] = (int32_t)(start_read(a.rows, (int64_t)row + i + 1) - entry);
    entries_multiply<REALS, COUNT>(a, column, from, end, e, product);
#pragma unroll
    for (int u = 0; u < COUNT; u++)
      if (rows > 0)
        t->products[first + own + u * KAON_THREADS] = product[u];
      else
#pragma unroll
        for (int c = 0; c < REALS; c++) within.v[c] += product[u].v[c];
  }
  if (rows == 0) tile_within<REALS>(t, turn, within);
}

/* How many rows end before item d, or before `end` if that comes first: at least `from`, at most
 * `most`. All lanes of a warp must call it. */
KAON_DEVICE void tiles_find(const shared_call &a, int32_t *found, int from, int64_t most,
                            int64_t base, int64_t d, int64_t end) {
  const int last = most < a.rows.last ? (int)most : a.rows.last;
  const int rows = rows_before(a.rows, from, last, a.rows.first, base, d < end ? d : end);
  if (threadIdx.x % 32 == 0) *found = rows;
}

template <int REALS>
static __global__ void __launch_bounds__(KAON_THREADS, shared_resident<REALS>())
    shared_kernel(const __grid_constant__ shared_call a) {
  __shared__ shared_tile<REALS> t;
  const int column = (int)(blockIdx.x % (unsigned)a.rows.nrhs);
  const int chunk = (int)(blockIdx.x / (unsigned)a.rows.nrhs);
  const int origin = a.rows.first, last = a.rows.last, warp = threadIdx.x / 32;
  const uint64_t policy = matrix_policy(a.rows);
  if (!a.rows.early) kaon_wait_for_previous();
  const int64_t base = start_read(a.rows, origin);
  const int64_t items = start_read(a.rows, last) - base + (last - origin);
  const int64_t share = (items + a.chunks - 1) / a.chunks;
  int64_t d = chunk * share;
  const int64_t end = d + share < items ? d + share : items;
  if (threadIdx.x == 0) t.carry[0] = t.carry[1] = kaon_packet<real, REALS>{};
  tiles_find(a, &t.found[warp], origin, last, base, d + (int64_t)warp * TILE, end);
  kaon_wait_for_previous();
  if (!gate_open(a.rows.sums.gate, column)) return;
  __syncthreads();
  int row = t.found[0], turn = 0, next = 1; /* next: the index in `found` at which this tile ends */
  int64_t entry = d - (row - origin) + base;
  while (d < end) {
    const int64_t to = d + TILE < end ? d + TILE : end;
    if (next == KAON_WARPS) {
      __syncthreads();                                       /* `found` has been read */
      const int64_t most = row + (int64_t)(warp + 1) * TILE; /* a row is an item */
      tiles_find(a, &t.found[warp], row, most, base, to + (int64_t)warp * TILE, end);
      next = 0;
      __syncthreads();
    }
    const int long_part = t.found[next++], rows = long_part - row;
    const int64_t ending = to - (long_part - origin) + base;
    if (threadIdx.x == 0) t.longs = 0;
    tile_fill<REALS>(a, &t, row, rows, entry, (int)(ending - entry), column, policy, turn);
    __syncthreads();
    if (rows > 0) tile_rows<REALS>(a, &t, row, rows, (int)(ending - entry), turn, column);
    turn ^= 1;
    row = long_part;
    entry = ending;
    d = to;
    __syncthreads(); /* the carry is written; products and ends have been read */
  }
  kaon_let_next_start();
  if (threadIdx.x != 0) return;
  double *out = a.carries + ((int64_t)column * a.chunks + chunk) * CARRY_DOUBLES;
  out[0] = (double)t.carry[turn].v[0];
  out[1] = REALS == 2 ? (double)t.carry[turn].v[REALS - 1] : 0;
  out[2] = row < last ? (double)row : -1;
}

/* y += the carries of a row, by the warp of the first one. The lanes after the last row stay 0. */
static __global__ void __launch_bounds__(KAON_THREADS)
    carries_kernel(const __grid_constant__ shared_call a) {
  const int column = (int)(blockIdx.x % (unsigned)a.rows.nrhs);
  const int lane = threadIdx.x % 32;
  const int chunk = (int)(blockIdx.x / (unsigned)a.rows.nrhs * KAON_WARPS + threadIdx.x / 32);
  kaon_wait_for_previous();
  if (!gate_open(a.rows.sums.gate, column) || chunk >= a.chunks) return;
  const int long_part = a.rows.last + lane;
  if (chunk == 0 && a.rows.last == a.rows.rows && long_part < (a.rows.rows + 31) / 32 * 32)
    for (int c = 0; c < a.reals; c++)
      ((real *)a.rows.y)[(number_at(a.rows, long_part) + column * KAON_LANES) * a.reals + c] = 0;
  const double *in = a.carries + (int64_t)column * a.chunks * CARRY_DOUBLES;
  const double row = in[chunk * CARRY_DOUBLES + 2];
  if (row < 0 || (chunk > 0 && in[(chunk - 1) * CARRY_DOUBLES + 2] == row)) return;
  double s[2] = {0, 0};
  for (int i = chunk;; i += 32) { /* a row's carries are adjacent */
    const bool mine = i + lane < a.chunks && in[(i + lane) * CARRY_DOUBLES + 2] == row;
    if (mine) {
      s[0] += in[(i + lane) * CARRY_DOUBLES];
      s[1] += in[(i + lane) * CARRY_DOUBLES + 1];
    }
    if (__ballot_sync(0xffffffffu, mine) != 0xffffffffu) break;
  }
  s[0] = warp_sum(s[0]);
  s[1] = warp_sum(s[1]);
  if (lane != 0) return;
  real *y = (real *)a.rows.y + (number_at(a.rows, (int)row) + column * KAON_LANES) * a.reals;
  const real factor = shared_scale(a, (int)row) * (a.rows.b != NULL ? a.rows.a : (real)1);
  for (int c = 0; c < a.reals; c++) y[c] += factor * (real)(c == 0 ? s[0] : s[1]);
}

template <int REALS>
static void launch_shared(const kaon_launch *launch, const shared_call &a) {
  const unsigned columns = (unsigned)a.rows.nrhs;
  kaon_cuda_launch(launch, shared_kernel<REALS>, (unsigned)a.chunks * columns, KAON_THREADS, a);
  kaon_cuda_launch(launch, carries_kernel,
                   ((unsigned)a.chunks + KAON_WARPS - 1) / KAON_WARPS * columns, KAON_THREADS, a);
}

extern "C" void KAON_EXPORT(kaon_spmv_shared)(const kaon_launch *launch,
                                              const kaon_spmv_args *args) {
  const kaon_stored_matrix *m = args->matrix;
  shared_call a = {};
  a.rows = rows_of(launch, args);
  a.rows.sums.gate = args->gate;
  a.rows.first *= KAON_LANES;
  a.rows.last = a.rows.last < m->blocks ? a.rows.last * KAON_LANES : (int)m->rows;
  a.half = m->half;
  a.reals = m->reals;
  a.carries = launch->partials;
  const int64_t tiles = (m->entries + m->rows + TILE - 1) / TILE;
  const int most = MULTIPROCESSORS * (m->reals == 1 ? shared_resident<1>() : shared_resident<2>());
  a.chunks = tiles < most ? (int)tiles : most;
  if (a.rows.last > a.rows.first) {
    if (m->reals == 1)
      launch_shared<1>(launch, a);
    else
      launch_shared<2>(launch, a);
  }
}
