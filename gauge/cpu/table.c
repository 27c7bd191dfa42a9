/* table.c - the CPU's kernel table for link fields, for one instruction set and precision. */
#include "gauge/cpu/kernels.h"

/* clang-format off */
#define KAON_X(entry_, type) .entry_ = KAON_EXPORT(kaon_links_##entry_),
const kaon_gauge_ops KAON_EXPORT(kaon_gauge_ops) = {
    .copy = KAON_EXPORT(kaon_copy_links),
    KAON_GAUGE_STORAGE(KAON_X)
#if !KAON_IS_HALF
    KAON_GAUGE_FATTENING(KAON_X)
#endif
#if defined(KAON_PREC_DOUBLE)
    KAON_GAUGE_DOUBLE(KAON_X)
#endif
};
