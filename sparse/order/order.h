/* order.h - the order in which a matrix stores its rows. It starts from the caller's choice
 * (kaon_ordering). Rows that need other ranks' columns come last, so that the products of the other
 * rows hide the messages. Then rows are sorted by length within windows, so that blocks of rows
 * have little padding. */
#pragma once

#include "sparse/storage/matrix.h"

/* Sets matrix->order, ->place and ->number (NULL if it is the caller's order). given: sorted rows
 * with columns of the whole matrix. Errors: MEMORY, those of kaon_order_rcm. */
kaon_status kaon_matrix_order(kaon_matrix *matrix, const kaon_csr *given,
                              const kaon_matrix_options *options);
