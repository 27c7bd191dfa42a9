/* rank_sums.cu - sums over ranks of scalars in column states. Either kernels store into the other
 * ranks' memory, or the scalars are packed into a message that another transport sends. One block
 * works on each column. Sums are added in rank order, so all ranks have the same bits. */
#include "lib/cuda/ranks/rank_sums.h"

#include "lib/cuda/queue/dependent.h"
#include "lib/cuda/ranks/peer_sums.h"
#include "lib/cuda/reduction/reduce.h"

enum { THREADS = 128 };

typedef struct peer_reduction_call {
  kaon_sum_call sum;
  kaon_peer_reduction box;
  int parts;
} peer_reduction_call;

typedef struct unpack_call {
  kaon_sum_call sum;
  const double *messages;
  int ranks;
} unpack_call;

/* ---- shared by both ways ---- */

/* Adds part[rank][2 n] of a column in rank order, writes its slots and runs the recurrence. Called
 * by all threads of the block; part is complete for all of them. */
KAON_DEVICE void conclude(const kaon_sum_call &c, int column, const double *part, int ranks,
                          int64_t stride) {
  const int values = 2 * c.n;
  if (c.state == NULL) return;
  kaon_column_state *state = &c.state[column];
  if ((state->gate & c.gate) == 0) return; /* a single word: the same in all threads */
  for (int v = threadIdx.x; v < values; v += THREADS) {
    double x = part[v];
    for (int r = 1; r < ranks; r++) x += part[r * stride + v];
    state->slot[c.slot[v / 2]][v % 2] = x;
  }
  if (c.then == 0) return;
  __syncthreads(); /* all have also read the gate */
  if (threadIdx.x == 0) recurrence_run(c.then, state);
}

static __global__ void __launch_bounds__(THREADS)
    peer_sum_kernel(const __grid_constant__ peer_reduction_call a) {
  extern __shared__ double part[]; /* [rank][2 n] */
  kaon_wait_for_previous();
  const uint32_t mark = peer_sum_mark(*(volatile uint32_t *)a.box.turn);
  const int column = (int)blockIdx.x, values = 2 * a.sum.n, items = values * a.box.ranks;
  if (a.parts & KAON_SUM_SEND)
    for (int i = threadIdx.x; i < items; i += THREADS) {
      const int to = i / values, v = i % values;
      peer_sum_write(
          peer_sum_at(a.box.words[to], a.box.ranks, mark, a.box.rank, column * values + v), mark,
          a.sum.state[column].slot[a.sum.slot[v / 2]][v % 2]);
    }
  if (!(a.parts & KAON_SUM_RECEIVE)) return;
  if (a.sum.state != NULL) state_prefetch(&a.sum.state[column]);
  for (int i = threadIdx.x; i < items; i += THREADS) {
    const int from = i / values, v = i % values;
    part[i] = peer_sum_wait(
        a.box, peer_sum_at(a.box.words[a.box.rank], a.box.ranks, mark, from, column * values + v),
        from, mark);
  }
  __syncthreads();
  if (blockIdx.x == 0) peer_sum_clear_old(a.box, mark, (int)gridDim.x * values);
  /* every block has read the sequence number before its ticket */
  if (threadIdx.x == 0 &&
      (gridDim.x == 1 || atomicInc(a.box.ticket, gridDim.x - 1) == gridDim.x - 1))
    *(volatile uint32_t *)a.box.turn = mark;
  conclude(a.sum, column, part, a.box.ranks, values);
}

extern "C" void kaon_rank_sums_by_peers(const kaon_launch *launch, const kaon_sum_call *call,
                                        const kaon_peer_reduction *box, int parts) {
  peer_reduction_call a;
  a.sum = *call;
  a.box = *box;
  a.parts = parts;
  kaon_cuda_launch(launch, peer_sum_kernel, (unsigned)call->columns, THREADS, a,
                   (unsigned)(sizeof(double) * 2 * (size_t)call->n * (size_t)box->ranks));
}

/* ---- messages ---- */

static __global__ void __launch_bounds__(THREADS)
    pack_kernel(const __grid_constant__ kaon_sum_call c, double *message) {
  const int column = (int)blockIdx.x, values = 2 * c.n;
  for (int v = threadIdx.x; v < values; v += THREADS)
    message[(int64_t)column * values + v] = c.state[column].slot[c.slot[v / 2]][v % 2];
}

extern "C" void kaon_rank_sums_pack(const kaon_launch *launch, const kaon_sum_call *call,
                                    double *message) {
  pack_kernel<<<(unsigned)call->columns, THREADS, 0, (cudaStream_t)launch->queue>>>(*call, message);
}

static __global__ void __launch_bounds__(THREADS)
    import_values_kernel(const __grid_constant__ unpack_call a) {
  const int column = (int)blockIdx.x, values = 2 * a.sum.n;
  conclude(a.sum, column, a.messages + (int64_t)column * values, a.ranks,
           (int64_t)a.sum.columns * values);
}

extern "C" void kaon_rank_sums_unpack(const kaon_launch *launch, const kaon_sum_call *call,
                                      const double *messages, int ranks) {
  unpack_call a;
  a.sum = *call;
  a.messages = messages;
  a.ranks = ranks;
  import_values_kernel<<<(unsigned)call->columns, THREADS, 0, (cudaStream_t)launch->queue>>>(a);
}
