/* hop_faces_12.cu - the hop of a partitioned lattice on links stored in 12 reals. */
#include "dslash/cuda/hop_faces.h"

KAON_HOP_LAUNCHER(kaon_hop_faces, 12, run_faces)
