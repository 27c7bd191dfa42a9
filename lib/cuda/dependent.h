/* dependent.h - launches that begin before the one before has ended. Its last blocks leave
 * multiprocessors idle, and a launch costs a microsecond or two: the next kernel's blocks come in
 * meanwhile, work out who they are and wait until all that was written before is visible.
 * A kernel launched by kaon_cuda_launch calls kaon_wait_for_previous before it reads or writes
 * anything that another kernel writes (gates and states are such; links and clover blocks are not
 * where kaon_launch.early says so), and kaon_let_next_start where
 * the rest of its work is short: the next one's blocks take the places that its own leave. Kernels
 * that are launched otherwise wait for all of the one before and need neither. All threads call
 * kaon_wait_for_previous first, those too that have nothing to do: a block that returned without it
 * would let the kernel after this one start before the one before it has ended.
 * From compute capability 9.0, in code made for it; elsewhere these are plain launches. */
#ifndef KAON_LIB_CUDA_DEPENDENT_H
#define KAON_LIB_CUDA_DEPENDENT_H

#include "lib/launch.h"

static __device__ __forceinline__ void kaon_wait_for_previous(void) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

static __device__ __forceinline__ void kaon_let_next_start(void) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}

/* kernel<<<blocks, threads, shared>>>(call) on the launch's stream. */
template <typename CALL>
static void kaon_cuda_launch(const kaon_launch *launch, void (*kernel)(CALL), unsigned blocks,
                             unsigned threads, const CALL &call, unsigned shared = 0) {
  cudaLaunchConfig_t config = {};
  cudaLaunchAttribute early = {};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared;
  config.stream = (cudaStream_t)launch->queue;
  config.attrs = &early;
  config.numAttrs = launch->dependent ? 1 : 0;
  cudaLaunchKernelEx(&config, kernel, call);
}

#endif
