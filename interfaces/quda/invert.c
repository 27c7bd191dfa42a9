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
#include <float.h>
#include <math.h>
#include <string.h>

#include "operators.h"
#include "solves.h"

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
  QudaSolveType type;
  int pc;
  equations equations;
} solves[] = {
    {QUDA_DIRECT_SOLVE, 0, DIRECT},    {QUDA_NORMOP_SOLVE, 0, NORMAL},
    {QUDA_NORMERR_SOLVE, 0, ERROR},    {QUDA_DIRECT_PC_SOLVE, 1, DIRECT},
    {QUDA_NORMOP_PC_SOLVE, 1, NORMAL}, {QUDA_NORMERR_PC_SOLVE, 1, ERROR},
};

#define COUNT(table) (int)(sizeof(table) / sizeof(table)[0])

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
  kaon_quda_solution solution;
  if (param->inv_type_precondition != QUDA_INVALID_INVERTER &&
      param->inv_type_precondition != QUDA_MG_INVERTER)
    kaon_quda_print(
        QUDA_VERBOSE,
        "kaon: inv_type_precondition is %d, but solves have a preconditioner of type %d "
        "(multigrid) or none; this one has none",
        (int)param->inv_type_precondition, (int)QUDA_MG_INVERTER);
  int pc = -1;
  kaon_status status = kaon_quda_solution_of(param->solution_type, &solution);
  if (status != KAON_OK) return status;
  for (int i = 0; i < COUNT(solves); i++)
    if (solves[i].type == param->solve_type) {
      pc = solves[i].pc;
      j->equations = solves[i].equations;
    }
  if (pc < 0)
    return kaon_quda_refuse(KAON_ERR_ARGUMENT, "solve_type is %d, but must be from %d to %d",
                            (int)param->solve_type, (int)QUDA_DIRECT_SOLVE,
                            (int)QUDA_NORMERR_PC_SOLVE);
  if ((solution.pc && !pc) || (solution.normal && (solution.pc != pc || j->equations == ERROR)))
    return kaon_quda_refuse(KAON_ERR_ARGUMENT,
                            "solution_type %d does not go with solve_type %d: both must be of one "
                            "parity or of all sites (MAT takes either), and NORMERR solves are for "
                            "MAT and MATPC",
                            (int)param->solution_type, (int)param->solve_type);
  if (param->inv_type_precondition == QUDA_MG_INVERTER)
    status = kaon_quda_multigrid(param->preconditioner, &j->multigrid);
  if (status == KAON_OK && j->multigrid != NULL && (solution.normal || j->equations != DIRECT))
    status =
        kaon_quda_refuse(KAON_ERR_ARGUMENT,
                         "multigrid is a preconditioner of direct solves; solution_type %d and "
                         "solve_type %d ask for normal equations",
                         (int)param->solution_type, (int)param->solve_type);
  if (status != KAON_OK) return status;
  const kaon_quda_use use = {
      .pc = solution.pc, .reduced = pc && j->multigrid == NULL, .normal = solution.normal};
  return kaon_quda_ask(param, &use, &j->request);
}

static kaon_status choose_method(const job *j, kaon_method *method) {
  const QudaInvertParam *param = j->param;
  int found = 0;
  for (int i = 0; i < COUNT(inverters); i++)
    if (inverters[i].inverter == param->inv_type) {
      *method = inverters[i].method;
      found = 1;
    }
  if (!found)
    return kaon_quda_refuse(KAON_ERR_UNSUPPORTED,
                            "inv_type is %d, which kaon does not have; take CG (%d), BiCGStab (%d) "
                            "or GCR (%d)",
                            (int)param->inv_type, (int)QUDA_CG_INVERTER,
                            (int)QUDA_BICGSTAB_INVERTER, (int)QUDA_GCR_INVERTER);
  if (j->equations == NORMAL) *method = KAON_CGNR;
  if (j->equations == ERROR) *method = KAON_CGNE;
  if (j->request.hermitian) *method = KAON_CG;
  if (j->multigrid != NULL) *method = KAON_GCR;
  return KAON_OK;
}

static kaon_status set_options(const job *j, kaon_solver_options *options) {
  const QudaInvertParam *param = j->param;
  kaon_status status = choose_method(j, &options->method);
  if (status == KAON_OK)
    status = kaon_quda_sloppy(param, &j->request, &options->sloppy, &options->reconstruct);
  if (status != KAON_OK) return status;
  if (param->maxiter < 1)
    return kaon_quda_refuse(KAON_ERR_ARGUMENT, "maxiter is %d, but must be positive",
                            param->maxiter);
  const int heavy_quark = (param->residual_type & QUDA_HEAVY_QUARK_RESIDUAL) != 0;
  const int norm = (param->residual_type & ~QUDA_HEAVY_QUARK_RESIDUAL) != 0;
  if ((norm && param->tol == DBL_MIN) || (heavy_quark && param->tol_hq == DBL_MIN))
    return kaon_quda_refuse(KAON_ERR_ARGUMENT, "QudaInvertParam.%s is not set",
                            heavy_quark && param->tol_hq == DBL_MIN ? "tol_hq" : "tol");
  options->tol = norm ? fmin(param->tol, 1) : 0;
  options->heavy_quark_tol = heavy_quark ? fmin(param->tol_hq, 1) : 0;
  options->max_iterations = param->maxiter;
  options->preconditioner = j->multigrid;
  if (options->method == KAON_GCR && param->gcrNkrylov > 0) options->subspace = param->gcrNkrylov;
  return KAON_OK;
}

/* ---- vectors ---- */

static kaon_status import_columns(const job *j, void **h, const kaon_quda_spinor_layout *layout,
                                  kaon_vector *v) {
  kaon_status status = KAON_OK;
  for (int k = 0; k < j->columns && status == KAON_OK; k++)
    status = kaon_quda_import_spinor(v, k, h[k], 0, layout);
  return status;
}

static kaon_status export_columns(const job *j, void **h, const kaon_quda_spinor_layout *layout,
                                  const kaon_vector *v) {
  kaon_status status = KAON_OK;
  for (int k = 0; k < j->columns && status == KAON_OK; k++)
    status = kaon_quda_export_spinor(v, k, h[k], 0, layout);
  return status;
}

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
  const kaon_quda_spinor_layout layout = kaon_quda_input_layout(j->param);
  const kaon_parity parity = kaon_quda_parity(request);
  kaon_vector *part = NULL, *whole = NULL;
  if (!request->turned && !request->embedded) return import_columns(j, h, &layout, to);
  kaon_status status = kaon_quda_vector(request, parity, j->columns, &part);
  if (status == KAON_OK) status = import_columns(j, h, &layout, part);
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
  const kaon_quda_spinor_layout layout = kaon_quda_output_layout(j->param);
  kaon_vector *part = NULL;
  const kaon_vector *all = request->turned ? room : from;
  kaon_status status = request->turned ? kaon_vector_gamma5(from, room) : KAON_OK;
  if (status != KAON_OK || !request->embedded)
    return status != KAON_OK ? status : export_columns(j, h, &layout, all);
  status = kaon_quda_vector(request, request->parity, j->columns, &part);
  if (status == KAON_OK) status = kaon_vector_copy_parity(part, all);
  if (status == KAON_OK) status = multiply_site(j, request->turned, part);
  if (status == KAON_OK) status = export_columns(j, h, &layout, part);
  kaon_vector_destroy(&part);
  return status;
}

/* ---- solves ---- */

/* The tolerance relative to the largest source, if that of the client is absolute. */
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
    options->tol = fmin(1, j->param->tol * fabs(j->request.factor) / sqrt(largest));
  return status;
}

static void fill(const job *j, const kaon_column_report *columns, const kaon_solve_report *report,
                 const kaon_solver_options *options) {
  QudaInvertParam *param = j->param;
  param->iter = 0;
  param->secs = fmax(report->seconds, 1e-9); /* clients divide by it */
  param->gflops = report->flops * 1e-9;
  for (int k = 0; k < j->columns; k++) {
    if (columns[k].iterations > param->iter) param->iter = columns[k].iterations;
    param->true_res[k] = columns[k].residual;
    param->true_res_hq[k] = columns[k].heavy_quark;
    if (options->tol + options->heavy_quark_tol > 0 && columns[k].reason != KAON_CONVERGED)
      kaon_quda_print(QUDA_SUMMARIZE,
                      "kaon: source %d of %d: residual %.3e (heavy-quark %.3e) after %d iterations "
                      "(%s), but %.3e (%.3e) was asked for; 0 means any",
                      k + 1, j->columns, columns[k].residual, columns[k].heavy_quark,
                      columns[k].iterations, kaon_stop_reason_name(columns[k].reason), options->tol,
                      options->heavy_quark_tol);
  }
}

/* action = (b, x) of the first source, with the normalisation of the solve. */
static kaon_status find_action(const job *j) {
  double dot[QUDA_MAX_MULTI_SRC][2];
  if (j->request.embedded)
    return kaon_quda_refuse(KAON_ERR_UNSUPPORTED,
                            "compute_action is set for a system of one parity with multigrid; set "
                            "it to 0");
  const kaon_status status = kaon_vector_dot(j->system->b, j->system->x, dot);
  if (status == KAON_OK) memcpy(j->param->action, dot[0], sizeof dot[0]);
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

static kaon_status solve(job *j, void **h_x, void **h_b) {
  kaon_column_report columns[QUDA_MAX_MULTI_SRC];
  kaon_solve_report report = KAON_SOLVE_REPORT_INIT;
  kaon_solver_options options;
  QudaInvertParam *param = j->param;
  kaon_quda_solver_defaults(&options);
  kaon_status status = kaon_quda_check_columns(j->columns);
  if (status == KAON_OK) status = pose(j);
  if (status == KAON_OK)
    status = kaon_quda_find(&j->request.key, kaon_quda_make_operators, &j->system);
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
  if (status == KAON_OK && param->chrono_make_resident)
    status = kaon_quda_keep_solution(param, system->x);
  if (status == KAON_OK && param->compute_action) status = find_action(j);
  if (status != KAON_OK) return status;
  fill(j, columns, &report, &options);
  if (j->multigrid != NULL) kaon_quda_multigrid_solved(param->preconditioner, columns, j->columns);
  return param->make_resident_solution ? KAON_OK : give(j, system->x, system->b, h_x);
}

/* Sets the verbosity of a call, if it has one; returns the former. */
static QudaVerbosity speak(QudaVerbosity verbosity) {
  const QudaVerbosity former = kaon_quda()->verbosity;
  if (verbosity != QUDA_INVALID_VERBOSITY) kaon_quda()->verbosity = verbosity;
  return former;
}

static void invert(const char *function, void **h_x, void **h_b, QudaInvertParam *param,
                   int columns) {
  job j = {.param = param, .columns = columns};
  const QudaVerbosity outside = speak(param->verbosity);
  const kaon_status status = solve(&j, h_x, h_b);
  speak(outside);
  if (kaon_quda_ended(function, status, 1)) return;
  param->iter = -1;
  for (int k = 0; k < columns && k < QUDA_MAX_MULTI_SRC; k++)
    param->true_res[k] = param->true_res_hq[k] = NAN;
}

void invertQuda(void *h_x, void *h_b, QudaInvertParam *param) {
  invert(__func__, &h_x, &h_b, param, 1);
}

void invertMultiSrcQuda(void **h_x, void **h_b, QudaInvertParam *param) {
  invert(__func__, h_x, h_b, param, param->num_src);
}

/* ---- several shifts: (A^dagger A + offset_i) x_i = b, staggered (offset_i - D D) x_i = b ---- */

static int is_staggered(const QudaInvertParam *param) {
  return param->dslash_type == QUDA_STAGGERED_DSLASH || param->dslash_type == QUDA_ASQTAD_DSLASH;
}

static kaon_status pose_shifts(const QudaInvertParam *param, kaon_quda_request *request,
                               double *sigma) {
  kaon_quda_solution solution;
  QudaInvertParam base = *param;
  const int staggered = is_staggered(param);
  kaon_status status = kaon_quda_solution_of(param->solution_type, &solution);
  if (status != KAON_OK) return status;
  if (param->num_offset < 1 || param->num_offset > QUDA_MAX_MULTI_SHIFT)
    return kaon_quda_refuse(KAON_ERR_ARGUMENT, "num_offset is %d, but must be from 1 to %d",
                            param->num_offset, QUDA_MAX_MULTI_SHIFT);
  if (staggered ? !solution.pc || solution.normal : !solution.normal)
    return kaon_quda_refuse(KAON_ERR_ARGUMENT,
                            "solution_type is %d, but shifts are for MATPC (%d) of staggered "
                            "operators, and for MATDAG_MAT (%d) and MATPCDAG_MATPC (%d) of others",
                            (int)param->solution_type, (int)QUDA_MATPC_SOLUTION,
                            (int)QUDA_MATDAG_MAT_SOLUTION, (int)QUDA_MATPCDAG_MATPC_SOLUTION);
  if (staggered) base.mass = sqrt(param->offset[0] / 4);
  const kaon_quda_use use = {.pc = solution.pc, .reduced = solution.pc, .normal = solution.normal};
  status = kaon_quda_ask(&base, &use, request);
  for (int i = 0; i < param->num_offset; i++)
    sigma[i] = staggered ? param->offset[i] - param->offset[0] : param->offset[i] / request->factor;
  return status;
}

static kaon_status set_shift_options(const QudaInvertParam *param, const kaon_quda_request *request,
                                     kaon_multishift_options *options) {
  options->tol = param->tol_offset[0] > 0 ? param->tol_offset[0] : param->tol;
  options->max_iterations = param->maxiter;
  return kaon_quda_sloppy(param, request, &options->sloppy, &options->reconstruct);
}

static void fill_shifts(QudaInvertParam *param, const kaon_column_report *reports,
                        const kaon_solve_report *report) {
  param->iter = 0;
  param->secs = fmax(report->seconds, 1e-9); /* clients divide by it */
  param->gflops = report->flops * 1e-9;
  for (int i = 0; i < param->num_offset; i++) {
    if (reports[i].iterations > param->iter) param->iter = reports[i].iterations;
    param->true_res_offset[i] = reports[i].residual;
    param->iter_res_offset[i] = reports[i].stop_residual;
    if (reports[i].reason != KAON_CONVERGED)
      kaon_quda_print(QUDA_SUMMARIZE,
                      "kaon: shift %d of %d: residual %.3e after %d iterations (%s), but %.3e was "
                      "asked for",
                      i + 1, param->num_offset, reports[i].residual, reports[i].iterations,
                      kaon_stop_reason_name(reports[i].reason), param->tol_offset[i]);
  }
  param->true_res[0] = reports[0].residual;
}

/* action = sum of residue_i (b, x_i). */
static kaon_status find_shifts_action(QudaInvertParam *param, const kaon_quda_request *request,
                                      const kaon_quda_system *system) {
  kaon_vector *x = NULL;
  double dot[1][2];
  kaon_status status = kaon_quda_vector(request, kaon_quda_parity(request), 1, &x);
  param->action[0] = param->action[1] = 0;
  for (int i = 0; i < param->num_offset && status == KAON_OK; i++) {
    status = kaon_vector_copy_columns(x, 0, system->x, i, 1);
    if (status == KAON_OK) status = kaon_vector_dot(system->b, x, dot);
    for (int k = 0; k < 2 && status == KAON_OK; k++)
      param->action[k] += param->residue[i] * dot[0][k];
  }
  kaon_vector_destroy(&x);
  return status;
}

static kaon_status solve_shifts(QudaInvertParam *param, const kaon_quda_request *request,
                                kaon_quda_system *system, void *h_b) {
  const kaon_quda_spinor_layout layout = kaon_quda_input_layout(param);
  kaon_column_report reports[QUDA_MAX_MULTI_SHIFT];
  kaon_solve_report report = KAON_SOLVE_REPORT_INIT;
  double tol[QUDA_MAX_MULTI_SHIFT];
  for (int i = 0; i < param->num_offset; i++) tol[i] = param->tol_offset[i];
  if (tol[0] <= 0) tol[0] = param->tol;
  kaon_status status = kaon_multishift_set_tol(system->shifts, tol);
  if (status == KAON_OK) status = kaon_quda_import_spinor(system->b, 0, h_b, 0, &layout);
  if (status == KAON_OK) status = kaon_quda_scale(system->b, 1 / request->factor);
  if (status == KAON_OK)
    status = kaon_multishift_solve(system->shifts, system->b, system->x, reports, &report);
  if (status == KAON_OK) fill_shifts(param, reports, &report);
  if (status == KAON_OK && param->compute_action)
    status = find_shifts_action(param, request, system);
  return status;
}

static kaon_status shifts(void **h_x, void *h_b, QudaInvertParam *param) {
  const kaon_quda_spinor_layout layout = kaon_quda_output_layout(param);
  kaon_multishift_options options;
  kaon_quda_request request;
  kaon_quda_system *system;
  double sigma[QUDA_MAX_MULTI_SHIFT];
  kaon_quda_shift_defaults(&options);
  kaon_status status = pose_shifts(param, &request, sigma);
  if (status == KAON_OK) status = kaon_quda_find(&request.key, kaon_quda_make_operators, &system);
  if (status == KAON_OK) status = set_shift_options(param, &request, &options);
  if (status == KAON_OK)
    status = kaon_quda_prepare_shifts(system, &options, param->num_offset, sigma,
                                      kaon_quda_space(&request, kaon_quda_parity(&request)));
  if (status == KAON_OK) status = solve_shifts(param, &request, system, h_b);
  for (int i = 0; i < param->num_offset && status == KAON_OK; i++)
    if (!param->make_resident_solution)
      status = kaon_quda_export_spinor(system->x, i, h_x[i], 0, &layout);
  return status;
}

void invertMultiShiftQuda(void **h_x, void *h_b, QudaInvertParam *param) {
  const QudaVerbosity outside = speak(param->verbosity);
  const kaon_status status = shifts(h_x, h_b, param);
  speak(outside);
  if (kaon_quda_ended(__func__, status, 1)) return;
  param->iter = -1;
  for (int i = 0; i < param->num_offset && i < QUDA_MAX_MULTI_SHIFT; i++)
    param->true_res_offset[i] = NAN;
}
