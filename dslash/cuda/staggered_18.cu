/* staggered_18.cu - the staggered hop whose thin or long links are stored in 18 reals. */
#include "dslash/cuda/staggered_kernel.h"

extern "C" void KAON_EXPORT(kaon_staggered_18)(const kaon_launch *launch,
                                               const kaon_staggered_args *args) {
  if (args->naik.links[0] != NULL)
    run_recon<18, true>(launch, args);
  else
    run_recon<18, false>(launch, args);
}
