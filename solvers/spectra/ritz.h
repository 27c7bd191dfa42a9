/* ritz.h - small dense problems of deflation (deflate.c), in host memory. Matrices are n x n, n <=
 * KAON_RITZ_MAX, row by row. Hermitian ones are stored in full. */
#pragma once

#include <complex.h>

enum { KAON_RITZ_MAX = 24 };

typedef double _Complex kaon_z;

/* A vector depends on those before it if the remaining part of its square, over the square, is
 * below this bound. Vectors are stored with a rounding error eps of their length. At a distance of
 * a few eps they differ only by rounding errors, whose images are not known. A projection moves x
 * and r alike except for those errors. It uses a vector at most |r| / distance times. So at 16 eps
 * the error in r stays below |r| / 16. Larger bounds cost steps. */
static inline double kaon_ritz_dependent(double epsilon2) {
  return 256 * epsilon2;
}

/* Solves g c = t; c holds t on entry. g is positive semidefinite. Rows that depend on those before
 * them are left out: their c is 0. */
void kaon_ritz_solve(int n, const kaon_z *g, double dependent, kaon_z *c);

/* Finds the space of the `keep` smallest Ritz values theta, g v = theta b v. Its basis is a subset
 * of the n vectors with the others added: basis vector m is vector kept[m] + sum_i w[i * keep + m]
 * vector i. w is 0 in kept rows. *least: the smallest theta. Returns the size of the basis: `keep`,
 * or less if fewer vectors are independent; 0: none. */
int kaon_ritz_choose(int n, const kaon_z *g, const kaon_z *b, double dependent, int keep, int *kept,
                     kaon_z *w, double *least);
/* Restricts m to the basis that w defines, stored at the kept positions. */
void kaon_ritz_restrict(int n, int keep, const int *kept, const kaon_z *w, kaon_z *m);
