/* unconverged.c - the name, the content and the sentence of OUTPUT.unconverged. Contract:
 * unconverged.h. */
#include "interfaces/cli/report/unconverged.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "interfaces/common/signals.h"

char *unconverged_name(const char *output) {
  char *name = NULL;
  return output && asprintf(&name, "%s.unconverged", output) >= 0 ? name : NULL;
}

/* 1: x is a better guess than 0. It is none after divergence, or if it is 0, as some methods end.
 * After a breakdown, or if b is inconsistent, it is one only with a residual below 1. */
static int is_better_guess(const kaon_column_report *solve, double norm2) {
  if (solve->reason == KAON_DIVERGING || !isfinite(solve->residual) || !isfinite(norm2)) return 0;
  const int doubtful = solve->reason == KAON_BREAKDOWN || solve->unreachable > 0;
  return norm2 > 0 && (!doubtful || solve->residual < 1);
}

int unconverged_clear(kaon_context *ctx, const kaon_column_report *solves, size_t numbers,
                      kaon_vector *x, int *cleared) {
  const int columns = kaon_vector_columns(x);
  double *norm2 = malloc((size_t)columns * sizeof *norm2),
         *zeros = calloc(numbers + 1, sizeof *zeros);
  kaon_status status = kaon_context_agree(ctx, norm2 && zeros ? KAON_OK : KAON_ERR_MEMORY);
  if (status == KAON_OK) status = kaon_vector_norm2(x, norm2);
  *cleared = 0;
  for (int k = 0; k < columns && status == KAON_OK; k++) {
    if (is_better_guess(&solves[k], norm2[k])) continue;
    status = kaon_vector_import(x, k, zeros, KAON_BASIS_UKQCD);
    ++*cleared;
  }
  free(norm2);
  free(zeros);
  return cli_status(ctx, kaon_context_agree(ctx, status), NULL);
}

char *unconverged_text(const char *lost, const char *name, const kaon_column_report *solves,
                       int columns, int cleared, int max_iterations, const char *more) {
  const int most = 1000000000; /* of --max-iter */
  char *text = NULL, zeros[64] = "", steps[48] = "";
  int too_few = 0, length;
  for (int k = 0; k < columns; k++) too_few += solves[k].reason == KAON_MAX_ITERATIONS;
  if (cleared) snprintf(zeros, sizeof zeros, " (0 for the %d that did not improve)", cleared);
  if (too_few)
    snprintf(steps, sizeof steps, " --max-iter %d",
             max_iterations < most / 2 ? 2 * max_iterations : most);
  if (name)
    length = asprintf(&text,
                      "%s, but the last iterates of all columns are in %s%s; go on from there with "
                      "%s--guess %s%s",
                      lost, name, zeros, more, name, steps);
  else
    length =
        asprintf(&text, "%s, nor were the last iterates, since no column improved on x = 0", lost);
  return length < 0 ? NULL : text;
}

void unconverged_explain(const kaon_column_report *solves, int columns, const char *lost,
                         const char *text, advice_fn *advice, const void *user) {
  int cancelled = 0;
  for (int k = 0; k < columns; k++) cancelled += solves[k].reason == KAON_CANCELLED;
  signals_keep(0);
  if (!cancelled) solving_explain(solves, columns, text ? text : lost, advice, user);
  if (cancelled && text) signals_stage("solving", text);
}

void unconverged_over(const cli_common *common, const char *output) {
  char *name = unconverged_name(output);
  if (name && ranks_first() && access(name, F_OK) == 0)
    cli_print(common, "%s, of an earlier run, is not needed any more\n", name);
  free(name);
}
