/* relax.cu - Jacobi sweeps within blocks of rows on the GPU. Blocks do one global iteration each,
 * or iterate asynchronously (kaon_relax_args in sparse_ops.h; formulas:
 * lib/math/steps/relaxed_row.h).
 *
 * A thread block has a block of rows, a thread one row. It reads x of other blocks by relaxed loads
 * from the second-level cache, and writes its own part back by relaxed stores. During the local
 * sweeps its own part is in shared memory, twice, so that one barrier for a sweep is enough.
 * Couplings within the block stay in registers over all sweeps: 16 of them with 128 registers, if
 * the device then holds all blocks. Further couplings are read from the first-level cache. A sweep
 * is then limited by shared memory. Data of a row that no thread writes (`prepared`) are read
 * before the previous kernel has ended; an asynchronous block reads them only once.
 *
 * rounds > 1: one cooperative launch, so that all blocks are resident, and none waits for a block
 * that has not begun. A block waits while it is ahead of a block that it reads by more than `lag`.
 * Counts are stored by release and loaded by acquire, so data are at least as new as their count.
 * After each of its rounds the first block adds up the residuals that all blocks saw.
 *
 * Other ranks (kaon_block_ghosts): after a block's last local sweep its threads store what others
 * read by relaxed stores at system scope. The block's barrier follows. Then each thread that raises
 * a counter executes a system fence and stores the counter (relaxed). The barrier orders the other
 * threads' stores before the fence, and the fence orders them before the counter (PTX ISA, memory
 * consistency model: causality order over barriers, fence.acq_rel.sys). A reader loads the counter
 * by ld.acquire.sys, passes its block's barrier, and loads the values by ld.relaxed.sys, which
 * bypasses first-level caches. There is no deadlock. Only blocks that are ahead by more than
 * rank_lag wait for another rank, so blocks of the rank that is farthest behind never wait,
 * resident or not. A rank that ends early marks its counters. A timeout ends a wait for a rank that
 * has failed. */
#include "sparse/cuda/relax_block.h"

/* ---- waiting for other blocks ---- */

/* Waits until no block of another rank that this block reads is more than `rank_lag` behind, and
 * notes the shifts (may_begin does so for blocks of this rank). Returns true if all has ended. */
KAON_DEVICE bool await_ranks(const relax_call &a, int64_t block, int column, int32_t own,
                             int *shifts) {
  const kaon_block_ghosts &g = a.ghosts;
  const int32_t least = a.rank_lag < 0 ? INT32_MIN : own - a.rank_lag;
  const int64_t end = __ldg(g.reads + block + 1);
  bool over = load_relaxed(a.stop + column) != 0;
  uint64_t begin = 0;
#pragma unroll 1
  for (int64_t n = __ldg(g.reads + block) + threadIdx.x; n < end && !over; n += blockDim.x) {
    const int32_t *other = (const int32_t *)__ldg((const unsigned long long *)g.there + n) + column;
    int32_t there = load_far(other);
    while (there < least && !over) {
      const uint64_t now = nanoseconds();
      if (begin == 0) begin = now;
      if (now - begin > a.patience) store_relaxed(a.stop + column, 1);
      __nanosleep(100);
      over = load_relaxed(a.stop + column) != 0;
      there = peek_far(other);
    }
    if (begin != 0) there = load_far(other);
    if (!over) note_shift(shifts, own - (there & ~KAON_BLOCK_FINISHED));
  }
  return over;
}

/* For tests: delays this rank. */
KAON_DEVICE void take_pause(const relax_call &a) {
  const uint64_t begin = nanoseconds();
  if (threadIdx.x == 0)
    while (nanoseconds() - begin < (uint64_t)a.pause) __nanosleep(1000);
  __syncthreads();
}

/* Waits until no block that this one reads is more than `lag` behind, and notes the shifts. Returns
 * false in all threads if all has ended. The slowest block never waits, so there is always
 * progress. */
KAON_DEVICE bool may_begin(const relax_call &a, int64_t block, int column, int round, int *shifts,
                           counter_check *w) {
  const kaon_row_blocks &m = a.rows;
  const int32_t *count = a.count + (int64_t)column * m.blocks;
  /* with rounds, counts begin at 0; the first thread may not have stored this one yet */
  const int32_t own = a.rounds > 1 ? round : load_relaxed(count + block);
  const int64_t end = __ldg(m.reads + block + 1);
  bool over = a.rounds > 1 && load_relaxed(a.stop + column) != 0;
  w->own = own;
  for (int64_t n = __ldg(m.reads + block) + threadIdx.x; n < end && !over; n += blockDim.x) {
    const int32_t *other = count + __ldg(m.other + n);
    if (w->other == NULL) w->other = other;
    int32_t there = load_acquire(other);
    while (a.rounds > 1 && there < own - a.lag && !over) {
      __nanosleep(20);
      over = load_relaxed(a.stop + column) != 0;
      there = load_acquire(other);
    }
    if (!over) note_shift(shifts, own - there);
  }
  if (a.ghosts.start != NULL && !over)
    over = await_ranks(a, block, column, own, shifts + KAON_SHIFT_BINS);
  return __syncthreads_or(over) == 0;
}

/* One block checks whether all has ended. */
KAON_DEVICE void monitor(const relax_call &a, int column) {
  const int64_t blocks = a.rows.blocks, first = (int64_t)column * blocks;
  double sum = 0;
  bool known = true;
  for (int64_t n = threadIdx.x; n < blocks; n += blockDim.x) {
    known = known && load_acquire(a.count + first + n) > 0;
    sum += load_seen(a.seen + first + n);
  }
  known = __syncthreads_and(known) != 0;
  sum = block_sum(sum);
  if (threadIdx.x == 0 && known && (sum <= a.goal || !(sum <= a.limit)))
    store_relaxed(a.stop + column, 1);
}

/* The next block of rows of this launch; -1: none is left. All threads must call it. A launch uses
 * one ticket for each block, and one for each thread block that finds none left. So a ticket alone
 * determines its launch, and with it the order. */
KAON_DEVICE int64_t next_block(const relax_call &a, int column) {
  __shared__ unsigned long long ticket;
  const uint64_t blocks = (uint64_t)a.rows.blocks, each = blocks + (uint64_t)a.together;
  __syncthreads();
  if (threadIdx.x == 0) ticket = atomicAdd((unsigned long long *)a.ticket + column, 1ull);
  __syncthreads();
  const uint64_t launch = ticket / each, n = ticket % each;
  if (n >= blocks) return -1;
  const uint64_t seed = (a.shuffle + 2 * launch) * UINT64_C(0x9e3779b97f4a7c15) | 1;
  return kaon_relax_turn((int64_t)n, (int64_t)blocks, a.shuffle != 0 ? seed : 0);
}

template <int REALS, int THREADS>
static __global__ void __launch_bounds__(THREADS)
    relax_kernel(const __grid_constant__ relax_call a) {
  enum { WIDE = held<REALS, THREADS>::WIDE }; /* otherwise there would be too much to hold */
  extern __shared__ double2 room[];
  /* of this rank's blocks, of others', of this rank's after the reads */
  __shared__ int shifts[3 * KAON_SHIFT_BINS];
  const int column = a.column >= 0 ? a.column : (int)(blockIdx.x % (unsigned)a.columns);
  const int64_t mine = a.column >= 0 ? blockIdx.x : blockIdx.x / (unsigned)a.columns;
  const int64_t step = a.rounds > 1 ? (int64_t)gridDim.x : a.rows.blocks;
  real *y = (real *)room;
  prepared<REALS, THREADS> p;
  p.block = -1;
  for (int i = threadIdx.x; i < 3 * KAON_SHIFT_BINS; i += blockDim.x) shifts[i] = 0;
  if (WIDE && a.rounds > 0 && a.together == 0)
    prepare<REALS, THREADS>(a, kaon_relax_turn(mine, a.rows.blocks, a.shuffle), column, y, p);
  kaon_wait_for_previous();
  kaon_let_next_start();
  if (!gate_open(a.gate, column)) return;
  __syncthreads();
  if (a.rounds == 0) {
    give_block<REALS>(a, mine, column, y);
    return;
  }
  bool on = true;
  for (int round = 0; round < a.rounds && on; round++) {
    if (a.ghosts.start != NULL && a.pause > 0) take_pause(a);
    for (int64_t n = mine; on; n += step) {
      const int64_t block = a.together > 0      ? next_block(a, column)
                            : n < a.rows.blocks ? kaon_relax_turn(n, a.rows.blocks, a.shuffle)
                                                : -1;
      if (block < 0) break;
      if (WIDE && block != p.block) prepare<REALS, THREADS>(a, block, column, y, p);
      counter_check w = {NULL, 0};
      if (!a.cut) on = may_begin(a, block, column, round, shifts, &w);
      if (!WIDE && on) prepare<REALS, THREADS>(a, block, column, y, p);
      if (on) relax_block<REALS, THREADS>(a, p, column, w, shifts + 2 * KAON_SHIFT_BINS, y);
    }
    if (a.rounds > 1 && on && mine == 0) monitor(a, column);
  }
  __syncthreads();
  if (a.ghosts.start != NULL && !on) /* no block waits for what ended early */
    for (int64_t n = mine; n < a.rows.blocks; n += step) {
      const int64_t block = kaon_relax_turn(n, a.rows.blocks, a.shuffle);
      const int32_t *count = a.count + (int64_t)column * a.rows.blocks + block;
      notify(a, block, column, load_relaxed(count) | KAON_BLOCK_FINISHED);
    }
  for (int i = threadIdx.x; i < KAON_SHIFT_BINS; i += blockDim.x) {
    if (shifts[i] != 0)
      atomicAdd((unsigned long long *)a.shifts + i, (unsigned long long)shifts[i]);
    if (shifts[KAON_SHIFT_BINS + i] != 0)
      atomicAdd((unsigned long long *)a.rank_shifts + i,
                (unsigned long long)shifts[KAON_SHIFT_BINS + i]);
    if (shifts[2 * KAON_SHIFT_BINS + i] != 0)
      atomicAdd((unsigned long long *)a.shifts_after + i,
                (unsigned long long)shifts[2 * KAON_SHIFT_BINS + i]);
  }
}

/* ---- launches ---- */

/* A cooperative launch of as many thread blocks as the device holds. They share the blocks of
 * rows. */
template <int REALS, int THREADS>
static void launch_free(const kaon_launch *launch, const relax_call &a, unsigned threads,
                        unsigned shared) {
  int device = 0, places = 0, each = 0;
  cudaLaunchConfig_t config = {};
  cudaLaunchAttribute together = {};
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&places, cudaDevAttrMultiProcessorCount, device);
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, relax_kernel<REALS, THREADS>, (int)threads,
                                                shared);
  const int64_t most = (int64_t)places * (each > 0 ? each : 1);
  together.id = cudaLaunchAttributeCooperative;
  together.val.cooperative = 1;
  config.gridDim = dim3((unsigned)(a.rows.blocks < most ? a.rows.blocks : most));
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared;
  config.stream = (cudaStream_t)launch->queue;
  config.attrs = &together;
  config.numAttrs = 1;
  cudaLaunchKernelEx(&config, relax_kernel<REALS, THREADS>, a);
}

/* Whether the device has 128 registers for each thread of all blocks at once. With more blocks, 64
 * registers let twice as many run. */
static bool holds_wide(const relax_call &a) {
  int device = 0, places = 0;
  if (a.rows.block > 512) return false;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&places, cudaDevAttrMultiProcessorCount, device);
  const int64_t threads = (a.rows.block + 31) / 32 * 32;
  return a.rows.blocks * (a.column >= 0 ? 1 : a.columns) <= places * (512 / threads);
}

template <int REALS, int THREADS>
static void launch_relax(const kaon_launch *launch, const relax_call &a) {
  const unsigned threads = (unsigned)(a.rows.block + 31) / 32 * 32;
  const unsigned shared = 2u * THREADS * REALS * (unsigned)sizeof(real);
  const int64_t blocks = a.together > 0 ? a.together : a.rows.blocks;
  if (a.rounds > 1)
    launch_free<REALS, THREADS>(launch, a, threads, shared);
  else
    kaon_cuda_launch(launch, relax_kernel<REALS, THREADS>,
                     (unsigned)(blocks * (a.column >= 0 ? 1 : a.columns)), threads, a, shared);
}

extern "C" void KAON_EXPORT(kaon_sparse_relax)(const kaon_launch *launch,
                                               const kaon_relax_args *args) {
  relax_call a = {};
  a.rows = *args->rows;
  a.nrhs = a.columns = args->nrhs;
  a.column = args->column;
  a.inner = args->inner;
  a.cut = args->cut;
  a.rounds = args->rounds;
  a.lag = args->lag;
  a.factor = (real)args->omega;
  a.shuffle = args->shuffle;
  a.goal = args->goal;
  a.limit = args->limit;
  a.frozen = args->frozen;
  a.count = args->count;
  a.seen = args->seen;
  a.stop = args->stop;
  a.ticket = args->ticket;
  a.shifts = args->shifts;
  a.shifts_after = args->shifts_after;
  a.b = (const real *)args->b.data;
  a.x = (real *)args->x.data;
  a.gate = args->gate;
  if (args->ghosts != NULL) a.ghosts = *args->ghosts;
  a.rank_lag = args->rank_lag;
  a.pause = args->pause;
  a.patience = args->patience;
  a.rank_shifts = args->rank_shifts;
  if (a.rows.blocks == 0) return;
  if (a.rounds == 1 && !a.cut && args->ghosts == NULL && args->together < a.rows.blocks)
    a.together = args->together;
  const bool wide = holds_wide(a);
  if (a.rows.reals == 1 && wide)
    launch_relax<1, 512>(launch, a);
  else if (a.rows.reals == 1)
    launch_relax<1, KAON_ROW_BLOCK>(launch, a);
  else if (wide)
    launch_relax<2, 512>(launch, a);
  else
    launch_relax<2, KAON_ROW_BLOCK>(launch, a);
}
