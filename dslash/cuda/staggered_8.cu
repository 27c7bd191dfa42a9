/* staggered_8.cu - the staggered hop whose thin or long links are stored in 8 reals. */
#include "dslash/cuda/staggered_kernel.h"

extern "C" void KAON_EXPORT(kaon_staggered_8)(const kaon_launch *launch,
                                              const kaon_staggered_args *args) {
  if (args->naik.links[0] != NULL)
    run_recon<8, true>(launch, args);
  else
    run_recon<8, false>(launch, args);
}
