/* ref_meson.c - zero-momentum meson correlators from the 12 columns of a propagator (test oracle).
 * For flavoured bilinears O = ubar Gamma d, with gamma_5-hermiticity S(0, x) = gamma_5 S(x, 0)^dag
 * gamma_5 and Gammabar = gamma_4 Gamma^dag gamma_4:
 *   C(t) = sum_x <O(x) O(0)^dag> = -sum_x tr[Gamma S(x,0) Gammabar gamma_5 S(x,0)^dag gamma_5]. */
#include "reference.h"

#include <stdlib.h>

/* S(x)_{(s,c),(s0,c0)} for all 144 elements, row-major. */
static void gather(ref_complex *const columns[12], size_t x, ref_complex s[144]) {
  for (size_t row = 0; row < 12; row++)
    for (size_t column = 0; column < 12; column++)
      s[12 * row + column] = columns[column][12 * x + row];
}

/* tr[left S right S^dag] with 4x4 spin matrices. */
static ref_complex trace_site(const ref_complex s[144], const ref_complex left[16],
                              const ref_complex right[16]) {
  ref_complex sum = 0;
  for (int a = 0; a < 4; a++)
    for (int b = 0; b < 4; b++) {
      if (left[4 * a + b] == 0) continue;
      for (int e = 0; e < 4; e++)
        for (int f = 0; f < 4; f++) {
          ref_complex weight = left[4 * a + b] * right[4 * e + f];
          if (weight == 0) continue;
          for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
              sum +=
                  weight * s[12 * (3 * b + i) + 3 * e + j] * conj(s[12 * (3 * a + i) + 3 * f + j]);
        }
    }
  return sum;
}

void ref_meson(const ref_lattice *L, ref_complex *const columns[12], const ref_complex gamma[16],
               int t0, ref_complex *c) {
  ref_complex g4[16], g5[16], adjoint[16], left[16], right[16];
  ref_gamma(REF_UKQCD, 3, g4);
  ref_gamma(REF_UKQCD, 4, g5);
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) adjoint[4 * i + j] = conj(gamma[4 * j + i]);
  ref_mul4(right, g4, adjoint);
  ref_mul4(right, right, g4);
  ref_mul4(right, right, g5);
  ref_mul4(left, g5, gamma);
  int nt = L->n[3];
  for (int t = 0; t < nt; t++) c[t] = 0;
  for (size_t x = 0; x < ref_volume(L); x++) {
    int at[4];
    ref_complex s[144];
    ref_coords(L, x, at);
    gather(columns, x, s);
    c[(at[3] - t0 + nt) % nt] -= trace_site(s, left, right);
  }
}

/* Gamma = gamma_5: Gammabar = -gamma_5, so C = sum |S|^2. */
void ref_pion(const ref_lattice *L, ref_complex *const columns[12], int t0, double *c) {
  int nt = L->n[3];
  for (int t = 0; t < nt; t++) c[t] = 0;
  for (size_t x = 0; x < ref_volume(L); x++) {
    int at[4];
    ref_coords(L, x, at);
    for (int k = 0; k < 12; k++) c[(at[3] - t0 + nt) % nt] += ref_norm2(columns[k] + 12 * x, 12);
  }
}

void ref_rho(const ref_lattice *L, ref_complex *const columns[12], int t0, double *c) {
  int nt = L->n[3];
  for (int t = 0; t < nt; t++) c[t] = 0;
  ref_complex *part = ref_alloc((size_t)nt, sizeof *part);
  for (int k = 0; k < 3; k++) {
    ref_complex g[16];
    ref_gamma(REF_UKQCD, k, g);
    ref_meson(L, columns, g, t0, part);
    for (int t = 0; t < nt; t++) c[t] += creal(part[t]) / 3;
  }
  free(part);
}
