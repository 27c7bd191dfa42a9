/* multishift_internal.h - the inside of CG for several shifts, shared by multishift.c (which processes,
 * and what comes of them), multishift_run.c (a step, a process), multishift_make.c (creation) and
 * multishift_refine.c (shifts that missed). */
#ifndef KAON_SOLVERS_MULTISHIFT_H
#define KAON_SOLVERS_MULTISHIFT_H

#include <kaon/lab.h>
#include <kaon/multishift.h>

#include "solvers/engine/method.h"

enum { KAON_SHIFT_LEVELS = 3 };

/* The processes' vectors in one precision. r, p, q: a column a right-hand side, c of them; P, X: c
 * columns a shift, column i c + j that of shift i and right-hand side j. */
typedef struct kaon_shift_vectors {
  kaon_vector *r, *p, *q, *P, *X;
} kaon_shift_vectors;

/* One precision of the process: A as it is applied, on vectors of A's precision, or of single where
 * that is half, since x and directions of all shifts do not bear it. */
typedef struct kaon_shift_level {
  kaon_operator *A;
  kaon_shift_vectors *v;
  kaon_vector *t;        /* normal: between A and A^dag, in A's precision */
  kaon_vector *in, *out; /* copies in A's precision; NULL: v's own */
  kaon_multishift *owner;
  kaon_recorder *recorder; /* of this level's steps; NULL: the machine offers none */
  kaon_recorded recorded;
  kaon_traffic of_block; /* what a recorded block asks of the network */
  int unrecordable;      /* tried in vain */
  double unit;           /* roundoff of an application */
} kaon_shift_level;

/* A right-hand side and its process in the solve under way. */
typedef struct kaon_shift_source {
  double b2;
  double spread;  /* multishift.c: find_spread; 0: not known yet */
  double between; /* the residual at which it leaves a level; 0: the last one */
  int runs;       /* at this level */
  int begun;      /* the step at which kaon_shift_process found it */
} kaon_shift_source;

struct kaon_multishift {
  kaon_context *ctx;
  kaon_multishift_options options;
  int n;
  double *sigma, sigma0;
  int levels;
  kaon_shift_level level[KAON_SHIFT_LEVELS];
  kaon_shift_vectors outer, inner; /* inner.r NULL: none of its own; outer.X is the user's */
  kaon_vector *several;            /* normal: A of all columns, on the way to A^dag A */
  kaon_scalars *scalars;           /* the processes, then what columns of X are of */
  kaon_scalars base, shifts;       /* views of these */
  kaon_column_state *host;
  kaon_scalars *sums; /* norms of vectors, every column open */
  kaon_column_state *sums_host;
  double *norm2; /* by columns of X, as are: */
  kaon_column_report *reports;
  int *missed;
  kaon_shift_source *source;
  int columns;  /* right-hand sides that there is room for; 0: none */
  double flops; /* of an application to one column, on all ranks, whose parts may be unequal */

  /* of the solve under way */
  const kaon_vector *b; /* the user's, or scaled, then x is */
  kaon_scaling units;
  int applications;      /* of all columns at once */
  double work;           /* flops of applications, to every column that they were for */
  kaon_traffic repeated; /* what recordings asked of the network */
  kaon_issue issued;
};

static inline int kaon_shift_all(const kaon_multishift *s) {
  return s->n * s->columns;
}

/* Flops of a step's applications to one column. */
static inline double kaon_shift_flops(const kaon_multishift *s) {
  return (1 + s->options.normal) * s->flops;
}

/* The state of column `m` of X; those of processes come first. */
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
/* What a coarser precision has added to x; pass NULL: all of it. */
kaon_status kaon_shift_gather(kaon_multishift *s, const kaon_shift_level *w, const kaon_pass *pass);
/* norm2[column] of a vector with up to n c columns, by no memory of its own, which would make old
 * recordings worthless. */
kaon_status kaon_shift_norms(kaon_multishift *s, const kaon_vector *v, double *norm2);
/* Steps by the states in s->host until all processes have ended. Every rank has the same states and
 * issues the same steps. */
kaon_status kaon_shift_process(kaon_multishift *s, kaon_shift_level *w);

/* multishift_make.c: room for `columns` right-hand sides, in the place of what there was. Where
 * memory fails there is none. Collective. */
kaon_status kaon_shift_allocate(kaon_multishift *s, int columns);

/* multishift.c: norm2 = |b - (A + sigma_i) x_i|^2; outer.P holds these residuals. */
kaon_status kaon_shift_residuals(kaon_multishift *s);
/* multishift_refine.c: solves for what is left of the residuals in outer.P of the columns with
 * missed[m] != 0, one at a time, and adds it to x; reports get its steps. */
kaon_status kaon_shift_refine(kaon_multishift *s);
/* Column i of `from` to column j of `to`, of one space; room: kaon_shift_buffer_length numbers where the
 * machine's vectors are. */
kaon_status kaon_shift_copy_column(const kaon_vector *from, int i, kaon_vector *to, int j, double *room);
size_t kaon_shift_buffer_length(const kaon_space *space);

#endif
