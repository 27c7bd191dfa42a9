/* bench_matrix.c - benchmarks on sparse matrices: the list of matrices, rows about them. */
#include "bench/bench_matrix.h"

#include <math.h>
#include <stdlib.h>

#include "interfaces/common/report.h"

#define AT(member) offsetof(linear_args, member)

const cli_option matrix_storage_rows[] = {
    {CLI_CHOICE, "ordering", LINEAR_ORDERINGS, "none", AT(ordering), 0, 0,
     "order in which rows are stored"},
    {CLI_CHOICE, "partition", LINEAR_PARTITIONS, "blocks", AT(partition), 0, 0,
     "which rank has which rows"},
    {CLI_INT, "window", "N", NULL, AT(window), 1, 1e9,
     "rows that sell may reorder (default: automatic; 1: none)"},
    CLI_END_ROW};

const cli_option matrix_solve_rows[] = {
    {CLI_INT, "max-iter", "N", "10000", AT(max_iter), 1, 1e9, "iterations allowed"},
    {CLI_CHOICE, "refinement", "reliable|restart", "reliable", AT(refinement), 0, 0,
     "how a coarser inner iteration is corrected"},
    {CLI_TEXT, "set", "KEY=VALUE,...", NULL, AT(set), 0, 0,
     "further solver options, as of kaon solve"},
    CLI_END_ROW};

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

int matrix_each(bench *b, const char *const *usual, int (*work)(bench *b, const char *name)) {
  const matrix_args *a = matrix_of(b);
  int code = EXIT_DONE;
  for (int i = 0; i < a->matrices.count && code == EXIT_DONE; i++)
    code = work(b, a->matrices.text[i]);
  if (a->matrices.count || a->joined.count) return code;
  for (; *usual && code == EXIT_DONE; usual++) code = work(b, *usual);
  return code;
}

int table_measures(const matrix_args *a) {
  return a->matrices.count > 0 || a->joined.count == 0;
}

int table_check(const matrix_args *a) {
  if (!table_measures(a) && cli_option_given(&a->bench.common, "seconds"))
    return cli_wrong(
        "--seconds has no effect on --join without --matrix, which measures nothing; leave it out");
  return EXIT_DONE;
}
