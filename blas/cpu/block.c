/* block.c - vector updates and sums that join columns, on the CPU (blas_ops.h).
 * A block of sites holds all columns next to each other, and together they fit the first-level
 * cache. So each vector is read from memory once. At each position the values of all columns are
 * read before any is written, so updates work in place.
 * Half: the largest new value of a site must be known before any is rounded. The new values are
 * computed twice, which needs no buffer.
 * Sums are as in update.c, but over at most GRAM_CHUNKS chunks of more blocks each. Order and error
 * bound are the same. */
#include "lib/math/steps/block_recurrences.h"

#include "blas/cpu/block.h"
#include "blas/cpu/unit.h"
#include "lib/cpu/reduce.h"

/* GRAM_CHUNKS * 2 n^2 sums fit the partial sums' capacity of KAON_REDUCE_CHUNKS * KAON_REDUCE_MAX *
 * n. */
enum { GRAM_CHUNKS = 128, MATRICES = 3 };
_Static_assert((int)GRAM_CHUNKS * 2 * (int)KAON_BLOCK_MAX <=
                   (int)KAON_REDUCE_CHUNKS * (int)KAON_REDUCE_MAX,
               "partial sums of a Gram matrix fit");

/* The open columns. */
typedef struct columns {
  int n, at[KAON_BLOCK_MAX];
} columns;

static columns open_columns(const kaon_update_args *args) {
  columns c = {0, {0}};
  for (int k = 0; k < args->shape.nrhs; k++)
    if (kaon_gate_open(&args->gate, k)) c.at[c.n++] = k;
  return c;
}

/* ---- sums ---- */

static int gram_chunks(int64_t nblocks) {
  return nblocks < GRAM_CHUNKS ? (int)nblocks : GRAM_CHUNKS;
}

/* Adds (x_i, y_j) of a block to sum[2 (j n + i)]. Hermitian: only i <= j. */
static void gram_block(const kaon_update_args *args, const columns *c, int64_t block, double *sum) {
  unit x[KAON_BLOCK_MAX];
  for (int i = 0; i < c->n; i++) x[i] = unit_at(args, 0, block, c->at[i]);
  for (int j = 0; j < c->n; j++) {
    const unit y = unit_at(args, 1, block, c->at[j]);
    const int count = args->n ? j + 1 : c->n;
    double *column = sum + 2 * j * c->n;
    int i = 0;
    for (; i + DOT_GROUP <= count; i += DOT_GROUP)
      units_dots(x + i, DOT_GROUP, &y, &args->shape, column + 2 * i);
    for (; i < count; i++) units_dots(x + i, 1, &y, &args->shape, column + 2 * i);
  }
}

static void gram_chunk(const kaon_update_args *args, const columns *c, int chunk, double *sum) {
  const int64_t nblocks = args->shape.nblocks;
  const int count = gram_chunks(nblocks);
  for (int i = 0; i < 2 * c->n * c->n; i++) sum[i] = 0;
  const int64_t end = nblocks * (chunk + 1) / count;
  for (int64_t block = nblocks * chunk / count; block < end; block++)
    gram_block(args, c, block, sum);
}

/* Adds the chunks in order and writes the slots of the open columns. If only one triangle was
 * summed, it also writes the other. */
static void gram_slots(const kaon_update_args *args, const columns *c, const double *partials) {
  const int n = c->n, first = args->sum.slot[0], count = gram_chunks(args->shape.nblocks);
  for (int j = 0; j < n; j++)
    for (int i = 0; i < (args->n ? j + 1 : n); i++) {
      double total[2] = {0, 0};
      for (int chunk = 0; chunk < count; chunk++)
        for (int r = 0; r < 2; r++)
          total[r] += partials[((size_t)chunk * n * n + (size_t)(j * n + i)) * 2 + (size_t)r];
      if (args->n && i == j) total[1] = 0;
      kaon_set(&args->sum.state[c->at[j]], first + c->at[i], total[0], total[1]);
      if (args->n && i != j)
        kaon_set(&args->sum.state[c->at[i]], first + c->at[j], total[0], -total[1]);
    }
}

typedef struct block_gram_job {
  const kaon_update_args *args;
  const columns *c;
  double *partials;
} block_gram_job;

static void block_gram_share(const void *job, int t, int threads) {
  const block_gram_job *j = job;
  const int count = gram_chunks(j->args->shape.nblocks), n = j->c->n;
  for (int chunk = count * t / threads; chunk < count * (t + 1) / threads; chunk++)
    gram_chunk(j->args, j->c, chunk, j->partials + (size_t)chunk * 2 * (size_t)(n * n));
}

void KAON_EXPORT(kaon_gram)(const kaon_launch *launch, const kaon_update_args *args) {
  const columns c = open_columns(args);
  double *partials = launch->partials;
  const block_gram_job j = {args, &c, partials};
  if (args->v[0].data != NULL && c.n > 0) {
    kaon_team_run(unit_team(launch, &args->shape), block_gram_share, &j);
    gram_slots(args, &c, partials);
  }
  if (args->sum.then == 0) return;
  const kaon_block_team team =
      kaon_block_team_of(args->sum.state, args->shape.nrhs, args->gate.mask, 0, 1, partials);
  kaon_block_run(args->sum.then, &team);
}

/* ---- updates ---- */

/* Entry (i, j) of matrix k is at value[k][2 (j n + i)]; i and j count open columns. */
typedef struct matrices {
  columns c;
  int vectors; /* number of operands; all are written, except the first of axpy */
  real value[MATRICES][2 * KAON_BLOCK_MAX * KAON_BLOCK_MAX];
} matrices;

static void read_matrix(matrices *m, const kaon_update_args *args, int k) {
  const kaon_coefficients *c = &args->c;
  const int n = m->c.n;
  for (int j = 0; j < n; j++)
    for (int i = 0; i < n; i++) {
      const double *slot = c->state[m->c.at[j]].slot[c->slot[k] + m->c.at[i]];
      real *to = m->value[k] + 2 * (j * n + i);
      to[0] = (real)(c->sign[k] * slot[0]);
      to[1] = (real)(args->shape.complex_space ? c->sign[k] * slot[1] : 0);
    }
}

/* The values of all columns at one position. */
typedef vcomplex numbers[KAON_BLOCK_MAX];

/* y_j += sum_i x_i m_ij for `count` columns from j on. */
KAON_INLINE void add_products(const real *m, int n, const vcomplex *x, int j, const int count,
                              vcomplex *y) {
  vcomplex sum[4];
  for (int o = 0; o < count; o++) sum[o] = y[j + o];
  for (int i = 0; i < n; i++)
    for (int o = 0; o < count; o++) {
      const real *z = m + 2 * ((j + o) * n + i);
      sum[o] = c_fma((vcomplex){v_set(z[0]), v_set(z[1])}, x[i], sum[o]);
    }
  for (int o = 0; o < count; o++) y[j + o] = sum[o];
}

static void add_product(const matrices *m, int k, const vcomplex *x, vcomplex *y) {
  const int n = m->c.n;
  int j = 0;
  for (; j + 3 < n; j += 4) add_products(m->value[k], n, x, j, 4, y);
  for (; j < n; j++) add_products(m->value[k], n, x, j, 1, y);
}

static void clear(numbers y, int n) {
  for (int j = 0; j < n; j++) y[j] = (vcomplex){v_set(0), v_set(0)};
}

/* v: the old values of the operands on entry, the new ones on return. */
static void axpy_numbers(const matrices *m, numbers v[MATRICES]) {
  add_product(m, 0, v[0], v[1]);
}

static void rotate_numbers(const matrices *m, numbers v[MATRICES]) {
  numbers q, p;
  const int n = m->c.n;
  clear(q, n);
  add_product(m, 0, v[0], q);
  if (m->vectors > 2) add_product(m, 2, v[1], v[2]);
  if (m->vectors > 1) {
    for (int j = 0; j < n; j++) p[j] = q[j];
    add_product(m, 1, v[1], p);
    for (int j = 0; j < n; j++) v[1][j] = p[j];
  }
  for (int j = 0; j < n; j++) v[0][j] = q[j];
}

typedef void numbers_formula(const matrices *m, numbers v[MATRICES]);

/* The units of all columns and operands in one block; in half also the factors for rounding. */
typedef struct block_units {
  unit u[MATRICES][KAON_BLOCK_MAX];
#if KAON_IS_HALF
  vreal factor[MATRICES][KAON_BLOCK_MAX];
#endif
} block_units;

/* Stores a new value. Half: the first pass only updates the largest value, the second rounds. */
KAON_INLINE void put(block_units *b, int o, int j, int64_t i, vreal a, const int check_finite) {
  unit *u = &b->u[o][j];
#if KAON_IS_HALF
  if (check_finite)
    u->largest = quantise_largest(u->largest, a);
  else
    v_store_int16(u->data + i, a * b->factor[o][j]);
#else
  (void)check_finite;
  v_store_real(u->data + i, a);
#endif
}

KAON_INLINE void update_place(const matrices *m, block_units *b, int64_t i, const int pair,
                              int first_written, numbers_formula *f, const int check_finite) {
  numbers v[MATRICES];
  for (int o = 0; o < m->vectors; o++)
    for (int j = 0; j < m->c.n; j++) v[o][j] = unit_pair(&b->u[o][j], i, pair);
  f(m, v);
  for (int o = first_written; o < m->vectors; o++)
    for (int j = 0; j < m->c.n; j++) {
      put(b, o, j, i, v[o][j].re, check_finite);
      if (pair) put(b, o, j, i + KAON_W, v[o][j].im, check_finite);
    }
}

static void update_places(const matrices *m, block_units *b, int ncomp, int first_written,
                          numbers_formula *f, const int check_finite) {
  int k = 0;
  for (; k + 1 < ncomp; k += 2)
    for (int part = 0; part < KAON_PARTS; part++)
      update_place(m, b, k * KAON_W + part * KAON_VL, 1, first_written, f, check_finite);
  if (k < ncomp)
    for (int part = 0; part < KAON_PARTS; part++)
      update_place(m, b, k * KAON_W + part * KAON_VL, 0, first_written, f, check_finite);
}

static void update_block(const matrices *m, const kaon_update_args *args, int64_t block,
                         int first_written, numbers_formula *f) {
  block_units b;
  for (int o = 0; o < m->vectors; o++)
    for (int j = 0; j < m->c.n; j++) b.u[o][j] = unit_at(args, o, block, m->c.at[j]);
#if KAON_IS_HALF
  update_places(m, &b, args->shape.ncomp, first_written, f, 1);
  for (int o = first_written; o < m->vectors; o++)
    for (int j = 0; j < m->c.n; j++) b.factor[o][j] = quantise_factor(b.u[o][j].largest);
#endif
  update_places(m, &b, args->shape.ncomp, first_written, f, 0);
#if KAON_IS_HALF
  for (int o = first_written; o < m->vectors; o++)
    for (int j = 0; j < m->c.n; j++) v_store_real(b.u[o][j].scale, b.u[o][j].largest);
#endif
}

typedef struct block_update_job {
  matrices m; /* large: only the parts in use are set */
  const kaon_update_args *args;
  int first_written;
  numbers_formula *f;
} block_update_job;

static void update_chunk(const void *job, int chunk, double *partial) {
  const block_update_job *j = job;
  const columns *c = &j->m.c;
  const int64_t nblocks = j->args->shape.nblocks, end = kaon_chunk_begin(nblocks, chunk + 1);
  for (int64_t block = kaon_chunk_begin(nblocks, chunk); block < end; block++) {
    update_block(&j->m, j->args, block, j->first_written, j->f);
    for (int k = 0; partial != NULL && k < c->n; k++)
      partial[2 * c->at[k]] += unit_norm(j->args, 1, (span){block, c->at[k], 1});
  }
}

static void update(const kaon_launch *launch, const kaon_update_args *args, int count, int vectors,
                   int first_written, numbers_formula *f) {
  const kaon_shape *s = &args->shape;
  const int wants = args->sum.state != NULL && args->sum.slot[0] != KAON_NO_SLOT;
  block_update_job j;
  j.m.c = open_columns(args);
  j.m.vectors = vectors;
  for (int k = 0; k < count; k++) read_matrix(&j.m, args, k);
  j.args = args;
  j.first_written = first_written;
  j.f = f;
  const kaon_chunks chunks = {s->nblocks,   s->nrhs, 1, wants ? launch->partials : NULL,
                              update_chunk, &j};
  kaon_team_run(unit_team(launch, s), kaon_chunks_share, &chunks);
  kaon_reduce_finish(launch->partials, s->nblocks, s->nrhs, &args->gate, &args->sum, wants);
}

void KAON_EXPORT(kaon_block_axpy)(const kaon_launch *launch, const kaon_update_args *args) {
  update(launch, args, 1, 2, 1, axpy_numbers);
}

void KAON_EXPORT(kaon_block_rotate)(const kaon_launch *launch, const kaon_update_args *args) {
  const int vectors = args->v[1].data == NULL ? 1 : args->v[2].data == NULL ? 2 : 3;
  update(launch, args, vectors, vectors, 0, rotate_numbers);
}
