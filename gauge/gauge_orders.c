/* gauge_orders.c - links from and to arrays in the orders of other codes (lib/math/link_orders.h).
 * If the host reaches the field, it reorders the links. Otherwise the arrays move unchanged, a
 * chunk at a time, and the device reorders. */
#include <math.h>

#include "gauge/gauge_internal.h"
#include "lib/comm/comm.h"
#include "lib/math/link_orders.h"
#include "lib/core/threads.h"
#include "lib/vector/vector_transfer.h"
#include "lib/core/entry.h"

static const char *const names[] = {"natural", "QDP", "MILC", "CPS", "openQCD"};
enum { ORDERS = sizeof names / sizeof names[0] };

/* One whole array of the caller. */
typedef struct caller_array {
  kaon_gauge_order order;
  kaon_precision precision;
  int array;
  int64_t matrices;
  size_t matrix_bytes;
  kaon_link_scale scale; /* on import */
  void *memory;
} caller_array;

static kaon_status check(const kaon_gauge *gauge, kaon_gauge_order order, kaon_precision precision,
                         const void *const *arrays, kaon_side side, const char *what) {
  if (arrays == NULL)
    return kaon_fail(gauge->ctx, KAON_ERR_ARGUMENT, "%s: the list of arrays is NULL", what);
  if ((int)order < 0 || (int)order >= ORDERS)
    return kaon_fail(gauge->ctx, KAON_ERR_ARGUMENT,
                     "%s: order number %d is not known; 0 (natural) to 4 (openQCD) are", what,
                     (int)order);
  if (precision != KAON_DOUBLE && precision != KAON_SINGLE)
    return kaon_fail(gauge->ctx, KAON_ERR_ARGUMENT,
                     "%s: the arrays' precision is %d, but links there are double (0) or single "
                     "(1)",
                     what, (int)precision);
  if (order == KAON_ORDER_OPENQCD && kaon_lattice_partitioned(gauge->lattice))
    return kaon_fail(gauge->ctx, KAON_ERR_UNSUPPORTED,
                     "%s: order openQCD stores backward links with a site, and on a divided "
                     "lattice some of them belong to another rank; use another order",
                     what);
  for (int i = 0; i < kaon_order_arrays(order); i++) {
    if (arrays[i] == NULL)
      return kaon_fail(gauge->ctx, KAON_ERR_ARGUMENT,
                       "%s: order %s needs %d arrays, but array %d is NULL", what, names[order],
                       kaon_order_arrays(order), i);
    KAON_TRY(kaon_check_memory_side(gauge->ctx, side, arrays[i], what));
  }
  return KAON_OK;
}

/* ---- if the host reaches the links ---- */

static void take_link(const caller_array *p, int64_t matrix, double scale, kaon_host_link link) {
  const int transposed = kaon_order_transposed(p->order);
  for (int c = 0; c < 18; c++) {
    const int64_t i = 18 * matrix + kaon_order_element(transposed, c);
    *kaon_host_link_real(&link, c) =
        scale * (p->precision == KAON_DOUBLE ? ((const double *)p->memory)[i]
                                             : (double)((const float *)p->memory)[i]);
  }
}

static void give_link(const caller_array *p, int64_t matrix, kaon_host_link link) {
  const int transposed = kaon_order_transposed(p->order);
  for (int c = 0; c < 18; c++) {
    const int64_t i = 18 * matrix + kaon_order_element(transposed, c);
    if (p->precision == KAON_DOUBLE)
      ((double *)p->memory)[i] = *kaon_host_link_real(&link, c);
    else
      ((float *)p->memory)[i] = (float)*kaon_host_link_real(&link, c);
  }
}

static kaon_status pass_on_host(const kaon_wide_links *wide, const caller_array *p, int take) {
  const kaon_lattice *lattice = wide->lattice;
  KAON_AUTO(kaon_host_close) kaon_host_links host = {0};
  KAON_TRY(kaon_host_open(wide, !take, &host));
#pragma omp parallel for num_threads(lattice->ctx->threads) schedule(static)
  for (int64_t matrix = 0; matrix < p->matrices; matrix++) {
    int site[4];
    const int mu = kaon_order_link(p->order, lattice->extents, lattice->stencil.odd_origin,
                                   p->array, matrix, site);
    const kaon_host_link link = kaon_host_link_at(&host, site, mu);
    if (take)
      take_link(p, matrix, kaon_link_scale_at(&p->scale, site, mu), link);
    else
      give_link(p, matrix, link);
  }
  return KAON_OK;
}

/* ---- if it does not ---- */

/* Moves host arrays in chunks through device memory, and arrays in device memory at once. */
static kaon_status pass_on_device(const kaon_wide_links *wide, const caller_array *p,
                                  kaon_side side, int take) {
  kaon_context *ctx = wide->lattice->ctx;
  const kaon_memory_ops *memory = ctx->backend->memory;
  const kaon_gauge_ops *ops = NULL;
  kaon_launch launch;
  kaon_status status = KAON_OK;
  void *room = NULL;
  const int64_t most = KAON_TRANSFER_BYTES / (int64_t)p->matrix_bytes;
  const int64_t piece = side == KAON_SIDE_DEVICE || p->matrices < most ? p->matrices : most;
  KAON_TRY(kaon_gauge_kernels(ctx, &ops));
  if (ops->reorder == NULL)
    return kaon_fail(ctx, KAON_ERR_NOT_BUILT, "gauge: backend %s has no import and export",
                     ctx->backend->name);
  KAON_TRY(kaon_launch_prepare(ctx, 1, 0, &launch));
  if (side == KAON_SIDE_HOST)
    KAON_TRY(
        kaon_pool_allocate(ctx, (size_t)piece * p->matrix_bytes, "room for a transfer", &room));
  kaon_reorder_args args = {.stencil = &wide->lattice->stencil,
                            .order = (int)p->order,
                            .array = p->array,
                            .take = take,
                            .single = p->precision == KAON_SINGLE,
                            .scale = p->scale,
                            .memory = side == KAON_SIDE_HOST ? room : p->memory,
                            .links = {wide->links[0], wide->links[1]}};
  for (int64_t first = 0; first < p->matrices && status == KAON_OK; first += piece) {
    char *there = (char *)p->memory + (size_t)first * p->matrix_bytes;
    args.first = first;
    args.count = p->matrices - first < piece ? p->matrices - first : piece;
    const size_t bytes = (size_t)args.count * p->matrix_bytes;
    if (take && room != NULL) status = memory->to_device(ctx, room, there, bytes);
    if (status == KAON_OK) ops->reorder(&launch, &args);
    if (!take && room != NULL) status = memory->to_host(ctx, there, room, bytes);
  }
  if (status == KAON_OK) status = memory->synchronise(ctx);
  kaon_pool_release(ctx, room);
  return status;
}

/* Moves all arrays of an order. scale: on import; NULL: on export. */
static kaon_status pass(const kaon_wide_links *wide, kaon_gauge_order order,
                        kaon_precision precision, void *const *arrays, kaon_side side,
                        const kaon_link_scale *scale) {
  const int take = scale != NULL;
  caller_array p = {.order = order, .precision = precision};
  if (take) p.scale = *scale;
  p.matrices = 4 * wide->lattice->volume / kaon_order_arrays(order);
  p.matrix_bytes = 18 * kaon_precision_bytes(precision);
  for (; p.array < kaon_order_arrays(order); p.array++) {
    p.memory = arrays[p.array];
    const kaon_side at =
        side == KAON_SIDE_ANY ? kaon_memory_side(wide->lattice->ctx, p.memory) : side;
    KAON_TRY(wide->lattice->ctx->backend->host_accessible ? pass_on_host(wide, &p, take)
                                                          : pass_on_device(wide, &p, at, take));
  }
  return KAON_OK;
}

/* What divides the factors out; NULL: none. */
static kaon_status scale_of(const kaon_lattice *lattice, const kaon_link_factors *factors,
                            kaon_link_scale *scale) {
  *scale = (kaon_link_scale){{1, 1, 1, 1}, -1};
  for (int mu = 0; mu < 4 && factors != NULL; mu++) {
    scale->by[mu] = 1 / factors->factor[mu];
    if (!isfinite(factors->factor[mu]) || !isfinite(scale->by[mu]))
      return kaon_fail(lattice->ctx, KAON_ERR_ARGUMENT,
                       "gauge import: the factor of direction %d is %g, but must be finite and not "
                       "0; 1 means that there is none",
                       mu, factors->factor[mu]);
  }
  if (factors != NULL && factors->antiperiodic_t)
    scale->negative_t = lattice->global[3] - 1 - lattice->origin[3];
  return KAON_OK;
}

/* Accepts any finite matrices. */
static kaon_status check_any(const kaon_wide_links *wide) {
  double result[KAON_INSPECT_RESULTS];
  KAON_TRY(kaon_wide_inspect(wide, result));
  return isinf(result[1]) ? kaon_wide_check(wide, "gauge: import") : KAON_OK;
}

static kaon_status import_links(kaon_gauge *gauge, kaon_gauge_order order, kaon_precision precision,
                                const void *const *arrays, kaon_side side,
                                const kaon_link_factors *factors, int any) {
  KAON_AUTO(kaon_wide_close) kaon_wide_links wide = {0};
  kaon_link_scale scale;
  kaon_status status = check(gauge, order, precision, arrays, side, "gauge import");
  if (status == KAON_OK) status = scale_of(gauge->lattice, factors, &scale);
  /* On refusal, the field must stay unchanged. */
  if (status == KAON_OK) status = kaon_wide_create(gauge->lattice, &wide);
  if (status == KAON_OK)
    status = pass(&wide, order, precision, (void *const *)(uintptr_t)arrays, side, &scale);
  status = kaon_agree(gauge->ctx, status); /* may fail on one rank only */
  if (status == KAON_OK) status = any ? check_any(&wide) : kaon_wide_check(&wide, "gauge: import");
  if (status == KAON_OK) kaon_replaced(gauge->revision, KAON_LINKS, NULL);
  if (status == KAON_OK) status = kaon_wide_commit(gauge, &wide, 0, "gauge: import");
  return status;
}

/* any: 1: matrices need not be SU(3). The values may be NaN, which the checks find by computing. */
static kaon_status import(kaon_gauge *gauge, kaon_gauge_order order, kaon_precision precision,
                          const void *const *arrays, kaon_side side,
                          const kaon_link_factors *factors, int any) {
  KAON_RETURN_UNTRAPPED(gauge->ctx,
                        import_links(gauge, order, precision, arrays, side, factors, any));
}

static kaon_status export_links(const kaon_gauge *gauge, kaon_gauge_order order,
                                kaon_precision precision, void *const *arrays, kaon_side side) {
  KAON_AUTO(kaon_wide_close) kaon_wide_links wide = {0};
  kaon_status status =
      check(gauge, order, precision, (const void *const *)arrays, side, "gauge export");
  KAON_TRY(kaon_agree(gauge->ctx, status));
  KAON_TRY(kaon_wide_open(gauge, 0, &wide));
  return kaon_agree(gauge->ctx, pass(&wide, order, precision, arrays, side, NULL));
}

static kaon_status export(const kaon_gauge *gauge, kaon_gauge_order order, kaon_precision precision,
                          void *const *arrays, kaon_side side) {
  KAON_RETURN_UNTRAPPED(gauge->ctx, export_links(gauge, order, precision, arrays, side));
}

kaon_status kaon_gauge_import(kaon_gauge *gauge, kaon_gauge_order order,
                              kaon_precision host_precision, const void *const *arrays) {
  KAON_ENTER(KAON_OF(gauge), gauge);
  return import(gauge, order, host_precision, arrays, KAON_SIDE_HOST, NULL, 0);
}

kaon_status kaon_gauge_import_factors(kaon_gauge *gauge, kaon_gauge_order order,
                                      kaon_precision host_precision, const void *const *arrays,
                                      const kaon_link_factors *factors) {
  KAON_ENTER(KAON_OF(gauge), gauge, factors);
  return import(gauge, order, host_precision, arrays, KAON_SIDE_ANY, factors, 0);
}

kaon_status kaon_gauge_import_matrices(kaon_gauge *gauge, kaon_gauge_order order,
                                       kaon_precision host_precision, const void *const *arrays) {
  KAON_ENTER(KAON_OF(gauge), gauge);
  if (gauge->reconstruct != KAON_RECONSTRUCT_18)
    return kaon_fail(gauge->ctx, KAON_ERR_ARGUMENT,
                     "gauge import: the field stores %d reals a link, but general matrices need "
                     "18; create it with KAON_RECONSTRUCT_18",
                     (int)gauge->reconstruct);
  return import(gauge, order, host_precision, arrays, KAON_SIDE_ANY, NULL, 1);
}

kaon_status kaon_gauge_export(const kaon_gauge *gauge, kaon_gauge_order order,
                              kaon_precision host_precision, void *const *arrays) {
  KAON_ENTER(KAON_OF(gauge), gauge);
  return export(gauge, order, host_precision, arrays, KAON_SIDE_HOST);
}

kaon_status kaon_gauge_import_device(kaon_gauge *gauge, kaon_gauge_order order,
                                     kaon_precision precision, const void *const *arrays) {
  KAON_ENTER(KAON_OF(gauge), gauge);
  return import(gauge, order, precision, arrays, KAON_SIDE_DEVICE, NULL, 0);
}

kaon_status kaon_gauge_export_device(const kaon_gauge *gauge, kaon_gauge_order order,
                                     kaon_precision precision, void *const *arrays) {
  KAON_ENTER(KAON_OF(gauge), gauge);
  return export(gauge, order, precision, arrays, KAON_SIDE_DEVICE);
}
