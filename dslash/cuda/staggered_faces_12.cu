/* staggered_faces_12.cu - the staggered hop of a partitioned lattice whose thin or long links are
 * stored in 12 reals. */
#include "dslash/cuda/staggered_faces.h"

KAON_STAGGERED_LAUNCHER(kaon_staggered_faces, 12, run_faces)
