/* fallback.h - what solve and invert try after a process ended without a solution, by the
 * library's table of remedies (kaon_remedies). */
#ifndef KAON_CLI_FALLBACK_H
#define KAON_CLI_FALLBACK_H

#include "interfaces/common/solving.h"

/* How a column was finished after all. */
typedef struct fallback_column {
  kaon_method method;
  char precond[32]; /* empty: by the method asked for, or not at all */
  int iterations;
} fallback_column;

/* Solves all columns from their last iterates. reports: of each column. *made: 0: this remedy
 * cannot be had. Exit status. */
typedef int fallback_fn(void *user, const kaon_remedy *remedy, int max_iterations,
                        kaon_column_report *reports, int *made);

/* Tries remedies until all columns have converged or --max-iter is used up. asked: what ended so;
 * its reason and breakdown are set here. solves: a column that converges now does so with its
 * first iterations; other columns keep their reason. Exit status. */
typedef struct fallback {
  const cli_common *common;
  kaon_failure asked;
  const char *name; /* of the method asked for */
  int columns, max_iterations;
  kaon_column_report *solves;
  fallback_column *by; /* [columns] */
  solving_trials trials;
  fallback_fn *attempt;
  void *user;
} fallback;
int fallback_run(fallback *f);

/* ", by gcr with ilu0 in 15 more iterations" or "". */
const char *fallback_text(const fallback_column *by, char text[96]);
/* Adds "fallback" to the last entry of "solves". */
void fallback_add(const fallback_column *by, json_t *report);

#endif
