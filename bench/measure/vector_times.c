/* vector_times.c - bandwidth of vector kernels that leave their results on the device, which the
 * benchmark of vectors cannot call: norm and dot product into slots, as solvers use them, and the
 * kernels of block methods (Gram matrix, block_axpy, block_rotate). Rows have the benchmark's
 * form. A program to run by hand:
 *
 *  cmake --build <build> --target vector_times; <build>/bench/measure/vector_times FILE.json */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/machine.h"
#include "blas/blas.h"
#include "kaon/kaon.h"
#include "lib/math/steps/block_recurrences.h"

enum { SAMPLES = 7, MOST_SAMPLE_CALLS = 100000 };
enum { SLOT_T = 0, SLOT_M = 64, SLOT_Y = 128, SLOT_SUM = 400 };
static const double least_sample = 0.02, least_warm_up = 0.05;

static const char *const precision_names[] = {"double", "single", "half"};
static const double sizes[] = {8, 4, 2};

typedef struct fixture {
  kaon_context *ctx;
  kaon_context_info info;
  machine machine;
  FILE *json;
  int rows; /* written */
  const int *extents;
  kaon_lattice *lattice;
  kaon_precision precision;
  int columns;
  kaon_vector *v[3];
  kaon_scalars *scalars;
  kaon_pass pass;
} fixture;

static void ok(kaon_status status) {
  if (status == KAON_OK) return;
  fprintf(stderr, "vector_times: %s\n", kaon_last_error(NULL));
  exit(EXIT_FAILURE);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- what is measured ---- */

typedef kaon_status work(fixture *b);

static kaon_status norm2(fixture *b) {
  const int slot[3] = {KAON_NO_SLOT, KAON_NO_SLOT, SLOT_SUM};
  return kaon_blas_dot(b->v[0], b->v[0], slot, &b->pass);
}

static kaon_status dot(fixture *b) {
  const int slot[3] = {SLOT_SUM, KAON_NO_SLOT, KAON_NO_SLOT};
  return kaon_blas_dot(b->v[0], b->v[1], slot, &b->pass);
}

static kaon_status gram(fixture *b) {
  return kaon_blas_gram(b->v[0], b->v[0], 1, SLOT_SUM, &b->pass);
}

static kaon_status gram_of_two(fixture *b) {
  return kaon_blas_gram(b->v[0], b->v[1], 1, SLOT_SUM, &b->pass);
}

static kaon_status block_axpy(fixture *b) {
  return kaon_blas_block_axpy(KAON_MINUS(SLOT_Y), b->v[0], b->v[1], &b->pass);
}

static kaon_status block_rotate(fixture *b) {
  return kaon_blas_block_rotate(KAON_PLUS(SLOT_T), b->v[0], KAON_PLUS(SLOT_M), b->v[1],
                                KAON_PLUS(SLOT_Y), b->v[2], &b->pass);
}

/* Vectors moved; flops of a complex number for each column that it is multiplied into, and of one
 * by itself. */
static const struct {
  const char *name;
  work *work;
  double vectors, joined, alone;
  int block;
} entries[] = {{"vector-norm2-slot", norm2, 1, 0, 4, 0},
               {"vector-dot-slot", dot, 2, 0, 8, 0},
               {"vector-gram", gram, 1, 4, 4, 1},
               {"vector-gram-two", gram_of_two, 2, 4, 4, 1},
               {"vector-block-axpy", block_axpy, 3, 8, 0, 1},
               {"vector-block-rotate", block_rotate, 6, 24, 0, 1}};

/* ---- the beds ---- */

/* Upper triangular, lower triangular and full, as in a step; small, so that nothing grows. */
static void fill_scalars(fixture *b) {
  kaon_column_state *host = calloc((size_t)b->columns, sizeof *host);
  for (int j = 0; host != NULL && j < b->columns; j++) {
    host[j].gate = KAON_GATE_STEP;
    for (int i = 0; i < b->columns; i++) {
      const double small = 1e-3 * ((7 * i + 3 * j) % 11 - 5);
      host[j].slot[SLOT_T + i][0] = i == j ? 1 : 0;
      host[j].slot[SLOT_T + i][1] = i < j ? small : 0;
      host[j].slot[SLOT_M + i][0] = i >= j ? small : 0;
      host[j].slot[SLOT_Y + i][1] = small;
    }
  }
  ok(host != NULL ? kaon_scalars_write(b->scalars, host) : KAON_ERR_MEMORY);
  free(host);
}

/* Numbers of order 1 (timings of zeros would flatter), by Knuth's MMIX generator; each column
 * begins at another one. */
static void fill_vector(const fixture *b, kaon_vector *v) {
  enum { SHIFT = 24 * 997 };
  const size_t n = 24 * (size_t)kaon_lattice_volume(b->lattice); /* both parities */
  const size_t count = n + (size_t)b->columns * SHIFT;
  double *numbers = malloc(count * sizeof *numbers);
  uint64_t state = 1;
  for (size_t i = 0; numbers != NULL && i < count; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    numbers[i] = (double)(state >> 40) / (double)(1 << 23) - 1;
  }
  ok(numbers != NULL ? KAON_OK : KAON_ERR_MEMORY);
  for (int k = 0; k < b->columns; k++)
    ok(kaon_vector_import(v, k, numbers + (size_t)k * SHIFT, KAON_BASIS_UKQCD));
  free(numbers);
}

static void open_vectors(fixture *b) {
  const kaon_space *even = kaon_lattice_spinors(b->lattice, KAON_EVEN);
  for (int i = 0; i < 3; i++) {
    ok(kaon_vector_create(b->ctx, even, b->precision, b->columns, &b->v[i]));
    if (i == 0) fill_vector(b, b->v[0]);
    if (i > 0) ok(kaon_vector_copy(b->v[i], b->v[0]));
  }
  ok(kaon_scalars_create(b->ctx, b->columns, &b->scalars));
  fill_scalars(b);
  b->pass = (kaon_pass)KAON_PASS_INIT;
  b->pass.scalars = b->scalars;
}

static void close_vectors(fixture *b) {
  for (int i = 0; i < 3; i++) kaon_vector_destroy(&b->v[i]);
  kaon_scalars_destroy(&b->scalars);
}

/* ---- times, as bench/bench_time.c takes them ---- */

static double batch(fixture *b, work *w, int calls) {
  const double begin = now();
  for (int i = 0; i < calls; i++) ok(w(b));
  ok(kaon_context_synchronise(b->ctx));
  return (now() - begin) / calls;
}

static int by_size(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static int measure(fixture *b, work *w, double seconds[SAMPLES]) {
  double one = batch(b, w, 1);
  for (int n = 1; n < MOST_SAMPLE_CALLS; n *= 2) {
    one = batch(b, w, n);
    if (n * one >= least_warm_up) break;
  }
  int calls = (int)(least_sample / one) + 1;
  if (calls < 15) calls = 15;
  for (int s = 0; s < SAMPLES; s++) seconds[s] = batch(b, w, calls);
  qsort(seconds, SAMPLES, sizeof *seconds, by_size);
  return calls;
}

static void write_row(fixture *b, int entry, int calls, const double seconds[SAMPLES]) {
  const int *e = b->extents, peak = b->precision != KAON_DOUBLE;
  const double sites = 0.5 * (double)kaon_lattice_volume(b->lattice), median = seconds[SAMPLES / 2];
  const double spinor = 24 * sizes[b->precision] + (b->precision == KAON_HALF ? 4 : 0);
  const double bytes = entries[entry].vectors * spinor * sites * b->columns;
  const double flops =
      12 * sites * b->columns * (entries[entry].joined * b->columns + entries[entry].alone);
  char when[32] = "";
  const time_t t = time(NULL);
  struct tm utc;
  if (gmtime_r(&t, &utc)) strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &utc);
  printf(
      "%-20s %dx%dx%dx%d %-6s %2d columns: %9.2f us, %7.1f GB/s, %3.0f %% of reads, %3.0f %% of "
      "copies, %7.0f GFLOPS\n",
      entries[entry].name, e[0], e[1], e[2], e[3], precision_names[b->precision], b->columns,
      1e6 * median, 1e-9 * bytes / median, 1e-7 * bytes / median / b->machine.read_gbs,
      1e-7 * bytes / median / b->machine.copy_gbs, 1e-9 * flops / median);
  if (b->json == NULL) return;
  fprintf(b->json,
          "%s  {\"bench\": \"%s\", \"command\": \"vector_times\", \"measured\": \"%s\", "
          "\"backend\": \"%s\", \"device\": \"%s\", \"commit\": \"%s\", \"ranks\": %d, "
          "\"threads\": %d, \"isa\": \"%s\", \"lattice\": [%d, %d, %d, %d], "
          "\"precision\": \"%s\", \"links\": 0, \"columns\": %d, ",
          b->rows++ ? ",\n" : "", entries[entry].name, when, b->info.backend, b->info.device,
          kaon_commit(), b->info.ranks, b->info.threads, b->info.isa, e[0], e[1], e[2], e[3],
          precision_names[b->precision], b->columns);
  fprintf(b->json,
          "\"seconds\": %.9g, \"seconds_min\": %.9g, \"seconds_max\": %.9g, "
          "\"issue_seconds\": null, \"gflops\": %.9g, \"ideal_gbs\": %.9g, \"limit_gbs\": %.9g, "
          "\"copy_gbs\": %.9g, \"triad_gbs\": null, \"fma_gflops\": %.9g, "
          "\"resident_bytes\": %.0f, \"calls\": %d, \"samples\": %d}",
          median, seconds[0], seconds[SAMPLES - 1], 1e-9 * flops / median, 1e-9 * bytes / median,
          b->machine.read_gbs, b->machine.copy_gbs, b->machine.fma_gflops[peak], bytes, calls,
          (int)SAMPLES);
}

static void sweep(fixture *b, const int extents[4], int columns) {
  b->extents = extents;
  b->columns = columns;
  ok(kaon_lattice_create(b->ctx, extents, KAON_ANTIPERIODIC, &b->lattice));
  for (int p = KAON_DOUBLE; p <= KAON_HALF; p++) {
    b->precision = (kaon_precision)p;
    open_vectors(b);
    for (int i = 0; i < (int)(sizeof entries / sizeof *entries); i++) {
      double seconds[SAMPLES];
      if (entries[i].block != (columns > 1)) continue;
      write_row(b, i, measure(b, entries[i].work, seconds), seconds);
    }
    close_vectors(b);
  }
  kaon_lattice_destroy(&b->lattice);
}

int main(int argc, char **argv) {
  static const int larger[4] = {48, 48, 48, 128}, large[4] = {48, 48, 48, 64},
                   middle[4] = {32, 32, 32, 64}, small[4] = {16, 16, 16, 32};
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  fixture b = {0};
  options.backend = KAON_BACKEND_CUDA;
  ok(kaon_context_create(&options, &b.ctx));
  b.info = (kaon_context_info)KAON_CONTEXT_INFO_INIT;
  ok(kaon_context_query(b.ctx, &b.info));
  const char *missing = machine_open("cuda", 1, 1, &b.machine);
  if (missing != NULL) {
    fprintf(stderr, "vector_times: %s\n", missing);
    return EXIT_FAILURE;
  }
  if (argc > 1 && (b.json = fopen(argv[1], "w")) == NULL) {
    perror(argv[1]);
    return EXIT_FAILURE;
  }
  printf("reads %.0f GB/s, copies %.0f GB/s\n", b.machine.read_gbs, b.machine.copy_gbs);
  if (b.json != NULL) fprintf(b.json, "[\n");
  sweep(&b, larger, 1);
  sweep(&b, large, 1);
  sweep(&b, middle, 12);
  sweep(&b, small, 12);
  if (b.json != NULL) {
    fprintf(b.json, "\n]\n");
    fclose(b.json);
  }
  machine_close(&b.machine);
  kaon_context_destroy(&b.ctx);
  return EXIT_SUCCESS;
}
