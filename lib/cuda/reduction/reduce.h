/* reduce.h - gates, chunks and sums of CUDA kernels.
 *
 * A launch has `chunks` blocks (of KAON_THREADS threads or fewer) for every column, each for a part
 * of it. Vector kernels handle one column after another. The hop and the clover blocks handle the
 * first parts of all columns first, so that links and clover blocks are read once. The number of
 * chunks depends only on the shape (and for the hop on the threads chosen by tuning:
 * kaon/context.h). So the bits of the sums do too:
 * - Each thread adds up its values in double.
 * - sums_leave adds the threads of a block in a fixed tree and writes the result to `partials`.
 * - The last block of a column to take a ticket (sums_last) adds the partial sums in a fixed order
 *   (sums_collect), writes the slots, runs the recurrence and resets the ticket to 0.
 * This needs neither a second kernel nor the host. The blocks of a closed column return at once and
 * take no ticket.
 *
 * A ticket costs a fence and a memory round trip, and the fences of a multiprocessor's blocks are
 * serialised. With a single column each partial sum is therefore written together with a sequence
 * tag that grows from sum to sum. The block of the last chunk, the only one that waits, reads the
 * partial sums until they have the tag (sums_finish_marked). Callers of sums_last use tickets.
 *
 * If kaon_sum.ranks is set, the block that has the local sum of the one column also adds the
 * sums of other ranks (lib/cuda/ranks/peer_sums.h), before it writes the slots and runs the
 * recurrence. */
#pragma once

#include "lib/cuda/ranks/peer_sums.h"
#include "lib/core/launch.h"
#include "lib/math/steps/recurrences.h"

enum { KAON_THREADS = 256, KAON_WARPS = KAON_THREADS / 32 };
/* Largest numbers of chunks, without and with sums. A device runs some hundred blocks at a time,
 * and is partly idle while the last ones run. So there should be many times that number. But the
 * last block adds up the sums of all, so there are fewer if the work is small. */
enum { KAON_CHUNKS = 16384, KAON_SUM_CHUNKS = 4224, KAON_FEW_CHUNKS = 1056, KAON_SUM_TURNS = 16 };

/* kaon_deferred_sums (lib/core/launch.h) as kernels receive it. left = 0: none. */
enum { DEFERRED_MOST = 4 };
typedef struct deferred_sums {
  int chunks, left, real;
  int16_t slot[DEFERRED_MOST];
} deferred_sums;

/* What a kernel needs for its sums; filled by the launcher. */
typedef struct kaon_cuda_sums {
  double *partials; /* [column][value][chunk] */
  uint32_t *tickets;
  uint64_t *marked;                          /* NULL: use tickets */
  const kaon_peer_reduction *peer_reduction; /* one column: the block that completes the sum adds it
                                              * over ranks; NULL: it does not */
  double *left; /* workspace for partial sums that stay unadded, and for those that
                             * `deferred` names */
  deferred_sums deferred;
  int chunks; /* for each column */
  kaon_gate gate;
  kaon_sum sum;
} kaon_cuda_sums;

/* The number of chunks for `work` items of a column, one for each thread and iteration. Each block
 * writes `values` sums (0: none), and all must fit `partials`. */
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
  s.deferred =
      sum->deferred != NULL && !sum->leave ? deferred_sums_of(sum->deferred) : deferred_sums{};
  s.chunks = chunks;
  s.gate = *gate;
  s.sum = *sum;
  return s;
}

KAON_DEVICE bool gate_open(const kaon_gate &gate, int column) {
  return gate.state == NULL || (gate.state[column].gate & gate.mask) != 0;
}

/* The same for kernels that process inner columns as columns of their own: the index of a column's
 * state, and whether the column is open. */
KAON_DEVICE int gate_column(const kaon_gate &gate, int column) {
  return gate.columns > 0 ? column % gate.columns : column;
}
KAON_DEVICE bool inner_gate_open(const kaon_gate &gate, int column) {
  return gate_open(gate, gate_column(gate, column));
}

KAON_DEVICE bool sums_want(const kaon_cuda_sums &s, int number) {
  return s.sum.state != NULL && s.sum.slot[number] != KAON_NO_SLOT;
}

/* The sum over a warp, in a fixed tree. Lane 0 has the result. */
KAON_DEVICE double warp_sum(double x) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) x += __shfl_down_sync(0xffffffffu, x, step);
  return x;
}

/* Writes values first .. first + N - 1 of this block's partial sums of a column to parts,
 * [value][chunk]. Called by all threads of the block. */
template <int N>
KAON_DEVICE void parts_write(double *parts, int chunks, int chunk, int first, const double *value) {
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

/* The same for `column`, with `values` values for each column. */
template <int N>
KAON_DEVICE void sums_leave(const kaon_cuda_sums &s, int column, int chunk, int values, int first,
                            const double *value) {
  parts_write<N>(s.partials + (int64_t)column * values * s.chunks, s.chunks, chunk, first, value);
}

/* Prefetches what a recurrence reads of its column into the first-level cache: the first slots, and
 * everything after the history. No thread waits for these loads. The recurrence, whose own loads
 * depend on each other, then hits the cache. */
KAON_DEVICE void state_prefetch(const kaon_column_state *state) {
  enum { LINE = 128, SLOT_LINES = 3, LINES = 6 };
  const int line = (int)threadIdx.x;
  const char *at = line < SLOT_LINES ? (const char *)state->slot + line * LINE
                                     : (const char *)&state->reference + (line - SLOT_LINES) * LINE;
  [[maybe_unused]] uint32_t unused;
  if (line < LINES && at < (const char *)(state + 1))
    asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(unused) : "l"(at));
}

/* Returns true in all threads of the last of `blocks` blocks of the column to arrive; its ticket is
 * then 0 again. After the barrier the fence of one thread covers what the whole block wrote. Each
 * fence costs a memory round trip. */
KAON_DEVICE bool sums_last(const kaon_cuda_sums &s, int column, int blocks) {
  __shared__ bool last;
  __syncthreads();
  if (threadIdx.x == 0) {
    const uint32_t end = (uint32_t)blocks - 1;
    __threadfence();
    last = atomicInc(&s.tickets[column], end) == end; /* the ticket is 0 again */
    __threadfence();
  }
  __syncthreads();
  if (last && s.sum.state != NULL) state_prefetch(&s.sum.state[column]);
  return last;
}

/* total[v] = the sum of all partial sums of value v = 0, every, 2 every, ..., for `n` values. On
 * return it is complete in all threads. Each value is added by one warp, or by several if there are
 * more warps than values. */
KAON_DEVICE void parts_add(const double *parts, int chunks, int n, int every, double *total) {
  __shared__ double shares[KAON_WARPS];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
  const int each = n < warps ? warps / n : 1; /* warps for each value */
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

KAON_DEVICE void sums_collect(const kaon_cuda_sums &s, int column, int values, double *total) {
  parts_add(s.partials + (int64_t)column * values * s.chunks, s.chunks, values, 1, total);
}

/* Not inlined: only one thread runs it, and inlining would cost every kernel its registers. Each
 * kernel still has its copy in machine code. Files that define KAON_PRODUCT_KERNELS before
 * including this run only the recurrences of products. */
static __device__ __noinline__ void recurrence_run(int id, kaon_column_state *state) {
#if defined(KAON_PRODUCT_KERNELS)
  kaon_recurrence_run_product(id, state);
#else
  kaon_recurrence_run(id, state);
#endif
}

/* Sums over ranks if this kernel does so. Called by all threads of the block that has `total`. */
KAON_DEVICE void sums_over_ranks(const kaon_cuda_sums &s, int nslots, double *total) {
  if (s.peer_reduction != NULL) peer_sum_all(s.peer_reduction, s.sum.slot, nslots, total);
}

/* ---- deferred sums: partial sums until the end of a later kernel (kaon_deferred_sums in
 * lib/core/launch.h) ---- */

/* Writes this block's partial sums of NSLOTS sums, without tags. The kernel that adds them waits
 * for all of this kernel (kaon_wait_for_previous) before it reads them. */
template <int NSLOTS>
KAON_DEVICE void deferred_leave(const kaon_cuda_sums &s, int chunk, const double *value) {
  parts_write<2 * NSLOTS>(s.left, s.chunks, chunk, 0, value);
}

/* total[2 i], total[2 i + 1] = sum i. Called by all threads. */
static __device__ __noinline__ void deferred_add(const double *parts, int chunks, int left,
                                                 int real, double *total) {
  if (real && (int)threadIdx.x < left) total[2 * threadIdx.x + 1] = 0;
  parts_add(parts, chunks, real ? left : 2 * left, real ? 2 : 1, total);
}

/* Writes them to their slots. Called by one thread. */
KAON_DEVICE void deferred_conclude(const kaon_cuda_sums &s, const double *total) {
  for (int i = 0; i < s.deferred.left; i++)
    for (int c = 0; c < 2; c++) s.sum.state->slot[s.deferred.slot[i]][c] = total[2 * i + c];
}

/* Writes slot[i] = (total[2 i], total[2 i + 1]) for the wanted ones of the first `nslots`, then
 * runs the recurrence. Called by one thread. */
KAON_DEVICE void sums_conclude(const kaon_cuda_sums &s, int column, int nslots,
                               const double *total) {
  kaon_column_state *state = &s.sum.state[column];
  for (int i = 0; i < nslots; i++) {
    if (s.sum.slot[i] == KAON_NO_SLOT) continue;
    state->slot[s.sum.slot[i]][0] = total[2 * i];
    state->slot[s.sum.slot[i]][1] = total[2 * i + 1];
  }
  if (s.sum.then != 0) recurrence_run(s.sum.then, state);
}

/* ---- sums with sequence tags ---- */

KAON_DEVICE uint64_t *marked_at(uint64_t *marked, int chunks, int value, int chunk) {
  return marked + KAON_MARK_WORDS + 2 * ((int64_t)value * chunks + chunk);
}

/* Each word contains the tag above half of the value. So the order in which words arrive does not
 * matter, and no fence is needed. */
KAON_DEVICE void marked_write(uint64_t *at, uint32_t mark, double x) {
  const uint64_t bits = (uint64_t)__double_as_longlong(x), above = (uint64_t)mark << 32;
  asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1,%2};" ::"l"(at), "l"(above | (uint32_t)bits),
               "l"(above | bits >> 32)
               : "memory");
}

KAON_DEVICE marked_sum marked_read(const uint64_t *at) {
  marked_sum x;
  asm volatile("ld.relaxed.gpu.global.v2.u64 {%0,%1}, [%2];"
               : "=l"(x.low), "=l"(x.high)
               : "l"(at)
               : "memory");
  return x;
}

/* 0 is skipped because cleared memory contains it. */
KAON_DEVICE uint32_t marked_next(const kaon_cuda_sums &s) {
  const uint32_t mark = (uint32_t) * (volatile uint64_t *)s.marked + 1;
  return mark != 0 ? mark : 1;
}

/* One bit for each value of NSLOTS slots that is to be written. Value 0 always is. It also tells
 * that the block has read gate and coefficients, which the recurrence may change. NORM: slot 0 is
 * real. */
template <int NSLOTS, bool NORM>
KAON_DEVICE uint32_t marked_wanted(const kaon_cuda_sums &s) {
  uint32_t wanted = 1;
#pragma unroll
  for (int i = 0; i < NSLOTS; i++)
    if (sums_want(s, i)) wanted |= (i == 0 && NORM ? 1u : 3u) << 2 * i;
  return wanted;
}

/* Limit of reads, of half a microsecond each, while waiting for a partial sum. One that never
 * arrives is an error of the device or the program. The kernel is then aborted, which the next
 * transfer reports. */
enum { MARKED_TIMEOUT = 1 << 25 };

/* An acquire-release fence on the device. What this thread wrote, or saw written, is visible to a
 * thread that sees its next write. Its next reads are no older than what the writer of its previous
 * reads saw. */
KAON_DEVICE void marked_fence(void) {
  asm volatile("fence.acq_rel.gpu;" ::: "memory");
}

/* total[v] = the sum of all partial sums of value v, or 0 for values not wanted. On return it is
 * complete in all threads. All warps share the wanted values; each is added by several warps if
 * there are enough. AHEAD: reads that a thread has in flight. FENCED: after a barrier of the block,
 * its threads see what the writing blocks wrote before their partial sums (marked_leave). */
template <int VALUES, int AHEAD, bool FENCED = false>
static __device__ __noinline__ void marked_collect(uint64_t *marked, int chunks, uint32_t wanted,
                                                   uint32_t mark, double *total) {
  __shared__ double shares[KAON_WARPS];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
  const int n = __popc(wanted), each = n < warps ? warps / n : 1, step = 32 * each;
  const int own = (int)threadIdx.x; /* the value that this thread is responsible for */
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

/* Writes this block's partial sums. FENCED: after everything that the block's threads wrote
 * before. */
template <int VALUES, bool FENCED = false>
KAON_DEVICE void marked_leave(uint64_t *marked, int chunks, int chunk, uint32_t wanted,
                              uint32_t mark, const double *value) {
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

/* Writes this block's partial sums. Returns true in all threads of the block of the last chunk,
 * where total is complete. DEFERRED: there `deferred` has the sums of an earlier kernel's partial
 * sums. That block must call marked_end when it is done. */
template <int VALUES, int AHEAD, bool DEFERRED = false>
KAON_DEVICE bool sums_marked(const kaon_cuda_sums &s, int column, int chunk, uint32_t wanted,
                             const double *value, double *total, uint32_t *mark,
                             double *deferred = NULL) {
  *mark = marked_next(s);
  if (chunk == s.chunks - 1) state_prefetch(&s.sum.state[column]);
  marked_leave<VALUES>(s.marked, s.chunks, chunk, wanted, *mark, value);
  if (chunk != s.chunks - 1) return false;
  if (DEFERRED && s.deferred.left > 0)
    deferred_add(s.left, s.deferred.chunks, s.deferred.left, s.deferred.real, deferred);
  marked_collect<VALUES, AHEAD>(s.marked, s.chunks, wanted, *mark, total);
  return true;
}

KAON_DEVICE void marked_end(const kaon_cuda_sums &s, uint32_t mark) {
  *(volatile uint64_t *)s.marked = mark;
}

template <int NSLOTS, int AHEAD, bool NORM, bool PEERS_SUM = true, bool DEFERRED = false>
KAON_DEVICE void sums_finish_marked(const kaon_cuda_sums &s, int column, int chunk,
                                    const double *value) {
  __shared__ double total[2 * NSLOTS], deferred[DEFERRED ? 2 * DEFERRED_MOST : 1];
  const uint32_t wanted = marked_wanted<NSLOTS, NORM>(s);
  uint32_t mark;
  if (PEERS_SUM && s.peer_reduction != NULL && chunk == s.chunks - 1)
    peer_sum_prefetch(s.peer_reduction);
  if (!sums_marked<2 * NSLOTS, AHEAD, DEFERRED>(s, column, chunk, wanted, value, total, &mark,
                                                deferred))
    return;
  if (PEERS_SUM) sums_over_ranks(s, NSLOTS, total);
  if (threadIdx.x != 0) return;
  if (DEFERRED) deferred_conclude(s, deferred);
  sums_conclude(s, column, NSLOTS, total);
  marked_end(s, mark);
}

/* Completes the sums of a kernel whose blocks have NSLOTS complex sums each. Called by all threads,
 * unless sum.state is NULL; then there is nothing to do.
 * - NORM: the first sum is real.
 * - PEERS_SUM: the kernel can sum over ranks (kaon_sum.ranks).
 * - DEFERRED: the kernel can complete deferred sums (kaon_sum.deferred), for one column. */
template <int NSLOTS, int AHEAD = 8, bool NORM = true, bool PEERS_SUM = true, bool DEFERRED = false>
KAON_DEVICE void sums_finish(const kaon_cuda_sums &s, int column, int chunk, const double *value) {
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
