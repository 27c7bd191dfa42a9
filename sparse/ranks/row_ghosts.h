/* row_ghosts.h - what products need of other ranks' vectors: messages of the elements that entries of a
 * set of rows meet, declared once for a precision and column count and used again.
 *
 * A message to a rank has as many elements as one from it: the larger of both numbers, rounded up
 * so that messages are whole blocks of a vector's layout; what is in excess is sent and not read.
 * All ghosts are one array, message by message, and so is all that is sent. */
#ifndef KAON_SPARSE_GHOSTS_H
#define KAON_SPARSE_GHOSTS_H

#include "lib/grid/overlap.h"
#include "sparse/storage/matrix.h"

typedef struct kaon_row_messages {
  struct kaon_row_messages *next;
  kaon_halo halo; /* its context, exchange and bytes; directions are not used */
  kaon_view send, receive;
  const int32_t *row; /* [element sent] row, where kernels read it */
  int64_t count;
} kaon_row_messages;

/* The set's messages for such vectors; made when first asked for, owned by the set. Collective.
 * Errors: MEMORY, COMM, UNSUPPORTED (more neighbours than a device's exchange takes). */
kaon_status kaon_row_messages_get(const kaon_row_set *set, kaon_precision precision, int nrhs,
                                  kaon_row_messages **messages);

/* A set of other rows with the same ghosts, or, with as many columns as rows, without any. Copies
 * `rows`. Errors: MEMORY. */
kaon_status kaon_row_set_like(const kaon_row_set *like, const kaon_csr *rows, kaon_row_set **set);

/* The messages in lists: element n of what is sent is row[n] of this rank's, of what comes ghost n;
 * message i, to and from rank peer[i], has elements first[i] to first[i + 1]. peers 0: none, or the
 * set has no halo. Lives as long as the set. */
typedef struct kaon_row_lists {
  int peers;
  const int *peer;
  const int64_t *first;
  const int32_t *row;
} kaon_row_lists;
kaon_row_lists kaon_row_set_lists(const kaon_row_set *set);

/* How ranks that are coupled take turns: *turns, of this rank, becomes those of all; *first: the
 * first of this rank's. Collective. Errors: MEMORY, COMM. */
kaon_status kaon_row_set_schedule(const kaon_row_set *set, int *turns, int *first);

#endif
