/* staggered_hop.c - the staggered hop: makes the arguments of the kernels in staggered_ops.h from
 * vectors and a pass. */
#include <string.h>

#include "dslash/dslash_ops.h"
#include "dslash/staggered/staggered_internal.h"
#include "lib/grid/overlap.h"

static const kaon_staggered_ops *table(const kaon_fields *fields) {
  return fields->family->ctx->backend->staggered[fields->precision];
}

static int improved(const kaon_fields *fields) {
  return fields->family->links[1] != NULL;
}

/* ---- cost ---- */

/* Reals of all links in the hops to a site. */
static double link_reals(const kaon_fields *fields) {
  const int phase = kaon_staggered_fields_of(fields)->naik.phase[0] != NULL;
  if (!improved(fields)) return 8.0 * (int)fields->reconstruct;
  return 8.0 * (18 + (int)fields->reconstruct + phase);
}

static double traffic(const kaon_fields *fields, int columns, int vectors) {
  const double size = (double)kaon_precision_bytes(fields->precision);
  const double scale = fields->precision == KAON_HALF ? 4 : 0;
  return columns * vectors * (KAON_STAGGERED_REALS * size + scale) + link_reals(fields) * size;
}

/* docs/conventions.md, "Cost": 570 or 1146 flops for each updated site, 12 for the x-pay. */
kaon_cost kaon_colour_cost(const kaon_fields *fields, kaon_form form, int columns) {
  const int hops = kaon_form_hops(form);
  return (kaon_cost){.flops = hops * (improved(fields) ? 1146.0 : 570.0) + 12,
                     .bytes = hops * (traffic(fields, columns, 2) / columns)};
}

/* ---- a partitioned lattice ---- */

/* One halo for hops of one site and one for three, or one for both where kernels join them. */
kaon_status kaon_colour_halos(const kaon_fields *fields, int columns, kaon_halo *halos[2],
                              int *count, int *fused) {
  kaon_lattice *lattice = fields->family->lattice;
  const kaon_staggered_ops *ops = table(fields);
  const int joined = ops->face_links != NULL;
  const kaon_faces *near = improved(fields) ? lattice->far[joined] : lattice->faces;
  *count = 1 + (improved(fields) && !joined);
  *fused = ops->hop_fused != NULL;
  KAON_TRY(
      kaon_halo_get_of(lattice, near, KAON_STAGGERED_REALS, fields->precision, columns, &halos[0]));
  return *count > 1 ? kaon_halo_get_of(lattice, lattice->far[1], KAON_STAGGERED_REALS,
                                       fields->precision, columns, &halos[1])
                    : KAON_OK;
}

typedef struct colour_call {
  const kaon_fields *fields;
  const kaon_staggered_ops *ops;
  kaon_launch launch;
  kaon_kernel_sums sums;
  int halos;
  kaon_staggered_gather_args gather[2];
  kaon_staggered_args hop;
} colour_call;

static void run_part(void *user, int part, const kaon_peer_exchange *peer) {
  colour_call *c = user;
  c->hop.part = part;
  c->hop.peer = peer;
  if (part == KAON_PART_GATHER)
    for (int i = 0; i < c->halos; i++) c->ops->gather(&c->launch, &c->gather[i]);
  else if (part == KAON_PART_FUSED)
    c->ops->hop_fused(&c->launch, &c->gather[0], &c->hop);
  else
    c->ops->hop(&c->launch, &c->hop);
}

static void meet_halos(colour_call *c, kaon_halo *const *halos, int count) {
  kaon_staggered_args *hop = &c->hop;
  const int joined = c->ops->face_links != NULL;
  c->halos = count;
  for (int i = 0; i < count; i++) {
    kaon_staggered_gather_args *gather = &c->gather[i];
    hop->faces[i] = halos[i]->faces;
    *gather = (kaon_staggered_gather_args){.stencil = hop->stencil,
                                           .faces = halos[i]->faces,
                                           .steps = 1,
                                           .parity = hop->parity,
                                           .nrhs = hop->nrhs,
                                           .links = hop->fat,
                                           .in = hop->in,
                                           .peer = halos[i]->peer,
                                           .gate = hop->gate};
    if (i == 1 || (joined && improved(c->fields))) {
      gather->steps = 3;
      gather->links = hop->naik;
    }
    memcpy(gather->to, halos[i]->send, sizeof gather->to);
    memcpy(hop->ghosts[i], halos[i]->receive, sizeof hop->ghosts[i]);
  }
  if (!joined) return;
  hop->faces[1] = hop->faces[0];
  memcpy(hop->ghosts[1], hop->ghosts[0], sizeof hop->ghosts[1]);
}

/* Runs all parts on a divided lattice. */
static kaon_status run_divided(colour_call *c) {
  const int one = c->hop.stencil->along != 0;
  kaon_stages stages = {.run = run_part, .user = c, .lenient = one};
  kaon_halo *halos[2];
  int count;
  KAON_TRY(kaon_colour_halos(c->fields, c->hop.nrhs, halos, &count, &stages.fused));
  if (one) stages.fused = 0;
  meet_halos(c, halos, count);
  return kaon_overlap_run(halos, count, &stages);
}

/* ---- the hop ---- */

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

/* D^dagger = -D. */
kaon_status kaon_colour_hop(const kaon_fields *fields, int parity, kaon_mode mode,
                            const kaon_fused *fused, const kaon_vector *in, kaon_vector *out,
                            const kaon_pass *pass) {
  const kaon_staggered_family *family = kaon_staggered_family_of(fields);
  const kaon_staggered_fields *own = kaon_staggered_fields_of(fields);
  kaon_context *ctx = family->base.ctx;
  kaon_lattice *lattice = family->base.lattice;
  const kaon_stencil *stencil = fused->stencil != NULL ? fused->stencil : &fields->stencil;
  colour_call c = {.fields = fields, .ops = table(fields)};
  KAON_TRY(kaon_pass_check(ctx, family->base.action->name, pass, out->nrhs));
  c.sums = kaon_sums_for_kernel(out, pass, stencil->along ? 0 : KAON_SUMS_NORM | KAON_SUMS_DOT);
  KAON_TRY(check_numbers(ctx, lattice, out->nrhs));
  c.hop = (kaon_staggered_args){.stencil = stencil,
                                .parity = parity,
                                .nrhs = out->nrhs,
                                .a = fused->x == NULL ? 0 : fused->a,
                                .b = mode == KAON_DAGGER ? -fused->b : fused->b,
                                .fat = kaon_staggered_links_of(&own->fat),
                                .reach = {&family->reach[0], &family->reach[1]},
                                .in = kaon_view_of(in),
                                .x = kaon_view_of(fused->x),
                                .w = c.sums.w,
                                .out = kaon_view_of(out),
                                .gate = kaon_pass_gate(pass),
                                .sum = c.sums.sum};
  memcpy(c.hop.phases, family->masks, sizeof c.hop.phases);
  if (improved(fields)) c.hop.naik = kaon_staggered_links_of(&own->naik);
  const int vectors = 2 + (c.hop.x.data != NULL) + (c.hop.w.data != NULL);
  const double bytes = traffic(fields, out->nrhs, vectors) * (double)lattice->stencil.nsites;
  KAON_TRY(kaon_launch_prepare(ctx, out->nrhs, (size_t)bytes, &c.launch));
  if (c.hop.stencil->faces != NULL)
    KAON_TRY(run_divided(&c));
  else
    run_part(&c, KAON_PART_ALL, NULL);
  ctx->no_flush_needed = 1;
  return kaon_sums_after_kernel(&c.sums);
}
