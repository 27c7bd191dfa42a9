/* energy.c - the context's energy counter over a span. Contract: energy.h. */
#include "interfaces/common/energy.h"

#include <math.h>
#include <string.h>

/* Counters of packages begin again at 2^18 J or so: 870 W for this long. */
static const double longest_on_host = 300;

static double read_counter(kaon_context *ctx) {
  double joules = NAN;
  return kaon_context_energy(ctx, &joules) == KAON_OK ? joules : NAN;
}

energy_meter energy_start(kaon_context *ctx) {
  energy_meter meter = {.ctx = ctx, .joules = read_counter(ctx)};
  meter.began = cli_now();
  return meter;
}

double energy_span(const energy_meter *meter) {
  return isnan(meter->joules) ? INFINITY : cli_now() - meter->began;
}

double energy_since(const energy_meter *meter) {
  kaon_context_info info = KAON_CONTEXT_INFO_INIT;
  double span = energy_span(meter);
  if (isinf(span) || kaon_context_query(meter->ctx, &info) != KAON_OK) return NAN;
  if (strcmp(info.backend, "cpu") == 0 && span > longest_on_host) return NAN;
  double joules = read_counter(meter->ctx) - meter->joules;
  return joules > 0 ? joules : NAN;
}
