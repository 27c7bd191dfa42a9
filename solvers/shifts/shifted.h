/* shifted.h - what CG of several shifts adds to a solver (solvers/engine): the precisions that its
 * process goes through, and a solution for each shift.
 *
 * The solver's columns are the right-hand sides. Column i c + j of x belongs to shift i and
 * right-hand side j of c. */
#ifndef KAON_SOLVERS_SHIFTED_H
#define KAON_SOLVERS_SHIFTED_H

#include <kaon/multishift.h>

#include "solvers/engine/method.h"

enum { KAON_SHIFT_LEVELS = 3, KAON_SHIFT_VECTORS = 8 };

/* One precision of the process. P has the columns of x, the other vectors those of b. They have A's
 * precision, or single if that is half, since x and the directions of all shifts do not work in
 * half. */
typedef struct kaon_shift_level {
  kaon_operator *A;
  kaon_vector *r, *p, *q, *P;
  kaon_vector *t;            /* normal: between A and A^dag, in A's precision; else NULL */
  kaon_vector *in, *out;     /* copies of p and q in A's precision; NULL: p and q are used */
  double unit;               /* unit roundoff of an application */
  kaon_solver_replay replay; /* this level's recordings, while the solver has another one's */
} kaon_shift_level;

/* A right-hand side and its process in the current solve. */
typedef struct kaon_shift_source {
  double spread;  /* see find_spread in shifted.c; 0: not known yet */
  double between; /* the residual at which it leaves a level; 0: this is its last level */
  int runs;       /* 1: runs at this level */
} kaon_shift_source;

struct kaon_multishift {
  kaon_context *ctx;
  kaon_operator *A; /* the user's; not owned */
  kaon_multishift_options options;
  int n;
  double sigma[KAON_MULTISHIFT_MAX], least;
  kaon_solver *solver; /* for as many right-hand sides as the last solve; NULL: none */

  /* What belongs to the solver. Its own vectors are those of the first level or, with two
   * precisions of vectors, of the others. */
  int levels, at; /* at: the level that the solver is at */
  kaon_shift_level level[KAON_SHIFT_LEVELS];
  kaon_vector *own[KAON_SHIFT_VECTORS]; /* the other vectors */
  int nown;
  kaon_vector *several;      /* normal: A x of all columns, on the way to A^dag A x */
  kaon_scalars of_x, states; /* states of the columns of x, and all with those of the processes */
  kaon_shift_source *source; /* [right-hand side] */
  double *norm2;             /* [column of x], as are the next two */
  kaon_column_report *reports;
  int *missed;

  /* The current solve: */
  int verified; /* how often all residuals were computed */
  kaon_solve_report refined; /* work of refinements */
};

/* methods/multishift.c: CG on A, and on A^dag A. */
extern const kaon_method_ops kaon_method_multishift, kaon_method_multishift_normal;
static inline const kaon_method_ops *kaon_shifted_method(const kaon_multishift *f) {
  return f->options.normal ? &kaon_method_multishift_normal : &kaon_method_multishift;
}
/* The end of a step: p = r + beta p. */
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

/* shifted_create.c: releases what it added to the solver. */
void kaon_shifted_destroy(kaon_solver *s);
/* shifted.c: instead of the engine's first service and loop; of its end, with a report for each
 * column of x; and in addition to its count of work. */
kaon_status kaon_shifted_run(kaon_solver *s);
kaon_status kaon_shifted_end(kaon_solver *s, kaon_column_report *reports);
void kaon_shifted_count(const kaon_solver *s, kaon_solve_report *report);
/* shifted_refine.c: refines the columns with missed[m] != 0, one at a time. It solves for the
 * residual in P of the first level and adds the result to x. Steps are added to the reports. */
kaon_status kaon_shifted_refine(kaon_solver *s);
/* Copies column i of `from` to column j of `to`; both are of one space. room: workspace of
 * kaon_shifted_buffer_length values in the backend's memory. */
kaon_status kaon_shifted_copy_column(const kaon_vector *from, int i, kaon_vector *to, int j,
                                     double *room);
size_t kaon_shifted_buffer_length(const kaon_space *space);

#endif
