/* cdp.cu - steps launched on the device by dynamic parallelism (KAON_ISSUE_CDP). A control kernel
 * of one thread launches the entries of a list (listed.h) into its tail stream. They run one after
 * the other when the kernel has ended. It also launches itself after them, as long as the column
 * iterates and no host poll is due. Columns that wait for service are left to the host.
 *
 * In the published conjugate gradients by dynamic parallelism, kernels wait for those that they
 * launched. CUDA 12 no longer allows that; hence the tail stream. The file is compiled as
 * relocatable device code and linked on the device into a separate image, which
 * lib/cuda/queue/cdp_image.c loads when this form is selected. So no other code of the library must
 * be relocatable or needs the device runtime. */
#include "sparse/cuda/listed.h"

struct chain_run {
  __device__ __forceinline__ const kaon_column_state *state(const kaon_column_state *theirs) const {
    return theirs;
  }
  template <int SLOTS, bool NORM>
  __device__ __forceinline__ void leave(const kaon_cuda_sums &s, int chunk, const double *value) {
    sums_finish<SLOTS, 8, NORM>(s, 0, chunk, value);
  }
  template <int SLOTS, bool NORM>
  __device__ __forceinline__ void end(const kaon_cuda_sums &) {}
};

static __global__ void __launch_bounds__(KAON_THREADS, 2)
    entry_kernel(const kaon_launch_list_entry *entry, const kaon_column_state *state) {
  chain_run run;
  if (entry->mask != 0 && (state->gate & entry->mask) == 0) return;
  listed_run(*entry, run);
}

/* One thread. done: blocks of steps completed since its last run. If the device has no space for a
 * launch, a step would lack a part. Then the kernel ends with an error, which the next transfer
 * reports. */
extern "C" __global__ void KAON_EXPORT(kaon_chain)(kaon_listed list, int done) {
  kaon_loop_control *control = list.control;
  control->blocks += done;
  if ((list.state->gate & KAON_GATE_STEP) == 0 || control->blocks >= control->limit) return;
  for (int turn = 0; turn < list.turns; turn++)
    for (int i = 0; i < list.count; i++) {
      const kaon_launch_list_entry *entry = list.entry + i;
      const unsigned blocks = (unsigned)entry->chunks;
      entry_kernel<<<blocks, KAON_THREADS, 0, cudaStreamTailLaunch>>>(entry, list.state);
    }
  KAON_EXPORT(kaon_chain)<<<1, 1, 0, cudaStreamTailLaunch>>>(list, 1);
  if (cudaGetLastError() != cudaSuccess) __trap();
}
