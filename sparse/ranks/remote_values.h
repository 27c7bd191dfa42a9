/* remote_values.h - what blocks of rows have to do with those of other ranks while all iterate: the
 * lists that kernels follow (kaon_block_ghosts), the memory that numbers arrive in, and the ways in
 * which they come (kaon_relax_exchange).
 *
 * A rank's box, in memory that its kernels reach, is four arrays, each on lines of its own:
 *   what arrived: values [element][column][part], counters [slot][column]
 *   what is sent: the same
 * Elements are those of the matrix' messages (sparse/ranks/row_ghosts.h); the counters of a message, one for
 * each block of the sender that has a part in it, take the first slots of its elements' numbers.
 *   PUSH  kernels write into the others' boxes          DK   kernels read the others' boxes
 *   DC    own boxes on both sides; the queue copies what is sent into the others' between launches
 *   AMC   own boxes on both sides, and a board of the communicator's between them */
#ifndef KAON_SPARSE_REMOTE_VALUES_H
#define KAON_SPARSE_REMOTE_VALUES_H

#include <kaon/lab.h>
#include <kaon/relax.h>

#include "sparse/sweeps/row_blocks.h"

typedef struct kaon_remote_values kaon_remote_values;

/* For the blocks of a matrix on several ranks. *arrivals has kaon_remote_values_exchange SYNC where no
 * way is there, for kaon_remote_values_note says why. Collective, agreed on. Errors: ARGUMENT (ranks ask
 * for different ways), MEMORY, COMM. */
kaon_status kaon_remote_values_create(const kaon_matrix *matrix, const kaon_blocked *blocked,
                                 kaon_relax_exchange wanted, kaon_remote_values **remote_values);
void kaon_remote_values_destroy(kaon_remote_values **remote_values); /* NULL allowed */
kaon_relax_exchange kaon_remote_values_exchange(const kaon_remote_values *a);
const char *kaon_remote_values_note(const kaon_remote_values *a);

/* Memory for so many columns, and the lists' addresses. Collective, agreed on. */
kaon_status kaon_remote_values_reserve(kaon_remote_values *a, int columns);
const kaon_block_ghosts *kaon_remote_values_ghosts(const kaon_remote_values *a);
/* 1: numbers arrive while a kernel runs. */
int kaon_remote_values_by_kernels(const kaon_remote_values *a);

/* After every rank's kernels gave out what they begin with (`mine`: whether that went well): what
 * others gave is here when it returns, unless kaon_remote_values_failure says what failed on this rank
 * alone. Collective, agreed on. */
kaon_status kaon_remote_values_synchronise(kaon_remote_values *a, kaon_status mine);
/* After a launch: what it sent goes on its way, what came is there for the next one. */
kaon_status kaon_remote_values_progress(kaon_remote_values *a);
/* AMC: moves until no block of another rank that this one reads has fewer than `least` iterations
 * in column k, or patience ends. */
kaon_status kaon_remote_values_await(kaon_remote_values *a, int column, int32_t least);
/* AMC on a CPU: kaon_relax_args.move. What failed is kept for kaon_remote_values_failure. */
int kaon_remote_values_progress_once(void *remote_values);
kaon_status kaon_remote_values_failure(const kaon_remote_values *a);
/* This rank's blocks do no more, and a kernel may not have said so: their counters are marked where
 * others look for them. What fails here is known already, or ended by the others' patience. */
kaon_status kaon_remote_values_finish(kaon_remote_values *a);

#endif
