/* start.h - launches that overlap: on devices of compute capability 9.0 a kernel's blocks may be
 * set up while the one before it is still at work (programmatic dependent launch). Every kernel
 * that is started by kaon_cuda_start calls grid_begin before it reads or writes anything; from
 * there on all that was issued before it is done. In a chain of short kernels that saves a launch
 * each. */
#ifndef KAON_LIB_CUDA_START_H
#define KAON_LIB_CUDA_START_H

#include <cuda_runtime_api.h>

#include "lib/launch.h"

/* Waits for the work before, then lets the next kernel's blocks come. */
static __device__ __forceinline__ void grid_begin(void) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/* arguments: the addresses of the kernel's. */
static inline void kaon_cuda_start(const void *kernel, dim3 blocks, unsigned threads,
                                   const kaon_launch *launch, void **arguments) {
  cudaLaunchAttribute overlap;
  cudaLaunchConfig_t config = {};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  config.gridDim = blocks;
  config.blockDim = dim3(threads);
  config.stream = (cudaStream_t)launch->queue;
  config.attrs = &overlap;
  config.numAttrs = launch->overlap ? 1 : 0;
  cudaLaunchKernelExC(&config, kernel, arguments);
}

#endif
