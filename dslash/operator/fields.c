/* fields.c - the links and clover blocks that the operators of a family share: one set for each
 * precision and link storage in use. This file fills them from the gauge field and detects when
 * they are stale.
 *
 * In the temporal gauge the links and blocks are those of the rotated field. The neighbour tables
 * then mark the hops whose link is the identity in every lane, so that kernels neither read nor
 * multiply it. */
#include <stdlib.h>
#include <string.h>

#include <kaon/context.h>

#include "dslash/operator/dirac_internal.h"

kaon_status kaon_dirac_family_create(kaon_gauge *gauge, const kaon_dirac_options *options,
                                     kaon_dirac_family **family) {
  kaon_lattice *lattice = kaon_gauge_lattice(gauge);
  kaon_context *ctx = lattice->ctx;
  kaon_dirac_family *made = calloc(1, sizeof *made);
  if (made == NULL)
    return kaon_fail(ctx, KAON_ERR_MEMORY, "dirac: out of host memory for an operator");
  *made = (kaon_dirac_family){.references = 1,
                              .ctx = ctx,
                              .lattice = lattice,
                              .gauge = gauge,
                              .kappa = options->kappa,
                              .csw = options->csw,
                              .anisotropy = options->anisotropy};
  kaon_gauge_retain(gauge);
  *family = made;
  return KAON_OK;
}

void kaon_dirac_family_release(kaon_dirac_family **family) {
  kaon_dirac_family *gone = *family;
  *family = NULL;
  if (gone == NULL || --gone->references > 0) return;
  kaon_gauge_destroy(&gone->gauge);
  free(gone);
}

/* ---- neighbour tables of the temporal gauge ---- */

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
  const kaon_lattice *lattice = fields->family->lattice;
  kaon_context *ctx = fields->family->ctx;
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
  fields->stencil.neighbour[parity] = device;
  return status;
}

/* ---- filling ---- */

static kaon_status fill_links(kaon_dirac_fields *fields) {
  kaon_gauge *from = fields->family->gauge;
  if (fields->links == from) return KAON_OK;
  return fields->temporal ? kaon_gauge_temporal(fields->links, from)
                          : kaon_gauge_copy(fields->links, from);
}

static kaon_status fill(kaon_dirac_fields *fields) {
  fields->filled = 0;
  KAON_TRY(fill_links(fields));
  KAON_TRY(kaon_dirac_fill_blocks(fields, fields->blocks_wanted));
  if (fields->rotation != NULL)
    KAON_TRY(kaon_temporal_update(fields->rotation, fields->family->gauge));
  fields->revision = kaon_gauge_revision(fields->family->gauge);
  fields->filled = 1;
  return KAON_OK;
}

kaon_status kaon_dirac_family_update(kaon_dirac_family *family) {
  kaon_status worst = KAON_OK;
  for (int doubles = 1; doubles >= 0; doubles--) /* the other precisions round the double blocks */
    for (kaon_dirac_fields *f = family->first; f != NULL; f = f->next) {
      if ((f->precision == KAON_DOUBLE) != doubles) continue;
      kaon_status status = fill(f);
      if (status != KAON_OK) worst = status;
    }
  return worst;
}

kaon_status kaon_dirac_fields_need_rotation(kaon_dirac_fields *fields) {
  if (!fields->temporal || fields->rotation != NULL) return KAON_OK;
  return kaon_temporal_create(fields->family->gauge, &fields->rotation);
}

kaon_status kaon_dirac_fields_check(const kaon_dirac_fields *fields) {
  const uint64_t now = kaon_gauge_revision(fields->family->gauge);
  if (fields->filled && fields->revision == now) return KAON_OK;
  if (!fields->filled)
    return kaon_fail(fields->family->ctx, KAON_ERR_STALE,
                     "dirac: the last kaon_dirac_update of this operator failed; remove the cause "
                     "and call it again");
  return kaon_fail(fields->family->ctx, KAON_ERR_STALE,
                   "dirac: the links are at revision %llu but this operator was made from revision "
                   "%llu; call kaon_dirac_update",
                   (unsigned long long)now, (unsigned long long)fields->revision);
}

/* ---- sets of fields ---- */

static int has_last_slice(const kaon_lattice *lattice) {
  return lattice->origin[3] + lattice->extents[3] == lattice->global[3];
}

static kaon_status build(kaon_dirac_fields *fields) {
  kaon_dirac_family *family = fields->family;
  fields->stencil.temporal = !fields->temporal                 ? KAON_TEMPORAL_NONE
                             : has_last_slice(family->lattice) ? KAON_TEMPORAL_BELOW_LAST
                                                               : KAON_TEMPORAL_ALL;
  if (fields->temporal && !fields->family->ctx->backend->computed_neighbours)
    for (int parity = 0; parity < 2; parity++) KAON_TRY(mark_unit_links(fields, parity));
  const int own = fields->temporal || fields->precision != family->gauge->precision ||
                  fields->reconstruct != family->gauge->reconstruct;
  if (own)
    KAON_TRY(
        kaon_gauge_create(family->lattice, fields->precision, fields->reconstruct, &fields->links));
  else {
    fields->links = family->gauge;
    kaon_gauge_retain(fields->links);
  }
  return fill(fields);
}

void kaon_dirac_fields_release(kaon_dirac_fields **fields) {
  kaon_dirac_fields *gone = *fields;
  *fields = NULL;
  if (gone == NULL || --gone->references > 0) return;
  kaon_dirac_fields **at = &gone->family->first;
  while (*at != NULL && *at != gone) at = &(*at)->next;
  if (*at == gone) *at = gone->next;
  kaon_context *ctx = gone->family->ctx;
  for (int parity = 0; parity < 2; parity++) {
    for (int kind = 0; kind < KAON_BLOCKS_KINDS; kind++) {
      kaon_pool_release(ctx, gone->blocks[kind][parity].data);
      kaon_pool_release(ctx, gone->blocks[kind][parity].scale);
    }
    kaon_pool_release(ctx, gone->neighbour[parity]);
  }
  kaon_temporal_destroy(&gone->rotation);
  kaon_gauge_destroy(&gone->links);
  kaon_dirac_family_release(&gone->family);
  free(gone);
}

/* Adds the blocks that an existing set lacks. */
static kaon_status extend(kaon_dirac_fields *fields, unsigned blocks) {
  KAON_TRY(kaon_dirac_fields_check(fields));
  KAON_TRY(kaon_dirac_fill_blocks(fields, blocks & ~fields->blocks_wanted));
  fields->blocks_wanted |= blocks;
  return KAON_OK;
}

kaon_status kaon_dirac_fields_get(kaon_dirac_family *family, kaon_precision precision,
                                  kaon_reconstruct reconstruct, int temporal, unsigned blocks,
                                  kaon_dirac_fields **fields) {
  for (kaon_dirac_fields *f = family->first; f != NULL; f = f->next) {
    if (f->precision != precision || f->reconstruct != reconstruct || f->temporal != temporal)
      continue;
    KAON_TRY(extend(f, blocks));
    f->references++;
    *fields = f;
    return KAON_OK;
  }
  kaon_dirac_fields *made = calloc(1, sizeof *made);
  if (made == NULL)
    return kaon_fail(family->ctx, KAON_ERR_MEMORY, "dirac: out of host memory for a set of fields");
  *made = (kaon_dirac_fields){.references = 1,
                              .family = family,
                              .next = family->first,
                              .precision = precision,
                              .reconstruct = reconstruct,
                              .temporal = temporal,
                              .blocks_wanted = blocks,
                              .stencil = family->lattice->stencil};
  family->references++;
  family->first = made;
  kaon_status status = build(made);
  if (status != KAON_OK) {
    kaon_dirac_fields_release(&made);
    return status;
  }
  *fields = made;
  return KAON_OK;
}
