/* bench.h - shared by the benchmarks: what is measured, the machine's own figures beside it, the
 * rows of the JSON list. */
#ifndef KAON_CLI_BENCH_H
#define KAON_CLI_BENCH_H

#include "bench/machine.h"
#include "problem.h"

typedef struct bench_args {
  cli_common common;
  cli_lattices lattices;
  unsigned precision;   /* bits: double, single, half */
  unsigned reconstruct; /* bits: 18, 12, 8 */
  cli_counts columns;
  int calls, samples;
  const char *json;
  problem_args problem; /* solve */
} bench_args;

typedef struct bench {
  const bench_args *args;
  kaon_context *ctx;
  kaon_context_info info;
  machine machine;
  json_t *rows;
  int calls; /* a sample of the last row had */
} bench;

/* One measured row. bytes: ideal traffic of one call; 0: not given. */
typedef struct bench_row {
  const char *name;
  const int *extents;
  kaon_precision precision;
  const char *precision_text; /* NULL: by precision */
  int links, columns;
  double seconds, flops, bytes;
  double resident; /* bytes that the calls go round: in the cache or not? */
} bench_row;

/* Median over samples of the seconds of one call, after warm-up. work: one call. */
typedef kaon_status bench_work(void *user);
kaon_status bench_time(bench *b, bench_work *work, void *user, double *seconds);
void bench_header(const bench *b);
/* Measures the machine, prints the row, appends it to the list; the JSON object is the list's. */
json_t *bench_add(bench *b, const bench_row *row);
double bench_size(kaon_precision precision); /* bytes of a stored real */
const char *bench_precision(kaon_precision precision);
/* Fills every column with numbers of order 1 (timings of zeros would flatter). */
kaon_status bench_fill(kaon_vector *v, const int extents[4]);

/* The benchmarks: exit statuses. */
int bench_dslash(bench *b);
int bench_vector(bench *b);
int bench_solve(bench *b);

#endif
