/* temporal.c - transport along t, the temporal gauge of links and of spinors. */
#include "gauge/temporal.h"

#include <stdlib.h>

#include "lib/grid/ghosts.h"
#include "lib/core/threads.h"
#include "lib/core/entry.h"

struct kaon_temporal {
  kaon_lattice *lattice;    /* retained */
  void *g[KAON_PRECISIONS]; /* even then odd; half uses single's */
};

static size_t parity_reals(const kaon_lattice *lattice) {
  return (size_t)kaon_matrix_blocks(&lattice->stencil) * 18 * (size_t)lattice->stencil.width;
}

/* Number of sites of a slice of the whole lattice. */
static int64_t slice_of(const kaon_lattice *lattice) {
  return lattice->global_volume / lattice->global[3];
}

static kaon_transport_args transport_args(const kaon_transporter *transporter,
                                          const kaon_wide_links *wide, int parity, int t,
                                          double *result) {
  const kaon_lattice *lattice = transporter->lattice;
  return (kaon_transport_args){.on = kaon_links_on(wide, parity, &transporter->table, result),
                               .g = {transporter->g[0], transporter->g[1]},
                               .slice = slice_of(lattice),
                               .t = t};
}

static kaon_status fill_ghosts(const kaon_transporter *transporter) {
  for (int parity = 0; parity < 2; parity++)
    KAON_TRY(kaon_ghosts_fill(transporter->lattice, parity, transporter->g[parity]));
  return KAON_OK;
}

/* Builds g slice by slice: slice t needs g on slice t - 1 of the other parity. If that slice is on
 * another rank, it arrives when that rank has finished its last slice. */
static kaon_status transport(kaon_transporter *transporter, const kaon_wide_links *wide) {
  kaon_lattice *lattice = transporter->lattice;
  const kaon_gauge_ops *ops = NULL;
  kaon_launch launch;
  KAON_TRY(kaon_gauge_kernels(lattice->ctx, &ops));
  kaon_status status = kaon_launch_prepare(lattice->ctx, 1, 0, &launch);
  if (status == KAON_OK)
    status = lattice->ctx->backend->memory->clear(lattice->ctx, transporter->g[0],
                                                  2 * parity_reals(lattice) * sizeof(double));
  KAON_TRY(kaon_wide_ghosts(wide, status));
  for (int t = 0; t < lattice->global[3]; t++) {
    const int local = t - lattice->origin[3], ours = local >= 0 && local < lattice->extents[3];
    for (int parity = 0; parity < 2 && ours; parity++) {
      const kaon_transport_args args = transport_args(transporter, wide, parity, t, NULL);
      ops->transport(&launch, &args);
    }
    if ((t + 1) % lattice->extents[3] == 0) KAON_TRY(fill_ghosts(transporter));
  }
  return KAON_OK;
}

kaon_status kaon_transporter_create(const kaon_wide_links *wide, kaon_transporter *transporter) {
  kaon_lattice *lattice = wide->lattice;
  *transporter = (kaon_transporter){.lattice = lattice};
  kaon_status status = kaon_site_table_create(lattice, &transporter->table);
  if (status == KAON_OK)
    status = kaon_pool_allocate(lattice->ctx, 2 * parity_reals(lattice) * sizeof(double),
                                "a gauge transformation", &transporter->g[0]);
  KAON_TRY(kaon_agree(lattice->ctx, status));
  transporter->g[1] = (double *)transporter->g[0] + parity_reals(lattice);
  return transport(transporter, wide);
}

void kaon_transporter_release(kaon_transporter *transporter) {
  if (transporter->lattice != NULL) kaon_pool_release(transporter->lattice->ctx, transporter->g[0]);
  kaon_site_table_release(&transporter->table);
  *transporter = (kaon_transporter){0};
}

kaon_status kaon_transporter_trace(const kaon_transporter *transporter, const kaon_wide_links *wide,
                                   double sum[2]) {
  kaon_context *ctx = wide->lattice->ctx;
  const kaon_gauge_ops *ops = NULL;
  kaon_launch launch;
  kaon_results room;
  sum[0] = sum[1] = 0;
  KAON_TRY(kaon_gauge_kernels(ctx, &ops));
  KAON_TRY(kaon_launch_prepare(ctx, 1, 0, &launch));
  kaon_status status = kaon_results_create(ctx, &room);
  for (int parity = 0; parity < 2 && status == KAON_OK; parity++) {
    double part[KAON_POLYAKOV_RESULTS] = {0};
    const kaon_transport_args args =
        transport_args(transporter, wide, parity, wide->lattice->global[3] - 1, room.device);
    ops->polyakov(&launch, &args);
    status = kaon_results_read(&room, KAON_POLYAKOV_RESULTS, part);
    sum[0] += part[0];
    sum[1] += part[1];
  }
  kaon_results_release(&room);
  KAON_TRY(kaon_agree(ctx, status));
  return kaon_comm_sum(ctx, sum, 2);
}

/* to = g U g^dag, t links exactly 1 below the last slice. */
static kaon_status transform(const kaon_transporter *transporter, const kaon_wide_links *from,
                             kaon_wide_links *to) {
  const kaon_lattice *lattice = from->lattice;
  const kaon_gauge_ops *ops = NULL;
  kaon_launch launch;
  KAON_TRY(kaon_gauge_kernels(lattice->ctx, &ops));
  KAON_TRY(kaon_launch_prepare(lattice->ctx, 1, 0, &launch));
  for (int parity = 0; parity < 2; parity++) {
    const kaon_transform_args args = {.on = kaon_links_on(from, parity, &transporter->table, NULL),
                                      .g = {transporter->g[0], transporter->g[1]},
                                      .to = to->links[parity],
                                      .unit_below = lattice->global_volume - slice_of(lattice)};
    ops->transform(&launch, &args);
  }
  return KAON_OK;
}

static kaon_status fix(kaon_gauge *to, const kaon_gauge *from) {
  KAON_AUTO(kaon_wide_close) kaon_wide_links wide = {0}, fixed = {0};
  KAON_AUTO(kaon_transporter_release) kaon_transporter transporter = {0};
  KAON_TRY(kaon_wide_open(from, 0, &wide));
  /* Not in place: neighbours still need the links of a finished site. */

  KAON_TRY(to == from ? kaon_agree(to->ctx, kaon_wide_create(to->lattice, &fixed))
                      : kaon_wide_open(to, 1, &fixed));
  KAON_TRY(kaon_transporter_create(&wide, &transporter));
  KAON_TRY(transform(&transporter, &wide, &fixed));
  if (to != from) kaon_made_as(to->revision, from->revision, "kaon_gauge_temporal");
  return kaon_wide_commit(to, &fixed, 0, "gauge: temporal");
}

kaon_status kaon_gauge_temporal(kaon_gauge *to, const kaon_gauge *from) {
  KAON_ENTER(KAON_OF(to), to, from);
  if (to->lattice != from->lattice)
    return kaon_fail(to->ctx, KAON_ERR_SHAPE,
                     "gauge: temporal gauge of a field on another lattice; create both on the same "
                     "kaon_lattice");
  KAON_RETURN_UNTRAPPED(to->ctx, fix(to, from));
}

static kaon_status keep(kaon_temporal *rotation, const kaon_transporter *transporter) {
  kaon_lattice *lattice = rotation->lattice;
  const int *tail = lattice->stencil.tail_lanes;
  kaon_launch launch;
  KAON_TRY(kaon_launch_prepare(lattice->ctx, 1, 0, &launch));
  for (int p = KAON_DOUBLE; p <= KAON_SINGLE; p++) {
    const kaon_recode_args args = {.nblocks = lattice->stencil.nblocks,
                                   .stride = kaon_matrix_blocks(&lattice->stencil),
                                   .tail_lanes = {tail[0], tail[1]},
                                   .matrices = 1,
                                   .recon = 18,
                                   .wide = transporter->g[0],
                                   .narrow = rotation->g[p]};
    lattice->ctx->backend->gauge[p]->encode(&launch, &args);
  }
  return KAON_OK;
}

static kaon_status update(kaon_temporal *rotation, const kaon_gauge *gauge) {
  KAON_AUTO(kaon_wide_close) kaon_wide_links wide = {0};
  KAON_AUTO(kaon_transporter_release) kaon_transporter transporter = {0};
  KAON_TRY(kaon_wide_open(gauge, 0, &wide));
  KAON_TRY(kaon_transporter_create(&wide, &transporter));
  return keep(rotation, &transporter);
}

kaon_status kaon_temporal_update(kaon_temporal *rotation, const kaon_gauge *gauge) {
  if (gauge->lattice != rotation->lattice)
    return kaon_fail(gauge->ctx, KAON_ERR_SHAPE, "temporal gauge: the field is of another lattice");
  KAON_RETURN_UNTRAPPED(gauge->ctx, update(rotation, gauge));
}

/* The caller destroys *rotation after success and after failure. */
static kaon_status take_rotation(kaon_lattice *lattice, kaon_temporal **rotation) {
  kaon_temporal *made = *rotation = calloc(1, sizeof *made);
  if (made == NULL)
    return kaon_fail(lattice->ctx, KAON_ERR_MEMORY,
                     "temporal gauge: out of host memory for a transformation");
  made->lattice = lattice;
  kaon_lattice_retain(lattice);
  const size_t reals = 2 * parity_reals(lattice);
  for (int p = KAON_DOUBLE; p <= KAON_SINGLE; p++)
    KAON_TRY(kaon_pool_allocate(lattice->ctx, reals * kaon_precision_bytes((kaon_precision)p),
                                "a gauge transformation", &made->g[p]));
  return KAON_OK;
}

kaon_status kaon_temporal_create(const kaon_gauge *gauge, kaon_temporal **rotation) {
  kaon_temporal *made = NULL;
  *rotation = NULL;
  kaon_status status = kaon_agree(gauge->ctx, take_rotation(gauge->lattice, &made));
  if (status == KAON_OK) status = kaon_temporal_update(made, gauge);
  *rotation = made;
  if (status != KAON_OK) kaon_temporal_destroy(rotation);
  return status;
}

void kaon_temporal_destroy(kaon_temporal **rotation) {
  if (rotation == NULL || *rotation == NULL) return;
  kaon_temporal *gone = *rotation;
  *rotation = NULL;
  for (int p = 0; p < KAON_PRECISIONS; p++) kaon_pool_release(gone->lattice->ctx, gone->g[p]);
  kaon_lattice_destroy(&gone->lattice);
  free(gone);
}

/* In g, ghosts are stored between the parities; in a vector there are none. */
static kaon_status rotate_both(const kaon_temporal *rotation, kaon_mode mode, const kaon_vector *in,
                               kaon_vector *out, const kaon_gate *gate) {
  for (int p = 0; p < 2; p++) {
    kaon_vector from, to;
    KAON_TRY(kaon_vector_view(in, (kaon_parity)p, &from));
    KAON_TRY(kaon_vector_view(out, (kaon_parity)p, &to));
    KAON_TRY(kaon_temporal_rotate(rotation, p, mode, &from, &to, gate));
  }
  return KAON_OK;
}

kaon_status kaon_temporal_rotate(const kaon_temporal *rotation, int parity, kaon_mode mode,
                                 const kaon_vector *in, kaon_vector *out, const kaon_gate *gate) {
  kaon_lattice *lattice = rotation->lattice;
  const kaon_space *space = kaon_lattice_spinors(lattice, (kaon_parity)parity);
  if (in->space != space || out->space != space || in->nrhs != out->nrhs)
    return kaon_fail(
        lattice->ctx, KAON_ERR_SHAPE,
        "temporal gauge: both vectors must be spinors of parity %d of its lattice with "
        "equal columns, but they have %d and %d",
        parity, in->nrhs, out->nrhs);
  if (in->precision != out->precision)
    return kaon_fail(lattice->ctx, KAON_ERR_PRECISION,
                     "temporal gauge: precisions %d and %d differ", (int)in->precision,
                     (int)out->precision);
  kaon_launch launch;
  KAON_TRY(kaon_launch_prepare(lattice->ctx, 1, 0, &launch));
  if (parity == KAON_FULL && lattice->stencil.ghost_blocks > 0)
    return rotate_both(rotation, mode, in, out, gate);
  const int g_precision = in->precision == KAON_DOUBLE ? KAON_DOUBLE : KAON_SINGLE;
  const size_t skip =
      parity == KAON_ODD ? parity_reals(lattice) * kaon_precision_bytes((kaon_precision)g_precision)
                         : 0;
  const kaon_rotate_args args = {.nblocks = space->nblocks,
                                 .nrhs = in->nrhs,
                                 .dagger = mode == KAON_DAGGER,
                                 .g = (const char *)rotation->g[g_precision] + skip,
                                 .in = kaon_view_of(in),
                                 .out = kaon_view_of(out),
                                 .gate = gate != NULL ? *gate : (kaon_gate){.state = NULL}};
  lattice->ctx->backend->gauge[in->precision]->rotate(&launch, &args);
  return KAON_OK;
}
