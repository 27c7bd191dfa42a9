/* launch.h - what every kernel of every backend receives besides its arguments. */
#pragma once

#include <stdint.h>

#include "lib/math/steps/recurrence.h"

/* Raw view of a vector in the table's precision; scale is NULL unless half. */
typedef struct kaon_view {
  void *data;
  float *scale;
} kaon_view;

/* Launch shapes for CUDA from a tuning table (kaon/context.h). 0: the launcher's default, which it
 * also uses for shapes that it was not compiled for. */
typedef struct kaon_launch_shape {
  int threads; /* of a block */
  int group;   /* columns of one thread */
  int blocks;  /* at most this many a column, if nothing is summed */
} kaon_launch_shape;

typedef struct kaon_launch {
  int threads; /* CPU: OpenMP team size */
  /* CPU: 1: store past the caches, since the call touches more than the last cache holds. */
  int stream_stores;
  int prefetch;  /* CPU: cache level to prefetch into; 0: no prefetch */
  void *queue;   /* CUDA: stream */
  int dependent; /* CUDA: see lib/cuda/queue/dependent.h */
  /* CUDA: 1: the previous kernel writes only vectors, scalars and partial sums. */
  int early;
  double *partials;  /* capacity: KAON_REDUCE_CHUNKS * nrhs * KAON_REDUCE_MAX doubles */
  uint32_t *tickets; /* CUDA: nrhs counters, 0 between launches (lib/cuda/reduction/reduce.h) */
  uint64_t *marked;  /* CUDA, one column: buffer for sequence-tagged sums (reduce.h); else NULL */
  double *left;      /* CUDA, one column: buffer for deferred partial sums (kaon_deferred_sums), as
                        large as `partials`; else NULL */
  /* CUDA: for kernels that sum over ranks (lib/cuda/ranks/peer_sums.h). NULL: they must not. */
  const void *peer_reduction;
  kaon_launch_shape tuned;        /* CUDA */
  struct kaon_timeline *timeline; /* CUDA, measurements (dslash/cuda/timeline.h); NULL: none */
  struct kaon_context *log;       /* CUDA: logs which kernel runs a hop; NULL: not wanted */
  void *library; /* CUDA: another library for vector work (blas/cuda/library.h); else NULL */
  /* CUDA: records launches instead of running them (lib/cuda/queue/launch_list.h). NULL: they
   * run. */
  struct kaon_launch_list *list;
} kaon_launch;

/* Report of a kernel that timed out waiting for another rank. It is left in host memory, since the
 * device is lost. The words have these indices; KIND is written last (0: no report). MESSAGE: the
 * message is for hops in direction DIR. */
enum { KAON_TIMEOUT_KIND, KAON_TIMEOUT_RANK, KAON_TIMEOUT_SEQUENCE, KAON_TIMEOUT_DIR };
enum { KAON_TIMEOUT_SUM = 1, KAON_TIMEOUT_MESSAGE };

/* An exchange by kernels that store into the neighbours' memory. All pointers are to device memory.
 * `turn`, the sequence number, and all members after it belong to this rank, except `raise`. `to`
 * and `ghosts` below are arguments of the kernels (dslash/dslash_ops.h).
 * - The sender writes its message to `to` + (turn + 1) % 2 * flip bytes. When all blocks have
 *   written for the hops in dir (counted by tickets), it fences for the system and sets
 *   *raise[dir] = turn + 1.
 * - The receiver waits until arrived[dir] >= turn + 1 (as a signed difference), then reads at the
 *   same offset from `ghosts`.
 * - After all sending and receiving blocks have read `turn`, the last one adds 1 to it.
 * Messages of one exchange overwrite those of the exchange before the last. These are no longer
 * read: the sender has received the neighbour's last message, which was sent after reading them. So
 * one flag a direction and two halves of the buffers suffice. Every exchange runs, whatever the
 * gates say. */
typedef struct kaon_peer_exchange {
  uint32_t *turn;
  uint32_t *tickets;        /* [KAON_DIRS + 1], 0 between exchanges: one a direction, one for
                              `turn` */
  const uint32_t *arrived;  /* [KAON_DIRS], by direction of the hops that use the ghosts */
  uint32_t *raise[8];       /* the neighbour's `arrived`, for messages to its hops in dir */
  uint32_t partitioned;     /* one bit for each of 8 directions that has messages */
  int64_t flip;             /* bytes */
  uint64_t patience;        /* nanoseconds that a receiver waits before it ends the job */
  uint32_t *timeout_report; /* the reason then */
  uint8_t neighbour[8];     /* the rank whose messages hops in dir need */
} kaon_peer_exchange;

/* Parts of an operation that reads beyond the faces of a divided lattice (lib/grid/overlap.h).
 * GATHER: packs the messages. INTERIOR: what needs none; BOUNDARY: the rest, which completes the
 * sums that INTERIOR began. FUSED: all of these in one kernel. ALL: the whole operation where there
 * are no messages. */
enum { KAON_PART_ALL, KAON_PART_INTERIOR, KAON_PART_BOUNDARY, KAON_PART_FUSED, KAON_PART_GATHER };

/* Columns to work on: those with (state[k].gate & mask) != 0; state == NULL: all. Kernels that
 * process inner columns as columns of their own (kaon_space.inner) read `columns`: their column k
 * has the state k % columns; 0: the state k. */
typedef struct kaon_gate {
  const kaon_column_state *state;
  int mask;
  int columns;
} kaon_gate;

/* Where sums go. Partial sums are taken over fixed chunks of blocks, which depend only on the
 * shape, and are added in chunk order. So results do not depend on the number of threads. Slot
 * KAON_NO_SLOT: not wanted. `then`: the recurrence to run on each gated column afterwards (0:
 * none). It is 0 with several ranks, unless the kernel sums over ranks too (`ranks`). */
enum { KAON_REDUCE_CHUNKS = 256, KAON_REDUCE_MAX = 68 };
/* Buffer of sequence-tagged sums: a line with the last tag, then two words for each sum of a
 * block. */
enum {
  KAON_MARK_WORDS = 16,
  KAON_MARKED_SUMS = 1 << 16,
  KAON_MARKED = KAON_MARK_WORDS + 2 * KAON_MARKED_SUMS
};
/* Deferred sums that a kernel has left as partial sums of its blocks: [value][chunk] in
 * kaon_launch.left, with real and imaginary parts as successive values. left: number of slots (0:
 * none). real: all imaginary parts are 0. */
typedef struct kaon_deferred_sums {
  int left, chunks, real;
  int slot[4];
} kaon_deferred_sums;

/* CUDA, one column, for kernels that offer it:
 *   ranks     1: the kernel sums over all ranks
 *   deferred  NULL, or deferred partial sums that this kernel's end also adds up, into their slots
 *   leave     1: the sums stay partial sums, and their number of chunks goes to *deferred */
typedef struct kaon_sum {
  kaon_column_state *state; /* NULL: no sum */
  int slot[4];              /* meaning depends on the kernel */
  int then;
  int16_t ranks, leave;
  kaon_deferred_sums *deferred;
} kaon_sum;
#define KAON_SUM_NONE ((kaon_sum){.slot = {KAON_NO_SLOT, KAON_NO_SLOT, KAON_NO_SLOT, KAON_NO_SLOT}})

/* What a kernel offers to do with its sums. Sums that it does not offer come from a separate
 * kernel, and so do all sums if it offers neither NORM nor DOT: then sum.state is NULL. */
enum {
  KAON_SUMS_NORM = 1,
  KAON_SUMS_DOT = 2,
  KAON_SUMS_RECURRENCES = 4, /* it runs any recurrence; else those of products
                                (lib/math/steps/recurrence_ids.h) */
  KAON_SUMS_RANKS = 8,       /* kaon_sum.ranks */
  KAON_SUMS_COMPLETES = 16,  /* kaon_sum.deferred */
  KAON_SUMS_LEAVES = 32      /* kaon_sum.leave */
};
