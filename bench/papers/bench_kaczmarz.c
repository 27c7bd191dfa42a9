/* bench_kaczmarz.c - the measurements of the Kaczmarz paper (Faroux et al., ETH Zurich 2024) in its
 * form: rates of sweeps (Figure 4, Table 3) and residuals by sweeps (Figure 5). Solves are in
 * bench_kaczmarz_solves.c. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/papers/bench_kaczmarz.h"
#include "interfaces/common/report.h"
#include "interfaces/common/signals.h"

const char *const project_machines[PROJECT_MACHINES] = {"cpu-serial", "cpu-openmp", "cuda"};

static int open_machines(project *m) {
  const cli_common *common = &m->b->args->common;
  int code = EXIT_DONE;
  for (int i = 0; i < PROJECT_MACHINES && code == EXIT_DONE; i++) {
    kaon_context_options o = KAON_CONTEXT_OPTIONS_INIT;
    if (i == PROJECT_DEVICE && bench_on_host(m->b)) continue;
    o.backend = i == PROJECT_DEVICE ? KAON_BACKEND_CUDA : KAON_BACKEND_CPU;
    o.threads = i == PROJECT_SERIAL ? 1 : common->threads;
    code = cli_status(NULL, kaon_context_create(&o, &m->ctx[i]), project_machines[i]);
  }
  return code;
}

/* ---- lines ---- */

/* Describes the run. For a processor beside a device: its own name and threads. */
static json_t *describe(const project *m, const char *matrix, const char *place) {
  const bench_row about = {
      .name = "kaczmarz", .matrix = matrix, .stored = "", .precision = KAON_DOUBLE, .columns = 1};
  json_t *row = bench_describe(m->b, &about);
  for (int i = 0; i < PROJECT_MACHINES; i++) {
    kaon_context_info info = KAON_CONTEXT_INFO_INIT;
    if (strcmp(place, project_machines[i]) != 0 || m->ctx[i] == NULL) continue;
    if (kaon_context_query(m->ctx[i], &info) != KAON_OK) continue;
    json_object_set_new(row, "backend", json_string(i == PROJECT_DEVICE ? "cuda" : "cpu"));
    json_object_set_new(row, "threads", json_integer(info.threads));
    if (i != PROJECT_DEVICE && !bench_on_host(m->b))
      json_object_set_new(row, "device", report_string(info.device));
  }
  return row;
}

/* Writes the whole CSV file anew, so that it holds whole lines at any time. Exit status. */
static int keep_csv(const project *m) {
  if (!m->csv) return EXIT_DONE;
  if (fflush(m->csv) == 0) return report_text(kaczmarz_of(m->b)->csv, m->csv_text, m->csv_length);
  cli_error("out of memory for the lines of --csv %s", kaczmarz_of(m->b)->csv);
  return EXIT_DEVICE;
}

int project_line(const project *m, const char *figure, const char *matrix, int64_t rows,
                 const char *place, const char *what, double x, double value, const char *unit,
                 double seconds, json_t *more) {
  json_t *row = describe(m, matrix, place);
  json_t *figures =
      json_pack("{s:s s:s s:I s:s s:s s:o s:o s:s s:o}", "figure", figure, "matrix", matrix, "rows",
                (json_int_t)rows, "machine", place, "what", what, "x", report_real(x), "value",
                report_real(value), "unit", unit, "seconds", report_real(seconds));
  static const char *const none[] = {"gflops", "ideal_gbs", "limit_gbs"}; /* null: not measured */
  for (int i = 0; i < 3; i++) json_object_set_new(row, none[i], json_null());
  json_object_update(row, figures);
  json_decref(figures);
  if (more) json_object_update(row, more);
  json_decref(more);
  json_array_append_new(m->b->rows, row);
  char number[32] = ""; /* empty: no value */
  if (!isnan(value)) snprintf(number, sizeof number, "%.10g", value);
  if (m->csv)
    fprintf(m->csv, "%s,\"%s\",%lld,%s,%s,%.10g,%s,%s\n", figure, matrix, (long long)rows, place,
            what, x, number, unit);
  if (keep_csv(m) != EXIT_DONE) return EXIT_DEVICE;
  return bench_save(m->b) == KAON_OK ? EXIT_DONE : EXIT_DEVICE;
}

/* ---- systems ---- */

void project_close(project_system *s) {
  kaon_vector_destroy(&s->b);
  kaon_vector_destroy(&s->x);
  kaon_vector_destroy(&s->r);
  kaon_operator_destroy(&s->A);
  kaon_matrix_destroy(&s->matrix);
  free(s->points);
  free(s->numbers);
}

int project_open(kaon_context *ctx, const char *name, int rcm, project_system *s) {
  kaon_matrix_options options = KAON_MATRIX_OPTIONS_INIT;
  *s = (project_system){.ctx = ctx, .name = name};
  options.ordering = rcm ? KAON_ORDERING_RCM : KAON_ORDERING_NONE;
  kaon_status status = kaon_matrix_generate(ctx, name, &options, &s->matrix, &s->numbers);
  s->info = (kaon_matrix_info)KAON_MATRIX_INFO_INIT;
  if (status == KAON_OK) status = kaon_matrix_describe(s->matrix, &s->info);
  if (status == KAON_OK) status = kaon_matrix_operator(s->matrix, NULL, &s->A);
  kaon_vector **const vectors[] = {&s->b, &s->x, &s->r};
  for (int i = 0; i < 3 && status == KAON_OK; i++)
    status = kaon_vector_create(ctx, kaon_matrix_space(s->matrix), KAON_DOUBLE, 1, vectors[i]);
  if (status == KAON_OK && !s->numbers) {
    s->numbers = malloc((size_t)(s->info.rows + 1) * sizeof *s->numbers);
    if (!s->numbers) status = KAON_ERR_MEMORY;
    for (int64_t i = 0; i < s->info.rows && s->numbers; i++) s->numbers[i] = 1;
  }
  if (status == KAON_OK) status = kaon_vector_import(s->b, 0, s->numbers, KAON_BASIS_UKQCD);
  if (status == KAON_OK &&
      kaon_matrix_generate_points(ctx, name, &s->dimensions, &s->points) != KAON_OK)
    s->dimensions = 0;
  return cli_status(ctx, status, name);
}

/* |b - A x|_1 */
static kaon_status residual_sum(project_system *s, double *sum) {
  kaon_status status = kaon_operator_apply(s->A, KAON_PLAIN, s->x, s->r);
  if (status == KAON_OK) status = kaon_vector_axpy(-1, 0, s->b, s->r);
  if (status == KAON_OK) status = kaon_vector_export(s->r, 0, s->numbers, KAON_BASIS_UKQCD);
  *sum = 0;
  for (int64_t i = 0; i < s->info.rows && status == KAON_OK; i++) *sum += fabs(s->numbers[i]);
  return status;
}

static kaon_kaczmarz_options sweeps_in(const project_system *s, kaon_sweep_order order) {
  kaon_kaczmarz_options o = KAON_KACZMARZ_OPTIONS_INIT;
  o.kind = KAON_KACZMARZ_SWEEP;
  o.order = order;
  o.coordinates = order == KAON_SWEEP_SECTIONS ? s->points : NULL;
  o.dimensions = order == KAON_SWEEP_SECTIONS ? s->dimensions : 0;
  return o;
}

/* Seconds of a single sweep, from the second of two trials of two sweeps. The first one allocates.
 */
static kaon_status time_trial(project_system *s, const kaon_kaczmarz_options *o, double *seconds) {
  kaon_operator *trial = NULL;
  kaon_status status = kaon_kaczmarz_preconditioner(s->A, o, 2, &trial);
  for (int i = 0; i < 2 && status == KAON_OK; i++) {
    const double begun = cli_now();
    status = kaon_operator_apply(trial, KAON_PLAIN, s->b, s->x);
    if (status == KAON_OK) status = kaon_context_synchronise(s->ctx);
    *seconds = (cli_now() - begun) / 2;
  }
  kaon_operator_destroy(&trial);
  return status;
}

/* Seconds of the runs of one line, sorted. */
typedef struct timings {
  double seconds[MOST_RUNS];
  int runs;
} timings;

static void keep_timing(timings *t, double taken) {
  int at = t->runs++;
  for (; at > 0 && t->seconds[at - 1] > taken; at--) t->seconds[at] = t->seconds[at - 1];
  t->seconds[at] = taken;
}

/* Times `runs` runs of `sweeps` sweeps from x = 0. *sum: |b - A x|_1 after the last. */
static int time_sweeps(project_system *s, const kaon_kaczmarz_options *o, int sweeps, int runs,
                       timings *t, double *sum, kaon_kaczmarz_info *info) {
  kaon_operator *K = NULL;
  kaon_status status = kaon_kaczmarz_preconditioner(s->A, o, sweeps, &K);
  t->runs = 0;
  if (status == KAON_OK) status = kaon_kaczmarz_describe(K, info);
  for (int n = 0; n < runs && status == KAON_OK && !(n > 0 && bench_stopped()); n++) {
    status = kaon_context_synchronise(s->ctx);
    const double begun = cli_now();
    if (status == KAON_OK) status = kaon_operator_apply(K, KAON_PLAIN, s->b, s->x);
    if (status == KAON_OK) status = kaon_context_synchronise(s->ctx);
    if (status == KAON_OK) keep_timing(t, cli_now() - begun);
  }
  if (status == KAON_OK) status = residual_sum(s, sum);
  kaon_operator_destroy(&K);
  return cli_status(s->ctx, status, NULL);
}

/* ---- Figure 4, Table 3 ---- */

/* kind: CARP or CIMMINO, whose sweeps come in pairs; 0: single sweeps in `order`. */
typedef struct way {
  const char *name;
  kaon_sweep_order order;
  kaon_kaczmarz_kind kind;
} way;

/* One figure: every way on every matrix and machine, all with the same number of sweeps. */
typedef struct comparison {
  const char *figure;
  const char *matrices[2]; /* the second may be NULL */
  int rcm[2];
  const way *ways;
  int count;
  int wanted, sweeps; /* asked for; and what the slowest line has time for */
} comparison;

/* GB/s of streaming reads there: of all threads, or of the device. 0: not measured. */
static double limit_of(const project *m, int place) {
  const int measured = bench_on_host(m->b) ? PROJECT_OPENMP : PROJECT_DEVICE;
  return place == measured || (measured == PROJECT_OPENMP && m->b->info.threads == 1)
             ? m->b->all.read_gbs
             : 0;
}

static kaon_kaczmarz_options options_of(const project_system *s, const way *w) {
  kaon_kaczmarz_options o = sweeps_in(s, w->order);
  if (w->kind != KAON_KACZMARZ_SWEEP) o.kind = w->kind;
  if (o.kind == KAON_KACZMARZ_CARP) o.colour = 1;
  if (o.kind == KAON_KACZMARZ_CIMMINO) o.lambda = 0.35;
  return o;
}

/* The subject of one line. */
typedef struct placement {
  int place, rcm;
  const way *w;
} placement;

/* Reduces the number of sweeps to what this line has time for. */
static int fit_sweeps(const project *m, comparison *c, project_system *s, const placement *at) {
  const kaon_kaczmarz_options o = options_of(s, at->w);
  double one = 0;
  const int code = cli_status(s->ctx, time_trial(s, &o, &one), NULL);
  if (code != EXIT_DONE || !(one > 0)) return code;
  if (at->w->kind != KAON_KACZMARZ_SWEEP) one /= 2;
  const double fit = fmin(floor(m->seconds / m->b->args->samples / one / 2) * 2, 1e9);
  if (c->sweeps > fit) c->sweeps = fit > 2 ? (int)fit : 2;
  return code;
}

static int rate(const project *m, comparison *c, project_system *s, const placement *at) {
  const int place = at->place, sweeps = c->sweeps;
  const kaon_kaczmarz_options o = options_of(s, at->w);
  const int pairs = at->w->kind != KAON_KACZMARZ_SWEEP;
  kaon_kaczmarz_info info = KAON_KACZMARZ_INFO_INIT;
  timings t;
  double sum;
  const int code =
      time_sweeps(s, &o, pairs ? sweeps / 2 : sweeps, m->b->args->samples, &t, &sum, &info);
  if (code != EXIT_DONE) return code;
  const double seconds = t.seconds[t.runs / 2], gbs = 1e-9 * info.bytes * sweeps / seconds;
  const double limit = limit_of(m, place);
  char share[32] = "";
  if (limit > 0) snprintf(share, sizeof share, " (%.0f %% of reads)", 100 * gbs / limit);
  cli_print(&m->b->args->common,
            "%-8s %-18s %-10s %-11s %8lld rows, %3d classes: %10.1f sweeps/s (%.1f to %.1f of %d "
            "runs), %7.2f GB/s%s, |b - A x|_1 = %.6g after %d\n",
            c->figure, s->name, project_machines[place], at->w->name, (long long)s->info.rows,
            info.classes, sweeps / seconds, sweeps / t.seconds[t.runs - 1], sweeps / t.seconds[0],
            t.runs, gbs, share, sum, sweeps);
  json_t *more = json_pack(
      "{s:i s:i s:i s:o s:o s:o s:o s:b s:i s:o s:o}", "sweeps", sweeps, "sweeps_asked", c->wanted,
      "classes", info.classes, "residual_l1", report_real(sum), "ideal_gbs", report_real(gbs),
      "limit_gbs", report_real(limit > 0 ? limit : NAN), "seconds_sweep",
      report_real(seconds / sweeps), "rcm", at->rcm, "runs", t.runs, "seconds_min",
      report_real(t.seconds[0]), "seconds_max", report_real(t.seconds[t.runs - 1]));
  return project_line(m, c->figure, s->name, s->info.rows, project_machines[place], at->w->name,
                      sweeps, sweeps / seconds, "sweeps/s", seconds, more);
}

typedef int line_work(const project *m, comparison *c, project_system *s, const placement *at);

/* Calls `work` for each way on each machine. Row order runs on one thread on any machine, so it is
 * measured once. */
static int each_line(const project *m, comparison *c, int matrix, line_work *work) {
  int code = EXIT_DONE;
  for (int i = 0; i < PROJECT_MACHINES && code == EXIT_DONE; i++) {
    project_system s;
    if (!m->ctx[i]) continue;
    code = project_open(m->ctx[i], c->matrices[matrix], c->rcm[matrix], &s);
    for (int k = 0; k < c->count && code == EXIT_DONE && !bench_stopped(); k++) {
      const placement at = {i, c->rcm[matrix], &c->ways[k]};
      const int in_turn = at.w->order == KAON_SWEEP_ROWS || at.w->order == KAON_SWEEP_RANDOM;
      if (in_turn && i != PROJECT_SERIAL) continue;
      if (at.w->order == KAON_SWEEP_SECTIONS && !s.points) continue;
      code = work(m, c, &s, &at);
    }
    project_close(&s);
  }
  return code;
}

/* Residuals are comparable only after equally many sweeps. So all lines are tried before the first
 * is measured. */
static int rates(const project *m, comparison *c) {
  const int count = c->matrices[1] ? 2 : 1;
  int code = EXIT_DONE;
  c->sweeps = c->wanted + c->wanted % 2; /* even: some sweeps come in pairs */
  for (int n = 0; n < count && code == EXIT_DONE; n++) code = each_line(m, c, n, fit_sweeps);
  if (code == EXIT_DONE)
    cli_print(&m->b->args->common, "%-8s %d sweeps a run in every line, %d runs%s\n", c->figure,
              c->sweeps, m->b->args->samples,
              c->sweeps < c->wanted ? ": the slowest line has no time for more, by --seconds" : "");
  for (int n = 0; n < count && code == EXIT_DONE; n++) code = each_line(m, c, n, rate);
  return code;
}

static int figure_4(const project *m, int sweeps) {
  static const way schemes[] = {{"S1", KAON_SWEEP_GROUPS, 0}, {"S2", KAON_SWEEP_STRIDES, 0}};
  comparison c = {"fig4", {"banded:200000,2", "fem:1,1,7"}, {0, 1}, schemes, 2, sweeps, 0};
  return rates(m, &c);
}

/* The first PERMUTATIONS are those of the paper; the others are added in Table 3. */
static const way permutations[] = {{"none", KAON_SWEEP_ROWS, 0},
                                   {"sections", KAON_SWEEP_SECTIONS, 0},
                                   {"colours", KAON_SWEEP_COLOURS, 0},
                                   {"random", KAON_SWEEP_RANDOM, 0},
                                   {"carp-near", KAON_SWEEP_COLOURS, KAON_KACZMARZ_CARP},
                                   {"averaged", KAON_SWEEP_COLOURS, KAON_KACZMARZ_CIMMINO}};
enum { PERMUTATIONS = 4, SWEEPS = 6, LOOKS = 20 };

static int table_3(const project *m, const char *name, int sweeps) {
  comparison c = {"table3", {name, NULL}, {0, 0}, permutations, SWEEPS, sweeps, 0};
  return rates(m, &c);
}

/* ---- Figure 5 ---- */

/* Continues the sweeps: x += sweeps from 0 for the right-hand side b - A x. */
static kaon_status go_on(project_system *s, kaon_operator *K, kaon_vector *step, double *sum) {
  kaon_status status = kaon_operator_apply(s->A, KAON_PLAIN, s->x, s->r);
  if (status == KAON_OK) status = kaon_vector_axpy(-1, 0, s->b, s->r);
  if (status == KAON_OK) status = kaon_operator_apply(K, KAON_PLAIN, s->r, step);
  if (status == KAON_OK) status = kaon_vector_axpy(-1, 0, step, s->x);
  return status == KAON_OK ? residual_sum(s, sum) : status;
}

static int history(const project *m, project_system *s, const char *place, const way *w,
                   int sweeps) {
  const kaon_kaczmarz_options o = sweeps_in(s, w->order);
  const int each = sweeps > LOOKS ? sweeps / LOOKS : 1;
  kaon_operator *K = NULL;
  kaon_vector *step = NULL;
  double sum = 0;
  kaon_status status = kaon_kaczmarz_preconditioner(s->A, &o, each, &K);
  if (status == KAON_OK)
    status = kaon_vector_create(s->ctx, kaon_matrix_space(s->matrix), KAON_DOUBLE, 1, &step);
  if (status == KAON_OK) status = kaon_vector_zero(s->x);
  const double begun = cli_now();
  int code = cli_status(s->ctx, status, NULL), reached = 0;
  for (int done = 0; code == EXIT_DONE && done <= sweeps && !bench_stopped(); done += each) {
    if (cli_now() - begun > m->seconds) break;
    reached = done;
    if (done == 0)
      code = cli_status(s->ctx, residual_sum(s, &sum), NULL);
    else
      code = cli_status(s->ctx, go_on(s, K, step, &sum), NULL);
    if (code == EXIT_DONE)
      code = project_line(m, "fig5", s->name, s->info.rows, place, w->name, done, sum,
                          "residual-l1", NAN, NULL);
  }
  cli_print(&m->b->args->common, "fig5     %-18s %-10s %-9s |b - A x|_1 = %.6g after %d sweeps\n",
            s->name, place, w->name, sum, reached);
  kaon_operator_destroy(&K);
  kaon_vector_destroy(&step);
  return code;
}

static int figure_5(const project *m, const char *name, int sweeps) {
  const int i = m->ctx[PROJECT_DEVICE] ? PROJECT_DEVICE : PROJECT_OPENMP;
  project_system s;
  int code = project_open(m->ctx[i], name, 0, &s);
  for (int k = 0; k < PERMUTATIONS && code == EXIT_DONE;
       k++) /* rows in turn run on the processor alone */
    if (i != PROJECT_DEVICE ||
        (permutations[k].order != KAON_SWEEP_ROWS && permutations[k].order != KAON_SWEEP_RANDOM))
      code = history(m, &s, project_machines[i], &permutations[k], sweeps);
  project_close(&s);
  if (i != PROJECT_DEVICE || code != EXIT_DONE) return code;
  code = project_open(m->ctx[PROJECT_SERIAL], name, 0, &s);
  for (int k = 0; k < PERMUTATIONS && code == EXIT_DONE; k++)
    if (permutations[k].order == KAON_SWEEP_ROWS || permutations[k].order == KAON_SWEEP_RANDOM)
      code = history(m, &s, project_machines[PROJECT_SERIAL], &permutations[k], sweeps);
  project_close(&s);
  return code;
}

static int measure(bench *b) {
  const kaczmarz_args *a = kaczmarz_of(b);
  project m = {.b = b, .seconds = a->seconds};
  m.cpu_seconds = isnan(a->cpu_seconds) ? a->seconds : a->cpu_seconds;
  const int level = a->level;
  char fem[32];
  int code = EXIT_DONE;
  if (b->info.ranks > 1)
    return cli_wrong("bench kaczmarz runs on one rank, but there are %d", b->info.ranks);
  snprintf(fem, sizeof fem, "fem:2,1,%d", level);
  if (a->csv) m.csv = open_memstream(&m.csv_text, &m.csv_length);
  if (a->csv && !m.csv) {
    cli_error("out of memory for the lines of --csv %s", cli_name(a->csv));
    return EXIT_DEVICE;
  }
  if (m.csv) fprintf(m.csv, "figure,matrix,rows,machine,what,x,value,unit\n");
  code = keep_csv(&m);
  if (code == EXIT_DONE) code = open_machines(&m);
  const unsigned tables = a->tables;
  if (code == EXIT_DONE && tables & 1) code = figure_4(&m, a->sweeps);
  if (code == EXIT_DONE && tables & 2) code = table_3(&m, fem, a->sweeps);
  if (code == EXIT_DONE && tables & 4) code = figure_5(&m, fem, a->sweeps);
  if (code == EXIT_DONE && tables & 8) code = project_figure_6(&m, level);
  if (code == EXIT_DONE && tables & 16) code = project_figure_7(&m);
  if (code == EXIT_DONE && tables & 32) code = project_counts(&m, level);
  if (m.csv) fclose(m.csv);
  free(m.csv_text);
  for (int i = 0; i < PROJECT_MACHINES; i++) kaon_context_destroy(&m.ctx[i]);
  return bench_end(b, code);
}

#define AT(member) offsetof(kaczmarz_args, member)
static const cli_option option_rows[] = {
    {CLI_SET, "tables", "fig4|table3|fig5|fig6|fig7|counts", "fig4,table3,fig5,fig6,fig7",
     AT(tables), 0, 0, "a list with commas; counts: steps of CARP-CG and CGMNC"},
    {CLI_INT, "kaczmarz-sweeps", "N", "1000", AT(sweeps), 1, 1e9,
     "fig4, table3, fig5: sweeps (the paper's: 50000, 10000, 30000)"},
    {CLI_INT, "kaczmarz-level", "L", "5", AT(level), 1, 10,
     "all but fig4: refinements at most (the paper's: 8, which is 361345 rows)"},
    {CLI_COUNTS, "kaczmarz-problem", "P,...", "1", AT(problems), 1, 3,
     "fig7: a list with commas: the paper's problems"},
    {CLI_COUNTS, "kaczmarz-degree", "D,...", "1", AT(degrees), 1, 3,
     "fig7: a list with commas: degrees of the elements, each with each problem"},
    {CLI_REAL, "seconds", "S", "30", AT(seconds), 1e-3, 3600,
     "time limit of a row: fewer sweeps and repeats, longer solves ended"},
    {CLI_REAL, "cpu-seconds", "S", NULL, AT(cpu_seconds), 1e-3, 3600,
     "fig6, fig7, counts: time limit of a solve on the processor (default: --seconds)"},
    {CLI_INT, "samples", "N", "7", BENCH_AT(samples), 1, 1000, "runs a line, whose median counts"},
    BENCH_OPTION_JSON,
    {CLI_FILE, "csv", "FILE", NULL, AT(csv), 0, 0, "write rows as CSV"},
    CLI_SYNC_OPTION,
    CLI_END_ROW};

static int run(void *arguments) {
  const kaczmarz_args *a = arguments;
  return bench_run(&a->bench, option_rows, measure);
}

const cli_command bench_kaczmarz = {
    .name = "kaczmarz",
    .summary = "Row projections: the tables and figures of paper C.",
    .examples = "Example:\n  kaon bench kaczmarz --tables fig7 --kaczmarz-level 3 --csv fig7.csv",
    .options = option_rows,
    .arguments = sizeof(kaczmarz_args),
    .run = run,
    .daily =
        "tables kaczmarz-sweeps kaczmarz-level kaczmarz-problem kaczmarz-degree seconds samples "
        "json csv backend threads"};
