/* launch_list.h - steps as a list of launches in device memory, in the place of a graph, for forms that
 * interpret them there: CDP (sparse/cuda/cdp.cu) and PERSISTENT (sparse/cuda/resident.cu).
 *
 * While kaon_context.list is set, launchers that go through lib/cuda/queue/dependent.h append what they
 * would launch: which kernel it is, of one column, and its arguments. What has no number here, or
 * another number of columns, refuses the list as a whole; what is launched otherwise is found in
 * the stream's capture (graph.c). Common to C and CUDA C. */
#ifndef KAON_LIB_CUDA_LAUNCH_LIST_H
#define KAON_LIB_CUDA_LAUNCH_LIST_H

#include <cuda_runtime_api.h>

#include "lib/core/backend.h"
#include "lib/cuda/queue/loop.h"
#include "lib/core/launch.h"

/* What an entry is: number + 64 * precision. Vector updates have numbers of their own below 32
 * (blas/cuda/words.h). */
enum {
  KAON_LISTED_NONE,
  KAON_LISTED_UPDATE = 1, /* + word_op */
  KAON_LISTED_SELL = 32,
  KAON_LISTED_SELL_SHARED,
  KAON_LISTED_CSR,
  KAON_LISTED_ADD_AND_ZERO, /* from single to double: of lists in single */
  KAON_LISTED_PRECISION = 64
};
/* Entries of a block of steps, and of what is left when repetitions are taken out; bytes of a
 * call; sums of a launch. */
enum { KAON_LIST_CAPACITY = 256, KAON_LIST_ENTRIES = 64, KAON_CALL_BYTES = 384, KAON_LIST_VALUES = 8 };

typedef struct kaon_launch_list_entry {
  int kind;
  int chunks; /* blocks of its own launch: of the column, and of its sums */
  int mask;   /* of its gate; 0: always open */
  int sums;   /* where in the call its kaon_cuda_sums (lib/cuda/reduction/reduce.h) stand */
  int summed; /* it leaves sums */
  int joined; /* each thread meets in the next entry what it met in this one, and nothing else */
  int unused[2];
  KAON_SLOT_ALIGNED unsigned char call[KAON_CALL_BYTES];
} kaon_launch_list_entry;

/* In host memory. */
typedef struct kaon_launch_list {
  int count;
  const char *refused;            /* why; NULL: not */
  const kaon_column_state *state; /* that all of it must be about */
  kaon_launch_list_entry entry[KAON_LIST_CAPACITY];
} kaon_launch_list;

/* What the forms are handed; all pointers are the device's. */
typedef struct kaon_listed {
  const kaon_launch_list_entry *entry;
  int count, turns; /* entries, and how often they follow each other in a block of steps */
  int blocks;       /* PERSISTENT: of the grid */
  kaon_loop_control *control;
  kaon_column_state *state;
  uint64_t *room; /* PERSISTENT: KAON_RESIDENT_WORDS, 0 at first */
} kaon_listed;

/* Words of room: a line with the last mark, then twice the sums of all chunks and a flag of every
 * block. Chunks that sums may have there, and blocks. */
enum { KAON_RESIDENT_CHUNKS = 4224, KAON_RESIDENT_BLOCKS = 1024 };
#define KAON_RESIDENT_HALF \
  (2 * ((size_t)KAON_LIST_VALUES * KAON_RESIDENT_CHUNKS + KAON_RESIDENT_BLOCKS))
#define KAON_RESIDENT_WORDS (KAON_MARK_WORDS + 2 * KAON_RESIDENT_HALF)

/* PERSISTENT, of one precision (sparse/cuda/resident.cu): the kernel that stays, a graph's node
 * where the stream is captured, and how many blocks of it fit the current device at once. */
typedef struct kaon_resident_ops {
  cudaError_t (*launch)(const kaon_listed *list, int cooperative, cudaStream_t stream);
  cudaError_t (*blocks)(int entries, int *blocks);
} kaon_resident_ops;
/* Double and single (backend.c). */
extern const kaon_resident_ops *const kaon_cuda_resident[2];

/* CDP: the image of sparse/cuda/cdp.cu, loaded (cdp_image.c); a context's. */
typedef struct kaon_cdp_image kaon_cdp_image;

#ifdef __cplusplus
extern "C" {
#endif

/* Appends a launch. */
typedef struct kaon_launch_list_item {
  int kind;
  unsigned blocks;
  int chunks; /* of the sums */
  kaon_gate gate;
  const kaon_column_state *state;  /* that coefficients are read from; NULL: none */
  const kaon_column_state *summed; /* that sums go to; NULL: none */
  const void *call;
  size_t bytes, sums; /* of the call, and where in it the sums stand */
} kaon_launch_list_item;
void kaon_launch_list_append(kaon_launch_list *list, const kaon_launch_list_item *launch);
/* Loads the image; *chain is NULL on failure. */
cudaError_t kaon_cdp_create(kaon_cdp_image **chain);
void kaon_cdp_destroy(kaon_cdp_image **chain); /* NULL allowed */
/* Queues blocks of steps, which go on by themselves. */
cudaError_t kaon_cdp_launch(const kaon_cdp_image *chain, int precision, const kaon_listed *list,
                              cudaStream_t stream);

/* A recorder's list (launch_list.c), and what it needs on the device: memory of the pool, and the image.
 * Made before a solve, for one of the two forms. */
typedef struct kaon_list_recorder kaon_list_recorder;
kaon_status kaon_list_recorder_create(kaon_context *ctx, kaon_issue form, kaon_loop_control *control,
                               kaon_list_recorder **lister);
void kaon_list_recorder_destroy(kaon_list_recorder **lister); /* NULL allowed */
/* Lists what loop->steps issues; nothing takes place. UNSUPPORTED where it cannot be listed. */
kaon_status kaon_list_recorder_record(kaon_list_recorder *lister, const kaon_loop *loop);
/* CDP: queues blocks of steps. PERSISTENT: queues the kernel, or records it; cooperative: launched
 * so that the device sees to it that all its blocks are there. */
kaon_status kaon_list_recorder_launch_cdp(const kaon_list_recorder *lister);
kaon_status kaon_list_recorder_launch_resident(const kaon_list_recorder *lister, int cooperative);

#ifdef __cplusplus
}
#endif

#endif
