/* long_entries.h - long rows in the form that a device reads (kaon_long_entries). */
#pragma once

#include "sparse/storage/long_rows.h"
#include "sparse/storage/matrix.h"
#include "sparse/sparse_ops.h"

/* Makes it from parts->long_part. Columns from `own` on are ghosts. half: 16 bits and a scale for
 * each row; needs precision single. *bytes: all its memory in the context; *index_bytes: the part
 * of it that a product reads to find entries. Errors: MEMORY. */
kaon_status kaon_long_entries_create(kaon_context *ctx, const kaon_long_rows *parts, int64_t own,
                                     kaon_precision precision, int half, kaon_long_entries **made,
                                     int64_t *bytes, int64_t *index_bytes);
void kaon_long_entries_destroy(kaon_context *ctx, kaon_long_entries **made);
