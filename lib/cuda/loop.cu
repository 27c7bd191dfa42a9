/* loop.cu - a recorded loop's decisions: whether another block of steps follows, and whether
 * columns that wait are served now (lib/math/stopping.h); the states that a solve begins with
 * (lib/math/start.h). */
#include "lib/cuda/loop.h"

enum { WARP = 32, STARTERS = 256 };

static __global__ void start_kernel(kaon_loop_control *control, int limit) {
  control->blocks = 0;
  control->limit = limit;
}

static __device__ __forceinline__ int warp_count(int x) {
#pragma unroll
  for (int step = WARP / 2; step > 0; step /= 2) x += __shfl_down_sync(0xffffffffu, x, step);
  return x;
}

#if CUDART_VERSION >= 12040
/* One warp. */
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
    cudaGraphSetConditional(handles.serve, refused + stepping + waiting == 0);
    return;
  }
  const int before = stage == KAON_LOOP_ENTRY ? 0 : control->blocks;
  const int blocks = before + (stage == KAON_LOOP_STEPPED);
  if (stage != KAON_LOOP_SERVED) control->blocks = blocks;
  if (stage == KAON_LOOP_STEPPED) {
    cudaGraphSetConditional(handles.serve,
                            (unsigned)kaon_serve_now(stepping, waiting, &control->patience));
  }
  cudaGraphSetConditional(handles.again, stepping + waiting > 0 && blocks < control->limit);
}
#endif

/* One block. */
static __global__ void begin_kernel(const kaon_start start) {
  const int words = start.columns * (int)(sizeof(kaon_column_state) / sizeof(int4));
  const int4 *from = (const int4 *)start.prepared;
  int4 *to = (int4 *)start.state;
  int odd = 0;
  for (int i = threadIdx.x; i < words; i += STARTERS) to[i] = from[i];
  for (int k = threadIdx.x; k < start.columns; k += STARTERS)
    odd |= !kaon_start_ordinary(&start, k);
  odd = __syncthreads_or(odd); /* and all words are there */
  for (int k = threadIdx.x; k < start.columns; k += STARTERS) kaon_start_column(&start, k, !odd);
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
