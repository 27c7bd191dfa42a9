/* link_observables.c - what clients measure on links and make of them: plaquette, Polyakov loop, charge,
 * staggered phases, fat and long links, the action of momenta. */
#include "fields.h"

#include <kaon/staggered.h>

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- plaquette, Polyakov loop, charge ---- */

static kaon_status measure_phased(const kaon_quda_links *links, kaon_observables *observables) {
  kaon_gauge *copy = NULL;
  kaon_status status = kaon_quda_as_loaded(links, &copy);
  if (status == KAON_OK) status = kaon_gauge_measure(copy, observables);
  kaon_gauge_destroy(&copy);
  return status;
}

/* Observables of the Wilson links as they were loaded: with the boundary's sign in the Polyakov
 * loop, and with staggered phases, unless these are to be removed together with the sign. */
static kaon_status measure(int remove_phases, kaon_observables *observables) {
  const kaon_quda_links *links = NULL;
  const kaon_status status = kaon_quda_loaded(QUDA_WILSON_LINKS, &links);
  if (status != KAON_OK) return status;
  const QudaGaugeParam *param = &links->param;
  const int antiperiodic = param->t_boundary == QUDA_ANTI_PERIODIC_T;
  if (remove_phases &&
      (!param->staggered_phase_applied || param->staggered_phase_type != QUDA_STAGGERED_PHASE_MILC))
    return kaon_quda_refuse(KAON_ERR_ARGUMENT,
                            "remove_staggered_phase is set, but the links were loaded with "
                            "staggered_phase_applied = %d and staggered_phase_type = %d; load them "
                            "with 1 and %d (MILC), or set remove_staggered_phase to 0",
                            param->staggered_phase_applied, (int)param->staggered_phase_type,
                            (int)QUDA_STAGGERED_PHASE_MILC);
  *observables = (kaon_observables)KAON_OBSERVABLES_INIT;
  const kaon_status done = param->staggered_phase_applied && !remove_phases
                               ? measure_phased(links, observables)
                               : kaon_gauge_measure(links->gauge, observables);
  /* The boundary's sign is one factor of every loop. Links in SU(3) have lost it, and the client's
   * still have it; of links without their phases the client has none. */
  if (antiperiodic && (links->special_unitary || remove_phases))
    for (int i = 0; i < 2; i++) observables->polyakov[i] = -observables->polyakov[i];
  return done;
}

static kaon_status check_request(const QudaGaugeObservableParam *param) {
  const char *name = NULL;
  if (param->su_project == QUDA_BOOLEAN_TRUE) name = "su_project";
  if (param->compute_gauge_loop_trace == QUDA_BOOLEAN_TRUE) name = "compute_gauge_loop_trace";
  if (param->compute_qcharge_density == QUDA_BOOLEAN_TRUE) name = "compute_qcharge_density";
  if (name == NULL) return KAON_OK;
  return kaon_quda_refuse(KAON_ERR_UNSUPPORTED,
                          "%s is set, but only the plaquette, the Polyakov loop and the charge are "
                          "offered; set it to 0",
                          name);
}

/* A plaquette is a third of the trace, a Polyakov loop the whole trace. */
static kaon_status observe(QudaGaugeObservableParam *param) {
  kaon_observables o;
  kaon_status status = check_request(param);
  if (status == KAON_OK) status = measure(param->remove_staggered_phase == QUDA_BOOLEAN_TRUE, &o);
  if (status != KAON_OK) return status;
  const double plaquette[3] = {o.plaquette, o.plaquette_space, o.plaquette_time};
  const double loop[2] = {3.0 * o.polyakov[0], 3.0 * o.polyakov[1]};
  if (param->compute_plaquette == QUDA_BOOLEAN_TRUE)
    memcpy(param->plaquette, plaquette, sizeof plaquette);
  if (param->compute_polyakov_loop == QUDA_BOOLEAN_TRUE) memcpy(param->ploop, loop, sizeof loop);
  if (param->compute_qcharge != QUDA_BOOLEAN_TRUE) return KAON_OK;
  param->qcharge = o.charge;
  for (int i = 0; i < 3; i++) param->energy[i] = NAN;
  kaon_quda_print(QUDA_VERBOSE,
                  "kaon: the energy of the links is not computed and returned as NaN");
  return KAON_OK;
}

void gaugeObservablesQuda(QudaGaugeObservableParam *param) {
  kaon_quda_check(__func__, observe(param));
}

void plaqQuda(double plaq[3]) {
  QudaGaugeObservableParam request = {.compute_plaquette = QUDA_BOOLEAN_TRUE};
  gaugeObservablesQuda(&request);
  memcpy(plaq, request.plaquette, sizeof request.plaquette);
}

void polyakovLoopQuda(double ploop[2], int dir) {
  QudaGaugeObservableParam request = {.compute_polyakov_loop = QUDA_BOOLEAN_TRUE};
  if (dir != 3)
    kaon_quda_check(__func__, kaon_quda_refuse(KAON_ERR_UNSUPPORTED,
                                               "the Polyakov loop's direction is %d, but must "
                                               "be 3 (time)",
                                               dir));
  gaugeObservablesQuda(&request);
  memcpy(ploop, request.ploop, sizeof request.ploop);
}

/* ---- staggered phases ---- */

/* (-1)^n, n = sum of `constant` and of the coordinates whose bit is set. */
static double sign(int constant, unsigned bits, const int x[4]) {
  for (int d = 0; d < 4; d++)
    if (bits >> d & 1) constant += x[d];
  return constant % 2 == 0 ? 1.0 : -1.0;
}

enum { X_ = 1, Y_ = 2, Z_ = 4, T_ = 8 };
static const struct {
  QudaStaggeredPhase type;
  int constant[4];
  unsigned bits[4];
} phases[] = {{QUDA_STAGGERED_PHASE_MILC, {0, 0, 0, 0}, {T_, T_ | X_, T_ | X_ | Y_, 0}},
              {QUDA_STAGGERED_PHASE_CHROMA, {1, 1, 1, 1}, {0, X_, X_ | Y_, X_ | Y_ | Z_}},
              {QUDA_STAGGERED_PHASE_TIFR, {1, 0, 1, 0}, {T_ | Z_ | Y_, T_ | Z_, T_, 0}}};
enum { PHASES = sizeof phases / sizeof phases[0] };

static double phase(const int x[4], int mu, const int extents[4], const QudaGaugeParam *param) {
  double number = 1.0;
  for (int i = 0; i < PHASES; i++)
    if (phases[i].type == param->staggered_phase_type)
      number = sign(phases[i].constant[mu], phases[i].bits[mu], x);
  const int last = mu == 3 && x[3] == extents[3] - 1;
  return last && param->t_boundary == QUDA_ANTI_PERIODIC_T ? -number : number;
}

static kaon_status toggle(kaon_gauge *links, const QudaGaugeParam *param) {
  int known = 0;
  for (int i = 0; i < PHASES; i++) known |= phases[i].type == param->staggered_phase_type;
  if (known && param->i_mu != 0.0)
    return kaon_quda_refuse(KAON_ERR_UNSUPPORTED,
                            "i_mu is %g, but must be 0: an imaginary chemical potential is not "
                            "offered",
                            param->i_mu);
  if (known) return kaon_quda_multiply_links(links, param, phase);
  return kaon_quda_refuse(KAON_ERR_UNSUPPORTED,
                          "staggered_phase_type is %d, but must be %d (MILC), %d (CHROMA) or %d "
                          "(TIFR)",
                          (int)param->staggered_phase_type, (int)QUDA_STAGGERED_PHASE_MILC,
                          (int)QUDA_STAGGERED_PHASE_CHROMA, (int)QUDA_STAGGERED_PHASE_TIFR);
}

/* Changes the links of an array. */
static kaon_status change(void *array, const QudaGaugeParam *param,
                          kaon_status (*by)(kaon_gauge *, const QudaGaugeParam *)) {
  kaon_lattice *lattice = NULL;
  kaon_gauge *links = NULL;
  if (param->use_resident_gauge)
    return kaon_quda_refuse(KAON_ERR_UNSUPPORTED,
                            "use_resident_gauge is %d, but must be 0: this function changes an "
                            "array of the application",
                            param->use_resident_gauge);
  kaon_status status = kaon_quda_lattice(param->X, KAON_PERIODIC, &lattice);
  if (status == KAON_OK) status = kaon_quda_make_links(lattice, &links);
  if (status == KAON_OK) status = kaon_quda_import_links(links, array, param, NULL);
  if (status == KAON_OK) status = by(links, param);
  if (status == KAON_OK) status = kaon_quda_export_links(links, array, param);
  kaon_gauge_destroy(&links);
  return status;
}

/* The phases are signs, so that a second call removes them. */
void staggeredPhaseQuda(void *gauge_h, QudaGaugeParam *param) {
  QudaGaugeParam toggled = *param;
  kaon_status status = change(gauge_h, param, toggle);
  toggled.type = QUDA_WILSON_LINKS;
  toggled.staggered_phase_applied = !param->staggered_phase_applied;
  if (status == KAON_OK && param->make_resident_gauge) status = kaon_quda_load(gauge_h, &toggled);
  if (status == KAON_OK && !param->return_result_gauge) status = change(gauge_h, param, toggle);
  kaon_quda_check(__func__, status);
}

/* ---- projection to SU(3) ---- */

static kaon_status unitarise(kaon_gauge *links) {
  kaon_fatten_options options = KAON_FATTEN_OPTIONS_INIT;
  options.action = KAON_FATTEN_HISQ;
  options.svd_relative = options.svd_absolute = 1e-6; /* QUDA's */
  return kaon_fatten_unitarise(links, &options, NULL);
}

static double _Complex determinant(const double _Complex u[9]) {
  return u[0] * (u[4] * u[8] - u[5] * u[7]) + u[1] * (u[5] * u[6] - u[3] * u[8]) +
         u[2] * (u[3] * u[7] - u[4] * u[6]);
}

/* Divides unitary links by a third root of their determinant, the one that is nearest to 1. */
static kaon_status divide_determinants(kaon_gauge *links, size_t count) {
  double _Complex *u;
  kaon_status status = kaon_quda_allocate(count * 9 * sizeof *u, &u);
  if (status != KAON_OK) return status;
  status = kaon_gauge_export(links, KAON_ORDER_NATURAL, KAON_DOUBLE, (void *const[]){u});
  for (size_t i = 0; i < 9 * count && status == KAON_OK; i += 9) {
    const double _Complex root = cexp(-I * carg(determinant(u + i)) / 3);
    for (size_t k = 0; k < 9; k++) u[i + k] *= root;
  }
  if (status == KAON_OK)
    status = kaon_gauge_import_matrices(links, KAON_ORDER_NATURAL, KAON_DOUBLE,
                                        (const void *const[]){u});
  free(u);
  return status;
}

static kaon_status project(kaon_gauge *links, const QudaGaugeParam *param) {
  const int phased = param->staggered_phase_applied;
  kaon_status status = phased ? toggle(links, param) : KAON_OK;
  if (status == KAON_OK) status = unitarise(links);
  if (status == KAON_OK) status = divide_determinants(links, 4 * kaon_quda_sites(param->X));
  return status == KAON_OK && phased ? toggle(links, param) : status;
}

/* The projection is exact to rounding, so no tolerance is needed. */
void projectSU3Quda(void *gauge_h, double tol, QudaGaugeParam *param) {
  kaon_status status = change(gauge_h, param, project);
  (void)tol;
  if (status == KAON_OK && param->make_resident_gauge) status = kaon_quda_load(gauge_h, param);
  kaon_quda_check(__func__, status);
}

/* ---- fat and long links ---- */

/* QUDA's links hold the staggered phases, and so do kaon's here: the paths and their signs are then
 * the same. Links with Chroma's phases are projected to SU(3). */
static kaon_status fatten(void *fat, void *naik, void *unitary, const void *thin,
                          const double path[6], const QudaGaugeParam *param) {
  enum { THIN, FAT, NAIK, FIELDS };
  kaon_gauge *field[FIELDS] = {NULL, NULL, NULL};
  kaon_lattice *lattice = NULL;
  const kaon_fatten_coefficients coefficients = {.one = path[0],
                                                 .naik = path[1],
                                                 .three = path[2],
                                                 .five = path[3],
                                                 .seven = path[4],
                                                 .lepage = path[5]};
  kaon_status status = kaon_quda_lattice(param->X, KAON_PERIODIC, &lattice);
  for (int i = 0; i < (naik != NULL ? FIELDS : NAIK) && status == KAON_OK; i++)
    status = kaon_quda_make_links(lattice, &field[i]);
  if (status == KAON_OK) status = kaon_quda_import_links(field[THIN], thin, param, NULL);
  if (status == KAON_OK)
    status = kaon_fatten_paths(field[THIN], &coefficients, field[FAT], field[NAIK], NULL);
  if (status == KAON_OK && naik != NULL) status = kaon_quda_export_links(field[NAIK], naik, param);
  if (status == KAON_OK && fat != NULL) status = kaon_quda_export_links(field[FAT], fat, param);
  if (status == KAON_OK && unitary != NULL)
    status = param->staggered_phase_type == QUDA_STAGGERED_PHASE_CHROMA ? project(field[FAT], param)
                                                                        : unitarise(field[FAT]);
  if (status == KAON_OK && unitary != NULL)
    status = kaon_quda_export_links(field[FAT], unitary, param);
  for (int i = 0; i < FIELDS; i++) kaon_gauge_destroy(&field[i]);
  return status;
}

void computeKSLinkQuda(void *fatlink, void *longlink, void *ulink, void *inlink, double *path_coeff,
                       QudaGaugeParam *param) {
  kaon_quda_check(__func__, fatten(fatlink, longlink, ulink, inlink, path_coeff, param));
}

/* ---- momenta ---- */

enum { MOMENTUM = 10, OFF_DIAGONAL = 6 }; /* m01, m02, m12, im m00, im m11, im m22, unused */

/* sum |m01|^2 + |m02|^2 + |m12|^2 + (m00^2 + m11^2 + m22^2) / 2 - 4 of a link. */
static double action_of(const char *momentum, size_t real) {
  double sum = -4.0;
  for (int i = 0; i < MOMENTUM - 1; i++) {
    const double m =
        real == 8 ? ((const double *)momentum)[i] : (double)((const float *)momentum)[i];
    sum += (i < OFF_DIAGONAL ? 1.0 : 0.5) * m * m;
  }
  return sum;
}

static kaon_status add_actions(const void *array, const QudaGaugeParam *param, double *action) {
  const size_t real = param->cpu_prec == QUDA_DOUBLE_PRECISION ? 8 : 4, link = MOMENTUM * real;
  const int separate = param->gauge_order == QUDA_QDP_GAUGE_ORDER;
  const int in_sites = param->gauge_order == QUDA_MILC_SITE_GAUGE_ORDER;
  const size_t stride = in_sites ? param->site_size : (separate ? 1 : 4) * link;
  kaon_lattice *lattice = NULL;
  if (!separate && !in_sites && param->gauge_order != QUDA_MILC_GAUGE_ORDER)
    return kaon_quda_refuse(KAON_ERR_UNSUPPORTED,
                            "gauge_order of the momenta is %d, but must be %d (QDP), %d (MILC) or "
                            "%d (MILC_SITE)",
                            (int)param->gauge_order, (int)QUDA_QDP_GAUGE_ORDER,
                            (int)QUDA_MILC_GAUGE_ORDER, (int)QUDA_MILC_SITE_GAUGE_ORDER);
  if (param->use_resident_mom || kaon_quda_on_device(param->location))
    return kaon_quda_refuse(KAON_ERR_UNSUPPORTED,
                            "use_resident_mom is %d and location %d, but must be 0 and %d (host "
                            "memory)",
                            param->use_resident_mom, (int)param->location,
                            (int)QUDA_CPU_FIELD_LOCATION);
  const kaon_status status = kaon_quda_lattice(param->X, KAON_PERIODIC, &lattice);
  if (status != KAON_OK) return status;
  *action = 0.0;
  for (size_t site = 0; site < kaon_quda_sites(param->X); site++)
    for (size_t mu = 0; mu < 4; mu++) {
      const char *first = separate ? ((const char *const *)array)[mu] : (const char *)array;
      first += in_sites ? param->mom_offset : 0;
      *action += action_of(first + site * stride + (separate ? 0 : mu * link), real);
    }
  return kaon_quda_sum_ranks(action);
}

double momActionQuda(void *momentum, QudaGaugeParam *param) {
  double action = NAN;
  const kaon_status status = add_actions(momentum, param, &action);
  return kaon_quda_ended(__func__, status, 1) ? action : NAN;
}
