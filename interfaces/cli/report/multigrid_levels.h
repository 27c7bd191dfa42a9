/* multigrid_levels.h - what kaon invert says after a solve with --precond multigrid: where the time
 * goes by level, and whether BiCGStab would have been faster. */
#ifndef KAON_CLI_MULTIGRID_LEVELS_H
#define KAON_CLI_MULTIGRID_LEVELS_H

#include "interfaces/cli/command/invert.h"

/* With --report or --plot-levels: measures the parts of a cycle, prints a table, adds seconds and
 * shares to the report's "levels" and "outer", and draws the picture. Without multigrid it does
 * nothing. Collective. Exit status. */
int levels_conclude(const invert_job *job, json_t *report);

/* --- multigrid_estimate.c --- */
/* Estimates the seconds of BiCGStab for the columns that were solved, from a few steps of it. Prints
 * them if they are less than half of multigrid's, and adds "estimate" to the report. Without
 * multigrid, or with --quiet and no --report, it does nothing. Collective. Exit status. */
int estimate_conclude(const invert_job *job, json_t *report);

#endif
