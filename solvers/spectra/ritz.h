/* ritz.h - small dense problems of deflation (deflate.c), in host memory. Matrices are n x n,
 * n <= KAON_RITZ_MAX, row by row, Hermitian ones whole. */
#ifndef KAON_SOLVERS_RITZ_H
#define KAON_SOLVERS_RITZ_H

#include <complex.h>

enum { KAON_RITZ_MAX = 24 };

typedef double _Complex kaon_z;

/* What is left of a vector's square beside those before it, over the square, below which it depends
 * on them. Vectors are stored with a rounding eps of their length: at a distance of a few eps they
 * differ by roundings alone, of which no image is known. Whatever its coefficients, a projection
 * moves x and r alike but for those roundings; as it takes a vector |r| / distance times at most,
 * 16 eps keeps what a vector does to b - A x unseen by r below |r| / 16. 9e-13 of the square in
 * single, 6e-8 in half. Greater bounds cost steps: with 16 eps of the square, which products in CG
 * and behind a restart are exact to, half takes 1216 for 1192 (tests/test_deflation.c, kappa
 * 0.205).
 */
static inline double kaon_ritz_dependent(double epsilon2) {
  return 256 * epsilon2;
}

/* c: in t, out c with g c = t. g is positive semidefinite; rows that depend on those before them
 * are left out: their c is 0. */
void kaon_ritz_solve(int n, const kaon_z *g, double dependent, kaon_z *c);

/* The space of the `keep` smallest Ritz values theta, g v = theta b v, by as many of the n vectors
 * that span it: kept[m] of them, m below what is returned, each with the others that are not kept
 * added: kept[m] + sum_i w[i * keep + m] vector i. w of kept rows is 0. *least: the smallest theta.
 * Returns `keep`, or less where fewer do not depend on each other; 0: none. */
int kaon_ritz_choose(int n, const kaon_z *g, const kaon_z *b, double dependent, int keep, int *kept,
                     kaon_z *w, double *least);
/* m of the basis that w makes, in the places that it keeps. */
void kaon_ritz_restrict(int n, int keep, const int *kept, const kaon_z *w, kaon_z *m);

#endif
