/* spin.h - spin projection and reconstruction in the UKQCD basis (docs/conventions.md):
 *   h = upper part of (1 - s gamma_mu) psi,   lower part = s (i sigma_k) h   for mu = k < 3.
 * In t the projector keeps one half of psi (times 2) and drops the other. s = +1: forward hop of D,
 * s = -1: backward.
 * D^dagger needs no code of its own. gamma_5 = [[0,1],[1,0]] and D^dagger = gamma_5 D gamma_5, so
 * callers exchange the two halves of every spinor on load and store.
 *   i sigma_1 (a, b) = (i b, i a), i sigma_2 (a, b) = (b, -a), i sigma_3 (a, b) = (i a, -i b). */
#pragma once

#include "lib/math/su3.h"

/* A spinor; s[0], s[1] upper, s[2], s[3] lower. */
typedef struct vspinor {
  vcomplex s[4][3];
} vspinor;

/* Component (spin 0 or 1 of a half, colour) of a stored spinor half, KAON_W apart. */
KAON_MATH craw half_load_raw(const stored *p, const int spin, const int c) {
  return c_load_raw(p + (spin * 3 + c) * 2 * KAON_W);
}

KAON_MATH vcomplex half_load(const stored *p, const int spin, const int c) {
  return c_from_raw(half_load_raw(p, spin, c));
}

/* Colour c of the projected half spinor; in t without the factor 2. */
KAON_MATH void spin_project_colour(const int mu, const int s, const stored *up, const stored *low,
                                   const int c, vhalf *h) {
  if (mu == 3) {
    h->s[0][c] = half_load(s > 0 ? low : up, 0, c);
    h->s[1][c] = half_load(s > 0 ? low : up, 1, c);
    return;
  }
  const craw u0 = half_load_raw(up, 0, c), u1 = half_load_raw(up, 1, c);
  const craw l0 = half_load_raw(low, 0, c), l1 = half_load_raw(low, 1, c);
  if (mu == 0) {
    h->s[0][c] = raw_add_i_signed(u0, l1, -s);
    h->s[1][c] = raw_add_i_signed(u1, l0, -s);
  } else if (mu == 1) {
    h->s[0][c] = raw_add_signed(u0, l1, -s);
    h->s[1][c] = raw_add_signed(u1, l0, s);
  } else {
    h->s[0][c] = raw_add_i_signed(u0, l0, -s);
    h->s[1][c] = raw_add_i_signed(u1, l1, s);
  }
}

KAON_MATH void spin_project(const int mu, const int s, const stored *up, const stored *low,
                            vhalf *h) {
  spin_project_colour(mu, s, up, low, 0, h);
  spin_project_colour(mu, s, up, low, 1, h);
  spin_project_colour(mu, s, up, low, 2, h);
}

/* a + f s b and a + f s i b, s = +1 or -1. f is used only if `scaled`. */
KAON_MATH vcomplex c_fma_signed(vcomplex a, const int scaled, vreal f, vcomplex b, const int s) {
  if (!scaled) return c_add_signed(a, b, s);
  return s > 0 ? c_make(v_fma(f, b.re, a.re), v_fma(f, b.im, a.im))
               : c_make(v_fnma(f, b.re, a.re), v_fnma(f, b.im, a.im));
}

KAON_MATH vcomplex c_fma_i_signed(vcomplex a, const int scaled, vreal f, vcomplex b, const int s) {
  if (!scaled) return c_add_i_signed(a, b, s);
  return s > 0 ? c_make(v_fnma(f, b.im, a.re), v_fma(f, b.re, a.im))
               : c_make(v_fma(f, b.im, a.re), v_fnma(f, b.re, a.im));
}

/* Adds colour c of the four-spinor that belongs to the half spinor g, or to f g if `scaled`. The
 * two t hops come first: they set the halves that they fill. */
KAON_MATH void spin_add_colour(const int mu, const int s, const int scaled, vreal f, vpair g,
                               const int c, vspinor *d) {
  if (mu == 3) {
    const int first = s > 0 ? 2 : 0;
    d->s[first][c] = scaled ? c_scale(g.s[0], f) : g.s[0];
    d->s[first + 1][c] = scaled ? c_scale(g.s[1], f) : g.s[1];
    return;
  }
  d->s[0][c] = c_fma_signed(d->s[0][c], scaled, f, g.s[0], 1);
  d->s[1][c] = c_fma_signed(d->s[1][c], scaled, f, g.s[1], 1);
  if (mu == 0) {
    d->s[2][c] = c_fma_i_signed(d->s[2][c], scaled, f, g.s[1], s);
    d->s[3][c] = c_fma_i_signed(d->s[3][c], scaled, f, g.s[0], s);
  } else if (mu == 1) {
    d->s[2][c] = c_fma_signed(d->s[2][c], scaled, f, g.s[1], s);
    d->s[3][c] = c_fma_signed(d->s[3][c], scaled, f, g.s[0], -s);
  } else {
    d->s[2][c] = c_fma_i_signed(d->s[2][c], scaled, f, g.s[0], s);
    d->s[3][c] = c_fma_i_signed(d->s[3][c], scaled, f, g.s[1], -s);
  }
}

KAON_MATH void spin_accumulate(const int mu, const int s, vpair g, const int c, vspinor *d) {
  spin_add_colour(mu, s, 0, v_set(1), g, c, d);
}

KAON_MATH void spin_accumulate_scaled(const int mu, const int s, vreal f, vpair g, const int c,
                                      vspinor *d) {
  spin_add_colour(mu, s, 1, f, g, c, d);
}

/* d = b d. A factor that `real` cannot hold is applied in two parts (c_scale_split). */
KAON_MATH void spinor_scale(vspinor *d, double b) {
  const vreal rounded = v_set((real)b), rest = v_set((real)(b - (double)(real)b));
  if (b == 1) return;
  for (int s = 0; s < 4; s++)
    for (int c = 0; c < 3; c++) d->s[s][c] = c_scale_split(d->s[s][c], rounded, rest);
}

/* d += a x */
KAON_MATH void spinor_add(vspinor *d, vreal a, const vspinor *x) {
  for (int s = 0; s < 4; s++)
    for (int c = 0; c < 3; c++) {
      d->s[s][c].re = v_fma(a, x->s[s][c].re, d->s[s][c].re);
      d->s[s][c].im = v_fma(a, x->s[s][c].im, d->s[s][c].im);
    }
}

/* Sum of |d|^2 over the site's components. */
KAON_MATH vreal spinor_norm2(const vspinor *d) {
  vreal re = v_set(0), im = v_set(0);
  for (int s = 0; s < 4; s++)
    for (int c = 0; c < 3; c++) {
      re = v_fma(d->s[s][c].re, d->s[s][c].re, re);
      im = v_fma(d->s[s][c].im, d->s[s][c].im, im);
    }
  return re + im;
}

/* Sum of conj(w) d over the site's components. */
KAON_MATH vcomplex spinor_dot(const vspinor *w, const vspinor *d) {
  vcomplex dot = c_make(v_set(0), v_set(0));
  for (int s = 0; s < 4; s++)
    for (int c = 0; c < 3; c++) dot = c_conj_fma(w->s[s][c], d->s[s][c], dot);
  return dot;
}
