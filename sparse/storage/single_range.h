/* single_range.h - whether numbers of a matrix can be rounded to single precision (16-bit values have
 * scales in it), whose range is smaller than theirs. */
#ifndef KAON_SPARSE_SINGLE_RANGE_H
#define KAON_SPARSE_SINGLE_RANGE_H

#include "sparse/storage/matrix.h"

/* Refuses an entry beyond the largest float, and, of a matrix' `whole` rows, a row that would
 * become 0: by row and column in the caller's order of the whole matrix. `rows` is in the space's
 * order, `set` knows its ghosts. Not collective. Errors: PRECISION. */
kaon_status kaon_single_range_check(const kaon_matrix *matrix, const kaon_row_set *set, const char *name,
                              int whole);
/* Plain numbers, of factors. Errors: PRECISION. */
kaon_status kaon_single_range_check_values(kaon_context *ctx, const char *name, int64_t count,
                                      const double *numbers);

#endif
