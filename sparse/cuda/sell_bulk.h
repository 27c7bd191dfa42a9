/* sell_bulk.h - EXPERIMENT: values of a block of rows come by bulk copies into shared memory. */
#ifndef KAON_SPARSE_CUDA_SELL_BULK_H
#define KAON_SPARSE_CUDA_SELL_BULK_H

#include "sparse/cuda/sell.h"

static __device__ __forceinline__ uint32_t bulk_address(const void *p) {
  return (uint32_t)__cvta_generic_to_shared(p);
}

static __device__ __forceinline__ void bulk_open(uint64_t *barrier) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(bulk_address(barrier)) : "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

static __device__ __forceinline__ void bulk_ask(uint64_t *barrier, void *to, const void *from,
                                                uint32_t bytes, uint64_t policy) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bulk_address(barrier)),
               "r"(bytes)
               : "memory");
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], "
      "%2, [%3], %4;" ::"r"(bulk_address(to)),
      "l"(from), "r"(bytes), "r"(bulk_address(barrier)), "l"(policy)
      : "memory");
#endif
}

static __device__ __forceinline__ void bulk_wait(uint64_t *barrier, uint32_t parity) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  uint32_t done = 0;
  while (done == 0)
    asm volatile(
        "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, "
        "p; }"
        : "=r"(done)
        : "r"(bulk_address(barrier)), "r"(parity)
        : "memory");
#endif
}

template <int COUNT>
static __device__ __forceinline__ void bulk_entries(const rows_call &a, int block, const real *v,
                                                    int list, kaon_packet<real, 1> *s) {
  int32_t c[COUNT];
  real x[COUNT];
#pragma unroll
  for (int u = 0; u < COUNT; u++) c[u] = shared_read(a.column + list + u * KAON_LANES);
#pragma unroll
  for (int u = 0; u < COUNT; u++) x[u] = ((const real *)a.x)[c[u] + block * KAON_LANES];
#pragma unroll
  for (int u = 0; u < COUNT; u++) s->v[0] = v[u * KAON_LANES] * x[u] + s->v[0];
}

template <int COUNT>
static __device__ __forceinline__ void bulk_rest(const rows_call &a, int block, const real *v,
                                                 int list, int left, kaon_packet<real, 1> *s) {
  if (left == COUNT)
    bulk_entries<COUNT>(a, block, v, list, s);
  else if constexpr (COUNT > 1)
    bulk_rest<COUNT - 1>(a, block, v, list, left, s);
}

enum { BULK_STAGES = 2, BULK_HEAD = 256 };

static inline size_t bulk_room(int length) {
  return BULK_HEAD + ROW_SUMS * KAON_THREADS * sizeof(double) +
         (size_t)KAON_WARPS * BULK_STAGES * (size_t)length * KAON_LANES * sizeof(real);
}

template <int BATCH, int RESIDENT>
static __global__ void __launch_bounds__(KAON_THREADS, RESIDENT)
    sell_bulk_kernel(const __grid_constant__ rows_call a) {
  extern __shared__ __align__(128) char room[];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, step = a.chunks * KAON_WARPS;
  uint64_t *barrier = (uint64_t *)room + warp * BULK_STAGES;
  double *waiting = (double *)(room + BULK_HEAD) + threadIdx.x;
  const int stride = a.length * KAON_LANES;
  real *buffer = (real *)(room + BULK_HEAD + ROW_SUMS * KAON_THREADS * sizeof(double)) +
                 warp * BULK_STAGES * stride;
  const uint64_t policy = matrix_policy(a);
  int block = a.first + (int)(blockIdx.x * KAON_WARPS) + warp, asked = 0;
  double sum[1][ROW_SUMS];
  columns cols = {0, 1, 0};
  if (lane < BULK_STAGES) bulk_open(barrier + lane);
  __syncwarp();
  for (; asked < BULK_STAGES && block + asked * step < a.last; asked++) {
    const slice its = slice_read(a, block + asked * step);
    if (lane == 0)
      bulk_ask(barrier + asked, buffer + asked * stride,
               (const real *)a.value + its.at * KAON_LANES,
               (uint32_t)(its.length * KAON_LANES * sizeof(real)), policy);
  }
  kaon_wait_for_previous();
  columns_ask<1>(a, &cols);
  if (cols.open == 0) {
    for (int n = 0; n < asked; n++) bulk_wait(barrier + n, 0);
    return;
  }
  const bool sums = a.sums.sum.state != NULL;
#pragma unroll
  for (int i = 0; i < ROW_SUMS; i++)
    if (sums) waiting[i * KAON_THREADS] = 0;
  int next = sell_list<SELL_SHARED>(a, block);
  uint32_t parity = 0;
  for (int turn = 0; block < a.last; block += step) {
    const int row = block * KAON_LANES + lane, list = next;
    const slice mine = slice_read(a, block);
    const row_others<1> others = row_ask<1>(a, row);
    next = sell_list<SELL_SHARED>(a, block + step);
    kaon_packet<real, 1> s = {};
    const real *v = buffer + turn * stride + lane;
    bulk_wait(barrier + turn, parity);
    int left = mine.length, at = 0;
#pragma unroll 1
    for (; left >= BATCH; left -= BATCH, at += BATCH * KAON_LANES)
      bulk_entries<BATCH>(a, block, v + at, list + at, &s);
    if (left > 0) bulk_rest<BATCH - 1>(a, block, v + at, list + at, left, &s);
    __syncwarp();
    if (block + BULK_STAGES * step < a.last) {
      const slice its = slice_read(a, block + BULK_STAGES * step);
      if (lane == 0)
        bulk_ask(barrier + turn, buffer + turn * stride,
                 (const real *)a.value + its.at * KAON_LANES,
                 (uint32_t)(its.length * KAON_LANES * sizeof(real)), policy);
    }
    if (row >= a.rows) s = {};
    row_put<1, KAON_THREADS>(a, row, 1, s, others, waiting);
    if (++turn == BULK_STAGES) {
      turn = 0;
      parity ^= 1;
    }
  }
#pragma unroll
  for (int i = 0; i < ROW_SUMS; i++) sum[0][i] = sums ? waiting[i * KAON_THREADS] : 0;
  columns_finish<1>(a, cols, (int)blockIdx.x, sum);
}

#endif
