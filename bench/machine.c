/* machine.c - bandwidth and arithmetic peak of the processor. Contract: machine.h.
 * Triad: a = b + s c, 24 bytes an element (J. D. McCalpin, STREAM, 1995). Stores bypass the cache,
 * so no line of a is read. Best of REPEATS, the rule of STREAM. The loops are compiled for each
 * instruction set by function attributes and chosen at run time. */
#include "bench/machine.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "interfaces/common/cache.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { REPEATS = 7, BANDWIDTH_REPEATS = 3, CHAINS = 12 };
#ifdef __SANITIZE_ADDRESS__ /* rates between its checks say nothing; little is measured */
static const size_t fma_rounds = 40000;
static const size_t smallest = 1u << 18, largest = 1u << 18;
#else
static const size_t fma_rounds = 4000000;
static const size_t smallest = 8u << 20, largest = 64u << 20; /* doubles: 64 MiB to 512 MiB */
#endif

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void triad_plain(double *a, const double *b, const double *c, size_t n) {
  for (size_t i = 0; i < n; i++) a[i] = b[i] + 3.0 * c[i];
}

static double read_plain(const double *a, size_t n) {
  double sum[8] = {0};
  for (size_t i = 0; i + 8 <= n; i += 8)
    for (int j = 0; j < 8; j++) sum[j] += a[i + (size_t)j];
  return sum[0] + sum[1] + sum[2] + sum[3] + sum[4] + sum[5] + sum[6] + sum[7];
}

/* CHAINS independent chains hide the latency of the multiply-adders (4 or 5 cycles, two of them).
 */
static double fma_plain(size_t rounds, int single, double *flops) {
  volatile double seed = 1e-9;
  double x[CHAINS], m = 1 - seed;
  (void)single;
  for (int j = 0; j < CHAINS; j++) x[j] = j;
  for (size_t i = 0; i < rounds; i++)
    for (int j = 0; j < CHAINS; j++) x[j] = x[j] * m + seed;
  double sum = 0;
  for (int j = 0; j < CHAINS; j++) sum += x[j];
  *flops = 2.0 * CHAINS * (double)rounds;
  return sum;
}

#if defined(__x86_64__)
/* One set of loops for each instruction set: V vectors of D doubles. */
#define MACHINE_LOOPS(NAME, TARGET, VD, VS, BYTES, STREAM, LOAD, ADD, FMADD, SETD, SETS, FMADDS) \
  __attribute__((target(TARGET))) static void triad_##NAME(double *a, const double *b,           \
                                                           const double *c, size_t n) {          \
    const size_t w = BYTES / sizeof(double);                                                     \
    VD s = SETD(3.0);                                                                            \
    for (size_t i = 0; i < n; i += w) STREAM(a + i, FMADD(s, LOAD(c + i), LOAD(b + i)));         \
    _mm_sfence();                                                                                \
  }                                                                                              \
  __attribute__((target(TARGET))) static double read_##NAME(const double *a, size_t n) {         \
    const size_t w = BYTES / sizeof(double);                                                     \
    VD s0 = SETD(0.0), s1 = s0, s2 = s0, s3 = s0;                                                \
    for (size_t i = 0; i < n; i += 4 * w) {                                                      \
      s0 = ADD(s0, LOAD(a + i));                                                                 \
      s1 = ADD(s1, LOAD(a + i + w));                                                             \
      s2 = ADD(s2, LOAD(a + i + 2 * w));                                                         \
      s3 = ADD(s3, LOAD(a + i + 3 * w));                                                         \
    }                                                                                            \
    VD s = ADD(ADD(s0, s1), ADD(s2, s3));                                                        \
    return s[0] + s[1];                                                                          \
  }                                                                                              \
  __attribute__((target(TARGET))) static double fma_##NAME(size_t rounds, int single,            \
                                                           double *flops) {                      \
    volatile double seed = 1e-9;                                                                 \
    VD xd[CHAINS], md = SETD(1 - seed), ed = SETD(seed);                                         \
    VS xs[CHAINS], ms = SETS((float)(1 - seed)), es = SETS((float)seed);                         \
    double sum = 0;                                                                              \
    for (int j = 0; j < CHAINS; j++) xd[j] = SETD((double)j), xs[j] = SETS((float)j);            \
    if (single)                                                                                  \
      for (size_t i = 0; i < rounds; i++) {                                                      \
        _Pragma("GCC unroll 12") for (int j = 0; j < CHAINS; j++) xs[j] = FMADDS(xs[j], ms, es); \
      }                                                                                          \
    else                                                                                         \
      for (size_t i = 0; i < rounds; i++) {                                                      \
        _Pragma("GCC unroll 12") for (int j = 0; j < CHAINS; j++) xd[j] = FMADD(xd[j], md, ed);  \
      }                                                                                          \
    for (int j = 0; j < CHAINS; j++) sum += xd[j][0] + (double)xs[j][0];                         \
    *flops = 2.0 * CHAINS * (BYTES / (single ? 4.0 : 8.0)) * (double)rounds;                     \
    return sum;                                                                                  \
  }

#define SSE2_FMADD(x, y, z) _mm_add_pd(_mm_mul_pd(x, y), z)
#define SSE2_FMADDS(x, y, z) _mm_add_ps(_mm_mul_ps(x, y), z)
MACHINE_LOOPS(sse2, "sse2", __m128d, __m128, 16, _mm_stream_pd, _mm_load_pd, _mm_add_pd, SSE2_FMADD,
              _mm_set1_pd, _mm_set1_ps, SSE2_FMADDS)
MACHINE_LOOPS(avx2, "avx2,fma", __m256d, __m256, 32, _mm256_stream_pd, _mm256_load_pd,
              _mm256_add_pd, _mm256_fmadd_pd, _mm256_set1_pd, _mm256_set1_ps, _mm256_fmadd_ps)
MACHINE_LOOPS(avx512, "avx512f", __m512d, __m512, 64, _mm512_stream_pd, _mm512_load_pd,
              _mm512_add_pd, _mm512_fmadd_pd, _mm512_set1_pd, _mm512_set1_ps, _mm512_fmadd_ps)
#endif

typedef struct loops {
  void (*triad)(double *a, const double *b, const double *c, size_t n);
  double (*read)(const double *a, size_t n);
  double (*fma)(size_t rounds, int single, double *flops);
} loops;

static loops pick(void) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return (loops){triad_avx512, read_avx512, fma_avx512};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return (loops){triad_avx2, read_avx2, fma_avx2};
  return (loops){triad_sse2, read_sse2, fma_sse2};
#endif
  return (loops){triad_plain, read_plain, fma_plain};
}

static void measure_fma(machine *m) {
  const loops l = pick();
  for (int single = 0; single < 2; single++)
    for (int repeat = 0; repeat < REPEATS; repeat++) {
      double flops = 0, sum = 0, begin = seconds();
#pragma omp parallel num_threads(m->threads) reduction(+ : flops, sum)
      sum += l.fma(fma_rounds, single, &flops);
      volatile double keep = sum;
      (void)keep;
      double rate = 1e-9 * flops / (seconds() - begin);
      if (rate > m->fma_gflops[single]) m->fma_gflops[single] = rate;
    }
}

void machine_bandwidth(machine *m) {
  if (m->a == NULL) return;
  const loops l = pick();
  size_t share = m->count / (size_t)m->threads / 64 * 64;
  double gigabytes = 1e-9 * (double)(share * (size_t)m->threads * sizeof(double));
  m->triad_gbs = m->read_gbs = 0;
  for (int repeat = 0; repeat < BANDWIDTH_REPEATS; repeat++) {
    double sum = 0, begin = seconds();
#pragma omp parallel for num_threads(m->threads) schedule(static, 1)
    for (int t = 0; t < m->threads; t++) {
      size_t at = share * (size_t)t;
      l.triad(m->a + at, m->b + at, m->c + at, share);
    }
    double middle = seconds();
#pragma omp parallel for num_threads(m->threads) schedule(static, 1) reduction(+ : sum)
    for (int t = 0; t < m->threads; t++) sum += l.read(m->b + share * (size_t)t, share);
    double end = seconds();
    volatile double keep = sum;
    (void)keep;
    if (3 * gigabytes / (middle - begin) > m->triad_gbs)
      m->triad_gbs = 3 * gigabytes / (middle - begin);
    if (gigabytes / (end - middle) > m->read_gbs) m->read_gbs = gigabytes / (end - middle);
  }
}

static const char *open_processor(int sharing, machine *m) {
  size_t cache = cache_bytes();
  size_t count = cache > 0 ? 4 * cache / sizeof(double) : smallest;
  m->count = (count < smallest ? smallest : count > largest ? largest : count) / (size_t)sharing;
  m->a = aligned_alloc(4096, m->count * sizeof(double));
  m->b = aligned_alloc(4096, m->count * sizeof(double));
  m->c = aligned_alloc(4096, m->count * sizeof(double));
  if (!m->a || !m->b || !m->c) {
    machine_close(m);
    return "out of memory for the bandwidth measurement";
  }
  size_t share = m->count / (size_t)m->threads / 64 * 64;
  /* First touch by the thread that will use a page places it near that thread. */
#pragma omp parallel for num_threads(m->threads) schedule(static, 1)
  for (int t = 0; t < m->threads; t++)
    for (size_t i = share * (size_t)t; i < share * (size_t)(t + 1); i++) {
      m->a[i] = 0;
      m->b[i] = 1;
      m->c[i] = 2;
    }
  machine_bandwidth(m);
  measure_fma(m);
  return NULL;
}

const char *machine_open(const char *backend, int threads, int sharing, machine *m) {
  *m = (machine){.triad_gbs = NAN, .copy_gbs = NAN, .threads = threads};
  if (strcmp(backend, "cpu") == 0) return open_processor(sharing, m);
#ifdef KAON_BUILD_CUDA
  return machine_cuda_limits(m);
#else
  return "this program was built without the device's own measurement";
#endif
}

void machine_close(machine *m) {
  free(m->a);
  free(m->b);
  free(m->c);
  m->a = m->b = m->c = NULL;
}
