/* milc_clover.c - MILC's clover solves, by the calls of quda.h. Contract: quda_milc_interface.h.
 *
 * MILC hands over links and clover term with each solve, in arrays that it makes anew. What is the
 * same in all bits is not loaded again, so that a second source sets nothing up. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "load_links.h"
#include "milc.h"

/* What is loaded, by digests of the client's arrays. It counts as long as nobody else has loaded
 * something in its place. */
static struct {
  uint64_t links, clover; /* 0: not known */
  const kaon_gauge *gauge;
  uint64_t revision;
  const double *term;
} resident;

static void forget(void) {
  memset(&resident, 0, sizeof resident);
}

/* ---- parameters ---- */

static QudaPrecision quda_precision_of(kaon_precision precision) {
  if (precision == KAON_DOUBLE) return QUDA_DOUBLE_PRECISION;
  return precision == KAON_SINGLE ? QUDA_SINGLE_PRECISION : QUDA_HALF_PRECISION;
}

/* Links carry the sign of an antiperiodic time if boundary_phase[3] is 1. Other phases are part of
 * the matrices. */
static QudaGaugeParam gauge_param(const kaon_quda_milc_call *call, const QudaInvertArgs_t *args) {
  QudaGaugeParam param = newQudaGaugeParam();
  const double *phase = args->boundary_phase;
  const int in_space = phase[0] != 0 || phase[1] != 0 || phase[2] != 0;
  const int simple = !in_space && (phase[3] == 0 || phase[3] == 1);
  memcpy(param.X, kaon_quda_milc_extents(), sizeof param.X);
  param.anisotropy = 1;
  param.type = QUDA_WILSON_LINKS;
  param.gauge_order = QUDA_MILC_GAUGE_ORDER;
  param.t_boundary = simple && phase[3] == 1 ? QUDA_ANTI_PERIODIC_T : QUDA_PERIODIC_T;
  param.reconstruct = simple ? QUDA_RECONSTRUCT_12 : QUDA_RECONSTRUCT_NO;
  param.reconstruct_sloppy = param.reconstruct;
  param.cpu_prec = quda_precision_of(call->host);
  param.cuda_prec = QUDA_DOUBLE_PRECISION;
  param.cuda_prec_sloppy = quda_precision_of(call->sloppy);
  param.gauge_fix = QUDA_GAUGE_FIXED_NO;
  return param;
}

static QudaInvertParam invert_param(const kaon_quda_milc_call *call, const QudaInvertArgs_t *args,
                                    double kappa, double clover_coeff) {
  QudaInvertParam param = newQudaInvertParam();
  param.dslash_type = QUDA_CLOVER_WILSON_DSLASH;
  param.kappa = kappa;
  param.clover_coeff = clover_coeff;
  param.dagger = QUDA_DAG_NO;
  param.mass_normalization = QUDA_KAPPA_NORMALIZATION;
  param.residual_type = QUDA_L2_RELATIVE_RESIDUAL;
  param.maxiter = args->max_iter;
  param.cpu_prec = param.clover_cpu_prec = quda_precision_of(call->host);
  param.cuda_prec = param.clover_cuda_prec = QUDA_DOUBLE_PRECISION;
  param.cuda_prec_sloppy = param.clover_cuda_prec_sloppy = quda_precision_of(call->sloppy);
  param.gamma_basis = QUDA_DEGRAND_ROSSI_GAMMA_BASIS;
  param.dirac_order = QUDA_DIRAC_ORDER;
  param.clover_order = QUDA_PACKED_CLOVER_ORDER;
  param.compute_clover_trlog = 0;
  param.mu = 0;
  param.input_location = param.output_location = QUDA_CPU_FIELD_LOCATION;
  param.verbosity = kaon_quda()->verbosity;
  param.reliable_delta = 0.1;
  return param;
}

static kaon_status begin(int external, int internal, const QudaInvertArgs_t *args,
                         kaon_quda_milc_call *call) {
  kaon_quda_at_end(forget);
  if (kaon_quda()->ctx == NULL || kaon_quda_milc_sites() == 0)
    return kaon_quda_refuse(KAON_ERR_STATE, "qudaInit() must be called first");
  return kaon_quda_milc_precisions(external, internal, args->mixed_precision, call);
}

/* ---- fields ---- */

/* A digest of 72 reals a site, and of what else says how they are read. Never 0. */
static uint64_t digest_of(const void *array, kaon_precision precision, uint64_t more) {
  const int64_t reals = 72 * kaon_quda_milc_sites();
  const uint64_t digest = kaon_quda_milc_digest(array, reals, precision, 0);
  return (digest ^ (more + 1) * 0xbf58476d1ce4e5b9u) | 1;
}

/* The sentence of a refusal is dropped: nothing is wrong if others have loaded or freed fields. */
static int still_loaded(const kaon_quda_links **links, const kaon_quda_clover **clover) {
  const kaon_status status =
      links != NULL ? kaon_quda_loaded(QUDA_WILSON_LINKS, links) : kaon_quda_loaded_clover(clover);
  return kaon_quda_ended(__func__, KAON_OK, 1) && status == KAON_OK;
}

static int links_are_ours(void) {
  const kaon_quda_links *links;
  return resident.gauge != NULL && still_loaded(&links, NULL) && links->gauge == resident.gauge &&
         kaon_gauge_revision(links->gauge) == resident.revision;
}

static int clover_is_ours(void) {
  const kaon_quda_clover *clover;
  return resident.term != NULL && still_loaded(NULL, &clover) && clover->term == resident.term;
}

static kaon_status load_links(const kaon_quda_milc_call *call, const QudaInvertArgs_t *args,
                              const void *array) {
  const QudaGaugeParam param = gauge_param(call, args);
  const kaon_quda_links *links;
  const uint64_t how = (uint64_t)call->host + 8 * (uint64_t)(param.t_boundary == QUDA_PERIODIC_T) +
                       16 * (uint64_t)param.reconstruct;
  const uint64_t digest = digest_of(array, call->host, how);
  int fresh;
  kaon_status status = kaon_quda_milc_any(digest != resident.links || !links_are_ours(), &fresh);
  if (status != KAON_OK || !fresh) return status;
  forget();
  status = kaon_quda_load(array, &param);
  if (status == KAON_OK) status = kaon_quda_loaded(QUDA_WILSON_LINKS, &links);
  if (status != KAON_OK) return status;
  resident.links = digest;
  resident.gauge = links->gauge;
  resident.revision = kaon_gauge_revision(links->gauge);
  return KAON_OK;
}

static kaon_status load_clover(const kaon_quda_milc_call *call, QudaInvertParam *param,
                               void *array) {
  const kaon_quda_clover *clover;
  const uint64_t digest =
      array != NULL ? digest_of(array, call->host, (uint64_t)call->host) ^ resident.links : 0;
  const int known = array != NULL && digest == resident.clover && !param->compute_clover_trlog;
  int fresh;
  kaon_status status = kaon_quda_milc_any(!known || !clover_is_ours(), &fresh);
  if (status != KAON_OK || !fresh) return status;
  resident.term = NULL;
  status = kaon_quda_load_clover(array, NULL, param);
  if (status == KAON_OK) status = kaon_quda_loaded_clover(&clover);
  if (status != KAON_OK) return status;
  resident.clover = digest;
  resident.term = clover->term;
  return KAON_OK;
}

void qudaLoadGaugeField(int external_precision, int quda_precision, QudaInvertArgs_t inv_args,
                        const void *milc_link) {
  kaon_quda_milc_call call;
  kaon_status status = begin(external_precision, quda_precision, &inv_args, &call);
  if (status == KAON_OK) status = load_links(&call, &inv_args, milc_link);
  kaon_quda_check(__func__, status);
}

void qudaFreeGaugeField(void) {
  forget();
  freeGaugeQuda();
}

/* The inverse is not needed. */
void qudaLoadCloverField(int external_precision, int quda_precision, QudaInvertArgs_t inv_args,
                         void *milc_clover, void *milc_clover_inv, QudaSolutionType solution_type,
                         QudaSolveType solve_type, double clover_coeff, int compute_trlog,
                         double *trlog) {
  kaon_quda_milc_call call;
  (void)milc_clover_inv, (void)solution_type, (void)solve_type;
  kaon_status status = begin(external_precision, quda_precision, &inv_args, &call);
  if (status == KAON_OK) {
    QudaInvertParam param = invert_param(&call, &inv_args, 0, clover_coeff);
    param.compute_clover_trlog = compute_trlog;
    status = load_clover(&call, &param, milc_clover);
    if (compute_trlog) memcpy(trlog, param.trlogA, 2 * sizeof *trlog);
  }
  kaon_quda_check(__func__, status);
}

void qudaFreeCloverField(void) {
  resident.term = NULL;
  freeCloverQuda();
}

/* ---- solves ---- */

static kaon_status check_targets(double target, double fermilab) {
  if (target > 0 || fermilab > 0) return KAON_OK;
  return kaon_quda_refuse(KAON_ERR_ARGUMENT,
                          "target_residual is %g and target_fermilab_residual %g; one of them must "
                          "be above 0",
                          target, fermilab);
}

/* Links and clover NULL: those that are loaded. */
void qudaCloverInvert(int external_precision, int quda_precision, double kappa, double clover_coeff,
                      QudaInvertArgs_t inv_args, double target_residual,
                      double target_fermilab_residual, const void *milc_link, void *milc_clover,
                      void *milc_clover_inv, void *source, void *solution,
                      double *const final_residual, double *const final_fermilab_residual,
                      int *num_iters) {
  kaon_quda_milc_call call;
  (void)milc_clover_inv;
  *final_residual = *final_fermilab_residual = NAN;
  *num_iters = -1;
  kaon_status status = begin(external_precision, quda_precision, &inv_args, &call);
  if (status == KAON_OK) status = check_targets(target_residual, target_fermilab_residual);
  if (status == KAON_OK && milc_link != NULL) status = load_links(&call, &inv_args, milc_link);
  if (!kaon_quda_ended(__func__, status, 1)) return;
  QudaInvertParam param = invert_param(&call, &inv_args, kappa, clover_coeff);
  if (milc_clover != NULL && !kaon_quda_ended(__func__, load_clover(&call, &param, milc_clover), 1))
    return;
  param.tol = target_residual;
  param.tol_hq = target_fermilab_residual;
  param.residual_type =
      (QudaResidualType)((target_residual > 0 ? QUDA_L2_RELATIVE_RESIDUAL : 0) |
                         (target_fermilab_residual > 0 ? QUDA_HEAVY_QUARK_RESIDUAL : 0));
  param.solution_type = QUDA_MAT_SOLUTION;
  param.inv_type =
      inv_args.solver_type == QUDA_CG_INVERTER ? QUDA_CG_INVERTER : QUDA_BICGSTAB_INVERTER;
  param.solve_type =
      param.inv_type == QUDA_CG_INVERTER ? QUDA_NORMOP_PC_SOLVE : QUDA_DIRECT_PC_SOLVE;
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
  kaon_quda_milc_call call;
  kaon_status status = begin(external_precision, quda_precision, &inv_args, &call);
  *num_iters = -1;
  if (status == KAON_OK && (num_offsets < 1 || num_offsets > QUDA_MAX_MULTI_SHIFT))
    status = kaon_quda_refuse(KAON_ERR_ARGUMENT, "%d offsets were passed, but must be 1 to %d",
                              num_offsets, QUDA_MAX_MULTI_SHIFT);
  for (int i = 0; i < num_offsets; i++) final_residual[i] = NAN;
  for (int i = 0; i < num_offsets && status == KAON_OK; i++)
    if (!(target_residual[i] > 0))
      status = kaon_quda_refuse(KAON_ERR_ARGUMENT, "target residual %d is %g, but must be above 0",
                                i, target_residual[i]);
  if (!kaon_quda_ended(__func__, status, 1)) return;
  QudaInvertParam param = invert_param(&call, &inv_args, kappa, clover_coeff);
  param.num_offset = num_offsets;
  memcpy(param.offset, offset, (size_t)num_offsets * sizeof *offset);
  memcpy(param.tol_offset, target_residual, (size_t)num_offsets * sizeof *target_residual);
  param.tol = target_residual[0];
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
