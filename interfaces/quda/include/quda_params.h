/** @file quda_params.h
 * Parameter structs of quda.h. Set each by its newQuda*Param function, then change members. Names, types
 * and order of members are QUDA's. */
#pragma once

#include <stddef.h>
#include "enum_quda.h"
#include "quda_constants.h"
#include "quda_define.h"

#define double_complex double _Complex

#ifdef __cplusplus
extern "C" {
#endif

/** Links. */
typedef struct QudaGaugeParam_s {
  size_t struct_size;
  QudaFieldLocation location;
  /* Extents of the local lattice */
  int X[4];
  /* Action */
  double anisotropy, tadpole_coeff, scale;
  /* Layout of the caller */
  QudaLinkType type;
  QudaGaugeFieldOrder gauge_order;
  QudaTboundary t_boundary;
  /* Precision of the caller */
  QudaPrecision cpu_prec;
  /* Precision and reconstruction inside, for each use of the links */
  QudaPrecision cuda_prec;
  QudaReconstructType reconstruct;
  QudaPrecision cuda_prec_sloppy;
  QudaReconstructType reconstruct_sloppy;
  QudaPrecision cuda_prec_refinement_sloppy;
  QudaReconstructType reconstruct_refinement_sloppy;
  QudaPrecision cuda_prec_precondition;
  QudaReconstructType reconstruct_precondition;
  QudaPrecision cuda_prec_eigensolver;
  QudaReconstructType reconstruct_eigensolver;
  /* Padding: ignored */
  QudaGaugeFixed gauge_fix;
  int ga_pad, site_ga_pad, staple_pad, llfat_ga_pad, mom_ga_pad;
  /* Phases that the links carry */
  QudaStaggeredPhase staggered_phase_type;
  int staggered_phase_applied;
  double i_mu;
  /* Overlap of subdomains */
  int overlap;
  /* Results: replace or add */
  int overwrite_gauge, overwrite_mom;
  /* Fields kept between calls */
  int use_resident_gauge, use_resident_mom, make_resident_gauge, make_resident_mom,
      return_result_gauge, return_result_mom;
  /* Byte offsets in a site of MILC's lattice (QUDA_MILC_SITE_GAUGE_ORDER) */
  size_t gauge_offset, mom_offset, site_size;
} QudaGaugeParam;

/** Operators and solves. */
typedef struct QudaInvertParam_s {
  size_t struct_size;
  QudaFieldLocation input_location, output_location;
  /* Operator */
  QudaDslashType dslash_type;
  QudaInverterType inv_type;
  double mass, kappa;
  /* Domain wall: height, extent of the fifth dimension, coefficients of its slices */
  double m5;
  int Ls;
  double_complex b_5[QUDA_MAX_DWF_LS], c_5[QUDA_MAX_DWF_LS];
  /* Exact one-flavour action */
  double eofa_shift;
  int eofa_pm;
  double mq1, mq2, mq3;
  /* Twisted mass */
  double mu, tm_rho, epsilon, evmax;
  QudaTwistFlavorType twist_flavor;
  /* Laplace operator and covariant derivative */
  int laplace3D, covdev_mu;
  /* Stopping: |r|/|b|, restart, heavy-quark residual */
  double tol, tol_restart, tol_hq;
  /* Residuals reached, one a source */
  int compute_true_res;
  double true_res[QUDA_MAX_MULTI_SRC], true_res_hq[QUDA_MAX_MULTI_SRC];
  /* Iteration, reliable updates */
  int maxiter;
  double reliable_delta, reliable_delta_refinement;
  int use_alternative_reliable, use_sloppy_partial_accumulator, solution_accumulator_pipeline;
  /* Growth of the residual that is still tolerated */
  int max_res_increase, max_res_increase_total, max_hq_res_increase, max_hq_res_restart_total,
      heavy_quark_check;
  /* Sources and shifts */
  int pipeline, num_offset, num_src, num_src_per_sub_partition, split_grid[QUDA_MAX_DIM];
  /* Overlap of subdomains */
  int overlap;
  /* Multi-shift solves: shifts, tolerances, residuals reached */
  double offset[QUDA_MAX_MULTI_SHIFT], tol_offset[QUDA_MAX_MULTI_SHIFT],
      tol_hq_offset[QUDA_MAX_MULTI_SHIFT], true_res_offset[QUDA_MAX_MULTI_SHIFT],
      iter_res_offset[QUDA_MAX_MULTI_SHIFT], true_res_hq_offset[QUDA_MAX_MULTI_SHIFT],
      residue[QUDA_MAX_MULTI_SHIFT];
  /* Bilinear form of source and solution */
  int compute_action;
  double action[2];
  /* System: which is given, which is solved */
  QudaSolutionType solution_type;
  QudaSolveType solve_type;
  QudaMatPCType matpc_type;
  QudaDagType dagger;
  QudaMassNormalization mass_normalization;
  QudaSolverNormalization solver_normalization;
  QudaPreserveSource preserve_source;
  /* Precision outside and inside */
  QudaPrecision cpu_prec, cuda_prec, cuda_prec_sloppy, cuda_prec_refinement_sloppy,
      cuda_prec_precondition, cuda_prec_eigensolver;
  /* Layout of spinors */
  QudaDiracFieldOrder dirac_order;
  QudaGammaBasis gamma_basis;
  /* Clover field: layout and precision */
  QudaFieldLocation clover_location;
  QudaPrecision clover_cpu_prec, clover_cuda_prec, clover_cuda_prec_sloppy,
      clover_cuda_prec_refinement_sloppy, clover_cuda_prec_precondition,
      clover_cuda_prec_eigensolver;
  QudaCloverFieldOrder clover_order;
  /* Whether the solution holds an initial guess */
  QudaUseInitGuess use_init_guess;
  /* Clover field: coefficients */
  double clover_csw, clover_coeff, clover_rho;
  /* Clover field: log of the determinant of each parity */
  int compute_clover_trlog;
  double trlogA[2];
  /* Clover field: what is made and returned */
  int compute_clover, compute_clover_inverse, return_clover, return_clover_inverse;
  /* Output */
  QudaVerbosity verbosity;
  /* Figures of the solve */
  int iter;
  double gflops, secs, energy, power, temp, clock;
  /* Tuning */
  QudaTune tune;
  /* Method: inner steps, Krylov space */
  int Nsteps, gcrNkrylov;
  /* Preconditioner */
  QudaInverterType inv_type_precondition;
  void *preconditioner;
  void *deflation_op;
  void *eig_param;
  QudaBoolean deflate;
  QudaDslashType dslash_type_precondition;
  QudaVerbosity verbosity_precondition;
  double tol_precondition;
  int maxiter_precondition;
  double omega;
  /* Communication-avoiding methods: basis and bounds of the spectrum */
  QudaCABasis ca_basis;
  double ca_lambda_min, ca_lambda_max;
  QudaCABasis ca_basis_precondition;
  double ca_lambda_min_precondition, ca_lambda_max_precondition;
  /* Schwarz preconditioner */
  int precondition_cycle;
  QudaSchwarzType schwarz_type;
  /* Accelerator of Moebius solves */
  QudaAcceleratorType accelerator_type_precondition;
  double madwf_diagonal_suppressor;
  int madwf_ls, madwf_null_miniter;
  double madwf_null_tol;
  int madwf_train_maxiter;
  QudaBoolean madwf_param_load, madwf_param_save;
  char madwf_param_infile[256], madwf_param_outfile[256];
  /* Residual of the stopping test (bits of QudaResidualType) */
  QudaResidualType residual_type;
  /* Deflation */
  QudaPrecision cuda_prec_ritz;
  int n_ev, max_search_dim, rhs_idx, deflation_grid;
  double eigenval_tol;
  int eigcg_max_restarts, max_restart_num;
  double inc_tol;
  /* Solutions kept between calls */
  int make_resident_solution, use_resident_solution;
  /* Chronological guess */
  int chrono_make_resident, chrono_replace_last, chrono_use_resident, chrono_max_dim, chrono_index;
  QudaPrecision chrono_precision;
  /* Libraries inside */
  QudaExtLibType extlib_type;
  QudaBoolean native_blas_lapack, use_mobius_fused_kernel;
  /* Distance preconditioning */
  double distance_pc_alpha0;
  int distance_pc_t0;
  /* Padding of older versions: ignored */
  int sp_pad, cl_pad;
} QudaInvertParam;

/** Eigenvectors and deflation. */
typedef struct QudaEigParam_s {
  size_t struct_size;
  /* Operator */
  QudaInvertParam *invert_param;
  /* Method */
  QudaEigType eig_type;
  /* Chebyshev polynomial */
  QudaBoolean use_poly_acc;
  int poly_deg;
  double a_min, a_max;
  /* Space kept between calls */
  QudaBoolean preserve_deflation;
  void *preserve_deflation_space;
  QudaBoolean preserve_evals;
  /* Which form of the operator */
  QudaBoolean use_dagger, use_norm_op, use_pc, use_eigen_qr, compute_svd, compute_gamma5;
  /* Spectrum: part and number wanted */
  QudaBoolean require_convergence;
  QudaEigSpectrumType spectrum;
  int n_ev, n_kr, nLockedMax, n_conv, n_ev_deflate;
  /* Stopping */
  double tol, qr_tol;
  int check_interval, max_restarts;
  /* Block sizes */
  int batched_rotate, block_size, compute_evals_batch_size, max_ortho_attempts, ortho_block_size;
  /* Check by ARPACK */
  QudaBoolean arpack_check;
  char arpack_logfile[512], QUDA_logfile[512];
  /* Deflated CG */
  int nk, np;
  /* Storage of vectors */
  QudaBoolean import_vectors;
  QudaPrecision cuda_prec_ritz;
  QudaMemoryType mem_type_ritz;
  QudaFieldLocation location;
  /* Files */
  QudaBoolean run_verify;
  char vec_infile[256], vec_outfile[256];
  QudaPrecision save_prec;
  QudaBoolean io_parity_inflate, partfile;
  QudaExtLibType extlib_type;
} QudaEigParam;

/** Multigrid. Arrays have an entry for each level. */
typedef struct QudaMultigridParam_s {
  size_t struct_size;
  /* Finest level and deflation of each level */
  QudaInvertParam *invert_param;
  QudaEigParam *eig_param[QUDA_MAX_MG_LEVEL];
  /* Levels and blocks */
  int n_level, geo_block_size[QUDA_MAX_MG_LEVEL][QUDA_MAX_DIM], spin_block_size[QUDA_MAX_MG_LEVEL],
      n_vec[QUDA_MAX_MG_LEVEL];
  /* Null vectors: storage and orthogonalisation */
  QudaPrecision precision_null[QUDA_MAX_MG_LEVEL];
  int n_block_ortho[QUDA_MAX_MG_LEVEL];
  QudaBoolean block_ortho_two_pass[QUDA_MAX_MG_LEVEL];
  /* Each level: output, tensor cores */
  QudaVerbosity verbosity[QUDA_MAX_MG_LEVEL];
  QudaBoolean setup_use_mma[QUDA_MAX_MG_LEVEL], dslash_use_mma[QUDA_MAX_MG_LEVEL];
  /* Each level: set-up of null vectors */
  QudaInverterType setup_inv_type[QUDA_MAX_MG_LEVEL];
  int n_vec_batch[QUDA_MAX_MG_LEVEL], num_setup_iter[QUDA_MAX_MG_LEVEL];
  double setup_tol[QUDA_MAX_MG_LEVEL];
  int setup_maxiter[QUDA_MAX_MG_LEVEL], setup_maxiter_refresh[QUDA_MAX_MG_LEVEL];
  QudaCABasis setup_ca_basis[QUDA_MAX_MG_LEVEL];
  int setup_ca_basis_size[QUDA_MAX_MG_LEVEL];
  double setup_ca_lambda_min[QUDA_MAX_MG_LEVEL], setup_ca_lambda_max[QUDA_MAX_MG_LEVEL];
  /* Set-up of all levels */
  QudaSetupType setup_type;
  QudaBoolean pre_orthonormalize, post_orthonormalize;
  /* Each level: coarse solver */
  QudaInverterType coarse_solver[QUDA_MAX_MG_LEVEL];
  double coarse_solver_tol[QUDA_MAX_MG_LEVEL];
  int coarse_solver_maxiter[QUDA_MAX_MG_LEVEL];
  QudaCABasis coarse_solver_ca_basis[QUDA_MAX_MG_LEVEL];
  int coarse_solver_ca_basis_size[QUDA_MAX_MG_LEVEL];
  double coarse_solver_ca_lambda_min[QUDA_MAX_MG_LEVEL],
      coarse_solver_ca_lambda_max[QUDA_MAX_MG_LEVEL];
  /* Each level: smoother */
  QudaInverterType smoother[QUDA_MAX_MG_LEVEL];
  double smoother_tol[QUDA_MAX_MG_LEVEL];
  int nu_pre[QUDA_MAX_MG_LEVEL], nu_post[QUDA_MAX_MG_LEVEL];
  QudaCABasis smoother_solver_ca_basis[QUDA_MAX_MG_LEVEL];
  double smoother_solver_ca_lambda_min[QUDA_MAX_MG_LEVEL],
      smoother_solver_ca_lambda_max[QUDA_MAX_MG_LEVEL], omega[QUDA_MAX_MG_LEVEL];
  /* Each level: Schwarz smoother */
  QudaPrecision smoother_halo_precision[QUDA_MAX_MG_LEVEL];
  QudaSchwarzType smoother_schwarz_type[QUDA_MAX_MG_LEVEL];
  int smoother_schwarz_cycle[QUDA_MAX_MG_LEVEL];
  /* Each level: systems, cycle, place */
  QudaSolutionType coarse_grid_solution_type[QUDA_MAX_MG_LEVEL];
  QudaSolveType smoother_solve_type[QUDA_MAX_MG_LEVEL];
  QudaMultigridCycleType cycle_type[QUDA_MAX_MG_LEVEL];
  QudaBoolean global_reduction[QUDA_MAX_MG_LEVEL];
  QudaFieldLocation location[QUDA_MAX_MG_LEVEL], setup_location[QUDA_MAX_MG_LEVEL];
  QudaBoolean use_eig_solver[QUDA_MAX_MG_LEVEL];
  /* Set-up of all levels: what is done */
  QudaBoolean setup_minimize_memory;
  QudaComputeNullVector compute_null_vector;
  QudaBoolean generate_all_levels, run_verify, run_low_mode_check, run_oblique_proj_check;
  /* Files of null vectors */
  QudaBoolean vec_load[QUDA_MAX_MG_LEVEL];
  char vec_infile[QUDA_MAX_MG_LEVEL][256];
  QudaBoolean vec_store[QUDA_MAX_MG_LEVEL];
  char vec_outfile[QUDA_MAX_MG_LEVEL][256];
  QudaBoolean mg_vec_partfile[QUDA_MAX_MG_LEVEL];
  /* Deflation of the coarsest level */
  QudaBoolean coarse_guess, preserve_deflation;
  /* Each level: factor of the twisted mass, kind of aggregation */
  double mu_factor[QUDA_MAX_MG_LEVEL];
  QudaTransferType transfer_type[QUDA_MAX_MG_LEVEL];
  /* Staggered levels */
  QudaBoolean allow_truncation, staggered_kd_dagger_approximation;
  /* updateMultigridQuda: refresh the operators alone */
  QudaBoolean thin_update_only;
} QudaMultigridParam;

/** Observables of links. */
typedef struct QudaGaugeObservableParam_s {
  size_t struct_size;
  /* Projection to SU(3) first */
  QudaBoolean su_project;
  /* Plaquette: mean, of space, of time */
  QudaBoolean compute_plaquette;
  double plaquette[3];
  /* Polyakov loop in time: real, imaginary */
  QudaBoolean compute_polyakov_loop;
  double ploop[2];
  /* Traces of closed paths */
  QudaBoolean compute_gauge_loop_trace;
  double_complex *traces;
  int **input_path_buff;
  int *path_length;
  double *loop_coeff;
  int num_paths, max_length;
  double factor;
  /* Topological charge; energy: whole, of space, of time */
  QudaBoolean compute_qcharge;
  double qcharge, energy[3];
  QudaBoolean compute_qcharge_density;
  void *qcharge_density;
  /* Links that carry staggered phases: divide these out first */
  QudaBoolean remove_staggered_phase;
} QudaGaugeObservableParam;

/** Smearing and flow of links. */
typedef struct QudaGaugeSmearParam_s {
  size_t struct_size;
  /* Steps and coefficients of APE, stout, HYP and of flows */
  unsigned int n_steps;
  double epsilon, alpha, rho, alpha1, alpha2, alpha3;
  /* Observables: every so many steps */
  unsigned int meas_interval;
  /* Kind */
  QudaGaugeSmearType smear_type;
  QudaBoolean restart;
  /* First flow time */
  double t0;
  /* Direction that is left out */
  int dir_ignore;
} QudaGaugeSmearParam;

/** Products and inverses of small dense matrices. */
typedef struct QudaBLASParam_s {
  size_t struct_size;
  /* Task */
  QudaBLASType blas_type;
  /* Product C = alpha op(A) op(B) + beta C */
  QudaBLASOperation trans_a, trans_b;
  int m, n, k, lda, ldb, ldc, a_offset, b_offset, c_offset, a_stride, b_stride, c_stride;
  double_complex alpha, beta;
  /* Inversion: order of the matrix */
  int inv_mat_size;
  /* Both: number of matrices, type, order */
  int batch_count;
  QudaBLASDataType data_type;
  QudaBLASDataOrder data_order;
} QudaBLASParam;

/** Gaussian smearing of staggered fields by two-link hops. */
typedef struct QudaQuarkSmearParam_s {
  /* Smearing */
  QudaInvertParam *inv_param;
  int n_steps;
  double width;
  int compute_2link, delete_2link, t0;
  /* Figures of the call */
  double secs, gflops, energy, power, temp, clock;
} QudaQuarkSmearParam;

#ifdef __cplusplus
}
#endif
