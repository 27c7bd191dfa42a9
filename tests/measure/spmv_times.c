/* spmv_times.c - products of sparse matrices on a device: every way of storing rows, called in the
 * kernel table itself, and cuSPARSE's algorithms on the same matrix in the same run, timed by
 * events. A program to run by hand: cmake --build <build> --target spmv_times;
 * <build>/tests/spmv_times FILE.json [laplace|elasticity|trefethen ...] [double|single|half]
 * [variants]: those also by kernels that have more or less on their way. */
#include <cuda_runtime_api.h>
#define DISABLE_CUSPARSE_DEPRECATED
#include <cusparse.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/machine.h"
#include "kaon/kaon.h"
#include "lib/operator.h"
#include "lib/space.h"
#include "tests/measure/sell_variants.h"
#include "tests/util/stored_rows.h"

enum { SAMPLES = 7, WARM_UP = 3, LEAST_CALLS = 10, MOST_CALLS = 2000, MOST_COLUMNS = 4 };
enum { NORM = 100, DOT = 101 };
static const double sample_ms = 6;

static const char *const type_names[] = {"double", "single", "half values"};

typedef struct bed {
  kaon_context *ctx;
  kaon_context_info info;
  machine machine;
  FILE *json;
  int written;
  const char *name; /* of the matrix */
  kaon_csr csr;
  cudaEvent_t begin, end;
  kaon_space space;
  kaon_vector *x, *y;
  kaon_scalars *scalars;
  double *expected; /* y of the first way, which the others are held against; [row] */
  int types[3];     /* which are wanted */
  int near;         /* columns of a line of the matrix are within 16 bits */
  int variant;      /* of the kernel of SELL and ELL; -1: the library's */
  int variants;     /* those are wanted */
} bed;

static void ok(kaon_status status) {
  if (status == KAON_OK) return;
  fprintf(stderr, "spmv_times: %s\n", kaon_last_error(NULL));
  exit(EXIT_FAILURE);
}

static void cuda_ok(cudaError_t status) {
  if (status == cudaSuccess) return;
  fprintf(stderr, "spmv_times: %s\n", cudaGetErrorString(status));
  exit(EXIT_FAILURE);
}

/* ---- matrices ---- */

static double number(int64_t i, int64_t j) { /* without a pattern, symmetric, in [-1, 1) */
  uint64_t z = (uint64_t)(i < j ? i : j) * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)(i + j);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return (double)(int64_t)(z ^ (z >> 31)) * 0x1p-63;
}

/* The columns of a row in `column`; returns how many. */
typedef int row_maker(int64_t n, int64_t row, int32_t *column);
enum { LONGEST = 128 };

static int laplace_row(int64_t n, int64_t row, int32_t *column) {
  const int64_t x = row % n, y = row / n % n, z = row / (n * n);
  int k = 0;
  if (z > 0) column[k++] = (int32_t)(row - n * n);
  if (y > 0) column[k++] = (int32_t)(row - n);
  if (x > 0) column[k++] = (int32_t)(row - 1);
  column[k++] = (int32_t)row;
  if (x < n - 1) column[k++] = (int32_t)(row + 1);
  if (y < n - 1) column[k++] = (int32_t)(row + n);
  if (z < n - 1) column[k++] = (int32_t)(row + n * n);
  return k;
}

static int elasticity_row(int64_t n, int64_t row, int32_t *column) {
  const int64_t node = row / 3, x = node % n, y = node / n % n, z = node / (n * n);
  int k = 0;
  for (int64_t c = z - 1; c <= z + 1; c++)
    for (int64_t b = y - 1; b <= y + 1; b++)
      for (int64_t a = x - 1; a <= x + 1; a++) {
        if (a < 0 || b < 0 || c < 0 || a >= n || b >= n || c >= n) continue;
        for (int d = 0; d < 3; d++) column[k++] = (int32_t)(3 * (a + n * (b + n * c)) + d);
      }
  return k;
}

static int trefethen_row(int64_t n, int64_t row, int32_t *column) {
  int k = 0;
  int64_t step = 1;
  while (step < n) step *= 2;
  for (; step > 0; step /= 2)
    if (row - step >= 0) column[k++] = (int32_t)(row - step);
  column[k++] = (int32_t)row;
  for (step = 1; step < n; step *= 2)
    if (row + step < n) column[k++] = (int32_t)(row + step);
  return k;
}

static void make_matrix(bed *b, row_maker *maker, int64_t n, int64_t rows) {
  kaon_csr *m = &b->csr;
  *m = (kaon_csr){.rows = rows, .columns = rows, .reals = 1};
  m->start = stored_room((size_t)(rows + 1) * sizeof *m->start);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < rows; i++) {
    int32_t column[LONGEST];
    m->start[i + 1] = maker(n, i, column);
  }
  for (int64_t i = 0; i < rows; i++) m->start[i + 1] += m->start[i];
  m->column = stored_room((size_t)m->start[rows] * sizeof *m->column);
  m->value = stored_room((size_t)m->start[rows] * sizeof *m->value);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < rows; i++) {
    const int count = maker(n, i, m->column + m->start[i]);
    for (int k = 0; k < count; k++) {
      const int64_t at = m->start[i] + k;
      m->value[at] = m->column[at] == i ? count : number(i, m->column[at]);
    }
  }
}

/* Whether the j-th columns of 32 rows are never more than 16 bits apart. */
static int columns_are_near(const kaon_csr *m) {
  int far = 0;
#pragma omp parallel for schedule(static) reduction(| : far)
  for (int64_t first = 0; first < m->rows; first += 32)
    for (int64_t j = 0, any = 1; any && !far; j++) {
      int64_t least = m->rows, most = 0;
      any = 0;
      for (int64_t i = first; i < first + 32; i++) {
        const int64_t count = i < m->rows ? m->start[i + 1] - m->start[i] : 0;
        any |= j < count;
        const int64_t at = j < count ? j : count - 1;
        const int64_t column = i >= m->rows ? 0 : count > 0 ? m->column[m->start[i] + at] : i;
        if (column < least) least = column;
        if (column > most) most = column;
      }
      far |= most - least > UINT16_MAX;
    }
  return !far;
}

/* ---- vectors ---- */

static void open_vectors(bed *b, kaon_precision precision, int columns) {
  const int64_t rows = b->csr.rows;
  b->space = (kaon_space){
      .ctx = b->ctx, .nblocks = (rows + 31) / 32, .nsites = rows, .width = 32, .ncomp = 1};
  ok(kaon_vector_create(b->ctx, &b->space, precision, columns, &b->x));
  ok(kaon_vector_create(b->ctx, &b->space, precision, columns, &b->y));
  double *host = stored_room((size_t)rows * sizeof *host);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < rows; i++) host[i] = (float)number(i, -1);
  for (int k = 0; k < columns; k++) ok(kaon_vector_import(b->x, k, host, KAON_BASIS_UKQCD));
  free(host);
  ok(kaon_scalars_create(b->ctx, columns, &b->scalars));
  kaon_column_state *state = stored_room((size_t)columns * sizeof *state);
  for (int k = 0; k < columns; k++) state[k].gate = KAON_GATE_STEP;
  ok(kaon_scalars_write(b->scalars, state));
  free(state);
}

static void close_vectors(bed *b) {
  kaon_vector_destroy(&b->x);
  kaon_vector_destroy(&b->y);
  kaon_scalars_destroy(&b->scalars);
}

/* Largest difference from the first way, relative to the largest number. */
static double difference(bed *b, int column) {
  const int64_t rows = b->csr.rows;
  double *y = stored_room((size_t)rows * sizeof *y), worst = 0, largest = 0;
  ok(kaon_vector_export(b->y, column, y, KAON_BASIS_UKQCD));
  if (b->expected == NULL) {
    b->expected = y;
    return 0;
  }
  for (int64_t i = 0; i < rows; i++) {
    const double error = fabs(y[i] - b->expected[i]);
    if (!(error <= worst)) worst = error;
    if (fabs(y[i]) > largest) largest = fabs(y[i]);
  }
  free(y);
  return worst / largest;
}

/* ---- times ---- */

typedef struct way {
  const kaon_stored_matrix *matrix; /* ours */
  int columns, sums;
  cusparseHandle_t handle; /* cuSPARSE's */
  cusparseSpMatDescr_t sparse;
  cusparseDnVecDescr_t in, out;
  cusparseSpMVAlg_t algorithm;
  cudaDataType type;
  void *workspace;
  kaon_precision precision;
} way;

static void run_once(bed *b, const way *w) {
  const double one[2] = {1, 0};
  const float one_single[2] = {1, 0};
  if (w->matrix == NULL) {
    const void *alpha = w->type == CUDA_R_64F ? (const void *)one : (const void *)one_single;
    const void *beta =
        w->type == CUDA_R_64F ? (const void *)(one + 1) : (const void *)(one_single + 1);
    cusparseSpMV(w->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, alpha, w->sparse, w->in, beta, w->out,
                 w->type, w->algorithm, w->workspace);
    return;
  }
  kaon_launch launch;
  ok(kaon_launch_prepare(b->ctx, w->columns, 0, &launch));
  kaon_spmv_args args = {.matrix = w->matrix, .nrhs = w->columns, .a = 1};
  args.x = kaon_view_of(b->x);
  args.y = kaon_view_of(b->y);
  for (int i = 0; i < 4; i++) args.sum.slot[i] = KAON_NO_SLOT;
  if (w->sums) {
    args.w = args.x;
    args.sum.state = b->scalars->state;
    args.sum.slot[0] = NORM;
    args.sum.slot[1] = DOT;
  }
  if (b->variant < 0)
    b->ctx->backend->sparse[w->precision]->spmv(&launch, &args);
  else if (w->precision == KAON_DOUBLE)
    sell_variant_d(&launch, &args, b->variant);
  else
    sell_variant_s(&launch, &args, b->variant);
  b->ctx->calm = 1;
}

static double batch(bed *b, const way *w, int calls) {
  float ms;
  cuda_ok(cudaEventRecord(b->begin, b->ctx->queue));
  for (int i = 0; i < calls; i++) run_once(b, w);
  cuda_ok(cudaEventRecord(b->end, b->ctx->queue));
  cuda_ok(cudaEventSynchronize(b->end));
  cuda_ok(cudaEventElapsedTime(&ms, b->begin, b->end));
  return ms / calls;
}

static int by_size(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Seconds: median, and the smallest and the largest. */
static void measure(bed *b, const way *w, double seconds[3]) {
  double ms[SAMPLES];
  batch(b, w, WARM_UP);
  const double one = batch(b, w, WARM_UP);
  int calls = (int)(sample_ms / one);
  if (calls < LEAST_CALLS) calls = LEAST_CALLS;
  if (calls > MOST_CALLS) calls = MOST_CALLS;
  for (int s = 0; s < SAMPLES; s++) ms[s] = batch(b, w, calls);
  qsort(ms, SAMPLES, sizeof *ms, by_size);
  seconds[0] = 1e-3 * ms[SAMPLES / 2];
  seconds[1] = 1e-3 * ms[0];
  seconds[2] = 1e-3 * ms[SAMPLES - 1];
}

/* type: 0 double, 1 single, 2 values of 16 bits; index: bytes of columns and starts as they are
 * stored. The bytes that a product moves at least: those, values, x, y and scales. */
static double ideal_bytes(const bed *b, int type, int columns, double index) {
  static const double value[] = {8, 4, 2}, row[] = {16, 8, 8}, scale[] = {0, 0, 4};
  return index + (double)b->csr.start[b->csr.rows] * value[type] +
         (double)b->csr.rows * (row[type] * columns + scale[type]);
}

static void write_row(bed *b, const char *form, int lanes, int type, int columns, int sums,
                      const double s[3], double index, double error) {
  const double bytes = ideal_bytes(b, type, columns, index);
  const double entries = (double)b->csr.start[b->csr.rows];
  const double flops = 2 * entries * columns;
  printf(
      "%-10s %-11s %-20s lanes %2d, %d columns, sums %d: %9.2f us, %6.1f GFLOPS, %6.1f GB/s, "
      "%5.1f %% of reads; differs by %.1e\n",
      b->name, type_names[type], form, lanes, columns, sums, 1e6 * s[0], 1e-9 * flops / s[0],
      1e-9 * bytes / s[0], 1e-7 * bytes / s[0] / b->machine.read_gbs, error);
  fflush(stdout);
  if (b->json == NULL) return;
  fprintf(b->json,
          "%s  {\"bench\": \"spmv\", \"command\": \"spmv_times\", \"backend\": \"cuda\", "
          "\"ranks\": 1, \"lattice\": null, \"links\": null, \"device\": \"%s\", "
          "\"commit\": \"%s\", \"matrix\": \"%s\", \"rows\": %lld, \"entries\": %.0f, "
          "\"precision\": \"%s\", \"form\": \"%s\", \"lanes\": %d, \"columns\": %d, "
          "\"sums\": %d, \"bytes\": %.0f, \"seconds\": %.9g, \"seconds_min\": %.9g, "
          "\"seconds_max\": %.9g, "
          "\"gflops\": %.9g, \"ideal_gbs\": %.9g, \"limit_gbs\": %.9g, \"difference\": %.3g}",
          b->written++ ? ",\n" : "", b->info.device, kaon_commit(), b->name, (long long)b->csr.rows,
          entries, type_names[type], form, lanes, columns, sums, bytes, s[0], s[1], s[2],
          1e-9 * flops / s[0], 1e-9 * bytes / s[0], b->machine.read_gbs, error);
}

/* ---- ours ---- */

static void our_row(bed *b, stored_rows *stored, const char *form, int type, int lanes, int columns,
                    int sums) {
  double seconds[3];
  way w = {.matrix = &stored->matrix,
           .columns = columns,
           .sums = sums,
           .precision = type == 0 ? KAON_DOUBLE : KAON_SINGLE};
  stored->matrix.lanes = lanes;
  measure(b, &w, seconds);
  write_row(b, form, lanes, type, columns, sums, seconds, (double)stored->index_bytes,
            difference(b, columns - 1));
}

/* The same by kernels that differ in what they have on their way (sell_variants.cu). */
static void our_variants(bed *b, stored_rows *stored, const char *form, int type, int sums) {
  for (int v = 0; v < sell_variants; v++) {
    char name[48];
    b->variant = v;
    snprintf(name, sizeof name, "%s:%s", form, sell_variant_names[v]);
    if (sell_variant_takes(v, &stored->matrix)) our_row(b, stored, name, type, 0, 1, sums);
  }
  b->variant = -1;
}

static void our_form(bed *b, int type, int form, int columns, int kind) {
  static const char *const names[] = {"csr", "sell", "ell"};
  static const char *const kinds[] = {"", " narrow", " shared"};
  stored_rows stored;
  char name[32];
  const stored_shape shape = {.precision = type == 0 ? KAON_DOUBLE : KAON_SINGLE,
                              .half = type == 2,
                              .form = form,
                              .columns = kind};
  const double mean = (double)b->csr.start[b->csr.rows] / (double)b->csr.rows;
  snprintf(name, sizeof name, "%s%s", names[form], kinds[kind]);
  stored_open(b->ctx, &b->csr, &shape, &stored);
  for (int sums = 0; sums < 2; sums++) {
    if (form == KAON_STORED_CSR) {
      for (int lanes = 1; lanes <= 32; lanes *= 2)
        if (lanes <= mean && (mean <= 16 * lanes) &&
            !(sums && (lanes > mean / 2 || 8 * lanes < mean)))
          our_row(b, &stored, name, type, lanes, columns, sums);
      our_row(b, &stored, "csr shared out", type, 0, columns, sums);
      continue;
    }
    our_row(b, &stored, name, type, 0, columns, sums);
    if (b->variants && columns == 1) our_variants(b, &stored, name, type, sums);
  }
  stored_close(&stored);
}

/* SELL or ELL with columns of every kind that the matrix allows. */
static void our_blocks(bed *b, int type, int form, int columns) {
  for (int kind = KAON_COLUMNS_WHOLE; kind <= KAON_COLUMNS_SHARED; kind++)
    if (kind != KAON_COLUMNS_NARROW || b->near) our_form(b, type, form, columns, kind);
}

/* ---- cuSPARSE ---- */

static void sparse_ok(cusparseStatus_t status) {
  if (status == CUSPARSE_STATUS_SUCCESS) return;
  fprintf(stderr, "spmv_times: %s\n", cusparseGetErrorString(status));
  exit(EXIT_FAILURE);
}

static void their_row(bed *b, way *w, const char *form, int type) {
  const double one[2] = {1, 0};
  const float one_single[2] = {1, 0};
  const void *alpha = type == 0 ? (const void *)one : (const void *)one_single;
  const void *beta = type == 0 ? (const void *)(one + 1) : (const void *)(one_single + 1);
  size_t bytes = 0;
  double seconds[3];
  sparse_ok(cusparseSpMV_bufferSize(w->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, alpha, w->sparse,
                                    w->in, beta, w->out, w->type, w->algorithm, &bytes));
  cuda_ok(cudaMalloc(&w->workspace, bytes > 0 ? bytes : 1));
  sparse_ok(cusparseSpMV_preprocess(w->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, alpha, w->sparse,
                                    w->in, beta, w->out, w->type, w->algorithm, w->workspace));
  measure(b, w, seconds);
  const double index = 4.0 * (double)(b->csr.start[b->csr.rows] + b->csr.rows);
  write_row(b, form, 0, type, 1, 0, seconds, index, difference(b, 0));
  cuda_ok(cudaFree(w->workspace));
}

static void their_csr(bed *b, way *w, int type) {
  static const struct {
    const char *name;
    cusparseSpMVAlg_t algorithm;
  } algorithms[] = {{"cusparse csr", CUSPARSE_SPMV_ALG_DEFAULT},
                    {"cusparse csr 1", CUSPARSE_SPMV_CSR_ALG1},
                    {"cusparse csr 2", CUSPARSE_SPMV_CSR_ALG2}};
  const stored_shape shape = {.precision = type == 0 ? KAON_DOUBLE : KAON_SINGLE,
                              .form = KAON_STORED_CSR};
  stored_rows s;
  stored_open(b->ctx, &b->csr, &shape, &s);
  sparse_ok(cusparseCreateCsr(&w->sparse, b->csr.rows, b->csr.rows, b->csr.start[b->csr.rows],
                              s.arrays[0], s.arrays[1], s.arrays[2], CUSPARSE_INDEX_32I,
                              CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, w->type));
  for (int i = 0; i < 3; i++) {
    w->algorithm = algorithms[i].algorithm;
    their_row(b, w, algorithms[i].name, type);
  }
  sparse_ok(cusparseDestroySpMat(w->sparse));
  stored_close(&s);
}

/* Its sliced ELL is our SELL, whose starts count entries. */
static void their_sell(bed *b, way *w, int type) {
  const stored_shape shape = {
      .precision = type == 0 ? KAON_DOUBLE : KAON_SINGLE, .form = KAON_STORED_SELL, .wide = 1};
  const int64_t rows = b->csr.rows, blocks = (rows + 31) / 32;
  stored_rows s;
  stored_open(b->ctx, &b->csr, &shape, &s);
  int64_t *start = stored_room((size_t)(blocks + 1) * sizeof *start);
  ok(b->ctx->backend->memory->to_host(b->ctx, start, s.arrays[0],
                                      (size_t)(blocks + 1) * sizeof *start));
  int32_t *entries = stored_room((size_t)(blocks + 1) * sizeof *entries);
  for (int64_t i = 0; i <= blocks; i++) entries[i] = (int32_t)(32 * start[i]);
  void *device = stored_array(b->ctx, entries, (size_t)(blocks + 1) * sizeof *entries);
  if (cusparseCreateSlicedEll(&w->sparse, rows, rows, b->csr.start[rows], 32 * start[blocks], 32,
                              device, s.arrays[1], s.arrays[2], CUSPARSE_INDEX_32I,
                              CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO,
                              w->type) == CUSPARSE_STATUS_SUCCESS) {
    w->algorithm = CUSPARSE_SPMV_SELL_ALG1;
    their_row(b, w, "cusparse sell", type);
    sparse_ok(cusparseDestroySpMat(w->sparse));
  }
  free(start), free(entries);
  kaon_pool_give(b->ctx, device);
  stored_close(&s);
}

static void theirs(bed *b, int type) {
  way w = {.columns = 1, .type = type == 0 ? CUDA_R_64F : CUDA_R_32F};
  sparse_ok(cusparseCreate(&w.handle));
  sparse_ok(cusparseSetStream(w.handle, b->ctx->queue));
  sparse_ok(cusparseCreateDnVec(&w.in, b->csr.rows, b->x->data, w.type));
  sparse_ok(cusparseCreateDnVec(&w.out, b->csr.rows, b->y->data, w.type));
  their_csr(b, &w, type);
  their_sell(b, &w, type);
  sparse_ok(cusparseDestroyDnVec(w.in));
  sparse_ok(cusparseDestroyDnVec(w.out));
  sparse_ok(cusparseDestroy(w.handle));
}

/* ---- all ---- */

static void sweep(bed *b, const char *name, row_maker *maker, int64_t n, int64_t rows) {
  b->name = name;
  make_matrix(b, maker, n, rows);
  b->near = columns_are_near(&b->csr);
  for (int type = 0; type < 3; type++) {
    if (!b->types[type]) continue;
    const kaon_precision precision = type == 0 ? KAON_DOUBLE : KAON_SINGLE;
    open_vectors(b, precision, 1);
    our_blocks(b, type, KAON_STORED_SELL, 1);
    our_blocks(b, type, KAON_STORED_ELL, 1);
    our_form(b, type, KAON_STORED_CSR, 1, KAON_COLUMNS_WHOLE);
    if (type < 2) theirs(b, type);
    close_vectors(b);
    open_vectors(b, precision, MOST_COLUMNS);
    our_blocks(b, type, KAON_STORED_SELL, MOST_COLUMNS);
    our_form(b, type, KAON_STORED_CSR, MOST_COLUMNS, KAON_COLUMNS_WHOLE);
    close_vectors(b);
  }
  free(b->csr.start), free(b->csr.column), free(b->csr.value), free(b->expected);
  b->expected = NULL;
}

/* A matrix or a type of values is measured where it is named, or where none of its kind is. */
static int wanted(int argc, char **argv, const char *name, const char *const *kind, int kinds) {
  int any = 0;
  for (int i = 2; i < argc; i++)
    for (int k = 0; k < kinds; k++) {
      if (strncmp(argv[i], kind[k], strlen(argv[i])) != 0) continue;
      any = 1;
      if (strcmp(kind[k], name) == 0) return 1;
    }
  return !any;
}

int main(int argc, char **argv) {
  static const char *const names[] = {"laplace", "elasticity", "trefethen"};
  const kaon_context_options defaults = KAON_CONTEXT_OPTIONS_INIT;
  kaon_context_options options = defaults;
  bed b = {.variant = -1};
  options.backend = KAON_BACKEND_CUDA;
  ok(kaon_context_create(&options, &b.ctx));
  ok(kaon_context_query(b.ctx, &b.info));
  const char *missing = machine_open("cuda", 1, 1, &b.machine);
  if (missing != NULL) {
    fprintf(stderr, "spmv_times: %s\n", missing);
    return EXIT_FAILURE;
  }
  if (argc > 1 && (b.json = fopen(argv[1], "w")) == NULL) {
    perror(argv[1]);
    return EXIT_FAILURE;
  }
  for (int i = 2; i < argc; i++) b.variants |= strcmp(argv[i], "variants") == 0;
  printf("reads %.0f GB/s, copies %.0f GB/s\n", b.machine.read_gbs, b.machine.copy_gbs);
  if (b.json != NULL) fprintf(b.json, "[\n");
  cuda_ok(cudaEventCreate(&b.begin));
  cuda_ok(cudaEventCreate(&b.end));
  for (int type = 0; type < 3; type++)
    b.types[type] = wanted(argc, argv, type_names[type], type_names, 3);
  if (wanted(argc, argv, names[0], names, 3))
    sweep(&b, "laplace3d:252", laplace_row, 252, (int64_t)252 * 252 * 252);
  if (wanted(argc, argv, names[1], names, 3))
    sweep(&b, "elasticity:100", elasticity_row, 100, 3000000);
  if (wanted(argc, argv, names[2], names, 3))
    sweep(&b, "trefethen:20000", trefethen_row, 20000, 20000);
  if (b.json != NULL) {
    fprintf(b.json, "\n]\n");
    fclose(b.json);
  }
  machine_close(&b.machine);
  kaon_context_destroy(&b.ctx);
  return EXIT_SUCCESS;
}
