/* forecast.c - a job's memory from that of small jobs. Contract: forecast.h. */
#include "interfaces/cli/command/forecast.h"

#include <math.h>
#include <string.h>

/* Code that the program has not run yet, stacks of its threads, text of reports. */
static const double program_later = 0.8e6;
/* Kernels that a device's driver loads when they first run. */
static const double kernels_later = 20e6;

kaon_context_info forecast_info(const kaon_context *ctx) {
  kaon_context_info info = KAON_CONTEXT_INFO_INIT;
  info.memory_free = -1;
  (void)kaon_context_query(ctx, &info);
  return info;
}

double forecast_deflation(double part) {
  const kaon_lab_options lab = KAON_LAB_OPTIONS_INIT;
  return part * lab.deflation_limit;
}

double forecast_now(const kaon_context *ctx) {
  return (double)forecast_info(ctx).memory_now;
}

void forecast_count(const kaon_context *ctx, forecast *f) {
  const kaon_context_info info = forecast_info(ctx);
  f->fields = (double)info.memory_peak;
  f->held = (double)info.memory_held;
}

forecast forecast_follow(const forecast *a, const forecast *b, double size) {
  enum { MEMBERS = sizeof(forecast) / sizeof(double) };
  const double part = (size - a->size) / (b->size - a->size);
  double from[MEMBERS], to[MEMBERS];
  forecast f;
  memcpy(from, a, sizeof from);
  memcpy(to, b, sizeof to);
  for (int i = 0; i < MEMBERS; i++) to[i] = from[i] + (to[i] - from[i]) * part;
  memcpy(&f, to, sizeof f);
  return f;
}

double forecast_program(void) {
  return cli_peak_resident() + program_later;
}

double forecast_peak(const forecast *f, double program, const kaon_context_info *info) {
  return program + f->host + (strcmp(info->backend, "cuda") == 0 ? kernels_later : f->held);
}

int forecast_exceeds(const cli_common *common, const kaon_context_info *info, int ranks,
                     double need) {
  if (ranks > 1) return !isnan(common->memory_limit) && need > 0x1p30 * common->memory_limit;
  return info->memory_free >= 0 && need > (double)info->memory_free;
}

int forecast_needed(const kaon_context_info *info, double rough) {
  enum { PLENTY = 16 };
  return info->ranks == 1 && info->memory_free >= 0 && PLENTY * rough >= (double)info->memory_free;
}

int forecast_refuse(const cli_common *common, const char *job, double need,
                    const kaon_context_info *info, const char *advice) {
  char text[2][32];
  cli_error("%s %s (%.0f bytes) on %s, where %s (%lld bytes) are free%s; %s", job,
            cli_bytes(need, text[0]), need, info->device,
            cli_bytes((double)info->memory_free, text[1]), (long long)info->memory_free,
            isnan(common->memory_limit) ? "" : " within --memory-limit", advice);
  return EXIT_DEVICE;
}

void forecast_print_free(const cli_common *common, const forecast *f,
                         const kaon_context_info *info) {
  char text[2][32];
  if (info->memory_free >= 0)
    cli_print(common, "  on %s: fields %s, where %s are free\n", info->device,
              cli_bytes(f->fields, text[0]), cli_bytes((double)info->memory_free, text[1]));
}
