/* kernels.h - the CUDA launchers of gauge_ops.h, collected in table.c. */
#pragma once

#include "gauge/gauge_ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* recode.cu, rotate.cu: all precisions */
#define KAON_X(prec)                                                                     \
  void kaon_encode_cuda_##prec(const kaon_launch *launch, const kaon_recode_args *args); \
  void kaon_decode_cuda_##prec(const kaon_launch *launch, const kaon_recode_args *args); \
  void kaon_rotate_cuda_##prec(const kaon_launch *launch, const kaon_rotate_args *args); \
  void kaon_clover_store_cuda_##prec(const kaon_launch *launch, const kaon_clover_store_args *args);
KAON_X(d)
KAON_X(s)
KAON_X(h)
#undef KAON_X

/* reorder.cu, fill.cu, observe.cu, update.cu, transform.cu, clover.cu: only double */
void kaon_reorder_cuda_d(const kaon_launch *launch, const kaon_reorder_args *args);
void kaon_fill_links_cuda_d(const kaon_launch *launch, const kaon_fill_links_args *args);
void kaon_project_cuda_d(const kaon_launch *launch, const kaon_links_args *args);
void kaon_inspect_cuda_d(const kaon_launch *launch, const kaon_links_args *args);
void kaon_plaquette_cuda_d(const kaon_launch *launch, const kaon_links_args *args);
void kaon_charge_cuda_d(const kaon_launch *launch, const kaon_links_args *args);
void kaon_update_links_cuda_d(const kaon_launch *launch, const kaon_update_links_args *args);
void kaon_transport_cuda_d(const kaon_launch *launch, const kaon_transport_args *args);
void kaon_polyakov_cuda_d(const kaon_launch *launch, const kaon_transport_args *args);
void kaon_transform_cuda_d(const kaon_launch *launch, const kaon_transform_args *args);
void kaon_clover_term_cuda_d(const kaon_launch *launch, const kaon_clover_term_args *args);
void kaon_clover_invert_cuda_d(const kaon_launch *launch, const kaon_clover_invert_args *args);
void kaon_clover_square_cuda_d(const kaon_launch *launch, const kaon_clover_square_args *args);

/* fatten.cu: double and single */
#define KAON_X(prec)                                                                           \
  void kaon_fatten_stage_cuda_##prec(const kaon_launch *launch, const kaon_fatten_args *args); \
  void kaon_line_cuda_##prec(const kaon_launch *launch, const kaon_line_args *args);           \
  void kaon_unitarise_cuda_##prec(const kaon_launch *launch, const kaon_unitarise_args *args);
KAON_X(d)
KAON_X(s)
#undef KAON_X

extern const kaon_gauge_ops kaon_gauge_ops_cuda_d, kaon_gauge_ops_cuda_s, kaon_gauge_ops_cuda_h;

#ifdef __cplusplus
}
#endif
