/* applied_link.h - a link of 8 reals applied as in lib/math/recon8.h and by decoded elements, for
 * one lane. Contains the text of applied_link_d.c, _s.c and _h.c, each for one precision, and the
 * functions that test_applied_link calls. */
#ifndef APPLIED_LINK_H
#define APPLIED_LINK_H

/* U chi, then U^dagger chi, of the link u[18] stored in 8 reals: from decoded elements multiplied
 * in double, and applied. */
typedef struct applied_link {
  double decoded[2][6], applied[2][6];
} applied_link;

void applied_link_d(const double *u, const double *chi, applied_link *a);
void applied_link_s(const double *u, const double *chi, applied_link *a);
void applied_link_h(const double *u, const double *chi, applied_link *a);

#ifdef APPLIED_LINK_NAME
#include "lib/core/kernel.h"
#include "lib/math/recon8.h"

static void multiply(const vcomplex *u, int dagger, const vcomplex *chi, double *y) {
  for (int i = 0; i < 3; i++) {
    double re = 0, im = 0;
    for (int j = 0; j < 3; j++) {
      const vcomplex e = dagger ? u[3 * j + i] : u[3 * i + j];
      const double e_im = dagger ? -(double)e.im : (double)e.im;
      re += (double)e.re * (double)chi[j].re - e_im * (double)chi[j].im;
      im += (double)e.re * (double)chi[j].im + e_im * (double)chi[j].re;
    }
    y[2 * i] = re;
    y[2 * i + 1] = im;
  }
}

void APPLIED_LINK_NAME(const double *u, const double *chi, applied_link *a) {
  stored p[8];
  vcomplex z[4], elements[9], in[3], turned[3], out[2][3] = {{{0, 0}}};
  recon_encode8(u, p, 1);
  recon_decode8(p, elements);
  for (int i = 0; i < 3; i++) in[i] = c_make((real)chi[2 * i], (real)chi[2 * i + 1]);
  for (int i = 0; i < 4; i++) z[i] = c_load(p + 2 * i);
  const vlink8 v = link8_of(p, z);
  link8_swapped(p, in, turned);
  link8_add(&v, turned, out[0]);
  link8_add_adjoint(p, &v, in, out[1]);
  for (int dagger = 0; dagger < 2; dagger++) {
    multiply(elements, dagger, in, a->decoded[dagger]);
    for (int i = 0; i < 3; i++) {
      a->applied[dagger][2 * i] = (double)out[dagger][i].re;
      a->applied[dagger][2 * i + 1] = (double)out[dagger][i].im;
    }
  }
}
#endif

#endif
