/* solve_plan.c - how much memory kaon solve takes, computed without doing the work. The library
 * says how many rows and entries the matrix has. The job's objects are created for two smaller
 * matrices with as many entries a row (forecast.h). A matrix that is no larger than these is set up
 * itself. Patterns that rows share, padding, and the fill-in of approximate inverses are not known
 * beforehand: a job is refused only by what it takes at least. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "interfaces/cli/command/forecast.h"
#include "interfaces/cli/command/solve.h"
#include "interfaces/common/report.h"
#include "interfaces/common/signals.h"

/* Rows of the smaller matrix: more than 16 bits count, which decides how columns are stored. */
enum { SMALL_ROWS = 70000, SMALL_ENTRIES = 8 * SMALL_ROWS, MOST_ENTRIES_A_ROW = 200 };

/* What is known of the job's matrix without reading or making it. */
typedef struct shape {
  kaon_matrix_file_info info;
  int file;      /* 1: read from a file; 0: made by its name */
  int patterned; /* rows have their entries at the same distances from the diagonal */
  int small;     /* it is set up itself */
  double a_row;  /* entries a row */
} shape;

static int query(const solve_args *args, int ranks, shape *of) {
  const char *name = args->linear.matrix;
  const long there = sysconf(_SC_NPROCESSORS_ONLN);
  const int threads = args->common.threads > 0 ? args->common.threads : there > 0 ? (int)there : 1;
  *of = (shape){.info = KAON_MATRIX_FILE_INFO_INIT, .file = linear_is_file(name)};
  const int code = cli_status(NULL,
                              of->file ? kaon_matrix_file_query(name, ranks, threads, &of->info)
                                       : kaon_matrix_generate_query(name, &of->info),
                              "--matrix");
  of->patterned = !of->file && strncmp(name, "fem:", 4) != 0;
  of->small = of->info.rows <= SMALL_ROWS && of->info.entries <= SMALL_ENTRIES;
  of->a_row = fmax((double)of->info.entries / fmax((double)of->info.rows, 1), 1);
  return code;
}

/* A symmetric, positive definite matrix with about a_row entries a row, at equal distances. Without
 * a pattern its rows are in random order. */
static kaon_status small_matrix(kaon_context *ctx, int64_t rows, const shape *of,
                                kaon_matrix **matrix) {
  enum { DISTANCE = 3 };
  const double half = (fmin(of->a_row, MOST_ENTRIES_A_ROW) - 1) / 2;
  const int reals = of->info.reals;
  const int64_t most = rows * (1 + 2 * (int64_t)ceil(half));
  int64_t *place = calloc((size_t)(rows + 2 * most), sizeof *place), *row = place + rows;
  double *values = calloc((size_t)(most * reals), sizeof *values);
  kaon_triplet_arrays a = {.global_rows = rows, .rows = rows, .reals = reals, .row = row};
  kaon_status status = KAON_ERR_MEMORY;
  uint64_t state = 1;
  for (int64_t i = 0; place && values && i < rows; i++) { /* Fisher and Yates; Knuth's numbers */
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    const int64_t other = of->patterned ? i : (int64_t)((state >> 33) % (uint64_t)(i + 1));
    place[i] = place[other];
    place[other] = i;
  }
  for (int64_t i = 0; place && values && i < rows; i++)
    for (int64_t k = 0, j = i; j < rows; k++, j += DISTANCE) {
      if (k > 0 && (double)k - half > (double)(i % 16) / 16) break; /* a share of the last ones */
      for (int way = 0; way < (k ? 2 : 1); way++) {
        row[a.entries] = place[way ? j : i];
        row[most + a.entries] = place[way ? i : j];
        values[reals * a.entries++] = k ? -1 : of->a_row + 3;
      }
    }
  a.column = row + most;
  a.values = values;
  if (place && values) status = kaon_matrix_create_triplets(ctx, &a, NULL, matrix);
  free(place);
  free(values);
  return status;
}

/* What is counted for --precond auto where the matrix' numbers are not known. */
static int expected_precond(const linear_args *a, const shape *of) {
  if (a->precond != PRECOND_AUTO || of->small) return a->precond;
  return of->info.skew ? PRECOND_NONE : of->info.halves ? PRECOND_JACOBI : PRECOND_ILU0;
}

static int takes_inverse(const solve_args *args) {
  return args->linear.precond == PRECOND_AINV || args->linear.precond == PRECOND_FSAI;
}

/* Arguments of a small job: without an approximate inverse and without files. */
static solve_args small_arguments(const solve_args *args, const shape *of) {
  solve_args own = *args;
  linear_args *a = &own.linear;
  own.common.quiet = 1;
  /* the job's own limit says how much padding is too much */
  if (!of->small || a->format != KAON_STORE_ELL) own.common.memory_limit = NAN;
  own.common.tuning = NULL;
  own.common.reduce_delay = 0;
  a->shuffled = a->permutation != NULL; /* the file is of other rows */
  a->permutation = NULL;
  a->precond = expected_precond(a, of);
  if (a->rhs && (!of->small || strcmp(a->rhs, "own") != 0)) a->rhs = "ones";
  if (takes_inverse(args)) {
    a->precond = PRECOND_NONE;
    a->precond_drop = a->precond_shift = NAN;
    a->precond_fill = a->precond_power = 0;
    a->precond_precision = -1;
  }
  /* the default method of A = -A^H, and where A and A^H differ, as in a file of both triangles */
  const int skew = of->info.skew && of->info.reals == 1 && a->precond == PRECOND_NONE;
  if (!of->small && a->method < 0 && !precond_varies(a) && (skew || !of->info.halves))
    a->method = skew ? KAON_CGNR : KAON_BICGSTAB;
  return own;
}

static int take_matrix(linear *l, kaon_context *ctx, int64_t rows, const shape *of) {
  if (of->small) return linear_matrix(ctx, l);
  l->ctx = ctx;
  l->info = (kaon_matrix_info)KAON_MATRIX_INFO_INIT;
  l->shares = (kaon_matrix_distribution)KAON_MATRIX_DISTRIBUTION_INIT;
  kaon_status status = small_matrix(ctx, rows, of, &l->matrix);
  if (status == KAON_OK) status = kaon_matrix_describe(l->matrix, &l->info);
  if (status == KAON_OK) status = kaon_matrix_describe_distribution(l->matrix, &l->shares);
  return cli_status(ctx, status, NULL);
}

/* 1: an order of rows, factors and blocks are made from a copy of the rows. */
static int copies_rows(const solve_args *args, const shape *of) {
  const int precond = expected_precond(&args->linear, of);
  const int diagonal = precond <= PRECOND_JACOBI || precond == PRECOND_CHEBYSHEV;
  return args->linear.ordering != 0 || (!diagonal && !takes_inverse(args));
}

/* Sets a small job up, of `rows` unless the job is small itself. Exit status. */
static int count_small(const solve_args *args, const shape *of, int64_t rows, forecast *f) {
  solve_args own = small_arguments(args, of);
  solve_job job = {.args = &own, .columns = own.linear.columns};
  const kaon_matrix_info *i = &job.l.info;
  double now[4] = {0};
  const double part = of->small ? 1 : (double)rows / fmax((double)of->info.rows, 1);
  own.common.deflation_limit = forecast_deflation(fmax(ranks_started(), 1) * part);
  int code = linear_check(&own.linear, &job.l);
  if (code == EXIT_DONE) code = cli_context(&own.common, &job.ctx);
  if (code == EXIT_DONE) code = take_matrix(&job.l, job.ctx, rows, of);
  if (code == EXIT_DONE) code = linear_decide(&job.l);
  if (code == EXIT_DONE) {
    now[0] = forecast_now(job.ctx);
    code = linear_operator(&job.l);
    now[1] = forecast_now(job.ctx);
  }
  if (code == EXIT_DONE) code = solve_allocate(&job);
  if (code == EXIT_DONE) {
    now[2] = forecast_now(job.ctx);
    code = linear_solver(&job.l, job.columns);
    now[3] = forecast_now(job.ctx);
  }
  if (code == EXIT_DONE) {
    /* in host memory: the rows' values, 4-byte columns and 8-byte starts, and columns of files */
    const int files = args->guess || args->output || args->linear.rhs ? job.columns + 1 : 1;
    const double column = (double)i->rows * i->reals * sizeof(double);
    const double matrix = (double)i->entries * (4 + 8.0 * i->reals) + 8.0 * (double)(i->rows + 1);
    *f = (forecast){.size = (double)i->global_rows,
                    .input = now[0] + matrix,
                    .operator= now[1] - now[0],
                    .vectors = now[2] - now[1],
                    .solver = now[3] - now[2],
                    .host = matrix * (1 + copies_rows(args, of)) + column * files};
    forecast_count(job.ctx, f);
  }
  solve_close(&job);
  return signals_interrupted() ? EXIT_STOPPED : code;
}

static int predict(const solve_args *args, const shape *of, forecast *all) {
  forecast a, b;
  if (of->small) return count_small(args, of, 0, all);
  const int64_t rows = (int64_t)(SMALL_ROWS / fmax(1, of->a_row / 20));
  int code = count_small(args, of, rows, &a);
  if (code == EXIT_DONE) code = count_small(args, of, 2 * rows, &b);
  /* longer rows than those of small matrices: by entries */
  const double size = (double)of->info.rows * fmax(1, of->a_row / MOST_ENTRIES_A_ROW);
  if (code == EXIT_DONE) *all = forecast_follow(&a, &b, size);
  return code;
}

/* What the job takes at least: rows of a file may share patterns, and then take half. */
static double least_need(const forecast *f, const shape *of) {
  return f->fields * (of->small ? 1 : of->patterned ? 0.9 : 0.5);
}

/* The sentence of a job that does not fit. Exit status. */
static int refuse(const solve_args *args, double least, const kaon_context_info *info) {
  char job[512];
  snprintf(job, sizeof job, "%.400s with %d column%s needs at least", cli_name(args->linear.matrix),
           args->linear.columns, args->linear.columns == 1 ? "" : "s");
  return forecast_refuse(
      &args->common, job, least, info,
      "solve fewer columns at a time (--columns), take --precision single, distribute the rows "
      "over ranks, or, on a CPU with more memory, set --memory-limit");
}

/* What is wrong with files is said now, not by the run. Exit status. */
static int check_files(const solve_job *job, shape *of) {
  const linear_args *a = &job->args->linear;
  const char *guess = job->args->guess;
  int32_t *order = NULL;
  if (linear_is_file(a->matrix) && access(a->matrix, R_OK) != 0)
    return cli_wrong("--matrix %s: there is no such file, or it cannot be read; it takes %s",
                     a->matrix, LINEAR_MATRIX);
  if (job->l.rhs == RHS_FILE && access(a->rhs, R_OK) != 0)
    return cli_wrong("--rhs %s: there is no such file, or it cannot be read", a->rhs);
  if (guess && access(guess, R_OK) != 0)
    return cli_wrong("--guess %s: there is no such file, or it cannot be read", guess);
  int code = query(job->args, 1, of);
  if (code == EXIT_DONE && a->permutation && ranks_started() <= 1 && of->info.stored > 0)
    code = permutation_read(a->permutation, a->matrix, of->info.rows, &order);
  free(order);
  return code;
}

static void print_plan(const solve_args *args, const forecast *f, double peak, double share,
                       double reading, const kaon_context_info *info) {
  const cli_common *common = &args->common;
  const int ranks = ranks_started(), inverse = takes_inverse(args);
  char text[5][32];
  cli_print(common,
            "%s, %d columns, would take %s %s of memory at its peak on one rank:\n"
            "  matrix %s, operator and preconditioner %s, solver %s, sources and solutions %s, the "
            "rest the program and what reads the matrix\n",
            cli_name(args->linear.matrix), args->linear.columns, inverse ? "at least" : "about",
            cli_bytes(peak, text[0]), cli_bytes(f->input, text[1]), cli_bytes(f->operator, text[2]),
            cli_bytes(f->solver, text[3]), cli_bytes(f->vectors, text[4]));
  if (inverse)
    cli_print(common, "  without the preconditioner, whose fill-in depends on the matrix\n");
  if (ranks > 1)
    cli_print(common,
              "  each of %d ranks holds its share of the rows, about %s, and the ghost values that "
              "it needs\n",
              ranks, cli_bytes(share, text[0]));
  if (ranks > 1 && reading > 0)
    cli_print(common, "  while the file is read each takes %s\n", cli_bytes(reading, text[0]));
  forecast_print_free(common, f, info);
}

static json_t *describe_matrix(const char *name, const shape *of) {
  const kaon_matrix_file_info *i = &of->info;
  const int exact = of->file ? !i->halves : i->stored > 0; /* a file's diagonal may have holes */
  const int rows = of->file || exact;
  return json_pack("{s:o s:o s:o s:s}", "name", report_string(cli_name(name)), "rows",
                   rows ? json_integer((json_int_t)i->rows) : json_null(), "entries",
                   exact ? json_integer((json_int_t)i->entries) : json_null(), "field",
                   i->reals == 2 ? "complex" : "real");
}

int plan_solve(const solve_job *job) {
  const solve_args *args = job->args;
  const int ranks = ranks_started() > 1 ? ranks_started() : 1;
  kaon_context *ctx = NULL;
  shape of, shared;
  forecast f = {0};
  if (!ranks_first()) return EXIT_DONE; /* the first one says it for all */
  signals_stage("predicting the memory", "nothing was to be computed or written");
  int code = check_files(job, &of);
  if (code == EXIT_DONE) code = query(args, ranks, &shared);
  if (code == EXIT_DONE) code = cli_context(&args->common, &ctx);
  const double program = forecast_program();
  if (code == EXIT_DONE) code = predict(args, &of, &f);
  if (code == EXIT_DONE) {
    const kaon_context_info info = forecast_info(ctx);
    const double reading = of.file ? shared.info.bytes_reading : 0;
    const double making = f.input * (1 + copies_rows(args, &of)) + f.operator;
    const double peak =
        fmax(forecast_peak(&f, program, &info), program + fmax(of.info.bytes_reading, making));
    const double share = program + (peak - program) / ranks, least = least_need(&f, &of) / ranks;
    print_plan(args, &f, peak, share, reading, &info);
    json_t *report = report_new(ctx, "solve");
    json_object_set_new(report, "dry_run", json_true());
    json_object_set_new(report, "matrix", describe_matrix(args->linear.matrix, &of));
    json_object_set_new(report, "predicted_peak", report_real(peak));
    json_object_set_new(report, "predicted_fields", report_real(f.fields));
    json_object_set_new(report, "predicted_share", ranks > 1 ? report_real(share) : json_null());
    json_object_set_new(report, "predicted_whole", json_boolean(!takes_inverse(args)));
    json_object_set_new(report, "predicted_matrix", report_real(f.input));
    json_object_set_new(report, "predicted_reading", of.file ? report_real(reading) : json_null());
    code = report_write(args->common.report, report);
    json_decref(report);
    if (code == EXIT_DONE && forecast_exceeds(&args->common, &info, ranks, least))
      code = refuse(args, least, &info);
  }
  kaon_context_destroy(&ctx);
  return code;
}

int solve_fits(const solve_job *job) {
  const solve_args *args = job->args;
  const kaon_context_info info = forecast_info(job->ctx);
  forecast f = {0};
  shape of;
  if (info.ranks > 1) return EXIT_DONE;
  if (linear_is_file(args->linear.matrix) && access(args->linear.matrix, R_OK) != 0)
    return EXIT_DONE; /* said where it is read */
  int code = query(args, 1, &of);
  if (code != EXIT_DONE) return code;
  /* A in double and ten vectors */
  const double rough = of.info.reals * (20.0 * (double)of.info.entries +
                                        80.0 * (double)of.info.rows * args->linear.columns);
  if (!forecast_needed(&info, rough)) return EXIT_DONE;
  signals_stage("predicting the memory", "nothing was computed or written");
  code = predict(args, &of, &f);
  const double least = least_need(&f, &of);
  if (code != EXIT_DONE || !forecast_exceeds(&args->common, &info, 1, least)) return code;
  return refuse(args, least, &info);
}
