/* solve_plan.c - what a run of kaon solve will take, predicted without doing the work. The same job
 * is set up on small matrices, each in a process of its own, and followed to the real size: a
 * generator's along two smaller matrices of the same name; a file that is no larger than a sample
 * is its own; of a larger one the size line alone is read, and it is followed along three files,
 * since its bytes are a constant, a multiple of the rows and a multiple of the entries. Those files
 * hold points of a grid in random order: a matrix whose blocks of rows share their columns' pattern
 * takes less, and which one does is not known before it is read. Nothing here has to be kept in
 * step with the library. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interfaces/common/report.h"
#include "interfaces/cli/command/sample.h"
#include "interfaces/common/signals.h"
#include "interfaces/cli/command/solve_trial.h"

/* Rows of the smaller sample, so that what does not grow with it is a small part. */
static const double sample_rows = 60000;
static const double program_bytes = 48e6; /* with MPI, before it reads a matrix */
enum { DEAREST_LEVEL = 7 /* of fem: 361345 rows where the degree is 1 */ };

/* --- generators --- */

typedef struct family {
  const char *name;
  int power;   /* rows grow with this power of N; 0: by 4 with the level, the last number */
  double rows; /* of N = 1 */
} family;

static const family families[] = {
    {"laplace2d:", 2, 1},  {"laplace3d:", 3, 1}, {"laplace3d27:", 3, 1},
    {"convdiff3d:", 3, 1}, {"cavity3d:", 3, 1},  {"elasticity:", 3, 3},
    {"trefethen:", 1, 1},  {"banded:", 1, 1},    {"fem:", 0, 22}};
enum { FAMILIES = sizeof families / sizeof *families };

static const family *family_of(const char *name) {
  for (int i = 0; i < FAMILIES; i++)
    if (strncmp(name, families[i].name, strlen(families[i].name)) == 0) return &families[i];
  return NULL;
}

/* What memory grows with: rows, and entries a row where these grow too. */
static double size_of(const family *f, long n) {
  if (f->power == 0) return pow(4, (double)n);
  const double rows = pow((double)n, f->power);
  return strcmp(f->name, "trefethen:") == 0 ? rows * log2((double)n + 1) : rows;
}

/* The number that the size hangs on, and what stands before and behind it. */
static int find_number(const family *f, const char *name, int *before, long *n,
                       const char **after) {
  const char *word = name + strlen(f->name);
  if (f->power == 0) {
    const char *comma = strrchr(name, ',');
    word = comma ? comma + 1 : word;
  }
  char *end;
  *before = (int)(word - name);
  *n = strtol(word, &end, 10);
  *after = end;
  return end != word && *n > 0;
}

/* Rows of N = small over those that a rank has of N = n. */
static double part_of(const family *f, long small, long n) {
  const double rows =
      f->power == 0 ? pow(4, (double)(small - n)) : pow((double)small / (double)n, f->power);
  return rows * fmax(ranks_started(), 1);
}

static int predict_generated(const solve_args *args, int inside, sample *all) {
  const char *name = args->linear.matrix, *after = "";
  const family *f = family_of(name);
  trial t = {.args = args, .inside = inside, .method = -1, .part = fmax(ranks_started(), 1)};
  sample a = {0}, b = {0};
  int before = 0;
  long n = 0, small = 0;
  snprintf(t.matrix, sizeof t.matrix, "%s", name);
  const int known = f && find_number(f, name, &before, &n, &after);
  if (known && f->power == 0) small = DEAREST_LEVEL - 1;
  if (known && f->power > 0) small = (long)ceil(pow(sample_rows / f->rows, 1.0 / f->power));
  const long large = known && f->power == 0
                         ? small + 1
                         : (long)ceil((double)small * pow(2, 1.0 / (known ? f->power : 1)));
  if (!known || large >= n)
    return trial_measure(&t, all); /* the library says what is wrong with a name */
  snprintf(t.matrix, sizeof t.matrix, "%.*s%ld%.64s", before, name, small, after);
  t.part = part_of(f, small, n);
  int code = trial_measure(&t, &a);
  all->late = a.late;
  if (code != EXIT_DONE) return code;
  a.size = size_of(f, small);
  snprintf(t.matrix, sizeof t.matrix, "%.*s%ld%.64s", before, name, large, after);
  t.part = part_of(f, large, n);
  code = trial_measure(&t, &b);
  b.size = size_of(f, large);
  all->late = b.late;
  if (code != EXIT_DONE) return code;
  *all = sample_follow(&a, &b, size_of(f, n));
  /* A device's driver takes some MB more or less of each process: no line goes through that. The
   * host has the matrix and, on its way, the operator. */
  if (all->on_device) all->peak = b.peak + all->input - b.input + all->operator- b.operator;
  return code;
}

/* --- files --- */

static double plane(double x0, double x1, double x2, const double at[2]) {
  return x0 + (x1 - x0) * at[0] + (x2 - x0) * at[1];
}

/* What linear_decide takes where it is not cg, as a file's header lets expect: A and A^H differ,
 * which a file with both triangles is taken to be of, or A = -A^H. -1: cg, or what varies wants. */
static int method_of(const linear_args *a, const kaon_matrix_file_info *file) {
  const int skew = file->skew && file->reals == 1 && a->precond == PRECOND_NONE;
  if (precond_varies(a) || (file->halves && !skew)) return -1;
  return linear_index(skew ? KAON_CGNR : KAON_BICGSTAB);
}

static int threads_of(const solve_args *args) {
  const long processors = sysconf(_SC_NPROCESSORS_ONLN);
  if (args->common.threads > 0) return args->common.threads;
  return processors > 0 ? (int)processors : 1;
}

/* *reading: bytes that each rank takes while it reads. */
static int predict_file(const solve_args *args, int inside, sample *all, double *reading) {
  /* more rows than 16 bits know; and next to nothing, for the program by itself */
  static const int edge[4] = {42, 52, 42, 4}, points[4] = {7, 7, 27, 7};
  const char *folder = getenv("TMPDIR");
  sample s[4] = {{0}};
  double rows[4], entries[4], at[2];
  kaon_matrix_file_info file = KAON_MATRIX_FILE_INFO_INIT;
  const char *path = args->linear.matrix;
  const int threads = threads_of(args);
  int code =
      cli_status(NULL, kaon_matrix_file_query(path, ranks_started(), threads, &file), "--matrix");
  *reading = file.bytes_reading;
  trial own = {.args = args, .method = -1, .edge = edge[0], .points = points[0]};
  if (code == EXIT_DONE && !inside && file.entries <= trial_entries(&own) &&
      file.rows <= pow(edge[0], 3)) {
    own.edge = 0; /* no larger than the samples: its own */
    own.part = fmax(ranks_started(), 1);
    return trial_measure(&own, all);
  }
  for (int i = 0; i < 4 && code == EXIT_DONE; i++) {
    trial t = {.args = args, .inside = inside, .method = method_of(&args->linear, &file)};
    t.edge = edge[i];
    t.points = points[i];
    if (!inside)
      snprintf(t.file, sizeof t.file, "%.400s/kaon-%ld.mtx", folder && *folder ? folder : "/tmp",
               (long)getpid());
    rows[i] = pow(edge[i], 3);
    t.part = rows[i] / fmax((double)file.rows * file.reals, 1) * fmax(ranks_started(), 1);
    code = trial_measure(&t, &s[i]);
    all->late = s[i].late;
    entries[i] = trial_entries(&t);
  }
  if (code != EXIT_DONE) return code;
  /* (rows, entries) as a mean of the three samples' */
  const double a = rows[1] - rows[0], b = rows[2] - rows[0], c = entries[1] - entries[0],
               d = entries[2] - entries[0], x = (double)file.rows - rows[0],
               y = (double)file.entries - entries[0];
  at[0] = (x * d - b * y) / (a * d - b * c);
  at[1] = (a * y - x * c) / (a * d - b * c);
  const double twice = file.reals;
  *all = (sample){.size = (double)file.rows,
                  .peak = twice * plane(s[0].peak, s[1].peak, s[2].peak, at),
                  .input = twice * plane(s[0].input, s[1].input, s[2].input, at),
                  .operator= twice * plane(s[0].operator, s[1].operator, s[2].operator, at),
                  .solver = twice * plane(s[0].solver, s[1].solver, s[2].solver, at),
                  .vectors = twice * plane(s[0].vectors, s[1].vectors, s[2].vectors, at),
                  .most = twice * plane(s[0].most, s[1].most, s[2].most, at)};
  /* the samples' files hold one triangle; what is read here may need more for a while */
  const double program = s[3].peak;
  if (ranks_started() > 1) /* the peak is one rank's alone */
    code = cli_status(NULL, kaon_matrix_file_query(path, 1, threads, &file), "--matrix");
  if (s[3].on_device) { /* as in predict_generated */
    all->on_device = 1;
    all->peak = program + fmax(file.bytes_reading, all->input + all->operator);
    return code;
  }
  all->peak = fmax(
      all->peak,
      program + fmax(file.bytes_reading, all->input + all->operator+ all->vectors + all->solver));
  return code;
}

/* --- the order of rows --- */

static int make_and_count(void *user, sample *s) {
  const solve_args *args = user;
  linear l = {.args = &args->linear};
  kaon_context *ctx = NULL;
  int code = cli_context(&args->common, &ctx);
  if (code == EXIT_DONE) code = linear_matrix(ctx, &l);
  if (code == EXIT_DONE) s->size = (double)l.info.global_rows;
  linear_close(&l);
  kaon_context_destroy(&ctx);
  return code;
}

/* 0: not by its name alone, or not its name. */
static int64_t rows_by_name(const char *name) {
  const family *f = family_of(name);
  const char *after = "";
  int before = 0;
  long n = 0;
  if (!f || f->power == 0 || !find_number(f, name, &before, &n, &after)) return 0;
  const int beams = strcmp(f->name, "elasticity:") == 0; /* fixed at one end */
  const double all =
      f->rows * (beams ? pow((double)n, 2) * (double)(n - 1) : pow((double)n, f->power));
  return all <= INT32_MAX ? (int64_t)all : 0; /* a larger one is refused by its name */
}

/* *rows of the matrix; 0: not known without making a large one, or not its name. Exit status. */
static int count_rows(const solve_args *args, int64_t *rows) {
  const char *name = args->linear.matrix, *after = "";
  kaon_matrix_file_info file = KAON_MATRIX_FILE_INFO_INIT;
  sample s = {0};
  int before = 0, code = EXIT_DONE;
  long n = 0;
  *rows = 0;
  if (linear_is_file(name)) {
    code = cli_status(NULL, kaon_matrix_file_query(name, 1, threads_of(args), &file), "--matrix");
    if (code == EXIT_DONE) *rows = file.rows;
    return code;
  }
  const family *f = family_of(name);
  *rows = rows_by_name(name);
  if (!f || f->power > 0 || !find_number(f, name, &before, &n, &after) || n > DEAREST_LEVEL)
    return EXIT_DONE;
  code = sample_process(make_and_count, (void *)(uintptr_t)args, 0, &s);
  *rows = (int64_t)s.size;
  return code;
}

/* What is wrong with --permutation is said now, not by the run. Exit status. */
static int check_order(const solve_args *args) {
  int32_t *order = NULL;
  int64_t rows = 0;
  if (!args->linear.permutation || ranks_started() > 1) return EXIT_DONE;
  int code = count_rows(args, &rows);
  if (code == EXIT_DONE && rows > 0)
    code = permutation_read(args->linear.permutation, args->linear.matrix, rows, &order);
  free(order);
  return code;
}

/* Of a rank: the program itself is there on each. */
static double share_of(const sample *s) {
  const double rest = s->peak - s->input - s->operator- s->vectors - s->solver;
  const double program = fmax(fmin(rest, program_bytes), 0);
  return program + (s->peak - program) / ranks_started();
}

/* A file's blocks of rows may share their columns, and then take half of what samples do. */
static double least_need(const solve_args *args, const sample *s) {
  return linear_is_file(args->linear.matrix) && !s->itself ? 0.5 * s->most : s->most;
}

/* The sentence of a job that is not begun. Exit status. */
static int refuse(const solve_args *args, double least, const kaon_context_info *info) {
  char need[32], there[32];
  cli_error(
      "%s with %d column%s needs at least %s (%.0f bytes) on %s, where %s (%lld bytes) are "
      "free%s; solve fewer columns at a time (--columns), take --precision single, share the "
      "rows among ranks, or, on a CPU that has more, say so by --memory-limit",
      cli_name(args->linear.matrix), args->linear.columns, args->linear.columns == 1 ? "" : "s",
      cli_bytes(least, need), least, info->device, cli_bytes((double)info->memory_free, there),
      (long long)info->memory_free,
      isnan(args->common.memory_limit) ? "" : " within --memory-limit");
  return EXIT_DEVICE;
}

/* reading: bytes that each rank takes while it reads; 0: not known. */
static void print_plan(const solve_args *args, const sample *s, double reading,
                       const kaon_context_info *info) {
  const cli_common *common = &args->common;
  char text[5][32];
  cli_print(common,
            "%s, %d columns, would take about %s of memory at its peak on one rank:\n"
            "  matrix %s, operator and preconditioner %s, solver %s, sources and solutions %s, the "
            "rest the program and what reads the matrix\n",
            cli_name(args->linear.matrix), args->linear.columns, cli_bytes(s->peak, text[0]),
            cli_bytes(s->input, text[1]), cli_bytes(s->operator, text[2]),
            cli_bytes(s->solver, text[3]), cli_bytes(s->vectors, text[4]));
  if (ranks_started() > 1)
    cli_print(
        common,
        "  of %d ranks each holds its share of the rows, about %s, and what it needs of others'\n",
        ranks_started(), cli_bytes(share_of(s), text[0]));
  if (ranks_started() > 1 && reading > 0)
    cli_print(common, "  while the file is read each takes %s\n", cli_bytes(reading, text[0]));
  if (info->memory_free >= 0)
    cli_print(common, "  on %s: fields %s, where %s are free\n", info->device,
              cli_bytes(s->most, text[0]), cli_bytes((double)info->memory_free, text[1]));
}

/* The report's "matrix" as far as it is known without reading or making it; else null. */
static json_t *describe_matrix(const solve_args *args) {
  const char *name = args->linear.matrix;
  kaon_matrix_file_info file = KAON_MATRIX_FILE_INFO_INIT;
  int64_t rows = 0;
  if (linear_is_file(name) && kaon_matrix_file_query(name, 1, threads_of(args), &file) == KAON_OK)
    rows = file.rows;
  if (!linear_is_file(name)) rows = rows_by_name(name);
  const int all = file.rows > 0 && !file.halves; /* else entries of the diagonal may be missing */
  return json_pack("{s:o s:o s:o s:o}", "name", report_string(cli_name(name)), "rows",
                   rows > 0 ? json_integer((json_int_t)rows) : json_null(), "entries",
                   all ? json_integer((json_int_t)file.entries) : json_null(), "field",
                   file.rows > 0           ? json_string(file.reals == 2 ? "complex" : "real")
                   : !linear_is_file(name) ? json_string("real")
                                           : json_null());
}

/* Without what some matrices fill beyond all bounds. */
static solve_args without_inverse(const solve_args *args) {
  solve_args own = *args;
  own.linear.precond = PRECOND_NONE;
  own.linear.precond_drop = own.linear.precond_shift = NAN;
  own.linear.precond_fill = own.linear.precond_power = 0;
  own.linear.precond_precision = -1;
  return own;
}

static int takes_inverse(const solve_args *args) {
  return args->linear.precond == PRECOND_AINV || args->linear.precond == PRECOND_FSAI;
}

static int predict(const solve_args *args, int inside, sample *s, double *reading) {
  return linear_is_file(args->linear.matrix) ? predict_file(args, inside, s, reading)
                                             : predict_generated(args, inside, s);
}

/* s->late: what is foretold is without the approximate inverse. */
static int predict_in_time(const solve_args *args, sample *s, double *reading) {
  const int code = predict(args, 0, s, reading);
  if (!s->late) return code;
  const solve_args own = without_inverse(args);
  s->late = 0;
  const int again = takes_inverse(args) ? predict(&own, 0, s, reading) : code;
  if (s->late || !takes_inverse(args))
    return cli_wrong(
        "--dry-run: a small trial run of this kind takes more than a minute or the "
        "machine's memory, so nothing is foretold; choose options that take less, or "
        "run it");
  s->late = 1;
  return again;
}

int plan_solve(const solve_job *job) {
  const solve_args *args = job->args;
  const char *name = args->linear.matrix;
  sample s = {0};
  double reading = 0;
  if (!ranks_first()) return EXIT_DONE; /* the first one says it for all */
  kaon_context *ctx = NULL;
  signals_stage("predicting the memory", "nothing was to be computed or written");
  int code = EXIT_DONE;
  if (linear_is_file(name) && access(name, R_OK) != 0)
    code = cli_wrong("--matrix %s: there is no such file, or it cannot be read; it takes %s", name,
                     LINEAR_MATRIX);
  if (code == EXIT_DONE && job->l.rhs == RHS_FILE && access(args->linear.rhs, R_OK) != 0)
    code = cli_wrong("--rhs %s: there is no such file, or it cannot be read", args->linear.rhs);
  if (code == EXIT_DONE && args->guess && access(args->guess, R_OK) != 0)
    code = cli_wrong("--guess %s: there is no such file, or it cannot be read", args->guess);
  if (code == EXIT_DONE) code = check_order(args);
  if (code == EXIT_DONE) code = predict_in_time(args, &s, &reading);
  if (signals_interrupted()) code = EXIT_STOPPED; /* its samples may have ended early */
  if (code == EXIT_DONE) code = cli_context(&args->common, &ctx);
  if (code != EXIT_DONE) return code;
  const kaon_context_info info = sample_info(ctx);
  print_plan(args, &s, reading, &info);
  if (s.late)
    cli_print(
        &args->common,
        "  without the preconditioner, which a small trial run did not make within a minute or "
        "the machine's memory; %s takes less\n",
        args->linear.precond == PRECOND_AINV ? "a larger --drop, or a --fill,"
                                             : "a smaller --power");
  json_t *report = report_new(ctx, "solve");
  json_object_set_new(report, "dry_run", json_true());
  json_object_set_new(report, "matrix", describe_matrix(args));
  json_object_set_new(report, "predicted_peak", report_real(s.peak));
  json_object_set_new(report, "predicted_fields", report_real(s.most));
  json_object_set_new(report, "predicted_share",
                      ranks_started() > 1 ? report_real(share_of(&s)) : json_null());
  json_object_set_new(report, "predicted_whole", json_boolean(!s.late)); /* with preconditioner */
  json_object_set_new(report, "predicted_matrix", report_real(s.input));
  json_object_set_new(report, "predicted_reading",
                      reading > 0 ? report_real(reading) : json_null());
  code = report_write(args->common.report, report);
  json_decref(report);
  const int ranks = ranks_started();
  const double least = least_need(args, &s) / (ranks > 1 ? ranks : 1);
  if (code == EXIT_DONE && ranks > 0 && sample_exceeds(&args->common, &info, ranks, least))
    code = refuse(args, least, &info);
  kaon_context_destroy(&ctx);
  return code;
}

/* The rough size of a system, many times over, spares small ones the samples. */
enum { PLENTY = 16 };

/* Most entries that a file's text can have: those of a pattern take 4 bytes and stand for two,
 * numbers of an array 2. 0: not known without reading, as of what is compressed. */
static double entries_at_most(const char *path) {
  struct stat st;
  const char *dot = strrchr(path, '.');
  if (!dot || strcmp(dot, ".mtx") != 0 || stat(path, &st) != 0) return 0;
  return 0.5 * (double)st.st_size;
}

/* The number of rows that the file itself claims, in its first line that is no comment. 0: not
 * known. What else is wrong there is said where it is read. */
static double rows_claimed(const char *path) {
  char line[256];
  int whole = 1; /* the line before had its end */
  double rows = 0;
  FILE *file = fopen(path, "r");
  while (file && fgets(line, sizeof line, file)) {
    const int begins = whole;
    whole = strchr(line, '\n') != NULL;
    if (!begins || line[0] == '%' || line[strspn(line, " \t\r\n")] == '\0') continue;
    rows = (double)strtoll(line, NULL, 10);
    break;
  }
  if (file) fclose(file);
  return rows > 0 ? rows : 0;
}

/* Of A in double, with as many entries as the file has or those of 27 points, and ten vectors. 0:
 * not known here, and what is wrong with the matrix is said where it is read. `there`: bytes that
 * are free. Where these are plenty by a file's length and the rows it claims, no more is read. */
static double rough_size(const solve_args *args, double there) {
  const char *name = args->linear.matrix, *after = "";
  const double vectors = 10 * sizeof(double) * fmax(args->linear.columns, 1), entry = 20;
  kaon_matrix_file_info file = KAON_MATRIX_FILE_INFO_INIT;
  int before = 0;
  long n = 0;
  if (linear_is_file(name)) {
    const double entries = entries_at_most(name), rows = entries > 0 ? rows_claimed(name) : 0;
    const double most = entry * entries + vectors * rows;
    if (rows > 0 && PLENTY * most < there) return most;
    if (kaon_matrix_file_query(name, 1, threads_of(args), &file) != KAON_OK) return 0;
    return file.reals * (entry * (double)file.entries + vectors * (double)file.rows);
  }
  const family *f = family_of(name);
  if (!f || !find_number(f, name, &before, &n, &after)) return 0;
  return (27 * entry + vectors) * size_of(f, n) * f->rows;
}

int solve_check_disk_space(const solve_args *args, const kaon_matrix_info *i) {
  /* the shortest number and its line's end; one of some 16 digits */
  static const double shortest = 2, usual = 18;
  const char *path = args->output;
  const size_t length = path ? strlen(path) : 0;
  if (!path || (length > 3 && strcmp(path + length - 3, ".gz") == 0)) return EXIT_DONE;
  const double numbers = (double)i->global_rows * i->reals * args->linear.columns;
  return cli_check_disk_space("--output", path, shortest * numbers, usual * numbers);
}

int solve_fits(const solve_job *job) {
  const solve_args *args = job->args;
  const kaon_context_info info = sample_info(job->ctx);
  sample s = {0};
  double reading = 0;
  if (info.memory_free < 0 || info.ranks > 1) return EXIT_DONE; /* nobody knows; not foretold */
  if (PLENTY * rough_size(args, (double)info.memory_free) < (double)info.memory_free)
    return EXIT_DONE;
  signals_stage("predicting the memory", "nothing was computed or written");
  /* in this process nothing can be given up: at least what is needed beside an inverse */
  const solve_args own = takes_inverse(args) ? without_inverse(args) : *args;
  const int code = predict(&own, 1, &s, &reading);
  const double least = least_need(args, &s);
  if (code != EXIT_DONE || least <= (double)info.memory_free) return EXIT_DONE;
  return refuse(args, least, &info);
}
