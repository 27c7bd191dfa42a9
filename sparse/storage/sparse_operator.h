/* sparse_operator.h - between the files of operators made of rows. */
#ifndef KAON_SPARSE_OPERATOR_H
#define KAON_SPARSE_OPERATOR_H

#include "lib/operator/domains.h"
#include "sparse/storage/matrix.h"

/* domains.c: the rank's rows in blocks of `block` (0: all), by their number before boundary and
 * lengths were sorted; blocks of one turn are not coupled by an entry of `rows`. Collective.
 * Errors: MEMORY. */
kaon_status kaon_matrix_domains(const kaon_matrix *matrix, const kaon_row_set *rows, int64_t block,
                                kaon_domains **domains);

#endif
