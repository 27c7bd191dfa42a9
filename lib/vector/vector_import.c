/* vector_import.c - import and export: vectors from and to arrays in the caller's order. Site
 * order, spin basis and precision change only here and in vector_import_device.c. If the host
 * reaches the vector, the loop runs over its blocks and lanes. So threads write different blocks,
 * and masked lanes become zero. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/math/half.h"
#include "lib/vector/vector_transfer.h"
#include "lib/core/entry.h"

/* KAON_AT_HOST and KAON_AT_DEVICE; 0: another device. */
static int places_of(kaon_context *ctx, const void *memory) {
  const kaon_memory_ops *ops = ctx->backend->memory;
  return ops->place != NULL ? ops->place(ctx, memory) : KAON_AT_HOST | KAON_AT_DEVICE;
}

kaon_side kaon_memory_side(kaon_context *ctx, const void *memory) {
  return places_of(ctx, memory) & KAON_AT_HOST ? KAON_SIDE_HOST : KAON_SIDE_DEVICE;
}

kaon_status kaon_check_memory_side(kaon_context *ctx, kaon_side side, const void *memory,
                                   const char *what) {
  const int places = places_of(ctx, memory);
  if (side == KAON_SIDE_ANY && places == 0)
    return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                     "%s: the array is in the memory of another device than this context's (%s); "
                     "pass memory of that device or of the host",
                     what, ctx->device);
  if (side == KAON_SIDE_HOST && !(places & KAON_AT_HOST))
    return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                     "%s: the array is in a device's memory; call the function that ends in "
                     "_device, or pass host memory",
                     what);
  if (side == KAON_SIDE_DEVICE && !(places & KAON_AT_DEVICE))
    return kaon_fail(ctx, KAON_ERR_ARGUMENT,
                     "%s: the array is not in the memory of this context's device (%s); for host "
                     "memory call the function without _device",
                     what, ctx->device);
  return KAON_OK;
}

kaon_status kaon_stage_on_host(kaon_context *ctx, const void *array, size_t bytes, void **room) {
  *room = NULL;
  if (bytes == 0 || kaon_memory_side(ctx, array) == KAON_SIDE_HOST) return KAON_OK;
  *room = malloc(bytes);
  if (*room == NULL)
    return kaon_fail(ctx, KAON_ERR_MEMORY, "out of host memory for %zu bytes of a device's array",
                     bytes);
  return ctx->backend->memory->to_host(ctx, *room, array, bytes);
}

static int64_t site_index(const kaon_vector_transfer *d, int64_t block, int lane) {
  return kaon_packed_index(block, d->column, 0, lane, d->vector->nrhs, d->space->ncomp,
                           d->space->width, d->pack);
}

static float *site_scale(const kaon_vector_transfer *d, int64_t block, int lane) {
  return &d->vector->scale[(block * d->vector->nrhs + d->column) * d->space->width + lane];
}

static void site_store(const kaon_vector_transfer *d, int64_t block, int lane,
                       const double *value) {
  const int width = d->space->width, ncomp = d->space->ncomp, pack = d->pack;
  const int64_t at = site_index(d, block, lane);
  if (d->vector->precision == KAON_DOUBLE) {
    double *p = (double *)d->vector->data + at;
    for (int c = 0; c < ncomp; c++) p[kaon_component_offset(c, width, pack)] = value[c];
  } else if (d->vector->precision == KAON_SINGLE) {
    float *p = (float *)d->vector->data + at;
    for (int c = 0; c < ncomp; c++) p[kaon_component_offset(c, width, pack)] = (float)value[c];
  } else {
    int16_t *p = (int16_t *)d->vector->data + at;
    float scale = 0;
    for (int c = 0; c < ncomp; c++) scale = fmaxf(scale, fabsf((float)value[c]));
    const float factor = kaon_half_factor(scale);
    for (int c = 0; c < ncomp; c++)
      p[kaon_component_offset(c, width, pack)] = (int16_t)lrintf((float)value[c] * factor);
    *site_scale(d, block, lane) = scale;
  }
}

static void site_load(const kaon_vector_transfer *d, int64_t block, int lane, double *value) {
  const int width = d->space->width, ncomp = d->space->ncomp, pack = d->pack;
  const int64_t at = site_index(d, block, lane);
  if (d->vector->precision == KAON_DOUBLE) {
    const double *p = (const double *)d->vector->data + at;
    for (int c = 0; c < ncomp; c++) value[c] = p[kaon_component_offset(c, width, pack)];
  } else if (d->vector->precision == KAON_SINGLE) {
    const float *p = (const float *)d->vector->data + at;
    for (int c = 0; c < ncomp; c++) value[c] = (double)p[kaon_component_offset(c, width, pack)];
  } else {
    const int16_t *p = (const int16_t *)d->vector->data + at;
    const float unit = kaon_half_unit(*site_scale(d, block, lane));
    for (int c = 0; c < ncomp; c++)
      value[c] = (double)((float)p[kaon_component_offset(c, width, pack)] * unit);
  }
}

/* `value`: the site's components. */
static kaon_status bad_number(const kaon_vector_transfer *d, int64_t site, const double *value) {
  const int ncomp = d->space->ncomp;
  char place[128], fifth[24] = "";
  int c = 0;
  while (c + 1 < ncomp && fabs(value[c]) <= d->limit) c++;
  if (d->space->lattice == NULL) {
    snprintf(place, sizeof place, "row %lld (counted from 1), component %d", (long long)site + 1,
             c);
  } else {
    const int *n = d->space->lattice->extents;
    const int x = (int)(site % n[0]), y = (int)(site / n[0] % n[1]);
    const int z = (int)(site / n[0] / n[1] % n[2]), t = (int)(site / n[0] / n[1] / n[2] % n[3]);
    if (d->space->inner > 1)
      snprintf(fifth, sizeof fifth, " of s = %d", (int)(site / d->space->lattice->volume));
    snprintf(place, sizeof place, "site (%d, %d, %d, %d)%s, spin %d, colour %d, %s part", x, y, z,
             t, fifth, c / 6, c / 2 % 3, c % 2 ? "imaginary" : "real");
  }
  return kaon_fail(d->vector->ctx, KAON_ERR_NOT_FINITE,
                   "vector import: %g at %s is not a number of at most %g; the vector is unchanged",
                   value[c], place, d->limit);
}

/* Returns the lowest site with a component that cannot be stored, or INT64_MAX. Walks rows of x, in
 * which every second site may have another parity. A matrix row counts as a row of one site. */
static int64_t find_bad(const kaon_vector_transfer *d, const void *array, int64_t matrix_rows) {
  const kaon_space *space = d->space;
  const int *n = space->lattice != NULL ? space->lattice->extents : (const int[4]){1, 1, 1, 1};
  const int ncomp = space->ncomp, one_parity = space->lattice != NULL && space->parity != KAON_FULL;
  const int64_t rows = space->lattice != NULL ? kaon_space_caller_rows(space) / n[0] : matrix_rows;
  int64_t bad = INT64_MAX;
#pragma omp parallel for num_threads(d->vector->ctx->threads) schedule(static) reduction(min : bad)
  for (int64_t row = 0; row < rows; row++) {
    const int64_t plane = row / n[1];
    const int row_of[4] = {0, (int)(row % n[1]), (int)(plane % n[2]), (int)(plane / n[2] % n[3])};
    const int odd =
        one_parity ? kaon_lattice_parity(space->lattice, row_of) ^ (int)space->parity : 0;
    for (int x = odd; x < n[0]; x += 1 + one_parity) {
      double room[KAON_RECORD_MOST];
      const double *value = kaon_record_read(d, array, row * n[0] + x, room);
      int fits = 1;
      for (int c = 0; c < ncomp; c++) fits &= islessequal(fabs(value[c]), d->limit);
      if (!fits && row * n[0] + x < bad) bad = row * n[0] + x;
    }
  }
  return bad;
}

/* Fails if the array has a number that cannot be stored. */
static kaon_status check_numbers(const kaon_vector_transfer *d, const void *array,
                                 int64_t matrix_rows) {
  double room[KAON_RECORD_MOST];
  const int64_t bad = find_bad(d, array, matrix_rows);
  if (bad == INT64_MAX) return KAON_OK;
  return bad_number(d, bad, kaon_record_read(d, array, bad, room));
}

static void import_sites(const kaon_vector_transfer *d, const void *array) {
  const int ncomp = d->space->ncomp, width = d->space->width;
#pragma omp parallel for num_threads(d->vector->ctx->threads) schedule(static)
  for (int64_t block = 0; block < d->space->nblocks; block++)
    for (int lane = 0; lane < width; lane++) {
      const int64_t site = kaon_space_caller_site(d->space, block, lane);
      double room[KAON_RECORD_MOST], changed[KAON_RECORD_MOST];
      const double *inside = room;
      if (site < 0)
        memset(room, 0, (size_t)ncomp * sizeof *room);
      else
        inside = kaon_record_read(d, array, site, room);
      if (site >= 0 && d->basis != NULL) {
        kaon_basis_enter(d->basis, inside, changed);
        inside = changed;
      }
      site_store(d, block, lane, inside);
    }
}

static void export_sites(const kaon_vector_transfer *d, void *array) {
  const int width = d->space->width;
#pragma omp parallel for num_threads(d->vector->ctx->threads) schedule(static)
  for (int64_t block = 0; block < d->space->nblocks; block++)
    for (int lane = 0; lane < width; lane++) {
      const int64_t site = kaon_space_caller_site(d->space, block, lane);
      double inside[KAON_RECORD_MOST], changed[KAON_RECORD_MOST];
      if (site < 0) continue;
      site_load(d, block, lane, inside);
      if (d->basis != NULL) kaon_basis_leave(d->basis, inside, changed);
      kaon_record_write(d, d->basis != NULL ? changed : inside, array, site);
    }
}

/* Imports an array if `status`, the result of its checks on this rank, is OK on all ranks. */
static kaon_status import_checked(const kaon_vector_transfer *d, const void *array,
                                  kaon_status status) {
  kaon_context *ctx = d->vector->ctx;
  if (status == KAON_OK) status = check_numbers(d, array, d->space->nsites);
  KAON_TRY(kaon_agree(ctx, status));
  if (!ctx->backend->host_accessible) return kaon_agree(ctx, kaon_import_from_host(d, array));
  KAON_TRY(ctx->backend->memory->synchronise(ctx));
  import_sites(d, array);
  return KAON_OK;
}

static kaon_status export_checked(const kaon_vector_transfer *d, void *array) {
  kaon_context *ctx = d->vector->ctx;
  if (!ctx->backend->host_accessible) return kaon_export_to_host(d, array);
  KAON_TRY(ctx->backend->memory->synchronise(ctx));
  export_sites(d, array);
  return KAON_OK;
}

/* The checks of arrays in the layout of kaon_vector_import. */
static kaon_status make_plain(const kaon_vector *v, int column, const double *psi, kaon_basis basis,
                              kaon_side side, const char *name, kaon_vector_transfer *d) {
  const kaon_vector_layout layout = kaon_layout_of(basis);
  return kaon_transfer_make(v, column, psi, kaon_layout_bytes(v->space, &layout), &layout, side,
                            name, d);
}

kaon_status kaon_vector_import_here(kaon_vector *vector, int column, const double *psi,
                                    kaon_basis basis) {
  kaon_vector_transfer d;
  kaon_status status = make_plain(vector, column, psi, basis, KAON_SIDE_HOST, "import", &d);
  return import_checked(&d, psi, status);
}

kaon_status kaon_vector_export_here(const kaon_vector *vector, int column, double *psi,
                                    kaon_basis basis) {
  kaon_vector_transfer d;
  KAON_TRY(make_plain(vector, column, psi, basis, KAON_SIDE_HOST, "export", &d));
  return export_checked(&d, psi);
}

/* ---- redistributed rows ---- */

static int moved(const kaon_vector *vector) {
  return vector->space->rows.enter != NULL;
}

static kaon_status allocate_workspace(const kaon_vector *vector, int64_t rows, double **room) {
  const size_t bytes = (size_t)rows * (size_t)vector->space->ncomp * sizeof **room;
  *room = malloc(bytes + 1);
  if (*room != NULL) return KAON_OK;
  return kaon_fail(vector->ctx, KAON_ERR_MEMORY,
                   "vector: out of host memory for %zu bytes of its rows", bytes);
}

/* Imports an array whose checks on this rank ended with `status`. */
static kaon_status import_array(const kaon_vector_transfer *d, kaon_vector *vector,
                                const void *array, kaon_status status) {
  if (!moved(vector)) return import_checked(d, array, status);
  const kaon_rows *rows = &vector->space->rows;
  KAON_AUTOFREE double *room = NULL;
  if (status == KAON_OK) status = check_numbers(d, array, rows->given);
  if (status == KAON_OK) status = allocate_workspace(vector, vector->space->nsites, &room);
  KAON_TRY(kaon_agree(vector->ctx, status));
  KAON_TRY(rows->enter(rows->owner, array, room));
  return kaon_vector_import_here(vector, d->column, room, d->layout.basis);
}

static kaon_status export_array(const kaon_vector_transfer *d, const kaon_vector *vector,
                                void *array, kaon_status status) {
  const kaon_rows *rows = &vector->space->rows;
  KAON_AUTOFREE double *room = NULL;
  if (!moved(vector)) return status == KAON_OK ? export_checked(d, array) : status;
  if (status == KAON_OK) status = allocate_workspace(vector, vector->space->nsites, &room);
  if (status == KAON_OK) status = kaon_vector_export_here(vector, d->column, room, d->layout.basis);
  KAON_TRY(kaon_agree(vector->ctx, status));
  return rows->leave(rows->owner, room, array);
}

kaon_status kaon_vector_import_ordered(kaon_vector *vector, int column, const void *array,
                                       size_t bytes, const kaon_vector_layout *layout) {
  KAON_ENTER(KAON_OF(vector), vector, layout);
  kaon_vector_transfer d;
  KAON_AUTOFREE void *room = NULL;
  kaon_status status =
      kaon_transfer_make(vector, column, array, bytes, layout, KAON_SIDE_ANY, "import", &d);
  if (status == KAON_OK) status = kaon_stage_on_host(vector->ctx, array, bytes, &room);
  return import_array(&d, vector, room != NULL ? room : array, status);
}

kaon_status kaon_vector_export_ordered(const kaon_vector *vector, int column, void *array,
                                       size_t bytes, const kaon_vector_layout *layout) {
  KAON_ENTER(KAON_OF(vector), vector, layout);
  kaon_vector_transfer d;
  KAON_AUTOFREE void *room = NULL; /* other sites of a device's array return as they were */
  kaon_status status =
      kaon_transfer_make(vector, column, array, bytes, layout, KAON_SIDE_ANY, "export", &d);
  if (status == KAON_OK) status = kaon_stage_on_host(vector->ctx, array, bytes, &room);
  KAON_TRY(kaon_agree(vector->ctx, status)); /* a length may be wrong on one rank alone */
  KAON_TRY(export_array(&d, vector, room != NULL ? room : array, status));
  return room != NULL ? vector->ctx->backend->memory->to_device(vector->ctx, array, room, bytes)
                      : KAON_OK;
}

kaon_status kaon_vector_import(kaon_vector *vector, int column, const double *psi,
                               kaon_basis basis) {
  KAON_ENTER(KAON_OF(vector), vector);
  kaon_vector_transfer d;
  const kaon_status status = make_plain(vector, column, psi, basis, KAON_SIDE_HOST, "import", &d);
  return import_array(&d, vector, psi, status);
}

/* Of a lattice: a call of this rank alone, as kaon_vector_gather needs it. */
kaon_status kaon_vector_export(const kaon_vector *vector, int column, double *psi,
                               kaon_basis basis) {
  KAON_ENTER(KAON_OF(vector), vector);
  kaon_vector_transfer d;
  const kaon_status status = make_plain(vector, column, psi, basis, KAON_SIDE_HOST, "export", &d);
  return export_array(&d, vector, psi, status);
}

/* Imports an array in device memory through host memory. */
static kaon_status import_through_host(kaon_vector *vector, int column, const double *psi,
                                       kaon_basis basis) {
  const int64_t rows = vector->space->rows.given;
  const size_t bytes = (size_t)rows * (size_t)vector->space->ncomp * sizeof *psi;
  KAON_AUTOFREE double *room = NULL;
  kaon_vector_transfer d;
  kaon_status status = make_plain(vector, column, psi, basis, KAON_SIDE_DEVICE, "import", &d);
  if (status == KAON_OK) status = allocate_workspace(vector, rows, &room);
  if (status == KAON_OK)
    status = vector->ctx->backend->memory->to_host(vector->ctx, room, psi, bytes);
  KAON_TRY(kaon_agree(vector->ctx, status));
  return kaon_vector_import(vector, column, room, basis);
}

static kaon_status export_through_host(const kaon_vector *vector, int column, double *psi,
                                       kaon_basis basis) {
  const int64_t rows = vector->space->rows.given;
  const size_t bytes = (size_t)rows * (size_t)vector->space->ncomp * sizeof *psi;
  KAON_AUTOFREE double *room = NULL;
  kaon_vector_transfer d;
  kaon_status status = make_plain(vector, column, psi, basis, KAON_SIDE_DEVICE, "export", &d);
  if (status == KAON_OK) status = allocate_workspace(vector, rows, &room);
  KAON_TRY(kaon_agree(vector->ctx, status));
  KAON_TRY(kaon_vector_export(vector, column, room, basis));
  return vector->ctx->backend->memory->to_device(vector->ctx, psi, room, bytes);
}

/* ---- arrays on the device ---- */

kaon_status kaon_vector_import_device(kaon_vector *vector, int column, const double *psi,
                                      kaon_basis basis) {
  KAON_ENTER(KAON_OF(vector), vector);
  kaon_vector_transfer d;
  int64_t bad = -1;
  double value[KAON_RECORD_MOST];
  if (vector->ctx->backend->host_accessible) return kaon_vector_import(vector, column, psi, basis);
  if (moved(vector)) return import_through_host(vector, column, psi, basis);
  kaon_status status = make_plain(vector, column, psi, basis, KAON_SIDE_DEVICE, "import", &d);
  if (status == KAON_OK) status = kaon_import_find_unstorable(&d, psi, &bad);
  if (status == KAON_OK && bad >= 0) {
    const size_t bytes = (size_t)d.space->ncomp * sizeof *value;
    status = vector->ctx->backend->memory->to_host(vector->ctx, value, psi + bad * d.space->ncomp,
                                                   bytes);
    if (status == KAON_OK) status = bad_number(&d, bad, value);
  }
  KAON_TRY(kaon_agree(vector->ctx, status));
  return kaon_agree(vector->ctx, kaon_import_from_device(&d, psi));
}

kaon_status kaon_vector_export_device(const kaon_vector *vector, int column, double *psi,
                                      kaon_basis basis) {
  KAON_ENTER(KAON_OF(vector), vector);
  kaon_vector_transfer d;
  if (vector->ctx->backend->host_accessible) return kaon_vector_export(vector, column, psi, basis);
  if (moved(vector)) return export_through_host(vector, column, psi, basis);
  KAON_TRY(make_plain(vector, column, psi, basis, KAON_SIDE_DEVICE, "export", &d));
  return kaon_export_to_device(&d, psi);
}
