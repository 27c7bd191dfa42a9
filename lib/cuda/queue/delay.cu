/* delay.cu - a delay on the device, in parallel with the queue's work (lib/core/backend.h): one
 * thread polls the device's clock. */
#include "lib/cuda/queue/delay.h"

static __global__ void delay_kernel(unsigned long long nanoseconds) {
  unsigned long long begin, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  while (now - begin < nanoseconds);
}

extern "C" cudaError_t kaon_delay_launch(cudaStream_t stream, double seconds) {
  delay_kernel<<<1, 1, 0, stream>>>((unsigned long long)(seconds * 1e9));
  return cudaGetLastError();
}
