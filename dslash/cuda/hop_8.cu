/* hop_8.cu - the hop on links stored in 8 reals. */
#include "dslash/cuda/hop_staged.h"

extern "C" void KAON_EXPORT(kaon_hop_8)(const kaon_launch *launch, const kaon_hop_args *args) {
  if (!run_staged<8>(launch, args)) run_recon<8>(launch, args);
}
