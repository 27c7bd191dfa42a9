/* bench_krylov.c - Krylov methods on sparse matrices: time and traffic of a step. b = A * ones, x =
 * 0. A row is the median of a few solves to the tolerance. */
#include <stdio.h>
#include <string.h>

#include "bench/bench_matrix.h"

static const cli_option option_rows[] = {
    MATRIX_OPTION_MATRIX("laplace3d:64"),
    MATRIX_OPTION_METHOD,
    MATRIX_OPTION_PRECOND("none,jacobi", "a list with commas"),
    CLI_TABLE_ROW(matrix_solve_rows, offsetof(matrix_args, linear)),
    MATRIX_OPTION_TOL("1e-8", "stop at this |b - A x| / |b|"),
    BENCH_OPTION_OUTER(MATRIX_AT),
    {CLI_SET, "precision", "double|single|half", NULL, MATRIX_AT(precision), 0, 0,
     "a list with commas: of the inner iteration (default: as --outer)"},
    MATRIX_OPTION_FORMAT,
    MATRIX_OPTION_COLUMNS,
    BENCH_OPTION_JSON,
    CLI_REGIME_OPTION,
    CLI_GROUP_ROW("The matrix:"),
    CLI_TABLE_ROW(matrix_storage_rows, offsetof(matrix_args, linear)),
    CLI_GROUP_ROW("Preconditioners:"),
    LINEAR_OPTIONS_PRECOND_FIGURES(MATRIX_LINEAR),
    CLI_GROUP_ROW("Row projections:"),
    LINEAR_OPTIONS_PROJECTIONS(MATRIX_LINEAR),
    CLI_GROUP_ROW("Several ranks, under mpirun:"),
    CLI_RANKS_OPTIONS,
    BENCH_OPTION_DELAY(MATRIX_AT),
    CLI_SYNC_OPTION,
    CLI_END_ROW};

static int add_row(bench *b, const linear *l, int columns, const bench_figures *f) {
  char name[64];
  snprintf(name, sizeof name, "solve-%s", linear_method_name(l));
  (void)system_add(b, l, columns, f, name);
  return bench_save(b) == KAON_OK ? EXIT_DONE : EXIT_DEVICE;
}

/* Of lists, combinations that do not fit together are left out. A single combination that does not
 * fit is refused. */
static int several(const matrix_args *a) {
  return (a->methods & (a->methods - 1)) != 0 || (a->preconds & (a->preconds - 1)) != 0;
}

static int check_precisions(const matrix_args *a) {
  if (!a->precision || a->precision >> a->outer != 0) return EXIT_DONE;
  return cli_wrong("--precision double is finer than --outer single; leave one of them out");
}

/* Measures all methods and columns with one preconditioner and inner precision. */
static int methods(bench *b, linear *l) {
  const matrix_args *a = matrix_of(b);
  const cli_counts *columns = &a->columns;
  int code = EXIT_DONE;
  for (int m = 0; m < BENCH_BITS && code == EXIT_DONE; m++) {
    if (!(a->methods >> m & 1)) continue;
    kaon_operator_destroy(&l->R);
    linear_choose(l, m);
    if (l->projections >= 0 && l->K) continue; /* the projections replace the preconditioner */
    if (l->K && several(a) && !precond_takes(l)) {
      char name[32];
      cli_print(&a->bench.common, "%s with --precond %s: left out, no preconditioner for it\n",
                linear_method_name(l), cli_choice(LINEAR_PRECONDS, l->args->precond, name));
      continue;
    }
    code = linear_fits(l);
    for (int i = 0; i < columns->count && code == EXIT_DONE; i++) {
      bench_figures figures;
      code = system_solve(b, l, columns->value[i], &figures);
      if (code == EXIT_DONE) code = add_row(b, l, columns->value[i], &figures);
      kaon_solver_destroy(&l->solver);
    }
  }
  return code;
}

static int matrix(bench *b, const char *name) {
  const matrix_args *a = matrix_of(b);
  const linear_args args = system_args(b, name);
  linear base;
  const unsigned precisions = a->precision ? a->precision : 1u << a->outer;
  int code = system_load(b, &args, &base);
  if (code == EXIT_DONE) linear_print(&a->bench.common, &base);
  for (int k = 0; k < BENCH_BITS && code == EXIT_DONE; k++)
    for (int p = a->outer; p < BENCH_PRECISIONS && code == EXIT_DONE; p++)
      for (int f = 0; f < BENCH_FORMATS && code == EXIT_DONE; f++) {
        linear_args own = args;
        linear l;
        if (!(a->preconds >> k & 1) || !(precisions >> p & 1) || !(a->formats >> f & 1)) continue;
        own.precond = k;
        own.sloppy = p;
        own.format = f;
        code = system_make(&base, &own, &l);
        if (code == EXIT_DONE) code = methods(b, &l);
        linear_clear(&l);
      }
  linear_close(&base);
  return code;
}

/* Refuses options of projections where nothing projects, and two orders of rows at once. */
static int check_projections(const matrix_args *a) {
  static const char *const options[] = {"lambda",      "coloring",    "sweep-order",
                                        "permutation", "carp-blocks", "carp-rows"};
  unsigned kinds = 0;
  int colours = 0; /* some methods sweep rows by colours */
  for (int m = 0; m < BENCH_BITS; m++) {
    linear l = {0};
    if (!(a->methods >> m & 1)) continue;
    linear_choose(&l, m);
    if (l.projections >= 0) kinds |= 1u << l.projections;
    colours |= l.options.method == KAON_GS || l.options.method == KAON_SOR;
  }
  for (int k = 0; k < BENCH_BITS; k++)
    if ((a->preconds >> k & 1) && sweeps_kind(k) >= 0) kinds |= 1u << sweeps_kind(k);
  for (size_t i = 0; i < sizeof options / sizeof *options && !kinds; i++)
    if (cli_option_given(&a->bench.common, options[i]) &&
        !(colours && strcmp(options[i], "coloring") == 0))
      return cli_wrong(
          "--%s is for --method kaczmarz, cgmnc, carpcg and cimmino and for a --precond of such "
          "sweeps, of which none is given; leave it out",
          options[i]);
  for (int kind = 0; kind <= KAON_KACZMARZ_CIMMINO; kind++)
    if ((kinds >> kind & 1) && projections_orders(&a->linear, kind) != EXIT_DONE) return EXIT_USAGE;
  return EXIT_DONE;
}

static int measure(bench *b) {
  static const char *const usual[] = {"laplace3d:64", NULL};
  bench_header(b, "matrix");
  return bench_end(b, matrix_each(b, usual, matrix));
}

static int run(void *arguments) {
  matrix_args *a = arguments;
  relax_defaults(&a->linear);
  int code = check_projections(a);
  if (code == EXIT_DONE) code = check_precisions(a);
  if (code == EXIT_DONE) code = precond_idle(&a->linear, a->preconds);
  if (code == EXIT_DONE)
    code = cli_read_time("reduce-delay", a->reduce_delay, &a->bench.common.reduce_delay);
  return code == EXIT_DONE ? bench_run(&a->bench, option_rows, measure) : code;
}

const cli_command bench_krylov = {
    .name = "krylov",
    .summary = "Krylov methods on sparse matrices: time and traffic of a step.",
    .examples =
        "Example:\n  kaon bench krylov --matrix laplace3d:64 --method cg,pipecg --precond "
        "jacobi\n\n"
        "b = A * ones, x = 0 at first; the median of 3 solves, or of 2 seconds of them where "
        "joules are counted. Lists measure every combination that fits together.",
    .options = option_rows,
    .arguments = sizeof(matrix_args),
    .run = run,
    .daily =
        "matrix method precond tol outer precision columns format regime reduce-delay json backend "
        "threads"};
