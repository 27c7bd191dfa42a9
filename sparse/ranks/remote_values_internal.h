/* remote_values_internal.h - the private structure of kaon_remote_values. */
#pragma once

#include "sparse/ranks/remote_values.h"
#include "sparse/ranks/row_ghosts.h"

/* The remote rank of a message. Messages have the same length both ways, so not all elements are
 * used. */
typedef struct kaon_remote_rank {
  int rank;
  int64_t first;                           /* the message's first element here */
  int64_t there;                           /* the first element in the remote rank's numbering */
  int64_t elements;                        /* number of elements of the remote rank */
  int64_t receive_count, send_count;       /* elements used in each direction; they come first */
  int64_t remote_counters, local_counters; /* counters: one for each block of the remote rank, of
                                              this rank */
} kaon_remote_rank;

/* Offsets in bytes in a buffer for a given number of elements. */
typedef struct kaon_box {
  size_t incoming, incoming_counts, sent, sent_counts, bytes;
  size_t element, counter; /* bytes of one, all columns */
} kaon_box;

enum { KAON_REMOTE_VALUE_LISTS = 6, KAON_REMOTE_VALUE_ADDRESSES = 4 };

struct kaon_remote_values {
  kaon_context *ctx;
  kaon_precision precision;
  int reals;
  kaon_relax_exchange exchange_kind;
  char note[160];
  int peers;
  kaon_remote_rank *remote_rank;
  int64_t elements, blocks;
  /* What addresses are made from, in host memory:
   * - ghost: for each entry its ghost (-1: padding);
   * - read_slot: a slot for each counter read;
   * - element: an element for each value sent;
   * - notify_slot: a slot for each counter notified. */
  int64_t entries, reads, sends, notifications;
  int32_t *ghost, *read_slot, *element, *notify_slot;
  kaon_block_ghosts ghosts;
  /* allocated memory */
  void *list[KAON_REMOTE_VALUE_LISTS], *address[KAON_REMOTE_VALUE_ADDRESSES];
  /* For `columns` columns: */
  int columns;
  kaon_box box;
  char *mine;   /* the local buffer */
  char **there; /* [rank] other ranks' buffers, mapped for kernels or copies */
  struct kaon_shared *shared;
  kaon_window *comm_window; /* DK, PUSH on a CPU: the memory that `there` maps; AMC: the window
                               between the buffers */
  char *stage;              /* AMC: a copy of the buffer for transfers through the window */
  kaon_status failure;
};

kaon_box kaon_box_of(const kaon_remote_values *a, int64_t elements, int columns);
/* The message that an element, or slot, belongs to. */
const kaon_remote_rank *kaon_remote_rank_of(const kaon_remote_values *a, int64_t element);

const char *kaon_exchange_name(kaon_relax_exchange exchange_kind);

/* remote_values_exchange.c: releases what kaon_remote_values_reserve allocated. */
void kaon_remote_values_clear(kaon_remote_values *a);
