/* hop_faces_12.cu - the hop of a partitioned lattice on links stored in 12 reals. */
#include "dslash/cuda/hop_faces.h"

extern "C" void KAON_EXPORT(kaon_hop_faces_12)(const kaon_launch *launch,
                                               const kaon_gather_args *gather,
                                               const kaon_hop_args *args) {
  run_divided<12>(launch, gather, args);
}
