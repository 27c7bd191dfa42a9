/* pass.c - gate, sums and recurrence of a pass (lib/operator/operator_internal.h). */
#include "blas/blas.h"
#include "lib/math/steps/recurrences.h"

/* If the host can read the gate and it is open, the kernel need not read it over the bus. */
kaon_gate kaon_pass_gate(const kaon_pass *pass) {
  if (pass == NULL || pass->scalars == NULL) return (kaon_gate){NULL, KAON_GATE_ANY};
  const kaon_scalars *s = pass->scalars;
  if (s->ctx->backend->host_scalars && s->columns == 1 && (s->state[0].gate & pass->gate) != 0)
    return (kaon_gate){NULL, KAON_GATE_ANY};
  return (kaon_gate){pass->scalars->state, pass->gate};
}

kaon_pass kaon_pass_gate_only(const kaon_pass *pass) {
  kaon_pass gate_only = KAON_PASS_INIT;
  if (pass != NULL) {
    gate_only.scalars = pass->scalars;
    gate_only.gate = pass->gate;
  }
  return gate_only;
}

static int wants_sum(const kaon_pass *pass) {
  return pass != NULL && pass->scalars != NULL &&
         (pass->norm != KAON_NO_SLOT || pass->dot != KAON_NO_SLOT || pass->then != 0);
}

int kaon_pass_sums_separate(const kaon_context *ctx, const kaon_pass *pass) {
  return kaon_separate(ctx) && wants_sum(pass);
}

kaon_sum kaon_pass_sum(const kaon_context *ctx, const kaon_pass *pass) {
  kaon_sum sum = {.slot = {KAON_NO_SLOT, KAON_NO_SLOT, KAON_NO_SLOT, KAON_NO_SLOT}};
  if (!wants_sum(pass)) return sum;
  sum.state = pass->scalars->state;
  sum.slot[0] = pass->norm;
  sum.slot[1] = pass->dot;
  sum.then = kaon_blas_then(ctx, pass);
  return sum;
}

kaon_status kaon_pass_complete(kaon_context *ctx, const kaon_pass *pass) {
  if (!wants_sum(pass)) return KAON_OK;
  const int slots[2] = {pass->norm, pass->dot}; /* KAON_NO_SLOT is skipped */
  return kaon_blas_complete(ctx, pass, slots, 2);
}

/* 1 if a recurrence must run after the kernel, on the rank that has all of the sums. */
static int runs_after(const kaon_context *ctx, const kaon_pass *pass) {
  return wants_sum(pass) && !kaon_recurrence_of_product(kaon_blas_then(ctx, pass));
}

kaon_sum kaon_pass_sum_of_product(const kaon_context *ctx, const kaon_pass *pass) {
  kaon_sum sum = kaon_pass_sum(ctx, pass);
  if (runs_after(ctx, pass)) sum.then = 0;
  return sum;
}

kaon_status kaon_pass_complete_product(kaon_context *ctx, const kaon_pass *pass) {
  KAON_TRY(kaon_pass_complete(ctx, pass));
  return runs_after(ctx, pass) ? kaon_blas_recur(ctx, pass) : KAON_OK;
}

kaon_sum kaon_pass_sum_over_ranks(const kaon_context *ctx, const kaon_pass *pass) {
  kaon_sum sum = kaon_pass_sum(ctx, pass);
  if (sum.state == NULL || (pass->norm == KAON_NO_SLOT && pass->dot == KAON_NO_SLOT)) return sum;
  sum.ranks = (int16_t)kaon_blas_kernel_sums_ranks(ctx, pass);
  if (sum.ranks) sum.then = pass->then;
  if (pass->split == KAON_SUM_MERGE && pass->scalars->deferred.left > 0)
    sum.deferred = &pass->scalars->deferred;
  return sum;
}

kaon_status kaon_pass_complete_over_ranks(kaon_context *ctx, const kaon_pass *pass,
                                          const kaon_sum *sum) {
  if (sum->deferred != NULL) pass->scalars->deferred.left = 0; /* they are in their slots now */
  if (!sum->ranks) return kaon_pass_complete(ctx, pass);
  ctx->comm->traffic.sums++;
  return KAON_OK;
}

kaon_status kaon_pass_sum_separately(const kaon_vector *y, const kaon_pass *pass) {
  if (!wants_sum(pass)) return KAON_OK;
  if (pass->norm == KAON_NO_SLOT && pass->dot == KAON_NO_SLOT) return kaon_blas_recur(y->ctx, pass);
  const int slot[3] = {pass->dot, KAON_NO_SLOT, pass->norm};
  kaon_pass sums = kaon_pass_gate_only(pass);
  sums.then = pass->then;
  sums.split = pass->split;
  return kaon_blas_dot(pass->dot == KAON_NO_SLOT ? y : pass->w, y, slot, &sums);
}
