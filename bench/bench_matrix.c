/* bench_matrix.c - benchmarks on sparse matrices: the list of matrices, rows about them. */
#include "bench/bench_matrix.h"

#include <math.h>
#include <stdlib.h>

#include "interfaces/common/report.h"

void linear_without_preconds(linear_args *args) {
  args->precond_drop = args->precond_omega = args->precond_low = args->precond_high =
      args->precond_shift = args->schwarz_relaxation = NAN;
  args->precond_order = args->precond_precision = -1;
}

void linear_without_projections(linear_args *args) {
  args->lambda = NAN;
  args->sweep_order = args->carp_rows = -1;
}

void matrix_describe(const linear *l, const char *words, json_t *row) {
  char ordering[32], form[16];
  json_object_update_new(
      row,
      json_pack("{s:o s:I s:I s:s s:s s:s}", "matrix", report_string(cli_name(l->args->matrix)),
                "rows", (json_int_t)l->info.global_rows, "entries",
                (json_int_t)l->info.global_entries, "format", bench_form(words, form), "stored",
                words, "ordering", cli_choice(LINEAR_ORDERINGS, l->args->ordering, ordering)));
}

kaon_status matrix_fill(const linear *l, kaon_vector *v) {
  const size_t n = (size_t)l->info.rows * (size_t)l->info.reals;
  double *numbers = malloc((n + 1) * sizeof *numbers);
  uint64_t state = 1;
  for (size_t i = 0; numbers && i < n;
       i++) { /* Knuth's MMIX generator; the quality does not matter */
    state = state * 6364136223846793005u + 1442695040888963407u;
    numbers[i] = (double)(state >> 40) / (double)(1 << 23) - 1;
  }
  kaon_status status = kaon_context_agree(l->ctx, numbers ? KAON_OK : KAON_ERR_MEMORY);
  for (int k = 0; k < kaon_vector_columns(v) && status == KAON_OK; k++)
    status = kaon_vector_import(v, k, numbers, KAON_BASIS_UKQCD);
  free(numbers);
  return status;
}

int matrix_each(bench *b, int (*work)(bench *b, const char *name)) {
  const cli_texts *list = &matrix_of(b)->matrices;
  int code = EXIT_DONE;
  bench_header(b, "matrix");
  if (list->count == 0) return work(b, "laplace3d:64");
  for (int i = 0; i < list->count && code == EXIT_DONE; i++) code = work(b, list->text[i]);
  return code;
}

int table_check(const matrix_args *a) {
  if (a->joined.count && !a->matrices.count && cli_option_given(&a->bench.common, "seconds"))
    return cli_wrong(
        "--seconds has no effect on --join without --matrix, which measures nothing; leave it out");
  return EXIT_DONE;
}
