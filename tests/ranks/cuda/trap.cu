/* trap.cu - see trap.h. */
#include "tests/ranks/cuda/trap.h"

static __global__ void trap_kernel(void) {
  __trap();
}

extern "C" void trap_device(void) {
  trap_kernel<<<1, 1>>>();
}
