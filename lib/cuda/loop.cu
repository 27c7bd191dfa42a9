/* loop.cu - a recorded loop's decisions: whether another block of steps follows, and whether
 * columns that wait are served now (lib/math/stopping.h). */
#include "lib/cuda/loop.h"
#include "lib/math/stopping.h"

enum { WARP = 32 };

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
  int stepping = 0, waiting = 0;
  for (int k = threadIdx.x; k < columns; k += WARP) {
    const int gate = state[k].gate;
    stepping += (gate & KAON_GATE_STEP) != 0;
    waiting += (gate & KAON_GATE_SERVICE) != 0;
  }
  stepping = warp_count(stepping);
  waiting = warp_count(waiting);
  if (threadIdx.x != 0) return;
  const int blocks = control->blocks + (stage == KAON_LOOP_STEPPED);
  if (stage == KAON_LOOP_STEPPED) {
    control->blocks = blocks;
    cudaGraphSetConditional(handles.serve,
                            (unsigned)kaon_serve_now(stepping, waiting, &control->patience));
  }
  cudaGraphSetConditional(handles.again, stepping + waiting > 0 && blocks < control->limit);
}
#endif

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
