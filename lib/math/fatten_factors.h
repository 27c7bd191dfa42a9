/* fatten_factors.h - the parameters of link fattening (link_fatten.h, unitary.h). */
#pragma once

/* Coefficients of paths by their number of links. lepage: paths of five links, two and two of them
 * in one direction. */
typedef struct kaon_fat_factors {
  double one, three, five, seven, lepage;
} kaon_fat_factors;

/* Singular values are used if |det V|^2 is below `absolute`, or if the product of the eigenvalues
 * of V^dag V differs from |det V|^2 by more than `relative` times it. */
typedef struct kaon_unitary_limits {
  double relative, absolute;
} kaon_unitary_limits;
