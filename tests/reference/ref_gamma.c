/* ref_gamma.c - gamma matrices as explicit tables in several bases, and the changes of basis.
 * Sources of the tables: UKQCD (non-relativistic) and DeGrand-Rossi: DeGrand, Rossi, Comput. Phys.
 * Commun. 60 (1990) 211 and the QDP++/Chroma and MILC documentation; openQCD: its doc/dirac.pdf
 * (M. Luescher); DDalphaAMG: the BASIS0 table documented in its clifford.h. */
#include "reference.h"

#include <math.h>
#include <string.h>

/* One non-zero element a row: column and value, the value as a power of i. */
typedef struct {
  int column[4], power[4];
} sparse_gamma;

static const sparse_gamma tables[REF_BASES][4] = {
    [REF_UKQCD] = {{{3, 2, 1, 0}, {1, 1, 3, 3}},  /* [[0, i s1], [-i s1, 0]] */
                   {{3, 2, 1, 0}, {0, 2, 2, 0}},  /* [[0, i s2], [-i s2, 0]] */
                   {{2, 3, 0, 1}, {1, 3, 3, 1}},  /* [[0, i s3], [-i s3, 0]] */
                   {{0, 1, 2, 3}, {0, 0, 2, 2}}}, /* diag(1, 1, -1, -1) */
    [REF_DEGRAND_ROSSI] = {{{3, 2, 1, 0}, {1, 1, 3, 3}},
                           {{3, 2, 1, 0}, {2, 0, 0, 2}},
                           {{2, 3, 0, 1}, {1, 3, 3, 1}},
                           {{2, 3, 0, 1}, {0, 0, 0, 0}}},
    [REF_OPENQCD] = {{{3, 2, 1, 0}, {3, 3, 1, 1}}, /* [[0, -i s_k], [i s_k, 0]] */
                     {{3, 2, 1, 0}, {2, 0, 0, 2}},
                     {{2, 3, 0, 1}, {3, 1, 1, 3}},
                     {{2, 3, 0, 1}, {2, 2, 2, 2}}}, /* [[0, -1], [-1, 0]] */
    [REF_DDALPHAAMG] = {{{2, 3, 0, 1}, {3, 1, 1, 3}},
                        {{3, 2, 1, 0}, {2, 0, 0, 2}},
                        {{3, 2, 1, 0}, {3, 3, 1, 1}},
                        {{2, 3, 0, 1}, {2, 2, 2, 2}}},
};

void ref_mul4(ref_complex c[16], const ref_complex a[16], const ref_complex b[16]) {
  ref_complex r[16];
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) {
      r[4 * i + j] = 0;
      for (int k = 0; k < 4; k++) r[4 * i + j] += a[4 * i + k] * b[4 * k + j];
    }
  memcpy(c, r, sizeof r);
}

void ref_gamma(ref_basis basis, int mu, ref_complex g[16]) {
  static const double re[4] = {1, 0, -1, 0}, im[4] = {0, 1, 0, -1};
  if (mu == 4) {
    ref_complex h[16];
    ref_gamma(basis, 0, g);
    for (int nu = 1; nu < 4; nu++) {
      ref_gamma(basis, nu, h);
      ref_mul4(g, g, h);
    }
    return;
  }
  const sparse_gamma *t = &tables[basis][mu];
  for (int i = 0; i < 16; i++) g[i] = 0;
  for (int row = 0; row < 4; row++)
    g[4 * row + t->column[row]] = re[t->power[row]] + I * im[t->power[row]];
}

void ref_sigma(ref_basis basis, int mu, int nu, ref_complex s[16]) {
  ref_complex a[16], b[16], ab[16], ba[16];
  ref_gamma(basis, mu, a);
  ref_gamma(basis, nu, b);
  ref_mul4(ab, a, b);
  ref_mul4(ba, b, a);
  for (int i = 0; i < 16; i++) s[i] = 0.5 * I * (ab[i] - ba[i]);
}

/* Group average S = sum_A gamma_A(to) X gamma_A(from)^dag over the 16 products A: intertwines the
 * two irreducible representations for any X (Schur's lemma); X = e_ab is tried until S != 0. */
static double intertwine(ref_basis from, ref_basis to, int element, ref_complex s[16]) {
  for (int i = 0; i < 16; i++) s[i] = 0;
  for (int set = 0; set < 16; set++) {
    ref_complex a[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}, b[16], g[16];
    memcpy(b, a, sizeof a);
    for (int mu = 0; mu < 4; mu++) {
      if (!(set >> mu & 1)) continue;
      ref_gamma(to, mu, g);
      ref_mul4(a, a, g);
      ref_gamma(from, mu, g);
      ref_mul4(b, b, g);
    }
    int row = element / 4, column = element % 4;
    for (int i = 0; i < 4; i++)
      for (int j = 0; j < 4; j++) s[4 * i + j] += a[4 * i + row] * conj(b[4 * j + column]);
  }
  return ref_norm2(s, 16);
}

void ref_basis_change(ref_basis from, ref_basis to, ref_complex s[16]) {
  double norm2 = 0;
  for (int element = 0; element < 16 && norm2 < 0.5; element++)
    norm2 = intertwine(from, to, element, s);
  int first = 0;
  while (cabs(s[first]) < 1e-8) first++;
  ref_complex scale = conj(s[first]) / cabs(s[first]) * 2 / sqrt(norm2);
  for (int i = 0; i < 16; i++) s[i] *= scale;
}

void ref_spin_multiply(const ref_lattice *L, const ref_complex m[16], const ref_complex *in,
                       ref_complex *out) {
  for (size_t site = 0; site < ref_volume(L); site++) {
    ref_complex r[12] = {0};
    for (int i = 0; i < 4; i++)
      for (int j = 0; j < 4; j++)
        for (int c = 0; c < 3; c++)
          r[3 * i + c] += m[4 * i + j] * in[12 * site + 3 * (size_t)j + (size_t)c];
    memcpy(out + 12 * site, r, sizeof r);
  }
}
