/* milc_clover.c - MILC's clover solves, by the calls of quda.h. Contract: quda_milc_interface.h.
 *
 * MILC hands over links and clover term with each solve, in arrays that it makes anew. What is the
 * same in all bits is not loaded again, so that a second source sets nothing up. */
#include <math.h>
#include <string.h>

#include "milc.h"

/* ---- fields ---- */

/* Links carry the sign of an antiperiodic time if boundary_phase[3] is 1. Other phases are part of
 * the matrices. */
static kaon_status load_links(int external, const QudaInvertArgs_t *args, const void *array) {
  QudaGaugeParam param;
  const double *phase = args->boundary_phase;
  const int in_space = phase[0] != 0 || phase[1] != 0 || phase[2] != 0;
  const int simple = !in_space && (phase[3] == 0 || phase[3] == 1);
  const kaon_status status = kaon_quda_milc_links(external, &param);
  if (status != KAON_OK) return status;
  if (simple && phase[3] == 1) param.t_boundary = QUDA_ANTI_PERIODIC_T;
  param.reconstruct_sloppy = simple ? QUDA_RECONSTRUCT_12 : QUDA_RECONSTRUCT_NO;
  const uint64_t how = (uint64_t)param.cpu_prec + 16 * (uint64_t)param.reconstruct_sloppy +
                       512 * (uint64_t)(param.t_boundary == QUDA_PERIODIC_T);
  return kaon_quda_milc_load(array, &param, kaon_quda_milc_digest(array, param.cpu_prec, 0, how),
                             0);
}

/* array NULL: the term is made from the links. */
static kaon_status load_clover(QudaInvertParam *param, double coefficient, void *array) {
  kaon_quda_clover *clover = &kaon_quda()->clover;
  uint64_t digest = 0;
  int fresh;
  param->clover_coeff = coefficient;
  if (array != NULL)
    digest =
        kaon_quda_milc_digest(array, param->clover_cpu_prec, 0, (uint64_t)param->clover_cpu_prec) ^
        kaon_quda()->links[QUDA_WILSON_LINKS].digest;
  const int known = digest != 0 && digest == clover->digest && !param->compute_clover_trlog;
  kaon_status status = kaon_quda_milc_any(!known, &fresh);
  if (status != KAON_OK || !fresh) return status;
  status = kaon_quda_load_clover(array, NULL, param);
  if (status == KAON_OK) clover->digest = digest;
  return status;
}

static kaon_status begin(int external, int internal, const QudaInvertArgs_t *args, double kappa,
                         QudaInvertParam *param) {
  const kaon_status status = kaon_quda_milc_solve(external, internal, args->mixed_precision, param);
  param->dslash_type = QUDA_CLOVER_WILSON_DSLASH;
  param->kappa = kappa;
  param->mass_normalization = QUDA_KAPPA_NORMALIZATION;
  param->maxiter = args->max_iter;
  param->compute_clover_trlog = 0;
  return status;
}

void qudaLoadGaugeField(int external_precision, int quda_precision, QudaInvertArgs_t inv_args,
                        const void *milc_link) {
  (void)quda_precision;
  kaon_quda_check(__func__, load_links(external_precision, &inv_args, milc_link));
}

void qudaFreeGaugeField(void) {
  freeGaugeQuda();
}

/* The inverse is not needed. */
void qudaLoadCloverField(int external_precision, int quda_precision, QudaInvertArgs_t inv_args,
                         void *milc_clover, void *milc_clover_inv, QudaSolutionType solution_type,
                         QudaSolveType solve_type, double clover_coeff, int compute_trlog,
                         double *trlog) {
  QudaInvertParam param;
  kaon_status status = begin(external_precision, quda_precision, &inv_args, 0, &param);
  (void)milc_clover_inv, (void)solution_type, (void)solve_type;
  param.compute_clover_trlog = compute_trlog;
  if (status == KAON_OK) status = load_clover(&param, clover_coeff, milc_clover);
  kaon_quda_check(__func__, status);
  if (compute_trlog) memcpy(trlog, param.trlogA, 2 * sizeof *trlog);
}

void qudaFreeCloverField(void) {
  freeCloverQuda();
}

/* ---- solves ---- */

/* Links and clover NULL: those that are loaded. */
void qudaCloverInvert(int external_precision, int quda_precision, double kappa, double clover_coeff,
                      QudaInvertArgs_t inv_args, double target_residual,
                      double target_fermilab_residual, const void *milc_link, void *milc_clover,
                      void *milc_clover_inv, void *source, void *solution,
                      double *const final_residual, double *const final_fermilab_residual,
                      int *num_iters) {
  QudaInvertParam param;
  const int cg = inv_args.solver_type == QUDA_CG_INVERTER;
  (void)milc_clover_inv;
  *final_residual = *final_fermilab_residual = NAN;
  *num_iters = -1;
  kaon_status status = begin(external_precision, quda_precision, &inv_args, kappa, &param);
  if (status == KAON_OK)
    status = kaon_quda_milc_targets(&param, target_residual, target_fermilab_residual);
  if (status == KAON_OK && milc_link != NULL)
    status = load_links(external_precision, &inv_args, milc_link);
  if (status == KAON_OK && milc_clover != NULL)
    status = load_clover(&param, clover_coeff, milc_clover);
  if (!kaon_quda_ended(__func__, status, 1)) return;
  param.solution_type = QUDA_MAT_SOLUTION;
  param.inv_type = cg ? QUDA_CG_INVERTER : QUDA_BICGSTAB_INVERTER;
  param.solve_type = cg ? QUDA_NORMOP_PC_SOLVE : QUDA_DIRECT_PC_SOLVE;
  param.matpc_type = QUDA_MATPC_ODD_ODD;
  invertQuda(solution, source, &param);
  *final_residual = param.true_res[0];
  *final_fermilab_residual = param.true_res_hq[0];
  *num_iters = param.iter;
}

/* (M^dagger M + offset) x = b on even sites, M the asymmetric reduction to them, with the links and
 * the clover term that are loaded. */
void qudaCloverMultishiftInvert(int external_precision, int quda_precision, int num_offsets,
                                double *const offset, double kappa, double clover_coeff,
                                QudaInvertArgs_t inv_args, const double *target_residual,
                                void *source, void **solutionArray, double *const final_residual,
                                int *num_iters) {
  QudaInvertParam param;
  kaon_status status = begin(external_precision, quda_precision, &inv_args, kappa, &param);
  (void)clover_coeff;
  *num_iters = -1;
  for (int i = 0; i < num_offsets; i++) final_residual[i] = NAN;
  if (status == KAON_OK && (num_offsets < 1 || num_offsets > QUDA_MAX_MULTI_SHIFT))
    status = kaon_quda_refuse(KAON_ERR_ARGUMENT, "%d offsets were passed, but must be 1 to %d",
                              num_offsets, QUDA_MAX_MULTI_SHIFT);
  if (status == KAON_OK) status = kaon_quda_milc_targets(&param, target_residual[0], 0);
  if (!kaon_quda_ended(__func__, status, 1)) return;
  param.num_offset = num_offsets;
  memcpy(param.offset, offset, (size_t)num_offsets * sizeof *offset);
  memcpy(param.tol_offset, target_residual, (size_t)num_offsets * sizeof *target_residual);
  param.solution_type = QUDA_MATPCDAG_MATPC_SOLUTION;
  param.solve_type = QUDA_NORMOP_PC_SOLVE;
  param.inv_type = QUDA_CG_INVERTER;
  param.matpc_type = QUDA_MATPC_EVEN_EVEN_ASYMMETRIC;
  if (num_offsets == 1 && offset[0] == 0) {
    invertQuda(solutionArray[0], source, &param);
    final_residual[0] = param.true_res[0];
  } else {
    invertMultiShiftQuda(solutionArray, source, &param);
    memcpy(final_residual, param.true_res_offset, (size_t)num_offsets * sizeof *final_residual);
  }
  *num_iters = param.iter;
}
