/* vector_import_device.c - import and export if the host cannot reach the vector. Doubles in
 * lexicographic order move a chunk at a time. The device reorders and rounds
 * (lib/vector/import_ops.h), with the same rounding as vector_import.c. For a one-parity vector,
 * only its own sites move. The host arranges the chunk if the array has another layout. */
#include <stdlib.h>
#include <string.h>

#include "lib/vector/import_ops.h"
#include "lib/grid/site_table.h"
#include "lib/vector/vector_transfer.h"

static kaon_status begin(const kaon_vector_transfer *d, kaon_launch *launch,
                         const kaon_import_ops **ops) {
  kaon_context *ctx = d->vector->ctx;
  *ops = ctx->backend->import_ops;
  if (*ops == NULL)
    return kaon_fail(ctx, KAON_ERR_NOT_BUILT, "vector: backend %s has no import and export",
                     ctx->backend->name);
  return kaon_launch_prepare(ctx, d->vector->nrhs, 0, launch);
}

/* Number in the array of the first site of the transfer's slice. */
static int64_t slice_begin(const kaon_vector_transfer *d) {
  return d->slice > 0 ? d->slice * d->space->lattice->volume : 0;
}

/* Arguments for the whole column and an array of the whole lattice in device memory. */
static kaon_import_args args_of(const kaon_vector_transfer *d, void *psi) {
  const kaon_space *s = d->space;
  const kaon_stencil *st = s->lattice != NULL ? &s->lattice->stencil : NULL;
  return (kaon_import_args){
      .stencil = st,
      .parity = (int)s->parity,
      .nblocks = st != NULL ? st->nblocks : s->nblocks,
      .sites = {st != NULL ? st->sites[0] : s->nsites, st != NULL ? st->sites[1] : s->nsites},
      .count = st != NULL ? st->nsites : s->nsites,
      .numbers = st != NULL ? s->lattice->volume : s->nsites,
      .ncomp = s->ncomp,
      .nrhs = d->vector->nrhs,
      .column = d->column,
      .precision = (int)d->vector->precision,
      .vector = kaon_view_of(d->vector),
      .psi = psi != NULL ? (double *)psi + slice_begin(d) * s->ncomp : NULL,
      .basis = d->basis,
      .order = s->rows.there,
      .limit = d->limit};
}

static kaon_status import_from_device(const kaon_vector_transfer *d, void *psi) {
  const kaon_import_ops *ops;
  kaon_launch launch;
  KAON_TRY(begin(d, &launch, &ops));
  const kaon_import_args args = args_of(d, psi);
  ops->import_values(&launch, &args);
  return d->vector->ctx->backend->memory->synchronise(d->vector->ctx);
}

static kaon_status export_to_device(const kaon_vector_transfer *d, void *psi) {
  const kaon_import_ops *ops;
  kaon_launch launch;
  KAON_TRY(begin(d, &launch, &ops));
  const kaon_import_args args = args_of(d, psi);
  ops->export_values(&launch, &args);
  return d->vector->ctx->backend->memory->synchronise(d->vector->ctx);
}

static kaon_status find_unstorable(const kaon_vector_transfer *d, void *psi, int64_t *site) {
  kaon_context *ctx = d->vector->ctx;
  const kaon_import_ops *ops;
  kaon_launch launch;
  uint64_t found = 0;
  KAON_TRY(begin(d, &launch, &ops));
  kaon_import_args args = args_of(d, psi);
  args.found = (uint64_t *)launch.partials; /* no sum is using this buffer */
  KAON_TRY(ctx->backend->memory->clear(ctx, args.found, sizeof found));
  ops->find(&launch, &args);
  KAON_TRY(ctx->backend->memory->to_host(ctx, &found, args.found, sizeof found));
  *site = found == 0 ? -1 : (int64_t)~found;
  return KAON_OK;
}

/* Host and device buffers for the chunks of one column. */
typedef struct transfer_buffers {
  kaon_import_args args;
  int64_t sites, piece; /* of a parity: all, and those of a chunk */
  int64_t numbers;      /* all records of psi */
  size_t site_bytes;    /* of one record */
  int records;          /* records of psi for each site: 2 if it has both parities */
  double *host;         /* the arranged records of a chunk; NULL: as the array has them */
} transfer_buffers;

static kaon_status transfer_buffers_open(const kaon_vector_transfer *d, transfer_buffers *p) {
  kaon_context *ctx = d->vector->ctx;
  const size_t site = (size_t)d->space->ncomp * sizeof(double);
  void *room = NULL;
  *p = (transfer_buffers){.args = args_of(d, NULL)};
  const int one_parity = p->args.stencil != NULL && d->space->parity != KAON_FULL;
  p->sites = p->numbers = one_parity ? d->space->nsites : p->args.count;
  p->args.alone = one_parity;
  p->site_bytes = site;
  p->records = p->args.stencil != NULL && !one_parity ? 2 : 1;
  if (p->records == 2) p->numbers = p->args.numbers;
  const int64_t width = d->space->width, whole = (p->sites + width - 1) / width * width;
  p->piece = (int64_t)(KAON_TRANSFER_BYTES / site) / p->records / width * width;
  if (p->piece > whole || p->args.order != NULL) p->piece = whole; /* rows may be anywhere in psi */
  const size_t bytes = (size_t)p->piece * (size_t)p->records * site;
  KAON_TRY(kaon_pool_allocate(ctx, bytes, "room for a transfer", &room));
  p->args.psi = room;
  if (!one_parity && d->layout.sites == KAON_SITES_LEXICOGRAPHIC && kaon_record_plain(d))
    return KAON_OK;
  p->host = malloc(bytes + 1); /* a parity may have no site */
  if (p->host == NULL)
    return kaon_fail(ctx, KAON_ERR_MEMORY, "vector: out of host memory for %zu bytes", bytes);
  return KAON_OK;
}

static void transfer_buffers_close(const kaon_vector_transfer *d, transfer_buffers *p) {
  kaon_pool_release(d->vector->ctx, p->args.psi);
  free(p->host);
}

static void aim(transfer_buffers *p, int64_t first) {
  p->args.first = first;
  p->args.count = p->sites - first < p->piece ? p->sites - first : p->piece;
  const int64_t end = p->records * (first + p->args.count); /* the last site may have no partner */
  p->args.numbers = (end < p->numbers ? end : p->numbers) - p->records * first;
}

/* The chunk's records in the host's array, if it has them so. */
static double *records_at(const kaon_vector_transfer *d, const transfer_buffers *p, void *array,
                          int64_t first) {
  return (double *)array + (slice_begin(d) + p->records * first) * d->space->ncomp;
}

/* Copies the chunk's records between the host's array, in its layout, and p->host. */
static void arrange(const kaon_vector_transfer *d, const transfer_buffers *p, void *array,
                    int gather) {
  const kaon_lattice *lattice = d->space->lattice;
  const int width = d->space->width;
  const size_t ncomp = (size_t)d->space->ncomp;
#pragma omp parallel for num_threads(d->vector->ctx->threads) schedule(static)
  for (int64_t i = 0; i < p->args.numbers; i++) {
    const int64_t at = p->args.first + i;
    double *here = p->host + (size_t)i * ncomp;
    int64_t site = p->records * p->args.first + i;
    int x[4];
    if (p->args.alone) {
      if (!kaon_lattice_site(lattice, (int)d->space->parity, at / width, (int)(at % width), x))
        continue;
      site = kaon_site_index(lattice->extents, x);
    }
    site += slice_begin(d);
    if (gather) {
      const double *from = kaon_record_read(d, array, site, here);
      if (from != here) memcpy(here, from, ncomp * sizeof *here);
    } else {
      kaon_record_write(d, here, array, site);
    }
  }
}

static kaon_status import_from_host(const kaon_vector_transfer *d, void *array) {
  kaon_context *ctx = d->vector->ctx;
  const kaon_import_ops *ops;
  kaon_launch launch;
  transfer_buffers p;
  KAON_TRY(begin(d, &launch, &ops));
  kaon_status status = transfer_buffers_open(d, &p);
  for (int64_t first = 0; status == KAON_OK && first < p.sites; first += p.piece) {
    aim(&p, first);
    const double *from = p.host != NULL ? p.host : records_at(d, &p, array, first);
    if (p.host != NULL) arrange(d, &p, array, 1);
    status = ctx->backend->memory->to_device(ctx, p.args.psi, from,
                                             (size_t)p.args.numbers * p.site_bytes);
    if (status == KAON_OK) ops->import_values(&launch, &p.args);
  }
  if (status == KAON_OK) status = ctx->backend->memory->synchronise(ctx);
  transfer_buffers_close(d, &p);
  return status;
}

static kaon_status export_to_host(const kaon_vector_transfer *d, void *array) {
  kaon_context *ctx = d->vector->ctx;
  const kaon_import_ops *ops;
  kaon_launch launch;
  transfer_buffers p;
  KAON_TRY(begin(d, &launch, &ops));
  kaon_status status = transfer_buffers_open(d, &p);
  for (int64_t first = 0; status == KAON_OK && first < p.sites; first += p.piece) {
    aim(&p, first);
    double *to = p.host != NULL ? p.host : records_at(d, &p, array, first);
    ops->export_values(&launch, &p.args);
    status =
        ctx->backend->memory->to_host(ctx, to, p.args.psi, (size_t)p.args.numbers * p.site_bytes);
    if (status == KAON_OK && p.host != NULL) arrange(d, &p, array, 0);
  }
  transfer_buffers_close(d, &p);
  return status;
}

/* ---- the fifth dimension: a site of it after another ---- */

/* The transfer of site s of the fifth dimension. */
static kaon_vector_transfer slice_of(const kaon_vector_transfer *d, int s, kaon_vector *flat) {
  kaon_vector_transfer slice = *d;
  *flat = kaon_vector_flat(d->vector);
  slice.vector = flat;
  slice.space = flat->space;
  slice.column += s * d->vector->nrhs;
  slice.slice = s;
  return slice;
}

static kaon_status each_slice(const kaon_vector_transfer *d, void *array,
                              kaon_status (*move)(const kaon_vector_transfer *d, void *array)) {
  for (int s = 0; s < d->space->inner; s++) {
    kaon_vector flat;
    const kaon_vector_transfer slice = slice_of(d, s, &flat);
    KAON_TRY(move(&slice, array));
  }
  return KAON_OK;
}

kaon_status kaon_import_from_host(const kaon_vector_transfer *d, const void *array) {
  return each_slice(d, (void *)(uintptr_t)array, import_from_host); /* read only */
}

kaon_status kaon_export_to_host(const kaon_vector_transfer *d, void *array) {
  return each_slice(d, array, export_to_host);
}

kaon_status kaon_import_from_device(const kaon_vector_transfer *d, const double *psi) {
  return each_slice(d, (void *)(uintptr_t)psi, import_from_device); /* read only */
}

kaon_status kaon_export_to_device(const kaon_vector_transfer *d, double *psi) {
  return each_slice(d, psi, export_to_device);
}

kaon_status kaon_import_find_unstorable(const kaon_vector_transfer *d, const double *psi,
                                        int64_t *site) {
  *site = -1;
  for (int s = 0; s < d->space->inner && *site < 0; s++) {
    kaon_vector flat;
    const kaon_vector_transfer slice = slice_of(d, s, &flat);
    KAON_TRY(find_unstorable(&slice, (void *)(uintptr_t)psi, site)); /* read only */
    if (*site >= 0) *site += slice_begin(&slice);
  }
  return KAON_OK;
}
