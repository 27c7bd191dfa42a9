/* peer_turn.cu - see peer_turn.h. Several blocks a message, so that tickets count. */
#include "tests/ranks/cuda/peer_turn.h"

enum { THREADS = 64, BLOCKS = 3 /* a message */, SECONDS = 60 };

static __device__ uint32_t look(const uint32_t *flag) {
  uint32_t x;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(x) : "l"(flag) : "memory");
  return x;
}

static __device__ void wait_for(const uint32_t *flag, uint32_t mark) {
  unsigned long long begin, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  while ((int32_t)(look(flag) - mark) < 0) {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    if (now - begin > SECONDS * 1000000000ull) __trap();
  }
}

static __global__ void turn_kernel(const __grid_constant__ peer_turn_call a) {
  const peer_turn_message &m = a.messages[blockIdx.x / BLOCKS];
  const int part = blockIdx.x % BLOCKS, back = (m.dir + 4) % 8;
  const uint32_t mark = *(volatile uint32_t *)a.peer.turn + 1;
  const int64_t half = (int64_t)(mark % 2) * a.peer.flip / 4;
  for (int i = part * THREADS + threadIdx.x; i < m.words; i += BLOCKS * THREADS)
    m.send[half + i] = m.from[i];
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence_system();
    if (atomicInc(&a.peer.tickets[back], BLOCKS - 1) == BLOCKS - 1) {
      __threadfence_system();
      asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(a.peer.raise[back]), "r"(mark)
                   : "memory");
    }
    wait_for(&a.peer.arrived[m.dir], mark);
  }
  __syncthreads();
  for (int i = part * THREADS + threadIdx.x; i < m.words; i += BLOCKS * THREADS)
    m.to[i] = __ldcg(m.come + half + i);
  __syncthreads();
  if (threadIdx.x == 0 && atomicInc(&a.peer.tickets[8], gridDim.x - 1) == gridDim.x - 1)
    *(volatile uint32_t *)a.peer.turn = mark;
}

extern "C" void peer_turn(const peer_turn_call *call, void *queue) {
  turn_kernel<<<(unsigned)(BLOCKS * call->n), THREADS, 0, (cudaStream_t)queue>>>(*call);
}
