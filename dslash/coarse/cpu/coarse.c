/* coarse.c - hops with dense matrices on the CPU (coarse_ops.h). */
#include "dslash/coarse/cpu/kernels.h"

const kaon_coarse_ops KAON_EXPORT(kaon_coarse_ops) = {.collect = KAON_EXPORT(kaon_coarse_collect),
                                                      .dense = KAON_EXPORT(kaon_coarse_dense)};
