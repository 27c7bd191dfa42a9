/* dense.c - products with one dense matrix for a whole lattice on the CPU (coarse_ops.h).
 *
 * A product streams the matrix once. Threads share out the numbers of the result, so its bits do
 * not depend on them. A tile of numbers stays in registers for a chunk of the matrix's columns, and
 * several columns of the result share its loads. Between chunks the sums rest in `out`. */
#include <string.h>

#include "dslash/coarse/cpu/kernels.h"
#include "lib/cpu/team.h"
#include "lib/math/vreal.h"

/* Complex numbers of a tile (half the divisor of `reals`), columns of the result that share loads,
 * and columns of the matrix in a chunk. */
enum { TILE = 2, SHARED = 3, CHUNK = 24 };

/* Between a vector and the collected numbers; to: 1 to these. */
KAON_INLINE void move_share(const kaon_dense_args *a, int t, int threads, const int to) {
  const int64_t numbers = a->reals / 2, last = a->blocks * (t + 1) / threads;
  const kaon_view *v = to ? &a->in : &a->out;
  for (int64_t block = a->blocks * t / threads; block < last; block++)
    for (int l = 0; l < KAON_W; l++) {
      const int64_t site = a->order[block * KAON_W + l];
      if (site < 0) continue;
      real *list = (real *)a->collected + site * numbers * a->nrhs * 2;
      for (int64_t c = 0; c < numbers; c++)
        for (int k = 0; k < a->nrhs; k++, list += 2) {
          real *at = (real *)v->data +
                     kaon_field_index(block, k, (int)(2 * c), l, a->nrhs, a->reals, KAON_W);
          const int open = kaon_gate_open(&a->gate, k);
          if (to) {
            list[0] = open ? at[0] : 0;
            list[1] = open ? at[KAON_W] : 0;
          } else if (open) {
            at[0] = list[0];
            at[KAON_W] = list[1];
          }
        }
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

static void arrange_share(const void *job, int t, int threads) {
  const kaon_arrange_args *a = job;
  const size_t bytes = (size_t)a->reals * (size_t)a->nrhs * sizeof(real);
  const int64_t last = a->sites * (t + 1) / threads;
  for (int64_t site = a->sites * t / threads; site < last; site++)
    memcpy((char *)a->to + (size_t)site * bytes,
           (const char *)a->from + (size_t)a->from_site[site] * bytes, bytes);
}

void KAON_EXPORT(kaon_coarse_arrange)(const kaon_launch *launch, const kaon_arrange_args *args) {
  kaon_team_run(kaon_team_of(launch, args->sites * args->reals * args->nrhs), arrange_share, args);
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
