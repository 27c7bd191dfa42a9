/* peer_sums.h - tagged values, and sums over ranks by stores into peers' memory
 * (kaon_peer_reduction in lib/cuda/ranks/rank_sums.h). Two users: kernels that do nothing else
 * (rank_sums.cu), and the block of any kernel that has completed the local sum
 * (lib/cuda/reduction/reduce.h), which saves a launch. */
#pragma once

#include "lib/cuda/ranks/rank_sums.h"

/* A double in two words. Each holds half of it in the lower part and the sequence tag of the sum
 * above. */
typedef struct marked_sum {
  uint64_t low, high;
} marked_sum;

KAON_DEVICE bool marked_is(const marked_sum &x, uint32_t mark) {
  return x.low >> 32 == mark && x.high >> 32 == mark;
}

KAON_DEVICE double marked_number(const marked_sum &x) {
  return __longlong_as_double((long long)(x.high << 32 | (uint32_t)x.low));
}

/* The position of `sender`'s value in the reduction buffer of the rank that owns `words`. */
KAON_DEVICE uint64_t *peer_sum_at(uint64_t *words, int ranks, uint32_t mark, int sender,
                                  int number) {
  return words + ((int64_t)(mark & 1) * ranks + sender) * KAON_PEER_REDUCTION_WORDS +
         2 * (int64_t)number;
}

KAON_DEVICE void peer_sum_write(uint64_t *at, uint32_t mark, double x) {
  const uint64_t bits = (uint64_t)__double_as_longlong(x), above = (uint64_t)mark << 32;
  asm volatile("st.relaxed.sys.global.v2.u64 [%0], {%1,%2};" ::"l"(at), "l"(above | (uint32_t)bits),
               "l"(above | bits >> 32)
               : "memory");
}

KAON_DEVICE marked_sum peer_sum_read(const uint64_t *at) {
  marked_sum x;
  asm volatile("ld.relaxed.sys.global.v2.u64 {%0,%1}, [%2];"
               : "=l"(x.low), "=l"(x.high)
               : "l"(at)
               : "memory");
  return x;
}

/* The tag of the sum after `turn` sums. 0 is skipped because cleared memory contains it. 1 is
 * skipped with it, so that the halves of the buffer alternate. */
KAON_DEVICE uint32_t peer_sum_mark(uint32_t turn) {
  return turn + 1 != 0 ? turn + 1 : 2;
}

/* Tags repeat after 2^32 sums, so old tags must be cleared. Each sum clears one value position of
 * its half, for every sender, that it does not use itself. Positions take turns, so every old tag
 * is cleared in time. No rank writes there now: the next sum uses the other half, and the sum after
 * it comes from ranks that already have this rank's part of the next. */
KAON_DEVICE void peer_sum_clear_old(const kaon_peer_reduction &box, uint32_t mark, int used) {
  const int number = (int)(mark / 2 % (KAON_PEER_REDUCTION_WORDS / 2)), sender = (int)threadIdx.x;
  if (sender >= box.ranks || number < used) return;
  uint64_t *at = peer_sum_at(box.words[box.rank], box.ranks, mark, sender, number);
  asm volatile("st.relaxed.sys.global.v2.u64 [%0], {%1,%1};" ::"l"(at), "l"(UINT64_C(0))
               : "memory");
}

KAON_DEVICE uint64_t nanoseconds(void) {
  uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

/* A rank that does not arrive has ended. Reports which rank and which sum were awaited, and ends
 * this rank. */
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

KAON_DEVICE double peer_sum_wait(const kaon_peer_reduction &box, const uint64_t *at, int sender,
                                 uint32_t mark) {
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

/* Prefetches what peer_sum_all reads first into the first-level cache. The structure itself never
 * changes. */
KAON_DEVICE void peer_sum_prefetch(const kaon_peer_reduction *box) {
  enum { LINE = 128 };
  const char *at = (const char *)box + threadIdx.x * LINE;
  [[maybe_unused]] uint32_t unused;
  if (at < (const char *)(box + 1))
    asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(unused) : "l"(at));
}

/* The position of slot i among the wanted slots of a sum, sorted by slot. So kernels that compute
 * the same sums in different orders agree. slot < 0: not wanted. */
KAON_DEVICE int peer_sum_index(const int *slot, int nslots, int i) {
  int number = 0;
  for (int j = 0; j < nslots; j++) number += slot[j] >= 0 && slot[j] < slot[i];
  return number;
}

/* Sums over ranks, in rank order: total[2 i], total[2 i + 1] for each wanted slot[i]. Called by all
 * threads of one block, which consists of whole warps. On entry total is complete for all threads,
 * on return for thread 0. All ranks must do the same for the same slots. */
static __device__ __noinline__ void peer_sum_all(const kaon_peer_reduction *from, const int *slot,
                                                 int nslots, double *total) {
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
  __syncthreads(); /* all have read the sequence number */
  if (threadIdx.x == 0) *(volatile uint32_t *)box.turn = mark;
}
