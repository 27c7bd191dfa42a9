/* forecast.h - how much memory a job takes, computed from two small jobs of the same kind. A small
 * job creates the objects of the real one in this process, and the context's pool counts their
 * bytes. These are extrapolated linearly to the real size. */
#ifndef KAON_CLI_FORECAST_H
#define KAON_CLI_FORECAST_H

#include "interfaces/common/cli.h"

/* All members but `size` are in bytes. forecast_follow extrapolates all of them. */
typedef struct forecast {
  double size;                             /* what memory grows with: sites, rows */
  double input, operator, solver, vectors; /* the objects; input: links or matrix */
  double fields;                           /* most that objects took at once */
  double held;                             /* most that the pool held, idle blocks included */
  double host;                             /* most that the program took beside the pool */
} forecast;

/* Extrapolates linearly from a and b to `size`. */
forecast forecast_follow(const forecast *a, const forecast *b, double size);
/* Host memory of the program without the job's objects: its peak so far plus a constant. Call it
 * before the small jobs. */
double forecast_program(void);
/* Peak host memory of the process: `program` (from forecast_program) plus the forecast. A device's
 * pool is not host memory. */
double forecast_peak(const forecast *f, double program, const kaon_context_info *info);
/* Adds what the pool has counted: fields and held. */
void forecast_count(const kaon_context *ctx, forecast *f);
kaon_context_info forecast_info(const kaon_context *ctx);
/* The limit of automatic deflation for a small job that is this part of a job, so that it deflates
 * if the job will. */
double forecast_deflation(double part);
double forecast_now(const kaon_context *ctx); /* bytes of the objects now */
/* 1: a job whose fields take `need` bytes on each of `ranks` does not fit. Several ranks may run on
 * several machines, so only --memory-limit counts for them. */
int forecast_exceeds(const cli_common *common, const kaon_context_info *info, int ranks,
                     double need);
/* 1: a forecast is needed. 0: there are several ranks, the free memory is not known, or it is much
 * more than `rough`, an estimate of the job's bytes. */
int forecast_needed(const kaon_context_info *info, double rough);
/* Prints the error "JOB NEED bytes on DEVICE, where ... are free; ADVICE". Returns the exit
 * status. */
int forecast_refuse(const cli_common *common, const char *job, double need,
                    const kaon_context_info *info, const char *advice);
void forecast_print_free(const cli_common *common, const forecast *f,
                         const kaon_context_info *info);

#endif
