/* kaczmarz_internal.h - internal data of reductions by row projections.
 *
 * kind      vectors z            a sweep forward             Q x + R b is
 * SWEEP     x                    all rows                    forward
 * DOUBLE    x                    all rows                    backward after forward
 * CARP      V x, copies          all blocks' rows on copies  V^H backward V V^H forward V
 * CIMMINO                        x + B^H (b' - B x)          twice; B = sqrt(lambda) D^-1/2 A
 *
 * CARP: s_j blocks read unknown j, and z has a copy of it for each of them. The averages y'_j = sum
 * of copies / s_j are self-adjoint only in the product weighted by s_j
 * (bench/notes/design-kaczmarz.md). Therefore the unknowns are u = S^1/2 x. With V_{cj} = s_j^-1/2
 * for the copies c of j, V^H V = 1, the copies are V u = x, the averages are S^1/2 y' = V^H z, and
 * the products are plain: Q = (K V)^H V V^H (K V), with K a forward sweep over the copies and the
 * backward sweep as its adjoint. So Q = Q^H, 0 <= Q <= 1 for 0 < lambda < 2, and 1 - Q is singular
 * where A is. Both maps are stored as rows: V^H is a product with the copies as ghosts. Unknowns
 * that no row reads have one copy. */
#pragma once

#include "sparse/sweeps/projector.h"

/* The unknown of each copy, and the rows' entries by copy. */
typedef struct kaon_copies {
  int64_t count;
  kaon_stored *spread, *gather; /* V, V^H */
  double *root;                 /* [unknown] s_j^1/2, host */
} kaon_copies;

/* Creates the copies for the rows in the blocks of `order`. *local: the rows with columns by copy,
 * owned by the caller. order->part becomes the first copy of each block. Errors: MEMORY,
 * UNSUPPORTED. */
kaon_status kaon_copies_create(const kaon_matrix *matrix, const kaon_csr *rows,
                               kaon_sweep_rows *order, kaon_precision precision, kaon_csr **local,
                               kaon_copies **made);
void kaon_copies_destroy(kaon_copies **gone); /* NULL allowed */
/* z = V x (spread); y = V^H z, or y = x - V^H z with the sums of the pass (x not NULL). */
kaon_status kaon_copies_spread(const kaon_copies *c, const kaon_vector *x, kaon_view z,
                               const kaon_pass *pass);
kaon_status kaon_copies_gather(const kaon_copies *c, const kaon_vector *x, kaon_view z,
                               kaon_vector *y, const kaon_pass *pass);

/* The largest eigenvalue of R^H R by `steps` steps of the power method, on the host. number: an
 * index for each column, from which the first vector is drawn, so that the estimate does not depend
 * on the order of columns; NULL: the column itself. Errors: MEMORY. */
kaon_status kaon_power_estimate(const kaon_context *ctx, const kaon_csr *R, const int32_t *number,
                                int steps, double *largest);
