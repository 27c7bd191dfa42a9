/* linear_report.c - what is said of a sparse system: its statistics, how it was solved, what can be
 * done where it was not. Contract: linear.h. */
#include <math.h>
#include <stdio.h>

#include "interfaces/common/linear/linear.h"
#include "interfaces/common/report.h"

const char *linear_rhs_text(const linear *l) {
  switch (l->rhs) {
    case RHS_ONES:
      return "ones";
    case RHS_A_ONES:
      return "A*ones";
    case RHS_GENERATOR:
      return "own";
    case RHS_FILE:
      break;
  }
  return l->args->rhs;
}

/* "real symmetric", and by how much entries differ where that holds to rounding only. */
static const char *kind_of(const kaon_matrix_info *i, char text[96]) {
  const char *kind = i->hermitian ? "real symmetric" : "real, not symmetric";
  if (i->reals == 2) kind = i->hermitian ? "complex Hermitian" : "complex";
  if (i->skew) kind = i->reals == 2 ? "complex skew-Hermitian" : "real skew-symmetric";
  if (!i->hermitian || i->asymmetry == 0) return kind;
  snprintf(text, 96, "%s to rounding (up to %.1e of the largest entry of a row)", kind,
           i->asymmetry);
  return text;
}

/* Rows or columns are named as files have them, from 1. */
static void report_missing(const cli_common *common, const char *what, const char *one,
                           int64_t count, int64_t first) {
  if (count > 0)
    cli_print(common, "%lld %s, the first being %s %lld\n", (long long)count, what, one,
              (long long)first + 1);
}

/* Of several ranks. */
static void linear_print_shares(const cli_common *common, const linear *l) {
  const kaon_matrix_distribution *s = &l->shares;
  const int ranks = ranks_count();
  if (ranks == 1) return;
  const double rows = (double)l->info.global_rows / ranks;
  const double entries = (double)l->info.global_entries / ranks;
  cli_print(common,
            "rows on %d ranks %s; the largest rank has %.3f times the mean number of rows, %.3f of "
            "entries; ghost values a rank: mean %.0f, at most %lld; entries between ranks: %lld\n",
            ranks, s->how, rows > 0 ? (double)s->most_rows / rows : 1,
            entries > 0 ? (double)s->most_entries / entries : 1, (double)s->all_ghosts / ranks,
            (long long)s->most_ghosts, (long long)s->cut);
}

void linear_print(const cli_common *common, const linear *l) {
  const kaon_matrix_info *i = &l->info;
  char kind[96];
  cli_print(common, "%s: %lld rows, %lld entries, %s\n", cli_name(l->args->matrix),
            (long long)i->global_rows, (long long)i->global_entries, kind_of(i, kind));
  cli_print(common,
            "entries a row: %lld to %lld, mean %.2f, standard deviation %.2f; bandwidth %lld%s\n",
            (long long)i->shortest, (long long)i->longest, i->mean, i->deviation,
            (long long)i->bandwidth, l->args->ordering ? " in reverse Cuthill-McKee order" : "");
  report_missing(common, "rows have no entry other than 0", "row", i->empty_rows,
                 i->first_empty_row);
  report_missing(common, "columns have no entry other than 0", "column", i->empty_columns,
                 i->first_empty_column);
  report_missing(common, "rows have no diagonal entry or 0 there", "row", i->no_diagonal,
                 i->first_no_diagonal);
  if (i->first_unmatched >= 0)
    cli_print(common, "structurally singular: its structural rank is %lld\n",
              (long long)i->structural_rank);
  linear_print_shares(common, l);
  if (l->A) cli_print(common, "storage: %s\n", kaon_matrix_operator_format(l->A));
}

json_t *linear_describe(const linear *l) {
  const kaon_matrix_info *i = &l->info;
  json_t *d = json_pack(
      "{s:o s:I s:I s:I s:I s:s s:b s:o s:I s:I s:o s:o s:I s:I s:I s:I}", "name",
      report_string(cli_name(l->args->matrix)), "rows", (json_int_t)i->global_rows, "entries",
      (json_int_t)i->global_entries, "local_rows", (json_int_t)i->rows, "local_entries",
      (json_int_t)i->entries, "field", i->reals == 2 ? "complex" : "real", "hermitian",
      i->hermitian, "asymmetry", report_real(i->asymmetry), "shortest", (json_int_t)i->shortest,
      "longest", (json_int_t)i->longest, "mean", report_real(i->mean), "deviation",
      report_real(i->deviation), "bandwidth", (json_int_t)i->bandwidth, "empty_rows",
      (json_int_t)i->empty_rows, "empty_columns", (json_int_t)i->empty_columns, "no_diagonal",
      (json_int_t)i->no_diagonal);
  json_object_set_new(
      d, "structural_rank",
      i->structural_rank >= 0 ? json_integer((json_int_t)i->structural_rank) : json_null());
  const kaon_matrix_distribution *s = &l->shares;
  json_object_set_new(
      d, "shares",
      json_pack("{s:o s:b s:I s:I s:I s:I s:I}", "how", report_string(s->how), "moved", s->moved,
                "most_rows", (json_int_t)s->most_rows, "most_entries", (json_int_t)s->most_entries,
                "most_ghosts", (json_int_t)s->most_ghosts, "ghosts", (json_int_t)s->all_ghosts,
                "cut", (json_int_t)s->cut));
  return d;
}

void linear_add(const linear *l, json_t *report) {
  const linear_args *a = l->args;
  const kaon_solver_options *o = &l->options;
  char format[32], ordering[32], partition[32], refinement[32];
  json_t *how = json_pack(
      "{s:s s:s s:s s:s s:s s:s s:s s:s s:o s:i s:i s:o s:o s:s?}", "method", linear_method_name(l),
      "precision", precision_name(l->precision), "sloppy", precision_name(o->sloppy), "refinement",
      cli_choice("reliable|restart", a->refinement, refinement), "format",
      cli_choice(LINEAR_FORMATS, a->format, format), "stored", kaon_matrix_operator_format(l->A),
      "ordering", cli_choice(LINEAR_ORDERINGS, a->ordering, ordering), "partition",
      cli_choice(LINEAR_PARTITIONS, a->partition, partition), "rhs",
      report_string(linear_rhs_text(l)), "columns", a->columns, "max_iter", o->max_iterations,
      "tol", report_real(o->tol), "preconditioner", precond_describe(l), "set", a->set);
  json_object_set_new(how, "chosen", l->why[0] ? json_string(l->why) : json_null());
  json_object_set_new(how, "projections", projections_describe(l, l->R));
  json_object_set_new(how, "seed", a->columns > 1 ? report_seed(a->seed) : json_null());
  json_object_update(report, how);
  json_decref(how);
}

kaon_failure linear_failure(const linear *l, char precond[32]) {
  return (kaon_failure){.method = l->projections < 0 ? l->options.method : KAON_RICHARDSON,
                        .precond = cli_choice(LINEAR_PRECONDS, l->args->precond, precond),
                        .sloppy = l->options.sloppy,
                        .hermitian = l->info.hermitian,
                        .entries = 1};
}

static const char too_large[] =
    "--lambda is too large for this matrix: give a smaller one, or 0 for the rule";

static const char *more_steps(const linear *l, double residual) {
  if (l->lambda_most > 0) return too_large;
  if (l->projections >= 0)
    return "--max-iter allows more steps; sweeps of single rows need many (cgmnc the fewest)";
  if (!relax_is(l->options.method)) return "--max-iter allows more steps";
  if (!(residual < 1))
    return "the residual has not fallen, and more steps need not change that; take --method gcr";
  return l->info.hermitian ? "--max-iter allows more steps; --method cg may need fewer"
                           : "--max-iter allows more steps; --method gcr may need fewer";
}

/* What an option of the method may be changed to. NULL: nothing is known of one. */
static const char *by_option(const linear *l, const kaon_column_report *worst) {
  const kaon_method method = l->options.method;
  const int blocks = method == KAON_TWO_STAGE || method == KAON_ASYNC;
  if (l->lambda_most > 0) return too_large;
  if (l->projections == KAON_KACZMARZ_CIMMINO && worst->reason == KAON_BREAKDOWN)
    return "lambda is too large for this matrix: give a smaller --lambda, or 0 for the rule";
  if (worst->rounded)
    return "rounding of b and x in single precision keeps it above --tol; give --precision double "
           "--sloppy single, or a larger --tol";
  if (blocks && l->relax.omega > 1)
    return "with this --omega relaxation does not converge for this matrix; leave --omega out";
  if ((blocks || method == KAON_JACOBI) && l->info.hermitian && l->relax.tau != 0 && !l->indefinite)
    return "relaxation does not converge for this matrix (kaon info --spectrum); give --tau 0";
  if (worst->breakdown == KAON_BREAKDOWN_NOT_FINITE)
    return "numbers near overflow or underflow cause this: multiply A or b by a power of 2";
  return NULL;
}

static const char *advise(const linear *l, kaon_stop_reason reason,
                          const kaon_column_report *worst) {
  static char both[768];
  char precond[32];
  if (reason == KAON_MAX_ITERATIONS && !l->diverges) return more_steps(l, worst->residual);
  kaon_column_report failed = *worst; /* as it would have gone on */
  if (reason == KAON_MAX_ITERATIONS) failed.reason = KAON_DIVERGING;
  const char *option = by_option(l, worst);
  const char *other = solving_advice(linear_failure(l, precond), &failed, &l->trials,
                                     "A is singular or nearly so; check the matrix");
  if (option == NULL) return other;
  snprintf(both, sizeof both, "%s; or %s", option, other);
  return worst->rounded ? option : both;
}

const char *linear_advice(const void *user, kaon_stop_reason reason,
                          const kaon_column_report *worst) {
  static char more[1024];
  const linear *l = user;
  const char *faults = reason == KAON_CANCELLED ? "" : faults_advice(l);
  if (*faults) return faults;
  if (reason == KAON_CANCELLED) return "it was ended early";
  if (worst->unreachable > 0) return null_space_inconsistent(l, worst);
  const char *advice = advise(l, reason, worst);
  if (!l->found.constant || null_space_given(l->args)) return advice;
  snprintf(
      more, sizeof more,
      "%s; A is singular, since A times a constant vector is 0: give --null-space constant, too",
      advice);
  return more;
}
