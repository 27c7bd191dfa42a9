/* energy.h - joules over a span of work, for reports. */
#ifndef KAON_COMMON_ENERGY_H
#define KAON_COMMON_ENERGY_H

#include "interfaces/common/cli.h"

typedef struct energy_meter {
  kaon_context *ctx;
  double joules, began; /* NaN joules: no counter */
} energy_meter;

energy_meter energy_start(kaon_context *ctx);
/* Seconds since the start. Infinity without a counter, so that no one waits for a longer span. */
double energy_span(const energy_meter *meter);
/* Joules since the start. NaN: no counter, a span too short for its resolution, or on the CPU so
 * long that it may have wrapped (docs/conventions.md). */
double energy_since(const energy_meter *meter);

#endif
