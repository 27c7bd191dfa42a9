/* solving.c - names, histories, advice. Contract: solving.h. */
#include "interfaces/common/solving.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interfaces/common/report.h"

static const struct {
  const char *name, *title;
} methods[] = {[KAON_CG] = {"cg", "CG"},
               [KAON_CGNR] = {"cgnr", "CGNR"},
               [KAON_CGNE] = {"cgne", "CGNE"},
               [KAON_BICGSTAB] = {"bicgstab", "BiCGStab"},
               [KAON_MR] = {"mr", "MR"},
               [KAON_GCR] = {"gcr", "GCR"},
               [KAON_BLOCKCG] = {"blockcg", "block CG"},
               [KAON_BLOCKCGNR] = {"blockcgnr", "block CGNR"},
               [KAON_PIPECG] = {"pipecg", "pipelined CG"},
               [KAON_PIPECGNR] = {"pipecgnr", "pipelined CGNR"},
               [KAON_PIPEBICGSTAB] = {"pipebicgstab", "pipelined BiCGStab"},
               [KAON_BICG] = {"bicg", "BiCG"},
               [KAON_RBICGSTAB] = {"rbicgstab", "reordered BiCGStab"},
               [KAON_GROPPCG] = {"groppcg", "Gropp's CG"},
               [KAON_CHRONGEAR] = {"chrongear", "Chronopoulos-Gear CG"},
               [KAON_JACOBI] = {"jacobi", "Jacobi"},
               [KAON_GS] = {"gs", "Gauss-Seidel"},
               [KAON_SOR] = {"sor", "SOR"},
               [KAON_TWO_STAGE] = {"two-stage", "two-stage block Jacobi"},
               [KAON_ASYNC] = {"async", "block-asynchronous relaxation"},
               [KAON_RICHARDSON] = {"richardson", "Richardson's iteration"}};

const char *method_name(kaon_method method) {
  return methods[method].name;
}

const char *method_title(kaon_method method) {
  return methods[method].title;
}

const char *precision_name(kaon_precision precision) {
  static const char *const names[] = {"double", "single", "half"};
  return names[precision];
}

const char *precisions_text(kaon_precision outer, kaon_precision inner, char text[64]) {
  if (outer == inner)
    snprintf(text, 64, "in %s", precision_name(outer));
  else
    snprintf(text, 64, "in %s, inner iteration in %s", precision_name(outer),
             precision_name(inner));
  return text;
}

const char *regime_name(kaon_issue issue) {
  static char name[32];
  return cli_regime(issue, name);
}

int solving_idle(const char *set, const char *option, kaon_method method) {
  static const struct {
    const char *key;
    kaon_method of;
  } keys[] = {{"subspace", KAON_GCR}, {"relaxation", KAON_MR}, {"as_printed", KAON_RBICGSTAB}};
  for (size_t i = 0; set && i < sizeof keys / sizeof *keys; i++)
    if (strstr(set, keys[i].key) && method != keys[i].of)
      return cli_wrong("--set %s is for --%s %s, but the method is %s; leave it out", keys[i].key,
                       option, method_name(keys[i].of), method_name(method));
  return EXIT_DONE;
}

void solving_warn(const cli_common *common, kaon_precision precision, double tol) {
  const double rounding = 0x1p-24; /* of each number of x */
  if (precision == KAON_SINGLE && tol < rounding)
    cli_print(
        common,
        "note: x in single precision leaves |b - A x| / |b| at up to %.0e |A| |x| / |b|, so --tol "
        "%g may not be met; --precision double --sloppy single meets it at nearly the same "
        "speed\n",
        rounding, tol);
}

void histories_copy(const kaon_solver *solver, int columns, column_history *histories) {
  for (int k = 0; k < columns; k++) {
    column_history *h = &histories[k];
    int length = 0;
    if (kaon_solver_history(solver, k, NULL, &length) != KAON_OK || length < 1) continue;
    h->residual = malloc((size_t)length * sizeof *h->residual);
    if (!h->residual) continue;
    h->count = length;
    if (kaon_solver_history(solver, k, h->residual, &length) != KAON_OK) h->count = 0;
  }
}

void histories_free(column_history *histories, int columns) {
  for (int k = 0; k < columns && histories; k++) free(histories[k].residual);
  free(histories);
}

int histories_write(const column_history *histories, int columns, const char *path) {
  if (!path) return EXIT_DONE;
  char *text = NULL;
  size_t length = 0;
  int longest = 0;
  FILE *out = open_memstream(&text, &length);
  if (!out) return EXIT_DEVICE;
  fputs(HISTORIES_HEAD, out);
  for (int k = 0; k < columns; k++) {
    if (k > 0) fprintf(out, ",column %d", k);
    if (histories[k].count > longest) longest = histories[k].count;
  }
  for (int i = 0; i < longest; i++) {
    fprintf(out, "\n%d", i);
    for (int k = 0; k < columns; k++) {
      if (i < histories[k].count)
        fprintf(out, ",%.9e", histories[k].residual[i]);
      else
        fputc(',', out);
    }
  }
  fputc('\n', out);
  int code = fclose(out) == 0 ? report_text(path, text, length) : EXIT_DEVICE;
  free(text);
  return code;
}

const char *solving_in_double(kaon_precision outer, const char *before, const char *after) {
  static char text[256];
  snprintf(text, sizeof text, "%s%s--sloppy double%s", before,
           outer == KAON_SINGLE ? "--precision double " : "", after);
  return text;
}

int solving_rounds(double residual) {
  return residual < 1e-2; /* not NaN */
}

/* Those that ended so, in a sentence. */
static void explain(const kaon_column_report *solves, int columns, kaon_stop_reason reason,
                    kaon_breakdown cause, advice_fn *advice, const void *user) {
  const char *text = kaon_breakdown_text(cause);
  const kaon_column_report *worst = NULL;
  int count = 0;
  for (int k = 0; k < columns; k++) {
    if (solves[k].reason != reason || solves[k].breakdown != cause) continue;
    count++;
    if (worst == NULL || !(solves[k].residual <= worst->residual)) worst = &solves[k];
  }
  if (count)
    cli_error("%d ended with %s: %s%s%s", count, kaon_stop_reason_name(reason), text,
              *text ? "; " : "", advice(user, reason, worst));
}

void solving_explain(const kaon_column_report *solves, int columns, const char *lost,
                     advice_fn *advice, const void *user) {
  int failed = 0;
  for (int k = 0; k < columns; k++) failed += solves[k].reason != KAON_CONVERGED;
  cli_error("%d of %d columns did not converge; %s", failed, columns, lost);
  for (kaon_stop_reason reason = KAON_RUNNING; reason <= KAON_CANCELLED; reason++)
    for (kaon_breakdown cause = KAON_BREAKDOWN_NONE; cause <= KAON_BREAKDOWN_PRECONDITIONER;
         cause++)
      if (reason != KAON_CONVERGED) explain(solves, columns, reason, cause, advice, user);
}
