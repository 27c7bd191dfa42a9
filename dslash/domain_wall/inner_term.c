/* inner_term.c - the site term of operators with a fifth dimension (inner_term.h), and their hop.
 *
 * A hop is that of Wilson operators, to which the fifth dimension is more columns. T follows it in
 * a kernel of its own (kaon_dslash_ops.inner), which also takes the sums. The matrices are the same
 * at every site of the lattice, whatever the links. */
#include <stdlib.h>

#include "blas/submit.h"
#include "dslash/domain_wall/inner_term.h"

static const kaon_inner_family *family_of(const kaon_fields *fields) {
  return (const kaon_inner_family *)fields->family;
}

/* ---- the matrices ---- */

/* Bytes of both chiralities, in one mode. */
static size_t matrix_bytes(const kaon_fields *fields) {
  const int inner = fields->family->spaces->inner;
  return (size_t)kaon_inner_index(inner, 1, 0, inner) * sizeof(double);
}

/* An element as a double, or as a float and its remainder. */
static void store(kaon_precision precision, double x, void *element) {
  const float parts[2] = {(float)x, (float)(x - (double)(float)x)};
  if (precision == KAON_DOUBLE)
    *(double *)element = x;
  else
    ((float *)element)[0] = parts[0], ((float *)element)[1] = parts[1];
}

static kaon_status fill_kind(kaon_fields *fields, kaon_site_kind kind) {
  const kaon_inner_family *family = family_of(fields);
  const int inner = fields->family->spaces->inner;
  const size_t bytes = matrix_bytes(fields);
  KAON_AUTOFREE char *host = calloc(2, bytes);
  if (host == NULL)
    return kaon_fail(fields->family->ctx, KAON_ERR_MEMORY,
                     "%s: out of host memory for matrices of %d x %d", fields->family->action->name,
                     inner, inner);
  for (int c = 0; c < 2; c++)
    for (int s = 0; s < inner; s++)
      for (int t = 0; t < inner; t++) {
        const double x = family->element(family, kind, c, s, t);
        char *at = host + (size_t)kaon_inner_index(inner, c, s, t) * sizeof(double);
        char *transposed = host + (size_t)kaon_inner_index(inner, c, t, s) * sizeof(double);
        store(fields->precision, x, at);
        store(fields->precision, x, transposed + bytes);
      }
  return kaon_table_upload(fields->family->ctx, host, 2 * bytes, "matrices of the fifth dimension",
                           &((kaon_inner_fields *)fields)->matrix[kind]);
}

kaon_status kaon_inner_fill(kaon_fields *fields, unsigned sites) {
  for (int kind = 0; kind < KAON_SITE_KINDS; kind++)
    if ((sites & kaon_site_both((kaon_site_kind)kind)) != 0 &&
        ((kaon_inner_fields *)fields)->matrix[kind] == NULL)
      KAON_TRY(fill_kind(fields, (kaon_site_kind)kind));
  return KAON_OK;
}

void kaon_inner_fields_release(kaon_fields *fields) {
  for (int kind = 0; kind < KAON_SITE_KINDS; kind++)
    kaon_pool_release(fields->family->ctx, ((kaon_inner_fields *)fields)->matrix[kind]);
  kaon_dirac_fields_release(fields);
}

kaon_status kaon_inner_diagonal(const kaon_family *base, double *host) {
  const kaon_inner_family *family = (const kaon_inner_family *)base;
  const int64_t slice = base->lattice->volume * KAON_SPINOR_REALS;
  for (int s = 0; s < base->spaces->inner; s++) {
    const double plus = family->element(family, KAON_SITE_TERM, 0, s, s);
    const double minus = family->element(family, KAON_SITE_TERM, 1, s, s);
    for (int64_t i = 0; i < slice; i += 2) host[s * slice + i] = 0.5 * (plus + minus);
  }
  return KAON_OK;
}

/* ---- applications ---- */

/* out = a x + b T in, or T^-1, or with the adjoint. x NULL: without a x. */
typedef struct term {
  double a;
  const kaon_vector *x;
  double b;
  kaon_site_kind kind;
} term;

static kaon_status apply_term(const kaon_fields *fields, int parity, kaon_mode mode, const term *t,
                              const kaon_vector *in, kaon_vector *out, const kaon_pass *pass) {
  kaon_context *ctx = fields->family->ctx;
  const kaon_dslash_ops *ops = ctx->backend->dslash[fields->precision];
  const char *matrix = ((const kaon_inner_fields *)fields)->matrix[t->kind];
  KAON_TRY(kaon_pass_check(ctx, fields->family->action->name, pass, out->nrhs));
  if (ops == NULL || ops->inner == NULL)
    return kaon_fail(ctx, KAON_ERR_NOT_BUILT,
                     "%s: its kernel is not part of backend %s %s in this precision; choose "
                     "another backend or precision",
                     fields->family->action->name, ctx->backend->name, ctx->backend->isa);
  const kaon_kernel_sums sums = kaon_sums_for_kernel(out, pass, KAON_SUMS_NORM | KAON_SUMS_DOT);
  const kaon_inner_args args = {.stencil = &fields->stencil,
                                .parity = parity,
                                .nrhs = out->nrhs,
                                .inner = out->space->inner,
                                .matrix = matrix + (mode == KAON_DAGGER) * matrix_bytes(fields),
                                .a = t->x == NULL ? 0 : t->a,
                                .b = t->b,
                                .in = kaon_view_of(in),
                                .x = kaon_view_of(t->x),
                                .w = sums.w,
                                .out = kaon_view_of(out),
                                .gate = kaon_pass_gate(pass),
                                .sum = sums.sum};
  kaon_launch launch;
  KAON_TRY(kaon_launch_prepare(ctx, out->nrhs, 3 * kaon_vector_bytes(out), &launch));
  ops->inner(&launch, &args);
  ctx->no_flush_needed = 1;
  return kaon_sums_after_kernel(&sums);
}

kaon_status kaon_inner_site(const kaon_fields *fields, int parity, kaon_mode mode,
                            kaon_site_kind kind, const kaon_vector *in, kaon_vector *out,
                            const kaon_pass *pass) {
  const term t = {.b = 1, .kind = kind};
  return apply_term(fields, parity, mode, &t, in, out, pass);
}

/* Unless T is on both, x is not out. */
kaon_status kaon_inner_hop(const kaon_fields *fields, int parity, kaon_mode mode,
                           const kaon_fused *fused, const kaon_vector *in, kaon_vector *out,
                           const kaon_pass *pass) {
  const kaon_pass gate = kaon_pass_gate_only(pass);
  if (fused->on == KAON_SITE_NOWHERE)
    return kaon_spinor_hop(fields, parity, mode, fused, in, out, pass);
  kaon_fused bare = {.b = 1, .stencil = fused->stencil};
  term t = {.b = 1, .kind = fused->kind};
  const kaon_vector *operand = out;
  if (fused->on == KAON_SITE_ON_BOTH) { /* out = a x + b D in, then T out */
    bare.a = fused->a;
    bare.x = fused->x;
    bare.b = fused->b;
  } else if (fused->on == KAON_SITE_ON_HOP) { /* out = D in, then a x + b T out */
    t.a = fused->a;
    t.x = fused->x;
    t.b = fused->b;
  } else { /* out = b D in, then out + a T x */
    bare.b = fused->b;
    t.a = 1;
    t.x = out;
    t.b = fused->a;
    operand = fused->x;
  }
  KAON_TRY(kaon_spinor_hop(fields, parity, mode, &bare, in, out, &gate));
  return apply_term(fields, parity, mode, &t, operand, out, pass);
}
