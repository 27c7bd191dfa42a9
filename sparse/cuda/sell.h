/* sell.h - what the CUDA kernels of SELL and ELL share: where blocks of rows begin, how entries and
 * their columns are read, the rows of a warp, and warps that share a block of rows. */
#pragma once

#include "sparse/cuda/rows.h"

/* The start of a block of rows in units of 32 entries, and its length; after the last block: 0. */
typedef struct slice {
  int64_t at;
  int length;
} slice;

KAON_DEVICE slice slice_read(const rows_call &a, int block) {
  slice s = {0, 0};
  if (block >= a.last) return s;
  if (a.start == NULL) {
    s.at = (int64_t)block * a.length;
    s.length = a.length;
  } else {
    s.at = start_read(a, block);
    s.length = (int)(start_read(a, block + 1) - s.at);
  }
  return s;
}

/* Prefetches the first COUNT entries of each row into the second-level cache, except what blocks
 * share. It does so before the previous kernel has ended, since no kernel writes them
 * (kaon_launch.early). */
template <int REALS, int HALF, int COUNT>
KAON_DEVICE void slice_prefetch(const rows_call &a, int block) {
  constexpr int bytes = REALS * (HALF ? 2 : (int)sizeof(real));
  const slice mine = slice_read(a, block);
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int j = 0; j < COUNT; j++) {
    const int64_t at = (mine.at + j) * KAON_LANES + lane;
    if (j >= mine.length) break;
    asm volatile("prefetch.global.L2 [%0];" ::"l"((const char *)a.value + at * bytes));
    if (a.columns == KAON_COLUMNS_32BIT)
      asm volatile("prefetch.global.L2 [%0];" ::"l"(a.column + at));
  }
}

/* The column storage that a kernel supports: separate for each block (32 or 16 bits), shared by
 * blocks, or any. */
enum { SELL_OWN, SELL_SHARED, SELL_ANY };

/* Whether blocks share lists of columns; known at compile time except for SELL_ANY. */
template <int KIND>
KAON_DEVICE bool sell_shares(const rows_call &a) {
  return KIND == SELL_SHARED || (KIND == SELL_ANY && a.columns == KAON_COLUMNS_SHARED);
}

/* The position of a block's columns in the shared lists: this thread's, for the first entry. */
template <int KIND>
KAON_DEVICE int sell_list(const rows_call &a, int block) {
  if (!sell_shares<KIND>(a) || block >= a.last) return 0;
  return shared_read(a.pattern + block) * KAON_LANES + (int)(threadIdx.x % 32);
}

/* Adds the next COUNT entries of a row to its sum. at, list: position of the first one in values
 * and separate columns, and in shared lists. All loads are issued before any is used, values first,
 * since they come from furthest away. Lanes after the last row read the blocks' padding. */
template <int REALS, int HALF, int COUNT, int KIND, bool GHOSTS>
KAON_DEVICE void entries_add(const rows_call &a, int block, int64_t at, int list,
                             kaon_packet<real, REALS> *s) {
  const uint64_t policy = matrix_policy(a);
  const bool shares = sell_shares<KIND>(a);
  int32_t c[COUNT];
  entry<REALS, HALF> v[COUNT];
  kaon_packet<real, REALS> x[COUNT];
#pragma unroll
  for (int u = 0; u < COUNT; u++)
    v[u] = entry_read<REALS, HALF>(a.value, at + u * KAON_LANES, policy);
  if (shares) {
#pragma unroll
    for (int u = 0; u < COUNT; u++) c[u] = shared_read(a.column + list + u * KAON_LANES);
  } else if (a.columns == KAON_COLUMNS_16BIT) {
    const int32_t *line = a.line + at / KAON_LANES;
    int32_t least[COUNT];
#pragma unroll
    for (int u = 0; u < COUNT; u++) c[u] = narrow_read(a.columns16 + at + u * KAON_LANES, policy);
#pragma unroll
    for (int u = 0; u < COUNT; u++) least[u] = shared_read(line + u);
#pragma unroll
    for (int u = 0; u < COUNT; u++) c[u] += ~least[u];
  } else {
#pragma unroll
    for (int u = 0; u < COUNT; u++) c[u] = column_read(a.column + at + u * KAON_LANES, policy);
  }
#pragma unroll
  for (int u = 0; u < COUNT; u++)
    x[u] = *source_of<REALS, true, GHOSTS>(a, shares ? c[u] + block * KAON_LANES : c[u]);
#pragma unroll
  for (int u = 0; u < COUNT; u++) number_add<REALS>(s, entry_number<REALS, HALF>(v[u]), x[u]);
}

/* Adds the last `left` entries of a row, at most COUNT, together. */
template <int REALS, int HALF, int COUNT, int KIND, bool GHOSTS>
KAON_DEVICE void rest_add(const rows_call &a, int block, int64_t at, int list, int left,
                          kaon_packet<real, REALS> *s) {
  if (left == COUNT)
    entries_add<REALS, HALF, COUNT, KIND, GHOSTS>(a, block, at, list, s);
  else if constexpr (COUNT > 1)
    rest_add<REALS, HALF, COUNT - 1, KIND, GHOSTS>(a, block, at, list, left, s);
}

/* Adds the `left` entries of a row from `at` and `list` on, BATCH at a time. After each batch,
 * `skip` entries are left out. */
template <int REALS, int HALF, int BATCH, int KIND, bool GHOSTS>
KAON_DEVICE void row_add(const rows_call &a, int block, int64_t at, int list, int left, int skip,
                         kaon_packet<real, REALS> *s) {
#pragma unroll 1
  for (; left >= BATCH; left -= BATCH + skip) {
    entries_add<REALS, HALF, BATCH, KIND, GHOSTS>(a, block, at, list, s);
    at += (BATCH + skip) * KAON_LANES;
    list += (BATCH + skip) * KAON_LANES;
  }
  if (left > 0) rest_add<REALS, HALF, BATCH - 1, KIND, GHOSTS>(a, block, at, list, left, s);
}

/* Blocks of rows of a warp: block, block + step, ... below end. */
typedef struct sell_share {
  int block, end, step;
} sell_share;

/* The blocks of rows of a chunk. With separate columns they are consecutive, so that x of
 * neighbours is still in the first-level cache. Shared lists belong to grids, whose planes come
 * from the second-level cache. There all chunks advance through the rows together. */
template <int KIND>
KAON_DEVICE sell_share sell_share_of(const rows_call &a, int chunk) {
  const int warp = (int)threadIdx.x / 32, step = a.chunks * KAON_WARPS;
  if (sell_shares<KIND>(a)) return {a.first + chunk * KAON_WARPS + warp, a.last, step};
  const int turns = (a.last - a.first + KAON_WARPS - 1) / KAON_WARPS; /* of all chunks */
  const int each = turns / a.chunks, more = turns % a.chunks; /* the first ones have one more */
  const int begin = a.first + (chunk * each + (chunk < more ? chunk : more)) * KAON_WARPS;
  const int end = begin + (each + (chunk < more)) * KAON_WARPS;
  return {begin + warp, end < a.last ? end : a.last, KAON_WARPS};
}

/* The rows of a part without ghosts, a warp for each block: y, and the sums of a thread, which are
 * STRIDE from each other. The list of a block is loaded one turn ahead. */
template <int REALS, int HALF, int BATCH, int KIND, int STRIDE>
KAON_DEVICE void sell_rows(const rows_call &a, const sell_share &share, double *sum) {
  const int lane = threadIdx.x % 32;
  int block = share.block, next = sell_list<KIND>(a, block);
  for (; block < share.end; block += share.step) {
    const int row = block * KAON_LANES + lane, list = next;
    const slice mine = slice_read(a, block);
    const row_others<REALS> others = row_prefetch<REALS>(a, row);
    next = sell_list<KIND>(a, block + share.step);
    kaon_packet<real, REALS> s = {};
    row_add<REALS, HALF, BATCH, KIND, false>(a, block, mine.at * KAON_LANES + lane, list,
                                             mine.length, 0, &s);
    if (row >= a.rows) s = {};
    row_put<REALS, STRIDE>(a, row, row_scale<HALF>(a, row), s, others, sum);
  }
}

/* Adds the sums of the a.lanes warps that share a block of rows; the first warp receives them. All
 * threads must call it. */
template <int REALS, int COLS>
KAON_DEVICE void warps_join(const rows_call &a, kaon_packet<real, REALS> *s) {
  __shared__ kaon_packet<real, REALS> part[KAON_THREADS];
  const bool first = (threadIdx.x / 32 & (a.lanes - 1)) == 0;
#pragma unroll
  for (int k = 0; k < COLS; k++) {
    __syncthreads(); /* the previous one has been read */
    part[threadIdx.x] = s[k];
    __syncthreads();
    for (int i = 1; first && i < a.lanes; i++)
#pragma unroll
      for (int c = 0; c < REALS; c++) s[k].v[c] += part[threadIdx.x + 32 * i].v[c];
  }
}

/* Loaded entries of a row. */
template <int REALS>
static __host__ __device__ constexpr int sell_batch() {
  return REALS * (int)sizeof(real) > 8 ? 2 : 4;
}

/* The blocks of rows of a chunk, a warp each. All threads must call it. */
template <int REALS, int HALF>
KAON_DEVICE void sell_chunk(const rows_call &a, int chunk, double *sum) {
  sell_rows<REALS, HALF, sell_batch<REALS>(), SELL_ANY, 1>(a, sell_share_of<SELL_ANY>(a, chunk),
                                                           sum);
}

/* The same for rows with ghosts, or a.lanes warps that share a block of rows. */
template <int REALS, int HALF>
KAON_DEVICE void sell_shared_chunk(const rows_call &a, int chunk, double *sum) {
  constexpr int BATCH = sell_batch<REALS>();
  const int lane = threadIdx.x % 32, own = threadIdx.x / 32 >> a.shift;
  const int part = threadIdx.x / 32 & (a.lanes - 1), each = KAON_WARPS >> a.shift;
  int base = a.first + chunk * each;
  while (base < a.last) {
    const int block = base + own, row = block * KAON_LANES + lane;
    const slice mine = slice_read(a, block);
    const int64_t at = (mine.at + part * BATCH) * KAON_LANES + lane;
    const int list = sell_list<SELL_ANY>(a, block) + part * BATCH * KAON_LANES;
    const int left = mine.length - part * BATCH, skip = (a.lanes - 1) * BATCH;
    kaon_packet<real, REALS> s = {};
    if (a.ghosts != NULL)
      row_add<REALS, HALF, BATCH, SELL_ANY, true>(a, block, at, list, left, skip, &s);
    else
      row_add<REALS, HALF, BATCH, SELL_ANY, false>(a, block, at, list, left, skip, &s);
    if (row >= a.rows) s = {};
    base += a.chunks * each;
    if (a.lanes > 1) warps_join<REALS, 1>(a, &s);
    if (part == 0 && block < a.last) row_end<REALS>(a, row, row_scale<HALF>(a, row), s, sum);
  }
}

/* Warps that share a block of rows, if blocks alone do not fill a device: as many as the longest
 * rows have entries for. Each warp takes its share of the batches. */
static inline void sell_warps(const kaon_stored_matrix *m, rows_call *a) {
  const int64_t mean = m->rows > 0 ? m->entries / m->rows : 0;
  int shift = 0;
  while (1 << shift < KAON_WARPS && (m->blocks * KAON_LANES << shift) < ROW_DEVICE &&
         (mean > (int64_t)8 << shift || m->length > 16 << shift))
    shift++;
  a->shift = shift;
  a->lanes = 1 << shift;
}
