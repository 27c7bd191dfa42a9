/* gauge_orders.c - links from and to host arrays in the orders of other codes: one table row an
 * order, which says where a link stands. Sites and directions as in docs/conventions.md.
 * Sources: the layouts that QDP++, MILC, CPS and openQCD (export order) document for their links.
 */
#include <stdlib.h>

#include "gauge/gauge_internal.h"

/* Where a link stands: array, and number of the matrix in it. */
typedef struct link_home {
  int array;
  int64_t matrix;
} link_home;

typedef struct order_row {
  const char *name;
  int arrays;
  int transposed; /* 1: [col][row], 0: [row][col] */
  link_home (*locate)(const int extents[4], const int site[4], int mu);
} order_row;

static int parity_of(const int site[4]) {
  return (site[0] + site[1] + site[2] + site[3]) & 1;
}

/* Even sites first, then odd; both in lexicographic order (X is even: pairs of neighbours). */
static int64_t even_odd_number(const int extents[4], const int site[4]) {
  const int64_t volume = (int64_t)extents[0] * extents[1] * extents[2] * extents[3];
  return kaon_site_number(extents, site) / 2 + (parity_of(site) ? volume / 2 : 0);
}

static link_home natural(const int extents[4], const int site[4], int mu) {
  return (link_home){0, 4 * kaon_site_number(extents, site) + mu};
}

static link_home qdp(const int extents[4], const int site[4], int mu) {
  return (link_home){mu, even_odd_number(extents, site)};
}

static link_home milc(const int extents[4], const int site[4], int mu) {
  return (link_home){0, 4 * even_odd_number(extents, site) + mu};
}

/* Odd sites alone, t slowest, then x, y, z fastest; 8 links each: U_mu(x), U_mu(x - mu) for mu = t,
 * x, y, z. A link belongs to its odd end. */
static link_home openqcd(const int extents[4], const int site[4], int mu) {
  int odd[4] = {site[0], site[1], site[2], site[3]};
  const int backward = parity_of(site) == 0;
  if (backward) odd[mu] = (odd[mu] + 1) % extents[mu];
  const int64_t number =
      odd[2] + (int64_t)extents[2] *
                   (odd[1] + (int64_t)extents[1] * (odd[0] + (int64_t)extents[0] * odd[3]));
  const int direction = (mu + 1) % 4; /* t = 0, x = 1, y = 2, z = 3 */
  return (link_home){0, 8 * (number / 2) + 2 * direction + backward};
}

static const order_row orders[] = {
    [KAON_ORDER_NATURAL] = {"natural", 1, 0, natural}, [KAON_ORDER_QDP] = {"QDP", 4, 0, qdp},
    [KAON_ORDER_MILC] = {"MILC", 1, 0, milc},          [KAON_ORDER_CPS] = {"CPS", 1, 1, milc},
    [KAON_ORDER_OPENQCD] = {"openQCD", 1, 0, openqcd},
};

static kaon_status check(const kaon_gauge *gauge, kaon_gauge_order order, kaon_precision precision,
                         const void *const *arrays, const order_row **row) {
  if (gauge == NULL || arrays == NULL)
    return kaon_fail(gauge != NULL ? gauge->ctx : NULL, KAON_ERR_ARGUMENT,
                     "gauge: a field and host arrays are needed");
  if ((int)order < 0 || (size_t)order >= sizeof orders / sizeof orders[0])
    return kaon_fail(gauge->ctx, KAON_ERR_ARGUMENT,
                     "gauge: host order number %d is not known; 0 (natural) to 4 (openQCD) are",
                     (int)order);
  if (precision != KAON_DOUBLE && precision != KAON_SINGLE)
    return kaon_fail(gauge->ctx, KAON_ERR_ARGUMENT,
                     "gauge: host precision is %d, but host links are double (0) or single (1)",
                     (int)precision);
  *row = &orders[order];
  for (int i = 0; i < (*row)->arrays; i++)
    if (arrays[i] == NULL)
      return kaon_fail(gauge->ctx, KAON_ERR_ARGUMENT,
                       "gauge: order %s needs %d arrays, but array %d is NULL", (*row)->name,
                       (*row)->arrays, i);
  return KAON_OK;
}

/* Component c = (row * 3 + col) * 2 + reim of a matrix in the host's order of elements. */
static int element(const order_row *row, int c) {
  const int i = c / 6, j = c / 2 % 3;
  return row->transposed ? (j * 3 + i) * 2 + c % 2 : c;
}

/* What moves between a native link and host matrix number `matrix`. */
static void take_link(const order_row *row, kaon_precision precision, const void *array,
                      int64_t matrix, kaon_host_link link) {
  for (int c = 0; c < 18; c++) {
    const int64_t i = 18 * matrix + element(row, c);
    *kaon_host_link_real(&link, c) =
        precision == KAON_DOUBLE ? ((const double *)array)[i] : (double)((const float *)array)[i];
  }
}

static void give_link(const order_row *row, kaon_precision precision, void *array, int64_t matrix,
                      kaon_host_link link) {
  for (int c = 0; c < 18; c++) {
    const int64_t i = 18 * matrix + element(row, c);
    if (precision == KAON_DOUBLE)
      ((double *)array)[i] = *kaon_host_link_real(&link, c);
    else
      ((float *)array)[i] = (float)*kaon_host_link_real(&link, c);
  }
}

kaon_status kaon_gauge_import(kaon_gauge *gauge, kaon_gauge_order order,
                              kaon_precision host_precision, const void *const *arrays) {
  const order_row *row = NULL;
  kaon_wide_links wide;
  kaon_host_links host = {0};
  KAON_TRY(check(gauge, order, host_precision, arrays, &row));
  const int *extents = gauge->lattice->extents;
  KAON_TRY(
      kaon_wide_create(gauge->lattice, &wide)); /* the field stays whole if links are refused */
  kaon_status status = kaon_host_open(&wide, 0, &host);
  if (status == KAON_OK) kaon_host_clear_tail(&host);
  for (int64_t number = 0; status == KAON_OK && number < gauge->lattice->volume; number++) {
    int site[4];
    kaon_site_coordinates(extents, number, site);
    for (int mu = 0; mu < 4; mu++) {
      const link_home home = row->locate(extents, site, mu);
      take_link(row, host_precision, arrays[home.array], home.matrix,
                kaon_host_link_at(&host, site, mu));
    }
  }
  if (status == KAON_OK) status = kaon_host_upload(&host);
  kaon_host_close(&host);
  if (status == KAON_OK) status = kaon_wide_check(&wide, "gauge: import");
  if (status == KAON_OK) status = kaon_wide_commit(gauge, &wide, 0, "gauge: import");
  kaon_wide_close(&wide);
  return status;
}

kaon_status kaon_gauge_export(const kaon_gauge *gauge, kaon_gauge_order order,
                              kaon_precision host_precision, void *const *arrays) {
  const order_row *row = NULL;
  kaon_wide_links wide;
  kaon_host_links host = {0};
  KAON_TRY(check(gauge, order, host_precision, (const void *const *)arrays, &row));
  const int *extents = gauge->lattice->extents;
  KAON_TRY(kaon_wide_open(gauge, 0, &wide));
  kaon_status status = kaon_host_open(&wide, 1, &host);
  for (int64_t number = 0; status == KAON_OK && number < gauge->lattice->volume; number++) {
    int site[4];
    kaon_site_coordinates(extents, number, site);
    for (int mu = 0; mu < 4; mu++) {
      const link_home home = row->locate(extents, site, mu);
      give_link(row, host_precision, arrays[home.array], home.matrix,
                kaon_host_link_at(&host, site, mu));
    }
  }
  kaon_host_close(&host);
  kaon_wide_close(&wide);
  return status;
}
