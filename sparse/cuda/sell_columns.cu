/* sell_columns.cu - products of matrices in SELL and ELL by several columns on the GPU: a warp a
 * block of 32 rows, a thread a row of up to ROW_COLUMNS columns.
 *
 * Entries come in batches, columns and values in whole lines, by asynchronous copies to shared
 * memory: each warp has STAGES - 1 batches on their way while it works on one, whichever rows they
 * are of, so registers are free for the numbers of x. A warp waits for its own copies alone. Where
 * blocks of rows are few, several warps share one (sell.h). */
#include "sparse/cuda/sell.h"

enum { STAGES = 3 };
/* Entries of a row in a batch. */
template <int REALS, int HALF>
static __host__ __device__ constexpr int batch_of() {
  return REALS * (HALF ? 2 : (int)sizeof(real)) > 8 ? 4 : 8;
}

/* Bytes of an entry's value in a stage, and of a warp's stage. */
template <int REALS, int HALF>
static __host__ __device__ constexpr int value_bytes() {
  return REALS * (HALF ? 2 : (int)sizeof(real));
}

template <int REALS, int HALF>
static __host__ __device__ constexpr int stage_bytes() {
  return batch_of<REALS, HALF>() * KAON_LANES * (4 + value_bytes<REALS, HALF>());
}

/* A batch: a block of rows, -1: there is none; entries from its first to the rows' last. */
typedef struct batch {
  int block, left;
} batch;

/* Which batch a warp brings next. base: the first block of rows of all warps' next turn. */
typedef struct feed {
  int base, own, turn, j, length;
  int64_t at; /* of the block of rows, in units of 32 entries */
  int list;   /* the same in the lists of columns that blocks share */
} feed;

template <int BATCH>
static __device__ __forceinline__ void feed_turn(const rows_call &a, feed *f) {
  const int block = f->base + f->own;
  f->j = (int)(threadIdx.x / 32 & (a.lanes - 1)) * BATCH;
  const slice mine = slice_read(a, block);
  f->at = mine.at;
  f->length = mine.length;
  if (a.columns == KAON_COLUMNS_SHARED && block < a.last) f->list = shared_read(a.pattern + block);
}

static __device__ __forceinline__ void copy_line(uint32_t to, const char *from, uint64_t policy) {
  asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2;" ::"r"(to), "l"(from),
               "l"(policy)
               : "memory");
}

/* The same for what the first-level cache is to keep, `bytes` of it: 4 or 16. */
template <int BYTES>
static __device__ __forceinline__ void copy_kept(uint32_t to, const void *from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(from), "n"(BYTES)
               : "memory");
}

/* Starts the copies of a batch's columns, of `entries` of each row, which begin at entry `first` of
 * 32 rows: as they are stored, NARROW's least ones behind its 16-bit ones. */
template <int BATCH>
static __device__ __forceinline__ void feed_columns(const rows_call &a, const feed *f, uint32_t to,
                                                    int64_t first, int entries, uint64_t policy) {
  constexpr int WHOLE = 4 * KAON_LANES, NARROW = 2 * KAON_LANES;
  const int lane = (int)(threadIdx.x % 32), at = lane * 16;
  if (a.columns == KAON_COLUMNS_SHARED) {
    const char *column = (const char *)a.column + (int64_t)(f->list + f->j) * WHOLE + at;
#pragma unroll
    for (int n = 0; n < BATCH * WHOLE; n += 512)
      if (n + at < entries * WHOLE) copy_kept<16>(to + n + at, column + n);
  } else if (a.columns == KAON_COLUMNS_NARROW) {
    const char *column = (const char *)a.narrow + first * NARROW + at;
#pragma unroll
    for (int n = 0; n < BATCH * NARROW; n += 512)
      if (n + at < entries * NARROW) copy_line(to + n + at, column + n, policy);
    if (lane < entries) copy_kept<4>(to + BATCH * NARROW + 4 * lane, a.line + first + lane);
  } else {
    const char *column = (const char *)a.column + first * WHOLE + at;
#pragma unroll
    for (int n = 0; n < BATCH * WHOLE; n += 512)
      if (n + at < entries * WHOLE) copy_line(to + n + at, column + n, policy);
  }
}

/* Starts the copies of the next batch, if there is one; a group of copies in any case. */
template <int REALS, int HALF>
static __device__ __forceinline__ batch feed_next(const rows_call &a, feed *f, uint32_t stage,
                                                  uint64_t policy) {
  constexpr int BATCH = batch_of<REALS, HALF>();
  constexpr int VALUE = value_bytes<REALS, HALF>() * KAON_LANES, COLUMN = 4 * KAON_LANES;
  const int at = (int)(threadIdx.x % 32) * 16;
  batch next = {-1, 0};
  if (f->base < a.last) {
    next.block = f->base + f->own;
    next.left = f->length - f->j;
    const int64_t first = f->at + f->j;
    const char *value = (const char *)a.value + first * VALUE + at;
    feed_columns<BATCH>(a, f, stage, first, next.left < BATCH ? next.left : BATCH, policy);
#pragma unroll
    for (int n = 0; n < BATCH * VALUE; n += 512)
      if (n + at < next.left * VALUE) copy_line(stage + BATCH * COLUMN + n + at, value + n, policy);
    f->j += a.lanes * BATCH;
    if (f->j >= f->length) {
      f->base += KAON_WARPS >> a.shift;
      if (++f->turn == a.turns) {
        f->turn = 0;
        f->base += (a.chunks - 1) * a.turns * (KAON_WARPS >> a.shift);
      }
      feed_turn<BATCH>(a, f);
    }
  }
  asm volatile("cp.async.commit_group;" ::: "memory");
  return next;
}

/* Columns of COUNT entries of this thread's row of a batch, from its entry `first` on. */
template <int BATCH, int COUNT>
static __device__ __forceinline__ void staged_columns(const rows_call &a, int block,
                                                      const char *stage, int first, int32_t *c) {
  const int lane = threadIdx.x % 32;
  if (a.columns == KAON_COLUMNS_NARROW) {
    const uint16_t *narrow = (const uint16_t *)stage + first * KAON_LANES + lane;
    const int32_t *line = (const int32_t *)(stage + BATCH * KAON_LANES * 2) + first;
#pragma unroll
    for (int u = 0; u < COUNT; u++) c[u] = narrow[u * KAON_LANES] + ~line[u];
    return;
  }
  const int32_t *column = (const int32_t *)stage + first * KAON_LANES + lane;
  const int from = a.columns == KAON_COLUMNS_SHARED ? block * KAON_LANES : 0;
#pragma unroll
  for (int u = 0; u < COUNT; u++) c[u] = column[u * KAON_LANES] + from;
}

/* Adds a batch's entries to the sums of a row. */
template <int REALS, int HALF, int COLS, bool GHOSTS>
static __device__ __forceinline__ void batch_add(const rows_call &a, const columns &cols, int block,
                                                 const char *stage, int left,
                                                 kaon_packet<real, REALS> *s) {
  typedef kaon_packet<real, REALS> number;
  constexpr int BATCH = batch_of<REALS, HALF>();
  constexpr int AT_ONCE = 16 / (REALS * (int)sizeof(real));
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int first = 0; first < BATCH; first += AT_ONCE) {
    number x[AT_ONCE][COLS];
    int32_t column[AT_ONCE];
    staged_columns<BATCH, AT_ONCE>(a, block, stage, first, column);
#pragma unroll
    for (int u = 0; u < AT_ONCE; u++)
      if (first + u < left) {
        const number *from =
            source_of<REALS, false, GHOSTS>(a, column[u]) + cols.first * KAON_LANES;
#pragma unroll
        for (int k = 0; k < COLS; k++)
          if (k < cols.count) x[u][k] = from[k * KAON_LANES];
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
          if (k < cols.count) number_add<REALS>(&s[k], n, x[u][k]);
      }
  }
}

template <int REALS, int HALF, int COLS>
static __global__ void __launch_bounds__(KAON_THREADS, 2)
    sell_columns_kernel(const __grid_constant__ rows_call a) {
  typedef kaon_packet<real, REALS> number;
  constexpr int BATCH = batch_of<REALS, HALF>(), STAGE = stage_bytes<REALS, HALF>();
  extern __shared__ __align__(16) char stages[];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const bool first = (warp & (a.lanes - 1)) == 0;
  const int chunk = chunk_of<COLS>(a);
  const char *mine = stages + warp * (STAGES * STAGE);
  const uint32_t room = (uint32_t)__cvta_generic_to_shared(mine);
  const uint64_t policy = matrix_policy(a);
  columns cols = columns_of<COLS>(a);
  double sum[COLS][ROW_SUMS] = {};
  number s[COLS] = {};
  batch queue[STAGES];
  feed f;
  f.turn = f.list = 0;
  f.own = warp >> a.shift;
  f.base = a.first + chunk * a.turns * (KAON_WARPS >> a.shift);
  if (!a.early) kaon_wait_for_previous();
  feed_turn<BATCH>(a, &f);
#pragma unroll
  for (int i = 0; i < STAGES - 1; i++)
    queue[i] = feed_next<REALS, HALF>(a, &f, room + i * STAGE, policy);
  kaon_wait_for_previous();
  columns_ask<COLS>(a, &cols);
  int now = 0, next = (STAGES - 1) * STAGE;
  while (cols.open != 0 && queue[0].block >= 0) {
    queue[STAGES - 1] = feed_next<REALS, HALF>(a, &f, room + next, policy);
    asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 1) : "memory");
    __syncwarp();
    const int block = queue[0].block, row = block * KAON_LANES + lane;
    const int left = row < a.rows ? queue[0].left : 0;
    const bool last = queue[0].left <= a.lanes * BATCH;
    if (a.ghosts != NULL)
      batch_add<REALS, HALF, COLS, true>(a, cols, block, mine + now, left, s);
    else
      batch_add<REALS, HALF, COLS, false>(a, cols, block, mine + now, left, s);
    __syncwarp(); /* the stage has been read */
    next = now;
    now = now == (STAGES - 1) * STAGE ? 0 : now + STAGE;
#pragma unroll
    for (int i = 0; i < STAGES - 1; i++) queue[i] = queue[i + 1];
    if (!last) continue;
    if (a.lanes > 1) warps_join<REALS, COLS>(a, s);
    if (first && block < a.last) {
      const real scale = row_scale<HALF>(a, row);
      const int64_t to = number_at(a, row) + cols.first * KAON_LANES;
#pragma unroll
      for (int k = 0; k < COLS; k++)
        if (cols.open >> k & 1) row_end<REALS>(a, to + k * KAON_LANES, scale, s[k], sum[k]);
    }
#pragma unroll
    for (int k = 0; k < COLS; k++) s[k] = number{};
  }
  asm volatile("cp.async.wait_all;" ::: "memory");
  if (cols.open != 0) columns_finish<COLS>(a, cols, chunk, sum);
}

template <int REALS, int HALF>
static void launch_columns(const kaon_launch *launch, const rows_call &a) {
  const unsigned room = KAON_WARPS * STAGES * stage_bytes<REALS, HALF>();
  cudaFuncSetAttribute(sell_columns_kernel<REALS, HALF, ROW_COLUMNS>,
                       cudaFuncAttributeMaxDynamicSharedMemorySize, (int)room);
  kaon_cuda_launch(launch, sell_columns_kernel<REALS, HALF, ROW_COLUMNS>,
                   (unsigned)a.chunks * (unsigned)a.groups, KAON_THREADS, a, room);
}

template <int REALS>
static void launch_sell(const kaon_launch *launch, const rows_call &a, int half) {
#if defined(KAON_PREC_SINGLE)
  if (half) {
    launch_columns<REALS, 1>(launch, a);
    return;
  }
#endif
  (void)half;
  launch_columns<REALS, 0>(launch, a);
}

/* Blocks' worth of rows of a block of threads, where there are many: of the whole matrix, since
 * interior and boundary share out their sums alike. */
enum { TURNS = 4 };

extern "C" void KAON_EXPORT(kaon_spmv_sell_columns)(const kaon_launch *launch,
                                                    const kaon_spmv_args *args) {
  rows_call a = rows_of(launch, args);
  sell_warps(args->matrix, &a);
  a.turns = args->matrix->blocks / KAON_WARPS > 4 * ROW_DEVICE / KAON_THREADS ? TURNS : 1;
  rows_share_out(launch, args, (int64_t)a.turns * (KAON_THREADS >> a.shift), &a);
  if (args->matrix->reals == 1)
    launch_sell<1>(launch, a, args->matrix->half);
  else
    launch_sell<2>(launch, a, args->matrix->half);
}
