/* remote_values_internal.h - the inside of kaon_remote_values, for the files that make it. */
#ifndef KAON_SPARSE_REMOTE_VALUES_INTERNAL_H
#define KAON_SPARSE_REMOTE_VALUES_INTERNAL_H

#include "sparse/ranks/remote_values.h"
#include "sparse/ranks/row_ghosts.h"

/* A message's other end. Messages are of one length both ways, so not all elements count. */
typedef struct kaon_remote_rank {
  int rank;
  int64_t first;         /* the message's first element here, and in what the other rank has */
  int64_t there;         /* in its numbering, of */
  int64_t elements;      /* so many in all */
  int64_t receive_count, send_count;   /* elements that count, of both directions: the first ones */
  int64_t remote_counters, local_counters; /* counters: blocks of the other rank, blocks of this one */
} kaon_remote_rank;

/* Bytes from the beginning of a box of so many elements. */
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
  /* What addresses are made of, in host memory: a ghost for each entry (-1: padding), a slot for
   * each counter read, an element for each number sent, a slot for each counter told. */
  int64_t entries, reads, sends, notifications;
  int32_t *ghost, *read_slot, *element, *notify_slot;
  kaon_block_ghosts ghosts;
  void *list[KAON_REMOTE_VALUE_LISTS], *address[KAON_REMOTE_VALUE_ADDRESSES]; /* what is given back */
  /* Of `columns` columns */
  int columns;
  kaon_box box;
  char *mine;   /* the box */
  char **there; /* [rank] others' boxes, where kernels or copies reach them */
  struct kaon_shared *shared;
  kaon_window *comm_window; /* DK, PUSH on a CPU: what `there` maps; AMC: what lies between the boxes */
  char *stage;       /* AMC: a copy of the box for what goes over the board */
  kaon_status failure;
};

kaon_box kaon_box_of(const kaon_remote_values *a, int64_t elements, int columns);
/* The message that an element, or slot, is of. */
const kaon_remote_rank *kaon_remote_rank_of(const kaon_remote_values *a, int64_t element);

const char *kaon_exchange_name(kaon_relax_exchange exchange_kind);

/* remote_values_exchange.c: lets go of what reserve took. */
void kaon_remote_values_clear(kaon_remote_values *a);

#endif
