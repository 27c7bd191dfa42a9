/* staggered_faces_18.cu - the staggered hop of a partitioned lattice whose thin or long links are
 * stored in 18 reals. */
#include "dslash/cuda/staggered_faces.h"

KAON_STAGGERED_LAUNCHER(kaon_staggered_faces, 18, run_faces)
