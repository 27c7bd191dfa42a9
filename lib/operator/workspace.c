/* workspace.c - see workspace.h. */
#include "lib/operator/workspace.h"

#include <stdlib.h>

#include "lib/vector/space.h"

static void destroy(kaon_workspace *w) {
  for (int i = 0; i < KAON_WORKSPACE_VECTORS; i++) kaon_vector_destroy(&w->vector[i]);
  free(w);
}

kaon_status kaon_workspace_get(const kaon_operator *op, const kaon_space *space, int vectors,
                               int columns, kaon_workspace **all, kaon_workspace **set) {
  for (*set = *all; *set != NULL; *set = (*set)->next)
    if ((*set)->columns == columns) return KAON_OK;
  kaon_workspace *w = calloc(1, sizeof *w);
  kaon_status status =
      KAON_CHECK_MEMORY(op->ctx, w != NULL, "%s: out of host memory", op->ops->name);
  KAON_TRY(kaon_agree(op->ctx, status));
  w->columns = columns;
  for (int i = 0; i < vectors && status == KAON_OK; i++)
    status = kaon_vector_create(op->ctx, space, op->precision, columns, &w->vector[i]);
  if (status != KAON_OK) {
    destroy(w);
    return status;
  }
  w->next = *all;
  *all = *set = w;
  return KAON_OK;
}

void kaon_workspace_free(kaon_workspace **all) {
  while (*all != NULL) {
    kaon_workspace *w = *all;
    *all = w->next;
    destroy(w);
  }
}
