/* dense.c - products with one dense matrix for a whole lattice on the CPU (coarse_ops.h).
 *
 * A product streams the matrix once. Threads share out the numbers of the result, so its bits do
 * not depend on them. A tile of numbers stays in registers for a chunk of the matrix's columns, and
 * several columns of the result share its loads. Between chunks the sums rest in `out`. */
#include "dslash/coarse/cpu/kernels.h"
#include "lib/cpu/team.h"
#include "lib/math/vreal.h"

/* Complex numbers of a tile (half the divisor of `reals`), columns of the result that share loads,
 * and columns of the matrix in a chunk. */
enum { TILE = 2, SHARED = 3, CHUNK = 24 };

/* A complex number of a vector, and the distance to its imaginary part. */
static real *number_at(const kaon_dense_args *a, const kaon_view *v, int64_t block, int l,
                       int64_t c, int k) {
  return (real *)v->data + kaon_field_index(block, k, (int)(2 * c), l, a->nrhs, a->reals, KAON_W);
}

/* The collected numbers of a site from a vector, or from a list where `list` is not NULL. */
static void collect_site(const kaon_dense_args *a, int64_t block, int l, const real *list,
                         real *to) {
  for (int64_t c = 0; c < a->reals / 2; c++)
    for (int k = 0; k < a->nrhs; k++, to += 2) {
      const int open = kaon_gate_open(&a->gate, k);
      const int64_t at = 2 * (c * a->nrhs + k);
      const real *from = list != NULL ? list + at : number_at(a, &a->in, block, l, c, k);
      to[0] = open ? from[0] : 0;
      to[1] = open ? from[list != NULL ? 1 : KAON_W] : 0;
    }
}

static void spread_site(const kaon_dense_args *a, int64_t block, int l, const real *from) {
  for (int64_t c = 0; c < a->reals / 2; c++)
    for (int k = 0; k < a->nrhs; k++, from += 2) {
      real *to = number_at(a, &a->out, block, l, c, k);
      if (!kaon_gate_open(&a->gate, k)) continue;
      to[0] = from[0];
      to[KAON_W] = from[1];
    }
}

/* Sites of this thread: from or to the collected numbers. */
KAON_INLINE void move_share(const kaon_dense_args *a, int t, int threads, const int collects) {
  const int64_t of_site = (int64_t)a->reals * a->nrhs, last = a->blocks * (t + 1) / threads;
  for (int64_t block = a->blocks * t / threads; block < last; block++)
    for (int l = 0; l < KAON_W; l++) {
      const int64_t place = block * KAON_W + l, site = a->order[place];
      if (site < 0) continue;
      real *collected = (real *)a->collected + site * of_site;
      const real *list = a->list != NULL ? (const real *)a->list + place * of_site : NULL;
      if (collects)
        collect_site(a, block, l, list, collected);
      else
        spread_site(a, block, l, collected);
    }
}

static void collect_share(const void *job, int t, int threads) {
  move_share(job, t, threads, 1);
}
static void spread_share(const void *job, int t, int threads) {
  move_share(job, t, threads, 0);
}

void KAON_EXPORT(kaon_coarse_collect)(const kaon_launch *launch, const kaon_dense_args *args) {
  const int64_t reals = args->blocks * KAON_W * args->reals * args->nrhs;
  kaon_team_run(kaon_team_of(launch, reals), collect_share, args);
}

void KAON_EXPORT(kaon_coarse_spread)(const kaon_launch *launch, const kaon_dense_args *args) {
  const int64_t reals = args->blocks * KAON_W * args->reals * args->nrhs;
  kaon_team_run(kaon_team_of(launch, reals), spread_share, args);
}

/* A tile of one chunk: `count` columns of the matrix, from `matrix` on, times the collected numbers
 * from `x` on. */
typedef struct chunk {
  const real *matrix, *x;
  int64_t stride; /* from column to column of the matrix */
  int count;
  int first; /* 1: sums begin */
  int ahead; /* 1: the next chunk is prefetched */
} chunk;

/* out[r], r < shared, is the tile in column open[r]. */
KAON_INLINE void add_columns(const chunk *p, const int shared, int nrhs, const int *open,
                             real *const *out) {
  vcomplex sum[SHARED][TILE];
  const real *m = p->matrix, *x = p->x;
  for (int r = 0; r < shared; r++)
    for (int c = 0; c < TILE; c++)
      sum[r][c] = p->first ? c_make(v_set(0), v_set(0)) : c_load(out[r] + 2 * c * KAON_W);
  for (int j = 0; j < p->count; j++, m += p->stride, x += 2 * nrhs) {
    vcomplex a[TILE];
    for (int c = 0; c < TILE; c++) {
      a[c] = c_load(m + 2 * c * KAON_W);
      if (!p->ahead) continue;
      __builtin_prefetch(m + CHUNK * p->stride + 2 * c * KAON_W);
      __builtin_prefetch(m + CHUNK * p->stride + (2 * c + 1) * KAON_W);
    }
    for (int r = 0; r < shared; r++) {
      const real *number = x + 2 * open[r];
      const vcomplex b = c_make(v_set((double)number[0]), v_set((double)number[1]));
      for (int c = 0; c < TILE; c++) sum[r][c] = c_fma(a[c], b, sum[r][c]);
    }
  }
  for (int r = 0; r < shared; r++)
    for (int c = 0; c < TILE; c++) {
      v_store_real(out[r] + 2 * c * KAON_W, sum[r][c].re);
      v_store_real(out[r] + (2 * c + 1) * KAON_W, sum[r][c].im);
    }
}

/* All open columns of a tile, whose column 0 is at `to`; those of a block are `step` apart. */
static void add_tile(const kaon_dense_args *a, chunk p, real *to, int64_t step) {
  int open[SHARED], n = 0;
  real *out[SHARED];
  for (int k = 0; k < a->nrhs; k++) {
    if (kaon_gate_open(&a->gate, k)) {
      out[n] = to + k * step;
      open[n++] = k;
    }
    if (n < SHARED && k + 1 < a->nrhs) continue;
    if (n == SHARED) {
      add_columns(&p, SHARED, a->nrhs, open, out);
      p.ahead = 0;
    } else {
      for (int r = 0; r < n; r++, p.ahead = 0) add_columns(&p, 1, a->nrhs, open + r, out + r);
    }
    n = 0;
  }
}

/* Tiles [first, last) of a block. */
static void multiply_block(const kaon_dense_args *a, int64_t block, int first, int last) {
  const int64_t stride = (int64_t)a->reals * KAON_W;
  const real *matrix = (const real *)a->matrix.data + block * a->rows * stride;
  real *out = (real *)a->out.data + block * a->nrhs * stride;
  for (int64_t row = 0; row < a->rows; row += CHUNK) {
    const int64_t rest = a->rows - row;
    chunk p = {.x = (const real *)a->collected + 2 * row * a->nrhs,
               .stride = stride,
               .count = rest < CHUNK ? (int)rest : CHUNK,
               .first = row == 0,
               .ahead = rest > CHUNK};
    for (int tile = first; tile < last; tile++)
      for (int part = 0; part < KAON_PARTS; part++) {
        const int64_t at = (int64_t)tile * 2 * TILE * KAON_W + part * KAON_VL;
        p.matrix = matrix + row * stride + at;
        add_tile(a, p, out + at, stride);
      }
  }
}

static void dense_share(const void *job, int t, int threads) {
  const kaon_dense_args *a = job;
  const int tiles = a->reals / (2 * TILE);
  const int64_t units = a->blocks * tiles, end = units * (t + 1) / threads;
  for (int64_t unit = units * t / threads; unit < end;) {
    const int64_t block = unit / tiles;
    const int first = (int)(unit % tiles);
    const int last = end - unit < tiles - first ? first + (int)(end - unit) : tiles;
    multiply_block(a, block, first, last);
    unit += last - first;
  }
}

void KAON_EXPORT(kaon_coarse_dense)(const kaon_launch *launch, const kaon_dense_args *args) {
  const int64_t reals = args->blocks * KAON_W * args->reals * args->rows;
  kaon_team_run(kaon_team_of(launch, reals), dense_share, args);
}
