/* cuts.h - the hops of a lattice that an operator drops. */
#pragma once

#include "lib/vector/space.h"

/* Makes the tables of kaon_cuts for the stencil's `cut` and `along`; far: 1: also of hops of three
 * sites. *cuts is NULL if kernels compute the dropped hops themselves. Errors: MEMORY. */
kaon_status kaon_cuts_create(const kaon_lattice *lattice, const kaon_stencil *stencil, int far,
                             kaon_cuts **cuts);
void kaon_cuts_destroy(kaon_context *ctx, kaon_cuts **cuts);
