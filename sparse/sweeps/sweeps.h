/* sweeps.h - a matrix by its rows: what stands behind `rows` and `absolute` of its operators. */
#ifndef KAON_SPARSE_SWEEPS_H
#define KAON_SPARSE_SWEEPS_H

#include "lib/operator/row_sweeps.h"
#include "sparse/storage/matrix.h"

/* precision: of vectors; values_half: TRIANGLE: of the entries. *sweeps is NULL on failure.
 * Collective. Errors: ARGUMENT (a figure of `how` out of range), SINGULAR, MEMORY, NOT_BUILT,
 * UNSUPPORTED (a kind that is not there). */
kaon_status kaon_matrix_sweeps(kaon_matrix *matrix, const kaon_row_how *how,
                               kaon_precision precision, int values_half, kaon_row_sweeps **sweeps);

/* Of one kind each, into a *sweeps that has everything but ops and self. */
kaon_status kaon_sweeps_triangle(kaon_matrix *matrix, const kaon_row_how *how, int values_half,
                                 kaon_row_sweeps *sweeps);
kaon_status kaon_sweeps_blocks(kaon_matrix *matrix, const kaon_row_how *how,
                               kaon_row_sweeps *sweeps);
/* What blocks need of other ranks', once all ranks have made theirs. Collective, agreed on. */
kaon_status kaon_sweeps_blocks_exchange(kaon_matrix *matrix, kaon_relax_exchange wanted,
                                        kaon_row_sweeps *sweeps);

#endif
