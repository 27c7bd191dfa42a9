/* peer.h - a kernel's part in an exchange of messages by stores into the neighbours' memory
 * (kaon_peer_exchange in lib/core/launch.h).
 *
 * What orders a message before its flag: each block that sends fences what its threads wrote
 * (a barrier, then one thread's fence to the system) and takes a ticket; the last one fences once
 * more and writes the flag. Who waits reads the flag by a load that acquires, then comes the
 * block's barrier. Ghosts are read past the first-level cache.
 *
 * Why nothing waits for ever: blocks that send wait for nothing but the kernel before, and they
 * have the lowest numbers of their launch, so the device starts them first. Blocks that wait need
 * the neighbours' messages of the same turn, which hang on the neighbours' blocks that send alone.
 * So if all ranks have come to the end of one turn, they all come to the end of the next. That the
 * blocks of a launch start in the order of their numbers is not promised; were it otherwise, blocks
 * that wait might keep those that send from a multiprocessor, and a limit of time ends that. */
#ifndef KAON_LIB_CUDA_PEER_H
#define KAON_LIB_CUDA_PEER_H

#include "lib/core/launch.h"

static __device__ __forceinline__ uint32_t peer_turn(const kaon_peer_exchange &p) {
  return *(const volatile uint32_t *)p.turn;
}

/* From the beginning of a buffer to its half of this turn's messages. */
static __device__ __forceinline__ int64_t peer_half(const kaon_peer_exchange &p, uint32_t turn) {
  return (turn + 1) % 2 != 0 ? p.flip : 0;
}

static __device__ __forceinline__ uint64_t peer_clock(void) {
  uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

static __device__ __forceinline__ void peer_fence(void) {
  asm volatile("fence.acq_rel.sys;" ::: "memory");
}

static __device__ __forceinline__ uint32_t peer_flag(const uint32_t *at) {
  uint32_t x;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(x) : "l"(at) : "memory");
  return x;
}

/* Acquires nothing: that would empty the first-level cache, which other blocks use, each time. */
static __device__ __forceinline__ uint32_t peer_peek(const uint32_t *at) {
  uint32_t x;
  asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(x) : "l"(at) : "memory");
  return x;
}

/* The neighbour has ended, or is at work elsewhere: this rank ends, and says for whom it waited. */
static __device__ __forceinline__ void peer_timeout(const kaon_peer_exchange &p, uint32_t dir,
                                                     uint32_t turn) {
  volatile uint32_t *timeout_report = p.timeout_report;
  timeout_report[KAON_TIMEOUT_RANK] = p.neighbour[dir];
  timeout_report[KAON_TIMEOUT_SEQUENCE] = turn + 1;
  timeout_report[KAON_TIMEOUT_DIR] = dir;
  peer_fence();
  timeout_report[KAON_TIMEOUT_KIND] = KAON_TIMEOUT_MESSAGE;
  peer_fence();
  __trap();
}

/* Has this thread wait until the message for hops in `dir` is there. */
static __device__ __forceinline__ void peer_await(const kaon_peer_exchange &p, uint32_t dir,
                                                  uint32_t turn) {
  const uint32_t *at = p.arrived + dir;
  if ((int32_t)(peer_flag(at) - (turn + 1)) >= 0) return;
  const uint64_t begin = peer_clock();
  while ((int32_t)(peer_peek(at) - (turn + 1)) < 0)
    if (peer_clock() - begin > p.patience) peer_timeout(p, dir, turn);
  peer_flag(at);
}

/* All threads of a block: returns this turn's half when all messages are there. */
static __device__ __forceinline__ int64_t peer_receive(const kaon_peer_exchange &p) {
  __shared__ uint32_t shared_turn;
  if (threadIdx.x < 8) {
    const uint32_t turn = peer_turn(p);
    if (p.partitioned >> threadIdx.x & 1) peer_await(p, threadIdx.x, turn);
    if (threadIdx.x == 0) shared_turn = turn;
  }
  __syncthreads();
  return peer_half(p, shared_turn);
}

/* One thread, of `parts` parts in all, says that `mine` of them need `turn` no more; the last one
 * moves it on. */
static __device__ __forceinline__ void peer_leave(const kaon_peer_exchange &p, uint32_t turn,
                                                  uint32_t mine, uint32_t parts) {
  if (atomicAdd(&p.tickets[8], mine) + mine != parts) return;
  p.tickets[8] = 0;
  *(volatile uint32_t *)p.turn = turn + 1;
}

/* One thread, behind a barrier after the block's stores for hops in `dir`, of which there are
 * `blocks` blocks. */
static __device__ __forceinline__ void peer_sent(const kaon_peer_exchange &p, int dir,
                                                 uint32_t turn, uint32_t blocks) {
  peer_fence();
  if (atomicInc(&p.tickets[dir], blocks - 1) != blocks - 1) return; /* and begins again at 0 */
  peer_fence();
  asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(p.raise[dir]), "r"(turn + 1) : "memory");
}

#endif
