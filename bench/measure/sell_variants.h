/* sell_variants.h - the kernel of SELL and ELL by one column with other batches and other numbers
 * of warps, for spmv_times. */
#ifndef SELL_VARIANTS_H
#define SELL_VARIANTS_H

#include "sparse/sparse_ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* "6x4": six blocks of threads a multiprocessor, four loads of a row in flight; the first ones are
 * for shared lists of columns, the others for columns of a block's own. */
enum { sell_variants = 10, sell_variants_shared = 6 };
static const char *const sell_variant_names[sell_variants] = {"6x4", "5x4", "6x8", "5x8", "4x8",
                                                              "8x4", "6x4", "5x4", "6x8", "4x8"};

static inline int sell_variant_takes(int v, const kaon_stored_matrix *m) {
  return (v < sell_variants_shared) == (m->columns == KAON_COLUMNS_SHARED);
}

/* Real values, a warp a block of rows, no ghosts. */
void sell_variant_d(const kaon_launch *launch, const kaon_spmv_args *args, int variant);
void sell_variant_s(const kaon_launch *launch, const kaon_spmv_args *args, int variant);

#ifdef __cplusplus
}
#endif

#endif
