/* overlap.c - the one pipeline (lib/overlap.h). A site is written once, interior or boundary, with
 * all its directions: corners and edges need no order, and half precision rounds once. */
#include "lib/overlap.h"

kaon_status kaon_overlap_choose(const kaon_halo *halo, int fused, kaon_overlap *how) {
  const kaon_overlap wanted = halo->ctx->options.overlap;
  const int possible = fused && halo->peer != NULL;
  *how =
      wanted == KAON_OVERLAP_AUTO ? (possible ? KAON_OVERLAP_FUSED : KAON_OVERLAP_STAGED) : wanted;
  if (*how != KAON_OVERLAP_FUSED || possible) return KAON_OK;
  return kaon_fail(
      halo->ctx, KAON_ERR_UNSUPPORTED,
      "overlap: fused hops need devices that store into each other's memory (transport "
      "peer); choose overlap staged, none or auto");
}

kaon_status kaon_overlap_run(kaon_halo *halo, const kaon_stages *stages) {
  kaon_overlap how = halo->ctx->options.overlap;
  if (!stages->never_fused)
    KAON_TRY(kaon_overlap_choose(halo, stages->fused != NULL, &how));
  else if (how != KAON_OVERLAP_NONE)
    how = KAON_OVERLAP_STAGED;
  if (how == KAON_OVERLAP_FUSED) {
    stages->fused(stages->user);
    return KAON_OK;
  }
  stages->gather(stages->user);
  KAON_TRY(kaon_halo_start(halo));
  if (how == KAON_OVERLAP_STAGED) stages->interior(stages->user, 0);
  const kaon_status status = kaon_halo_finish(halo);
  halo->ctx->torn =
      status != KAON_OK && how == KAON_OVERLAP_STAGED; /* the boundary's sums are missing */
  KAON_TRY(status);
  if (how == KAON_OVERLAP_NONE) stages->interior(stages->user, 1);
  stages->boundary(stages->user);
  return KAON_OK;
}
