/** @file quda_milc_interface.h
 * The calls of MILC. Fields are MILC's: even sites first, links [site][4][3][3], structs by value. */
#pragma once

#include "quda.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Links and momenta in the sites of MILC. site NULL: in arrays link and mom of their own. Offsets and size in bytes. */
typedef struct {
  void *site;
  void *link;
  size_t link_offset;
  void *mom;
  size_t mom_offset, size;
} QudaMILCSiteArg_t;

/** Solves. */
typedef struct {
  /* Steps, restarts included */
  int max_iter;
  QudaParity evenodd;
  /* 0: none. 1: single inside. 2: half inside */
  int mixed_precision;
  /* Signs that the links carry in each direction */
  double boundary_phase[4];
  int make_resident_solution, use_resident_solution;
  /* 0: CG. 1: BiCGStab */
  QudaInverterType solver_type;
  double tadpole, naik_epsilon;
} QudaInvertArgs_t;

/** Deflated solves. */
typedef struct {
  QudaPrecision prec_ritz;
  int nev, max_search_dim, deflation_grid;
  double tol_restart;
  int eigcg_max_restarts, max_restart_num;
  double inc_tol, eigenval_tol;
  QudaExtLibType solver_ext_lib, deflation_ext_lib;
  QudaFieldLocation location_ritz;
  QudaMemoryType mem_type_ritz;
  char *vec_infile;
  char *vec_outfile;
} QudaEigArgs_t;

/** Global extents latsize[4], ranks machsize[4], device (-1: chosen by the rank on its node). */
typedef struct {
  const int *latsize;
  const int *machsize;
  int device;
} QudaLayout_t;

/** Start. */
typedef struct {
  QudaVerbosity verbosity;
  QudaLayout_t layout;
} QudaInitArgs_t;

/** Projection to U(3) in HISQ links, and their force. */
typedef struct {
  int reunit_allow_svd, reunit_svd_only;
  double reunit_svd_abs_error, reunit_svd_rel_error, force_filter;
} QudaHisqParams_t;

/** Fat links. */
typedef struct {
  int su3_source, use_pinned_memory;
} QudaFatLinkArgs_t;

/** Contractions with momenta: mom_modes[4 n_mom], fft_type[4 n_mom]. */
typedef struct {
  int n_mom;
  int *mom_modes;
  QudaFFTSymmType *fft_type;
  int *source_position;
  double flops, dtime;
} QudaContractArgs_t;

/** Gaussian smearing by two-link hops. */
typedef struct {
  int n_steps;
  double width;
  int compute_2link, delete_2link, t0, laplaceDim;
} QudaTwoLinkQuarkSmearArgs_t;

/* Start and end. */
void qudaSetMPICommHandle(void *mycomm);
void qudaInit(QudaInitArgs_t input);
void qudaSetLayout(QudaLayout_t layout);
void qudaFinalize(void);
void *qudaAllocatePinned(size_t bytes);
void qudaFreePinned(void *ptr);
void *qudaAllocateManaged(size_t bytes);
void qudaFreeManaged(void *ptr);

/* Links of HISQ and asqtad. */
void qudaHisqParamsInit(QudaHisqParams_t hisq_params);
void qudaLoadKSLink(int precision, QudaFatLinkArgs_t fatlink_args, const double act_path_coeff[6],
                    void *inlink, void *fatlink, void *longlink);
void qudaLoadUnitarizedLink(int precision, QudaFatLinkArgs_t fatlink_args,
                            const double path_coeff[6], void *inlink, void *fatlink, void *ulink);

/* Staggered operator and shifts. */
void qudaDslash(int external_precision, int quda_precision, QudaInvertArgs_t inv_args,
                const void *const milc_fatlink, const void *const milc_longlink, void *source,
                void *solution, int *num_iters);
void qudaShift(int external_precision, int quda_precision, const void *const links, void *source,
               void *solution, int dir, int sym, int reloadGaugeField);
void qudaSpinTaste(int external_precision, int quda_precision, const void *const links, void *src,
                   void *dst, int spin, int taste, int reloadGaugeField);

/* Staggered solves: (4 mass^2 - D^2) solution = source on the parity inv_args.evenodd. Precision 1: single, 2: double.
 * *num_iters = -1 on entry: the links are new. Otherwise links stay that have the same pointers; a
 * change of all of them in place is noticed, one of a few may not be. Residuals are relative
 * 2-norms; fermilab: the heavy-quark residual, of shifts only if one of them has a target, else 0.
 * A target of 0 is none; of a later shift it means as far as the first one goes. */
void qudaInvert(int external_precision, int quda_precision, double mass, QudaInvertArgs_t inv_args,
                double target_residual, double target_fermilab_residual,
                const void *const milc_fatlink, const void *const milc_longlink, void *source,
                void *solution, double *const final_resid, double *const final_rel_resid,
                int *num_iters);
void qudaInvertMsrc(int external_precision, int quda_precision, double mass,
                    QudaInvertArgs_t inv_args, double target_residual,
                    double target_fermilab_residual, const void *const fatlink,
                    const void *const longlink, void **sourceArray, void **solutionArray,
                    double *const final_residual, double *const final_fermilab_residual,
                    int *num_iters, int num_src);
void qudaMultishiftInvert(int external_precision, int precision, int num_offsets,
                          double *const offset, QudaInvertArgs_t inv_args,
                          const double *target_residual, const double *target_fermilab_residual,
                          const void *const milc_fatlink, const void *const milc_longlink,
                          void *source, void **solutionArray, double *const final_residual,
                          double *const final_fermilab_residual, int *num_iters);
void qudaDDInvert(int external_precision, int quda_precision, double mass,
                  QudaInvertArgs_t inv_args, double target_residual,
                  double target_fermilab_residual, const int *const domain_overlap,
                  const void *const fatlink, const void *const longlink, void *source,
                  void *solution, double *const final_residual,
                  double *const final_fermilab_residual, int *num_iters);
void qudaEigCGInvert(int external_precision, int quda_precision, double mass,
                     QudaInvertArgs_t inv_args, double target_residual,
                     double target_fermilab_residual, const void *const fatlink,
                     const void *const longlink, void *source, void *solution,
                     QudaEigArgs_t eig_args, const int rhs_idx, const int last_rhs_flag,
                     double *const final_residual, double *const final_fermilab_residual,
                     int *num_iters);
void *qudaMultigridCreate(int external_precision, int quda_precision, double mass,
                          QudaInvertArgs_t inv_args, const void *const milc_fatlink,
                          const void *const milc_longlink, const char *const mg_param_file);
void qudaInvertMG(int external_precision, int quda_precision, double mass,
                  QudaInvertArgs_t inv_args, double target_residual,
                  double target_fermilab_residual, const void *const milc_fatlink,
                  const void *const milc_longlink, void *mg_pack_ptr, int mg_rebuild_type,
                  void *source, void *solution, double *const final_residual,
                  double *const final_fermilab_residual, int *num_iters);
void qudaMultigridDestroy(void *mg_pack_ptr);

/* Clover solves. milc_clover has 72 reals a site. */
void qudaCloverInvert(int external_precision, int quda_precision, double kappa, double clover_coeff,
                      QudaInvertArgs_t inv_args, double target_residual,
                      double target_fermilab_residual, const void *milc_link, void *milc_clover,
                      void *milc_clover_inv, void *source, void *solution,
                      double *const final_residual, double *const final_fermilab_residual,
                      int *num_iters);
void qudaEigCGCloverInvert(int external_precision, int quda_precision, double kappa,
                           double clover_coeff, QudaInvertArgs_t inv_args, double target_residual,
                           double target_fermilab_residual, const void *milc_link,
                           void *milc_clover, void *milc_clover_inv, void *source, void *solution,
                           QudaEigArgs_t eig_args, const int rhs_idx, const int last_rhs_flag,
                           double *const final_residual, double *const final_fermilab_residual,
                           int *num_iters);
void qudaCloverMultishiftInvert(int external_precision, int quda_precision, int num_offsets,
                                double *const offset, double kappa, double clover_coeff,
                                QudaInvertArgs_t inv_args, const double *target_residual,
                                void *source, void **solutionArray, double *const final_residual,
                                int *num_iters);
void qudaLoadGaugeField(int external_precision, int quda_precision, QudaInvertArgs_t inv_args,
                        const void *milc_link);
void qudaFreeGaugeField(void);
void qudaLoadCloverField(int external_precision, int quda_precision, QudaInvertArgs_t inv_args,
                         void *milc_clover, void *milc_clover_inv, QudaSolutionType solution_type,
                         QudaSolveType solve_type, double clover_coeff, int compute_trlog,
                         double *trlog);
void qudaFreeCloverField(void);

/* Observables and gauge fixing. phase_in: whether the links carry staggered phases. */
void qudaPlaquettePhased(int precision, double plaq[3], QudaMILCSiteArg_t *arg, int phase_in);
void qudaPolyakovLoopPhased(int precision, double ploop[2], int dir, QudaMILCSiteArg_t *arg,
                            int phase_in);
void qudaGaugeLoopTracePhased(int precision, double *traces, int **input_path_buf, int *path_length,
                              double *loop_coeff, int num_paths, int max_length, double factor,
                              QudaMILCSiteArg_t *arg, int phase_in);
void qudaGaugeMeasurementsPhased(int precision, double plaq[3], double ploop[2], int dir,
                                 double *traces, int **input_path_buf, int *path_length,
                                 double *loop_coeff, int num_paths, int max_length, double factor,
                                 QudaMILCSiteArg_t *arg, int phase_in);
void qudaGaugeFixingOVR(int precision, unsigned int gauge_dir, int Nsteps, int verbose_interval,
                        double relax_boost, double tolerance, unsigned int reunit_interval,
                        unsigned int stopWtheta, QudaMILCSiteArg_t *arg);
void qudaGaugeFixingFFT(int precision, unsigned int gauge_dir, int Nsteps, int verbose_interval,
                        double alpha, unsigned int autotune, double tolerance,
                        unsigned int stopWtheta, void *milc_sitelink);

/* Sources and contractions. */
void qudaTwoLinkGaussianSmear(int external_precision, int quda_precision, void *h_gauge,
                              void *source, QudaTwoLinkQuarkSmearArgs_t qsmear_args);
void qudaFreeTwoLink(void);
void qudaContractFT(int external_precision, QudaContractArgs_t *cont_args, void *const quark1,
                    void *const quark2, double *corr);

/* Molecular dynamics: momenta, update and projection of links. */
void qudaMomLoad(int precision, QudaMILCSiteArg_t *arg);
void qudaMomSave(int precision, QudaMILCSiteArg_t *arg);
double qudaMomAction(int precision, QudaMILCSiteArg_t *arg);
void qudaUpdateU(int precision, double eps, QudaMILCSiteArg_t *arg);
void qudaUpdateUPhased(int precision, double eps, QudaMILCSiteArg_t *arg, int phase_in);
void qudaUpdateUPhasedPipeline(int precision, double eps, QudaMILCSiteArg_t *arg, int phase_in,
                               int want_gaugepipe);
void qudaRephase(int prec, void *gauge, int flag, double i_mu);
void qudaUnitarizeSU3(int prec, double tol, QudaMILCSiteArg_t *arg);
void qudaUnitarizeSU3Phased(int prec, double tol, QudaMILCSiteArg_t *arg, int phase_in);

/* Forces. */
void qudaGaugeForce(int precision, int num_loop_types, double milc_loop_coeff[3], double eb3,
                    QudaMILCSiteArg_t *arg);
void qudaGaugeForcePhased(int precision, int num_loop_types, double milc_loop_coeff[3], double eb3,
                          QudaMILCSiteArg_t *arg, int phase_in);
void qudaHisqForce(int precision, int num_terms, int num_naik_terms, double dt, double **coeff,
                   void **quark_field, const double level2_coeff[6], const double fat7_coeff[6],
                   const void *const w_link, const void *const v_link, const void *const u_link,
                   void *const milc_momentum);
void qudaAsqtadForce(int precision, const double act_path_coeff[6],
                     const void *const one_link_src[4], const void *const naik_src[4],
                     const void *const link, void *const milc_momentum);
void qudaComputeOprod(int precision, int num_terms, int num_naik_terms, double **coeff,
                      double scale, void **quark_field, void *oprod[3]);
void qudaCloverForce(void *mom, double dt, void **x, void **p, double *coeff, double kappa,
                     double ck, int nvec, double multiplicity, void *gauge, int precision,
                     QudaInvertArgs_t inv_args);
void qudaCloverTrace(void *out, void *dummy, int mu, int nu);
void qudaCloverDerivative(void *out, void *gauge, void *oprod, int mu, int nu, double coeff,
                          int precision, int parity, int conjugate);

/* Fields held by the library. */
void *qudaCreateGaugeField(void *gauge, int geometry, int precision);
void qudaSaveGaugeField(void *gauge, void *inGauge);
void qudaDestroyGaugeField(void *gauge);
void *qudaCreateExtendedGaugeField(void *gauge, int geometry, int precision);
void *qudaResidentExtendedGaugeField(void *gauge, int geometry, int precision);

#ifdef __cplusplus
}
#endif
