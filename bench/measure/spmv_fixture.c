/* spmv_fixture.c - see spmv_fixture.h. */
#include "bench/measure/spmv_fixture.h"

#include <stdlib.h>

#include "bench/measure/spmv_matrices.h"
#include "tests/util/stored_rows.h"

/* A sample takes sample_ms or one call; from slow_ms on there are fewer of them. */
enum { SAMPLES = 7, LONG_SAMPLES = 5, SLOW_SAMPLES = 3, WARM_UP = 3, MOST_CALLS = 2000 };
static const double sample_ms = 3, slow_ms = 20;

const char *const type_names[TYPES] = {"double", "single", "half values"};

void fixture_ok(kaon_status status) {
  if (status == KAON_OK) return;
  fprintf(stderr, "spmv_times: %s\n", kaon_last_error(NULL));
  exit(EXIT_FAILURE);
}

void fixture_cuda_ok(cudaError_t status) {
  if (status == cudaSuccess) return;
  fprintf(stderr, "spmv_times: %s\n", cudaGetErrorString(status));
  exit(EXIT_FAILURE);
}

int fixture_counts(const fixture *b, int type, int count, int sums) {
  if (column_counts[count] == 1) return b->one_column;
  if (b->skewed) return 0;
  return column_counts[count] == 4 || (type != HALF && !sums);
}

/* ---- vectors ---- */

dense fixture_dense(const kaon_vector *v) {
  return (dense){.data = v->data,
                 .size = (int)kaon_precision_bytes(v->precision),
                 .order = DENSE_BLOCKS,
                 .rows = v->space->nsites,
                 .columns = v->nrhs};
}

void fixture_open_vectors(fixture *b, const kaon_space *space, int type) {
  const int64_t rows = b->csr.rows;
  kaon_column_state state[MOST_COLUMNS] = {{.gate = KAON_GATE_STEP}};
  for (int k = 0; k < MOST_COLUMNS; k++) state[k].gate = KAON_GATE_STEP;
  for (int n = 0; n < COUNTS; n++) {
    if (n > 0 && !fixture_counts(b, type, n, 0)) continue;
    fixture_ok(
        kaon_vector_create(b->ctx, space, fixture_precision(type), column_counts[n], &b->x[n]));
    fixture_ok(
        kaon_vector_create(b->ctx, space, fixture_precision(type), column_counts[n], &b->y[n]));
  }
  double *host = stored_room((size_t)rows * sizeof *host);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < rows; i++) host[i] = (float)matrix_number(i, -1);
  fixture_ok(kaon_vector_import(b->x[0], 0, host, KAON_BASIS_UKQCD));
  free(host);
  const dense from = fixture_dense(b->x[0]);
  for (int n = 1; n < COUNTS; n++) {
    if (b->x[n] == NULL) continue;
    const dense to = fixture_dense(b->x[n]);
    fixture_cuda_ok(dense_spread(b->ctx->queue, &from, &to));
  }
  fixture_ok(kaon_scalars_create(b->ctx, MOST_COLUMNS, &b->scalars));
  fixture_ok(kaon_scalars_write(b->scalars, state));
}

void fixture_close_vectors(fixture *b) {
  for (int n = 0; n < COUNTS; n++) {
    kaon_vector_destroy(&b->x[n]);
    kaon_vector_destroy(&b->y[n]);
  }
  kaon_scalars_destroy(&b->scalars);
}

/* ---- times ---- */

static double batch(fixture *b, product_run *run, const void *way, int calls) {
  float ms;
  fixture_cuda_ok(cudaEventRecord(b->begin, b->ctx->queue));
  for (int i = 0; i < calls; i++) run(b, way);
  fixture_cuda_ok(cudaEventRecord(b->end, b->ctx->queue));
  fixture_cuda_ok(cudaEventSynchronize(b->end));
  fixture_cuda_ok(cudaEventElapsedTime(&ms, b->begin, b->end));
  return ms / calls;
}

static int by_size(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Seconds: median, and the smallest and the largest. */
static void measure(fixture *b, product_run *run, const void *way, double seconds[3]) {
  double ms[SAMPLES];
  int samples = SAMPLES, calls = 1;
  batch(b, run, way, 1); /* which may load kernels */
  const double one = batch(b, run, way, 1);
  if (one > sample_ms)
    samples = one > slow_ms ? SLOW_SAMPLES : LONG_SAMPLES;
  else
    calls = (int)(sample_ms / batch(b, run, way, WARM_UP));
  if (calls < 1) calls = 1;
  if (calls > MOST_CALLS) calls = MOST_CALLS;
  for (int s = 0; s < samples; s++) ms[s] = batch(b, run, way, calls);
  qsort(ms, (size_t)samples, sizeof *ms, by_size);
  seconds[0] = 1e-3 * ms[samples / 2];
  seconds[1] = 1e-3 * ms[0];
  seconds[2] = 1e-3 * ms[samples - 1];
}

/* Largest difference from the first way, relative to the largest number. */
static double difference(fixture *b, const dense *y) {
  double worst = 0;
  if (b->expected == NULL) {
    fixture_cuda_ok(cudaMalloc((void **)&b->expected, (size_t)y->rows * sizeof *b->expected));
    fixture_cuda_ok(dense_keep(b->ctx->queue, y, b->given, b->expected));
  }
  fixture_cuda_ok(dense_differ(b->ctx->queue, y, b->given, b->expected, &worst));
  return worst;
}

/* ---- rows ---- */

/* The bytes that a product moves at least: columns and starts as they are stored, values, x, y and
 * scales. */
static double ideal_bytes(const fixture *b, const product_row *r) {
  static const double value[TYPES] = {8, 4, 2}, number[TYPES] = {16, 8, 8},
                      scale[TYPES] = {0, 0, 4};
  return r->index + (double)b->csr.start[b->csr.rows] * value[r->type] +
         (double)b->csr.rows * (number[r->type] * column_counts[r->count] + scale[r->type]);
}

static void write_row(fixture *b, const product_row *r, const double s[3], double error) {
  const int columns = column_counts[r->count];
  const double bytes = ideal_bytes(b, r);
  const double entries = (double)b->csr.start[b->csr.rows];
  const double flops = 2 * entries * columns;
  printf(
      "%-10s %-11s %-25s lanes %2d, %2d columns, sums %d: %9.2f us, %6.1f GFLOPS, %6.1f GB/s, "
      "%5.1f %% of reads; differs by %.1e\n",
      b->name, type_names[r->type], r->form, r->lanes, columns, r->sums, 1e6 * s[0],
      1e-9 * flops / s[0], 1e-9 * bytes / s[0], 1e-7 * bytes / s[0] / b->machine.read_gbs, error);
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
          entries, type_names[r->type], r->form, r->lanes, columns, r->sums, bytes, s[0], s[1],
          s[2], 1e-9 * flops / s[0], 1e-9 * bytes / s[0], b->machine.read_gbs, error);
}

void fixture_measure(fixture *b, const product_row *row, product_run *run, const void *way,
                     const dense *y) {
  const size_t bytes = (size_t)y->rows * (size_t)y->columns * (size_t)y->size;
  double seconds[3];
  fixture_cuda_ok(cudaMemsetAsync(y->data, 0, bytes, b->ctx->queue)); /* of the way before */
  measure(b, run, way, seconds);
  write_row(b, row, seconds, difference(b, y));
}
