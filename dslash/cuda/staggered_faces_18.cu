/* staggered_faces_18.cu - the staggered hop of a partitioned lattice whose thin or long links are
 * stored in 18 reals. */
#include "dslash/cuda/staggered_faces.h"

extern "C" void KAON_EXPORT(kaon_staggered_faces_18)(const kaon_launch *launch,
                                                     const kaon_staggered_gather_args *gather,
                                                     const kaon_staggered_args *args) {
  run_divided<18>(launch, gather, args);
}
