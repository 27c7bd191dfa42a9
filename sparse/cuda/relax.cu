/* relax.cu - on the GPU: Jacobi sweeps within blocks of rows, blocks one global iteration each or
 * going on by themselves (kaon_relax_args in sparse_ops.h; formulas: lib/math/relax.h).
 *
 * A block of threads is a block of rows, a thread a row. It reads what other blocks have of x by
 * relaxed loads, which the second-level cache answers, keeps its own part in shared memory through
 * the local sweeps, and writes it back by relaxed stores. The first few couplings within the block
 * stay in registers from sweep to sweep; the others come from the first-level cache.
 *
 * rounds > 1: one cooperative launch, so that all blocks are resident: none waits for one that has
 * not begun. A block that finds itself ahead of one that it reads by more than `lag` waits. Counts
 * are stored by release and loaded by acquire, so what is read is at least as new as its count
 * says. The first block, after each of its rounds, adds up what all saw of their residuals.
 *
 * Other ranks (kaon_block_ghosts): after a block's last local sweep its threads store what others
 * read, wherever that is, by relaxed stores at the scope of the system. Then comes the block's
 * barrier, and each thread that raises a counter fences to the system before it stores it
 * (relaxed): the barrier puts the other threads' stores before the fence, and the fence before the
 * counter (PTX ISA, memory consistency model: causality order over barriers, fence.acq_rel.sys).
 * Who reads loads the counter by ld.acquire.sys, then comes its block's barrier, then the values by
 * ld.relaxed.sys, which no first-level cache answers.
 * Why nothing waits for ever: only blocks ahead by more than rank_lag wait for another rank, so
 * those of the rank that is farthest behind never do, resident or not; who ends early marks its
 * counters; and patience ends a wait for a rank that has failed. */
#include "sparse/cuda/rows.h"

#include "lib/math/relax.h"

typedef struct relax_call {
  kaon_row_blocks rows;
  int nrhs, columns, column; /* columns: of this launch; column: the only one, or -1 */
  int inner, cut, rounds, lag;
  real factor;
  uint64_t shuffle;
  double goal, limit;
  const uint8_t *frozen;
  int32_t *count;
  double *seen;
  int32_t *stop;
  int64_t *shifts;
  const real *b;
  real *x;
  kaon_gate gate;
  kaon_block_ghosts ghosts; /* start NULL: none */
  int rank_lag;
  int64_t pause;
  uint64_t patience;
  int64_t *rank_shifts;
} relax_call;

/* ---- numbers that other blocks write meanwhile ---- */

static __device__ __forceinline__ int32_t load_acquire(const int32_t *p) {
  int32_t v;
  asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
  return v;
}

static __device__ __forceinline__ int32_t load_relaxed(const int32_t *p) {
  int32_t v;
  asm volatile("ld.relaxed.gpu.global.s32 %0, [%1];" : "=r"(v) : "l"(p));
  return v;
}

static __device__ __forceinline__ void store_release(int32_t *p, int32_t v) {
  asm volatile("st.release.gpu.global.s32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}

static __device__ __forceinline__ void store_relaxed(int32_t *p, int32_t v) {
  asm volatile("st.relaxed.gpu.global.s32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}

static __device__ __forceinline__ double load_seen(const double *p) {
  double v;
  asm volatile("ld.relaxed.gpu.global.f64 %0, [%1];" : "=d"(v) : "l"(p));
  return v;
}

static __device__ __forceinline__ void store_seen(double *p, double v) {
  asm volatile("st.relaxed.gpu.global.f64 [%0], %1;" ::"l"(p), "d"(v) : "memory");
}

static __device__ __forceinline__ int32_t load_far(const int32_t *p) {
  int32_t v;
  asm volatile("ld.acquire.sys.global.s32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
  return v;
}

/* Acquires nothing: that would empty the first-level cache, which other blocks use, each time. */
static __device__ __forceinline__ int32_t peek_far(const int32_t *p) {
  int32_t v;
  asm volatile("ld.relaxed.sys.global.s32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
  return v;
}

static __device__ __forceinline__ void store_far(int32_t *p, int32_t v) {
  asm volatile("fence.acq_rel.sys;" ::: "memory");
  asm volatile("st.relaxed.sys.global.s32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}

/* ---- a block of rows ---- */

/* Where this thread works: the row's place and slice, and its numbers in a vector. */
typedef struct seat {
  int64_t place, slice, at; /* at: reals from the column's first one */
  int row, lane, mine;      /* mine: there is a row */
} seat;

template <int REALS>
static __device__ __forceinline__ int64_t number_of(const relax_call &a, int row, int column) {
  return (((int64_t)(row >> 5) * a.nrhs + column) * KAON_LANES + (row & 31)) * REALS;
}

template <int REALS>
static __device__ __forceinline__ seat seat_of(const relax_call &a, int64_t block, int column) {
  const kaon_row_blocks &m = a.rows;
  seat s;
  s.place = block * m.block + threadIdx.x;
  s.slice = block * m.slices + threadIdx.x / 32;
  s.lane = threadIdx.x & 31;
  s.mine = (int)threadIdx.x < m.block && s.place < m.rows;
  s.row = s.mine ? __ldg(m.row + s.place) : 0;
  s.at = number_of<REALS>(a, s.row, column);
  return s;
}

template <int REALS>
static __device__ __forceinline__ void value_of(const void *values, int64_t n, real *v) {
  const kaon_packet<real, REALS> p = ((const kaon_packet<real, REALS> *)values)[n];
#pragma unroll
  for (int c = 0; c < REALS; c++) v[c] = p.v[c];
}

/* t -= what other blocks have. Some at a time, so that their ways to memory overlap. */
template <int REALS>
static __device__ __forceinline__ void read_outside(const relax_call &a, const seat &s, int column,
                                                    real *t) {
  enum { AHEAD = REALS * sizeof(real) <= 8 ? 4 : 2 };
  const kaon_block_entries &e = a.rows.outside;
  const int64_t begin = __ldg(e.start + s.slice), end = __ldg(e.start + s.slice + 1);
  for (int64_t j = begin; j < end; j += AHEAD) {
    real v[AHEAD][REALS], x[AHEAD][REALS];
    int64_t from[AHEAD];
#pragma unroll
    for (int k = 0; k < AHEAD; k++) {
      const int64_t n = (j + k) * 32 + s.lane;
      const bool there = j + k < end;
      from[k] = number_of<REALS>(a, there ? __ldg(e.column + n) : s.row, column);
#pragma unroll
      for (int c = 0; c < REALS; c++) v[k][c] = 0;
      if (there) value_of<REALS>(e.value, n, v[k]);
    }
#pragma unroll
    for (int k = 0; k < AHEAD; k++)
#pragma unroll
      for (int c = 0; c < REALS; c++) x[k][c] = kaon_race_load(a.x + from[k] + c);
#pragma unroll
    for (int k = 0; k < AHEAD; k++) kaon_relax_subtract(t, v[k], x[k], REALS);
  }
}

/* t -= what other ranks have. Some at a time here as well: the ways may be links between devices.
 */
template <int REALS>
static __device__ __forceinline__ void read_ghosts(const relax_call &a, const seat &s, int column,
                                                   real *t) {
  enum { AHEAD = REALS * sizeof(real) <= 8 ? 4 : 2 };
  const kaon_block_ghosts &g = a.ghosts;
  const int64_t begin = __ldg(g.start + s.slice), end = __ldg(g.start + s.slice + 1);
#pragma unroll 1
  for (int64_t j = begin; j < end; j += AHEAD) {
    const real *from[AHEAD];
    real v[AHEAD][REALS], x[AHEAD][REALS];
#pragma unroll
    for (int k = 0; k < AHEAD; k++) {
      const int64_t n = (j + k) * 32 + s.lane;
      uint64_t there = 0;
      if (j + k < end) there = __ldg((const unsigned long long *)g.from + n);
      from[k] = there != 0 ? (const real *)there + column * REALS : a.x + s.at; /* times 0 */
#pragma unroll
      for (int c = 0; c < REALS; c++) v[k][c] = 0;
      if (there != 0) value_of<REALS>(g.value, n, v[k]);
    }
#pragma unroll
    for (int k = 0; k < AHEAD; k++)
#pragma unroll
      for (int c = 0; c < REALS; c++) x[k][c] = kaon_far_load(from[k] + c);
#pragma unroll
    for (int k = 0; k < AHEAD; k++) kaon_relax_subtract(t, v[k], x[k], REALS);
  }
}

/* The block's rows, in shared memory, to the ranks that read them. */
template <int REALS>
static __device__ __forceinline__ void give_rows(const relax_call &a, int64_t block, int column,
                                                 const real *y) {
  const kaon_block_ghosts &g = a.ghosts;
  const int64_t end = __ldg(g.sends + block + 1);
#pragma unroll 1
  for (int64_t n = __ldg(g.sends + block) + threadIdx.x; n < end; n += blockDim.x) {
    real *to = (real *)__ldg((const unsigned long long *)g.to + n) + column * REALS;
    const real *from = y + __ldg(g.place + n) * REALS;
#pragma unroll
    for (int c = 0; c < REALS; c++) kaon_far_store(to + c, from[c]);
  }
}

/* The block's counter, to the same. All threads, behind a barrier after give_rows. */
static __device__ __forceinline__ void tell(const relax_call &a, int64_t block, int column,
                                            int32_t count) {
  const kaon_block_ghosts &g = a.ghosts;
  const int64_t end = __ldg(g.tells + block + 1);
#pragma unroll 1
  for (int64_t n = __ldg(g.tells + block) + threadIdx.x; n < end; n += blockDim.x)
    store_far((int32_t *)__ldg((const unsigned long long *)g.tell + n) + column, count);
}

/* Couplings within the block that stay in registers: as many as 64 have room for, without spills.
 */
template <int REALS>
struct held {
  enum { MOST = REALS == 1 ? (sizeof(real) == 4 ? 8 : 6) : (sizeof(real) == 4 ? 4 : 1) };
  real value[MOST][REALS];
  int column[MOST];
  int64_t begin, end; /* of the others */
};

template <int REALS>
static __device__ __forceinline__ held<REALS> hold(const relax_call &a, const seat &s) {
  const kaon_block_entries &e = a.rows.inside;
  held<REALS> h;
  const int64_t begin = __ldg(e.start + s.slice);
  h.end = __ldg(e.start + s.slice + 1);
  h.begin = begin + held<REALS>::MOST < h.end ? begin + held<REALS>::MOST : h.end;
#pragma unroll
  for (int k = 0; k < held<REALS>::MOST; k++) {
    h.column[k] = 0;
#pragma unroll
    for (int c = 0; c < REALS; c++) h.value[k][c] = 0;
    if (begin + k < h.end) {
      h.column[k] = __ldg(e.column + (begin + k) * 32 + s.lane);
      value_of<REALS>(e.value, (begin + k) * 32 + s.lane, h.value[k]);
    }
  }
  return h;
}

/* t -= what the block itself has, in shared memory. Registers without an entry hold 0 times the
 * first row. */
template <int REALS>
static __device__ __forceinline__ void read_inside(const relax_call &a, const seat &s,
                                                   const held<REALS> &h, const real *y, real *t) {
  const kaon_block_entries &e = a.rows.inside;
  const int64_t first = h.begin; /* = end: there are MOST or fewer */
#pragma unroll
  for (int k = 0; k < held<REALS>::MOST; k++)
    kaon_relax_subtract(t, h.value[k], y + h.column[k] * REALS, REALS);
#pragma unroll 2
  for (int64_t j = first; j < h.end; j++) {
    const int64_t n = j * 32 + s.lane;
    real v[REALS];
    value_of<REALS>(e.value, n, v);
    kaon_relax_subtract(t, v, y + __ldg(e.column + n) * REALS, REALS);
  }
}

/* The sum over the block's threads, in thread 0. All threads. */
static __device__ __forceinline__ double block_sum(double x) {
  __shared__ double warps[32];
  const int warp = threadIdx.x / 32, lane = threadIdx.x & 31;
  x = warp_sum(x);
  __syncthreads(); /* the one before has been read */
  if (lane == 0) warps[warp] = x;
  __syncthreads();
  x = lane < (int)(blockDim.x / 32) ? warps[lane] : 0;
  return warp == 0 ? warp_sum(x) : 0;
}

/* One global iteration of a block, from its reading to its writing. */
template <int REALS>
static __device__ __forceinline__ void relax_block(const relax_call &a, int64_t block, int column,
                                                   real *y, real *next) {
  const kaon_row_blocks &m = a.rows;
  const seat s = seat_of<REALS>(a, block, column);
  real t[REALS], x[REALS], inverse[REALS];
  double residual2 = 0;
  held<REALS> h;
  bool moves = s.mine;
#pragma unroll
  for (int c = 0; c < REALS; c++) t[c] = x[c] = inverse[c] = 0;
  if (s.mine) {
    if (a.frozen != NULL && a.frozen[s.row]) moves = false;
#pragma unroll
    for (int c = 0; c < REALS; c++) {
      t[c] = a.b[s.at + c];
      if (!a.cut) x[c] = kaon_race_load(a.x + s.at + c);
      y[threadIdx.x * REALS + c] = x[c];
    }
    if (!a.cut) read_outside<REALS>(a, s, column, t);
    if (a.ghosts.start != NULL) read_ghosts<REALS>(a, s, column, t);
    value_of<REALS>(m.inverse, s.place, inverse);
    h = hold<REALS>(a, s);
  }
  __syncthreads();
  for (int k = 0; k < a.inner; k++) {
    if (s.mine) {
      real u[REALS];
#pragma unroll
      for (int c = 0; c < REALS; c++) u[c] = t[c];
      if (!a.cut || k > 0) read_inside<REALS>(a, s, h, y, u);
      if (a.rounds > 1 && k == 0) {
        real diagonal[REALS];
        value_of<REALS>(m.diagonal, s.place, diagonal);
        residual2 = kaon_relax_residual2(u, diagonal, x, REALS);
      }
      if (moves) kaon_relax_row(x, u, inverse, a.factor, REALS);
#pragma unroll
      for (int c = 0; c < REALS; c++) next[threadIdx.x * REALS + c] = x[c];
    }
    __syncthreads();
    real *swap = y;
    y = next;
    next = swap;
  }
  if (s.mine)
#pragma unroll
    for (int c = 0; c < REALS; c++) kaon_race_store(a.x + s.at + c, x[c]);
  if (a.cut) return;
  const int64_t at = (int64_t)column * m.blocks + block;
  if (a.ghosts.start != NULL) give_rows<REALS>(a, block, column, y);
  if (a.rounds > 1) residual2 = block_sum(residual2);
  int32_t count = 0; /* before the barrier, behind which it is raised */
  if (a.ghosts.start != NULL || threadIdx.x == 0) count = load_relaxed(a.count + at) + 1;
  __syncthreads();
  if (a.ghosts.start != NULL) tell(a, block, column, count);
  if (threadIdx.x == 0) {
    if (a.rounds > 1) store_seen(a.seen + at, residual2);
    store_release(a.count + at, count);
  }
}

/* What a block begins with, to those who read it. */
template <int REALS>
static __device__ __forceinline__ void give_block(const relax_call &a, int64_t block, int column,
                                                  real *y) {
  const seat s = seat_of<REALS>(a, block, column);
  if (s.mine)
#pragma unroll
    for (int c = 0; c < REALS; c++) y[threadIdx.x * REALS + c] = kaon_race_load(a.x + s.at + c);
  __syncthreads();
  give_rows<REALS>(a, block, column, y);
  __syncthreads();
  tell(a, block, column, load_relaxed(a.count + (int64_t)column * a.rows.blocks + block));
}

/* ---- who reads whom ---- */

static __device__ __forceinline__ void note_shift(int *shifts, int32_t shift) {
  const int bin = shift + KAON_SHIFTS;
  atomicAdd(&shifts[bin < 0 ? 0 : bin >= KAON_SHIFT_BINS ? KAON_SHIFT_BINS - 1 : bin], 1);
}

/* The same of other ranks' blocks: true: all is over. */
static __device__ __forceinline__ bool await_ranks(const relax_call &a, int64_t block, int column,
                                                   int32_t own, int *shifts) {
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
    if (!over) note_shift(shifts, own - (there & ~KAON_BLOCK_LEFT));
  }
  return over;
}

/* For tests: this rank is slow. */
static __device__ __forceinline__ void take_pause(const relax_call &a) {
  const uint64_t begin = nanoseconds();
  if (threadIdx.x == 0)
    while (nanoseconds() - begin < (uint64_t)a.pause) __nanosleep(1000);
  __syncthreads();
}

/* Waits until no block that this one reads is more than `lag` behind, notes the shifts; false in
 * all threads: all is over. The slowest block of all never waits, so some block always goes on. */
static __device__ __forceinline__ bool may_begin(const relax_call &a, int64_t block, int column,
                                                 int round, int *shifts) {
  const kaon_row_blocks &m = a.rows;
  const int32_t *count = a.count + (int64_t)column * m.blocks;
  /* of rounds counts begin at 0; the first thread may not have stored this one yet */
  const int32_t own = a.rounds > 1 ? round : load_relaxed(count + block);
  const int64_t end = __ldg(m.reads + block + 1);
  bool over = a.rounds > 1 && load_relaxed(a.stop + column) != 0;
  for (int64_t n = __ldg(m.reads + block) + threadIdx.x; n < end && !over; n += blockDim.x) {
    const int32_t *other = count + __ldg(m.other + n);
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

/* The block that sees whether all is over. */
static __device__ __forceinline__ void monitor(const relax_call &a, int column) {
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

template <int REALS>
static __global__ void __launch_bounds__(KAON_ROW_BLOCK)
    relax_kernel(const __grid_constant__ relax_call a) {
  extern __shared__ double2 room[];
  __shared__ int shifts[2 * KAON_SHIFT_BINS]; /* of this rank's blocks, of others' */
  const int column = a.column >= 0 ? a.column : (int)(blockIdx.x % (unsigned)a.columns);
  const int64_t mine = a.column >= 0 ? blockIdx.x : blockIdx.x / (unsigned)a.columns;
  const int64_t step = a.rounds > 1 ? (int64_t)gridDim.x : a.rows.blocks;
  real *y = (real *)room, *next = y + a.rows.block * REALS;
  kaon_wait_for_previous();
  if (!gate_open(a.gate, column)) return;
  for (int i = threadIdx.x; i < 2 * KAON_SHIFT_BINS; i += blockDim.x) shifts[i] = 0;
  __syncthreads();
  if (a.rounds == 0) {
    give_block<REALS>(a, mine, column, y);
    return;
  }
  bool on = true;
  for (int round = 0; round < a.rounds && on; round++) {
    if (a.ghosts.start != NULL && a.pause > 0) take_pause(a);
    for (int64_t n = mine; n < a.rows.blocks && on; n += step) {
      const int64_t block = kaon_relax_turn(n, a.rows.blocks, a.shuffle);
      if (!a.cut) on = may_begin(a, block, column, round, shifts);
      if (on) relax_block<REALS>(a, block, column, y, next);
    }
    if (a.rounds > 1 && on && mine == 0) monitor(a, column);
  }
  __syncthreads();
  if (a.ghosts.start != NULL && !on) /* nobody waits for what ended early */
    for (int64_t n = mine; n < a.rows.blocks; n += step) {
      const int64_t block = kaon_relax_turn(n, a.rows.blocks, a.shuffle);
      const int32_t *count = a.count + (int64_t)column * a.rows.blocks + block;
      tell(a, block, column, load_relaxed(count) | KAON_BLOCK_LEFT);
    }
  for (int i = threadIdx.x; i < KAON_SHIFT_BINS; i += blockDim.x) {
    if (shifts[i] != 0)
      atomicAdd((unsigned long long *)a.shifts + i, (unsigned long long)shifts[i]);
    if (shifts[KAON_SHIFT_BINS + i] != 0)
      atomicAdd((unsigned long long *)a.rank_shifts + i,
                (unsigned long long)shifts[KAON_SHIFT_BINS + i]);
  }
}

/* ---- launches ---- */

/* All blocks of threads at once on the device, or none. */
template <int REALS>
static void launch_free(const kaon_launch *launch, const relax_call &a, unsigned threads,
                        unsigned shared) {
  int device = 0, places = 0, each = 0;
  cudaLaunchConfig_t config = {};
  cudaLaunchAttribute together = {};
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&places, cudaDevAttrMultiProcessorCount, device);
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, relax_kernel<REALS>, (int)threads, shared);
  const int64_t most = (int64_t)places * (each > 0 ? each : 1);
  together.id = cudaLaunchAttributeCooperative;
  together.val.cooperative = 1;
  config.gridDim = dim3((unsigned)(a.rows.blocks < most ? a.rows.blocks : most));
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared;
  config.stream = (cudaStream_t)launch->queue;
  config.attrs = &together;
  config.numAttrs = 1;
  cudaLaunchKernelEx(&config, relax_kernel<REALS>, a);
}

template <int REALS>
static void launch_relax(const kaon_launch *launch, const relax_call &a) {
  const unsigned threads = (unsigned)(a.rows.block + 31) / 32 * 32;
  const unsigned shared = 2u * (unsigned)a.rows.block * REALS * (unsigned)sizeof(real);
  if (a.rounds > 1)
    launch_free<REALS>(launch, a, threads, shared);
  else
    kaon_cuda_launch(launch, relax_kernel<REALS>,
                     (unsigned)(a.rows.blocks * (a.column >= 0 ? 1 : a.columns)), threads, a,
                     shared);
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
  a.shifts = args->shifts;
  a.b = (const real *)args->b.data;
  a.x = (real *)args->x.data;
  a.gate = args->gate;
  if (args->ghosts != NULL) a.ghosts = *args->ghosts;
  a.rank_lag = args->rank_lag;
  a.pause = args->pause;
  a.patience = args->patience;
  a.rank_shifts = args->rank_shifts;
  if (a.rows.blocks == 0) return;
  if (a.rows.reals == 1)
    launch_relax<1>(launch, a);
  else
    launch_relax<2>(launch, a);
}
