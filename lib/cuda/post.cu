/* post.cu - see post.h. What kaon_peer_exchange (lib/launch.h) asks of those who send and of those
 * who receive, in two launches: nothing waits in the first, so however few blocks a device runs at
 * once, all messages leave; the second one waits for messages alone that hang on the others' first.
 *
 * Each block fences what its threads wrote and takes a ticket; the last one of a message fences
 * once more and raises the flag. Who waits reads the flag by a load that acquires, then comes the
 * block's barrier, and messages are read past the first-level cache. */
#include "lib/cuda/post.h"

enum { THREADS = 128, BLOCKS = 16 /* a message */, WORDS = 256 / 16 /* of a line */ };

static __device__ __forceinline__ uint32_t turn_of(const kaon_peer_exchange &p) {
  return *(const volatile uint32_t *)p.turn;
}

/* From the beginning of a buffer to its half of this turn's messages. */
static __device__ __forceinline__ int64_t half_of(const kaon_peer_exchange &p, uint32_t turn) {
  return (turn + 1) % 2 != 0 ? p.flip : 0;
}

static __device__ __forceinline__ uint64_t nanoseconds(void) {
  uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

static __device__ __forceinline__ void fence(void) {
  asm volatile("fence.acq_rel.sys;" ::: "memory");
}

static __device__ __forceinline__ uint32_t flag_at(const uint32_t *at) {
  uint32_t x;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(x) : "l"(at) : "memory");
  return x;
}

/* The neighbour has ended: this rank ends, and says for whom it waited. */
static __device__ void complain(const kaon_peer_exchange &p, int dir, uint32_t mark) {
  volatile uint32_t *complaint = p.complaint;
  complaint[KAON_COMPLAINT_RANK] = p.neighbour[dir];
  complaint[KAON_COMPLAINT_NUMBER] = mark;
  complaint[KAON_COMPLAINT_DIR] = (uint32_t)dir;
  fence();
  complaint[KAON_COMPLAINT_KIND] = KAON_COMPLAINT_MESSAGE;
  fence();
  __trap();
}

static __device__ __forceinline__ void await(const kaon_peer_exchange &p, int dir, uint32_t mark) {
  const uint64_t begin = nanoseconds();
  while ((int32_t)(flag_at(p.arrived + dir) - mark) < 0)
    if (nanoseconds() - begin > p.patience) complain(p, dir, mark);
}

static __global__ void __launch_bounds__(THREADS)
    send_kernel(const __grid_constant__ kaon_post_call a) {
  const kaon_post_message &m = a.message[blockIdx.x / BLOCKS];
  const uint32_t turn = turn_of(a.peer);
  const int back = (m.dir + KAON_DIRS / 2) % KAON_DIRS;
  const uint4 *from = (const uint4 *)m.from;
  uint4 *to = (uint4 *)((char *)m.there + half_of(a.peer, turn));
  const int64_t step = (int64_t)BLOCKS * THREADS;
  for (int64_t i = (int64_t)(blockIdx.x % BLOCKS) * THREADS + threadIdx.x; i < m.lines * WORDS;
       i += step)
    to[i] = from[i];
  __syncthreads();
  if (threadIdx.x != 0) return;
  fence();
  if (atomicInc(&a.peer.tickets[back], BLOCKS - 1) != BLOCKS - 1)
    return; /* and begins at 0 again */
  fence();
  asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(a.peer.raise[back]), "r"(turn + 1)
               : "memory");
}

static __global__ void __launch_bounds__(THREADS)
    take_kernel(const __grid_constant__ kaon_post_call a) {
  const kaon_post_message &m = a.message[blockIdx.x / BLOCKS];
  const uint32_t turn = turn_of(a.peer);
  const uint4 *from = (const uint4 *)((const char *)m.arrived + half_of(a.peer, turn));
  uint4 *to = (uint4 *)m.to;
  const int64_t step = (int64_t)BLOCKS * THREADS;
  if (threadIdx.x == 0) await(a.peer, m.dir, turn + 1);
  __syncthreads();
  for (int64_t i = (int64_t)(blockIdx.x % BLOCKS) * THREADS + threadIdx.x; i < m.lines * WORDS;
       i += step)
    to[i] = __ldcg(from + i);
  __syncthreads(); /* all threads have read the turn */
  if (threadIdx.x == 0 && atomicInc(&a.peer.tickets[KAON_DIRS], gridDim.x - 1) == gridDim.x - 1)
    *(volatile uint32_t *)a.peer.turn = turn + 1;
}

extern "C" void kaon_post_send(const kaon_launch *launch, const kaon_post_call *call) {
  send_kernel<<<(unsigned)(BLOCKS * call->n), THREADS, 0, (cudaStream_t)launch->queue>>>(*call);
}

extern "C" void kaon_post_take(const kaon_launch *launch, const kaon_post_call *call) {
  take_kernel<<<(unsigned)(BLOCKS * call->n), THREADS, 0, (cudaStream_t)launch->queue>>>(*call);
}
