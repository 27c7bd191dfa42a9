/* hop_8.cu - the hop on links stored in 8 reals. */
#include "dslash/cuda/hop_staged.h"

KAON_HOP_LAUNCHER(kaon_hop, 8, run_site)
KAON_HOP_LAUNCHER(kaon_hop_staged, 8, run_staged)
