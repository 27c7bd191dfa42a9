/* agglomerate.h - a coarse lattice on fewer ranks, where the part of each rank is too small for
 * aggregates.
 *
 * Boxes of neighbouring ranks merge their parts. Every rank of a box holds the merged part and does
 * the same work on it, so no rank waits and results need no message back. The ranks with the same
 * place in their boxes are a communicator of their own, with a context: all copies of the lattice
 * have the same bits. Their failures are their own, so callers agree on the larger communicator
 * before it is used again. */
#pragma once

#include "lib/grid/rank_gather.h"
#include "lib/operator/operator_internal.h"

typedef struct kaon_agglomeration {
  kaon_lattice *parts, *merged; /* merged->ctx: of the ranks that hold a copy */
  int box[4];
  /* [place] in `parts`: its site of this rank, x fastest; in `merged`: that of the rank, or -1, and
   * the place among the gathered sites */
  int32_t *part_order, *own_order, *gathered_order;
} kaon_agglomeration;

/* Ranks whose parts are merged in each direction, for a rank's part of a coarse lattice that becomes
 * coarser: as few as give 2 sites, in divided directions where there is 1. Returns 0 if none are:
 * all 1. They never are where memory is a device's. */
int kaon_agglomeration_box(const kaon_context *ctx, const int part[4], const int whole[4],
                           int box[4]);

/* Merges boxes of ranks. Collective. Errors: MEMORY, COMM. */
kaon_status kaon_agglomeration_create(kaon_lattice *parts, const int box[4],
                                      kaon_agglomeration **a);
void kaon_agglomeration_destroy(kaon_agglomeration **a); /* NULL allowed */

/* What transfers of vectors of this space of `parts` need, for a number of columns. Collective. */
kaon_status kaon_agglomeration_room(const kaon_agglomeration *a, const kaon_space *space,
                                    kaon_precision precision, int columns, kaon_rank_gather **room);
/* merged = the numbers of all parts of the box; part = this rank's of the merged ones. Vectors with
 * as many reals a site, in double or single precision. The columns of the gate of `pass`, which has
 * no sums. gather: collective on the ranks of `parts`. Errors: COMM. */
kaon_status kaon_agglomeration_gather(const kaon_agglomeration *a, kaon_rank_gather *room,
                                      const kaon_vector *part, kaon_vector *merged,
                                      const kaon_pass *pass);
kaon_status kaon_agglomeration_take(const kaon_agglomeration *a, kaon_rank_gather *room,
                                    const kaon_vector *merged, kaon_vector *part,
                                    const kaon_pass *pass);
