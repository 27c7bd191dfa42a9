/* relax_internal.h - the private structures of relaxation methods. */
#pragma once

#include <kaon/lab.h>
#include <kaon/relax.h>

#include "lib/operator/row_sweeps.h"
#include "solvers/engine/method.h"

/* faults.c */
typedef struct kaon_faults {
  kaon_fault_options options;
  uint8_t *frozen; /* [row of the space] 1: frozen; NULL: none */
  int64_t rows;    /* number of frozen rows, over all ranks */
  uint64_t random;
  int at;                /* iterations so far */
  int holds;             /* 1: rows are frozen now */
  double best[8];        /* the last squared residuals of the slowest column, newest first */
  int when[8];           /* the iterations that they belong to */
  int known;             /* how many of them are set */
  double rate;           /* decrease of log |r|^2 an iteration, before an alarm */
  kaon_vector *safe;     /* the copy of x */
  double safe_residual2; /* its |r|^2; < 0: none yet */
  int quiet;             /* iterations since the last alarm or copy */
  kaon_relax_report noted;
} kaon_faults;

typedef struct kaon_relaxation {
  kaon_relax_options options;
  kaon_lab_relax_options lab;
  kaon_row_sweeps *rows; /* NULL: Jacobi */
  kaon_operator *jacobi; /* NULL: all other methods */
  double tau;
  int ranks;            /* other ranks' rows are used as they arrive */
  int residual_stale;   /* fixed steps: r does not belong to x */
  uint64_t turn;        /* iterations begun: the seeds of their orders */
  int *done;            /* [column] iterations done in the last run */
  int *open;            /* [column] 1: the last run included it */
  double *goal, *limit; /* [column], and one more */
  double *before;       /* [column] |r|^2 at the beginning of the last run; 0: there was none */
  kaon_faults *faults;  /* NULL: none */
  kaon_relax_report report;
} kaon_relaxation;

/* relax.c: makes s->relax from the options, and destroys it. Needs s->inner. */
kaon_status kaon_relax_create(kaon_solver *s);
void kaon_relax_destroy(kaon_solver *s);
/* Recomputes what depends on the operator's numbers (kaon_revision.follow). */
kaon_status kaon_relax_follow(void *solver);
/* Resets the counts before a solve's first step. */
kaon_status kaon_relax_begin(kaon_solver *s);
/* Puts the counts into the report after a solve. Waits for the device. */
kaon_status kaon_relax_end(kaon_solver *s);
double kaon_relax_flops(const kaon_solver *s); /* of a step, without the product */
/* advance: one iteration. residual: r = b - A x of the inner process, its norm into R2, then
 * `then`. */
kaon_status kaon_relax_advance(kaon_solver *s);
kaon_status kaon_relax_residual(kaon_solver *s, int then);
/* The source of a sweep without barriers. */
const kaon_vector *kaon_relax_source(const kaon_solver *s);

/* relax_run.c: the loop of solves that the host leads step by step: those without barriers, with
 * faults, and with other ranks' rows as they arrive. */
int kaon_relax_is_host_led(const kaon_solver *s);
kaon_status kaon_relax_run(kaon_solver *s);

kaon_status kaon_faults_create(kaon_solver *s, const kaon_fault_options *options);
void kaon_faults_destroy(kaon_solver *s);
kaon_status kaon_faults_begin(kaon_solver *s);
/* Informs of a restart of the inner process from x_inner = 0. */
void kaon_faults_renew(kaon_solver *s);
/* Iterations, at least one, until the next fault or poll of the monitor. */
int kaon_faults_steps_until(const kaon_solver *s);
/* before: called before iteration at + 1. after: called after `done` more, with their residuals in
 * host[].slot[R2]. *again = 1: x was restored, so the residual must be recomputed. */
kaon_status kaon_faults_before(kaon_solver *s);
kaon_status kaon_faults_after(kaon_solver *s, int done, int *again);
