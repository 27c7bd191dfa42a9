/* hop.c - converts vectors and passes to kernel arguments. Every Wilson-like operator consists of
 * two kernels: the fused hop and the clover multiplication. The plain hop for users is here too.
 *
 * kaon_dslash_hop is the only function that reads a neighbouring site of a spinor. On a partitioned
 * lattice it goes through the stages of lib/grid/overlap.h. */
#include <string.h>

#include "blas/submit.h"
#include "dslash/operator/dirac_internal.h"
#include "lib/vector/layout.h"
#include "lib/grid/overlap.h"
#include "lib/core/tuning_internal.h"

static const kaon_dslash_ops *table(const kaon_dirac_fields *fields) {
  return fields->family->ctx->backend->dslash[fields->precision];
}

static kaon_status not_built(const kaon_dirac_fields *fields, const char *kernel) {
  const kaon_backend *backend = fields->family->ctx->backend;
  return kaon_fail(fields->family->ctx, KAON_ERR_NOT_BUILT,
                   "dirac: the %s kernel is not part of backend %s %s in this precision; choose "
                   "another backend or precision",
                   kernel, backend->name, backend->isa);
}

/* ---- a partitioned lattice ---- */

/* One hop in stages, or fused. */
typedef struct staged_hop {
  const kaon_dslash_ops *ops;
  kaon_launch launch;
  kaon_gather_args gather;
  kaon_hop_args hop;
  const kaon_peer_exchange *peer;
} staged_hop;

static void gather_faces(void *user) {
  const staged_hop *h = user;
  h->ops->gather(&h->launch, &h->gather);
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
  h->ops->hop_fused(&h->launch, &h->gather, &h->hop);
}

static kaon_status hop_in_stages(const kaon_dirac_fields *fields, const kaon_launch *launch,
                                 const kaon_hop_args *args) {
  kaon_halo *halo = NULL;
  KAON_TRY(kaon_halo_get(fields->family->lattice, fields->precision, args->nrhs, &halo));
  fields->family->ctx->comm->traffic.exchanges++;
  fields->family->ctx->comm->traffic.bytes += halo->bytes;
  staged_hop h = {.ops = table(fields), .launch = *launch, .hop = *args, .peer = halo->peer};
  h.gather = (kaon_gather_args){.stencil = args->stencil,
                                .parity = args->parity,
                                .dagger = args->dagger,
                                .nrhs = args->nrhs,
                                .recon = args->recon,
                                .links = {args->links[0], args->links[1]},
                                .in = args->in,
                                .peer = halo->peer,
                                .gate = args->gate};
  memcpy(h.gather.coefficient, args->coefficient, sizeof h.gather.coefficient);
  memcpy(h.gather.to, halo->send, sizeof h.gather.to);
  memcpy(h.hop.ghosts, halo->receive, sizeof h.hop.ghosts);
  const kaon_stages stages = {.gather = gather_faces,
                              .interior = hop_inside,
                              .boundary = hop_at_faces,
                              .fused = h.ops->hop_fused != NULL ? hop_at_once : NULL,
                              .user = &h};
  return kaon_overlap_run(halo, &stages);
}

kaon_status kaon_dslash_reserve(const kaon_dirac_fields *fields, int columns) {
  kaon_halo *halo = NULL;
  kaon_overlap how;
  const kaon_dslash_ops *ops = table(fields);
  if (fields->stencil.faces == NULL) return KAON_OK;
  KAON_TRY(kaon_halo_get(fields->family->lattice, fields->precision, columns, &halo));
  return kaon_overlap_choose(halo, ops != NULL && ops->hop_fused != NULL, &how);
}

/* ---- */

/* What a hop's kernel offers for its sums (KAON_SUMS_...). */
static int sums_of_hop(const kaon_dirac_fields *fields, const kaon_stencil *stencil, int columns) {
  const kaon_dslash_ops *ops = table(fields);
  return ops->hop_writes != NULL ? ops->hop_writes(stencil, columns)
                                 : KAON_SUMS_NORM | KAON_SUMS_DOT;
}

/* Logs which kernel this hop runs, and why, if that was not logged before. */
static void log_kernel(kaon_context *ctx, const kaon_dslash_ops *ops, const kaon_launch *launch,
                       const kaon_hop_args *args) {
  char text[384];
  if (ops->explain == NULL) return;
  ops->explain(launch, args, text, sizeof text);
  kaon_log_once(ctx, KAON_LOG_DEBUG, text);
}

kaon_status kaon_dslash_hop(const kaon_dirac_fields *fields, int parity, kaon_mode mode,
                            const kaon_fused *fused, const kaon_vector *in, kaon_vector *out,
                            const kaon_pass *pass) {
  kaon_dirac_family *family = fields->family;
  kaon_context *ctx = family->ctx;
  const kaon_dslash_ops *ops = table(fields);
  if (ops == NULL || ops->hop == NULL) return not_built(fields, "hop");
  KAON_TRY(kaon_pass_check(ctx, "dirac hop", pass, out->nrhs));
  const double space = family->anisotropy;
  const kaon_stencil *stencil = fused->stencil != NULL ? fused->stencil : &fields->stencil;
  const kaon_kernel_sums sums =
      kaon_sums_for_kernel(out, pass, sums_of_hop(fields, stencil, out->nrhs));
  kaon_hop_args args = {.stencil = stencil,
                        .parity = parity,
                        .dagger = mode == KAON_DAGGER,
                        .nrhs = out->nrhs,
                        .recon = (int)fields->reconstruct,
                        .clover_on = family->csw == 0 ? KAON_CLOVER_NONE : fused->clover_on,
                        .a = fused->x == NULL ? 0 : fused->a,
                        .b = fused->b,
                        .coefficient = {space, space, space, 1},
                        .in = kaon_view_of(in),
                        .x = kaon_view_of(fused->x),
                        .w = sums.w,
                        .out = kaon_view_of(out),
                        .gate = kaon_pass_gate(pass),
                        .sum = sums.sum};
  for (int p = 0; p < 2; p++) args.links[p] = kaon_gauge_links(fields->links, p);
  if (args.clover_on != KAON_CLOVER_NONE) {
    args.clover = fields->blocks[fused->kind][parity].data;
    args.clover_scale = fields->blocks[fused->kind][parity].scale;
  }
  if (family->recorded_hops != NULL) {
    const int at = family->recorded_hops->count++;
    if (at < KAON_RECORDED_HOPS) family->recorded_hops->hop[at] = args;
    return KAON_OK;
  }
  const double bytes = kaon_dirac_traffic(fields, args.clover_on != KAON_CLOVER_NONE, out->nrhs,
                                          2 + (args.x.data != NULL) + (args.w.data != NULL)) *
                       (double)fields->stencil.nsites;
  kaon_launch launch;
  KAON_TRY(kaon_launch_prepare(ctx, out->nrhs, (size_t)bytes, &launch));
  kaon_tuning_apply(ctx, KAON_TUNED_HOP, fields->precision, args.recon, out->nrhs,
                    2 * fields->stencil.nsites, &launch);
  if (!launch.prefetch) args.backward = family->backward = !family->backward;
  if (kaon_logs(ctx, KAON_LOG_DEBUG)) log_kernel(ctx, ops, &launch, &args);
  if (args.stencil->faces != NULL) {
    KAON_TRY(hop_in_stages(fields, &launch, &args));
  } else {
    ops->hop(&launch, &args);
  }
  ctx->no_flush_needed = 1;
  return kaon_sums_after_kernel(&sums);
}

kaon_status kaon_dslash_clover(const kaon_dirac_fields *fields, int parity, kaon_blocks_kind kind,
                               const kaon_vector *in, kaon_vector *out, const kaon_pass *pass) {
  kaon_context *ctx = fields->family->ctx;
  KAON_TRY(kaon_pass_check(ctx, "dirac clover", pass, out->nrhs));
  if (fields->family->csw == 0) {
    if (in->data == out->data) return kaon_pass_sum_separately(out, pass);
    const kaon_pass gate = kaon_pass_gate_only(pass);
    KAON_TRY(kaon_blas_copy(in, out, &gate));
    return kaon_pass_sum_separately(out, pass);
  }
  const kaon_dslash_ops *ops = table(fields);
  if (ops == NULL || ops->clover == NULL) return not_built(fields, "clover");
  const kaon_kernel_sums sums = kaon_sums_for_kernel(out, pass, KAON_SUMS_NORM);
  const kaon_blocks *blocks = &fields->blocks[kind][parity];
  kaon_clover_args args = {.stencil = &fields->stencil,
                           .parity = parity,
                           .nrhs = out->nrhs,
                           .clover = blocks->data,
                           .clover_scale = blocks->scale,
                           .in = kaon_view_of(in),
                           .out = kaon_view_of(out),
                           .gate = kaon_pass_gate(pass),
                           .sum = sums.sum};
  kaon_launch launch;
  KAON_TRY(kaon_launch_prepare(ctx, out->nrhs, 2 * kaon_vector_bytes(out), &launch));
  ops->clover(&launch, &args);
  ctx->no_flush_needed = 1;
  return kaon_sums_after_kernel(&sums);
}

kaon_status kaon_dslash_updated_clover(const kaon_dirac_fields *fields, int parity,
                                       kaon_blocks_kind kind, int slot, double sign,
                                       const kaon_vector *w, kaon_vector *in, kaon_vector *out,
                                       const kaon_pass *pass) {
  kaon_context *ctx = fields->family->ctx;
  const kaon_pass gate = kaon_pass_gate_only(pass);
  const kaon_dslash_ops *ops = table(fields);
  KAON_TRY(kaon_pass_check(ctx, "dirac clover", pass, out->nrhs));
  const int updates = ops != NULL && ops->clover_writes != NULL && fields->family->csw != 0 &&
                      ops->clover_writes(&fields->stencil, out->nrhs) & KAON_WRITES_UPDATED;
  if (updates) {
    const kaon_blocks *blocks = &fields->blocks[kind][parity];
    const kaon_clover_args args = {.stencil = &fields->stencil,
                                   .parity = parity,
                                   .nrhs = out->nrhs,
                                   .clover = blocks->data,
                                   .clover_scale = blocks->scale,
                                   .in = kaon_view_of(in),
                                   .out = kaon_view_of(out),
                                   .gate = kaon_pass_gate(pass),
                                   .sum = KAON_SUM_NONE,
                                   .w = kaon_view_of(w),
                                   .state = pass->scalars->state,
                                   .slot = slot,
                                   .sign = sign};
    kaon_launch launch;
    KAON_TRY(kaon_launch_prepare(ctx, out->nrhs, 4 * kaon_vector_bytes(out), &launch));
    ops->clover(&launch, &args);
    ctx->no_flush_needed = 1;
    return KAON_OK;
  }
  KAON_TRY(kaon_blas_axpy((kaon_coefficient){slot, sign}, w, in, &gate));
  return kaon_dslash_clover(fields, parity, kind, in, out, &gate);
}

kaon_status kaon_dirac_hop(kaon_operator *M, kaon_parity parity, kaon_mode mode,
                           const kaon_vector *in, kaon_vector *out) {
  if (M == NULL || in == NULL || out == NULL)
    return kaon_fail(M ? M->ctx : NULL, KAON_ERR_ARGUMENT,
                     "dirac hop: the operator, in and out are needed");
  if (!kaon_dirac_is(M))
    return kaon_fail(M->ctx, KAON_ERR_UNSUPPORTED,
                     "dirac hop: operator '%s' has no hop; pass one made by kaon_dirac_create",
                     M->ops->name);
  if (parity != KAON_EVEN && parity != KAON_ODD)
    return kaon_fail(M->ctx, KAON_ERR_ARGUMENT,
                     "dirac hop: parity is %d, but the updated sites are 0 (even) or 1 (odd)",
                     (int)parity);
  const kaon_dirac_fields *fields = kaon_dirac_of(M)->fields;
  const kaon_lattice *lattice = fields->family->lattice;
  const kaon_stencil *stencil = kaon_dirac_stencil(kaon_dirac_of(M));
  if (out->space != &lattice->spinors[parity] || in->space != &lattice->spinors[1 - parity])
    return kaon_fail(M->ctx, KAON_ERR_SHAPE,
                     "dirac hop: out must be spinors on the %s sites of the operator's lattice and "
                     "in on the %s ones",
                     parity == KAON_EVEN ? "even" : "odd", parity == KAON_EVEN ? "odd" : "even");
  if (in->nrhs != out->nrhs)
    return kaon_fail(M->ctx, KAON_ERR_SHAPE, "dirac hop: in has %d columns and out %d", in->nrhs,
                     out->nrhs);
  if (in->precision != fields->precision || out->precision != fields->precision)
    return kaon_fail(M->ctx, KAON_ERR_PRECISION,
                     "dirac hop: in, out and the operator have precisions %d, %d and %d (0 double, "
                     "1 single, 2 half); convert with kaon_vector_copy",
                     (int)in->precision, (int)out->precision, (int)fields->precision);
  KAON_TRY(kaon_dirac_fields_check(fields));
  const kaon_fused bare = {0, NULL, 1, KAON_CLOVER_NONE, KAON_BLOCKS_TERM, stencil};
  return kaon_dslash_hop(fields, (int)parity, mode, &bare, in, out, NULL);
}
