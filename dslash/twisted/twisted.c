/* twisted.c - twisted mass of one flavour, M = T - kappa D with T = A + i a gamma_5 and
 * a = 2 kappa mu; A = 1 or the clover term. Its row in the frame (dslash/operator/frame.h).
 *
 * gamma_5 commutes with A, so T^-1 = (A - i a gamma_5) / (A^2 + a^2). The adjoints have -a. Fields
 * and hop are those of Wilson-like operators (dslash/wilson/wilson.h), whose kernels apply T, and
 * without the clover term T^-1. With it they store (A^2 + a^2)^-1 where a clover operator stores
 * A^-1, and T^-1 is a kernel of its own (kaon_dslash_ops.twist) after the hop, since it takes two
 * blocks. Sources: Frezzotti et al., JHEP 08 (2001) 058; with the clover term Abdel-Rehim et al.,
 * Phys. Rev. D 95 (2017) 094515. */
#include "blas/submit.h"
#include "dslash/wilson/wilson.h"

/* out = a x + b T in, or a x + b T^-1 in, or with the adjoint of T. x NULL: without a x. */
typedef struct site_term {
  double a;
  const kaon_vector *x;
  double b;
  kaon_site_kind kind;
} site_term;

static kaon_twist_args args_of(const kaon_fields *fields, int parity, kaon_mode mode,
                               const site_term *t) {
  const kaon_dirac_family *family = kaon_dirac_family_of(fields);
  const kaon_blocks *blocks = &kaon_dirac_fields_of(fields)->blocks[KAON_SITE_TERM][parity];
  const kaon_blocks *square = &kaon_dirac_fields_of(fields)->blocks[KAON_SITE_INVERSE][parity];
  const double twist = mode == KAON_DAGGER ? -family->twist : family->twist;
  kaon_twist_args args = {.stencil = &fields->stencil,
                          .parity = parity,
                          .a = t->x == NULL ? 0 : t->a,
                          .p = t->b,
                          .q = t->b * twist,
                          .x = kaon_view_of(t->x)};
  if (kaon_has_clover(family)) {
    args.term = blocks->data;
    args.term_scale = blocks->scale;
  }
  if (t->kind == KAON_SITE_TERM) return args;
  args.q = -args.q;
  if (kaon_has_clover(family)) {
    args.after = square->data;
    args.after_scale = square->scale;
  } else {
    args.p /= 1 + twist * twist;
    args.q /= 1 + twist * twist;
  }
  return args;
}

static kaon_status apply_term(const kaon_fields *fields, int parity, kaon_mode mode,
                              const site_term *t, const kaon_vector *in, kaon_vector *out,
                              const kaon_pass *pass) {
  kaon_context *ctx = fields->family->ctx;
  const kaon_dslash_ops *ops = ctx->backend->dslash[fields->precision];
  KAON_TRY(kaon_pass_check(ctx, "twisted mass", pass, out->nrhs));
  if (ops == NULL || ops->twist == NULL)
    return kaon_fail(ctx, KAON_ERR_NOT_BUILT,
                     "twisted mass: its kernel is not part of backend %s %s in this precision; "
                     "choose another backend or precision",
                     ctx->backend->name, ctx->backend->isa);
  const kaon_kernel_sums sums = kaon_sums_for_kernel(out, pass, KAON_SUMS_NORM | KAON_SUMS_DOT);
  kaon_twist_args args = args_of(fields, parity, mode, t);
  args.nrhs = out->nrhs;
  args.in = kaon_view_of(in);
  args.out = kaon_view_of(out);
  args.w = sums.w;
  args.gate = kaon_pass_gate(pass);
  args.sum = sums.sum;
  kaon_launch launch;
  KAON_TRY(kaon_launch_prepare(ctx, out->nrhs, 3 * kaon_vector_bytes(out), &launch));
  ops->twist(&launch, &args);
  ctx->no_flush_needed = 1;
  return kaon_sums_after_kernel(&sums);
}

static kaon_status site(const kaon_fields *fields, int parity, kaon_mode mode, kaon_site_kind kind,
                        const kaon_vector *in, kaon_vector *out, const kaon_pass *pass) {
  const site_term t = {.b = 1, .kind = kind};
  return apply_term(fields, parity, mode, &t, in, out, pass);
}

/* The frame asks for T on x, and for T^-1 on the hop or on both. Unless it is on both, x is not
 * out. */
static kaon_status hop(const kaon_fields *fields, int parity, kaon_mode mode,
                       const kaon_fused *fused, const kaon_vector *in, kaon_vector *out,
                       const kaon_pass *pass) {
  const kaon_pass gate = kaon_pass_gate_only(pass);
  kaon_fused bare = {.a = fused->a, .x = fused->x, .b = fused->b, .stencil = fused->stencil};
  site_term t = {.b = 1, .kind = fused->kind};
  if (!kaon_has_clover(kaon_dirac_family_of(fields)) || fused->on == KAON_SITE_NOWHERE ||
      fused->kind == KAON_SITE_TERM)
    return kaon_spinor_hop(fields, parity, mode, fused, in, out, pass);
  if (fused->on == KAON_SITE_ON_HOP) { /* out = D in, then a x + b T^-1 out */
    t = (site_term){.a = fused->a, .x = fused->x, .b = fused->b, .kind = fused->kind};
    bare = (kaon_fused){.b = 1, .stencil = fused->stencil};
  } /* else out = a x + b D in, then T^-1 out */
  KAON_TRY(kaon_spinor_hop(fields, parity, mode, &bare, in, out, &gate));
  return apply_term(fields, parity, mode, &t, out, out, pass);
}

/* T^-1 of a site takes both kinds of blocks. */
static kaon_status fill_sites(kaon_fields *fields, unsigned sites) {
  if (!kaon_has_clover(kaon_dirac_family_of(fields))) return KAON_OK;
  for (int p = 0; p < 2; p++)
    if (sites & kaon_site_bit(KAON_SITE_INVERSE, p)) sites |= kaon_site_bit(KAON_SITE_TERM, p);
  return kaon_clover_fill(fields, sites);
}

/* docs/conventions.md, "Cost". A twist has 48 flops, a clover block 504. T^-1 takes two blocks, each
 * of them counted in full, where Wilson's takes one. Totals: 1416, 1920; 2784; symmetric 4800,
 * asymmetric 4296. */
static kaon_cost cost(const kaon_fields *fields, kaon_form form, int columns) {
  const kaon_cost plain = kaon_spinor_cost(fields, form, columns);
  const int hops = kaon_form_hops(form), symmetric = form == KAON_FORM_SYMMETRIC;
  const int blocks = kaon_has_clover(kaon_dirac_family_of(fields)) && hops == 2 ? 1 + symmetric : 0;
  const double scale = fields->precision == KAON_HALF ? 4 : 0;
  const double size = KAON_CLOVER_REALS * (double)kaon_precision_bytes(fields->precision) + scale;
  const double pays = blocks > 0 ? 96 : 0; /* of a Schur complement of Wilson's with blocks */
  return (kaon_cost){.flops = plain.flops + hops * 48 + blocks * 504 - pays,
                     .bytes = plain.bytes + blocks * size / columns};
}

const kaon_action kaon_twisted_action = {
    .name = "twisted mass",
    .update = "kaon_dirac_update",
    .forms = {[KAON_FORM_SYMMETRIC] = "twisted mass even-odd symmetric",
              [KAON_FORM_ASYMMETRIC] = "twisted mass even-odd asymmetric",
              [KAON_FORM_NONE] = "twisted mass full lattice",
              [KAON_FORM_WHOLE] = "twisted mass"},
    .reals = KAON_SPINOR_REALS,
    .fields_size = sizeof(kaon_dirac_fields),
    .build = kaon_dirac_build,
    .fill = kaon_dirac_fill,
    .fill_sites = fill_sites,
    .release_fields = kaon_dirac_fields_release,
    .release_family = kaon_dirac_family_release,
    .hop = hop,
    .site = site,
    .halos = kaon_spinor_halos,
    .cost = cost,
    .diagonal = kaon_clover_diagonal,
    .halves = KAON_HALVES_TURNED,
    .blocks = 1,
};
