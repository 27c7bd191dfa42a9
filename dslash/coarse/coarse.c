/* coarse.c - coarse operators A = T + D: their row in the frame (dslash/operator/frame.h) and their
 * matrices. T is `inside`, D the sum of the hops. */
#include "dslash/coarse/coarse_internal.h"

#include <stdlib.h>

#include "blas/submit.h"

enum { FIELDS = 1 + KAON_DIRS };

static kaon_vector **field(kaon_coarse_links *links, int i) {
  return i == 0 ? &links->inside : &links->hop[i - 1];
}

/* ---- matrix fields ---- */

kaon_status kaon_coarse_links_create(kaon_lattice *coarse, int reals, kaon_precision precision,
                                     kaon_coarse_links *links) {
  const kaon_space *space = kaon_lattice_space(coarse, KAON_FULL, reals, 1);
  kaon_status status = KAON_AGREE_MEMORY(coarse->ctx, space != NULL,
                                         "coarse: out of host memory for the space of vectors");
  *links = (kaon_coarse_links){0};
  for (int i = 0; i < FIELDS && status == KAON_OK; i++)
    status = kaon_vector_create(coarse->ctx, space, precision, reals / 2, field(links, i));
  if (status != KAON_OK) kaon_coarse_links_destroy(links);
  return status;
}

void kaon_coarse_links_destroy(kaon_coarse_links *links) {
  for (int i = 0; i < FIELDS; i++) kaon_vector_destroy(field(links, i));
}

/* Of matrices in these fields. */
static kaon_precision matrix_precision(const kaon_fields *fields) {
  const int half = kaon_coarse_family_of(fields)->half_matrices;
  return half && fields->precision == KAON_SINGLE ? KAON_HALF : fields->precision;
}

static kaon_status build(kaon_fields *base) {
  kaon_coarse_fields *fields = (kaon_coarse_fields *)base;
  const kaon_coarse_family *family = kaon_coarse_family_of(base);
  const kaon_backend *backend = base->family->ctx->backend;
  const kaon_coarse_ops *ops = kaon_coarse_table(base);
  if (base->precision == KAON_HALF)
    return kaon_fail(base->family->ctx, KAON_ERR_UNSUPPORTED,
                     "coarse: vectors in half precision are not offered; take single precision, "
                     "where matrices may be in half");
  if (ops == NULL || ops->hop == NULL || ops->inverse == NULL)
    return kaon_fail(base->family->ctx, KAON_ERR_NOT_BUILT,
                     "coarse: backend %s %s has no coarse operators in this precision; choose "
                     "another backend or precision",
                     backend->name, backend->isa);
  if (base->family->lattice->faces != NULL && ops->gather == NULL)
    return kaon_fail(
        base->family->ctx, KAON_ERR_NOT_BUILT,
        "coarse: backend %s has no coarse operators on a lattice that is divided among "
        "ranks; use one rank, or the backend cpu",
        backend->name);
  fields->owns = matrix_precision(base) != family->links.inside->precision;
  if (fields->owns)
    return kaon_coarse_links_create(base->family->lattice, kaon_coarse_reals(base),
                                    matrix_precision(base), &fields->links);
  fields->links = family->links;
  return KAON_OK;
}

static void release_fields(kaon_fields *base) {
  kaon_coarse_fields *fields = (kaon_coarse_fields *)base;
  if (fields->owns) kaon_coarse_links_destroy(&fields->links);
  for (int parity = 0; parity < 2; parity++) kaon_vector_destroy(&fields->inverse[parity]);
}

static void release_family(kaon_family *family) {
  kaon_coarse_links_destroy(&((kaon_coarse_family *)family)->links);
}

/* ---- T^-1 ---- */

/* Sites of a parity: there[place] = 1. */
static void mark_sites(const kaon_lattice *lattice, int parity, uint8_t *there) {
  const kaon_stencil *st = &lattice->stencil;
  for (int64_t block = 0; block < st->nblocks; block++)
    for (int lane = 0; lane < st->width; lane++) {
      int site[4];
      there[block * st->width + lane] =
          (uint8_t)kaon_lattice_site(lattice, parity, block, lane, site);
    }
}

/* Fails if a site has no inverse, naming the first. With a condition above 2^50 the one that was
 * computed in double is rounding alone. */
static kaon_status check_worst(const kaon_lattice *lattice, int parity, const double *worst) {
  const kaon_stencil *st = &lattice->stencil;
  for (int64_t place = 0; place < st->nblocks * st->width; place++) {
    int s[4];
    if (worst[place] <= 0x1p50) continue;
    kaon_lattice_site(lattice, parity, place / st->width, (int)(place % st->width), s);
    return kaon_fail(
        lattice->ctx, KAON_ERR_SINGULAR,
        "coarse: the matrix within site (%d, %d, %d, %d) has no inverse, so there is no "
        "even-odd reduction; make the basis of other vectors",
        s[0] + lattice->origin[0], s[1] + lattice->origin[1], s[2] + lattice->origin[2],
        s[3] + lattice->origin[3]);
  }
  return KAON_OK;
}

/* to = from^-1 on a parity, both in the precision of the vectors. */
static kaon_status invert(const kaon_fields *fields, int parity, const kaon_vector *from,
                          kaon_vector *to) {
  const kaon_lattice *lattice = fields->family->lattice;
  kaon_context *ctx = lattice->ctx;
  const kaon_stencil *st = &lattice->stencil;
  const size_t places = (size_t)(st->nblocks * st->width);
  void *there = NULL, *worst = NULL;
  kaon_launch launch;
  KAON_AUTOFREE uint8_t *sites = malloc(places);
  KAON_AUTOFREE double *host = malloc(places * sizeof *host);
  kaon_status status = KAON_CHECK_MEMORY(ctx, sites != NULL && host != NULL,
                                         "coarse: out of host memory for inverses");
  if (status == KAON_OK) {
    mark_sites(lattice, parity, sites);
    status = kaon_table_upload(ctx, sites, places, "sites of a coarse lattice", &there);
  }
  if (status == KAON_OK)
    status = kaon_pool_allocate(ctx, places * sizeof(double), "norms of inverses", &worst);
  if (status == KAON_OK) status = kaon_launch_prepare(ctx, 1, 2 * kaon_vector_bytes(to), &launch);
  if (status == KAON_OK) {
    const kaon_coarse_inverse_args args = {.blocks = st->nblocks,
                                           .width = st->width,
                                           .access = st->access,
                                           .reals = kaon_coarse_reals(fields),
                                           .site_places = there,
                                           .matrix = kaon_view_of(from),
                                           .inverse = kaon_view_of(to),
                                           .worst = worst};
    kaon_coarse_table(fields)->inverse(&launch, &args);
    status = ctx->backend->memory->to_host(ctx, host, worst, places * sizeof *host);
  }
  if (status == KAON_OK) status = check_worst(lattice, parity, host);
  kaon_pool_release(ctx, there);
  kaon_pool_release(ctx, worst);
  return kaon_agree(ctx, status);
}

/* A copy of `from` in another precision, or NULL in *copy where it has it already. */
static kaon_status in_precision(const kaon_vector *from, kaon_precision precision,
                                kaon_vector **copy) {
  *copy = NULL;
  if (from->precision == precision) return KAON_OK;
  KAON_TRY(kaon_vector_create(from->ctx, from->space, precision, from->nrhs, copy));
  return kaon_blas_convert(from, *copy, 0, NULL);
}

/* T^-1 of a parity. Matrices in half are rounded from the inverse of the exact ones. */
static kaon_status fill_inverse(kaon_coarse_fields *fields, int parity) {
  const kaon_fields *base = &fields->base;
  const kaon_precision precision = base->precision, stored = matrix_precision(base);
  kaon_vector exact, *copy = NULL, *wide = NULL, **inverse = &fields->inverse[parity];
  KAON_TRY(
      kaon_vector_view(kaon_coarse_family_of(base)->links.inside, (kaon_parity)parity, &exact));
  if (*inverse == NULL)
    KAON_TRY(kaon_vector_create(exact.ctx, exact.space, stored, exact.nrhs, inverse));
  kaon_status status = in_precision(&exact, precision, &copy);
  if (status == KAON_OK && stored != precision)
    status = kaon_vector_create(exact.ctx, exact.space, precision, exact.nrhs, &wide);
  if (status == KAON_OK)
    status = invert(base, parity, copy != NULL ? copy : &exact, wide != NULL ? wide : *inverse);
  if (status == KAON_OK && wide != NULL) status = kaon_blas_convert(wide, *inverse, 0, NULL);
  kaon_vector_destroy(&copy);
  kaon_vector_destroy(&wide);
  return status;
}

static kaon_status fill_sites(kaon_fields *base, unsigned sites) {
  for (int parity = 0; parity < 2; parity++)
    if (sites & kaon_site_bit(KAON_SITE_INVERSE, parity))
      KAON_TRY(fill_inverse((kaon_coarse_fields *)base, parity));
  return KAON_OK;
}

static kaon_status fill(kaon_fields *base) {
  kaon_coarse_fields *fields = (kaon_coarse_fields *)base;
  kaon_coarse_family *family = (kaon_coarse_family *)base->family;
  for (int i = 0; i < FIELDS && fields->owns; i++)
    KAON_TRY(kaon_blas_convert(*field(&family->links, i), *field(&fields->links, i), 0, NULL));
  return fill_sites(base, base->sites);
}

/* ---- the row ---- */

static kaon_status diagonal(const kaon_family *base, double *host) {
  const kaon_vector *inside = ((const kaon_coarse_family *)base)->links.inside;
  const size_t reals = (size_t)inside->space->ncomp, sites = (size_t)base->lattice->volume;
  KAON_AUTOFREE double *column = malloc(sites * reals * sizeof *column);
  KAON_TRY(
      KAON_AGREE_MEMORY(base->ctx, column != NULL, "coarse: out of host memory for the diagonal"));
  for (size_t c = 0; c < reals / 2; c++) {
    KAON_TRY(kaon_vector_export(inside, (int)c, column, KAON_BASIS_UKQCD));
    for (size_t at = 2 * c; at < sites * reals; at += reals) {
      host[at] = column[at];
      host[at + 1] = column[at + 1];
    }
  }
  return KAON_OK;
}

static const kaon_action coarse = {
    .name = "coarse",
    .update = "kaon_coarse_update",
    .forms = {[KAON_FORM_SYMMETRIC] = "coarse even-odd symmetric",
              [KAON_FORM_ASYMMETRIC] = "coarse even-odd asymmetric",
              [KAON_FORM_WHOLE] = "coarse"},
    .fields_size = sizeof(kaon_coarse_fields),
    .build = build,
    .fill = fill,
    .fill_sites = fill_sites,
    .release_fields = release_fields,
    .release_family = release_family,
    .hop = kaon_coarse_hop,
    .site = kaon_coarse_site,
    .halos = kaon_coarse_halos,
    .cost = kaon_coarse_cost,
    .diagonal = diagonal,
    .halves = KAON_HALVES_COMPONENTS,
    .blocks = 1,
};

/* ---- operators ---- */

static kaon_status check(const kaon_coarse_links *links, kaon_precision precision) {
  const kaon_vector *inside = links->inside;
  const kaon_space *space = inside->space;
  kaon_context *ctx = inside->ctx;
  if (space->ncomp % 4 != 0 || space->ncomp > KAON_COARSE_REALS)
    return kaon_fail(ctx, KAON_ERR_UNSUPPORTED,
                     "coarse: a site has %d numbers, but a multiple of 4 up to %d is needed",
                     space->ncomp, KAON_COARSE_REALS);
  if (precision != KAON_DOUBLE && precision != KAON_SINGLE)
    return kaon_fail(ctx, KAON_ERR_UNSUPPORTED,
                     "coarse: precision is %d, but must be 0 (double) or 1 (single)",
                     (int)precision);
  for (int i = 0; i < FIELDS; i++) {
    const kaon_vector *v = *field((kaon_coarse_links *)links, i);
    if (v == NULL || v->space != space || v->precision != inside->precision ||
        v->nrhs != space->ncomp / 2 || v->precision == KAON_HALF)
      return kaon_fail(ctx, KAON_ERR_SHAPE,
                       "coarse: matrices must be nine vectors on one space, with %d columns in "
                       "double or single precision; make them by kaon_coarse_links_create",
                       space->ncomp / 2);
  }
  return KAON_OK;
}

kaon_status kaon_coarse_create(kaon_coarse_links *links, kaon_precision precision,
                               int half_matrices, kaon_operator **A) {
  kaon_family *family = NULL;
  *A = NULL;
  KAON_TRY(check(links, precision));
  const kaon_space *space = links->inside->space;
  KAON_TRY(kaon_family_create(&coarse, sizeof(kaon_coarse_family), space->lattice,
                              space - KAON_FULL, NULL, NULL, &family));
  kaon_coarse_family *self = (kaon_coarse_family *)family;
  self->links = *links;
  self->half_matrices = half_matrices;
  family->hop = 1;
  family->references++; /* after a failure the vectors are still the caller's */
  const kaon_status status = kaon_lattice_operator_first(family, precision, KAON_RECONSTRUCT_18, A);
  if (status == KAON_OK)
    *links = (kaon_coarse_links){0};
  else
    self->links = (kaon_coarse_links){0};
  kaon_family_release(&family);
  return status;
}

const kaon_coarse_links *kaon_coarse_links_of(kaon_operator *A) {
  if (!kaon_is_lattice_operator(A, 0)) return NULL;
  return &kaon_coarse_family_of(kaon_fields_of(A))->links;
}

kaon_status kaon_coarse_update(kaon_operator *A) {
  if (!kaon_is_lattice_operator(A, 0))
    return kaon_fail(A->ctx, KAON_ERR_UNSUPPORTED,
                     "coarse update: operator '%s' is no coarse one; pass one made by "
                     "kaon_coarse_create",
                     A->ops->name);
  return kaon_family_update(kaon_fields_of(A)->family);
}
