/* spinor_hop.c - the hop and the clover multiplication of Wilson-like operators: from vectors and
 * passes to the kernels of dslash/dslash_ops.h. */
#include <string.h>

#include "blas/submit.h"
#include "dslash/wilson/wilson.h"
#include "lib/core/tuning_internal.h"
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
kaon_cost kaon_spinor_cost(const kaon_fields *fields, int hops, int columns) {
  const int clover = kaon_dirac_family_of(fields)->csw != 0;
  const double rest = hops == 2 && clover ? 144 : 48;
  return (kaon_cost){.flops = hops * (1320 + (clover ? 504.0 : 0)) + rest,
                     .bytes = hops * (traffic(fields, clover, columns, 2) / columns)};
}

/* ---- the hop ---- */

typedef struct spinor_call {
  kaon_hop_call base;
  const kaon_dslash_ops *ops;
  kaon_gather_args gather;
  kaon_hop_args hop;
} spinor_call;

static void run_hop(void *at, int part, const kaon_peer_exchange *peer) {
  spinor_call *c = at;
  c->hop.part = part;
  c->hop.peer = peer;
  if (part == KAON_PART_FUSED)
    c->ops->hop_fused(&c->base.launch, &c->gather, &c->hop);
  else
    c->ops->hop(&c->base.launch, &c->hop);
}

static void run_gather(void *at, int i) {
  const spinor_call *c = at;
  (void)i;
  c->ops->gather(&c->base.launch, &c->gather);
}

static void meet_halo(void *at, kaon_halo *const *halos, int count) {
  spinor_call *c = at;
  const kaon_hop_args *hop = &c->hop;
  (void)count;
  c->gather = (kaon_gather_args){.stencil = hop->stencil,
                                 .parity = hop->parity,
                                 .dagger = hop->dagger,
                                 .nrhs = hop->nrhs,
                                 .recon = hop->recon,
                                 .links = {hop->links[0], hop->links[1]},
                                 .in = hop->in,
                                 .peer = halos[0]->peer,
                                 .gate = hop->gate};
  memcpy(c->gather.coefficient, hop->coefficient, sizeof c->gather.coefficient);
  memcpy(c->gather.to, halos[0]->send, sizeof c->gather.to);
  memcpy(c->hop.ghosts, halos[0]->receive, sizeof c->hop.ghosts);
}

kaon_status kaon_spinor_halos(const kaon_fields *fields, int columns, kaon_halo *halos[2],
                              int *count, int *fused) {
  const kaon_dslash_ops *ops = table(fields);
  *count = 1;
  *fused = ops != NULL && ops->hop_fused != NULL;
  return kaon_halo_get(fields->family->lattice, fields->precision, columns, &halos[0]);
}

/* 1 if the sums are computed by a separate kernel: for a cut hop (kaon_dslash_ops.hop), and where
 * that is faster (separate_dot_sites). */
static int sums_separate(const kaon_fields *fields, const kaon_stencil *stencil, int columns,
                         const kaon_pass *pass) {
  const int64_t least = table(fields)->separate_dot_sites;
  const int *cut = stencil->cut;
  const int any = cut[0] != 0 || cut[1] != 0 || cut[2] != 0 || cut[3] != 0;
  if (any && fields->family->ctx->backend->computed_neighbours) return 1;
  return pass != NULL && pass->dot != KAON_NO_SLOT && columns == 1 && least > 0 &&
         stencil->nsites >= least;
}

/* Chooses how the launch runs, and launches. */
static kaon_status launch(spinor_call *c, kaon_vector *out, const kaon_pass *pass) {
  const kaon_fields *fields = c->base.fields;
  kaon_dirac_family *family = kaon_dirac_family_of(fields);
  kaon_context *ctx = family->base.ctx;
  kaon_hop_args *hop = &c->hop;
  const int spinors = 2 + (hop->x.data != NULL) + (hop->w.data != NULL);
  const double bytes = traffic(fields, hop->clover_on != KAON_CLOVER_NONE, hop->nrhs, spinors) *
                       (double)fields->stencil.nsites;
  KAON_TRY(kaon_launch_prepare(ctx, hop->nrhs, (size_t)bytes, &c->base.launch));
  kaon_tuning_apply(ctx, KAON_TUNED_HOP, fields->precision, hop->recon, hop->nrhs,
                    2 * fields->stencil.nsites, &c->base.launch);
  if (!c->base.launch.prefetch) hop->backward = family->backward = !family->backward;
  return kaon_hop_run(&c->base, hop->stencil->faces != NULL, out, pass);
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
  const kaon_stencil *stencil = fused->stencil != NULL ? fused->stencil : &fields->stencil;
  const kaon_vector *x = fused->x;
  spinor_call c = {.base = {.hop = run_hop, .gather = run_gather, .meet = meet_halo},
                   .ops = table(fields)};
  if (c.ops == NULL || c.ops->hop == NULL) return not_built(fields, "hop");
  KAON_TRY(kaon_hop_begin(&c.base, fields, pass, out->nrhs,
                          sums_separate(fields, stencil, out->nrhs, pass)));
  if (fused->on == KAON_SITE_ON_BOTH) {
    const kaon_pass gate = kaon_pass_gate_only(pass);
    KAON_TRY(kaon_clover_site(fields, parity, mode, fused->kind, x, out, &gate));
    x = out;
  }
  kaon_context *ctx = family->base.ctx;
  const kaon_pass *sums = c.base.separate ? NULL : pass;
  c.hop = (kaon_hop_args){.stencil = stencil,
                          .parity = parity,
                          .dagger = mode == KAON_DAGGER,
                          .nrhs = out->nrhs,
                          .recon = (int)fields->reconstruct,
                          .clover_on = clover_on[fused->on],
                          .a = x == NULL ? 0 : fused->a,
                          .b = fused->b,
                          .coefficient = {space, space, space, 1},
                          .clover = fused->on ? blocks->data : NULL,
                          .clover_scale = fused->on ? blocks->scale : NULL,
                          .in = kaon_view_of(in),
                          .x = kaon_view_of(x),
                          .w = kaon_view_of(sums != NULL ? sums->w : NULL),
                          .out = kaon_view_of(out),
                          .gate = kaon_pass_gate(pass),
                          .sum = kaon_pass_sum_of_product(ctx, sums)};
  for (int p = 0; p < 2; p++)
    c.hop.links[p] = kaon_gauge_links(kaon_dirac_fields_of(fields)->links, p);
  if (family->recorded_hops == NULL) return launch(&c, out, pass);
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
                            .sum = kaon_pass_sum(fields->family->ctx, NULL)};
}

/* The blocks are Hermitian, so both modes are the same. */
kaon_status kaon_clover_site(const kaon_fields *fields, int parity, kaon_mode mode,
                             kaon_site_kind kind, const kaon_vector *in, kaon_vector *out,
                             const kaon_pass *pass) {
  kaon_context *ctx = fields->family->ctx;
  const kaon_dslash_ops *ops = table(fields);
  const kaon_pass gate = kaon_pass_gate_only(pass);
  (void)mode;
  KAON_TRY(kaon_pass_check(ctx, "dirac clover", pass, out->nrhs));
  if (ops == NULL || ops->clover == NULL) return not_built(fields, "clover");
  const int separate =
      (pass != NULL && pass->dot != KAON_NO_SLOT) || /* the kernel sums only the norm */
      kaon_pass_sums_separate(ctx, pass);
  kaon_clover_args args = clover_args(fields, parity, kind, in, out, pass);
  args.sum = kaon_pass_sum_of_product(ctx, separate ? &gate : pass);
  kaon_launch launch;
  KAON_TRY(kaon_launch_prepare(ctx, out->nrhs, 2 * kaon_vector_bytes(out), &launch));
  ops->clover(&launch, &args);
  ctx->no_flush_needed = 1;
  return separate ? kaon_pass_sum_separately(out, pass) : kaon_pass_complete_product(ctx, pass);
}

kaon_status kaon_clover_updated_site(const kaon_fields *fields, int parity, kaon_mode mode,
                                     kaon_site_kind kind, int slot, double sign,
                                     const kaon_vector *w, kaon_vector *in, kaon_vector *out,
                                     const kaon_pass *pass) {
  kaon_context *ctx = fields->family->ctx;
  const kaon_pass gate = kaon_pass_gate_only(pass);
  const kaon_dslash_ops *ops = table(fields);
  KAON_TRY(kaon_pass_check(ctx, "dirac clover", pass, out->nrhs));
  if (ops != NULL && ops->updated_clover != NULL) {
    kaon_clover_args args = clover_args(fields, parity, kind, in, out, pass);
    args.w = kaon_view_of(w);
    args.state = pass->scalars->state;
    args.slot = slot;
    args.sign = sign;
    kaon_launch launch;
    const int no_flush_needed = ctx->no_flush_needed;
    KAON_TRY(kaon_launch_prepare(ctx, out->nrhs, 4 * kaon_vector_bytes(out), &launch));
    if (ops->updated_clover(&launch, &args)) {
      ctx->no_flush_needed = 1;
      return KAON_OK;
    }
    ctx->no_flush_needed = no_flush_needed; /* nothing was launched */
  }
  KAON_TRY(kaon_blas_axpy((kaon_coefficient){slot, sign}, w, in, &gate));
  return kaon_clover_site(fields, parity, mode, kind, in, out, &gate);
}
