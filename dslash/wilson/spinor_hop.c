/* spinor_hop.c - the hop and the clover multiplication of Wilson-like operators: makes the
 * arguments of the kernels in dslash/dslash_ops.h from vectors and a pass. */
#include <string.h>

#include "blas/submit.h"
#include "dslash/wilson/wilson.h"
#include "lib/core/tuning_internal.h"
#include "lib/grid/overlap.h"
#include "lib/vector/layout.h"

static const kaon_dslash_ops *table(const kaon_fields *fields) {
  return fields->family->ctx->backend->dslash[fields->precision];
}

static kaon_status not_built(const kaon_fields *fields, const char *kernel) {
  const kaon_backend *backend = fields->family->ctx->backend;
  return kaon_fail(fields->family->ctx, KAON_ERR_NOT_BUILT,
                   "dirac: the %s kernel is not part of backend %s %s in this precision; choose "
                   "another backend or precision",
                   kernel, backend->name, backend->isa);
}

/* ---- cost ---- */

/* Bytes that a hop to one site moves: `spinors` spinors for each column, eight links once, and one
 * clover block once. */
static double traffic(const kaon_fields *fields, int clover, int columns, int spinors) {
  const double size = (double)kaon_precision_bytes(fields->precision);
  const double scale = fields->precision == KAON_HALF ? 4 : 0;
  const double block = clover ? KAON_CLOVER_REALS * size + scale : 0;
  return columns * spinors * (24 * size + scale) + 8 * (int)fields->reconstruct * size + block;
}

/* docs/conventions.md, "Cost". A hop has 1320 flops, a clover block 504. Besides the hops there is
 * one x-pay (48), and for a Schur complement with clover blocks 144. Totals: 1368, 1872, 2688,
 * 3792. Links are read once for all columns. */
kaon_cost kaon_spinor_cost(const kaon_fields *fields, kaon_form form, int columns) {
  const int hops = kaon_form_hops(form);
  const int clover = kaon_has_clover(kaon_dirac_family_of(fields));
  const double rest = hops == 2 && clover ? 144 : 48;
  return (kaon_cost){.flops = hops * (1320 + (clover ? 504.0 : 0)) + rest,
                     .bytes = hops * (traffic(fields, clover, columns, 2) / columns)};
}

/* ---- the hop ---- */

typedef struct spinor_call {
  const kaon_fields *fields;
  const kaon_dslash_ops *ops;
  kaon_launch launch;
  kaon_kernel_sums sums;
  kaon_gather_args gather;
  kaon_hop_args hop;
} spinor_call;

static void run_part(void *user, int part, const kaon_peer_exchange *peer) {
  spinor_call *c = user;
  c->hop.part = part;
  c->hop.peer = peer;
  if (part == KAON_PART_GATHER)
    c->ops->gather(&c->launch, &c->gather);
  else if (part == KAON_PART_FUSED)
    c->ops->hop_fused(&c->launch, &c->gather, &c->hop);
  else
    c->ops->hop(&c->launch, &c->hop);
}

static void meet_halo(spinor_call *c, const kaon_halo *halo) {
  const kaon_hop_args *hop = &c->hop;
  c->gather = (kaon_gather_args){.stencil = hop->stencil,
                                 .parity = hop->parity,
                                 .dagger = hop->dagger,
                                 .nrhs = hop->nrhs,
                                 .recon = hop->recon,
                                 .links = {hop->links[0], hop->links[1]},
                                 .in = hop->in,
                                 .peer = halo->peer,
                                 .gate = hop->gate};
  memcpy(c->gather.coefficient, hop->coefficient, sizeof c->gather.coefficient);
  memcpy(c->gather.to, halo->send, sizeof c->gather.to);
  memcpy(c->hop.ghosts, halo->receive, sizeof c->hop.ghosts);
}

kaon_status kaon_spinor_halos(const kaon_fields *fields, int columns, kaon_halo *halos[2],
                              int *count, int *fused) {
  const kaon_dslash_ops *ops = table(fields);
  *count = 1;
  *fused = ops != NULL && ops->hop_fused != NULL;
  return kaon_halo_get(fields->family->lattice, fields->precision,
                       columns * fields->family->spaces->inner, &halos[0]);
}

/* What a hop's kernel offers for its sums (KAON_SUMS_...): with inner columns nothing, since its sums
 * are those of its own columns. */
static int sums_of_hop(const kaon_fields *fields, const kaon_stencil *stencil, int columns) {
  const kaon_dslash_ops *ops = table(fields);
  if (fields->family->spaces->inner > 1) return 0;
  return ops->hop_writes != NULL ? ops->hop_writes(stencil, columns)
                                 : KAON_SUMS_NORM | KAON_SUMS_DOT;
}

/* Runs all parts on a divided lattice. columns: right-hand sides, here and below. */
static kaon_status run_divided(spinor_call *c, int columns) {
  const int one = c->hop.stencil->along != 0;
  kaon_stages stages = {.run = run_part, .user = c, .lenient = one};
  kaon_halo *halos[2];
  int count;
  KAON_TRY(kaon_spinor_halos(c->fields, columns, halos, &count, &stages.fused));
  if (one) stages.fused = 0;
  meet_halo(c, halos[0]);
  return kaon_overlap_run(halos, count, &stages);
}

/* Chooses how the launch runs, and launches. */
static kaon_status launch(spinor_call *c, int columns) {
  const kaon_fields *fields = c->fields;
  kaon_dirac_family *family = kaon_dirac_family_of(fields);
  kaon_context *ctx = family->base.ctx;
  kaon_hop_args *hop = &c->hop;
  const int spinors = 2 + (hop->x.data != NULL) + (hop->w.data != NULL);
  const double bytes = traffic(fields, hop->clover_on != KAON_CLOVER_NONE, hop->nrhs, spinors) *
                       (double)fields->stencil.nsites;
  KAON_TRY(kaon_launch_prepare(ctx, columns, (size_t)bytes, &c->launch));
  kaon_tuning_apply(ctx, KAON_TUNED_HOP, fields->precision, hop->recon, hop->nrhs,
                    2 * fields->stencil.nsites, &c->launch);
  if (!c->launch.prefetch) hop->backward = family->backward = !family->backward;
  if (hop->stencil->faces != NULL)
    KAON_TRY(run_divided(c, columns));
  else
    run_part(c, KAON_PART_ALL, NULL);
  ctx->no_flush_needed = 1;
  return kaon_sums_after_kernel(&c->sums);
}

/* T or T^-1 of a site as p [C] + i q gamma_5, with its blocks C. A T^-1 with blocks and a twist is
 * not of this form (dslash/twisted/twisted.c). */
static void site_numbers(const kaon_dirac_family *family, kaon_mode mode, kaon_site_kind kind,
                         double *p, double *q) {
  const double twist = mode == KAON_DAGGER ? -family->twist : family->twist;
  const int inverse = kind == KAON_SITE_INVERSE && !kaon_has_clover(family);
  *p = inverse ? 1 / (1 + twist * twist) : 1;
  *q = inverse ? -twist * *p : twist;
}

kaon_status kaon_spinor_hop(const kaon_fields *fields, int parity, kaon_mode mode,
                            const kaon_fused *fused, const kaon_vector *in, kaon_vector *out,
                            const kaon_pass *pass) {
  static const int clover_on[] = {[KAON_SITE_NOWHERE] = KAON_CLOVER_NONE,
                                  [KAON_SITE_ON_HOP] = KAON_CLOVER_ON_HOP,
                                  [KAON_SITE_ON_X] = KAON_CLOVER_ON_X,
                                  [KAON_SITE_ON_BOTH] = KAON_CLOVER_ON_HOP};
  kaon_dirac_family *family = kaon_dirac_family_of(fields);
  const kaon_blocks *blocks = &kaon_dirac_fields_of(fields)->blocks[fused->kind][parity];
  const double space = family->anisotropy;
  const int clover = kaon_has_clover(family) ? fused->on : KAON_SITE_NOWHERE;
  const int on_x = (fused->on & KAON_SITE_ON_X) != 0, on_hop = (fused->on & KAON_SITE_ON_HOP) != 0;
  double number, twist;
  const kaon_stencil *stencil = fused->stencil != NULL ? fused->stencil : &fields->stencil;
  const kaon_vector *x = fused->x;
  spinor_call c = {.fields = fields, .ops = table(fields)};
  if (c.ops == NULL || c.ops->hop == NULL) return not_built(fields, "hop");
  KAON_TRY(kaon_pass_check(family->base.ctx, family->base.action->name, pass, out->nrhs));
  c.sums = kaon_sums_for_kernel(out, pass, sums_of_hop(fields, stencil, out->nrhs));
  site_numbers(family, mode, fused->kind, &number, &twist);
  if (clover == KAON_SITE_ON_BOTH) {
    const kaon_pass gate = kaon_pass_gate_only(pass);
    KAON_TRY(kaon_clover_site(fields, parity, mode, fused->kind, x, out, &gate));
    x = out;
  }
  c.hop = (kaon_hop_args){.stencil = stencil,
                          .parity = parity,
                          .dagger = mode == KAON_DAGGER,
                          .nrhs = out->nrhs * out->space->inner,
                          .recon = (int)fields->reconstruct,
                          .clover_on = clover_on[clover],
                          .a = x == NULL ? 0
                               : on_x    ? fused->a * number
                                         : fused->a,
                          .b = on_hop ? fused->b * number : fused->b,
                          .twist = {on_x ? fused->a * twist : 0, on_hop ? fused->b * twist : 0},
                          .coefficient = {space, space, space, 1},
                          .clover = clover ? blocks->data : NULL,
                          .clover_scale = clover ? blocks->scale : NULL,
                          .in = kaon_view_of(in),
                          .x = kaon_view_of(x),
                          .w = c.sums.w,
                          .out = kaon_view_of(out),
                          .gate = kaon_pass_gate_inner(pass, out),
                          .sum = c.sums.sum};
  for (int p = 0; p < 2; p++)
    c.hop.links[p] = kaon_gauge_links(kaon_dirac_fields_of(fields)->links, p);
  if (family->recorded_hops == NULL) return launch(&c, out->nrhs);
  const int at = family->recorded_hops->count++;
  if (at < KAON_RECORDED_HOPS) family->recorded_hops->hop[at] = c.hop;
  return KAON_OK;
}

/* ---- clover blocks ---- */

/* Arguments of out = C in, without its sums. */
static kaon_clover_args clover_args(const kaon_fields *fields, int parity, kaon_site_kind kind,
                                    const kaon_vector *in, kaon_vector *out,
                                    const kaon_pass *pass) {
  const kaon_blocks *blocks = &kaon_dirac_fields_of(fields)->blocks[kind][parity];
  return (kaon_clover_args){.stencil = &fields->stencil,
                            .parity = parity,
                            .nrhs = out->nrhs,
                            .clover = blocks->data,
                            .clover_scale = blocks->scale,
                            .in = kaon_view_of(in),
                            .out = kaon_view_of(out),
                            .gate = kaon_pass_gate(pass),
                            .sum = KAON_SUM_NONE};
}

/* The blocks are Hermitian, so both modes are the same. */
kaon_status kaon_clover_site(const kaon_fields *fields, int parity, kaon_mode mode,
                             kaon_site_kind kind, const kaon_vector *in, kaon_vector *out,
                             const kaon_pass *pass) {
  kaon_context *ctx = fields->family->ctx;
  const kaon_dslash_ops *ops = table(fields);
  (void)mode;
  KAON_TRY(kaon_pass_check(ctx, "dirac clover", pass, out->nrhs));
  if (ops == NULL || ops->clover == NULL) return not_built(fields, "clover");
  const kaon_kernel_sums sums = kaon_sums_for_kernel(out, pass, KAON_SUMS_NORM);
  kaon_clover_args args = clover_args(fields, parity, kind, in, out, pass);
  args.sum = sums.sum;
  kaon_launch launch;
  KAON_TRY(kaon_launch_prepare(ctx, out->nrhs, 2 * kaon_vector_bytes(out), &launch));
  ops->clover(&launch, &args);
  ctx->no_flush_needed = 1;
  return kaon_sums_after_kernel(&sums);
}

kaon_status kaon_clover_updated_site(const kaon_fields *fields, int parity, kaon_mode mode,
                                     kaon_site_kind kind, int slot, double sign,
                                     const kaon_vector *w, kaon_vector *in, kaon_vector *out,
                                     const kaon_pass *pass) {
  kaon_context *ctx = fields->family->ctx;
  const kaon_pass gate = kaon_pass_gate_only(pass);
  const kaon_dslash_ops *ops = table(fields);
  KAON_TRY(kaon_pass_check(ctx, "dirac clover", pass, out->nrhs));
  if (ops != NULL && ops->clover_writes != NULL &&
      ops->clover_writes(&fields->stencil, out->nrhs) & KAON_WRITES_UPDATED) {
    kaon_clover_args args = clover_args(fields, parity, kind, in, out, pass);
    args.w = kaon_view_of(w);
    args.state = pass->scalars->state;
    args.slot = slot;
    args.sign = sign;
    kaon_launch launch;
    KAON_TRY(kaon_launch_prepare(ctx, out->nrhs, 4 * kaon_vector_bytes(out), &launch));
    ops->clover(&launch, &args);
    ctx->no_flush_needed = 1;
    return KAON_OK;
  }
  KAON_TRY(kaon_blas_axpy((kaon_coefficient){slot, sign}, w, in, &gate));
  return kaon_clover_site(fields, parity, mode, kind, in, out, &gate);
}
