/* aggregates.h - blocks of the sites of a lattice, and the coarse lattice whose sites they are. */
#pragma once

#include "lib/vector/space.h"
#include "multigrid/transfer_ops.h"

typedef struct kaon_aggregates {
  kaon_context *ctx;
  kaon_lattice *fine, *coarse;
  int block[4];
  kaon_aggregate_view view;
  /* The same with those sites alone from which a hop in this direction leaves the aggregate. */
  kaon_aggregate_view face[KAON_DIRS];
} kaon_aggregates;

/* Aggregates of block[mu] sites in mu. The coarse lattice has the fine one's ranks and is periodic.
 * Aggregates do not straddle ranks. Collective. Errors: ARGUMENT (a block does not divide the
 * rank's extent, or leaves an odd number of blocks on the whole lattice; with the divisors that
 * would do), MEMORY. */
kaon_status kaon_aggregates_create(kaon_lattice *fine, const int block[4],
                                   kaon_aggregates **aggregates);
/* The check of blocks alone, for a rank's part of a whole lattice. */
kaon_status kaon_aggregates_check(const kaon_context *ctx, const int part[4], const int whole[4],
                                  const int block[4]);
void kaon_aggregates_destroy(kaon_aggregates **aggregates);
