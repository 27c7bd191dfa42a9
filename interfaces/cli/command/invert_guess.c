/* invert_guess.c - --guess FILE: start from the solutions of an earlier run; and
 * OUTPUT.unconverged, the last iterates. A guess may be of another mass or other links, which is
 * reported; lattice, source and number of columns must be this run's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interfaces/cli/command/invert.h"
#include "interfaces/common/report.h"
#include "interfaces/common/signals.h"
#include "interfaces/cli/report/unconverged.h"

/* What a file says of itself. */
typedef struct guess_file {
  int extents[4], columns, twelve;
  char text[32768]; /* the description, or a staggered file's title */
} guess_file;

/* As invert_results.c writes them. */
static const char staggered_source[] = ", source ", staggered_shift[] = ", shift ";

static kaon_status probe(const invert_job *job, const kaon_context *ctx, guess_file *file) {
  const char *path = job->args->guess;
  kaon_propagator_file_info dirac = KAON_PROPAGATOR_FILE_INFO_INIT;
  kaon_staggered_file_info staggered = KAON_STAGGERED_FILE_INFO_INIT;
  kaon_status status;
  memset(file, 0, sizeof *file);
  if (job->p.staggered) {
    status = kaon_staggered_file_probe(ctx, path, &staggered);
    if (status != KAON_OK) return status;
    memcpy(file->extents, staggered.extents, sizeof file->extents);
    memcpy(file->text, staggered.text, sizeof staggered.text);
    file->columns = staggered.columns;
    return KAON_OK;
  }
  status = kaon_propagator_file_probe(ctx, path, &dirac);
  if (status != KAON_OK) return status;
  memcpy(file->extents, dirac.extents, sizeof file->extents);
  memcpy(file->text, dirac.text, sizeof file->text);
  file->columns = dirac.columns;
  file->twelve = dirac.kind == KAON_PROPAGATOR_TWELVE;
  return KAON_OK;
}

/* Told from what its headers say, for each reader takes the other's file for a damaged one. */
static int wrong_action(const invert_job *job, const kaon_context *ctx) {
  const char *path = job->args->guess;
  kaon_propagator_file_info dirac = KAON_PROPAGATOR_FILE_INFO_INIT;
  kaon_staggered_file_info staggered = KAON_STAGGERED_FILE_INFO_INIT;
  char name[32];
  cli_choice(PROBLEM_ACTIONS, job->args->problem.action, name);
  if (job->p.staggered && kaon_propagator_file_probe(ctx, path, &dirac) == KAON_OK)
    return cli_wrong(
        "--guess %s holds spinors, of a Wilson-like action, but this run's action is %s; give a "
        "file of staggered vectors",
        path, name);
  if (!job->p.staggered && kaon_staggered_file_probe(ctx, path, &staggered) == KAON_OK)
    return cli_wrong(
        "--guess %s holds staggered vectors, but this run's action is %s; give a file of spinors",
        path, name);
  return EXIT_DONE;
}

static int wrong_source(const invert_job *job, const char *source) {
  const char *ours = job->args->problem.source;
  if (strcmp(source, ours) == 0) return EXIT_DONE;
  return cli_wrong(
      "--guess %s holds solutions for --source %.100s, but this run's is %s; give that source, or "
      "another file",
      job->args->guess, source, ours);
}

static int of_shifts(const invert_job *job, double sigma) {
  return cli_wrong(
      "--guess %s holds solutions of (A + %g) x = b, of --shifts, but this run solves M x = b; "
      "give "
      "another file",
      job->args->guess, sigma);
}

/* Older files do not name their source. */
static int check_title(const invert_job *job, const char *title) {
  const char *source = strstr(title, staggered_source), *shift = strstr(title, staggered_shift);
  if (shift) return of_shifts(job, strtod(shift + strlen(staggered_shift), NULL));
  return source ? wrong_source(job, source + strlen(staggered_source)) : EXIT_DONE;
}

/* OUTPUT.partial may hold any columns of a run; as a guess they would be taken for the first. */
static int check_columns(const invert_job *job, const json_t *runs) {
  const json_int_t first = json_integer_value(json_array_get(json_array_get(runs, 0), 0));
  if (json_array_size(runs) == 1 && first == 0) return EXIT_DONE;
  return cli_wrong(
      "--guess %s holds some columns of a run, in %d pieces from column %lld on, not all from the "
      "first; give a file of all, or go on from it with --resume",
      job->args->guess, (int)json_array_size(runs), (long long)first);
}

static int check_description(const invert_job *job, const char *text) {
  json_t *there = json_loads(text, 0, NULL), *e = json_object_get(there, "equation");
  const char *named = json_string_value(json_object_get(e, "source"));
  const json_t *shift = json_object_get(e, "shift");
  int code = named ? EXIT_DONE
                   : cli_wrong(
                         "--guess %s: no kaon invert described it, so its columns may be "
                         "any; give a file that kaon invert --output wrote",
                         job->args->guess);
  if (code == EXIT_DONE && shift) code = of_shifts(job, json_number_value(shift));
  if (code == EXIT_DONE) code = wrong_source(job, named);
  if (code == EXIT_DONE) code = check_columns(job, json_object_get(there, "columns"));
  json_decref(there);
  return code;
}

int guess_fits(const invert_job *job, const kaon_context *ctx, const int extents[4]) {
  if (!job->args->guess) return EXIT_DONE;
  const char *path = job->args->guess;
  guess_file file = {.columns = 0};
  int code = wrong_action(job, ctx);
  if (code == EXIT_DONE) code = cli_status(ctx, probe(job, ctx, &file), "--guess");
  const int *e = file.extents;
  if (code == EXIT_DONE && memcmp(e, extents, sizeof file.extents) != 0)
    code = cli_wrong(
        "--guess %s is of a lattice of %dx%dx%dx%d, but this run's is %dx%dx%dx%d; give a file of "
        "the same lattice",
        path, e[0], e[1], e[2], e[3], extents[0], extents[1], extents[2], extents[3]);
  if (code == EXIT_DONE)
    code = job->p.staggered ? check_title(job, file.text) : check_description(job, file.text);
  if (code == EXIT_DONE && file.columns != job->columns)
    code = cli_wrong(
        "--guess %s holds %d column%s, but this run has %d; give --columns %d, or a file of %d",
        path, file.columns, file.columns == 1 ? "" : "s", job->columns, file.columns, job->columns);
  return code;
}

static kaon_status read_dirac(invert_job *job, const guess_file *file) {
  int *columns = malloc((size_t)job->columns * sizeof *columns);
  kaon_status status = kaon_context_agree(job->ctx, columns ? KAON_OK : KAON_ERR_MEMORY);
  for (int k = 0; k < job->columns && status == KAON_OK; k++) columns[k] = k;
  if (status == KAON_OK)
    status = results_take(job, job->args->guess, columns, job->columns, file->twelve);
  free(columns);
  return status;
}

/* Another mass or other links are no hindrance, but worth a word. */
static void announce(const invert_job *job, const guess_file *file) {
  const cli_common *common = &job->args->common;
  char why[256] = "", action[96];
  int same;
  if (job->p.staggered) {
    results_action(job, action);
    const size_t length = strlen(action); /* what follows is the source */
    same = strncmp(file->text, action, length) == 0 && strchr(",", file->text[length]);
    snprintf(why, sizeof why, "it says \"%.100s\", this run is \"%s\"", file->text, action);
  } else {
    same = results_same(job, file->text, why);
  }
  cli_print(common, "starting from %s%s%s\n", job->args->guess,
            same ? "" : ", which solves another equation: ", same ? "" : why);
}

int guess_read(invert_job *job) {
  const problem_args *a = &job->args->problem;
  if (!job->args->guess) return EXIT_DONE;
  guess_file file;
  signals_stage("reading the initial guess", "nothing was computed or written");
  int code = cli_status(job->ctx, probe(job, job->ctx, &file), "--guess");
  if (code == EXIT_DONE)
    code = cli_status(
        job->ctx,
        job->p.staggered ? kaon_staggered_read_vectors(job->x, job->args->guess, a->ignore_checksum)
                         : read_dirac(job, &file),
        "--guess");
  if (code == EXIT_DONE) job->begun = 1;
  if (code == EXIT_DONE) announce(job, &file);
  return code;
}

double guess_bytes(const invert_job *job) {
  guess_file file;
  if (!job->args->guess) return 0;
  if (job->p.staggered) return (double)invert_sites(job) * 6 * sizeof(double); /* a column */
  const int known = probe(job, NULL, &file) == KAON_OK;
  return known ? results_take_bytes(job, job->columns, file.twelve) : 0;
}

int guess_leave(invert_job *job, json_t *report, advice_fn *advice) {
  const char *output = job->args->output;
  const char *lost = "the solutions and correlators were not written";
  char *name = unconverged_name(output), *text = NULL;
  const size_t numbers = (size_t)invert_sites(job) * (size_t)problem_reals(&job->p);
  int cleared = 0, code = ranks_agree(output && !name ? EXIT_DEVICE : EXIT_DONE);
  if (code == EXIT_DONE && output)
    code = unconverged_clear(job->ctx, job->solves, numbers, job->x, &cleared);
  const int some = cleared < job->columns;
  if (code == EXIT_DONE && output && some) code = results_propagator(job, name, RESULTS_ITERATES);
  if (code == EXIT_DONE && output)
    text = unconverged_text(lost, some ? name : NULL, job->solves, job->columns, cleared,
                            job->p.options.max_iterations, job->kept ? "--resume " : "");
  if (code == EXIT_DONE && output && some)
    json_object_set_new(report, "unconverged", report_string(name));
  unconverged_explain(job->solves, job->columns, lost, text, advice, job);
  free(text);
  free(name);
  return code;
}
