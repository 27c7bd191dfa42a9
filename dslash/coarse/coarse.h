/* coarse.h - coarse operators: on a lattice of aggregates, with a dense matrix for each site and
 * each of the eight directions,
 *
 *   (A psi)(X) = inside(X) psi(X) + sum over d of hop[d](X) psi(X + d).
 *
 * Boundaries are periodic: signs are in the matrices. A coarse operator is a lattice operator like
 * others (dslash/operator/frame.h), so even-odd reductions, local parts and couplings come with
 * it. Its adjoint is not offered. */
#pragma once

#include "lib/operator/operator_internal.h"

/* Matrix fields (coarse_ops.h): vectors on all sites of a coarse lattice, of as many columns as a
 * site has complex numbers, in single or double precision. */
typedef struct kaon_coarse_links {
  kaon_vector *inside;
  kaon_vector *hop[KAON_DIRS];
} kaon_coarse_links;

/* New vectors of zeros on the space of `reals` numbers a site. Collective. Errors: MEMORY. */
kaon_status kaon_coarse_links_create(kaon_lattice *coarse, int reals, kaon_precision precision,
                                     kaon_coarse_links *links);
void kaon_coarse_links_destroy(kaon_coarse_links *links);

/* Creates the operator in this precision, double or single. On success it owns the vectors, and
 * *links is cleared. half_matrices: operators in single precision keep the matrices in 16 bits.
 * Collective. Errors: UNSUPPORTED (a number of reals that is no multiple of 4, or too large: beyond
 * 128 for matrices in 16 bits), SHAPE, MEMORY, NOT_BUILT. */
kaon_status kaon_coarse_create(kaon_coarse_links *links, kaon_precision precision,
                               int half_matrices, kaon_operator **A);
/* The matrices of A, to be written anew; kaon_coarse_update follows, and brings all operators that
 * were made of A up to date. A may be any of them. NULL: it is no coarse operator. Errors of the
 * update: SINGULAR (inside(X) has no inverse, but a reduction needed it in a precision that is
 * still in use; with the site), UNSUPPORTED (no coarse operator). Collective. */
const kaon_coarse_links *kaon_coarse_links_of(kaon_operator *A);
kaon_status kaon_coarse_update(kaon_operator *A);
