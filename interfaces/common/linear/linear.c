/* linear.c - from arguments to a solver for a sparse matrix. Contract: linear.h. */
#include "interfaces/common/linear/linear.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "interfaces/common/report.h"
#include "interfaces/common/signals.h"

/* Row projections: they solve a reduction of A by a method. LINEAR_METHODS ends with them. */
static const struct {
  kaon_method method;
  kaon_kaczmarz_kind kind;
  const char *name, *title;
} projections[] = {{KAON_RICHARDSON, KAON_KACZMARZ_SWEEP, "kaczmarz", "Kaczmarz"},
                   {KAON_CG, KAON_KACZMARZ_DOUBLE, "cgmnc", "CGMNC"},
                   {KAON_CG, KAON_KACZMARZ_CARP, "carpcg", "CARP-CG"},
                   {KAON_CG, KAON_KACZMARZ_CIMMINO, "cimmino", "Cimmino-CG"}};

void linear_choose(linear *l, int index) {
  const int i = index - METHODS;
  l->options.method = i < 0 ? (kaon_method)index : projections[i].method;
  l->projections = i < 0 ? -1 : (int)projections[i].kind;
}

/* The row of projections, by its kind. */
static int row_of(const linear *l) {
  int i = 0;
  while ((int)projections[i].kind != l->projections) i++;
  return i;
}

const char *linear_method_name(const linear *l) {
  return l->projections < 0 ? method_name(l->options.method) : projections[row_of(l)].name;
}

const char *linear_method_title(const linear *l) {
  return l->projections < 0 ? method_title(l->options.method) : projections[row_of(l)].title;
}

int linear_is_file(const char *text) {
  const char *colon = strchr(text, ':'); /* no generator's words have a slash */
  return colon == NULL || strchr(text, '/') != NULL || strcspn(text, ".") < (size_t)(colon - text);
}

/* --- checks --- */

/* A key that has an option of its own would override it unseen. */
static int check_set(const char *text) {
  static const char *const keys[] = {"delta", "check_interval", "subspace", "relaxation",
                                     "deflation"};
  enum { KEYS = sizeof keys / sizeof *keys };
  for (text += strspn(text, " ,"); *text; text += strspn(text, " ,")) {
    const size_t length = strcspn(text, "= ,");
    int known = 0;
    for (int i = 0; i < KEYS; i++)
      known |= strlen(keys[i]) == length && strncmp(text, keys[i], length) == 0;
    if (!known)
      return cli_wrong(
          "--set has %.*s; it takes delta, check_interval, subspace, relaxation and "
          "deflation, the others have options of their own",
          (int)length, text);
    text += strcspn(text, ",");
  }
  return EXIT_DONE;
}

static int check_solver(const linear_args *a, linear *l) {
  kaon_solver_options options = KAON_SOLVER_OPTIONS_INIT;
  l->precision = (kaon_precision)a->precision;
  options.tol = a->tol;
  options.max_iterations = a->max_iter;
  options.sloppy = a->sloppy < 0 ? l->precision : (kaon_precision)a->sloppy;
  options.refinement = (kaon_refinement)a->refinement;
  if (options.sloppy < l->precision)
    return cli_wrong("--sloppy double is finer than --precision single; use --precision double");
  l->options = options;
  linear_choose(l, a->method < 0 ? 0 : a->method);
  if (relax_check(a, l) != EXIT_DONE) return EXIT_USAGE;
  if (!a->set) return EXIT_DONE;
  if (check_set(a->set) != EXIT_DONE) return EXIT_USAGE;
  return cli_status(NULL, kaon_options_parse(KAON_OPTIONS_SOLVER, &l->options, a->set), "--set");
}

static linear_rhs read_rhs(const char *text) {
  if (strcmp(text, "ones") == 0) return RHS_ONES;
  if (strcmp(text, "A*ones") == 0) return RHS_A_ONES;
  return strcmp(text, "own") == 0 ? RHS_GENERATOR : RHS_FILE;
}

int linear_check(const linear_args *a, linear *l) {
  enum { joined_max = 64 }; /* kaon/solver.h */
  *l = (linear){.args = a};
  if (!a->matrix) return cli_wrong("--matrix is missing: %s", LINEAR_MATRIX);
  if (!linear_is_file(a->matrix) && kaon_matrix_generate_check(a->matrix) != KAON_OK)
    return cli_wrong("--matrix: %s", kaon_last_error(NULL));
  if (a->rhs && !a->rhs[0])
    return cli_wrong("--rhs is empty; it must be ones, A*ones, own or a Matrix Market file");
  if (a->rhs) l->rhs = read_rhs(a->rhs);
  if (l->rhs == RHS_GENERATOR && linear_is_file(a->matrix))
    return cli_wrong(
        "--rhs own is what a generator brings, but --matrix %s is a file; give the right-hand "
        "side's file, ones or A*ones",
        a->matrix);
  int code = check_solver(a, l);
  if (code == EXIT_DONE && method_has(l->options.method, KAON_METHOD_BLOCK) &&
      a->columns > joined_max)
    code = cli_wrong("--method %s joins at most %d columns, but --columns is %d",
                     linear_method_name(l), joined_max, a->columns);
  return code;
}

/* --- matrix --- */

/* Both meanings of the text are named: a file, and a word of the option. */
int linear_readable(const char *path, const char *option, const char *takes) {
  static const char generators[] =
      "laplace2d|laplace3d|laplace3d27|convdiff3d|cavity3d|elasticity|trefethen|banded|fem";
  int code = EXIT_DONE;
  char hint[160] = "";
  if (strcmp(option, "--matrix") == 0) cli_did_you_mean(path, generators, "", "", hint);
  if (ranks_first() && access(path, R_OK) != 0)
    code = cli_wrong("%s %s: there is no such file, or it cannot be read; it takes %s%s", option,
                     path, takes, hint);
  return ranks_agree(code);
}

/* Rows and columns are named as the file has them, from 1. */
static int check_singular(const linear *l) {
  const kaon_matrix_info *i = &l->info;
  const int rows = i->empty_rows > 0;
  if (!rows && i->empty_columns == 0 && i->first_unmatched >= 0)
    return cli_wrong(
        "--matrix %s is structurally singular, whatever its numbers: at most %lld of its %lld rows "
        "can each be given a column of its own in which they have an entry other than 0, and row "
        "%lld (counted from 1) is left over; check the pattern, or leave such rows out of the "
        "system",
        l->args->matrix, (long long)i->structural_rank, (long long)i->global_rows,
        (long long)i->first_unmatched + 1);
  if (!rows && i->empty_columns == 0 && i->structural_rank < 0)
    cli_error(
        "note: --matrix %s has %lld rows without a diagonal entry; on several ranks kaon does not "
        "check whether its pattern alone makes it singular (on one rank it does)",
        l->args->matrix, (long long)i->no_diagonal);
  if (!rows && i->empty_columns == 0) return EXIT_DONE;
  return cli_wrong(
      "--matrix %s is structurally singular: %lld of its %lld %s have no entries other than 0, the "
      "first being %s %lld (counted from 1); leave them out of the system, or give each a diagonal "
      "entry",
      l->args->matrix, (long long)(rows ? i->empty_rows : i->empty_columns),
      (long long)i->global_rows, rows ? "rows" : "columns", rows ? "row" : "column",
      (long long)(rows ? i->first_empty_row : i->first_empty_column) + 1);
}

int linear_matrix(kaon_context *ctx, linear *l) {
  const linear_args *a = l->args;
  kaon_matrix_options options = KAON_MATRIX_OPTIONS_INIT;
  options.ordering = (kaon_ordering)a->ordering; /* LINEAR_ORDERINGS: in this order */
  options.window = a->window;
  options.partition = (kaon_matrix_partition)a->partition; /* LINEAR_PARTITIONS: in this order */
  l->ctx = ctx;
  const int file = linear_is_file(a->matrix);
  signals_stage(file ? "reading the matrix" : "making the matrix",
                "nothing was computed or written");
  int code = file ? linear_readable(a->matrix, "--matrix", LINEAR_MATRIX) : EXIT_DONE;
  if (code != EXIT_DONE) return code;
  const kaon_status status =
      file ? kaon_matrix_read(ctx, a->matrix, &options, &l->matrix)
           : kaon_matrix_generate(ctx, a->matrix, &options, &l->matrix, &l->own);
  code = cli_status(ctx, status, file ? NULL : "--matrix");
  l->info = (kaon_matrix_info)KAON_MATRIX_INFO_INIT;
  l->shares = (kaon_matrix_distribution)KAON_MATRIX_DISTRIBUTION_INIT;
  if (code == EXIT_DONE) code = cli_status(ctx, kaon_matrix_describe(l->matrix, &l->info), NULL);
  if (code == EXIT_DONE)
    code = cli_status(ctx, kaon_matrix_describe_distribution(l->matrix, &l->shares), NULL);
  return code == EXIT_DONE ? null_space_set(l) : code;
}

/* --- operator --- */

int linear_fits(const linear *l) {
  if (l->info.hermitian || l->projections >= 0 ||
      !method_has(l->options.method, KAON_METHOD_HERMITIAN))
    return EXIT_DONE;
  return cli_wrong(
      "--method %s needs a Hermitian matrix, but --matrix %s is not: entries of A and A^H differ "
      "by up to %.2g times the largest entry of a row; take %s",
      linear_method_name(l), l->args->matrix, l->info.asymmetry,
      l->info.skew ? "cgnr" : "bicgstab, gcr or cgnr");
}

void linear_settle(linear_args *a) {
  if (a->precond == PRECOND_AUTO && a->method >= 0 &&
      (a->method >= METHODS || !method_has((kaon_method)a->method, KAON_METHOD_PRECONDITIONED)))
    a->precond = PRECOND_NONE;
}

int linear_decide(linear *l) {
  const linear_args *a = l->args;
  if (a->method < 0)
    l->options.method = precond_varies(a)                        ? KAON_GCR
                        : l->info.hermitian && !precond_skews(a) ? KAON_CG
                        : l->info.skew && (a->precond == PRECOND_NONE || a->precond == PRECOND_AUTO)
                            ? KAON_CGNR /* (r, A r) = 0, where bicgstab breaks down */
                            : KAON_BICGSTAB;
  if (!a->rhs && !l->own && null_space_given(a))
    return cli_wrong(
        "--rhs is missing: with --null-space the default, A*ones, may be 0; give --rhs FILE");
  if (!a->rhs) l->rhs = l->own ? RHS_GENERATOR : RHS_A_ONES;
  if (l->rhs == RHS_GENERATOR && !l->own)
    return cli_wrong("--rhs own: %s brings no right-hand side; take ones, A*ones or a file",
                     a->matrix);
  if (l->rhs == RHS_FILE) {
    const int code = linear_readable(a->rhs, "--rhs", "ones, A*ones, own or a Matrix Market file");
    if (code != EXIT_DONE) return code;
  }
  const int code = null_space_given(a) ? EXIT_DONE : check_singular(l);
  return code == EXIT_DONE ? precond_fits(l) : code;
}

static int make_projections(linear *l) {
  char option[32];
  snprintf(option, sizeof option, "--method %s", linear_method_name(l));
  return cli_status(l->ctx, projections_make(l), option);
}

static int precond_status(const linear *l, kaon_status status) {
  char name[32], option[48];
  snprintf(option, sizeof option, "--precond %s",
           cli_choice(LINEAR_PRECOND_CHOICES, l->args->precond, name));
  return cli_status(l->ctx, status, option);
}

int linear_operator(linear *l) {
  kaon_matrix_operator_options options = KAON_MATRIX_OPERATOR_OPTIONS_INIT;
  options.precision = l->precision;
  options.format = (kaon_matrix_format)l->args->format; /* LINEAR_FORMATS: in this order */
  const double begun = cli_now();
  signals_enter("preparing operator and preconditioner", "nothing was computed or written");
  int code = cli_status(l->ctx, kaon_matrix_operator(l->matrix, &options, &l->A), NULL);
  if (code == EXIT_DONE) code = linear_fits(l);
  if (code == EXIT_DONE) code = projections_order(l);
  if (code == EXIT_DONE)
    code =
        l->args->precond == PRECOND_AUTO ? precond_choose(l) : precond_status(l, precond_make(l));
  if (code == EXIT_DONE) code = relax_spectrum(l);
  if (code == EXIT_DONE && l->projections >= 0) code = make_projections(l);
  signals_leave(NULL);
  l->made[0] = cli_now() - begun;
  return code;
}

int linear_solver(linear *l, int columns) {
  const double begun = cli_now();
  int code = EXIT_DONE;
  if (l->K) code = precond_suits(l);
  if (code == EXIT_DONE) code = precond_status(l, precond_columns(l, columns));
  l->options.preconditioner = l->K;
  l->relax.lab = &l->lab;
  l->options.relax = &l->relax;
  if (code == EXIT_DONE && l->projections >= 0 && !l->R) code = make_projections(l);
  if (code != EXIT_DONE) return code;
  kaon_operator *system = l->projections >= 0 ? l->R : l->A;
  code = cli_status(l->ctx, kaon_solver_create(system, columns, &l->options, &l->solver), NULL);
  l->made[1] = cli_now() - begun;
  return code;
}

/* --- right-hand sides --- */

/* Uniform in [-1, 1], from seed, column and number; Steele, Lea, Flood, OOPSLA 2014 (splitmix64).
 */
static double noise(uint64_t seed, int column, uint64_t number) {
  uint64_t z = seed * 0x9e3779b97f4a7c15u + (uint64_t)column;
  for (int i = 0; i < 2; i++) {
    z += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z = (z ^ (z >> 31)) + number;
  }
  return (double)(z >> 11) * 0x1p-52 - 1;
}

int linear_file_read(const linear *l, linear_file *f) {
  const int64_t all_rows = l->info.global_rows;
  const char *matrix = l->args->matrix;
  int code = cli_status(
      l->ctx, kaon_array_read(l->ctx, f->path, &f->rows, &f->columns, &f->parts, &f->numbers),
      f->option);
  if (code != EXIT_DONE) return code;
  if (f->rows != all_rows)
    code = cli_wrong(
        "%s %s has %lld rows, but --matrix %s has %lld; give %s of as many rows as "
        "the matrix",
        f->option, f->path, (long long)f->rows, matrix, (long long)all_rows, f->is);
  else if (f->parts > l->info.reals)
    code = cli_wrong("%s %s is complex, but --matrix %s is real; %s", f->option, f->path, matrix,
                     f->real);
  else if (f->columns < 1)
    code = cli_wrong("%s %s has 0 columns, but %s is at least 1; give a file with one", f->option,
                     f->path, f->is + strlen(f->is) - 1);
  else if (f->most > 0 && f->columns > f->most)
    code = cli_wrong("%s %s has %lld columns, but the option takes %lld at most; give fewer",
                     f->option, f->path, (long long)f->columns, (long long)f->most);
  else if (f->most == 0 && f->columns > l->args->columns)
    code = cli_wrong("%s %s has %lld columns, but --columns is %d; pass --columns %lld", f->option,
                     f->path, (long long)f->columns, l->args->columns, (long long)f->columns);
  return ranks_agree(code);
}

void linear_file_column(const linear *l, const linear_file *f, int column, double *numbers) {
  const int reals = l->info.reals;
  for (int64_t i = 0; i < l->info.rows; i++)
    for (int c = 0; c < reals; c++)
      numbers[i * reals + c] =
          c < f->parts ? f->numbers[(column * f->rows + l->info.first_row + i) * f->parts + c] : 0;
}

static kaon_status import_noise(const linear *l, int column, double *room, kaon_vector *b) {
  const int reals = l->info.reals;
  for (int64_t i = 0; i < l->info.rows * reals; i++)
    room[i] = noise(l->args->seed, column, (uint64_t)(l->info.first_row * reals + i));
  return kaon_vector_import(b, column, room, KAON_BASIS_UKQCD);
}

/* Column 0 of b = A * ones. */
static kaon_status multiply_ones(const linear *l, double *room, kaon_vector *b) {
  kaon_vector *v[2] = {NULL, NULL};
  kaon_operator *whole = NULL;
  kaon_matrix_operator_options options = KAON_MATRIX_OPERATOR_OPTIONS_INIT;
  const kaon_space *space = kaon_matrix_space(l->matrix);
  kaon_status status = kaon_vector_create(l->ctx, space, KAON_DOUBLE, 1, &v[0]);
  if (status == KAON_OK) status = kaon_vector_create(l->ctx, space, KAON_DOUBLE, 1, &v[1]);
  if (status == KAON_OK) status = kaon_vector_import(v[0], 0, room, KAON_BASIS_UKQCD);
  if (status == KAON_OK &&
      l->precision != KAON_DOUBLE) /* A is the matrix, not what is held of it */
    status = kaon_matrix_operator(l->matrix, &options, &whole);
  if (status == KAON_OK) status = kaon_operator_apply(whole ? whole : l->A, KAON_PLAIN, v[0], v[1]);
  if (status == KAON_OK) status = kaon_vector_export(v[1], 0, room, KAON_BASIS_UKQCD);
  if (status == KAON_OK) status = kaon_vector_import(b, 0, room, KAON_BASIS_UKQCD);
  kaon_operator_destroy(&whole);
  kaon_vector_destroy(&v[0]);
  kaon_vector_destroy(&v[1]);
  return status;
}

/* What single precision holds of a right-hand side that was given: nothing of one below its least
 * number, and of others what it rounds off must be less than --tol allows. */
static int check_held(const linear *l, const double *x, int column) {
  const size_t n = (size_t)l->info.rows * (size_t)l->info.reals;
  double most = 0, sums[2] = {0, 0};
  if (l->precision == KAON_DOUBLE) return EXIT_DONE;
  for (size_t i = 0; i < n; i++)
    if (fabs(x[i]) > most) most = fabs(x[i]);
  kaon_status status = ranks_most(&most, 1);
  for (size_t i = 0; i < n && most > 0; i++) {
    const double lost = (x[i] - (double)(float)x[i]) / most;
    sums[0] += x[i] / most * (x[i] / most);
    sums[1] += lost * lost;
  }
  if (status == KAON_OK) status = ranks_sum(sums, 2);
  if (status != KAON_OK) return cli_status(l->ctx, status, "--rhs");
  if (!(most > 0) || most > FLT_MAX)
    return EXIT_DONE; /* zeros; what is refused when it is stored */
  if (most < FLT_MIN)
    return cli_wrong(
        "--rhs: the largest number of column %d is %g, but the least that single precision holds "
        "in full is %g; multiply b by a power of 2, and divide x by it, or give --precision double",
        column, most, (double)FLT_MIN);
  if (sqrt(sums[1] / sums[0]) > 1.1 * l->options.tol)
    return cli_wrong(
        "--rhs: single precision rounds %.2g of |b| off column %d, which is more than --tol %g; "
        "give a larger --tol, or --precision double --sloppy single",
        sqrt(sums[1] / sums[0]), column, l->options.tol);
  return EXIT_DONE;
}

int linear_source(const linear *l, kaon_vector *b) {
  const int reals = l->info.reals, columns = kaon_vector_columns(b);
  const size_t numbers = (size_t)l->info.rows * (size_t)reals;
  double *room = malloc((numbers + 1) * sizeof *room);
  linear_file file = {.option = "--rhs", .path = l->args->rhs, .is = "a b"};
  int code = ranks_agree(room ? EXIT_DONE : EXIT_DEVICE);
  if (code != EXIT_DONE) cli_error("out of memory for the right-hand sides");
  file.real = "solve for its parts";
  if (code == EXIT_DONE && l->rhs == RHS_FILE) code = linear_file_read(l, &file);
  const int given = l->rhs == RHS_FILE ? (int)file.columns : 1;
  kaon_status status = KAON_OK;
  for (int k = 0; k < columns && code == EXIT_DONE && status == KAON_OK; k++) {
    if (k >= given) {
      status = import_noise(l, k, room, b);
    } else if (l->rhs == RHS_FILE) {
      linear_file_column(l, &file, k, room);
      code = check_held(l, room, k);
      if (code == EXIT_DONE) status = kaon_vector_import(b, k, room, KAON_BASIS_UKQCD);
    } else if (l->rhs == RHS_GENERATOR) {
      code = check_held(l, l->own, k);
      if (code == EXIT_DONE) status = kaon_vector_import(b, k, l->own, KAON_BASIS_UKQCD);
    } else {
      for (size_t i = 0; i < numbers; i++) room[i] = i % (size_t)reals == 0;
      status = l->rhs == RHS_ONES ? kaon_vector_import(b, k, room, KAON_BASIS_UKQCD)
                                  : multiply_ones(l, room, b);
    }
  }
  free(room);
  free(file.numbers);
  return code == EXIT_DONE ? cli_status(l->ctx, status, "--rhs") : code;
}

void linear_clear(linear *l) {
  l->lambda_most = 0;
  kaon_solver_destroy(&l->solver);
  kaon_operator_destroy(&l->R);
  sweeps_clear(l);
  kaon_operator_destroy(&l->K);
  kaon_operator_destroy(&l->A);
  free(l->permutation);
  l->permutation = NULL;
}

void linear_close(linear *l) {
  linear_clear(l);
  kaon_matrix_destroy(&l->matrix);
  free(l->own);
  l->own = NULL;
}
