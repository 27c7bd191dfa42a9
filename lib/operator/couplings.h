/* couplings.h - what a lattice operator offers to multigrid methods and forces, without saying which
 * operator it is (KAON_CAPABILITY_COUPLINGS). */
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

/* The two halves of a site, its chiralities: vectors' components below and from half their number
 * on, or upper + lower and upper - lower ones over sqrt 2 (gamma_5 swaps them). */
typedef enum kaon_halves { KAON_HALVES_COMPONENTS, KAON_HALVES_TURNED } kaon_halves;

typedef struct kaon_couplings {
  kaon_halves halves;
  /* A new object: the part of A that consists of these hops. y = 0 where a site has none. Its
   * adjoint hops the other way. With `local` of the same blocks, A = local + the sum of the eight
   * parts. Collective. Errors: ARGUMENT, UNSUPPORTED (A is such a part, or a local one), MEMORY,
   * STALE. */
  kaon_status (*couple)(kaon_operator *A, const kaon_coupling *which, kaon_operator **part);
  /* The even-odd reduction of A in this form to the even sites; retains A. Collective. Errors:
   * UNSUPPORTED (NONE, or A is a reduction or a part), SINGULAR, MEMORY, STALE. */
  kaon_status (*reduce)(kaon_operator *A, kaon_even_odd form, kaon_operator **reduced);
} kaon_couplings;
