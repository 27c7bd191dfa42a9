/* dependent.h - launches that begin before the previous kernel has ended (programmatic dependent
 * launch). The last blocks of a kernel leave multiprocessors idle, and a launch takes a microsecond
 * or two. Meanwhile the blocks of the next kernel start, compute their indices and wait until all
 * earlier writes are visible.
 *
 * Rules for a kernel launched by kaon_cuda_launch:
 * - It calls kaon_wait_for_previous before it reads or writes anything that another kernel writes.
 *   This includes gates and states. It excludes links and clover blocks if kaon_launch.early is
 *   set.
 * - All threads call it, also those without work. A block that returned without it would let the
 *   kernel after this one start before the kernel before this one has ended.
 * - It calls kaon_let_next_start when the rest of its work is short. The blocks of the next kernel
 *   then take over the freed places.
 *
 * Kernels launched otherwise wait for the whole previous kernel and need neither call. Dependent
 * launches need compute capability 9.0 and code compiled for it; elsewhere these are plain
 * launches. */
#pragma once

#include "lib/cuda/queue/launch_list.h"

KAON_DEVICE void kaon_wait_for_previous(void) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

KAON_DEVICE void kaon_let_next_start(void) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}

/* Launches kernel<<<blocks, threads, shared>>>(call) on the stream of the launch. While launches
 * are recorded in a list, this refuses the list (use kaon_cuda_launch_listed). */
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

/* The same for a kernel that launch lists know as `number` (lib/cuda/queue/launch_list.h). NONE: it
 * cannot be listed with these arguments. The sums are in call.sums; state: the state that its
 * coefficients are read from. */
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
