/* space.c - spaces: what keeps them alive, those that an application makes, and the order of their
 * sites in memory. Spaces of a lattice and of a matrix are members of these. */
#include "lib/vector/space.h"

#include <stdlib.h>
#include <string.h>

#include "lib/core/output.h"
#include "lib/core/entry.h"

void kaon_space_retain(const kaon_space *space) {
  if (space->lattice != NULL) kaon_lattice_retain(space->lattice);
  if (space->rows.owner != NULL) space->rows.retain(space->rows.owner);
}

void kaon_space_release(const kaon_space *space) {
  kaon_lattice *lattice = space->lattice;
  if (space->rows.owner != NULL) /* The owner may free the space here. */
    space->rows.release(space->rows.owner);
  else if (lattice != NULL)
    kaon_lattice_destroy(&lattice);
}

/* ---- spaces of the application ---- */

enum { REALS_MAX = 128 };
static const int64_t sites_max = INT32_MAX - 64;

/* It is its own owner (kaon_rows.owner). */
typedef struct own_space {
  kaon_space space;
  int references;
} own_space;

static void retain_own(void *owner) {
  ((own_space *)owner)->references++;
}

static void release_own(void *owner) {
  own_space *gone = owner;
  if (--gone->references > 0) return;
  kaon_context *ctx = gone->space.ctx;
  free(gone);
  kaon_context_release(ctx);
}

static kaon_status make(kaon_context *ctx, int64_t sites, int numbers, int complex_numbers,
                        own_space **made) {
  const int width = ctx->backend->width, parts = complex_numbers ? 2 : 1;
  if (sites < 0 || sites > sites_max || numbers < 1 || numbers > REALS_MAX / parts)
    return kaon_fail(
        ctx, KAON_ERR_ARGUMENT,
        "space: %lld sites with %d %s numbers each were asked for, but 0 to %lld sites "
        "and 1 to %d numbers are possible",
        (long long)sites, numbers, complex_numbers ? "complex" : "real", (long long)sites_max,
        REALS_MAX / parts);
  own_space *own = *made = calloc(1, sizeof *own);
  if (own == NULL) return kaon_fail(ctx, KAON_ERR_MEMORY, "space: out of host memory");
  own->references = 1;
  own->space = (kaon_space){.ctx = ctx,
                            .inner = 1,
                            .nblocks = (sites + width - 1) / width,
                            .nsites = sites,
                            .width = width,
                            .ncomp = numbers * parts,
                            .complex_space = complex_numbers != 0,
                            .rows = {.owner = own, .retain = retain_own, .release = release_own}};
  kaon_context_retain(ctx);
  return KAON_OK;
}

kaon_status kaon_space_create(kaon_context *ctx, int64_t sites, int numbers, int complex_numbers,
                              kaon_space **space) {
  if (space != NULL) *space = NULL;
  KAON_ENTER(ctx, ctx, space);
  own_space *made = NULL;
  const kaon_argument given[] = {kaon_whole("numbers", numbers),
                                 kaon_whole("complex_numbers", complex_numbers != 0)};
  const kaon_status status =
      kaon_same(ctx, make(ctx, sites, numbers, complex_numbers, &made), "space", given, 2);
  if (status == KAON_OK)
    *space = &made->space;
  else if (made != NULL)
    release_own(made);
  return status;
}

void kaon_space_destroy(kaon_space **space) {
  if (space == NULL || *space == NULL) return;
  kaon_space *gone = *space;
  *space = NULL;
  release_own(gone->rows.owner);
}

/* ---- places in memory ---- */

int64_t kaon_space_lattice_site(const kaon_space *space, int64_t block, int lane) {
  const kaon_lattice *lattice = space->lattice;
  int parity = (int)space->parity, x[4];
  const int64_t s = block % space->inner;
  block /= space->inner;
  if (space->parity == KAON_FULL) {
    parity = block >= lattice->stencil.nblocks;
    block -= parity * lattice->stencil.nblocks;
  }
  if (!kaon_lattice_site(lattice, parity, block, lane, x)) return -1;
  const int *n = lattice->extents;
  return x[0] + n[0] * (x[1] + n[1] * (x[2] + n[2] * (x[3] + n[3] * s)));
}

int64_t kaon_space_caller_rows(const kaon_space *space) {
  if (space->lattice != NULL) return space->lattice->volume * space->inner;
  return space->rows.enter != NULL ? space->rows.given : space->nsites;
}

kaon_status kaon_space_order(const kaon_space *space, int64_t places, int64_t *site) {
  KAON_ENTER(KAON_OF(space), space, site);
  if (places != space->nblocks * space->width)
    return kaon_fail(space->ctx, KAON_ERR_ARGUMENT,
                     "space order: the array has %lld places but vectors of this space %lld; take "
                     "the number from kaon_vector_locate",
                     (long long)places, (long long)(space->nblocks * space->width));
  if (space->rows.enter != NULL)
    return kaon_fail(space->ctx, KAON_ERR_UNSUPPORTED,
                     "space order: rows of this matrix were moved between ranks, so they have no "
                     "index in this rank's arrays; create the matrix with KAON_PARTITION_GIVEN");
  for (int64_t n = 0; n < places; n++)
    site[n] = kaon_space_caller_site(space, n / space->width, (int)(n % space->width));
  return KAON_OK;
}

kaon_status kaon_vector_locate(const kaon_vector *vector, kaon_vector_storage *storage) {
  KAON_ENTER(KAON_OF(vector), vector, storage);
  const kaon_space *space = vector->space;
  KAON_TRY(kaon_output_check(vector->ctx, "kaon_vector_storage", storage));
  KAON_TRY(vector->ctx->backend->memory->synchronise(vector->ctx));
  const kaon_vector_storage made = {
      .data = vector->data,
      .scale = vector->scale,
      .places = space->nblocks * space->width,
      .width = space->width,
      .group = kaon_pack_of(vector->ctx, space->ncomp, vector->precision),
      .reals = space->ncomp,
      .columns = vector->nrhs};
  kaon_output_fill(storage, &made, sizeof made);
  return KAON_OK;
}

kaon_status kaon_vector_poison(kaon_vector *vector) {
  kaon_vector_storage s = KAON_VECTOR_STORAGE_INIT;
  KAON_TRY(kaon_vector_locate(vector, &s));
  const size_t number = kaon_precision_bytes(vector->precision);
  const size_t bytes = (size_t)s.places * (size_t)s.columns * (size_t)s.reals * number;
  KAON_AUTOFREE char *host = malloc(bytes + 1);
  if (host == NULL) return kaon_fail(vector->ctx, KAON_ERR_MEMORY, "vector: out of host memory");
  memset(host, 0xff, bytes); /* NaN in both precisions */
  for (int64_t place = 0; place < s.places; place++) {
    if (kaon_space_caller_site(vector->space, place / s.width, (int)(place % s.width)) >= 0)
      continue;
    for (int column = 0; column < s.columns; column++)
      for (int c = 0; c < s.reals; c++)
        memset(host + (size_t)kaon_storage_index(&s, place, column, c) * number, 0, number);
  }
  return vector->ctx->backend->memory->to_device(vector->ctx, vector->data, host, bytes);
}
