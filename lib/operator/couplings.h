/* couplings.h - the hops of a lattice operator in one direction alone (KAON_CAPABILITY_COUPLINGS),
 * for Galerkin products and forces. */
#pragma once

#include "lib/operator/operator_internal.h"

/* Which hops. A divided lattice has blocks of its own on every rank. */
typedef struct kaon_coupling {
  int direction; /* of the site that is read: 0 to 3 forward in x, y, z, t; 4 to 7 backward */
  int block;     /* 0: all hops in this direction. Else only those that leave blocks of so many
                    sites: a divisor of the rank's extent, and at least as long as the hops */
  kaon_precision precision;
  kaon_reconstruct reconstruct;
} kaon_coupling;

typedef struct kaon_couplings {
  /* A new object: the part of A that consists of these hops. y = 0 where a site has none. Its
   * adjoint hops the other way. With `local` of the same blocks, A = local + the sum of the eight
   * parts. Collective. Errors: ARGUMENT, UNSUPPORTED (A is such a part, or a local one), MEMORY,
   * STALE. */
  kaon_status (*couple)(kaon_operator *A, const kaon_coupling *which, kaon_operator **part);
} kaon_couplings;
