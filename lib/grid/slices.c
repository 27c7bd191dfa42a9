/* slices.c - Contract: slices.h. */
#include "lib/grid/slices.h"
#include "lib/core/entry.h"

#include <stdlib.h>
#include <string.h>

kaon_status kaon_slices_open(const kaon_lattice *lattice, int reals, kaon_site_values *values,
                             const void *user, kaon_slices *slices) {
  const size_t piece = (size_t)(lattice->volume / lattice->extents[3]) * (size_t)reals;
  const size_t slice = (size_t)(lattice->global_volume / lattice->global[3]) * (size_t)reals;
  *slices = (kaon_slices){.lattice = lattice, .values = values, .user = user, .reals = reals};
  slices->piece = malloc(piece * sizeof *slices->piece);
  int there = slices->piece != NULL;
  for (int i = 0; i < KAON_SLICES_CACHED; i++) {
    slices->t[i] = -1;
    slices->cached[i] = calloc(slice, sizeof *slices->cached[i]);
    there &= slices->cached[i] != NULL;
  }
  return KAON_AGREE_MEMORY(lattice->ctx, there, "out of host memory for %d slices of %zu numbers",
                           KAON_SLICES_CACHED, slice);
}

/* Fills `piece` with this rank's part of slice t. */
static void fill_piece(kaon_slices *s, int t) {
  const int *n = s->lattice->extents;
  int x[4] = {0, 0, 0, t - s->lattice->origin[3]};
  double *to = s->piece;
  for (x[2] = 0; x[2] < n[2]; x[2]++)
    for (x[1] = 0; x[1] < n[1]; x[1]++)
      for (x[0] = 0; x[0] < n[0]; x[0]++, to += s->reals) s->values(s->user, x, to);
}

/* Copies the part of the rank at `at` in the grid into a slice. */
static void place_piece(const kaon_slices *s, const int at[4], double *slice) {
  const int *n = s->lattice->extents, *g = s->lattice->global;
  const size_t row = (size_t)n[0] * (size_t)s->reals;
  const double *from = s->piece;
  for (int z = 0; z < n[2]; z++)
    for (int y = 0; y < n[1]; y++, from += row) {
      const int64_t first =
          at[0] * n[0] + (int64_t)g[0] * (at[1] * n[1] + y + (int64_t)g[1] * (at[2] * n[2] + z));
      memcpy(slice + first * s->reals, from, row * sizeof *from);
    }
}

static kaon_status fetch(kaon_slices *s, int t, double *slice) {
  const kaon_lattice *l = s->lattice;
  kaon_comm *comm = l->ctx->comm;
  const int *n = l->extents, *grid = l->grid, layer = grid[0] * grid[1] * grid[2];
  const size_t bytes =
      (size_t)n[0] * (size_t)n[1] * (size_t)n[2] * (size_t)s->reals * sizeof *slice;
  for (int i = 0; i < layer; i++) {
    const int at[4] = {i % grid[0], i / grid[0] % grid[1], i / grid[0] / grid[1], t / n[3]};
    const int owner = i + layer * at[3];
    if (owner == comm->rank) fill_piece(s, t);
    KAON_TRY(comm->ops->broadcast(comm, s->piece, bytes, owner));
    place_piece(s, at, slice);
  }
  return KAON_OK;
}

const double *kaon_slices_site(kaon_slices *s, int64_t number) {
  const int64_t sites = s->lattice->global_volume / s->lattice->global[3];
  const int t = (int)(number / sites);
  int slot = -1;
  for (int i = 0; i < KAON_SLICES_CACHED; i++)
    if (s->t[i] == t) slot = i;
  if (slot < 0) {
    slot = s->next;
    s->next = (slot + 1) % KAON_SLICES_CACHED;
    s->t[slot] = t;
    if (s->status == KAON_OK) s->status = fetch(s, t, s->cached[slot]);
    if (s->status != KAON_OK)
      memset(s->cached[slot], 0, (size_t)(sites * s->reals) * sizeof(double));
  }
  return s->cached[slot] + number % sites * s->reals;
}

void kaon_slices_close(kaon_slices *s) {
  for (int i = 0; i < KAON_SLICES_CACHED; i++) free(s->cached[i]);
  free(s->piece);
}

/* ---- for an array of this rank's sites ---- */

typedef struct local_part_sites {
  const int *extents;
  int reals;
  const double *values;
} local_part_sites;

static void value_of_part(const void *user, const int x[4], double *values) {
  const local_part_sites *p = user;
  const int *n = p->extents;
  const int64_t site = x[0] + n[0] * (x[1] + n[1] * (x[2] + (int64_t)n[2] * x[3]));
  memcpy(values, p->values + site * p->reals, (size_t)p->reals * sizeof *values);
}

kaon_status kaon_lattice_gather_slice(const kaon_lattice *lattice, int t, int reals,
                                      const double *part, double *slice) {
  KAON_ENTER(KAON_OF(lattice), lattice, part, slice);
  if (reals < 1 || t < 0 || t >= lattice->global[3])
    return kaon_fail(
        lattice->ctx, KAON_ERR_ARGUMENT,
        "lattice slice: %d reals a site of slice %d were asked for, but at least 1 real "
        "of a slice from 0 to %d is needed",
        reals, t, lattice->global[3] - 1);
  const size_t piece = (size_t)(lattice->volume / lattice->extents[3]) * (size_t)reals;
  if (lattice->ctx->comm->ranks == 1) {
    memcpy(slice, part + (size_t)t * piece, piece * sizeof *slice);
    return KAON_OK;
  }
  const local_part_sites own = {lattice->extents, reals, part};
  kaon_slices s = {.lattice = lattice, .values = value_of_part, .user = &own, .reals = reals};
  s.piece = malloc(piece * sizeof *s.piece);
  kaon_status status = KAON_AGREE_MEMORY(lattice->ctx, s.piece != NULL,
                                         "out of host memory for a slice of %zu numbers", piece);
  if (status == KAON_OK) status = fetch(&s, t, slice);
  free(s.piece);
  return status;
}
