/* short_copy.cu - see short_copy.h. Runs as one block. The host must see all data before it sees
 * the sequence number. After the barrier the fence of one thread covers the stores of the
 * others. */
#include "lib/cuda/queue/short_copy.h"

#include "lib/cuda/queue/dependent.h"

enum { SHORT_COPY_THREADS = 256 };

static __global__ void __launch_bounds__(SHORT_COPY_THREADS)
    short_copy_kernel(const __grid_constant__ kaon_short_copy_call c) {
  volatile double *to = c.to->bytes;
  kaon_wait_for_previous();
  for (int i = threadIdx.x; i < c.count; i += SHORT_COPY_THREADS) to[i] = __ldcg(c.from + i);
  __syncthreads();
  if (threadIdx.x != 0) return;
  __threadfence_system();
  *(volatile uint32_t *)&c.to->turn = c.turn;
}

extern "C" void kaon_short_copy_send(const kaon_launch *launch, const kaon_short_copy_call *call) {
  kaon_cuda_launch(launch, short_copy_kernel, 1u, SHORT_COPY_THREADS, *call);
}
