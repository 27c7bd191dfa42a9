/* rank_gather.h - what every rank of a box of the rank grid has, on each of them.
 *
 * The ranks of a lattice are divided into boxes of box[mu] neighbours in mu. Within its box each
 * rank gives `bytes` bytes and gets those of all, member by member, x fastest. This is done one
 * direction after the other, by messages that are declared once (kaon_comm, or the device's
 * exchanges), so a device that can record halos can record this too. */
#pragma once

#include "lib/vector/space.h"

typedef struct kaon_rank_gather kaon_rank_gather;

/* box[mu] divides the grid of ranks; {1, 1, 1, 1}: no messages. The context must outlive it.
 * Collective. Errors: MEMORY, COMM, UNSUPPORTED (the device's transport). */
kaon_status kaon_rank_gather_create(const kaon_lattice *lattice, const int box[4], size_t bytes,
                                    kaon_rank_gather **gather);
void kaon_rank_gather_destroy(kaon_rank_gather **gather); /* NULL allowed */

/* Memory of the context: where this rank writes its bytes, and those of all members. */
void *kaon_rank_gather_mine(const kaon_rank_gather *gather);
const void *kaon_rank_gather_all(const kaon_rank_gather *gather);
/* Work enqueued before has written this rank's bytes; work enqueued after reads those of all.
 * Collective. Errors: COMM. */
kaon_status kaon_rank_gather_run(kaon_rank_gather *gather);

/* from[site] of the box's part of the lattice, x fastest: where this site is among the gathered
 * ones, if each member gives its sites, x fastest. */
void kaon_rank_gather_order(const kaon_lattice *lattice, const int box[4], int32_t *from);
