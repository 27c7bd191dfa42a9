/* projector.h - scaled rows for projections, and the order of a sweep, in memory that kernels
 * read. */
#pragma once

#include "sparse/storage/stored.h"
#include "sparse/order/sweep_order.h"

/* Rows of the matrix' space times sqrt(lambda) / |a_i|, and these factors, which the caller frees
 * (NULL: not requested). Errors: SINGULAR (a row of zeros; the message has the caller's index),
 * NOT_FINITE, MEMORY. */
kaon_status kaon_scaled_rows(const kaon_matrix *matrix, double lambda, kaon_csr **scaled,
                             double **factor);

typedef struct kaon_projector {
  kaon_context *ctx;
  kaon_stored *stored;
  kaon_sweep_order_view order;
  int64_t *launch;                                /* host */
  void *launch_there, *group, *step, *part, *row; /* in the context's memory */
  void *weight;
  int64_t columns;
} kaon_projector;

/* order is only read. rows: of the matrix' space, with any columns. Errors: MEMORY. */
kaon_status kaon_projector_create(kaon_context *ctx, const kaon_csr *rows, const double *factor,
                                  const kaon_sweep_rows *order, kaon_precision precision,
                                  kaon_projector **made);
void kaon_projector_destroy(kaon_projector **gone); /* NULL allowed */

/* A sweep over y in place, of nrhs columns; b NULL: 0. Only the gate of the pass is used. */
kaon_status kaon_projector_sweep(const kaon_projector *p, int backward, const kaon_vector *b,
                                 kaon_view y, int nrhs, const kaon_pass *pass);
/* Bytes that a sweep over one column moves: the matrix once, and each element of y that a row
 * touches read and written. */
double kaon_projector_bytes(const kaon_projector *p);
