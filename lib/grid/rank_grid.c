/* rank_grid.c - computes which part of a lattice this rank has, and its neighbours. */
#include <string.h>

#include <kaon/context.h>

#include "lib/vector/space.h"
#include "lib/core/entry.h"

/* Rates the parts that a grid makes of a lattice; 0 if they are not equal.
 * - Parts too thin for hops of three sites (lib/grid/faces.c) are the worst.
 * - Among equally thick parts, even extents are best, an odd number of sites is worst. CPUs cut
 *   even extents into halves for their vectors, y, z or t sooner than x (lib/grid/site_order.c). */
static int quality(const int global[4], const int grid[4]) {
  int odd[4], thick = 1;
  for (int mu = 0; mu < 4; mu++) {
    if (global[mu] % grid[mu] != 0) return 0;
    odd[mu] = global[mu] / grid[mu] % 2;
    if (grid[mu] > 1 && global[mu] / grid[mu] < KAON_FAR_SITES) thick = 0;
  }
  const int odd_beside = odd[1] || odd[2] || odd[3];
  const int evenness = odd[0] && odd[1] && odd[2] && odd[3] ? 1 : odd[0] ? 2 : odd_beside ? 3 : 4;
  return 4 * thick + evenness;
}

/* Sites that a rank sends: those on the faces across the partitioned directions. */
static int64_t surface(const int global[4], const int grid[4]) {
  int64_t volume = 1, sum = 0;
  for (int mu = 0; mu < 4; mu++) volume *= global[mu] / grid[mu];
  for (int mu = 0; mu < 4; mu++)
    if (grid[mu] > 1) sum += 2 * volume / (global[mu] / grid[mu]);
  return sum;
}

static int least_of(int a, int b) {
  return a < b ? a : b;
}

/* Chooses the grid with the smallest faces among the best ones. Among equal ones it prefers to
 * divide t, then z, then y, whose faces are the longest contiguous memory. */
static int choose(const int global[4], int ranks, int best[4]) {
  int64_t least = -1;
  int found = 0, grid[4];
  for (grid[3] = least_of(ranks, global[3]); grid[3] >= 1; grid[3]--)
    for (grid[2] = least_of(ranks / grid[3], global[2]); grid[2] >= 1; grid[2]--)
      for (grid[1] = least_of(ranks / grid[3] / grid[2], global[1]); grid[1] >= 1; grid[1]--) {
        if (ranks % grid[3] != 0 || ranks / grid[3] % grid[2] != 0) break;
        grid[0] = ranks / grid[3] / grid[2] / grid[1];
        if (grid[0] * grid[1] * grid[2] * grid[3] != ranks) continue;
        const int parts = quality(global, grid);
        if (parts == 0 || parts < found) continue;
        const int64_t faces = surface(global, grid);
        if (parts == found && faces >= least) continue;
        found = parts;
        least = faces;
        memcpy(best, grid, sizeof grid);
      }
  return found != 0;
}

static kaon_status check(const kaon_context *ctx, const int n[4], const int g[4]) {
  for (int mu = 0; mu < 4; mu++) {
    if (n[mu] % g[mu] == 0) continue;
    return kaon_fail(
        ctx, KAON_ERR_ARGUMENT,
        "lattice: extent %c is %d, which %d ranks do not divide into equal parts; take "
        "a grid whose number in %c divides %d",
        "XYZT"[mu], n[mu], g[mu], "XYZT"[mu], n[mu]);
  }
  return KAON_OK;
}

static kaon_status find(const kaon_context *ctx, const int n[4], int ranks, int grid[4]) {
  if (choose(n, ranks, grid)) return KAON_OK;
  return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                   "lattice: no grid of %d ranks divides %d x %d x %d x %d sites into equal parts; "
                   "take another number of ranks or another lattice",
                   ranks, n[0], n[1], n[2], n[3]);
}

kaon_status kaon_ranks_grid(const int extents[4], int ranks, int grid[4]) {
  KAON_ENTER(NULL, extents, grid);
  if (grid[0] == 0 && ranks < 1)
    return kaon_fail(NULL, KAON_ERR_ARGUMENT,
                     "grid of ranks: at least 1 rank is needed, but there are %d", ranks);
  KAON_TRY(kaon_extents_check(NULL, extents));
  for (int mu = 0; grid[0] != 0 && mu < 4; mu++)
    if (grid[mu] < 1)
      return kaon_fail(NULL, KAON_ERR_ARGUMENT,
                       "grid of ranks: in %c there are %d ranks, but at least 1 is needed",
                       "XYZT"[mu], grid[mu]);
  if (grid[0] == 0) return find(NULL, extents, ranks, grid);
  return check(NULL, extents, grid);
}

static kaon_status find_grid(kaon_lattice *lattice) {
  const kaon_context *ctx = lattice->ctx;
  if (lattice->grid[0] == 0) return find(ctx, lattice->global, ctx->comm->ranks, lattice->grid);
  return check(ctx, lattice->global, lattice->grid);
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
