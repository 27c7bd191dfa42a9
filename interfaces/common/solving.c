/* solving.c - names, histories, advice. Contract: solving.h. */
#include "interfaces/common/solving.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interfaces/common/report.h"

kaon_method_info method_info(kaon_method method) {
  kaon_method_info info = KAON_METHOD_INFO_INIT;
  (void)kaon_method_query(method, &info);
  return info;
}

const char *method_name(kaon_method method) {
  return method_info(method).name;
}

const char *method_title(kaon_method method) {
  return method_info(method).title;
}

int method_has(kaon_method method, unsigned traits) {
  return (method_info(method).traits & traits) != 0;
}

const char *methods_with(unsigned traits, char text[METHODS_ROOM]) {
  const char *before = NULL;
  text[0] = '\0';
  for (int m = 0; m <= METHODS; m++) {
    const int last = m == METHODS;
    const size_t used = strlen(text);
    if (!last && !method_has((kaon_method)m, traits)) continue;
    if (before)
      snprintf(text + used, METHODS_ROOM - used, "%s%s",
               used == 0 ? ""
               : last    ? " or "
                         : ", ",
               before);
    if (!last) before = method_name((kaon_method)m);
  }
  return text;
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
  const char *own = method_info(method).option;
  for (int m = 0; set && m < METHODS; m++) {
    const char *key = method_info((kaon_method)m).option;
    if (key && strstr(set, key) && !(own && strcmp(own, key) == 0))
      return cli_wrong("--set %s is for --%s %s, but the method is %s; leave it out", key, option,
                       method_name((kaon_method)m), method_name(method));
  }
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

int solving_rounds(double residual) {
  return residual < 1e-2; /* not NaN */
}

/* The options that a remedy changes. On lattices cg stands for the normal equations, too. */
static void add_options(const kaon_failure *f, const kaon_remedy *r, char *text, size_t room) {
  const int normal = !f->entries && r->method == KAON_CGNR, used = r->method != f->method;
  const int other = strcmp(r->precond, f->precond) != 0, finer = r->sloppy != f->sloppy;
  snprintf(text, room, "%s%s%s%s%s", used ? " --method " : "",
           !used    ? ""
           : normal ? "cg"
                    : method_name(r->method),
           other ? " --precond " : "", other ? r->precond : "", finer ? " --sloppy double" : "");
}

const char *solving_advice(kaon_failure f, const kaon_column_report *worst,
                           const solving_trials *trials, const char *singular) {
  static char text[512];
  char first[96] = "", second[96] = "";
  kaon_remedy remedies[KAON_REMEDIES];
  const char *rounding = solving_rounds(worst->residual)
                             ? "rounding keeps it above --tol (give a larger one), or "
                             : "";
  f.reason = worst->reason;
  f.breakdown = worst->breakdown;
  const int count = kaon_remedies(&f, remedies);
  if (count > 0) add_options(&f, &remedies[0], first, sizeof first);
  if (count > 1) add_options(&f, &remedies[1], second, sizeof second);
  if (trials->left)
    snprintf(text, sizeof text, "%s%sa larger --max-iter leaves steps for what else may help",
             trials->names, *trials->names ? " got no further; " : "");
  else if (*trials->names)
    snprintf(text, sizeof text, "%s got no further either: %s%s", trials->names, rounding,
             singular);
  else if (count > 0)
    snprintf(text, sizeof text, "try%s%s%s", first, count > 1 ? ", or" : "", second);
  else
    snprintf(text, sizeof text, "%s%s", rounding, singular);
  return text;
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
