/* dense_level.h - the exact inverse of a coarse operator as one dense matrix, for the coarsest
 * level. */
#pragma once

#include "dslash/coarse/coarse.h"

typedef struct kaon_dense_info {
  int64_t rows;        /* complex numbers of the whole lattice */
  double condition;    /* |A|_1 |A^-1|_1 */
  double inverse_norm; /* |A^-1|_1 */
} kaon_dense_info;

/* K = A^-1 for the coarse operator A with these matrices (kaon_coarse_links_of), which are read now
 * and not kept. LU factors in double: on the host by LAPACKE on one thread, so that bits do not
 * depend on threads; on a device by its backend (kaon_backend.invert) where that can. K has the
 * matrices' space and this precision, double or single, and each rank holds its own rows. It has no
 * adjoint. Its twins follow it. Collective. info NULL: not wanted.
 * Errors: SINGULAR (naming a row), ARGUMENT (more than `most` rows; with both numbers), NOT_FINITE,
 * UNSUPPORTED (half precision), NOT_BUILT, MEMORY. */
kaon_status kaon_dense_inverse(const kaon_coarse_links *links, kaon_precision precision,
                               int64_t most, kaon_operator **K, kaon_dense_info *info);
/* The same K for new matrices in the same space. After a failure K is stale. */
kaon_status kaon_dense_inverse_update(kaon_operator *K, const kaon_coarse_links *links,
                                      kaon_dense_info *info);
