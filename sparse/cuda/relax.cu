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

#include <stdlib.h>

typedef struct relax_call {
  kaon_row_blocks rows;
  int nrhs, columns, column; /* columns: of this launch; column: the only one, or -1 */
  int inner, cut, rounds, lag;
  int early;
  int together; /* rounds = 1: thread blocks that take blocks by tickets; 0: each has its own */
  real factor;
  uint64_t shuffle;
  double goal, limit;
  const uint8_t *frozen;
  int32_t *count;
  double *seen;
  int32_t *stop;
  uint64_t *ticket;
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

/* Couplings within the block that stay in registers, as many as there is room for without spills:
 * GROUP of them always, and as many again where the slice has them. Columns are distances in bytes
 * from the block's first number. Registers without an entry hold 0 times that number. */
template <int REALS, int THREADS>
struct held {
  enum {
    WIDE = THREADS <= 512, /* 128 registers a thread, else 64 */
    GROUP = REALS * sizeof(real) == 4   ? (WIDE ? 8 : 6)
            : REALS * sizeof(real) == 8 ? (WIDE ? 8 : REALS == 1 ? 4 : 3)
                                        : (WIDE ? 4 : 1),
    MOST = WIDE ? 2 * GROUP : GROUP
  };
  real value[MOST][REALS];
  uint16_t at[MOST];
  int entries;
  int64_t first; /* of those that are not here */
};

template <int REALS, int THREADS>
static __device__ __forceinline__ void hold(const relax_call &a, const seat &s,
                                            held<REALS, THREADS> &h) {
  enum { MOST = held<REALS, THREADS>::MOST };
  const kaon_block_entries &e = a.rows.inside;
  const int64_t begin = __ldg(e.start + s.slice);
  h.entries = (int)(__ldg(e.start + s.slice + 1) - begin);
  h.first = (begin + MOST) * 32 + s.lane;
#pragma unroll
  for (int k = 0; k < MOST; k++) {
    h.at[k] = 0;
#pragma unroll
    for (int c = 0; c < REALS; c++) h.value[k][c] = 0;
    if (k < h.entries) {
      const int64_t n = (begin + k) * 32 + s.lane;
      h.at[k] = (uint16_t)(__ldg(e.column + n) * (int)(REALS * sizeof(real)));
      value_of<REALS>(e.value, n, h.value[k]);
    }
  }
}

template <int REALS, int THREADS>
static __device__ __forceinline__ void read_group(const held<REALS, THREADS> &h, int first,
                                                  const real *y, real *t) {
  enum { GROUP = held<REALS, THREADS>::GROUP };
  kaon_packet<real, REALS> x[GROUP];
#pragma unroll
  for (int k = 0; k < GROUP; k++)
    x[k] = *(const kaon_packet<real, REALS> *)((const char *)y + h.at[first + k]);
#pragma unroll
  for (int k = 0; k < GROUP; k++) kaon_relax_subtract(t, h.value[first + k], x[k].v, REALS);
}

/* t -= what the block itself has, in shared memory. */
template <int REALS, int THREADS>
static __device__ __forceinline__ void read_inside(const relax_call &a,
                                                   const held<REALS, THREADS> &h, const real *y,
                                                   real *t) {
  enum { GROUP = held<REALS, THREADS>::GROUP, MOST = held<REALS, THREADS>::MOST };
  const kaon_block_entries &e = a.rows.inside;
  read_group<REALS, THREADS>(h, 0, y, t);
  if (h.entries <= GROUP) return;
  if (MOST > GROUP) read_group<REALS, THREADS>(h, MOST - GROUP, y, t);
#pragma unroll 2
  for (int j = 0; j < h.entries - MOST; j++) {
    const int64_t n = h.first + j * 32;
    real v[REALS];
    value_of<REALS>(e.value, n, v);
    kaon_relax_subtract(t, v, y + __ldg(e.column + n) * REALS, REALS);
  }
}

/* A local sweep of this thread's row: x from what the block had in y, into `to`. */
template <int REALS, int THREADS>
static __device__ __forceinline__ void sweep_row(const relax_call &a,
                                                 const held<REALS, THREADS> &h, bool mine,
                                                 bool moves, const real *t, const real *inverse,
                                                 const real *y, real *to, real *x) {
  if (mine) {
    real u[REALS];
#pragma unroll
    for (int c = 0; c < REALS; c++) u[c] = t[c];
    read_inside<REALS, THREADS>(a, h, y, u);
    if (moves) kaon_relax_row(x, u, inverse, a.factor, REALS);
#pragma unroll
    for (int c = 0; c < REALS; c++) to[c] = x[c];
  }
  __syncthreads();
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

/* What a thread knows of its row whatever x is. Nobody writes it, so it is read before the kernel
 * before has ended. */
template <int REALS, int THREADS>
struct prepared {
  int64_t block; /* -1: none yet */
  seat s;
  real inverse[REALS];
  held<REALS, THREADS> h;
};

template <int REALS, int THREADS>
static __device__ __forceinline__ void prepare(const relax_call &a, int64_t block, int column,
                                               prepared<REALS, THREADS> &p) {
  p.block = block;
  p.s = seat_of<REALS>(a, block, column);
#pragma unroll
  for (int c = 0; c < REALS; c++) p.inverse[c] = 0;
  if (!p.s.mine) return;
  hold<REALS, THREADS>(a, p.s, p.h);
  value_of<REALS>(a.rows.inverse, p.s.place, p.inverse);
}

/* One global iteration of a block, from its reading to its writing. room: the block's numbers,
 * twice, at a distance that is known here, for a sweep reads the one and writes the other. */
template <int REALS, int THREADS>
static __device__ __forceinline__ void relax_block(const relax_call &a,
                                                   const prepared<REALS, THREADS> &p, int column,
                                                   real *room) {
  enum { FAR = THREADS * REALS };
  const kaon_row_blocks &m = a.rows;
  const seat &s = p.s;
  const int64_t block = p.block;
  const held<REALS, THREADS> &h = p.h;
  const real *inverse = p.inverse;
  real *own = room + threadIdx.x * REALS;
  real t[REALS], x[REALS];
  double residual2 = 0;
  bool moves = s.mine;
#pragma unroll
  for (int c = 0; c < REALS; c++) t[c] = x[c] = 0;
  if (s.mine) {
    if (a.frozen != NULL && a.frozen[s.row]) moves = false;
#pragma unroll
    for (int c = 0; c < REALS; c++) {
      t[c] = a.b[s.at + c];
      if (!a.cut) x[c] = kaon_race_load(a.x + s.at + c);
      own[c] = x[c];
    }
    if (!a.cut) read_outside<REALS>(a, s, column, t);
    if (a.ghosts.start != NULL) read_ghosts<REALS>(a, s, column, t);
  }
  __syncthreads();
  if (s.mine) { /* the first sweep, which sees the residual */
    real u[REALS];
#pragma unroll
    for (int c = 0; c < REALS; c++) u[c] = t[c];
    if (!a.cut) read_inside<REALS, THREADS>(a, h, room, u);
    if (a.rounds > 1) {
      real diagonal[REALS];
      value_of<REALS>(m.diagonal, s.place, diagonal);
      residual2 = kaon_relax_residual2(u, diagonal, x, REALS);
    }
    if (moves) kaon_relax_row(x, u, inverse, a.factor, REALS);
#pragma unroll
    for (int c = 0; c < REALS; c++) own[FAR + c] = x[c];
  }
  __syncthreads();
  int k = 1;
  for (; k + 1 < a.inner; k += 2) {
    sweep_row<REALS, THREADS>(a, h, s.mine, moves, t, inverse, room + FAR, own, x);
    sweep_row<REALS, THREADS>(a, h, s.mine, moves, t, inverse, room, own + FAR, x);
  }
  real *y = room + FAR;
  if (k < a.inner) {
    sweep_row<REALS, THREADS>(a, h, s.mine, moves, t, inverse, room + FAR, own, x);
    y = room;
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

/* The next block of rows of this launch, -1: there is none. All threads. A launch hands out a
 * ticket a block and one more to each thread block that asks in vain, so tickets alone tell which
 * launch it is, and with it the order. */
static __device__ __forceinline__ int64_t next_block(const relax_call &a, int column) {
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
  extern __shared__ double2 room[];
  __shared__ int shifts[2 * KAON_SHIFT_BINS]; /* of this rank's blocks, of others' */
  const int column = a.column >= 0 ? a.column : (int)(blockIdx.x % (unsigned)a.columns);
  const int64_t mine = a.column >= 0 ? blockIdx.x : blockIdx.x / (unsigned)a.columns;
  const int64_t step = a.rounds > 1 ? (int64_t)gridDim.x : a.rows.blocks;
  real *y = (real *)room;
  prepared<REALS, THREADS> p;
  p.block = -1;
  for (int i = threadIdx.x; i < 2 * KAON_SHIFT_BINS; i += blockDim.x) shifts[i] = 0;
  if (a.early & 1)
    if (a.rounds > 0 && a.together == 0)
      prepare<REALS, THREADS>(a, kaon_relax_turn(mine, a.rows.blocks, a.shuffle), column, p);
  kaon_wait_for_previous();
  if (a.early & 2) kaon_let_next_start();
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
      const int64_t block = a.together > 0         ? next_block(a, column)
                            : n < a.rows.blocks ? kaon_relax_turn(n, a.rows.blocks, a.shuffle)
                                                : -1;
      if (block < 0) break;
      if (block != p.block) prepare<REALS, THREADS>(a, block, column, p);
      if (!a.cut) on = may_begin(a, block, column, round, shifts);
      if (on) relax_block<REALS, THREADS>(a, p, column, y);
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
template <int REALS, int THREADS>
static void launch_free(const kaon_launch *launch, const relax_call &a, unsigned threads,
                        unsigned shared) {
  int device = 0, places = 0, each = 0;
  cudaLaunchConfig_t config = {};
  cudaLaunchAttribute together = {};
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&places, cudaDevAttrMultiProcessorCount, device);
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, relax_kernel<REALS, THREADS>, (int)threads, shared);
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
  a.b = (const real *)args->b.data;
  a.x = (real *)args->x.data;
  a.gate = args->gate;
  if (args->ghosts != NULL) a.ghosts = *args->ghosts;
  a.rank_lag = args->rank_lag;
  a.pause = args->pause;
  a.patience = args->patience;
  a.rank_shifts = args->rank_shifts;
  if (a.rows.blocks == 0) return;
  a.early = getenv("KAON_X_EARLY") != NULL ? atoi(getenv("KAON_X_EARLY")) : 0;
  if (a.rounds == 1 && !a.cut && args->ghosts == NULL && args->together < a.rows.blocks)
    a.together = args->together;
  const bool wide = a.rows.block <= 512 && getenv("KAON_X_NARROW") == NULL;
  if (a.rows.reals == 1 && wide)
    launch_relax<1, 512>(launch, a);
  else if (a.rows.reals == 1)
    launch_relax<1, KAON_ROW_BLOCK>(launch, a);
  else if (wide)
    launch_relax<2, 512>(launch, a);
  else
    launch_relax<2, KAON_ROW_BLOCK>(launch, a);
}
