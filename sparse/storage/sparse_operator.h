/* sparse_operator.h - shared by the files of operators made of rows. */
#pragma once

#include "lib/operator/domains.h"
#include "sparse/storage/matrix.h"

/* row_domains.c: divides the rank's rows into blocks of `block` (0: all), by their index before
 * they were sorted by boundary and length. No entry of `rows` couples two blocks of one turn.
 * Collective. Errors: MEMORY. */
kaon_status kaon_matrix_domains(const kaon_matrix *matrix, const kaon_row_set *rows, int64_t block,
                                kaon_domains **domains);
