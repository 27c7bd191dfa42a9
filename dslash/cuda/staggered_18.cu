/* staggered_18.cu - the staggered hop whose thin or long links are stored in 18 reals. */
#include "dslash/cuda/staggered_kernel.h"

KAON_STAGGERED_LAUNCHER(kaon_staggered, 18, run_site)
