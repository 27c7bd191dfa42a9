/* clover.c - the clover blocks of a set of fields: fills them, and computes determinant and
 * diagonal. Blocks are built from the most precise links there are, or copied from the
 * application's term. They are inverted and their determinants taken in double, one parity at a
 * time; then they are rounded. Temporary memory is one parity's blocks and, for single or half in
 * the temporal gauge, the rotated links in double. */
#include <stdlib.h>

#include "dslash/wilson/wilson.h"

/* The rotated links in a precision fit for building blocks. *owned: the caller must destroy
 * them. */
static kaon_status links_for_blocks(kaon_dirac_fields *fields, kaon_gauge **links, int *owned) {
  const kaon_family *family = fields->base.family;
  *owned = 0;
  *links = family->links[0];
  if (!fields->base.temporal) return KAON_OK;
  *links = fields->links;
  if (fields->base.precision == KAON_DOUBLE) return KAON_OK;
  *links = NULL;
  *owned = 1;
  KAON_TRY(kaon_gauge_create(family->lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, links));
  return kaon_gauge_temporal(*links, family->links[0]);
}

static kaon_status take_blocks(kaon_dirac_fields *fields, kaon_blocks *blocks) {
  if (blocks->data != NULL) return KAON_OK;
  kaon_context *ctx = fields->base.family->ctx;
  const kaon_stencil *stencil = &fields->base.stencil;
  const size_t sites = (size_t)(stencil->nblocks * stencil->width);
  const size_t bytes = sites * 72 * kaon_precision_bytes(fields->base.precision);
  KAON_TRY(kaon_field_check(ctx, "clover blocks", bytes));
  KAON_TRY(kaon_pool_allocate(ctx, bytes, "clover blocks", &blocks->data));
  if (fields->base.precision != KAON_HALF) return KAON_OK;
  void *scale = NULL;
  KAON_TRY(kaon_pool_allocate(ctx, sites * 2 * sizeof(float), "clover scales", &scale));
  blocks->scale = scale;
  return KAON_OK;
}

/* The family's current blocks of this kind in double, if a set (this one included) has them. */
static const double *blocks_in_double(const kaon_dirac_fields *fields, kaon_site_kind kind,
                                      int parity) {
  const kaon_family *family = fields->base.family;
  for (const kaon_fields *f = family->first; f != NULL; f = f->next) {
    const int current = f->filled && f->sites & kaon_site_bit(kind, parity);
    if (current && f->precision == KAON_DOUBLE && f->temporal == fields->base.temporal)
      return kaon_dirac_fields_of(f)->blocks[kind][parity].data;
  }
  return NULL;
}

static kaon_status store(kaon_dirac_fields *fields, kaon_site_kind kind, int parity,
                         const double *from) {
  const kaon_family *family = fields->base.family;
  kaon_blocks *to = &fields->blocks[kind][parity];
  KAON_TRY(kaon_agree(family->ctx, take_blocks(fields, to)));
  return kaon_clover_term_store(family->lattice, from, fields->base.precision, to->data, to->scale);
}

/* Puts A into `work`: the application's, or built from `links`. */
static kaon_status make_term(const kaon_dirac_family *family, int parity, const kaon_gauge *links,
                             double *work) {
  const double *given = family->given[parity];
  if (given != NULL)
    return kaon_clover_term_store(family->base.lattice, given, KAON_DOUBLE, work, NULL);
  return kaon_clover_term_build(links, parity, family->kappa, family->csw, family->electric, work);
}

/* The same, or copied from another set. */
static kaon_status term_into(const kaon_dirac_fields *fields, int parity, const kaon_gauge *links,
                             double *work) {
  const kaon_dirac_family *family = kaon_dirac_family_of(&fields->base);
  const double *have = blocks_in_double(fields, KAON_SITE_TERM, parity);
  if (have != NULL)
    return kaon_clover_term_store(family->base.lattice, have, KAON_DOUBLE, work, NULL);
  return make_term(family, parity, links, work);
}

static kaon_status fill_parity(kaon_dirac_fields *fields, int parity, unsigned wanted,
                               const kaon_gauge *links, double *work) {
  const kaon_dirac_family *family = kaon_dirac_family_of(&fields->base);
  const int term = (wanted & kaon_site_bit(KAON_SITE_TERM, parity)) != 0;
  const int inverse = (wanted & kaon_site_bit(KAON_SITE_INVERSE, parity)) != 0;
  const double *have = inverse ? blocks_in_double(fields, KAON_SITE_INVERSE, parity) : NULL;
  if (term || (inverse && have == NULL)) KAON_TRY(term_into(fields, parity, links, work));
  if (term) KAON_TRY(store(fields, KAON_SITE_TERM, parity, work));
  if (inverse && have == NULL) {
    if (family->twist != 0)
      KAON_TRY(kaon_clover_term_square(family->base.lattice, family->twist * family->twist, work));
    KAON_TRY(kaon_clover_term_invert(family->base.lattice, parity, family->kappa, family->csw, work,
                                     NULL));
    have = work;
  }
  return inverse ? store(fields, KAON_SITE_INVERSE, parity, have) : KAON_OK;
}

static kaon_status get_work(const kaon_family *family, double **work) {
  const kaon_stencil *stencil = &family->lattice->stencil;
  void *pointer = NULL;
  KAON_TRY(kaon_pool_allocate(family->ctx,
                              (size_t)(stencil->nblocks * stencil->width) * 72 * sizeof(double),
                              "clover blocks in double", &pointer));
  *work = pointer;
  return KAON_OK;
}

kaon_status kaon_clover_fill(kaon_fields *base, unsigned sites) {
  kaon_dirac_fields *fields = (kaon_dirac_fields *)base;
  const kaon_family *family = base->family;
  double *work = NULL;
  kaon_gauge *links = NULL;
  int owned = 0;
  kaon_status status = links_for_blocks(fields, &links, &owned);
  if (status == KAON_OK) status = get_work(family, &work);
  status = kaon_agree(family->ctx, status);
  for (int parity = 0; parity < 2 && status == KAON_OK; parity++)
    status = fill_parity(fields, parity, sites, links, work);
  kaon_pool_release(family->ctx, work);
  if (owned) kaon_gauge_destroy(&links);
  return status;
}

kaon_status kaon_dirac_family_det(const kaon_dirac_family *family, kaon_parity parity,
                                  kaon_clover_det *det) {
  double *work = NULL;
  kaon_context *ctx = family->base.ctx;
  kaon_status status = kaon_agree(ctx, get_work(&family->base, &work));
  *det = (kaon_clover_det){0, 0};
  for (int p = 0; p < 2 && status == KAON_OK; p++) {
    kaon_clover_det part = {0, 0};
    if (parity != KAON_FULL && (int)parity != p) continue;
    status = make_term(family, p, family->base.links[0], work);
    if (status == KAON_OK)
      status =
          kaon_clover_term_invert(family->base.lattice, p, family->kappa, family->csw, work, &part);
    det->log_abs += part.log_abs;
    det->negative += part.negative;
  }
  kaon_pool_release(ctx, work);
  KAON_TRY(kaon_agree(ctx, status));
  double sums[2] = {det->log_abs, (double)det->negative};
  KAON_TRY(kaon_comm_sum(ctx, sums, 2));
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

kaon_status kaon_clover_diagonal(const kaon_family *base, double *psi) {
  const kaon_dirac_family *family = (const kaon_dirac_family *)base;
  kaon_context *ctx = base->ctx;
  const kaon_stencil *stencil = &base->lattice->stencil;
  const size_t bytes = (size_t)(stencil->nblocks * stencil->width) * 72 * sizeof(double);
  KAON_AUTOFREE double *host = malloc(bytes);
  double *work = NULL;
  kaon_status status =
      KAON_CHECK_MEMORY(ctx, host != NULL, "dirac: out of host memory for a diagonal");
  if (status == KAON_OK) status = get_work(base, &work);
  status = kaon_agree(ctx, status);
  for (int p = 0; p < 2 && status == KAON_OK; p++) {
    status = make_term(family, p, base->links[0], work);
    if (status == KAON_OK) status = ctx->backend->memory->to_host(ctx, host, work, bytes);
    if (status == KAON_OK) scatter_diagonal(base->lattice, p, host, psi);
  }
  kaon_pool_release(ctx, work);
  return status;
}
