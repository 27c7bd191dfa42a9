/* hop_18.cu - the hop on links stored in 18 reals. */
#include "dslash/cuda/hop_staged.h"

extern "C" void KAON_EXPORT(kaon_hop_18)(const kaon_launch *launch, const kaon_hop_args *args) {
  if (!run_staged<18>(launch, args)) run_recon<18>(launch, args);
}
