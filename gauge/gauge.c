/* gauge.c - link fields: creation, copies across precision and reconstruction, projection. */
#include <stdlib.h>

#include "gauge/gauge_internal.h"
#include "lib/core/threads.h"
#include "lib/core/entry.h"

static kaon_status check_storage(kaon_context *ctx, kaon_precision precision,
                                 kaon_reconstruct reconstruct) {
  if (precision != KAON_DOUBLE && precision != KAON_SINGLE && precision != KAON_HALF)
    return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                     "gauge: precision is %d, but must be 0 (double), 1 (single) or 2 (half)",
                     (int)precision);
  if (reconstruct != KAON_RECONSTRUCT_18 && reconstruct != KAON_RECONSTRUCT_12 &&
      reconstruct != KAON_RECONSTRUCT_8)
    return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                     "gauge: reconstruct is %d, but a link is stored in 18, 12 or 8 reals",
                     (int)reconstruct);
  if (ctx->backend->gauge[precision] == NULL || ctx->backend->gauge[precision]->encode == NULL)
    return kaon_fail(ctx, KAON_ERR_NOT_BUILT,
                     "gauge: backend %s has no links in precision number %d", ctx->backend->name,
                     (int)precision);
  return KAON_OK;
}

/* The caller destroys *gauge after success and after failure. */
static kaon_status make(kaon_lattice *lattice, kaon_precision precision,
                        kaon_reconstruct reconstruct, kaon_gauge **gauge) {
  kaon_context *ctx = lattice->ctx;
  kaon_gauge *made = *gauge = calloc(1, sizeof *made);
  if (made == NULL) return kaon_fail(ctx, KAON_ERR_MEMORY, "gauge: out of host memory for a field");
  *made = (kaon_gauge){.references = 1,
                       .ctx = ctx,
                       .lattice = lattice,
                       .precision = precision,
                       .reconstruct = reconstruct};
  kaon_lattice_retain(lattice);
  KAON_TRY(kaon_revision_create(ctx, KAON_LINKS, NULL, &made->revision));
  const size_t parity_bytes = 4 * (size_t)kaon_link_blocks(kaon_matrix_blocks(&lattice->stencil)) *
                              (size_t)reconstruct * (size_t)lattice->stencil.width *
                              kaon_precision_bytes(precision);
  KAON_TRY(kaon_pool_allocate(ctx, 2 * parity_bytes, "a gauge field", &made->links[0]));
  made->links[1] = (char *)made->links[0] + parity_bytes;
  return ctx->backend->memory->clear(ctx, made->links[0], 2 * parity_bytes);
}

kaon_status kaon_gauge_create(kaon_lattice *lattice, kaon_precision precision,
                              kaon_reconstruct reconstruct, kaon_gauge **gauge) {
  if (gauge != NULL) *gauge = NULL;
  KAON_ENTER(KAON_OF(lattice), lattice, gauge);
  kaon_context *ctx = lattice->ctx;
  const kaon_argument given[] = {kaon_whole("precision", precision),
                                 kaon_whole("reconstruct", reconstruct)};
  KAON_TRY(kaon_same(ctx, check_storage(ctx, precision, reconstruct), "gauge", given, 2));
  kaon_gauge *made = NULL;
  kaon_status status = kaon_agree(ctx, make(lattice, precision, reconstruct, &made));
  if (status == KAON_OK) status = kaon_gauge_unit(made);
  if (status != KAON_OK) {
    kaon_gauge_destroy(&made);
    return status;
  }
  made->revision->number = 0;
  *gauge = made;
  return KAON_OK;
}

void kaon_gauge_retain(kaon_gauge *gauge) {
  gauge->references++;
}

void kaon_gauge_destroy(kaon_gauge **gauge) {
  if (gauge == NULL || *gauge == NULL) return;
  kaon_gauge *gone = *gauge;
  *gauge = NULL;
  if (--gone->references > 0) return;
  kaon_pool_release(gone->ctx, gone->links[0]);
  kaon_revision_release(&gone->revision);
  kaon_lattice_destroy(&gone->lattice);
  free(gone);
}

kaon_lattice *kaon_gauge_lattice(const kaon_gauge *gauge) {
  return gauge != NULL ? gauge->lattice : NULL;
}

uint64_t kaon_gauge_revision(const kaon_gauge *gauge) {
  return gauge != NULL ? gauge->revision->number : 0;
}

kaon_precision kaon_gauge_precision(const kaon_gauge *gauge) {
  return gauge->precision;
}

kaon_reconstruct kaon_gauge_reconstruct(const kaon_gauge *gauge) {
  return gauge->reconstruct;
}

const void *kaon_gauge_links(const kaon_gauge *gauge, int parity) {
  return gauge->links[parity];
}

/* Copies bits between fields of equal storage, so that a copy of 8-real links is exactly equal. */
static kaon_status copy_bits(kaon_gauge *to, const kaon_gauge *from) {
  const size_t bytes = 2 * (size_t)((const char *)from->links[1] - (const char *)from->links[0]);
  kaon_launch launch;
  KAON_TRY(kaon_launch_prepare(to->ctx, 1, 0, &launch));
  to->ctx->backend->gauge[to->precision]->copy(&launch, to->links[0], from->links[0], bytes);
  return KAON_OK;
}

static kaon_status copy_numbers(kaon_gauge *to, const kaon_gauge *from) {
  KAON_AUTO(kaon_wide_close) kaon_wide_links wide = {0};
  if (to->precision == KAON_DOUBLE && to->reconstruct == KAON_RECONSTRUCT_18) {
    wide = (kaon_wide_links){.lattice = to->lattice, .links = {to->links[0], to->links[1]}};
    return kaon_wide_decode(from, &wide);
  }
  KAON_TRY(kaon_wide_open(from, 0, &wide));
  return kaon_wide_commit(to, &wide, 0, "gauge: copy");
}

kaon_status kaon_gauge_copy(kaon_gauge *to, const kaon_gauge *from) {
  KAON_ENTER(KAON_OF(to), to, from);
  if (to == from) return KAON_OK;
  if (to->lattice != from->lattice)
    return kaon_fail(to->ctx, KAON_ERR_SHAPE,
                     "gauge: copy from a field on another lattice; create both on the same "
                     "kaon_lattice");
  kaon_made_as(to->revision, from->revision, "kaon_gauge_copy");
  if (to->precision == from->precision && to->reconstruct == from->reconstruct)
    return copy_bits(to, from);
  KAON_RETURN_UNTRAPPED(to->ctx, copy_numbers(to, from));
}

static kaon_status project(kaon_gauge *gauge) {
  const kaon_gauge_ops *ops = NULL;
  kaon_launch launch;
  KAON_AUTO(kaon_wide_close) kaon_wide_links wide = {0};
  KAON_TRY(kaon_gauge_kernels(gauge->ctx, &ops));
  KAON_TRY(kaon_launch_prepare(gauge->ctx, 1, 0, &launch));
  KAON_TRY(kaon_wide_open(gauge, 0, &wide));
  for (int parity = 0; parity < 2; parity++) {
    const kaon_links_args args = kaon_links_on(&wide, parity, NULL, NULL);
    ops->project(&launch, &args);
  }
  return kaon_wide_commit(gauge, &wide, 0, "gauge: project");
}

kaon_status kaon_gauge_project(kaon_gauge *gauge) {
  KAON_ENTER(KAON_OF(gauge), gauge);
  KAON_RETURN_UNTRAPPED(gauge->ctx, project(gauge));
}
