/* transfer.c - the basis of a coarse space and the way there and back (transfer.h).
 *
 * The basis is orthonormalised on every aggregate and half by Cholesky QR: with G = V^dagger V =
 * R^dagger R, the columns of V R^-1 are orthonormal. Rounding leaves an error of about eps |G|
 * |G^-1|, so this is done twice. */
#include "multigrid/transfer.h"

#include <float.h>

#include "lib/core/entry.h"
#include "lib/grid/site_table.h"

/* A pivot is the square of what is left of a vector after the vectors before it, as a share of its
 * norm. Below `FIRST` it consists of the rounding of sums. A basis that is orthonormal but for
 * rounding has pivots near 1, so one below `SECOND` was lost in the first round. */
static const double first_least = 64 * DBL_EPSILON, second_least = 0.5;

static kaon_status check_space(const kaon_aggregates *a, const kaon_space *fine, int vectors) {
  if (fine->lattice != a->fine || fine->parity != KAON_FULL || fine->inner != 1)
    return kaon_fail(a->ctx, KAON_ERR_ARGUMENT,
                     "transfer: the fine space must be that of all sites of the aggregates' "
                     "lattice, without a fifth dimension");
  if (fine->ncomp % 4 != 0)
    return kaon_fail(a->ctx, KAON_ERR_ARGUMENT,
                     "transfer: a site has %d reals, which are not two halves of complex numbers",
                     fine->ncomp);
  if (vectors < 1 || vectors > KAON_TRANSFER_VECTORS || fine->ncomp > KAON_TRANSFER_REALS)
    return kaon_fail(a->ctx, KAON_ERR_UNSUPPORTED,
                     "transfer: %d vectors of %d reals a site; 1 to %d vectors of at most %d "
                     "reals are supported",
                     vectors, fine->ncomp, KAON_TRANSFER_VECTORS, KAON_TRANSFER_REALS);
  return KAON_OK;
}

static kaon_status check(const kaon_aggregates *a, const kaon_space *fine, int vectors,
                         kaon_precision precision) {
  const kaon_backend *backend = a->ctx->backend;
  const kaon_transfer_ops *ops = backend->transfer[precision];
  KAON_TRY(check_space(a, fine, vectors));
  if (ops == NULL || ops->restrict_to == NULL)
    return kaon_fail(a->ctx, KAON_ERR_NOT_BUILT,
                     "transfer: backend %s %s has no kernels for it in precision %d (0 double, 1 "
                     "single, 2 half); choose another backend",
                     backend->name, backend->isa, (int)precision);
  return KAON_OK;
}

static kaon_status make(kaon_transfer *t) {
  t->coarse = kaon_lattice_space(t->aggregates->coarse, KAON_FULL, 4 * t->vectors, 1);
  KAON_TRY(KAON_AGREE_MEMORY(t->ctx, t->coarse != NULL, "transfer: out of host memory"));
  return kaon_vector_create(t->ctx, t->fine, t->precision, t->vectors, &t->basis);
}

kaon_status kaon_transfer_create(const kaon_aggregates *aggregates, const kaon_space *fine,
                                 kaon_halves halves, int vectors, kaon_precision precision,
                                 kaon_transfer **transfer) {
  kaon_context *ctx = aggregates->ctx;
  *transfer = NULL;
  const kaon_argument given[] = {kaon_whole("halves", halves), kaon_whole("vectors", vectors),
                                 kaon_whole("precision", precision),
                                 kaon_whole("numbers of a site", fine->ncomp)};
  KAON_TRY(kaon_same(ctx, check(aggregates, fine, vectors, precision), "transfer", given, 4));
  kaon_transfer *made = calloc(1, sizeof *made);
  kaon_status status = KAON_AGREE_MEMORY(ctx, made != NULL, "transfer: out of host memory");
  if (status == KAON_OK) {
    *made =
        (kaon_transfer){.ctx = ctx,
                        .aggregates = aggregates,
                        .fine = fine,
                        .vectors = vectors,
                        .turned = halves == KAON_HALVES_TURNED,
                        .precision = precision,
                        .coarse_precision = precision == KAON_DOUBLE ? KAON_DOUBLE : KAON_SINGLE};
    status = make(made);
  }
  *transfer = made;
  if (status != KAON_OK) kaon_transfer_destroy(transfer);
  return status;
}

void kaon_transfer_destroy(kaon_transfer **transfer) {
  if (transfer == NULL || *transfer == NULL) return;
  kaon_vector_destroy(&(*transfer)->basis);
  free(*transfer);
  *transfer = NULL;
}

/* Arguments of all kernels, with the basis in `basis`. */
static kaon_transfer_args arguments(const kaon_transfer *t, const kaon_vector *basis) {
  return (kaon_transfer_args){.aggregates = t->aggregates->view,
                              .fine_reals = t->fine->ncomp,
                              .vectors = t->vectors,
                              .turned = t->turned,
                              .nrhs = t->vectors,
                              .basis = kaon_view_of(basis)};
}

static size_t bytes_of(const kaon_vector *v) {
  return kaon_vector_needs(v->space, v->precision, v->nrhs);
}

static kaon_status check_columns(const kaon_transfer *t, const kaon_vector *v, const char *name) {
  if (v->space == t->fine && v->nrhs == t->vectors) return KAON_OK;
  return kaon_fail(t->ctx, KAON_ERR_SHAPE,
                   "%s: the vector has %d columns of %d reals a site, but %d columns of the fine "
                   "space, with %d reals, are needed",
                   name, v->nrhs, v->space->ncomp, t->vectors, t->fine->ncomp);
}

static kaon_status check_precision(const kaon_transfer *t, const kaon_vector *v,
                                   kaon_precision precision, const char *name) {
  if (v->precision == precision) return KAON_OK;
  return kaon_fail(t->ctx, KAON_ERR_PRECISION,
                   "%s: a vector has precision %d, but %d is needed (0 double, 1 single, 2 half)",
                   name, (int)v->precision, (int)precision);
}

/* ---- the basis ---- */

/* Gram matrices and reports of dependent vectors. */
typedef struct work {
  void *gram, *dependent;
  size_t gram_bytes, places;
} work;

static kaon_status work_take(const kaon_transfer *t, work *w) {
  const kaon_aggregate_view *v = &t->aggregates->view;
  w->places = (size_t)(v->coarse_blocks * v->width) * 2;
  w->gram_bytes = w->places * 2 * (size_t)t->vectors * (size_t)t->vectors * sizeof(double);
  KAON_TRY(kaon_pool_allocate(t->ctx, w->gram_bytes, "Gram matrices of the aggregates", &w->gram));
  return kaon_pool_allocate(t->ctx, w->places * sizeof(int32_t), "report of dependent vectors",
                            &w->dependent);
}

/* vector * volume + site of the first dependent vector and the first aggregate where it is one; -1:
 * none. */
static kaon_status find_dependent(const kaon_transfer *t, const work *w, double *first) {
  const kaon_lattice *coarse = t->aggregates->coarse;
  const int64_t half = coarse->stencil.nblocks, width = coarse->stencil.width;
  KAON_AUTOFREE int32_t *dependent = malloc(w->places * sizeof *dependent);
  *first = -1;
  KAON_TRY(KAON_CHECK_MEMORY(t->ctx, dependent != NULL, "transfer: out of host memory"));
  KAON_TRY(t->ctx->backend->memory->to_host(t->ctx, dependent, w->dependent,
                                            w->places * sizeof *dependent));
  for (int64_t i = 0; i < (int64_t)w->places; i++) {
    const int64_t block = i / 2 / width;
    int site[4];
    if (dependent[i] == 0 ||
        !kaon_lattice_site(coarse, block >= half, block % half, (int)(i / 2 % width), site))
      continue;
    for (int mu = 0; mu < 4; mu++) site[mu] += coarse->origin[mu];
    const double key = (double)(dependent[i] - 1) * (double)coarse->global_volume +
                       (double)kaon_site_index(coarse->global, site);
    if (*first < 0 || key < *first) *first = key;
  }
  return KAON_OK;
}

/* The first of all ranks. */
static kaon_status find_first(const kaon_transfer *t, const work *w, double *first) {
  const int ranks = t->ctx->comm->ranks;
  KAON_AUTOFREE double *all = malloc((size_t)ranks * sizeof *all);
  kaon_status status = find_dependent(t, w, first);
  if (status == KAON_OK)
    status = KAON_CHECK_MEMORY(t->ctx, all != NULL, "transfer: out of host memory");
  KAON_TRY(kaon_agree(t->ctx, status));
  KAON_TRY(t->ctx->comm->ops->gather(t->ctx->comm, first, 1, all));
  for (int r = 0; r < ranks; r++)
    if (all[r] >= 0 && (*first < 0 || all[r] < *first)) *first = all[r];
  return KAON_OK;
}

static kaon_status report(const kaon_transfer *t, const work *w, kaon_dependence *dependence) {
  const kaon_lattice *coarse = t->aggregates->coarse;
  kaon_dependence found = {.vector = -1};
  double first;
  KAON_TRY(find_first(t, w, &first));
  if (first >= 0) {
    int64_t site = (int64_t)first % coarse->global_volume;
    found.vector = (int)((int64_t)first / coarse->global_volume);
    for (int mu = 0; mu < 4; mu++) {
      found.site[mu] = (int)(site % coarse->global[mu]);
      site /= coarse->global[mu];
    }
  }
  if (dependence != NULL) *dependence = found;
  if (first < 0) return KAON_OK;
  return kaon_fail(t->ctx, KAON_ERR_SINGULAR,
                   "transfer: vector %d of %d depends on those before it on aggregate %d %d %d %d; "
                   "take another vector, fewer vectors, or larger blocks",
                   found.vector, t->vectors, found.site[0], found.site[1], found.site[2],
                   found.site[3]);
}

static kaon_status round_of(const kaon_transfer *t, kaon_vector *v, const work *w, double least,
                            kaon_dependence *dependence) {
  const kaon_transfer_ops *ops = t->ctx->backend->transfer[v->precision];
  kaon_transfer_args args = arguments(t, v);
  kaon_launch launch;
  args.gram = w->gram;
  args.dependent = w->dependent;
  args.least = least;
  KAON_TRY(kaon_launch_prepare(t->ctx, v->nrhs, bytes_of(v) + w->gram_bytes, &launch));
  ops->gram(&launch, &args);
  ops->factor(&launch, &args);
  KAON_TRY(report(t, w, dependence));
  KAON_TRY(kaon_launch_prepare(t->ctx, v->nrhs, bytes_of(v) + w->gram_bytes, &launch));
  ops->transform(&launch, &args);
  return KAON_OK;
}

/* y = half `half` of `basis`. With half = 2 it is what the other is in the other form. */
static kaon_status take_half(const kaon_transfer *t, int half, const kaon_vector *basis,
                             kaon_vector *y) {
  kaon_transfer_args args = arguments(t, basis);
  kaon_launch launch;
  args.vectors = args.nrhs = y->nrhs;
  args.fine = kaon_view_of(y);
  args.half = half;
  KAON_TRY(kaon_launch_prepare(t->ctx, y->nrhs, bytes_of(basis) + bytes_of(y), &launch));
  t->ctx->backend->transfer[y->precision]->take_half(&launch, &args);
  t->ctx->no_flush_needed = 1;
  return KAON_OK;
}

static kaon_status set(kaon_transfer *t, kaon_vector *v, const work *w,
                       kaon_dependence *dependence) {
  KAON_TRY(take_half(t, 2, v, v));
  KAON_TRY(round_of(t, v, w, first_least, dependence));
  KAON_TRY(round_of(t, v, w, second_least, dependence));
  if (v == t->basis) return KAON_OK;
  KAON_TRY(kaon_vector_copy(t->basis, v));
  return take_half(t, 2, v, v);
}

kaon_status kaon_transfer_set(kaon_transfer *transfer, kaon_vector *v,
                              kaon_dependence *dependence) {
  const char *name = "transfer: setting the basis";
  work w = {0};
  kaon_status status = check_columns(transfer, v, name);
  if (status == KAON_OK && v->precision == KAON_HALF)
    status = check_precision(transfer, v, KAON_SINGLE, name);
  if (dependence != NULL) *dependence = (kaon_dependence){.vector = -1};
  if (status == KAON_OK) status = work_take(transfer, &w);
  status = kaon_agree(transfer->ctx, status);
  if (status == KAON_OK) status = set(transfer, v, &w, dependence);
  kaon_pool_release(transfer->ctx, w.gram);
  kaon_pool_release(transfer->ctx, w.dependent);
  return kaon_agree(transfer->ctx, status);
}

kaon_status kaon_transfer_half(const kaon_transfer *transfer, int half, int first, int count,
                               kaon_vector *y) {
  const char *name = "transfer: a half of the basis";
  KAON_TRY(check_precision(transfer, y, transfer->precision, name));
  if (half != 0 && half != 1)
    return kaon_fail(transfer->ctx, KAON_ERR_ARGUMENT, "%s: half %d asked for, but must be 0 or 1",
                     name, half);
  KAON_TRY(kaon_vector_copy_columns(y, 0, transfer->basis, first, count));
  return take_half(transfer, half, y, y);
}

/* ---- vectors ---- */

static kaon_status check_pair(const kaon_transfer *t, const kaon_space *space,
                              const kaon_vector *fine, const kaon_vector *coarse,
                              const kaon_pass *pass, const char *name) {
  if (fine->space != space || coarse->space != t->coarse)
    return kaon_fail(t->ctx, KAON_ERR_SHAPE,
                     "%s: vectors of %d and %d reals a site, but the transfer is between its fine "
                     "space of %d and its coarse space of %d",
                     name, fine->space->ncomp, coarse->space->ncomp, t->fine->ncomp,
                     t->coarse->ncomp);
  if (fine->nrhs != coarse->nrhs)
    return kaon_fail(t->ctx, KAON_ERR_SHAPE,
                     "%s: the fine vector has %d columns but the coarse one %d", name, fine->nrhs,
                     coarse->nrhs);
  KAON_TRY(check_precision(t, fine, t->precision, name));
  KAON_TRY(check_precision(t, coarse, t->coarse_precision, name));
  return kaon_pass_check(t->ctx, name, pass, fine->nrhs);
}

static kaon_status prepare(const kaon_transfer *t, const kaon_vector *fine,
                           const kaon_vector *coarse, const kaon_pass *pass,
                           kaon_transfer_args *args, kaon_launch *launch) {
  *args = arguments(t, t->basis);
  args->nrhs = fine->nrhs;
  args->fine = kaon_view_of(fine);
  args->coarse = kaon_view_of(coarse);
  args->gate = kaon_pass_gate(pass);
  return kaon_launch_prepare(t->ctx, fine->nrhs,
                             bytes_of(t->basis) + bytes_of(fine) + bytes_of(coarse), launch);
}

static kaon_status restrict_sites(const kaon_transfer *transfer, const kaon_aggregate_view *sites,
                                  const kaon_vector *fine, kaon_vector *coarse,
                                  const kaon_pass *pass) {
  kaon_transfer_args args;
  kaon_launch launch;
  KAON_TRY(check_pair(transfer, transfer->fine, fine, coarse, pass, "restriction"));
  KAON_TRY(prepare(transfer, fine, coarse, pass, &args, &launch));
  args.aggregates = *sites;
  transfer->ctx->backend->transfer[transfer->precision]->restrict_to(&launch, &args);
  transfer->ctx->no_flush_needed = 1;
  return KAON_OK;
}

kaon_status kaon_transfer_restrict(const kaon_transfer *transfer, const kaon_vector *fine,
                                   kaon_vector *coarse, const kaon_pass *pass) {
  return restrict_sites(transfer, &transfer->aggregates->view, fine, coarse, pass);
}

kaon_status kaon_transfer_restrict_face(const kaon_transfer *transfer, int direction,
                                        const kaon_vector *fine, kaon_vector *coarse) {
  return restrict_sites(transfer, &transfer->aggregates->face[direction], fine, coarse, NULL);
}

/* The blocks of odd sites follow those of even ones. */
static void take_parity(kaon_transfer_args *args, const kaon_vector *basis, int parity) {
  kaon_aggregate_view *sites = &args->aggregates;
  sites->fine_blocks /= 2;
  if (parity == KAON_ODD) sites->aggregate += sites->fine_blocks * sites->width;
  args->basis = kaon_view_of(basis);
}

kaon_status kaon_transfer_prolong(const kaon_transfer *transfer, const kaon_vector *coarse, int add,
                                  kaon_vector *fine, const kaon_pass *pass) {
  const int parity = fine->space->parity, whole = parity == KAON_FULL;
  kaon_vector basis = *transfer->basis;
  kaon_transfer_args args;
  kaon_launch launch;
  if (!whole) KAON_TRY(kaon_vector_view(transfer->basis, (kaon_parity)parity, &basis));
  KAON_TRY(check_pair(transfer, basis.space, fine, coarse, pass, "prolongation"));
  KAON_TRY(prepare(transfer, fine, coarse, pass, &args, &launch));
  args.add = add;
  if (!whole) take_parity(&args, &basis, parity);
  transfer->ctx->backend->transfer[transfer->precision]->prolong(&launch, &args);
  transfer->ctx->no_flush_needed = 1;
  return KAON_OK;
}
