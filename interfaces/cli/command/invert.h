/* invert.h - one run of kaon invert, shared by the files that make it up: invert.c (the flow),
 * results.c (what it leaves), checkpoint.c (--resume), guess.c (--guess, and last iterates), plan.c
 * (--dry-run). */
#ifndef KAON_CLI_INVERT_H
#define KAON_CLI_INVERT_H

#include "interfaces/common/problem/problem.h"
#include "interfaces/cli/command/invert_shifts.h"
#include "interfaces/common/solving.h"

typedef struct invert_args {
  cli_common common;
  problem_args problem;
  int batch; /* 0: all columns together */
  const char *guess, *output, *correlators, *history, *plot, *plot_pion;
  int dry_run, resume;
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
  char *done;          /* column k is converged, x holds it */
  char *taken;         /* and was so before this run (--resume) */
  int kept;            /* columns that OUTPUT.partial has, or what --resume read: */
  int output_complete; /* 1: OUTPUT itself */
  int begun;           /* x of columns that are not done is where they begin; 0: they begin at 0 */
  int memory_trial;    /* of memory, on a field of its own: nothing is written */
  column_history *histories;
  double *host;          /* one column of this rank's sites, for transfers */
  double setup;          /* seconds that operator and solvers took to make */
  double seconds, flops; /* of the solves */
  kaon_traffic traffic;  /* of the same, of this rank */
  double joules;         /* of the same spans; NaN: not known of all of them */
  shifts shifts;
} invert_job;

/* Vectors and arrays for all columns; links, operator and solver are the problem's. Exit status. */
int invert_allocate(invert_job *job);
/* Sites of this rank. */
int64_t invert_sites(const invert_job *job);
/* Columns from_first .. from_first + count - 1 of one vector into those of another. */
kaon_status invert_transfer(const invert_job *job, const kaon_vector *from, int from_first,
                            kaon_vector *to, int to_first, int count);
/* Solves all columns that are not done, batch by batch. Exit status. */
int invert_solve(invert_job *job);
void invert_close(invert_job *job);
/* The report, but for what finished columns make possible. The caller owns it. */
json_t *invert_describe(const invert_job *job);

/* --- results.c: exit statuses --- */
/* What a propagator file is: all columns, converged; those that are, for --resume; the last
 * iterates of all. */
typedef enum results_kind { RESULTS_WHOLE, RESULTS_CHECKPOINT, RESULTS_ITERATES } results_kind;
/* A propagator's description, JSON short enough for a file to take and give back whole. The caller
 * frees it. */
char *results_description(const invert_job *job, results_kind kind);
/* 1 if `text` is such a description, of this job's equation; otherwise `why` says what differs. */
int results_same(const invert_job *job, const char *text, char why[256]);
/* 1 if `text` describes a solution of this job's equation. columns[k] = its iterations for each
 * column that the file holds in this order; *count of them (at most job->columns). Otherwise `why`
 * says what differs. */
int results_describes(const invert_job *job, const char *text, int *columns, int *iterations,
                      int *count, char why[256]);
/* Columns as a SciDAC file. */
int results_propagator(invert_job *job, const char *path, results_kind kind);
/* A file's columns into x, `count` of them: its column i is ours of number columns[i]; those that
 * are done stay as they are. twelve: the file is of that kind. */
kaon_status results_take(invert_job *job, const char *path, const int *columns, int count,
                         int twelve);
/* Host memory that reading takes beside x and job->host, bytes. */
double results_take_bytes(const invert_job *job, int count, int twelve);
/* Refuses an --output that the disk has no room for. Collective. Exit status. */
int results_fit(const invert_job *job, const int extents[4]);
/* Solutions back from a file into x, with done[] and solves[] set. */
int results_read(invert_job *job, const char *path);
/* "clover, kappa 0.13, csw 1" */
const char *results_action(const invert_job *job, char text[96]);
/* Pion and, but for staggered quarks, rho, a number a time slice. Exit status. */
int results_contract(const invert_job *job, double *pion, double *rho);
/* Both as a text file. Exit status. */
int results_correlators(const invert_job *job, const double *pion, const double *rho,
                        const char *path);

/* --- guess.c: exit statuses --- */
/* Refuses a --guess of another lattice, source or number of columns; ctx NULL: in this process
 * alone. */
int guess_fits(const invert_job *job, const kaon_context *ctx, const int extents[4]);
/* x of columns that are not done = --guess; nothing without it. */
int guess_read(invert_job *job);
/* What reading it takes, taken and given back: for samples. */
int guess_memory_trial(const invert_job *job);
/* Some column did not converge: writes the last iterates of all beside --output, says what can be
 * done, and puts the file's name into the report. */
int guess_leave(invert_job *job, json_t *report, advice_fn *advice);

/* --- condensate.c --- */
/* 1: sources are noise of a staggered action. */
int condensate_measured(const invert_job *job);
/* Prints it, and adds "condensate" to the report. Exit status. */
int condensate_conclude(const invert_job *job, json_t *report);

/* --- checkpoint.c --- */
/* 1: finished columns of an unfinished run are kept: there is an --output, and the action is none
 * of the staggered ones, whose files hold all columns or none. */
int checkpoint_keeps(const invert_job *job);
/* Keeps the finished columns in OUTPUT.partial, where it does. Exit status. */
int checkpoint_save(invert_job *job);
/* --resume: takes over what OUTPUT.partial or OUTPUT hold of this problem. Exit status. */
int checkpoint_load(invert_job *job);
void checkpoint_remove(const invert_job *job);
/* Without --resume: says that columns of an earlier run are going to be lost. */
void checkpoint_warn(const invert_job *job);

/* --- plan.c --- */
/* --dry-run: what the run would take. Called before any context exists: it forks. Exit status. */
int plan_invert(const invert_job *job, const field_spec *spec);
/* Refuses a job that needs more than job->ctx can still have, or writes more than the disk has room
 * for, before it is begun. Exit status. */
int plan_fits(const invert_job *job, const field_spec *spec);

#endif
