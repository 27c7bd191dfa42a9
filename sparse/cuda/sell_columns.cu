/* sell_columns.cu - products of matrices in SELL and ELL with several columns on the GPU. A warp
 * has a block of 32 rows, a thread a row of up to ROW_COLUMNS columns. The warps of further columns
 * are in the same thread block, so that all but one of them read the matrix from the first-level
 * cache.
 *
 * Batches of entries are copied asynchronously to shared memory, columns and values in whole lines.
 * Each warp has STAGES - 1 batches in flight while it processes one, whichever rows they belong to.
 * So registers are free for x. A warp waits only for its own copies. Performance depends on the
 * number of warps in flight. With few blocks of rows, several warps share one (sell.h). Sums are
 * computed afterwards (sums in table.c). */
#include "sparse/cuda/sell.h"

/* Stages of a warp, and bytes of x that a thread has in flight. */
enum { STAGES = 2, AHEAD_BYTES = 64 };
/* Minimum of resident thread blocks on a multiprocessor, and their warps on a device of 132
 * multiprocessors. */
template <int REALS, int COLS>
static __host__ __device__ constexpr int resident() {
  if (COLS == 2 && sizeof(real) == 4) return 4;
  return REALS == 1 ? 3 : 2;
}
template <int REALS>
static __host__ __device__ constexpr int warps_at_once() {
  return 132 * resident<REALS, ROW_COLUMNS>() * KAON_WARPS;
}
/* Entries of a row in a batch: fewer if x are long, so that the first-level cache has more space
 * for them (bench/notes/design-spmv-columns.md). */
template <int REALS, int HALF, int COLS>
static __host__ __device__ constexpr int batch_of() {
  const bool few = REALS * (HALF ? 2 : (int)sizeof(real)) > 8 || (sizeof(real) == 8 && COLS > 2);
  return few ? 4 : 8;
}

/* Bytes of an entry's value in a stage, and of a warp's stage. */
template <int REALS, int HALF>
static __host__ __device__ constexpr int value_bytes() {
  return REALS * (HALF ? 2 : (int)sizeof(real));
}

template <int REALS, int HALF, int COLS>
static __host__ __device__ constexpr int stage_bytes() {
  return batch_of<REALS, HALF, COLS>() * KAON_LANES * (4 + value_bytes<REALS, HALF>());
}

/* A batch: a block of rows (-1: none), and the entries from its first one to the end of the
 * rows. */
typedef struct batch {
  int block, left;
} batch;

/* The batch that a warp copies next: its block of rows below `end`, and its first entry. */
typedef struct feed {
  int block, end, j, length;
  int at;   /* start of the block of rows in units of 32 entries; 2^31 of them exceed any memory */
  int list; /* the same in the lists of columns that blocks share */
} feed;

/* The part of its block of rows that a warp has. If several warps share a block, a thread block has
 * only one group of columns. */
KAON_DEVICE int warp_part(const rows_call &a) {
  return (int)(threadIdx.x / 32) & (a.lanes - 1);
}

template <int BATCH>
KAON_DEVICE void feed_block(const rows_call &a, feed *f) {
  f->j = warp_part(a) * BATCH;
  const slice mine = slice_read(a, f->block);
  f->at = (int)mine.at;
  f->length = mine.length;
  if (a.columns == KAON_COLUMNS_SHARED && f->block < a.last)
    f->list = shared_read(a.pattern + f->block);
}

/* A thread block has a.turns * a.each adjacent blocks of rows. All its warps have the same number
 * of turns, since warps that share a block of rows wait for each other. */
template <int BATCH>
KAON_DEVICE void feed_begin(const rows_call &a, int chunk, feed *f) {
  f->list = 0;
  const int own = (int)(threadIdx.x / 32) / a.concurrent_groups >> a.shift;
  const int begin = a.first + chunk * (a.turns * a.each), end = begin + a.turns * a.each;
  f->block = begin + own;
  f->end = (end < a.last ? end : a.last) + own; /* all warps have the same number of turns */
  feed_block<BATCH>(a, f);
}

/* kept: retained in the first-level cache for the other warps. */
KAON_DEVICE void copy_line(uint32_t to, const char *from, uint64_t policy, bool kept) {
  if (kept)
    asm volatile("cp.async.ca.shared.global.L2::cache_hint [%0], [%1], 16, %2;" ::"r"(to),
                 "l"(from), "l"(policy)
                 : "memory");
  else
    asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2;" ::"r"(to),
                 "l"(from), "l"(policy)
                 : "memory");
}

/* The same for `bytes` that the first-level cache retains: 4 or 16. */
template <int BYTES>
KAON_DEVICE void copy_kept(uint32_t to, const void *from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(from), "n"(BYTES)
               : "memory");
}

/* Starts the copies of a batch's columns, `entries` of each row, which begin at entry `first` of 32
 * rows. They are copied as stored; for 16-bit columns the blocks' least columns follow. */
template <int BATCH>
KAON_DEVICE void feed_columns(const rows_call &a, const feed *f, uint32_t to, int64_t first,
                              int entries, uint64_t policy) {
  constexpr int WHOLE = 4 * KAON_LANES, NARROW = 2 * KAON_LANES;
  const int lane = (int)(threadIdx.x % 32), at = lane * 16;
  if (a.columns == KAON_COLUMNS_SHARED) {
    const char *column = (const char *)a.column + (int64_t)(f->list + f->j) * WHOLE + at;
#pragma unroll
    for (int n = 0; n < BATCH * WHOLE; n += 512)
      if (n + at < entries * WHOLE) copy_kept<16>(to + n + at, column + n);
  } else if (a.columns == KAON_COLUMNS_16BIT) {
    const char *column = (const char *)a.columns16 + first * NARROW + at;
#pragma unroll
    for (int n = 0; n < BATCH * NARROW; n += 512)
      if (n + at < entries * NARROW)
        copy_line(to + n + at, column + n, policy, a.concurrent_groups > 1);
    if (lane < entries) copy_kept<4>(to + BATCH * NARROW + 4 * lane, a.line + first + lane);
  } else {
    const char *column = (const char *)a.column + first * WHOLE + at;
#pragma unroll
    for (int n = 0; n < BATCH * WHOLE; n += 512)
      if (n + at < entries * WHOLE)
        copy_line(to + n + at, column + n, policy, a.concurrent_groups > 1);
  }
}

/* Starts the copies of the next batch, if any; always commits a group of copies. */
template <int REALS, int HALF, int COLS>
KAON_DEVICE batch feed_next(const rows_call &a, feed *f, uint32_t stage, uint64_t policy) {
  constexpr int BATCH = batch_of<REALS, HALF, COLS>();
  constexpr int VALUE = value_bytes<REALS, HALF>() * KAON_LANES, COLUMN = 4 * KAON_LANES;
  const int at = (int)(threadIdx.x % 32) * 16;
  batch next = {-1, 0};
  if (f->block < f->end) {
    next.block = f->block;
    next.left = f->length - f->j;
    const int64_t first = (int64_t)f->at + f->j;
    const char *value = (const char *)a.value + first * VALUE + at;
    feed_columns<BATCH>(a, f, stage, first, next.left < BATCH ? next.left : BATCH, policy);
#pragma unroll
    for (int n = 0; n < BATCH * VALUE; n += 512)
      if (n + at < next.left * VALUE)
        copy_line(stage + BATCH * COLUMN + n + at, value + n, policy, a.concurrent_groups > 1);
    f->j += a.lanes * BATCH;
    if (f->j >= f->length) {
      f->block += a.each;
      feed_block<BATCH>(a, f);
    }
  }
  asm volatile("cp.async.commit_group;" ::: "memory");
  return next;
}

/* Columns of COUNT entries of this thread's row of a batch, from its entry `first` on. */
template <int BATCH, int COUNT>
KAON_DEVICE void staged_columns(const rows_call &a, int block, const char *stage, int first,
                                int32_t *c) {
  const int lane = threadIdx.x % 32;
  if (a.columns == KAON_COLUMNS_16BIT) {
    const uint16_t *columns16 = (const uint16_t *)stage + first * KAON_LANES + lane;
    const int32_t *line = (const int32_t *)(stage + BATCH * KAON_LANES * 2) + first;
#pragma unroll
    for (int u = 0; u < COUNT; u++) c[u] = columns16[u * KAON_LANES] + ~line[u];
    return;
  }
  const int32_t *column = (const int32_t *)stage + first * KAON_LANES + lane;
  const int from = a.columns == KAON_COLUMNS_SHARED ? block * KAON_LANES : 0;
#pragma unroll
  for (int u = 0; u < COUNT; u++) c[u] = column[u * KAON_LANES] + from;
}

/* Adds a batch's entries to the sums of a row, as many at a time as give a thread AHEAD_BYTES of x
 * in flight. */
template <int REALS, int HALF, int COLS>
KAON_DEVICE void batch_add(const rows_call &a, const columns &cols, int block, const char *stage,
                           int left, kaon_packet<real, REALS> *s) {
  typedef kaon_packet<real, REALS> number;
  constexpr int BATCH = batch_of<REALS, HALF, COLS>();
  constexpr int AT_ONCE = AHEAD_BYTES / (COLS * REALS * (int)sizeof(real));
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int first = 0; first < BATCH; first += AT_ONCE) {
    number x[AT_ONCE][COLS];
    int32_t column[AT_ONCE];
    staged_columns<BATCH, AT_ONCE>(a, block, stage, first, column);
#pragma unroll
    for (int u = 0; u < AT_ONCE; u++)
      if (first + u < left) {
        const number *from = source_of<REALS, false, true>(a, column[u]) + cols.first * KAON_LANES;
#pragma unroll
        for (int k = 0; k < COLS; k++)
          if (k < 2 || k < cols.count) x[u][k] = from[k * KAON_LANES];
      }
#pragma unroll
    for (int u = 0; u < AT_ONCE; u++)
      if (first + u < left) {
        const char *at = stage + BATCH * KAON_LANES * 4 +
                         ((first + u) * KAON_LANES + lane) * value_bytes<REALS, HALF>();
        entry<REALS, HALF> v;
        if (HALF && REALS == 1)
          v.w[0] = *(const uint16_t *)at;
        else
          memcpy(&v, __builtin_assume_aligned(at, sizeof v), sizeof v);
        const number n = entry_number<REALS, HALF>(v);
#pragma unroll
        for (int k = 0; k < COLS; k++)
          if (k < 2 || k < cols.count) number_add<REALS>(&s[k], n, x[u][k]);
      }
  }
}

/* Finishes y of a row. */
template <int REALS, int HALF, int COLS>
KAON_DEVICE void rows_put(const rows_call &a, const columns &cols, int row,
                          const kaon_packet<real, REALS> *s) {
  const real scale = row_scale<HALF>(a, row);
  const int64_t to = number_at(a, row) + cols.first * KAON_LANES;
#pragma unroll
  for (int k = 0; k < COLS; k++)
    if (cols.open >> k & 1) row_end<REALS>(a, to + k * KAON_LANES, scale, s[k]);
}

template <int REALS, int HALF, int COLS>
static __global__ void __launch_bounds__(KAON_THREADS, resident<REALS, COLS>())
    sell_columns_kernel(const __grid_constant__ rows_call a) {
  typedef kaon_packet<real, REALS> number;
  constexpr int BATCH = batch_of<REALS, HALF, COLS>(), STAGE = stage_bytes<REALS, HALF, COLS>();
  extern __shared__ __align__(16) char stages[];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const bool first = warp_part(a) == 0;
  const int chunk = chunk_of<COLS>(a);
  const char *mine = stages + warp * (STAGES * STAGE);
  const uint32_t room = (uint32_t)__cvta_generic_to_shared(mine);
  const uint64_t policy = matrix_policy(a);
  columns cols = columns_of<COLS>(a);
  number s[COLS] = {};
  batch queue[STAGES];
  feed f;
  if (!a.early) kaon_wait_for_previous();
  feed_begin<BATCH>(a, chunk, &f);
#pragma unroll
  for (int i = 0; i < STAGES - 1; i++)
    queue[i] = feed_next<REALS, HALF, COLS>(a, &f, room + i * STAGE, policy);
  kaon_wait_for_previous();
  columns_prefetch<COLS>(a, &cols);
  int now = 0; /* the stage being processed; the other one is being filled */
  while (cols.open != 0 && queue[0].block >= 0) {
    queue[STAGES - 1] = feed_next<REALS, HALF, COLS>(a, &f, room + (STAGE - now), policy);
    asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 1) : "memory");
    __syncwarp();
    const int block = queue[0].block, row = block * KAON_LANES + lane;
    const int left = row < a.rows ? queue[0].left : 0;
    const bool last = queue[0].left <= a.lanes * BATCH;
    batch_add<REALS, HALF, COLS>(a, cols, block, mine + now, left, s);
    __syncwarp(); /* the stage has been read */
    now = STAGE - now;
#pragma unroll
    for (int i = 0; i < STAGES - 1; i++) queue[i] = queue[i + 1];
    if (!last) continue;
    if (a.lanes > 1) warps_join<REALS, COLS>(a, s);
    if (first && block < a.last) rows_put<REALS, HALF, COLS>(a, cols, row, s);
#pragma unroll
    for (int k = 0; k < COLS; k++) s[k] = number{};
  }
  asm volatile("cp.async.wait_all;" ::: "memory");
  kaon_let_next_start();
}

template <int REALS, int HALF, int COLS>
static void launch_columns(const kaon_launch *launch, const rows_call &a, unsigned threads) {
  const unsigned stages = STAGES * stage_bytes<REALS, HALF, COLS>(), room = threads / 32 * stages;
  cudaFuncSetAttribute(sell_columns_kernel<REALS, HALF, COLS>,
                       cudaFuncAttributeMaxDynamicSharedMemorySize,
                       (int)(KAON_WARPS * stages)); /* the maximum: threads share it */
  kaon_cuda_launch(launch, sell_columns_kernel<REALS, HALF, COLS>,
                   (unsigned)a.chunks * (unsigned)(a.groups / a.concurrent_groups), threads, a,
                   room);
}

template <int REALS>
static void launch_sell(const kaon_launch *launch, const rows_call &a, unsigned threads, int half) {
#if defined(KAON_PREC_SINGLE)
  if (half) {
    launch_columns<REALS, 1, ROW_COLUMNS>(launch, a, threads);
    return;
  }
#endif
  (void)half;
  if constexpr (REALS == 1)
    if (a.nrhs == 2) {
      launch_columns<1, 0, 2>(launch, a, threads);
      return;
    }
  launch_columns<REALS, 0, ROW_COLUMNS>(launch, a, threads);
}

/* Warps that share a block of rows: as many as its rows have eight entries for, if all fit on a
 * device at once. */
static void warps_share(const kaon_stored_matrix *m, int64_t at_once, rows_call *a) {
  enum { EACH = 8 };
  const int64_t mean = m->rows > 0 ? m->entries / m->rows : 0;
  a->shift = 0;
  while (1 << a->shift < KAON_WARPS && (m->blocks * a->groups << (a->shift + 1)) <= at_once &&
         (mean > (int64_t)EACH << a->shift || m->length > 2 * EACH << a->shift))
    a->shift++;
  a->lanes = 1 << a->shift;
}

/* Groups of columns in a thread block: all, or a divisor of their number. In double only one, since
 * more groups leave less of the first-level cache for x (bench/notes/design-spmv-columns.md). */
static int groups_concurrent(int groups) {
  int concurrent_groups = sizeof(real) == 4 ? ROW_CONCURRENT : 1;
  while (groups % concurrent_groups != 0) concurrent_groups--;
  return concurrent_groups;
}

/* Blocks of rows of a thread block, if there are many. */
enum { MANY = 32 };

extern "C" void KAON_EXPORT(kaon_spmv_sell_columns)(const kaon_launch *launch,
                                                    const kaon_spmv_args *args) {
  const kaon_stored_matrix *m = args->matrix;
  rows_call a = rows_of(launch, args);
  const int64_t at_once = m->reals == 1 ? warps_at_once<1>() : warps_at_once<2>();
  warps_share(m, at_once, &a);
  if (m->blocks * a.groups > at_once) a.concurrent_groups = groups_concurrent(a.groups);
  if (a.concurrent_groups == a.groups && rows_bytes(m) > row_cache) a.policy = row_evict_first;
  const int teams = KAON_WARPS / a.concurrent_groups;
  a.each = teams >> a.shift;
  a.turns = m->blocks > (int64_t)ROW_DEVICE / KAON_LANES * 4 ? MANY / a.each : 1;
  rows_partition(launch, args, (int64_t)a.turns * a.each * KAON_LANES, &a);
  const int64_t teams_turns = (a.last - a.first + a.each - 1) / a.each;
  a.turns = (int)((teams_turns + a.chunks - 1) / a.chunks);
  const unsigned threads = (unsigned)(teams * a.concurrent_groups * 32);
  if (m->reals == 1)
    launch_sell<1>(launch, a, threads, m->half);
  else
    launch_sell<2>(launch, a, threads, m->half);
}
