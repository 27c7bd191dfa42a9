/* solve.h - one run of kaon solve, shared by its files: command_solve.c (the flow), solve_files.c
 * (--guess and output), solve_plan.c (--dry-run). */
#ifndef KAON_CLI_SOLVE_H
#define KAON_CLI_SOLVE_H

#include "interfaces/cli/command/fallback.h"
#include "interfaces/common/linear/linear.h"

typedef struct solve_args {
  cli_common common;
  linear_args linear;
  const char *guess, *output, *history, *plot, *reduce_delay;
  int dry_run, no_fallback;
} solve_args;

typedef struct solve_job {
  const solve_args *args;
  kaon_context *ctx;
  linear l;
  int columns;
  kaon_vector *b, *x;
  kaon_vector *posed, *whole; /* single precision: b as it was posed and room for x, in double */
  kaon_column_report *solves;
  double *removed;     /* [column] size over |b| of the part that --project-rhs removed */
  fallback_column *by; /* what finished the columns that the method asked for did not */
  column_history *histories;
  double setup;          /* seconds from matrix to solver */
  double seconds, flops; /* of the solve */
  kaon_traffic traffic;  /* of it, of this rank */
  kaon_issue issue;      /* and how its steps were issued */
  int fused;             /* updates were fused */
  double joules;         /* of it; NaN: not known */
  double cpu;            /* seconds of this process' threads in it */
} solve_job;

/* Allocates vectors and arrays for all columns. Exit status. */
int solve_allocate(solve_job *job);
/* Fills b, rounded in single precision. Exit status. */
int solve_source(solve_job *job);
/* From the x that is there. Exit status. */
int solve_columns(solve_job *job);
/* --- solve_fallback.c --- */
/* Tries remedies for columns that did not converge. Exit status. */
int solve_fall_back(solve_job *job);
/* For failed columns that nothing else explains, checks by least squares whether b is inconsistent.
 * If so, the column of x becomes the least-squares solution. Exit status. */
int solve_explain(solve_job *job);
void solve_close(solve_job *job);

/* --- solve_files.c: exit statuses --- */
/* x = --guess, or 0 without it. */
int solve_guess(solve_job *job);
/* Refuses an --output whose smallest size exceeds the free disk space. A compressed file is not
 * checked. Collective. Exit status. */
int solve_check_disk_space(const solve_args *args, const kaon_matrix_info *info);
/* --output, once all columns converged. */
int solve_write(const solve_job *job);
/* After some column did not converge: writes the last iterates beside --output, prints advice, and
 * adds the file's name to the report. */
int solve_unconverged(solve_job *job, json_t *report);

/* --- solve_plan.c --- */
/* --dry-run: what the run would take. Called before any context exists. Exit status. */
int plan_solve(const solve_job *job);
/* Refuses a job whose fields will not fit where it runs, before any work. On one rank. Exit status.
 */
int solve_fits(const solve_job *job);

#endif
