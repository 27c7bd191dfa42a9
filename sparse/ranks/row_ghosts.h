/* row_ghosts.h - messages with the vector elements that products need from other ranks. They are
 * declared once for a set of rows, a precision and a column count, and then reused.
 *
 * A message to a rank has as many elements as the one from it: the larger of both numbers, rounded
 * up to whole blocks of a vector's layout. Surplus elements are sent but not read. All ghosts are
 * one array, message by message, and so are all sent elements. */
#pragma once

#include "lib/grid/overlap.h"
#include "sparse/storage/matrix.h"

typedef struct kaon_row_messages {
  struct kaon_row_messages *next;
  kaon_halo halo; /* uses its context, exchange and bytes, but no directions */
  kaon_view send, receive;
  const int32_t *row; /* [element sent] row; in memory that kernels read */
  int64_t count;
  const void *sent; /* the x whose messages are under way, if kaon_operator_send started them */
} kaon_row_messages;

/* The set's messages for these vectors. They are made at the first call and owned by the set.
 * Collective. Errors: MEMORY, COMM, UNSUPPORTED (more neighbours than a device's exchange
 * supports). */
kaon_status kaon_row_messages_get(const kaon_row_set *set, kaon_precision precision, int nrhs,
                                  kaon_row_messages **messages);

/* Makes a set of other rows with the same ghosts, or without any if there are as many columns as
 * rows. It takes over the rows when it succeeds; *rows is then NULL. Errors: MEMORY. */
kaon_status kaon_row_set_like(const kaon_row_set *like, kaon_csr **rows, kaon_row_set **set);

/* The messages as lists. Sent element n is row[n] of this rank, received element n is ghost n.
 * Message i, to and from rank peer[i], has elements first[i] to first[i + 1]. peers 0: none, or the
 * set has no halo. Valid as long as the set. */
typedef struct kaon_row_lists {
  int peers;
  const int *peer;
  const int64_t *first;
  const int32_t *row;
} kaon_row_lists;
kaon_row_lists kaon_row_set_lists(const kaon_row_set *set);

/* A schedule for coupled ranks. *turns: on entry the turns of this rank, on return those of all
 * ranks. *first: the first of this rank's turns. Collective. Errors: MEMORY, COMM. */
kaon_status kaon_row_set_schedule(const kaon_row_set *set, int *turns, int *first);
