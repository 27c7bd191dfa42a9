/* staggered.c - M = 2 m + D on full-lattice staggered vectors, and what it shares with its
 * reduction: the fused hop, operator objects, costs. D is anti-Hermitian, so M^dagger = 2 m - D. */
#include <stdlib.h>
#include <string.h>

#include <kaon/context.h>

#include "dslash/dslash_ops.h"
#include "dslash/staggered/staggered_internal.h"
#include "lib/grid/overlap.h"
#include "lib/core/options_table.h"

/* ---- the hop ---- */

/* Reals of all links in the hops to a site. */
static double link_reals(const kaon_staggered_fields *fields) {
  const int phase = fields->naik.phase[0] != NULL;
  if (fields->naik.links == NULL) return 8.0 * (int)fields->reconstruct;
  return 8.0 * (18 + (int)fields->reconstruct + phase);
}

static double traffic(const kaon_staggered_fields *fields, int columns, int vectors) {
  const double size = (double)kaon_precision_bytes(fields->precision);
  const double scale = fields->precision == KAON_HALF ? 4 : 0;
  return columns * vectors * (KAON_STAGGERED_REALS * size + scale) + link_reals(fields) * size;
}

/* ---- a partitioned lattice ---- */

static const kaon_staggered_ops *table(const kaon_staggered_fields *fields) {
  return fields->family->ctx->backend->staggered[fields->precision];
}

/* The halos of an operator: one for hops of one site and one for three, or one for both. */
static kaon_status halos_of(const kaon_staggered_fields *fields, int columns, kaon_halo *halos[2],
                            int *count) {
  kaon_lattice *lattice = fields->family->lattice;
  const int improved = fields->naik.links != NULL, joined = table(fields)->face_links != NULL;
  const kaon_faces *near = improved ? lattice->far[0] : lattice->faces;
  if (improved && joined) near = lattice->far[1];
  *count = 1 + (improved && !joined);
  KAON_TRY(
      kaon_halo_get_of(lattice, near, KAON_STAGGERED_REALS, fields->precision, columns, &halos[0]));
  return *count > 1 ? kaon_halo_get_of(lattice, lattice->far[1], KAON_STAGGERED_REALS,
                                       fields->precision, columns, &halos[1])
                    : KAON_OK;
}

/* One hop in stages (lib/grid/overlap.h), or fused. */
typedef struct staged_hop {
  const kaon_staggered_ops *ops;
  kaon_launch launch;
  kaon_staggered_gather_args gather[2];
  int gathers;
  kaon_staggered_args hop;
  const kaon_peer_exchange *peer;
} staged_hop;

static void gather_faces(void *user) {
  const staged_hop *h = user;
  for (int i = 0; i < h->gathers; i++) h->ops->gather(&h->launch, &h->gather[i]);
}

static void hop_inside(void *user, int after_messages) {
  staged_hop *h = user;
  h->hop.part = KAON_PART_INTERIOR;
  h->hop.peer = after_messages ? h->peer : NULL;
  h->ops->hop(&h->launch, &h->hop);
}

static void hop_at_faces(void *user) {
  staged_hop *h = user;
  h->hop.part = KAON_PART_BOUNDARY;
  h->hop.peer = h->peer;
  h->ops->hop(&h->launch, &h->hop);
}

static void hop_at_once(void *user) {
  staged_hop *h = user;
  h->hop.part = KAON_PART_FUSED;
  h->hop.peer = h->peer;
  h->ops->hop_fused(&h->launch, &h->gather[0], &h->hop);
}

static kaon_status hop_in_stages(const kaon_staggered_fields *fields, const kaon_launch *launch,
                                 const kaon_staggered_args *args) {
  kaon_context *ctx = fields->family->ctx;
  kaon_halo *halos[2] = {NULL, NULL};
  staged_hop h = {.ops = table(fields), .launch = *launch, .hop = *args};
  const int improved = fields->naik.links != NULL, joined = h.ops->face_links != NULL;
  KAON_TRY(halos_of(fields, args->nrhs, halos, &h.gathers));
  h.peer = halos[0]->peer;
  for (int i = 0; i < h.gathers; i++) {
    ctx->comm->traffic.exchanges++;
    ctx->comm->traffic.bytes += halos[i]->bytes;
    h.hop.faces[i] = halos[i]->faces;
    h.gather[i] = (kaon_staggered_gather_args){.stencil = args->stencil,
                                               .faces = halos[i]->faces,
                                               .steps = i == 1 || (improved && joined) ? 3 : 1,
                                               .parity = args->parity,
                                               .nrhs = args->nrhs,
                                               .in = args->in,
                                               .peer = halos[i]->peer,
                                               .gate = args->gate};
    h.gather[i].links = h.gather[i].steps == 3 ? args->naik : args->fat;
    memcpy(h.gather[i].to, halos[i]->send, sizeof h.gather[i].to);
    memcpy(h.hop.ghosts[i], halos[i]->receive, sizeof h.hop.ghosts[i]);
  }
  if (joined) {
    h.hop.faces[1] = h.hop.faces[0];
    memcpy(h.hop.ghosts[1], h.hop.ghosts[0], sizeof h.hop.ghosts[1]);
  }
  const kaon_stages stages = {.gather = gather_faces,
                              .interior = hop_inside,
                              .boundary = hop_at_faces,
                              .fused = h.ops->hop_fused != NULL ? hop_at_once : NULL,
                              .user = &h};
  if (h.gathers == 1) return kaon_overlap_run(halos[0], &stages);
  return kaon_overlap_run_all(halos, h.gathers, &stages);
}

kaon_status kaon_staggered_reserve(kaon_operator *A, kaon_mode mode, int columns) {
  (void)mode;
  const kaon_staggered_fields *fields = kaon_staggered_of(A)->fields;
  kaon_halo *halos[2];
  kaon_overlap how;
  int count;
  if (!kaon_lattice_partitioned(fields->family->lattice)) return KAON_OK;
  KAON_TRY(halos_of(fields, columns, halos, &count));
  return kaon_overlap_choose(halos[0], table(fields)->hop_fused != NULL, &how);
}

/* ---- */

/* Fails if a vector has too many packets: a device indexes them with 32 bits. There are three for
 * each site and column, in every precision (lib/vector/layout.h). */
static kaon_status check_numbers(const kaon_context *ctx, const kaon_lattice *lattice,
                                 int columns) {
  const int64_t accesses = lattice->stencil.nblocks * lattice->stencil.width * 3 * columns;
  if (!ctx->backend->computed_neighbours || accesses <= (int64_t)UINT32_MAX) return KAON_OK;
  return kaon_fail(ctx, KAON_ERR_UNSUPPORTED,
                   "staggered hop: %d columns of %lld sites are more than a device's kernels can "
                   "index (%lld); take fewer columns at once",
                   columns, (long long)lattice->stencil.nsites,
                   (long long)UINT32_MAX / 3 / lattice->stencil.nsites);
}

/* Logs which kernel this hop runs, and why, if that was not logged before. */
static void log_kernel(kaon_context *ctx, const kaon_staggered_ops *ops, const kaon_launch *launch,
                       const kaon_staggered_args *args) {
  char text[384];
  if (ops->explain == NULL) return;
  ops->explain(launch, args, text, sizeof text);
  kaon_log_once(ctx, KAON_LOG_DEBUG, text);
}

kaon_status kaon_staggered_fused(const kaon_staggered_fields *fields, int parity, double a,
                                 const kaon_vector *x, double b, const kaon_vector *in,
                                 kaon_vector *out, const kaon_pass *pass) {
  const kaon_staggered_family *family = fields->family;
  kaon_context *ctx = family->ctx;
  const kaon_staggered_ops *ops = table(fields);
  const kaon_kernel_sums sums = kaon_sums_for_kernel(out, pass, KAON_SUMS_NORM | KAON_SUMS_DOT);
  KAON_TRY(kaon_pass_check(ctx, "staggered hop", pass, out->nrhs));
  KAON_TRY(check_numbers(ctx, family->lattice, out->nrhs));
  kaon_staggered_args args = {.stencil = &family->lattice->stencil,
                              .parity = parity,
                              .nrhs = out->nrhs,
                              .a = x == NULL ? 0 : a,
                              .b = b,
                              .fat = kaon_staggered_links_of(&fields->fat),
                              .reach = {&family->reach[0], &family->reach[1]},
                              .in = kaon_view_of(in),
                              .x = kaon_view_of(x),
                              .w = sums.w,
                              .out = kaon_view_of(out),
                              .gate = kaon_pass_gate(pass),
                              .sum = sums.sum};
  memcpy(args.phases, family->masks, sizeof args.phases);
  if (fields->naik.links != NULL) args.naik = kaon_staggered_links_of(&fields->naik);
  const int vectors = 2 + (args.x.data != NULL) + (args.w.data != NULL);
  const double bytes =
      traffic(fields, out->nrhs, vectors) * (double)family->lattice->stencil.nsites;
  kaon_launch launch;
  KAON_TRY(kaon_launch_prepare(ctx, out->nrhs, (size_t)bytes, &launch));
  if (kaon_logs(ctx, KAON_LOG_DEBUG)) log_kernel(ctx, ops, &launch, &args);
  if (kaon_lattice_partitioned(family->lattice))
    KAON_TRY(hop_in_stages(fields, &launch, &args));
  else
    ops->hop(&launch, &args);
  ctx->no_flush_needed = 1;
  return kaon_sums_after_kernel(&sums);
}

/* docs/conventions.md, "Cost": 570 or 1146 flops for each updated site, 12 for the x-pay. */
kaon_cost kaon_staggered_cost(const kaon_staggered_fields *fields, int64_t sites, int hops,
                              int columns) {
  const double hop = fields->naik.links != NULL ? 1146 : 570;
  return (kaon_cost){.flops = (double)sites * (hops * hop + 12),
                     .bytes = (double)sites * hops * traffic(fields, columns, 2) / columns};
}

/* ---- M ---- */

static kaon_status apply(kaon_operator *M, kaon_mode mode, const kaon_vector *x, kaon_vector *y,
                         const kaon_pass *pass) {
  const kaon_staggered_fields *fields = kaon_staggered_of(M)->fields;
  const double sign = mode == KAON_DAGGER ? -1 : 1, diagonal = 2 * fields->family->options.mass;
  KAON_TRY(kaon_staggered_fields_check(fields));
  const kaon_pass gate = kaon_pass_gate_only(pass);
  kaon_vector xs[2], ys[2];
  for (int p = 0; p < 2; p++) {
    KAON_TRY(kaon_vector_view(x, (kaon_parity)p, &xs[p]));
    KAON_TRY(kaon_vector_view(y, (kaon_parity)p, &ys[p]));
  }
  for (int p = 0; p < 2; p++)
    KAON_TRY(kaon_staggered_fused(fields, p, diagonal, &xs[p], sign, &xs[1 - p], &ys[p], &gate));
  return kaon_pass_sum_separately(y, pass); /* a kernel covers one parity, but the sums are over
                                               both */
}

static kaon_cost cost(const kaon_operator *M, int columns) {
  const kaon_staggered_fields *fields = kaon_staggered_of(M)->fields;
  return kaon_staggered_cost(fields, fields->family->lattice->volume, 1, columns);
}

static kaon_status diagonal(kaon_operator *M, kaon_vector *d) {
  const kaon_staggered_family *family = kaon_staggered_of(M)->fields->family;
  const size_t count = (size_t)family->lattice->volume * KAON_STAGGERED_REALS;
  double *host = calloc(count, sizeof *host);
  if (host == NULL)
    return kaon_fail(M->ctx, KAON_ERR_MEMORY, "staggered: out of host memory for the diagonal");
  for (size_t i = 0; i < count; i += 2) host[i] = 2 * family->options.mass;
  kaon_status status = KAON_OK;
  for (int column = 0; column < d->nrhs && status == KAON_OK; column++)
    status = kaon_vector_import(d, column, host, KAON_BASIS_UKQCD);
  free(host);
  return status;
}

kaon_status kaon_staggered_operator_new(const kaon_operator_ops *ops, kaon_staggered_fields *fields,
                                        const kaon_space *space, kaon_operator **A) {
  kaon_context *ctx = fields->family->ctx;
  kaon_operator *made = calloc(1, sizeof *made);
  kaon_staggered *self = calloc(1, sizeof *self);
  if (made == NULL || self == NULL) {
    free(made);
    free(self);
    kaon_staggered_fields_release(&fields);
    return kaon_fail(ctx, KAON_ERR_MEMORY, "staggered: out of host memory for an operator");
  }
  self->fields = fields;
  self->parity = KAON_FULL;
  *made = (kaon_operator){.ops = ops,
                          .ctx = ctx,
                          .space = space,
                          .precision = fields->precision,
                          .references = 1,
                          .self = self};
  *A = made;
  return KAON_OK;
}

void kaon_staggered_operator_destroy(kaon_operator *A) {
  kaon_staggered *self = kaon_staggered_of(A);
  kaon_vector_destroy(&self->scratch);
  kaon_operator_destroy(&self->reduction.parent);
  kaon_staggered_fields_release(&self->fields);
  free(self);
  free(A);
}

static kaon_status operator_of(kaon_staggered_family *family, kaon_precision precision,
                               kaon_reconstruct reconstruct, kaon_operator **M) {
  kaon_staggered_fields *fields = NULL;
  if (family->ctx->backend->staggered[precision] == NULL)
    return kaon_fail(family->ctx, KAON_ERR_NOT_BUILT,
                     "staggered: backend %s %s has no staggered hop in this precision; choose "
                     "another backend or precision",
                     family->ctx->backend->name, family->ctx->backend->isa);
  KAON_TRY(kaon_staggered_fields_get(family, precision, reconstruct, &fields));
  return kaon_staggered_operator_new(&kaon_staggered_ops_full, fields,
                                     &family->lattice->staggered[KAON_FULL], M);
}

static kaon_status make_twin(kaon_operator *M, kaon_precision precision,
                             kaon_reconstruct reconstruct, kaon_operator **twin) {
  return operator_of(kaon_staggered_of(M)->fields->family, precision, reconstruct, twin);
}

static kaon_status refuse(kaon_gauge *links, kaon_gauge *naik,
                          const kaon_staggered_options *options) {
  kaon_context *ctx = links->ctx;
  if (naik != NULL && naik->lattice != links->lattice)
    return kaon_fail(ctx, KAON_ERR_SHAPE,
                     "staggered: fat and long links are of two lattices; create both on one "
                     "kaon_lattice");
  const kaon_gauge *const fields[2] = {links, naik};
  for (int i = 0; i < 2 && naik != NULL; i++)
    if (fields[i]->reconstruct != KAON_RECONSTRUCT_18 || fields[i]->precision == KAON_HALF)
      return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                       "staggered: %s links are stored in %d reals of precision number %d, but "
                       "general matrices need 18 in double or single",
                       i == 0 ? "fat" : "long", (int)fields[i]->reconstruct,
                       (int)fields[i]->precision);
  const kaon_staggered_ops *ops = ctx->backend->staggered[options->precision];
  if (!kaon_lattice_partitioned(links->lattice) || ops == NULL) return KAON_OK;
  if (ops->gather == NULL)
    return kaon_fail(ctx, KAON_ERR_UNSUPPORTED,
                     "staggered: backend %s has no operators on a lattice that is divided among "
                     "ranks; use one rank, or --backend cpu",
                     ctx->backend->name);
  return naik != NULL ? kaon_faces_far(links->lattice) : KAON_OK;
}

static kaon_status family_create(kaon_gauge *links, kaon_gauge *naik,
                                 const kaon_staggered_options *options,
                                 kaon_staggered_family **family) {
  kaon_staggered_family *made = calloc(1, sizeof *made);
  if (made == NULL)
    return kaon_fail(links->ctx, KAON_ERR_MEMORY, "staggered: out of host memory for an operator");
  *made = (kaon_staggered_family){.references = 1,
                                  .ctx = links->ctx,
                                  .lattice = links->lattice,
                                  .fat = links,
                                  .naik = naik,
                                  .options = *options};
  kaon_gauge_retain(links);
  if (naik != NULL) kaon_gauge_retain(naik);
  kaon_staggered_masks(options->phases, made->masks);
  *family = made;
  kaon_status status = kaon_hop_table_create(made->lattice, 1, made->masks, &made->reach[0]);
  if (status == KAON_OK && naik != NULL)
    status = kaon_hop_table_create(made->lattice, 3, made->masks, &made->reach[1]);
  return status;
}

kaon_status kaon_staggered_create(kaon_gauge *links, kaon_gauge *naik,
                                  const kaon_staggered_options *options, kaon_operator **M) {
  kaon_staggered_options own;
  if (M != NULL) *M = NULL;
  if (links == NULL || M == NULL)
    return kaon_fail(NULL, KAON_ERR_ARGUMENT,
                     "staggered: links and the address of the result are needed");
  kaon_staggered_family *family = NULL;
  kaon_context *ctx = links->ctx;
  kaon_status status = kaon_options_take(KAON_OPTIONS_STAGGERED, options, &own);
  if (status != KAON_OK) return kaon_fail(ctx, status, "%s", kaon_last_error(NULL));
  KAON_TRY(refuse(links, naik, &own));
  status = family_create(links, naik, &own, &family);
  if (status == KAON_OK) status = operator_of(family, own.precision, own.reconstruct, M);
  kaon_staggered_family_release(&family);
  return kaon_agree(ctx, status);
}

/* ---- public queries of M and of its reductions ---- */

int kaon_staggered_is(const kaon_operator *A) {
  return A->ops->destroy == kaon_staggered_operator_destroy;
}

static kaon_status not_staggered(const kaon_operator *M, const char *what) {
  if (M == NULL) return kaon_fail(NULL, KAON_ERR_ARGUMENT, "%s: the operator is NULL", what);
  return kaon_fail(M->ctx, KAON_ERR_UNSUPPORTED,
                   "%s: operator '%s' is no staggered one; pass one made by kaon_staggered_create",
                   what, M->ops->name);
}

kaon_status kaon_staggered_operator_check(const kaon_operator *A) {
  return kaon_staggered_fields_check(kaon_staggered_of(A)->fields);
}

kaon_status kaon_staggered_update(kaon_operator *M) {
  if (M == NULL || !kaon_staggered_is(M)) return not_staggered(M, "staggered update");
  return kaon_agree(M->ctx, kaon_staggered_family_update(kaon_staggered_of(M)->fields->family));
}

kaon_status kaon_staggered_hop(kaon_operator *M, kaon_parity parity, const kaon_vector *in,
                               kaon_vector *out) {
  if (M == NULL || !kaon_staggered_is(M)) return not_staggered(M, "staggered hop");
  if (in == NULL || out == NULL || (parity != KAON_EVEN && parity != KAON_ODD))
    return kaon_fail(
        M->ctx, KAON_ERR_ARGUMENT,
        "staggered hop: in and out are needed, and parity %d must be 0 (even) or 1 (odd)",
        (int)parity);
  const kaon_staggered_fields *fields = kaon_staggered_of(M)->fields;
  const kaon_lattice *lattice = fields->family->lattice;
  if (out->space != &lattice->staggered[parity] || in->space != &lattice->staggered[1 - parity])
    return kaon_fail(M->ctx, KAON_ERR_SHAPE,
                     "staggered hop: out must be a staggered vector on the %s sites of the "
                     "operator's lattice and in one on the %s ones",
                     parity == KAON_EVEN ? "even" : "odd", parity == KAON_EVEN ? "odd" : "even");
  if (in->nrhs != out->nrhs)
    return kaon_fail(M->ctx, KAON_ERR_SHAPE, "staggered hop: in has %d columns and out %d",
                     in->nrhs, out->nrhs);
  if (in->precision != fields->precision || out->precision != fields->precision)
    return kaon_fail(M->ctx, KAON_ERR_PRECISION,
                     "staggered hop: in, out and the operator have precisions %d, %d and %d (0 "
                     "double, 1 single, 2 half); convert with kaon_vector_copy",
                     (int)in->precision, (int)out->precision, (int)fields->precision);
  KAON_TRY(kaon_staggered_fields_check(fields));
  return kaon_staggered_fused(fields, (int)parity, 0, NULL, 1, in, out, NULL);
}

const kaon_operator_ops kaon_staggered_ops_full = {.name = "staggered",
                                                   .apply = apply,
                                                   .twin = make_twin,
                                                   .diagonal = diagonal,
                                                   .check = kaon_staggered_operator_check,
                                                   .reserve = kaon_staggered_reserve,
                                                   .cost = cost,
                                                   .destroy = kaon_staggered_operator_destroy};
