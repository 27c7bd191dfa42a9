/* sell.h - what the CUDA kernels of SELL and ELL share: where blocks of rows begin, and warps that
 * share one. */
#ifndef KAON_SPARSE_CUDA_SELL_H
#define KAON_SPARSE_CUDA_SELL_H

#include "sparse/cuda/rows.h"

/* Where a block of rows begins, in units of 32 entries, and how long it is; behind the last: 0. */
typedef struct slice {
  int64_t at;
  int length;
} slice;

static __device__ __forceinline__ slice slice_read(const rows_call &a, int block) {
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

/* Adds the sums of the a.lanes warps that share a block of rows; those of the first have them. All
 * threads. */
template <int REALS, int COLS>
static __device__ __forceinline__ void warps_join(const rows_call &a, kaon_packet<real, REALS> *s) {
  __shared__ kaon_packet<real, REALS> part[KAON_THREADS];
  const bool first = (threadIdx.x / 32 & (a.lanes - 1)) == 0;
#pragma unroll
  for (int k = 0; k < COLS; k++) {
    __syncthreads(); /* the one before has been read */
    part[threadIdx.x] = s[k];
    __syncthreads();
    for (int i = 1; first && i < a.lanes; i++)
#pragma unroll
      for (int c = 0; c < REALS; c++) s[k].v[c] += part[threadIdx.x + 32 * i].v[c];
  }
}

/* Entries of a row on their way. */
template <int REALS>
static __host__ __device__ constexpr int sell_batch() {
  return REALS * (int)sizeof(real) > 8 ? 2 : 4;
}

/* Entries j, j + 1, ... below `length` of a row; `at`: of the first. */
template <int REALS, int HALF, bool GHOSTS>
static __device__ __forceinline__ void sell_add(const rows_call &a, int64_t at, int j, int length,
                                                uint64_t policy, kaon_packet<real, REALS> *s) {
  constexpr int BATCH = sell_batch<REALS>();
  int32_t c[BATCH];
  entry<REALS, HALF> v[BATCH];
  kaon_packet<real, REALS> x[BATCH];
#pragma unroll
  for (int u = 0; u < BATCH; u++)
    if (j + u < length) c[u] = column_read(a.column + at + u * KAON_LANES, policy);
#pragma unroll
  for (int u = 0; u < BATCH; u++)
    if (j + u < length) v[u] = entry_read<REALS, HALF>(a.value, at + u * KAON_LANES, policy);
#pragma unroll
  for (int u = 0; u < BATCH; u++)
    if (j + u < length) x[u] = *source_of<REALS, true, GHOSTS>(a, c[u]);
#pragma unroll
  for (int u = 0; u < BATCH; u++)
    if (j + u < length) number_add<REALS>(s, entry_number<REALS, HALF>(v[u]), x[u]);
}

/* The blocks of rows of a chunk, a warp each. All threads. */
template <int REALS, int HALF>
static __device__ __forceinline__ void sell_chunk(const rows_call &a, int chunk, uint64_t policy,
                                                  double *sum) {
  constexpr int BATCH = sell_batch<REALS>();
  const int lane = threadIdx.x % 32;
  for (int block = a.first + chunk * KAON_WARPS + (int)(threadIdx.x / 32); block < a.last;
       block += a.chunks * KAON_WARPS) {
    const int row = block * KAON_LANES + lane;
    const slice mine = slice_read(a, block);
    const int length = row < a.rows ? mine.length : 0;
    int64_t at = mine.at * KAON_LANES + lane;
    kaon_packet<real, REALS> s = {};
#pragma unroll 1
    for (int j = 0; j < length; j += BATCH) {
      sell_add<REALS, HALF, false>(a, at, j, length, policy, &s);
      at += BATCH * KAON_LANES;
    }
    row_end<REALS>(a, row, row_scale<HALF>(a, row), s, sum);
  }
}

/* The same where rows meet ghosts, or a.lanes warps share a block of rows. */
template <int REALS, int HALF>
static __device__ __forceinline__ void sell_shared_chunk(const rows_call &a, int chunk,
                                                         uint64_t policy, double *sum) {
  constexpr int BATCH = sell_batch<REALS>();
  const int lane = threadIdx.x % 32, own = threadIdx.x / 32 >> a.shift;
  const int part = threadIdx.x / 32 & (a.lanes - 1), each = KAON_WARPS >> a.shift;
  int base = a.first + chunk * each;
  while (base < a.last) {
    const int block = base + own, row = block * KAON_LANES + lane;
    const slice mine = slice_read(a, block);
    const int length = row < a.rows ? mine.length : 0;
    int64_t at = (mine.at + part * BATCH) * KAON_LANES + lane;
    kaon_packet<real, REALS> s = {};
#pragma unroll 1
    for (int j = part * BATCH; j < length; j += a.lanes * BATCH) {
      if (a.ghosts != NULL)
        sell_add<REALS, HALF, true>(a, at, j, length, policy, &s);
      else
        sell_add<REALS, HALF, false>(a, at, j, length, policy, &s);
      at += a.lanes * (BATCH * KAON_LANES);
    }
    base += a.chunks * each;
    if (a.lanes > 1) warps_join<REALS, 1>(a, &s);
    if (part == 0 && block < a.last) row_end<REALS>(a, row, row_scale<HALF>(a, row), s, sum);
  }
}

/* Warps that share a block of rows: as many as its rows have entries for, where blocks alone do not
 * fill a device; each then takes every so many batches. */
static inline void sell_warps(const kaon_stored_matrix *m, rows_call *a) {
  const int64_t mean = m->rows > 0 ? m->entries / m->rows : 0;
  int shift = 0;
  while (1 << shift < KAON_WARPS && (m->blocks * KAON_LANES << shift) < ROW_DEVICE &&
         mean > (int64_t)8 << shift)
    shift++;
  a->shift = shift;
  a->lanes = 1 << shift;
}

#endif
