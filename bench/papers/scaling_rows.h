/* scaling_rows.h - reads rows of dslash and solve for the model of scaling_model.h. */
#ifndef KAON_BENCH_SCALING_ROWS_H
#define KAON_BENCH_SCALING_ROWS_H

#include "interfaces/common/cli.h"
#include "bench/papers/scaling_model.h"

enum { ROWS_MAX = 1024 };

/* Members that rows must share; a text "" or a number NaN: the row does not say. */
typedef struct row_kind {
  const char *file;
  char device[128], backend[16];
  /* of solves alone */
  char links[64], stop[16], even_odd[16], preconditioner[16];
  double kappa, csw, tol, reals, steps, cycles; /* reals: stored of each link */
} row_kind;

typedef struct rows {
  model_hop hop[ROWS_MAX];
  model_solve solve[ROWS_MAX];
  row_kind kind[ROWS_MAX];    /* of a solve */
  row_kind first;             /* of the first row that counts */
  char problem[ROWS_MAX][96]; /* of a solve: links, kappa, lattice */
  int block[ROWS_MAX][4];     /* of a solve: extents of its domains */
  int hops, solves;
  int reference;                   /* a solve of the predicted problem; -1: none */
  double domain[MODEL_METHODS][4]; /* sums for the fit of steps to sites: 1, x, y, xx */
  double cross[MODEL_METHODS];     /* xy */
} rows;

/* Fills m->method, m->inside, the steps on one rank, and *r. Refuses files that hold no rows, rows
 * that do not belong together, and rows that allow no fit. Exit status. */
int rows_read(const cli_texts *files, model *m, rows *r);
/* Chooses the problem to predict, and how the steps of each method depend on the domains. */
void rows_choose(model *m, rows *r);

#endif
