/* kernels.h - the CUDA launchers of gauge_ops.h, collected in table.c. */
#pragma once

#include "gauge/gauge_ops.h"

KAON_BEGIN_C

#define KAON_D(entry, type) \
  void kaon_links_##entry##_cuda_d(const kaon_launch *launch, const kaon_##type##_args *args);
#define KAON_S(entry, type) \
  void kaon_links_##entry##_cuda_s(const kaon_launch *launch, const kaon_##type##_args *args);
#define KAON_H(entry, type) \
  void kaon_links_##entry##_cuda_h(const kaon_launch *launch, const kaon_##type##_args *args);
KAON_GAUGE_STORAGE(KAON_D)
KAON_GAUGE_STORAGE(KAON_S)
KAON_GAUGE_STORAGE(KAON_H)
KAON_GAUGE_FATTENING(KAON_D)
KAON_GAUGE_FATTENING(KAON_S)
KAON_GAUGE_DOUBLE(KAON_D)
KAON_D(reorder, reorder)
#undef KAON_D
#undef KAON_S
#undef KAON_H

extern const kaon_gauge_ops kaon_gauge_ops_cuda_d, kaon_gauge_ops_cuda_s, kaon_gauge_ops_cuda_h;

KAON_END_C
