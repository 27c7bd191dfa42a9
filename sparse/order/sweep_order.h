/* sweep_order.h - orders of the rows of a sweep, on the host: which rows follow one another and
 * which are processed concurrently (format: kaon_sweep_order_view). An order is a function of the
 * rows' pattern and indices. It depends on no thread and no device. */
#pragma once

#include <kaon/relax.h>

#include "sparse/storage/matrix.h"
#include "sparse/sparse_ops.h"

typedef struct kaon_sweep_rows {
  int64_t rows, groups, steps;
  int launches;
  int64_t *launch, *group, *step, *part; /* as in the view; group, step and part may be NULL as
                                            there */
  int32_t *row;
} kaon_sweep_rows;

/* Creates the order options->order (GROUPS: sets options->groups to the chosen number). Errors:
 * ARGUMENT, MEMORY. */
kaon_status kaon_sweep_rows_create(const kaon_matrix *matrix, kaon_kaczmarz_options *options,
                                   kaon_sweep_rows **made);
/* CARP: one launch with options->blocks groups. Groups are blocks of rows as options->block_rows
 * says, or consecutive rows of the caller's permutation (order PERMUTATION), where block k begins
 * at position n k / blocks. colour: the steps of a block are the colours of its rows; else they are
 * its rows. Errors: as above. */
kaon_status kaon_sweep_rows_blocks(const kaon_matrix *matrix, const kaon_kaczmarz_options *options,
                                   kaon_sweep_rows **made);
void kaon_sweep_rows_destroy(kaon_sweep_rows **gone); /* NULL allowed */

/* Sets the sizes and allocates `launch` and `row`, zeroed. groups, steps > 0: allocates `group` and
 * `step` too; else these are NULL, and every row is one. Errors: MEMORY. For sweep_order.c and
 * sweep_sections.c. */
kaon_status kaon_sweep_rows_new(const kaon_context *ctx, int64_t rows, int launches, int64_t groups,
                                int64_t steps, kaon_sweep_rows **made);
/* sweep_sections.c: classes of sections by coordinates. */
kaon_status kaon_sweep_rows_sections(const kaon_matrix *matrix,
                                     const kaon_kaczmarz_options *options, kaon_sweep_rows **made);
/* Rows of the space by index (NULL: the same order). The caller frees the array. Errors: MEMORY. */
kaon_status kaon_sweep_by_index(const kaon_matrix *matrix, int32_t **row);
