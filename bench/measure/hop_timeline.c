/* hop_timeline.c - when a hop of a lattice divided among GPUs gathers, computes inside, has its
 * messages and computes at its faces, and how long a hop takes. A program to run by hand on
 * several devices of one node:
 *
 *  cmake --build <build> --target hop_timeline; mpirun -n 4 <build>/bench/measure/hop_timeline [T...]
 *
 * Lattices of 32^3 x T a device (default: 64 and 16), split in t; links of 12 reals, every
 * precision and way of hiding messages. Prints JSON: for every rank, medians over hops of
 * microseconds since the first block of a hop began on that device; null where a kind of block has
 * none. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <kaon/kaon.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "dslash/cuda/timeline.h"
#include "lib/core/context_internal.h"
#include "lib/vector/space.h"
#include "tests/util/dirac_case.h"

enum { HOPS = 400, ROWS = 60, MOST_RANKS = 64 };

static const char *const events[TIMELINE_EVENTS] = {
    "gather_begin",   "gather_end",    "interior_begin", "interior_end",
    "boundary_begin", "arrived_first", "arrived_last",   "boundary_end"};
static const int is_first[TIMELINE_EVENTS] = {1, 0, 1, 0, 1, 1, 0, 0};
static const char *const overlaps[] = {"auto", "fused", "staged", "none"};
/* Of a site of the Wilson hop, docs/conventions.md. */
static const double flops = 1320;

typedef struct {
  kaon_context *ctx;
  kaon_lattice *lattice;
  kaon_gauge *gauge;
  kaon_operator *M;
  kaon_vector *v[2];
} world;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void open_world(world *w, int t, kaon_precision precision, kaon_overlap overlap) {
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  kaon_dirac_options dirac = KAON_DIRAC_OPTIONS_INIT;
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int grid[4] = {1, 1, 1, ranks}, extents[4] = {32, 32, 32, t * ranks};
  memset(w, 0, sizeof *w);
  options.backend = KAON_BACKEND_CUDA;
  options.overlap = overlap;
  must(NULL, kaon_context_create_ranks(&options, NULL, grid, &w->ctx));
  must(w->ctx, kaon_lattice_create(w->ctx, extents, KAON_ANTIPERIODIC, &w->lattice));
  must(w->ctx, kaon_gauge_create(w->lattice, precision, KAON_RECONSTRUCT_12, &w->gauge));
  must(w->ctx, kaon_gauge_weak(w->gauge, 0.3, 1));
  dirac.precision = precision;
  dirac.reconstruct = KAON_RECONSTRUCT_12;
  must(w->ctx, kaon_dirac_create(w->gauge, &dirac, &w->M));
  kaon_vector *source = NULL, half;
  must(w->ctx, kaon_vector_create(w->ctx, kaon_lattice_spinors(w->lattice, KAON_FULL), precision, 1,
                                  &source));
  must(w->ctx, kaon_source_gauss(source, 3));
  for (int p = 0; p < 2; p++) {
    const kaon_space *space = kaon_lattice_spinors(w->lattice, (kaon_parity)p);
    must(w->ctx, kaon_vector_create(w->ctx, space, precision, 1, &w->v[p]));
    must(w->ctx, kaon_vector_view(source, (kaon_parity)p, &half));
    must(w->ctx, kaon_vector_copy(&half, w->v[p]));
  }
  kaon_vector_destroy(&source);
}

static void close_world(world *w) {
  for (int p = 0; p < 2; p++) kaon_vector_destroy(&w->v[p]);
  kaon_operator_destroy(&w->M);
  kaon_gauge_destroy(&w->gauge);
  kaon_lattice_destroy(&w->lattice);
  kaon_context_destroy(&w->ctx);
}

/* Seconds of `n` hops onto the even sites. */
static double hop(const world *w, int n) {
  must(w->ctx, kaon_context_synchronise(w->ctx));
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = now();
  for (int i = 0; i < n; i++)
    must(w->ctx, kaon_dirac_hop(w->M, KAON_EVEN, KAON_PLAIN, w->v[1], w->v[0]));
  must(w->ctx, kaon_context_synchronise(w->ctx));
  return now() - begin;
}

static int by_size(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Medians by event; -1: no block of that kind. */
static void take_timeline(const world *w, double *median) {
  const kaon_memory_ops *memory = w->ctx->backend->memory;
  uint64_t rows[ROWS][TIMELINE_EVENTS];
  void *device = NULL;
  for (int i = 0; i < ROWS; i++)
    for (int e = 0; e < TIMELINE_EVENTS; e++) rows[i][e] = is_first[e] ? UINT64_MAX : 0;
  must(w->ctx, kaon_pool_allocate(w->ctx, sizeof rows, "a timeline", &device));
  must(w->ctx, memory->to_device(w->ctx, device, rows, sizeof rows));
  kaon_timeline timeline = {device, ROWS};
  w->ctx->timeline = &timeline;
  hop(w, ROWS);
  w->ctx->timeline = NULL;
  must(w->ctx, memory->to_host(w->ctx, rows, device, sizeof rows));
  kaon_pool_release(w->ctx, device);
  for (int e = 0; e < TIMELINE_EVENTS; e++) {
    double us[ROWS];
    int n = 0;
    for (int i = 0; i < ROWS; i++) {
      uint64_t begin = UINT64_MAX;
      for (int k = 0; k < TIMELINE_EVENTS; k++)
        if (rows[i][k] != 0 && rows[i][k] < begin) begin = rows[i][k];
      if (rows[i][e] != 0 && rows[i][e] != UINT64_MAX)
        us[n++] = 1e-3 * (double)(rows[i][e] - begin);
    }
    qsort(us, (size_t)n, sizeof *us, by_size);
    median[e] = n > 0 ? us[n / 2] : -1;
  }
}

static void print_timelines(const double *median) {
  double all[MOST_RANKS][TIMELINE_EVENTS];
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Gather(median, TIMELINE_EVENTS, MPI_DOUBLE, all, TIMELINE_EVENTS, MPI_DOUBLE, 0,
             MPI_COMM_WORLD);
  for (int r = 0; r < ranks && rank == 0; r++) {
    printf("%s\n    {", r > 0 ? "," : "");
    for (int e = 0; e < TIMELINE_EVENTS; e++) {
      printf("%s\"%s\": ", e > 0 ? ", " : "", events[e]);
      if (all[r][e] < 0)
        printf("null");
      else
        printf("%.2f", all[r][e]);
    }
    printf("}");
  }
}

static void measure(int t, kaon_precision precision, kaon_overlap overlap, int first) {
  double median[TIMELINE_EVENTS], best = 1e30;
  int rank = 0, ranks = 1;
  world w;
  open_world(&w, t, precision, overlap);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  hop(&w, HOPS);
  for (int i = 0; i < 5; i++) {
    double seconds = hop(&w, HOPS) / HOPS;
    MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (seconds < best) best = seconds;
  }
  take_timeline(&w, median);
  if (rank == 0) {
    kaon_context_info info = KAON_CONTEXT_INFO_INIT;
    must(w.ctx, kaon_context_query(w.ctx, &info));
    printf(
        "%s\n  {\"device\": \"%s\", \"transport\": \"%s\", \"ranks\": %d, \"local\": [32, 32, 32, "
        "%d], \"precision\": \"%s\", \"reconstruct\": 12, \"overlap\": \"%s\", \"hop_us\": %.2f, "
        "\"gflops_each\": %.0f, \"timeline\": [",
        first ? "" : ",", info.device, info.transport, ranks, t, precision_names[precision],
        overlaps[overlap], 1e6 * best, 1e-9 * flops * 16384.0 * t / best);
  }
  print_timelines(median);
  if (rank == 0) printf("]}");
  fflush(stdout);
  close_world(&w);
}

int main(int argc, char **argv) {
  int rank = 0, ranks = 1, first = 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks > MOST_RANKS) MPI_Abort(MPI_COMM_WORLD, 2);
  if (rank == 0) printf("[");
  for (int i = 0; i < (argc > 1 ? argc - 1 : 2); i++) {
    const int t = argc > 1 ? atoi(argv[i + 1]) : i == 0 ? 64 : 16;
    for (int p = KAON_DOUBLE; p <= KAON_HALF; p++)
      for (int overlap = KAON_OVERLAP_FUSED; overlap <= KAON_OVERLAP_NONE; overlap++, first = 0)
        measure(t, (kaon_precision)p, (kaon_overlap)overlap, first);
  }
  if (rank == 0) printf("]\n");
  MPI_Finalize();
  return 0;
}
