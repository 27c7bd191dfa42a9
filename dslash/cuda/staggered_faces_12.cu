/* staggered_faces_12.cu - the staggered hop of a partitioned lattice whose thin or long links are
 * stored in 12 reals. */
#include "dslash/cuda/staggered_faces.h"

extern "C" void KAON_EXPORT(kaon_staggered_faces_12)(const kaon_launch *launch,
                                                     const kaon_staggered_gather_args *gather,
                                                     const kaon_staggered_args *args) {
  run_divided<12>(launch, gather, args);
}
