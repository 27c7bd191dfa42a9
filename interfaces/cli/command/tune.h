/* tune.h - what both parts of kaon tune share: launch choices (command_tune.c) and options of
 * multigrid (tune_multigrid.c). */
#ifndef KAON_CLI_TUNE_H
#define KAON_CLI_TUNE_H

#include "interfaces/common/cli.h"

typedef struct tune_args {
  cli_common common;
  cli_lattices lattices;
  unsigned precision, reconstruct; /* bits: double, single, half; 18, 12, 8 */
  cli_counts columns;
  int samples;
  int grid[4];
  const char *output;
  const char *gauge, *csw; /* NULL: not given */
  double kappa, tol;
  int boundary_t;
} tune_args;

/* With --gauge: measures options of --multigrid, prints a table and the fastest. Exit status. */
int tune_multigrid(const tune_args *args);

#endif
