/* vector_door.c - vectors from and to host arrays: site order, spin basis and precision change here
 * and nowhere else. The loop runs over the vector's blocks and lanes, so threads write apart and
 * masked lanes become zero. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/math/basis.h"
#include "lib/math/half.h"
#include "lib/space.h"

enum { SPINOR = 24, COMPONENTS = 128 };

/* One column of a vector where the host can reach it. */
typedef struct door {
  const kaon_vector *vector;
  const kaon_space *space;
  int column;
  int pack;
  void *data;
  float *scale;
  const kaon_basis_change *basis; /* NULL: components go through unchanged */
} door;

static size_t scale_count(const kaon_vector *v) {
  return (size_t)v->space->nblocks * (size_t)v->space->width * (size_t)v->nrhs;
}

static size_t data_bytes(const kaon_vector *v) {
  return scale_count(v) * (size_t)v->space->ncomp * kaon_precision_bytes(v->precision);
}

/* A device's vector is copied to the host whole and, after an import, back. */
static kaon_status door_open(door *d) {
  const kaon_vector *v = d->vector;
  const kaon_memory_ops *memory = v->ctx->backend->memory;
  d->data = v->data;
  d->scale = v->scale;
  if (v->ctx->backend->host_accessible) return memory->synchronise(v->ctx);
  d->data = malloc(data_bytes(v));
  d->scale = v->scale ? malloc(scale_count(v) * sizeof(float)) : NULL;
  if (d->data == NULL || (v->scale && d->scale == NULL))
    return kaon_fail(v->ctx, KAON_ERR_MEMORY, "vector: no host memory for a copy of %zu bytes",
                     data_bytes(v));
  KAON_TRY(memory->to_host(v->ctx, d->data, v->data, data_bytes(v)));
  if (v->scale)
    KAON_TRY(memory->to_host(v->ctx, d->scale, v->scale, scale_count(v) * sizeof(float)));
  return memory->synchronise(v->ctx);
}

static kaon_status door_return(const door *d) {
  const kaon_vector *v = d->vector;
  const kaon_memory_ops *memory = v->ctx->backend->memory;
  if (v->ctx->backend->host_accessible) return KAON_OK;
  KAON_TRY(memory->to_device(v->ctx, v->data, d->data, data_bytes(v)));
  if (v->scale)
    KAON_TRY(memory->to_device(v->ctx, v->scale, d->scale, scale_count(v) * sizeof(float)));
  return memory->synchronise(v->ctx);
}

static void door_close(door *d) {
  if (d->vector->ctx->backend->host_accessible) return;
  free(d->data);
  free(d->scale);
}

static kaon_status door_make(const kaon_vector *v, int column, const void *psi, kaon_basis basis,
                             const char *name, door *d) {
  if (v == NULL || psi == NULL)
    return kaon_fail(v ? v->ctx : NULL, KAON_ERR_ARGUMENT, "vector %s: an argument is NULL", name);
  const kaon_basis_change *change = kaon_basis_find(basis);
  if (column < 0 || column >= v->nrhs)
    return kaon_fail(v->ctx, KAON_ERR_SHAPE,
                     "vector %s: column %d asked for, but the vector has columns 0 to %d", name,
                     column, v->nrhs - 1);
  if (change == NULL)
    return kaon_fail(v->ctx, KAON_ERR_ARGUMENT,
                     "vector %s: basis %d is not known; 0 is UKQCD, 1 DeGrand-Rossi, 2 DDalphaAMG",
                     name, (int)basis);
  const int spinor = v->space->lattice != NULL && v->space->ncomp == SPINOR;
  if (basis != KAON_BASIS_UKQCD && !spinor)
    return kaon_fail(v->ctx, KAON_ERR_ARGUMENT,
                     "vector %s: basis %s is for spinors, but this space has %d reals a site; pass "
                     "KAON_BASIS_UKQCD",
                     name, change->name, v->space->ncomp);
  if (v->space->ncomp > COMPONENTS)
    return kaon_fail(v->ctx, KAON_ERR_UNSUPPORTED,
                     "vector %s: spaces of more than %d reals a site are not offered (here %d)",
                     name, COMPONENTS, v->space->ncomp);
  *d = (door){.vector = v, .space = v->space, .column = column};
  d->pack = kaon_pack_of(v->ctx, v->space->ncomp, v->precision);
  d->basis = basis == KAON_BASIS_UKQCD ? NULL : change;
  return KAON_OK;
}

/* The host's number of a site: lexicographic, or the row; -1 for a masked lane. */
static int64_t host_site(const kaon_space *space, int64_t block, int lane) {
  const kaon_lattice *lattice = space->lattice;
  if (lattice == NULL) {
    const int64_t row = block * space->width + lane;
    return row < space->nsites ? row : -1;
  }
  int parity = (int)space->parity, x[4];
  if (space->parity == KAON_FULL) {
    parity = block >= lattice->stencil.nblocks;
    block -= parity * lattice->stencil.nblocks;
  }
  if (!kaon_lattice_site(lattice, parity, block, lane, x)) return -1;
  const int *n = lattice->extents;
  return x[0] + n[0] * (x[1] + n[1] * (x[2] + (int64_t)n[2] * x[3]));
}

static int64_t site_index(const door *d, int64_t block, int lane) {
  return kaon_packed_index(block, d->column, 0, lane, d->vector->nrhs, d->space->ncomp,
                           d->space->width, d->pack);
}

static float *site_scale(const door *d, int64_t block, int lane) {
  return &d->scale[(block * d->vector->nrhs + d->column) * d->space->width + lane];
}

static void site_store(const door *d, int64_t block, int lane, const double *value) {
  const int width = d->space->width, ncomp = d->space->ncomp, pack = d->pack;
  const int64_t at = site_index(d, block, lane);
  if (d->vector->precision == KAON_DOUBLE) {
    double *p = (double *)d->data + at;
    for (int c = 0; c < ncomp; c++) p[kaon_component_offset(c, width, pack)] = value[c];
  } else if (d->vector->precision == KAON_SINGLE) {
    float *p = (float *)d->data + at;
    for (int c = 0; c < ncomp; c++) p[kaon_component_offset(c, width, pack)] = (float)value[c];
  } else {
    int16_t *p = (int16_t *)d->data + at;
    float scale = 0;
    for (int c = 0; c < ncomp; c++) scale = fmaxf(scale, fabsf((float)value[c]));
    const float factor = kaon_half_factor(scale);
    for (int c = 0; c < ncomp; c++)
      p[kaon_component_offset(c, width, pack)] = (int16_t)lrintf((float)value[c] * factor);
    *site_scale(d, block, lane) = scale;
  }
}

static void site_load(const door *d, int64_t block, int lane, double *value) {
  const int width = d->space->width, ncomp = d->space->ncomp, pack = d->pack;
  const int64_t at = site_index(d, block, lane);
  if (d->vector->precision == KAON_DOUBLE) {
    const double *p = (const double *)d->data + at;
    for (int c = 0; c < ncomp; c++) value[c] = p[kaon_component_offset(c, width, pack)];
  } else if (d->vector->precision == KAON_SINGLE) {
    const float *p = (const float *)d->data + at;
    for (int c = 0; c < ncomp; c++) value[c] = (double)p[kaon_component_offset(c, width, pack)];
  } else {
    const int16_t *p = (const int16_t *)d->data + at;
    const float unit = kaon_half_unit(*site_scale(d, block, lane));
    for (int c = 0; c < ncomp; c++)
      value[c] = (double)((float)p[kaon_component_offset(c, width, pack)] * unit);
  }
}

/* Half of the largest number: a change of basis may add up components (by at most sqrt 2). */
static double largest(kaon_precision precision) {
  return (precision == KAON_DOUBLE ? DBL_MAX : (double)FLT_MAX) / 2;
}

static kaon_status bad_number(const door *d, int64_t site, const double *psi) {
  const int ncomp = d->space->ncomp;
  const double limit = largest(d->vector->precision);
  const double *value = psi + site * ncomp;
  char place[96];
  int c = 0;
  while (c + 1 < ncomp && fabs(value[c]) <= limit) c++;
  if (d->space->lattice == NULL) {
    snprintf(place, sizeof place, "row %lld, component %d", (long long)site, c);
  } else {
    const int *n = d->space->lattice->extents;
    const int x = (int)(site % n[0]), y = (int)(site / n[0] % n[1]);
    const int z = (int)(site / n[0] / n[1] % n[2]), t = (int)(site / n[0] / n[1] / n[2]);
    snprintf(place, sizeof place, "site (%d, %d, %d, %d), spin %d, colour %d, %s part", x, y, z, t,
             c / 6, c / 2 % 3, c % 2 ? "imaginary" : "real");
  }
  return kaon_fail(d->vector->ctx, KAON_ERR_NOT_FINITE,
                   "vector import: %g at %s is not a number of at most %g; the vector is unchanged",
                   value[c], place, limit);
}

/* The lowest site with a component that cannot be stored, or INT64_MAX. */
static int64_t find_bad(const door *d, const double *psi) {
  const int ncomp = d->space->ncomp, width = d->space->width;
  const double limit = largest(d->vector->precision);
  int64_t bad = INT64_MAX;
#pragma omp parallel for num_threads(d->vector->ctx->threads) schedule(static) reduction(min : bad)
  for (int64_t block = 0; block < d->space->nblocks; block++)
    for (int lane = 0; lane < width; lane++) {
      const int64_t site = host_site(d->space, block, lane);
      if (site < 0) continue;
      int fits = 1;
      for (int c = 0; c < ncomp; c++) fits &= fabs(psi[site * ncomp + c]) <= limit;
      if (!fits && site < bad) bad = site;
    }
  return bad;
}

static void import_sites(const door *d, const double *psi) {
  const int ncomp = d->space->ncomp, width = d->space->width;
#pragma omp parallel for num_threads(d->vector->ctx->threads) schedule(static)
  for (int64_t block = 0; block < d->space->nblocks; block++)
    for (int lane = 0; lane < width; lane++) {
      const int64_t site = host_site(d->space, block, lane);
      double inside[COMPONENTS] = {0};
      if (site >= 0 && d->basis != NULL)
        kaon_basis_enter(d->basis, psi + site * ncomp, inside);
      else if (site >= 0)
        memcpy(inside, psi + site * ncomp, (size_t)ncomp * sizeof *inside);
      site_store(d, block, lane, inside);
    }
}

static void export_sites(const door *d, double *psi) {
  const int ncomp = d->space->ncomp, width = d->space->width;
#pragma omp parallel for num_threads(d->vector->ctx->threads) schedule(static)
  for (int64_t block = 0; block < d->space->nblocks; block++)
    for (int lane = 0; lane < width; lane++) {
      const int64_t site = host_site(d->space, block, lane);
      double inside[COMPONENTS];
      if (site < 0) continue;
      site_load(d, block, lane, inside);
      if (d->basis != NULL)
        kaon_basis_leave(d->basis, inside, psi + site * ncomp);
      else
        memcpy(psi + site * ncomp, inside, (size_t)ncomp * sizeof *inside);
    }
}

kaon_status kaon_vector_import(kaon_vector *vector, int column, const double *psi,
                               kaon_basis basis) {
  door d;
  KAON_TRY(door_make(vector, column, psi, basis, "import", &d));
  const int64_t bad = find_bad(&d, psi);
  if (bad != INT64_MAX) return bad_number(&d, bad, psi);
  kaon_status status = door_open(&d);
  if (status == KAON_OK) {
    import_sites(&d, psi);
    status = door_return(&d);
  }
  door_close(&d);
  return status;
}

kaon_status kaon_vector_export(const kaon_vector *vector, int column, double *psi,
                               kaon_basis basis) {
  door d;
  KAON_TRY(door_make(vector, column, psi, basis, "export", &d));
  const kaon_status status = door_open(&d);
  if (status == KAON_OK) export_sites(&d, psi);
  door_close(&d);
  return status;
}
