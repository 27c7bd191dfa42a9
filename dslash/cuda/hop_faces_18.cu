/* hop_faces_18.cu - the hop of a partitioned lattice on links stored in 18 reals. */
#include "dslash/cuda/hop_faces.h"

extern "C" void KAON_EXPORT(kaon_hop_faces_18)(const kaon_launch *launch,
                                               const kaon_gather_args *gather,
                                               const kaon_hop_args *args) {
  run_divided<18>(launch, gather, args);
}
