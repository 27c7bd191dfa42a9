/** @file quda.h
 * Interface of libquda for lattice applications: links, operators, solves. Names, numbers, members and
 * signatures are QUDA's. The state is one per process. Arrays have the caller's layout, which the
 * parameter structs name. An error prints one sentence and ends the process, unless the environment
 * has KAON_QUDA_ON_ERROR=return. */
#pragma once

#include <stdio.h>
#include "quda_params.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Start and end. initQuda = initQudaDevice + initQudaMemory. Device -1: chosen by the rank on its node. */
void setVerbosityQuda(QudaVerbosity verbosity, const char prefix[], FILE *outfile);
/** Rank of the process at these grid coordinates. */
typedef int (*QudaCommsMap)(const int *coords, void *fdata);
void qudaSetCommHandle(void *mycomm);
void setMPICommHandleQuda(void *mycomm);
void initCommsGridQuda(int nDim, const int *dims, QudaCommsMap func, void *fdata);
void initQudaDevice(int device);
void initQudaMemory(void);
void initQuda(int device);
void endQuda(void);
void updateR(void);

/* Parameter structs with their default values, and printing them. */
QudaGaugeParam newQudaGaugeParam(void);
QudaInvertParam newQudaInvertParam(void);
QudaMultigridParam newQudaMultigridParam(void);
QudaEigParam newQudaEigParam(void);
QudaGaugeObservableParam newQudaGaugeObservableParam(void);
QudaGaugeSmearParam newQudaGaugeSmearParam(void);
QudaBLASParam newQudaBLASParam(void);
void printQudaGaugeParam(QudaGaugeParam *param);
void printQudaInvertParam(QudaInvertParam *param);
void printQudaMultigridParam(QudaMultigridParam *param);
void printQudaEigParam(QudaEigParam *param);
void printQudaGaugeObservableParam(QudaGaugeObservableParam *param);
void printQudaBLASParam(QudaBLASParam *param);

/* Links. Each kind (QudaGaugeParam.type) is one field of the process and replaces the one before. */
void loadGaugeQuda(void *h_gauge, QudaGaugeParam *param);
void saveGaugeQuda(void *h_gauge, QudaGaugeParam *param);
void freeGaugeQuda(void);
void freeUniqueGaugeQuda(QudaLinkType link_type);
void freeGaugeSmearedQuda(void);
void freeGaugeTwoLinkQuda(void);
void *createGaugeFieldQuda(void *gauge, int geometry, QudaGaugeParam *param);
void saveGaugeFieldQuda(void *outGauge, void *inGauge, QudaGaugeParam *param);
void destroyGaugeFieldQuda(void *gauge);
void copyExtendedResidentGaugeQuda(void *resident_gauge);
void staggeredPhaseQuda(void *gauge_h, QudaGaugeParam *param);
void projectSU3Quda(void *gauge_h, double tol, QudaGaugeParam *param);
void gaussGaugeQuda(unsigned long long seed, double sigma);

/* Clover field, handed over or computed from the links. */
void loadCloverQuda(void *h_clover, void *h_clovinv, QudaInvertParam *inv_param);
void createCloverQuda(QudaInvertParam *param);
void freeCloverQuda(void);

/* Solves: A h_x = h_b. */
void invertQuda(void *h_x, void *h_b, QudaInvertParam *param);
void invertMultiSrcQuda(void **h_x, void **h_b, QudaInvertParam *param);
void invertMultiShiftQuda(void **h_x, void *h_b, QudaInvertParam *param);
void flushChronoQuda(int index);

/* Multigrid. */
void *newMultigridQuda(QudaMultigridParam *param);
void updateMultigridQuda(void *mg_instance, QudaMultigridParam *param);
void destroyMultigridQuda(void *mg_instance);
void dumpMultigridQuda(void *mg_instance, QudaMultigridParam *param);

/* Eigenvectors and deflation. */
void eigensolveQuda(void **h_evecs, double_complex *h_evals, QudaEigParam *param);
void lanczosQuda(int k0, int m, void *hp_Apsi, void *hp_r, void *hp_V, void *hp_alpha,
                 void *hp_beta, QudaEigParam *eig_param);
void *newDeflationQuda(QudaEigParam *param);
void destroyDeflationQuda(void *df_instance);

/* Operators applied: h_out = A h_in. */
void dslashQuda(void *h_out, void *h_in, QudaInvertParam *inv_param, QudaParity parity);
void dslashMultiSrcQuda(void **h_x, void **h_b, QudaInvertParam *param, QudaParity parity);
void cloverQuda(void *h_out, void *h_in, QudaInvertParam *inv_param, QudaParity parity,
                int inverse);
void MatQuda(void *h_out, void *h_in, QudaInvertParam *inv_param);
void MatDagMatQuda(void *h_out, void *h_in, QudaInvertParam *inv_param);
void covDevQuda(void *h_out, void *h_in, int dir, QudaInvertParam *param);
void shiftQuda(void *h_out, void *h_in, int dir, int sym, QudaInvertParam *param);
void spinTasteQuda(void *h_out, void *h_in, int spin, int taste, QudaInvertParam *param);

/* Observables of links. */
void plaqQuda(double plaq[3]);
void polyakovLoopQuda(double ploop[2], int dir);
void gaugeObservablesQuda(QudaGaugeObservableParam *param);
void computeGaugeLoopTraceQuda(double_complex *traces, int **input_path_buf, int *path_length,
                               double *loop_coeff, int num_paths, int max_length, double factor);
int computeGaugePathQuda(void *out, void *sitelink, int ***input_path_buf, int *path_length,
                         double *loop_coeff, int num_paths, int max_length, double dt,
                         QudaGaugeParam *qudaGaugeParam);

/* Smearing, flow and gauge fixing. */
void performGaugeSmearQuda(QudaGaugeSmearParam *smear_param, QudaGaugeObservableParam *obs_param);
void performWFlowQuda(QudaGaugeSmearParam *smear_param, QudaGaugeObservableParam *obs_param);
void performGFlowQuda(void *h_out, void *h_in, QudaInvertParam *inv_param,
                      QudaGaugeSmearParam *smear_param, QudaGaugeObservableParam *obs_param);
void performFermionSmearQuda(void *h_out, void *h_in, QudaInvertParam *param, const int n_steps,
                             const double coeff, const QudaFermionSmearType smear_type);
void performWuppertalnStep(void *h_out, void *h_in, QudaInvertParam *param, unsigned int n_steps,
                           double alpha);
void performGaussianSmearNStep(void *h_out, void *h_in, QudaInvertParam *param, const int n_steps,
                               const double omega);
void performTwoLinkGaussianSmearNStep(void *h_in, QudaQuarkSmearParam *smear_param);
int computeGaugeFixingOVRQuda(void *gauge, const unsigned int gauge_dir, const unsigned int Nsteps,
                              const unsigned int verbose_interval, const double relax_boost,
                              const double tolerance, const unsigned int reunit_interval,
                              const unsigned int stopWtheta, QudaGaugeParam *param);
int computeGaugeFixingFFTQuda(void *gauge, const unsigned int gauge_dir, const unsigned int Nsteps,
                              const unsigned int verbose_interval, const double alpha,
                              const unsigned int autotune, const double tolerance,
                              const unsigned int stopWtheta, QudaGaugeParam *param);

/* Fat, long and two-hop links. */
void computeKSLinkQuda(void *fatlink, void *longlink, void *ulink, void *inlink, double *path_coeff,
                       QudaGaugeParam *param);
void computeTwoLinkQuda(void *twolink, void *inlink, QudaGaugeParam *param);

/* Molecular dynamics: momenta, update of links, forces. */
void momResidentQuda(void *mom, QudaGaugeParam *param);
void gaussMomQuda(unsigned long long seed, double sigma);
double momActionQuda(void *momentum, QudaGaugeParam *param);
void updateGaugeFieldQuda(void *gauge, void *momentum, double dt, int conj_mom, int exact,
                          QudaGaugeParam *param);
int computeGaugeForceQuda(void *mom, void *sitelink, int ***input_path_buf, int *path_length,
                          double *loop_coeff, int num_paths, int max_length, double dt,
                          QudaGaugeParam *qudaGaugeParam);
void computeCloverForceQuda(void *mom, double dt, void **x, void **p, double *coeff, double kappa2,
                            double ck, int nvector, double multiplicity, void *gauge,
                            QudaGaugeParam *gauge_param, QudaInvertParam *inv_param);
void computeTMCloverForceQuda(void *h_mom, void **h_x, void **h_x0, double *coeff, int nvector,
                              QudaGaugeParam *gauge_param, QudaInvertParam *inv_param,
                              int detratio);
void computeStaggeredForceQuda(void *mom, double dt, double delta, void *gauge, void **x,
                               QudaGaugeParam *gauge_param, QudaInvertParam *invert_param);
void computeHISQForceQuda(void *momentum, double dt, const double level2_coeff[6],
                          const double fat7_coeff[6], const void *const w_link,
                          const void *const v_link, const void *const u_link, void **quark, int num,
                          int num_naik, double **coeff, QudaGaugeParam *param);

/* Contractions and dense matrices. */
void contractQuda(const void *x, const void *y, void *result, const QudaContractType cType,
                  QudaInvertParam *param, const int *X);
void contractFTQuda(void **x, void **y, void **result, const QudaContractType cType,
                    void *cs_param_ptr, const int src_colors, const int *X,
                    const int *const source_position, const int n_mom, const int *const mom_modes,
                    const QudaFFTSymmType *const fft_type);
void laphSinkProject(double_complex *host_sinks, void **host_quark, int n_quark, int tile_quark,
                     void **host_evec, int nevec, int tile_evec, QudaInvertParam *inv_param,
                     const int X[4]);
void blasGEMMQuda(void *arrayA, void *arrayB, void *arrayC, QudaBoolean native,
                  QudaBLASParam *param);
void blasLUInvQuda(void *Ainv, void *A, QudaBoolean use_native, QudaBLASParam *param);

/* Helpers of test programs. */
void set_dim(int *dims);
void pack_ghost(void **cpuLink, void **cpuGhost, int nFace, QudaPrecision precision);

#ifdef __cplusplus
}
#endif

#undef double_complex
