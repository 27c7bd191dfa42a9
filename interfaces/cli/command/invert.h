/* invert.h - one run of kaon invert, shared by its files: command_invert.c (the flow),
 * invert_results.c (what it writes), invert_checkpoint.c (--resume), invert_guess.c (--guess and
 * last iterates), invert_shifts.c (--shifts), invert_plan.c (--dry-run). */
#ifndef KAON_CLI_INVERT_H
#define KAON_CLI_INVERT_H

#include "interfaces/cli/command/fallback.h"
#include "interfaces/common/problem/problem.h"
#include "interfaces/cli/command/invert_shifts.h"
#include "interfaces/cli/report/progress.h"
#include "interfaces/common/solving.h"

typedef struct invert_args {
  cli_common common;
  problem_args problem;
  int batch; /* 0: all columns together */
  const char *guess, *output, *correlators, *history, *plot, *plot_pion, *plot_levels;
  int dry_run, resume, no_fallback;
  const char *shifts; /* NULL: not given */
} invert_args;

typedef struct invert_job {
  const invert_args *args;
  kaon_context *ctx;
  problem p;
  int columns, batch;
  kaon_observables links;
  kaon_vector *b, *x; /* all columns */
  kaon_column_report *solves;
  fallback_column *by; /* what finished the columns that the method asked for did not */
  solving_trials trials;
  char *done;          /* [column] 1: converged, and x holds the solution */
  char *taken;         /* [column] 1: it was converged before this run (--resume) */
  int kept;            /* number of columns in OUTPUT.partial, or in the file that --resume read */
  int output_complete; /* 1: --resume read OUTPUT itself */
  int begun;           /* 1: x of unfinished columns holds their initial guess. 0: it is 0 */
  int memory_trial;    /* a small job of a forecast: nothing is written */
  column_history *histories;
  double *host;                 /* one column of this rank's sites, for transfers */
  double setup;                 /* seconds that operator and solvers took to make */
  double seconds, flops;        /* of the solves */
  double cycles, cycle_seconds; /* steps of full batches by the method asked for; their seconds */
  kaon_traffic traffic;         /* of the same, of this rank */
  double joules;                /* of the same; NaN: not known for all solves */
  shifts shifts;
  setup_progress setting_up;
} invert_job;

/* Allocates vectors and arrays for all columns. Exit status. */
int invert_allocate(invert_job *job);
/* Sites of this rank. */
int64_t invert_sites(const invert_job *job);
/* Solves all unfinished columns, batch by batch. Exit status. */
int invert_solve(invert_job *job);
void invert_close(invert_job *job);
/* The report, without results that need all columns. The caller owns it. */
json_t *invert_describe(const invert_job *job);

/* --- invert_fallback.c --- */
/* Tries remedies for columns of a batch that did not converge. Exit status. */
int invert_fall_back(invert_job *job, int first, int count, const kaon_vector *b, kaon_vector *x);
/* The system as the library's table of remedies sees it; the reason is still missing. */
kaon_failure invert_failure(const invert_job *job);

/* --- invert_results.c (report/): exit statuses --- */
/* Content of a propagator file: all columns, converged; the finished columns, for --resume; the
 * last iterates of all. */
typedef enum results_kind { RESULTS_WHOLE, RESULTS_CHECKPOINT, RESULTS_ITERATES } results_kind;
/* The description in a propagator file, JSON. The caller frees it. */
char *results_description(const invert_job *job, results_kind kind);
/* 1 if `text` describes this job's equation; otherwise `why` says what differs. */
int results_same(const invert_job *job, const char *text, char why[256]);
/* 1 if `text` describes solutions of this job's equation. columns[k]: the job's column that column
 * k of the file holds, iterations[k] its iterations, for the *count columns of the file (at most
 * job->columns). Otherwise `why` says what differs. */
int results_describes(const invert_job *job, const char *text, int *columns, int *iterations,
                      int *count, char why[256]);
/* Writes columns as a SciDAC file. */
int results_propagator(invert_job *job, const char *path, results_kind kind);
/* Reads `count` columns of a file into x: its column i is the job's column columns[i]. Finished
 * columns are not changed. twelve: the file is of kind KAON_PROPAGATOR_TWELVE. */
kaon_status results_take(invert_job *job, const char *path, const int *columns, int count,
                         int twelve);
/* Bytes of host memory that results_take needs besides x and job->host. */
double results_take_bytes(const invert_job *job, int count, int twelve);
/* Refuses an --output that is larger than the free disk space. Collective. Exit status. */
int results_fit(const invert_job *job, const int extents[4]);
/* Reads solutions from a file into x; sets done[] and solves[]. */
int results_read(invert_job *job, const char *path);
/* "clover, kappa 0.13, csw 1" */
const char *results_action(const invert_job *job, char text[96]);
/* Contracts the pion and, for Wilson-like actions, the rho: one number for each time slice. Exit
 * status. */
int results_contract(const invert_job *job, double *pion, double *rho);
/* Writes both as a text file. Exit status. */
int results_correlators(const invert_job *job, const double *pion, const double *rho,
                        const char *path);

/* --- invert_guess.c: exit statuses --- */
/* Refuses a --guess of another lattice, source or number of columns. ctx NULL: on this process
 * only. */
int guess_fits(const invert_job *job, const kaon_context *ctx, const int extents[4]);
/* Reads --guess into x for unfinished columns. Without --guess it does nothing. */
int guess_read(invert_job *job);
/* Bytes of host memory that guess_read needs besides x and job->host. */
double guess_bytes(const invert_job *job);
/* After some column did not converge: writes the last iterates of all beside --output, prints
 * advice, and adds the file's name to the report. */
int guess_leave(invert_job *job, json_t *report, advice_fn *advice);

/* --- invert_condensate.c --- */
/* 1: sources are noise of a staggered action. */
int condensate_measured(const invert_job *job);
/* Prints the condensate, and adds "condensate" to the report. Exit status. */
int condensate_conclude(const invert_job *job, json_t *report);

/* --- invert_checkpoint.c --- */
/* 1: finished columns are saved in a file. That needs --output, and an action that is not
 * staggered, since staggered files hold all columns. */
int checkpoint_keeps(const invert_job *job);
/* Writes the finished columns to OUTPUT.partial if checkpoint_keeps says so. Exit status. */
int checkpoint_save(invert_job *job);
/* --resume: reads the columns of this problem from OUTPUT.partial or OUTPUT. Exit status. */
int checkpoint_load(invert_job *job);
void checkpoint_remove(const invert_job *job);
/* Without --resume: warns that columns of an earlier run will be overwritten. */
void checkpoint_warn(const invert_job *job);

/* --- invert_plan.c --- */
/* --dry-run: prints the memory that the run would take. Called before any context exists. Exit
 * status. */
int plan_invert(const invert_job *job, const field_spec *spec);
/* Before the job begins: refuses it if it needs more memory than job->ctx can allocate, or more
 * disk space than there is. Exit status. */
int plan_fits(const invert_job *job, const field_spec *spec);

#endif
