/* cuts.h - hops of a lattice across the edges of blocks, for operators that drop them. */
#ifndef KAON_LIB_CUTS_H
#define KAON_LIB_CUTS_H

#include "lib/vector/space.h"

/* Makes the tables of kaon_cuts for blocks of `cut` sites (0: no hop in that direction is dropped).
 * *cuts is NULL if kernels compute the dropped hops themselves. Errors: MEMORY. */
kaon_status kaon_cuts_create(const kaon_lattice *lattice, const int cut[4], kaon_cuts **cuts);
void kaon_cuts_destroy(kaon_context *ctx, kaon_cuts **cuts);

#endif
