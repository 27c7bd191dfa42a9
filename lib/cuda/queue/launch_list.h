/* launch_list.h - steps as a list of launches in device memory, instead of a graph. Two forms
 * interpret it on the device: CDP (sparse/cuda/cdp.cu) and PERSISTENT (sparse/cuda/resident.cu).
 *
 * While kaon_context.list is set, launchers that use lib/cuda/queue/dependent.h append their
 * launches to the list: which kernel, for one column, and its arguments. A kernel without a number
 * here, or a launch for several columns, refuses the whole list. Work launched otherwise is
 * detected in the capture of the stream (graph.c). Common to C and CUDA C. */
#pragma once

#include <cuda_runtime_api.h>

#include "lib/core/backend.h"
#include "lib/cuda/queue/loop.h"
#include "lib/core/launch.h"

/* The kind of an entry: number + 64 * precision. Vector updates have numbers below 32
 * (blas/cuda/words.h). */
enum {
  KAON_LISTED_NONE,
  KAON_LISTED_UPDATE = 1, /* + word_op */
  KAON_LISTED_SELL = 32,
  KAON_LISTED_SELL_SHARED,
  KAON_LISTED_CSR,
  KAON_LISTED_ADD_AND_ZERO, /* from single to double; in lists in single */
  KAON_LISTED_PRECISION = 64
};
/* Most launches in a block of steps, and most entries after repetitions are removed; bytes of a
 * call; sums of a launch. */
enum {
  KAON_LIST_CAPACITY = 256,
  KAON_LIST_ENTRIES = 64,
  KAON_CALL_BYTES = 384,
  KAON_LIST_VALUES = 8
};

typedef struct kaon_launch_list_entry {
  int kind;
  int chunks; /* blocks of the original launch: for the column and its sums */
  int mask;   /* of its gate; 0: always open */
  int sums;   /* offset in the call of its kaon_cuda_sums (lib/cuda/reduction/reduce.h) */
  int summed; /* it computes sums */
  int joined; /* each thread handles in the next entry exactly the words that it handled in this
               * one */
  int unused[2];
  KAON_SLOT_ALIGNED unsigned char call[KAON_CALL_BYTES];
} kaon_launch_list_entry;

/* A list in host memory. */
typedef struct kaon_launch_list {
  int count;
  const char *refused;            /* reason of refusal; NULL: not refused */
  const kaon_column_state *state; /* the state that all entries must refer to */
  kaon_launch_list_entry entry[KAON_LIST_CAPACITY];
} kaon_launch_list;

/* What the forms receive. All pointers are device pointers. */
typedef struct kaon_listed {
  const kaon_launch_list_entry *entry;
  int count, turns; /* entries, and how often they repeat in a block of steps */
  int blocks;       /* PERSISTENT: size of the grid */
  kaon_loop_control *control;
  kaon_column_state *state;
  uint64_t *room; /* PERSISTENT: workspace of KAON_RESIDENT_WORDS words, initially 0 */
} kaon_listed;

/* Limits of chunks and blocks of a persistent kernel. Its workspace has a line with the last
 * sequence tag, then twice the sums of all chunks and a flag for every block. */
enum { KAON_RESIDENT_CHUNKS = 4224, KAON_RESIDENT_BLOCKS = 1024 };
#define KAON_RESIDENT_HALF \
  (2 * ((size_t)KAON_LIST_VALUES * KAON_RESIDENT_CHUNKS + KAON_RESIDENT_BLOCKS))
#define KAON_RESIDENT_WORDS (KAON_MARK_WORDS + 2 * KAON_RESIDENT_HALF)

/* PERSISTENT, for one precision (sparse/cuda/resident.cu). launch: launches the persistent
 * kernel, or adds it to a captured graph. blocks: how many of its blocks the current device
 * holds at once. */
typedef struct kaon_resident_ops {
  cudaError_t (*launch)(const kaon_listed *list, int cooperative, cudaStream_t stream);
  cudaError_t (*blocks)(int entries, int *blocks);
} kaon_resident_ops;
/* For double and single (backend.c). */
extern const kaon_resident_ops *const kaon_cuda_resident[2];

/* CDP: the loaded image of sparse/cuda/cdp.cu (cdp_image.c), one for each context. */
typedef struct kaon_cdp_image kaon_cdp_image;

KAON_BEGIN_C

/* A launch to append. */
typedef struct kaon_launch_list_item {
  int kind;
  unsigned blocks;
  int chunks; /* of the sums */
  kaon_gate gate;
  const kaon_column_state *state;  /* source of coefficients; NULL: none */
  const kaon_column_state *summed; /* destination of sums; NULL: none */
  const void *call;
  size_t bytes, sums; /* of the call, and the offset of the sums in it */
} kaon_launch_list_item;
void kaon_launch_list_append(kaon_launch_list *list, const kaon_launch_list_item *launch);
/* Loads the image; *chain is NULL on failure. */
cudaError_t kaon_cdp_create(kaon_cdp_image **chain);
void kaon_cdp_destroy(kaon_cdp_image **chain); /* NULL allowed */
/* Queues blocks of steps, which then continue on the device without the host. */
cudaError_t kaon_cdp_launch(const kaon_cdp_image *chain, int precision, const kaon_listed *list,
                            cudaStream_t stream);

/* The list of a recorder (launch_list.c) with its device memory from the pool, and the image.
 * Created before a solve, for one of the two forms. */
typedef struct kaon_list_recorder kaon_list_recorder;
kaon_status kaon_list_recorder_create(kaon_context *ctx, kaon_issue form,
                                      kaon_loop_control *control, kaon_list_recorder **lister);
void kaon_list_recorder_destroy(kaon_list_recorder **lister); /* NULL allowed */
/* Lists what loop->steps issues, without executing it. UNSUPPORTED if it cannot be listed. */
kaon_status kaon_list_recorder_record(kaon_list_recorder *lister, const kaon_loop *loop);
/* CDP: queues blocks of steps. PERSISTENT: queues the kernel, or records it. cooperative: uses a
 * cooperative launch, which guarantees that all blocks are resident. */
kaon_status kaon_list_recorder_launch_cdp(const kaon_list_recorder *lister);
kaon_status kaon_list_recorder_launch_resident(const kaon_list_recorder *lister, int cooperative);

KAON_END_C
