/* overlap.c - the pipeline (lib/grid/overlap.h). A site is written once, interior or boundary, with
 * all its directions. So corners and edges need no order, and half precision rounds once. */
#include "lib/grid/overlap.h"

kaon_overlap kaon_overlap_wanted(const kaon_context *ctx) {
  const kaon_overlap asked = ctx->options.overlap;
  return asked == KAON_OVERLAP_UPDATES ? KAON_OVERLAP_AUTO : asked;
}

int kaon_overlap_ahead(const kaon_context *ctx) {
  return ctx->options.overlap == KAON_OVERLAP_UPDATES;
}

kaon_status kaon_overlap_choose(const kaon_halo *halo, int fused, kaon_overlap *how) {
  const kaon_overlap wanted = kaon_overlap_wanted(halo->ctx);
  const int possible = fused && halo->peer != NULL;
  *how =
      wanted == KAON_OVERLAP_AUTO ? (possible ? KAON_OVERLAP_FUSED : KAON_OVERLAP_STAGED) : wanted;
  if (*how != KAON_OVERLAP_FUSED || possible) return KAON_OK;
  return kaon_fail(
      halo->ctx, KAON_ERR_UNSUPPORTED,
      "overlap: fused hops need devices that store into each other's memory (transport "
      "peer); choose overlap staged, none or auto");
}

static kaon_status start_all(kaon_halo *const *halos, int n) {
  for (int i = 0; i < n; i++) KAON_TRY(kaon_halo_start(halos[i]));
  return KAON_OK;
}

/* Waits for each halo, even after a failure. */
static kaon_status finish_all(kaon_halo *const *halos, int n) {
  kaon_status first = KAON_OK;
  for (int i = 0; i < n; i++) {
    const kaon_status status = kaon_halo_finish(halos[i]);
    if (first == KAON_OK) first = status;
  }
  return first;
}

static kaon_status run_staged(kaon_halo *const *halos, int n, kaon_overlap how,
                              const kaon_stages *stages) {
  kaon_context *ctx = halos[0]->ctx;
  const kaon_peer_exchange *peer = halos[0]->peer;
  if (!stages->sent) {
    stages->run(stages->user, KAON_PART_GATHER, NULL);
    KAON_TRY(start_all(halos, n));
  }
  if (how == KAON_OVERLAP_STAGED) stages->run(stages->user, KAON_PART_INTERIOR, NULL);
  const kaon_status status = finish_all(halos, n);
  /* On failure the boundary's sums are missing. */
  ctx->pass_incomplete = status != KAON_OK && how == KAON_OVERLAP_STAGED;
  KAON_TRY(status);
  if (how == KAON_OVERLAP_NONE) stages->run(stages->user, KAON_PART_INTERIOR, peer);
  stages->run(stages->user, KAON_PART_BOUNDARY, peer);
  return KAON_OK;
}

kaon_status kaon_overlap_send(kaon_halo *halo, const kaon_stages *stages) {
  stages->run(stages->user, KAON_PART_GATHER, NULL);
  return kaon_halo_start(halo);
}

kaon_status kaon_overlap_run(kaon_halo *const *halos, int count, const kaon_stages *stages) {
  kaon_overlap how = KAON_OVERLAP_STAGED;
  if (!stages->lenient || halos[0]->ctx->options.overlap != KAON_OVERLAP_FUSED)
    KAON_TRY(kaon_overlap_choose(halos[0], stages->fused && count == 1, &how));
  for (int i = 0; i < count; i++) kaon_halo_count(halos[i]);
  if (how != KAON_OVERLAP_FUSED) return run_staged(halos, count, how, stages);
  stages->run(stages->user, KAON_PART_FUSED, halos[0]->peer);
  return KAON_OK;
}
