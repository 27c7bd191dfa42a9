/* staggered_faces_8.cu - the staggered hop of a partitioned lattice whose thin or long links are
 * stored in 8 reals. */
#include "dslash/cuda/staggered_faces.h"

KAON_STAGGERED_LAUNCHER(kaon_staggered_faces, 8, run_faces)
