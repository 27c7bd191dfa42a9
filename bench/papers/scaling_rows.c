/* scaling_rows.c - reads rows of files, checks that they belong together, chooses the problem to
 * predict. Contract: scaling_rows.h. */
#include "bench/papers/scaling_rows.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/bench.h"

/* ---- members of a row ---- */

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
  const char *text = bench_word(row, "precision"), *slash = strchr(text, '/');
  for (int p = 0; p < 3; p++)
    if (strcmp(slash ? slash + 1 : text, precision_name((kaon_precision)p)) == 0) return p;
  return -1;
}

/* Messages and sums of a step by method, for rows that do not count them. */
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

static int find_method(model *m, const json_t *row) {
  char name[32];
  snprintf(name, sizeof name, "%.31s", bench_word(row, "bench") + strlen("solve-"));
  for (int i = 0; i < m->methods; i++)
    if (strcmp(m->method[i].name, name) == 0 &&
        strcmp(m->method[i].precision, bench_word(row, "precision")) == 0)
      return i;
  if (m->methods == MODEL_METHODS) return -1;
  model_method *made = &m->method[m->methods];
  snprintf(made->name, sizeof made->name, "%s", name);
  snprintf(made->precision, sizeof made->precision, "%.31s", bench_word(row, "precision"));
  made->inner = read_precision(row);
  usual_counts(name, &made->hops, &made->sums);
  return m->methods++;
}

/* ---- what rows must have in common ---- */

static row_kind kind_of(const json_t *row, const char *file) {
  const json_t *cut = json_object_get(row, "preconditioner");
  row_kind k = {.file = file,
                .kappa = bench_number(row, "kappa"),
                .csw = bench_number(row, "csw"),
                .tol = bench_number(row, "tol"),
                .reals = bench_number(row, "links"),
                .steps = bench_number(cut, "steps"),
                .cycles = bench_number(cut, "cycles")};
  snprintf(k.device, sizeof k.device, "%.127s", bench_word(row, "device"));
  snprintf(k.backend, sizeof k.backend, "%.15s", bench_word(row, "backend"));
  snprintf(k.links, sizeof k.links, "%.63s", bench_word(row, "gauge"));
  snprintf(k.stop, sizeof k.stop, "%.15s", bench_word(row, "stop"));
  snprintf(k.even_odd, sizeof k.even_odd, "%.15s", bench_word(row, "even_odd"));
  snprintf(k.preconditioner, sizeof k.preconditioner, "%.15s", bench_word(cut, "kind"));
  return k;
}

static int apart(const char *what, const char *one, const char *in_one, const char *other,
                 const char *in_other) {
  return cli_wrong(
      "--model: rows that do not belong together: %s is %s in %s and %s in %s; leave one of them "
      "out",
      what, one, in_one, other, in_other);
}

static int same_word(const char *what, const char *one, const char *other, const row_kind *a,
                     const row_kind *b) {
  if (!*one || !*other || strcmp(one, other) == 0) return EXIT_DONE;
  return apart(what, one, a->file, other, b->file);
}

static int same_number(const char *what, double x, double y, const row_kind *a, const row_kind *b) {
  char one[32], other[32];
  if (isnan(x) || isnan(y) || x == y) return EXIT_DONE;
  snprintf(one, sizeof one, "%.6g", x);
  snprintf(other, sizeof other, "%.6g", y);
  return apart(what, one, a->file, other, b->file);
}

/* Checks two rows of one method. The time of a step does not depend on the problem, except on the
 * clover matrix. The number of steps does. */
static int same_method(const row_kind *a, const row_kind *b) {
  const int one_problem = strcmp(a->links, b->links) == 0 && a->kappa == b->kappa;
  int code = same_number("links (reals a link)", a->reals, b->reals, a, b);
  if (code == EXIT_DONE) code = same_word("even-odd", a->even_odd, b->even_odd, a, b);
  if (code == EXIT_DONE)
    code = same_word("the preconditioner", a->preconditioner, b->preconditioner, a, b);
  if (code == EXIT_DONE)
    code = same_number("steps of the preconditioner", a->steps, b->steps, a, b);
  if (code == EXIT_DONE)
    code = same_number("cycles of the preconditioner", a->cycles, b->cycles, a, b);
  if (code == EXIT_DONE && (one_problem || (a->csw == 0) != (b->csw == 0)))
    code = same_number("csw", a->csw, b->csw, a, b);
  if (code != EXIT_DONE || !one_problem) return code;
  code = same_number("tol", a->tol, b->tol, a, b);
  return code == EXIT_DONE ? same_word("stop", a->stop, b->stop, a, b) : code;
}

/* ---- rows ---- */

/* Extents of the domains of a solve: blocks, or the part of a rank. */
static void read_block(const json_t *row, const model_place *at, int block[4]) {
  const json_t *list = json_object_get(json_object_get(row, "preconditioner"), "block");
  for (int mu = 0; mu < 4; mu++) {
    const int part = at->lattice[mu] / at->grid[mu];
    const json_int_t n = json_integer_value(json_array_get(list, (size_t)mu));
    block[mu] = n > 0 && n < part ? (int)n : part;
  }
}

static int add_solve(model *m, rows *r, const json_t *row, const model_place *at, int precision,
                     const char *file) {
  const double iterations = bench_number(row, "iterations"), seconds = bench_number(row, "seconds");
  if (!(iterations >= 1) || strcmp(bench_word(row, "status"), "converged") != 0 ||
      bench_number(row, "reduce_delay") > 0)
    return EXIT_DONE;
  const int known = find_method(m, row);
  if (known < 0) return EXIT_DONE;
  model_method *method = &m->method[known];
  model_solve *s = &r->solve[r->solves];
  const row_kind kind = kind_of(row, file);
  const double sums = bench_number(row, "sums") / iterations;
  const double hops = bench_number(row, "exchanges") / iterations;
  int *block = r->block[r->solves], code = EXIT_DONE;
  for (int i = 0; i < r->solves && code == EXIT_DONE; i++)
    if (r->solve[i].method == known) code = same_method(&r->kind[i], &kind);
  if (code != EXIT_DONE) return code;
  r->kind[r->solves] = kind;
  *s = (model_solve){*at, known, precision, seconds, iterations, 0, method->sums};
  if (sums > 0) s->sums = method->sums = sums;
  if (hops > 0) method->hops = hops;
  read_block(row, at, block);
  for (int mu = 0; mu < 4; mu++)
    if (block[mu] < at->lattice[mu] / at->grid[mu]) method->block[mu] = block[mu];
  snprintf(r->problem[r->solves], sizeof *r->problem, "%.40s, kappa %.6g, %dx%dx%dx%d", kind.links,
           kind.kappa, at->lattice[0], at->lattice[1], at->lattice[2], at->lattice[3]);
  method->flops =
      1e9 * bench_number(row, "gflops") * seconds / (iterations * model_sites(at) * at->ranks);
  if (at->ranks == 1) model_add(&method->step, model_sites(at), seconds / iterations);
  r->solves++;
  return EXIT_DONE;
}

/* Takes hops and solves of one column, and ignores other rows. Hops must have the links of the
 * first one. */
static int add_row(model *m, rows *r, const json_t *row, int *links, const char *file) {
  model_place at;
  const int precision = read_precision(row);
  const int own = (int)json_integer_value(json_object_get(row, "links"));
  const int solve = strncmp(bench_word(row, "bench"), "solve-", 6) == 0;
  if (json_integer_value(json_object_get(row, "columns")) != 1 || precision < 0 ||
      !read_place(row, &at) || !(bench_number(row, "seconds") > 0) ||
      (!solve && strcmp(bench_word(row, "bench"), "wilson-hop") != 0))
    return EXIT_DONE;
  const row_kind kind = kind_of(row, file);
  if (!r->first.file) r->first = kind;
  int code = same_word("the device", r->first.device, kind.device, &r->first, &kind);
  if (code == EXIT_DONE)
    code = same_word("the backend", r->first.backend, kind.backend, &r->first, &kind);
  if (code != EXIT_DONE) return code;
  if (solve) return r->solves < ROWS_MAX ? add_solve(m, r, row, &at, precision, file) : EXIT_DONE;
  if (r->hops == ROWS_MAX) return EXIT_DONE;
  if (*links == 0) *links = own;
  if (own != *links) return EXIT_DONE;
  r->hop[r->hops++] = (model_hop){at, precision, strcmp(bench_word(row, "overlap"), "none") != 0,
                                  bench_number(row, "seconds"), 0};
  if (at.ranks == 1)
    model_add(&m->inside[precision], model_sites(&at), bench_number(row, "seconds"));
  return EXIT_DONE;
}

static int read_file(const char *file, model *m, rows *r, int *links) {
  json_error_t error;
  size_t k;
  json_t *row, *list = json_load_file(file, 0, &error);
  int code = EXIT_DONE;
  if (!list && json_error_code(&error) == json_error_cannot_open_file)
    return cli_wrong("--model %s: it cannot be read; give a file that --json has written", file);
  if (!list)
    return cli_wrong(
        "--model %s: not JSON (line %d: %s); give a file that --json has written, whole", file,
        error.line, error.text);
  if (!json_is_array(list))
    code = cli_wrong("--model %s: not a list of rows, as --json writes it", file);
  bench_complete_rows(list);
  json_array_foreach(list, k, row) {
    if (code == EXIT_DONE) code = add_row(m, r, row, links, file);
  }
  json_decref(list);
  return code;
}

/* Removes rows without a figure of one rank, which cannot be fitted. Of hops with hidden messages
 * in one place the fastest remains. */
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
    memmove(r->block[kept], r->block[i], sizeof *r->block);
    r->kind[kept] = r->kind[i];
    r->solve[kept++] = r->solve[i];
  }
  r->solves = kept;
}

int rows_read(const cli_texts *files, model *m, rows *r) {
  int links = 0, several = 0;
  for (int i = 0; i < files->count; i++) {
    const int code = read_file(files->text[i], m, r, &links);
    if (code != EXIT_DONE) return code;
  }
  sort_out(m, r);
  if (r->hops == 0)
    return cli_wrong(
        "--model: no wilson-hop of one column and one rank is in these files; run kaon bench "
        "scaling on one rank as well");
  for (int i = 0; i < r->hops; i++) several |= r->hop[i].at.ranks > 1;
  if (several) return EXIT_DONE;
  return cli_wrong(
      "--model: rows of 1 rank found, rows of 2 or more are needed; write: mpirun -n 2 kaon bench "
      "scaling --json two.json, and give that file as well");
}

/* ---- the problem to predict, and its steps ---- */

static int methods_of(const rows *r, const char *name) {
  unsigned seen = 0;
  int count = 0;
  for (int i = 0; i < r->solves; i++)
    if (strcmp(r->problem[i], name) == 0) seen |= 1u << r->solve[i].method;
  for (; seen; seen &= seen - 1) count++;
  return count;
}

/* Chooses the problem that most methods have solved, and of those the one with the most steps.
 * Methods with domains need more steps on smaller ones: log(steps) = a + b log2(sites). */
void rows_choose(model *m, rows *r) {
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
    const int *n = r->block[i];
    const double x = log2((double)n[0] * n[1] * n[2] * n[3]), y = log(r->solve[i].iterations);
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
    method->measured = 1 + (spread > 1e-9);
    if (model_in_domains(method) && method->measured > 1)
      method->growth = fmin(0, (r->cross[k] - s[1] * s[2] / s[0]) / spread);
    method->at_sites = exp2(s[1] / s[0]);
    method->steps = exp(s[2] / s[0]);
  }
}
