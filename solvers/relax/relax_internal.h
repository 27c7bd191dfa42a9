/* relax_internal.h - the inside of relaxation methods. */
#ifndef KAON_SOLVERS_RELAX_H
#define KAON_SOLVERS_RELAX_H

#include <kaon/lab.h>
#include <kaon/relax.h>

#include "lib/operator/row_sweeps.h"
#include "solvers/engine/method.h"

/* faults.c */
typedef struct kaon_faults {
  kaon_fault_options options;
  uint8_t *frozen; /* [row of the space] chosen rows; NULL: none */
  int64_t rows;    /* of them, all ranks */
  uint64_t random;
  int at;                /* iterations so far */
  int holds;             /* rows are frozen now */
  double best[8];        /* the last residuals squared, newest first, of the slowest column */
  int when[8];           /* the iterations that they are of */
  int known;             /* of them */
  double rate;           /* decrease of |r|^2 an iteration before the first alarm */
  kaon_vector *safe;     /* the copy of x */
  double safe_residual2; /* of it; < 0: none yet */
  int quiet;             /* iterations since the last alarm or copy */
  kaon_relax_report noted;
} kaon_faults;

typedef struct kaon_relaxation {
  kaon_relax_options options;
  kaon_lab_relax_options lab;
  kaon_row_sweeps *rows; /* NULL: Jacobi */
  kaon_operator *jacobi; /* NULL: the others */
  double tau;
  int ranks;            /* other ranks' rows are used as they arrive */
  int residual_stale;            /* fixed steps: r is not that of x */
  uint64_t turn;        /* iterations begun: seeds of their orders */
  int *done;            /* [column] */
  int *open;            /* [column] the last stretch was of it */
  double *goal, *limit; /* [column], and one more */
  double *before;       /* [column] |r|^2 at the beginning of the last stretch; 0: there was none */
  kaon_faults *faults;  /* NULL: none */
  kaon_relax_report report;
} kaon_relaxation;

/* relax.c: makes s->relax from the options; s->inner is known. Lets go of it. */
kaon_status kaon_relax_create(kaon_solver *s);
void kaon_relax_destroy(kaon_solver *s);
/* Before a solve's first step: counts from 0 again. */
kaon_status kaon_relax_begin(kaon_solver *s);
/* After a solve: what was counted, into the report. Waits for the device. */
kaon_status kaon_relax_end(kaon_solver *s);
double kaon_relax_flops(const kaon_solver *s); /* of a step, beside the product */
/* One iteration; r = b - A x of the inner process, its norm into R2, `then`. */
kaon_status kaon_relax_advance(kaon_solver *s);
kaon_status kaon_relax_residual(kaon_solver *s, int then);
/* How x of `s` is swept without barriers: the source and the iterate. */
const kaon_vector *kaon_relax_source(const kaon_solver *s);

/* relax_run.c: the loop of solves that the host leads step by step: FREE, with faults, and with
 * other ranks' rows as they arrive. */
int kaon_relax_is_host_led(const kaon_solver *s);
kaon_status kaon_relax_run(kaon_solver *s);

kaon_status kaon_faults_create(kaon_solver *s, const kaon_fault_options *options);
void kaon_faults_destroy(kaon_solver *s);
kaon_status kaon_faults_begin(kaon_solver *s);
/* The inner process begins anew from x_inner = 0. */
void kaon_faults_renew(kaon_solver *s);
/* Iterations, one at least, until something happens to rows or bits, or the monitor is to look. */
int kaon_faults_steps_until(const kaon_solver *s);
/* Before iteration at + 1; and after `done` more with these residuals in host[].slot[R2]: *again =
 * 1 where x was put back, so that the residual has to be taken anew. */
kaon_status kaon_faults_before(kaon_solver *s);
kaon_status kaon_faults_after(kaon_solver *s, int done, int *again);

#endif
