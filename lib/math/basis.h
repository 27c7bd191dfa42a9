/* basis.h - spin bases of host arrays. psi_inside = scale * sign * psi_host on the spin index;
 * inside is the UKQCD basis (docs/conventions.md).
 * Each matrix S = scale * sign is real and orthogonal, and gamma_mu inside = S gamma_mu(host) S^T,
 * so S^T converts back. Its overall sign is a convention: the first non-zero element is positive.
 * Host bases: DeGrand-Rossi (Comput. Phys. Commun. 60 (1990) 211; used by Chroma, QDP++, MILC),
 * BASIS0 of DDalphaAMG, and the chiral basis of QUDA, tmLQCD and openQCD (its doc/dirac.pdf).
 * tests/reference has the same tables and also derives S from the gamma matrices. */
#pragma once

#include <kaon/vector.h>

typedef struct kaon_basis_change {
  const char *name;
  double scale;
  signed char sign[4][4];
} kaon_basis_change;

/* Returns NULL if `basis` is not a basis. */
static inline const kaon_basis_change *kaon_basis_find(kaon_basis basis) {
  static const kaon_basis_change ukqcd = {
      "ukqcd", 1, {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}}};
  static const kaon_basis_change degrand_rossi = {
      "degrand-rossi",
      0.70710678118654752440,
      {{0, 1, 0, 1}, {-1, 0, -1, 0}, {0, 1, 0, -1}, {-1, 0, 1, 0}}};
  static const kaon_basis_change ddalphaamg = {
      "ddalphaamg", 0.5, {{1, -1, -1, 1}, {-1, -1, 1, 1}, {1, -1, 1, -1}, {-1, -1, -1, -1}}};
  static const kaon_basis_change chiral = {
      "chiral",
      0.70710678118654752440,
      {{1, 0, -1, 0}, {0, 1, 0, -1}, {-1, 0, -1, 0}, {0, -1, 0, -1}}};
  switch (basis) {
    case KAON_BASIS_UKQCD:
      return &ukqcd;
    case KAON_BASIS_DEGRAND_ROSSI:
      return &degrand_rossi;
    case KAON_BASIS_DDALPHAAMG:
      return &ddalphaamg;
    case KAON_BASIS_CHIRAL:
      return &chiral;
  }
  return NULL;
}

/* Converts one site, psi[spin][colour][2]. from and to must differ. */
static inline void kaon_basis_enter(const kaon_basis_change *b, const double *from, double *to) {
  for (int i = 0; i < 4; i++)
    for (int c = 0; c < 6; c++) {
      double sum = 0;
      for (int j = 0; j < 4; j++) sum += b->sign[i][j] * from[6 * j + c];
      to[6 * i + c] = b->scale * sum;
    }
}

static inline void kaon_basis_leave(const kaon_basis_change *b, const double *from, double *to) {
  for (int j = 0; j < 4; j++)
    for (int c = 0; c < 6; c++) {
      double sum = 0;
      for (int i = 0; i < 4; i++) sum += b->sign[i][j] * from[6 * i + c];
      to[6 * j + c] = b->scale * sum;
    }
}
