/* lanes.h - how the CPU's sparse kernels read vector elements for the columns of VL entries, and
 * matrix values in any storage. Element c of a vector column is at (c / W) * stride + c % W from
 * its first one, with stride = nrhs * reals * W. */
#pragma once

#include "lib/core/kernel.h"
#include "lib/math/vreal.h"
#include "lib/math/half.h"
#include "lib/cpu/wide.h"

#if KAON_W == 16
enum { LOG_W = 4 };
#elif KAON_W == 8
enum { LOG_W = 3 };
#elif KAON_W == 4
enum { LOG_W = 2 };
#else
enum { LOG_W = 0 };
#endif

#if KAON_W == 1
typedef int32_t vindex;
KAON_INLINE vreal v_load_loose(const real *p) {
  return *p;
}
KAON_INLINE vreal v_only(vreal a, uint32_t lanes) {
  return lanes & 1 ? a : 0;
}
KAON_INLINE vreal v_gather(const real *x, vindex i) {
  return x[i];
}
KAON_INLINE vreal v_load_int(const int16_t *p) {
  return (real)*p;
}
KAON_INLINE vindex v_load_columns(const int32_t *p) {
  return *p;
}
KAON_INLINE vindex v_load_narrow(const uint16_t *p) {
  return *p;
}
KAON_INLINE void v_store_columns(int32_t *p, vindex c) {
  *p = c;
}
#else
typedef int32_t vindex __attribute__((vector_size(4 * KAON_VL), aligned(4)));
KAON_INLINE vreal v_load_loose(const real *p) {
  typedef real loose __attribute__((vector_size(sizeof(real) * KAON_VL), aligned(sizeof(real))));
  return *(const loose *)p;
}
/* a in the lanes whose bits are set, else 0. */
KAON_INLINE vreal v_only(vreal a, uint32_t lanes) {
#if defined(KAON_ISA_AVX512) && defined(KAON_PREC_DOUBLE)
  return _mm512_maskz_mov_pd((__mmask8)lanes, a);
#elif defined(KAON_ISA_AVX512)
  return _mm512_maskz_mov_ps((__mmask16)lanes, a);
#else
  vint bit;
  for (int l = 0; l < KAON_VL; l++) bit[l] = 1 << l;
  const vint all = (vint){0} + (int32_t)(lanes & (UINT32_MAX >> (32 - KAON_VL)));
  return (vreal)((vint)a & ((all & bit) == bit));
#endif
}
KAON_INLINE vreal v_gather(const real *x, vindex i) {
#if defined(KAON_ISA_AVX512) && defined(KAON_PREC_DOUBLE)
  return _mm512_i32gather_pd((__m256i)i, x, 8);
#elif defined(KAON_ISA_AVX512)
  return _mm512_i32gather_ps((__m512i)i, x, 4);
#elif defined(KAON_ISA_AVX2) && defined(KAON_PREC_DOUBLE)
  return _mm256_i32gather_pd(x, (__m128i)i, 8);
#elif defined(KAON_ISA_AVX2)
  return _mm256_i32gather_ps(x, (__m256i)i, 4);
#else
  vreal v;
  for (int l = 0; l < KAON_VL; l++) v[l] = x[i[l]];
  return v;
#endif
}
KAON_INLINE vindex v_load_columns(const int32_t *p) {
  return *(const vindex *)p;
}
KAON_INLINE vindex v_load_narrow(const uint16_t *p) {
  typedef uint16_t columns16 __attribute__((vector_size(2 * KAON_VL), aligned(2)));
  return __builtin_convertvector(*(const columns16 *)p, vindex);
}
KAON_INLINE void v_store_columns(int32_t *p, vindex c) {
  *(vindex *)p = c;
}
#if defined(KAON_PREC_SINGLE)
KAON_INLINE vreal v_load_int(const int16_t *p) {
  return v_from_int(v_load_int16(p));
}
#else /* 16-bit values are used with vectors in single */
KAON_INLINE vreal v_load_int(const int16_t *p) {
  vreal v;
  for (int l = 0; l < KAON_VL; l++) v[l] = (real)p[l];
  return v;
}
#endif
#endif

/* A vector as products read it: columns below `rows` are in x, the others in the ghosts. */
typedef struct source {
  const real *x, *ghosts;
  int64_t rows, stride;
  int far; /* offsets need 64 bits */
} source;

KAON_INLINE int64_t source_offset(const source *s, int64_t column) {
  return (column >> LOG_W) * s->stride + (column & (KAON_W - 1));
}

/* Offsets of VL columns. plain: one column of reals, whose offsets are the columns. */
KAON_INLINE vindex source_offsets(const source *s, vindex c, const int plain) {
  return plain ? c : (c >> LOG_W) * (int32_t)s->stride + (c & (KAON_W - 1));
}

/* The elements at VL columns, `skip` reals after those of the first component and column. */
KAON_INLINE vreal source_fetch(const source *s, vindex columns, vindex offsets, int64_t skip,
                               const int beyond) {
  if (!beyond && !s->far) return v_gather(s->x + skip, offsets);
  real lanes[KAON_VL] __attribute__((aligned(64)));
  int32_t column[KAON_VL] __attribute__((aligned(64)));
  v_store_columns(column, columns);
  for (int l = 0; l < KAON_VL; l++) {
    const int64_t c = column[l];
    lanes[l] = c < s->rows ? s->x[skip + source_offset(s, c)]
                           : s->ghosts[skip + source_offset(s, c - s->rows)];
  }
  return v_load_real(lanes);
}

/* The same for consecutive columns from `column` on, all of them in x. */
KAON_INLINE vreal source_run(const source *s, int64_t column, int64_t skip, const int plain) {
  if (plain) return v_load_loose(s->x + skip + column);
  const int lane = (int)(column & (KAON_W - 1));
  const real *p = s->x + skip + source_offset(s, column);
  if (lane + KAON_VL <= KAON_W) return v_load_loose(p);
#if KAON_W == 1
  return v_load_loose(p);
#else /* from the end of a block into the next one, which is `stride` away */
  const vreal low = v_load_loose(p), high = v_load_loose(p + s->stride - KAON_W);
  vint number;
  for (int l = 0; l < KAON_VL; l++) number[l] = l;
  const vint here = number < (KAON_W - lane);
  return (vreal)(((vint)low & here) | ((vint)high & ~here));
#endif
}
