/* fields.c - the links and clover blocks that the operators of a family share, in every precision
 * and link storage that is in use; filling them from the gauge field, and noticing that they are
 * old.
 *
 * Clover blocks are built, inverted and logged in double from the best links there are, one parity
 * at a time, then rounded: the transient is one parity's blocks. In the temporal gauge the links
 * and blocks are those of the rotated field, and the neighbour tables mark the hops whose link is
 * the identity in every lane, so that kernels neither read nor multiply it. */
#include <stdlib.h>
#include <string.h>

#include <kaon/options.h>

#include "dslash/dirac_internal.h"
#include "gauge/clover_term.h"
#include "gauge/temporal.h"

kaon_status kaon_dirac_family_create(kaon_gauge *gauge, const kaon_dirac_options *options,
                                     kaon_dirac_family **family) {
  kaon_lattice *lattice = kaon_gauge_lattice(gauge);
  kaon_context *ctx = lattice->ctx;
  kaon_status status = kaon_options_check(KAON_OPTIONS_DIRAC, options);
  if (status != KAON_OK) return kaon_fail(ctx, status, "%s", kaon_last_error(NULL));
  kaon_dirac_family *made = calloc(1, sizeof *made);
  if (made == NULL) return kaon_fail(ctx, KAON_ERR_MEMORY, "dirac: no host memory for an operator");
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

/* 1 when the hop's t link is the identity in every true lane of the block: forward from any slice
 * but the last, backward to any slice but the first. */
static int unit_everywhere(const kaon_lattice *lattice, int parity, int64_t block, int dir) {
  const int edge = dir == 3 ? lattice->extents[3] - 1 : 0;
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
  KAON_TRY(kaon_pool_take(ctx, bytes, "temporal-gauge neighbour table", &device));
  fields->neighbour[parity] = device;
  uint32_t *host = malloc(bytes);
  if (host == NULL)
    return kaon_fail(ctx, KAON_ERR_MEMORY, "dirac: no host memory for a neighbour table");
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

/* The rotated links in a precision fit for building blocks; *owned says that the caller destroys
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
  KAON_TRY(kaon_pool_take(ctx, sites * 72 * kaon_precision_bytes(fields->precision),
                          "clover blocks", &blocks->data));
  if (fields->precision != KAON_HALF) return KAON_OK;
  void *scale = NULL;
  KAON_TRY(kaon_pool_take(ctx, sites * 2 * sizeof(float), "clover scales", &scale));
  blocks->scale = scale;
  return KAON_OK;
}

static const double *blocks_in_double(const kaon_dirac_fields *fields, kaon_blocks_kind kind,
                                      int parity) {
  const kaon_dirac_family *family = fields->family;
  for (const kaon_dirac_fields *f = family->first; f != NULL; f = f->next)
    if (f != fields && f->precision == KAON_DOUBLE && f->temporal == fields->temporal &&
        f->filled && f->revision == kaon_gauge_revision(family->gauge) &&
        f->blocks[kind][parity].data != NULL)
      return f->blocks[kind][parity].data;
  return NULL;
}

/* Where another set has them in double already they are only rounded. */
static kaon_status fill_blocks_of(kaon_dirac_fields *fields, int parity, kaon_gauge *links,
                                  double *work) {
  kaon_dirac_family *family = fields->family;
  const double *blocks[KAON_BLOCKS_KINDS] = {NULL};
  int built = 0;
  for (int kind = 0; kind < KAON_BLOCKS_KINDS; kind++) {
    kaon_blocks *to = &fields->blocks[kind][parity];
    if ((fields->blocks_wanted & kaon_blocks_bit((kaon_blocks_kind)kind, parity)) == 0) continue;
    blocks[kind] = blocks_in_double(fields, (kaon_blocks_kind)kind, parity);
    if (blocks[kind] == NULL) {
      if (!built) KAON_TRY(kaon_clover_term_build(links, parity, family->kappa, family->csw, work));
      built = 1;
      if (kind == KAON_BLOCKS_INVERSE)
        KAON_TRY(kaon_clover_term_invert(family->lattice, parity, family->kappa, family->csw, work,
                                         NULL));
      blocks[kind] = work;
    }
    KAON_TRY(take_blocks(fields, to));
    KAON_TRY(kaon_clover_term_store(family->lattice, blocks[kind], fields->precision, to->data,
                                    to->scale));
  }
  return KAON_OK;
}

static kaon_status take_work(kaon_dirac_family *family, double **work) {
  const kaon_stencil *stencil = &family->lattice->stencil;
  void *pointer = NULL;
  KAON_TRY(kaon_pool_take(family->ctx,
                          (size_t)(stencil->nblocks * stencil->width) * 72 * sizeof(double),
                          "clover blocks in double", &pointer));
  *work = pointer;
  return KAON_OK;
}

static kaon_status fill_blocks(kaon_dirac_fields *fields) {
  kaon_dirac_family *family = fields->family;
  if (family->csw == 0 || fields->blocks_wanted == 0) return KAON_OK;
  double *work = NULL;
  kaon_gauge *links = NULL;
  int owned = 0;
  kaon_status status = links_for_blocks(fields, &links, &owned);
  if (status == KAON_OK) status = take_work(family, &work);
  for (int parity = 0; parity < 2 && status == KAON_OK; parity++)
    status = fill_blocks_of(fields, parity, links, work);
  kaon_pool_give(family->ctx, work);
  if (owned) kaon_gauge_destroy(&links);
  return status;
}

static kaon_status fill_links(kaon_dirac_fields *fields) {
  kaon_gauge *from = fields->family->gauge;
  if (fields->links == from) return KAON_OK;
  return fields->temporal ? kaon_gauge_temporal(fields->links, from)
                          : kaon_gauge_copy(fields->links, from);
}

static kaon_status fill(kaon_dirac_fields *fields) {
  fields->filled = 0;
  KAON_TRY(fill_links(fields));
  KAON_TRY(fill_blocks(fields));
  if (fields->rotation != NULL)
    KAON_TRY(kaon_temporal_update(fields->rotation, fields->family->gauge));
  fields->revision = kaon_gauge_revision(fields->family->gauge);
  fields->filled = 1;
  return KAON_OK;
}

kaon_status kaon_dirac_family_update(kaon_dirac_family *family) {
  kaon_status worst = KAON_OK;
  for (int doubles = 1; doubles >= 0; doubles--) /* the others round their blocks */
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
    return kaon_fail(
        fields->family->ctx, KAON_ERR_STALE,
        "dirac: the last kaon_dirac_update of this operator failed; mend its cause and "
        "call it again");
  return kaon_fail(fields->family->ctx, KAON_ERR_STALE,
                   "dirac: the links are at revision %llu but this operator was made from revision "
                   "%llu; call kaon_dirac_update",
                   (unsigned long long)now, (unsigned long long)fields->revision);
}

/* ---- sets of fields ---- */

static kaon_status build(kaon_dirac_fields *fields) {
  kaon_dirac_family *family = fields->family;
  if (fields->temporal)
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
      kaon_pool_give(ctx, gone->blocks[kind][parity].data);
      kaon_pool_give(ctx, gone->blocks[kind][parity].scale);
    }
    kaon_pool_give(ctx, gone->neighbour[parity]);
  }
  kaon_temporal_destroy(&gone->rotation);
  kaon_gauge_destroy(&gone->links);
  kaon_dirac_family_release(&gone->family);
  free(gone);
}

/* A set that serves already gains the blocks that it lacks. */
static kaon_status extend(kaon_dirac_fields *fields, unsigned blocks) {
  KAON_TRY(kaon_dirac_fields_check(fields));
  const unsigned before = fields->blocks_wanted;
  if ((blocks & ~before) == 0) return KAON_OK;
  fields->blocks_wanted = blocks & ~before;
  kaon_status status = fill_blocks(fields);
  fields->blocks_wanted = status == KAON_OK ? before | blocks : before;
  return status;
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
    return kaon_fail(family->ctx, KAON_ERR_MEMORY, "dirac: no host memory for a set of fields");
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

kaon_status kaon_dirac_family_logdet(kaon_dirac_family *family, kaon_parity parity,
                                     double *logdet) {
  double *work = NULL;
  KAON_TRY(take_work(family, &work));
  kaon_status status = KAON_OK;
  *logdet = 0;
  for (int p = 0; p < 2 && status == KAON_OK; p++) {
    double part = 0;
    if (parity != KAON_FULL && (int)parity != p) continue;
    status = kaon_clover_term_build(family->gauge, p, family->kappa, family->csw, work);
    if (status == KAON_OK)
      status = kaon_clover_term_invert(family->lattice, p, family->kappa, family->csw, work, &part);
    *logdet += part;
  }
  kaon_pool_give(family->ctx, work);
  return status;
}

/* One parity's blocks, on the host, into psi[site][spin][colour][2]. */
static void scatter_diagonal(const kaon_lattice *lattice, int parity, const double *blocks,
                             double *psi) {
  const int width = lattice->stencil.width, *n = lattice->extents;
  for (int64_t block = 0; block < lattice->stencil.nblocks; block++)
    for (int lane = 0; lane < width; lane++) {
      int x[4];
      if (!kaon_lattice_site(lattice, parity, block, lane, x)) continue;
      double *site = psi + 24 * (x[0] + n[0] * (x[1] + n[1] * (x[2] + (int64_t)n[2] * x[3])));
      for (int i = 0; i < 12; i++) {
        const double *plus = blocks + (block * 72 + i % 6) * width + lane;
        site[2 * i] = 0.5 * (plus[0] + plus[36 * width]);
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
    status = kaon_fail(family->ctx, KAON_ERR_MEMORY, "dirac: no host memory for a diagonal");
  if (status == KAON_OK) status = take_work(family, &work);
  for (int p = 0; p < 2 && status == KAON_OK; p++) {
    status = kaon_clover_term_build(family->gauge, p, family->kappa, family->csw, work);
    if (status == KAON_OK)
      status = family->ctx->backend->memory->to_host(family->ctx, host, work, bytes);
    if (status == KAON_OK) scatter_diagonal(lattice, p, host, *psi);
  }
  kaon_pool_give(family->ctx, work);
  free(host);
  if (status == KAON_OK) return KAON_OK;
  free(*psi);
  *psi = NULL;
  return status;
}
