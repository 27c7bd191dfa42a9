/* milc_staggered.c - MILC's staggered operators and solves, by the calls of quda.h. Contract:
 * quda_milc_interface.h.
 *
 * Fat and long links arrive with the signs of MILC inside. They are removed when they are loaded, and
 * the operator puts the same ones back. Links in which these signs are not are still right: they are
 * any 3x3 matrices. Arrays of vectors have all sites, even ones first; only the half of one parity is
 * touched. */
#include <math.h>

#include "milc.h"

/* Loads links of a type. They are sampled only, so their address counts too. */
static kaon_status take_links(const void *array, QudaLinkType type, int precision, int fresh) {
  QudaGaugeParam param;
  kaon_status status = kaon_quda_milc_links(precision, &param);
  if (status != KAON_OK) return status;
  param.type = type;
  param.t_boundary = QUDA_ANTI_PERIODIC_T;
  param.staggered_phase_applied = 1;
  if (type == QUDA_ASQTAD_LONG_LINKS) param.reconstruct_sloppy = QUDA_RECONSTRUCT_13;
  const uint64_t how = (uint64_t)(uintptr_t)array ^ (uint64_t)param.cpu_prec << 48;
  return kaon_quda_milc_load(array, &param, kaon_quda_milc_digest(array, param.cpu_prec, 1, how),
                             fresh);
}

/* Loads the links of a call and makes its parameters. Without long links the fat ones are Wilson
 * links to quda.h. num_iters -1: links are new. */
static kaon_status begin(int external, int internal, const QudaInvertArgs_t *args, int mixed,
                         const void *fat, const void *naik, int num_iters, QudaInvertParam *param) {
  const QudaParity parity = args->evenodd;
  const int fresh = num_iters == -1;
  kaon_status status = kaon_quda_milc_solve(external, internal, mixed, param);
  if (status == KAON_OK && parity != QUDA_EVEN_PARITY && parity != QUDA_ODD_PARITY)
    status = kaon_quda_refuse(KAON_ERR_ARGUMENT,
                              "evenodd is %d, but must be QUDA_EVEN_PARITY (%d) or QUDA_ODD_PARITY "
                              "(%d); call twice for both parities",
                              (int)parity, (int)QUDA_EVEN_PARITY, (int)QUDA_ODD_PARITY);
  if (status == KAON_OK)
    status =
        take_links(fat, naik != NULL ? QUDA_ASQTAD_FAT_LINKS : QUDA_WILSON_LINKS, external, fresh);
  if (status == KAON_OK && naik != NULL)
    status = take_links(naik, QUDA_ASQTAD_LONG_LINKS, external, fresh);
  param->dslash_type = naik != NULL ? QUDA_ASQTAD_DSLASH : QUDA_STAGGERED_DSLASH;
  param->mass_normalization = QUDA_MASS_NORMALIZATION;
  param->solution_type = QUDA_MATPC_SOLUTION;
  param->solve_type = QUDA_DIRECT_PC_SOLVE;
  param->inv_type = QUDA_CG_INVERTER;
  param->matpc_type = parity == QUDA_ODD_PARITY ? QUDA_MATPC_ODD_ODD : QUDA_MATPC_EVEN_EVEN;
  param->use_init_guess = QUDA_USE_INIT_GUESS_YES;
  return status;
}

/* The half of an array of all sites; NULL if the array is. */
static void *half_of(void *array, QudaParity parity, const QudaInvertParam *param) {
  const size_t half = 6 * (size_t)param->cpu_prec * kaon_quda_sites(kaon_quda()->local) / 2;
  return array == NULL ? NULL : (char *)array + (parity == QUDA_ODD_PARITY ? half : 0);
}

/* ---- solves ---- */

/* The residuals that go back are those of the last source, the steps those of the slowest one. */
void qudaInvertMsrc(int external_precision, int quda_precision, double mass,
                    QudaInvertArgs_t inv_args, double target_residual,
                    double target_fermilab_residual, const void *const fatlink,
                    const void *const longlink, void **sourceArray, void **solutionArray,
                    double *const final_residual, double *const final_fermilab_residual,
                    int *num_iters, int num_src) {
  QudaInvertParam param;
  void *b[QUDA_MAX_MULTI_SRC], *x[QUDA_MAX_MULTI_SRC];
  kaon_status status = KAON_OK;
  if (num_src < 1 || num_src > QUDA_MAX_MULTI_SRC)
    status = kaon_quda_refuse(KAON_ERR_ARGUMENT, "%d sources were passed, but must be 1 to %d",
                              num_src, QUDA_MAX_MULTI_SRC);
  if (status == KAON_OK)
    status = begin(external_precision, quda_precision, &inv_args, inv_args.mixed_precision, fatlink,
                   longlink, *num_iters, &param);
  if (status == KAON_OK)
    status = kaon_quda_milc_targets(&param, target_residual, target_fermilab_residual);
  *final_residual = *final_fermilab_residual = NAN;
  *num_iters = -1;
  if (!kaon_quda_ended(num_src == 1 ? "qudaInvert" : __func__, status, 1)) return;
  for (int k = 0; k < num_src; k++) {
    b[k] = half_of(sourceArray[k], inv_args.evenodd, &param);
    x[k] = half_of(solutionArray[k], inv_args.evenodd, &param);
  }
  param.mass = mass;
  param.maxiter = inv_args.max_iter;
  param.num_src = num_src;
  invertMultiSrcQuda(x, b, &param);
  *final_residual = param.true_res[num_src - 1];
  *final_fermilab_residual = param.true_res_hq[num_src - 1];
  *num_iters = param.iter;
}

void qudaInvert(int external_precision, int quda_precision, double mass, QudaInvertArgs_t inv_args,
                double target_residual, double target_fermilab_residual,
                const void *const milc_fatlink, const void *const milc_longlink, void *source,
                void *solution, double *const final_resid, double *const final_rel_resid,
                int *num_iters) {
  qudaInvertMsrc(external_precision, quda_precision, mass, inv_args, target_residual,
                 target_fermilab_residual, milc_fatlink, milc_longlink, &source, &solution,
                 final_resid, final_rel_resid, num_iters, 1);
}

/* A shift whose heavy-quark residual is too large goes on by itself. */
static void refine(const QudaInvertParam *shifts, int i, void *b, void *x, double *residual,
                   double *fermilab, int *iters) {
  QudaInvertParam param = *shifts;
  const double tol = shifts->tol_hq_offset[i];
  if (!(tol > 0 && *fermilab > tol)) return;
  kaon_quda_milc_targets(&param, shifts->tol_offset[i], tol);
  param.mass = sqrt(shifts->offset[i]) / 2;
  invertQuda(x, b, &param);
  *residual = param.true_res[0];
  *fermilab = param.true_res_hq[0];
  if (shifts->iter + param.iter > *iters) *iters = shifts->iter + param.iter;
}

void qudaMultishiftInvert(int external_precision, int precision, int num_offsets,
                          double *const offset, QudaInvertArgs_t inv_args,
                          const double *target_residual, const double *target_fermilab_residual,
                          const void *const milc_fatlink, const void *const milc_longlink,
                          void *source, void **solutionArray, double *const final_residual,
                          double *const final_fermilab_residual, int *num_iters) {
  QudaInvertParam param;
  void *x[QUDA_MAX_MULTI_SHIFT], *b;
  kaon_status status = KAON_OK;
  if (num_offsets < 1 || num_offsets > QUDA_MAX_MULTI_SHIFT)
    status = kaon_quda_refuse(KAON_ERR_ARGUMENT, "%d offsets were passed, but must be 1 to %d",
                              num_offsets, QUDA_MAX_MULTI_SHIFT);
  if (status == KAON_OK)
    status = begin(external_precision, precision, &inv_args, inv_args.mixed_precision, milc_fatlink,
                   milc_longlink, *num_iters, &param);
  for (int i = num_offsets - 1; i >= 0 && status == KAON_OK; i--)
    if (i == 0 || target_residual[i] != 0 || target_fermilab_residual[i] != 0)
      status = kaon_quda_milc_targets(&param, target_residual[i], target_fermilab_residual[i]);
  *num_iters = -1;
  for (int i = 0; i < num_offsets; i++) final_residual[i] = final_fermilab_residual[i] = NAN;
  if (!kaon_quda_ended(__func__, status, 1)) return;
  param.maxiter = inv_args.max_iter;
  param.num_offset = num_offsets;
  b = half_of(source, inv_args.evenodd, &param);
  for (int i = 0; i < num_offsets; i++) {
    x[i] = half_of(solutionArray[i], inv_args.evenodd, &param);
    param.offset[i] = offset[i];
    param.tol_offset[i] = target_residual[i];
    param.tol_hq_offset[i] = target_fermilab_residual[i];
  }
  param.residual_type = QUDA_L2_RELATIVE_RESIDUAL;
  if (param.tol == 0) param.tol = param.tol_hq; /* the Fermilab target is checked afterwards */
  invertMultiShiftQuda(x, b, &param);
  *num_iters = param.iter;
  for (int i = 0; i < num_offsets; i++) {
    final_residual[i] = param.true_res_offset[i];
    final_fermilab_residual[i] = param.true_res_hq_offset[i];
    refine(&param, i, b, x[i], &final_residual[i], &final_fermilab_residual[i], num_iters);
  }
}

/* ---- the operator alone ---- */

void qudaDslash(int external_precision, int quda_precision, QudaInvertArgs_t inv_args,
                const void *const milc_fatlink, const void *const milc_longlink, void *source,
                void *solution, int *num_iters) {
  QudaInvertParam param;
  const int odd = inv_args.evenodd == QUDA_ODD_PARITY;
  kaon_quda_check(__func__, begin(external_precision, quda_precision, &inv_args, 0, milc_fatlink,
                                  milc_longlink, *num_iters, &param));
  param.mass = 1; /* any */
  dslashQuda(half_of(solution, inv_args.evenodd, &param),
             half_of(source, odd ? QUDA_EVEN_PARITY : QUDA_ODD_PARITY, &param), &param,
             inv_args.evenodd);
}

/* ---- multigrid ---- */

static kaon_status no_multigrid(void) {
  return kaon_quda_refuse(
      KAON_ERR_UNSUPPORTED,
      "multigrid is not offered for staggered quarks; choose the solver CG in "
      "MILC's input (inv_type CG or UML), or build MILC without WANT_MULTIGRID");
}

void *qudaMultigridCreate(int external_precision, int quda_precision, double mass,
                          QudaInvertArgs_t inv_args, const void *const milc_fatlink,
                          const void *const milc_longlink, const char *const mg_param_file) {
  (void)external_precision, (void)quda_precision, (void)mass, (void)inv_args, (void)milc_fatlink;
  (void)milc_longlink, (void)mg_param_file;
  kaon_quda_ended(__func__, no_multigrid(), 1);
  return NULL;
}

void qudaInvertMG(int external_precision, int quda_precision, double mass,
                  QudaInvertArgs_t inv_args, double target_residual,
                  double target_fermilab_residual, const void *const milc_fatlink,
                  const void *const milc_longlink, void *mg_pack_ptr, int mg_rebuild_type,
                  void *source, void *solution, double *const final_residual,
                  double *const final_fermilab_residual, int *num_iters) {
  (void)external_precision, (void)quda_precision, (void)mass, (void)inv_args, (void)source;
  (void)target_residual, (void)target_fermilab_residual, (void)milc_fatlink, (void)milc_longlink;
  (void)mg_pack_ptr, (void)mg_rebuild_type, (void)solution;
  kaon_quda_ended(__func__, no_multigrid(), 1);
  *final_residual = *final_fermilab_residual = NAN;
  *num_iters = -1;
}

void qudaMultigridDestroy(void *mg_pack_ptr) {
  (void)mg_pack_ptr;
}
