/* solve_plan.c - what a run of kaon solve will take, predicted without doing the work. The same job
 * is set up on small matrices, each in a process of its own, and followed to the real size: a
 * generator's along two smaller matrices of the same name; a file's, whose size line alone is read,
 * along three files, since its bytes are a constant, a multiple of the rows and a multiple of the
 * entries. Those files hold points of a grid in random order: a matrix whose blocks of rows share
 * their columns' pattern takes less, and which one does is not known before it is read. Nothing
 * here has to be kept in step with the library. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report.h"
#include "sample.h"
#include "signals.h"
#include "solve.h"

/* Rows of the smaller sample, so that what does not grow with it is a small part. */
static const double sample_rows = 60000;
static const double program_bytes = 48e6; /* with MPI, before it reads a matrix */
enum { DEAREST_LEVEL = 7 /* of fem: 361345 rows where the degree is 1 */ };

typedef struct trial {
  const solve_args *args;
  int inside; /* in this process: fields alone, since a process with a device cannot be divided */
  int method; /* linear_args.method where none was given */
  char matrix[256];
  char file[256];   /* not empty: of a grid of `edge` points a side, written there and read back */
  int edge, points; /* entries of an inner row: 7 or 27 */
  double part;      /* its rows over those that a rank of the job has */
} trial;

/* What is measured is printed by nobody, and what a small matrix lets fail is not the question. */
static solve_args arguments_of(const trial *t) {
  solve_args own = *t->args;
  own.linear.matrix = t->file[0] ? t->file : t->matrix;
  own.common.quiet = 1;
  own.common.memory_limit = NAN;
  own.common.tuning = NULL;
  own.common.reduce_delay = 0;
  if (own.linear.method < 0) own.linear.method = t->method;
  own.linear.shuffled = own.linear.permutation != NULL; /* the file is of other rows */
  own.linear.permutation = NULL;
  if (own.linear.rhs && own.linear.columns > 0) own.linear.rhs = "ones";
  return own;
}

/* ---- a grid's points in random order ---- */

static void shuffle(int64_t *place, int64_t n) {
  uint64_t state = 1;
  for (int64_t i = 0; i < n; i++) place[i] = i;
  for (int64_t i = n - 1; i > 0; i--) {
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407); /* Knuth's */
    const int64_t other = (int64_t)((state >> 33) % (uint64_t)(i + 1)), was = place[i];
    place[i] = place[other];
    place[other] = was;
  }
}

/* The points beside i, itself among them. */
static int beside(const trial *t, int64_t i, int64_t *to) {
  const int64_t n = t->edge, at[3] = {i % n, i / n % n, i / n / n};
  int count = 0;
  for (int k = 0; k < 27; k++) {
    const int64_t step[3] = {k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1};
    int inside = 1;
    for (int d = 0; d < 3; d++) inside &= at[d] + step[d] >= 0 && at[d] + step[d] < n;
    const int along = (step[0] != 0) + (step[1] != 0) + (step[2] != 0);
    if (inside && (along <= 1 || t->points == 27))
      to[count++] = i + step[0] + n * (step[1] + n * step[2]);
  }
  return count;
}

static double entries_of(const trial *t) {
  const double n = t->edge, band = 3 * n - 2;
  return t->points == 7 ? 7 * n * n * n - 6 * n * n : band * band * band;
}

static kaon_status scattered(kaon_context *ctx, const trial *t, kaon_matrix **matrix) {
  const int64_t rows = (int64_t)t->edge * t->edge * t->edge, most = (int64_t)entries_of(t);
  int64_t *place = calloc((size_t)(rows + 2 * most), sizeof *place), *row = place + rows,
          *column = row + most, near[27];
  double *values = calloc((size_t)most, sizeof *values);
  kaon_triplet_arrays a = {.global_rows = rows, .rows = rows, .reals = 1, .row = row};
  a.column = column;
  a.values = values;
  kaon_status status = KAON_ERR_MEMORY;
  if (place != NULL && values != NULL) {
    shuffle(place, rows);
    for (int64_t i = 0; i < rows; i++) {
      const int count = beside(t, i, near);
      for (int k = 0; k < count; k++, a.entries++) {
        row[a.entries] = place[i];
        column[a.entries] = place[near[k]];
        values[a.entries] = near[k] == i ? t->points : -1;
      }
    }
    status = kaon_matrix_create_triplets(ctx, &a, NULL, matrix);
  }
  free(place);
  free(values);
  return status;
}

static int write_matrix(void *user, sample *s) {
  const trial *t = user;
  kaon_context *ctx = NULL;
  kaon_matrix *matrix = NULL;
  cli_common common = t->args->common;
  common.tuning = NULL;
  (void)s;
  int code = cli_context(&common, &ctx);
  if (code != EXIT_DONE) return code;
  kaon_status status = scattered(ctx, t, &matrix);
  if (status == KAON_OK) status = kaon_matrix_write(matrix, t->file);
  code = cli_status(ctx, status, "--dry-run");
  kaon_matrix_destroy(&matrix);
  kaon_context_destroy(&ctx);
  return code;
}

/* The matrix' own rows, which are in host memory: values, 4-byte columns, 8-byte starts. */
static double bytes_of_rows(const kaon_matrix_info *i) {
  return (double)i->entries * (4 + 8.0 * i->reals) + 8.0 * (double)(i->rows + 1);
}

/* A grid's, as if it had been read. */
static int scattered_matrix(const trial *t, linear *l, kaon_context *ctx) {
  l->ctx = ctx;
  kaon_status status = scattered(ctx, t, &l->matrix);
  if (status == KAON_OK) status = kaon_matrix_describe(l->matrix, &l->info);
  if (status == KAON_OK) status = kaon_matrix_describe_shares(l->matrix, &l->shares);
  return cli_status(ctx, status, NULL);
}

/* A few steps, so that every page has been touched. */
static int set_up(void *user, sample *s) {
  const trial *t = user;
  const solve_args own = arguments_of(t);
  solve_job job = {.args = &own, .columns = own.linear.columns};
  int code = linear_check(&own.linear, &job.l);
  if (code == EXIT_DONE) code = cli_context(&own.common, &job.ctx);
  if (code == EXIT_DONE)
    code = t->inside && t->edge > 0 ? scattered_matrix(t, &job.l, job.ctx)
                                    : linear_matrix(job.ctx, &job.l);
  if (code == EXIT_DONE) code = linear_decide(&job.l);
  if (code == EXIT_DONE) {
    s->size = (double)job.l.info.global_rows;
    s->on_device = strcmp(sample_info(job.ctx).backend, "cuda") == 0;
    const double before = sample_in_use(job.ctx);
    s->input = before + bytes_of_rows(&job.l.info);
    code = linear_operator(&job.l);
    s->operator= sample_in_use(job.ctx) - before;
    s->vectors = -sample_in_use(job.ctx);
  }
  if (code == EXIT_DONE) code = solve_allocate(&job);
  if (code == EXIT_DONE) {
    s->vectors += sample_in_use(job.ctx);
    code = solve_source(&job);
  }
  if (code == EXIT_DONE) code = solve_guess_rehearse(&job);
  const double before = sample_in_use(job.ctx);
  job.l.options.max_iterations = 2;
  job.l.options.deflation_limit *= t->part; /* it deflates if the job will */
  if (code == EXIT_DONE) code = solve_columns(&job);
  if (code == EXIT_DONE) {
    s->solver = sample_in_use(job.ctx) - before;
    s->most = sample_most(job.ctx);
  }
  solve_close(&job);
  return code;
}

static int measure(const trial *t, sample *s) {
  sample none = {0};
  void *user = (void *)(uintptr_t)t;
  int code = EXIT_DONE;
  if (t->inside) return set_up(user, s);
  if (t->file[0]) code = sample_process(write_matrix, user, &none);
  if (code == EXIT_DONE) code = sample_process(set_up, user, s);
  if (t->file[0]) unlink(t->file);
  return code;
}

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
    return measure(&t, all); /* the library says what is wrong with a name */
  snprintf(t.matrix, sizeof t.matrix, "%.*s%ld%.64s", before, name, small, after);
  t.part = part_of(f, small, n);
  int code = measure(&t, &a);
  if (code != EXIT_DONE) return code;
  a.size = size_of(f, small);
  snprintf(t.matrix, sizeof t.matrix, "%.*s%ld%.64s", before, name, large, after);
  t.part = part_of(f, large, n);
  code = measure(&t, &b);
  b.size = size_of(f, large);
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
  kaon_matrix_file_info file;
  const char *path = args->linear.matrix;
  const int threads = threads_of(args);
  int code =
      cli_status(NULL, kaon_matrix_file_query(path, ranks_started(), threads, &file), "--matrix");
  for (int i = 0; i < 4 && code == EXIT_DONE; i++) {
    trial t = {.args = args, .inside = inside, .method = method_of(&args->linear, &file)};
    t.edge = edge[i];
    t.points = points[i];
    if (!inside)
      snprintf(t.file, sizeof t.file, "%.200s/kaon-%ld.mtx", folder && *folder ? folder : "/tmp",
               (long)getpid());
    if (!inside) signals_output(t.file);
    rows[i] = pow(edge[i], 3);
    t.part = rows[i] / fmax((double)file.rows * file.reals, 1) * fmax(ranks_started(), 1);
    code = measure(&t, &s[i]);
    entries[i] = entries_of(&t);
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
  *reading = file.bytes_reading;
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
  kaon_matrix_file_info file;
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
  code = sample_process(make_and_count, (void *)(uintptr_t)args, &s);
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
  return linear_is_file(args->linear.matrix) ? 0.5 * s->most : s->most;
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
  cli_say(common,
          "%s, %d columns, would take about %s of memory at its peak on one rank:\n"
          "  matrix %s, operator and preconditioner %s, solver %s, sources and solutions %s, the "
          "rest the program and what reads the matrix\n",
          cli_name(args->linear.matrix), args->linear.columns, cli_bytes(s->peak, text[0]),
          cli_bytes(s->input, text[1]), cli_bytes(s->operator, text[2]),
          cli_bytes(s->solver, text[3]), cli_bytes(s->vectors, text[4]));
  if (ranks_started() > 1)
    cli_say(
        common,
        "  of %d ranks each holds its share of the rows, about %s, and what it needs of others'\n",
        ranks_started(), cli_bytes(share_of(s), text[0]));
  if (ranks_started() > 1 && reading > 0)
    cli_say(common, "  while the file is read each takes %s\n", cli_bytes(reading, text[0]));
  if (info->memory_free >= 0)
    cli_say(common, "  on %s: fields %s, where %s are free\n", info->device,
            cli_bytes(s->most, text[0]), cli_bytes((double)info->memory_free, text[1]));
}

/* The report's "matrix" as far as it is known without reading or making it; else null. */
static json_t *describe_matrix(const solve_args *args) {
  const char *name = args->linear.matrix;
  kaon_matrix_file_info file = {0};
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
  if (code == EXIT_DONE)
    code =
        linear_is_file(name) ? predict_file(args, 0, &s, &reading) : predict_generated(args, 0, &s);
  if (signals_interrupted()) code = EXIT_STOPPED; /* its samples may have ended early */
  if (code == EXIT_DONE) code = cli_context(&args->common, &ctx);
  if (code != EXIT_DONE) return code;
  const kaon_context_info info = sample_info(ctx);
  print_plan(args, &s, reading, &info);
  json_t *report = report_new(ctx, "solve");
  json_object_set_new(report, "dry_run", json_true());
  json_object_set_new(report, "matrix", describe_matrix(args));
  json_object_set_new(report, "predicted_peak", report_real(s.peak));
  json_object_set_new(report, "predicted_fields", report_real(s.most));
  json_object_set_new(report, "predicted_share",
                      ranks_started() > 1 ? report_real(share_of(&s)) : json_null());
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
  kaon_matrix_file_info file;
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

int solve_room(const solve_args *args, const kaon_matrix_info *i) {
  /* the shortest number and its line's end; one of some 16 digits */
  static const double shortest = 2, usual = 18;
  const char *path = args->output;
  const size_t length = path ? strlen(path) : 0;
  if (!path || (length > 3 && strcmp(path + length - 3, ".gz") == 0)) return EXIT_DONE;
  const double numbers = (double)i->global_rows * i->reals * args->linear.columns;
  return cli_room("--output", path, shortest * numbers, usual * numbers);
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
  const int code = linear_is_file(args->linear.matrix) ? predict_file(args, 1, &s, &reading)
                                                       : predict_generated(args, 1, &s);
  const double least = least_need(args, &s);
  if (code != EXIT_DONE || least <= (double)info.memory_free) return EXIT_DONE;
  return refuse(args, least, &info);
}
