/* milc_links.c - MILC's calls on links and momenta. Its fields are arrays, or members of the sites
 * (QudaMILCSiteArg_t). */
#include <math.h>
#include <string.h>

#include "load_links.h"
#include "milc.h"
#include "link_observables.h"

/* Parameters of MILC's links in an array. precision: 1 single, 2 double. */
static kaon_status describe(int precision, QudaGaugeParam *param) {
  kaon_quda_milc_call call;
  kaon_lattice *lattice = NULL;
  *param = (QudaGaugeParam){.type = QUDA_WILSON_LINKS,
                            .location = QUDA_CPU_FIELD_LOCATION,
                            .gauge_order = QUDA_MILC_GAUGE_ORDER,
                            .t_boundary = QUDA_PERIODIC_T,
                            .staggered_phase_type = QUDA_STAGGERED_PHASE_MILC,
                            .anisotropy = 1.0,
                            .scale = 1.0};
  kaon_status status = kaon_quda_milc_precisions(precision, precision, 0, &call);
  if (status == KAON_OK) status = kaon_quda_milc_lattice(KAON_PERIODIC, &lattice);
  if (status != KAON_OK) return status;
  param->cpu_prec = precision == 2 ? QUDA_DOUBLE_PRECISION : QUDA_SINGLE_PRECISION;
  kaon_lattice_part(lattice, param->X, NULL, NULL);
  return KAON_OK;
}

/* The same of links or momenta in sites, if there are sites. */
static kaon_status describe_sites(int precision, const QudaMILCSiteArg_t *arg,
                                  QudaGaugeParam *param) {
  const kaon_status status = describe(precision, param);
  if (arg->site != NULL) param->gauge_order = QUDA_MILC_SITE_GAUGE_ORDER;
  param->gauge_offset = arg->link_offset;
  param->mom_offset = arg->mom_offset;
  param->site_size = arg->size;
  return status;
}

static void *links_of(const QudaMILCSiteArg_t *arg) {
  return arg->site != NULL ? arg->site : arg->link;
}

/* ---- observables ---- */

/* Observables of links without phases and boundary sign. With phase_in they have both. */
static kaon_status observe(int precision, const QudaMILCSiteArg_t *arg, int phase_in,
                           QudaGaugeObservableParam *request) {
  QudaGaugeParam param;
  kaon_status status = describe_sites(precision, arg, &param);
  if (status != KAON_OK) return status;
  param.staggered_phase_applied = phase_in != 0;
  if (phase_in) param.t_boundary = QUDA_ANTI_PERIODIC_T;
  request->remove_staggered_phase = phase_in ? QUDA_BOOLEAN_TRUE : QUDA_BOOLEAN_FALSE;
  status = kaon_quda_load(links_of(arg), &param);
  if (status == KAON_OK) status = kaon_quda_observe(request);
  freeUniqueGaugeQuda(QUDA_WILSON_LINKS);
  return status;
}

/* MILC multiplies the plaquette by 3 itself. */
void qudaPlaquettePhased(int precision, double plaq[3], QudaMILCSiteArg_t *arg, int phase_in) {
  QudaGaugeObservableParam request = {.compute_plaquette = QUDA_BOOLEAN_TRUE};
  kaon_quda_check(__func__, observe(precision, arg, phase_in, &request));
  memcpy(plaq, request.plaquette, sizeof request.plaquette);
}

void qudaPolyakovLoopPhased(int precision, double ploop[2], int dir, QudaMILCSiteArg_t *arg,
                            int phase_in) {
  QudaGaugeObservableParam request = {.compute_polyakov_loop = QUDA_BOOLEAN_TRUE};
  kaon_status status = kaon_quda_check_loop(dir);
  if (status == KAON_OK) status = observe(precision, arg, phase_in, &request);
  kaon_quda_check(__func__, status);
  memcpy(ploop, request.ploop, sizeof request.ploop);
}

void qudaGaugeMeasurementsPhased(int precision, double plaq[3], double ploop[2], int dir,
                                 double *traces, int **input_path_buf, int *path_length,
                                 double *loop_coeff, int num_paths, int max_length, double factor,
                                 QudaMILCSiteArg_t *arg, int phase_in) {
  QudaGaugeObservableParam request = {.compute_plaquette = QUDA_BOOLEAN_TRUE,
                                      .compute_polyakov_loop = QUDA_BOOLEAN_TRUE};
  kaon_status status = kaon_quda_check_loop(dir);
  (void)traces, (void)input_path_buf, (void)path_length, (void)loop_coeff;
  (void)max_length, (void)factor;
  if (num_paths > 0) request.compute_gauge_loop_trace = QUDA_BOOLEAN_TRUE; /* will be refused */
  if (status == KAON_OK) status = observe(precision, arg, phase_in, &request);
  kaon_quda_check(__func__, status);
  memcpy(plaq, request.plaquette, sizeof request.plaquette);
  memcpy(ploop, request.ploop, sizeof request.ploop);
}

double qudaMomAction(int precision, QudaMILCSiteArg_t *arg) {
  QudaGaugeParam param;
  double action = NAN;
  kaon_status status = describe_sites(precision, arg, &param);
  if (status == KAON_OK)
    status = kaon_quda_momentum_action(arg->site != NULL ? arg->site : arg->mom, &param, &action);
  return kaon_quda_ended(__func__, status, 1) ? action : NAN;
}

/* ---- fat and long links, phases ---- */

void qudaLoadKSLink(int precision, QudaFatLinkArgs_t fatlink_args, const double act_path_coeff[6],
                    void *inlink, void *fatlink, void *longlink) {
  QudaGaugeParam param;
  kaon_status status = describe(precision, &param);
  (void)fatlink_args;
  if (status == KAON_OK)
    status = kaon_quda_fatten(fatlink, longlink, NULL, inlink, act_path_coeff, &param);
  kaon_quda_check(__func__, status);
}

void qudaLoadUnitarizedLink(int precision, QudaFatLinkArgs_t fatlink_args,
                            const double path_coeff[6], void *inlink, void *fatlink, void *ulink) {
  QudaGaugeParam param;
  kaon_status status = describe(precision, &param);
  (void)fatlink_args;
  if (status == KAON_OK)
    status = kaon_quda_fatten(fatlink, NULL, ulink, inlink, path_coeff, &param);
  kaon_quda_check(__func__, status);
}

/* flag 1: multiplies the phases in. 0: out. */
void qudaRephase(int prec, void *gauge, int flag, double i_mu) {
  QudaGaugeParam param;
  kaon_status status = describe(prec, &param);
  param.staggered_phase_applied = 1 - flag;
  param.t_boundary = QUDA_ANTI_PERIODIC_T;
  param.i_mu = i_mu;
  if (status == KAON_OK) status = kaon_quda_toggle_phases(gauge, &param);
  kaon_quda_check(__func__, status);
}

void qudaUnitarizeSU3Phased(int prec, double tol, QudaMILCSiteArg_t *arg, int phase_in) {
  QudaGaugeParam param;
  kaon_status status = describe_sites(prec, arg, &param);
  (void)tol;
  param.staggered_phase_applied = phase_in != 0;
  if (phase_in) param.t_boundary = QUDA_ANTI_PERIODIC_T;
  if (status == KAON_OK) status = kaon_quda_project(links_of(arg), &param);
  kaon_quda_check(__func__, status);
}

void qudaUnitarizeSU3(int prec, double tol, QudaMILCSiteArg_t *arg) {
  qudaUnitarizeSU3Phased(prec, tol, arg, 0);
}
