/* null_space.h - operators with a known null space (KAON_CAPABILITY_NULL_SPACE): vectors n with
 * A n = 0 to rounding. Solvers keep solutions orthogonal to them. */
#pragma once

#include <kaon/operator.h>

enum { KAON_NULL_MOST = 16 }; /* vectors */

typedef struct kaon_null_space {
  int (*count)(const kaon_operator *A); /* 0: none is known */
  /* 1: they also span the null space of A^dagger, so that A x has no part along them. */
  int (*is_left)(const kaon_operator *A);
  /* Sets all columns of v, of A's space and any precision, to vector i. The vectors are
   * orthonormal. Collective. Errors: MEMORY, DEVICE. */
  kaon_status (*fill)(const kaon_operator *A, int i, kaon_vector *v);
} kaon_null_space;
