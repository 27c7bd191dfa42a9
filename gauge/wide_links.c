/* wide_links.c - links in 18 doubles: the common form for link physics, import and files. */
#include <math.h>
#include <stdlib.h>

#include "gauge/gauge_internal.h"
#include "lib/grid/ghosts.h"

static size_t parity_bytes(const kaon_lattice *lattice) {
  return 4 * (size_t)kaon_link_blocks(kaon_matrix_blocks(&lattice->stencil)) * 18 *
         (size_t)lattice->stencil.width * sizeof(double);
}

kaon_status kaon_gauge_kernels(kaon_context *ctx, const kaon_gauge_ops **ops) {
  *ops = ctx->backend->gauge[KAON_DOUBLE];
  if (*ops == NULL)
    return kaon_fail(ctx, KAON_ERR_NOT_BUILT, "gauge: backend %s has no link kernels in double",
                     ctx->backend->name);
  return KAON_OK;
}

kaon_status kaon_wide_create(kaon_lattice *lattice, kaon_wide_links *wide) {
  *wide = (kaon_wide_links){.lattice = lattice, .copy = 1};
  KAON_TRY(kaon_pool_allocate(lattice->ctx, 2 * parity_bytes(lattice), "a gauge field in double",
                              &wide->links[0]));
  KAON_TRY(lattice->ctx->backend->memory->clear(lattice->ctx, wide->links[0],
                                                2 * parity_bytes(lattice))); /* idle blocks too */
  wide->links[1] = (char *)wide->links[0] + parity_bytes(lattice);
  return KAON_OK;
}

static kaon_recode_args recode_args(const kaon_gauge *gauge, const kaon_wide_links *wide) {
  const kaon_stencil *st = &gauge->lattice->stencil;
  return (kaon_recode_args){.nblocks = st->nblocks,
                            .stride = kaon_link_blocks(kaon_matrix_blocks(st)),
                            .tail_lanes = {st->tail_lanes[0], st->tail_lanes[1]},
                            .matrices = 4,
                            .recon = (int)gauge->reconstruct,
                            .wide = wide->links[0],
                            .narrow = gauge->links[0]};
}

kaon_status kaon_wide_open(const kaon_gauge *gauge, int fresh, kaon_wide_links *wide) {
  if (gauge->precision == KAON_DOUBLE && gauge->reconstruct == KAON_RECONSTRUCT_18) {
    *wide =
        (kaon_wide_links){.lattice = gauge->lattice, .links = {gauge->links[0], gauge->links[1]}};
    return KAON_OK;
  }
  kaon_status status = kaon_wide_create(gauge->lattice, wide);
  if (status == KAON_OK && !fresh) status = kaon_wide_decode(gauge, wide);
  return kaon_agree(gauge->ctx, status);
}

kaon_status kaon_wide_decode(const kaon_gauge *gauge, const kaon_wide_links *wide) {
  kaon_launch launch;
  KAON_TRY(kaon_launch_prepare(gauge->ctx, 1, 0, &launch));
  const kaon_recode_args args = recode_args(gauge, wide);
  gauge->ctx->backend->gauge[gauge->precision]->decode(&launch, &args);
  return KAON_OK;
}

static kaon_status size_of_rank(const kaon_wide_links *wide, const kaon_results *room,
                                double size[KAON_SIZE_RESULTS]) {
  const kaon_gauge_ops *ops = NULL;
  kaon_launch launch;
  KAON_TRY(kaon_gauge_kernels(wide->lattice->ctx, &ops));
  KAON_TRY(kaon_launch_prepare(wide->lattice->ctx, 1, 0, &launch));
  for (int parity = 0; parity < 2; parity++) {
    double part[KAON_SIZE_RESULTS] = {0};
    kaon_links_args args = kaon_links_on(wide, parity, NULL, room->device);
    args.scale = kaon_exact_scale_of(wide->lattice->global_volume);
    ops->size(&launch, &args);
    KAON_TRY(kaon_results_read(room, KAON_SIZE_RESULTS, part));
    for (int i = 0; i < KAON_EXACT_PARTS; i++) size[i] += part[i];
    size[KAON_EXACT_PARTS] = fmax(size[KAON_EXACT_PARTS], part[KAON_EXACT_PARTS]);
  }
  return KAON_OK;
}

kaon_status kaon_largest_of_ranks(kaon_context *ctx, double *largest) {
  kaon_comm *comm = ctx->comm;
  if (comm->ranks == 1) return KAON_OK;
  KAON_AUTOFREE double *all = malloc((size_t)comm->ranks * sizeof *all);
  KAON_TRY(KAON_AGREE_MEMORY(ctx, all != NULL, "gauge: out of host memory"));
  KAON_TRY(comm->ops->gather(comm, largest, 1, all));
  for (int r = 0; r < comm->ranks; r++) *largest = fmax(*largest, all[r]);
  return KAON_OK;
}

kaon_status kaon_wide_size(const kaon_wide_links *wide, double size[KAON_SIZE_RESULTS]) {
  kaon_context *ctx = wide->lattice->ctx;
  KAON_AUTO(kaon_results_release) kaon_results room = {0};
  for (int i = 0; i < KAON_SIZE_RESULTS; i++) size[i] = 0;
  kaon_status status = kaon_results_create(ctx, &room);
  if (status == KAON_OK) status = size_of_rank(wide, &room, size);
  KAON_TRY(kaon_agree(ctx, status));
  KAON_TRY(kaon_comm_sum(ctx, size, KAON_EXACT_PARTS));
  return kaon_largest_of_ranks(ctx, &size[KAON_EXACT_PARTS]);
}

/* Half holds components up to 1. */
static kaon_status check_half(const kaon_wide_links *wide, const char *what) {
  double size[KAON_SIZE_RESULTS];
  KAON_TRY(kaon_wide_size(wide, size));
  if (!(size[KAON_EXACT_PARTS] > 1 + KAON_UNITARITY_TOLERANCE)) return KAON_OK;
  return kaon_fail(wide->lattice->ctx, KAON_ERR_UNSUPPORTED,
                   "%s: links have components up to %.6g, but half precision holds them up to 1; "
                   "divide a factor out of them, or take single precision",
                   what, size[KAON_EXACT_PARTS]);
}

kaon_status kaon_wide_commit(kaon_gauge *gauge, const kaon_wide_links *wide, int check,
                             const char *what) {
  kaon_changed(gauge->revision);
  if (check || gauge->reconstruct != KAON_RECONSTRUCT_18)
    KAON_TRY(kaon_wide_check(wide, what));
  else if (gauge->precision == KAON_HALF)
    KAON_TRY(check_half(wide, what));
  if (wide->links[0] == gauge->links[0]) return KAON_OK;
  kaon_launch launch;
  KAON_TRY(kaon_launch_prepare(gauge->ctx, 1, 0, &launch));
  const kaon_recode_args args = recode_args(gauge, wide);
  gauge->ctx->backend->gauge[gauge->precision]->encode(&launch, &args);
  return KAON_OK;
}

kaon_status kaon_wide_ghosts_of(const kaon_wide_links *wide, int parity, int mu) {
  const kaon_lattice *lattice = wide->lattice;
  const kaon_stencil *st = &lattice->stencil;
  const int64_t first = kaon_link_index(0, mu, 0, 0, kaon_matrix_blocks(st), 18, st->width);
  return kaon_ghosts_fill(lattice, parity, (double *)wide->links[parity] + first);
}

kaon_status kaon_wide_ghosts(const kaon_wide_links *wide, kaon_status status) {
  if (!kaon_lattice_partitioned(wide->lattice)) return status;
  KAON_TRY(kaon_agree(wide->lattice->ctx, status));
  for (int parity = 0; parity < 2; parity++)
    for (int mu = 0; mu < 4; mu++) KAON_TRY(kaon_wide_ghosts_of(wide, parity, mu));
  return KAON_OK;
}

void kaon_wide_close(kaon_wide_links *wide) {
  if (wide->copy) kaon_pool_release(wide->lattice->ctx, wide->links[0]);
  *wide = (kaon_wide_links){0};
}

static kaon_status inspect(const kaon_wide_links *wide, const kaon_site_table *table,
                           const kaon_results *room, double result[KAON_INSPECT_RESULTS]) {
  const kaon_gauge_ops *ops = NULL;
  kaon_launch launch;
  KAON_TRY(kaon_gauge_kernels(wide->lattice->ctx, &ops));
  KAON_TRY(kaon_launch_prepare(wide->lattice->ctx, 1, 0, &launch));
  for (int parity = 0; parity < 2; parity++) {
    double found[KAON_INSPECT_RESULTS];
    const kaon_links_args args = kaon_links_on(wide, parity, table, room->device);
    ops->inspect(&launch, &args);
    KAON_TRY(kaon_results_read(room, KAON_INSPECT_RESULTS, found));
    if (parity == 0 || found[0] > result[0]) result[0] = found[0];
    if (parity == 0 || found[1] > result[1] || (found[1] == result[1] && found[2] < result[2])) {
      result[1] = found[1];
      result[2] = found[2];
    }
  }
  return KAON_OK;
}

/* Finds the worst result of all ranks. */
static kaon_status worst_of_ranks(kaon_context *ctx, double result[KAON_INSPECT_RESULTS]) {
  kaon_comm *comm = ctx->comm;
  if (comm->ranks == 1) return KAON_OK;
  KAON_AUTOFREE double *all = malloc((size_t)comm->ranks * KAON_INSPECT_RESULTS * sizeof *all);
  KAON_TRY(KAON_AGREE_MEMORY(ctx, all != NULL, "gauge: out of host memory"));
  KAON_TRY(comm->ops->gather(comm, result, KAON_INSPECT_RESULTS, all));
  for (int r = 0; r < comm->ranks; r++) {
    const double *found = all + r * KAON_INSPECT_RESULTS;
    if (r == 0 || found[0] > result[0]) result[0] = found[0];
    if (r == 0 || found[1] > result[1] || (found[1] == result[1] && found[2] < result[2])) {
      result[1] = found[1];
      result[2] = found[2];
    }
  }
  return KAON_OK;
}

kaon_status kaon_wide_inspect(const kaon_wide_links *wide, double result[KAON_INSPECT_RESULTS]) {
  kaon_site_table table = {0};
  kaon_results room = {0};
  kaon_status status = kaon_site_table_create(wide->lattice, &table);
  if (status == KAON_OK) status = kaon_results_create(wide->lattice->ctx, &room);
  if (status == KAON_OK) status = inspect(wide, &table, &room, result);
  kaon_results_release(&room);
  kaon_site_table_release(&table);
  KAON_TRY(kaon_agree(wide->lattice->ctx, status));
  return worst_of_ranks(wide->lattice->ctx, result);
}

kaon_status kaon_wide_check(const kaon_wide_links *wide, const char *what) {
  double result[KAON_INSPECT_RESULTS];
  KAON_TRY(kaon_wide_inspect(wide, result));
  if (result[1] <= KAON_UNITARITY_TOLERANCE) return KAON_OK;
  const int64_t link = (int64_t)result[2];
  int x[4];
  kaon_site_coordinates(wide->lattice->global, link / 4, x);
  const int mu = (int)(link % 4);
  if (isinf(result[1]))
    return kaon_fail(wide->lattice->ctx, KAON_ERR_NOT_FINITE,
                     "%s: the link at site (%d, %d, %d, %d), mu = %d, holds NaN, infinity or "
                     "absurdly large numbers",
                     what, x[0], x[1], x[2], x[3], mu);
  return kaon_fail(
      wide->lattice->ctx, KAON_ERR_UNITARITY,
      "%s: the link at site (%d, %d, %d, %d), mu = %d, is off SU(3) by %.3g, more "
      "than the allowed %.3g (kaon_gauge_import_factors divides out boundary signs and "
      "anisotropy; kaon_gauge_import_matrices takes any matrices, in 18 reals)",
      what, x[0], x[1], x[2], x[3], mu, result[1], KAON_UNITARITY_TOLERANCE);
}

kaon_status kaon_wide_plaquette(const kaon_wide_links *wide, double mean[KAON_PLAQUETTE_MEANS]) {
  static const double terms[KAON_PLAQUETTE_MEANS] = {3, 3, 4}; /* terms of each site */
  kaon_context *ctx = wide->lattice->ctx;
  const kaon_gauge_ops *ops = NULL;
  kaon_launch launch;
  kaon_results room = {0};
  double sum[KAON_PLAQUETTE_RESULTS] = {0};
  KAON_TRY(kaon_gauge_kernels(ctx, &ops));
  kaon_status status = kaon_launch_prepare(ctx, 1, 0, &launch);
  if (status == KAON_OK) status = kaon_results_create(ctx, &room);
  status = kaon_wide_ghosts(wide, status);
  for (int parity = 0; parity < 2 && status == KAON_OK; parity++) {
    double found[KAON_PLAQUETTE_RESULTS];
    kaon_links_args args = kaon_links_on(wide, parity, NULL, room.device);
    args.scale = kaon_exact_scale_of(wide->lattice->global_volume);
    ops->plaquette(&launch, &args);
    status = kaon_results_read(&room, KAON_PLAQUETTE_RESULTS, found);
    for (int i = 0; i < KAON_PLAQUETTE_RESULTS && status == KAON_OK; i++) sum[i] += found[i];
  }
  kaon_results_release(&room);
  status = kaon_agree(ctx, status);
  if (status == KAON_OK) status = kaon_comm_sum(ctx, sum, KAON_PLAQUETTE_RESULTS);
  for (int i = 0; i < KAON_PLAQUETTE_MEANS; i++)
    mean[i] = (sum[i] + sum[KAON_PLAQUETTE_MEANS + i]) /
              (3.0 * terms[i] * (double)wide->lattice->global_volume);
  return status;
}

kaon_status kaon_host_open(const kaon_wide_links *wide, int load, kaon_host_links *host) {
  kaon_context *ctx = wide->lattice->ctx;
  *host = (kaon_host_links){.wide = wide, .links = {wide->links[0], wide->links[1]}};
  if (ctx->backend->host_accessible) return load ? ctx->backend->memory->synchronise(ctx) : KAON_OK;
  const size_t bytes = parity_bytes(wide->lattice);
  host->links[0] = malloc(2 * bytes);
  if (host->links[0] == NULL)
    return kaon_fail(ctx, KAON_ERR_MEMORY, "gauge: out of host memory for %zu bytes of links",
                     2 * bytes);
  host->copy = 1;
  host->links[1] = host->links[0] + bytes / sizeof(double);
  return load ? ctx->backend->memory->to_host(ctx, host->links[0], wide->links[0], 2 * bytes)
              : KAON_OK;
}

void kaon_host_clear_tail(kaon_host_links *host) {
  const kaon_stencil *st = &host->wide->lattice->stencil;
  for (int mu = 0; mu < 4; mu++) {
    const int64_t n = st->nblocks, all = kaon_matrix_blocks(st);
    const int64_t first = kaon_link_index(n - 1, mu, 0, 0, all, 18, st->width);
    const int64_t end = kaon_link_index(n, mu, 0, 0, all, 18, st->width);
    for (int parity = 0; parity < 2; parity++)
      for (int64_t i = first; i < end; i++) host->links[parity][i] = 0;
  }
}

kaon_status kaon_host_upload(kaon_host_links *host) {
  if (!host->copy) return KAON_OK;
  kaon_context *ctx = host->wide->lattice->ctx;
  return ctx->backend->memory->to_device(ctx, host->wide->links[0], host->links[0],
                                         2 * parity_bytes(host->wide->lattice));
}

void kaon_host_close(kaon_host_links *host) {
  if (host->copy) free(host->links[0]);
  *host = (kaon_host_links){0};
}

kaon_status kaon_results_create(kaon_context *ctx, kaon_results *results) {
  void *device = NULL;
  *results = (kaon_results){.ctx = ctx};
  KAON_TRY(kaon_pool_allocate(ctx, KAON_GAUGE_RESULTS * sizeof(double), "kernel results", &device));
  results->device = device;
  return KAON_OK;
}

kaon_status kaon_results_read(const kaon_results *results, int n, double *host) {
  return results->ctx->backend->memory->to_host(results->ctx, host, results->device,
                                                (size_t)n * sizeof(double));
}

void kaon_results_release(kaon_results *results) {
  if (results->ctx != NULL) kaon_pool_release(results->ctx, results->device);
  *results = (kaon_results){0};
}
