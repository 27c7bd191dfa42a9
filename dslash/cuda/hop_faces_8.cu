/* hop_faces_8.cu - the hop of a partitioned lattice on links stored in 8 reals. */
#include "dslash/cuda/hop_faces.h"

KAON_HOP_LAUNCHER(kaon_hop_faces, 8, run_faces)
