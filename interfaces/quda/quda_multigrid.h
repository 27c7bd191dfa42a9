/* quda_multigrid.h - multigrid preconditioners that clients have made. */
#pragma once

#include "quda.h"
#include "state.h"

/* The preconditioner of a client, for solves with the links that are loaded. If they have changed
 * since newMultigridQuda() or updateMultigridQuda(), its coarse levels stay as they were. Errors:
 * ARGUMENT (no such preconditioner). */
kaon_status kaon_quda_multigrid(void *instance, kaon_operator **K);
/* Tells it how a solve went. */
void kaon_quda_multigrid_solved(void *instance, const kaon_column_report *reports, int columns);
