/* backend.c - the CUDA tables. A folder without kernels has NULL entries. */
#include "lib/cuda/backend.h"

#include "blas/cuda/kernels.h"
#include "blas/cuda/library.h"
#include "dslash/coarse/coarse_ops.h"
#include "dslash/cuda/kernels.h"
#include "gauge/cuda/kernels.h"
#include "lib/cuda/device.h"
#include "lib/cuda/memory/import.h"
#include "lib/cuda/queue/launch_list.h"
#include "lib/cuda/ranks/ranks.h"
#include "multigrid/transfer_ops.h"
#include "sparse/cuda/kernels.h"

/* Defines .entry = kaon_<entry>_cuda_<precision>, one for each row of blas_ops.h. */
#define KAON_D(entry_, formula) .entry_ = kaon_##entry_##_cuda_d,
#define KAON_S(entry_, formula) .entry_ = kaon_##entry_##_cuda_s,
#define KAON_H(entry_, formula) .entry_ = kaon_##entry_##_cuda_h,
static const kaon_blas_ops blas_d = {KAON_BLAS_OPS(KAON_D)};
static const kaon_blas_ops blas_s = {KAON_BLAS_OPS(KAON_S)};
static const kaon_blas_ops blas_h = {KAON_BLAS_OPS(KAON_H)};
static const kaon_domain_ops domain_d = {kaon_domain_mr_cuda_d, kaon_domain_mask_cuda_d};
static const kaon_domain_ops domain_s = {kaon_domain_mr_cuda_s, kaon_domain_mask_cuda_s};
static const kaon_domain_ops domain_h = {kaon_domain_mr_cuda_h, kaon_domain_mask_cuda_h};
#define KAON_PRECOND_D(entry_, formula) .entry_ = kaon_precond_##entry_##_cuda_d,
#define KAON_PRECOND_S(entry_, formula) .entry_ = kaon_precond_##entry_##_cuda_s,
static const kaon_precond_ops precond_d = {KAON_PRECOND_OPS(KAON_PRECOND_D)};
static const kaon_precond_ops precond_s = {KAON_PRECOND_OPS(KAON_PRECOND_S)};
/* For the library's table, whose kernels do not add sums. */
static const kaon_precond_ops scaled_d = {.scaled = kaon_precond_scaled_cuda_d};
static const kaon_precond_ops scaled_s = {.scaled = kaon_precond_scaled_cuda_s};
#define KAON_MEASURE(prec) \
  { .source = kaon_source_cuda_##prec, .meson = kaon_meson_cuda_##prec }
static const kaon_measure_ops measure[3] = {KAON_MEASURE(d), KAON_MEASURE(s), KAON_MEASURE(h)};
static const kaon_import_ops import_ops = {.import_values = kaon_vector_import_values_cuda,
                                           .export_values = kaon_vector_export_values_cuda,
                                           .find = kaon_vector_find_unstorable_cuda,
                                           .copy_matrices = kaon_matrix_copy_cuda};
static const kaon_convert_ops convert = {.convert = kaon_convert_cuda};

/* cuBLAS instead of kaon's vector kernels. It supports neither recordings nor ranks, nor kernels
 * that write sums to the scalars. */
const kaon_backend kaon_cuda_library_table = {
    .name = "cuda",
    .isa = "",
    .width = 32,
    .access = 16,
    .host_accessible = 0,
    .host_scalars = 1,
    .computed_neighbours = 1,
    .field_bytes = (size_t)1 << 36,
    .open = kaon_cuda_library_open,
    .close = kaon_cuda_library_close,
    .enter = kaon_cuda_enter,
    .energy = kaon_cuda_energy,
    .memory = &kaon_cuda_memory,
    .import_ops = &import_ops,
    .convert = &convert,
    .blas = {&kaon_blas_ops_library_d, &kaon_blas_ops_library_s, NULL},
    .precond = {&scaled_d, &scaled_s, NULL},
    .sparse = {&kaon_sparse_ops_cuda_d, &kaon_sparse_ops_cuda_s, NULL},
    .gauge = {&kaon_gauge_ops_cuda_d, &kaon_gauge_ops_cuda_s, &kaon_gauge_ops_cuda_h},
    .dslash = {&kaon_dslash_ops_cuda_d, &kaon_dslash_ops_cuda_s, &kaon_dslash_ops_cuda_h},
    .staggered = {&kaon_staggered_ops_cuda_d, &kaon_staggered_ops_cuda_s,
                  &kaon_staggered_ops_cuda_h},
    .measure = {&measure[0], &measure[1], &measure[2]},
};

extern const kaon_coarse_ops kaon_coarse_ops_cuda_d, kaon_coarse_ops_cuda_s;
extern const kaon_transfer_ops kaon_transfer_ops_cuda_d, kaon_transfer_ops_cuda_s,
    kaon_transfer_ops_cuda_h;
extern const kaon_resident_ops kaon_resident_ops_cuda_d, kaon_resident_ops_cuda_s;
const kaon_resident_ops *const kaon_cuda_resident[2] = {&kaon_resident_ops_cuda_d,
                                                        &kaon_resident_ops_cuda_s};

const kaon_backend kaon_cuda_table = {
    .name = "cuda",
    .isa = "",
    .width = 32,
    .access = 16,
    .host_accessible = 0,
    .computed_neighbours = 1,
    .field_bytes = (size_t)1 << 36, /* 2^32 packets of 16 bytes (dslash/cuda/site.h) */
    .open = kaon_cuda_open,
    .close = kaon_cuda_close,
    .enter = kaon_cuda_enter,
    .energy = kaon_cuda_energy,
    .delay_start = kaon_cuda_delay_start,
    .delay_finish = kaon_cuda_delay_finish,
    .invert = kaon_cuda_invert,
    .memory = &kaon_cuda_memory,
    .import_ops = &import_ops,
    .record = &kaon_cuda_record,
    .ranks = &kaon_cuda_ranks_table,
    .convert = &convert,
    .blas = {&blas_d, &blas_s, &blas_h},
    .domain = {&domain_d, &domain_s, &domain_h},
    .precond = {&precond_d, &precond_s, NULL},
    .gauge = {&kaon_gauge_ops_cuda_d, &kaon_gauge_ops_cuda_s, &kaon_gauge_ops_cuda_h},
    .dslash = {&kaon_dslash_ops_cuda_d, &kaon_dslash_ops_cuda_s, &kaon_dslash_ops_cuda_h},
    .staggered = {&kaon_staggered_ops_cuda_d, &kaon_staggered_ops_cuda_s,
                  &kaon_staggered_ops_cuda_h},
    .measure = {&measure[0], &measure[1], &measure[2]},
    .sparse = {&kaon_sparse_ops_cuda_d, &kaon_sparse_ops_cuda_s, NULL},
    .coarse = {&kaon_coarse_ops_cuda_d, &kaon_coarse_ops_cuda_s},
    .transfer = {&kaon_transfer_ops_cuda_d, &kaon_transfer_ops_cuda_s, &kaon_transfer_ops_cuda_h},
};
