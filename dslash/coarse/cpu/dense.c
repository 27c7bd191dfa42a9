/* dense.c - products with one dense matrix for a whole lattice on the CPU (coarse_ops.h). */
#include "dslash/coarse/cpu/kernels.h"

void KAON_EXPORT(kaon_coarse_collect)(const kaon_launch *launch, const kaon_dense_args *args) {
  (void)launch, (void)args;
}

void KAON_EXPORT(kaon_coarse_dense)(const kaon_launch *launch, const kaon_dense_args *args) {
  (void)launch, (void)args;
}
