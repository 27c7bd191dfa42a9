/* rank_grid.c - which part of a lattice is this rank's, and who its neighbours are. */
#include <string.h>

#include <kaon/ranks.h>

#include "lib/space.h"

/* What a grid makes of a lattice, from bad to good. */
typedef enum division {
  DIVIDES_NOT,
  ODD_NUMBER,
  THIN_ODD_X,
  THIN_ODD_PARTS,
  THIN_PARTS,
  ODD_X,
  ODD_PARTS,
  EVEN_PARTS
} division;

/* Parts are equal, and half of a part's sites are even, so their number is. Thin ones are too thin
 * for hops of three sites (lib/faces.c). */
static division divide(const int global[4], const int grid[4]) {
  int odd[4], thin = 0;
  for (int mu = 0; mu < 4; mu++) {
    if (global[mu] % grid[mu] != 0) return DIVIDES_NOT;
    odd[mu] = global[mu] / grid[mu] % 2;
    if (grid[mu] > 1 && global[mu] / grid[mu] < KAON_FAR_SITES) thin = 1;
  }
  if (odd[0] && odd[1] && odd[2] && odd[3]) return ODD_NUMBER;
  if (odd[0]) return thin ? THIN_ODD_X : ODD_X;
  if (odd[1] || odd[2] || odd[3]) return thin ? THIN_ODD_PARTS : ODD_PARTS;
  return thin ? THIN_PARTS : EVEN_PARTS;
}

/* Where kernels work neighbours out, on a GPU, sites stand in pairs along x, of which one is even.
 */
static int can_be(division parts, int on_gpu) {
  return parts >= THIN_ODD_X && !(on_gpu && (parts == ODD_X || parts == THIN_ODD_X));
}

/* Sites that a rank sends: those on the faces across the directions that are divided. */
static int64_t surface(const int global[4], const int grid[4]) {
  int64_t volume = 1, sum = 0;
  for (int mu = 0; mu < 4; mu++) volume *= global[mu] / grid[mu];
  for (int mu = 0; mu < 4; mu++)
    if (grid[mu] > 1) sum += 2 * volume / (global[mu] / grid[mu]);
  return sum;
}

/* Of the grids that divide the lattice the one with the smallest faces; if there are any whose
 * parts serve every operator one of those, and of these one with even parts: CPUs cut even extents
 * into halves for their vectors. Of equal ones the one that divides t more, then z, then y: their
 * faces are the longest pieces of memory. */
static int choose(const int global[4], int ranks, int on_gpu, int best[4]) {
  int64_t least = -1;
  division found = DIVIDES_NOT;
  int grid[4];
  for (grid[3] = ranks; grid[3] >= 1; grid[3]--)
    for (grid[2] = ranks / grid[3]; grid[2] >= 1; grid[2]--)
      for (grid[1] = ranks / grid[3] / grid[2]; grid[1] >= 1; grid[1]--) {
        grid[0] = ranks / grid[3] / grid[2] / grid[1];
        if (grid[0] * grid[1] * grid[2] * grid[3] != ranks) continue;
        const division parts = divide(global, grid);
        if (!can_be(parts, on_gpu) || parts < found) continue;
        const int64_t faces = surface(global, grid);
        if (parts == found && faces >= least) continue;
        found = parts;
        least = faces;
        memcpy(best, grid, sizeof grid);
      }
  return found != DIVIDES_NOT;
}

static kaon_status check(const kaon_context *ctx, const int n[4], const int g[4], int on_gpu) {
  const division parts = divide(n, g);
  for (int mu = 0; mu < 4; mu++) {
    if (n[mu] % g[mu] == 0) continue;
    return kaon_fail(
        ctx, KAON_ERR_ARGUMENT,
        "lattice: extent %c is %d, which %d ranks do not divide into equal parts; take "
        "a grid whose number in %c divides %d",
        "XYZT"[mu], n[mu], g[mu], "XYZT"[mu], n[mu]);
  }
  if (parts == ODD_NUMBER)
    return kaon_fail(
        ctx, KAON_ERR_ARGUMENT,
        "lattice: a grid of %d %d %d %d ranks divides %d x %d x %d x %d sites into parts "
        "of %d x %d x %d x %d, but a part needs an even number of sites; take a grid "
        "that leaves %s even",
        g[0], g[1], g[2], g[3], n[0], n[1], n[2], n[3], n[0] / g[0], n[1] / g[1], n[2] / g[2],
        n[3] / g[3], on_gpu ? "X" : "one extent");
  if (!can_be(parts, on_gpu))
    return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                     "lattice: extent X is %d, which %d ranks divide into parts of the odd extent "
                     "%d; on a GPU parts are odd in Y, Z and T alone: divide another direction, or "
                     "take a grid whose number in X divides %d",
                     n[0], g[0], n[0] / g[0], n[0] / 2);
  return KAON_OK;
}

static kaon_status find(const kaon_context *ctx, const int n[4], int ranks, int on_gpu,
                        int grid[4]) {
  if (choose(n, ranks, on_gpu, grid)) return KAON_OK;
  return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                   "lattice: no grid of %d ranks divides %d x %d x %d x %d sites into equal parts "
                   "that are even in %s; take another number of ranks or another lattice",
                   ranks, n[0], n[1], n[2], n[3], on_gpu ? "X" : "one direction");
}

kaon_status kaon_ranks_grid(const int extents[4], int ranks, kaon_backend_kind backend,
                            int grid[4]) {
  const int on_gpu = backend == KAON_BACKEND_CUDA;
  if (extents == NULL || grid == NULL)
    return kaon_fail(NULL, KAON_ERR_ARGUMENT, "grid of ranks: extents and a grid are needed");
  if (grid[0] == 0 && ranks < 1)
    return kaon_fail(NULL, KAON_ERR_ARGUMENT,
                     "grid of ranks: at least 1 rank is needed, but there are %d", ranks);
  KAON_TRY(kaon_extents_check(NULL, extents));
  for (int mu = 0; grid[0] != 0 && mu < 4; mu++)
    if (grid[mu] < 1)
      return kaon_fail(NULL, KAON_ERR_ARGUMENT,
                       "grid of ranks: in %c there are %d ranks, but at least 1 is needed",
                       "XYZT"[mu], grid[mu]);
  if (grid[0] == 0) return find(NULL, extents, ranks, on_gpu, grid);
  return check(NULL, extents, grid, on_gpu);
}

static kaon_status find_grid(kaon_lattice *lattice) {
  const kaon_context *ctx = lattice->ctx;
  const int *n = lattice->global, *g = ctx->comm->grid, on_gpu = ctx->backend->computed_neighbours;
  if (g[0] == 0) return find(ctx, n, ctx->comm->ranks, on_gpu, lattice->grid);
  KAON_TRY(check(ctx, n, g, on_gpu));
  memcpy(lattice->grid, g, sizeof lattice->grid);
  return KAON_OK;
}

static int rank_at(const int grid[4], const int at[4]) {
  return at[0] + grid[0] * (at[1] + grid[1] * (at[2] + grid[2] * at[3]));
}

kaon_status kaon_rank_grid_place(kaon_lattice *lattice) {
  const kaon_comm *comm = lattice->ctx->comm;
  KAON_TRY(find_grid(lattice));
  int at[4], rest = comm->rank;
  for (int mu = 0; mu < 4; mu++) {
    at[mu] = rest % lattice->grid[mu];
    rest /= lattice->grid[mu];
    lattice->extents[mu] = lattice->global[mu] / lattice->grid[mu];
    lattice->origin[mu] = at[mu] * lattice->extents[mu];
    lattice->partitioned[mu] = lattice->grid[mu] > 1 || comm->partitioned[mu];
  }
  for (int dir = 0; dir < KAON_DIRS; dir++) {
    const int mu = dir % 4, step = dir < 4 ? 1 : lattice->grid[mu] - 1;
    int there[4];
    memcpy(there, at, sizeof there);
    there[mu] = (at[mu] + step) % lattice->grid[mu];
    lattice->peer[dir] = rank_at(lattice->grid, there);
  }
  return KAON_OK;
}
