/* tail.cu - the form KAON_ISSUE_TAIL: the last kernel of a block of steps, or of a service,
 * launches the graph that follows. Compiled as relocatable device code and linked separately
 * (CMakeLists.txt), because it needs the device runtime. */
#include "lib/cuda/queue/loop.h"
#include "lib/math/steps/stopping.h"

enum { WARP = 32 };

KAON_DEVICE int warp_count(int x) {
#pragma unroll
  for (int step = WARP / 2; step > 0; step /= 2) x += __shfl_down_sync(0xffffffffu, x, step);
  return x;
}

#if CUDART_VERSION >= 12040
/* Runs as one warp. */
static __global__ void tail_kernel(kaon_loop_control *control, const kaon_column_state *state,
                                   int columns, kaon_loop_stage stage) {
  int stepping = 0, waiting = 0;
  for (int k = threadIdx.x; k < columns; k += WARP) {
    const int gate = state[k].gate;
    stepping += (gate & KAON_GATE_STEP) != 0;
    waiting += (gate & KAON_GATE_SERVICE) != 0;
  }
  stepping = warp_count(stepping);
  waiting = warp_count(waiting);
  if (threadIdx.x != 0) return;
  if (stage == KAON_LOOP_STEPPED) {
    control->blocks++;
    if (kaon_service_due(stepping, waiting, &control->patience)) {
      cudaGraphLaunch(control->service, cudaStreamGraphTailLaunch);
      return;
    }
  }
  if (stepping + waiting > 0 && control->blocks < control->limit)
    cudaGraphLaunch(control->steps, cudaStreamGraphTailLaunch);
}
#endif

extern "C" void kaon_cuda_loop_tail(kaon_loop_control *control, const kaon_column_state *state,
                                    int columns, kaon_loop_stage stage, cudaStream_t stream) {
#if CUDART_VERSION >= 12040
  tail_kernel<<<1, WARP, 0, stream>>>(control, state, columns, stage);
#else
  (void)control, (void)state, (void)columns, (void)stage, (void)stream;
#endif
}
