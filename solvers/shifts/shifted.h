/* shifted.h - what CG of several shifts adds to a solver (solvers/engine): a solution for each
 * shift, and the precisions that its process goes through.
 *
 * The solver's columns are the right-hand sides. Column i c + j of x belongs to shift i and
 * right-hand side j of c. */
#pragma once

#include <kaon/multishift.h>

#include "solvers/engine/method.h"

enum { KAON_SHIFT_LEVELS = 3 };

/* One precision of the process. P has the columns of x, the other vectors those of b. */
typedef struct kaon_shift_level {
  kaon_operator *A;
  kaon_vector *r, *p, *q, *P;
  double unit;               /* unit roundoff of an application */
  kaon_solver_replay replay; /* its recordings, while the solver has another level's */
} kaon_shift_level;

/* A right-hand side and its process in the current solve. */
typedef struct kaon_shift_source {
  double spread;  /* see spread_of in shifted.c; 0: not known yet */
  double between; /* the residual at which it leaves a level; 0: this is its last level */
  double goal;    /* the residual at which it ends, or first ends those that go only as far */
  int runs;       /* 1: runs at this level */
} kaon_shift_source;

struct kaon_multishift {
  kaon_context *ctx;
  int references, at_work; /* at_work: kaon_begin_work */
  kaon_multishift_options options;
  int n;
  double sigma[KAON_MULTISHIFT_MAX], least;
  double tol[KAON_MULTISHIFT_MAX]; /* 0: as far as the least shift goes */
  double tol_least;                /* of the least shift */
  double finest;                   /* the smallest but 0; the solver's own tolerance */
  int follows;                     /* 1: a shift has 0 */
  int beyond;                      /* 1: a shift has a smaller tolerance than the least one */
  kaon_operator *A;                /* the user's, or A^dag A (shifted_operator.c) */
  kaon_solver *solver; /* for as many right-hand sides as the last solve had; NULL: none */

  /* What belongs to the solver. Its own vectors are those of its inner precision. */
  int levels, at; /* at: the level whose steps the solver issues */
  kaon_shift_level level[KAON_SHIFT_LEVELS];
  kaon_scalars of_x, states;   /* states of the columns of x; these behind those of the processes */
  kaon_shift_source *source;   /* [right-hand side] */
  kaon_column_report *reports; /* [column of x] */
  int verified;                /* how often this solve computed all residuals */
  kaon_solve_report refined;   /* work of its refinements */
};

/* methods/multishift.c: the method, and the end of its step: p = r + beta p. */
extern const kaon_method_ops kaon_method_multishift;
kaon_status kaon_shifted_direction(kaon_solver *s, const kaon_shift_level *w);

/* A pass over the columns of x. */
static inline kaon_pass kaon_shifted_pass(const kaon_solver *s, int then) {
  kaon_pass pass = kaon_gated_norm(s, KAON_GATE_STEP, KAON_NO_SLOT, then);
  pass.scalars = s->states.of_x;
  return pass;
}
static inline int kaon_shifted_columns(const kaon_solver *s) {
  return s->columns * s->solutions;
}
/* The host's copy of the state of column m of x. */
static inline kaon_column_state *kaon_shifted_state(const kaon_solver *s, int m) {
  return &s->states.host[s->columns + m];
}
/* The tolerance of column m of x. */
static inline double kaon_shifted_tol(const kaon_solver *s, int m) {
  return s->shifts->tol[m / s->columns];
}
/* 1: the process of column m of x has converged, but its residual exceeds 1.1 times its tolerance.
 * 1.1 as in the other solvers. */
static inline int kaon_shifted_missed(const kaon_solver *s, int m) {
  const double tol = kaon_shifted_tol(s, m);
  return tol > 0 && !(s->shifts->reports[m].residual <= 1.1 * tol) &&
         s->states.host[m % s->columns].reason == KAON_WAIT_STOP;
}

/* shifted_create.c: releases what it added to the solver. */
void kaon_shifted_destroy(kaon_solver *s);
/* shifted.c: instead of the engine's first service and loop; of its end, with a report for each
 * column of x; and in addition to its count of work. */
kaon_status kaon_shifted_run(kaon_solver *s);
kaon_status kaon_shifted_end(kaon_solver *s, kaon_column_report *reports);
void kaon_shifted_count(const kaon_solver *s, kaon_solve_report *report);

/* shifted_operator.c: A, or A^dag A, with a shift unless sigma is NULL. precision: of its vectors.
 * Retains A. Errors: MEMORY. */
kaon_status kaon_shifted_operator(kaon_operator *A, int normal, const double *sigma,
                                  kaon_precision precision, kaon_operator **result);

/* shifted_refine.c: refines the columns that missed the tolerance, one at a time. It solves for the
 * residual in P of the first level and adds the result to x. Steps are added to the reports. */
kaon_status kaon_shifted_refine(kaon_solver *s);
