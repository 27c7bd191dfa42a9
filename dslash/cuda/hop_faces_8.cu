/* hop_faces_8.cu - the hop of a partitioned lattice on links stored in 8 reals. */
#include "dslash/cuda/hop_faces.h"

extern "C" void KAON_EXPORT(kaon_hop_faces_8)(const kaon_launch *launch,
                                              const kaon_gather_args *gather,
                                              const kaon_hop_args *args) {
  run_divided<8>(launch, gather, args);
}
