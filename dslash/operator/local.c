/* local.c - operators cut into blocks. Hops between blocks, and between ranks, are left out. Links
 * and T are those of the whole operator. */
#include <stdlib.h>

#include "dslash/operator/frame.h"

kaon_status kaon_cut_check(const kaon_operator *A, const kaon_local *how) {
  static const char names[] = "XYZT";
  const kaon_lattice *lattice = kaon_fields_of(A)->family->lattice;
  const int *extents = lattice->extents;
  if (kaon_lattice_operator_of(A)->cut != NULL)
    return kaon_fail(
        A->ctx, KAON_ERR_UNSUPPORTED,
        "local part: the operator is a local part already; pass the operator that it was made of");
  for (int mu = 0; mu < 4; mu++) {
    const int n = how->block[mu];
    if (n != 0 && (n < 2 || n % 2 != 0 || extents[mu] % n != 0))
      return kaon_fail(A->ctx, KAON_ERR_ARGUMENT,
                       "local part: a block has extent %d in %c, but an even divisor of the rank's "
                       "%d is needed (0: all of it)",
                       n, names[mu], extents[mu]);
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

void kaon_cut_destroy(kaon_context *ctx, kaon_cut_operator **cut) {
  if (*cut == NULL) return;
  kaon_cuts_destroy(ctx, &(*cut)->cuts);
  free(*cut);
  *cut = NULL;
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
    const int64_t at =
        (second * lattice->stencil.nblocks + place.block) * space->width + place.lane;
    int number = 0, sum = 0;
    for (int mu = 3; mu >= 0; mu--) {
      const int k = site[mu] / b->extent[mu];
      number = number * b->number[mu] + k;
      sum += b->origin[mu] + k;
    }
    domain[at] = number;
    colour[number] = sum % 2;
    order[count++] = (int32_t)at;
  }
}

static kaon_status make_domains(const kaon_space *space, const int block[4],
                                kaon_domains **domains) {
  const blocks b = blocks_of(space->lattice, block);
  const int count = b.number[0] * b.number[1] * b.number[2] * b.number[3];
  const size_t sites = (size_t)(space->nblocks * space->width);
  if (count == 1) {
    const int32_t only = (b.origin[0] + b.origin[1] + b.origin[2] + b.origin[3]) % 2;
    return kaon_domains_create(space, 1, NULL, NULL, &only, b.turns, domains);
  }
  int32_t *domain = malloc(sites * sizeof *domain), *order = malloc(sites * sizeof *order);
  int32_t *colour = malloc((size_t)count * sizeof *colour);
  kaon_status status = KAON_OK;
  if (domain == NULL || order == NULL || colour == NULL) {
    status =
        kaon_fail(space->ctx, KAON_ERR_MEMORY, "local part: out of host memory for its domains");
  } else {
    divide(space, &b, domain, order, colour);
    status = kaon_domains_create(space, count, domain, order, colour, b.turns, domains);
  }
  free(domain);
  free(order);
  free(colour);
  return status;
}

kaon_status kaon_cut_make(kaon_operator *A, const int block[4], kaon_domains **domains) {
  kaon_lattice_operator *self = kaon_lattice_operator_of(A);
  const kaon_lattice *lattice = self->fields->family->lattice;
  kaon_cut_operator *cut = calloc(1, sizeof *cut);
  if (cut == NULL) return kaon_fail(A->ctx, KAON_ERR_MEMORY, "local part: out of host memory");
  self->cut = cut; /* owned by the operator */
  cut->stencil = self->fields->stencil;
  cut->stencil.faces = NULL;
  for (int mu = 0; mu < 4; mu++) {
    cut->block[mu] = block[mu];
    cut->stencil.cut[mu] = block[mu];
    if (block[mu] == 0 && lattice->partitioned[mu]) cut->stencil.cut[mu] = lattice->extents[mu];
  }
  KAON_TRY(kaon_cuts_create(lattice, cut->stencil.cut, &cut->cuts));
  cut->stencil.cuts = cut->cuts;
  return domains != NULL ? make_domains(A->space, block, domains) : KAON_OK;
}
