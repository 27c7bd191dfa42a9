/* scaling.h - scales right-hand sides whose norm is far from 1, and solutions of operators that
 * have an exponent (kaon_operator.exponent).
 *
 * Single and half precision reach from about 1e-38 to 1e38. Recurrences multiply squares, so they
 * overflow or underflow long before b does in double. Columns outside the range are solved as A y =
 * 2^-e b, x = 2^e y. Powers of 2 do not round, and all reported values are relative to |b|. */
#pragma once

#include "lib/operator/operator_internal.h"

/* |b|^2 of columns that are solved without scaling. */
typedef struct kaon_norm_range {
  double least, most;
} kaon_norm_range;

/* coarse: a part of the solve may be in single or half precision. */
kaon_norm_range kaon_norm_range_of(double tol, int coarse);
/* 1: a column is outside the range. Columns of 0 are not. */
int kaon_norm_range_exceeded(kaon_norm_range norm_range, const double *norm2, int columns);

typedef struct kaon_scaling {
  kaon_vector *b; /* scaled; NULL: b is not scaled */
  int columns;    /* of b */
  int of_A;       /* kaon_operator.exponent: the solve is of A' = 2^-of_A A */
  int *exponent;  /* [column] e of b; 0 if the column is in range */
  int *shift;     /* [column of x] x is stored times 2^-shift */
  /* With memory for as many columns as x, all open, and their host copies. */
  kaon_scalars *sums;
  kaon_column_state *host;
} kaon_scaling;

/* Scales the guess x for A', or back. */
kaon_status kaon_scaling_guess(const kaon_scaling *scaling, int back, kaon_vector *x);
/* Makes the scaled b and scales the guess x. Column m of x belongs to column m modulo b's. norm2:
 * |b|^2 by column. Collective. Errors: MEMORY. */
kaon_status kaon_scaling_begin(kaon_scaling *scaling, const kaon_vector *b, kaon_vector *x,
                               kaon_norm_range norm_range, const double *norm2);
/* Scales x back and releases everything. If the solve's `status` is an error, it only releases, and
 * returns that status. Collective. Errors: MEMORY, NOT_FINITE (x overflows its precision). */
kaon_status kaon_scaling_end(kaon_scaling *scaling, kaon_vector *x, double tol, kaon_status status);
