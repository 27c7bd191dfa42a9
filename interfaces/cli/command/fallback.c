/* fallback.c - tries what a message would advise. Contract: fallback.h. */
#include "interfaces/cli/command/fallback.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interfaces/common/report.h"
#include "interfaces/common/signals.h"

static int has_failed(const kaon_column_report *s) {
  if (s->unreachable > 0) return 0; /* no method gets further */
  return s->reason == KAON_BREAKDOWN || s->reason == KAON_DIVERGING ||
         (s->reason == KAON_STAGNATED && !s->rounded);
}

/* The failed column with the largest residual; -1: none. *used: the most iterations of one. */
static int worst_of(const fallback *f, int *used) {
  int worst = -1;
  *used = 0;
  for (int k = 0; k < f->columns; k++) {
    const kaon_column_report *s = &f->solves[k];
    if (!has_failed(s)) continue;
    if (s->iterations > *used) *used = s->iterations;
    if (worst < 0 || !(s->residual <= f->solves[worst].residual)) worst = k;
  }
  return worst;
}

/* "gcr with ilu0" */
static const char *join(const char *method, const char *precond, char text[64]) {
  const int alone = strcmp(precond, "none") == 0;
  snprintf(text, 64, "%s%s%s", method, alone ? "" : " with ", alone ? "" : precond);
  return text;
}

static const char *name_of(kaon_method method, const char *precond, char text[64]) {
  return join(method_name(method), precond, text);
}

static void announce(const fallback *f, const kaon_column_report *s, const kaon_remedy *r) {
  char asked[64], next[64];
  const char *text = kaon_breakdown_text(s->breakdown);
  cli_print(f->common, "%s: %s after %d iterations%s%s%s; trying %s%s%s\n",
            join(f->name, f->asked.precond, asked), kaon_stop_reason_name(s->reason), s->iterations,
            *text ? " (" : "", text, *text ? ")" : "", name_of(r->method, r->precond, next),
            r->sloppy != f->asked.sloppy ? " in " : "",
            r->sloppy != f->asked.sloppy ? precision_name(r->sloppy) : "");
}

/* Takes over what an attempt reached. Returns the iterations of its slowest failed column. */
static int take(fallback *f, const kaon_remedy *r, const kaon_column_report *reports) {
  int used = 0;
  for (int k = 0; k < f->columns; k++) {
    kaon_column_report *s = &f->solves[k];
    const kaon_column_report *now = &reports[k];
    if (!has_failed(s)) continue;
    if (now->iterations > used) used = now->iterations;
    s->residual = now->residual;
    s->stop_residual = now->stop_residual;
    s->rounded = now->rounded;
    if (now->reason == KAON_CONVERGED) {
      f->by[k].method = r->method;
      f->by[k].iterations = now->iterations;
      snprintf(f->by[k].precond, sizeof f->by[k].precond, "%s", r->precond);
    }
    if (now->reason == KAON_CONVERGED || now->reason == KAON_CANCELLED) s->reason = now->reason;
  }
  return used;
}

int fallback_run(fallback *f) {
  kaon_remedy remedies[KAON_REMEDIES];
  char name[64];
  int used, code = EXIT_DONE, worst = worst_of(f, &used);
  if (worst < 0) return EXIT_DONE;
  f->asked.reason = f->solves[worst].reason;
  f->asked.breakdown = f->solves[worst].breakdown;
  const int count = kaon_remedies(&f->asked, remedies);
  kaon_column_report *reports = calloc((size_t)f->columns, sizeof *reports);
  if (ranks_agree(reports ? EXIT_DONE : EXIT_DEVICE) != EXIT_DONE) code = EXIT_DEVICE;
  for (int i = 0; i < count && code == EXIT_DONE; i++) {
    int unused, made = 0, stopped = 0;
    worst = worst_of(f, &unused);
    code = ranks_interrupted(&stopped);
    f->trials.left = worst >= 0 && !stopped && used >= f->max_iterations;
    if (code != EXIT_DONE || stopped || worst < 0 || f->trials.left) break;
    announce(f, &f->solves[worst], &remedies[i]);
    code = f->attempt(f->user, &remedies[i], f->max_iterations - used, reports, &made);
    if (code != EXIT_DONE || !made) continue;
    used += take(f, &remedies[i], reports);
    if (worst_of(f, &unused) < 0) break;
    char *names = f->trials.names;
    const size_t length = strlen(names);
    snprintf(names + length, sizeof f->trials.names - length, "%s%s", length ? ", " : "",
             name_of(remedies[i].method, remedies[i].precond, name));
  }
  free(reports);
  return code;
}

const char *fallback_text(const fallback_column *by, char text[96]) {
  char name[64];
  text[0] = '\0';
  if (by->precond[0])
    snprintf(text, 96, ", by %s in %d more iteration%s", name_of(by->method, by->precond, name),
             by->iterations, by->iterations == 1 ? "" : "s");
  return text;
}

void fallback_add(const fallback_column *by, json_t *report) {
  json_t *solves = json_object_get(report, "solves");
  if (!by->precond[0]) return;
  json_object_set_new(json_array_get(solves, json_array_size(solves) - 1), "fallback",
                      json_pack("{s:s s:s s:i}", "method", method_name(by->method), "precond",
                                by->precond, "iterations", by->iterations));
}
