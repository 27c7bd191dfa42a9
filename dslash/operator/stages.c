/* stages.c - a hop between its arguments and its kernels: how sums are taken, and on a partitioned
 * lattice the stages of lib/grid/overlap.h. An action's hop makes the kernels' arguments and calls
 * this file. No other code reads a neighbouring site of a vector. */
#include "dslash/dslash_ops.h"
#include "dslash/operator/frame.h"
#include "lib/grid/overlap.h"

kaon_status kaon_hop_begin(kaon_hop_call *call, const kaon_fields *fields, const kaon_vector *out,
                           const kaon_pass *pass, int offers) {
  const kaon_family *family = fields->family;
  call->fields = fields;
  KAON_TRY(kaon_pass_check(family->ctx, family->action->name, pass, out->nrhs));
  call->sums = kaon_sums_for_kernel(out, pass, offers);
  return KAON_OK;
}

/* A hop and its halos. */
typedef struct staged_hop {
  kaon_hop_call *call;
  kaon_halo *halos[2];
  int count;
} staged_hop;

static void gather_faces(void *user) {
  const staged_hop *h = user;
  for (int i = 0; i < h->count; i++) h->call->gather(h->call, i);
}

static void hop_inside(void *user, int after_messages) {
  const staged_hop *h = user;
  h->call->hop(h->call, KAON_PART_INTERIOR, after_messages ? h->halos[0]->peer : NULL);
}

static void hop_at_faces(void *user) {
  const staged_hop *h = user;
  h->call->hop(h->call, KAON_PART_BOUNDARY, h->halos[0]->peer);
}

static void hop_at_once(void *user) {
  const staged_hop *h = user;
  h->call->hop(h->call, KAON_PART_FUSED, h->halos[0]->peer);
}

static kaon_status hop_in_stages(kaon_hop_call *call, int columns) {
  const kaon_fields *fields = call->fields;
  kaon_comm *comm = fields->family->ctx->comm;
  staged_hop h = {.call = call};
  int fused;
  KAON_TRY(fields->family->action->halos(fields, columns, h.halos, &h.count, &fused));
  for (int i = 0; i < h.count; i++) {
    comm->traffic.exchanges++;
    comm->traffic.bytes += h.halos[i]->bytes;
  }
  call->meet(call, h.halos, h.count);
  const kaon_stages stages = {.gather = gather_faces,
                              .interior = hop_inside,
                              .boundary = hop_at_faces,
                              .fused = fused ? hop_at_once : NULL,
                              .user = &h};
  return h.count == 1 ? kaon_overlap_run(h.halos[0], &stages)
                      : kaon_overlap_run_all(h.halos, h.count, &stages);
}

/* Logs which kernel this hop runs, and why, if that was not logged before. */
static void log_kernel(const kaon_hop_call *call) {
  kaon_context *ctx = call->fields->family->ctx;
  char text[384];
  if (call->explain == NULL || !kaon_logs(ctx, KAON_LOG_DEBUG)) return;
  call->explain(call, text, sizeof text);
  kaon_log_once(ctx, KAON_LOG_DEBUG, text);
}

kaon_status kaon_hop_run(kaon_hop_call *call, int faces, int columns) {
  log_kernel(call);
  if (faces)
    KAON_TRY(hop_in_stages(call, columns));
  else
    call->hop(call, KAON_PART_ALL, NULL);
  call->fields->family->ctx->no_flush_needed = 1;
  return kaon_sums_after_kernel(&call->sums);
}

kaon_status kaon_lattice_operator_reserve(kaon_operator *A, kaon_mode mode, int columns) {
  const kaon_lattice_operator *self = kaon_lattice_operator_of(A);
  const kaon_fields *fields = self->fields;
  kaon_halo *halos[2];
  kaon_overlap how;
  int count, fused;
  (void)mode;
  if (self->cut != NULL || fields->stencil.faces == NULL) return KAON_OK;
  KAON_TRY(fields->family->action->halos(fields, columns, halos, &count, &fused));
  return kaon_overlap_choose(halos[0], fused, &how);
}
