/* sums_apart.h - the sums of a product whose kernel leaves none: by the kernel of vectors. */
#ifndef KAON_SPARSE_CUDA_SUMS_APART_H
#define KAON_SPARSE_CUDA_SUMS_APART_H

#include "blas/cuda/kernels.h"
#include "sparse/cuda/rows.h"

/* The sums of all rows, when they are written. */
static inline void sums_apart(const kaon_launch *launch, const kaon_spmv_args *args) {
  const kaon_stored_matrix *m = args->matrix;
  kaon_update_args sums = {};
  sums.shape.nblocks = m->blocks;
  sums.shape.width = KAON_LANES;
  sums.shape.ncomp = m->reals;
  sums.shape.nrhs = args->nrhs;
  sums.shape.complex_space = m->reals == 2;
  sums.v[0] = args->w.data != NULL ? args->w : args->y;
  sums.v[1] = args->y;
  sums.gate = args->gate;
  sums.sum = args->sum;
  sums.sum.slot[0] = args->sum.slot[1];
  sums.sum.slot[1] = args->sum.slot[2];
  sums.sum.slot[2] = args->sum.slot[0];
  KAON_EXPORT(kaon_dot)(launch, &sums);
}

#endif
