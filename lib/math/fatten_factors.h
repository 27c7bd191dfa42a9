/* fatten_factors.h - the numbers that fattening takes (lib/math/link_fatten.h, lib/math/unitary.h). */
#ifndef KAON_LIB_MATH_FATTEN_FACTORS_H
#define KAON_LIB_MATH_FATTEN_FACTORS_H

/* Coefficients of paths by their links; lepage: of five links, two and two in one direction. */
typedef struct kaon_fat_factors {
  double one, three, five, seven, lepage;
} kaon_fat_factors;

/* When singular values are taken: where |det V|^2 is below `absolute`, or the product of the
 * eigenvalues of V^dag V differs from it by more than `relative` of it. */
typedef struct kaon_unitary_limits {
  double relative, absolute;
} kaon_unitary_limits;

#endif
