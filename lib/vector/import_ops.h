/* import_ops.h - kernels that import and export (lib/vector/vector_import_device.c) and the
 * messages of lib/grid/ghosts.c need from a backend whose memory the host cannot reach. They copy
 * between a field and an array in another order, both in device memory. Backends whose memory the
 * host reaches have no such table. */
#pragma once

#include "lib/core/launch.h"
#include "lib/vector/layout.h"
#include "lib/math/basis.h"

/* A copy of sites first .. first + count - 1 of each parity of the vector (or of rows). A parity
 * may have one site less. `first` is a multiple of the width. psi begins at the first of these
 * sites. */
typedef struct kaon_import_args {
  const kaon_stencil *stencil; /* NULL: rows of a matrix */
  int parity;                  /* kaon_parity */
  int alone;                   /* 1: psi holds only the sites of the vector's one parity */
  int64_t nblocks;             /* of one parity, or of the rows */
  int64_t sites[2];            /* of each parity; rows: both the same */
  int64_t first, count;
  int64_t numbers; /* records of psi for these sites */
  int ncomp, nrhs, column, precision;
  kaon_view vector;
  double *psi;          /* [site][ncomp] */
  const int32_t *order; /* rows: [row] its index in psi, which then holds all rows; NULL: the same
                           order */
  const kaon_basis_change *basis; /* NULL: components are copied unchanged */
  double limit;                   /* find: the largest value that can be stored */
  uint64_t *found; /* find: raised to ~(index in psi) of a site with a value beyond the limit, or
                      NaN; the caller sets it to 0 */
} kaon_import_args;

/* Copies 3x3 matrices of doubles on some sites of a field of one parity, [block][18][W], to or from
 * memory [site][18]. */
typedef struct kaon_matrix_copy_args {
  const int32_t *sites; /* block * W + lane; -1: no site, whose entry in memory is left alone */
  int64_t count;
  double *field, *memory;
  int import_values; /* 1: memory to field */
} kaon_matrix_copy_args;

typedef struct kaon_import_ops {
  /* Copies psi to the column. */
  void (*import_values)(const kaon_launch *launch, const kaon_import_args *args);
  /* Copies the column to psi. */
  void (*export_values)(const kaon_launch *launch, const kaon_import_args *args);
  void (*find)(const kaon_launch *launch, const kaon_import_args *args);
  void (*copy_matrices)(const kaon_launch *launch, const kaon_matrix_copy_args *args);
} kaon_import_ops;
