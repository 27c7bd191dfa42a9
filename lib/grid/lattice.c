/* lattice.c - lattices and the spaces on them. */
#include <stdlib.h>
#include <string.h>

#include "lib/grid/ghosts.h"
#include "lib/grid/halo.h"
#include "lib/core/entry.h"

static int ranks_of(const kaon_context *ctx) {
  return ctx != NULL ? ctx->comm->ranks : 1;
}

/* The sites of a rank must have 31-bit indices. */
static kaon_status too_large(const kaon_context *ctx, const int extents[4]) {
  return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                   "lattice: %d x %d x %d x %d has %lld sites, but at most %d fit one rank",
                   extents[0], extents[1], extents[2], extents[3],
                   (long long)extents[0] * extents[1] * extents[2] * extents[3],
                   INT32_MAX / KAON_DIRS * 2);
}

kaon_status kaon_extents_check(const kaon_context *ctx, const int extents[4]) {
  static const char names[] = "XYZT";
  for (int mu = 0; mu < 4; mu++) {
    if (extents[mu] < 2 || extents[mu] % 2 != 0)
      return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                       "lattice: extent %c is %d, but every extent must be even and at least 2",
                       names[mu], extents[mu]);
    if (extents[mu] > 4096)
      return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                       "lattice: extent %c is %d, but at most 4096 is supported", names[mu],
                       extents[mu]);
  }
  return KAON_OK;
}

kaon_status kaon_lattice_check(const kaon_context *ctx, const int extents[4]) {
  KAON_ENTER(ctx, extents);
  int64_t volume = 1;
  KAON_TRY(kaon_extents_check(ctx, extents));
  for (int mu = 0; mu < 4; mu++) volume *= extents[mu];
  return volume / 2 > (INT32_MAX / KAON_DIRS) * (int64_t)ranks_of(ctx) ? too_large(ctx, extents)
                                                                       : KAON_OK;
}

/* The list's spaces of this kind, or new ones. NULL: out of memory. */
static const kaon_space *spaces_of(kaon_lattice *lattice, int reals, int inner) {
  const kaon_stencil *stencil = &lattice->stencil;
  kaon_lattice_spaces *spaces = lattice->spaces;
  while (spaces != NULL && (spaces->of->ncomp != reals || spaces->of->inner != inner))
    spaces = spaces->next;
  if (spaces != NULL) return spaces->of;
  spaces = malloc(sizeof *spaces);
  if (spaces == NULL) return NULL;
  for (int parity = KAON_EVEN; parity <= KAON_FULL; parity++)
    spaces->of[parity] = (kaon_space){
        .ctx = lattice->ctx,
        .lattice = lattice,
        .parity = (kaon_parity)parity,
        .inner = inner,
        .nblocks = (parity == KAON_FULL ? 2 : 1) * inner * stencil->nblocks,
        .nsites = inner * (parity == KAON_FULL ? lattice->volume : stencil->sites[parity]),
        .width = stencil->width,
        .ncomp = reals,
        .complex_space = 1};
  spaces->next = lattice->spaces;
  lattice->spaces = spaces;
  return spaces->of;
}

static kaon_status build(kaon_context *ctx, const int extents[4], kaon_boundary boundary_t,
                         const int grid[4], kaon_lattice *made) {
  made->references = 1;
  made->ctx = ctx;
  kaon_context_retain(ctx);
  memcpy(made->global, extents, sizeof made->global);
  memcpy(made->grid, grid, sizeof made->grid);
  made->boundary_t = boundary_t;
  KAON_TRY(kaon_rank_grid_place(made));
  const int *n = made->extents;
  made->volume = (int64_t)n[0] * n[1] * n[2] * n[3];
  made->global_volume = made->volume * ctx->comm->ranks;
  if ((made->volume + 1) / 2 > INT32_MAX / KAON_DIRS) return too_large(ctx, n);
  KAON_TRY(kaon_site_order_build(made));
  if (kaon_lattice_partitioned(made)) {
    KAON_TRY(kaon_faces_create(made));
    KAON_TRY(kaon_ghosts_create(made));
  }
  made->spinors = spaces_of(made, 24, 1);
  made->staggered = spaces_of(made, 6, 1);
  return KAON_CHECK_MEMORY(ctx, made->spinors != NULL && made->staggered != NULL,
                           "lattice: out of host memory for its spaces");
}

kaon_status kaon_lattice_create_on(kaon_context *ctx, const int extents[4],
                                   kaon_boundary boundary_t, const int grid[4],
                                   kaon_lattice **lattice) {
  *lattice = NULL;
  kaon_status status = kaon_lattice_check(ctx, extents);
  if (status == KAON_OK && boundary_t != KAON_PERIODIC && boundary_t != KAON_ANTIPERIODIC)
    status = kaon_fail(ctx, KAON_ERR_ARGUMENT,
                       "lattice: boundary_t is %d, but must be 0 (periodic) or 1 (antiperiodic)",
                       (int)boundary_t);
  const kaon_argument given[] = {
      kaon_whole("extents[0]", extents[0]), kaon_whole("extents[1]", extents[1]),
      kaon_whole("extents[2]", extents[2]), kaon_whole("extents[3]", extents[3]),
      kaon_whole("boundary_t", boundary_t)};
  KAON_TRY(kaon_same(ctx, status, "lattice", given, 5));
  kaon_lattice *made = calloc(1, sizeof *made);
  if (made == NULL) status = kaon_fail(ctx, KAON_ERR_MEMORY, "lattice: out of host memory");
  if (status == KAON_OK) status = build(ctx, extents, boundary_t, grid, made);
  status = kaon_agree(ctx, status);
  if (status != KAON_OK) {
    if (made != NULL) kaon_lattice_destroy(&made);
    return status;
  }
  *lattice = made;
  return KAON_OK;
}

kaon_status kaon_lattice_create(kaon_context *ctx, const int extents[4], kaon_boundary boundary_t,
                                kaon_lattice **lattice) {
  if (lattice != NULL) *lattice = NULL;
  KAON_ENTER(ctx, ctx, extents, lattice);
  return kaon_lattice_create_on(ctx, extents, boundary_t, ctx->comm->grid, lattice);
}

void kaon_lattice_retain(kaon_lattice *lattice) {
  lattice->references++;
}

void kaon_lattice_destroy(kaon_lattice **lattice) {
  if (lattice == NULL || *lattice == NULL) return;
  kaon_lattice *gone = *lattice;
  *lattice = NULL;
  if (--gone->references > 0) return;
  while (gone->spaces != NULL) {
    kaon_lattice_spaces *first = gone->spaces;
    gone->spaces = first->next;
    free(first);
  }
  kaon_halos_destroy(gone);
  kaon_ghosts_destroy(gone);
  kaon_faces_destroy(gone);
  for (int parity = 0; parity < 2; parity++) {
    kaon_pool_release(gone->ctx, gone->neighbour[parity]);
    kaon_pool_release(gone->ctx, gone->gather[parity]);
  }
  kaon_context_release(gone->ctx);
  free(gone);
}

void kaon_lattice_extents(const kaon_lattice *lattice, int extents[4]) {
  for (int mu = 0; mu < 4 && extents != NULL; mu++)
    extents[mu] = lattice != NULL ? lattice->global[mu] : 0;
}

int64_t kaon_lattice_volume(const kaon_lattice *lattice) {
  return lattice != NULL ? lattice->global_volume : 0;
}

void kaon_lattice_part(const kaon_lattice *lattice, int extents[4], int origin[4], int grid[4]) {
  for (int mu = 0; mu < 4; mu++) {
    if (extents != NULL) extents[mu] = lattice != NULL ? lattice->extents[mu] : 0;
    if (origin != NULL) origin[mu] = lattice != NULL ? lattice->origin[mu] : 0;
    if (grid != NULL) grid[mu] = lattice != NULL ? lattice->grid[mu] : 0;
  }
}

static int is_parity(kaon_parity parity) {
  return parity == KAON_EVEN || parity == KAON_ODD || parity == KAON_FULL;
}

const kaon_space *kaon_lattice_spinors(kaon_lattice *lattice, kaon_parity parity) {
  if (lattice == NULL || !is_parity(parity)) return NULL;
  return &lattice->spinors[parity];
}

const kaon_space *kaon_lattice_staggered(kaon_lattice *lattice, kaon_parity parity) {
  if (lattice == NULL || !is_parity(parity)) return NULL;
  return &lattice->staggered[parity];
}

const kaon_space *kaon_lattice_spinors_5d(kaon_lattice *lattice, int ls, kaon_parity parity) {
  if (lattice == NULL || !is_parity(parity)) return NULL;
  return kaon_lattice_space(lattice, parity, 24, ls);
}

const kaon_space *kaon_lattice_space(kaon_lattice *lattice, kaon_parity parity, int reals,
                                     int inner) {
  if (inner < 1 || inner > KAON_INNER_MAX) return NULL;
  const kaon_space *flat = spaces_of(lattice, reals, 1); /* kaon_vector_flat finds it */
  if (flat == NULL) return NULL;
  if (inner > 1 && flat[KAON_FULL].nblocks * flat->width * inner > INT32_MAX)
    return NULL; /* places have 31-bit indices */
  const kaon_space *spaces = spaces_of(lattice, reals, inner);
  return spaces != NULL ? &spaces[parity] : NULL;
}
