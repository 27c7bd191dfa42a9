/* triangle.h - solves with a sparse triangle, level by level. */
#pragma once

#include "sparse/storage/matrix.h"
#include "sparse/order/orderings.h"
#include "sparse/sweeps/pipeline.h"
#include "sparse/storage/stored.h"

typedef struct kaon_triangle {
  kaon_context *ctx;
  kaon_stored *stored;
  kaon_level_sets *sets; /* first: host copy */
  void *level, *row;     /* in the context's memory */
  int in_order;          /* as in kaon_levels_args, and: */
  kaon_pipeline *pipeline;
  void *diagonal; /* NULL: 1 */
} kaon_triangle;

/* Triangular solve y_i = (x_i - sum_j t_ij y_j) d_i. Rows are processed in the order of `sets`,
 * which this object takes over, also after a failure. Every t_ij must have j in an earlier level
 * than i. diagonal: d in double, one value for each row (NULL: 1). precision, values_half: as in
 * kaon_stored_create. Errors: MEMORY. */
kaon_status kaon_triangle_create(kaon_context *ctx, const kaon_csr *T, kaon_level_sets **sets,
                                 const double *diagonal, kaon_precision precision, int values_half,
                                 kaon_triangle **triangle);
void kaon_triangle_destroy(kaon_triangle **triangle); /* NULL allowed */

/* Solves for the columns of the pass' gate, without its sums; y may be x. */
kaon_status kaon_triangle_solve(const kaon_triangle *triangle, const kaon_vector *x, kaon_vector *y,
                                const kaon_pass *pass);
/* Bytes of matrix and levels that a solve reads. */
double kaon_triangle_bytes(const kaon_triangle *triangle);
