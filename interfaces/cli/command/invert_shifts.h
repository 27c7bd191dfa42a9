/* invert_shifts.h - kaon invert --shifts: solves (A + sigma_i) x = b for several sigma_i in one
 * Krylov space. With staggered actions A is the even-odd operator 4 mass^2 - D_eo D_oe. With the
 * others it is M^dagger M of the operator M that a solve without shifts uses: the even-odd one, or
 * with --even-odd none the whole one. */
#ifndef KAON_CLI_INVERT_SHIFTS_H
#define KAON_CLI_INVERT_SHIFTS_H

#include "interfaces/common/cli.h"
#include "interfaces/common/problem/problem.h"

struct invert_job;

typedef struct shifts {
  int count; /* 0: --shifts was not given */
  double sigma[KAON_MULTISHIFT_MAX];
  kaon_multishift *solver;
  kaon_vector *b, *x;        /* in the space of A: the columns of a batch; x has `count` times as
                                many */
  kaon_column_report *batch; /* one for each column of x */
  kaon_vector *kept[KAON_MULTISHIFT_MAX]; /* --output: all columns of a shift, on all sites */
  kaon_column_report *solves;             /* [shift * columns + column] */
  const double *writing;                  /* the shift whose file is being written, or NULL */
  int applications;
} shifts;

/* Reads "0.1,0.2" into *s. Exit status. */
int shifts_parse(const char *text, shifts *s);
/* Refuses options that exclude each other and shifts that cannot be solved. Call it before links
 * are read. Exit status. */
int shifts_check(struct invert_job *job);
/* Creates solver and vectors. The operator must exist. Exit status. */
int shifts_take(struct invert_job *job);
/* Solves the first batch, which is the largest, to measure the memory of a solve. Exit status. */
int shifts_memory_trial(struct invert_job *job);
/* Solves all columns, batch after batch. Exit status. */
int shifts_solve(struct invert_job *job);
/* Prints the results, and writes report and output files. Exit status. */
int shifts_conclude(struct invert_job *job);
void shifts_close(struct invert_job *job);
/* Adds "shifts", "applications" and "solves" to a report. */
void shifts_describe(const struct invert_job *job, json_t *report);

#define SHIFTS_TEXT                                                                               \
  "solve (A + S) x = b for each of these, in one Krylov space. Staggered: A = 4 mass^2 - D_eo "   \
  "D_oe; else A^dagger A. It is solved on the even sites, with the source's part there; with "    \
  "--even-odd none on all sites (A^dagger A). --output FILE writes FILE.0, FILE.1, ..., one for " \
  "each shift in this order, and no FILE.unconverged. It takes no --guess."

#endif
