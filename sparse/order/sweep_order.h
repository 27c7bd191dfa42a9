/* sweep_order.h - orders of the rows of a sweep, on the host: which rows follow one another and
 * which are worked on at once (kaon_sweep_order_view says how that is written down). All of them
 * are functions of the rows' pattern and numbers: of no thread, no device. */
#ifndef KAON_SPARSE_SWEEP_ORDER_H
#define KAON_SPARSE_SWEEP_ORDER_H

#include <kaon/relax.h>

#include "sparse/storage/matrix.h"
#include "sparse/sparse_ops.h"

typedef struct kaon_sweep_rows {
  int64_t rows, groups, steps;
  int launches;
  int64_t *launch, *group, *step, *part; /* as of the view; group, step, part NULL likewise */
  int32_t *row;
} kaon_sweep_rows;

/* As options->order says (GROUPS: options->groups becomes what was chosen). Errors: ARGUMENT,
 * MEMORY. */
kaon_status kaon_sweep_rows_create(const kaon_matrix *matrix, kaon_kaczmarz_options *options,
                                   kaon_sweep_rows **made);
/* CARP: one launch whose groups are options->blocks blocks of rows as options->block_rows says, or
 * of rows that follow one another in the caller's permutation (order PERMUTATION), block k from
 * place n k / blocks on; colour: a block's steps are the colours of its rows, else they are its
 * rows. Errors: the same. */
kaon_status kaon_sweep_rows_blocks(const kaon_matrix *matrix, const kaon_kaczmarz_options *options,
                                   kaon_sweep_rows **made);
void kaon_sweep_rows_destroy(kaon_sweep_rows **gone); /* NULL allowed */

/* rows: sizes and the launches alone are set; others NULL. groups, steps > 0: room for their
 * beginnings too. Errors: MEMORY. For sweep_order.c and sweep_sections.c. */
kaon_status kaon_sweep_rows_new(const kaon_context *ctx, int64_t rows, int launches, int64_t groups,
                                int64_t steps, kaon_sweep_rows **made);
/* sweep_sections.c: classes of sections by coordinates. */
kaon_status kaon_sweep_rows_sections(const kaon_matrix *matrix,
                                     const kaon_kaczmarz_options *options, kaon_sweep_rows **made);
/* Row of the space by number (NULL: the same). The caller's, by free(). Errors: MEMORY. */
kaon_status kaon_sweep_by_index(const kaon_matrix *matrix, int32_t **row);

#endif
