/* bench_regimes.c - ways of issuing the steps of a solve (regimes), with polling and with blocking
 * waits: time, energy, processor time, steps. Then the variations against cuBLAS with polling, in
 * the form of Table 2 of the paper (regimes_table.h). The solves of a row go on for --seconds after
 * one that is not counted; figures are means. Each regime needs a context of its own. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench_matrix.h"
#include "bench/papers/regimes_table.h"
#include "interfaces/common/report.h"

/* The baseline of the paper. Where it was not measured: the first row of the case. */
static const char *const baseline_regime = "cublas", *const baseline_sync = "polling";
/* The host of the paper decides after every step whether to go on. */
enum { LOOKS = 1 };
/* Where --tol is not given. Rounding of x leaves |b - A x| / |b| of 1e-6 on 252^3 points, where b =
 * A * ones is 0 except at the boundary. */
static const double tolerance_in_single = 1e-5;

static const cli_option option_rows[] = {
    MATRIX_OPTION_MATRIX("laplace3d:252 and elasticity:100; with --join none"),
    {CLI_SET, "regimes", CLI_REGIMES, NULL, MATRIX_AT(regimes), 0, 0,
     "a list with commas: how steps are issued (default: all but auto)"},
    MATRIX_OPTION_METHOD,
    MATRIX_OPTION_PRECOND("none", "a list with commas"),
    {CLI_SET, "precision", "double|single", "double,single", MATRIX_AT(precision), 0, 0,
     "a list with commas"},
    MATRIX_OPTION_SECONDS("solves of a row are repeated for this time; their mean counts"),
    MATRIX_OPTION_JOIN("rows of earlier runs for the tables; repeatable"),
    BENCH_OPTION_JSON,
    {CLI_FILE, "csv", "FILE", NULL, MATRIX_AT(csv), 0, 0, "write rows and variations as CSV"},
    CLI_SYNC_OPTION,
    CLI_GROUP_ROW("The solves:"),
    CLI_TABLE_ROW(matrix_solve_rows, offsetof(matrix_args, linear)),
    MATRIX_OPTION_TOL(NULL, "stop at this |b - A x| / |b| (default 1e-8, in single 1e-5)"),
    MATRIX_OPTION_FORMAT,
    CLI_TABLE_ROW(matrix_storage_rows, offsetof(matrix_args, linear)),
    CLI_RANKS_OPTIONS,
    CLI_GROUP_ROW("Preconditioners:"),
    LINEAR_OPTIONS_PRECOND_FIGURES(MATRIX_LINEAR),
    CLI_END_ROW};

typedef struct table {
  regime_row *row; /* the rows of the list, in its order */
  int count, room;
} table;

static regime_row *another(table *t) {
  if (t->count == t->room) {
    const int room = t->room ? 2 * t->room : 64;
    regime_row *more = realloc(t->row, (size_t)room * sizeof *more);
    if (!more) return NULL;
    t->row = more;
    t->room = room;
  }
  t->row[t->count] = (regime_row){.joules = NAN};
  return &t->row[t->count++];
}

/* ---- rows from rows ---- */

/* Reads a row of the list, as system_add made it. 0: no memory. */
static int take_row(table *t, const json_t *json) {
  regime_row *r = another(t);
  const json_t *precond = json_object_get(json, "preconditioner");
  if (!r) return 0;
  snprintf(r->matrix, sizeof r->matrix, "%s", bench_word(json, "matrix"));
  snprintf(r->precision, sizeof r->precision, "%s", bench_word(json, "precision"));
  snprintf(r->method, sizeof r->method, "%s", bench_word(json, "method"));
  snprintf(r->precond, sizeof r->precond, "%s", bench_word(precond, "kind"));
  if (!r->precond[0]) snprintf(r->precond, sizeof r->precond, "none");
  snprintf(r->regime, sizeof r->regime, "%s", bench_word(json, "regime_asked"));
  snprintf(r->sync, sizeof r->sync, "%s", bench_word(json, "sync"));
  snprintf(r->ran, sizeof r->ran, "%s", bench_word(json, "regime"));
  const double host = bench_number(json, "host_joules");
  r->seconds = bench_number(json, "seconds_mean");
  r->joules = bench_number(json, "joules") + (isnan(host) ? 0 : host);
  r->of_device_alone = isnan(host);
  r->cpu = bench_number(json, "cpu_seconds");
  r->iterations = (int)json_integer_value(json_object_get(json, "iterations"));
  r->solves = (int)json_integer_value(json_object_get(json, "samples"));
  r->residual = bench_number(json, "residual");
  return 1;
}

static int is_row(const json_t *json) {
  return strcmp(bench_word(json, "bench"), "regimes") == 0 &&
         bench_number(json, "seconds_mean") > 0;
}

static int take_rows(table *t, const json_t *list) {
  size_t i;
  const json_t *json;
  json_array_foreach(list, i, json) {
    if (is_row(json) && !take_row(t, json)) {
      cli_error("out of memory for the rows of the table");
      return EXIT_DEVICE;
    }
  }
  return EXIT_DONE;
}

/* ---- measuring ---- */

static int add_row(bench_own_context *own, const linear *l, const bench_figures *f) {
  bench *b = &own->bench;
  const cli_common *common = &own->args.bench.common;
  char asked[32], sync[32], joules[32] = "n/a", host[32] = "n/a";
  (void)system_add(b, l, 1, f, "regimes");
  if (!isnan(f->joules)) snprintf(joules, sizeof joules, "%.4g", f->joules);
  if (!isnan(f->host_joules)) snprintf(host, sizeof host, "%.4g", f->host_joules);
  cli_print(common,
            "    --regimes %s, %s: mean of %d solves %.4g s, %s J (processors in addition %s J), "
            "%.4g s of processor time\n",
            cli_choice(CLI_REGIMES, common->regime, asked),
            cli_choice(CLI_SYNCS, common->sync, sync), f->repeats, f->mean, joules, host,
            f->cpu_mean);
  return bench_save(b) == KAON_OK ? EXIT_DONE : EXIT_DEVICE;
}

/* Measures a system with both kinds of wait. */
static int modes(bench_own_context *own, linear *l) {
  bench *b = &own->bench;
  cli_common *common = &own->args.bench.common;
  const int given = common->sync;
  int code = EXIT_DONE;
  for (int mode = KAON_SYNC_POLLING; mode <= KAON_SYNC_BLOCKING && code == EXIT_DONE; mode++) {
    bench_figures figures;
    if (given != KAON_SYNC_AUTO && given != mode) continue;
    if (given == KAON_SYNC_AUTO && bench_on_host(b) && mode != KAON_SYNC_POLLING) continue;
    common->sync = mode;
    code = cli_status(b->ctx, kaon_context_set_sync(b->ctx, (kaon_sync)mode), NULL);
    if (code == EXIT_DONE) code = system_solve(b, l, 1, &figures);
    if (code == EXIT_DONE) code = add_row(own, l, &figures);
  }
  common->sync = given;
  return code;
}

static int sets_check_interval(const matrix_args *a) {
  return a->linear.set && strstr(a->linear.set, "check_interval");
}

/* Measures all methods with one precision and preconditioner. What a regime refuses is left out. */
static int methods(bench_own_context *own, const linear *base, const linear_args *args) {
  const matrix_args *a = &own->args;
  int code = EXIT_DONE;
  for (int m = 0; m < BENCH_BITS && code == EXIT_DONE; m++) {
    linear l;
    linear_args one = *args;
    if (!(a->methods >> m & 1)) continue;
    one.method = m;
    code = system_make(base, &one, &l);
    if (!sets_check_interval(a)) l.options.check_interval = LOOKS;
    const int made = code == EXIT_DONE ? linear_solver(&l, 1) : code;
    if (made == EXIT_DONE) code = modes(own, &l);
    if (made != EXIT_DONE && made != EXIT_USAGE) code = made;
    linear_clear(&l);
  }
  return code;
}

static int systems(bench_own_context *own, const linear_args *args, const linear *base) {
  const matrix_args *a = &own->args;
  int code = EXIT_DONE;
  for (int k = 0; k < BENCH_BITS && code == EXIT_DONE; k++)
    for (int p = 0; p < BENCH_PRECISIONS && code == EXIT_DONE; p++)
      for (int f = 0; f < BENCH_FORMATS && code == EXIT_DONE; f++) {
        linear_args one = *args;
        if (p == KAON_HALF || !(a->preconds >> k & 1)) continue;
        if (!(a->precision >> p & 1) || !(a->formats >> f & 1)) continue;
        one.precond = k;
        one.precision = one.sloppy = p;
        if (p == KAON_SINGLE && isnan(a->linear.tol)) one.tol = tolerance_in_single;
        one.format = f;
        code = methods(own, base, &one);
      }
  return code;
}

/* cuBLAS needs CUDA and one rank. */
static int is_offered(const bench *b, const char *regime) {
  return strcmp(regime, "cublas") != 0 || (!bench_on_host(b) && b->info.ranks == 1);
}

static int matrix(bench *b, const char *name) {
  unsigned all = ~1u; /* all but auto, which is one of the others */
  char regime[32];
  int code = EXIT_DONE, shown = 0;
  if (matrix_of(b)->regimes) all = matrix_of(b)->regimes;
  for (int r = 0; code == EXIT_DONE && strcmp(cli_choice(CLI_REGIMES, r, regime), "?") != 0; r++) {
    bench_own_context own;
    linear base = {0};
    cli_common common = b->args->common;
    if (!(all >> r & 1)) continue;
    if (!is_offered(b, regime)) {
      cli_print(&common, "%s: n/a, it needs CUDA and one rank\n", regime);
      continue;
    }
    common.regime = r;
    code = bench_own_context_open(b, &common, &own);
    const int refused = code == EXIT_USAGE; /* the sentence is already out */
    const linear_args args = system_args(&own.bench, name);
    if (code == EXIT_DONE) code = system_load(&own.bench, &args, &base);
    if (code == EXIT_DONE && !shown++) linear_print(&common, &base);
    if (code == EXIT_DONE) code = systems(&own, &args, &base);
    linear_close(&base);
    bench_own_context_close(b, &own);
    if (refused) code = EXIT_DONE;
  }
  return code;
}

/* ---- the table ---- */

static const char *figure(double x, char text[16]) {
  if (isnan(x)) return "n/a";
  snprintf(text, 16, "%.2f", x);
  return text;
}

/* The row that a row is compared with. */
static const regime_row *baseline_of(const table *t, const regime_row *row) {
  const regime_row *found = regime_baseline(t->row, t->count, row, baseline_regime, baseline_sync);
  for (int i = 0; i < t->count && !found; i++)
    if (regime_same_case(&t->row[i], row)) found = &t->row[i];
  return found;
}

/* A line of the table: one group, regime and kind of wait. */
typedef struct line {
  regime_range time, energy;
  int disagree;
  char matrices[256]; /* with ", " between them */
} line;

static line gather(const table *t, const regime_row *of) {
  line all = {{NAN, NAN, NAN, 0}, {NAN, NAN, NAN, 0}, 0, ""};
  for (int i = 0; i < t->count; i++) {
    const regime_row *r = &t->row[i];
    if (!regime_same_group(r, of) || strcmp(r->regime, of->regime) != 0 ||
        strcmp(r->sync, of->sync) != 0)
      continue;
    const regime_change change = regime_compare(r, baseline_of(t, r));
    regime_range_add(&all.time, change.time);
    regime_range_add(&all.energy, change.energy);
    all.disagree += change.disagrees;
    const size_t at = strlen(all.matrices);
    snprintf(all.matrices + at, sizeof all.matrices - at, "%s%s", at ? ", " : "", r->matrix);
  }
  return all;
}

/* 1: the first row of its line; the first row of its group. */
static int begins_line(const table *t, int i) {
  for (int k = 0; k < i; k++)
    if (regime_same_group(&t->row[k], &t->row[i]) &&
        strcmp(t->row[k].regime, t->row[i].regime) == 0 &&
        strcmp(t->row[k].sync, t->row[i].sync) == 0)
      return 0;
  return 1;
}

static int begins_group(const table *t, int i) {
  for (int k = 0; k < i; k++)
    if (regime_same_group(&t->row[k], &t->row[i])) return 0;
  return 1;
}

static json_t *describe_line(const bench *b, const regime_row *r, const regime_row *baseline,
                             const line *l) {
  json_t *row = json_pack(
      "{s:s s:s s:o s:s s:s s:s s:i s:n s:n s:s s:n s:i s:n s:n s:n s:n s:s s:s s:s s:s s:s}",
      "bench", "regimes-variation", "matrix", l->matrices, "command",
      report_string(b->args->common.line), "backend", b->info.backend, "device", b->info.device,
      "commit", kaon_commit(), "ranks", b->info.ranks, "grid", "lattice", "precision", r->precision,
      "links", "columns", 1, "seconds", "gflops", "ideal_gbs", "limit_gbs", "method", r->method,
      "regime", r->regime, "sync", r->sync, "baseline_regime", baseline->regime, "baseline_sync",
      baseline->sync);
  json_object_update_new(
      row, json_pack("{s:s s:o s:o s:o s:o s:o s:o s:i s:i s:i}", "precond", r->precond, "time_min",
                     report_real(l->time.least), "time_max", report_real(l->time.largest),
                     "time_average", report_real(l->time.mean), "energy_min",
                     report_real(l->energy.least), "energy_max", report_real(l->energy.largest),
                     "energy_average", report_real(l->energy.mean), "cases", l->time.count,
                     "cases_energy", l->energy.count, "cases_disagreeing", l->disagree));
  return row;
}

/* The name, and the regime that it became where that differs. */
static const char *name_of(const regime_row *r, char text[72]) {
  const int other = strcmp(r->regime, r->ran) != 0;
  snprintf(text, 72, "%s%s%s", r->regime, other ? "=" : "", other ? r->ran : "");
  return text;
}

static void print_line(const cli_common *common, const regime_row *r, const line *l) {
  char t[6][16], regime[72];
  cli_print(common, "%-9s %-19s %8s %8s %8s   %8s %8s %8s%s\n", r->sync, name_of(r, regime),
            figure(l->time.least, t[0]), figure(l->time.largest, t[1]), figure(l->time.mean, t[2]),
            figure(l->energy.least, t[3]), figure(l->energy.largest, t[4]),
            figure(l->energy.mean, t[5]), l->disagree ? "   steps differ" : "");
}

static void print_cases(const cli_common *common, const table *t) {
  cli_print(common, "\n%-20s %-14s %-9s %-8s %-19s %-9s %10s %9s %7s %6s %8s %8s\n", "matrix",
            "precision", "method", "precond", "regime", "sync", "seconds", "joules", "CPU %",
            "steps", "time %", "energy %");
  for (int i = 0; i < t->count; i++) {
    const regime_row *r = &t->row[i];
    const regime_change change = regime_compare(r, baseline_of(t, r));
    char text[3][16], regime[72];
    cli_print(common, "%-20s %-14s %-9s %-8s %-19s %-9s %10.4g %9s %7.1f %5d%s %8s %8s\n",
              r->matrix, r->precision, r->method, r->precond, name_of(r, regime), r->sync,
              r->seconds, figure(r->joules, text[0]), 100 * r->cpu / r->seconds, r->iterations,
              change.disagrees ? "!" : " ", figure(change.time, text[1]),
              figure(change.energy, text[2]));
  }
  cli_print(common, "a=b: regime a ran as b; !: more than a step off the baseline's count\n");
}

/* Prints a group: a line for each regime and kind of wait, polling first. */
static void print_group(const bench *b, const table *t, int first) {
  static const char *const order[] = {"polling", "blocking", "auto"};
  const cli_common *common = &b->args->common;
  const regime_row *group = &t->row[first], *baseline = baseline_of(t, group);
  cli_print(common,
            "\n%s, %s, preconditioner %s: variation against %s, %s, in per cent; min and max by "
            "absolute value\n%-29s %26s   %26s\n%-9s %-19s %8s %8s %8s   %8s %8s %8s\n",
            group->method, group->precision, group->precond, baseline->regime, baseline->sync, "",
            "time         ", "energy        ", "sync", "regime", "min", "max", "avg", "min", "max",
            "avg");
  for (size_t s = 0; s < sizeof order / sizeof *order; s++)
    for (int i = first; i < t->count; i++) {
      if (strcmp(t->row[i].sync, order[s]) != 0 || !regime_same_group(&t->row[i], group)) continue;
      if (!begins_line(t, i)) continue;
      const line l = gather(t, &t->row[i]);
      print_line(common, &t->row[i], &l);
      json_array_append_new(b->rows, describe_line(b, &t->row[i], baseline, &l));
    }
}

/* ---- CSV ---- */

static void put(FILE *out, double x) {
  fputc(',', out);
  if (!isnan(x)) fprintf(out, "%.9g", x);
}

/* Names of matrices may have commas. */
static void put_names(FILE *out, const char *matrix, const regime_row *r) {
  const char *quote = strchr(matrix, ',') ? "\"" : "";
  fprintf(out, "%s%s%s,%s,%s,%s,%s,%s,%s", quote, matrix, quote, r->precision, r->method,
          r->precond, r->regime, r->ran, r->sync);
}

static void put_case(FILE *out, const regime_row *r, const regime_change *change) {
  put_names(out, r->matrix, r);
  put(out, r->seconds);
  put(out, r->joules);
  put(out, r->cpu);
  fprintf(out, ",%d,%d", r->iterations, r->solves);
  put(out, r->residual);
  put(out, change->time);
  put(out, change->energy);
  fputc('\n', out);
}

/* Lines of the table have "min", "max" and "average" in place of a matrix. */
static void put_line(FILE *out, const regime_row *r, const line *l) {
  const double figures[3][2] = {{l->time.least, l->energy.least},
                                {l->time.largest, l->energy.largest},
                                {l->time.mean, l->energy.mean}};
  static const char *const names[] = {"min", "max", "average"};
  for (int i = 0; i < 3; i++) {
    put_names(out, names[i], r);
    fputs(",,,,,,", out); /* seconds to residual */
    put(out, figures[i][0]);
    put(out, figures[i][1]);
    fputc('\n', out);
  }
}

static int write_csv(const char *path, const table *t) {
  char *text = NULL;
  size_t length = 0;
  if (!path) return EXIT_DONE;
  FILE *out = open_memstream(&text, &length);
  if (!out) return EXIT_DEVICE;
  fputs(
      "matrix,precision,method,precond,regime,ran_as,sync,seconds,joules,cpu_seconds,iterations,"
      "solves,residual,time_percent,energy_percent\n",
      out);
  for (int i = 0; i < t->count; i++) {
    const regime_change change = regime_compare(&t->row[i], baseline_of(t, &t->row[i]));
    put_case(out, &t->row[i], &change);
  }
  for (int i = 0; i < t->count; i++) {
    const line l = gather(t, &t->row[i]);
    if (begins_line(t, i)) put_line(out, &t->row[i], &l);
  }
  const int code = fclose(out) == 0 ? report_text(path, text, length) : EXIT_DEVICE;
  free(text);
  return code;
}

/* Adds to each row its variations. */
static void note_changes(const bench *b, const table *t) {
  json_t *json;
  size_t i;
  int n = 0;
  json_array_foreach(b->rows, i, json) {
    if (!is_row(json)) continue;
    const regime_row *r = &t->row[n++];
    const regime_change change = regime_compare(r, baseline_of(t, r));
    json_object_set_new(json, "time_percent", report_real(change.time));
    json_object_set_new(json, "energy_percent", report_real(change.energy));
  }
}

static int conclude(bench *b) {
  table t = {0};
  int code = take_rows(&t, b->rows);
  if (code == EXIT_DONE && t.count == 0)
    code = cli_wrong("there is no row to compare: none was measured completely");
  if (code == EXIT_DONE) {
    note_changes(b, &t);
    print_cases(&b->args->common, &t);
  }
  for (int i = 0; i < t.count && code == EXIT_DONE; i++)
    if (begins_group(&t, i)) print_group(b, &t, i);
  if (code == EXIT_DONE) code = write_csv(matrix_of(b)->csv, &t);
  if (code == EXIT_DONE && bench_save(b) != KAON_OK) code = EXIT_DEVICE;
  free(t.row);
  return code;
}

static int open_processor(bench *b) {
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  options.backend = KAON_BACKEND_CPU;
  if (bench_on_host(b)) return EXIT_DONE;
  return cli_status(NULL, kaon_context_create(&options, &b->processor), NULL);
}

static int measure(bench *b) {
  static const char *const usual[] = {"laplace3d:252", "elasticity:100", NULL};
  const matrix_args *a = matrix_of(b);
  int code = bench_merge_rows(b, &a->joined, "regimes");
  if (code == EXIT_DONE) code = open_processor(b);
  b->least_seconds = a->seconds;
  if (code == EXIT_DONE && table_measures(a)) bench_header(b, "matrix");
  if (code == EXIT_DONE) code = matrix_each(b, usual, matrix);
  if (code == EXIT_DONE) code = conclude(b);
  kaon_context_destroy(&b->processor);
  return bench_end(b, code);
}

static int run(void *arguments) {
  matrix_args *a = arguments;
  relax_defaults(&a->linear);
  linear_without_projections(&a->linear);
  int code = table_check(a);
  if (code == EXIT_DONE) code = precond_idle(&a->linear, a->preconds);
  return code == EXIT_DONE ? bench_run(&a->bench, option_rows, measure) : code;
}

const cli_command bench_regimes = {
    .name = "regimes",
    .summary = "Ways of issuing a solve's steps: time and energy (paper B).",
    .examples =
        "Example:\n  kaon bench regimes --matrix laplace3d:64 --precision single --csv "
        "regimes.csv\n\n"
        "The table compares with cublas and polling, or with the first row of a case.",
    .options = option_rows,
    .arguments = sizeof(matrix_args),
    .run = run,
    .daily = "matrix regimes method precond precision seconds join json csv sync backend threads"};
