/* vector_ranks.c - columns of the whole lattice on every rank, for files and for programs that need
 * the whole lattice. */
#include <stdlib.h>
#include <string.h>

#include "lib/vector/space.h"
#include "lib/core/entry.h"

/* Checks arguments: only full-lattice spinors have whole columns. */
static kaon_status check(const kaon_vector *v, const char *what) {
  const kaon_space *space = v->space;
  if (space->lattice == NULL || space->parity != KAON_FULL)
    return kaon_fail(v->ctx, KAON_ERR_SHAPE,
                     "vector %s: a vector on all sites of a lattice is needed; vectors of one "
                     "parity or of matrix rows are available only as the local part of each rank",
                     what);
  return KAON_OK;
}

/* Copies between the whole array and the part of the rank at `at` in the grid, in rows of x. The
 * slices of t of all sites of the fifth dimension follow each other. */
static void move_part(const kaon_space *space, const int at[4], double *whole, double *part,
                      int take) {
  const int *n = space->lattice->extents, *g = space->lattice->global;
  const size_t row = (size_t)n[0] * (size_t)space->ncomp;
  for (int t = 0; t < n[3] * space->inner; t++)
    for (int z = 0; z < n[2]; z++)
      for (int y = 0; y < n[1]; y++, part += row) {
        const int64_t slice = (int64_t)(t / n[3]) * g[3] + at[3] * n[3] + t % n[3];
        const int64_t outer = at[2] * n[2] + z + g[2] * slice;
        const int64_t first = at[0] * n[0] + (int64_t)g[0] * (at[1] * n[1] + y + g[1] * outer);
        double *there = whole + first * space->ncomp;
        if (take)
          memcpy(part, there, row * sizeof *part);
        else
          memcpy(there, part, row * sizeof *part);
      }
}

static kaon_status take_part(const kaon_vector *v, const char *what, double **part) {
  *part = malloc((size_t)(kaon_space_caller_rows(v->space) * v->space->ncomp) * sizeof **part);
  return KAON_AGREE_MEMORY(v->ctx, *part != NULL, "vector %s: out of host memory for a column",
                           what);
}

kaon_status kaon_vector_gather(const kaon_vector *vector, int column, double *psi,
                               kaon_basis basis) {
  KAON_ENTER(KAON_OF(vector), vector, psi);
  KAON_TRY(check(vector, "gather"));
  const kaon_lattice *l = vector->space->lattice;
  kaon_comm *comm = vector->ctx->comm;
  KAON_AUTOFREE double *part = NULL;
  if (comm->ranks == 1) return kaon_vector_export(vector, column, psi, basis);
  KAON_TRY(take_part(vector, "gather", &part));
  for (int r = 0; r < comm->ranks; r++) {
    int at[4], rest = r;
    for (int mu = 0; mu < 4; mu++) {
      at[mu] = rest % l->grid[mu];
      rest /= l->grid[mu];
    }
    const int64_t rows = kaon_space_caller_rows(vector->space);
    const size_t bytes = (size_t)(rows * vector->space->ncomp) * sizeof *part;
    kaon_status mine = KAON_OK;
    if (r == comm->rank) mine = kaon_vector_export(vector, column, part, basis);
    KAON_TRY(kaon_agree(vector->ctx, mine));
    KAON_TRY(comm->ops->broadcast(comm, part, bytes, r));
    move_part(vector->space, at, psi, part, 0);
  }
  return KAON_OK;
}

kaon_status kaon_vector_scatter(kaon_vector *vector, int column, const double *psi,
                                kaon_basis basis) {
  KAON_ENTER(KAON_OF(vector), vector, psi);
  KAON_TRY(check(vector, "scatter"));
  const kaon_lattice *l = vector->space->lattice;
  KAON_AUTOFREE double *part = NULL;
  int at[4];
  if (vector->ctx->comm->ranks == 1) return kaon_vector_import(vector, column, psi, basis);
  for (int mu = 0; mu < 4; mu++) at[mu] = l->origin[mu] / l->extents[mu];
  KAON_TRY(take_part(vector, "scatter", &part));
  move_part(vector->space, at, (double *)(uintptr_t)psi, part, 1); /* read only */
  return kaon_agree(vector->ctx, kaon_vector_import(vector, column, part, basis));
}
