/* commands.h - the commands of the kaon program. A new one is a file command_NAME.c, a line here
 * and a row in main.c. */
#ifndef KAON_CLI_COMMANDS_H
#define KAON_CLI_COMMANDS_H

#include "interfaces/common/cli.h"

extern const cli_command command_info, command_gauge, command_generate, command_invert,
    command_solve, command_tune, command_bench;

/* kaon bench ... is kaon-bench ...: becomes that program, found beside this one or on PATH, and
 * returns only where there is none. argv: of main. */
void bench_become(int argc, char **argv);

/* kaon tune: launch choices (command_tune.c), or options of multigrid (tune_multigrid.c). */
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
