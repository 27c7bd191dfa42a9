/* invert_results.c - what kaon invert leaves: propagator files (and their way back), correlators.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "interfaces/cli/command/invert.h"
#include "interfaces/common/report.h"
#include "interfaces/common/signals.h"

enum { KEPT = 2, DESCRIPTION_CAPACITY = 28000 /* the file takes 30000, escaped */ };
static const double same_plaquette = 1e-12; /* the rounding of a mean of O(1) numbers, and some */

/* The equation that a solution belongs to; compared as JSON values. The tolerance is left out:
 * residuals are recomputed when columns are taken over. */
static json_t *equation(const invert_job *job) {
  const problem_args *a = &job->args->problem;
  char name[32];
  json_t *e = json_pack(
      "{s:o s:o s:s s:o s:o s:o s:s s:s}", "lattice", report_ints(job->p.field.extents, 4),
      "plaquette", report_real(job->links.plaquette), "action",
      cli_choice(PROBLEM_ACTIONS, a->action, name), "kappa", report_real(job->p.kappa), "csw",
      report_real(job->p.csw), "anisotropy", report_real(a->anisotropy), "boundary_t",
      a->boundary_t ? "periodic" : "antiperiodic", "source", a->source);
  if (job->p.csw_time != job->p.csw)
    json_object_set_new(e, "csw_time", report_real(job->p.csw_time));
  if (job->p.twisted) json_object_set_new(e, "mu", report_real(job->p.mu));
  if (job->shifts.writing) json_object_set_new(e, "shift", report_real(*job->shifts.writing));
  return e;
}

static int holds(const invert_job *job, results_kind kind, int column) {
  return kind == RESULTS_ITERATES || job->done[column];
}

/* The file's columns as runs of neighbours: [first, its iterations, those of the next, ...]. */
static json_t *column_runs(const invert_job *job, results_kind kind, int with_iterations) {
  json_t *runs = json_array(), *run = NULL;
  for (int k = 0; k < job->columns; k++) {
    if (!holds(job, kind, k)) {
      run = NULL;
      continue;
    }
    if (!run) {
      run = json_pack("[i]", k);
      json_array_append_new(runs, run);
    }
    json_array_append_new(run, json_integer(with_iterations ? job->solves[k].iterations : 0));
  }
  return runs;
}

/* Thousands of columns with iterations of many digits may be too long: 0 for all of them then. */
char *results_description(const invert_job *job, results_kind kind) {
  for (int with_iterations = 1;; with_iterations--) {
    json_t *text = json_pack("{s:s s:o s:o s:o}", "kaon", kaon_version(), "gauge",
                             report_string(job->args->problem.gauge), "equation", equation(job),
                             "columns", column_runs(job, kind, with_iterations));
    if (kind == RESULTS_ITERATES) json_object_set_new(text, "last_iterates", json_true());
    char *line = json_dumps(text, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_decref(text);
    if (!line || !with_iterations || strlen(line) < DESCRIPTION_CAPACITY) return line;
    free(line);
  }
}

static int take_runs(const invert_job *job, const json_t *runs, int *columns, int *iterations,
                     int *count) {
  size_t i, j;
  json_t *run, *value;
  *count = 0;
  json_array_foreach(runs, i, run) {
    json_int_t first = json_integer_value(json_array_get(run, 0));
    json_array_foreach(run, j, value) {
      if (j == 0) continue;
      json_int_t k = first + (json_int_t)j - 1;
      if (first < 0 || first >= job->columns || k >= job->columns || *count == job->columns)
        return 0;
      columns[*count] = (int)k;
      iterations[(*count)++] = (int)json_integer_value(value);
    }
  }
  return *count > 0;
}

/* 1 if they are the same; otherwise says the member and both values. NULL: not there. */
static int same_member(const char *name, const json_t *theirs, const json_t *ours, char why[256]) {
  const double a = json_number_value(theirs), b = json_number_value(ours);
  /* a sum's last bits differ between machines */
  if (strcmp(name, "plaquette") == 0 ? theirs && fabs(a - b) <= same_plaquette
                                     : json_equal(theirs, ours))
    return 1;
  char *x = json_dumps(theirs, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(12));
  char *y = json_dumps(ours, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(12));
  snprintf(why, 256, "its %s is %.90s, this run's %.90s", name, x ? x : "not said", y ? y : "none");
  free(x);
  free(y);
  return 0;
}

/* 1 if both hold the same; otherwise the first member that differs. Without mu it is 0. No shift
 * is not shift 0, which is a solution of the normal equations. */
static int same_equation(json_t *known, json_t *here, char why[256]) {
  const char *name;
  json_t *ours, *theirs;
  if (!json_object_get(known, "mu")) json_object_set_new(known, "mu", json_real(0));
  if (!json_object_get(here, "mu")) json_object_set_new(here, "mu", json_real(0));
  json_object_foreach(here, name, ours) {
    if (!same_member(name, json_object_get(known, name), ours, why)) return 0;
  }
  json_object_foreach(known, name, theirs) {
    if (!json_object_get(here, name) && !same_member(name, theirs, NULL, why)) return 0;
  }
  return 1;
}

int results_same(const invert_job *job, const char *text, char why[256]) {
  json_t *there = json_loads(text, 0, NULL), *here = equation(job);
  /* through text, so that both have been rounded alike */
  char *line = json_dumps(here, JSON_COMPACT | JSON_REAL_PRECISION(17));
  json_decref(here);
  here = line ? json_loads(line, 0, NULL) : NULL;
  free(line);
  json_t *known = json_object_get(there, "equation");
  snprintf(why, 256, "no kaon invert described it");
  const int same = known && here && same_equation(known, here, why);
  json_decref(there);
  json_decref(here);
  return same;
}

int results_describes(const invert_job *job, const char *text, int *columns, int *iterations,
                      int *count, char why[256]) {
  json_t *there = json_loads(text, 0, NULL);
  int same = results_same(job, text, why);
  if (same && !take_runs(job, json_object_get(there, "columns"), columns, iterations, count)) {
    snprintf(why, 256, "its columns go beyond the %d of this run's --columns", job->columns);
    same = 0;
  }
  json_decref(there);
  return same;
}

/* Columns on their way into a file: the writer asks for sites of the whole lattice in order, we
 * export this rank's part of a column, of which all ranks get slice by slice. TWELVE mixes two
 * columns at each site, so two are kept. */
typedef struct outgoing {
  invert_job *job;
  const int *map; /* the file's column -> ours */
  const kaon_vector *cached[KEPT];
  int column[KEPT], t[KEPT], next;
  double *host[KEPT], *slice[KEPT]; /* of this rank; of the whole lattice */
  int64_t slice_sites;
  int zero_source;
  kaon_status status;
} outgoing;

static int slot_of(outgoing *o, const kaon_vector *v, int column) {
  for (int i = 0; i < KEPT; i++)
    if (o->cached[i] == v && o->column[i] == column) return i;
  int slot = o->next;
  o->next = (o->next + 1) % KEPT;
  o->cached[slot] = v;
  o->column[slot] = column;
  o->t[slot] = -1;
  kaon_status status = kaon_vector_export(v, column, o->host[slot], KAON_BASIS_UKQCD);
  if (status != KAON_OK) o->status = status;
  return slot;
}

/* Collective: all ranks write the same bytes. */
static const double *site_of(outgoing *o, const kaon_vector *v, int column, int64_t site) {
  const int slot = slot_of(o, v, column), t = (int)(site / o->slice_sites);
  if (o->t[slot] != t) {
    kaon_status status =
        kaon_lattice_gather_slice(o->job->p.field.lattice, t, 24, o->host[slot], o->slice[slot]);
    if (status != KAON_OK) o->status = status;
    o->t[slot] = t;
  }
  return o->slice[slot] + 24 * (site % o->slice_sites);
}

static void get_solution(void *source, int column, int64_t site, double psi[24]) {
  outgoing *o = source;
  memcpy(psi, site_of(o, o->job->x, o->map[column], site), 24 * sizeof *psi);
}

static void get_spinor_source(void *source, int column, int64_t site, double *values) {
  outgoing *o = source;
  memcpy(values, site_of(o, o->job->b, o->map[column], site), 24 * sizeof *values);
}

/* Point and wall sources are one scalar field times a spin-colour unit vector. */
static void get_scalar_source(void *source, int column, int64_t site, double *values) {
  (void)column;
  const outgoing *o = source;
  const source_spec *s = &o->job->p.source;
  const int *e = o->job->p.field.extents;
  int64_t slice = (int64_t)e[0] * e[1] * e[2];
  int64_t point =
      s->site[0] + e[0] * (s->site[1] + e[1] * (s->site[2] + (int64_t)e[2] * s->site[3]));
  values[0] = s->kind == SOURCE_WALL ? site / slice == s->site[3] : site == point;
  if (o->zero_source) values[0] = 0;
  values[1] = 0;
}

/* Sources of what is not the whole propagator are made anew. */
static kaon_propagator_kind kind_of(const invert_job *job, int whole, int count) {
  const source_kind source = job->p.source.kind;
  const int scalar = source == SOURCE_POINT || source == SOURCE_WALL;
  if (!whole) return KAON_PROPAGATOR_SCALAR_PAIRS;
  return scalar && count == 12 ? KAON_PROPAGATOR_TWELVE : KAON_PROPAGATOR_PAIRS;
}

/* Bytes of the fields in a file of `count` columns; its XML is not counted. */
static double file_bytes(const invert_job *job, double sites, int whole, int count) {
  const double real = job->p.precision == KAON_DOUBLE ? 8 : 4;
  if (job->p.staggered) return sites * real * 6 * count;
  const kaon_propagator_kind kind = kind_of(job, whole, count);
  const int source = kind == KAON_PROPAGATOR_TWELVE  ? 2
                     : kind == KAON_PROPAGATOR_PAIRS ? 24 * count
                                                     : 2 * count;
  return sites * real * (24 * count + source);
}

/* What is in OUTPUT.partial when OUTPUT is written, less an earlier run's, which it replaces. */
static double partial_bytes(const invert_job *job, double sites) {
  const int last = (job->columns - 1) / job->batch * job->batch; /* the last batch's first column */
  char *name = NULL;
  struct stat st = {0};
  if (last == 0 || job->shifts.count || job->args->resume || !checkpoint_keeps(job)) return 0;
  if (asprintf(&name, "%s.partial", job->args->output) < 0) return 0;
  if (stat(name, &st) != 0) st.st_size = 0;
  free(name);
  return file_bytes(job, sites, 0, last) - (double)st.st_size;
}

int results_fit(const invert_job *job, const int e[4]) {
  const double sites = (double)e[0] * e[1] * e[2] * e[3];
  const int files = job->shifts.count ? job->shifts.count : 1;
  if (!job->args->output) return EXIT_DONE;
  const double bytes = files * file_bytes(job, sites, 1, job->columns) + partial_bytes(job, sites);
  return cli_check_disk_space("--output", job->args->output, bytes, bytes);
}

static kaon_status write_file(invert_job *job, outgoing *o, const char *path, results_kind kind,
                              int count) {
  kaon_propagator_write_options options = KAON_PROPAGATOR_WRITE_OPTIONS_INIT;
  memcpy(options.extents, job->p.field.extents, sizeof options.extents);
  options.columns = count;
  options.precision = job->p.precision == KAON_DOUBLE ? 64 : 32;
  const int whole = kind == RESULTS_WHOLE;
  options.kind = kind_of(job, whole, count);
  o->zero_source = !whole;
  options.source_text = job->args->problem.source;
  char *text = results_description(job, kind);
  options.text = text;
  kaon_status status = kaon_propagator_file_write(
      job->ctx, path, &options, get_solution,
      options.kind == KAON_PROPAGATOR_PAIRS ? get_spinor_source : get_scalar_source, o);
  free(text);
  return status == KAON_OK ? o->status : status;
}

static const char *action_name(const invert_job *job, char name[32]) {
  if (job->p.staggered || job->p.twisted)
    return cli_choice(PROBLEM_ACTIONS, job->args->problem.action, name);
  return job->p.csw != 0 ? "clover" : "Wilson";
}

const char *results_action(const invert_job *job, char text[96]) {
  char name[32], twist[40] = "", time[32] = "";
  const char *action = action_name(job, name);
  if (job->p.twisted) snprintf(twist, sizeof twist, ", mu %g", job->p.mu);
  if (job->p.csw_time != job->p.csw) snprintf(time, sizeof time, ",%g", job->p.csw_time);
  if (job->p.staggered)
    snprintf(text, 96, "%s, mass %g", action, job->p.mass);
  else
    snprintf(text, 96, "%s, kappa %g, csw %g%s%s", action, job->p.kappa, job->p.csw, time, twist);
  return text;
}

static const char *writing(results_kind kind) {
  return kind == RESULTS_ITERATES ? "writing the last iterates" : "writing the solutions";
}

/* Writes all columns of a staggered solve, one record each. invert_guess.c reads the title. */
static int staggered_solutions(invert_job *job, const char *path, results_kind kind) {
  char action[96], shift[40] = "", text[256];
  if (job->shifts.writing) snprintf(shift, sizeof shift, ", shift %g", *job->shifts.writing);
  snprintf(text, sizeof text, "%s%s, source %.100s", results_action(job, action), shift,
           job->args->problem.source);
  signals_enter(writing(kind), "the file was not written");
  const int code = cli_write_status(
      job->ctx,
      kaon_staggered_write_vectors(job->x, path, job->p.precision == KAON_DOUBLE ? 64 : 32, text),
      NULL);
  signals_leave(code == EXIT_DONE ? path : NULL);
  return code;
}

int results_propagator(invert_job *job, const char *path, results_kind kind) {
  const int *e = job->p.field.extents;
  signals_output(path);
  if (job->p.staggered) return staggered_solutions(job, path, kind);
  int count = 0, *map = calloc((size_t)job->columns, sizeof *map);
  outgoing o = {.job = job, .map = map, .slice_sites = (int64_t)e[0] * e[1] * e[2]};
  const size_t slice = (size_t)o.slice_sites * 24 * sizeof **o.slice;
  o.host[0] = job->host;
  o.host[1] = malloc((size_t)invert_sites(job) * 24 * sizeof *o.host[1]);
  for (int i = 0; i < KEPT; i++) o.slice[i] = malloc(slice);
  int code = ranks_agree(map && o.host[1] && o.slice[0] && o.slice[1] ? EXIT_DONE : EXIT_DEVICE);
  if (code == EXIT_DONE) {
    for (int k = 0; k < job->columns; k++)
      if (holds(job, kind, k)) map[count++] = k;
    signals_enter(writing(kind), "the file was not written");
    code = cli_write_status(job->ctx, write_file(job, &o, path, kind, count), NULL);
    signals_leave(code == EXIT_DONE ? path : NULL);
  } else {
    cli_error("%s: out of memory", path);
  }
  for (int i = 0; i < KEPT; i++) free(o.slice[i]);
  free(o.host[1]);
  free(map);
  return code;
}

/* Every rank hears of all sites and keeps its own: those of one column after the other, in
 * job->host, or of the twelve that a file holds mixed, which come side by side. */
typedef struct incoming {
  invert_job *job;
  const int *columns; /* the file's column -> ours */
  double *all;        /* of twelve columns; or job->host */
  int twelve, column; /* column: the one that is in job->host, -1: none yet */
  int part[4], origin[4];
  kaon_status status; /* the first failure of this rank; all of them go on reading */
} incoming;

static size_t column_reals(const invert_job *job) {
  return 24 * (size_t)invert_sites(job);
}

static void import_column(incoming *in, int column) {
  const int k = in->columns[column];
  const double *numbers = in->all + (in->twelve ? (size_t)column * column_reals(in->job) : 0);
  if (in->job->done[k] || in->status != KAON_OK) return;
  in->status = kaon_vector_import(in->job->x, k, numbers, KAON_BASIS_UKQCD);
}

static void put_solution(void *sink, int column, int64_t site, const double psi[24]) {
  incoming *in = sink;
  const int *n = in->part, *whole = in->job->p.field.extents;
  int x[4];
  if (!in->twelve && column != in->column && in->column >= 0) import_column(in, in->column);
  in->column = column;
  for (int mu = 0; mu < 4; mu++) {
    x[mu] = (int)(site % whole[mu]) - in->origin[mu];
    site /= whole[mu];
    if (x[mu] < 0 || x[mu] >= n[mu]) return;
  }
  const size_t own = (size_t)(x[0] + n[0] * (x[1] + n[1] * (x[2] + (int64_t)n[2] * x[3])));
  memcpy(in->all + (in->twelve ? (size_t)column * column_reals(in->job) : 0) + 24 * own, psi,
         24 * sizeof *psi);
}

double results_take_bytes(const invert_job *job, int count, int twelve) {
  return twelve ? (double)count * (double)column_reals(job) * sizeof(double) : 0;
}

kaon_status results_take(invert_job *job, const char *path, const int *columns, int count,
                         int twelve) {
  kaon_propagator_read_options options = KAON_PROPAGATOR_READ_OPTIONS_INIT;
  incoming in = {.job = job, .columns = columns, .twelve = twelve, .column = -1};
  kaon_propagator_file_info info = KAON_PROPAGATOR_FILE_INFO_INIT;
  kaon_lattice_part(job->p.field.lattice, in.part, in.origin, NULL);
  memcpy(options.extents, job->p.field.extents, sizeof options.extents);
  options.ignore_checksum = job->args->problem.ignore_checksum; /* residuals are made anew */
  const size_t bytes = (size_t)results_take_bytes(job, count, twelve);
  in.all = twelve ? malloc(bytes) : job->host;
  kaon_status status = kaon_context_agree(job->ctx, in.all ? KAON_OK : KAON_ERR_MEMORY);
  if (status == KAON_OK)
    status = kaon_propagator_file_read(job->ctx, path, &options, &info, put_solution, NULL, &in);
  if (status == KAON_OK && info.warnings > 0) {
    char more[64] = "";
    if (info.warnings > 1) snprintf(more, sizeof more, " (and %d more)", info.warnings - 1);
    cli_error("warning: %s%s", info.warning, more);
  }
  for (int i = twelve ? 0 : count - 1; i < count && status == KAON_OK; i++) import_column(&in, i);
  if (twelve) free(in.all);
  return kaon_context_agree(job->ctx, status == KAON_OK ? in.status : status);
}

int results_read(invert_job *job, const char *path) {
  kaon_propagator_file_info info = KAON_PROPAGATOR_FILE_INFO_INIT;
  char why[256];
  size_t columns = (size_t)job->columns;
  int count = 0, *lists = calloc(2 * columns, sizeof *lists);
  int code = ranks_agree(lists ? EXIT_DONE : EXIT_DEVICE);
  if (code == EXIT_DONE)
    code = cli_status(job->ctx, kaon_propagator_file_probe(job->ctx, path, &info), "--resume");
  if (code == EXIT_DONE && !results_describes(job, info.text, lists, lists + columns, &count, why))
    code = cli_wrong(
        "--resume: %s holds other solutions: %s; give what it was made with, remove it, or choose "
        "another --output",
        path, why);
  if (code == EXIT_DONE && count != info.columns)
    code = cli_wrong("--resume: %s describes %d columns and holds %d; remove it", path, count,
                     info.columns);
  if (code == EXIT_DONE)
    code = cli_status(job->ctx,
                      results_take(job, path, lists, count, info.kind == KAON_PROPAGATOR_TWELVE),
                      "--resume");
  for (int i = 0; i < count && code == EXIT_DONE; i++) {
    job->done[lists[i]] = 1;
    job->solves[lists[i]] =
        (kaon_column_report){.iterations = lists[columns + (size_t)i], .reason = KAON_CONVERGED};
  }
  if (code == EXIT_DONE) job->begun = 1;
  free(lists);
  return code;
}

int results_contract(const invert_job *job, double *pion, double *rho) {
  const int t0 = problem_slice(&job->p);
  int code = cli_status(job->ctx, kaon_correlator_pion(job->x, t0, pion), NULL);
  if (code == EXIT_DONE && !job->p.staggered)
    code = cli_status(job->ctx, kaon_correlator_rho(job->x, t0, rho), NULL);
  return code;
}

/* The shortest text that reads back as x. */
static const char *number(double x, char text[32]) {
  int digits = 14;
  do snprintf(text, 32, "%.*g", ++digits, x);
  while (digits < 17 && strtod(text, NULL) != x);
  return text;
}

int results_correlators(const invert_job *job, const double *pion, const double *rho,
                        const char *path) {
  const int t0 = problem_slice(&job->p), slices = job->p.field.extents[3];
  char *text = NULL, what[96], digits[2][32];
  size_t length = 0;
  FILE *out = open_memstream(&text, &length);
  if (!out) return EXIT_DEVICE;
  fprintf(out,
          "# kaon %s: zero-momentum correlators, %s, t from the source's slice %d\n"
          "# %s, plaquette %.12g, ",
          kaon_version(), job->p.staggered ? "of M = 2 mass + D" : "kappa-normalised", t0,
          job->args->problem.gauge, job->links.plaquette);
  if (job->p.staggered)
    fprintf(out, "%s (%s)", results_action(job, what), number(job->p.mass, digits[0]));
  else
    fprintf(out, "%s, kappa %s, csw %s", action_name(job, what), number(job->p.kappa, digits[0]),
            number(job->p.csw, digits[1]));
  if (job->p.csw_time != job->p.csw) fprintf(out, ",%s", number(job->p.csw_time, digits[1]));
  if (job->p.twisted) fprintf(out, ", mu %s", number(job->p.mu, digits[0]));
  fprintf(out, ", %s in t, source %s\n# t  pion%s\n",
          job->args->problem.boundary_t ? "periodic" : "antiperiodic", job->args->problem.source,
          job->p.staggered ? "" : "  rho");
  for (int t = 0; t < slices; t++) {
    fprintf(out, "%d %.16e", t, pion[t]);
    if (!job->p.staggered) fprintf(out, " %.16e", rho[t]);
    fprintf(out, "\n");
  }
  const int code = fclose(out) == 0 ? report_text(path, text, length) : EXIT_DEVICE;
  free(text);
  return code;
}
