/* clover.c - the clover blocks of a set of fields: fills them, and computes determinant and
 * diagonal. Blocks are built, inverted and their determinants taken in double, from the most
 * precise links there are. This is done one parity at a time, then the blocks are rounded.
 * Temporary memory is one parity's blocks and, for single or half in the temporal gauge, the
 * rotated links in double. */
#include <stdlib.h>

#include "dslash/operator/dirac_internal.h"

/* The rotated links in a precision fit for building blocks. *owned: the caller must destroy
 * them. */
static kaon_status links_for_blocks(kaon_dirac_fields *fields, kaon_gauge **links, int *owned) {
  kaon_dirac_family *family = fields->family;
  *owned = 0;
  *links = family->gauge;
  if (!fields->temporal) return KAON_OK;
  *links = fields->links;
  if (fields->precision == KAON_DOUBLE) return KAON_OK;
  *links = NULL;
  *owned = 1;
  KAON_TRY(kaon_gauge_create(family->lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, links));
  return kaon_gauge_temporal(*links, family->gauge);
}

static kaon_status take_blocks(kaon_dirac_fields *fields, kaon_blocks *blocks) {
  if (blocks->data != NULL) return KAON_OK;
  kaon_context *ctx = fields->family->ctx;
  const size_t sites = (size_t)(fields->stencil.nblocks * fields->stencil.width);
  const size_t bytes = sites * 72 * kaon_precision_bytes(fields->precision);
  KAON_TRY(kaon_field_check(ctx, "clover blocks", bytes));
  KAON_TRY(kaon_pool_allocate(ctx, bytes, "clover blocks", &blocks->data));
  if (fields->precision != KAON_HALF) return KAON_OK;
  void *scale = NULL;
  KAON_TRY(kaon_pool_allocate(ctx, sites * 2 * sizeof(float), "clover scales", &scale));
  blocks->scale = scale;
  return KAON_OK;
}

/* The family's current blocks of this kind in double, if a set (this one included) has them. */
static const double *blocks_in_double(const kaon_dirac_fields *fields, kaon_blocks_kind kind,
                                      int parity) {
  const kaon_dirac_family *family = fields->family;
  for (const kaon_dirac_fields *f = family->first; f != NULL; f = f->next)
    if (f->precision == KAON_DOUBLE && f->temporal == fields->temporal && f->filled &&
        f->revision == kaon_gauge_revision(family->gauge) && f->blocks[kind][parity].data != NULL)
      return f->blocks[kind][parity].data;
  return NULL;
}

static kaon_status store(kaon_dirac_fields *fields, kaon_blocks_kind kind, int parity,
                         const double *from) {
  kaon_blocks *to = &fields->blocks[kind][parity];
  KAON_TRY(kaon_agree(fields->family->ctx, take_blocks(fields, to)));
  return kaon_clover_term_store(fields->family->lattice, from, fields->precision, to->data,
                                to->scale);
}

/* Puts A into `work`: copied from another set, or built. */
static kaon_status term_into(const kaon_dirac_fields *fields, int parity, const kaon_gauge *links,
                             double *work) {
  const kaon_dirac_family *family = fields->family;
  const double *have = blocks_in_double(fields, KAON_BLOCKS_TERM, parity);
  if (have != NULL) return kaon_clover_term_store(family->lattice, have, KAON_DOUBLE, work, NULL);
  return kaon_clover_term_build(links, parity, family->kappa, family->csw, work);
}

static kaon_status fill_parity(kaon_dirac_fields *fields, int parity, unsigned wanted,
                               const kaon_gauge *links, double *work) {
  const kaon_dirac_family *family = fields->family;
  const int term = (wanted & kaon_blocks_bit(KAON_BLOCKS_TERM, parity)) != 0;
  const int inverse = (wanted & kaon_blocks_bit(KAON_BLOCKS_INVERSE, parity)) != 0;
  const double *have = inverse ? blocks_in_double(fields, KAON_BLOCKS_INVERSE, parity) : NULL;
  if (term || (inverse && have == NULL)) KAON_TRY(term_into(fields, parity, links, work));
  if (term) KAON_TRY(store(fields, KAON_BLOCKS_TERM, parity, work));
  if (inverse && have == NULL) {
    KAON_TRY(
        kaon_clover_term_invert(family->lattice, parity, family->kappa, family->csw, work, NULL));
    have = work;
  }
  return inverse ? store(fields, KAON_BLOCKS_INVERSE, parity, have) : KAON_OK;
}

static kaon_status get_work(kaon_dirac_family *family, double **work) {
  const kaon_stencil *stencil = &family->lattice->stencil;
  void *pointer = NULL;
  KAON_TRY(kaon_pool_allocate(family->ctx,
                              (size_t)(stencil->nblocks * stencil->width) * 72 * sizeof(double),
                              "clover blocks in double", &pointer));
  *work = pointer;
  return KAON_OK;
}

kaon_status kaon_dirac_fill_blocks(kaon_dirac_fields *fields, unsigned blocks) {
  kaon_dirac_family *family = fields->family;
  if (family->csw == 0 || blocks == 0) return KAON_OK;
  double *work = NULL;
  kaon_gauge *links = NULL;
  int owned = 0;
  kaon_status status = links_for_blocks(fields, &links, &owned);
  if (status == KAON_OK) status = get_work(family, &work);
  status = kaon_agree(family->ctx, status);
  for (int parity = 0; parity < 2 && status == KAON_OK; parity++)
    status = fill_parity(fields, parity, blocks, links, work);
  kaon_pool_release(family->ctx, work);
  if (owned) kaon_gauge_destroy(&links);
  return status;
}

kaon_status kaon_dirac_family_det(kaon_dirac_family *family, kaon_parity parity,
                                  kaon_clover_det *det) {
  double *work = NULL;
  kaon_status status = kaon_agree(family->ctx, get_work(family, &work));
  *det = (kaon_clover_det){0, 0};
  for (int p = 0; p < 2 && status == KAON_OK; p++) {
    kaon_clover_det part = {0, 0};
    if (parity != KAON_FULL && (int)parity != p) continue;
    status = kaon_clover_term_build(family->gauge, p, family->kappa, family->csw, work);
    if (status == KAON_OK)
      status = kaon_clover_term_invert(family->lattice, p, family->kappa, family->csw, work, &part);
    det->log_abs += part.log_abs;
    det->negative += part.negative;
  }
  kaon_pool_release(family->ctx, work);
  KAON_TRY(kaon_agree(family->ctx, status));
  double sums[2] = {det->log_abs, (double)det->negative};
  KAON_TRY(kaon_comm_sum(family->ctx, sums, 2));
  *det = (kaon_clover_det){sums[0], (int64_t)sums[1]};
  return KAON_OK;
}

/* Copies one parity's host blocks into psi[site][spin][colour][2]. */
static void scatter_diagonal(const kaon_lattice *lattice, int parity, const double *blocks,
                             double *psi) {
  const int width = lattice->stencil.width, *n = lattice->extents;
  const int pack = kaon_pack_of(lattice->ctx, 72, KAON_DOUBLE);
  for (int64_t block = 0; block < lattice->stencil.nblocks; block++)
    for (int lane = 0; lane < width; lane++) {
      int x[4];
      if (!kaon_lattice_site(lattice, parity, block, lane, x)) continue;
      double *site = psi + 24 * (x[0] + n[0] * (x[1] + n[1] * (x[2] + (int64_t)n[2] * x[3])));
      for (int i = 0; i < 12; i++) {
        const double *site_blocks =
            blocks + kaon_packed_index(block, 0, 0, lane, 1, 72, width, pack);
        site[2 * i] = 0.5 * (site_blocks[kaon_component_offset(i % 6, width, pack)] +
                             site_blocks[kaon_component_offset(36 + i % 6, width, pack)]);
        site[2 * i + 1] = 0;
      }
    }
}

kaon_status kaon_dirac_family_diagonal(kaon_dirac_family *family, double **psi) {
  const kaon_lattice *lattice = family->lattice;
  const kaon_stencil *stencil = &lattice->stencil;
  const size_t bytes = (size_t)(stencil->nblocks * stencil->width) * 72 * sizeof(double);
  double *work = NULL, *host = malloc(bytes);
  *psi = malloc((size_t)lattice->volume * 24 * sizeof(double));
  kaon_status status = KAON_OK;
  if (host == NULL || *psi == NULL)
    status = kaon_fail(family->ctx, KAON_ERR_MEMORY, "dirac: out of host memory for a diagonal");
  if (status == KAON_OK) status = get_work(family, &work);
  status = kaon_agree(family->ctx, status);
  for (int p = 0; p < 2 && status == KAON_OK; p++) {
    status = kaon_clover_term_build(family->gauge, p, family->kappa, family->csw, work);
    if (status == KAON_OK)
      status = family->ctx->backend->memory->to_host(family->ctx, host, work, bytes);
    if (status == KAON_OK) scatter_diagonal(lattice, p, host, *psi);
  }
  kaon_pool_release(family->ctx, work);
  free(host);
  if (status == KAON_OK) return KAON_OK;
  free(*psi);
  *psi = NULL;
  return status;
}
