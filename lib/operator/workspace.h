/* workspace.h - vectors that an operator needs while it is applied: one set for each number of
 * columns that occurs, retained as long as the operator. So solvers with different numbers of
 * columns can share a preconditioner without allocating in turns, and recorded launches stay valid.
 * One set of the largest number would not do: masked lanes are 0 only in a vector of the right
 * shape. */
#pragma once

#include "lib/operator/operator_internal.h"

enum { KAON_WORKSPACE_VECTORS = 3 };

typedef struct kaon_workspace {
  struct kaon_workspace *next;
  int columns;
  kaon_vector *vector[KAON_WORKSPACE_VECTORS];
} kaon_workspace;

/* Returns in *set `vectors` vectors of `columns` columns of the space, in op's precision. They are
 * made on first use and kept in the list *all, which has vectors of this space only. Collective if
 * they must be made. Errors: MEMORY. */
kaon_status kaon_workspace_get(const kaon_operator *op, const kaon_space *space, int vectors,
                               int columns, kaon_workspace **all, kaon_workspace **set);
void kaon_workspace_free(kaon_workspace **all);
