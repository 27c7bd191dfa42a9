/* spmv.c - products with stored rows on the CPU: a register of rows at a time (SELL, ELL), or row
 * by row (CSR).
 *
 * Columns are processed in groups, so that a block's entries are read from memory once, and from
 * the first-level cache for each further group. Sums use the stored results: lane by lane in double
 * over TILE blocks, then in block order within a chunk (lib/cpu/reduce.h). So they depend neither
 * on the number of threads nor on the other columns. */
#include "sparse/cpu/kernels.h"

#include "lib/cpu/reduce.h"
#include "lib/cpu/team.h"
#include "sparse/cpu/lanes.h"

enum { TILE = 16, GROUP = 4, SLOTS = 3 };
enum { LONG = 1 << 19 }; /* entries from which waking a thread pays off */

typedef struct call {
  const kaon_stored_matrix *m;
  source from;
  const real *b, *w;
  real *y;
  real a;
  int nrhs, stream;
  int dots; /* a sum with w is requested */
} call;

/* Sums of one column over a tile. */
typedef struct tile_sums {
  vwide norm, re, im, other;
} tile_sums;

KAON_INLINE int64_t start_at(const kaon_stored_matrix *m, int64_t i) {
  return m->wide ? ((const int64_t *)m->start)[i] : ((const int32_t *)m->start)[i];
}

/* ---- blocks of rows ---- */

typedef vreal products[KAON_PARTS][GROUP][2]; /* [part][column][component] */

KAON_INLINE vreal value_at(const void *values, int64_t at, const int half) {
  return half ? v_load_int((const int16_t *)values + at) : v_load_real((const real *)values + at);
}

KAON_INLINE void add_product(vreal *sum, vreal re, vreal im, vreal xr, vreal xi, const int reals) {
  sum[0] = v_fma(re, xr, sum[0]);
  if (reals == 1) return;
  sum[0] = v_fnma(im, xi, sum[0]);
  sum[1] = v_fma(re, xi, v_fma(im, xr, sum[1]));
}

/* Addresses of a block's lines: line e of the values is line e + offset of the columns, which are
 * addressed from column `from`. */
typedef struct lines {
  int64_t begin, end, offset;
  int32_t from;
} lines;

KAON_INLINE lines lines_of(const kaon_stored_matrix *m, int64_t block) {
  const int ell = m->form == KAON_STORED_ELL;
  lines l = {.begin = ell ? block * m->length : start_at(m, block)};
  l.end = ell ? l.begin + m->length : start_at(m, block + 1);
  if (m->columns != KAON_COLUMNS_SHARED) return l;
  l.offset = m->pattern[block] - l.begin;
  l.from = (int32_t)(block * KAON_W);
  return l;
}

/* The columns of VL lanes from `lane` on, in a line that is not a run. */
KAON_INLINE vindex line_columns(const kaon_stored_matrix *m, const lines *l, int64_t e, int lane,
                                const int kind) {
  const int64_t at = (e + l->offset) * KAON_W + lane;
  if (kind == KAON_COLUMNS_16BIT) return v_load_narrow(m->columns16 + at) + ~m->line[e];
  return kind == KAON_COLUMNS_SHARED ? v_load_columns(m->column + at) + l->from
                                     : v_load_columns(m->column + at);
}

/* sum += line e of the block, which is not a run, times x. */
KAON_INLINE void add_line(const call *c, const lines *l, int64_t e, const int64_t *skip,
                          const int group, const int reals, const int half, const int plain,
                          const int beyond, const int kind, products sum) {
  const kaon_stored_matrix *m = c->m;
  const void *values = m->value;
  for (int p = 0; p < KAON_PARTS; p++) {
    const int64_t at = e * KAON_W * reals + p * KAON_VL;
    const vreal re = value_at(values, at, half),
                im = reals == 2 ? value_at(values, at + KAON_W, half) : re;
    const vindex columns = line_columns(m, l, e, p * KAON_VL, kind);
    const vindex offsets = source_offsets(&c->from, columns, plain);
    for (int g = 0; g < group; g++) {
      vreal x[2];
      for (int i = 0; i < reals; i++)
        x[i] = source_fetch(&c->from, columns, offsets, skip[g] + i * KAON_W, beyond);
      add_product(sum[p][g], re, im, x[0], reals == 2 ? x[1] : x[0], reals);
    }
  }
}

/* Adds the lines from e on, none of which is a run. */
KAON_INLINE void add_rest(const call *c, const lines *l, int64_t e, const int64_t *skip,
                          const int group, const int reals, const int half, const int plain,
                          const int beyond, products sum) {
  const int kind = c->m->columns;
#define REST(kind) \
  for (; e < l->end; e++) add_line(c, l, e, skip, group, reals, half, plain, beyond, kind, sum)
  if (kind == KAON_COLUMNS_16BIT)
    REST(KAON_COLUMNS_16BIT);
  else if (kind == KAON_COLUMNS_SHARED)
    REST(KAON_COLUMNS_SHARED);
  else
    REST(KAON_COLUMNS_32BIT);
#undef REST
}

/* sum += line e, a run, times x; cut: only the lanes `in` have an entry. */
KAON_INLINE void add_run(const source *x_of, const void *values, int64_t e, int64_t column,
                         uint32_t in, const int64_t *skip, const int group, const int reals,
                         const int half, const int plain, const int cut, products sum) {
  for (int p = 0; p < KAON_PARTS; p++) {
    const int64_t at = e * KAON_W * reals + p * KAON_VL;
    const vreal re = value_at(values, at, half);
    const vreal im = reals == 2 ? value_at(values, at + KAON_W, half) : re;
    for (int g = 0; g < group; g++) {
      vreal x[2];
      for (int i = 0; i < reals; i++) {
        x[i] = source_run(x_of, column + p * KAON_VL, skip[g] + i * KAON_W, plain);
        if (cut) x[i] = v_only(x[i], in >> (p * KAON_VL));
      }
      add_product(sum[p][g], re, im, x[0], reals == 2 ? x[1] : x[0], reals);
    }
  }
}

/* All lanes; and whether a load may mask lanes at no extra time. */
#define WHOLE (UINT32_MAX >> (32 - KAON_W))
#if defined(KAON_ISA_AVX512)
enum { MASKS_ARE_FREE = 1 };
#else
enum { MASKS_ARE_FREE = 0 };
#endif

/* Adds the runs, which come first, and returns the line after them. All pointers are read before
 * the loop: with data in cache the limit is the number of loads for a line. */
KAON_INLINE int64_t add_runs(const call *c, const lines *l, const int64_t *skip, const int group,
                             const int reals, const int half, const int plain, products sum) {
  const kaon_stored_matrix *m = c->m;
  if (m->line == NULL) return l->begin;
  const source x_of = c->from;
  const void *values = m->value;
  const int32_t *run = m->line + l->offset;
  const uint32_t *in = m->lanes_in + l->offset;
  const int64_t end = l->end, from = l->from;
  const int32_t none = m->columns == KAON_COLUMNS_SHARED ? KAON_NO_RUN + 1 : 0; /* below */
  int64_t e = l->begin;
  for (; e < end && run[e] >= none; e++) {
    const int64_t column = from + run[e];
    if (MASKS_ARE_FREE || in[e] != WHOLE)
      add_run(&x_of, values, e, column, in[e], skip, group, reals, half, plain, 1, sum);
    else
      add_run(&x_of, values, e, column, WHOLE, skip, group, reals, half, plain, 0, sum);
  }
  return e;
}

/* ---- row by row ---- */

KAON_INLINE real number_at(const kaon_stored_matrix *m, int64_t at, const int half) {
  return half ? (real)((const int16_t *)m->value)[at] : ((const real *)m->value)[at];
}

KAON_INLINE real element_at(const source *s, int64_t column, int64_t skip) {
  return column < s->rows ? s->x[skip + source_offset(s, column)]
                          : s->ghosts[skip + source_offset(s, column - s->rows)];
}

/* Real rows that are long enough are processed VL entries at a time. */
KAON_INLINE int64_t row_vectors(const call *c, int64_t n, int64_t end, int64_t skip, const int half,
                                const int plain, const int beyond, real *sum) {
  vreal v = v_set(0);
  if (end - n < KAON_VL) return n;
  for (; n + KAON_VL <= end; n += KAON_VL) {
    const vindex columns = v_load_columns(c->m->column + n);
    const vreal x =
        source_fetch(&c->from, columns, source_offsets(&c->from, columns, plain), skip, beyond);
    v = v_fma(half ? v_load_int((const int16_t *)c->m->value + n)
                   : v_load_loose((const real *)c->m->value + n),
              x, v);
  }
  *sum = (real)w_sum(w_from(v));
  return n;
}

KAON_INLINE void row_product(const call *c, int64_t row, int64_t skip, const int reals,
                             const int half, const int plain, const int beyond, real *sum) {
  const kaon_stored_matrix *m = c->m;
  int64_t n = start_at(m, row);
  const int64_t end = start_at(m, row + 1);
  sum[0] = sum[1] = 0;
  if (reals == 1 && KAON_VL > 1) n = row_vectors(c, n, end, skip, half, plain, beyond, sum);
  for (; n < end; n++) {
    const real xr = element_at(&c->from, m->column[n], skip), re = number_at(m, n * reals, half);
    sum[0] += re * xr;
    if (reals == 1) continue;
    const real im = number_at(m, n * reals + 1, half);
    const real xi = element_at(&c->from, m->column[n], skip + KAON_W);
    sum[0] -= im * xi;
    sum[1] += re * xi + im * xr;
  }
}

KAON_INLINE void rows_products(const call *c, int64_t block, const int64_t *skip, const int group,
                               const int reals, const int half, const int plain, const int beyond,
                               products sum) {
  real lanes[2][KAON_W] __attribute__((aligned(64)));
  for (int g = 0; g < group; g++) {
    for (int l = 0; l < KAON_W; l++) {
      real of_row[2] = {0, 0};
      if (block * KAON_W + l < c->m->rows)
        row_product(c, block * KAON_W + l, skip[g], reals, half, plain, beyond, of_row);
      for (int i = 0; i < reals; i++) lanes[i][l] = of_row[i];
    }
    for (int p = 0; p < KAON_PARTS; p++)
      for (int i = 0; i < reals; i++) sum[p][g][i] = v_load_real(lanes[i] + p * KAON_VL);
  }
}

/* ---- results ---- */

KAON_INLINE void add_sums(tile_sums *s, const vreal *y, const vreal *w, const int reals, int dots) {
  for (int i = 0; i < reals; i++) s->norm = w_fma(w_from(y[i]), w_from(y[i]), s->norm);
  if (!dots) return;
  for (int i = 0; i < reals; i++) {
    s->re = w_fma(w_from(w[i]), w_from(y[i]), s->re);
    s->other = w_fma(w_from(w[i]), w_from(w[i]), s->other);
  }
  if (reals == 1) return;
  s->im = w_fma(w_from(w[0]), w_from(y[1]), s->im);
  s->im = w_fnma(w_from(w[1]), w_from(y[0]), s->im);
}

/* y = sum, or b + a sum, for a block; rows after the last one stay 0. */
KAON_INLINE void finish_block(const call *c, int64_t block, const int64_t *skip, const int group,
                              const int reals, const int half, products sum, int with_sums,
                              tile_sums *sums) {
  const kaon_stored_matrix *m = c->m;
  for (int p = 0; p < KAON_PARTS; p++) {
    const int64_t lanes = m->rows - block * KAON_W - p * KAON_VL;
    vreal step = v_set(1);
    if (half)
      step = v_load_float(m->scale + block * KAON_W + p * KAON_VL) * v_set((double)KAON_HALF_STEP);
    for (int g = 0; g < group; g++) {
      vreal y[2], w[2] = {v_set(0), v_set(0)};
      for (int i = 0; i < reals; i++) {
        const int64_t at = block * c->from.stride + skip[g] + i * KAON_W + p * KAON_VL;
        y[i] = half ? sum[p][g][i] * step : sum[p][g][i];
        if (c->b != NULL) y[i] = v_fma(v_set((double)c->a), y[i], v_load_real(c->b + at));
        if (lanes < KAON_VL) y[i] = v_mask_tail(y[i], lanes > 0 ? (int)lanes : 0);
        if (c->stream)
          v_stream_real(c->y + at, y[i]);
        else
          v_store_real(c->y + at, y[i]);
        if (with_sums && c->dots) w[i] = v_load_real(c->w + at);
      }
      if (with_sums) add_sums(&sums[g], y, w, reals, c->dots);
    }
  }
}

KAON_INLINE void copy_sums(products to, products from, const int group, const int reals) {
  for (int p = 0; p < KAON_PARTS; p++)
    for (int g = 0; g < group; g++)
      for (int i = 0; i < reals; i++) to[p][g][i] = from[p][g][i];
}

/* The function for a block's lines that are not runs. It is separate, so that the loop over runs
 * has all registers. */
typedef void rest_function(const call *c, const lines *l, int64_t e, const int64_t *skip,
                           products sum);

/* Blocks [begin, end), at most TILE of them, for `group` columns that begin at skip[]. sum[g]:
 * receives the column's sums; NULL: not requested. */
KAON_INLINE void tile(const call *c, int64_t begin, int64_t end, const int64_t *skip,
                      double *const *sum, const int group, const int reals, const int half,
                      const int beyond, const int csr, rest_function *rest) {
  const int plain = reals == 1 && group == 1 && c->nrhs == 1;
  tile_sums sums[GROUP];
  for (int g = 0; g < group; g++) sums[g] = (tile_sums){w_zero(), w_zero(), w_zero(), w_zero()};
  for (int64_t block = begin; block < end; block++) {
    products p;
    for (int i = 0; i < KAON_PARTS; i++)
      for (int g = 0; g < group; g++) p[i][g][0] = p[i][g][1] = v_set(0);
    if (csr && plain) {
      rows_products(c, block, skip, group, reals, half, 1, beyond, p);
    } else if (csr) {
      rows_products(c, block, skip, group, reals, half, 0, beyond, p);
    } else {
      const lines l = lines_of(c->m, block);
      const int64_t e = plain ? add_runs(c, &l, skip, group, reals, half, 1, p)
                              : add_runs(c, &l, skip, group, reals, half, 0, p);
      if (e < l.end) {
        products q;
        copy_sums(q, p, group, reals);
        rest(c, &l, e, skip, q);
        copy_sums(p, q, group, reals);
      }
    }
    finish_block(c, block, skip, group, reals, half, p, sum != NULL, sums);
  }
  for (int g = 0; g < group && sum != NULL; g++) {
    sum[g][0] += w_sum(sums[g].norm);
    sum[g][2] += w_sum(sums[g].re);
    sum[g][3] += w_sum(sums[g].im);
    sum[g][4] += w_sum(sums[g].other);
  }
}

/* A function is compiled for each kind of matrix and size of group. */
typedef void tile_function(const call *c, int64_t begin, int64_t end, const int64_t *skip,
                           double *const *sum);
#define TILE_FUNCTION(name, group, reals, half, beyond, csr)                                   \
  static __attribute__((noinline)) void name##_rest(const call *c, const lines *l, int64_t e,  \
                                                    const int64_t *skip, products sum) {       \
    if (reals == 1 && group == 1 && c->nrhs == 1)                                              \
      add_rest(c, l, e, skip, group, reals, half, 1, beyond, sum);                             \
    else                                                                                       \
      add_rest(c, l, e, skip, group, reals, half, 0, beyond, sum);                             \
  }                                                                                            \
  static void name(const call *c, int64_t begin, int64_t end, const int64_t *skip,             \
                   double *const *sum) {                                                       \
    tile(c, begin, end, skip, sum, group, reals, half, beyond, csr, csr ? NULL : name##_rest); \
  }
#define TILES(kind, reals, half)                                                               \
  TILE_FUNCTION(kind##_one, 1, reals, half, 0, 0)                                              \
  TILE_FUNCTION(kind##_some, GROUP / reals, reals, half, 0, 0)                                 \
  TILE_FUNCTION(kind##_one_beyond, 1, reals, half, 1, 0)                                       \
  TILE_FUNCTION(kind##_one_csr, 1, reals, half, 0, 1)                                          \
  TILE_FUNCTION(kind##_one_csr_beyond, 1, reals, half, 1, 1)                                   \
  static tile_function *const kind##_tiles[] = {kind##_one, kind##_one_beyond, kind##_one_csr, \
                                                kind##_one_csr_beyond, kind##_some};
TILES(real_full, 1, 0)
TILES(complex_full, 2, 0)
#if defined(KAON_PREC_SINGLE)
TILES(real_half, 1, 1)
TILES(complex_half, 2, 1)
#endif

static tile_function *const *tiles_of(const kaon_stored_matrix *m) {
#if defined(KAON_PREC_SINGLE)
  if (m->half) return m->reals == 1 ? real_half_tiles : complex_half_tiles;
#endif
  return m->reals == 1 ? real_full_tiles : complex_full_tiles;
}

/* ---- chunks ---- */

typedef struct product_job {
  call c;
  const kaon_spmv_args *args;
  const kaon_launch *launch;
  tile_function *const *tiles;
  int beyond, sums;
} product_job;

/* All open columns of a tile, in groups. */
static void tile_columns(const product_job *j, int64_t begin, int64_t end, int chunk) {
  const kaon_stored_matrix *m = j->c.m;
  const int nrhs = j->c.nrhs, csr = m->form == KAON_STORED_CSR;
  const int most = csr || j->beyond ? 1 : GROUP / m->reals;
  int64_t skip[GROUP];
  double *sum[GROUP];
  for (int k = 0, count = 0; k < nrhs; k++) {
    if (kaon_gate_open(&j->args->gate, k)) {
      skip[count] = (int64_t)k * m->reals * KAON_W;
      sum[count++] = kaon_partial(j->launch->partials, chunk, k, nrhs, SLOTS);
    }
    if (count == 0 || (count < most && k + 1 < nrhs)) continue;
    double *const *sums = j->sums ? sum : NULL;
    if (count == most && most > 1)
      j->tiles[4](&j->c, begin, end, skip, sums);
    else
      for (int g = 0; g < count; g++)
        j->tiles[2 * csr + j->beyond](&j->c, begin, end, skip + g, j->sums ? sum + g : NULL);
    count = 0;
  }
}

/* The weight by which chunks are distributed: entries, and a share for the vectors. */
static int64_t weight_before(const kaon_stored_matrix *m, int64_t block) {
  if (m->form == KAON_STORED_ELL) return block * (m->length + 3);
  if (m->form == KAON_STORED_SELL) return start_at(m, block) + 3 * block;
  const int64_t row = block * KAON_W;
  return start_at(m, row < m->rows ? row : m->rows) / KAON_W + 3 * block;
}

/* Chunks consist of whole tiles. */
static int64_t tiles_in(const kaon_stored_matrix *m) {
  return (m->blocks + TILE - 1) / TILE;
}

static int64_t chunk_begin(const kaon_stored_matrix *m, int chunk) {
  const int64_t block = kaon_chunk_begin(tiles_in(m), chunk) * TILE;
  return block < m->blocks ? block : m->blocks;
}

static int chunk_of(const kaon_stored_matrix *m, int thread, int threads) {
  const int count = kaon_chunk_count(tiles_in(m));
  const int64_t wanted = weight_before(m, m->blocks) / threads * thread;
  int low = 0, high = count;
  if (thread >= threads) return count;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (weight_before(m, chunk_begin(m, middle)) < wanted)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static void run_share(const product_job *j, int64_t first, int64_t last, int clear, int t,
                      int threads) {
  const kaon_stored_matrix *m = j->c.m;
  const int end_chunk = chunk_of(m, t + 1, threads);
  for (int chunk = chunk_of(m, t, threads); chunk < end_chunk; chunk++) {
    int64_t begin = chunk_begin(m, chunk), end = chunk_begin(m, chunk + 1);
    if (j->sums && clear) kaon_partial_clear(j->launch->partials, chunk, j->c.nrhs, SLOTS);
    if (begin < first) begin = first;
    if (end > last) end = last;
    for (; begin < end; begin += TILE)
      tile_columns(j, begin, begin + TILE < end ? begin + TILE : end, chunk);
  }
  if (j->c.stream) v_stream_fence();
}

/* Uses all threads, or only this one as updates of such vectors do (lib/cpu/team.h), unless rows
 * are so long that waking the others pays off. */
static void run_part(const product_job *j, int64_t first, int64_t last, int clear) {
  const kaon_stored_matrix *m = j->c.m;
  const int64_t reals = m->rows * m->reals * j->c.nrhs, entries = m->entries * j->c.nrhs;
  const int threads = entries >= LONG ? j->launch->threads : kaon_team_of(j->launch, reals);
  if (threads == 1) {
    run_share(j, first, last, clear, 0, 1);
    return;
  }
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int t = 0; t < threads; t++) run_share(j, first, last, clear, t, threads);
}

void KAON_EXPORT(kaon_spmv)(const kaon_launch *launch, const kaon_spmv_args *args) {
  const kaon_stored_matrix *m = args->matrix;
  const int64_t stride = (int64_t)args->nrhs * m->reals * KAON_W;
  product_job j = {.args = args, .launch = launch, .tiles = tiles_of(m)};
  j.sums = args->sum.state != NULL;
  j.c = (call){.m = m,
               .from = {.x = args->x.data,
                        .ghosts = args->ghosts.data,
                        .rows = m->rows,
                        .stride = stride,
                        .far = stride * m->blocks > INT32_MAX && stride > KAON_W},
               .b = args->b.data,
               .w = args->w.data,
               .y = args->y.data,
               .a = (real)args->a,
               .nrhs = args->nrhs,
               .stream = launch->stream_stores && args->b.data != args->y.data,
               .dots = args->w.data != NULL};
  if (args->part != KAON_ROWS_BOUNDARY) run_part(&j, 0, m->interior, 1);
  if (args->part != KAON_ROWS_INTERIOR && m->interior < m->blocks) {
    j.beyond = 1;
    run_part(&j, m->interior, m->blocks, 0);
  }
  if (args->part == KAON_ROWS_INTERIOR) return;
  kaon_reduce_finish(launch->partials, tiles_in(m), args->nrhs, &args->gate, &args->sum, SLOTS);
}
