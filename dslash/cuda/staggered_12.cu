/* staggered_12.cu - the staggered hop whose thin or long links are stored in 12 reals. */
#include "dslash/cuda/staggered_kernel.h"

extern "C" void KAON_EXPORT(kaon_staggered_12)(const kaon_launch *launch,
                                               const kaon_staggered_args *args) {
  if (args->naik.links[0] != NULL)
    run_recon<12, true>(launch, args);
  else
    run_recon<12, false>(launch, args);
}
