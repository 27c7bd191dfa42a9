/* linear_null.c - singular matrices: --null-space, --project-rhs, and what a failed solve shows.
 * Contract: linear.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interfaces/common/linear/linear.h"

int null_space_given(const linear_args *args) {
  return args->null_space && strcmp(args->null_space, "none") != 0;
}

static int is_constant(const linear_args *args) {
  return strcmp(args->null_space, "constant") == 0;
}

const char *null_space_file(const linear_args *args) {
  return null_space_given(args) && !is_constant(args) ? args->null_space : NULL;
}

static int set_from_file(const linear *l) {
  static const char takes[] = "none, constant or a Matrix Market file";
  linear_file file = {.option = "--null-space",
                      .path = l->args->null_space,
                      .is = "an n",
                      .real = "give real vectors",
                      .most = KAON_NULL_VECTORS};
  int code = linear_readable(file.path, file.option, takes);
  if (code == EXIT_DONE) code = linear_file_read(l, &file);
  if (code != EXIT_DONE) return code;
  const size_t numbers = (size_t)l->info.rows * (size_t)l->info.reals;
  double *vectors = malloc((numbers * (size_t)file.columns + 1) * sizeof *vectors);
  code = ranks_agree(vectors ? EXIT_DONE : EXIT_DEVICE);
  if (code != EXIT_DONE) cli_error("out of memory for --null-space %s", file.path);
  for (int k = 0; k < (int)file.columns && code == EXIT_DONE; k++)
    linear_file_column(l, &file, k, vectors + (size_t)k * numbers);
  if (code == EXIT_DONE)
    code = cli_status(l->ctx, kaon_matrix_set_null_space(l->matrix, (int)file.columns, vectors),
                      file.option);
  free(vectors);
  free(file.numbers);
  return code;
}

int null_space_set(const linear *l) {
  if (!null_space_given(l->args)) return EXIT_DONE;
  if (!is_constant(l->args)) return set_from_file(l);
  return cli_status(l->ctx, kaon_matrix_set_null_space(l->matrix, 1, NULL), "--null-space");
}

int null_space_project(const linear *l, kaon_vector *b, double *removed) {
  for (int k = 0; k < kaon_vector_columns(b); k++) removed[k] = 0;
  if (!l->args->project_rhs) return EXIT_DONE;
  return cli_status(l->ctx, kaon_matrix_project_rhs(l->matrix, b, removed), "--project-rhs");
}

int null_space_examine(linear *l, const kaon_vector *b, const kaon_vector *x,
                       kaon_column_report *solves) {
  const int columns = kaon_vector_columns(b);
  int failed = 0;
  for (int k = 0; k < columns; k++) {
    solves[k].unreachable = 0;
    failed += solves[k].reason != KAON_CONVERGED && !solves[k].rounded;
    if (solves[k].reason == KAON_CANCELLED) return EXIT_DONE; /* its user does not wait */
  }
  if (!failed) return EXIT_DONE;
  kaon_consistency *found = calloc((size_t)columns, sizeof *found);
  kaon_status status = kaon_context_agree(l->ctx, found ? KAON_OK : KAON_ERR_MEMORY);
  if (status == KAON_OK) status = kaon_matrix_check_consistency(l->A, b, x, found);
  for (int k = 0; k < columns && status == KAON_OK; k++) {
    kaon_column_report *s = &solves[k];
    l->found.constant = found[k].constant;
    if (s->reason == KAON_CONVERGED || !(found[k].unreachable > 1.1 * l->options.tol)) continue;
    s->unreachable = found[k].unreachable;
    s->reason = KAON_STAGNATED;
    s->breakdown = KAON_BREAKDOWN_NONE;
    if (found[k].unreachable > l->found.unreachable) l->found = found[k];
  }
  free(found);
  /* the solve is over and left no memory for this check: its failure is reported without it */
  return status == KAON_ERR_MEMORY ? EXIT_DONE : cli_status(l->ctx, status, NULL);
}

/* A --tol that x meets: its residual, rounded up to two digits. */
static double met_by(double residual) {
  const double unit = pow(10, floor(log10(residual)) - 1);
  return fmin(ceil(residual / unit) * unit, 1);
}

const char *null_space_inconsistent(const linear *l, const kaon_column_report *worst) {
  static char text[400];
  const int given = null_space_given(l->args);
  const int used = snprintf(text, sizeof text,
                            "b is inconsistent: A is singular, and A x cannot reach a part of b of "
                            "size %.3g |b|; ",
                            worst->unreachable);
  if (l->found.removable)
    snprintf(text + used, sizeof text - (size_t)used, "give %s--project-rhs to remove it",
             l->found.constant && !given ? "--null-space constant " : "");
  else
    snprintf(text + used, sizeof text - (size_t)used,
             "x is a least-squares solution, which --output FILE --guess FILE.unconverged --tol "
             "%.2g accepts",
             met_by(worst->unreachable));
  return text;
}
