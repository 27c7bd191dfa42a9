/* relax_block.h - a block of rows on the GPU: what its threads read of it and of other blocks, its
 * local sweeps, and what it sends to other ranks. relax.cu describes who waits for whom. */
#pragma once

#include "lib/math/steps/relaxed_row.h"
#include "sparse/cuda/rows.h"

typedef struct relax_call {
  kaon_row_blocks rows;
  int nrhs, columns, column; /* columns: of this launch; column: the only one, or -1 */
  int inner, cut, rounds, lag;
  int together; /* rounds = 1: thread blocks that take blocks by tickets; 0: one for each block */
  real factor;
  uint64_t shuffle;
  double goal, limit;
  const uint8_t *frozen;
  int32_t *count;
  double *seen;
  int32_t *stop;
  uint64_t *ticket;
  int64_t *shifts, *shifts_after;
  const real *b;
  real *x;
  kaon_gate gate;
  kaon_block_ghosts ghosts; /* start NULL: none */
  int rank_lag;
  int64_t pause;
  uint64_t patience;
  int64_t *rank_shifts;
} relax_call;

/* ---- values that other blocks write concurrently ---- */

KAON_DEVICE int32_t load_acquire(const int32_t *p) {
  int32_t v;
  asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
  return v;
}

KAON_DEVICE int32_t load_relaxed(const int32_t *p) {
  int32_t v;
  asm volatile("ld.relaxed.gpu.global.s32 %0, [%1];" : "=r"(v) : "l"(p));
  return v;
}

KAON_DEVICE void store_release(int32_t *p, int32_t v) {
  asm volatile("st.release.gpu.global.s32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}

KAON_DEVICE void store_relaxed(int32_t *p, int32_t v) {
  asm volatile("st.relaxed.gpu.global.s32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}

KAON_DEVICE double load_seen(const double *p) {
  double v;
  asm volatile("ld.relaxed.gpu.global.f64 %0, [%1];" : "=d"(v) : "l"(p));
  return v;
}

KAON_DEVICE void store_seen(double *p, double v) {
  asm volatile("st.relaxed.gpu.global.f64 [%0], %1;" ::"l"(p), "d"(v) : "memory");
}

KAON_DEVICE int32_t load_far(const int32_t *p) {
  int32_t v;
  asm volatile("ld.acquire.sys.global.s32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
  return v;
}

/* Not an acquire load, which would each time empty the first-level cache that other blocks use. */
KAON_DEVICE int32_t peek_far(const int32_t *p) {
  int32_t v;
  asm volatile("ld.relaxed.sys.global.s32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
  return v;
}

KAON_DEVICE void store_far(int32_t *p, int32_t v) {
  asm volatile("fence.acq_rel.sys;" ::: "memory");
  asm volatile("st.relaxed.sys.global.s32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}

/* ---- a block of rows ---- */

/* This thread's row: position, slice, and offset in a vector. */
typedef struct seat {
  int64_t place, slice, at; /* at: reals from the column's first one */
  int row, lane, mine;      /* mine: this thread has a row */
} seat;

template <int REALS>
KAON_DEVICE int64_t number_of(const relax_call &a, int row, int column) {
  return (((int64_t)(row >> 5) * a.nrhs + column) * KAON_LANES + (row & 31)) * REALS;
}

template <int REALS>
KAON_DEVICE seat seat_of(const relax_call &a, int64_t block, int column) {
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
KAON_DEVICE void value_of(const void *values, int64_t n, real *v) {
  const kaon_packet<real, REALS> p = ((const kaon_packet<real, REALS> *)values)[n];
#pragma unroll
  for (int c = 0; c < REALS; c++) v[c] = p.v[c];
}

/* t -= the entries in columns of other blocks. Several at a time, so that their memory latencies
 * overlap. */
template <int REALS>
KAON_DEVICE void read_outside(const relax_call &a, const seat &s, int column, real *t) {
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

/* t -= the entries in columns of other ranks. Several at a time too, since they may cross links
 * between devices. */
template <int REALS>
KAON_DEVICE void read_ghosts(const relax_call &a, const seat &s, int column, real *t) {
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

/* Sends the block's rows, which are in shared memory, to the ranks that read them. */
template <int REALS>
KAON_DEVICE void give_rows(const relax_call &a, int64_t block, int column, const real *y) {
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

/* Sends the block's counter to them. All threads must call it, after a barrier after give_rows. */
KAON_DEVICE void notify(const relax_call &a, int64_t block, int column, int32_t count) {
  const kaon_block_ghosts &g = a.ghosts;
  const int64_t end = __ldg(g.notifications + block + 1);
#pragma unroll 1
  for (int64_t n = __ldg(g.notifications + block) + threadIdx.x; n < end; n += blockDim.x)
    store_far((int32_t *)__ldg((const unsigned long long *)g.notify + n) + column, count);
}

/* A value in shared memory, `far` bytes beyond an address there. Addresses have 32 bits: for
 * generic ones the compiler would recompute the shared memory window in each sweep. */
template <int FAR>
KAON_DEVICE void shared_read(uint32_t at, double *v, const int reals) {
  if (reals == 1)
    asm volatile("ld.shared.f64 %0, [%1+%2];" : "=d"(v[0]) : "r"(at), "n"(FAR) : "memory");
  else
    asm volatile("ld.shared.v2.f64 {%0, %1}, [%2+%3];"
                 : "=d"(v[0]), "=d"(v[reals - 1])
                 : "r"(at), "n"(FAR)
                 : "memory");
}

template <int FAR>
KAON_DEVICE void shared_read(uint32_t at, float *v, const int reals) {
  if (reals == 1)
    asm volatile("ld.shared.f32 %0, [%1+%2];" : "=f"(v[0]) : "r"(at), "n"(FAR) : "memory");
  else
    asm volatile("ld.shared.v2.f32 {%0, %1}, [%2+%3];"
                 : "=f"(v[0]), "=f"(v[reals - 1])
                 : "r"(at), "n"(FAR)
                 : "memory");
}

template <int FAR>
KAON_DEVICE void shared_write(uint32_t at, const double *v, const int reals) {
  if (reals == 1)
    asm volatile("st.shared.f64 [%0+%1], %2;" ::"r"(at), "n"(FAR), "d"(v[0]) : "memory");
  else
    asm volatile("st.shared.v2.f64 [%0+%1], {%2, %3};" ::"r"(at), "n"(FAR), "d"(v[0]),
                 "d"(v[reals - 1])
                 : "memory");
}

template <int FAR>
KAON_DEVICE void shared_write(uint32_t at, const float *v, const int reals) {
  if (reals == 1)
    asm volatile("st.shared.f32 [%0+%1], %2;" ::"r"(at), "n"(FAR), "f"(v[0]) : "memory");
  else
    asm volatile("st.shared.v2.f32 [%0+%1], {%2, %3};" ::"r"(at), "n"(FAR), "f"(v[0]),
                 "f"(v[reals - 1])
                 : "memory");
}

/* Couplings within the block that stay in registers, as many as fit without spills: GROUP of them
 * always, and as many again if the slice has them. Columns are addresses of values in shared
 * memory. Registers without an entry hold 0 times the block's first value. */
template <int REALS, int THREADS>
struct held {
  enum {
    WIDE = THREADS <= 512, /* 128 registers for a thread, else 64 */
    GROUP = REALS * sizeof(real) == 4   ? (WIDE ? 8 : 6)
            : REALS * sizeof(real) == 8 ? (WIDE         ? 8
                                           : REALS == 1 ? 4
                                                        : 3)
                                        : (WIDE ? 4 : 1),
    MOST = WIDE ? 2 * GROUP : GROUP
  };
  real value[MOST][REALS];
  uint32_t at[MOST];
  int entries;
  int64_t first; /* of the couplings that are not held here */
};

template <int REALS, int THREADS>
KAON_DEVICE void hold(const relax_call &a, const seat &s, uint32_t room, held<REALS, THREADS> &h) {
  enum { MOST = held<REALS, THREADS>::MOST };
  const kaon_block_entries &e = a.rows.inside;
  const int64_t begin = __ldg(e.start + s.slice);
  h.entries = (int)(__ldg(e.start + s.slice + 1) - begin);
  h.first = (begin + MOST) * 32 + s.lane;
#pragma unroll
  for (int k = 0; k < MOST; k++) {
    h.at[k] = room;
#pragma unroll
    for (int c = 0; c < REALS; c++) h.value[k][c] = 0;
    if (k < h.entries) {
      const int64_t n = (begin + k) * 32 + s.lane;
      h.at[k] += (uint32_t)__ldg(e.column + n) * (uint32_t)(REALS * sizeof(real));
      value_of<REALS>(e.value, n, h.value[k]);
    }
  }
}

template <int REALS, int THREADS, int FAR>
KAON_DEVICE void read_group(const held<REALS, THREADS> &h, int first, real *t) {
  enum { GROUP = held<REALS, THREADS>::GROUP };
  real x[GROUP][REALS];
#pragma unroll
  for (int k = 0; k < GROUP; k++) shared_read<FAR>(h.at[first + k], x[k], REALS);
#pragma unroll
  for (int k = 0; k < GROUP; k++) kaon_relax_subtract(t, h.value[first + k], x[k], REALS);
}

/* t -= the block's own entries, with x in shared memory FAR bytes beyond `room`. */
template <int REALS, int THREADS, int FAR>
KAON_DEVICE void read_inside(const relax_call &a, const held<REALS, THREADS> &h, uint32_t room,
                             real *t) {
  enum { GROUP = held<REALS, THREADS>::GROUP, MOST = held<REALS, THREADS>::MOST };
  const kaon_block_entries &e = a.rows.inside;
  read_group<REALS, THREADS, FAR>(h, 0, t);
  if (h.entries <= GROUP) return;
  if (MOST > GROUP) read_group<REALS, THREADS, FAR>(h, MOST - GROUP, t);
#pragma unroll 2
  for (int j = 0; j < h.entries - MOST; j++) {
    const int64_t n = h.first + j * 32;
    real v[REALS], x[REALS];
    value_of<REALS>(e.value, n, v);
    shared_read<FAR>(room + (uint32_t)__ldg(e.column + n) * (uint32_t)(REALS * sizeof(real)), x,
                     REALS);
    kaon_relax_subtract(t, v, x, REALS);
  }
}

/* A local sweep of this thread's row, at `own`. Reads x FROM bytes beyond `room` and writes it TO
 * bytes beyond. */
template <int REALS, int THREADS, int FROM, int TO>
KAON_DEVICE void sweep_row(const relax_call &a, const held<REALS, THREADS> &h, uint32_t room,
                           uint32_t own, bool mine, bool moves, const real *t, const real *inverse,
                           real *x) {
  if (mine) {
    real u[REALS];
#pragma unroll
    for (int c = 0; c < REALS; c++) u[c] = t[c];
    read_inside<REALS, THREADS, FROM>(a, h, room, u);
    if (moves) kaon_relax_row(x, u, inverse, a.factor, REALS);
    shared_write<TO>(own, x, REALS);
  }
  __syncthreads();
}

/* The sum over the block's threads, in thread 0. All threads must call it. */
KAON_DEVICE double block_sum(double x) {
  __shared__ double warps[32];
  const int warp = threadIdx.x / 32, lane = threadIdx.x & 31;
  x = warp_sum(x);
  __syncthreads(); /* the previous one has been read */
  if (lane == 0) warps[warp] = x;
  __syncthreads();
  x = lane < (int)(blockDim.x / 32) ? warps[lane] : 0;
  return warp == 0 ? warp_sum(x) : 0;
}

/* What a thread knows of its row independently of x. No kernel writes it, so it is read before the
 * previous kernel has ended. */
template <int REALS, int THREADS>
struct prepared {
  int64_t block;      /* -1: none yet */
  uint32_t room, own; /* addresses in shared memory: of the block's first value, of this thread's */
  seat s;
  real inverse[REALS];
  held<REALS, THREADS> h;
};

template <int REALS, int THREADS>
KAON_DEVICE void prepare(const relax_call &a, int64_t block, int column, const real *room,
                         prepared<REALS, THREADS> &p) {
  p.block = block;
  p.room = (uint32_t)__cvta_generic_to_shared(room);
  p.own = p.room + threadIdx.x * (uint32_t)(REALS * sizeof(real));
  p.s = seat_of<REALS>(a, block, column);
#pragma unroll
  for (int c = 0; c < REALS; c++) p.inverse[c] = 0;
  if (!p.s.mine) return;
  hold<REALS, THREADS>(a, p.s, p.room, p.h);
  value_of<REALS>(a.rows.inverse, p.s.place, p.inverse);
}

/* A block that this one reads, whose counter this thread checks again. */
typedef struct counter_check {
  const int32_t *other; /* NULL: none */
  int32_t own;          /* iterations of this block */
} counter_check;

KAON_DEVICE void note_shift(int *shifts, int32_t shift) {
  const int bin = shift + KAON_SHIFTS;
  atomicAdd(&shifts[bin < 0 ? 0 : bin >= KAON_SHIFT_BINS ? KAON_SHIFT_BINS - 1 : bin], 1);
}

/* Checks again, after the reads, those of the read blocks that have no thread of their own. */
KAON_DEVICE void recheck(const relax_call &a, int64_t block, int column, int32_t own, int *after) {
  const int32_t *count = a.count + (int64_t)column * a.rows.blocks;
  const int64_t end = __ldg(a.rows.reads + block + 1);
#pragma unroll 1
  for (int64_t n = __ldg(a.rows.reads + block) + threadIdx.x + blockDim.x; n < end; n += blockDim.x)
    note_shift(after, own - load_relaxed(count + __ldg(a.rows.other + n)));
}

/* One global iteration of a block, from its read to its write. after: the shifts after the reads. A
 * counter is loaded there and examined at the end, to hide its latency. room: the block's values,
 * twice, at a fixed distance, since a sweep reads one copy and writes the other. */
template <int REALS, int THREADS>
KAON_DEVICE void relax_block(const relax_call &a, const prepared<REALS, THREADS> &p, int column,
                             const counter_check &w, int *after, real *room) {
  enum { FAR = THREADS * REALS * (int)sizeof(real) };
  const kaon_row_blocks &m = a.rows;
  const seat &s = p.s;
  const int64_t block = p.block;
  const held<REALS, THREADS> &h = p.h;
  const real *inverse = p.inverse;
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
    }
    shared_write<0>(p.own, x, REALS);
    if (!a.cut) read_outside<REALS>(a, s, column, t);
    if (a.ghosts.start != NULL) read_ghosts<REALS>(a, s, column, t);
  }
  __syncthreads();
  int32_t there = 0;
  if (w.other != NULL) {
    there = load_relaxed(w.other);
    recheck(a, block, column, w.own, after);
  }
  if (s.mine) { /* the first sweep, which computes the residual */
    real u[REALS];
#pragma unroll
    for (int c = 0; c < REALS; c++) u[c] = t[c];
    if (!a.cut) read_inside<REALS, THREADS, 0>(a, h, p.room, u);
    if (a.rounds > 1) {
      real diagonal[REALS];
      value_of<REALS>(m.diagonal, s.place, diagonal);
      residual2 = kaon_relax_residual2(u, diagonal, x, REALS);
    }
    if (moves) kaon_relax_row(x, u, inverse, a.factor, REALS);
    shared_write<FAR>(p.own, x, REALS);
  }
  __syncthreads();
  int k = 1;
  for (; k + 1 < a.inner; k += 2) {
    sweep_row<REALS, THREADS, FAR, 0>(a, h, p.room, p.own, s.mine, moves, t, inverse, x);
    sweep_row<REALS, THREADS, 0, FAR>(a, h, p.room, p.own, s.mine, moves, t, inverse, x);
  }
  if (k < a.inner)
    sweep_row<REALS, THREADS, FAR, 0>(a, h, p.room, p.own, s.mine, moves, t, inverse, x);
  const real *y = k < a.inner ? room : room + THREADS * REALS;
  if (s.mine)
#pragma unroll
    for (int c = 0; c < REALS; c++) kaon_race_store(a.x + s.at + c, x[c]);
  if (a.cut) return;
  if (w.other != NULL) note_shift(after, w.own - there);
  const int64_t at = (int64_t)column * m.blocks + block;
  if (a.ghosts.start != NULL) give_rows<REALS>(a, block, column, y);
  if (a.rounds > 1) residual2 = block_sum(residual2);
  int32_t count = 0; /* loaded before the barrier, after which it is raised */
  if (a.ghosts.start != NULL || threadIdx.x == 0) count = load_relaxed(a.count + at) + 1;
  __syncthreads();
  if (a.ghosts.start != NULL) notify(a, block, column, count);
  if (threadIdx.x == 0) {
    if (a.rounds > 1) store_seen(a.seen + at, residual2);
    store_release(a.count + at, count);
  }
}

/* Sends a block's initial values to the ranks that read them. */
template <int REALS>
KAON_DEVICE void give_block(const relax_call &a, int64_t block, int column, real *y) {
  const seat s = seat_of<REALS>(a, block, column);
  if (s.mine)
#pragma unroll
    for (int c = 0; c < REALS; c++) y[threadIdx.x * REALS + c] = kaon_race_load(a.x + s.at + c);
  __syncthreads();
  give_rows<REALS>(a, block, column, y);
  __syncthreads();
  notify(a, block, column, load_relaxed(a.count + (int64_t)column * a.rows.blocks + block));
}
