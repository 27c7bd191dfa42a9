/* invert.c - invertQuda() and its relatives.
 *
 * solution_type says which system is posed, solve_type and inv_type how it is solved:
 *
 *   A^dagger A, staggered on one parity   CG
 *   NORMOP, NORMERR                       CGNR, CGNE
 *   DIRECT                                the table `inverters`
 *
 * A tolerance is for the residual of the system as posed, in units of its source, and true_res is
 * that residual. Outside, vectors are in double; cuda_prec_sloppy is the precision inside. When to
 * replace the residual (reliable_delta) kaon decides by itself. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "operators.h"
#include "solves.h"
#include "system.h"

/* Methods for systems that are not Hermitian. */
static const struct {
  QudaInverterType inverter;
  kaon_method method;
} inverters[] = {
    {QUDA_CG_INVERTER, KAON_CGNR},      {QUDA_BICGSTAB_INVERTER, KAON_BICGSTAB},
    {QUDA_GCR_INVERTER, KAON_GCR},      {QUDA_MR_INVERTER, KAON_MR},
    {QUDA_PCG_INVERTER, KAON_CGNR},     {QUDA_BICGSTABL_INVERTER, KAON_BICGSTAB},
    {QUDA_CGNE_INVERTER, KAON_CGNE},    {QUDA_CGNR_INVERTER, KAON_CGNR},
    {QUDA_CG3_INVERTER, KAON_CGNR},     {QUDA_CG3NE_INVERTER, KAON_CGNE},
    {QUDA_CG3NR_INVERTER, KAON_CGNR},   {QUDA_CA_CG_INVERTER, KAON_CGNR},
    {QUDA_CA_CGNE_INVERTER, KAON_CGNE}, {QUDA_CA_CGNR_INVERTER, KAON_CGNR},
    {QUDA_CA_GCR_INVERTER, KAON_GCR},
};

typedef enum equations { DIRECT, NORMAL, ERROR } equations;
static const struct {
  int pc;
  equations equations;
} solves[] = {[QUDA_DIRECT_SOLVE] = {0, DIRECT}, [QUDA_DIRECT_PC_SOLVE] = {1, DIRECT},
              [QUDA_NORMOP_SOLVE] = {0, NORMAL}, [QUDA_NORMOP_PC_SOLVE] = {1, NORMAL},
              [QUDA_NORMERR_SOLVE] = {0, ERROR}, [QUDA_NORMERR_PC_SOLVE] = {1, ERROR}};

enum { MOST_DIRECTIONS = 32 }; /* of GCR */

/* One call. */
typedef struct job {
  QudaInvertParam *param;
  kaon_quda_request request;
  equations equations;
  kaon_operator *multigrid; /* NULL: none */
  kaon_quda_system *system;
  int columns;
} job;

/* ---- what is asked for ---- */

static kaon_status pose(job *j) {
  const QudaInvertParam *param = j->param;
  const int known = param->solve_type >= QUDA_DIRECT_SOLVE &&
                    param->solve_type <= QUDA_NORMERR_PC_SOLVE,
            pc = known && solves[param->solve_type].pc;
  kaon_quda_use use = {.reduced = pc};
  kaon_status status = kaon_quda_solution_of(param->solution_type, &use.pc, &use.normal);
  if (status != KAON_OK) return status;
  if (known) j->equations = solves[param->solve_type].equations;
  if (!known || (use.pc && !pc) || (use.normal && (use.pc != pc || j->equations == ERROR)))
    return kaon_quda_refuse(KAON_ERR_ARGUMENT,
                            "solution_type is %d and solve_type is %d, but both must be for one "
                            "parity or both for all sites (MAT goes with both), and NORMERR needs "
                            "MAT or MATPC; use solution_type %d (MAT)",
                            (int)param->solution_type, (int)param->solve_type,
                            (int)QUDA_MAT_SOLUTION);
  if (param->inv_type_precondition == QUDA_MG_INVERTER) {
    status = kaon_quda_multigrid(param->preconditioner, &j->multigrid);
    if (status == KAON_OK && (use.normal || j->equations != DIRECT))
      status = kaon_quda_refuse(KAON_ERR_ARGUMENT,
                                "solution_type is %d and solve_type is %d, which are normal "
                                "equations, but multigrid preconditions only direct solves; set "
                                "solve_type to %d (DIRECT) or %d (DIRECT_PC)",
                                (int)param->solution_type, (int)param->solve_type,
                                (int)QUDA_DIRECT_SOLVE, (int)QUDA_DIRECT_PC_SOLVE);
    use.reduced = 0;
  } else if (param->inv_type_precondition != QUDA_INVALID_INVERTER)
    kaon_quda_print(QUDA_VERBOSE,
                    "kaon: inv_type_precondition is %d, but only %d (multigrid) is offered; the "
                    "solve runs without a preconditioner",
                    (int)param->inv_type_precondition, (int)QUDA_MG_INVERTER);
  return status == KAON_OK ? kaon_quda_ask(param, &use, &j->request) : status;
}

static kaon_status choose_method(const job *j, kaon_method *method) {
  const QudaInvertParam *param = j->param;
  int found = 0;
  for (size_t i = 0; i < sizeof inverters / sizeof inverters[0]; i++)
    if (inverters[i].inverter == param->inv_type) {
      *method = inverters[i].method;
      found = 1;
    }
  if (!found)
    return kaon_quda_refuse(KAON_ERR_UNSUPPORTED,
                            "inv_type is %d, which is not offered; set it to %d (CG), %d "
                            "(BiCGStab) or %d (GCR)",
                            (int)param->inv_type, (int)QUDA_CG_INVERTER,
                            (int)QUDA_BICGSTAB_INVERTER, (int)QUDA_GCR_INVERTER);
  if (j->equations == NORMAL) *method = KAON_CGNR;
  if (j->equations == ERROR) *method = KAON_CGNE;
  if (j->request.hermitian) *method = KAON_CG;
  if (j->multigrid != NULL) *method = KAON_GCR;
  return KAON_OK;
}

/* What all solves need. `offered`: a sum of residual types. */
static kaon_status check_stop(const QudaInvertParam *param, int offered) {
  const int type = (int)param->residual_type;
  const kaon_status status = kaon_quda_in_range("maxiter", param->maxiter, 1, INT_MAX);
  if (status != KAON_OK || (type != 0 && (type & ~offered) == 0)) return status;
  return kaon_quda_refuse(
      KAON_ERR_ARGUMENT,
      offered == QUDA_L2_RELATIVE_RESIDUAL
          ? "residual_type is %d, but must be %d (relative) for shifts; set it, or use invertQuda()"
          : "residual_type is %d, but must be %d (relative), 2 (absolute), 4 (heavy-quark) or a "
            "sum",
      type, (int)QUDA_L2_RELATIVE_RESIDUAL);
}

static kaon_status set_options(const job *j, kaon_solver_options *options) {
  const QudaInvertParam *param = j->param;
  kaon_status status = choose_method(j, &options->method);
  if (status == KAON_OK) status = kaon_quda_sloppy(param, &options->sloppy);
  if (status != KAON_OK) return status;
  options->reconstruct = j->request.reconstruct;
  const int heavy_quark = (param->residual_type & QUDA_HEAVY_QUARK_RESIDUAL) != 0;
  const int absolute = (param->residual_type & QUDA_L2_ABSOLUTE_RESIDUAL) != 0;
  const int norm = absolute || (param->residual_type & QUDA_L2_RELATIVE_RESIDUAL) != 0;
  if (norm) status = kaon_quda_in_range("tol", param->tol, 0, absolute ? 1e300 : 1);
  if (status == KAON_OK && heavy_quark) status = kaon_quda_in_range("tol_hq", param->tol_hq, 0, 1);
  options->tol = norm ? fmin(param->tol, 1) : 0;
  options->heavy_quark_tol = heavy_quark ? param->tol_hq : 0;
  options->max_iterations = param->maxiter;
  options->preconditioner = j->multigrid;
  if (options->method == KAON_GCR && param->gcrNkrylov > 0)
    options->subspace = param->gcrNkrylov < MOST_DIRECTIONS ? param->gcrNkrylov : MOST_DIRECTIONS;
  return status;
}

/* ---- vectors ---- */

/* With r the client's operator on one parity and M on all sites, in symmetric form
 *
 *   r x = b            M (x, .) = (T b, 0)
 *   r^dagger x = b     M(-mu) (y, .) = (gamma_5 b, 0),   x = T(-mu) gamma_5 y
 *
 * In asymmetric form T is left out. */
static kaon_status multiply_site(const job *j, int wanted, kaon_vector *v) {
  if (!wanted || !j->request.embedded || j->request.form != KAON_EVEN_ODD_SYMMETRIC) return KAON_OK;
  return kaon_dirac_site(j->system->M, j->request.parity, KAON_PLAIN, 0, v, v);
}

/* From the client's vectors to those of the solver: gamma_5, and the other parity. */
static kaon_status take(const job *j, void **h, kaon_vector *to) {
  const kaon_quda_request *request = &j->request;
  kaon_vector *part = NULL, *whole = NULL;
  if (!request->turned && !request->embedded) return kaon_quda_import(j->param, h, to);
  kaon_status status = kaon_quda_vector(request, kaon_quda_parity(request), j->columns, &part);
  if (status == KAON_OK) status = kaon_quda_import(j->param, h, part);
  if (status == KAON_OK) status = multiply_site(j, !request->turned, part);
  if (status == KAON_OK && request->embedded)
    status = kaon_quda_vector(request, KAON_FULL, j->columns, &whole);
  if (status == KAON_OK && request->embedded) status = kaon_vector_copy_parity(whole, part);
  const kaon_vector *all = request->embedded ? whole : part;
  if (status == KAON_OK)
    status = request->turned ? kaon_vector_gamma5(all, to) : kaon_vector_copy(to, all);
  kaon_vector_destroy(&part);
  kaon_vector_destroy(&whole);
  return status;
}

/* Back again. `room` is overwritten. */
static kaon_status give(const job *j, kaon_vector *from, kaon_vector *room, void **h) {
  const kaon_quda_request *request = &j->request;
  kaon_vector *part = NULL;
  const kaon_vector *all = request->turned ? room : from;
  kaon_status status = request->turned ? kaon_vector_gamma5(from, room) : KAON_OK;
  if (status == KAON_OK && !request->embedded) return kaon_quda_export(j->param, all, h);
  if (status == KAON_OK) status = kaon_quda_vector(request, request->parity, j->columns, &part);
  if (status == KAON_OK) status = kaon_vector_copy_parity(part, all);
  if (status == KAON_OK) status = multiply_site(j, request->turned, part);
  if (status == KAON_OK) status = kaon_quda_export(j->param, part, h);
  kaon_vector_destroy(&part);
  return status;
}

/* ---- what goes back ---- */

/* r = b - (A + sigma) x, in vectors with a column for each of x. b has one column, or as many. */
static kaon_status residual_of(kaon_operator *A, const double *sigma, const kaon_vector *b,
                               const kaon_vector *x, kaon_vector *Ax, kaon_vector *r) {
  const int columns = kaon_vector_columns(x), sources = kaon_vector_columns(b);
  double factor[QUDA_MAX_MULTI_SRC][2] = {{0}};
  kaon_status status = kaon_operator_apply(A, KAON_PLAIN, x, Ax);
  for (int k = 0; k < columns && status == KAON_OK; k++)
    status = kaon_vector_copy_columns(r, k, b, sources == columns ? k : 0, 1);
  if (status == KAON_OK) status = kaon_vector_axpy(-1, 0, Ax, r);
  if (status != KAON_OK || sigma == NULL) return status;
  for (int k = 0; k < columns; k++) factor[k][0] = -sigma[k];
  return kaon_vector_axpy_columns((const double(*)[2])factor, x, r);
}

/* Heavy-quark residuals of the columns of x for (A + sigma[i]) x_i = b. `sigma` NULL: 0. */
static kaon_status heavy_quark(const kaon_quda_system *system, const double *sigma,
                               double *residual) {
  kaon_vector *Ax = NULL, *r = NULL;
  const kaon_space *space = kaon_vector_space(system->x);
  const int columns = kaon_vector_columns(system->x);
  kaon_context *ctx = kaon_quda()->ctx;
  kaon_status status = kaon_vector_create(ctx, space, KAON_DOUBLE, columns, &Ax);
  if (status == KAON_OK) status = kaon_vector_create(ctx, space, KAON_DOUBLE, columns, &r);
  if (status == KAON_OK) status = residual_of(system->A, sigma, system->b, system->x, Ax, r);
  if (status == KAON_OK) status = kaon_vector_heavy_quark(r, system->x, residual);
  kaon_vector_destroy(&Ax);
  kaon_vector_destroy(&r);
  return status;
}

/* Steps, time and a line for each column that did not reach its tolerances; 0 of a tolerance: any. */
static void fill(QudaInvertParam *param, const char *what, int columns,
                 const kaon_column_report *reports, const kaon_solve_report *report,
                 const double *tol, double tol_hq, double *true_res) {
  param->iter = 0;
  param->secs = fmax(report->seconds, 1e-9); /* clients divide by it */
  param->gflops = report->flops * 1e-9;
  for (int k = 0; k < columns; k++) {
    const kaon_column_report *c = &reports[k];
    if (c->iterations > param->iter) param->iter = c->iterations;
    true_res[k] = c->residual;
    char target[32] = "", heavy[80] = "";
    if (tol[k] > 0) snprintf(target, sizeof target, ", target %.3e", tol[k]);
    if (tol_hq > 0)
      snprintf(heavy, sizeof heavy, "; heavy-quark residual %.3e, target %.3e", c->heavy_quark,
               tol_hq);
    if (tol[k] + tol_hq > 0 && c->reason != KAON_CONVERGED)
      kaon_quda_print(QUDA_SUMMARIZE,
                      "kaon: %s %d of %d did not converge (%s): residual %.3e after %d "
                      "iterations%s%s",
                      what, k + 1, columns, kaon_stop_reason_name(c->reason), c->residual,
                      c->iterations, target, heavy);
  }
}

/* action = sum of weight_k (b, x_k) of `count` solutions, with the normalisation of the solve. */
static kaon_status find_action(const job *j, int count, const double *weight) {
  kaon_vector *b = NULL, *x = NULL;
  double dot[1][2], *action = j->param->action;
  const kaon_parity parity = kaon_quda_parity(&j->request);
  action[0] = action[1] = 0;
  if (j->request.embedded)
    return kaon_quda_refuse(KAON_ERR_UNSUPPORTED,
                            "compute_action is %d, but it is not offered for one parity with "
                            "multigrid; set it to 0",
                            j->param->compute_action);
  kaon_status status = kaon_quda_vector(&j->request, parity, 1, &b);
  if (status == KAON_OK) status = kaon_quda_vector(&j->request, parity, 1, &x);
  if (status == KAON_OK) status = kaon_vector_copy_columns(b, 0, j->system->b, 0, 1);
  for (int k = 0; k < count && status == KAON_OK; k++) {
    status = kaon_vector_copy_columns(x, 0, j->system->x, k, 1);
    if (status == KAON_OK) status = kaon_vector_dot(b, x, dot);
    for (int i = 0; i < 2 && status == KAON_OK; i++) action[i] += weight[k] * dot[0][i];
  }
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
  return status;
}

/* ---- solves ---- */

/* The tolerance relative to the largest source, if that of the client is absolute. If it is both,
 * the stricter counts. */
static kaon_status make_relative(const job *j, void **h_b, kaon_solver_options *options) {
  double norm2[QUDA_MAX_MULTI_SRC], largest = 0;
  kaon_vector *b = NULL;
  if ((j->param->residual_type & QUDA_L2_ABSOLUTE_RESIDUAL) == 0) return KAON_OK;
  kaon_status status = kaon_quda_vector(
      &j->request, j->request.embedded ? KAON_FULL : kaon_quda_parity(&j->request), j->columns, &b);
  if (status == KAON_OK) status = take(j, h_b, b);
  if (status == KAON_OK) status = kaon_vector_norm2(b, norm2);
  kaon_vector_destroy(&b);
  for (int k = 0; k < j->columns && status == KAON_OK; k++) largest = fmax(largest, norm2[k]);
  if (status == KAON_OK && largest > 0)
    options->tol = fmin(j->param->residual_type & QUDA_L2_RELATIVE_RESIDUAL ? options->tol : 1,
                        j->param->tol * fabs(j->request.factor) / sqrt(largest));
  return status;
}

/* Where x begins: earlier solutions, the client's guess, or 0. */
static kaon_status begin(const job *j, void **h_x) {
  kaon_quda_system *system = j->system;
  if (j->param->chrono_use_resident) {
    const int reduced = kaon_operator_space(system->A) == kaon_vector_space(system->x);
    return kaon_quda_guess(j->param, reduced ? system->A : system->M, system->b, system->x);
  }
  if (j->param->use_init_guess == QUDA_USE_INIT_GUESS_YES && !j->request.embedded)
    return take(j, h_x, system->x);
  return kaon_vector_zero(system->x);
}

static kaon_status report_solve(const job *j, const kaon_column_report *columns,
                                const kaon_solve_report *report,
                                const kaon_solver_options *options) {
  QudaInvertParam *param = j->param;
  const kaon_quda_request *request = &j->request;
  static const double one = 1;
  double tol[QUDA_MAX_MULTI_SRC] = {0};
  kaon_status status = param->compute_action ? find_action(j, 1, &one) : KAON_OK;
  for (int k = 0; k < j->columns; k++) {
    tol[k] = options->tol;
    param->true_res_hq[k] = columns[k].heavy_quark;
  }
  fill(param, "solution", j->columns, columns, report, tol, options->heavy_quark_tol,
       param->true_res);
  if (status == KAON_OK && param->compute_true_res && options->heavy_quark_tol == 0 &&
      !request->wilson && request->pc)
    status = heavy_quark(j->system, NULL, param->true_res_hq);
  return status;
}

/* If a column stagnated or broke down in half precision, solves on in single from the last iterate. */
static kaon_status go_on(const job *j, const kaon_solver_options *options,
                         kaon_column_report *columns, kaon_solve_report *report) {
  kaon_solver_options single = *options;
  kaon_solve_report more = KAON_SOLVE_REPORT_INIT;
  kaon_solver *solver = NULL;
  int stuck = 0, steps = 0, before[QUDA_MAX_MULTI_SRC];
  for (int k = 0; k < j->columns; k++) {
    before[k] = columns[k].iterations;
    stuck |= columns[k].reason == KAON_STAGNATED || columns[k].reason == KAON_BREAKDOWN;
    if (before[k] > steps) steps = before[k];
  }
  if (!stuck || options->sloppy != KAON_HALF || steps >= options->max_iterations) return KAON_OK;
  single.sloppy = KAON_SINGLE;
  single.max_iterations -= steps;
  kaon_status status = kaon_solver_create(j->system->A, j->columns, &single, &solver);
  if (status == KAON_OK)
    status = kaon_solver_solve(solver, j->system->b, j->system->x, columns, &more);
  kaon_solver_destroy(&solver);
  if (status != KAON_OK) return status;
  kaon_quda_print(QUDA_SUMMARIZE,
                  "kaon: half precision (cuda_prec_sloppy %d) got no further after %d iterations; "
                  "the solve went on in single (%d)",
                  (int)QUDA_HALF_PRECISION, steps, (int)QUDA_SINGLE_PRECISION);
  for (int k = 0; k < j->columns; k++) columns[k].iterations += before[k];
  report->seconds += more.seconds;
  report->flops += more.flops;
  return KAON_OK;
}

static kaon_status solve(job *j, void **h_x, void **h_b) {
  kaon_column_report columns[QUDA_MAX_MULTI_SRC];
  kaon_solve_report report = KAON_SOLVE_REPORT_INIT;
  kaon_solver_options options;
  QudaInvertParam *param = j->param;
  kaon_quda_solver_defaults(&options);
  kaon_status status = kaon_quda_check_columns(j->columns);
  if (status == KAON_OK)
    status = check_stop(j->param, QUDA_L2_RELATIVE_RESIDUAL | QUDA_L2_ABSOLUTE_RESIDUAL |
                                      QUDA_HEAVY_QUARK_RESIDUAL);
  if (status == KAON_OK) status = pose(j);
  if (status == KAON_OK) status = kaon_quda_find(&j->request.key, &j->system);
  if (status == KAON_OK) status = set_options(j, &options);
  if (status == KAON_OK) status = make_relative(j, h_b, &options);
  if (status != KAON_OK) return status;
  kaon_quda_system *system = j->system;
  const kaon_parity parity = j->request.embedded ? KAON_FULL : kaon_quda_parity(&j->request);
  status = kaon_quda_prepare(system, &options, j->columns, kaon_quda_space(&j->request, parity));
  if (status == KAON_OK) status = take(j, h_b, system->b);
  if (status == KAON_OK) status = kaon_quda_scale(system->b, 1 / j->request.factor);
  if (status == KAON_OK) status = begin(j, h_x);
  if (status == KAON_OK)
    status = kaon_solver_solve(system->solver, system->b, system->x, columns, &report);
  if (status == KAON_OK) status = go_on(j, &options, columns, &report);
  if (status == KAON_OK && param->chrono_make_resident)
    status = kaon_quda_keep_solution(param, system->x);
  if (status == KAON_OK) status = report_solve(j, columns, &report, &options);
  if (status != KAON_OK) return status;
  if (j->multigrid != NULL) kaon_quda_multigrid_solved(param->preconditioner, columns, j->columns);
  return param->make_resident_solution ? KAON_OK : give(j, system->x, system->b, h_x);
}

/* Sets the verbosity of a call, if it has one; returns the former. */
static QudaVerbosity speak(QudaVerbosity verbosity) {
  const QudaVerbosity former = kaon_quda()->verbosity;
  if (verbosity != QUDA_INVALID_VERBOSITY) kaon_quda()->verbosity = verbosity;
  return former;
}

/* Tells the client of a failure. */
static void fail(QudaInvertParam *param, int columns, int most, double *res, double *res_hq) {
  param->iter = -1;
  param->secs = 1e-9; /* clients divide by it */
  for (int k = 0; k < most && (k < columns || k == 0); k++) res[k] = res_hq[k] = NAN;
}

static void invert(const char *function, void **h_x, void **h_b, QudaInvertParam *param,
                   int columns) {
  job j = {.param = param, .columns = columns};
  const QudaVerbosity outside = speak(param->verbosity);
  const kaon_status status = solve(&j, h_x, h_b);
  speak(outside);
  if (!kaon_quda_ended(function, status, 1))
    fail(param, columns, QUDA_MAX_MULTI_SRC, param->true_res, param->true_res_hq);
}

void invertQuda(void *h_x, void *h_b, QudaInvertParam *param) {
  KAON_QUDA_NEED(param);
  invert(__func__, &h_x, &h_b, param, 1);
}

void invertMultiSrcQuda(void **h_x, void **h_b, QudaInvertParam *param) {
  KAON_QUDA_NEED(param);
  KAON_QUDA_NEED(h_x);
  KAON_QUDA_NEED(h_b);
  invert(__func__, h_x, h_b, param, param->num_src);
}

/* ---- several shifts: (A^dagger A + offset_i) x_i = b, staggered (offset_i - D D) x_i = b ---- */

/* A staggered operator has the smallest offset as its mass; sigma is what the others have more. */
static kaon_status pose_shifts(job *j, double *sigma) {
  const QudaInvertParam *param = j->param;
  const int staggered =
      param->dslash_type == QUDA_STAGGERED_DSLASH || param->dslash_type == QUDA_ASQTAD_DSLASH;
  QudaInvertParam base = *param;
  kaon_quda_use use = {0};
  double least = INFINITY;
  kaon_status status = kaon_quda_solution_of(param->solution_type, &use.pc, &use.normal);
  if (status != KAON_OK) return status;
  if (staggered ? !use.pc || use.normal : !use.normal)
    return kaon_quda_refuse(KAON_ERR_ARGUMENT,
                            "solution_type is %d, but solves with shifts need MATPC (%d) for "
                            "staggered operators, else MATDAG_MAT (%d) or MATPCDAG_MATPC (%d)",
                            (int)param->solution_type, (int)QUDA_MATPC_SOLUTION,
                            (int)QUDA_MATDAG_MAT_SOLUTION, (int)QUDA_MATPCDAG_MATPC_SOLUTION);
  for (int i = 0; i < j->columns && status == KAON_OK; i++) {
    char member[32];
    snprintf(member, sizeof member, "offset[%d]", i);
    status = kaon_quda_in_range(member, param->offset[i], staggered ? 0 : -1e300, 1e300);
    snprintf(member, sizeof member, "tol_offset[%d]", i);
    if (status == KAON_OK) status = kaon_quda_in_range(member, param->tol_offset[i], 0, 1);
    least = fmin(least, param->offset[i]);
  }
  if (status == KAON_OK && param->tol_offset[0] == 0)
    status = kaon_quda_in_range("tol", param->tol, 0, 1);
  if (status != KAON_OK) return status;
  if (staggered) base.mass = sqrt(least) / 2;
  use.reduced = use.pc;
  status = kaon_quda_ask(&base, &use, &j->request);
  for (int i = 0; i < j->columns; i++)
    sigma[i] = !staggered                  ? param->offset[i] / j->request.factor
               : param->offset[i] == least ? 0
                                           : param->offset[i] - 4 * base.mass * base.mass;
  return status;
}

static kaon_status solve_shifts(job *j, const double *sigma, void *h_b) {
  QudaInvertParam *param = j->param;
  kaon_quda_system *system = j->system;
  kaon_column_report reports[QUDA_MAX_MULTI_SHIFT];
  kaon_solve_report report = KAON_SOLVE_REPORT_INIT;
  double tol[QUDA_MAX_MULTI_SHIFT];
  int heavy = 0; /* 1: heavy-quark residuals are asked for; they do not stop the solve */
  memcpy(tol, param->tol_offset, sizeof tol);
  if (tol[0] == 0) tol[0] = param->tol;
  kaon_status status = kaon_multishift_set_tol(system->shifts, tol);
  if (status == KAON_OK) status = kaon_quda_import(param, &h_b, system->b);
  if (status == KAON_OK) status = kaon_quda_scale(system->b, 1 / j->request.factor);
  if (status == KAON_OK)
    status = kaon_multishift_solve(system->shifts, system->b, system->x, reports, &report);
  if (status != KAON_OK) return status;
  fill(param, "shift", j->columns, reports, &report, tol, 0, param->true_res_offset);
  param->true_res[0] = reports[0].residual;
  for (int i = 0; i < j->columns; i++) {
    param->iter_res_offset[i] = reports[i].stop_residual;
    param->true_res_hq_offset[i] = 0;
    heavy |= param->tol_hq_offset[i] > 0;
  }
  if (heavy) status = heavy_quark(system, sigma, param->true_res_hq_offset);
  if (status != KAON_OK || !param->compute_action) return status;
  return find_action(j, j->columns, param->residue);
}

static kaon_status shifts(job *j, void **h_x, void *h_b) {
  const QudaInvertParam *param = j->param;
  kaon_multishift_options options;
  double sigma[QUDA_MAX_MULTI_SHIFT];
  kaon_quda_shift_defaults(&options);
  kaon_status status = kaon_quda_in_range("num_offset", j->columns, 1, QUDA_MAX_MULTI_SHIFT);
  if (status == KAON_OK) status = check_stop(param, QUDA_L2_RELATIVE_RESIDUAL);
  if (status == KAON_OK) status = pose_shifts(j, sigma);
  if (status == KAON_OK) status = kaon_quda_find(&j->request.key, &j->system);
  if (status == KAON_OK) status = kaon_quda_sloppy(param, &options.sloppy);
  if (status != KAON_OK) return status;
  options.reconstruct = j->request.reconstruct;
  options.max_iterations = param->maxiter;
  status = kaon_quda_prepare_shifts(j->system, &options, j->columns, sigma,
                                    kaon_quda_space(&j->request, kaon_quda_parity(&j->request)));
  if (status == KAON_OK) status = solve_shifts(j, sigma, h_b);
  if (status != KAON_OK || param->make_resident_solution) return status;
  return kaon_quda_export(param, j->system->x, h_x);
}

void invertMultiShiftQuda(void **h_x, void *h_b, QudaInvertParam *param) {
  KAON_QUDA_NEED(param);
  KAON_QUDA_NEED(h_x);
  job j = {.param = param, .columns = param->num_offset};
  const QudaVerbosity outside = speak(param->verbosity);
  const kaon_status status = shifts(&j, h_x, h_b);
  speak(outside);
  if (!kaon_quda_ended(__func__, status, 1))
    fail(param, j.columns, QUDA_MAX_MULTI_SHIFT, param->true_res_offset, param->true_res_hq_offset);
}
