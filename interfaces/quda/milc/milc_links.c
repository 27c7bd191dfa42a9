/* milc_links.c - MILC's calls on links and momenta, by those of quda.h. Its fields are arrays, or
 * members of the sites (QudaMILCSiteArg_t). */
#include <math.h>
#include <string.h>

#include "milc.h"

/* Parameters of links or momenta in sites, if there are sites. `phases` 1: with staggered phases and
 * the boundary's sign. */
static kaon_status describe(int precision, const QudaMILCSiteArg_t *arg, int phases,
                            QudaGaugeParam *param) {
  const kaon_status status = kaon_quda_milc_links(precision, param);
  if (arg->site != NULL) param->gauge_order = QUDA_MILC_SITE_GAUGE_ORDER;
  param->gauge_offset = arg->link_offset;
  param->mom_offset = arg->mom_offset;
  param->site_size = arg->size;
  param->staggered_phase_applied = phases != 0;
  if (phases) param->t_boundary = QUDA_ANTI_PERIODIC_T;
  return status;
}

static void *links_of(const QudaMILCSiteArg_t *arg) {
  return arg->site != NULL ? arg->site : arg->link;
}

/* ---- observables ---- */

/* Observables of links without phases and boundary sign. With phase_in they have both. */
static void observe(const char *function, int precision, const QudaMILCSiteArg_t *arg, int dir,
                    int phase_in, QudaGaugeObservableParam *request) {
  QudaGaugeParam param;
  kaon_status status = describe(precision, arg, phase_in, &param);
  if (status == KAON_OK && dir != 3)
    status =
        kaon_quda_refuse(KAON_ERR_UNSUPPORTED,
                         "the direction of the Polyakov loop is %d, but must be 3 (time)", dir);
  request->remove_staggered_phase = phase_in ? QUDA_BOOLEAN_TRUE : QUDA_BOOLEAN_FALSE;
  request->compute_plaquette = request->compute_polyakov_loop = QUDA_BOOLEAN_TRUE;
  if (status == KAON_OK) status = kaon_quda_load(links_of(arg), &param);
  kaon_quda_check(function, status);
  gaugeObservablesQuda(request);
  freeUniqueGaugeQuda(QUDA_WILSON_LINKS);
}

/* MILC multiplies the plaquette by 3 itself. */
void qudaPlaquettePhased(int precision, double plaq[3], QudaMILCSiteArg_t *arg, int phase_in) {
  QudaGaugeObservableParam request = {0};
  observe(__func__, precision, arg, 3, phase_in, &request);
  memcpy(plaq, request.plaquette, sizeof request.plaquette);
}

void qudaPolyakovLoopPhased(int precision, double ploop[2], int dir, QudaMILCSiteArg_t *arg,
                            int phase_in) {
  QudaGaugeObservableParam request = {0};
  observe(__func__, precision, arg, dir, phase_in, &request);
  memcpy(ploop, request.ploop, sizeof request.ploop);
}

void qudaGaugeMeasurementsPhased(int precision, double plaq[3], double ploop[2], int dir,
                                 double *traces, int **input_path_buf, int *path_length,
                                 double *loop_coeff, int num_paths, int max_length, double factor,
                                 QudaMILCSiteArg_t *arg, int phase_in) {
  QudaGaugeObservableParam request = {0};
  (void)traces, (void)input_path_buf, (void)path_length, (void)loop_coeff;
  (void)max_length, (void)factor;
  if (num_paths > 0) request.compute_gauge_loop_trace = QUDA_BOOLEAN_TRUE; /* will be refused */
  observe(__func__, precision, arg, dir, phase_in, &request);
  memcpy(plaq, request.plaquette, sizeof request.plaquette);
  memcpy(ploop, request.ploop, sizeof request.ploop);
}

double qudaMomAction(int precision, QudaMILCSiteArg_t *arg) {
  QudaGaugeParam param;
  if (!kaon_quda_ended(__func__, describe(precision, arg, 0, &param), 1)) return NAN;
  return momActionQuda(arg->site != NULL ? arg->site : arg->mom, &param);
}

/* ---- fat and long links, phases ---- */

static void fatten(const char *function, int precision, void *fat, void *naik, void *unitary,
                   void *thin, const double path[6]) {
  QudaGaugeParam param;
  double coefficients[6];
  memcpy(coefficients, path, sizeof coefficients);
  kaon_quda_check(function, kaon_quda_milc_links(precision, &param));
  computeKSLinkQuda(fat, naik, unitary, thin, coefficients, &param);
}

void qudaLoadKSLink(int precision, QudaFatLinkArgs_t fatlink_args, const double act_path_coeff[6],
                    void *inlink, void *fatlink, void *longlink) {
  (void)fatlink_args;
  fatten(__func__, precision, fatlink, longlink, NULL, inlink, act_path_coeff);
}

void qudaLoadUnitarizedLink(int precision, QudaFatLinkArgs_t fatlink_args,
                            const double path_coeff[6], void *inlink, void *fatlink, void *ulink) {
  (void)fatlink_args;
  fatten(__func__, precision, fatlink, NULL, ulink, inlink, path_coeff);
}

/* flag 1: multiplies the phases in. 0: out. */
void qudaRephase(int prec, void *gauge, int flag, double i_mu) {
  QudaGaugeParam param;
  kaon_quda_check(__func__, kaon_quda_milc_links(prec, &param));
  param.staggered_phase_applied = 1 - flag;
  param.t_boundary = QUDA_ANTI_PERIODIC_T;
  param.i_mu = i_mu;
  staggeredPhaseQuda(gauge, &param);
}

void qudaUnitarizeSU3Phased(int prec, double tol, QudaMILCSiteArg_t *arg, int phase_in) {
  QudaGaugeParam param;
  kaon_quda_check(__func__, describe(prec, arg, phase_in, &param));
  projectSU3Quda(links_of(arg), tol, &param);
}

void qudaUnitarizeSU3(int prec, double tol, QudaMILCSiteArg_t *arg) {
  qudaUnitarizeSU3Phased(prec, tol, arg, 0);
}
