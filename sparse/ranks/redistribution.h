/* redistribution.h - rows that the library shares out among the ranks by itself: by METIS' parts of the whole
 * pattern (kaon_matrix_options.partition). Everything inside the library then sees the rows in a
 * numbering of their own, in which each rank's follow one another, part by part and within a part
 * in the caller's order. The doors alone (vectors, files, sentences) know which row was which. */
#ifndef KAON_SPARSE_REDISTRIBUTION_H
#define KAON_SPARSE_REDISTRIBUTION_H

#include "sparse/storage/matrix.h"

/* Of one rank. Rows that two ranks exchange are in ascending order on both sides, so a message by
 * rank needs no list where it arrives. */
struct kaon_row_redistribution {
  kaon_context *ctx;
  int64_t first, rows;   /* that the caller gave on this rank */
  int64_t *count, *came; /* [rank] of those that went to a rank; of those here that came from one */
  int32_t *by_rank;      /* [rows] the given ones, from 0, by the rank that they went to */
  int64_t *number;       /* [row here] in the caller's matrix */
};

/* Moves the rows of a matrix whose join() has been checked, as `partition` asks: *given, the
 * matrix' first_row and first_rows become those of the new numbering, matrix->redistribution and ->shared
 * are set. Nothing is done on one rank, and where the rows stay. Collective. Errors: ARGUMENT
 * (ranks ask for different things), UNSUPPORTED (METIS cannot number the couplings), MEMORY. */
kaon_status kaon_rows_redistribute(kaon_matrix *matrix, kaon_csr **given, kaon_matrix_partition partition);
void kaon_row_redistribution_destroy(kaon_row_redistribution **redistribution); /* NULL allowed */

/* Numbers of a vector, `reals` a row: here[row here] from given[row given], and back. Collective.
 * Errors: MEMORY, COMM. */
kaon_status kaon_rows_from_caller(const kaon_row_redistribution *redistribution, int reals, const double *given,
                            double *here);
kaon_status kaon_rows_to_caller(const kaon_row_redistribution *redistribution, int reals, const double *here,
                            double *given);
/* Rows in the caller's numbering on the ranks that gave them, from rows as they stand here with
 * columns of the moved numbering, which are taken over. Collective. Errors: MEMORY, COMM. */
kaon_status kaon_rows_to_caller_order(const kaon_matrix *matrix, kaon_csr **rows);

#endif
