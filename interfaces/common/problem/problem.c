/* problem.c - from arguments to a solver. Contract: problem.h. */
#include "interfaces/common/problem/problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interfaces/common/signals.h"

static int read_seeded(const char *text, source_spec *source) {
  source->kind = strncmp(text, "z4:", 3) == 0 ? SOURCE_Z4 : SOURCE_GAUSS;
  return cli_read_seed(strchr(text, ':') + 1, &source->seed);
}

static int read_source(const char *text, source_spec *source) {
  int used = 0, *s = source->site;
  char hint[160];
  size_t length = strlen(text);
  *source = (source_spec){.kind = SOURCE_POINT};
  if (sscanf(text, "point:%9d,%9d,%9d,%9d%n", &s[0], &s[1], &s[2], &s[3], &used) == 4 &&
      (size_t)used == length)
    return EXIT_DONE;
  source->kind = SOURCE_WALL;
  if (sscanf(text, "wall:%9d%n", &s[3], &used) == 1 && (size_t)used == length) return EXIT_DONE;
  source->kind = SOURCE_CORNER;
  if (sscanf(text, "corner:%9d%n", &s[3], &used) == 1 && (size_t)used == length) return EXIT_DONE;
  if ((strncmp(text, "z4:", 3) == 0 || strncmp(text, "gauss:", 6) == 0) &&
      read_seeded(text, source))
    return EXIT_DONE;
  return cli_wrong(
      "--source is %s; it must be point:x,y,z,t or wall:t or corner:t (staggered) or z4:SEED or "
      "gauss:SEED with a SEED from 0 to 2^64 - 1, as in point:0,0,0,0%s",
      text, cli_did_you_mean(text, "point|wall|corner|z4|gauss", "", "", hint));
}

/* Both coefficients of --csw. */
static int read_csw(const problem_args *a, int clover, problem *p) {
  enum { MOST = 10 };
  char *end = NULL;
  double c[2] = {0, 0};
  int count = 0, bad = 0;
  for (const char *at = a->csw; at && count < 2; at = *end == ',' ? end + 1 : NULL) {
    c[count++] = strtod(at, &end);
    bad |= end == at || !(fabs(c[count - 1]) <= MOST);
  }
  if (bad || *end)
    return cli_wrong(
        "--csw is %s; it takes a number from -10 to 10, or two with a comma between them, such as "
        "1.5 or 1.2,0.9",
        a->csw);
  if (clover && count == 1 && a->anisotropy != 1 && c[0] != 0)
    return cli_wrong(
        "--csw %s with --anisotropy %g needs two coefficients, of the planes in space and of those "
        "with t: --csw C_S,C_T, such as %s,%s",
        a->csw, a->anisotropy, a->csw, a->csw);
  p->csw = c[0];
  p->csw_time = count == 2 ? c[1] : c[0];
  if (p->csw == 0 && p->csw_time != 0)
    return cli_wrong("--csw %s: the first coefficient must not be 0 if the second is not", a->csw);
  return EXIT_DONE;
}

/* kappa of --kappa or --mass. */
static int read_kappa(const problem_args *a, problem *p) {
  if (isnan(a->kappa) == isnan(a->mass))
    return cli_wrong(
        "give one of --kappa and --mass (kappa = 1 / (2 (1 + 3 anisotropy + mass))); found %s",
        isnan(a->kappa) ? "neither" : "both");
  p->kappa = isnan(a->kappa) ? 1 / (2 * (1 + 3 * a->anisotropy + a->mass)) : a->kappa;
  if (p->kappa >= 1e-6 && p->kappa <= 10) return EXIT_DONE;
  return cli_wrong(
      "--mass %g with --anisotropy %g means kappa = %g, but kappa must lie between 1e-06 and 10; "
      "give a larger mass, above %g",
      a->mass, a->anisotropy, p->kappa, -1 - 3 * a->anisotropy);
}

static int read_action(const problem_args *a, problem *p) {
  const int twisted = a->action == ACTION_TWISTED || a->action == ACTION_TWISTED_CLOVER;
  const int clover = a->action == ACTION_CLOVER || a->action == ACTION_TWISTED_CLOVER;
  char name[32];
  cli_choice(PROBLEM_ACTIONS, a->action, name);
  if (staggered_action(a)) return staggered_check(a, p);
  if (a->fat_links || a->long_links)
    return cli_wrong("--fat-links and --long-links are for --action asqtad and hisq");
  if (a->naik_epsilon != 0)
    return cli_wrong("--naik-epsilon %g is for --action asqtad and hisq", a->naik_epsilon);
  if (a->u0 && strcmp(a->u0, "1") != 0) return cli_wrong("--u0 %s is for --action asqtad", a->u0);
  if (read_kappa(a, p) != EXIT_DONE || (a->csw && read_csw(a, clover, p) != EXIT_DONE))
    return EXIT_USAGE;
  if (clover && !a->csw)
    return cli_wrong("--action %s needs --csw C (1 at tree level), or use --action %s", name,
                     twisted ? "twisted" : "wilson");
  if (!clover && p->csw != 0)
    return cli_wrong("--csw %s is for --action %s; the action is %s", a->csw,
                     twisted ? "twisted-clover" : "clover", name);
  if (twisted && isnan(a->mu)) return cli_wrong("--action %s needs --mu MU", name);
  if (!twisted && !isnan(a->mu))
    return cli_wrong("--mu %g is for --action twisted and twisted-clover; the action is %s", a->mu,
                     name);
  p->twisted = twisted;
  p->mu = twisted ? a->mu : 0;
  return EXIT_DONE;
}

/* A key that has an option of its own would override it unseen. */
static int check_set(const char *text) {
  static const char *const keys[] = {"delta", "check_interval", "subspace", "relaxation",
                                     "deflation"};
  enum { KEYS = sizeof keys / sizeof *keys };
  for (text += strspn(text, " ,"); *text; text += strspn(text, " ,")) {
    int length = (int)strcspn(text, "= ,"), known = 0;
    for (int i = 0; i < KEYS; i++)
      known |= (int)strlen(keys[i]) == length && strncmp(text, keys[i], (size_t)length) == 0;
    if (!known)
      return cli_wrong(
          "--set has %.*s; it takes delta, check_interval, subspace, relaxation and deflation, the "
          "others have options of their own",
          length, text);
    text += strcspn(text, ",");
  }
  return EXIT_DONE;
}

/* Methods for Hermitian positive definite operators solve the normal equations of others. */
static int choose_method(const problem_args *a, kaon_method *method) {
  *method = a->solver < METHODS ? (kaon_method)a->solver : KAON_GCR; /* async-schwarz */
  if (staggered_hermitian(a) || !method_has(*method, KAON_METHOD_HERMITIAN)) return EXIT_DONE;
  const kaon_method asked = *method;
  *method = method_info(asked).normal;
  if (*method != asked) return EXIT_DONE;
  return cli_wrong(
      "--method %s is for Hermitian positive definite operators: staggered actions with "
      "--even-odd; "
      "take cg, which solves the normal equations of others, or gcr",
      method_name(asked));
}

static int read_solver(const problem_args *a, problem *p) {
  static const kaon_reconstruct reals[] = {KAON_RECONSTRUCT_18, KAON_RECONSTRUCT_12,
                                           KAON_RECONSTRUCT_8};
  p->precision = (kaon_precision)a->precision;
  kaon_solver_options options = KAON_SOLVER_OPTIONS_INIT;
  if (choose_method(a, &options.method) != EXIT_DONE) return EXIT_USAGE;
  options.tol = a->tol;
  options.max_iterations = a->max_iter;
  options.stop = (kaon_stop)a->stop;
  options.sloppy = a->sloppy < 0 ? KAON_SINGLE : (kaon_precision)a->sloppy;
  options.reconstruct = reals[a->reconstruct];
  options.refinement = (kaon_refinement)a->refinement;
  if (options.sloppy < p->precision)
    return cli_wrong("--sloppy double is finer than --precision single; use --precision double");
  if (options.stop == KAON_STOP_REDUCED && a->even_odd == KAON_EVEN_ODD_NONE)
    return cli_wrong(
        "--stop schur is for the even-odd system, but --even-odd is none; leave one of them out");
  if (options.method == KAON_JACOBI && a->even_odd != KAON_EVEN_ODD_NONE)
    return cli_wrong(
        "--method jacobi needs the operator's diagonal, which the even-odd system does not know; "
        "give --even-odd none");
  p->options = options;
  int code = a->set ? check_set(a->set) : EXIT_DONE;
  if (code == EXIT_DONE && a->set)
    code = cli_status(NULL, kaon_options_parse(KAON_OPTIONS_SOLVER, &p->options, a->set), "--set");
  return code == EXIT_DONE ? problem_precond_check(a, p) : code;
}

int problem_check(const problem_args *a, problem *p, field_spec *spec) {
  memset(p, 0, sizeof *p);
  if (!a->gauge && a->fat_links)
    return cli_wrong(
        "--gauge is missing, which gives the extents for --fat-links %s: the thin links' file, or "
        "unit with --lattice X Y Z T",
        a->fat_links);
  if (!a->gauge)
    return cli_wrong("--gauge is missing: a configuration file, unit, random:SEED or weak:EPS");
  int code = field_parse(a->gauge, spec);
  if (code == EXIT_DONE && a->ignore_checksum && spec->kind != FIELD_FILE && !a->fat_links)
    code = cli_wrong("--ignore-checksum is for a file of --gauge, which is %s; leave it out",
                     a->gauge);
  if (code == EXIT_DONE) code = read_action(a, p);
  if (code == EXIT_DONE) code = read_source(a->source, &p->source);
  if (code == EXIT_DONE) code = read_solver(a, p);
  if (code == EXIT_DONE && p->source.kind == SOURCE_CORNER && !p->staggered)
    code = cli_wrong("--source %s is for staggered actions; take wall:t", a->source);
  if (code == EXIT_DONE && p->source.kind <= SOURCE_CORNER && a->columns > problem_components(p))
    code = cli_wrong("--columns is %d, but --source %s has %s", a->columns, a->source,
                     p->staggered ? "3: the colours" : "12: 4 spins times 3 colours");
  return code;
}

int problem_check_together(const problem *p, int columns) {
  enum { joined_max = 64 }; /* kaon/solver.h */
  const int joined = method_has(p->options.method, KAON_METHOD_BLOCK);
  if (!joined || columns <= joined_max) return EXIT_DONE;
  return cli_wrong(
      "--method blockcg joins at most %d columns, but %d are to be solved together; split them "
      "(invert: --batch %d), or take another --method",
      joined_max, columns, joined_max);
}

int problem_check_source(const problem_args *a, const problem *p, const int e[4]) {
  const int *s = p->source.site;
  for (int mu = 0; mu < 4; mu++)
    if (s[mu] < 0 || s[mu] >= e[mu])
      return cli_wrong(
          "--source %s lies outside the lattice, which is %dx%dx%dx%d; sites count "
          "from 0",
          a->source, e[0], e[1], e[2], e[3]);
  return EXIT_DONE;
}

int problem_links(kaon_context *ctx, const problem_args *a, const field_spec *spec, problem *p) {
  int code = field_open(ctx, spec, a->lattice, a->boundary_t ? KAON_PERIODIC : KAON_ANTIPERIODIC,
                        a->ignore_checksum, &p->field);
  /* What follows prints: the stage must not be an earlier one than was seen. */
  if (code == EXIT_DONE) signals_stage("preparing the operator", "nothing was computed or written");
  return code == EXIT_DONE ? problem_check_source(a, p, p->field.extents) : code;
}

/* A rotation by links that are off SU(3) is not unitary by as much, so the rotated system is
 * another one: its solution leaves a residual of that size, however well it is solved. */
static kaon_status check_unitarity(const problem_args *a, problem *p) {
  kaon_observables seen = KAON_OBSERVABLES_INIT;
  if (!a->temporal_gauge) return KAON_OK;
  const kaon_status status = kaon_gauge_measure(p->field.gauge, &seen);
  if (status != KAON_OK) return status;
  p->off_group = seen.unitarity;
  if (p->off_group > a->tol)
    cli_error(
        "warning: --temporal-gauge is for SU(3) links, but these are off it by %.2g (largest entry "
        "of |U U^dag - 1|), so residuals may stay above that and --tol %g not be reached; leave it "
        "out, or give a larger --tol",
        p->off_group, a->tol);
  return KAON_OK;
}

kaon_status problem_outer_links(problem *p) {
  /* what products of rounded links leave: some hundred roundings in double, ten in single */
  const double rounding = p->precision == KAON_DOUBLE ? 1e-13 : 1e-6;
  kaon_observables seen = KAON_OBSERVABLES_INIT;
  if (p->options.sloppy != p->precision || p->options.reconstruct == KAON_RECONSTRUCT_18)
    return KAON_OK;
  const kaon_status status = kaon_gauge_measure(p->field.gauge, &seen);
  if (status != KAON_OK || (!p->ready_made && seen.unitarity <= rounding)) return status;
  if (p->ready_made)
    cli_error(
        "note: --reconstruct %d is not used: it is for an inner iteration in lower precision, and "
        "would change the rounding of the links that define the system; give --sloppy single or "
        "half",
        (int)p->options.reconstruct);
  else
    cli_error(
        "note: --reconstruct %d is not used: these links are off SU(3) by %.2g (largest entry of "
        "|U U^dag - 1|), so storing %d reals a link would change the system; give --sloppy single "
        "or half, where it serves the inner iteration",
        (int)p->options.reconstruct, seen.unitarity, (int)p->options.reconstruct);
  p->options.reconstruct = KAON_RECONSTRUCT_18;
  return KAON_OK;
}

/* An operator like multigrid's finest one, and its reduction, for a forecast. */
static kaon_status count_links(const kaon_dirac_options *like, problem *p) {
  kaon_even_odd_options reduction = KAON_EVEN_ODD_OPTIONS_INIT;
  kaon_dirac_options dirac = *like;
  kaon_operator *fine = NULL;
  dirac.precision = KAON_SINGLE;
  dirac.reconstruct = KAON_RECONSTRUCT_18;
  kaon_status status = kaon_dirac_create(p->field.gauge, &dirac, &fine);
  if (status == KAON_OK) status = kaon_dirac_even_odd(fine, &reduction, &p->K);
  kaon_operator_destroy(&fine);
  return status;
}

static kaon_status wilson_make(const problem_args *a, problem *p) {
  kaon_dirac_options dirac = KAON_DIRAC_OPTIONS_INIT;
  dirac.kappa = p->kappa;
  dirac.csw = p->csw;
  if (p->csw != 0) dirac.csw_electric = p->csw_time / p->csw;
  dirac.mu = p->mu;
  dirac.anisotropy = a->anisotropy;
  dirac.precision = p->precision;
  kaon_status status = problem_outer_links(p);
  const int mixed = p->options.sloppy != p->precision;
  dirac.reconstruct = mixed ? KAON_RECONSTRUCT_18 : p->options.reconstruct;
  if (status == KAON_OK) status = kaon_dirac_create(p->field.gauge, &dirac, &p->M);
  kaon_even_odd_options reduction = KAON_EVEN_ODD_OPTIONS_INIT;
  reduction.form = (kaon_even_odd)a->even_odd;
  reduction.temporal_gauge = a->temporal_gauge;
  if (status == KAON_OK && (reduction.form != KAON_EVEN_ODD_NONE || a->temporal_gauge))
    status = kaon_dirac_even_odd(p->M, &reduction, &p->R);
  return status == KAON_OK && p->counted ? count_links(&dirac, p) : status;
}

int problem_status(const kaon_context *ctx, const problem *p, kaon_status status) {
  const int code = cli_status(ctx, status, NULL);
  if (status == KAON_ERR_UNITARITY) staggered_hint(p);
  if (status == KAON_ERR_UNITARITY && !p->ready_made &&
      p->options.reconstruct != KAON_RECONSTRUCT_18)
    cli_error(
        "--reconstruct %d stores only SU(3) matrices; give --reconstruct 18, which stores any "
        "links",
        (int)p->options.reconstruct);
  return code;
}

int problem_operator(kaon_context *ctx, const problem_args *a, problem *p) {
  const double begun = cli_now();
  signals_enter("preparing the operator", "nothing was computed or written");
  kaon_status status = p->staggered ? staggered_make(a, p) : wilson_make(a, p);
  if (status == KAON_OK) status = check_unitarity(a, p);
  if (status == KAON_OK) status = problem_precond_make(a, p);
  signals_leave(NULL);
  p->made[0] = cli_now() - begun;
  return problem_status(ctx, p, status);
}

int problem_solver(kaon_context *ctx, int columns, problem *p) {
  kaon_operator *A = p->R ? p->R : p->M;
  const double begun = cli_now();
  const kaon_status status = kaon_solver_create(A, columns, &p->options, &p->solver);
  p->made[1] = cli_now() - begun;
  return problem_status(ctx, p, status);
}

kaon_status problem_source(const problem *p, kaon_vector *b) {
  switch (p->source.kind) {
    case SOURCE_POINT:
      return kaon_source_point(b, p->source.site);
    case SOURCE_WALL:
      return kaon_source_wall(b, p->source.site[3]);
    case SOURCE_CORNER:
      return kaon_source_corner(b, p->source.site[3]);
    case SOURCE_Z4:
      return kaon_source_z4(b, p->source.seed);
    case SOURCE_GAUSS:
      break;
  }
  return kaon_source_gauss(b, p->source.seed);
}

const kaon_space *problem_space(const problem *p) {
  return p->staggered ? kaon_lattice_staggered(p->field.lattice, KAON_FULL)
                      : kaon_lattice_spinors(p->field.lattice, KAON_FULL);
}

int problem_reals(const problem *p) {
  return p->staggered ? 6 : 24;
}

int problem_components(const problem *p) {
  return p->staggered ? 3 : 12;
}

int problem_columns(const cli_common *common, const problem_args *a) {
  return staggered_action(a) && !cli_option_given(common, "columns") ? 3 : a->columns;
}

int problem_slice(const problem *p) {
  return p->source.site[3];
}

void problem_close(problem *p) {
  kaon_solver_destroy(&p->solver);
  kaon_operator_destroy(&p->K);
  kaon_operator_destroy(&p->R);
  kaon_operator_destroy(&p->M);
  kaon_gauge_destroy(&p->fat);
  kaon_gauge_destroy(&p->naik);
  field_close(&p->field);
}
