/* params.c - start and end as quda.h has them, and the parameter structs: defaults and printing.
 * Each struct has one table of members and defaults. Members that no table names are 0. */
#include <float.h>
#include <string.h>

#include "quda.h"
#include "ranks.h"
#include "state.h"

#define NO_INT QUDA_INVALID_ENUM
#define NO_DOUBLE DBL_MIN

/* ---- start and end ---- */

/* QUDA's order of ranks where the application has none: t runs fastest. */
static int rank_t_fastest(const int *coordinates, void *user) {
  const int *grid = user;
  int rank = coordinates[0];
  for (int d = 1; d < 4; d++) rank = grid[d] * rank + coordinates[d];
  return rank;
}

void initCommsGridQuda(int nDim, const int *dims, QudaCommsMap func, void *fdata) {
  kaon_quda_ranks *ranks = &kaon_quda()->ranks;
  if (kaon_quda()->ctx != NULL) return; /* as QUDA: the first call counts */
  if (nDim != 4)
    kaon_quda_check(__func__, kaon_quda_refuse(KAON_ERR_ARGUMENT,
                                               "the grid of ranks has %d directions, but must have "
                                               "4",
                                               nDim));
  memcpy(ranks->grid, dims, sizeof ranks->grid);
  ranks->rank_of = func != NULL ? func : rank_t_fastest;
  ranks->user = func != NULL ? fdata : ranks->grid;
}

void setMPICommHandleQuda(void *mycomm) {
  kaon_quda()->ranks.communicator = kaon_quda_keep_communicator(mycomm);
}

void qudaSetCommHandle(void *mycomm) {
  setMPICommHandleQuda(mycomm);
}

/* QMP, if the application has it, knows the grid of applications that do not call
 * initCommsGridQuda(), such as Chroma. */
extern int QMP_logical_topology_is_declared(void) __attribute__((weak));
extern int QMP_get_logical_number_of_dimensions(void) __attribute__((weak));
extern const int *QMP_get_logical_dimensions(void) __attribute__((weak));
extern int QMP_get_node_number_from(const int *coordinates) __attribute__((weak));

static int rank_of_qmp(const int *coordinates, void *user) {
  (void)user;
  return QMP_get_node_number_from(coordinates);
}

static void take_grid_of_qmp(void) {
  if (kaon_quda()->ranks.rank_of != NULL || QMP_get_node_number_from == NULL ||
      !QMP_logical_topology_is_declared())
    return;
  initCommsGridQuda(QMP_get_logical_number_of_dimensions(), QMP_get_logical_dimensions(),
                    rank_of_qmp, NULL);
}

/* kaon chooses the device by the rank on its node. */
void initQudaDevice(int device) {
  (void)device;
  take_grid_of_qmp();
  kaon_quda_check("initQuda", kaon_quda_start());
}

void initQudaMemory(void) {}

void initQuda(int device) {
  initQudaDevice(device);
  initQudaMemory();
}

void endQuda(void) {
  kaon_quda_end();
}

/* Widths of halos follow from the lattice. */
void updateR(void) {}

void setVerbosityQuda(QudaVerbosity verbosity, const char prefix[], FILE *outfile) {
  (void)prefix;
  (void)outfile;
  if (verbosity != QUDA_INVALID_VERBOSITY) kaon_quda()->verbosity = verbosity;
}

/* ---- tables: F(member, default) ---- */

// clang-format off
#define GAUGE_TABLE(F)                                                                            \
  F(location, QUDA_CPU_FIELD_LOCATION) F(X[0], NO_INT) F(X[1], NO_INT) F(X[2], NO_INT)            \
  F(X[3], NO_INT) F(anisotropy, NO_DOUBLE) F(tadpole_coeff, NO_DOUBLE) F(scale, 1.0)              \
  F(type, QUDA_INVALID_LINKS) F(gauge_order, QUDA_INVALID_GAUGE_ORDER)                            \
  F(t_boundary, QUDA_INVALID_T_BOUNDARY) F(cpu_prec, QUDA_INVALID_PRECISION)                      \
  F(cuda_prec, QUDA_INVALID_PRECISION) F(reconstruct, QUDA_RECONSTRUCT_INVALID)                   \
  F(cuda_prec_sloppy, QUDA_INVALID_PRECISION) F(reconstruct_sloppy, QUDA_RECONSTRUCT_INVALID)     \
  F(cuda_prec_refinement_sloppy, QUDA_INVALID_PRECISION)                                          \
  F(reconstruct_refinement_sloppy, QUDA_RECONSTRUCT_INVALID)                                      \
  F(cuda_prec_precondition, QUDA_INVALID_PRECISION)                                               \
  F(reconstruct_precondition, QUDA_RECONSTRUCT_INVALID)                                           \
  F(cuda_prec_eigensolver, QUDA_INVALID_PRECISION)                                                \
  F(reconstruct_eigensolver, QUDA_RECONSTRUCT_INVALID) F(gauge_fix, QUDA_GAUGE_FIXED_INVALID)     \
  F(ga_pad, NO_INT) F(staggered_phase_type, QUDA_STAGGERED_PHASE_NO) F(return_result_gauge, 1)    \
  F(return_result_mom, 1)

#define INVERT_TABLE(F)                                                                           \
  F(input_location, QUDA_CPU_FIELD_LOCATION) F(output_location, QUDA_CPU_FIELD_LOCATION)          \
  F(dslash_type, QUDA_INVALID_DSLASH) F(inv_type, QUDA_INVALID_INVERTER) F(mass, NO_DOUBLE)       \
  F(kappa, NO_DOUBLE) F(m5, NO_DOUBLE) F(Ls, NO_INT) F(mu, NO_DOUBLE) F(epsilon, NO_DOUBLE)       \
  F(evmax, NO_DOUBLE) F(twist_flavor, QUDA_TWIST_INVALID) F(laplace3D, NO_INT)                    \
  F(covdev_mu, NO_INT) F(tol, NO_DOUBLE) F(tol_restart, 5e-5) F(tol_hq, NO_DOUBLE)                \
  F(residual_type, QUDA_L2_RELATIVE_RESIDUAL) F(compute_true_res, 1) F(maxiter, NO_INT)           \
  F(reliable_delta, NO_DOUBLE) F(reliable_delta_refinement, NO_DOUBLE)                            \
  F(solution_accumulator_pipeline, 1) F(max_res_increase, 1) F(max_res_increase_total, 10)        \
  F(max_hq_res_increase, 1) F(max_hq_res_restart_total, 10) F(heavy_quark_check, 10)              \
  F(num_src, 1) F(num_src_per_sub_partition, 1) F(split_grid[0], 1) F(split_grid[1], 1)           \
  F(split_grid[2], 1) F(split_grid[3], 1) F(solution_type, QUDA_INVALID_SOLUTION)                 \
  F(solve_type, QUDA_INVALID_SOLVE) F(matpc_type, QUDA_MATPC_INVALID)                             \
  F(dagger, QUDA_DAG_INVALID) F(mass_normalization, QUDA_INVALID_NORMALIZATION)                   \
  F(solver_normalization, QUDA_DEFAULT_NORMALIZATION)                                             \
  F(preserve_source, QUDA_PRESERVE_SOURCE_INVALID) F(cpu_prec, QUDA_INVALID_PRECISION)            \
  F(cuda_prec, QUDA_INVALID_PRECISION) F(cuda_prec_sloppy, QUDA_INVALID_PRECISION)                \
  F(cuda_prec_refinement_sloppy, QUDA_INVALID_PRECISION)                                          \
  F(cuda_prec_precondition, QUDA_INVALID_PRECISION)                                               \
  F(cuda_prec_eigensolver, QUDA_INVALID_PRECISION) F(dirac_order, QUDA_INVALID_DIRAC_ORDER)       \
  F(gamma_basis, QUDA_INVALID_GAMMA_BASIS) F(clover_location, QUDA_CPU_FIELD_LOCATION)            \
  F(clover_cpu_prec, QUDA_INVALID_PRECISION) F(clover_cuda_prec, QUDA_INVALID_PRECISION)          \
  F(clover_cuda_prec_sloppy, QUDA_INVALID_PRECISION)                                              \
  F(clover_cuda_prec_refinement_sloppy, QUDA_INVALID_PRECISION)                                   \
  F(clover_cuda_prec_precondition, QUDA_INVALID_PRECISION)                                        \
  F(clover_cuda_prec_eigensolver, QUDA_INVALID_PRECISION)                                         \
  F(clover_order, QUDA_INVALID_CLOVER_ORDER) F(use_init_guess, QUDA_USE_INIT_GUESS_NO)            \
  F(clover_csw, 0.0) F(clover_coeff, 0.0) F(compute_clover_trlog, 1)                              \
  F(verbosity, QUDA_INVALID_VERBOSITY) F(tune, QUDA_TUNE_INVALID) F(Nsteps, NO_INT)               \
  F(gcrNkrylov, NO_INT) F(inv_type_precondition, QUDA_INVALID_INVERTER)                           \
  F(dslash_type_precondition, QUDA_INVALID_DSLASH)                                                \
  F(verbosity_precondition, QUDA_INVALID_VERBOSITY) F(tol_precondition, NO_DOUBLE)                \
  F(maxiter_precondition, NO_INT) F(omega, 1.0) F(ca_basis, QUDA_POWER_BASIS)                     \
  F(ca_lambda_max, -1.0) F(ca_basis_precondition, QUDA_POWER_BASIS)                               \
  F(ca_lambda_max_precondition, -1.0) F(precondition_cycle, 1)                                    \
  F(schwarz_type, QUDA_INVALID_SCHWARZ)                                                           \
  F(accelerator_type_precondition, QUDA_INVALID_ACCELERATOR)                                      \
  F(madwf_diagonal_suppressor, NO_DOUBLE) F(madwf_ls, NO_INT) F(madwf_null_miniter, NO_INT)       \
  F(madwf_null_tol, NO_DOUBLE) F(madwf_train_maxiter, NO_INT)                                     \
  F(cuda_prec_ritz, QUDA_SINGLE_PRECISION) F(n_ev, 8) F(max_search_dim, 64)                       \
  F(deflation_grid, 1) F(eigenval_tol, 1e-1) F(eigcg_max_restarts, 4) F(max_restart_num, 3)       \
  F(inc_tol, 1e-2) F(chrono_precision, QUDA_INVALID_PRECISION)                                    \
  F(extlib_type, QUDA_EIGEN_EXTLIB) F(native_blas_lapack, QUDA_BOOLEAN_TRUE)                      \
  F(use_mobius_fused_kernel, QUDA_BOOLEAN_TRUE) F(distance_pc_t0, -1)

#define EIG_TABLE(F)                                                                              \
  F(eig_type, QUDA_EIG_TR_LANCZOS) F(preserve_evals, QUDA_BOOLEAN_TRUE)                           \
  F(require_convergence, QUDA_BOOLEAN_TRUE) F(spectrum, QUDA_SPECTRUM_LR_EIG)                     \
  F(n_ev_deflate, -1) F(block_size, NO_INT) F(compute_evals_batch_size, 4)                        \
  F(max_ortho_attempts, 10) F(mem_type_ritz, QUDA_MEMORY_DEVICE)                                  \
  F(location, QUDA_CUDA_FIELD_LOCATION) F(save_prec, QUDA_DOUBLE_PRECISION)                       \
  F(extlib_type, QUDA_EIGEN_EXTLIB)

#define MULTIGRID_TABLE(F)                                                                        \
  F(n_level, NO_INT) F(setup_type, QUDA_NULL_VECTOR_SETUP)                                        \
  F(post_orthonormalize, QUDA_BOOLEAN_TRUE)                                                       \
  F(compute_null_vector, QUDA_COMPUTE_NULL_VECTOR_INVALID)                                        \
  F(generate_all_levels, QUDA_BOOLEAN_INVALID) F(run_verify, QUDA_BOOLEAN_INVALID)

/* Of level i. */
#define LEVEL_TABLE(F)                                                                            \
  F(geo_block_size[i][0], NO_INT) F(geo_block_size[i][1], NO_INT)                                 \
  F(geo_block_size[i][2], NO_INT) F(geo_block_size[i][3], NO_INT) F(spin_block_size[i], NO_INT)   \
  F(n_vec[i], NO_INT) F(precision_null[i], QUDA_SINGLE_PRECISION) F(n_block_ortho[i], 1)          \
  F(block_ortho_two_pass[i], QUDA_BOOLEAN_TRUE) F(verbosity[i], QUDA_SILENT)                      \
  F(setup_inv_type[i], QUDA_BICGSTAB_INVERTER) F(n_vec_batch[i], NO_INT)                          \
  F(num_setup_iter[i], 1) F(setup_tol[i], 5e-6) F(setup_maxiter[i], 500)                          \
  F(setup_ca_basis[i], QUDA_POWER_BASIS) F(setup_ca_basis_size[i], 4)                             \
  F(setup_ca_lambda_max[i], -1.0) F(coarse_solver[i], QUDA_INVALID_INVERTER)                      \
  F(coarse_solver_tol[i], NO_DOUBLE) F(coarse_solver_maxiter[i], NO_INT)                          \
  F(coarse_solver_ca_basis[i], QUDA_POWER_BASIS) F(coarse_solver_ca_basis_size[i], 4)             \
  F(coarse_solver_ca_lambda_max[i], -1.0) F(smoother[i], QUDA_INVALID_INVERTER)                   \
  F(smoother_tol[i], NO_DOUBLE) F(nu_pre[i], NO_INT) F(nu_post[i], NO_INT)                        \
  F(smoother_solver_ca_basis[i], QUDA_POWER_BASIS) F(smoother_solver_ca_lambda_max[i], -1.0)      \
  F(omega[i], NO_DOUBLE) F(smoother_halo_precision[i], QUDA_INVALID_PRECISION)                    \
  F(smoother_schwarz_type[i], QUDA_INVALID_SCHWARZ) F(smoother_schwarz_cycle[i], 1)               \
  F(coarse_grid_solution_type[i], QUDA_INVALID_SOLUTION)                                          \
  F(smoother_solve_type[i], QUDA_INVALID_SOLVE) F(cycle_type[i], QUDA_MG_CYCLE_INVALID)           \
  F(global_reduction[i], QUDA_BOOLEAN_TRUE) F(location[i], QUDA_INVALID_FIELD_LOCATION)           \
  F(setup_location[i], QUDA_CUDA_FIELD_LOCATION) F(mu_factor[i], 1.0)                             \
  F(transfer_type[i], QUDA_TRANSFER_AGGREGATE)

#define OBSERVABLE_TABLE(F)                                                                       \
  F(num_paths, NO_INT) F(max_length, NO_INT) F(factor, NO_DOUBLE)

#define SMEAR_TABLE(F)                                                                            \
  F(smear_type, QUDA_GAUGE_SMEAR_INVALID) F(dir_ignore, -1)

#define BLAS_TABLE(F)                                                                             \
  F(blas_type, QUDA_BLAS_INVALID) F(trans_a, QUDA_BLAS_OP_N) F(trans_b, QUDA_BLAS_OP_N)           \
  F(m, NO_INT) F(n, NO_INT) F(k, NO_INT) F(lda, NO_INT) F(ldb, NO_INT) F(ldc, NO_INT)             \
  F(a_stride, 1) F(b_stride, 1) F(c_stride, 1) F(inv_mat_size, NO_INT) F(batch_count, 1)          \
  F(data_type, QUDA_BLAS_DATATYPE_S) F(data_order, QUDA_BLAS_DATAORDER_ROW)
// clang-format on

/* ---- defaults ---- */

#define SET(member, value) param.member = value;
#define BEGIN(type)                \
  type param;                      \
  memset(&param, 0, sizeof param); \
  param.struct_size = sizeof param;

QudaGaugeParam newQudaGaugeParam(void) {
  BEGIN(QudaGaugeParam)
  GAUGE_TABLE(SET)
  return param;
}

QudaInvertParam newQudaInvertParam(void) {
  BEGIN(QudaInvertParam)
  INVERT_TABLE(SET)
  return param;
}

QudaEigParam newQudaEigParam(void) {
  BEGIN(QudaEigParam)
  EIG_TABLE(SET)
  return param;
}

QudaMultigridParam newQudaMultigridParam(void) {
  BEGIN(QudaMultigridParam)
  MULTIGRID_TABLE(SET)
  for (int i = 0; i < QUDA_MAX_MG_LEVEL; i++) {
    LEVEL_TABLE(SET)
  }
  return param;
}

QudaGaugeObservableParam newQudaGaugeObservableParam(void) {
  BEGIN(QudaGaugeObservableParam)
  OBSERVABLE_TABLE(SET)
  return param;
}

QudaGaugeSmearParam newQudaGaugeSmearParam(void) {
  BEGIN(QudaGaugeSmearParam)
  SMEAR_TABLE(SET)
  return param;
}

QudaBLASParam newQudaBLASParam(void) {
  BEGIN(QudaBLASParam)
  BLAS_TABLE(SET)
  return param;
}

/* ---- printing: what differs from the defaults ---- */

static void show(const char *member, int level, double value, double standard) {
  if (value == standard) return;
  if (level < 0)
    kaon_quda_print(QUDA_SILENT, "  %s = %.10g", member, value);
  else
    kaon_quda_print(QUDA_SILENT, "  %s = %.10g (level %d)", member, value, level);
}

#define SHOW(member, value) show(#member, -1, (double)param->member, (double)(value));
#define SHOW_LEVEL(member, value) show(#member, i, (double)param->member, (double)(value));

void printQudaGaugeParam(QudaGaugeParam *param) {
  kaon_quda_print(QUDA_SILENT, "QudaGaugeParam:");
  GAUGE_TABLE(SHOW)
}

void printQudaInvertParam(QudaInvertParam *param) {
  kaon_quda_print(QUDA_SILENT, "QudaInvertParam:");
  INVERT_TABLE(SHOW)
}

void printQudaEigParam(QudaEigParam *param) {
  kaon_quda_print(QUDA_SILENT, "QudaEigParam:");
  EIG_TABLE(SHOW)
}

void printQudaMultigridParam(QudaMultigridParam *param) {
  kaon_quda_print(QUDA_SILENT, "QudaMultigridParam:");
  MULTIGRID_TABLE(SHOW)
  for (int i = 0; i < param->n_level && i < QUDA_MAX_MG_LEVEL; i++) {
    LEVEL_TABLE(SHOW_LEVEL)
  }
  if (param->invert_param != NULL) printQudaInvertParam(param->invert_param);
}

void printQudaGaugeObservableParam(QudaGaugeObservableParam *param) {
  kaon_quda_print(QUDA_SILENT, "QudaGaugeObservableParam:");
  OBSERVABLE_TABLE(SHOW)
}

void printQudaBLASParam(QudaBLASParam *param) {
  kaon_quda_print(QUDA_SILENT, "QudaBLASParam:");
  BLAS_TABLE(SHOW)
}
