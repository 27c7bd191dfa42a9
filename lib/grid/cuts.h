/* cuts.h - a lattice's hops across the edges of blocks, for operators that leave them out. */
#ifndef KAON_LIB_CUTS_H
#define KAON_LIB_CUTS_H

#include "lib/vector/space.h"

/* The tables of kaon_cuts for blocks of `cut` sites (0: no hop of that direction is left out);
 * NULL where kernels work hops out. Errors: MEMORY. */
kaon_status kaon_cuts_create(const kaon_lattice *lattice, const int cut[4], kaon_cuts **cuts);
void kaon_cuts_destroy(kaon_context *ctx, kaon_cuts **cuts);

#endif
