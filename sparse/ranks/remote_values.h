/* remote_values.h - exchange of values between blocks of rows on different ranks while all iterate:
 * the lists that kernels follow (kaon_block_ghosts), the memory that values arrive in, and the
 * kinds of exchange (kaon_relax_exchange).
 *
 * A rank's buffer, in memory that its kernels reach, is four arrays, each on cache lines of its
 * own:
 *   received: values [element][column][part], counters [slot][column]
 *   sent: the same
 * Elements are those of the matrix' messages (sparse/ranks/row_ghosts.h). A message has a counter
 * for each block of the sender that contributes to it. The counters take the first slots of the
 * message's elements.
 *   PUSH  kernels write into the other ranks' buffers
 *   DK    kernels read the other ranks' buffers
 *   DC    local buffers on both sides; between launches the queue copies what is sent into the
 *         other ranks' buffers
 *   AMC   local buffers on both sides, and an MPI window between them */
#pragma once

#include <kaon/lab.h>
#include <kaon/relax.h>

#include "sparse/sweeps/row_blocks.h"

typedef struct kaon_remote_values kaon_remote_values;

/* Makes the exchange for the blocks of a matrix on several ranks. If no kind is available,
 * kaon_remote_values_exchange is SYNC and kaon_remote_values_note says why. Collective, agreed on.
 * Errors: ARGUMENT (ranks request different kinds), MEMORY, COMM. */
kaon_status kaon_remote_values_create(const kaon_matrix *matrix, const kaon_blocked *blocked,
                                      kaon_relax_exchange wanted,
                                      kaon_remote_values **remote_values);
void kaon_remote_values_destroy(kaon_remote_values **remote_values); /* NULL allowed */
kaon_relax_exchange kaon_remote_values_exchange(const kaon_remote_values *a);
const char *kaon_remote_values_note(const kaon_remote_values *a);

/* Allocates memory for this number of columns, and fills in the lists' addresses. Collective,
 * agreed on. */
kaon_status kaon_remote_values_reserve(kaon_remote_values *a, int columns);
const kaon_block_ghosts *kaon_remote_values_ghosts(const kaon_remote_values *a);
/* 1: values arrive while a kernel runs. */
int kaon_remote_values_by_kernels(const kaon_remote_values *a);

/* Called after every rank's kernels have sent their initial values (`mine`: this rank's status). On
 * return the other ranks' values are here, unless kaon_remote_values_failure reports a failure of
 * this rank only. Collective, agreed on. */
kaon_status kaon_remote_values_synchronise(kaon_remote_values *a, kaon_status mine);
/* Called after a launch: sends what it produced, and receives values for the next one. */
kaon_status kaon_remote_values_progress(kaon_remote_values *a);
/* AMC: sends and receives until every remote block that this rank reads has at least `least`
 * iterations in `column`, or until the timeout (patience). */
kaon_status kaon_remote_values_await(kaon_remote_values *a, int column, int32_t least);
/* AMC on a CPU: kaon_relax_args.move. A failure is stored for kaon_remote_values_failure. */
int kaon_remote_values_progress_once(void *remote_values);
kaon_status kaon_remote_values_failure(const kaon_remote_values *a);
/* Called when this rank's blocks have ended, possibly without their kernels having notified others.
 * Marks their counters as finished where the other ranks read them. A failure here is already
 * known, or the other ranks' timeouts end their waiting. */
kaon_status kaon_remote_values_finish(kaon_remote_values *a);
