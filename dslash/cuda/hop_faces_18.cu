/* hop_faces_18.cu - the hop of a partitioned lattice on links stored in 18 reals. */
#include "dslash/cuda/hop_faces.h"

KAON_HOP_LAUNCHER(kaon_hop_faces, 18, run_faces)
