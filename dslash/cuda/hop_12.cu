/* hop_12.cu - the hop on links stored in 12 reals. */
#include "dslash/cuda/hop_staged.h"

KAON_HOP_LAUNCHER(kaon_hop, 12, run_site)
KAON_HOP_LAUNCHER(kaon_hop_staged, 12, run_staged)
