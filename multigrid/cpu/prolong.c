/* prolong.c - fine = V coarse, and halves of the basis as fine vectors, on the CPU. Each fine block
 * reads its part of V once, for all columns. A sum has the order of the vectors. */
#include "multigrid/cpu/columns.h"
#include "multigrid/cpu/kernels.h"

/* The basis in a fine block. */
typedef struct block_rows {
  const stored *row;  /* `reals` rows of each vector, side by side */
  const float *scale; /* half precision: W for each vector */
  const stored *next; /* their rows in the next block; NULL: no prefetch */
  int reals, count;   /* of a site; vectors */
} block_rows;

/* Adds a half of J vectors from `j` on times their coarse numbers e to R columns y; the first ones
 * are not added to what is there. */
KAON_INLINE void multiples(const int J, const int R, const block_rows *v, int j, int half,
                           const real *const *e, real *const *y) {
  const int rows = v->reals / 2, stride = v->reals * KAON_W;
  for (int part = 0; part < KAON_VL * KAON_PARTS; part += KAON_VL) {
    const int first = half * rows * KAON_W + part;
    const stored *row = v->row + j * stride + first;
    vcomplex factor[LONE_VECTORS * PAIR];
    for (int i = 0; i < J; i++) {
      const vreal step = step_of(KAON_IS_HALF ? v->scale + (j + i) * KAON_W + part : NULL);
      for (int r = 0; r < R; r++) {
        const real *z = e[r] + 2 * (half * v->count + j + i) * KAON_W + part;
        factor[i * R + r] =
            c_make(times_step(v_load_real(z), step), times_step(v_load_real(z + KAON_W), step));
      }
    }
    for (int at = 0; at < rows * KAON_W; at += 2 * KAON_W) {
      vcomplex sum[PAIR];
      for (int r = 0; r < R; r++) {
        real *to = y[r] + first + at;
        sum[r] =
            j == 0 ? c_make(v_set(0), v_set(0)) : c_make(v_load_real(to), v_load_real(to + KAON_W));
      }
      for (int i = 0; i < J; i++) {
        const vcomplex a = c_load(row + i * stride + at);
        for (int r = 0; r < R; r++) sum[r] = c_fma(a, factor[i * R + r], sum[r]);
      }
      for (int r = 0; r < R; r++) {
        v_store_real(y[r] + first + at, sum[r].re);
        v_store_real(y[r] + first + at + KAON_W, sum[r].im);
      }
    }
  }
}

KAON_INLINE void both_multiples(const int J, const int R, const block_rows *v, int j,
                                const real *const *e, real *const *y) {
  if (v->next != NULL) fetch(v->next + j * v->reals * KAON_W, J * v->reals * KAON_W);
  for (int half = 0; half < 2; half++) multiples(J, R, v, j, half, e, y);
}

/* All vectors to one column, and to two. */
KAON_ONCE void lone_multiples(const block_rows *v, const real *const *e, real *const *y) {
  int j = 0;
  for (; j + LONE_VECTORS <= v->count; j += LONE_VECTORS)
    both_multiples(LONE_VECTORS, 1, v, j, e, y);
  for (; j < v->count; j++) both_multiples(1, 1, v, j, e, y);
}

KAON_ONCE void pair_multiples(const block_rows *v, const real *const *e, real *const *y) {
  int j = 0;
  for (; j + PAIR_VECTORS <= v->count; j += PAIR_VECTORS)
    both_multiples(PAIR_VECTORS, PAIR, v, j, e, y);
  for (; j < v->count; j++) both_multiples(1, PAIR, v, j, e, y);
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

static void add_vectors(const kaon_transfer_args *args, int64_t block, const group *g,
                        block_memory *m) {
  const int reals = args->fine_reals, n = args->vectors;
  const stored *row = (const stored *)args->basis.data + block * n * reals * KAON_W;
  const int last = block + 1 == args->aggregates.fine_blocks;
  block_rows v = {row, scales_of(&args->basis, block * n), last ? NULL : row + n * reals * KAON_W,
                  reals, n};
  for (int k = 0; k < g->count; k += PAIR) {
    const int pair = k + PAIR <= g->count;
    real *y[PAIR];
    for (int r = 0; r < (pair ? PAIR : 1); r++) y[r] = m->fine + (k + r) * reals * KAON_W;
    (pair ? pair_multiples : lone_multiples)(&v, m->coarse + k, y);
    v.next = NULL;
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
    add_vectors(args, block, &g, &m);
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
