/* results.h - sums and extremes of link kernels on the GPU. Each thread has up to four values (for
 * SUM, N of them). They are merged in a fixed tree over a block, and then by the last block to
 * finish, in block order. The number of blocks depends only on the shape, so the bits are the same
 * in every run (lib/cuda/reduction/reduce.h). Use in a kernel:
 *     double value[RESULTS];
 *     results_begin<HOW>(value);
 *     for (each i of results_first ... step) merge into value;
 *     if (results_finish<HOW>(a.sums, value)) write value: only one thread of all has it. */
#pragma once

#include "lib/cuda/reduction/reduce.h"
#include "lib/math/link_observe.h"

enum { RESULTS = 4 };

/* SUM: all are sums. WORST: the three values of kaon_track_worst. PIVOT: a sum; the smallest ratio
 * and its site (of equal ones the lowest); a sum. */
enum merge { SUM, WORST, PIVOT };

static inline kaon_cuda_sums results_of(const kaon_launch *launch, int64_t work,
                                        int values = RESULTS) {
  const kaon_gate gate = {};
  const kaon_sum sum = {};
  return kaon_cuda_sums_of(launch, &gate, &sum, kaon_cuda_chunks(work, values));
}

KAON_DEVICE int64_t results_first(void) {
  return (int64_t)blockIdx.x * KAON_THREADS + threadIdx.x;
}

KAON_DEVICE int64_t results_step(const kaon_cuda_sums &s) {
  return (int64_t)s.chunks * KAON_THREADS;
}

template <int HOW, int N = RESULTS>
KAON_DEVICE void results_begin(double *value) {
#pragma unroll
  for (int i = 0; i < N; i++) value[i] = 0;
  if (HOW == WORST) value[1] = -1;
  if (HOW == PIVOT) value[1] = HUGE_VAL;
}

KAON_DEVICE void keep_pivot(double ratio, double site, double *worst) {
  if (ratio < worst[1] || (ratio == worst[1] && site < worst[2]) || ratio != ratio) {
    worst[1] = ratio;
    worst[2] = site;
  }
}

template <int HOW, int N = RESULTS>
KAON_DEVICE void results_merge(double *value, const double *other) {
  if (HOW == SUM) {
#pragma unroll
    for (int i = 0; i < N; i++) value[i] += other[i];
  } else if (HOW == WORST) {
    if (other[0] > value[0]) value[0] = other[0];
    kaon_track_worst(other[1], other[2], value);
  } else {
    value[0] += other[0];
    keep_pivot(other[1], other[2], value);
    value[3] += other[3];
  }
}

/* Merges the values of all threads of the block into thread 0. */
template <int HOW, int N = RESULTS>
KAON_DEVICE void results_of_block(double *value) {
  __shared__ double warps[KAON_WARPS][N];
  double other[N];
  for (int step = 16; step > 0; step /= 2) {
#pragma unroll
    for (int i = 0; i < N; i++) other[i] = __shfl_down_sync(0xffffffffu, value[i], step);
    results_merge<HOW, N>(value, other);
  }
  __syncthreads(); /* the previous call has read the shared memory */
#pragma unroll
  for (int i = 0; i < N; i++)
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32][i] = value[i];
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int w = 1; w < KAON_WARPS; w++) results_merge<HOW, N>(value, warps[w]);
}

/* Called by all threads. Returns true in one thread of the launch, which then has the result. */
template <int HOW, int N = RESULTS>
KAON_DEVICE bool results_finish(const kaon_cuda_sums &s, double *value) {
  results_of_block<HOW, N>(value);
  if (threadIdx.x == 0) {
#pragma unroll
    for (int i = 0; i < N; i++) s.partials[i * s.chunks + blockIdx.x] = value[i];
    __threadfence();
  }
  if (!sums_last(s, 0, s.chunks)) return false;
  results_begin<HOW, N>(value);
  for (int chunk = threadIdx.x; chunk < s.chunks; chunk += KAON_THREADS) {
    double other[N];
#pragma unroll
    for (int i = 0; i < N; i++) other[i] = __ldcg(s.partials + i * s.chunks + chunk);
    results_merge<HOW, N>(value, other);
  }
  results_of_block<HOW, N>(value);
  return threadIdx.x == 0;
}
