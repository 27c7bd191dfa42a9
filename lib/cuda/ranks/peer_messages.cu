/* peer_messages.cu - see peer_messages.h. Sender and receiver of kaon_peer_exchange
 * (lib/core/launch.h), in two launches. Nothing waits in the first, so all messages are sent
 * however few blocks a device runs at once. The second waits only for messages from the first
 * launch of other ranks. lib/cuda/ranks/peer.h explains how a message is ordered before its
 * flag. */
#include "lib/cuda/ranks/peer_messages.h"

#include "lib/cuda/queue/dependent.h"
#include "lib/cuda/ranks/peer.h"

enum { THREADS = 128, BLOCKS = 32 /* for each message */, WORDS = 256 / 16 /* in a line */ };

static __global__ void __launch_bounds__(THREADS)
    send_kernel(const __grid_constant__ kaon_peer_messages a) {
  const kaon_peer_message &m = a.message[blockIdx.x / BLOCKS];
  kaon_wait_for_previous();
  const uint32_t turn = peer_turn(a.peer);
  const uint4 *from = (const uint4 *)m.from;
  uint4 *to = (uint4 *)((char *)m.there + peer_half(a.peer, turn));
  const int64_t step = (int64_t)BLOCKS * THREADS;
  for (int64_t i = (int64_t)(blockIdx.x % BLOCKS) * THREADS + threadIdx.x; i < m.lines * WORDS;
       i += step)
    to[i] = from[i];
  __syncthreads();
  if (threadIdx.x == 0) peer_sent(a.peer, (m.dir + KAON_DIRS / 2) % KAON_DIRS, turn, BLOCKS);
}

static __global__ void __launch_bounds__(THREADS)
    import_values_kernel(const __grid_constant__ kaon_peer_messages a) {
  const kaon_peer_message &m = a.message[blockIdx.x / BLOCKS];
  kaon_wait_for_previous();
  const uint32_t turn = peer_turn(a.peer);
  const uint4 *from = (const uint4 *)((const char *)m.arrived + peer_half(a.peer, turn));
  uint4 *to = (uint4 *)m.to;
  const int64_t step = (int64_t)BLOCKS * THREADS;
  if (threadIdx.x == 0) peer_await(a.peer, (uint32_t)m.dir, turn);
  __syncthreads(); /* all threads have read the sequence number */
  for (int64_t i = (int64_t)(blockIdx.x % BLOCKS) * THREADS + threadIdx.x; i < m.lines * WORDS;
       i += step)
    to[i] = __ldcg(from + i);
  if (threadIdx.x == 0) peer_leave(a.peer, turn, 1, gridDim.x);
}

extern "C" void kaon_peer_messages_send(const kaon_launch *launch, const kaon_peer_messages *call) {
  kaon_cuda_launch(launch, send_kernel, (unsigned)(BLOCKS * call->n), THREADS, *call);
}

extern "C" void kaon_peer_messages_receive(const kaon_launch *launch,
                                           const kaon_peer_messages *call) {
  kaon_cuda_launch(launch, import_values_kernel, (unsigned)(BLOCKS * call->n), THREADS, *call);
}
