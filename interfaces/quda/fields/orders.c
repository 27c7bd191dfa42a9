/* orders.c - links in the orders of clients. Contract: fields.h.
 * The library has some orders of its own. Arrays in the others are copied into the order MILC. */
#include "fields.h"

#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 3, MATRIX = 18 /* reals */ };

/* What a stride counts: reals, or whole sites of MILC, each perhaps times the sites of a parity. */
typedef enum unit { REALS, REALS_OF_PARITY, SITES, SITES_OF_PARITY } unit;
typedef struct stride {
  int count;
  unit unit;
} stride;

typedef struct link_order {
  QudaGaugeFieldOrder order;
  const char *name;
  int native; /* the library's order, or -1 */
  int arrays; /* 4: a pointer for each direction */
  int halo;   /* 1: room for sites beyond those of the lattice, at the end of a parity */
  int scaled; /* the links are multiplied by QudaGaugeParam.scale */
  stride direction, parity, site, row, column, part; /* part: from re to im. Not if native */
} link_order;

static const link_order orders[] = {
    {QUDA_QDP_GAUGE_ORDER, "QDP", KAON_ORDER_QDP, 4, 0, 0, .part = {0}},
    {QUDA_MILC_GAUGE_ORDER, "MILC", KAON_ORDER_MILC, 1, 0, 0, .part = {0}},
    {QUDA_CPS_WILSON_GAUGE_ORDER, "CPS", KAON_ORDER_CPS, 1, 0, 0, .part = {0}},
    {QUDA_QDPJIT_GAUGE_ORDER, "QDPJIT", -1, 4, 0, 0, .parity = {1, REALS_OF_PARITY},
     .site = {1, REALS}, .row = {6, REALS_OF_PARITY}, .column = {2, REALS_OF_PARITY},
     .part = {18, REALS_OF_PARITY}},
    {QUDA_MILC_SITE_GAUGE_ORDER, "MILC_SITE", -1, 1, 0, 0, .direction = {18, REALS},
     .parity = {1, SITES_OF_PARITY}, .site = {1, SITES}, .row = {6, REALS}, .column = {2, REALS},
     .part = {1, REALS}},
    {QUDA_BQCD_GAUGE_ORDER, "BQCD", -1, 1, 1, 0, .direction = {36, REALS_OF_PARITY},
     .parity = {18, REALS_OF_PARITY}, .site = {18, REALS}, .row = {2, REALS}, .column = {6, REALS},
     .part = {1, REALS}},
    {QUDA_TIFR_GAUGE_ORDER, "TIFR", -1, 1, 0, 1, .direction = {36, REALS_OF_PARITY},
     .parity = {18, REALS_OF_PARITY}, .site = {18, REALS}, .row = {2, REALS}, .column = {6, REALS},
     .part = {1, REALS}},
};
enum { ORDERS = sizeof orders / sizeof orders[0] };

/* An array of a client, and how to walk through it. Strides are in bytes. */
typedef struct walk {
  const link_order *order;
  const QudaGaugeParam *param;
  size_t real, sites; /* bytes of a real; sites of a parity, without those of a halo */
  size_t direction, parity, site, row, column, part;
  kaon_precision precision;
  char *array[4];
} walk;

static size_t sites_with_halo(const walk *w) {
  const int *X = w->param->X;
  if (!w->order->halo) return w->sites;
  return (size_t)(X[0] / 2 + 2) * (X[1] + 2) * (X[2] + 2) * (X[3] + 2);
}

static size_t bytes_of(const walk *w, stride s) {
  const size_t sites = sites_with_halo(w);
  const size_t bytes[] = {w->real, w->real * sites, w->param->site_size,
                          w->param->site_size * sites};
  return (size_t)s.count * bytes[s.unit];
}

static kaon_status check(const kaon_gauge *gauge, const void *array, const QudaGaugeParam *param,
                         walk *w) {
  int part[4];
  for (int i = 0; i < ORDERS; i++)
    if (orders[i].order == param->gauge_order) w->order = &orders[i];
  if (w->order == NULL)
    return kaon_quda_refuse(
        KAON_ERR_ARGUMENT, "gauge_order is %d, but must be one from %d (QDP) to %d (TIFR)",
        (int)param->gauge_order, (int)QUDA_QDP_GAUGE_ORDER, (int)QUDA_TIFR_GAUGE_ORDER);
  if (param->cpu_prec != QUDA_DOUBLE_PRECISION && param->cpu_prec != QUDA_SINGLE_PRECISION)
    return kaon_quda_refuse(
        KAON_ERR_ARGUMENT, "cpu_prec of links is %d, but must be %d (double) or %d (single)",
        (int)param->cpu_prec, (int)QUDA_DOUBLE_PRECISION, (int)QUDA_SINGLE_PRECISION);
  kaon_lattice_part(kaon_gauge_lattice(gauge), part, NULL, NULL);
  for (int d = 0; d < 4; d++)
    if (part[d] != param->X[d])
      return kaon_quda_refuse(KAON_ERR_ARGUMENT,
                              "X[%d] is %d, but this rank's part of the lattice has %d sites there",
                              d, param->X[d], part[d]);
  if (w->order->native < 0 && kaon_quda_on_device(param->location))
    return kaon_quda_refuse(KAON_ERR_UNSUPPORTED,
                            "links of order %s are in GPU memory, where only QDP, MILC and CPS are "
                            "offered; use one of these or host memory",
                            w->order->name);
  for (int i = 0; i < w->order->arrays; i++)
    if (array == NULL || (w->order->arrays == 4 && ((void *const *)array)[i] == NULL))
      return kaon_quda_refuse(KAON_ERR_ARGUMENT,
                              "array %d of links in order %s is NULL; pass %d array%s", i,
                              w->order->name, w->order->arrays,
                              w->order->arrays == 4 ? "s, one for each direction" : "");
  return KAON_OK;
}

static kaon_status describe(const kaon_gauge *gauge, const void *array, const QudaGaugeParam *param,
                            walk *w) {
  *w = (walk){.param = param, .real = param->cpu_prec == QUDA_DOUBLE_PRECISION ? 8 : 4};
  const kaon_status status = check(gauge, array, param, w);
  if (status != KAON_OK) return status;
  w->precision = w->real == 8 ? KAON_DOUBLE : KAON_SINGLE;
  w->sites = kaon_quda_sites(param->X) / 2;
  w->direction = bytes_of(w, w->order->direction);
  w->parity = bytes_of(w, w->order->parity);
  w->site = bytes_of(w, w->order->site);
  w->row = bytes_of(w, w->order->row);
  w->column = bytes_of(w, w->order->column);
  w->part = bytes_of(w, w->order->part);
  for (int mu = 0; mu < 4; mu++)
    w->array[mu] = w->order->arrays == 4 ? ((void *const *)array)[mu] : (void *)(uintptr_t)array;
  return KAON_OK;
}

/* The first real of a matrix. */
static char *matrix_of(const walk *w, int parity, size_t site, int mu) {
  char *first = w->array[mu] + (size_t)mu * w->direction + (size_t)parity * w->parity;
  if (w->order->order == QUDA_MILC_SITE_GAUGE_ORDER) first += w->param->gauge_offset;
  return first + site * w->site;
}

/* Copies a matrix from the client's array to `milc`, or back. The numbers are multiplied. */
static void copy_matrix(const walk *w, char *matrix, char *milc, int take, double by) {
  for (int c = 0; c < MATRIX; c++) {
    char *there = matrix + (size_t)(c / 2 / COLUMNS) * w->row +
                  (size_t)(c / 2 % COLUMNS) * w->column + (size_t)(c % 2) * w->part;
    char *here = milc + (size_t)c * w->real;
    const char *from = take ? there : here;
    char *to = take ? here : there;
    if (w->real == 8)
      *(double *)to = by * *(const double *)from;
    else
      *(float *)to = (float)(by * *(const float *)from);
  }
}

/* Copies all links between the client's array and one in the order MILC. */
static void copy_links(const walk *w, char *milc, int take) {
  const double scale = w->order->scaled ? w->param->scale : 1.0, by = take ? 1.0 / scale : scale;
  for (int parity = 0; parity < 2; parity++)
    for (size_t site = 0; site < w->sites; site++)
      for (int mu = 0; mu < 4; mu++) {
        const size_t index = ((size_t)parity * w->sites + site) * 4 + (size_t)mu;
        copy_matrix(w, matrix_of(w, parity, site, mu), milc + index * MATRIX * w->real, take, by);
      }
}

static kaon_status make_room(const walk *w, void **room) {
  return kaon_quda_allocate(2 * w->sites * 4 * MATRIX * w->real, room);
}

/* factors NULL: any matrices, as they are. */
static kaon_status import(kaon_gauge *gauge, const walk *w, kaon_gauge_order order,
                          const kaon_link_factors *factors) {
  const void *const *arrays = (const void *const *)w->array;
  return factors != NULL ? kaon_gauge_import_factors(gauge, order, w->precision, arrays, factors)
                         : kaon_gauge_import_matrices(gauge, order, w->precision, arrays);
}

kaon_status kaon_quda_import_links(kaon_gauge *gauge, const void *array,
                                   const QudaGaugeParam *param, const kaon_link_factors *factors) {
  walk w;
  void *room = NULL;
  kaon_status status = describe(gauge, array, param, &w);
  if (status != KAON_OK) return status;
  if (w.order->native >= 0) return import(gauge, &w, (kaon_gauge_order)w.order->native, factors);
  status = make_room(&w, &room);
  if (status != KAON_OK) return status;
  copy_links(&w, room, 1);
  w.array[0] = room;
  status = import(gauge, &w, KAON_ORDER_MILC, factors);
  free(room);
  return status;
}

/* Clients do not always say that an array is on a device: the library refuses it first. */
static kaon_status export_native(const kaon_gauge *gauge, const walk *w) {
  const kaon_gauge_order order = (kaon_gauge_order)w->order->native;
  void *const *arrays = (void *const *)w->array;
  const kaon_status status = kaon_gauge_export(gauge, order, w->precision, arrays);
  if (status != KAON_ERR_ARGUMENT) return status;
  return kaon_gauge_export_device(gauge, order, w->precision, arrays);
}

kaon_status kaon_quda_export_links(const kaon_gauge *gauge, void *array,
                                   const QudaGaugeParam *param) {
  walk w;
  void *room = NULL;
  kaon_status status = describe(gauge, array, param, &w);
  if (status != KAON_OK) return status;
  if (w.order->native >= 0) return export_native(gauge, &w);
  status = make_room(&w, &room);
  if (status != KAON_OK) return status;
  status = kaon_gauge_export(gauge, KAON_ORDER_MILC, w.precision, (void *const[]){room});
  if (status == KAON_OK) copy_links(&w, room, 0);
  free(room);
  return status;
}
