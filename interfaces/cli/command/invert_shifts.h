/* invert_shifts.h - kaon invert --shifts: (A + sigma_i) x = b for several sigma at the cost of the
 * smallest one. A is what is solved otherwise, as a positive operator: of staggered actions the
 * even-odd A = 4 mass^2 - D_eo D_oe, else A^dagger A, even-odd or (--even-odd none) whole. */
#ifndef KAON_CLI_INVERT_SHIFTS_H
#define KAON_CLI_INVERT_SHIFTS_H

#include "interfaces/common/cli.h"
#include "interfaces/common/problem/problem.h"

struct invert_job;

typedef struct shifts {
  int count; /* 0: --shifts was not given */
  double sigma[KAON_MULTISHIFT_MAX];
  kaon_multishift *solver;
  kaon_vector *b, *x;        /* of the solved space: a batch's columns; `count` times as many */
  kaon_column_report *batch; /* of x */
  kaon_vector *kept[KAON_MULTISHIFT_MAX]; /* --output: all columns of a shift, on all sites */
  kaon_column_report *solves;             /* [shift * columns + column] */
  const double *writing;                  /* the shift whose file is under way, or NULL */
  int applications;
} shifts;

/* "0.1,0.2" into *s. Exit status. */
int shifts_parse(const char *text, shifts *s);
/* Options that do not go together, shifts that cannot be solved; before any links are read. Exit
 * status. */
int shifts_check(struct invert_job *job);
/* Solver and vectors; once the operator is there. Exit status. */
int shifts_take(struct invert_job *job);
/* The first batch, the largest: what a solve takes is taken then. Exit status. */
int shifts_memory_trial(struct invert_job *job);
/* All columns, batch after batch. Exit status. */
int shifts_solve(struct invert_job *job);
/* What is printed, reported and written. Exit status. */
int shifts_conclude(struct invert_job *job);
void shifts_close(struct invert_job *job);
/* "shifts", "applications" and "solves" of a report. */
void shifts_describe(const struct invert_job *job, json_t *report);

#define SHIFTS_TEXT                                                                               \
  "solve (A + S) x = b for each of these, in one Krylov space. Staggered: A = 4 mass^2 - D_eo "   \
  "D_oe; else A^dagger A. It is solved on the even sites, with the source's part there; with "    \
  "--even-odd none on all sites (A^dagger A). --output FILE writes FILE.0, FILE.1, ..., one for " \
  "each shift in this order, and no FILE.unconverged. It takes no --guess."

#endif
