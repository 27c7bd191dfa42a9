/* invert_shifts.c - invertMultiShiftQuda(): (A^dagger A + offset_i) x_i = b, and for staggered
 * quarks (offset_i - D D) x_i = b on one parity. */
#include <math.h>

#include "operators.h"

/* ---- what is asked for ---- */

static int is_staggered(const QudaInvertParam *param) {
  return param->dslash_type == QUDA_STAGGERED_DSLASH || param->dslash_type == QUDA_ASQTAD_DSLASH;
}

static kaon_status pose(const QudaInvertParam *param, kaon_quda_request *request, double *sigma) {
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

static kaon_status set_options(const QudaInvertParam *param, const kaon_quda_request *request,
                               kaon_multishift_options *options) {
  options->tol = param->tol_offset[0] > 0 ? param->tol_offset[0] : param->tol;
  options->max_iterations = param->maxiter;
  return kaon_quda_sloppy(param, request, &options->sloppy, &options->reconstruct);
}

/* ---- the solve ---- */

static void fill(QudaInvertParam *param, const kaon_column_report *reports,
                 const kaon_solve_report *report) {
  param->iter = 0;
  param->secs = report->seconds;
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

static kaon_status solve(QudaInvertParam *param, const kaon_quda_request *request,
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
  if (status == KAON_OK) fill(param, reports, &report);
  return status;
}

static kaon_status shifts(void **h_x, void *h_b, QudaInvertParam *param) {
  const kaon_quda_spinor_layout layout = kaon_quda_output_layout(param);
  kaon_multishift_options options;
  kaon_quda_request request;
  kaon_quda_system *system;
  double sigma[QUDA_MAX_MULTI_SHIFT];
  kaon_quda_shift_defaults(&options);
  kaon_status status = pose(param, &request, sigma);
  if (status == KAON_OK) status = kaon_quda_find(&request.key, kaon_quda_make_operators, &system);
  if (status == KAON_OK) status = set_options(param, &request, &options);
  if (status == KAON_OK)
    status = kaon_quda_prepare_shifts(system, &options, param->num_offset, sigma,
                                      kaon_quda_space(&request, kaon_quda_parity(&request)));
  if (status == KAON_OK) status = solve(param, &request, system, h_b);
  for (int i = 0; i < param->num_offset && status == KAON_OK; i++)
    if (!param->make_resident_solution)
      status = kaon_quda_export_spinor(system->x, i, h_x[i], 0, &layout);
  return status;
}

void invertMultiShiftQuda(void **h_x, void *h_b, QudaInvertParam *param) {
  if (kaon_quda_ended(__func__, shifts(h_x, h_b, param), 1)) return;
  param->iter = -1;
  for (int i = 0; i < param->num_offset && i < QUDA_MAX_MULTI_SHIFT; i++)
    param->true_res_offset[i] = NAN;
}
