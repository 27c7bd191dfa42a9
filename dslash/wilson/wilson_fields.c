/* wilson_fields.c - the links of Wilson-like operators in one precision and storage.
 *
 * In the temporal gauge the links and blocks are those of the rotated field. The neighbour tables
 * then mark the hops whose link is the identity in every lane, so that kernels neither read nor
 * multiply it. */
#include <stdlib.h>

#include "dslash/wilson/wilson.h"

/* Returns 1 when the hop's t link is the identity in every valid lane of the block: forward from
 * any slice except the last, backward to any slice except the first. */
static int unit_everywhere(const kaon_lattice *lattice, int parity, int64_t block, int dir) {
  const int edge = (dir == 3 ? lattice->global[3] - 1 : 0) - lattice->origin[3];
  for (int lane = 0; lane < lattice->stencil.width; lane++) {
    int site[4];
    if (kaon_lattice_site(lattice, parity, block, lane, site) && site[3] == edge) return 0;
  }
  return 1;
}

static kaon_status mark_unit_links(kaon_dirac_fields *fields, int parity) {
  const kaon_lattice *lattice = fields->base.family->lattice;
  kaon_context *ctx = lattice->ctx;
  const kaon_memory_ops *memory = ctx->backend->memory;
  const int64_t nblocks = lattice->stencil.nblocks;
  const size_t bytes = (size_t)nblocks * KAON_DIRS * sizeof(uint32_t);
  void *device = NULL;
  KAON_TRY(kaon_pool_allocate(ctx, bytes, "temporal-gauge neighbour table", &device));
  fields->neighbour[parity] = device;
  uint32_t *host = malloc(bytes);
  if (host == NULL)
    return kaon_fail(ctx, KAON_ERR_MEMORY, "dirac: out of host memory for a neighbour table");
  kaon_status status = memory->to_host(ctx, host, lattice->stencil.neighbour[parity], bytes);
  for (int64_t block = 0; block < nblocks && status == KAON_OK; block++)
    for (int dir = 3; dir < KAON_DIRS; dir += 4)
      if (unit_everywhere(lattice, parity, block, dir))
        host[block * KAON_DIRS + dir] |= KAON_NB_UNIT;
  if (status == KAON_OK) status = memory->to_device(ctx, device, host, bytes);
  free(host);
  fields->base.stencil.neighbour[parity] = device;
  return status;
}

static int has_last_slice(const kaon_lattice *lattice) {
  return lattice->origin[3] + lattice->extents[3] == lattice->global[3];
}

kaon_status kaon_dirac_build(kaon_fields *base) {
  kaon_dirac_fields *fields = (kaon_dirac_fields *)base;
  kaon_lattice *lattice = base->family->lattice;
  kaon_gauge *from = base->family->links[0];
  base->stencil.temporal = !base->temporal           ? KAON_TEMPORAL_NONE
                           : has_last_slice(lattice) ? KAON_TEMPORAL_BELOW_LAST
                                                     : KAON_TEMPORAL_ALL;
  if (base->temporal && !lattice->ctx->backend->computed_neighbours)
    for (int parity = 0; parity < 2; parity++) KAON_TRY(mark_unit_links(fields, parity));
  if (base->temporal || base->precision != from->precision ||
      base->reconstruct != from->reconstruct)
    return kaon_gauge_create(lattice, base->precision, base->reconstruct, &fields->links);
  fields->links = from;
  kaon_gauge_retain(from);
  return KAON_OK;
}

/* The inverse of a gauge transformation is taken to be its adjoint. */
static kaon_status check_unitary(const kaon_gauge *links) {
  double found[KAON_INSPECT_RESULTS];
  KAON_AUTO(kaon_wide_close) kaon_wide_links wide = {0};
  KAON_TRY(kaon_wide_open(links, 0, &wide));
  KAON_TRY(kaon_wide_inspect(&wide, found));
  if (!(found[0] > KAON_UNITARITY_TOLERANCE)) return KAON_OK;
  return kaon_fail(
      links->ctx, KAON_ERR_UNITARITY,
      "dirac: temporal gauge needs unitary links, but these are off U(3) by %.3g, more "
      "than the allowed %.3g; divide factors out of them, or set temporal_gauge to 0",
      found[0], KAON_UNITARITY_TOLERANCE);
}

kaon_status kaon_dirac_fill(kaon_fields *base) {
  kaon_gauge *from = base->family->links[0], *to = ((kaon_dirac_fields *)base)->links;
  if (base->temporal) KAON_TRY(check_unitary(from));
  if (to != from)
    KAON_TRY(base->temporal ? kaon_gauge_temporal(to, from) : kaon_gauge_copy(to, from));
  if (!base->family->has_sites || base->sites == 0) return KAON_OK;
  return base->family->action->fill_sites(base, base->sites);
}

void kaon_dirac_fields_release(kaon_fields *base) {
  kaon_dirac_fields *fields = (kaon_dirac_fields *)base;
  kaon_context *ctx = base->family->ctx;
  for (int parity = 0; parity < 2; parity++) {
    for (int kind = 0; kind < KAON_SITE_KINDS; kind++) {
      kaon_pool_release(ctx, fields->blocks[kind][parity].data);
      kaon_pool_release(ctx, fields->blocks[kind][parity].scale);
    }
    kaon_pool_release(ctx, fields->neighbour[parity]);
  }
  kaon_gauge_destroy(&fields->links);
}
