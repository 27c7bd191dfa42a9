/* su3.h - SU(3) links times half spinors, element by element in memory order. A link element is
 * read where it is used, so that no kernel holds all 18 reals in registers. */
#pragma once

#include "lib/math/vreal.h"

/* How a link is read; known at compile time. */
enum {
  KAON_LINK_18 = 18,   /* stored, row * 3 + col, re and im KAON_W apart */
  KAON_LINK_12 = 12,   /* stored, rows 0 and 1; row 2 = conj(row 0 x row 1) */
  KAON_LINK_BUFFER = 1 /* decoded: 18 vreal, KAON_VL apart */
};

/* A half spinor: two spins of three colours. */
typedef struct vhalf {
  vcomplex s[2][3];
} vhalf;

/* One colour of a half spinor. */
typedef struct vpair {
  vcomplex s[2];
} vpair;

KAON_MATH vcomplex link_load(const void *u, const int kind, const int i, const int j) {
  const int c = (i * 3 + j) * 2;
  if (kind == KAON_LINK_BUFFER) {
    const real *p = (const real *)u + c * KAON_VL;
    return c_make(v_load_real(p), v_load_real(p + KAON_VL));
  }
  return c_load((const stored *)u + c * KAON_W);
}

/* Element (i, j) of the link. Half: in units of 1/32767, except that BUFFER is in units of 1. */
KAON_MATH vcomplex link_element(const void *u, const int kind, const int i, const int j) {
  if (kind != KAON_LINK_12 || i < 2) return link_load(u, kind, i, j);
  const int k = (j + 1) % 3, l = (j + 2) % 3;
  const vcomplex a = link_load(u, kind, 0, k), b = link_load(u, kind, 1, l);
  const vcomplex c = link_load(u, kind, 0, l), d = link_load(u, kind, 1, k);
  const vcomplex e = c_fnma(c, d, c_mul(a, b));
#if KAON_IS_HALF
  return c_make(e.re * v_set(1.0 / 32767), e.im * v_set(-1.0 / 32767));
#else
  return c_make(e.re, -e.im);
#endif
}

/* Colour i of U h (dagger = 0) or of U^dag h (dagger = 1) for both spins. */
KAON_MATH vpair link_times_half(const void *u, const int kind, const int dagger, const int i,
                                const vhalf *h) {
  vpair g;
  if (dagger) {
    const vcomplex e0 = link_element(u, kind, 0, i);
    g.s[0] = c_conj_mul(e0, h->s[0][0]);
    g.s[1] = c_conj_mul(e0, h->s[1][0]);
    const vcomplex e1 = link_element(u, kind, 1, i);
    g.s[0] = c_conj_fma(e1, h->s[0][1], g.s[0]);
    g.s[1] = c_conj_fma(e1, h->s[1][1], g.s[1]);
    const vcomplex e2 = link_element(u, kind, 2, i);
    g.s[0] = c_conj_fma(e2, h->s[0][2], g.s[0]);
    g.s[1] = c_conj_fma(e2, h->s[1][2], g.s[1]);
  } else {
    const vcomplex e0 = link_element(u, kind, i, 0);
    g.s[0] = c_mul(e0, h->s[0][0]);
    g.s[1] = c_mul(e0, h->s[1][0]);
    const vcomplex e1 = link_element(u, kind, i, 1);
    g.s[0] = c_fma(e1, h->s[0][1], g.s[0]);
    g.s[1] = c_fma(e1, h->s[1][1], g.s[1]);
    const vcomplex e2 = link_element(u, kind, i, 2);
    g.s[0] = c_fma(e2, h->s[0][2], g.s[0]);
    g.s[1] = c_fma(e2, h->s[1][2], g.s[1]);
  }
  return g;
}
