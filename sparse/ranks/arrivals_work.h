/* arrivals_work.h - the inside of kaon_arrivals, for the files that make it. */
#ifndef KAON_SPARSE_ARRIVALS_WORK_H
#define KAON_SPARSE_ARRIVALS_WORK_H

#include "sparse/ranks/arrivals.h"
#include "sparse/ranks/row_ghosts.h"

/* A message's other end. Messages are of one length both ways, so not all elements count. */
typedef struct kaon_partner {
  int rank;
  int64_t first;         /* the message's first element here, and in what the other rank has */
  int64_t there;         /* in its numbering, of */
  int64_t elements;      /* so many in all */
  int64_t comes, goes;   /* elements that count, of both directions: the first ones */
  int64_t tellers, told; /* counters: blocks of the other rank, blocks of this one */
} kaon_partner;

/* Bytes from the beginning of a box of so many elements. */
typedef struct kaon_box {
  size_t came, came_counts, sent, sent_counts, bytes;
  size_t element, counter; /* bytes of one, all columns */
} kaon_box;

enum { KAON_ARRIVAL_LISTS = 6, KAON_ARRIVAL_ADDRESSES = 4 };

struct kaon_arrivals {
  kaon_context *ctx;
  kaon_precision precision;
  int reals;
  kaon_relax_exchange way;
  char note[160];
  int peers;
  kaon_partner *partner;
  int64_t elements, blocks;
  /* What addresses are made of, in host memory: a ghost for each entry (-1: padding), a slot for
   * each counter read, an element for each number sent, a slot for each counter told. */
  int64_t entries, reads, sends, tells;
  int32_t *ghost, *read_slot, *element, *tell_slot;
  kaon_block_ghosts ghosts;
  void *list[KAON_ARRIVAL_LISTS], *address[KAON_ARRIVAL_ADDRESSES]; /* what is given back */
  /* Of `columns` columns */
  int columns;
  kaon_box box;
  char *mine;   /* the box */
  char **there; /* [rank] others' boxes, where kernels or copies reach them */
  struct kaon_shared *shared;
  kaon_board *board; /* DK, PUSH on a CPU: what `there` maps; AMC: what lies between the boxes */
  char *stage;       /* AMC: a copy of the box for what goes over the board */
  kaon_status failure;
};

kaon_box kaon_box_of(const kaon_arrivals *a, int64_t elements, int columns);
/* The message that an element, or slot, is of. */
const kaon_partner *kaon_partner_of(const kaon_arrivals *a, int64_t element);

const char *kaon_exchange_name(kaon_relax_exchange way);

/* arrivals_ways.c: lets go of what reserve took. */
void kaon_arrivals_clear(kaon_arrivals *a);

#endif
