/* redistribution.h - rows that the library redistributes among ranks, by METIS' partition of the
 * whole pattern (kaon_matrix_options.partition). Inside the library all rows then have a new
 * numbering. Each rank's rows are consecutive in it, part by part, and within a part in the
 * caller's order. Only import and export (of vectors, files and messages) know the caller's
 * indices. */
#pragma once

#include "sparse/storage/matrix.h"

/* On one rank. Rows that two ranks exchange are in ascending order on both sides, so the receiver
 * of a message needs no list. */
struct kaon_row_redistribution {
  kaon_context *ctx;
  int64_t first, rows;   /* the rows that the caller gave on this rank */
  int64_t *count, *came; /* [rank] number of rows sent to a rank; number received from one */
  int32_t *by_rank;      /* [rows] the given rows, from 0, by the rank that they were sent to */
  int64_t *number;       /* [row here] index in the caller's matrix */
};

/* Redistributes the rows of a matrix according to `partition`. The matrix must have passed join().
 * *given, first_row and first_rows change to the new numbering; matrix->redistribution and ->shared
 * are set. Does nothing on one rank, or if rows stay. Collective. Errors: ARGUMENT (ranks request
 * different partitions), UNSUPPORTED (METIS cannot number the couplings), MEMORY. */
kaon_status kaon_rows_redistribute(kaon_matrix *matrix, kaon_csr **given,
                                   kaon_matrix_partition partition);
void kaon_row_redistribution_destroy(kaon_row_redistribution **redistribution); /* NULL allowed */

/* Moves values of a vector, `reals` a row: here[row here] from given[row given], and back.
 * Collective. Errors: MEMORY, COMM. */
kaon_status kaon_rows_from_caller(const kaon_row_redistribution *redistribution, int reals,
                                  const double *given, double *here);
kaon_status kaon_rows_to_caller(const kaon_row_redistribution *redistribution, int reals,
                                const double *here, double *given);
/* Returns rows to the caller's numbering, on the ranks that gave them. *rows: as they are here,
 * with columns in the new numbering; they are taken over. Collective. Errors: MEMORY, COMM. */
kaon_status kaon_rows_to_caller_order(const kaon_matrix *matrix, kaon_csr **rows);
