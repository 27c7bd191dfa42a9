/* order.h - in which order a matrix keeps its rows: what the caller asks for (kaon_ordering), then
 * rows that need other ranks' columns last, so that the others' products hide the messages, then by
 * length within windows, so that blocks of rows have little padding. */
#ifndef KAON_SPARSE_ORDER_H
#define KAON_SPARSE_ORDER_H

#include "sparse/storage/matrix.h"

/* Sets matrix->order, ->place and ->number (NULL where that is the caller's order). given: sorted
 * rows with columns of the whole matrix. Errors: MEMORY, those of kaon_order_rcm. */
kaon_status kaon_matrix_order(kaon_matrix *matrix, const kaon_csr *given,
                              const kaon_matrix_options *options);

/* Entries that blocks of `width` rows take when each is padded to its longest; length[row]. */
int64_t kaon_padded_entries(const int32_t *length, int64_t rows, int width);

#endif
