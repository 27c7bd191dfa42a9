/* solve_trial.c - see solve_trial.h. */
#include "interfaces/cli/command/solve_trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "interfaces/common/signals.h"

enum { PATIENCE = 60 }; /* seconds: with default options a trial takes one or two */

/* What is measured is printed by nobody, and what a small matrix lets fail is not the question. */
static solve_args arguments_of(const trial *t) {
  solve_args own = *t->args;
  const int itself = t->edge == 0 && !t->matrix[0];
  if (!itself && (t->file[0] || t->matrix[0])) own.linear.matrix = t->file[0] ? t->file : t->matrix;
  own.common.quiet = 1;
  /* the job's own limit says how much padding is too much */
  const int padded = own.linear.format == KAON_STORE_ELL && ranks_started() <= 1;
  if (!itself || !padded) own.common.memory_limit = NAN;
  own.common.tuning = NULL;
  own.common.reduce_delay = 0;
  if (own.linear.method < 0) own.linear.method = t->method;
  own.linear.shuffled = own.linear.permutation != NULL; /* the file is of other rows */
  own.linear.permutation = NULL;
  if (own.linear.rhs && strcmp(own.linear.rhs, "own") != 0) own.linear.rhs = "ones";
  return own;
}

/* ---- a grid's points in random order ---- */

static void shuffle(int64_t *place, int64_t n) {
  uint64_t state = 1;
  for (int64_t i = 0; i < n; i++) place[i] = i;
  for (int64_t i = n - 1; i > 0; i--) {
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407); /* Knuth's */
    const int64_t other = (int64_t)((state >> 33) % (uint64_t)(i + 1)), was = place[i];
    place[i] = place[other];
    place[other] = was;
  }
}

/* The points beside i, itself among them. */
static int beside(const trial *t, int64_t i, int64_t *to) {
  const int64_t n = t->edge, at[3] = {i % n, i / n % n, i / n / n};
  int count = 0;
  for (int k = 0; k < 27; k++) {
    const int64_t step[3] = {k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1};
    int inside = 1;
    for (int d = 0; d < 3; d++) inside &= at[d] + step[d] >= 0 && at[d] + step[d] < n;
    const int along = (step[0] != 0) + (step[1] != 0) + (step[2] != 0);
    if (inside && (along <= 1 || t->points == 27))
      to[count++] = i + step[0] + n * (step[1] + n * step[2]);
  }
  return count;
}

double trial_entries(const trial *t) {
  const double n = t->edge, band = 3 * n - 2;
  return t->points == 7 ? 7 * n * n * n - 6 * n * n : band * band * band;
}

static kaon_status scattered(kaon_context *ctx, const trial *t, kaon_matrix **matrix) {
  const int64_t rows = (int64_t)t->edge * t->edge * t->edge, most = (int64_t)trial_entries(t);
  int64_t *place = calloc((size_t)(rows + 2 * most), sizeof *place), *row = place + rows,
          *column = row + most, near[27];
  double *values = calloc((size_t)most, sizeof *values);
  kaon_triplet_arrays a = {.global_rows = rows, .rows = rows, .reals = 1, .row = row};
  a.column = column;
  a.values = values;
  kaon_status status = KAON_ERR_MEMORY;
  if (place != NULL && values != NULL) {
    shuffle(place, rows);
    for (int64_t i = 0; i < rows; i++) {
      const int count = beside(t, i, near);
      for (int k = 0; k < count; k++, a.entries++) {
        row[a.entries] = place[i];
        column[a.entries] = place[near[k]];
        values[a.entries] = near[k] == i ? t->points : -1;
      }
    }
    status = kaon_matrix_create_triplets(ctx, &a, NULL, matrix);
  }
  free(place);
  free(values);
  return status;
}

static int write_matrix(void *user, sample *s) {
  const trial *t = user;
  kaon_context *ctx = NULL;
  kaon_matrix *matrix = NULL;
  cli_common common = t->args->common;
  common.tuning = NULL;
  (void)s;
  int code = cli_context(&common, &ctx);
  if (code != EXIT_DONE) return code;
  kaon_status status = scattered(ctx, t, &matrix);
  if (status == KAON_OK) status = kaon_matrix_write(matrix, t->file);
  code = cli_status(ctx, status, "--dry-run");
  kaon_matrix_destroy(&matrix);
  kaon_context_destroy(&ctx);
  return code;
}

/* The matrix' own rows, which are in host memory: values, 4-byte columns, 8-byte starts. */
static double bytes_of_rows(const kaon_matrix_info *i) {
  return (double)i->entries * (4 + 8.0 * i->reals) + 8.0 * (double)(i->rows + 1);
}

/* A grid's, as if it had been read. */
static int scattered_matrix(const trial *t, linear *l, kaon_context *ctx) {
  l->ctx = ctx;
  kaon_status status = scattered(ctx, t, &l->matrix);
  l->info = (kaon_matrix_info)KAON_MATRIX_INFO_INIT;
  if (status == KAON_OK) status = kaon_matrix_describe(l->matrix, &l->info);
  l->shares = (kaon_matrix_distribution)KAON_MATRIX_DISTRIBUTION_INIT;
  if (status == KAON_OK) status = kaon_matrix_describe_distribution(l->matrix, &l->shares);
  return cli_status(ctx, status, NULL);
}

/* A few steps, so that every page has been touched. */
static int set_up(void *user, sample *s) {
  const trial *t = user;
  const solve_args own = arguments_of(t);
  solve_job job = {.args = &own, .columns = own.linear.columns};
  int code = linear_check(&own.linear, &job.l);
  if (code == EXIT_DONE) code = cli_context(&own.common, &job.ctx);
  if (code == EXIT_DONE)
    code = t->inside && t->edge > 0 ? scattered_matrix(t, &job.l, job.ctx)
                                    : linear_matrix(job.ctx, &job.l);
  if (code == EXIT_DONE) code = linear_decide(&job.l);
  if (code == EXIT_DONE) {
    s->size = (double)job.l.info.global_rows;
    s->on_device = strcmp(sample_info(job.ctx).backend, "cuda") == 0;
    sample_bound(s, job.ctx);
    const double before = sample_in_use(job.ctx);
    s->input = before + bytes_of_rows(&job.l.info);
    code = linear_operator(&job.l);
    s->operator= sample_in_use(job.ctx) - before;
    s->vectors = -sample_in_use(job.ctx);
  }
  if (code == EXIT_DONE) code = solve_allocate(&job);
  if (code == EXIT_DONE) {
    s->vectors += sample_in_use(job.ctx);
    code = solve_source(&job);
  }
  if (code == EXIT_DONE) code = solve_guess_memory_trial(&job);
  const double before = sample_in_use(job.ctx);
  job.l.options.max_iterations = 2;
  job.l.options.deflation_limit *= t->part; /* it deflates if the job will */
  if (code == EXIT_DONE) code = solve_columns(&job);
  s->itself = t->edge == 0 && !t->matrix[0];
  if (code == EXIT_DONE) {
    s->solver = sample_in_use(job.ctx) - before;
    s->most = sample_most(job.ctx);
  }
  solve_close(&job);
  return code;
}

int trial_measure(const trial *t, sample *s) {
  sample none = {0};
  void *user = (void *)(uintptr_t)t;
  int code = EXIT_DONE;
  if (t->inside) return set_up(user, s);
  if (t->file[0]) signals_scratch(t->file);
  if (t->file[0]) code = sample_process(write_matrix, user, 0, &none);
  if (code == EXIT_DONE) code = sample_process(set_up, user, PATIENCE, s);
  if (t->file[0]) unlink(t->file);
  signals_scratch(NULL);
  return code;
}
