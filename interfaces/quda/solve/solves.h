/* solves.h - what solves of quda.h take from other files: multigrid preconditioners that clients
 * have made (quda_multigrid.c), and earlier solutions (guesses.c). */
#pragma once

#include "quda.h"
#include "state.h"

/* The preconditioner of a client, for solves with the links that are loaded. If they have changed
 * since newMultigridQuda() or updateMultigridQuda(), its coarse levels stay as they were. Errors:
 * ARGUMENT (no such preconditioner). */
kaon_status kaon_quda_multigrid(void *instance, kaon_operator **K);
/* Tells it how a solve went. */
void kaon_quda_multigrid_solved(void *instance, const kaon_column_report *reports, int columns);

/* x = a guess for A x = b from the solutions of param->chrono_index; 0 if there are none. Errors:
 * ARGUMENT (the index). */
kaon_status kaon_quda_guess(const QudaInvertParam *param, kaon_operator *A, const kaon_vector *b,
                            kaon_vector *x);
/* Keeps a solution, as the chrono members of `param` say. */
kaon_status kaon_quda_keep_solution(const QudaInvertParam *param, const kaon_vector *x);
