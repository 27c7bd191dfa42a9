/* single_range.h - checks whether values of a matrix can be rounded to single precision, whose
 * range is smaller. These are the values as stored, A / 2^exponent. (16-bit values have scales in
 * single precision.) */
#pragma once

#include "sparse/storage/matrix.h"

/* Refuses an entry that overflows float and, if `whole`, a row that would become 0. The message
 * gives row and column in the caller's order of the whole matrix. set: its rows are in the space's
 * order. Not collective. Errors: PRECISION. */
kaon_status kaon_single_range_check(const kaon_matrix *matrix, const kaon_row_set *set,
                                    const char *name, int whole);
/* The same for plain values, of factors. Errors: PRECISION. */
kaon_status kaon_single_range_check_values(kaon_context *ctx, const char *name, int64_t count,
                                           const double *numbers);
