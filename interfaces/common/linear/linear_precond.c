/* linear_precond.c - preconditioners by name: their figures, themselves, what reports say of them.
 * Contract: linear.h. */
#include <math.h>
#include <stdio.h>

#include "interfaces/common/linear/linear.h"
#include "interfaces/common/report.h"

enum { TRIES = 10 }; /* shifts after a breakdown */

static const struct {
  const char *title;
  int of_rows; /* made by kaon_precond_create, as: */
  kaon_precond_kind kind;
} kinds[] = {[PRECOND_NONE] = {"", 0, 0},
             [PRECOND_JACOBI] = {"Jacobi", 0, 0},
             [PRECOND_BLOCK_JACOBI] = {"block Jacobi", 1, KAON_PRECOND_BLOCK_JACOBI},
             [PRECOND_DIC] = {"DIC", 1, KAON_PRECOND_DIC},
             [PRECOND_DILU] = {"DILU", 1, KAON_PRECOND_DILU},
             [PRECOND_SSOR] = {"SSOR", 1, KAON_PRECOND_SSOR},
             [PRECOND_GS] = {"symmetric Gauss-Seidel by colours", 1, KAON_PRECOND_GS},
             [PRECOND_IC0] = {"IC(0)", 1, KAON_PRECOND_IC0},
             [PRECOND_ILU0] = {"ILU(0)", 1, KAON_PRECOND_ILU0},
             [PRECOND_AINV] = {"AINV", 1, KAON_PRECOND_AINV},
             [PRECOND_FSAI] = {"FSAI", 1, KAON_PRECOND_FSAI},
             [PRECOND_CHEBYSHEV] = {"Chebyshev polynomials", 0, 0},
             [PRECOND_SCHWARZ] = {"additive Schwarz", 0, 0},
             [PRECOND_SAP] = {"SAP", 0, 0},
             [PRECOND_AUTO] = {NULL, 0, 0}}; /* sweeps before it: linear_sweeps.c */

#define BIT(kind) (1u << (kind))
static const unsigned factors =
    BIT(PRECOND_DIC) | BIT(PRECOND_DILU) | BIT(PRECOND_SSOR) | BIT(PRECOND_IC0) | BIT(PRECOND_ILU0);
static const unsigned inverses = BIT(PRECOND_BLOCK_JACOBI) | BIT(PRECOND_AINV) | BIT(PRECOND_FSAI);
static const unsigned in_blocks = BIT(PRECOND_SCHWARZ) | BIT(PRECOND_SAP);
static const unsigned relaxing = BIT(PRECOND_JACOBI_SWEEPS) | BIT(PRECOND_GS_SWEEPS) |
                                 BIT(PRECOND_SOR_SWEEPS) | BIT(PRECOND_TWO_STAGE) |
                                 BIT(PRECOND_ASYNC);
static const unsigned projecting =
    BIT(PRECOND_KACZMARZ) | BIT(PRECOND_KACZMARZ_DOUBLE) | BIT(PRECOND_CARP) | BIT(PRECOND_CIMMINO);
/* Not Hermitian, even where A is. */
static const unsigned skew = BIT(PRECOND_GS_SWEEPS) | BIT(PRECOND_SOR_SWEEPS) |
                             BIT(PRECOND_KACZMARZ) | BIT(PRECOND_KACZMARZ_DOUBLE) |
                             BIT(PRECOND_CARP) | BIT(PRECOND_CIMMINO);

/* A figure, and the preconditioners that look at it. */
typedef struct figure {
  const char *option, *of;
  unsigned used;
  int given;
} figure;

static int is_schwarz(const linear_args *a) {
  return in_blocks >> a->precond & 1;
}

static int of_sweeps(const linear_args *a) {
  return (relaxing | projecting) >> a->precond & 1;
}

int precond_varies(const linear_args *a) {
  return is_schwarz(a) || a->precond == PRECOND_ASYNC;
}

int precond_skews(const linear_args *a) {
  return skew >> a->precond & 1;
}

/* The library lets methods take what they are given; of a K that is none for them they make no
 * solution. */
typedef enum misfit { FITS, VARIES, SKEWS, NO_ADJOINT, TAKES_NONE } misfit;

static misfit misfit_of(const linear *l) {
  const linear_args *a = l->args;
  const kaon_method method = l->options.method;
  if (precond_varies(a) && (l->projections >= 0 || !method_has(method, KAON_METHOD_FLEXIBLE)))
    return VARIES;
  if (l->projections >= 0) return FITS;
  if (a->precond == PRECOND_AUTO) return FITS;
  if (a->precond != PRECOND_NONE && !method_has(method, KAON_METHOD_PRECONDITIONED))
    return TAKES_NONE;
  if (precond_skews(a) && method_has(method, KAON_METHOD_HERMITIAN)) return SKEWS;
  return of_sweeps(a) && method_has(method, KAON_METHOD_ADJOINT) ? NO_ADJOINT : FITS;
}

int precond_takes(const linear *l) {
  return misfit_of(l) == FITS;
}

int precond_suits(const linear *l) {
  const linear_args *a = l->args;
  const misfit why = misfit_of(l);
  char name[32], methods[METHODS_ROOM];
  if (why == VARIES)
    return cli_wrong(
        "--precond %s changes from step to step, which --method %s alone allows, but --method is "
        "%s; take gcr, or another preconditioner",
        cli_choice(LINEAR_PRECOND_CHOICES, a->precond, name),
        methods_with(KAON_METHOD_FLEXIBLE, methods), linear_method_name(l));
  if (why == SKEWS)
    return cli_wrong(
        "--precond %s is not Hermitian, as --method %s needs it, whatever the matrix; take gcr or "
        "bicgstab, or --precond %s",
        cli_choice(LINEAR_PRECOND_CHOICES, a->precond, name), linear_method_name(l),
        projecting >> a->precond & 1 ? "jacobi-sweeps" : "ssor");
  if (why == TAKES_NONE)
    return cli_wrong(
        "--method %s takes no preconditioner, but --precond is %s; give --precond none, or a "
        "method "
        "that takes one: gcr, bicgstab, or cg where A = A^H",
        linear_method_name(l), cli_choice(LINEAR_PRECOND_CHOICES, a->precond, name));
  if (why == NO_ADJOINT)
    return cli_wrong(
        "--precond %s has no adjoint, which --method bicg applies as well; take bicgstab or gcr",
        cli_choice(LINEAR_PRECOND_CHOICES, a->precond, name));
  return EXIT_DONE;
}

static int first_of(unsigned set) {
  int i = 0;
  while (!(set >> i & 1)) i++;
  return i;
}

int precond_idle(const linear_args *a, unsigned preconds) {
  const unsigned sweeping = factors & ~BIT(PRECOND_SSOR), rows = factors | BIT(PRECOND_GS);
  const figure figures[] = {
      {"precond-block", "block-jacobi", BIT(PRECOND_BLOCK_JACOBI), a->precond_block != 0},
      {"omega", "ssor, sor-sweeps, two-stage and async",
       BIT(PRECOND_SSOR) | BIT(PRECOND_SOR_SWEEPS) | BIT(PRECOND_TWO_STAGE) | BIT(PRECOND_ASYNC),
       !isnan(a->precond_omega) && (preconds != BIT(PRECOND_NONE) || a->relax_absent)},
      {"drop", "ainv", BIT(PRECOND_AINV), !isnan(a->precond_drop)},
      {"fill", "ainv", BIT(PRECOND_AINV), a->precond_fill != 0},
      {"power", "fsai", BIT(PRECOND_FSAI), a->precond_power != 0},
      {"precond-order", "dic, dilu, ssor, ic0 and ilu0", factors, a->precond_order >= 0},
      {"sweeps", "dic, dilu, ic0, ilu0 and jacobi-sweeps to cimmino",
       sweeping | relaxing | projecting, a->precond_sweeps != 0},
      {"schwarz-block", "schwarz and sap", in_blocks, a->schwarz_block != 0},
      {"schwarz-steps", "schwarz and sap", in_blocks, a->schwarz_steps != 0},
      {"schwarz-cycles", "schwarz and sap", in_blocks, a->schwarz_cycles != 0},
      {"schwarz-relaxation", "schwarz and sap", in_blocks, a->schwarz_relaxation > 0},
      {"shift", "block-jacobi to fsai", rows | inverses, !isnan(a->precond_shift)},
      {"precond-precision", "block-jacobi to fsai, and schwarz to cimmino",
       rows | inverses | in_blocks | relaxing | projecting, a->precond_precision >= 0},
      {"degree", "chebyshev", BIT(PRECOND_CHEBYSHEV), a->precond_degree != 0},
      {"low", "chebyshev", BIT(PRECOND_CHEBYSHEV), !isnan(a->precond_low)},
      {"high", "chebyshev", BIT(PRECOND_CHEBYSHEV), !isnan(a->precond_high)}};
  const int one = (preconds & (preconds - 1)) == 0;
  char name[32];
  for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
    if (figures[i].given && !(figures[i].used & preconds))
      return cli_wrong("--%s is for --precond %s, but --precond %s%s; leave it out%s",
                       figures[i].option, figures[i].of, one ? "is " : "names none of these",
                       one ? cli_choice(LINEAR_PRECOND_CHOICES, first_of(preconds), name) : "",
                       preconds == BIT(PRECOND_AUTO) ? ", or name one of these" : "");
  return EXIT_DONE;
}

int precond_check(const linear *l) {
  const linear_args *a = l->args;
  char name[32];
  if (precond_idle(a, BIT(a->precond)) != EXIT_DONE) return EXIT_USAGE;
  if (isnan(a->precond_low) != isnan(a->precond_high))
    return cli_wrong(
        "--low and --high are the ends of one interval; give both, or none: they are then "
        "estimated");
  if (of_sweeps(a) && a->precond_precision == KAON_HALF)
    return cli_wrong(
        "--precond-precision half: sweeps of --precond %s are done in double or single; give one "
        "of these",
        cli_choice(LINEAR_PRECOND_CHOICES, a->precond, name));
  return a->method < 0 ? EXIT_DONE : precond_suits(l); /* else linear_decide chooses one for it */
}

int precond_fits(const linear *l) {
  const unsigned hermitian =
      BIT(PRECOND_DIC) | BIT(PRECOND_IC0) | BIT(PRECOND_AINV) | BIT(PRECOND_FSAI);
  const unsigned dividing =
      BIT(PRECOND_JACOBI) | BIT(PRECOND_CHEBYSHEV) | BIT(PRECOND_SSOR) | BIT(PRECOND_GS) | relaxing;
  const kaon_matrix_info *i = &l->info;
  const unsigned needing = l->info.hermitian ? dividing | hermitian : dividing;
  char name[32];
  if (i->no_diagonal == 0 || !(needing >> l->args->precond & 1)) return EXIT_DONE;
  return cli_wrong(
      "--precond %s needs a diagonal without 0, but %lld of the %lld rows of --matrix %s have 0 or "
      "no entry there, the first being row %lld (counted from 1); take --precond none, or exchange "
      "rows so that no 0 is there; ilu0 and block-jacobi may break down on it",
      cli_choice(LINEAR_PRECOND_CHOICES, l->args->precond, name), (long long)i->no_diagonal,
      (long long)i->global_rows, l->args->matrix, (long long)i->first_no_diagonal + 1);
}

static kaon_status make_chebyshev(linear *l) {
  const linear_args *a = l->args;
  kaon_chebyshev_options options = KAON_CHEBYSHEV_OPTIONS_INIT;
  if (a->precond_degree) options.degree = a->precond_degree;
  if (!isnan(a->precond_low)) options.low = a->precond_low;
  if (!isnan(a->precond_high)) options.high = a->precond_high;
  return kaon_precond_chebyshev(l->A, &options, &l->K);
}

kaon_precision precond_precision(const linear *l) {
  if (l->args->precond_precision >= 0) return (kaon_precision)l->args->precond_precision;
  return l->options.sloppy == KAON_DOUBLE ? KAON_DOUBLE : KAON_SINGLE;
}

/* 0 steps or cycles: by the library's rule. */
static kaon_schwarz_options schwarz_options(const linear *l) {
  const linear_args *a = l->args;
  const int additive = a->precond == PRECOND_SCHWARZ;
  kaon_schwarz_options o = KAON_SCHWARZ_OPTIONS_INIT;
  o.kind = additive ? KAON_SCHWARZ_ADDITIVE : KAON_SCHWARZ_MULTIPLICATIVE;
  o.block[0] = a->schwarz_block;
  o.steps = a->schwarz_steps;
  o.cycles = a->schwarz_cycles;
  if (a->schwarz_relaxation > 0) o.relaxation = a->schwarz_relaxation;
  o.precision = precond_precision(l);
  return o;
}

static kaon_status make_of_rows(linear *l) {
  const linear_args *a = l->args;
  kaon_precond_options options = KAON_PRECOND_OPTIONS_INIT;
  options.kind = kinds[a->precond].kind;
  options.precision = precond_precision(l);
  options.tries = isnan(a->precond_shift) ? TRIES : 0;
  if (a->precond_order >= 0) options.order = (kaon_precond_order)a->precond_order;
  if (a->precond_sweeps) options.sweeps = a->precond_sweeps;
  if (a->precond_block) options.block = a->precond_block;
  if (a->precond_fill) options.fill = a->precond_fill;
  if (a->precond_power) options.power = a->precond_power;
  if (!isnan(a->precond_omega)) options.omega = a->precond_omega;
  if (!isnan(a->precond_drop)) options.drop = a->precond_drop;
  if (!isnan(a->precond_shift)) options.shift = a->precond_shift;
  return kaon_precond_create(l->matrix, &options, &l->K);
}

void precond_replace(linear_args *a, const char *name) {
  const int precond = cli_choice_index(LINEAR_PRECONDS, name);
  if (precond == a->precond) return;
  a->precond = precond;
  a->precond_drop = a->precond_omega = a->precond_low = a->precond_high = a->precond_shift = NAN;
  a->precond_degree = a->precond_block = a->precond_sweeps = a->precond_fill = a->precond_power = 0;
  a->precond_order = a->precond_precision = -1;
}

int precond_choose(linear *l) {
  const linear_args *a = l->args;
  kaon_precond_choice choice = KAON_PRECOND_CHOICE_INIT;
  const int code = cli_status(
      l->ctx, kaon_precond_auto(l->A, a->method, a->columns, l->options.sloppy, &choice, &l->K),
      "--precond auto");
  if (code != EXIT_DONE) return code;
  l->chosen = *a;
  precond_replace(&l->chosen, choice.precond);
  l->args = &l->chosen;
  l->options.method = choice.method;
  snprintf(l->why, sizeof l->why, "%s", choice.why);
  return EXIT_DONE;
}

kaon_status precond_make(linear *l) {
  const int kind = l->args->precond;
  if (kind == PRECOND_NONE) return KAON_OK;
  if (kind == PRECOND_JACOBI) return kaon_precond_jacobi(l->A, &l->K);
  if (of_sweeps(l->args)) return sweeps_make(l, l->args->columns);
  if (is_schwarz(l->args)) {
    const kaon_schwarz_options options = schwarz_options(l);
    return kaon_schwarz_create(l->A, &options, &l->K);
  }
  return kinds[kind].of_rows ? make_of_rows(l) : make_chebyshev(l);
}

kaon_status precond_columns(linear *l, int columns) {
  return l->smoother && l->smoothed != columns ? sweeps_make(l, columns) : KAON_OK;
}

const char *precond_text(const linear *l, char text[96]) {
  const linear_args *a = l->args;
  const int rows = a->schwarz_block;
  char sweeps[64];
  text[0] = '\0';
  if (is_schwarz(a) && rows > 0)
    snprintf(text, 96, ", preconditioned by %s in blocks of %d row%s,", kinds[a->precond].title,
             rows, rows == 1 ? "" : "s");
  else if (is_schwarz(a))
    snprintf(text, 96, ", preconditioned by %s, a block a rank,", kinds[a->precond].title);
  else if (a->precond)
    snprintf(text, 96, ", preconditioned by %s,",
             of_sweeps(a) ? sweeps_text(a, sweeps) : kinds[a->precond].title);
  return text;
}

void precond_print(const cli_common *common, const linear *l) {
  const char *title = kinds[l->args->precond].title;
  kaon_precond_info info = KAON_PRECOND_INFO_INIT;
  double low, high;
  char name[32];
  if (l->why[0])
    cli_print(common, "--precond auto took %s: %s\n",
              cli_choice(LINEAR_PRECONDS, l->args->precond, name), l->why);
  if (kinds[l->args->precond].of_rows && kaon_precond_describe(l->K, &info) == KAON_OK) {
    cli_print(common, "%s: %lld entries", title, (long long)info.entries);
    if (info.levels) cli_print(common, ", %d levels", info.levels);
    if (info.colours) cli_print(common, ", %d colours", info.colours);
    if (info.shift != 0) cli_print(common, ", diagonal times %g", 1 + info.shift);
    cli_print(common, ", made in %.3g s\n", info.seconds);
  } else if (projecting >> l->args->precond & 1) {
    projections_print(common, l->K);
  } else if (l->args->precond == PRECOND_CHEBYSHEV &&
             kaon_precond_chebyshev_interval(l->K, &low, &high) == KAON_OK) {
    cli_print(common, "%s: eigenvalues of D^-1 A from %.4g to %.4g\n", title, low, high);
  }
}

static void describe_rows(const linear *l, json_t *d) {
  static const char *const orders[] = {"natural", "colour"};
  kaon_precond_info info = KAON_PRECOND_INFO_INIT;
  if (kaon_precond_describe(l->K, &info) != KAON_OK) return;
  const kaon_precond_options *o = info.options;
  json_t *more = json_pack("{s:s s:s s:I s:i s:i s:o s:o s:i s:o s:i s:o s:i s:i}", "precision",
                           precision_name(o->precision), "order", orders[o->order], "entries",
                           (json_int_t)info.entries, "levels", info.levels, "colours", info.colours,
                           "seconds", report_real(info.seconds), "shift", report_real(info.shift),
                           "sweeps", o->sweeps, "omega", report_real(o->omega), "block", o->block,
                           "drop", report_real(o->drop), "fill", o->fill, "power", o->power);
  json_object_update(d, more);
  json_decref(more);
}

/* A block of 0 rows is all that a rank has. */
static void describe_schwarz(const linear *l, json_t *d) {
  kaon_schwarz_options o = KAON_SCHWARZ_OPTIONS_INIT;
  if (kaon_schwarz_describe(l->K, &o) != KAON_OK) return;
  json_t *more =
      json_pack("{s:i s:i s:i s:o s:s}", "block", o.block[0], "steps", o.steps, "cycles", o.cycles,
                "relaxation", report_real(o.relaxation), "precision", precision_name(o.precision));
  json_object_update(d, more);
  json_decref(more);
}

json_t *precond_describe(const linear *l) {
  const linear_args *a = l->args;
  char name[32];
  double low = NAN, high = NAN;
  if (!a->precond) return json_null();
  json_t *d = json_pack("{s:s}", "kind", cli_choice(LINEAR_PRECOND_CHOICES, a->precond, name));
  if (kinds[a->precond].of_rows) describe_rows(l, d);
  if (is_schwarz(a)) describe_schwarz(l, d);
  if (of_sweeps(a)) {
    json_t *more = sweeps_describe(l);
    json_object_update(d, more);
    json_decref(more);
  }
  if (a->precond == PRECOND_CHEBYSHEV) {
    const kaon_chebyshev_options usual = KAON_CHEBYSHEV_OPTIONS_INIT;
    json_object_set_new(d, "degree",
                        json_integer(a->precond_degree ? a->precond_degree : usual.degree));
    (void)kaon_precond_chebyshev_interval(l->K, &low, &high);
    json_object_set_new(d, "low", report_real(low));
    json_object_set_new(d, "high", report_real(high));
  }
  return d;
}
