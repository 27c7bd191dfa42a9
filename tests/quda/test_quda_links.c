/* test_quda_links.c - links of QUDA's and MILC's clients, on one rank or several: what is loaded and
 * saved again, what is measured, staggered phases, fat and long links, the action of momenta.
 * Everything is compared with kaon's own interface on the same links. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "quda_case.h"
#include "quda_milc_interface.h"

static const int extents[4] = {4, 4, 4, 8};
static quda_case c;

static QudaGaugeParam parameters(QudaLinkType type, QudaGaugeFieldOrder order) {
  QudaGaugeParam param;
  memset(&param, 0, sizeof param);
  memcpy(param.X, c.local, sizeof param.X);
  param.location = QUDA_CPU_FIELD_LOCATION;
  param.type = type;
  param.gauge_order = order;
  param.t_boundary = QUDA_PERIODIC_T;
  param.cpu_prec = QUDA_DOUBLE_PRECISION;
  param.anisotropy = param.scale = 1.0;
  return param;
}

static size_t reals(void) {
  return c.sites * 72;
}

/* Saves what is loaded, and compares the bits. */
static void check_saved(const void *loaded, const QudaGaugeParam *param, size_t bytes) {
  QudaGaugeParam to = *param;
  char *saved = calloc(1, bytes);
  void *arrays[4];
  for (size_t mu = 0; mu < 4; mu++) arrays[mu] = saved + mu * (bytes / 4);
  saveGaugeQuda(param->gauge_order == QUDA_QDP_GAUGE_ORDER ? (void *)arrays : saved, &to);
  assert_memory_equal(saved, loaded, bytes);
  free(saved);
}

static int last_slice(size_t index) {
  int x[4];
  quda_case_site(&c, index, x);
  return x[3] == extents[3] - 1;
}

/* ---- Wilson links ---- */

/* Links as PyQUDA and Chroma have them: 1 / xi in space, -1 at the boundary. With xi a power of two
 * nothing is rounded. */
static void test_signs_and_anisotropy_are_undone(void **state) {
  double *links = quda_case_links(&c, c.gauge, KAON_ORDER_QDP), plaquette[3], loop[2];
  void *arrays[4];
  QudaGaugeParam param = parameters(QUDA_WILSON_LINKS, QUDA_QDP_GAUGE_ORDER);
  QudaGaugeObservableParam request;
  kaon_observables own = KAON_OBSERVABLES_INIT;
  (void)state;
  for (size_t i = 0; i < reals(); i++) {
    const size_t mu = i / (c.sites * 18), site = i / 18 % c.sites;
    links[i] *= mu < 3 ? 0.5 : last_slice(site) ? -1.0 : 1.0;
  }
  for (size_t mu = 0; mu < 4; mu++) arrays[mu] = links + mu * c.sites * 18;
  param.t_boundary = QUDA_ANTI_PERIODIC_T;
  param.anisotropy = 2.0;
  loadGaugeQuda(arrays, &param);
  assert_int_equal(kaon_gauge_measure(c.gauge, &own), KAON_OK);
  plaqQuda(plaquette);
  polyakovLoopQuda(loop, 3);
  assert_true(plaquette[0] == own.plaquette && plaquette[1] == own.plaquette_space &&
              plaquette[2] == own.plaquette_time);
  assert_true(loop[0] == -3 * own.polyakov[0] && loop[1] == -3 * own.polyakov[1]);
  memset(&request, 0, sizeof request);
  request.compute_qcharge = request.compute_plaquette = QUDA_BOOLEAN_TRUE;
  gaugeObservablesQuda(&request);
  assert_true(request.qcharge == own.charge && request.plaquette[0] == own.plaquette);
  check_saved(links, &param, reals() * sizeof *links);
  param.use_resident_gauge = 1; /* keeps what is there */
  loadGaugeQuda(NULL, &param);
  check_saved(links, &param, reals() * sizeof *links);
  free(links);
}

/* Links as tmLQCD has them: a phase in time, so that they are in U(3). */
static void test_other_matrices_are_kept(void **state) {
  double *links = quda_case_links(&c, c.gauge, KAON_ORDER_MILC), plaquette[3];
  QudaGaugeParam param = parameters(QUDA_WILSON_LINKS, QUDA_MILC_GAUGE_ORDER);
  kaon_observables own = KAON_OBSERVABLES_INIT;
  (void)state;
  for (size_t i = 0; i < reals(); i += 2)
    if (i / 18 % 4 == 3) {
      const double re = links[i], im = links[i + 1];
      links[i] = cos(0.1) * re - sin(0.1) * im;
      links[i + 1] = sin(0.1) * re + cos(0.1) * im;
    }
  loadGaugeQuda(links, &param);
  check_saved(links, &param, reals() * sizeof *links);
  assert_int_equal(kaon_gauge_measure(c.gauge, &own), KAON_OK);
  plaqQuda(plaquette);
  assert_true(fabs(plaquette[0] - own.plaquette) < 64 * DBL_EPSILON); /* a product of four links */
  free(links);
}

/* Fat and long links are any matrices, here of floats. */
static void test_staggered_links_are_kept(void **state) {
  const size_t bytes = reals() * sizeof(float);
  float *fat = malloc(bytes), *naik = malloc(bytes);
  QudaGaugeParam fat_param = parameters(QUDA_ASQTAD_FAT_LINKS, QUDA_MILC_GAUGE_ORDER);
  QudaGaugeParam naik_param = parameters(QUDA_ASQTAD_LONG_LINKS, QUDA_MILC_GAUGE_ORDER);
  (void)state;
  for (size_t i = 0; i < reals(); i++) {
    fat[i] = (float)((double)(i * 7919 % 1009) / 1009 - 0.5);
    naik[i] = (float)((double)(i * 104729 % 1013) / 1013 - 0.5);
  }
  fat_param.cpu_prec = naik_param.cpu_prec = QUDA_SINGLE_PRECISION;
  fat_param.staggered_phase_applied = naik_param.staggered_phase_applied = 1;
  fat_param.t_boundary = naik_param.t_boundary = QUDA_ANTI_PERIODIC_T;
  loadGaugeQuda(fat, &fat_param);
  loadGaugeQuda(naik, &naik_param);
  check_saved(fat, &fat_param, bytes);
  freeUniqueGaugeQuda(QUDA_ASQTAD_FAT_LINKS);
  check_saved(naik, &naik_param, bytes);
  freeGaugeQuda();
  free(fat), free(naik);
}

/* ---- staggered phases ---- */

/* Links with MILC's phases and boundary sign, from kaon. */
static double *folded(const kaon_gauge *gauge, int steps, kaon_staggered_phases phases,
                      kaon_gauge_order order) {
  kaon_gauge *copy = quda_case_field(&c);
  assert_int_equal(kaon_gauge_copy(copy, gauge), KAON_OK);
  assert_int_equal(kaon_staggered_fold(copy, steps, phases), KAON_OK);
  double *links = quda_case_links(&c, copy, order);
  kaon_gauge_destroy(&copy);
  return links;
}

static void test_phases_are_multiplied_in(void **state) {
  double *bare = quda_case_links(&c, c.gauge, KAON_ORDER_MILC);
  double *links = quda_case_links(&c, c.gauge, KAON_ORDER_MILC);
  double *milc = folded(c.gauge, 1, KAON_PHASES_MILC, KAON_ORDER_MILC);
  double *chroma = folded(c.gauge, 1, KAON_PHASES_CHROMA, KAON_ORDER_MILC);
  QudaGaugeParam param = parameters(QUDA_WILSON_LINKS, QUDA_MILC_GAUGE_ORDER);
  const size_t bytes = reals() * sizeof *links;
  (void)state;
  param.t_boundary = QUDA_ANTI_PERIODIC_T;
  param.return_result_gauge = 1;
  param.staggered_phase_type = QUDA_STAGGERED_PHASE_MILC;
  staggeredPhaseQuda(links, &param);
  assert_memory_equal(links, milc, bytes);
  staggeredPhaseQuda(links, &param);
  assert_memory_equal(links, bare, bytes);
  qudaRephase(2, links, 1, 0.0);
  assert_memory_equal(links, milc, bytes);
  qudaRephase(2, links, 0, 0.0);
  param.staggered_phase_type = QUDA_STAGGERED_PHASE_CHROMA; /* with a sign of its own */
  staggeredPhaseQuda(links, &param);
  for (size_t i = 0; i < reals(); i++) assert_true(links[i] == -chroma[i]);
  free(bare), free(links), free(milc), free(chroma);
}

/* ---- fat and long links ---- */

/* HISQ's coefficients as clients write them: link, three in a line, staples of 3, 5, 7, Lepage. */
static const double first_level[6] = {1.0 / 8, 0, -1.0 / 16, 1.0 / 64, -1.0 / 384, 0};
static const double second_level[6] = {1, -1.0 / 24, -1.0 / 16, 1.0 / 64, -1.0 / 384, -1.0 / 8};

/* The calls of PyQUDA and of MILC make kaon's HISQ links. Signs change no rounding. */
static void test_fat_links_are_kaons(void **state) {
  const size_t bytes = reals() * sizeof(double);
  double *u = folded(c.gauge, 1, KAON_PHASES_MILC, KAON_ORDER_MILC);
  double *w = malloc(bytes), *fat = malloc(bytes), *naik = malloc(bytes), *v = malloc(bytes);
  kaon_gauge *own = quda_case_field(&c), *own_naik = quda_case_field(&c);
  kaon_fatten_options options = KAON_FATTEN_OPTIONS_INIT;
  QudaGaugeParam param = parameters(QUDA_WILSON_LINKS, QUDA_MILC_GAUGE_ORDER);
  const QudaFatLinkArgs_t args = {1, 0};
  double level[2][6];
  (void)state;
  memcpy(level[0], first_level, sizeof first_level);
  memcpy(level[1], second_level, sizeof second_level);
  options.action = KAON_FATTEN_HISQ;
  options.svd_relative = options.svd_absolute = 1e-6;
  assert_int_equal(kaon_fatten(c.gauge, &options, own, own_naik, NULL), KAON_OK);
  double *known = folded(own, 1, KAON_PHASES_MILC, KAON_ORDER_MILC);
  double *known_naik = folded(own_naik, 3, KAON_PHASES_MILC, KAON_ORDER_MILC);
  param.staggered_phase_type = QUDA_STAGGERED_PHASE_MILC;
  param.staggered_phase_applied = 1;
  computeKSLinkQuda(NULL, NULL, w, u, level[0], &param);
  computeKSLinkQuda(fat, naik, NULL, w, level[1], &param);
  assert_memory_equal(fat, known, bytes);
  assert_memory_equal(naik, known_naik, bytes);
  memset(w, 0, bytes), memset(fat, 0, bytes), memset(naik, 0, bytes);
  qudaLoadUnitarizedLink(2, args, level[0], u, v, w);
  qudaLoadKSLink(2, args, level[1], w, fat, naik);
  assert_memory_equal(fat, known, bytes);
  assert_memory_equal(naik, known_naik, bytes);
  /* Chroma's are projected to SU(3), which kaon's import checks. */
  param.staggered_phase_type = QUDA_STAGGERED_PHASE_CHROMA;
  param.staggered_phase_applied = 0;
  computeKSLinkQuda(NULL, NULL, w, u, level[0], &param);
  assert_int_equal(kaon_gauge_import(own, KAON_ORDER_MILC, KAON_DOUBLE, (const void *[]){w}),
                   KAON_OK);
  free(u), free(w), free(fat), free(naik), free(v), free(known), free(known_naik);
  kaon_gauge_destroy(&own);
  kaon_gauge_destroy(&own_naik);
}

/* ---- MILC's sites ---- */

typedef struct site {
  short coordinates[4];
  double link[72], momentum[40];
  char more[24];
} site;

static void test_milc_measures_its_sites(void **state) {
  double *links = folded(c.gauge, 1, KAON_PHASES_MILC, KAON_ORDER_MILC), plaquette[3], loop[2];
  site *lattice = calloc(c.sites, sizeof *lattice);
  QudaMILCSiteArg_t arg = {.site = lattice,
                           .link_offset = offsetof(site, link),
                           .mom_offset = offsetof(site, momentum),
                           .size = sizeof(site)};
  kaon_observables own = KAON_OBSERVABLES_INIT;
  double action = 0;
  (void)state;
  for (size_t i = 0; i < c.sites; i++) {
    memcpy(lattice[i].link, links + 72 * i, sizeof lattice[i].link);
    for (size_t k = 0; k < 40; k++) {
      const double m = (double)((i * 40 + k) * 7919 % 4001) / 1000 - 2;
      lattice[i].momentum[k] = m;
      if (k % 10 < 9) action += (k % 10 < 6 ? 1.0 : 0.5) * m * m;
    }
    action -= 4 * 4;
  }
  assert_int_equal(kaon_gauge_measure(c.gauge, &own), KAON_OK);
  qudaPlaquettePhased(2, plaquette, &arg, 1);
  assert_true(plaquette[0] == own.plaquette && plaquette[1] == own.plaquette_space &&
              plaquette[2] == own.plaquette_time);
  qudaPolyakovLoopPhased(2, loop, 3, &arg, 1);
  assert_true(loop[0] == 3 * own.polyakov[0] && loop[1] == 3 * own.polyakov[1]);
  /* without phases, in an array */
  free(links);
  links = quda_case_links(&c, c.gauge, KAON_ORDER_MILC);
  const QudaMILCSiteArg_t sites_alone = arg;
  arg = (QudaMILCSiteArg_t){.link = links};
  memset(loop, 0, sizeof loop), memset(plaquette, 0, sizeof plaquette);
  qudaGaugeMeasurementsPhased(2, plaquette, loop, 3, NULL, NULL, NULL, NULL, 0, 0, 1.0, &arg, 0);
  assert_true(plaquette[2] == own.plaquette_time && loop[1] == 3 * own.polyakov[1]);
  arg = sites_alone;
  action = quda_case_sum(action);
  assert_true(fabs(qudaMomAction(2, &arg) - action) < 1e-12 * fabs(action) + 1e-9);
  free(links), free(lattice);
}

/* A unitary matrix times a positive diagonal one, and a phase, is projected to the matrix. The bound is some
 * hundred roundings. */
static void test_links_are_projected(void **state) {
  double *links = folded(c.gauge, 1, KAON_PHASES_MILC, KAON_ORDER_MILC);
  double *known = folded(c.gauge, 1, KAON_PHASES_MILC, KAON_ORDER_MILC);
  QudaMILCSiteArg_t arg = {.link = links};
  (void)state;
  for (size_t i = 0; i < reals(); i += 2) {
    const double factor = 1 + 1e-3 * (double)(i / 2 % 3), re = factor * links[i]; /* of a column */
    links[i] = cos(0.01) * re - sin(0.01) * factor * links[i + 1];                /* and a phase */
    links[i + 1] = sin(0.01) * re + cos(0.01) * factor * links[i + 1];
  }
  qudaUnitarizeSU3Phased(2, 1e-14, &arg, 1);
  for (size_t i = 0; i < reals(); i++) assert_true(fabs(links[i] - known[i]) < 1e-13);
  free(links), free(known);
}

/* ---- MILC's recorded links ---- */

static int data(const char *name, char path[1024]) {
  const char *folder = getenv("KAON_TEST_DATA");
  snprintf(path, 1024, "%s/milc/%s", folder != NULL ? folder : "", name);
  FILE *file = fopen(path, "rb");
  if (file != NULL) fclose(file);
  return file != NULL;
}

static double *recorded(const char *path) {
  kaon_gauge *gauge = quda_case_field(&c);
  assert_int_equal(kaon_staggered_read_links(gauge, path, 0), KAON_OK);
  double *links = quda_case_links(&c, gauge, KAON_ORDER_MILC);
  kaon_gauge_destroy(&gauge);
  return links;
}

static double distance(const double *a, const double *b) {
  double difference = 0, norm = 0;
  for (size_t i = 0; i < reals(); i++) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    norm += b[i] * b[i];
  }
  return sqrt(difference / norm);
}

/* Asqtad links of u0 = .502 that MILC wrote in single precision, with its signs. Independent
 * roundings make half a unit of float of the root mean square (tests/test_milc_fatten.c). */
static void test_fat_links_are_milcs(void **state) {
  char thin[1024], fat[1024], naik[1024];
  const double u2 = 1 / (0.502 * 0.502), u4 = u2 * u2, u6 = u4 * u2;
  const double path[6] = {5.0 / 8, -u2 / 24, -u2 / 16, u4 / 64, -u6 / 384, -u4 / 16};
  (void)state;
  if (c.ranks > 1 || !data("milc_lat.sample.l8", thin) || !data("milc_fat.l8", fat) ||
      !data("milc_long.l8", naik)) {
    skip();
    return;
  }
  quda_case_close(&c);
  quda_case_open(&c, (int[4]){8, 8, 8, 8});
  assert_int_equal(kaon_gauge_read(c.gauge, thin, NULL, NULL), KAON_OK);
  double *u = folded(c.gauge, 1, KAON_PHASES_MILC, KAON_ORDER_MILC);
  double *known = recorded(fat), *known_naik = recorded(naik);
  double *made = malloc(reals() * sizeof *made), *made_naik = malloc(reals() * sizeof *made);
  qudaLoadKSLink(2, (QudaFatLinkArgs_t){1, 0}, path, u, made, made_naik);
  printf("  distance of fat and long links from MILC's: %.2e %.2e\n", distance(made, known),
         distance(made_naik, known_naik));
  assert_true(distance(made, known) < 0.5 * (double)FLT_EPSILON);
  assert_true(distance(made_naik, known_naik) < (double)FLT_EPSILON);
  free(u), free(known), free(known_naik), free(made), free(made_naik);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_signs_and_anisotropy_are_undone),
      cmocka_unit_test(test_other_matrices_are_kept),
      cmocka_unit_test(test_staggered_links_are_kept),
      cmocka_unit_test(test_phases_are_multiplied_in),
      cmocka_unit_test(test_fat_links_are_kaons),
      cmocka_unit_test(test_milc_measures_its_sites),
      cmocka_unit_test(test_links_are_projected),
      cmocka_unit_test(test_fat_links_are_milcs),
  };
  quda_case_start(&argc, &argv, &c);
  quda_case_open(&c, extents);
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  quda_case_close(&c);
  quda_case_end();
  return failed;
}
