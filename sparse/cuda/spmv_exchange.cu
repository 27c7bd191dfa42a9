/* spmv_exchange.cu - products of real matrices in SELL and ELL by one column on several GPUs that store
 * into each other's memory, in one launch: the first blocks pick what the neighbours need and store
 * it there, all blocks work on rows that meet no ghost, and the last ones then on the boundary,
 * when the neighbours' messages are there. Rows are added as in sell.cu, ghosts are read where they
 * arrive. What was sent ahead (peer_messages.cu) is waited for alone. lib/cuda/ranks/peer.h says what orders
 * messages and flags, and why nobody waits for ever.
 *
 * In three launches and two of the exchange's own (STAGED) the same takes some 10 us more, which is
 * a sixth of a step of 1e6 rows. */
#include "sparse/cuda/sell.h"

#include "lib/cuda/ranks/peer.h"
#include "lib/cuda/ranks/peer_messages.h"

/* Entries of a row on their way; blocks that pick for one message at most (they wait for the links
 * between devices); bytes of a line of messages; blocks of threads that a multiprocessor holds. */
enum { BATCH = 4, PICK_BLOCKS = 32, PICK_LINE = 256, RESIDENT = 5, MULTIPROCESSORS = 132 };

typedef struct spmv_exchange_call {
  rows_call rows; /* ghosts: the first half of what arrives */
  kaon_peer_messages post;
  int64_t first[KAON_DIRS]; /* a message's first number among those picked */
  const int32_t *picked;    /* [number] row */
  int interior;             /* blocks of rows that meet no ghost; the boundary's come behind */
  int each, picks;          /* blocks' shares of a message, and of all */
  int waiting;              /* blocks that work on the boundary: the last ones */
  int parts;                /* blocks that need the exchange's turn */
} spmv_exchange_call;

/* A share of a message, into the neighbour's memory. All threads. */
static __device__ __forceinline__ void message_pick(const spmv_exchange_call &p, int share) {
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

/* Blocks of rows `block`, block + step, ... below `last`, a warp each. */
template <int HALF, bool GHOSTS>
static __device__ __forceinline__ void rows_add(const rows_call &a, int block, int last,
                                                double *sum) {
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

/* The first blocks pick before they do their share of the interior, the last ones do theirs of the
 * boundary behind it. The exchange takes place whatever the gate says. */
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
  /* barriers lie between this and all threads' look at the turn, which does not move before it */
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

extern "C" int KAON_EXPORT(kaon_spmv_with_exchange)(const kaon_launch *launch, const kaon_spmv_args *args,
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
  if (p.waiting < 1) p.waiting = 1; /* turns may not run ahead of what comes */
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
