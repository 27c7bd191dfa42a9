/* coarse.cu - hops with dense matrices on the GPU (coarse_ops.h). */
#include "dslash/coarse/coarse_ops.h"
#include "lib/core/kernel.h"

extern "C" const kaon_coarse_ops KAON_EXPORT(kaon_coarse_ops) = {};
