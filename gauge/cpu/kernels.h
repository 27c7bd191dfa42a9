/* kernels.h - the CPU kernels of gauge/, one file for each topic, collected in table.c. */
#pragma once

#include <math.h>

#include "gauge/gauge_ops.h"
#include "lib/core/kernel.h"

#define KAON_X(entry, type) \
  void KAON_EXPORT(kaon_links_##entry)(const kaon_launch *launch, const kaon_##type##_args *args);
KAON_GAUGE_STORAGE(KAON_X)
KAON_GAUGE_FATTENING(KAON_X)
KAON_GAUGE_DOUBLE(KAON_X)
#undef KAON_X
void KAON_EXPORT(kaon_copy_links)(const kaon_launch *launch, void *to, const void *from,
                                  size_t bytes);
