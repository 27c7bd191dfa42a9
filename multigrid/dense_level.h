/* dense_level.h - the exact inverse of a coarse operator as one dense matrix, for the coarsest
 * level. */
#pragma once

#include "dslash/coarse/coarse.h"

typedef struct kaon_dense_info {
  int64_t rows;        /* complex numbers of the whole lattice */
  double condition;    /* estimate of |A|_1 |A^-1|_1 */
  double inverse_norm; /* of |A^-1|_1 */
} kaon_dense_info;

/* K = A^-1 for a coarse A, by LU factors in double on the host (LAPACKE, one thread). It has A's
 * space and precision, and each rank holds its own rows. Collective. Errors: SINGULAR (with the
 * pivot), ARGUMENT (more than `most` rows), MEMORY. */
kaon_status kaon_dense_inverse(kaon_operator *A, int64_t most, kaon_operator **K,
                               kaon_dense_info *info);
/* The same K for the present numbers of A. */
kaon_status kaon_dense_inverse_update(kaon_operator *K, kaon_dense_info *info);
