/* ref_codec.c - reconstruction of an SU(3) matrix from 12 and from 8 reals. 12: the first two
 * rows. 8: the minimal form of Bunk, Sommer, Comput. Phys. Commun. 40 (1986) 229, after a cyclic
 * rotation of the columns that makes |u_01|^2 + |u_02|^2 at least 2/3. The square roots lose up to
 * half of the digits: 1e-7 in double. A library may pack the reals differently. */
#include "reference.h"

#include <math.h>

void ref_encode12(const ref_complex u[9], double r[12]) {
  for (int i = 0; i < 6; i++) {
    r[2 * i] = creal(u[i]);
    r[2 * i + 1] = cimag(u[i]);
  }
}

void ref_decode12(const double r[12], ref_complex u[9]) {
  for (int i = 0; i < 6; i++) u[i] = r[2 * i] + I * r[2 * i + 1];
  ref_complete_row2(u);
}

static double positive_root(double x) {
  return x > 0 ? sqrt(x) : 0;
}

int ref_encode8(const ref_complex u[9], double r[8]) {
  int pivot = 0;
  for (int j = 1; j < 3; j++)
    if (cabs(u[j]) < cabs(u[pivot])) pivot = j;
  const ref_complex a2 = u[(pivot + 1) % 3], a3 = u[(pivot + 2) % 3], b1 = u[3 + pivot];
  r[0] = creal(a2);
  r[1] = cimag(a2);
  r[2] = creal(a3);
  r[3] = cimag(a3);
  r[4] = creal(b1);
  r[5] = cimag(b1);
  r[6] = carg(u[pivot]);
  r[7] = carg(u[6 + pivot]);
  return pivot;
}

void ref_decode8(const double r[8], int pivot, ref_complex u[9]) {
  ref_complex a2 = r[0] + I * r[1], a3 = r[2] + I * r[3], b1 = r[4] + I * r[5];
  double n = ref_norm2(&a2, 1) + ref_norm2(&a3, 1);
  ref_complex a1 = positive_root(1 - n) * cexp(I * r[6]);
  ref_complex c1 = positive_root(1 - ref_norm2(&a1, 1) - ref_norm2(&b1, 1)) * cexp(I * r[7]);
  int j = (pivot + 1) % 3, k = (pivot + 2) % 3;
  u[pivot] = a1;
  u[j] = a2;
  u[k] = a3;
  u[3 + pivot] = b1;
  u[3 + j] = (-conj(a1) * b1 * a2 - conj(a3) * conj(c1)) / n;
  u[3 + k] = (-conj(a1) * b1 * a3 + conj(a2) * conj(c1)) / n;
  ref_complete_row2(u);
}
