/* sweeps.h - implements the methods `rows` and `absolute` of a matrix' operators. */
#pragma once

#include "lib/operator/row_sweeps.h"
#include "sparse/storage/matrix.h"

/* precision: of vectors; values_half: of the entries (TRIANGLE). *sweeps is NULL on failure.
 * Collective. Errors: ARGUMENT (a value of `how` out of range), SINGULAR, MEMORY, NOT_BUILT,
 * UNSUPPORTED (the kind does not exist). */
kaon_status kaon_matrix_sweeps(kaon_matrix *matrix, const kaon_row_how *how,
                               kaon_precision precision, int values_half, kaon_row_sweeps **sweeps);

/* One kind each. *sweeps is complete except for ops and self. */
kaon_status kaon_sweeps_triangle(kaon_matrix *matrix, const kaon_row_how *how, int values_half,
                                 kaon_row_sweeps *sweeps);
kaon_status kaon_sweeps_blocks(kaon_matrix *matrix, const kaon_row_how *how,
                               kaon_row_sweeps *sweeps);
/* Exchanges what blocks need to know of other ranks' blocks, after all ranks have created theirs.
 * Collective; all ranks return the same status. */
kaon_status kaon_sweeps_blocks_exchange(kaon_matrix *matrix, kaon_relax_exchange wanted,
                                        kaon_row_sweeps *sweeps);
