/* spmv_exchange.cu - products of real matrices in SELL and ELL with one column, on several GPUs
 * that store into each other's memory, in one launch. The first blocks pack what the neighbours
 * need and store it there. All blocks process rows without ghosts. The last blocks then process the
 * boundary, when the neighbours' messages have arrived. Rows are added as in sell.cu, and ghosts
 * are read where they arrive. After an early send (peer_messages.cu) the kernel only waits.
 * lib/cuda/ranks/peer.h describes the order of messages and flags, and why there is no deadlock.
 *
 * One launch avoids the overhead of three launches and of two for the exchange (STAGED). */
#include "sparse/cuda/sell.h"

#include "lib/cuda/ranks/peer.h"
#include "lib/cuda/ranks/peer_messages.h"

/* BATCH: loaded entries of a row. PICK_BLOCKS: maximum blocks that pack one message, which are
 * limited by the links between devices. PICK_LINE: bytes of a line of messages. RESIDENT: thread
 * blocks that a multiprocessor holds. */
enum { BATCH = 4, PICK_BLOCKS = 32, PICK_LINE = 256, RESIDENT = 5, MULTIPROCESSORS = 132 };

typedef struct spmv_exchange_call {
  rows_call rows; /* ghosts: the first half of the received values */
  kaon_peer_messages post;
  int64_t first[KAON_DIRS]; /* index of a message's first value among the packed ones */
  const int32_t *picked;    /* [index] row */
  int interior;             /* blocks of rows without ghosts; the boundary's follow */
  int each, picks;          /* block shares of a message, and of all messages */
  int waiting;              /* blocks that process the boundary: the last ones */
  int parts;                /* blocks that need the exchange's sequence number */
} spmv_exchange_call;

/* Stores a share of a message in the neighbour's memory. All threads must call it. */
KAON_DEVICE void message_pick(const spmv_exchange_call &p, int share) {
  const uint32_t turn = peer_turn(p.post.peer);
  const int n = share / p.each, part = share % p.each;
  const kaon_peer_message &m = p.post.message[n];
  const int count = (int)(m.lines * (PICK_LINE / (int)sizeof(real)));
  const int32_t *picked = p.picked + p.first[n];
  real *to = (real *)((char *)m.there + peer_half(p.post.peer, turn));
#pragma unroll 2
  for (int i = part * KAON_THREADS + (int)threadIdx.x; i < count; i += p.each * KAON_THREADS)
    to[i] = ((const real *)p.rows.x)[__ldg(picked + i)];
  __syncthreads();
  if (threadIdx.x == 0)
    peer_sent(p.post.peer, (m.dir + KAON_DIRS / 2) % KAON_DIRS, turn, (uint32_t)p.each);
}

/* Processes blocks of rows `block`, block + step, ... below `last`, a warp each. */
template <int HALF, bool GHOSTS>
KAON_DEVICE void rows_add(const rows_call &a, int block, int last, double *sum) {
  const int lane = threadIdx.x % 32;
  for (; block < last; block += a.chunks * KAON_WARPS) {
    const int row = block * KAON_LANES + lane;
    const slice mine = slice_read(a, block);
    kaon_packet<real, 1> s = {};
    row_add<1, HALF, BATCH, SELL_ANY, GHOSTS>(a, block, mine.at * KAON_LANES + lane,
                                              sell_list<SELL_ANY>(a, block), mine.length, 0, &s);
    if (row >= a.rows) s = {};
    row_end<1>(a, row, row_scale<HALF>(a, row), s, sum);
  }
}

/* The first blocks pack before their share of the interior; the last ones process their share of
 * the boundary after it. The exchange runs whatever the gate says. */
template <int HALF>
static __global__ void __launch_bounds__(KAON_THREADS, RESIDENT)
    sell_posted_kernel(const __grid_constant__ spmv_exchange_call p) {
  const rows_call &a = p.rows;
  const int own = (int)blockIdx.x, warp = (int)threadIdx.x / 32;
  double sum[ROW_SUMS] = {};
  columns cols = {0, 1, 0};
  if (a.early) slice_prefetch<1, HALF, BATCH>(a, own * KAON_WARPS + warp);
  kaon_wait_for_previous();
  columns_prefetch<1>(a, &cols);
  for (int share = own; share < p.picks; share += a.chunks) message_pick(p, share);
  if (cols.open != 0) rows_add<HALF, false>(a, own * KAON_WARPS + warp, p.interior, sum);
  const int behind = a.chunks - 1 - (int)blockIdx.x;
  if (behind < p.waiting) {
    rows_call b = a;
    b.ghosts = (const char *)a.ghosts + peer_receive(p.post.peer);
    if (cols.open != 0)
      rows_add<HALF, true>(b, p.interior + behind * KAON_WARPS + warp, a.last, sum);
  }
  /* barriers separate this from all threads' read of the sequence number, which does not change
   * before */
  if (threadIdx.x == 0 && (own < p.picks || behind < p.waiting))
    peer_leave(p.post.peer, peer_turn(p.post.peer), 1, (uint32_t)p.parts);
  if (cols.open != 0) column_finish(a, cols, own, sum);
}

template <int HALF>
static void launch_with_exchange(const kaon_launch *launch, const spmv_exchange_call &p) {
  kaon_cuda_launch(launch, sell_posted_kernel<HALF>, (unsigned)p.rows.chunks, KAON_THREADS, p);
}

static int least(int a, int b) {
  return a < b ? a : b;
}

extern "C" int KAON_EXPORT(kaon_spmv_with_exchange)(const kaon_launch *launch,
                                                    const kaon_spmv_args *args,
                                                    const kaon_pick_args *pick,
                                                    const kaon_peer_messages *post) {
  const kaon_stored_matrix *m = args->matrix;
  spmv_exchange_call p = {};
  p.rows = rows_of(launch, args);
  sell_warps(m, &p.rows);
  if (m->form == KAON_STORED_CSR || m->long_part != NULL || m->reals != 1 || args->nrhs != 1 ||
      p.rows.lanes > 1)
    return 0;
  p.rows.most = RESIDENT * MULTIPROCESSORS;
  rows_partition(launch, args, KAON_THREADS, &p.rows);
  p.rows.ghosts = post->message[0].arrived;
  p.post = *post;
  p.picked = pick != NULL ? pick->row : NULL;
  p.interior = (int)m->interior;
  const int64_t line = PICK_LINE / (int)sizeof(real);
  int64_t longest = 0, next = 0;
  for (int i = 0; i < post->n; i++) {
    const int64_t count = post->message[i].lines * line;
    p.first[i] = next;
    next += count;
    if (count > longest) longest = count;
  }
  p.each = least(PICK_BLOCKS, (int)((longest + KAON_THREADS - 1) / KAON_THREADS));
  if (p.each < 1) p.each = 1;
  p.picks = pick != NULL ? p.each * post->n : 0;
  p.waiting = ((int)m->blocks - p.interior + KAON_WARPS - 1) / KAON_WARPS;
  if (p.waiting < 1) p.waiting = 1; /* sequence numbers must not get ahead of received messages */
  p.waiting = least(p.waiting, p.rows.chunks);
  p.parts = least(least(p.picks, p.rows.chunks) + p.waiting, p.rows.chunks);
#if defined(KAON_PREC_SINGLE)
  if (m->half) {
    launch_with_exchange<1>(launch, p);
    return 1;
  }
#endif
  launch_with_exchange<0>(launch, p);
  return 1;
}
