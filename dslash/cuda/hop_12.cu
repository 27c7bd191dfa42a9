/* hop_12.cu - the hop on links stored in 12 reals. */
#include "dslash/cuda/hop_staged.h"

extern "C" void KAON_EXPORT(kaon_hop_12)(const kaon_launch *launch, const kaon_hop_args *args) {
  if (!run_staged<12>(launch, args)) run_recon<12>(launch, args);
}
