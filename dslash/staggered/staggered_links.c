/* staggered_links.c - prepares fat and long links for an operator: statistics of a whole field, its
 * scale, splitting U(3) links into phases and SU(3), folding signs in or out. */
#include <math.h>
#include <stdlib.h>

#include "dslash/staggered/staggered_internal.h"
#include "lib/core/entry.h"

/* What a kernel on links in double needs. */
static kaon_status open_kernels(kaon_context *ctx, const kaon_gauge_ops **ops, kaon_launch *launch,
                                kaon_results *room) {
  KAON_TRY(kaon_gauge_kernels(ctx, ops));
  KAON_TRY(kaon_launch_prepare(ctx, 1, 0, launch));
  return kaon_results_create(ctx, room);
}

/* ---- statistics ---- */

kaon_status kaon_staggered_measure(const kaon_gauge *from, double *largest, double *row) {
  kaon_context *ctx = from->ctx;
  double found[KAON_SIZE_RESULTS] = {0};
  kaon_wide_links wide;
  KAON_TRY(kaon_wide_open(from, 0, &wide));
  const kaon_status status = kaon_wide_size(&wide, found);
  kaon_wide_close(&wide);
  KAON_TRY(status);
  if (!isfinite(found[0] + found[1]))
    return kaon_fail(ctx, KAON_ERR_NOT_FINITE,
                     "staggered: the links hold NaN, infinity or numbers near overflow; read or "
                     "compute them anew");
  *largest = found[KAON_EXACT_PARTS];
  *row = sqrt((found[0] + found[1]) / (12 * (double)from->lattice->global_volume));
  return KAON_OK;
}

/* ---- scaling and splitting ---- */

static kaon_status split(const kaon_wide_links *wide, double factor, kaon_precision precision,
                         void *const phase[2], double *largest) {
  const kaon_gauge_ops *ops = NULL;
  kaon_launch launch;
  KAON_AUTO(kaon_results_release) kaon_results room = {0};
  KAON_TRY(open_kernels(wide->lattice->ctx, &ops, &launch, &room));
  for (int parity = 0; parity < 2; parity++) {
    double part = 0;
    const kaon_split_args args = {.on = kaon_links_on(wide, parity, NULL, room.device),
                                  .factor = factor,
                                  .bytes = (int)kaon_precision_bytes(precision),
                                  .phase = phase[parity]};
    ops->split(&launch, &args);
    KAON_TRY(kaon_results_read(&room, KAON_SPLIT_RESULTS, &part));
    *largest = fmax(*largest, part);
  }
  return KAON_OK;
}

/* wide = factor times the field's links, without their phases where `phase` has room for them. The
 * caller closes it. */
static kaon_status made_of(const kaon_gauge *from, double factor, kaon_precision precision,
                           void *const phase[2], kaon_wide_links *wide, double *largest) {
  kaon_status status = kaon_wide_create(from->lattice, wide);
  if (status == KAON_OK) status = kaon_wide_decode(from, wide);
  if (status == KAON_OK) status = split(wide, factor, precision, phase, largest);
  return kaon_agree(from->ctx, status);
}

kaon_status kaon_staggered_scale(const kaon_gauge *from, double factor, kaon_gauge *to) {
  void *const none[2] = {NULL, NULL};
  double unused = 0;
  KAON_AUTO(kaon_wide_close) kaon_wide_links wide = {0};
  KAON_TRY(made_of(from, factor, to->precision, none, &wide, &unused));
  return kaon_wide_commit(to, &wide, 0, "staggered");
}

/* Room for the phases of a field. Its unused blocks are 0. */
static kaon_status take_phases(kaon_staggered_links *to) {
  kaon_context *ctx = to->links->ctx;
  const kaon_stencil *st = &to->links->lattice->stencil;
  const size_t bytes = 4 * (size_t)kaon_link_blocks(kaon_matrix_blocks(st)) * (size_t)st->width *
                       kaon_precision_bytes(to->links->precision);
  kaon_status status = KAON_OK;
  if (to->phase[0] == NULL)
    status = kaon_pool_allocate(ctx, 2 * bytes, "phases of long links", &to->phase[0]);
  if (status == KAON_OK) status = ctx->backend->memory->clear(ctx, to->phase[0], 2 * bytes);
  if (status == KAON_OK) to->phase[1] = (char *)to->phase[0] + bytes;
  return kaon_agree(ctx, status);
}

/* Phases below this are rounding errors of 32-bit files and are treated as 0. */
#define PHASE_TOLERANCE 2e-6

kaon_status kaon_staggered_split(const kaon_gauge *from, double factor, kaon_staggered_links *to) {
  double largest = 0;
  KAON_AUTO(kaon_wide_close) kaon_wide_links wide = {0};
  KAON_TRY(take_phases(to));
  KAON_TRY(made_of(from, factor, to->links->precision, to->phase, &wide, &largest));
  KAON_TRY(kaon_largest_of_ranks(from->ctx, &largest));
  KAON_TRY(kaon_wide_commit(to->links, &wide, 0, "staggered: long links over their coefficient"));
  if (largest <= PHASE_TOLERANCE) {
    kaon_pool_release(from->ctx, to->phase[0]);
    to->phase[0] = to->phase[1] = NULL;
  }
  return KAON_OK;
}

/* ---- signs ---- */

static void fold_site(const kaon_host_links *host, const uint8_t masks[4], int steps,
                      const int site[4]) {
  const kaon_lattice *lattice = host->wide->lattice;
  int whole[4];
  for (int mu = 0; mu < 4; mu++) whole[mu] = site[mu] + lattice->origin[mu];
  for (int mu = 0; mu < 4; mu++) {
    const kaon_host_link u = kaon_host_link_at(host, site, mu);
    const double sign = kaon_staggered_sign(lattice, masks, mu, steps, whole);
    for (int c = 0; c < 18; c++) *kaon_host_link_real(&u, c) *= sign;
  }
}

static kaon_status fold(const kaon_wide_links *wide, const uint8_t masks[4], int steps) {
  const kaon_lattice *lattice = wide->lattice;
  KAON_AUTO(kaon_host_close) kaon_host_links host = {0};
  KAON_TRY(kaon_agree(lattice->ctx, kaon_host_open(wide, 1, &host)));
#pragma omp parallel for num_threads(lattice->ctx->threads) schedule(static)
  for (int64_t i = 0; i < lattice->volume; i++) {
    int site[4];
    kaon_site_coordinates(lattice->extents, i, site);
    fold_site(&host, masks, steps, site);
  }
  return kaon_agree(lattice->ctx, kaon_host_upload(&host));
}

kaon_status kaon_staggered_fold(kaon_gauge *links, int steps, kaon_staggered_phases phases) {
  KAON_ENTER(KAON_OF(links), links);
  if ((steps != 1 && steps != 3) || (phases != KAON_PHASES_MILC && phases != KAON_PHASES_CHROMA))
    return kaon_fail(links->ctx, KAON_ERR_ARGUMENT,
                     "staggered fold: steps is %d and phases %d, but must be 1 (thin or fat) or 3 "
                     "(long), and 0 (MILC) or 1 (Chroma)",
                     steps, (int)phases);
  if (links->reconstruct != KAON_RECONSTRUCT_18 || links->precision != KAON_DOUBLE)
    return kaon_fail(links->ctx, KAON_ERR_UNSUPPORTED,
                     "staggered fold: a field in double and 18 reals is needed; copy it to one");
  uint8_t masks[4];
  kaon_wide_links wide; /* the field itself */
  kaon_staggered_masks(phases, masks);
  KAON_TRY(kaon_wide_open(links, 0, &wide));
  KAON_TRY(fold(&wide, masks, steps));
  return kaon_wide_commit(links, &wide, 0, "staggered fold");
}
