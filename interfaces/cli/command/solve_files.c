/* solve_files.c - where kaon solve begins (--guess) and what it writes: the solutions, or the last
 * iterates. Contract: solve.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interfaces/common/report.h"
#include "interfaces/common/signals.h"
#include "interfaces/cli/command/solve.h"
#include "interfaces/cli/report/unconverged.h"

static size_t numbers_of(const solve_job *job) {
  return (size_t)job->l.info.rows * (size_t)job->l.info.reals;
}

static int read_guess(solve_job *job, double *room) {
  linear_file file = {.option = "--guess", .path = job->args->guess, .is = "an x"};
  file.real = "give a real one";
  signals_stage("reading the initial guess", "nothing was computed or written");
  int code = linear_file_read(&job->l, &file);
  if (code == EXIT_DONE && file.columns < job->columns)
    code = cli_wrong(
        "--guess %s has %lld column%s, but --columns is %d; give a file of %d columns, or "
        "--columns %lld",
        file.path, (long long)file.columns, file.columns == 1 ? "" : "s", job->columns,
        job->columns, (long long)file.columns);
  kaon_status status = KAON_OK;
  for (int k = 0; k < job->columns && code == EXIT_DONE && status == KAON_OK; k++) {
    linear_file_column(&job->l, &file, k, room);
    status = kaon_vector_import(job->x, k, room, KAON_BASIS_UKQCD);
  }
  free(file.numbers);
  return code == EXIT_DONE ? cli_status(job->ctx, status, "--guess") : code;
}

int solve_guess(solve_job *job) {
  if (!job->args->guess) return EXIT_DONE;
  double *room = malloc((numbers_of(job) + 1) * sizeof *room);
  int code = ranks_agree(room ? EXIT_DONE : EXIT_DEVICE);
  if (code != EXIT_DONE) cli_error("out of memory for --guess %s", job->args->guess);
  if (code == EXIT_DONE) code = read_guess(job, room);
  free(room);
  return code;
}

int solve_check_disk_space(const solve_args *args, const kaon_matrix_info *i) {
  /* the shortest number and its line's end; one of some 16 digits */
  static const double shortest = 2, usual = 18;
  const char *path = args->output;
  const size_t length = path ? strlen(path) : 0;
  if (!path || (length > 3 && strcmp(path + length - 3, ".gz") == 0)) return EXIT_DONE;
  const double numbers = (double)i->global_rows * i->reals * args->linear.columns;
  return cli_check_disk_space("--output", path, shortest * numbers, usual * numbers);
}

static int write_columns(const solve_job *job, const char *path, const char *what) {
  const kaon_matrix_info *i = &job->l.info;
  const size_t numbers = numbers_of(job);
  signals_output(path);
  signals_enter(what, "the file was not written");
  double *values = malloc((numbers * (size_t)job->columns + 1) * sizeof *values);
  kaon_status status = kaon_context_agree(job->ctx, values ? KAON_OK : KAON_ERR_MEMORY);
  for (int k = 0; k < job->columns && status == KAON_OK; k++)
    status = kaon_vector_export(job->x, k, values + (size_t)k * numbers, KAON_BASIS_UKQCD);
  if (status == KAON_OK)
    status = kaon_array_write(job->ctx, path, i->rows, job->columns, i->reals, values);
  const int code = cli_write_status(job->ctx, status, "--output");
  free(values);
  signals_leave(code == EXIT_DONE ? path : NULL);
  return code;
}

int solve_write(const solve_job *job) {
  const char *path = job->args->output;
  if (!path) return EXIT_DONE;
  const int code = write_columns(job, path, "writing the solutions");
  if (code == EXIT_DONE) cli_print(&job->args->common, "written: %s\n", path);
  if (code == EXIT_DONE) unconverged_over(&job->args->common, path);
  return code;
}

int solve_unconverged(solve_job *job, json_t *report) {
  const char *output = job->args->output;
  const char *lost = output ? "the solutions were not written" : "x is not a solution";
  char *name = unconverged_name(output), *text = NULL;
  int cleared = 0, code = ranks_agree(output && !name ? EXIT_DEVICE : EXIT_DONE);
  if (code == EXIT_DONE && output)
    code = unconverged_clear(job->ctx, job->solves, numbers_of(job), job->x, &cleared);
  const int some = cleared < job->columns;
  if (code == EXIT_DONE && output && some)
    code = write_columns(job, name, "writing the last iterates");
  if (code == EXIT_DONE && output)
    text = unconverged_text(lost, some ? name : NULL, job->solves, job->columns, cleared,
                            job->l.options.max_iterations, "");
  if (code == EXIT_DONE && output && some)
    json_object_set_new(report, "unconverged", report_string(name));
  unconverged_explain(job->solves, job->columns, lost, text, linear_advice, &job->l);
  free(text);
  free(name);
  return code;
}
