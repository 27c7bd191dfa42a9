/* launch.h - what every kernel of every backend is handed besides its arguments. */
#ifndef KAON_LIB_LAUNCH_H
#define KAON_LIB_LAUNCH_H

#include <stdint.h>

#include "lib/math/steps/recurrence.h"

/* Raw view of a vector in the table's own precision; scale is NULL unless half. */
typedef struct kaon_view {
  void *data;
  float *scale;
} kaon_view;

/* Shapes of CUDA launches that a tuning asks for (kaon/context.h); 0: by the launcher's rule, which
 * also answers what it was not compiled for. */
typedef struct kaon_launch_shape {
  int threads; /* of a block */
  int group;   /* columns that a thread takes */
  int blocks;  /* at most so many a column, where nothing is summed */
} kaon_launch_shape;

typedef struct kaon_launch {
  int threads;       /* CPU: OpenMP team size */
  int stream_stores; /* CPU: the call goes through more than the last cache has for it: past it */
  int prefetch;      /* CPU: into which level of cache a kernel asks ahead; 0: it does not */
  void *queue;       /* CUDA: stream */
  int dependent;     /* CUDA: see lib/cuda/queue/dependent.h */
  int early;         /* CUDA: the kernel before writes vectors, scalars and parts of sums alone */
  double *partials;  /* room for KAON_REDUCE_CHUNKS * nrhs * KAON_REDUCE_MAX doubles */
  uint32_t *tickets; /* CUDA: nrhs counters, 0 between launches (lib/cuda/reduction/reduce.h) */
  uint64_t *marked;  /* CUDA, one column: room for marked sums (there too); else NULL */
  double *left;      /* CUDA, one column: as much room as `partials` for parts that a sum is left in
                        (kaon_deferred_sums); else NULL */
  const void *peer_reduction; /* CUDA: for sums over ranks (lib/cuda/ranks/peer_sums.h); NULL: not by these kernels */
  kaon_launch_shape tuned;        /* CUDA */
  struct kaon_timeline *timeline; /* CUDA, measurements (dslash/cuda/timeline.h); NULL: none */
  void *library; /* CUDA: vector work by another library (blas/cuda/library.h); else NULL */
  struct kaon_launch_list *list; /* CUDA: takes launches down (lib/cuda/queue/launch_list.h); NULL: they take place */
} kaon_launch;

/* What a kernel that waited in vain for another rank leaves in memory of the host's, the device's
 * being lost: words of these numbers, KIND last; 0: nothing. MESSAGE: for hops in direction DIR. */
enum { KAON_TIMEOUT_KIND, KAON_TIMEOUT_RANK, KAON_TIMEOUT_SEQUENCE, KAON_TIMEOUT_DIR };
enum { KAON_TIMEOUT_SUM = 1, KAON_TIMEOUT_MESSAGE };

/* An exchange that kernels take part in by themselves, with stores into the neighbours' memory. All
 * pointers are the device's; `turn` and what follows it are this rank's but for `raise`.
 *   Who sends writes the message into `to` + (turn + 1) % 2 * flip bytes, and when all of it for
 * the hops in dir is written (tickets count blocks), a fence to the system later, sets *raise[dir]
 * = turn + 1. Who receives waits until arrived[dir] >= turn + 1 (as a signed difference) and reads
 * at the same offset from `ghosts`. When all blocks that send and all that receive have read
 * `turn`, the last of them adds 1 to it. Messages of a turn overwrite those of the turn before the
 * last. Nobody reads these any more: who sends has received the neighbour's last message, which
 * followed them. So one flag a direction and two halves of the buffers are enough. Every exchange
 * takes place, whatever the gates say. */
typedef struct kaon_peer_exchange {
  uint32_t *turn;
  uint32_t *tickets;       /* [KAON_DIRS + 1], 0 between exchanges: by direction, and of `turn` */
  const uint32_t *arrived; /* [KAON_DIRS] by direction of the hop that the ghosts are for */
  uint32_t *raise[8];      /* the neighbour's `arrived`, for what is sent for its hops in dir */
  uint32_t partitioned;    /* a bit a direction (of 8) that has messages */
  int64_t flip;            /* bytes */
  uint64_t patience;       /* nanoseconds that who receives waits before it ends the job */
  uint32_t *timeout_report;     /* says why */
  uint8_t neighbour[8];    /* the rank that hops in dir need messages of */
} kaon_peer_exchange;

/* Columns that take part: (state[k].gate & mask) != 0; state == NULL: all. */
typedef struct kaon_gate {
  const kaon_column_state *state;
  int mask;
} kaon_gate;

/* Where sums go. Partial sums are taken over fixed chunks of blocks (a function of the shape alone)
 * and added in chunk order, so results do not depend on the number of threads. Slot KAON_NO_SLOT:
 * not wanted. `then`: the recurrence to run on each gated column afterwards (0: none; always 0 when
 * several ranks must be summed, unless the kernel does that as well: `ranks`). */
enum { KAON_REDUCE_CHUNKS = 256, KAON_REDUCE_MAX = 68 };
/* Marked sums: a line with the last mark, then two words a sum of a block. */
enum {
  KAON_MARK_WORDS = 16,
  KAON_MARKED_SUMS = 1 << 16,
  KAON_MARKED = KAON_MARK_WORDS + 2 * KAON_MARKED_SUMS
};
/* Sums that passes have kept for the message of a later one (kaon_pass.split): n slots. The first
 * `left` of them, all of one pass, are not there yet but by blocks in kaon_launch.left, as
 * [value][chunk]: real and imaginary part of one after another; `real`: imaginary parts are 0. */
enum { KAON_SPLIT_SLOTS = 6 };
typedef struct kaon_deferred_sums {
  int n, left, chunks, real;
  int slot[KAON_SPLIT_SLOTS];
} kaon_deferred_sums;

/* CUDA, one column, for kernels that offer it (blas/blas.h):
 *   ranks   the kernel sums over all ranks
 *   kept    NULL, or sums in parts that this one's end adds up as well, into their slots
 *   leave   the sums stay parts instead, and their number of chunks goes to *kept */
typedef struct kaon_sum {
  kaon_column_state *state; /* NULL: no sum wanted */
  int slot[4];              /* meaning by kernel */
  int then;
  int16_t ranks, leave;
  kaon_deferred_sums *deferred;
} kaon_sum;

#endif
