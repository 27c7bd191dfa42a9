/* peer_sums.h - numbers with marks, and sums over ranks by mail (kaon_peer_reduction in lib/cuda/ranks/rank_sums.h):
 * for kernels that do nothing else (rank_sums.cu), and for the block of any other kernel that has
 * completed this rank's sum (lib/cuda/reduction/reduce.h), which then needs no launch. */
#ifndef KAON_LIB_CUDA_PEER_SUMS_H
#define KAON_LIB_CUDA_PEER_SUMS_H

#include "lib/cuda/ranks/rank_sums.h"

/* A double in two words, a half of it in each below the mark that says which sum it is of. */
typedef struct marked_sum {
  uint64_t low, high;
} marked_sum;

static __device__ __forceinline__ bool marked_is(const marked_sum &x, uint32_t mark) {
  return x.low >> 32 == mark && x.high >> 32 == mark;
}

static __device__ __forceinline__ double marked_number(const marked_sum &x) {
  return __longlong_as_double((long long)(x.high << 32 | (uint32_t)x.low));
}

/* Where `sender`'s number stands in the mail of the rank that has `words`. */
static __device__ __forceinline__ uint64_t *peer_sum_at(uint64_t *words, int ranks, uint32_t mark,
                                                    int sender, int number) {
  return words + ((int64_t)(mark & 1) * ranks + sender) * KAON_PEER_REDUCTION_WORDS + 2 * (int64_t)number;
}

static __device__ __forceinline__ void peer_sum_write(uint64_t *at, uint32_t mark, double x) {
  const uint64_t bits = (uint64_t)__double_as_longlong(x), above = (uint64_t)mark << 32;
  asm volatile("st.relaxed.sys.global.v2.u64 [%0], {%1,%2};" ::"l"(at), "l"(above | (uint32_t)bits),
               "l"(above | bits >> 32)
               : "memory");
}

static __device__ __forceinline__ marked_sum peer_sum_read(const uint64_t *at) {
  marked_sum x;
  asm volatile("ld.relaxed.sys.global.v2.u64 {%0,%1}, [%2];"
               : "=l"(x.low), "=l"(x.high)
               : "l"(at)
               : "memory");
  return x;
}

/* The number of the sum after `turn` sums, by which it is known. 0 is left out, for cleared memory
 * bears it, and 1 with it, so that halves alternate. */
static __device__ __forceinline__ uint32_t peer_sum_mark(uint32_t turn) {
  return turn + 1 != 0 ? turn + 1 : 2;
}

/* Marks come again after 2^32 sums. So each sum clears a number of its half, from every sender,
 * that it does not use: one after another, so that no mark lies about for longer than it takes to
 * clear them all. Nobody writes there now: the next sum is the other half's, and the one after that
 * comes from ranks that have had our part of the next. */
static __device__ __forceinline__ void peer_sum_clear_old(const kaon_peer_reduction &box, uint32_t mark,
                                                  int used) {
  const int number = (int)(mark / 2 % (KAON_PEER_REDUCTION_WORDS / 2)), sender = (int)threadIdx.x;
  if (sender >= box.ranks || number < used) return;
  uint64_t *at = peer_sum_at(box.words[box.rank], box.ranks, mark, sender, number);
  asm volatile("st.relaxed.sys.global.v2.u64 [%0], {%1,%1};" ::"l"(at), "l"(UINT64_C(0))
               : "memory");
}

static __device__ __forceinline__ uint64_t nanoseconds(void) {
  uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

/* A rank that does not come has ended: so does this one, and says of whom it waited for what. */
static __device__ __noinline__ void peer_sum_timeout(const kaon_peer_reduction &box, int sender,
                                                  uint32_t mark) {
  volatile uint32_t *timeout_report = box.timeout_report;
  timeout_report[KAON_TIMEOUT_RANK] = (uint32_t)sender;
  timeout_report[KAON_TIMEOUT_SEQUENCE] = mark;
  __threadfence_system();
  timeout_report[KAON_TIMEOUT_KIND] = KAON_TIMEOUT_SUM;
  __threadfence_system();
  __trap();
}

static __device__ __forceinline__ double peer_sum_wait(const kaon_peer_reduction &box, const uint64_t *at,
                                                   int sender, uint32_t mark) {
  enum { POLLS = 4096 };
  uint64_t begin = 0;
  for (int polls = 0;; polls++) {
    const marked_sum x = peer_sum_read(at);
    if (marked_is(x, mark)) return marked_number(x);
    if (polls < POLLS) continue;
    polls = 0;
    const uint64_t now = nanoseconds();
    if (begin == 0) begin = now;
    if (now - begin > box.patience) peer_sum_timeout(box, sender, mark);
  }
}

/* Brings what peer_sum_all reads first into the first-level cache: the box itself never changes. */
static __device__ __forceinline__ void peer_sum_prefetch(const kaon_peer_reduction *box) {
  enum { LINE = 128 };
  const char *at = (const char *)box + threadIdx.x * LINE;
  [[maybe_unused]] uint32_t unused;
  if (at < (const char *)(box + 1))
    asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(unused) : "l"(at));
}

/* The mail's number of slot i among those of a sum, whose order is that of the slots: kernels that
 * take the same sums in other orders understand each other. slot < 0: not wanted. */
static __device__ __forceinline__ int peer_sum_index(const int *slot, int nslots, int i) {
  int number = 0;
  for (int j = 0; j < nslots; j++) number += slot[j] >= 0 && slot[j] < slot[i];
  return number;
}

/* total[2 i], total[2 i + 1] of each wanted slot[i] += over ranks, in their order. All threads of
 * one block, which are whole warps; total is complete for all of them before it, for thread 0
 * after it. All ranks do the same for the same slots. */
static __device__ __noinline__ void peer_sum_all(const kaon_peer_reduction *from, const int *slot, int nslots,
                                             double *total) {
  const kaon_peer_reduction &box = *from;
  const int lane = (int)threadIdx.x % 32, warps = (int)blockDim.x / 32, ranks = box.ranks;
  const uint32_t mark = peer_sum_mark(*(volatile uint32_t *)box.turn);
  const bool other = lane < ranks && lane != box.rank;
  int wanted = 0;
  for (int i = 0; i < nslots; i++) wanted += slot[i] >= 0;
  for (int v = (int)threadIdx.x / 32; v < 2 * nslots; v += warps)
    if (other && slot[v / 2] >= 0)
      peer_sum_write(peer_sum_at(box.words[lane], ranks, mark, box.rank,
                         2 * peer_sum_index(slot, nslots, v / 2) + v % 2),
                 mark, total[v]);
  for (int v = (int)threadIdx.x / 32; v < 2 * nslots; v += warps) {
    if (slot[v / 2] < 0) continue;
    double part = total[v];
    if (other)
      part = peer_sum_wait(box,
                       peer_sum_at(box.words[box.rank], ranks, mark, lane,
                               2 * peer_sum_index(slot, nslots, v / 2) + v % 2),
                       lane, mark);
    __syncwarp();
    double sum = __shfl_sync(0xffffffffu, part, 0);
    for (int r = 1; r < ranks; r++) sum += __shfl_sync(0xffffffffu, part, r);
    if (lane == 0) total[v] = sum;
  }
  peer_sum_clear_old(box, mark, 2 * wanted);
  __syncthreads(); /* all have read the turn */
  if (threadIdx.x == 0) *(volatile uint32_t *)box.turn = mark;
}

#endif
