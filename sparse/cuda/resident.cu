/* resident.cu - steps by one persistent kernel (KAON_ISSUE_PERSISTENT). All its blocks are
 * resident. They process the entries of a list (listed.h) together and wait for each other in
 * between, as long as the column iterates and no host poll is due.
 *
 * An entry ends when all blocks have seen the sequence tags of all blocks
 * (lib/cuda/reduction/reduce.h): on parts of its sums, or on flags of blocks without sums. Every
 * block adds the parts itself, in the order of the other forms, and runs the recurrence on a copy
 * of the column's state in its shared memory. So a sum costs one memory round trip, which is also
 * the end of the entry. Bits are those of the other forms. Tags alternate between two halves of the
 * space. A block that writes to a half again has seen all tags in the other half, so all blocks
 * have read the former one. */
#include "sparse/cuda/listed.h"

/* A block's part of the run, in shared memory. */
struct resident_run {
  kaon_column_state *own; /* also in shared memory */
  uint64_t *room;
  uint32_t mark; /* of the current entry */
  int half;
  int worked; /* whether entries were processed */

  __device__ __forceinline__ const kaon_column_state *state(const kaon_column_state *) const {
    return own;
  }

  __device__ __forceinline__ uint64_t *marked(void) const {
    return room + half * KAON_RESIDENT_HALF;
  }

  __device__ __forceinline__ uint32_t *flag(int block) const {
    return (uint32_t *)(marked() + KAON_MARK_WORDS +
                        2 * (KAON_LIST_VALUES * KAON_RESIDENT_CHUNKS + block));
  }

  template <int SLOTS, bool NORM>
  __device__ __forceinline__ void leave(const kaon_cuda_sums &s, int chunk, const double *value) {
    if (chunk != (int)blockIdx.x) __syncthreads(); /* the previous part has been read */
    marked_leave<2 * SLOTS, true>(marked(), s.chunks, chunk, marked_wanted<SLOTS, NORM>(s), mark,
                                  value);
  }

  template <int SLOTS, bool NORM>
  __device__ __forceinline__ void end(const kaon_cuda_sums &s) {
    finish(s, s.sum.state != NULL ? marked_wanted<SLOTS, NORM>(s) : 0, SLOTS);
  }

  /* wanted 0: no sums. All threads must call it. */
  __device__ __noinline__ void finish(const kaon_cuda_sums &s, uint32_t wanted, int slots) {
    __shared__ double total[KAON_LIST_VALUES];
    const int chunks = wanted != 0 ? s.chunks : 0; /* blocks that store parts */
    __syncthreads();                               /* the results of all threads are written */
    if (threadIdx.x == 0 && (int)blockIdx.x >= chunks) {
      marked_fence();
      asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(flag((int)blockIdx.x)), "r"(mark)
                   : "memory");
    }
    if (wanted != 0)
      marked_collect<KAON_LIST_VALUES, 4, true>(marked(), chunks, wanted, mark, total);
    wait_for_flags(chunks);
    __syncthreads();
    if (threadIdx.x == 0) {
      if (wanted != 0) sums_conclude(s, 0, slots, total);
      mark = mark + 1 != 0 ? mark + 1 : 1; /* 0 is the value of cleared memory */
      half ^= 1;
      worked = 1;
    }
    __syncthreads();
  }

  /* Waits for blocks first, first + 1, ... */
  __device__ __forceinline__ void wait_for_flags(int first) const {
    int patience = MARKED_TIMEOUT;
    bool waited = false;
    for (int i = first + (int)threadIdx.x; i < (int)gridDim.x; i += KAON_THREADS) {
      uint32_t seen;
      do {
        if (--patience == 0) __trap();
        asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag(i)) : "memory");
      } while (seen != mark);
      waited = true;
    }
    if (waited) marked_fence();
  }
};

/* Copies n pieces of 16 bytes; all threads of the block must call it. */
KAON_DEVICE void copy_pieces(void *to, const void *from, int n) {
  for (int i = threadIdx.x; i < n; i += KAON_THREADS) ((uint4 *)to)[i] = ((const uint4 *)from)[i];
}

enum {
  STATE_PIECES = sizeof(kaon_column_state) / 16,
  ENTRY_PIECES = sizeof(kaon_launch_list_entry) / 16
};
static_assert(sizeof(kaon_column_state) % 16 == 0 && sizeof(kaon_launch_list_entry) % 16 == 0,
              "whole pieces");

/* Block 0 writes at the end what all blocks read at the beginning. It does so after the end of an
 * entry, when all have read it. */
static __global__ void __launch_bounds__(KAON_THREADS, 2)
    resident_kernel(const __grid_constant__ kaon_listed list) {
  extern __shared__ uint4 memory[];
  __shared__ resident_run run;
  kaon_column_state *own = (kaon_column_state *)memory;
  kaon_launch_list_entry *entry = (kaon_launch_list_entry *)(memory + STATE_PIECES);
  copy_pieces(own, list.state, STATE_PIECES);
  copy_pieces(entry, list.entry, list.count * ENTRY_PIECES);
  const int limit = list.control->limit - list.control->blocks;
  if (threadIdx.x == 0) {
    const uint32_t last = (uint32_t)*list.room;
    run.own = own;
    run.room = list.room;
    run.mark = last + 1 != 0 ? last + 1 : 1;
    run.half = run.worked = 0;
  }
  __syncthreads();
  for (int i = threadIdx.x; i < list.count; i += KAON_THREADS) {
    kaon_cuda_sums *s = (kaon_cuda_sums *)(entry[i].call + entry[i].sums);
    if (s->sum.state != NULL) s->sum.state = own;
  }
  __syncthreads();
  int done = 0, turn = 0;
  while (done < limit && (own->gate & KAON_GATE_STEP) != 0) {
    for (int i = 0; i < list.count; i++)
      if (entry[i].mask == 0 || (own->gate & entry[i].mask) != 0) listed_run(entry[i], run);
    if (!run.worked) break;
    if (++turn == list.turns) {
      turn = 0;
      done++;
    }
  }
  if (blockIdx.x != 0 || !run.worked) return;
  copy_pieces(list.state, own, STATE_PIECES);
  if (threadIdx.x != 0) return;
  *list.room = run.mark - 1; /* the last tag that was used; or 0, after which the next one is 1 */
  if (turn > 0) done++;
  list.control->blocks += done - 1; /* the decision after the loop counts one */
}

static size_t shared_bytes(int entries) {
  return 16 * (STATE_PIECES + (size_t)entries * ENTRY_PIECES);
}

static cudaError_t launch_resident(const kaon_listed *list, int cooperative, cudaStream_t stream) {
  cudaLaunchConfig_t config = {};
  cudaLaunchAttribute together = {};
  together.id = cudaLaunchAttributeCooperative;
  together.val.cooperative = 1;
  config.gridDim = dim3((unsigned)list->blocks);
  config.blockDim = dim3(KAON_THREADS);
  config.dynamicSmemBytes = shared_bytes(list->count);
  config.stream = stream;
  config.attrs = &together;
  config.numAttrs = cooperative ? 1 : 0;
  return cudaLaunchKernelEx(&config, resident_kernel, *list);
}

static cudaError_t resident_blocks(int entries, int *blocks) {
  int device = 0, each = 0, multiprocessors = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
  if (error == cudaSuccess)
    error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, resident_kernel, KAON_THREADS,
                                                          shared_bytes(entries));
  *blocks = each * multiprocessors;
  if (*blocks > KAON_RESIDENT_BLOCKS) *blocks = KAON_RESIDENT_BLOCKS;
  return error;
}

extern "C" const kaon_resident_ops KAON_EXPORT(kaon_resident_ops);
const kaon_resident_ops KAON_EXPORT(kaon_resident_ops) = {launch_resident, resident_blocks};
