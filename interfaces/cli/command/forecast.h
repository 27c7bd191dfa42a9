/* forecast.h - how much memory a job takes, computed from small jobs of the same kind. A small job
 * creates the objects of the real one in this process. The context's pool counts their bytes, and
 * the count is followed linearly to the real size. */
#ifndef KAON_CLI_FORECAST_H
#define KAON_CLI_FORECAST_H

#include "interfaces/common/cli.h"

/* Bytes, but for `size`. All members are followed linearly (forecast_follow). */
typedef struct forecast {
  double size;                             /* what memory grows with: sites, rows */
  double input, operator, solver, vectors; /* the objects; input: links or matrix */
  double fields;                           /* most that objects took at once */
  double held;                             /* most that the pool held, idle blocks included */
  double host;                             /* most that the program took beside the pool */
} forecast;

/* The line through a and b, at `size`. */
forecast forecast_follow(const forecast *a, const forecast *b, double size);
/* Peak of the process. Call it before the small jobs, with the context of the forecast: the program
 * takes what it has now, plus a constant, plus the forecast. A device's pool is not host memory. */
double forecast_program(void);
double forecast_peak(const forecast *f, double program, const kaon_context_info *info);
/* Adds what the pool has counted: fields and held. */
void forecast_count(const kaon_context *ctx, forecast *f);
kaon_context_info forecast_info(const kaon_context *ctx);
double forecast_now(const kaon_context *ctx); /* bytes of the objects now */
/* 1: a job whose fields take `need` bytes on each of `ranks` does not fit. Several ranks may run on
 * several machines, so only --memory-limit counts for them. */
int forecast_exceeds(const cli_common *common, const kaon_context_info *info, int ranks,
                     double need);
/* 0: no forecast is needed: there are several ranks, the free memory is not known, or it is much
 * more than the roughly `rough` bytes of the job. */
int forecast_needed(const kaon_context_info *info, double rough);
/* "JOB NEED bytes on DEVICE, where ... are free; ADVICE". Returns the exit status. */
int forecast_refuse(const cli_common *common, const char *job, double need,
                    const kaon_context_info *info, const char *advice);
void forecast_print_free(const cli_common *common, const forecast *f,
                         const kaon_context_info *info);

#endif
