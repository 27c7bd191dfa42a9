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

/* Asks the second-level cache for the first COUNT entries of each row of a block, before it is
 * known that the kernel before has ended: they are nobody's result (kaon_launch.early). */
template <int REALS, int HALF, int COUNT>
static __device__ __forceinline__ void slice_prefetch(const rows_call &a, int block) {
  constexpr int bytes = REALS * (HALF ? 2 : (int)sizeof(real));
  if (block >= a.last) return;
  const slice mine = slice_read(a, block);
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int j = 0; j < COUNT; j++) {
    const int64_t at = (mine.at + j) * KAON_LANES + lane;
    if (j >= mine.length) break;
    asm volatile("prefetch.global.L2 [%0];" ::"l"(a.column + at));
    asm volatile("prefetch.global.L2 [%0];" ::"l"((const char *)a.value + at * bytes));
  }
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
