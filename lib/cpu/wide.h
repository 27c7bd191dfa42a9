/* wide.h - sums in double of the lanes of a vreal, on the CPU. A vwide holds one double for each
 * lane, in as many registers as needed. So a product of two floats is added exactly. The lanes are
 * added once at the end, in a fixed tree. Include it after lib/math/vreal.h. */
#pragma once

#if KAON_W == 1
typedef double vdouble;
#else
typedef double vdouble __attribute__((vector_size(sizeof(real) * KAON_VL)));
#endif

#if KAON_W > 1 && !defined(KAON_PREC_DOUBLE)
#define KAON_WIDE_PIECES 2
#else
#define KAON_WIDE_PIECES 1
#endif

typedef struct vwide {
  vdouble piece[KAON_WIDE_PIECES];
} vwide;

#if KAON_W == 1
KAON_INLINE vwide w_from(vreal a) {
  return (vwide){{(double)a}};
}
KAON_INLINE double w_tree(vdouble a) {
  return a;
}
#elif defined(KAON_PREC_DOUBLE)
KAON_INLINE vwide w_from(vreal a) {
  return (vwide){{a}};
}
#elif defined(KAON_ISA_AVX512)
KAON_INLINE vwide w_from(vreal a) {
  return (vwide){
      {_mm512_cvtps_pd(_mm512_castps512_ps256(a)), _mm512_cvtps_pd(_mm512_extractf32x8_ps(a, 1))}};
}
#elif defined(KAON_ISA_AVX2)
KAON_INLINE vwide w_from(vreal a) {
  return (vwide){
      {_mm256_cvtps_pd(_mm256_castps256_ps128(a)), _mm256_cvtps_pd(_mm256_extractf128_ps(a, 1))}};
}
#else
KAON_INLINE vwide w_from(vreal a) {
  return (vwide){{_mm_cvtps_pd(a), _mm_cvtps_pd(_mm_movehl_ps(a, a))}};
}
#endif

#if KAON_W > 1
KAON_INLINE double w_tree(vdouble a) {
#if defined(KAON_ISA_AVX512)
  const __m256d b = _mm256_add_pd(_mm512_castpd512_pd256(a), _mm512_extractf64x4_pd(a, 1));
#elif defined(KAON_ISA_AVX2)
  const __m256d b = a;
#endif
#if defined(KAON_ISA_AVX512) || defined(KAON_ISA_AVX2)
  const __m128d c = _mm_add_pd(_mm256_castpd256_pd128(b), _mm256_extractf128_pd(b, 1));
#else
  const __m128d c = a;
#endif
  return _mm_cvtsd_f64(_mm_add_sd(c, _mm_unpackhi_pd(c, c)));
}
#endif

/* Rounds each lane once. */
KAON_INLINE vreal w_to_real(vwide a) {
#if KAON_W == 1
  return (real)a.piece[0];
#elif KAON_WIDE_PIECES == 1
  return a.piece[0];
#elif defined(KAON_ISA_AVX512)
  return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(a.piece[0])),
                            _mm512_cvtpd_ps(a.piece[1]), 1);
#elif defined(KAON_ISA_AVX2)
  return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm256_cvtpd_ps(a.piece[0])),
                              _mm256_cvtpd_ps(a.piece[1]), 1);
#else
  return _mm_movelh_ps(_mm_cvtpd_ps(a.piece[0]), _mm_cvtpd_ps(a.piece[1]));
#endif
}

/* W doubles; for float each piece of the vwide holds half of them. */
KAON_INLINE vwide w_load(const double *p) {
  vwide a;
  for (int i = 0; i < KAON_WIDE_PIECES; i++)
    a.piece[i] = *(const vdouble *)(p + i * (int)(sizeof(vdouble) / sizeof(double)));
  return a;
}

KAON_INLINE void w_store(double *p, vwide a) {
  for (int i = 0; i < KAON_WIDE_PIECES; i++)
    *(vdouble *)(p + i * (int)(sizeof(vdouble) / sizeof(double))) = a.piece[i];
}

KAON_INLINE vwide w_zero(void) {
  return w_from(v_set(0));
}

/* c + a b, c - a b. -ffp-contract=fast turns each into one FMA if the processor has it. */
KAON_INLINE vwide w_fma(vwide a, vwide b, vwide c) {
  for (int i = 0; i < KAON_WIDE_PIECES; i++) c.piece[i] = a.piece[i] * b.piece[i] + c.piece[i];
  return c;
}

KAON_INLINE vwide w_fnma(vwide a, vwide b, vwide c) {
  for (int i = 0; i < KAON_WIDE_PIECES; i++) c.piece[i] = c.piece[i] - a.piece[i] * b.piece[i];
  return c;
}

KAON_INLINE vwide w_add(vwide a, vwide b) {
  for (int i = 0; i < KAON_WIDE_PIECES; i++) a.piece[i] += b.piece[i];
  return a;
}

KAON_INLINE vwide w_mul(vwide a, vwide b) {
  for (int i = 0; i < KAON_WIDE_PIECES; i++) a.piece[i] *= b.piece[i];
  return a;
}

KAON_INLINE double w_sum(vwide a) {
  vdouble sum = a.piece[0];
  if (KAON_WIDE_PIECES == 2) sum += a.piece[KAON_WIDE_PIECES - 1];
  return w_tree(sum);
}
