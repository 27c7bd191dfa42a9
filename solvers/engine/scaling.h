/* scaling.h - right-hand sides far from 1. Numbers of single and half precision end near 1e38 and
 * 1e-38, and recurrences take products of squares: both ends come long before those of b in double.
 * Columns beyond them are solved as A y = 2^-e b, x = 2^e y. Powers of 2 round nothing, and all
 * that is reported of a solve is relative to |b|. */
#ifndef KAON_SOLVERS_SCALING_H
#define KAON_SOLVERS_SCALING_H

#include "lib/operator/operator_internal.h"

/* |b|^2 of columns that are solved as they are. */
typedef struct kaon_norm_range {
  double least, most;
} kaon_norm_range;

/* coarse: a part of the solve may be in single or half precision. */
kaon_norm_range kaon_norm_range_of(double tol, int coarse);
/* 1: a column is beyond it. Columns of 0 are not. */
int kaon_norm_range_exceeded(kaon_norm_range norm_range, const double *norm2, int columns);

typedef struct kaon_scaling {
  kaon_vector *b; /* scaled; NULL: b is solved for as it is */
  int *exponent;  /* [column] e; 0 within reach */
  int *shift;     /* [column of x] what x is beside, times 2^-shift */
  /* scalars of at least as many columns as the widest vector, all open, and their host copies */
  kaon_scalars *sums;
  kaon_column_state *host;
} kaon_scaling;

/* norm2: |b|^2 by columns. After an error there is nothing to let go of. Collective. Errors:
 * MEMORY. */
kaon_status kaon_scaling_begin(kaon_scaling *scaling, const kaon_vector *b, kaon_norm_range norm_range,
                               const double *norm2, kaon_scalars *sums, kaon_column_state *host);
/* A guess. Column m of x is of column m modulo b's. */
kaon_status kaon_scaling_guess(const kaon_scaling *scaling, kaon_vector *x);
/* The solution as the user wants it, and lets go of all; where `status`, of the solve, is an error,
 * that alone, and returns it. Nothing where there was no scaling. Collective. Errors: NOT_FINITE (x
 * is beyond double; `what` begins the sentence). */
kaon_status kaon_scaling_end(kaon_scaling *scaling, kaon_vector *x, double tol, const char *what,
                             kaon_status status);

#endif
