/* ranks.h - the application's ranks: its communicator, in the order that kaon's contexts take. */
#pragma once

#include "state.h"

/* A context of as many ranks as the grid has. One rank alone needs no communicator. */
kaon_status kaon_quda_create_context(const kaon_quda_ranks *ranks, kaon_context **ctx);
/* Copies an MPI_Comm of the application, whose variable may end before the context is made. NULL:
 * all processes. */
void kaon_quda_keep_communicator(const void *communicator);
/* Ends all processes, if there are others. */
void kaon_quda_abort_ranks(void);
