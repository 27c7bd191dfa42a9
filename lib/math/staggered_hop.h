/* staggered_hop.h - the site arithmetic of staggered hops, shared by C and CUDA C: links times
 * three colours, the U(3) phase of a long link, and the result of a site from its sums.
 *
 * A hop sums U chi over the forward directions and -U^dag chi over the backward ones. eta_mu(x) and
 * the antiperiodic boundary are a sign of the neighbour's chi; in half its unit is a factor of it.
 * Fat and long links are summed separately and joined once, each with one factor for the whole
 * field (colour_join). Rounding the two factors differently would change the operator at every site
 * in the same way.
 *
 * A long link is c e^{i theta} V with V in SU(3) and c constant over the field. V is stored as 12
 * or 8 reals. theta, in [-pi/3, pi/3], is stored as one more real, y = tan(theta / 2), |y| <=
 * 1 / sqrt 3, which makes 13 or 9. e^{i theta} = (1 - y^2 + 2 i y) / (1 + y^2). An error e of y
 * rotates the phase by at most 2 e. */
#pragma once

#include "lib/math/su3.h"

/* The colours of a site. */
typedef struct vcolour {
  vcomplex c[3];
} vcolour;

KAON_MATH vcolour colour_zero(void) {
  vcolour d;
  for (int i = 0; i < 3; i++) d.c[i] = c_make(v_set(0), v_set(0));
  return d;
}

KAON_MATH vcolour colour_scale(const vcolour *a, vreal f) {
  vcolour d;
  for (int i = 0; i < 3; i++) d.c[i] = c_scale(a->c[i], f);
  return d;
}

/* d += U chi, or U^dag chi. `kind` is that of link_element (su3.h). */
KAON_MATH void colour_add_link(const void *u, const int kind, const int dagger, const vcolour *chi,
                               vcolour *d) {
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      d->c[i] = dagger ? c_conj_fma(link_element(u, kind, j, i), chi->c[j], d->c[i])
                       : c_fma(link_element(u, kind, i, j), chi->c[j], d->c[i]);
}

/* e^{i theta} from a stored y. Uses only v_fma, for the reason given at v_add_factor. */
KAON_MATH vcomplex phase_of(vreal y) {
  const vreal one = v_set(1), r = v_inverse(v_fma(y, y, one));
  return c_make(v_fnma(y, y, one) * r, (y + y) * r);
}

/* chi times e^{i theta}, or times its conjugate. */
KAON_MATH vcolour colour_times_i(vreal y, const int conjugate, const vcolour *chi) {
  const vcomplex phase = phase_of(y);
  vcolour d;
  for (int i = 0; i < 3; i++)
    d.c[i] = conjugate ? c_conj_mul(phase, chi->c[i]) : c_mul(phase, chi->c[i]);
  return d;
}

/* A factor of a whole field: its rounded value and the remainder (c_scale_split). */
typedef struct kaon_factor {
  real rounded, rest;
} kaon_factor;

static inline KAON_HD kaon_factor kaon_factor_of(double f) {
  const kaon_factor split = {(real)f, (real)(f - (double)(real)f)};
  return split;
}

KAON_MATH vreal v_scale_factor(vreal a, kaon_factor f) {
  return f.rest == 0 ? a * v_set(f.rounded) : v_scale_split(a, v_set(f.rounded), v_set(f.rest));
}

/* sum + a f. Uses only v_fma: a compiler may contract a separate product and sum in one kernel and
 * not in another, which would change bits. */
KAON_MATH vreal v_add_factor(vreal sum, vreal a, kaon_factor f) {
  return v_fma(a, v_set(f.rounded), f.rest == 0 ? sum : v_fma(a, v_set(f.rest), sum));
}

/* fat = f_fat fat [+ f_naik naik] */
KAON_MATH void colour_join(kaon_factor f_fat, vcolour *fat, const int improved, kaon_factor f_naik,
                           const vcolour *naik) {
  for (int i = 0; i < 3; i++) {
    fat->c[i].re = v_scale_factor(fat->c[i].re, f_fat);
    fat->c[i].im = v_scale_factor(fat->c[i].im, f_fat);
    if (improved) {
      fat->c[i].re = v_add_factor(fat->c[i].re, naik->c[i].re, f_naik);
      fat->c[i].im = v_add_factor(fat->c[i].im, naik->c[i].im, f_naik);
    }
  }
}

/* d += a x */
KAON_MATH void colour_add(vcolour *d, vreal a, const vcolour *x) {
  for (int i = 0; i < 3; i++) {
    d->c[i].re = v_fma(a, x->c[i].re, d->c[i].re);
    d->c[i].im = v_fma(a, x->c[i].im, d->c[i].im);
  }
}

KAON_MATH vreal colour_norm2(const vcolour *d) {
  vreal re = v_set(0), im = v_set(0);
  for (int i = 0; i < 3; i++) {
    re = v_fma(d->c[i].re, d->c[i].re, re);
    im = v_fma(d->c[i].im, d->c[i].im, im);
  }
  return re + im;
}

/* conj(w) d */
KAON_MATH vcomplex colour_dot(const vcolour *w, const vcolour *d) {
  vcomplex dot = c_make(v_set(0), v_set(0));
  for (int i = 0; i < 3; i++) dot = c_conj_fma(w->c[i], d->c[i], dot);
  return dot;
}
