/* bench_scaling.c - kaon bench scaling: measures what a table of weak and strong scaling needs at
 * the number of ranks there are; and --model: reads such rows of 1, 2, 4 ranks, fits the model of
 * scaling_model.h and foretells strong scaling on many. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "report.h"
#include "scaling_model.h"

/* ---- measuring ---- */

/* Solves in the coarsest inner precision that is asked for, since that is what scales worst. */
static int measure_solves(bench *b, bench_args *own) {
  static const struct {
    int solver, stop, preconditioner; /* PROBLEM_SOLVERS; full|schur|normal; none|schwarz */
  } solves[] = {{0, 2, 0}, {3, 1, 0}, {4, 1, 1}};
  int code = EXIT_DONE, worst = EXIT_DONE;
  for (int p = 2; p > 0; p--)
    if (own->precision >> p & 1) own->precision = 1u << p;
  for (size_t i = 0; i < sizeof solves / sizeof *solves && code == EXIT_DONE; i++) {
    own->problem.solver = solves[i].solver;
    own->problem.stop = solves[i].stop;
    own->problem.preconditioner = solves[i].preconditioner;
    code = bench_solve(b);
    if (code == EXIT_NOT_CONVERGED) worst = code, code = EXIT_DONE;
  }
  return code == EXIT_DONE ? worst : code;
}

int bench_scaling(bench *b) {
  static const int usual[4] = {32, 32, 32, 64}, on_host[4] = {8, 8, 8, 16};
  const bench_args *args = b->args;
  bench_args own = *args;
  cli_lattices strong = args->lattices, weak = args->local;
  if (!strong.count) {
    strong.count = 1;
    memcpy(strong.extents[0], bench_on_host(b) ? on_host : usual, sizeof usual);
  }
  if (!weak.count) weak = strong;
  if (!cli_given(&args->common, "columns")) own.columns = (cli_counts){1, {1}};
  if (!own.reconstruct) own.reconstruct = 2; /* 12 */
  own.lattices = strong;
  for (int i = 0; i < weak.count && b->info.ranks > 1; i++) {
    if (own.lattices.count == CLI_LATTICES_MAX)
      return cli_wrong("bench scaling takes at most %d lattices", CLI_LATTICES_MAX);
    int *e = own.lattices.extents[own.lattices.count++];
    for (int mu = 0; mu < 4; mu++)
      e[mu] = weak.extents[i][mu] * (own.grid[0] ? own.grid[mu] : mu == 3 ? b->info.ranks : 1);
  }
  b->args = &own;
  int code = bench_dslash(b);
  own.lattices = strong;
  if (code == EXIT_DONE) code = measure_solves(b, &own);
  b->args = args;
  return code;
}

/* ---- rows ---- */

enum { ROWS_MAX = 1024 };

typedef struct rows {
  model_hop hop[ROWS_MAX];
  model_solve solve[ROWS_MAX];
  char problem[ROWS_MAX][96]; /* of a solve: links, kappa, lattice */
  int hops, solves;
  char device[128];
  int reference;                   /* a solve of the problem that is foretold; -1: none */
  double domain[MODEL_METHODS][4]; /* sums of the fit of steps against sites: 1, x, y, xx */
  double cross[MODEL_METHODS];     /* xy */
} rows;

static double number(const json_t *row, const char *key) {
  const json_t *x = json_object_get(row, key);
  return json_is_number(x) ? json_number_value(x) : NAN;
}

static const char *word(const json_t *row, const char *key) {
  const char *text = json_string_value(json_object_get(row, key));
  return text ? text : "";
}

static int read_extents(const json_t *list, int e[4]) {
  for (size_t mu = 0; mu < 4; mu++) {
    const json_int_t n = json_integer_value(json_array_get(list, mu));
    if (n < 1 || n > 1 << 20) return 0;
    e[mu] = (int)n;
  }
  return json_array_size(list) == 4;
}

/* Rows without a grid are of one rank. */
static int read_place(const json_t *row, model_place *at) {
  const json_t *grid = json_object_get(row, "grid");
  at->ranks = (int)json_integer_value(json_object_get(row, "ranks"));
  for (int mu = 0; mu < 4; mu++) at->grid[mu] = 1;
  if (!read_extents(json_object_get(row, "lattice"), at->lattice)) return 0;
  if (grid && !read_extents(grid, at->grid)) return 0;
  return at->ranks == at->grid[0] * at->grid[1] * at->grid[2] * at->grid[3];
}

/* "half" of "double/half". */
static int read_precision(const json_t *row) {
  const char *text = word(row, "precision"), *slash = strchr(text, '/');
  for (int p = 0; p < 3; p++)
    if (strcmp(slash ? slash + 1 : text, bench_precision((kaon_precision)p)) == 0) return p;
  return -1;
}

/* Messages and sums of a step by the method alone, where rows do not count them. */
static void usual_counts(const char *name, double *hops, double *sums) {
  static const struct {
    const char *name;
    double hops, sums;
  } table[] = {{"bicgstab", 4, 4}, {"gcr", 2, 2},      {"gcr-schwarz", 2, 2},  {"mr", 2, 1},
               {"pipecg", 2, 1},   {"pipecgnr", 4, 1}, {"pipebicgstab", 4, 2}, {"cg", 2, 2}};
  *hops = 4;
  *sums = 2;
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    if (strcmp(table[i].name, name) == 0) {
      *hops = table[i].hops;
      *sums = table[i].sums;
    }
}

/* Solves in domains: gcr-schwarz, gcr-sap. */
static int in_domains(const model_method *method) {
  return strstr(method->name, "-schwarz") != NULL || strstr(method->name, "-sap") != NULL;
}

static int find_method(model *m, const json_t *row) {
  char name[32];
  snprintf(name, sizeof name, "%.31s", word(row, "bench") + strlen("solve-"));
  for (int i = 0; i < m->methods; i++)
    if (strcmp(m->method[i].name, name) == 0 &&
        strcmp(m->method[i].precision, word(row, "precision")) == 0)
      return i;
  if (m->methods == MODEL_METHODS) return -1;
  model_method *made = &m->method[m->methods];
  snprintf(made->name, sizeof made->name, "%s", name);
  snprintf(made->precision, sizeof made->precision, "%.31s", word(row, "precision"));
  made->inner = read_precision(row);
  usual_counts(name, &made->hops, &made->sums);
  return m->methods++;
}

static void add_solve(model *m, rows *r, const json_t *row, const model_place *at, int precision) {
  const double iterations = number(row, "iterations"), seconds = number(row, "seconds");
  const int known = find_method(m, row);
  if (known < 0 || !(iterations >= 1) || strcmp(word(row, "status"), "converged") != 0 ||
      number(row, "reduce_delay") > 0)
    return;
  model_method *method = &m->method[known];
  model_solve *s = &r->solve[r->solves];
  const double sums = number(row, "sums") / iterations;
  const double hops = number(row, "exchanges") / iterations;
  *s = (model_solve){*at, known, precision, seconds, iterations, 0, method->sums};
  if (sums > 0) s->sums = method->sums = sums;
  if (hops > 0) method->hops = hops;
  snprintf(r->problem[r->solves], sizeof *r->problem, "%.40s, kappa %.6g, %dx%dx%dx%d",
           word(row, "gauge"), number(row, "kappa"), at->lattice[0], at->lattice[1], at->lattice[2],
           at->lattice[3]);
  method->flops =
      1e9 * number(row, "gflops") * seconds / (iterations * model_sites(at) * at->ranks);
  if (at->ranks == 1) model_add(&method->step, model_sites(at), seconds / iterations);
  r->solves++;
}

/* One column's hops and solves; other rows tell nothing here. The links of the first hop count. */
static void add_row(model *m, rows *r, const json_t *row, int *links) {
  model_place at;
  const int precision = read_precision(row);
  const int own = (int)json_integer_value(json_object_get(row, "links"));
  if (json_integer_value(json_object_get(row, "columns")) != 1 || precision < 0 ||
      !read_place(row, &at) || !(number(row, "seconds") > 0))
    return;
  if (!r->device[0]) snprintf(r->device, sizeof r->device, "%.127s", word(row, "device"));
  if (strncmp(word(row, "bench"), "solve-", 6) == 0 && r->solves < ROWS_MAX)
    add_solve(m, r, row, &at, precision);
  if (strcmp(word(row, "bench"), "wilson-hop") != 0 || r->hops == ROWS_MAX) return;
  if (*links == 0) *links = own;
  if (own != *links) return;
  r->hop[r->hops++] = (model_hop){at, precision, strcmp(word(row, "overlap"), "none") != 0,
                                  number(row, "seconds"), 0};
  if (at.ranks == 1) model_add(&m->inside[precision], model_sites(&at), number(row, "seconds"));
}

static int read_files(const cli_texts *files, model *m, rows *r) {
  int links = 0;
  for (int i = 0; i < files->count; i++) {
    json_error_t error;
    size_t k;
    json_t *row, *list = json_load_file(files->text[i], 0, &error);
    if (!list) return cli_wrong("--model %s: %s", files->text[i], error.text);
    if (!json_is_array(list)) {
      json_decref(list);
      return cli_wrong("--model %s: not a list of rows, as --json writes it", files->text[i]);
    }
    json_array_foreach(list, k, row) add_row(m, r, row, &links);
    json_decref(list);
  }
  return EXIT_DONE;
}

/* Rows that the model has no figure of one rank for cannot be fitted; of hops with hidden messages
 * in one place the fastest counts, whatever hid them. */
static void sort_out(model *m, rows *r) {
  int kept = 0;
  for (int i = 0; i < r->hops; i++) {
    int slower = m->inside[r->hop[i].precision].count == 0;
    for (int k = 0; k < r->hops && !slower; k++)
      slower = k != i && r->hop[k].precision == r->hop[i].precision &&
               r->hop[k].hidden == r->hop[i].hidden &&
               memcmp(&r->hop[k].at, &r->hop[i].at, sizeof r->hop[i].at) == 0 &&
               (r->hop[k].seconds < r->hop[i].seconds ||
                (r->hop[k].seconds == r->hop[i].seconds && k < i));
    r->hop[i].fitted = slower ? -1 : 0;
  }
  for (int i = 0; i < r->hops; i++)
    if (r->hop[i].fitted >= 0) r->hop[kept++] = r->hop[i];
  r->hops = kept;
  kept = 0;
  for (int i = 0; i < r->solves; i++) {
    if (m->inside[r->solve[i].precision].count == 0 ||
        m->method[r->solve[i].method].step.count == 0)
      continue;
    memmove(r->problem[kept], r->problem[i], sizeof *r->problem);
    r->solve[kept++] = r->solve[i];
  }
  r->solves = kept;
}

/* ---- the problem that is foretold, and its steps ---- */

static int methods_of(const rows *r, const char *name) {
  unsigned seen = 0;
  int count = 0;
  for (int i = 0; i < r->solves; i++)
    if (strcmp(r->problem[i], name) == 0) seen |= 1u << r->solve[i].method;
  for (; seen; seen &= seen - 1) count++;
  return count;
}

/* The one that most methods have solved, of those the one with the most steps. Methods with domains
 * take more steps the smaller these are: log(steps) = a + b log2(sites). */
static void choose_problem(model *m, rows *r) {
  r->reference = -1;
  for (int i = 0; i < r->solves; i++) {
    const int best = r->reference < 0 ? 0 : methods_of(r, r->problem[r->reference]);
    const int here = methods_of(r, r->problem[i]);
    if (here > best || (here == best && r->solve[i].iterations > r->solve[r->reference].iterations))
      r->reference = i;
  }
  for (int i = 0; i < r->solves; i++) {
    if (strcmp(r->problem[i], r->problem[r->reference]) != 0) continue;
    const int k = r->solve[i].method;
    const double x = log2(model_sites(&r->solve[i].at)), y = log(r->solve[i].iterations);
    r->domain[k][0] += 1;
    r->domain[k][1] += x;
    r->domain[k][2] += y;
    r->domain[k][3] += x * x;
    r->cross[k] += x * y;
  }
  for (int k = 0; k < m->methods; k++) {
    const double *s = r->domain[k], spread = s[3] - s[1] * s[1] / s[0];
    model_method *method = &m->method[k];
    if (s[0] == 0) continue;
    if (in_domains(method) && spread > 1e-9)
      method->growth = fmin(0, (r->cross[k] - s[1] * s[2] / s[0]) / spread);
    method->at_sites = exp2(s[1] / s[0]);
    method->steps = exp(s[2] / s[0]);
  }
}

/* ---- what is printed ---- */

static const char *place_words(const model_place *at, char text[64]) {
  snprintf(text, 64, "%dx%dx%dx%d on %dx%dx%dx%d", at->lattice[0], at->lattice[1], at->lattice[2],
           at->lattice[3], at->grid[0], at->grid[1], at->grid[2], at->grid[3]);
  return text;
}

static void print_residuals(const cli_common *common, const model *m, const rows *r) {
  char text[64];
  double sum = 0, most = 0;
  int count = 0;
  cli_say(common, "\n%-40s %-22s %11s %11s %7s\n", "measured on several ranks", "", "seconds",
          "model", "off");
  for (int i = 0; i < r->hops + r->solves; i++) {
    const int hop = i < r->hops, k = hop ? i : i - r->hops;
    const model_place *at = hop ? &r->hop[k].at : &r->solve[k].at;
    const double seconds = hop ? r->hop[k].seconds : r->solve[k].seconds;
    const double fitted = hop ? r->hop[k].fitted : r->solve[k].fitted;
    char what[80];
    if (at->ranks == 1) continue;
    if (hop)
      snprintf(what, sizeof what, "hop %s%s", bench_precision((kaon_precision)r->hop[k].precision),
               r->hop[k].hidden ? "" : ", not hidden");
    else
      snprintf(what, sizeof what, "%.12s %.16s", m->method[r->solve[k].method].name,
               m->method[r->solve[k].method].precision);
    cli_say(common, "%-40s %-22s %11.4e %11.4e %6.1f%%\n", place_words(at, text), what, seconds,
            fitted, 100 * (fitted / seconds - 1));
    sum += fabs(fitted / seconds - 1);
    most = fmax(most, fabs(fitted / seconds - 1));
    count++;
  }
  if (count)
    cli_say(common, "%d figures, off by %.1f %% in the mean, %.1f %% at most\n", count,
            100 * sum / count, 100 * most);
}

static json_t *describe_model(const model *m, const model_network *n) {
  json_t *methods = json_array();
  for (int k = 0; k < m->methods; k++)
    json_array_append_new(
        methods,
        json_pack("{s:s s:s s:f s:f s:f s:f}", "method", m->method[k].name, "precision",
                  m->method[k].precision, "hops", m->method[k].hops, "sums", m->method[k].sums,
                  "steps", m->method[k].steps, "growth", m->method[k].growth));
  return json_pack("{s:f s:o s:f s:o s:f s:f s:f s:i s:o}", "latency", m->latency, "bandwidth",
                   report_real(m->per_byte > 0 ? 1 / m->per_byte : NAN), "face", m->face, "fixed",
                   report_reals(m->fixed, 3), "sum", m->sum, "network_latency", n->latency,
                   "network_bandwidth", n->bandwidth, "node", n->node, "methods", methods);
}

static void print_model(const cli_common *common, const model *m, const rows *r) {
  cli_say(common, "%s: fitted to %d hops and %d solves\n", r->device, r->hops, r->solves);
  if (m->per_byte > 0 || m->latency > 0)
    cli_say(common, "message       %.2f us + bytes / (%.1f GB/s) a rank\n", 1e6 * m->latency,
            1e-9 / m->per_byte);
  else
    cli_say(common,
            "message       no time of its own in these rows; those of --overlap none tell "
            "most of it\n");
  cli_say(common, "faces         %.2f, %.2f, %.2f us a hop (double, single, half) + %.4f us a kB\n",
          1e6 * m->fixed[0], 1e6 * m->fixed[1], 1e6 * m->fixed[2], 1e9 * m->face);
  cli_say(common, "sum           %.2f us for each doubling of the ranks\n", 1e6 * m->sum);
  for (int k = 0; k < m->methods; k++)
    if (m->method[k].step.count > 0)
      cli_say(common, "%-13s %s: %.1f hops with messages and %.1f sums a step\n", m->method[k].name,
              m->method[k].precision, m->method[k].hops, m->method[k].sums);
  print_residuals(common, m, r);
}

/* ---- many ranks ---- */

typedef struct foretold {
  double seconds[MODEL_METHODS];
} foretold;

static void add_foretold(json_t *list, const char *command, const model *m, const rows *r,
                         const model_place *at, int k, double seconds, json_t *about) {
  const model_method *method = &m->method[k];
  const double sites = model_sites(at), steps = model_steps(method, sites);
  const double gflops = 1e-9 * method->flops * steps * sites * at->ranks / seconds;
  char name[48];
  snprintf(name, sizeof name, "model-%s", method->name);
  json_array_append_new(
      list,
      json_pack("{s:s s:o s:s s:s s:s s:i s:o s:o s:s s:n s:i s:f s:f s:f s:f s:n s:n s:s s:O}",
                "bench", name, "command", report_string(command), "backend", "model", "device",
                r->device, "commit", kaon_commit(), "ranks", at->ranks, "grid",
                report_ints(at->grid, 4), "lattice", report_ints(at->lattice, 4), "precision",
                method->precision, "links", "columns", 1, "seconds", seconds, "iterations", steps,
                "gflops", gflops, "gflops_rank", gflops / at->ranks, "ideal_gbs", "limit_gbs",
                "problem", r->problem[r->reference], "model", about));
}

/* On which numbers of ranks one method is faster than another: "1, 16 to 256". */
static const char *where_faster(const foretold *f, const int *ranks, int count, int one, int other,
                                char text[160]) {
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

/* Methods with domains against BiCGStab of the same precisions. */
static void print_crossover(const cli_common *common, const model *m, const foretold *f,
                            const int *ranks, int count) {
  char text[160];
  for (int k = 0; k < m->methods; k++)
    for (int b = 0; b < m->methods; b++) {
      const model_method *dd = &m->method[k], *other = &m->method[b];
      if (!in_domains(dd) || strcmp(other->name, "bicgstab") != 0 || !(dd->steps > 0) ||
          !(other->steps > 0) || strcmp(dd->precision, other->precision) != 0)
        continue;
      if (*where_faster(f, ranks, count, k, b, text))
        cli_say(common, "%s %s is faster than BiCGStab on %s ranks\n", dd->name, dd->precision,
                text);
      else
        cli_say(common, "%s %s is slower than BiCGStab on up to %d ranks\n", dd->name,
                dd->precision, ranks[count - 1]);
    }
}

static void foretell(const bench_args *a, const model *m, const rows *r, const model_network *n,
                     json_t *list) {
  enum { COUNTS = 9 };
  const cli_common *common = &a->common;
  foretold f[COUNTS];
  int ranks[COUNTS], count = 0;
  json_t *about = describe_model(m, n);
  model_place at = r->solve[r->reference].at;
  if (a->lattices.count) memcpy(at.lattice, a->lattices.extents[0], sizeof at.lattice);
  cli_say(
      common,
      "\nstrong scaling of %dx%dx%dx%d, steps of %s\n"
      "assumed: nodes of %d ranks; between them %.2f us a message, and for each doubling a sum; "
      "%.1f GB/s a rank; messages hidden; steps on one rank linear in its sites, those of GCR-DD "
      "a power of its domain's\n%5s %-12s %10s",
      at.lattice[0], at.lattice[1], at.lattice[2], at.lattice[3], r->problem[r->reference], n->node,
      1e6 * n->latency, 1e-9 * n->bandwidth, "ranks", "grid", "sites each");
  for (int k = 0; k < m->methods; k++)
    if (m->method[k].steps > 0)
      cli_say(common, " %12.12s %-13.13s", m->method[k].name, m->method[k].precision);
  cli_say(common, "\n");
  for (at.ranks = 1; at.ranks <= 256 && count < COUNTS; at.ranks *= 2) {
    char grid[64];
    if (!model_grid(at.lattice, at.ranks, at.grid)) break;
    ranks[count] = at.ranks;
    snprintf(grid, sizeof grid, "%dx%dx%dx%d", at.grid[0], at.grid[1], at.grid[2], at.grid[3]);
    cli_say(common, "%5d %-12s %10.0f", at.ranks, grid, model_sites(&at));
    for (int k = 0; k < m->methods; k++) {
      const model_method *method = &m->method[k];
      if (!(method->steps > 0)) continue;
      const double steps = model_steps(method, model_sites(&at));
      const double seconds = steps * model_step_seconds(m, n, &at, method, method->sums);
      f[count].seconds[k] = seconds;
      cli_say(common, " %10.4f s %6.0f steps ", seconds, steps);
      add_foretold(list, common->line, m, r, &at, k, seconds, about);
    }
    cli_say(common, "\n");
    count++;
  }
  if (count) print_crossover(common, m, f, ranks, count);
  json_decref(about);
}

int bench_model(const bench_args *a) {
  model *m = calloc(1, sizeof *m);
  rows *r = calloc(1, sizeof *r);
  json_t *list = json_array();
  const model_network network = {a->network_latency, 1e9 * a->network_bandwidth, a->node};
  int code = m && r ? read_files(&a->models, m, r) : EXIT_DEVICE;
  if (code == EXIT_DONE) sort_out(m, r);
  if (code == EXIT_DONE && r->hops == 0)
    code = cli_wrong(
        "--model: no wilson-hop of one column and one rank is in these files; run kaon "
        "bench scaling on one rank as well");
  if (code == EXIT_DONE) {
    model_fit_hops(m, r->hop, r->hops);
    model_fit_solves(m, r->solve, r->solves);
    choose_problem(m, r);
    print_model(&a->common, m, r);
    if (r->reference >= 0) foretell(a, m, r, &network, list);
    code = report_write(a->json, list);
  }
  json_decref(list);
  free(m);
  free(r);
  return code;
}
