/* coarse_hop.c - hops and products with T of coarse operators: makes the arguments of the kernels
 * in coarse_ops.h from vectors and a pass. */
#include <string.h>

#include "dslash/coarse/coarse_internal.h"
#include "lib/grid/overlap.h"

/* ---- cost ---- */

/* Bytes of the matrices that `products` products at a site read. */
static double matrix_bytes(const kaon_fields *fields, int products) {
  const kaon_precision precision = kaon_coarse_fields_of(fields)->links.inside->precision;
  const double reals = kaon_coarse_reals(fields), scale = precision == KAON_HALF ? 4 : 0;
  return products * reals / 2 * (reals * (double)kaon_precision_bytes(precision) + scale);
}

static double vector_bytes(const kaon_fields *fields, int columns, int vectors) {
  const double reals = kaon_coarse_reals(fields);
  return columns * vectors * reals * (double)kaon_precision_bytes(fields->precision);
}

/* A hop with its T has nine products of a matrix and a vector. Matrices are read once for all
 * columns. */
kaon_cost kaon_coarse_cost(const kaon_fields *fields, kaon_form form, int columns) {
  const int hops = kaon_form_hops(form), products = 1 + KAON_DIRS;
  const double numbers = kaon_coarse_reals(fields) / 2.0;
  const double bytes = matrix_bytes(fields, products) + vector_bytes(fields, columns, 2);
  return (kaon_cost){.flops = hops * products * 8 * numbers * numbers,
                     .bytes = hops * bytes / columns};
}

/* ---- a partitioned lattice ---- */

kaon_status kaon_coarse_halos(const kaon_fields *fields, int columns, kaon_halo *halos[2],
                              int *count, int *fused) {
  kaon_lattice *lattice = fields->family->lattice;
  *count = 1;
  *fused = 0;
  return kaon_halo_get_of(lattice, lattice->faces, kaon_coarse_reals(fields), fields->precision,
                          columns, &halos[0]);
}

typedef struct coarse_call {
  const kaon_fields *fields;
  const kaon_coarse_ops *ops;
  kaon_launch launch;
  kaon_kernel_sums sums;
  kaon_coarse_gather_args gather;
  kaon_coarse_args hop;
} coarse_call;

static void run_part(void *user, int part, const kaon_peer_exchange *peer) {
  coarse_call *c = user;
  c->hop.part = part;
  c->hop.peer = peer;
  if (part == KAON_PART_GATHER)
    c->ops->gather(&c->launch, &c->gather);
  else
    c->ops->hop(&c->launch, &c->hop);
}

/* Runs all parts on a divided lattice. */
static kaon_status run_divided(coarse_call *c) {
  kaon_coarse_args *hop = &c->hop;
  const kaon_stages stages = {.run = run_part, .user = c, .lenient = hop->stencil->along != 0};
  kaon_halo *halos[2];
  int count, fused;
  KAON_TRY(kaon_coarse_halos(c->fields, hop->nrhs, halos, &count, &fused));
  c->gather = (kaon_coarse_gather_args){.stencil = hop->stencil,
                                        .parity = hop->parity,
                                        .reals = hop->reals,
                                        .nrhs = hop->nrhs,
                                        .in = hop->in,
                                        .peer = halos[0]->peer,
                                        .gate = hop->gate};
  memcpy(c->gather.send, halos[0]->send, sizeof c->gather.send);
  memcpy(hop->ghost, halos[0]->receive, sizeof hop->ghost);
  return kaon_overlap_run(halos, count, &stages);
}

/* ---- hops and T ---- */

static kaon_status no_adjoint(const kaon_fields *fields) {
  return kaon_fail(fields->family->ctx, KAON_ERR_UNSUPPORTED,
                   "coarse: the adjoint of a coarse operator is not offered; choose a method that "
                   "does without it, such as gcr");
}

static kaon_status view_matrix(const kaon_vector *full, int parity, kaon_view *view) {
  kaon_vector part;
  KAON_TRY(kaon_vector_view(full, (kaon_parity)parity, &part));
  *view = kaon_view_of(&part);
  return KAON_OK;
}

static kaon_status view_site(const kaon_fields *fields, int parity, kaon_site_kind kind,
                             kaon_view *view) {
  const kaon_coarse_fields *own = kaon_coarse_fields_of(fields);
  if (kind == KAON_SITE_TERM) return view_matrix(own->links.inside, parity, view);
  *view = kaon_view_of(own->inverse[parity]);
  return KAON_OK;
}

/* Launches; c->hop has its operands and numbers. */
static kaon_status launch(coarse_call *c, kaon_vector *out, const kaon_pass *pass) {
  const kaon_fields *fields = c->fields;
  kaon_context *ctx = fields->family->ctx;
  kaon_coarse_args *hop = &c->hop;
  KAON_TRY(kaon_pass_check(ctx, "coarse", pass, out->nrhs));
  c->ops = kaon_coarse_table(fields);
  c->sums = kaon_sums_for_kernel(out, pass, KAON_SUMS_NORM | KAON_SUMS_DOT);
  hop->reals = kaon_coarse_reals(fields);
  hop->nrhs = out->nrhs;
  hop->half_matrices = kaon_coarse_fields_of(fields)->links.inside->precision != fields->precision;
  hop->out = kaon_view_of(out);
  hop->w = c->sums.w;
  hop->gate = kaon_pass_gate(pass);
  hop->sum = c->sums.sum;
  const int hops = hop->hop[0].data != NULL ? KAON_DIRS : 0;
  const double bytes =
      matrix_bytes(fields, hops + (hop->site.data != NULL)) + vector_bytes(fields, out->nrhs, 3);
  KAON_TRY(kaon_launch_prepare(ctx, out->nrhs, (size_t)(bytes * (double)fields->stencil.nsites),
                               &c->launch));
  if (hops != 0 && hop->stencil->faces != NULL)
    KAON_TRY(run_divided(c));
  else
    run_part(c, KAON_PART_ALL, NULL);
  ctx->no_flush_needed = 1;
  return kaon_sums_after_kernel(&c->sums);
}

kaon_status kaon_coarse_hop(const kaon_fields *fields, int parity, kaon_mode mode,
                            const kaon_fused *fused, const kaon_vector *in, kaon_vector *out,
                            const kaon_pass *pass) {
  coarse_call c = {.fields = fields,
                   .hop = {.stencil = fused->stencil != NULL ? fused->stencil : &fields->stencil,
                           .parity = parity,
                           .on = fused->on,
                           .a = fused->x == NULL ? 0 : fused->a,
                           .b = fused->b,
                           .in = kaon_view_of(in),
                           .x = kaon_view_of(fused->x)}};
  if (mode == KAON_DAGGER) return no_adjoint(fields);
  for (int dir = 0; dir < KAON_DIRS; dir++)
    KAON_TRY(view_matrix(kaon_coarse_fields_of(fields)->links.hop[dir], parity, &c.hop.hop[dir]));
  if (fused->on != KAON_SITE_NOWHERE) KAON_TRY(view_site(fields, parity, fused->kind, &c.hop.site));
  return launch(&c, out, pass);
}

kaon_status kaon_coarse_site(const kaon_fields *fields, int parity, kaon_mode mode,
                             kaon_site_kind kind, const kaon_vector *in, kaon_vector *out,
                             const kaon_pass *pass) {
  coarse_call c = {.fields = fields,
                   .hop = {.stencil = &fields->stencil,
                           .parity = parity,
                           .on = KAON_SITE_ON_X,
                           .a = 1,
                           .x = kaon_view_of(in)}};
  if (mode == KAON_DAGGER) return no_adjoint(fields);
  KAON_TRY(view_site(fields, parity, kind, &c.hop.site));
  return launch(&c, out, pass);
}
