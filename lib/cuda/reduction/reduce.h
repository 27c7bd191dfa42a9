/* reduce.h - gates, chunks and sums of CUDA kernels.
 *
 * A launch has `chunks` blocks (of KAON_THREADS threads, or fewer) for every column, each with a
 * part of it: vector kernels one column after another, the hop and the clover blocks all columns'
 * first parts first, so that links and blocks are read once. How many chunks there are depends on
 * the shape alone (and, in the hop, on the threads that a tuning asks for: kaon/context.h), and so
 * do the sums' bits:
 *   each thread adds up what it meets, in double;
 *   sums_leave adds a block's threads in a fixed tree and writes the result to `partials`;
 *   the last block of a column to take a ticket (sums_last) adds the parts in a fixed order
 *   (sums_collect), writes the slots, runs the recurrence and puts the ticket back to 0.
 * No second kernel, no host. A closed column's blocks return at once and take no ticket.
 *
 * A ticket costs a fence and a way to memory and back, and the fences of a multiprocessor's blocks
 * follow one another. Of a single column each part is therefore written together with a mark, a
 * number that grows from sum to sum, and the block of the last chunk, which alone waits, reads the
 * parts until they bear it (sums_finish_marked; what calls sums_last itself takes tickets).
 *
 * Where kaon_sum.ranks says so, the block that has this rank's sum of the one column also adds up
 * the ranks' by mail (lib/cuda/ranks/peer_sums.h) before it writes the slots and runs the recurrence. */
#ifndef KAON_LIB_CUDA_REDUCE_H
#define KAON_LIB_CUDA_REDUCE_H

#include "lib/cuda/ranks/peer_sums.h"
#include "lib/core/launch.h"
#include "lib/math/steps/recurrences.h"

enum { KAON_THREADS = 256, KAON_WARPS = KAON_THREADS / 32 };
/* Chunks at most, without and with sums. A device runs some hundred blocks at a time and is idle in
 * part while the last ones run, so there should be many times that; but the last block adds up the
 * others' sums, so where the work is little they are rather few. */
enum { KAON_CHUNKS = 16384, KAON_SUM_CHUNKS = 4224, KAON_FEW_CHUNKS = 1056, KAON_SUM_TURNS = 16 };

/* What of kaon_deferred_sums (lib/core/launch.h) stands in parts; left = 0: nothing. */
enum { DEFERRED_MOST = 4 };
typedef struct deferred_sums {
  int chunks, left, real;
  int16_t slot[DEFERRED_MOST];
} deferred_sums;

/* What a kernel needs to leave its sums; made by the launcher. */
typedef struct kaon_cuda_sums {
  double *partials; /* [column][value][chunk] */
  uint32_t *tickets;
  uint64_t *marked;         /* NULL: by tickets */
  const kaon_peer_reduction *peer_reduction; /* one column: who ends the sum adds it up over ranks; NULL: not */
  double *left;             /* of sums that stay parts, and of those that `kept` names */
  deferred_sums deferred;
  int chunks; /* of a column */
  kaon_gate gate;
  kaon_sum sum;
} kaon_cuda_sums;

/* Chunks for `work` items a column, one a thread and turn, when each block leaves `values` sums (0:
 * none), as fit the partials. */
static inline int kaon_cuda_chunks(int64_t work, int values) {
  const int64_t blocks = (work + KAON_THREADS - 1) / KAON_THREADS;
  int64_t chunks = blocks < KAON_CHUNKS ? blocks : KAON_CHUNKS;
  if (values > 0) {
    const int64_t room = KAON_REDUCE_CHUNKS * KAON_REDUCE_MAX / values;
    const int64_t long_ones = blocks / KAON_SUM_TURNS;
    int64_t most = long_ones > KAON_FEW_CHUNKS ? long_ones : KAON_FEW_CHUNKS;
    if (most > KAON_SUM_CHUNKS) most = KAON_SUM_CHUNKS;
    if (most > room) most = room;
    if (chunks > most) chunks = most;
  }
  return chunks > 0 ? (int)chunks : 1;
}

static inline deferred_sums deferred_sums_of(const kaon_deferred_sums *from) {
  deferred_sums k = {};
  k.chunks = from->chunks;
  k.left = from->left;
  k.real = from->real;
  static_assert(DEFERRED_MOST == sizeof(kaon_sum{}.slot) / sizeof(int), "those of one kernel");
  for (int i = 0; i < from->left; i++) k.slot[i] = (int16_t)from->slot[i];
  return k;
}

static inline kaon_cuda_sums kaon_cuda_sums_of(const kaon_launch *launch, const kaon_gate *gate,
                                               const kaon_sum *sum, int chunks) {
  kaon_cuda_sums s;
  s.partials = launch->partials;
  s.tickets = launch->tickets;
  s.marked = launch->marked;
  s.peer_reduction = sum->ranks ? (const kaon_peer_reduction *)launch->peer_reduction : NULL;
  s.left = launch->left;
  s.deferred = sum->deferred != NULL && !sum->leave ? deferred_sums_of(sum->deferred) : deferred_sums{};
  s.chunks = chunks;
  s.gate = *gate;
  s.sum = *sum;
  return s;
}

static __device__ __forceinline__ bool gate_open(const kaon_gate &gate, int column) {
  return gate.state == NULL || (gate.state[column].gate & gate.mask) != 0;
}

static __device__ __forceinline__ bool sums_want(const kaon_cuda_sums &s, int number) {
  return s.sum.state != NULL && s.sum.slot[number] != KAON_NO_SLOT;
}

/* The sum over a warp, in every lane's view the same tree; lane 0 has it. */
static __device__ __forceinline__ double warp_sum(double x) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) x += __shfl_down_sync(0xffffffffu, x, step);
  return x;
}

/* Values first .. first + N - 1 of this block's part of a column, of whose parts `parts` has
 * [value][chunk]. All threads of the block call it. */
template <int N>
static __device__ __forceinline__ void parts_write(double *parts, int chunks, int chunk, int first,
                                                   const double *value) {
  __shared__ double warps[N][KAON_WARPS];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#pragma unroll
  for (int i = 0; i < N; i++) {
    const double x = warp_sum(value[i]);
    if (lane == 0) warps[i][warp] = x;
  }
  __syncthreads();
  for (int i = threadIdx.x; i < N; i += blockDim.x) {
    double x = 0;
    for (int w = 0; w < (int)blockDim.x / 32; w++) x += warps[i][w];
    parts[((int64_t)first + i) * chunks + chunk] = x;
  }
}

/* The same of `column`, of `values` a column. */
template <int N>
static __device__ __forceinline__ void sums_leave(const kaon_cuda_sums &s, int column, int chunk,
                                                  int values, int first, const double *value) {
  parts_write<N>(s.partials + (int64_t)column * values * s.chunks, s.chunks, chunk, first, value);
}

/* Brings what a recurrence reads of its column into the first-level cache: the first slots, and all
 * behind the history. Loads whose results nobody waits for; the recurrence, whose own loads follow
 * one another, then finds them near. */
static __device__ __forceinline__ void state_prefetch(const kaon_column_state *state) {
  enum { LINE = 128, SLOT_LINES = 3, LINES = 6 };
  const int line = (int)threadIdx.x;
  const char *at = line < SLOT_LINES ? (const char *)state->slot + line * LINE
                                     : (const char *)&state->reference + (line - SLOT_LINES) * LINE;
  [[maybe_unused]] uint32_t unused;
  if (line < LINES && at < (const char *)(state + 1))
    asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(unused) : "l"(at));
}

/* True in all threads of the last of `blocks` blocks of the column to come here; its ticket is 0
 * again. Behind the barrier one thread's fence covers what the block's others wrote; each fence is
 * a way to memory and back. */
static __device__ __forceinline__ bool sums_last(const kaon_cuda_sums &s, int column, int blocks) {
  __shared__ bool last;
  __syncthreads();
  if (threadIdx.x == 0) {
    const uint32_t end = (uint32_t)blocks - 1;
    __threadfence();
    last = atomicInc(&s.tickets[column], end) == end; /* and begins again at 0 */
    __threadfence();
  }
  __syncthreads();
  if (last && s.sum.state != NULL) state_prefetch(&s.sum.state[column]);
  return last;
}

/* total[v] = the sum of all parts of value v = 0, every, 2 every, ..., of `n` of them; complete in
 * all threads on return. A warp a value, or several where there are more warps than values. */
static __device__ __forceinline__ void parts_add(const double *parts, int chunks, int n, int every,
                                                 double *total) {
  __shared__ double shares[KAON_WARPS];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
  const int each = n < warps ? warps / n : 1; /* warps a value */
  for (int v = warp / each; v < n; v += warps / each) {
    const double *part = parts + (int64_t)v * every * chunks;
    double x = 0;
#pragma unroll 8
    for (int i = warp % each * 32 + lane; i < chunks; i += 32 * each) x += __ldcg(part + i);
    x = warp_sum(x);
    if (lane == 0) (each > 1 ? shares[warp] : total[v * every]) = x;
  }
  __syncthreads();
  if (each == 1) return;
  if (threadIdx.x < n) {
    double x = 0;
    for (int w = 0; w < each; w++) x += shares[threadIdx.x * each + w];
    total[threadIdx.x * every] = x;
  }
  __syncthreads();
}

static __device__ __forceinline__ void sums_collect(const kaon_cuda_sums &s, int column, int values,
                                                    double *total) {
  parts_add(s.partials + (int64_t)column * values * s.chunks, s.chunks, values, 1, total);
}

/* Called, since a single thread runs it, and inlined it would cost every kernel its registers; in
 * machine code each kernel has its copy. KAON_PRODUCT_KERNELS, defined by who includes this: the
 * file's launches run recurrences of products alone. */
static __device__ __noinline__ void recurrence_run(int id, kaon_column_state *state) {
#if defined(KAON_PRODUCT_KERNELS)
  kaon_recurrence_run_product(id, state);
#else
  kaon_recurrence_run(id, state);
#endif
}

/* Over ranks, where that is this kernel's affair. All threads of the block that has `total`. */
static __device__ __forceinline__ void sums_over_ranks(const kaon_cuda_sums &s, int nslots,
                                                       double *total) {
  if (s.peer_reduction != NULL) peer_sum_all(s.peer_reduction, s.sum.slot, nslots, total);
}

/* ---- sums that stay parts until a later kernel's end (kaon_deferred_sums in lib/core/launch.h) ---- */

/* This block's parts of NSLOTS sums: plain numbers, since who adds them waits for all of this
 * kernel (kaon_wait_for_previous) before it reads what it wrote. */
template <int NSLOTS>
static __device__ __forceinline__ void deferred_leave(const kaon_cuda_sums &s, int chunk,
                                                  const double *value) {
  parts_write<2 * NSLOTS>(s.left, s.chunks, chunk, 0, value);
}

/* total[2 i], total[2 i + 1]: sum i. All threads. */
static __device__ __noinline__ void deferred_add(const double *parts, int chunks, int left, int real,
                                             double *total) {
  if (real && (int)threadIdx.x < left) total[2 * threadIdx.x + 1] = 0;
  parts_add(parts, chunks, real ? left : 2 * left, real ? 2 : 1, total);
}

/* Into their slots. One thread. */
static __device__ __forceinline__ void deferred_conclude(const kaon_cuda_sums &s, const double *total) {
  for (int i = 0; i < s.deferred.left; i++)
    for (int c = 0; c < 2; c++) s.sum.state->slot[s.deferred.slot[i]][c] = total[2 * i + c];
}

/* Writes slot[i] = (total[2 i], total[2 i + 1]) for the wanted ones of the first `nslots`, then the
 * recurrence. One thread. */
static __device__ __forceinline__ void sums_conclude(const kaon_cuda_sums &s, int column,
                                                     int nslots, const double *total) {
  kaon_column_state *state = &s.sum.state[column];
  for (int i = 0; i < nslots; i++) {
    if (s.sum.slot[i] == KAON_NO_SLOT) continue;
    state->slot[s.sum.slot[i]][0] = total[2 * i];
    state->slot[s.sum.slot[i]][1] = total[2 * i + 1];
  }
  if (s.sum.then != 0) recurrence_run(s.sum.then, state);
}

/* ---- marked sums ---- */

static __device__ __forceinline__ uint64_t *marked_at(uint64_t *marked, int chunks, int value,
                                                      int chunk) {
  return marked + KAON_MARK_WORDS + 2 * ((int64_t)value * chunks + chunk);
}

/* Each word carries the mark above half of the number, so it does not matter in which order they
 * arrive, and nothing has to be fenced. */
static __device__ __forceinline__ void marked_write(uint64_t *at, uint32_t mark, double x) {
  const uint64_t bits = (uint64_t)__double_as_longlong(x), above = (uint64_t)mark << 32;
  asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1,%2};" ::"l"(at), "l"(above | (uint32_t)bits),
               "l"(above | bits >> 32)
               : "memory");
}

static __device__ __forceinline__ marked_sum marked_read(const uint64_t *at) {
  marked_sum x;
  asm volatile("ld.relaxed.gpu.global.v2.u64 {%0,%1}, [%2];"
               : "=l"(x.low), "=l"(x.high)
               : "l"(at)
               : "memory");
  return x;
}

/* 0 is left out: cleared memory bears it. */
static __device__ __forceinline__ uint32_t marked_next(const kaon_cuda_sums &s) {
  const uint32_t mark = (uint32_t) * (volatile uint64_t *)s.marked + 1;
  return mark != 0 ? mark : 1;
}

/* Bits of the values of NSLOTS slots that are left. Value 0 always is: it also says that the block
 * has read gate and coefficients, which the recurrence may change. NORM: slot 0 is real. */
template <int NSLOTS, bool NORM>
static __device__ __forceinline__ uint32_t marked_wanted(const kaon_cuda_sums &s) {
  uint32_t wanted = 1;
#pragma unroll
  for (int i = 0; i < NSLOTS; i++)
    if (sums_want(s, i)) wanted |= (i == 0 && NORM ? 1u : 3u) << 2 * i;
  return wanted;
}

/* A part that never comes is an error of the device's or the program's: the kernel is then ended,
 * which the next transfer reports, after so many reads of half a microsecond. */
enum { MARKED_TIMEOUT = 1 << 25 };

/* What this thread wrote, or saw written, is there for who sees what it writes next; and what it
 * reads next is no older than what was there for who wrote what it read before. */
static __device__ __forceinline__ void marked_fence(void) {
  asm volatile("fence.acq_rel.gpu;" ::: "memory");
}

/* total[v] = the sum of all parts of value v, 0 of those that are not wanted; complete in all
 * threads on return. All warps share the wanted values: several a value where there are enough.
 * AHEAD: reads that a thread has on their way. FENCED: behind a barrier of the block its threads
 * see what the parts' blocks wrote before them (marked_leave). */
template <int VALUES, int AHEAD, bool FENCED = false>
static __device__ __noinline__ void marked_collect(uint64_t *marked, int chunks, uint32_t wanted,
                                                   uint32_t mark, double *total) {
  __shared__ double shares[KAON_WARPS];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
  const int n = __popc(wanted), each = n < warps ? warps / n : 1, step = 32 * each;
  const int own = (int)threadIdx.x; /* the value that this thread looks after */
  const bool is_wanted = own < VALUES && (wanted >> own & 1) != 0;
  int patience = MARKED_TIMEOUT;
  if (own < VALUES && !is_wanted) total[own] = 0;
  for (int g = warp / each; g < n; g += warps / each) {
    uint32_t rest = wanted;
    for (int i = 0; i < g; i++) rest &= rest - 1;
    const int v = __ffs((int)rest) - 1;
    double x = 0;
#pragma unroll 1
    for (int i = warp % each * 32 + lane; i < chunks; i += AHEAD * step) {
      marked_sum part[AHEAD];
#pragma unroll
      for (int k = 0; k < AHEAD; k++)
        if (i + k * step < chunks)
          part[k] = marked_read(marked_at(marked, chunks, v, i + k * step));
#pragma unroll
      for (int k = 0; k < AHEAD; k++) {
        if (i + k * step >= chunks) break;
        while (!marked_is(part[k], mark)) {
          if (--patience == 0) __trap();
          part[k] = marked_read(marked_at(marked, chunks, v, i + k * step));
        }
        x += marked_number(part[k]);
      }
    }
    if (FENCED) marked_fence();
    x = warp_sum(x);
    if (lane == 0) (each > 1 ? shares[g * each + warp % each] : total[v]) = x;
  }
  __syncthreads();
  if (each == 1) return;
  if (is_wanted) {
    const int g = __popc(wanted & ((1u << own) - 1));
    double x = 0;
    for (int w = 0; w < each; w++) x += shares[g * each + w];
    total[own] = x;
  }
  __syncthreads();
}

/* Leaves this block's part. FENCED: with all that the block's threads wrote before. */
template <int VALUES, bool FENCED = false>
static __device__ __forceinline__ void marked_leave(uint64_t *marked, int chunks, int chunk,
                                                    uint32_t wanted, uint32_t mark,
                                                    const double *value) {
  __shared__ double warps[VALUES][KAON_WARPS];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#pragma unroll
  for (int i = 0; i < VALUES; i++) {
    if (!(wanted >> i & 1)) continue;
    const double x = warp_sum(value[i]);
    if (lane == 0) warps[i][warp] = x;
  }
  __syncthreads();
  for (int i = threadIdx.x; i < VALUES; i += blockDim.x) {
    if (!(wanted >> i & 1)) continue;
    double x = 0;
    for (int w = 0; w < (int)blockDim.x / 32; w++) x += warps[i][w];
    if (FENCED) marked_fence();
    marked_write(marked_at(marked, chunks, i, chunk), mark, x);
  }
}

/* Leaves this block's part; true in all threads of the block of the last chunk, where total is then
 * complete, and kept, if DEFERRED, with what stood in parts. That block calls marked_end when it is
 * done. */
template <int VALUES, int AHEAD, bool DEFERRED = false>
static __device__ __forceinline__ bool sums_marked(const kaon_cuda_sums &s, int column, int chunk,
                                                   uint32_t wanted, const double *value,
                                                   double *total, uint32_t *mark,
                                                   double *deferred = NULL) {
  *mark = marked_next(s);
  if (chunk == s.chunks - 1) state_prefetch(&s.sum.state[column]);
  marked_leave<VALUES>(s.marked, s.chunks, chunk, wanted, *mark, value);
  if (chunk != s.chunks - 1) return false;
  if (DEFERRED && s.deferred.left > 0) deferred_add(s.left, s.deferred.chunks, s.deferred.left, s.deferred.real, deferred);
  marked_collect<VALUES, AHEAD>(s.marked, s.chunks, wanted, *mark, total);
  return true;
}

static __device__ __forceinline__ void marked_end(const kaon_cuda_sums &s, uint32_t mark) {
  *(volatile uint64_t *)s.marked = mark;
}

template <int NSLOTS, int AHEAD, bool NORM, bool PEERS_SUM = true, bool DEFERRED = false>
static __device__ __forceinline__ void sums_finish_marked(const kaon_cuda_sums &s, int column,
                                                          int chunk, const double *value) {
  __shared__ double total[2 * NSLOTS], deferred[DEFERRED ? 2 * DEFERRED_MOST : 1];
  const uint32_t wanted = marked_wanted<NSLOTS, NORM>(s);
  uint32_t mark;
  if (PEERS_SUM && s.peer_reduction != NULL && chunk == s.chunks - 1) peer_sum_prefetch(s.peer_reduction);
  if (!sums_marked<2 * NSLOTS, AHEAD, DEFERRED>(s, column, chunk, wanted, value, total, &mark, deferred))
    return;
  if (PEERS_SUM) sums_over_ranks(s, NSLOTS, total);
  if (threadIdx.x != 0) return;
  if (DEFERRED) deferred_conclude(s, deferred);
  sums_conclude(s, column, NSLOTS, total);
  marked_end(s, mark);
}

/* All of it for a kernel whose blocks have NSLOTS complex sums each, NORM: the first of them real;
 * PEERS_SUM: it offers to sum over ranks (kaon_sum.ranks); DEFERRED: to end sums that stand in parts
 * (kaon_sum.deferred), of one column. All threads call it, unless sum.state is NULL: then nothing is to
 * be done. */
template <int NSLOTS, int AHEAD = 8, bool NORM = true, bool PEERS_SUM = true, bool DEFERRED = false>
static __device__ __forceinline__ void sums_finish(const kaon_cuda_sums &s, int column, int chunk,
                                                   const double *value) {
  __shared__ double total[2 * NSLOTS];
  if (s.marked != NULL) {
    sums_finish_marked<NSLOTS, AHEAD, NORM, PEERS_SUM, DEFERRED>(s, column, chunk, value);
    return;
  }
  sums_leave<2 * NSLOTS>(s, column, chunk, 2 * NSLOTS, 0, value);
  if (!sums_last(s, column, s.chunks)) return;
  sums_collect(s, column, 2 * NSLOTS, total);
  if (PEERS_SUM) sums_over_ranks(s, NSLOTS, total);
  if (threadIdx.x == 0) sums_conclude(s, column, NSLOTS, total);
}

#endif
