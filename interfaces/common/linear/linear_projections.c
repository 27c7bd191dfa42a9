/* linear_projections.c - methods of row projections: their options, what is solved in A's place,
 * what reports say of it. Contract: linear.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "interfaces/common/linear/linear.h"
#include "interfaces/common/report.h"

static const double cimmino_lambda = 0.35; /* the paper's; docs/conventions.md */

static const kaon_sweep_order orders[] = {KAON_SWEEP_ROWS,    KAON_SWEEP_RANDOM,
                                          KAON_SWEEP_COLOURS, KAON_SWEEP_GROUPS,
                                          KAON_SWEEP_STRIDES, KAON_SWEEP_SECTIONS};
enum { COLOURS = 2 };

int projections_used(const linear *l) {
  return l->projections >= 0 ? l->projections : sweeps_kind(l->args->precond);
}

/* An option, and the kinds that look at it. */
typedef struct figure {
  const char *option, *of;
  unsigned used;
  int given;
} figure;
#define BIT(kind) (1u << (kind))

static int check_idle(const linear_args *a, const linear *l) {
  const unsigned swept = BIT(KAON_KACZMARZ_SWEEP) | BIT(KAON_KACZMARZ_DOUBLE),
                 carp = BIT(KAON_KACZMARZ_CARP);
  const figure figures[] = {
      {"lambda", "kaczmarz, cgmnc, carpcg and cimmino", swept | carp | BIT(KAON_KACZMARZ_CIMMINO),
       !isnan(a->lambda)},
      {"sweep-order", "kaczmarz and cgmnc", swept, a->sweep_order >= 0},
      {"permutation", "kaczmarz, cgmnc and carpcg", swept | carp, a->permutation != NULL},
      {"carp-blocks", "carpcg", carp, a->carp_blocks != 0},
      {"carp-rows", "carpcg", carp, a->carp_rows >= 0}};
  const int kind = projections_used(l);
  char name[32];
  for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
    if (figures[i].given && (kind < 0 || !(figures[i].used & BIT(kind))))
      return cli_wrong(
          "--%s is for --method %s, and for a --precond of such sweeps, but --method is %s and "
          "--precond %s; leave it out",
          figures[i].option, figures[i].of, a->method >= 0 ? linear_method_name(l) : "not given",
          cli_choice(LINEAR_PRECOND_CHOICES, a->precond, name));
  if (a->relax_colour && kind == KAON_KACZMARZ_CIMMINO)
    return cli_wrong(
        "--coloring orders the rows of a sweep, but cimmino takes all at once; leave it out");
  return EXIT_DONE;
}

/* Two orders at once. In CARP's blocks rows of --permutation may go by colour. */
int projections_orders(const linear_args *a, int kind) {
  if (a->sweep_order >= 0 && a->sweep_order != COLOURS && a->relax_colour)
    return cli_wrong(
        "--coloring is --sweep-order colours, but another one is given; leave one out");
  if (a->permutation && a->sweep_order >= 0)
    return cli_wrong(
        "--permutation is an order of the rows, and --sweep-order another one; leave one out");
  if (a->permutation && a->relax_colour && kind != KAON_KACZMARZ_CARP)
    return cli_wrong(
        "--permutation is an order of the rows, and --coloring another one; leave one out");
  if (a->permutation && a->carp_rows >= 0)
    return cli_wrong(
        "--carp-rows says which rows a block has, but with --permutation it has rows that follow "
        "one another there; leave one out");
  if (a->permutation && access(a->permutation, R_OK) != 0)
    return cli_wrong(
        "--permutation %s: there is no such file, or it cannot be read; it takes a text of row "
        "numbers, one a line, counted from 1",
        a->permutation);
  return EXIT_DONE;
}

int projections_check(const linear_args *a, const linear *l) {
  const int kind = projections_used(l);
  char name[32];
  const char *user = l->projections >= 0 ? linear_method_name(l)
                                         : cli_choice(LINEAR_PRECOND_CHOICES, a->precond, name);
  if (check_idle(a, l) != EXIT_DONE || projections_orders(a, kind) != EXIT_DONE) return EXIT_USAGE;
  if (kind < 0) return EXIT_DONE;
  const int all_at_once = /* if the blocks are as many as the rows, which the library sees */
      kind == KAON_KACZMARZ_CIMMINO || (kind == KAON_KACZMARZ_CARP && a->carp_blocks > 0);
  if (!all_at_once && !isnan(a->lambda) && !(a->lambda < 2))
    return cli_wrong("--lambda %g: %s converges for 0 < lambda < 2 (0: by rule)", a->lambda, user);
  if (l->projections >= 0 && a->precond)
    return cli_wrong(
        "--method %s solves a system made of sweeps, of which --precond knows nothing; "
        "leave it out",
        user);
  if (l->projections >= 0 && l->options.sloppy == KAON_HALF)
    return cli_wrong("--method %s takes no half precision; give --sloppy single", user);
  return EXIT_DONE;
}

/* On several ranks the library sweeps no rows in any order, and says so. */
int projections_order(linear *l) {
  const linear_args *a = l->args;
  if (l->permutation || ranks_count() > 1) return EXIT_DONE;
  if (a->shuffled) return permutation_draw(l->info.global_rows, &l->permutation);
  if (!a->permutation) return EXIT_DONE;
  return permutation_read(a->permutation, a->matrix, l->info.global_rows, &l->permutation);
}

/* *points: where the rows are, the caller's to free. */
static kaon_status options_of(const linear *l, int kind, kaon_kaczmarz_options *o,
                              double **points) {
  const linear_args *a = l->args;
  kaon_status status = KAON_OK;
  *points = NULL;
  *o = (kaon_kaczmarz_options)KAON_KACZMARZ_OPTIONS_INIT;
  o->kind = (kaon_kaczmarz_kind)kind;
  if (a->sweep_order >= 0) o->order = orders[a->sweep_order];
  if (a->relax_colour && o->kind != KAON_KACZMARZ_CARP) o->order = KAON_SWEEP_COLOURS;
  if (a->permutation || a->shuffled) o->order = KAON_SWEEP_PERMUTATION;
  o->permutation = l->permutation;
  o->colour = a->relax_colour && o->kind == KAON_KACZMARZ_CARP;
  o->blocks = o->kind == KAON_KACZMARZ_CARP ? a->carp_blocks : 0;
  if (a->carp_rows >= 0) o->block_rows = (kaon_carp_rows)a->carp_rows; /* LINEAR_CARP_ROWS' order */
  o->seed = a->seed;
  if (!isnan(a->lambda))
    o->lambda = a->lambda;
  else if (o->kind == KAON_KACZMARZ_CIMMINO)
    o->lambda = cimmino_lambda;
  if (o->order == KAON_SWEEP_SECTIONS)
    status = kaon_matrix_generate_points(l->ctx, a->matrix, &o->dimensions, points);
  o->coordinates = *points;
  return status;
}

/* All rows at once converge below 2 over an eigenvalue, of which the rule takes RULE and estimates
 * it from below, so that what is beyond its limit is beyond the true one. Somewhat beyond CG still
 * gets on, by many more steps. Looked at where --lambda was given: it takes a second set-up. */
static const double RULE = 1.8; /* kaon/relax.h */
static kaon_status check_lambda(linear *l, const kaon_kaczmarz_options *given) {
  const linear_args *a = l->args;
  const int at_once = given->kind == KAON_KACZMARZ_CIMMINO ||
                      (given->kind == KAON_KACZMARZ_CARP && given->blocks == l->info.global_rows);
  kaon_kaczmarz_options ruled = *given;
  kaon_kaczmarz_info info = KAON_KACZMARZ_INFO_INIT;
  kaon_operator *R = NULL;
  char name[32];
  if (!at_once || !(a->lambda > 0) || ranks_count() > 1) return KAON_OK;
  ruled.lambda = 0;
  kaon_status status = kaon_kaczmarz_reduce(l->A, &ruled, &R);
  if (status == KAON_OK) status = kaon_kaczmarz_describe(R, &info);
  const double chosen = status == KAON_OK ? info.options->lambda : NAN;
  kaon_operator_destroy(&R);
  if (status != KAON_OK) return status;
  const double most = 2 / RULE * chosen;
  if (a->lambda <= most) return KAON_OK;
  l->lambda_most = most;
  cli_error(
      "warning: %s may take many more steps or not converge: --lambda is %g, but for this matrix "
      "it converges below %.4g; give --lambda 0, which is %.4g here, or another smaller one",
      l->projections >= 0 ? linear_method_name(l)
                          : cli_choice(LINEAR_PRECOND_CHOICES, a->precond, name),
      a->lambda, most, chosen);
  return KAON_OK;
}

kaon_status projections_make(linear *l) {
  kaon_kaczmarz_options o;
  double *points;
  kaon_status status = options_of(l, l->projections, &o, &points);
  if (status == KAON_OK) status = check_lambda(l, &o);
  if (status == KAON_OK) status = kaon_kaczmarz_reduce(l->A, &o, &l->R);
  free(points);
  return status;
}

kaon_status projections_precondition(linear *l, kaon_operator *A, int sweeps) {
  kaon_kaczmarz_options o;
  double *points;
  kaon_status status = options_of(l, sweeps_kind(l->args->precond), &o, &points);
  if (status == KAON_OK) status = check_lambda(l, &o);
  if (status == KAON_OK) status = kaon_kaczmarz_preconditioner(A, &o, sweeps, &l->K);
  free(points);
  return status;
}

void projections_print(const cli_common *common, const kaon_operator *made) {
  kaon_kaczmarz_info info = KAON_KACZMARZ_INFO_INIT;
  if (!made || kaon_kaczmarz_describe(made, &info) != KAON_OK) return;
  cli_print(common, "lambda %.4g", info.options->lambda);
  if (info.options->kind == KAON_KACZMARZ_CARP)
    cli_print(common, ", %d blocks%s, %.2f copies of an unknown", info.options->blocks,
              info.options->block_rows == KAON_CARP_CONSECUTIVE ? " of consecutive rows" : "",
              info.copies);
  else if (info.options->kind != KAON_KACZMARZ_CIMMINO && info.classes > 1)
    cli_print(common, ", %d classes of rows at once, %lld groups", info.classes,
              (long long)info.groups);
  if (info.options->order == KAON_SWEEP_PERMUTATION) cli_print(common, ", rows by --permutation");
  cli_print(common, ", made in %.3g s\n", info.seconds);
}

json_t *projections_describe(const linear *l, const kaon_operator *made) {
  kaon_kaczmarz_info info = KAON_KACZMARZ_INFO_INIT;
  if (!made || kaon_kaczmarz_describe(made, &info) != KAON_OK) return json_null();
  static const char *const names[] = {"rows",   "permutation", "random",  "colours",
                                      "groups", "strides",     "sections"};
  static const char *const carp_rows[] = {"near", "consecutive"};
  const int carp = info.options->kind == KAON_KACZMARZ_CARP,
            permuted = info.options->order == KAON_SWEEP_PERMUTATION;
  const int ordered = !carp && info.options->kind != KAON_KACZMARZ_CIMMINO;
  return json_pack(
      "{s:o s:s? s:o s:o s:i s:I s:i s:s? s:o s:b s:o s:o}", "lambda",
      report_real(info.options->lambda), "order",
      ordered || permuted ? names[info.options->order] : NULL, "permutation",
      permuted ? report_string(cli_name(l->args->permutation)) : json_null(), "seed",
      ordered && info.options->order == KAON_SWEEP_RANDOM ? report_seed(info.options->seed)
                                                          : json_null(),
      "classes", info.classes, "groups", (json_int_t)info.groups, "blocks", info.options->blocks,
      "block_rows", carp && !permuted ? carp_rows[info.options->block_rows] : NULL, "copies",
      report_real(carp ? info.copies : NAN), "colour", info.options->colour, "sweep_bytes",
      report_real(info.bytes), "seconds", report_real(info.seconds));
}
