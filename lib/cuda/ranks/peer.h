/* peer.h - the device functions by which a kernel exchanges messages through stores into the
 * neighbours' memory (kaon_peer_exchange in lib/core/launch.h).
 *
 * Ordering of a message before its flag: each sending block fences what its threads wrote (a
 * barrier, then a system fence by one thread) and takes a ticket. The last block fences again and
 * writes the flag. The receiver reads the flag with an acquire load, followed by a block barrier.
 * Ghosts are read bypassing the first-level cache.
 *
 * Absence of deadlock: sending blocks wait only for the previous kernel. They have the lowest
 * indices of their launch, so the device starts them first. Waiting blocks need the neighbours'
 * messages of the same sequence number, which depend only on the neighbours' sending blocks. So if
 * all ranks finish one exchange, they all finish the next. The start order of blocks is not
 * guaranteed. If waiting blocks ever kept sending blocks from running, the time limit would end the
 * wait. */
#pragma once

#include "lib/core/launch.h"

KAON_DEVICE uint32_t peer_turn(const kaon_peer_exchange &p) {
  return *(const volatile uint32_t *)p.turn;
}

/* The offset, in each buffer, of the half for the messages of this sequence number. */
KAON_DEVICE int64_t peer_half(const kaon_peer_exchange &p, uint32_t turn) {
  return (turn + 1) % 2 != 0 ? p.flip : 0;
}

KAON_DEVICE uint64_t peer_clock(void) {
  uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

KAON_DEVICE void peer_fence(void) {
  asm volatile("fence.acq_rel.sys;" ::: "memory");
}

KAON_DEVICE uint32_t peer_flag(const uint32_t *at) {
  uint32_t x;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(x) : "l"(at) : "memory");
  return x;
}

/* Without acquire, which would invalidate the first-level cache for other blocks at each poll. */
KAON_DEVICE uint32_t peer_peek(const uint32_t *at) {
  uint32_t x;
  asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(x) : "l"(at) : "memory");
  return x;
}

/* The neighbour has ended or is busy elsewhere: reports which rank was awaited and ends this
 * rank. */
KAON_DEVICE void peer_timeout(const kaon_peer_exchange &p, uint32_t dir, uint32_t turn) {
  volatile uint32_t *timeout_report = p.timeout_report;
  timeout_report[KAON_TIMEOUT_RANK] = p.neighbour[dir];
  timeout_report[KAON_TIMEOUT_SEQUENCE] = turn + 1;
  timeout_report[KAON_TIMEOUT_DIR] = dir;
  peer_fence();
  timeout_report[KAON_TIMEOUT_KIND] = KAON_TIMEOUT_MESSAGE;
  peer_fence();
  __trap();
}

/* This thread waits until the message for hops in `dir` has arrived. */
KAON_DEVICE void peer_await(const kaon_peer_exchange &p, uint32_t dir, uint32_t turn) {
  const uint32_t *at = p.arrived + dir;
  if ((int32_t)(peer_flag(at) - (turn + 1)) >= 0) return;
  const uint64_t begin = peer_clock();
  while ((int32_t)(peer_peek(at) - (turn + 1)) < 0)
    if (peer_clock() - begin > p.patience) peer_timeout(p, dir, turn);
  peer_flag(at);
}

/* Called by all threads of a block. Returns the offset of this exchange's half once all messages
 * have arrived. */
KAON_DEVICE int64_t peer_receive(const kaon_peer_exchange &p) {
  __shared__ uint32_t shared_turn;
  if (threadIdx.x < 8) {
    const uint32_t turn = peer_turn(p);
    if (p.partitioned >> threadIdx.x & 1) peer_await(p, threadIdx.x, turn);
    if (threadIdx.x == 0) shared_turn = turn;
  }
  __syncthreads();
  return peer_half(p, shared_turn);
}

/* Called by one thread: `mine` of `parts` parts no longer need sequence number `turn`. The last
 * part increments it. */
KAON_DEVICE void peer_leave(const kaon_peer_exchange &p, uint32_t turn, uint32_t mine,
                            uint32_t parts) {
  if (atomicAdd(&p.tickets[8], mine) + mine != parts) return;
  p.tickets[8] = 0;
  *(volatile uint32_t *)p.turn = turn + 1;
}

/* Called by one thread, after a barrier that follows the block's stores. `blocks` blocks send for
 * hops in `dir`. */
KAON_DEVICE void peer_sent(const kaon_peer_exchange &p, int dir, uint32_t turn, uint32_t blocks) {
  peer_fence();
  if (atomicInc(&p.tickets[dir], blocks - 1) != blocks - 1) return; /* the ticket is 0 again */
  peer_fence();
  asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(p.raise[dir]), "r"(turn + 1) : "memory");
}
