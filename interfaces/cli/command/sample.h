/* sample.h - a small job of the kind that is asked for, set up to see what it takes: --dry-run. */
#ifndef KAON_CLI_SAMPLE_H
#define KAON_CLI_SAMPLE_H

#include "interfaces/common/cli.h"

typedef struct sample {
  double size;                             /* what memory grows with: sites, rows */
  double peak;                             /* resident, bytes; of a process */
  double input, operator, solver, vectors; /* kaon's objects, bytes; input: links, a matrix */
  double most;                             /* of them at once */
  int on_device;                           /* all but the input, once they are made */
  int late;                                /* it was given up */
  int itself;                              /* it is the job, not a smaller one */
  double *bound;                           /* sample_bound; else NULL */
  int code;
} sample;

/* Sets a job up and fills *s but for its peak. Exit status. */
typedef int sample_fn(void *user, sample *s);
/* The same in a child process, whose peak is its own. Before the program has threads of work. With
 * `seconds` above 0 it is ended after so many, or beyond its bound (sample_bound), which s->late
 * says and nobody prints. Exit status. */
int sample_process(sample_fn *work, void *user, double seconds, sample *s);
/* Called by the work: on a CPU its process is not to take more than most of what is free now. */
void sample_bound(sample *s, const kaon_context *ctx);
/* The line through a and b, at `size`. */
sample sample_follow(const sample *a, const sample *b, double size);

/* 1: a job of `ranks` whose fields take so many bytes, a rank's own, ends where it would run for
 * want of memory. Other ranks may have machines of their own, so of several the limit alone counts.
 */
int sample_exceeds(const cli_common *common, const kaon_context_info *info, int ranks, double most);

kaon_context_info sample_info(const kaon_context *ctx);
/* Bytes of kaon's objects now, and the most there were. */
double sample_in_use(const kaon_context *ctx);
double sample_most(const kaon_context *ctx);

#endif
