/* vector_transfer.h - one column during import or export, for the files that implement them:
 * vector_layout.c (checks), vector_import.c (memory that the host reads) and
 * vector_import_device.c. Here are the orders of the caller's array (kaon_vector_layout). */
#pragma once

#include <string.h>

#include "lib/grid/site_table.h"
#include "lib/math/basis.h"
#include "lib/vector/space.h"

/* Reals of a spinor, and the most of a site that can be imported. */
enum { KAON_RECORD_SPINOR = 24, KAON_RECORD_MOST = 128 };

typedef struct kaon_vector_transfer {
  const kaon_vector *vector;
  const kaon_space *space;
  int column;
  int pack;
  double limit;                   /* the largest value that can be stored */
  const kaon_basis_change *basis; /* NULL: components are copied unchanged */
  kaon_vector_layout layout;      /* of the caller's array */
  int inner;                      /* sites of the fifth dimension in the array */
  int slice;                      /* if `space` is flat, the one of them that is moved; else 0 */
} kaon_vector_transfer;

/* Where the caller's memory is. ANY: on the host, or on the context's device. */
typedef enum kaon_side { KAON_SIDE_HOST, KAON_SIDE_DEVICE, KAON_SIDE_ANY } kaon_side;

/* The layout of kaon_vector_import, and the bytes of an array in a layout. The length of an unknown
 * layout has no meaning. */
kaon_vector_layout kaon_layout_of(kaon_basis basis);
size_t kaon_layout_bytes(const kaon_space *space, const kaon_vector_layout *layout);
/* Checks all arguments of an import or export, which the messages call `name`. Local. */
kaon_status kaon_transfer_make(const kaon_vector *v, int column, const void *array, size_t bytes,
                               const kaon_vector_layout *layout, kaon_side side, const char *name,
                               kaon_vector_transfer *d);

/* 1: records of the array are doubles [spin][colour][2], as they are here. */
static inline int kaon_record_plain(const kaon_vector_transfer *d) {
  return d->layout.precision == KAON_DOUBLE &&
         (d->layout.components == KAON_COMPONENTS_SPIN_COLOUR ||
          d->space->ncomp != KAON_RECORD_SPINOR);
}

/* Number of the record of a site. `site`: its lexicographic index, with the fifth dimension last,
 * or its row. Of two sites 2 n and 2 n + 1 one is even (lib/grid/site_order.c). */
static inline int64_t kaon_record_of(const kaon_vector_transfer *d, int64_t site) {
  const kaon_lattice *l = d->space->lattice;
  if (d->layout.sites == KAON_SITES_LEXICOGRAPHIC) return site;
  int x[4];
  kaon_site_coordinates(l->extents, site % l->volume, x);
  const int parity = kaon_lattice_parity(l, x);
  const int64_t own = site / l->volume * l->stencil.sites[parity] + site % l->volume / 2;
  const int behind = parity == KAON_ODD && d->layout.sites == KAON_SITES_EVEN_ODD;
  return behind ? own + d->inner * l->stencil.sites[0] : own;
}

/* Place of real c = (spin * 3 + colour) * 2 + (0 or 1) in a record. */
static inline int kaon_record_place(const kaon_vector_transfer *d, int c) {
  if (d->layout.components == KAON_COMPONENTS_SPIN_COLOUR || d->space->ncomp != KAON_RECORD_SPINOR)
    return c;
  return c / 2 % 3 * 8 + c / 6 * 2 + c % 2;
}

/* Returns the components of a site: in the array if it has them so, else in `room`. */
static inline const double *kaon_record_read(const kaon_vector_transfer *d, const void *array,
                                             int64_t site, double *room) {
  const int ncomp = d->space->ncomp;
  const int64_t at = kaon_record_of(d, site) * ncomp;
  if (kaon_record_plain(d)) return (const double *)array + at;
  for (int c = 0; c < ncomp; c++) {
    const int64_t i = at + kaon_record_place(d, c);
    room[c] = d->layout.precision == KAON_DOUBLE ? ((const double *)array)[i]
                                                 : (double)((const float *)array)[i];
  }
  return room;
}

/* Writes the components of a site. */
static inline void kaon_record_write(const kaon_vector_transfer *d, const double *value,
                                     void *array, int64_t site) {
  const int ncomp = d->space->ncomp;
  const int64_t at = kaon_record_of(d, site) * ncomp;
  if (kaon_record_plain(d)) {
    memcpy((double *)array + at, value, (size_t)ncomp * sizeof *value);
    return;
  }
  for (int c = 0; c < ncomp; c++) {
    const int64_t i = at + kaon_record_place(d, c);
    if (d->layout.precision == KAON_DOUBLE)
      ((double *)array)[i] = value[c];
    else
      ((float *)array)[i] = (float)value[c];
  }
}

/* Fails with ARGUMENT if memory is not on the side that a function works on. The message begins
 * with `what`. */
kaon_status kaon_check_memory_side(kaon_context *ctx, kaon_side side, const void *memory,
                                   const char *what);

/* HOST for memory that the host reaches, else DEVICE. */
kaon_side kaon_memory_side(kaon_context *ctx, const void *memory);
/* A copy in host memory of an array in device memory; *room: NULL for other arrays. The caller
 * frees it. */
kaon_status kaon_stage_on_host(kaon_context *ctx, const void *array, size_t bytes, void **room);

/* Bytes imported or exported at a time: enough for the full bus bandwidth, and small beside all
 * other memory. */
enum { KAON_TRANSFER_BYTES = 64 << 20 };

/* As kaon_vector_import and _export, but for the rows that this rank works on. They differ only if
 * a matrix has redistributed its rows (kaon_rows.enter). */
kaon_status kaon_vector_import_here(kaon_vector *vector, int column, const double *psi,
                                    kaon_basis basis);
kaon_status kaon_vector_export_here(const kaon_vector *vector, int column, double *psi,
                                    kaon_basis basis);

/* Copy the column from and to an array in host memory, for backends whose memory the host cannot
 * reach. The array has been checked. */
kaon_status kaon_import_from_host(const kaon_vector_transfer *import_ops, const void *array);
kaon_status kaon_export_to_host(const kaon_vector_transfer *import_ops, void *array);
/* The same for device memory, in the layout of kaon_vector_import. find_unstorable returns the lowest site with a value that cannot be
 * stored, or -1. */
kaon_status kaon_import_from_device(const kaon_vector_transfer *import_ops, const double *psi);
kaon_status kaon_export_to_device(const kaon_vector_transfer *import_ops, double *psi);
kaon_status kaon_import_find_unstorable(const kaon_vector_transfer *import_ops, const double *psi,
                                        int64_t *site);
