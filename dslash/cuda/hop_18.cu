/* hop_18.cu - the hop on links stored in 18 reals. */
#include "dslash/cuda/hop_staged.h"

KAON_HOP_LAUNCHER(kaon_hop, 18, run_site)
#if !defined(KAON_PREC_DOUBLE) /* the registers do not hold eight such links */
KAON_HOP_LAUNCHER(kaon_hop_staged, 18, run_staged)
#endif
