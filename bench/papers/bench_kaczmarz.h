/* bench_kaczmarz.h - shared by the tables of kaczmarz: machines, which are contexts of their own
 * (one CPU thread, all threads, the device), systems, lines. */
#ifndef KAON_BENCH_KACZMARZ_H
#define KAON_BENCH_KACZMARZ_H

#include "bench/bench.h"

typedef struct kaczmarz_args {
  bench_args bench;
  unsigned tables; /* bits: fig4, table3, fig5, fig6, fig7, counts */
  int sweeps, level;
  cli_counts problems, degrees;
  double seconds, cpu_seconds; /* cpu_seconds NaN: as seconds */
  const char *csv;
} kaczmarz_args;

static inline const kaczmarz_args *kaczmarz_of(const bench *b) {
  return (const kaczmarz_args *)b->args;
}

enum { PROJECT_SERIAL, PROJECT_OPENMP, PROJECT_DEVICE, PROJECT_MACHINES };
enum { MOST_RUNS = 1000 }; /* runs of a line at most, the maximum of --samples */
extern const char *const project_machines[PROJECT_MACHINES];

typedef struct project {
  bench *b;
  kaon_context *ctx[PROJECT_MACHINES]; /* NULL: no such machine */
  FILE *csv;                           /* lines so far (text in csv_text after a flush), or NULL */
  char *csv_text;
  size_t csv_length;
  double seconds;     /* limit of a line: fewer sweeps and repeats, longer solves ended */
  double cpu_seconds; /* the same for a solve on the processor */
} project;

typedef struct project_system {
  kaon_context *ctx;
  const char *name;
  kaon_matrix *matrix;
  kaon_matrix_info info;
  kaon_operator *A;
  kaon_vector *b, *x, *r;
  double *points, *numbers;
  int dimensions;
} project_system;

/* Exit status; project_close in any case. */
int project_open(kaon_context *ctx, const char *name, int rcm, project_system *s);
void project_close(project_system *s);

/* Adds a line to the list and to the CSV file (figure, matrix, rows, machine, what, x, value,
 * unit), and writes both. more: further members, whose reference is taken, or NULL. Exit status. */
int project_line(const project *m, const char *figure, const char *matrix, int64_t rows,
                 const char *place, const char *what, double x, double value, const char *unit,
                 double seconds, json_t *more);

/* --- bench_kaczmarz_solves.c: exit statuses --- */
int project_figure_6(const project *m, int most);
int project_figure_7(const project *m);
/* Steps of CARP-CG compared with those of CGMNC. */
int project_counts(const project *m, int most);

#endif
