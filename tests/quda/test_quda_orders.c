/* test_quda_orders.c - links and spinors in every order of QUDA's clients, against index formulas that are
 * written here. Arrays of known numbers are imported and compared with the library's own order; what is
 * exported again has the same bits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "fields.h"
#include "spinors.h"
#include "tests/util/test_util.h"

enum { X = 4, Y = 6, Z = 2, T = 8, V = X * Y * Z * T, H = V / 2, STRUCT = 800, OFFSET = 48 };
enum { HBQCD = (X / 2 + 2) * (Y + 2) * (Z + 2) * (T + 2) };
static const int extents[4] = {X, Y, Z, T};

static const QudaGaugeFieldOrder link_orders[] = {
    QUDA_QDP_GAUGE_ORDER,  QUDA_QDPJIT_GAUGE_ORDER,    QUDA_CPS_WILSON_GAUGE_ORDER,
    QUDA_MILC_GAUGE_ORDER, QUDA_MILC_SITE_GAUGE_ORDER, QUDA_BQCD_GAUGE_ORDER,
    QUDA_TIFR_GAUGE_ORDER};
enum { LINK_ORDERS = sizeof link_orders / sizeof link_orders[0] };

static kaon_lattice *start(kaon_boundary boundary) {
  kaon_lattice *lattice = NULL;
  must(NULL, kaon_quda_start());
  must(kaon_quda()->ctx, kaon_quda_lattice(extents, boundary, &lattice));
  return lattice;
}

/* Parity of a site, and its index among those of its parity. */
static int parity_of(int site) {
  return (site % X + site / X % Y + site / X / Y % Z + site / X / Y / Z) % 2;
}

/* The byte at which a real of a link is, from the first one of the array (QDP, QDPJIT: of direction mu). */
static size_t link_place(QudaGaugeFieldOrder order, size_t real, int site, int mu, int row, int col,
                         int part) {
  const size_t p = (size_t)parity_of(site), s = (size_t)site / 2, m = (size_t)mu;
  const size_t rows = (size_t)(2 * (3 * row + col) + part);
  const size_t columns = (size_t)(2 * (3 * col + row) + part);
  switch (order) {
    case QUDA_QDP_GAUGE_ORDER:
      return real * ((p * H + s) * 18 + rows);
    case QUDA_QDPJIT_GAUGE_ORDER:
      return real * (((size_t)(9 * part + 3 * row + col) * 2 + p) * H + s);
    case QUDA_MILC_GAUGE_ORDER:
      return real * (((p * H + s) * 4 + m) * 18 + rows);
    case QUDA_CPS_WILSON_GAUGE_ORDER:
      return real * (((p * H + s) * 4 + m) * 18 + columns);
    case QUDA_MILC_SITE_GAUGE_ORDER:
      return (p * H + s) * STRUCT + OFFSET + real * (m * 18 + rows);
    case QUDA_BQCD_GAUGE_ORDER:
      return real * (((m * 2 + p) * HBQCD + s) * 18 + columns);
    default:
      return real * (((m * 2 + p) * H + s) * 18 + columns);
  }
}

static void put(char *place, size_t real, double value) {
  if (real == 8)
    *(double *)place = value;
  else
    *(float *)place = (float)value;
}

static void check_link_order(kaon_gauge *gauge, QudaGaugeFieldOrder order, size_t real) {
  const size_t bytes = (size_t)8 * HBQCD * 18 * 8, links = (size_t)V * 72;
  const int separate = order == QUDA_QDP_GAUGE_ORDER || order == QUDA_QDPJIT_GAUGE_ORDER;
  const int scaled = order == QUDA_TIFR_GAUGE_ORDER;
  char *array = calloc(4, bytes), *again = calloc(4, bytes);
  double *natural = malloc(links * sizeof *natural);
  void *list[4], *list_again[4];
  QudaGaugeParam param = {.location = QUDA_CPU_FIELD_LOCATION, .X = {X, Y, Z, T}, .scale = 0.5};
  param.gauge_order = order;
  param.cpu_prec = (QudaPrecision)real;
  param.gauge_offset = OFFSET;
  param.site_size = STRUCT;
  for (int mu = 0; mu < 4; mu++) {
    list[mu] = array + (size_t)mu * bytes;
    list_again[mu] = again + (size_t)mu * bytes;
  }
  for (size_t i = 0; i < links; i++) {
    const int site = (int)(i / 72), mu = (int)(i / 18 % 4);
    const int row = (int)(i / 6 % 3), col = (int)(i / 2 % 3), part = (int)(i % 2);
    put((char *)list[separate ? mu : 0] + link_place(order, real, site, mu, row, col, part), real,
        (double)i);
  }
  void *first = separate ? (void *)list : array, *second = separate ? (void *)list_again : again;
  must(kaon_quda()->ctx, kaon_quda_import_links(gauge, first, &param, NULL));
  must(kaon_quda()->ctx,
       kaon_gauge_export(gauge, KAON_ORDER_NATURAL, KAON_DOUBLE, (void *[]){natural}));
  for (size_t i = 0; i < links; i++) assert_true(natural[i] == (scaled ? 2.0 : 1.0) * (double)i);
  must(kaon_quda()->ctx, kaon_quda_export_links(gauge, second, &param));
  assert_memory_equal(array, again, 4 * bytes);
  free(array), free(again), free(natural);
}

static void test_links_pass_in_every_order(void **state) {
  kaon_gauge *gauge = NULL;
  (void)state;
  kaon_lattice *lattice = start(KAON_ANTIPERIODIC);
  must(kaon_quda()->ctx, kaon_gauge_create(lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &gauge));
  for (int i = 0; i < LINK_ORDERS; i++) {
    check_link_order(gauge, link_orders[i], 8);
    check_link_order(gauge, link_orders[i], 4);
  }
  kaon_gauge_destroy(&gauge);
  kaon_quda_end();
}

static void test_bad_links_are_refused(void **state) {
  kaon_gauge *gauge = NULL;
  double one = 0;
  void *list[4] = {&one, &one, NULL, &one};
  QudaGaugeParam param = {.X = {X, Y, Z, T}, .cpu_prec = QUDA_DOUBLE_PRECISION};
  (void)state;
  kaon_lattice *lattice = start(KAON_PERIODIC);
  must(kaon_quda()->ctx, kaon_gauge_create(lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &gauge));
  param.gauge_order = QUDA_NATIVE_GAUGE_ORDER;
  assert_int_equal(kaon_quda_import_links(gauge, &one, &param, NULL), KAON_ERR_ARGUMENT);
  param.gauge_order = QUDA_QDP_GAUGE_ORDER;
  assert_int_equal(kaon_quda_import_links(gauge, list, &param, NULL), KAON_ERR_ARGUMENT);
  assert_int_equal(kaon_quda_import_links(gauge, NULL, &param, NULL), KAON_ERR_ARGUMENT);
  param.gauge_order = QUDA_MILC_GAUGE_ORDER;
  param.cpu_prec = QUDA_HALF_PRECISION;
  assert_int_equal(kaon_quda_import_links(gauge, &one, &param, NULL), KAON_ERR_ARGUMENT);
  param.cpu_prec = QUDA_SINGLE_PRECISION;
  param.X[1] = Y + 2;
  assert_int_equal(kaon_quda_export_links(gauge, &one, &param), KAON_ERR_ARGUMENT);
  kaon_gauge_destroy(&gauge);
  kaon_quda_end();
}

/* ---- spinors ---- */

/* The byte at which a real is. An array of one parity has p = 0, in QDPJIT p = 1. */
static size_t spinor_place(QudaDiracFieldOrder order, size_t real, int spins, int site, size_t p,
                           int spin, int colour, int part) {
  const size_t s = (size_t)site / 2, n = (size_t)spins * 6;
  const size_t inner = (size_t)(2 * (3 * spin + colour) + part);
  switch (order) {
    case QUDA_DIRAC_ORDER:
      return real * ((p * H + s) * n + inner);
    case QUDA_QDP_DIRAC_ORDER:
      return real * ((p * H + s) * n + (size_t)(2 * (spins * colour + spin) + part));
    case QUDA_CPS_WILSON_DIRAC_ORDER:
      return real * (((1 - p) * H + s) * n + inner);
    case QUDA_LEX_DIRAC_ORDER:
      return real * ((size_t)site * n + inner);
    default:
      return real * (((size_t)((part * 3 + colour) * spins + spin) * 2 + p) * H + s);
  }
}

/* Imports known numbers and exports them. whole: the array has both parities. */
static void check_spinor_order(kaon_vector *vector, int spins, kaon_parity parity, int whole,
                               QudaDiracFieldOrder order, size_t real) {
  const size_t bytes = (size_t)V * 24 * 8, reals = (size_t)V * (size_t)spins * 6;
  char *array = calloc(1, bytes), *again = calloc(1, bytes);
  double *natural = calloc(reals, sizeof *natural);
  const kaon_quda_spinor_layout layout = {.order = order,
                                          .precision = (QudaPrecision)real,
                                          .basis = QUDA_UKQCD_GAMMA_BASIS,
                                          .location = QUDA_CPU_FIELD_LOCATION};
  size_t alone = 0;
  if (order == QUDA_QDPJIT_DIRAC_ORDER || order == QUDA_CPS_WILSON_DIRAC_ORDER) alone = 1;
  for (size_t i = 0; i < reals; i++) {
    const int site = (int)(i / ((size_t)spins * 6)), r = (int)(i % ((size_t)spins * 6));
    const int p = parity_of(site);
    if (parity != KAON_FULL && p != (int)parity) continue;
    put(array + spinor_place(order, real, spins, site, whole ? (size_t)p : alone, r / 6, r / 2 % 3,
                             r % 2),
        real, (double)(i + 1));
  }
  must(kaon_quda()->ctx, kaon_quda_import_spinor(vector, 1, array, whole, &layout));
  must(kaon_quda()->ctx, kaon_vector_export(vector, 1, natural, KAON_BASIS_UKQCD));
  for (size_t i = 0; i < reals; i++) {
    const int p = parity_of((int)(i / ((size_t)spins * 6)));
    assert_true(natural[i] == (parity == KAON_FULL || p == (int)parity ? (double)(i + 1) : 0.0));
  }
  must(kaon_quda()->ctx, kaon_quda_export_spinor(vector, 1, again, whole, &layout));
  assert_memory_equal(array, again, bytes);
  free(array), free(again), free(natural);
}

static void test_spinors_pass_in_every_order(void **state) {
  static const QudaDiracFieldOrder orders[] = {QUDA_DIRAC_ORDER, QUDA_QDP_DIRAC_ORDER,
                                               QUDA_CPS_WILSON_DIRAC_ORDER, QUDA_QDPJIT_DIRAC_ORDER,
                                               QUDA_LEX_DIRAC_ORDER};
  (void)state;
  kaon_lattice *lattice = start(KAON_ANTIPERIODIC);
  for (int spins = 1; spins <= 4; spins += 3)
    for (int parity = KAON_EVEN; parity <= KAON_FULL; parity++) {
      kaon_vector *vector = NULL;
      must(kaon_quda()->ctx,
           kaon_vector_create(kaon_quda()->ctx,
                              (spins == 4 ? kaon_lattice_spinors : kaon_lattice_staggered)(
                                  lattice, (kaon_parity)parity),
                              KAON_DOUBLE, 2, &vector));
      for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++)
        for (int whole = 0; whole < 2; whole++) {
          if (!whole && (parity == KAON_FULL || orders[i] == QUDA_LEX_DIRAC_ORDER)) continue;
          check_spinor_order(vector, spins, (kaon_parity)parity, whole, orders[i], 8);
          check_spinor_order(vector, spins, (kaon_parity)parity, whole, orders[i], 4);
        }
      kaon_vector_destroy(&vector);
    }
  kaon_quda_end();
}

/* Bases are the library's; orders and bases that are none are refused. */
static void test_bases_are_the_librarys(void **state) {
  static const struct {
    QudaGammaBasis quda;
    kaon_basis kaon;
  } bases[] = {{QUDA_DEGRAND_ROSSI_GAMMA_BASIS, KAON_BASIS_DEGRAND_ROSSI},
               {QUDA_CHIRAL_GAMMA_BASIS, KAON_BASIS_CHIRAL}};
  kaon_quda_spinor_layout layout = {.order = QUDA_LEX_DIRAC_ORDER,
                                    .precision = QUDA_DOUBLE_PRECISION,
                                    .basis = QUDA_UKQCD_GAMMA_BASIS,
                                    .location = QUDA_CPU_FIELD_LOCATION};
  double *array = malloc(sizeof(double) * V * 24), *natural = malloc(sizeof(double) * V * 24);
  kaon_vector *vector = NULL;
  (void)state;
  kaon_lattice *lattice = start(KAON_PERIODIC);
  must(kaon_quda()->ctx,
       kaon_vector_create(kaon_quda()->ctx, kaon_lattice_spinors(lattice, KAON_FULL), KAON_DOUBLE,
                          1, &vector));
  for (int i = 0; i < V * 24; i++) array[i] = i % 101;
  for (size_t i = 0; i < sizeof bases / sizeof bases[0]; i++) {
    layout.basis = bases[i].quda;
    must(kaon_quda()->ctx, kaon_quda_import_spinor(vector, 0, array, 1, &layout));
    must(kaon_quda()->ctx, kaon_vector_export(vector, 0, natural, bases[i].kaon));
    for (int k = 0; k < V * 24; k++) assert_float_equal(natural[k], array[k], 1e-13 * 101);
  }
  layout.basis = QUDA_DIRAC_PAULI_GAMMA_BASIS;
  assert_int_equal(kaon_quda_import_spinor(vector, 0, array, 1, &layout), KAON_ERR_UNSUPPORTED);
  layout.basis = QUDA_UKQCD_GAMMA_BASIS;
  layout.order = QUDA_INTERNAL_DIRAC_ORDER;
  assert_int_equal(kaon_quda_import_spinor(vector, 0, array, 1, &layout), KAON_ERR_ARGUMENT);
  layout.order = QUDA_DIRAC_ORDER;
  layout.precision = QUDA_HALF_PRECISION;
  assert_int_equal(kaon_quda_export_spinor(vector, 0, array, 1, &layout), KAON_ERR_ARGUMENT);
  layout.precision = QUDA_DOUBLE_PRECISION;
  assert_int_equal(kaon_quda_import_spinor(vector, 0, NULL, 1, &layout), KAON_ERR_ARGUMENT);
  free(array), free(natural);
  kaon_vector_destroy(&vector);
  kaon_quda_end();
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_links_pass_in_every_order),
                                     cmocka_unit_test(test_bad_links_are_refused),
                                     cmocka_unit_test(test_spinors_pass_in_every_order),
                                     cmocka_unit_test(test_bases_are_the_librarys)};
  return test_main(tests, NULL, NULL);
}
