/* ghosts.h - the sites beyond the faces of a partitioned lattice, for fields that are read along
 * paths: links and gauge transformations.
 * A path of lib/math/link_paths.h goes at most one step in each of two directions. So the ghosts
 * are the sites next to a face and next to an edge of two faces. They are ordinary blocks after the
 * parity's local blocks (kaon_stencil.ghost_blocks).
 * Directions are exchanged one after another, each with the ghosts received before. So edges need
 * no messages of their own. */
#pragma once

#include "lib/vector/space.h"

/* Makes tables and messages of a lattice whose site order is built. Errors: MEMORY, COMM,
 * UNSUPPORTED (too many sites for a rank), NOT_BUILT. */
kaon_status kaon_ghosts_create(kaon_lattice *lattice);
void kaon_ghosts_destroy(kaon_lattice *lattice);

/* Fills the ghosts of 3x3 matrices on the sites of `parity`. field: [block][18][W] doubles in
 * device memory, for blocks and ghost blocks. Messages go from host to host, so on a device they
 * wait for the enqueued work. Does nothing if no direction is partitioned. Collective. Errors:
 * COMM, DEVICE. */
kaon_status kaon_ghosts_fill(const kaon_lattice *lattice, int parity, double *field);
