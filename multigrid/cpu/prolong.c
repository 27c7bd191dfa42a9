/* prolong.c - fine = V coarse, and halves of the basis as fine vectors, on the CPU. Each fine block
 * reads its part of V once, for all columns. A sum has the order of the vectors. */
#include "multigrid/cpu/columns.h"
#include "multigrid/cpu/kernels.h"

/* Adds J vectors times their coarse numbers e to R columns y, or with `begin` writes them. v: the
 * first vector's half; reals: to the next vector; numbers: complex ones of a half. */
KAON_INLINE void multiples(const int J, const int R, const stored *v, const float *scale,
                           const real *const *e, int reals, int numbers, int begin,
                           real *const *y) {
  for (int part = 0; part < KAON_VL * KAON_PARTS; part += KAON_VL) {
    vcomplex factor[LONE_VECTORS * PAIR];
    for (int j = 0; j < J; j++) {
      const vreal step = step_of(KAON_IS_HALF ? scale + j * KAON_W + part : NULL);
      for (int r = 0; r < R; r++) {
        const real *z = e[r] + 2 * j * KAON_W + part;
        factor[j * R + r] =
            c_make(times_step(v_load_real(z), step), times_step(v_load_real(z + KAON_W), step));
      }
    }
    for (int c = 0; c < numbers; c++) {
      const int at = 2 * c * KAON_W + part;
      vcomplex sum[PAIR];
      for (int r = 0; r < R; r++)
        sum[r] = begin ? c_make(v_set(0), v_set(0))
                       : c_make(v_load_real(y[r] + at), v_load_real(y[r] + at + KAON_W));
      for (int j = 0; j < J; j++) {
        const vcomplex a = c_load(v + j * reals * KAON_W + at);
        for (int r = 0; r < R; r++) sum[r] = c_fma(a, factor[j * R + r], sum[r]);
      }
      for (int r = 0; r < R; r++) {
        v_store_real(y[r] + at, sum[r].re);
        v_store_real(y[r] + at + KAON_W, sum[r].im);
      }
    }
  }
}

/* The coarse numbers of a fine block's lanes. They are copied if they are in several blocks. */
static const real *coarse_numbers(const kaon_transfer_args *args, const int32_t *place, int column,
                                  real *copy) {
  const int rows = 4 * args->vectors;
  const real *coarse = args->coarse.data;
  if (args->aggregates.aligned)
    return coarse + (place[0] / KAON_W * (int64_t)args->nrhs + column) * rows * KAON_W;
  for (int l = 0; l < KAON_W; l++) {
    const int64_t at = place[l] < 0 ? 0 : place[l];
    const real *from = coarse + (at / KAON_W * args->nrhs + column) * rows * KAON_W + at % KAON_W;
    for (int i = 0; i < rows; i++) copy[i * KAON_W + l] = place[l] < 0 ? 0 : from[i * KAON_W];
  }
  return copy;
}

/* Memory of a block: columns of the result, and gathered coarse numbers. */
typedef struct block_memory {
  room fine, gathered;
  const real *coarse[GROUP];
} block_memory;

KAON_INLINE void some_vectors(const int J, const int R, const kaon_transfer_args *args,
                              int64_t block, int j, int half, block_memory *m, int k) {
  const int reals = args->fine_reals, n = args->vectors;
  const int64_t column = block * n + j;
  const stored *v = (const stored *)args->basis.data + (column * 2 + half) * reals / 2 * KAON_W;
  const real *e[PAIR];
  real *y[PAIR];
  for (int r = 0; r < R; r++) {
    e[r] = m->coarse[k + r] + (half * n + j) * 2 * KAON_W;
    y[r] = m->fine + ((k + r) * 2 + half) * reals / 2 * KAON_W;
  }
  multiples(J, R, v, scales_of(&args->basis, column), e, reals, reals / 4, j == 0, y);
}

static void add_vectors(const kaon_transfer_args *args, int64_t block, int half, const group *g,
                        block_memory *m) {
  const int n = args->vectors, most = g->count == 1 ? LONE_VECTORS : PAIR_VECTORS;
  for (int j = 0; j < n;) {
    const int count = n - j >= most ? most : 1;
    int k = 0;
    for (; k + PAIR <= g->count; k += PAIR)
      if (count == PAIR_VECTORS)
        some_vectors(PAIR_VECTORS, PAIR, args, block, j, half, m, k);
      else
        some_vectors(1, PAIR, args, block, j, half, m, k);
    if (k < g->count) {
      if (count == LONE_VECTORS)
        some_vectors(LONE_VECTORS, 1, args, block, j, half, m, k);
      else if (count == PAIR_VECTORS)
        some_vectors(PAIR_VECTORS, 1, args, block, j, half, m, k);
      else
        some_vectors(1, 1, args, block, j, half, m, k);
    }
    j += count;
  }
}

/* Turns a column back and stores it, or adds it. */
static void finish(const kaon_transfer_args *args, int64_t column, real *x) {
  const int reals = args->fine_reals;
  if (args->turned) turn(x, reals);
  if (args->add) {
    real old[KAON_TRANSFER_REALS * KAON_W] __attribute__((aligned(64)));
    load_column(&args->fine, column, reals, old);
    for (int i = 0; i < reals * KAON_W; i += KAON_VL)
      v_store_real(x + i, v_load_real(old + i) + v_load_real(x + i));
  }
  store_column(&args->fine, column, reals, x);
}

static void prolong_item(const kaon_transfer_args *args, int64_t block, int slices) {
  const int32_t *place = args->aggregates.aggregate + block * KAON_W;
  const int reals = args->fine_reals, rows = 4 * args->vectors;
  block_memory m;
  (void)slices;
  for (int k = 0; k < args->nrhs;) {
    const group g = next_group(args, &k);
    for (int i = 0; i < g.count; i++)
      m.coarse[i] = coarse_numbers(args, place, g.column[i], m.gathered + i * rows * KAON_W);
    for (int half = 0; half < 2 && g.count > 0; half++) add_vectors(args, block, half, &g, &m);
    for (int i = 0; i < g.count; i++)
      finish(args, block * args->nrhs + g.column[i], m.fine + i * reals * KAON_W);
  }
}

void KAON_EXPORT(kaon_transfer_prolong)(const kaon_launch *launch, const kaon_transfer_args *args) {
  const items job = {args, prolong_item, args->aggregates.fine_blocks, 1};
  items_run(launch, &job);
}

static void half_item(const kaon_transfer_args *args, int64_t block, int slices) {
  const int reals = args->fine_reals, other = (1 - args->half) * reals / 2 * KAON_W;
  real x[KAON_TRANSFER_REALS * KAON_W] __attribute__((aligned(64)));
  (void)slices;
  for (int64_t k = block * args->vectors; k < (block + 1) * args->vectors; k++) {
    load_column(&args->basis, k, reals, x);
    for (int i = 0; i < reals / 2 * KAON_W && args->half < 2; i++) x[other + i] = 0;
    if (args->turned) turn(x, reals);
    store_column(&args->fine, k, reals, x);
  }
}

void KAON_EXPORT(kaon_transfer_take_half)(const kaon_launch *launch,
                                          const kaon_transfer_args *args) {
  const items job = {args, half_item, args->aggregates.fine_blocks, 1};
  items_run(launch, &job);
}
