/* loop.h - the data and kernels by which a recorded loop decides on the device (loop.cu), for
 * lib/cuda/queue/graph.c. */
#pragma once

#include <cuda_runtime_api.h>

#include "lib/math/steps/start.h"

/* Control words of a recorder, in device memory. */
typedef struct kaon_loop_control {
  int blocks, limit; /* blocks done since the start, and their limit */
  int patience;      /* blocks that waiting columns have waited to be served together */
  int spare;
  cudaGraphExec_t steps, service; /* TAIL: the graphs that launch each other */
  uint64_t begun;                 /* the device's clock at the loop's entry, in nanoseconds */
} kaon_loop_control;

/* The flag of a snapshot that a kernel writes into host memory, stored after the copies. */
typedef struct kaon_loop_done {
  uint32_t there;   /* 0 until the copies are complete */
  uint32_t elapsed; /* nanoseconds since the loop's entry, saturated */
} kaon_loop_done;

/* The position of a decision in the loop. */
typedef enum kaon_loop_stage {
  KAON_LOOP_ENTRY,
  KAON_LOOP_STEPPED,
  KAON_LOOP_SERVICED,
  KAON_LOOP_GUARD, /* decides whether the part after the loop runs (kaon_loop.after) */
  KAON_LOOP_END,
  KAON_LOOP_SNAPSHOT /* copies states and norms */
} kaon_loop_stage;

/* Handles of the two conditions of the loop, as the runtime defines them. */
typedef struct kaon_loop_handles {
  unsigned long long again, service_waiting;
} kaon_loop_handles;

KAON_BEGIN_C

/* Allows the next runs of the loop `limit` blocks. */
void kaon_cuda_loop_start(kaon_loop_control *control, int limit, cudaStream_t stream);
/* Sets the conditions from the gates of `columns` states. */
void kaon_cuda_loop_decide(kaon_loop_control *control, const kaon_column_state *state, int columns,
                           kaon_loop_stage stage, kaon_loop_handles handles, cudaStream_t stream);

/* Copies states and norms (lib/math/steps/start.h) and then sets the flag, by a kernel instead of a
 * copy. All targets are pinned memory. */
void kaon_cuda_loop_snapshot(const kaon_loop_control *control, const kaon_column_state *state,
                             const kaon_column_state *norms, int columns, kaon_column_state *copy,
                             kaon_column_state *copy_norms, kaon_loop_done *loop_done,
                             cudaStream_t stream);

/* Initialises states from prepared ones (kaon_record_ops.start). */
void kaon_cuda_loop_begin(const kaon_start *start, cudaStream_t stream);

/* TAIL (tail.cu): the last kernel of a block or a service, which launches the next graph. */
void kaon_cuda_loop_tail(kaon_loop_control *control, const kaon_column_state *state, int columns,
                         kaon_loop_stage stage, cudaStream_t stream);

KAON_END_C
