/* multishift_internal.h - the private structure of CG for several shifts, shared by
 * - multishift.c: which processes run, and their results;
 * - multishift_run.c: a step, a process;
 * - multishift_make.c: creation;
 * - multishift_refine.c: shifts that missed the tolerance. */
#ifndef KAON_SOLVERS_MULTISHIFT_H
#define KAON_SOLVERS_MULTISHIFT_H

#include <kaon/lab.h>
#include <kaon/multishift.h>

#include "solvers/engine/method.h"

enum { KAON_SHIFT_LEVELS = 3 };

/* The processes' vectors in one precision. r, p, q have c columns, one for each right-hand side. P
 * and X have c columns for each shift: column i c + j belongs to shift i and right-hand side j. */
typedef struct kaon_shift_vectors {
  kaon_vector *r, *p, *q, *P, *X;
} kaon_shift_vectors;

/* One precision of the process: A and the vectors that it is applied to. They have A's precision,
 * or single if that is half, since x and the directions of all shifts do not work in half. */
typedef struct kaon_shift_level {
  kaon_operator *A;
  kaon_shift_vectors *v;
  kaon_vector *t;        /* normal: between A and A^dag, in A's precision */
  kaon_vector *in, *out; /* copies in A's precision; NULL: v's vectors are used */
  kaon_multishift *owner;
  kaon_recorder *recorder; /* of this level's steps; NULL: the backend has no recorder */
  kaon_recorded recorded;
  kaon_traffic of_block; /* network traffic of a recorded block */
  int unrecordable;      /* recording failed */
  double unit;           /* unit roundoff of an application */
} kaon_shift_level;

/* A right-hand side and its process in the current solve. */
typedef struct kaon_shift_source {
  double b2;
  double spread;  /* see find_spread in multishift.c; 0: not known yet */
  double between; /* the residual at which it leaves a level; 0: this is its last level */
  int runs;       /* 1: runs at this level */
  int begun;      /* its step count when kaon_shift_process began */
} kaon_shift_source;

struct kaon_multishift {
  kaon_context *ctx;
  kaon_multishift_options options;
  int n;
  double *sigma, sigma0;
  int levels;
  kaon_shift_level level[KAON_SHIFT_LEVELS];
  kaon_shift_vectors outer, inner; /* inner.r NULL: there is no inner set; outer.X is the user's */
  kaon_vector *several;            /* normal: A times all columns, on the way to A^dag A */
  kaon_scalars *scalars;           /* of the processes, then of the columns of X */
  kaon_scalars base, shifts;       /* views of these */
  kaon_column_state *host;
  kaon_scalars *sums; /* norms of vectors, every column open */
  kaon_column_state *sums_host;
  double *norm2; /* [column of X], as are the next two */
  kaon_column_report *reports;
  int *missed;
  kaon_shift_source *source;
  int columns;  /* right-hand sides that memory is allocated for; 0: none */
  double flops; /* of an application to one column, over all ranks (whose parts may differ) */

  /* The current solve: */
  const kaon_vector *b; /* the user's; or a scaled copy, and x is scaled likewise */
  kaon_scaling units;
  int applications;      /* of all columns at once */
  double work;           /* flops of applications, counted for every column they were for */
  kaon_traffic repeated; /* network traffic of replays */
  kaon_issue issued;
};

static inline int kaon_shift_all(const kaon_multishift *s) {
  return s->n * s->columns;
}

/* Flops of a step's applications to one column. */
static inline double kaon_shift_flops(const kaon_multishift *s) {
  return (1 + s->options.normal) * s->flops;
}

/* The state of column `m` of X. The states of processes come first. */
static inline kaon_column_state *kaon_shift_state(const kaon_multishift *s, int m) {
  return &s->host[s->columns + m];
}

static inline kaon_pass kaon_shift_pass(kaon_scalars *scalars, int norm, int then) {
  kaon_pass pass = KAON_PASS_INIT;
  pass.scalars = scalars;
  pass.norm = norm;
  pass.then = then;
  return pass;
}

/* multishift_run.c */
kaon_status kaon_shift_next_direction(kaon_multishift *s, const kaon_shift_vectors *v);
kaon_status kaon_shift_poll(kaon_multishift *s);
/* Adds to x what a coarser precision has accumulated. pass NULL: in all columns. */
kaon_status kaon_shift_gather(kaon_multishift *s, const kaon_shift_level *w, const kaon_pass *pass);
/* norm2[column] of a vector with up to n c columns. It allocates nothing, because that would
 * invalidate recordings. */
kaon_status kaon_shift_norms(kaon_multishift *s, const kaon_vector *v, double *norm2);
/* Runs steps from the states in s->host until all processes have ended. All ranks have the same
 * states and issue the same steps. */
kaon_status kaon_shift_process(kaon_multishift *s, kaon_shift_level *w);

/* multishift_make.c: allocates memory for `columns` right-hand sides, and releases what was
 * allocated before. On failure nothing is allocated. Collective. */
kaon_status kaon_shift_allocate(kaon_multishift *s, int columns);

/* multishift.c: norm2 = |b - (A + sigma_i) x_i|^2; outer.P holds these residuals. */
kaon_status kaon_shift_residuals(kaon_multishift *s);
/* multishift_refine.c: refines the columns with missed[m] != 0, one at a time. It solves for the
 * residual in outer.P and adds the result to x. The steps are added to the reports. */
kaon_status kaon_shift_refine(kaon_multishift *s);
/* Copies column i of `from` to column j of `to`; both are of one space. room: workspace of
 * kaon_shift_buffer_length values in the backend's memory. */
kaon_status kaon_shift_copy_column(const kaon_vector *from, int i, kaon_vector *to, int j,
                                   double *room);
size_t kaon_shift_buffer_length(const kaon_space *space);

#endif
