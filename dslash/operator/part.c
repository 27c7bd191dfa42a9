/* part.c - operators with some of the hops. Local ones are cut into blocks: hops between blocks, and
 * between ranks, are left out. Couplings have the hops in one direction, or those of them that leave
 * blocks, and no T. Links and T are those of the whole operator. */
#include <stdlib.h>
#include <string.h>

#include "dslash/operator/frame.h"

static kaon_status check_whole(const kaon_operator *A, const char *what) {
  if (kaon_lattice_operator_of(A)->part == NULL) return KAON_OK;
  return kaon_fail(A->ctx, KAON_ERR_UNSUPPORTED,
                   "%s: operator '%s' has only some of its hops already; pass the operator that it "
                   "was made of",
                   what, A->ops->name);
}

kaon_status kaon_coupling_check(const kaon_operator *A, const kaon_coupling *which) {
  const kaon_family *family = kaon_fields_of(A)->family;
  const int d = which->direction, n = which->block;
  KAON_TRY(check_whole(A, "coupling"));
  if (d < 0 || d >= KAON_DIRS)
    return kaon_fail(A->ctx, KAON_ERR_ARGUMENT,
                     "coupling: the direction is %d, but must be 0 to 3 (forward x, y, z, t) or 4 "
                     "to 7 (backward)",
                     d);
  const int extent = family->lattice->extents[d % 4];
  if (n != 0 && (n < family->reach || extent % n != 0))
    return kaon_fail(A->ctx, KAON_ERR_ARGUMENT,
                     "coupling: a block has extent %d in %c, but a divisor of the rank's %d is "
                     "needed, of %d or more (0: all hops)",
                     n, "XYZT"[d % 4], extent, family -> reach);
  return KAON_OK;
}

kaon_status kaon_local_check(const kaon_operator *A, const kaon_local *how, int domains) {
  static const char names[] = "XYZT";
  const kaon_lattice *lattice = kaon_fields_of(A)->family->lattice;
  const int *extents = lattice->extents;
  KAON_TRY(check_whole(A, "local part"));
  for (int mu = 0; mu < 4; mu++) {
    const int n = how->block[mu];
    if (n != 0 && (n < 1 || extents[mu] % n != 0 || (domains && n % 2 != 0)))
      return kaon_fail(A->ctx, KAON_ERR_ARGUMENT,
                       "local part: a block has extent %d in %c, but %s divisor of the rank's %d "
                       "is needed (0: all of it)",
                       n, names[mu], domains ? "an even" : "a", extents[mu]);
    /* With an odd number of blocks around the torus, the first and the last would have one
     * colour. */
    const int extent = n != 0 ? n : extents[mu], number = lattice->global[mu] / extent;
    if (how->alternating && number > 1 && number % 2 != 0)
      return kaon_fail(A->ctx, KAON_ERR_ARGUMENT,
                       "local part: %d / %d = %d blocks in %c; SAP needs an even number or 1",
                       lattice->global[mu], extent, number, names[mu]);
  }
  return KAON_OK;
}

void kaon_part_destroy(kaon_context *ctx, kaon_operator_part **part) {
  kaon_operator_part *gone = *part;
  *part = NULL;
  if (gone == NULL) return;
  for (int mode = 0; mode < 2; mode++) kaon_cuts_destroy(ctx, &gone->cuts[mode]);
  free(gone);
}

/* The hops of a local operator in the stencil, and in both modes the same. */
static void drop_between(const kaon_lattice *lattice, const int block[4], kaon_stencil *stencil) {
  stencil->faces = NULL;
  for (int mu = 0; mu < 4; mu++)
    stencil->cut[mu] =
        block[mu] == 0 && lattice->partitioned[mu] ? lattice->extents[mu] : block[mu];
}

/* The hops in one direction; their adjoints go the other way. */
static void drop_others(const kaon_lattice *lattice, int along, const int block[4], kaon_mode mode,
                        kaon_stencil *stencil) {
  const int direction = (along - 1 + (mode == KAON_DAGGER ? 4 : 0)) % KAON_DIRS;
  if (!lattice->partitioned[direction % 4]) stencil->faces = NULL;
  memcpy(stencil->cut, block, sizeof stencil->cut);
  stencil->along = direction + 1;
}

kaon_status kaon_part_make(kaon_operator *A, int along, const int block[4]) {
  kaon_lattice_operator *self = kaon_lattice_operator_of(A);
  const kaon_family *family = self->fields->family;
  kaon_operator_part *part = calloc(1, sizeof *part);
  if (part == NULL)
    return kaon_fail(A->ctx, KAON_ERR_MEMORY, "%s: out of host memory for some of its hops",
                     A->ops->name);
  self->part = part; /* owned by the operator */
  part->along = along;
  memcpy(part->block, block, sizeof part->block);
  for (int mode = KAON_PLAIN; mode <= KAON_DAGGER; mode++) {
    kaon_stencil *stencil = &part->stencil[mode];
    *stencil = self->fields->stencil;
    if (along == 0)
      drop_between(family->lattice, block, stencil);
    else
      drop_others(family->lattice, along, block, (kaon_mode)mode, stencil);
    if (along != 0 || mode == KAON_PLAIN)
      KAON_TRY(kaon_cuts_create(family->lattice, stencil, family->reach > 1, &part->cuts[mode]));
    stencil->cuts = part->cuts[along != 0 ? mode : KAON_PLAIN];
  }
  return KAON_OK;
}

/* The blocks of a rank, and the position of its first block among those of all ranks. */
typedef struct blocks {
  int extent[4], number[4], origin[4];
  int turns; /* colours: 2 (red and black) if there are several blocks */
} blocks;

static blocks blocks_of(const kaon_lattice *lattice, const int asked[4]) {
  blocks b = {.turns = 1};
  for (int mu = 0; mu < 4; mu++) {
    b.extent[mu] = asked[mu] > 0 ? asked[mu] : lattice->extents[mu];
    b.number[mu] = lattice->extents[mu] / b.extent[mu];
    b.origin[mu] = lattice->origin[mu] / b.extent[mu];
    if (lattice->global[mu] > b.extent[mu]) b.turns = 2;
  }
  return b;
}

/* Sites in their natural order; all sites of a vector block belong to one block. */
static void divide(const kaon_space *space, const blocks *b, int32_t *domain, int32_t *order,
                   int32_t *colour) {
  const kaon_lattice *lattice = space->lattice;
  const int *n = lattice->extents;
  int64_t count = 0;
  for (int64_t i = 0; i < space->nblocks * space->width; i++) domain[i] = -1;
  for (int64_t i = 0; i < lattice->volume; i++) {
    const int site[4] = {(int)(i % n[0]), (int)(i / n[0] % n[1]), (int)(i / n[0] / n[1] % n[2]),
                         (int)(i / n[0] / n[1] / n[2])};
    const kaon_place place = kaon_lattice_place(lattice, site);
    if (space->parity != KAON_FULL && (int)space->parity != place.parity) continue;
    const int second = space->parity == KAON_FULL ? place.parity : 0;
    const int64_t site_block = second * lattice->stencil.nblocks + place.block;
    int number = 0, sum = 0;
    for (int mu = 3; mu >= 0; mu--) {
      const int k = site[mu] / b->extent[mu];
      number = number * b->number[mu] + k;
      sum += b->origin[mu] + k;
    }
    colour[number] = sum % 2;
    for (int s = 0; s < space->inner; s++) {
      const int64_t at = (site_block * space->inner + s) * space->width + place.lane;
      domain[at] = number;
      order[count++] = (int32_t)at;
    }
  }
}

kaon_status kaon_local_domains(const kaon_space *space, const int block[4],
                               kaon_domains **domains) {
  const blocks b = blocks_of(space->lattice, block);
  const int count = b.number[0] * b.number[1] * b.number[2] * b.number[3];
  const size_t sites = (size_t)(space->nblocks * space->width);
  if (count == 1) {
    const int32_t only = (b.origin[0] + b.origin[1] + b.origin[2] + b.origin[3]) % 2;
    return kaon_domains_create(space, 1, NULL, NULL, &only, b.turns, domains);
  }
  KAON_AUTOFREE int32_t *domain = malloc(sites * sizeof *domain),
                        *order = malloc(sites * sizeof *order);
  KAON_AUTOFREE int32_t *colour = malloc((size_t)count * sizeof *colour);
  kaon_status status = KAON_OK;
  if (domain == NULL || order == NULL || colour == NULL) {
    status =
        kaon_fail(space->ctx, KAON_ERR_MEMORY, "local part: out of host memory for its domains");
  } else {
    divide(space, &b, domain, order, colour);
    status = kaon_domains_create(space, count, domain, order, colour, b.turns, domains);
  }
  return status;
}
