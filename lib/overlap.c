/* overlap.c - the one pipeline (lib/overlap.h). A site is written once, interior or boundary, with
 * all its directions: corners and edges need no order, and half precision rounds once. */
#include "lib/overlap.h"

kaon_status kaon_overlap_run(kaon_halo *halo, const kaon_stages *stages) {
  stages->gather(stages->user);
  KAON_TRY(kaon_halo_start(halo));
  stages->interior(stages->user);
  KAON_TRY(kaon_halo_finish(halo));
  stages->boundary(stages->user);
  return KAON_OK;
}
