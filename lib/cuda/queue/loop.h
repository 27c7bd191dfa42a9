/* loop.h - what a recorded loop decides by, on the device (loop.cu), for lib/cuda/queue/graph.c. */
#ifndef KAON_LIB_CUDA_LOOP_H
#define KAON_LIB_CUDA_LOOP_H

#include <cuda_runtime_api.h>

#include "lib/math/steps/start.h"

/* A recorder's own words in device memory. */
typedef struct kaon_loop_control {
  int blocks, limit; /* done since the start, and how many may be */
  int patience;      /* blocks that waiting columns have waited for company */
  int spare;
  cudaGraphExec_t steps, service; /* TAIL: what launch each other */
  uint64_t begun;                 /* the device's clock at the loop's entry, nanoseconds */
} kaon_loop_control;

/* Beside the copies of a look that a kernel writes into the host's memory, behind them. */
typedef struct kaon_loop_done {
  uint32_t there;   /* 0 until they are */
  uint32_t elapsed; /* nanoseconds since the loop's entry, or the most there is */
} kaon_loop_done;

/* Where in the loop a decision stands. */
typedef enum kaon_loop_stage {
  KAON_LOOP_ENTRY,
  KAON_LOOP_STEPPED,
  KAON_LOOP_SERVICED,
  KAON_LOOP_GUARD, /* whether what goes behind the loop is done (kaon_loop.after) */
  KAON_LOOP_END,
  KAON_LOOP_SNAPSHOT /* copies of states and norms */
} kaon_loop_stage;

/* Handles of the loop's two conditions, as the runtime numbers them. */
typedef struct kaon_loop_handles {
  unsigned long long again, service_waiting;
} kaon_loop_handles;

#ifdef __cplusplus
extern "C" {
#endif

/* The next runs of the loop may take `limit` blocks. */
void kaon_cuda_loop_start(kaon_loop_control *control, int limit, cudaStream_t stream);
/* Sets the conditions from the gates of `columns` states. */
void kaon_cuda_loop_decide(kaon_loop_control *control, const kaon_column_state *state, int columns,
                           kaon_loop_stage stage, kaon_loop_handles handles, cudaStream_t stream);

/* A look at states and norms (lib/math/steps/start.h), without a copy's launch: into copies of them and
 * their arrival, all of it pinned memory. */
void kaon_cuda_loop_snapshot(const kaon_loop_control *control, const kaon_column_state *state,
                         const kaon_column_state *norms, int columns, kaon_column_state *copy,
                         kaon_column_state *copy_norms, kaon_loop_done *loop_done,
                         cudaStream_t stream);

/* States from prepared ones (kaon_record_ops.start). */
void kaon_cuda_loop_begin(const kaon_start *start, cudaStream_t stream);

/* TAIL (tail.cu): the last kernel of a block or a service, which launches what comes next. */
void kaon_cuda_loop_tail(kaon_loop_control *control, const kaon_column_state *state, int columns,
                         kaon_loop_stage stage, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
