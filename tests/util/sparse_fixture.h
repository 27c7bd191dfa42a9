/* sparse_fixture.h - products of a stored matrix by the kernel table of a machine, against plain C in
 * long double. Functions are static; a failure ends the program.
 *
 * Bounds: the product of a row of n entries has an error of at most (n + 6) roundings (complex:
 * twice as many) of the sum of its terms' magnitudes, in any order; one more for b. Sums are
 * compared with those of the exported result: (rows + 64) roundings of double. */
#ifndef SPARSE_FIXTURE_H
#define SPARSE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "blas/blas.h"
#include "lib/vector/space.h"
#include "sparse/storage/stored.h"
#include "tests/util/machine.h"
#include "tests/util/stored_rows.h"
#include "tests/util/test_util.h"

enum { MOST_COLUMNS = 16, GHOSTS = 70, NORM = 30, DOT = 31, NORM_W = 32 };

static uint64_t seed = 1;

static inline void add_entry(kaon_csr *csr, int64_t column) {
  const int64_t at = csr->start[csr->rows]++;
  csr->column[at] = (int32_t)column;
  for (int c = 0; c < csr->reals; c++) csr->value[at * csr->reals + c] = test_uniform(&seed);
}

static inline void free_rows(kaon_csr *csr) {
  free(csr->start), free(csr->column), free(csr->value);
}

/* ---- a matrix, vectors x, b, w, y, and ghosts ---- */

enum { X, B, W, Y, VECTORS };

typedef struct fixture {
  kaon_context *ctx;
  const kaon_csr *csr;
  stored_shape shape;
  stored_rows stored;
  kaon_stored *made; /* by the library, which chooses the form: then stored.matrix is its */
  kaon_space space;
  int nrhs;
  kaon_vector *v[VECTORS];
  double *host[VECTORS]; /* [column][row][part] */
  double *ghosts;        /* [column][ghost][part] */
  long double *product;  /* A x: [column][row][part]; x does not change */
  double *size;          /* sum of its terms' magnitudes: [column][row] */
  void *ghost_data;
  kaon_scalars *scalars;
  kaon_column_state state[MOST_COLUMNS];
} fixture;

static inline size_t column_count(const fixture *b) {
  return (size_t)b->csr->rows * (size_t)b->csr->reals;
}

static inline void make_ghosts(fixture *b) {
  const int width = b->ctx->backend->width, reals = b->csr->reals, nrhs = b->nrhs;
  const size_t size = b->shape.precision == KAON_DOUBLE ? 8 : 4;
  const int pack = kaon_pack(b->ctx->backend->access, reals, (int)size);
  const int64_t blocks = (GHOSTS + width - 1) / width;
  const size_t bytes = (size_t)(blocks * width * nrhs * reals) * size;
  char *data = stored_room(bytes);
  b->ghosts = stored_room((size_t)(nrhs * GHOSTS * reals) * sizeof *b->ghosts);
  for (int k = 0; k < nrhs; k++)
    for (int n = 0; n < GHOSTS; n++)
      for (int c = 0; c < reals; c++) {
        const int64_t at = kaon_packed_index(n / width, k, c, n % width, nrhs, reals, width, pack);
        const float value = (float)test_uniform(&seed);
        b->ghosts[(k * GHOSTS + n) * reals + c] = value;
        if (size == 8)
          ((double *)(void *)data)[at] = value;
        else
          ((float *)(void *)data)[at] = value;
      }
  b->ghost_data = machine_array(b->ctx, data, bytes);
  free(data);
}

static inline void export_vector(const fixture *b, int i) {
  for (int k = 0; k < b->nrhs; k++)
    must(b->ctx, kaon_vector_export(b->v[i], k, b->host[i] + (size_t)k * column_count(b),
                                    KAON_BASIS_UKQCD));
}

/* shape: of the vectors, and of values as they are stored. */
static inline void fixture_fill(fixture *b, const stored_shape *shape, unsigned closed) {
  kaon_context *ctx = b->ctx;
  const kaon_csr *csr = b->csr;
  const int width = ctx->backend->width, nrhs = b->nrhs;
  b->space = (kaon_space){.ctx = ctx,
                          .inner = 1,
                          .nblocks = (csr->rows + width - 1) / width,
                          .nsites = csr->rows,
                          .width = width,
                          .ncomp = csr->reals,
                          .complex_space = csr->reals == 2};
  for (int i = 0; i < VECTORS; i++) {
    must(ctx, kaon_vector_create(ctx, &b->space, shape->precision, nrhs, &b->v[i]));
    b->host[i] = stored_room(column_count(b) * (size_t)nrhs * sizeof(double));
    for (size_t n = 0; n < column_count(b) * (size_t)nrhs; n++) b->host[i][n] = test_uniform(&seed);
    for (int k = 0; k < nrhs; k++)
      must(ctx, kaon_vector_import(b->v[i], k, b->host[i] + (size_t)k * column_count(b),
                                   KAON_BASIS_UKQCD));
    export_vector(b, i); /* as it is stored */
  }
  make_ghosts(b);
  must(ctx, kaon_scalars_create(ctx, nrhs, &b->scalars));
  must(ctx, kaon_scalars_read(b->scalars, b->state));
  for (int k = 0; k < nrhs; k++)
    b->state[k].gate = closed >> k & 1 ? KAON_GATE_SERVICE : KAON_GATE_STEP;
  must(ctx, kaon_scalars_write(b->scalars, b->state));
}

/* closed: columns whose gate is, a bit each. */
static inline void fixture_open(fixture *b, kaon_context *ctx, const kaon_csr *csr,
                                const stored_shape *shape, int nrhs, unsigned closed) {
  *b = (fixture){.ctx = ctx, .csr = csr, .shape = *shape, .nrhs = nrhs};
  stored_open(ctx, csr, shape, &b->stored);
  fixture_fill(b, shape, closed);
}

/* The same in the form that the library takes; of `shape` precision, half and interior count. */
static inline void fixture_open_made(fixture *b, kaon_context *ctx, const kaon_csr *csr,
                                     const stored_shape *shape, int nrhs, unsigned closed) {
  *b = (fixture){.ctx = ctx, .csr = csr, .shape = *shape, .nrhs = nrhs};
  must(ctx, kaon_stored_create(ctx, csr, shape->interior * ctx->backend->width, shape->precision,
                               shape->half, KAON_STORE_AUTO, &b->made));
  b->stored = (stored_rows){.ctx = ctx, .matrix = b->made->matrix};
  b->shape.rounded = 1;
  b->shape.form = b->made->matrix.form;
  b->shape.lanes = b->made->matrix.lanes;
  fixture_fill(b, shape, closed);
}

static inline void fixture_close(fixture *b) {
  for (int i = 0; i < VECTORS; i++) {
    kaon_vector_destroy(&b->v[i]);
    free(b->host[i]);
  }
  free(b->ghosts), free(b->product), free(b->size);
  machine_array_free(b->ctx, b->ghost_data);
  kaon_scalars_destroy(&b->scalars);
  stored_close(&b->stored);
  kaon_stored_destroy(&b->made);
}

static inline int is_open(const fixture *b, int k) {
  return b->state[k].gate == KAON_GATE_STEP;
}

/* ---- the product ---- */

/* How y is made of b: not at all, from another vector, in place. */
enum { NO_B, OTHER_B, OWN_B };
typedef struct call {
  int b, parts, sums, w;
  double a;
} call;

/* The sums that the product's own kernel computes. */
static inline int sums_of(const fixture *b, const call *c) {
  const kaon_sparse_ops *ops = b->ctx->backend->sparse[b->shape.precision];
  return ops->sums(&b->stored.matrix, b->nrhs) & KAON_SUMS_NORM ? c->sums : 0;
}

static inline void product(fixture *b, const call *c) {
  const int sums = sums_of(b, c);
  kaon_launch launch;
  must(b->ctx, kaon_launch_prepare(b->ctx, b->nrhs, 0, &launch));
  kaon_spmv_args args = {.matrix = &b->stored.matrix, .nrhs = b->nrhs, .a = c->a};
  args.x = kaon_view_of(b->v[X]);
  args.ghosts.data = b->ghost_data;
  args.y = kaon_view_of(b->v[Y]);
  if (c->b != NO_B) args.b = kaon_view_of(b->v[c->b == OWN_B ? Y : B]);
  args.gate.state = b->scalars->state;
  args.gate.mask = KAON_GATE_STEP;
  for (int i = 0; i < 4; i++) args.sum.slot[i] = KAON_NO_SLOT;
  if (sums) {
    args.w = kaon_view_of(b->v[c->w]);
    args.sum.state = b->scalars->state;
    if (sums & 1) args.sum.slot[0] = NORM;
    if (sums & 2) args.sum.slot[1] = DOT;
    if (sums & 4) args.sum.slot[2] = NORM_W;
  }
  const kaon_sparse_ops *ops = b->ctx->backend->sparse[b->shape.precision];
  args.part = c->parts ? KAON_ROWS_INTERIOR : KAON_ROWS_ALL;
  ops->spmv(&launch, &args);
  args.part = KAON_ROWS_BOUNDARY;
  if (c->parts) ops->spmv(&launch, &args);
  must(b->ctx, kaon_context_synchronise(b->ctx));
}

/* Row i of A x in column k, and the sum of its terms' magnitudes. */
static inline void expect_row(const fixture *b, int64_t i, float largest, int k) {
  const kaon_csr *m = b->csr;
  const int reals = m->reals;
  const size_t first = (size_t)k * column_count(b);
  long double s[2] = {0, 0}, size = 0;
  for (int64_t e = m->start[i]; e < m->start[i + 1]; e++) {
    const int64_t j = m->column[e];
    const double *x = j < m->rows ? b->host[X] + first + j * reals
                                  : b->ghosts + (k * GHOSTS + j - m->rows) * reals;
    double v[2] = {0, 0};
    for (int p = 0; p < reals; p++)
      v[p] = stored_number(m->value[e * reals + p], largest, &b->shape);
    if (reals == 1) {
      s[0] += (long double)v[0] * x[0];
      size += fabs(v[0] * x[0]);
    } else {
      s[0] += (long double)v[0] * x[0] - (long double)v[1] * x[1];
      s[1] += (long double)v[0] * x[1] + (long double)v[1] * x[0];
      size += (fabs(v[0]) + fabs(v[1])) * (fabs(x[0]) + fabs(x[1]));
    }
  }
  for (int p = 0; p < reals; p++) b->product[first + (size_t)(i * reals + p)] = s[p];
  b->size[k * m->rows + i] = (double)size;
}

static inline void expect_product(fixture *b) {
  const size_t n = column_count(b) * (size_t)b->nrhs;
  b->product = stored_room(n * sizeof *b->product);
  b->size = stored_room(n * sizeof *b->size);
  for (int64_t i = 0; i < b->csr->rows; i++) {
    const float largest = stored_largest(b->csr, i);
    for (int k = 0; k < b->nrhs; k++)
      if (is_open(b, k)) expect_row(b, i, largest, k);
  }
}

/* Error / bound of row i of column k; y: what it held before. */
static inline double check_row(const fixture *b, const call *c, int64_t i, int k, const double *y) {
  const kaon_csr *m = b->csr;
  const int reals = m->reals;
  const double u = b->shape.precision == KAON_DOUBLE ? 0x1p-53 : 0x1p-24;
  const size_t own = (size_t)k * column_count(b) + (size_t)(i * reals);
  const long double *s = b->product + own;
  double worst = 0;
  for (int p = 0; p < reals; p++) {
    const double before = c->b == OWN_B ? y[own + (size_t)p] : b->host[B][own + (size_t)p];
    const long double value = c->b == NO_B ? s[p] : before + (long double)(float)c->a * s[p];
    const long double error = fabsl(b->host[Y][own + (size_t)p] - value);
    const double n = (double)(m->start[i + 1] - m->start[i]);
    const double factor = c->b == NO_B ? 1 : fabs(c->a);
    const double bound = u * ((reals * n + 6) * factor * b->size[k * m->rows + i] +
                              (c->b == NO_B ? 0 : 3 * fabs(before)));
    if (!(error <= 0)) worst = larger(worst, bound > 0 ? (double)error / bound : HUGE_VAL);
    if (error != error) worst = HUGE_VAL;
  }
  return worst;
}

static inline double check_slot(const fixture *b, int k, int slot, const double *x,
                                const double *y) {
  const int reals = b->csr->reals;
  const size_t n = column_count(b), first = (size_t)k * n;
  long double re = 0, im = 0, size = 0;
  for (size_t i = first; i < first + n; i += (size_t)reals) {
    for (int p = 0; p < reals; p++) re += (long double)x[i + (size_t)p] * y[i + (size_t)p];
    if (reals == 2) im += (long double)x[i] * y[i + 1] - (long double)x[i + 1] * y[i];
    for (int p = 0; p < reals; p++)
      for (int q = 0; q < reals; q++) size += fabs(x[i + (size_t)p] * y[i + (size_t)q]);
  }
  const double bound = ((double)n + 64) * 0x1p-53 * (double)size;
  const double *found = b->state[k].slot[slot];
  const double error = larger((double)fabsl(found[0] - re), (double)fabsl(found[1] - im));
  return error == 0 ? 0 : error / bound; /* of zeros the bound is 0 */
}

static inline double check_product(fixture *b, const call *c) {
  const size_t n = column_count(b) * (size_t)b->nrhs;
  double *y = stored_room(n * sizeof *y), worst = 0;
  memcpy(y, b->host[Y], n * sizeof *y);
  if (b->product == NULL) expect_product(b);
  for (int k = 0; k < b->nrhs; k++)
    for (int s = NORM; s <= NORM_W; s++) b->state[k].slot[s][0] = b->state[k].slot[s][1] = -77;
  must(b->ctx, kaon_scalars_write(b->scalars, b->state));
  product(b, c);
  export_vector(b, Y);
  must(b->ctx, kaon_scalars_read(b->scalars, b->state));
  for (int k = 0; k < b->nrhs; k++) {
    const size_t first = (size_t)k * column_count(b);
    const double *from[3] = {b->host[Y], b->host[c->w], b->host[c->w]};
    const double *with[3] = {b->host[Y], b->host[Y], b->host[c->w]};
    if (!is_open(b, k))
      assert_memory_equal(y + first, b->host[Y] + first, column_count(b) * sizeof *y);
    for (int64_t i = 0; is_open(b, k) && i < b->csr->rows; i++)
      worst = larger(worst, check_row(b, c, i, k, y));
    for (int s = 0; s < 3; s++) {
      if (is_open(b, k) && sums_of(b, c) >> s & 1)
        worst = larger(worst, check_slot(b, k, NORM + s, from[s], with[s]));
      else
        assert_true(b->state[k].slot[NORM + s][0] == -77);
    }
  }
  free(y);
  return worst;
}

/* The same bits again, in any parts; y of `c` must be fresh. */
static inline void check_bits(fixture *b, call c) {
  const size_t n = column_count(b) * (size_t)b->nrhs;
  double *first = stored_room(n * sizeof *first);
  kaon_column_state once[MOST_COLUMNS];
  product(b, &c);
  export_vector(b, Y);
  must(b->ctx, kaon_scalars_read(b->scalars, once));
  memcpy(first, b->host[Y], n * sizeof *first);
  product(b, &c);
  export_vector(b, Y);
  must(b->ctx, kaon_scalars_read(b->scalars, b->state));
  assert_memory_equal(first, b->host[Y], n * sizeof *first);
  assert_memory_equal(once, b->state, (size_t)b->nrhs * sizeof *once);
  c.parts = !c.parts;
  product(b, &c);
  export_vector(b, Y);
  /* rows distributed by entries are summed in another order if the parts end elsewhere */
  const int ordered =
      b->ctx->backend->host_accessible || (b->shape.form == KAON_STORED_CSR && b->shape.lanes > 0);
  if (b->shape.form != KAON_STORED_CSR || ordered)
    assert_memory_equal(first, b->host[Y], n * sizeof *first);
  free(first);
}

static inline int lacks_table(kaon_context *ctx, int machine) {
  if (ctx->backend->sparse[KAON_DOUBLE] != NULL) return 0;
  print_message("%s: no kernels of sparse matrices, skipped\n", machine_name(machine));
  return 1;
}

#endif
