/* ritz.h - small dense problems of deflation (deflate.c), in host memory. Matrices are n x n,
 * n <= KAON_RITZ_MAX, row by row, Hermitian ones whole. */
#ifndef KAON_SOLVERS_RITZ_H
#define KAON_SOLVERS_RITZ_H

#include <complex.h>

enum { KAON_RITZ_MAX = 24 };

typedef double _Complex kaon_z;

/* c: in t, out c with g c = t. g is positive semidefinite; rows that depend on those before them,
 * to 1e-12 of their diagonal, are left out: their c is 0. */
void kaon_ritz_solve(int n, const kaon_z *g, kaon_z *c);

/* The space of the `keep` smallest Ritz values theta, g v = theta b v, by as many of the n vectors
 * that span it: kept[m] of them, m below what is returned, each with the others that are not kept
 * added: kept[m] + sum_i w[i * keep + m] vector i. w of kept rows is 0. *least: the smallest theta.
 * Returns `keep`, or less where so many do not depend on each other (to 1e-12); 0: none. */
int kaon_ritz_choose(int n, const kaon_z *g, const kaon_z *b, int keep, int *kept, kaon_z *w,
                     double *least);

#endif
