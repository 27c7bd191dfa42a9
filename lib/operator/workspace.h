/* workspace.h - vectors that an operator needs while it is applied: a set for each count of columns
 * that it has been asked for, kept as long as the operator. So solvers of different counts that
 * share a preconditioner take no memory at their turns, and what a device has recorded for one of
 * them stays good. (Not one set of the largest count: lanes behind the last row are 0 in a vector
 * of its own shape alone.) */
#ifndef KAON_LIB_WORKSPACE_H
#define KAON_LIB_WORKSPACE_H

#include "lib/operator/operator_internal.h"

enum { KAON_WORKSPACE_VECTORS = 3 };

typedef struct kaon_workspace {
  struct kaon_workspace *next;
  int columns;
  kaon_vector *vector[KAON_WORKSPACE_VECTORS];
} kaon_workspace;

/* *set: `vectors` vectors of `columns` columns of op's space and precision, in the list *all, made
 * where it has none. Collective where there are none. Errors: MEMORY. */
kaon_status kaon_workspace_get(const kaon_operator *op, int vectors, int columns,
                               kaon_workspace **all, kaon_workspace **set);
void kaon_workspace_free(kaon_workspace **all);

#endif
