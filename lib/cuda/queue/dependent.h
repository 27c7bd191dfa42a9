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

#include "lib/cuda/queue/launch_list.h"

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

/* kernel<<<blocks, threads, shared>>>(call) on the launch's stream. While launches are listed it
 * has no place there (kaon_cuda_launch_listed). */
template <typename CALL>
static void kaon_cuda_launch(const kaon_launch *launch, void (*kernel)(CALL), unsigned blocks,
                             unsigned threads, const CALL &call, unsigned shared = 0) {
  if (launch->list != NULL) {
    const kaon_launch_list_item none = {};
    kaon_launch_list_append(launch->list, &none);
    return;
  }
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

/* The same for a kernel that lists know by `number` (lib/cuda/queue/launch_list.h; NONE: not as it is called
 * here), with call.sums; state: that its coefficients are read from. */
template <typename CALL>
static void kaon_cuda_launch_listed(const kaon_launch *launch, int number, void (*kernel)(CALL),
                                    unsigned blocks, unsigned threads, const CALL &call,
                                    const kaon_column_state *state, unsigned shared = 0) {
#if defined(KAON_PREC_SINGLE)
  const int kind = number != KAON_LISTED_NONE ? number + KAON_LISTED_PRECISION : number;
#else
  const int kind = number;
#endif
  if (launch->list == NULL) {
    kaon_cuda_launch(launch, kernel, blocks, threads, call, shared);
    return;
  }
  kaon_launch_list_item listed = {};
  listed.kind = kind;
  listed.blocks = blocks;
  listed.chunks = call.sums.chunks;
  listed.gate = call.sums.gate;
  listed.state = state;
  listed.summed = call.sums.sum.state;
  listed.call = &call;
  listed.bytes = sizeof call;
  listed.sums = (size_t)((const char *)&call.sums - (const char *)&call);
  kaon_launch_list_append(launch->list, &listed);
}

#endif
