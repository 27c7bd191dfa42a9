/* staggered_8.cu - the staggered hop whose thin or long links are stored in 8 reals. */
#include "dslash/cuda/staggered_kernel.h"

KAON_STAGGERED_LAUNCHER(kaon_staggered, 8, run_site)
