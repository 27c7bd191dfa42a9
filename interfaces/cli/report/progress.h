/* progress.h - what a solve shows while it runs: on a terminal one line that is redrawn (columns
 * done, residual bar, time left), elsewhere a line a decade. Also the monitors that
 * Ctrl-C works through. */
#ifndef KAON_CLI_PROGRESS_H
#define KAON_CLI_PROGRESS_H

#include "interfaces/common/cli.h"

typedef struct progress {
  int shown;    /* 0: --quiet */
  int terminal; /* stderr is one */
  int columns, first;
  double tol;
  double *residual; /* last seen, of each column */
  int *seen;        /* and the last step of any column at that time */
  double started, drawn;
  double decade; /* of the last plain line */
  int iteration;
} progress;

/* For a batch of `columns` beginning at column `first`. 0: out of memory. */
int progress_start(const cli_common *common, int first, int columns, double tol, progress *p);
/* A kaon_monitor_fn whose user is a progress. */
int progress_monitor(void *user, int iteration, int column, double residual);
void progress_end(progress *p);

/* The set-up of --precond multigrid: on a terminal one line, else nothing. */
typedef struct setup_progress {
  int shown; /* 1: a terminal, and not --quiet */
  int rounds;
} setup_progress;
void setup_progress_start(const cli_common *common, int rounds, setup_progress *p);
/* kaon_multigrid_options.monitor, whose user is a setup_progress. */
int setup_progress_monitor(void *user, int round, int level, double unused);
void setup_progress_end(const setup_progress *p);

#endif
