/* loop.cu - the decisions of a recorded loop: whether another block of steps follows, and whether
 * waiting columns are served now (lib/math/steps/stopping.h). Also the start of the states of a
 * solve (lib/math/steps/start.h) and the snapshot that ends it. */
#include "lib/cuda/queue/loop.h"

enum { WARP = 32, STARTERS = 256 };

KAON_DEVICE uint64_t clock_nanoseconds(void) {
  uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

static __global__ void start_kernel(kaon_loop_control *control, int limit) {
  control->blocks = 0;
  control->limit = limit;
}

KAON_DEVICE int warp_count(int x) {
#pragma unroll
  for (int step = WARP / 2; step > 0; step /= 2) x += __shfl_down_sync(0xffffffffu, x, step);
  return x;
}

#if CUDART_VERSION >= 12040
/* Runs as one warp. */
static __global__ void decide_kernel(kaon_loop_control *control, const kaon_column_state *state,
                                     int columns, kaon_loop_stage stage,
                                     kaon_loop_handles handles) {
  int stepping = 0, waiting = 0, refused = 0;
  for (int k = threadIdx.x; k < columns; k += WARP) {
    const int gate = state[k].gate;
    stepping += (gate & KAON_GATE_STEP) != 0;
    waiting += (gate & KAON_GATE_SERVICE) != 0;
    refused += kaon_start_refused(&state[k]);
  }
  stepping = warp_count(stepping);
  waiting = warp_count(waiting);
  refused = warp_count(refused);
  if (threadIdx.x != 0) return;
  if (stage == KAON_LOOP_GUARD) {
    cudaGraphSetConditional(handles.service_waiting, refused + stepping + waiting == 0);
    return;
  }
  if (stage == KAON_LOOP_ENTRY) control->begun = clock_nanoseconds();
  const int before = stage == KAON_LOOP_ENTRY ? 0 : control->blocks;
  const int blocks = before + (stage == KAON_LOOP_STEPPED);
  if (stage != KAON_LOOP_SERVICED) control->blocks = blocks;
  if (stage == KAON_LOOP_STEPPED) {
    cudaGraphSetConditional(handles.service_waiting,
                            (unsigned)kaon_service_due(stepping, waiting, &control->patience));
  }
  cudaGraphSetConditional(handles.again, stepping + waiting > 0 && blocks < control->limit);
}
#endif

/* Runs as one block. */
static __global__ void begin_kernel(const kaon_start start) {
  const int words = start.columns * (int)(sizeof(kaon_column_state) / sizeof(int4));
  const int4 *from = (const int4 *)start.prepared;
  int4 *to = (int4 *)start.state;
  int odd = 0;
  for (int i = threadIdx.x; i < words; i += STARTERS) to[i] = from[i];
  for (int k = threadIdx.x; k < start.columns; k += STARTERS)
    odd |= !kaon_start_ordinary(&start, k);
  odd = __syncthreads_or(odd); /* and all words are copied */
  for (int k = threadIdx.x; k < start.columns; k += STARTERS) kaon_start_column(&start, k, !odd);
}

typedef struct snapshot_call {
  const kaon_loop_control *control;
  const kaon_column_state *state, *norms;
  int columns;
  kaon_column_state *copy, *copy_norms;
  kaon_loop_done *loop_done;
} snapshot_call;

/* Copies words of eight bytes. */
KAON_DEVICE void snapshot_copy(void *to, const void *from, size_t bytes) {
  for (size_t i = threadIdx.x; i < bytes / sizeof(double); i += STARTERS)
    ((volatile double *)to)[i] = ((const double *)from)[i];
}

/* Runs as one block. The host must see all data before it sees the flag. After the barrier the
 * fence of one thread covers the stores of the others. */
static __global__ void snapshot_kernel(const snapshot_call c) {
  const size_t slots = KAON_SNAPSHOT_SLOTS * sizeof c.state->slot[0];
  const size_t behind = sizeof *c.state - KAON_SNAPSHOT_TAIL;
  for (int k = 0; k < c.columns; k++) {
    const kaon_column_state *from = &c.state[k];
    kaon_column_state *to = &c.copy[k];
    const int taken = kaon_snapshot_history(from);
    snapshot_copy(c.copy_norms[k].slot, c.norms[k].slot, slots);
    snapshot_copy(to->slot, from->slot, slots);
    snapshot_copy(to->history, from->history, (size_t)taken * sizeof from->history[0]);
    snapshot_copy(&to->reference, &from->reference, behind);
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  const uint64_t elapsed = clock_nanoseconds() - c.control->begun;
  volatile kaon_loop_done *loop_done = c.loop_done;
  loop_done->elapsed = elapsed < UINT32_MAX ? (uint32_t)elapsed : UINT32_MAX;
  __threadfence_system();
  loop_done->there = 1;
}

extern "C" void kaon_cuda_loop_snapshot(const kaon_loop_control *control,
                                        const kaon_column_state *state,
                                        const kaon_column_state *norms, int columns,
                                        kaon_column_state *copy, kaon_column_state *copy_norms,
                                        kaon_loop_done *loop_done, cudaStream_t stream) {
  const snapshot_call c = {control, state, norms, columns, copy, copy_norms, loop_done};
  snapshot_kernel<<<1, STARTERS, 0, stream>>>(c);
}

extern "C" void kaon_cuda_loop_begin(const kaon_start *start, cudaStream_t stream) {
  begin_kernel<<<1, STARTERS, 0, stream>>>(*start);
}

extern "C" void kaon_cuda_loop_start(kaon_loop_control *control, int limit, cudaStream_t stream) {
  start_kernel<<<1, 1, 0, stream>>>(control, limit);
}

extern "C" void kaon_cuda_loop_decide(kaon_loop_control *control, const kaon_column_state *state,
                                      int columns, kaon_loop_stage stage, kaon_loop_handles handles,
                                      cudaStream_t stream) {
#if CUDART_VERSION >= 12040
  decide_kernel<<<1, WARP, 0, stream>>>(control, state, columns, stage, handles);
#else
  (void)control, (void)state, (void)columns, (void)stage, (void)handles, (void)stream;
#endif
}
