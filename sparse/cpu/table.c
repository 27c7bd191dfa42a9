/* table.c - the table of sparse kernels of an instruction set and precision (sparse_ops.h). */
#include "sparse/cpu/kernels.h"

static void spmv(const kaon_launch *launch, const kaon_spmv_args *args) {
  KAON_EXPORT(kaon_spmv)(launch, args);
}

static void pick(const kaon_launch *launch, const kaon_pick_args *args) {
  KAON_EXPORT(kaon_pick)(launch, args);
}

static void levels(const kaon_launch *launch, const kaon_levels_args *args) {
  KAON_EXPORT(kaon_levels)(launch, args);
}

static void relax(const kaon_launch *launch, const kaon_relax_args *args) {
  KAON_EXPORT(kaon_relax)(launch, args);
}

static void project(const kaon_launch *launch, const kaon_project_args *args) {
  KAON_EXPORT(kaon_row_project)(launch, args);
}

static int sums(const kaon_stored_matrix *matrix, int nrhs) {
  (void)matrix, (void)nrhs;
  return KAON_SUMS_NORM | KAON_SUMS_DOT | KAON_SUMS_RECURRENCES;
}

const kaon_sparse_ops KAON_EXPORT(kaon_sparse_ops) = {
    .sums = sums, .spmv = spmv, .pick = pick, .levels = levels, .relax = relax, .project = project};
