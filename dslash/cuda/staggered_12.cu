/* staggered_12.cu - the staggered hop whose thin or long links are stored in 12 reals. */
#include "dslash/cuda/staggered_kernel.h"

KAON_STAGGERED_LAUNCHER(kaon_staggered, 12, run_site)
