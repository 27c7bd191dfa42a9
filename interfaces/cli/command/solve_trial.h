/* solve_trial.h - a small job of kaon solve, set up to see what it takes: for solve_plan.c. */
#ifndef KAON_CLI_SOLVE_TRIAL_H
#define KAON_CLI_SOLVE_TRIAL_H

#include "interfaces/cli/command/sample.h"
#include "interfaces/cli/command/solve.h"

typedef struct trial {
  const solve_args *args;
  int inside; /* in this process: fields alone, since a process with a device cannot be divided */
  int method; /* linear_args.method where none was given */
  char matrix[256]; /* empty: the job's own */
  char file[512];   /* not empty: of a grid of `edge` points a side, written there and read back */
  int edge, points; /* entries of an inner row: 7 or 27 */
  double part;      /* its rows over those that a rank of the job has */
} trial;

/* Entries of the grid's matrix. */
double trial_entries(const trial *t);
/* Fills *s. s->late: it was given up, and nothing was said. Exit status. */
int trial_measure(const trial *t, sample *s);

#endif
