/* limits.cu - the limits of the current CUDA device: reads, copies, multiply-adds. Contract:
 * machine.h. Fields have 4 GB, or a fourth of the free memory where that is less: far more than the
 * cache. Best of REPEATS, timed by events around enough passes to hide their own cost. */
#include <stdint.h>

#include "bench/machine.h"

enum { THREADS = 256, UNROLL = 8, PASSES = 4, REPEATS = 7, CHAINS = 8, FMA_BLOCKS = 8 };
enum { FMA_ROUNDS = 16384 };
static const size_t wanted = (size_t)4 << 30, least = (size_t)64 << 20;

/* Random numbers: the power that memory takes, and so the clock, depends on the data. */
static __global__ void fill_kernel(uint4 *a, size_t count) {
  for (size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x; i < count;
       i += gridDim.x * (size_t)THREADS) {
    const uint32_t x = (uint32_t)i * 2654435761u;
    a[i] = make_uint4(x, x ^ (x >> 13), x * 2246822519u, ~x);
  }
}

/* A block reads UNROLL * THREADS neighbours. All loads of a thread are in flight at once. */
static __global__ void read_kernel(const uint4 *a, uint32_t *never) {
  const uint4 *from = a + blockIdx.x * (size_t)(UNROLL * THREADS) + threadIdx.x;
  uint4 x[UNROLL];
  uint32_t mix = 0;
#pragma unroll
  for (int i = 0; i < UNROLL; i++) x[i] = __ldcs(from + i * THREADS);
#pragma unroll
  for (int i = 0; i < UNROLL; i++) mix |= x[i].x ^ x[i].y ^ x[i].z ^ x[i].w;
  if (mix == 0x12345678u) *never = mix; /* keeps the compiler from removing the loads */
}

static __global__ void copy_kernel(const uint4 *a, uint4 *b) {
  const size_t first = blockIdx.x * (size_t)(UNROLL * THREADS) + threadIdx.x;
  uint4 x[UNROLL];
#pragma unroll
  for (int i = 0; i < UNROLL; i++) x[i] = __ldcs(a + first + i * THREADS);
#pragma unroll
  for (int i = 0; i < UNROLL; i++) __stcs(b + first + i * THREADS, x[i]);
}

/* CHAINS independent chains hide the latency of the multiply-adders. */
template <typename real>
static __global__ void fma_kernel(real factor, real term, real *never) {
  real x[CHAINS], sum = 0;
#pragma unroll
  for (int j = 0; j < CHAINS; j++) x[j] = (real)(threadIdx.x + j);
  for (int i = 0; i < FMA_ROUNDS; i++) {
#pragma unroll
    for (int j = 0; j < CHAINS; j++) x[j] = x[j] * factor + term;
  }
#pragma unroll
  for (int j = 0; j < CHAINS; j++) sum += x[j];
  if (sum == (real)-1) *never = sum;
}

typedef struct fixture {
  uint4 *field; /* read whole; copied from its first half to the second */
  size_t bytes;
  void *never;
  int multiprocessors;
  cudaEvent_t begin, end;
} fixture;

typedef void work(const fixture *b);

static void reads(const fixture *b) {
  const unsigned blocks = (unsigned)(b->bytes / (sizeof(uint4) * UNROLL * THREADS));
  read_kernel<<<blocks, THREADS>>>(b->field, (uint32_t *)b->never);
}

static void copies(const fixture *b) {
  const unsigned blocks = (unsigned)(b->bytes / (sizeof(uint4) * UNROLL * THREADS) / 2);
  copy_kernel<<<blocks, THREADS>>>(b->field, b->field + (size_t)blocks * UNROLL * THREADS);
}

static void fmas_double(const fixture *b) {
  fma_kernel<double>
      <<<b->multiprocessors * FMA_BLOCKS, THREADS>>>(1 - 1e-9, 1e-9, (double *)b->never);
}

static void fmas_single(const fixture *b) {
  fma_kernel<float>
      <<<b->multiprocessors * FMA_BLOCKS, THREADS>>>(1 - 1e-6f, 1e-6f, (float *)b->never);
}

/* Seconds of one pass, the best of REPEATS; 0: something failed. */
static double best_time(const fixture *b, work *pass) {
  float best = 0;
  pass(b);
  for (int repeat = 0; repeat < REPEATS; repeat++) {
    float milliseconds = 0;
    cudaEventRecord(b->begin);
    for (int i = 0; i < PASSES; i++) pass(b);
    cudaEventRecord(b->end);
    if (cudaEventSynchronize(b->end) != cudaSuccess ||
        cudaEventElapsedTime(&milliseconds, b->begin, b->end) != cudaSuccess)
      return 0;
    if (repeat == 0 || milliseconds < best) best = milliseconds;
  }
  return cudaGetLastError() == cudaSuccess ? 1e-3 * best / PASSES : 0;
}

static const char *take(fixture *b) {
  size_t free_bytes = 0, total = 0;
  int device = 0;
  if (cudaGetDevice(&device) != cudaSuccess || cudaMemGetInfo(&free_bytes, &total) != cudaSuccess ||
      cudaDeviceGetAttribute(&b->multiprocessors, cudaDevAttrMultiProcessorCount, device) !=
          cudaSuccess ||
      cudaEventCreate(&b->begin) != cudaSuccess || cudaEventCreate(&b->end) != cudaSuccess ||
      cudaMalloc(&b->never, sizeof(double)) != cudaSuccess)
    return "the device does not answer";
  b->bytes = free_bytes / 4 < wanted ? free_bytes / 4 : wanted;
  b->bytes -= b->bytes % (2 * sizeof(uint4) * UNROLL * THREADS);
  if (b->bytes < least || cudaMalloc((void **)&b->field, b->bytes) != cudaSuccess)
    return "out of device memory for the bandwidth measurement; stop what else runs there";
  fill_kernel<<<b->multiprocessors * 8, THREADS>>>(b->field, b->bytes / sizeof(uint4));
  return NULL;
}

static void give(fixture *b) {
  cudaFree(b->field);
  cudaFree(b->never);
  if (b->begin != NULL) cudaEventDestroy(b->begin);
  if (b->end != NULL) cudaEventDestroy(b->end);
  cudaGetLastError();
}

extern "C" const char *machine_cuda_limits(machine *m) {
  fixture b = {};
  const char *missing = take(&b);
  if (missing == NULL) {
    const double bytes = (double)b.bytes;
    const double flops =
        2.0 * CHAINS * FMA_ROUNDS * THREADS * FMA_BLOCKS * (double)b.multiprocessors;
    const double fma[2] = {best_time(&b, fmas_double), best_time(&b, fmas_single)};
    const double read = best_time(&b, reads), copy = best_time(&b, copies);
    if (fma[0] > 0 && fma[1] > 0 && read > 0 && copy > 0) {
      m->read_gbs = 1e-9 * bytes / read;
      m->copy_gbs = 1e-9 * bytes / copy;
      m->fma_gflops[0] = 1e-9 * flops / fma[0];
      m->fma_gflops[1] = 1e-9 * flops / fma[1];
    } else {
      missing = "the device failed in the measurement of its limits";
    }
  }
  give(&b);
  return missing;
}
