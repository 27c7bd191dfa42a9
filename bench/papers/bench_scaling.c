/* bench_scaling.c - measures hops and solves for weak and strong scaling at the number of ranks of
 * the run. With --model it reads such rows of 1, 2, 4 ranks, fits the model of scaling_model.h and
 * predicts strong scaling on many ranks. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kaon/context.h>

#include "bench/bench_lattice.h"
#include "bench/papers/scaling_rows.h"
#include "interfaces/common/report.h"

typedef struct scaling_args {
  lattice_args lattice;
  cli_texts models; /* files with rows of earlier runs */
  const char *latency;
  double network_latency, bandwidth; /* between nodes: s, GB/s */
  int node;
} scaling_args;

#define AT(member) offsetof(scaling_args, member)
static const cli_option option_rows[] = {
    LATTICE_OPTIONS_EXTENTS("8x8x8x16, on a device 32x32x32x64"),
    {CLI_LATTICES, "local-lattice", "X Y Z T", NULL, LATTICE_AT(local), 0, 0,
     "extents of one rank's part, for weak scaling (default: as --lattice)"},
    BENCH_OPTION_PRECISION(LATTICE_AT, "double,single,half"),
    LATTICE_OPTION_RECONSTRUCT("12"),
    LATTICE_OPTION_COLUMNS("1"),
    LATTICE_OPTION_ACTION("the Dirac operator"),
    CLI_TABLE_ROW(lattice_solve_rows, 0),
    CLI_TABLE_ROW(bench_sample_rows, 0),
    BENCH_OPTION_JSON,
    CLI_GROUP_ROW("A model of strong scaling, without measurement:"),
    {CLI_TEXTS, "model", "FILE.json", NULL, AT(models), 0, 0,
     "fit the model to these rows and predict by it; repeatable"},
    {CLI_TEXT, "latency", "TIME", "5us", AT(latency), 0, 0,
     "of a message, and of a sum, between nodes"},
    {CLI_REAL, "bandwidth", "GBS", "45", AT(bandwidth), 1e-3, 1e6, "GB/s between nodes a rank"},
    {CLI_INT, "node", "N", "8", AT(node), 1, 4096, "ranks of a node"},
    CLI_GROUP_ROW("Details:"),
    {CLI_EXTENTS, "grid", "a b c d", NULL, LATTICE_AT(grid), 0, 0, CLI_GRID_TEXT},
    CLI_TABLE_ROW(lattice_detail_rows, 0),
    LATTICE_OPTION_TEMPORAL("in the temporal gauge"),
    CLI_TABLE_ROW(bench_rank_rows, 0),
    CLI_END_ROW};

/* ---- measuring ---- */

/* Solves in the coarsest inner precision of the list, since that one scales worst. */
static int measure_solves(bench *b, lattice_args *own) {
  static const struct {
    int solver, stop, preconditioner; /* PROBLEM_SOLVERS; full|schur|normal; none|schwarz */
  } solves[] = {{KAON_CG, 2, 0}, {KAON_BICGSTAB, 1, 0}, {KAON_GCR, 1, 1}};
  int code = EXIT_DONE, worst = EXIT_DONE;
  for (int p = 2; p > 0; p--)
    if (own->precision >> p & 1) own->precision = 1u << p;
  for (size_t i = 0; i < sizeof solves / sizeof *solves && code == EXIT_DONE; i++) {
    own->problem.solver = solves[i].solver;
    own->problem.stop = solves[i].stop;
    own->problem.preconditioner = solves[i].preconditioner;
    code = solve_measure(b);
    if (code == EXIT_NOT_CONVERGED) worst = code, code = EXIT_DONE;
  }
  return code == EXIT_DONE ? worst : code;
}

static int measure(bench *b) {
  static const int usual[4] = {32, 32, 32, 64}, on_host[4] = {8, 8, 8, 16};
  const lattice_args *args = lattice_of(b);
  lattice_args own = *args;
  cli_lattices strong = args->lattices, weak = args->local;
  if (!strong.count) {
    strong.count = 1;
    memcpy(strong.extents[0], bench_on_host(b) ? on_host : usual, sizeof usual);
  }
  if (!weak.count) weak = strong;
  if (!own.reconstruct) own.reconstruct = 2; /* 12 reals */
  own.lattices = strong;
  for (int i = 0; i < weak.count && b->info.ranks > 1; i++) {
    if (own.lattices.count == CLI_LATTICES_MAX)
      return cli_wrong("bench scaling takes at most %d lattices", CLI_LATTICES_MAX);
    int *e = own.lattices.extents[own.lattices.count++];
    for (int mu = 0; mu < 4; mu++)
      e[mu] = weak.extents[i][mu] * (own.grid[0] ? own.grid[mu] : mu == 3 ? b->info.ranks : 1);
  }
  b->args = &own.bench;
  int code = dslash_measure(b);
  own.lattices = strong;
  if (code == EXIT_DONE) code = measure_solves(b, &own);
  b->args = &args->bench;
  return code;
}

/* ---- what is printed ---- */

static const char *place_words(const model_place *at, char text[64]) {
  snprintf(text, 64, "%dx%dx%dx%d on %dx%dx%dx%d", at->lattice[0], at->lattice[1], at->lattice[2],
           at->lattice[3], at->grid[0], at->grid[1], at->grid[2], at->grid[3]);
  return text;
}

/* Relative errors of the fit on several ranks. */
typedef struct misfit {
  double mean, most;
  int figures;
} misfit;

/* A fit with a larger error does not tell which method wins. */
static const double misfit_allowed = 0.3;

static misfit print_residuals(const cli_common *common, const model *m, const rows *r) {
  char text[64];
  misfit off = {0};
  cli_print(common, "\n%-40s %-22s %11s %11s %7s\n", "measured on several ranks", "", "seconds",
            "model", "off");
  for (int i = 0; i < r->hops + r->solves; i++) {
    const int hop = i < r->hops, k = hop ? i : i - r->hops;
    const model_place *at = hop ? &r->hop[k].at : &r->solve[k].at;
    const double seconds = hop ? r->hop[k].seconds : r->solve[k].seconds;
    const double fitted = hop ? r->hop[k].fitted : r->solve[k].fitted;
    char what[80];
    if (at->ranks == 1) continue;
    if (hop)
      snprintf(what, sizeof what, "hop %s%s", precision_name((kaon_precision)r->hop[k].precision),
               r->hop[k].hidden ? "" : ", not hidden");
    else
      snprintf(what, sizeof what, "%.12s %.16s", m->method[r->solve[k].method].name,
               m->method[r->solve[k].method].precision);
    cli_print(common, "%-40s %-22s %11.4e %11.4e %6.1f%%\n", place_words(at, text), what, seconds,
              fitted, 100 * (fitted / seconds - 1));
    off.mean += fabs(fitted / seconds - 1);
    off.most = fmax(off.most, fabs(fitted / seconds - 1));
    off.figures++;
  }
  off.mean /= off.figures; /* rows_read ensures that there are some */
  cli_print(common, "%d figures, off by %.1f %% in the mean, %.1f %% at most\n", off.figures,
            100 * off.mean, 100 * off.most);
  return off;
}

/* "growth" is null where domains of one size alone were measured. */
static json_t *describe_model(const model *m, const model_network *n, const misfit *off) {
  json_t *methods = json_array();
  for (int k = 0; k < m->methods; k++)
    json_array_append_new(
        methods, json_pack("{s:s s:s s:f s:f s:f s:o}", "method", m->method[k].name, "precision",
                           m->method[k].precision, "hops", m->method[k].hops, "sums",
                           m->method[k].sums, "steps", m->method[k].steps, "growth",
                           report_real(model_in_domains(&m->method[k]) && m->method[k].measured < 2
                                           ? NAN
                                           : m->method[k].growth)));
  return json_pack("{s:f s:o s:f s:o s:f s:f s:f s:i s:f s:f s:i s:o}", "latency", m->latency,
                   "bandwidth", report_real(m->per_byte > 0 ? 1 / m->per_byte : NAN), "face",
                   m->face, "fixed", report_reals(m->fixed, 3), "sum", m->sum, "network_latency",
                   n->latency, "network_bandwidth", n->bandwidth, "node", n->node, "mean_error",
                   off->mean, "largest_error", off->most, "figures", off->figures, "methods",
                   methods);
}

static misfit print_model(const cli_common *common, const model *m, const rows *r) {
  cli_print(common, "%s: fitted to %d hops and %d solves\n", r->first.device, r->hops, r->solves);
  if (m->per_byte > 0 || m->latency > 0)
    cli_print(common, "message       %.2f us + bytes / (%.1f GB/s) a rank\n", 1e6 * m->latency,
              1e-9 / m->per_byte);
  else
    cli_print(common,
              "message       not determined by these rows; rows of --overlap none show "
              "it best\n");
  cli_print(common,
            "faces         %.2f, %.2f, %.2f us a hop (double, single, half) + %.4f us a kB\n",
            1e6 * m->fixed[0], 1e6 * m->fixed[1], 1e6 * m->fixed[2], 1e9 * m->face);
  cli_print(common, "sum           %.2f us for each doubling of the ranks\n", 1e6 * m->sum);
  for (int k = 0; k < m->methods; k++)
    if (m->method[k].step.count > 0)
      cli_print(common, "%-13s %s: %.1f hops with messages and %.1f sums a step\n",
                m->method[k].name, m->method[k].precision, m->method[k].hops, m->method[k].sums);
  return print_residuals(common, m, r);
}

/* ---- many ranks ---- */

typedef struct predicted_solve {
  double seconds[MODEL_METHODS];
} predicted_solve;

static void add_predicted_solves(json_t *list, const char *command, const model *m, const rows *r,
                                 const model_place *at, int k, double seconds, json_t *about) {
  const model_method *method = &m->method[k];
  const double sites = model_sites(at), steps = model_steps(method, at);
  const double gflops = 1e-9 * method->flops * steps * sites * at->ranks / seconds;
  char name[48];
  snprintf(name, sizeof name, "model-%s", method->name);
  json_array_append_new(
      list,
      json_pack("{s:s s:o s:s s:s s:s s:i s:o s:o s:s s:n s:i s:f s:f s:f s:f s:n s:n s:s s:O}",
                "bench", name, "command", report_string(command), "backend", "model", "device",
                r->first.device, "commit", kaon_commit(), "ranks", at->ranks, "grid",
                report_ints(at->grid, 4), "lattice", report_ints(at->lattice, 4), "precision",
                method->precision, "links", "columns", 1, "seconds", seconds, "iterations", steps,
                "gflops", gflops, "gflops_rank", gflops / at->ranks, "ideal_gbs", "limit_gbs",
                "problem", r->problem[r->reference], "model", about));
}

/* The numbers of ranks on which one method is faster: "1, 16 to 256". */
static const char *where_faster(const predicted_solve *f, const int *ranks, int count, int one,
                                int other, char text[160]) {
  int used = 0;
  text[0] = '\0';
  for (int i = 0; i < count; i++) {
    int end = i;
    if (f[i].seconds[one] >= f[i].seconds[other]) continue;
    while (end + 1 < count && f[end + 1].seconds[one] < f[end + 1].seconds[other]) end++;
    used += snprintf(text + used, 160 - (size_t)used, "%s%d", used ? ", " : "", ranks[i]);
    if (end > i) used += snprintf(text + used, 160 - (size_t)used, " to %d", ranks[end]);
    i = end;
  }
  return text;
}

/* Compares methods with domains to BiCGStab of the same precisions. */
static void print_crossover(const cli_common *common, const model *m, const predicted_solve *f,
                            const int *ranks, int count) {
  char text[160];
  for (int k = 0; k < m->methods; k++)
    for (int b = 0; b < m->methods; b++) {
      const model_method *dd = &m->method[k], *other = &m->method[b];
      if (!model_in_domains(dd) || strcmp(other->name, "bicgstab") != 0 || !(dd->steps > 0) ||
          !(other->steps > 0) || strcmp(dd->precision, other->precision) != 0)
        continue;
      if (!isfinite(f[count - 1].seconds[k])) {
        cli_print(
            common,
            "%s %s: steps on smaller domains not measured; whether it is faster than BiCGStab "
            "is not said. Measure it on domains of two sizes: on several ranks, or on another "
            "--schwarz-block\n",
            dd->name, dd->precision);
        continue;
      }
      if (*where_faster(f, ranks, count, k, b, text))
        cli_print(common, "%s %s is faster than BiCGStab on %s ranks\n", dd->name, dd->precision,
                  text);
      else
        cli_print(common, "%s %s is slower than BiCGStab on up to %d ranks\n", dd->name,
                  dd->precision, ranks[count - 1]);
    }
}

static void predict_solves(const scaling_args *a, const model *m, const rows *r,
                           const model_network *n, const misfit *off, json_t *list) {
  enum { COUNTS = 9 };
  const cli_common *common = &a->lattice.bench.common;
  predicted_solve f[COUNTS];
  int ranks[COUNTS], count = 0;
  json_t *about = describe_model(m, n, off);
  model_place at = r->solve[r->reference].at;
  if (a->lattice.lattices.count)
    memcpy(at.lattice, a->lattice.lattices.extents[0], sizeof at.lattice);
  cli_print(
      common,
      "\nstrong scaling of %dx%dx%dx%d, steps of %s\n"
      "assumed: nodes of %d ranks; between them %.2f us a message, and for each doubling a sum; "
      "%.1f GB/s a rank; messages hidden; steps on one rank linear in its sites, those of GCR-DD "
      "a power of its domain's\n%5s %-12s %10s",
      at.lattice[0], at.lattice[1], at.lattice[2], at.lattice[3], r->problem[r->reference], n->node,
      1e6 * n->latency, 1e-9 * n->bandwidth, "ranks", "grid", "sites each");
  for (int k = 0; k < m->methods; k++)
    if (m->method[k].steps > 0)
      cli_print(common, " %12.12s %-13.13s", m->method[k].name, m->method[k].precision);
  cli_print(common, "\n");
  for (at.ranks = 1; at.ranks <= 256 && count < COUNTS; at.ranks *= 2) {
    char grid[64];
    memset(at.grid, 0, sizeof at.grid);
    if (kaon_ranks_grid(at.lattice, at.ranks, at.grid) != KAON_OK) break;
    ranks[count] = at.ranks;
    snprintf(grid, sizeof grid, "%dx%dx%dx%d", at.grid[0], at.grid[1], at.grid[2], at.grid[3]);
    cli_print(common, "%5d %-12s %10.0f", at.ranks, grid, model_sites(&at));
    for (int k = 0; k < m->methods; k++) {
      const model_method *method = &m->method[k];
      if (!(method->steps > 0)) continue;
      const double steps = model_steps(method, &at);
      const double seconds = steps * model_step_seconds(m, n, &at, method, method->sums);
      f[count].seconds[k] = seconds;
      if (!isfinite(seconds)) {
        cli_print(common, " %26s", "steps not measured");
        continue;
      }
      cli_print(common, " %10.4f s %6.0f steps ", seconds, steps);
      add_predicted_solves(list, common->line, m, r, &at, k, seconds, about);
    }
    cli_print(common, "\n");
    count++;
  }
  if (off->mean > misfit_allowed)
    cli_print(common,
              "which method is faster is not said: the model is off by %.0f %% in the mean, more "
              "than %.0f %%\n",
              100 * off->mean, 100 * misfit_allowed);
  else if (count)
    print_crossover(common, m, f, ranks, count);
  json_decref(about);
}

static int predict_all(const scaling_args *a) {
  const cli_common *common = &a->lattice.bench.common;
  model *m = calloc(1, sizeof *m);
  rows *r = calloc(1, sizeof *r);
  json_t *list = json_array();
  const model_network network = {a->network_latency, 1e9 * a->bandwidth, a->node};
  int code = m && r ? rows_read(&a->models, m, r) : EXIT_DEVICE;
  if (code == EXIT_DONE) {
    model_fit_hops(m, r->hop, r->hops);
    model_fit_solves(m, r->solve, r->solves);
    rows_choose(m, r);
    const misfit off = print_model(common, m, r);
    if (r->reference >= 0) predict_solves(a, m, r, &network, &off, list);
    code = report_write(a->lattice.bench.json, list);
  }
  if (code == EXIT_DONE && common->report) {
    json_t *report = report_new(NULL, "bench");
    json_object_set(report, "rows", list);
    code = report_write(common->report, report);
    json_decref(report);
  }
  json_decref(list);
  free(m);
  free(r);
  return code;
}

/* ---- the command ---- */

/* Refuses options of the model. */
static int check_measured(const scaling_args *a) {
  static const char *const of_models[] = {"latency", "bandwidth", "node"};
  for (size_t i = 0; i < sizeof of_models / sizeof *of_models; i++)
    if (cli_option_given(&a->lattice.bench.common, of_models[i]))
      return cli_wrong("--%s is for --model FILE.json, which is missing", of_models[i]);
  return EXIT_DONE;
}

/* Refuses options of measurements. */
static int check_model(const scaling_args *a) {
  static const char *const used[] = {"model",   "latency", "bandwidth",   "node",
                                     "lattice", "json",    "report",      "quiet",
                                     "backend", "threads", "memory-limit"};
  const cli_common *common = &a->lattice.bench.common;
  for (int i = 0; i < CLI_OPTIONS_MAX; i++) {
    int known = common->given[i] == NULL;
    for (size_t k = 0; k < sizeof used / sizeof *used && !known; k++)
      known = strcmp(used[k], common->given[i]) == 0;
    if (!known)
      return cli_wrong(
          "--%s has no effect on bench scaling --model, which measures nothing; leave it out",
          common->given[i]);
  }
  if (a->lattice.lattices.count > 1)
    return cli_wrong(
        "--model predicts one lattice, but --lattice is given %d times; leave all but one out",
        a->lattice.lattices.count);
  return EXIT_DONE;
}

static int run(void *arguments) {
  static const char weak[] = "weak:0.3";
  scaling_args *a = arguments;
  lattice_args *l = &a->lattice;
  bench b;
  l->problem.gauge = weak;
  l->problem.schwarz_relaxation = NAN;
  l->problem.schwarz_precision = -1;
  int code = bench_check_files(option_rows, a);
  if (code == EXIT_DONE) code = a->models.count ? check_model(a) : check_measured(a);
  if (code == EXIT_DONE) code = lattice_check(l, 1);
  if (code == EXIT_DONE) code = cli_read_time("latency", a->latency, &a->network_latency);
  if (code != EXIT_DONE) return code;
  if (a->models.count) return ranks_first() ? predict_all(a) : EXIT_DONE;
  code = bench_begin(&b, &l->bench, l->grid);
  if (code == EXIT_DONE) code = lattice_check_extents(b.ctx, l);
  if (code == EXIT_DONE) code = bench_open_machine(&b);
  return bench_finish(&b, code == EXIT_DONE ? measure(&b) : code);
}

const cli_command bench_scaling = {
    .name = "scaling",
    .summary = "Weak and strong scaling over ranks, and a model that predicts it.",
    .examples =
        "Examples:\n"
        "  kaon bench scaling --lattice 8 8 8 16 --json one.json\n"
        "  mpirun -np 4 kaon bench scaling --json four.json\n"
        "  kaon bench scaling --model one.json --model four.json --bandwidth 45",
    .options = option_rows,
    .arguments = sizeof(scaling_args),
    .run = run,
    .daily =
        "lattice local-lattice precision kappa csw json model latency bandwidth node backend "
        "threads"};
