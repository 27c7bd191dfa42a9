/* simd.h - `vreal` on the CPU: VL sites in a GCC or Clang vector type, and the operations that C
 * operators do not provide. There is one section for each instruction set. Everything else in
 * lib/math uses these functions and + - * /. Included only by lib/math/vreal.h. */
#pragma once

#if defined(KAON_ISA_X86_64)
#include <emmintrin.h> /* only SSE2, to save compile time */
#elif !defined(KAON_ISA_SCALAR)
#include <immintrin.h>
#endif

#if KAON_W == 1 /* ---- scalar: a vreal is a single value ---- */

#include <math.h>

typedef real vreal;
typedef int vperm;

KAON_INLINE vreal v_set(double a) {
  return (real)a;
}
KAON_INLINE vreal v_load_real(const real *p) {
  return *p;
}
KAON_INLINE void v_store_real(real *p, vreal a) {
  *p = a;
}
KAON_INLINE void v_stream_real(real *p, vreal a) {
  *p = a;
}
KAON_INLINE vreal v_fma(vreal a, vreal b, vreal c) {
  return a * b + c;
}
KAON_INLINE vreal v_fnma(vreal a, vreal b, vreal c) {
  return c - a * b;
}
KAON_INLINE vreal v_max(vreal a, vreal b) {
  return a > b ? a : b;
}
KAON_INLINE vreal v_abs(vreal a) {
  return a < 0 ? -a : a;
}
KAON_INLINE vreal v_sqrt(vreal a) {
  return (real)sqrt((double)a);
}
typedef int vmask;
KAON_INLINE vmask v_greater(vreal a, vreal b) {
  return a > b;
}
KAON_INLINE vreal v_select(vmask mask, vreal a, vreal b) {
  return mask ? a : b;
}
KAON_INLINE vperm v_exchange_index(int bit) {
  return bit;
}
KAON_INLINE vreal v_exchange(vreal a, vperm index) {
  (void)index;
  return a;
}
KAON_INLINE double v_sum(vreal a) {
  return (double)a;
}
/* a if the lowest bit of the stored value is 1, else b. */
KAON_INLINE vreal v_select_odd(const stored *p, vreal a, vreal b) {
  uint64_t word = 0;
  __builtin_memcpy(&word, p, sizeof *p);
  return (word & 1) ? a : b;
}
/* a in the first `lanes` lanes, 0 in the others. */
KAON_INLINE vreal v_mask_tail(vreal a, int lanes) {
  return lanes > 0 ? a : 0;
}
KAON_INLINE vreal v_load_float(const float *p) {
  return (real)*p;
}
#if KAON_IS_HALF
typedef int32_t vraw;
KAON_INLINE vraw v_load_int16(const int16_t *p) {
  return *p;
}
KAON_INLINE vreal v_from_int(vraw a) {
  return (vreal)a;
}
KAON_INLINE void v_store_int16(int16_t *p, vreal a) {
  *p = (int16_t)lrintf(a);
}
#endif
KAON_INLINE void v_stream_copy(stored *to, const stored *from) {
  *to = *from;
}
KAON_INLINE void v_stream_fence(void) {}

#else /* ---- vectors ---- */

typedef real vreal __attribute__((vector_size(sizeof(real) * KAON_VL)));
#if defined(KAON_PREC_DOUBLE)
typedef int64_t vint __attribute__((vector_size(8 * KAON_VL)));
#else
typedef int32_t vint __attribute__((vector_size(4 * KAON_VL)));
#endif
#if KAON_IS_HALF
typedef vint vraw;
#endif

KAON_INLINE vreal v_load_real(const real *p) {
  return *(const vreal *)p;
}
KAON_INLINE void v_store_real(real *p, vreal a) {
  *(vreal *)p = a;
}
KAON_INLINE vreal v_set(double a) {
  return (real)a - (vreal){0};
}
typedef vint vmask; /* all bits of a lane, or none */
KAON_INLINE vmask v_greater(vreal a, vreal b) {
  return a > b;
}
KAON_INLINE vreal v_select(vmask mask, vreal a, vreal b) {
  return (vreal)(((vint)a & mask) | ((vint)b & ~mask));
}
KAON_INLINE vreal v_select_odd(const stored *p, vreal a, vreal b) {
#if KAON_IS_HALF
  typedef int16_t vint16 __attribute__((vector_size(2 * KAON_VL), aligned(2)));
  const vint odd = -(__builtin_convertvector(*(const vint16 *)p, vint) & 1);
#else
  const vint odd = -(*(const vint *)p & 1);
#endif
  return (vreal)(((vint)a & odd) | ((vint)b & ~odd));
}
KAON_INLINE vreal v_mask_tail(vreal a, int lanes) {
  for (int l = 0; l < KAON_VL; l++)
    if (l >= lanes) a[l] = 0;
  return a;
}
KAON_INLINE vreal v_load_float(const float *p) {
  typedef float vfloat __attribute__((vector_size(4 * KAON_VL), aligned(4)));
  return __builtin_convertvector(*(const vfloat *)p, vreal);
}
/* Sums of a vreal are computed in double, lane by lane in order. */
KAON_INLINE double v_sum(vreal a) {
  double sum = 0;
  for (int l = 0; l < KAON_VL; l++) sum += (double)a[l];
  return sum;
}

/* AVX2 and AVX-512. v_lanes_index(lanes): the index with which v_exchange moves lane lanes[l] to
 * lane l. v_mask: one bit for each lane, from lanes that are all ones or 0. */
#if defined(KAON_ISA_AVX512)
#if defined(KAON_PREC_DOUBLE)
#define KAON_MM(op) _mm512_##op##_pd
typedef __m512i vperm;
KAON_INLINE vperm v_exchange_index(int bit) {
  return _mm512_xor_si512(_mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0), _mm512_set1_epi64(1 << bit));
}
KAON_INLINE vreal v_exchange(vreal a, vperm index) {
  return _mm512_permutexvar_pd(index, a);
}
KAON_INLINE uint32_t v_mask(vint lanes) {
  return _mm512_movepi64_mask((__m512i)lanes);
}
#else
#define KAON_MM(op) _mm512_##op##_ps
typedef __m512i vperm;
KAON_INLINE vperm v_exchange_index(int bit) {
  return _mm512_xor_si512(_mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0),
                          _mm512_set1_epi32(1 << bit));
}
KAON_INLINE vreal v_exchange(vreal a, vperm index) {
  return _mm512_permutexvar_ps(index, a);
}
KAON_INLINE uint32_t v_mask(vint lanes) {
  return _mm512_movepi32_mask((__m512i)lanes);
}
KAON_INLINE vint v_load_int16(const int16_t *p) {
  return (vint)_mm512_cvtepi16_epi32(_mm256_loadu_si256((const __m256i *)p));
}
KAON_INLINE vreal v_from_int(vint a) {
  return _mm512_cvtepi32_ps((__m512i)a);
}
KAON_INLINE void v_store_int16(int16_t *p, vreal a) {
  _mm256_storeu_si256((__m256i *)p, _mm512_cvtsepi32_epi16(_mm512_cvtps_epi32(a)));
}
#endif
KAON_INLINE vperm v_lanes_index(vint lanes) {
  return (vperm)lanes;
}
KAON_INLINE vreal v_fma(vreal a, vreal b, vreal c) {
  return KAON_MM(fmadd)(a, b, c);
}
KAON_INLINE vreal v_fnma(vreal a, vreal b, vreal c) {
  return KAON_MM(fnmadd)(a, b, c);
}

#elif defined(KAON_ISA_AVX2)
#if defined(KAON_PREC_DOUBLE)
#define KAON_MM(op) _mm256_##op##_pd
#else
#define KAON_MM(op) _mm256_##op##_ps
KAON_INLINE vint v_load_int16(const int16_t *p) {
  return (vint)_mm256_cvtepi16_epi32(_mm_loadu_si128((const __m128i *)p));
}
KAON_INLINE vreal v_from_int(vint a) {
  return _mm256_cvtepi32_ps((__m256i)a);
}
KAON_INLINE __m128i v_pack_int16(vreal a) {
  const __m256i i = _mm256_cvtps_epi32(a);
  return _mm_packs_epi32(_mm256_castsi256_si128(i), _mm256_extracti128_si256(i, 1));
}
KAON_INLINE void v_store_int16(int16_t *p, vreal a) {
  _mm_storeu_si128((__m128i *)p, v_pack_int16(a));
}
#endif
typedef __m256i vperm; /* indices of 32-bit pieces: a lane of double is two of them */
KAON_INLINE vperm v_exchange_index(int bit) {
  const int step = (int)(sizeof(real) / 4) << bit;
  return _mm256_xor_si256(_mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0), _mm256_set1_epi32(step));
}
KAON_INLINE vreal v_exchange(vreal a, vperm index) {
  return (vreal)_mm256_permutevar8x32_epi32((__m256i)a, index);
}
KAON_INLINE vperm v_lanes_index(vint lanes) {
#if defined(KAON_PREC_DOUBLE)
  return (vperm)(lanes * 2 | (lanes * 2 + 1) << 32);
#else
  return (vperm)lanes;
#endif
}
KAON_INLINE uint32_t v_mask(vint lanes) {
  return (uint32_t)KAON_MM(movemask)((vreal)lanes);
}
KAON_INLINE vreal v_fma(vreal a, vreal b, vreal c) {
  return KAON_MM(fmadd)(a, b, c);
}
KAON_INLINE vreal v_fnma(vreal a, vreal b, vreal c) {
  return KAON_MM(fnmadd)(a, b, c);
}

#else /* baseline x86-64: SSE2 */
typedef int vperm;
KAON_INLINE vperm v_exchange_index(int bit) {
  return bit;
}
#if defined(KAON_PREC_DOUBLE)
#define KAON_MM(op) _mm_##op##_pd
KAON_INLINE vreal v_exchange(vreal a, vperm index) {
  (void)index;
  return _mm_shuffle_pd(a, a, 1);
}
#else
#define KAON_MM(op) _mm_##op##_ps
KAON_INLINE vreal v_exchange(vreal a, vperm index) {
  return index == 0 ? _mm_shuffle_ps(a, a, 0xB1) : _mm_shuffle_ps(a, a, 0x4E);
}
KAON_INLINE vint v_load_int16(const int16_t *p) {
  const __m128i i = _mm_loadl_epi64((const __m128i *)p);
  return (vint)_mm_srai_epi32(_mm_unpacklo_epi16(i, i), 16);
}
KAON_INLINE vreal v_from_int(vint a) {
  return _mm_cvtepi32_ps((__m128i)a);
}
KAON_INLINE void v_store_int16(int16_t *p, vreal a) {
  const __m128i i = _mm_cvtps_epi32(a);
  _mm_storel_epi64((__m128i *)p, _mm_packs_epi32(i, i));
}
#endif
KAON_INLINE vreal v_fma(vreal a, vreal b, vreal c) {
  return a * b + c;
}
KAON_INLINE vreal v_fnma(vreal a, vreal b, vreal c) {
  return c - a * b;
}
#endif

KAON_INLINE vreal v_max(vreal a, vreal b) {
  return KAON_MM(max)(a, b);
}
KAON_INLINE vreal v_abs(vreal a) {
  return v_max(a, -a);
}
KAON_INLINE vreal v_sqrt(vreal a) {
  return KAON_MM(sqrt)(a);
}
KAON_INLINE void v_stream_real(real *p, vreal a) {
  KAON_MM(stream)(p, a);
}
#if KAON_IS_HALF
KAON_INLINE void v_store_raw(int16_t *p, vraw a) {
  typedef int16_t vint16 __attribute__((vector_size(2 * KAON_VL), aligned(2)));
  *(vint16 *)p = __builtin_convertvector(a, vint16);
}
#endif
/* Copies the VL values of a vreal, bypassing the cache. */
KAON_INLINE void v_stream_copy(stored *to, const stored *from) {
#if !KAON_IS_HALF
  v_stream_real(to, v_load_real(from));
#elif KAON_VL == 16
  _mm256_stream_si256((__m256i *)to, *(const __m256i *)from);
#elif KAON_VL == 8
  _mm_stream_si128((__m128i *)to, *(const __m128i *)from);
#else
  long long four; /* four values of 16 bits */
  __builtin_memcpy(&four, from, sizeof four);
  _mm_stream_si64((long long *)to, four);
#endif
}
/* Makes streamed stores visible to other threads. */
KAON_INLINE void v_stream_fence(void) {
  _mm_sfence();
}

#endif
/* a (s + rest) with a single significant rounding; rest is the remainder of the rounded factor
 * s. */
KAON_INLINE vreal v_scale_split(vreal a, vreal s, vreal rest) {
#if defined(KAON_PREC_DOUBLE)
  (void)rest;
  return a * s;
#elif defined(KAON_ISA_AVX512) || defined(KAON_ISA_AVX2)
  return v_fma(a, s, a * rest);
#elif KAON_W == 1
  return (real)((double)a * ((double)s + (double)rest));
#else /* without fused multiply-add two roundings would lose `rest` */
  typedef double vtwice __attribute__((vector_size(sizeof(double) * KAON_VL)));
  const vtwice factor = __builtin_convertvector(s, vtwice) + __builtin_convertvector(rest, vtwice);
  return __builtin_convertvector(__builtin_convertvector(a, vtwice) * factor, vreal);
#endif
}
