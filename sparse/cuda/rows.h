/* rows.h - what the CUDA kernels of sparse matrices share: how entries and vector elements are
 * read, which rows a block has, and what is done with the sum of a row.
 *
 * REALS: of a value (1 real, 2 complex); HALF: values are 16-bit integers. Matrix data bypass the
 * first-level cache, which is reserved for x. If the second-level cache cannot hold the matrix,
 * they are also the first to be evicted from it. Only matrix data are read before
 * kaon_wait_for_previous, if kaon_launch.early allows it. */
#pragma once

#include <limits.h>

#include "lib/core/kernel.h"
#include "lib/cuda/memory/access.h"
#include "lib/cuda/queue/dependent.h"
#include "lib/cuda/reduction/reduce.h"
#include "sparse/cuda/kernels.h"

/* ROW_SUMS: sums of a thread: |y|^2, conj(w) y, |w|^2. ROW_VALUES: values that a chunk stores:
 * three slots. ROW_COLUMNS: maximum columns of a thread. ROW_CONCURRENT: maximum groups of them in
 * a thread block. ROW_DEVICE: threads that fill a device; with fewer, more threads share a row. */
enum { ROW_SUMS = 4, ROW_VALUES = 6, ROW_COLUMNS = 4, ROW_CONCURRENT = 4, ROW_DEVICE = 1 << 18 };
static const int64_t row_cache = 40 << 20; /* bytes of a matrix that remains in a cache of 50 MB */

typedef struct rows_call {
  const void *start;
  const int32_t *column;
  const uint16_t *columns16; /* these and `columns`: SELL, kaon_stored_matrix */
  const int32_t *line, *pattern;
  const void *value;
  const float *scale;
  int wide, length;      /* of start; ELL */
  int columns;           /* KAON_COLUMNS_... */
  int half;              /* CSR: values are 16-bit integers */
  int rows;              /* valid rows */
  int first, last;       /* blocks of the part */
  int nrhs, groups;      /* groups: of columns */
  int concurrent_groups; /* groups in a thread block, a warp each; the rest: blockIdx.x, fast */
  int64_t gap;           /* values between two successive blocks of one column, less 32 */
  real a;                /* y = b + a A x */
  const void *x, *ghosts, *b, *w;
  void *y;
  int w_is_y;
  uint64_t policy; /* the cache policy of matrix data: row_evict_... */
  int early;       /* matrix data may be read before the wait for the previous kernel */
  int lanes;       /* CSR: threads of a row; SELL: warps of a block of rows; 2^exponent */
  int shift;
  int each;  /* SELL, several columns: blocks of rows that a thread block has concurrently */
  int turns; /* such sets of rows that a thread block processes in sequence */
  int most;  /* maximum thread blocks of a launch; 0: no limit */
  int chunks, before;  /* blocks of this launch for a group; chunks of the sums before */
  kaon_cuda_sums sums; /* sums.chunks is the total */
} rows_call;

/* ---- the matrix ---- */

/* The results of createpolicy.fractional for evict_first and evict_normal on all data (from 9.0 on;
 * CUTLASS passes them in the same way: CacheHintSm90). As a kernel argument a policy needs no
 * registers, and no instruction at each load. */
static const uint64_t row_evict_first = UINT64_C(0x12f0000000000000);
static const uint64_t row_evict_normal = UINT64_C(0x16f0000000000000);

KAON_DEVICE uint64_t stored_policy(uint64_t stored) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  return stored;
#else
  uint64_t policy;
  if (stored == row_evict_normal)
    asm volatile("createpolicy.fractional.L2::evict_normal.b64 %0, 1.0;" : "=l"(policy));
  else
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  return policy;
#endif
}

KAON_DEVICE uint64_t matrix_policy(const rows_call &a) {
  return stored_policy(a.policy);
}

KAON_DEVICE int32_t column_read(const int32_t *p, uint64_t policy) {
  int32_t x;
  asm volatile("ld.global.nc.L1::no_allocate.L2::cache_hint.s32 %0, [%1], %2;"
               : "=r"(x)
               : "l"(p), "l"(policy));
  return x;
}

KAON_DEVICE int32_t narrow_read(const uint16_t *p, uint64_t policy) {
  uint16_t x;
  asm volatile("ld.global.nc.L1::no_allocate.L2::cache_hint.u16 %0, [%1], %2;"
               : "=h"(x)
               : "l"(p), "l"(policy));
  return x;
}

/* For data shared by blocks of rows, or by the threads of a warp: both caches retain it. */
KAON_DEVICE int32_t shared_read(const int32_t *p) {
  int32_t x;
  asm volatile("ld.global.nc.s32 %0, [%1];" : "=r"(x) : "l"(p));
  return x;
}

/* A value as stored. */
template <int REALS, int HALF>
struct entry {
  uint32_t w[HALF ? 1 : REALS * (int)sizeof(real) / 4];
};

/* Value `at` of the matrix. */
template <int REALS, int HALF>
KAON_DEVICE entry<REALS, HALF> entry_read(const void *value, int64_t at, uint64_t policy) {
  constexpr int bytes = REALS * (HALF ? 2 : (int)sizeof(real));
  const char *p = (const char *)value + at * bytes;
  entry<REALS, HALF> x;
  if constexpr (bytes == 2) {
    uint16_t half;
    asm volatile("ld.global.nc.L1::no_allocate.L2::cache_hint.u16 %0, [%1], %2;"
                 : "=h"(half)
                 : "l"(p), "l"(policy));
    x.w[0] = half;
  } else if constexpr (bytes == 4)
    asm volatile("ld.global.nc.L1::no_allocate.L2::cache_hint.u32 %0, [%1], %2;"
                 : "=r"(x.w[0])
                 : "l"(p), "l"(policy));
  else if constexpr (bytes == 8)
    asm volatile("ld.global.nc.L1::no_allocate.L2::cache_hint.v2.u32 {%0,%1}, [%2], %3;"
                 : "=r"(x.w[0]), "=r"(x.w[1])
                 : "l"(p), "l"(policy));
  else
    asm volatile("ld.global.nc.L1::no_allocate.L2::cache_hint.v4.u32 {%0,%1,%2,%3}, [%4], %5;"
                 : "=r"(x.w[0]), "=r"(x.w[1]), "=r"(x.w[2]), "=r"(x.w[3])
                 : "l"(p), "l"(policy));
  return x;
}

/* In integers if HALF: the row's scale is applied at its end. */
template <int REALS, int HALF>
KAON_DEVICE kaon_packet<real, REALS> entry_number(const entry<REALS, HALF> &x) {
  kaon_packet<real, REALS> v;
  if constexpr (HALF) {
#pragma unroll
    for (int i = 0; i < REALS; i++) v.v[i] = (real)(int16_t)(x.w[0] >> 16 * i);
  } else
    memcpy(&v, &x, sizeof v);
  return v;
}

KAON_DEVICE int64_t start_read(const rows_call &a, int64_t i) {
  return a.wide ? __ldg((const int64_t *)a.start + i)
                : (int64_t)__ldg((const int32_t *)a.start + i);
}

template <int HALF>
KAON_DEVICE real row_scale(const rows_call &a, int row) {
  return HALF && row < a.rows ? (real)(__ldg(a.scale + row) * (1.0f / 32767)) : (real)1;
}

/* ---- vectors ---- */

/* Offset of index n of column 0. */
KAON_DEVICE int64_t number_at(const rows_call &a, int n) {
  return n + (n >> 5) * a.gap;
}

/* The element of column 0 that column c of the matrix multiplies. Those of the other columns are 32
 * reals apart. ONE: there is one column. GHOSTS: the element may be a ghost. */
template <int REALS, bool ONE, bool GHOSTS>
KAON_DEVICE const kaon_packet<real, REALS> *source_of(const rows_call &a, int c) {
  typedef kaon_packet<real, REALS> number;
  if (!GHOSTS) return (const number *)a.x + (ONE ? (int64_t)c : number_at(a, c));
  const bool near = c < a.rows;
  const int n = near ? c : c - a.rows;
  return (const number *)(near ? a.x : a.ghosts) + (ONE ? (int64_t)n : number_at(a, n));
}

template <int REALS>
KAON_DEVICE void number_add(kaon_packet<real, REALS> *s, const kaon_packet<real, REALS> &v,
                            const kaon_packet<real, REALS> &x) {
  if constexpr (REALS == 1)
    s->v[0] = v.v[0] * x.v[0] + s->v[0];
  else {
    s->v[0] = v.v[0] * x.v[0] + (-v.v[1] * x.v[1] + s->v[0]);
    s->v[1] = v.v[0] * x.v[1] + (v.v[1] * x.v[0] + s->v[1]);
  }
}

/* ---- ends of rows ---- */

/* Inputs of a row's end besides its sum. */
template <int REALS>
struct row_others {
  kaon_packet<real, REALS> b, w;
};

/* at: offset of a row in the vectors. */
template <int REALS>
KAON_DEVICE row_others<REALS> row_prefetch(const rows_call &a, int64_t at) {
  typedef kaon_packet<real, REALS> number;
  row_others<REALS> o = {};
  if (a.b != NULL) o.b = ((const number *)a.b)[at];
  if (a.w != NULL) o.w = ((const number *)a.w)[at];
  return o;
}

/* Stores y of a row and returns it. s: the row's sum. */
template <int REALS>
KAON_DEVICE kaon_packet<real, REALS> row_store(const rows_call &a, int64_t at, real scale,
                                               kaon_packet<real, REALS> s,
                                               const kaon_packet<real, REALS> &b) {
#pragma unroll
  for (int i = 0; i < REALS; i++)
    s.v[i] = a.b != NULL ? a.a * scale * s.v[i] + b.v[i] : scale * s.v[i];
  ((kaon_packet<real, REALS> *)a.y)[at] = s;
  return s;
}

/* The same, and adds to the sums. STRIDE: distance of the values of a thread. */
template <int REALS, int STRIDE = 1>
KAON_DEVICE void row_put(const rows_call &a, int64_t at, real scale, kaon_packet<real, REALS> s,
                         const row_others<REALS> &others, double *sum) {
  typedef kaon_packet<real, REALS> number;
  number w = others.w;
  s = row_store<REALS>(a, at, scale, s, others.b);
  if (a.sums.sum.state == NULL) return;
  if (a.w_is_y) w = s;
#pragma unroll
  for (int i = 0; i < REALS; i++) {
    const double y = (double)s.v[i], v = (double)w.v[i];
    sum[0] = fma(y, y, sum[0]);
    sum[STRIDE] = fma(v, y, sum[STRIDE]);
    sum[3 * STRIDE] = fma(v, v, sum[3 * STRIDE]);
  }
  if constexpr (REALS == 2) {
    sum[2 * STRIDE] = fma((double)w.v[0], (double)s.v[1], sum[2 * STRIDE]);
    sum[2 * STRIDE] = fma(-(double)w.v[1], (double)s.v[0], sum[2 * STRIDE]);
  }
}

template <int REALS>
KAON_DEVICE void row_end(const rows_call &a, int64_t at, real scale, kaon_packet<real, REALS> s,
                         double *sum) {
  row_put<REALS>(a, at, scale, s, row_prefetch<REALS>(a, at), sum);
}

/* The same without sums. */
template <int REALS>
KAON_DEVICE void row_end(const rows_call &a, int64_t at, real scale,
                         const kaon_packet<real, REALS> &s) {
  kaon_packet<real, REALS> b = {};
  if (a.b != NULL) b = ((const kaon_packet<real, REALS> *)a.b)[at];
  row_store<REALS>(a, at, scale, s, b);
}

/* ---- columns ---- */

/* The columns of a thread: the first, their number, and one bit for each open one. */
typedef struct columns {
  int first, count;
  unsigned open;
} columns;

/* Column at which group i begins, from the first group of this thread block on. Of a block's
 * a.concurrent_groups groups adjacent warps have one each. */
KAON_DEVICE int group_first(const rows_call &a, int i) {
  const int first =
      (int)(blockIdx.x % (unsigned)(a.groups / a.concurrent_groups)) * a.concurrent_groups;
  return (first + i) * a.nrhs / a.groups;
}

template <int COLS>
KAON_DEVICE columns columns_of(const rows_call &a) {
  columns c = {0, 1, 0};
  if (COLS == 1) return c;
  const int own = (int)(threadIdx.x / 32) % a.concurrent_groups;
  c.first = group_first(a, own);
  c.count = group_first(a, own + 1) - c.first;
  return c;
}

template <int COLS>
KAON_DEVICE int chunk_of(const rows_call &a) {
  return COLS == 1 ? (int)blockIdx.x
                   : (int)(blockIdx.x / (unsigned)(a.groups / a.concurrent_groups));
}

/* All lanes of a warp must call it: each reads the gate of one column. */
template <int COLS>
KAON_DEVICE void columns_prefetch(const rows_call &a, columns *c) {
  if (COLS == 1) {
    c->open = gate_open(a.sums.gate, c->first);
    return;
  }
  static_assert(COLS <= 32, "a lane a column");
  const int lane = threadIdx.x % 32;
  c->open = __ballot_sync(0xffffffffu, lane < c->count && gate_open(a.sums.gate, c->first + lane));
}

/* sum: this thread's, for the only column. chunk: of this launch. All threads of the block must
 * call it. */
KAON_DEVICE void column_finish(const rows_call &a, const columns &c, int chunk, const double *sum) {
  kaon_let_next_start();
  if (a.sums.sum.state == NULL || !(c.open & 1)) return;
  const double value[ROW_VALUES] = {sum[0], 0, sum[1], sum[2], sum[3], 0};
  sums_finish<3, 8, true, true, true>(a.sums, c.first, a.before + chunk, value);
}

/* ---- launchers ---- */

/* Thread blocks for `tiles` of rows and one group of columns; values: of the sums, 0: none. */
static inline int rows_chunks(int64_t tiles, int values, int most) {
  int64_t chunks = tiles > 0 ? tiles : 1;
  if (values > 0) chunks = kaon_cuda_chunks(tiles * KAON_THREADS, values);
  if (most > 0 && chunks > most) chunks = most;
  return chunks < INT_MAX / 64 ? (int)chunks : INT_MAX / 64;
}

/* Bytes of a matrix, without column lists that blocks share. */
static inline int64_t rows_bytes(const kaon_stored_matrix *m) {
  static const int column[] = {4, 2, 0};
  return m->entries * (column[m->columns] + m->reals * (m->half ? 2 : (int)sizeof(real)));
}

/* All fields except lanes, turns and chunks. */
static inline rows_call rows_of(const kaon_launch *launch, const kaon_spmv_args *args) {
  const kaon_stored_matrix *m = args->matrix;
  rows_call a = {};
  a.start = m->start;
  a.column = m->column;
  a.columns16 = m->columns16;
  a.line = m->line;
  a.pattern = m->pattern;
  a.columns = m->columns;
  a.value = m->value;
  a.scale = m->scale;
  a.wide = m->wide;
  a.half = m->half;
  a.length = m->length;
  a.rows = (int)m->rows;
  a.first = args->part == KAON_ROWS_BOUNDARY ? (int)m->interior : 0;
  a.last = (int)(args->part == KAON_ROWS_INTERIOR ? m->interior : m->blocks);
  a.nrhs = args->nrhs;
  a.groups = (args->nrhs + ROW_COLUMNS - 1) / ROW_COLUMNS;
  a.concurrent_groups = 1;
  a.gap = (int64_t)(args->nrhs - 1) * KAON_LANES;
  a.a = (real)args->a;
  a.x = args->x.data;
  a.ghosts = args->part != KAON_ROWS_INTERIOR ? args->ghosts.data : NULL;
  a.b = args->b.data;
  a.y = args->y.data;
  const kaon_sum *sum = &args->sum;
  const bool wants_w =
      sum->state != NULL && (sum->slot[1] != KAON_NO_SLOT || sum->slot[2] != KAON_NO_SLOT);
  a.w_is_y = wants_w && args->w.data == args->y.data;
  a.w = wants_w && !a.w_is_y ? args->w.data : NULL;
  a.policy = a.groups > 1 || rows_bytes(m) <= row_cache ? row_evict_normal : row_evict_first;
  a.early = launch->early;
  return a;
}

/* Tiles of `each` rows in blocks [first, last). */
static inline int64_t rows_tiles(int64_t first, int64_t last, int64_t each) {
  return ((last - first) * KAON_LANES + each - 1) / each;
}

/* The index of a product in lists (sparse/cuda/listed.h): for real values in the vectors'
 * precision, on one rank, with sums that merge no others. */
template <int REALS, int HALF>
static inline int rows_listed(const rows_call &a, int number) {
  const bool plain = a.ghosts == NULL && a.sums.deferred.left == 0;
  return REALS == 1 && !HALF && !a.half && plain ? number : KAON_LISTED_NONE;
}

/* Chunks of the launch and of the sums. Parts of the interior come first. The part that ends the
 * pass has a block even if it has no rows. */
static inline void rows_partition(const kaon_launch *launch, const kaon_spmv_args *args,
                                  int64_t each, rows_call *a) {
  const kaon_stored_matrix *m = args->matrix;
  const int values = args->sum.state != NULL ? ROW_VALUES : 0;
  int64_t tiles = rows_tiles(a->first, a->last, each);
  a->chunks = rows_chunks(tiles, values, a->most);
  int all = a->chunks;
  if (args->part != KAON_ROWS_ALL && values > 0) { /* half of the space each */
    const int inner = rows_chunks(rows_tiles(0, m->interior, each), 2 * values, a->most);
    const int outer = rows_chunks(rows_tiles(m->interior, m->blocks, each), 2 * values, a->most);
    a->chunks = args->part == KAON_ROWS_INTERIOR ? inner : outer;
    a->before = args->part == KAON_ROWS_INTERIOR ? 0 : inner;
    all = inner + outer;
  }
  a->sums = kaon_cuda_sums_of(launch, &args->gate, &args->sum, all);
}
