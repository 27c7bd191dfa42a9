/* import_ops.h - what the doors (import, export) and the messages of lib/grid/ghosts.c need of a backend
 * whose memory the host cannot reach: kernels between a field and an array in another order, both
 * in device memory. A backend whose memory the host reads has no table: lib/vector/vector_import.c and
 * lib/grid/ghosts.c walk it. */
#ifndef KAON_LIB_IMPORT_OPS_H
#define KAON_LIB_IMPORT_OPS_H

#include "lib/core/launch.h"
#include "lib/vector/layout.h"
#include "lib/math/basis.h"

/* Sites first .. first + count - 1 of each parity of the vector (or rows), of which a parity may
 * have one less; `first` is a multiple of the width. psi begins at the first of them. */
typedef struct kaon_import_args {
  const kaon_stencil *stencil; /* NULL: rows of a matrix */
  int parity;                  /* kaon_parity */
  int alone;                   /* psi holds the sites of the vector's one parity and no others */
  int64_t nblocks;             /* of one parity, or of the rows */
  int64_t sites[2];            /* of each parity; rows: both the same */
  int64_t first, count;
  int64_t numbers; /* records that psi has for these */
  int ncomp, nrhs, column, precision;
  kaon_view vector;
  double *psi;          /* [site][ncomp] */
  const int32_t *order; /* rows: [row] its number in psi, which then holds all; NULL: the same */
  const kaon_basis_change *basis; /* NULL: components go through unchanged */
  double limit;                   /* find: the largest number that can be stored */
  uint64_t *found; /* find: raised to ~(a site's number in psi) where one has a number beyond the
                      limit, or NaN; the caller begins with 0 */
} kaon_import_args;

/* 3x3 matrices of doubles on some sites of a field of one parity, [block][18][W], to memory [site]
 * [18] and back. */
typedef struct kaon_matrix_copy_args {
  const int32_t *sites; /* block * W + lane; -1: none, whose place in memory stays as it is */
  int64_t count;
  double *field, *memory;
  int import_values; /* 1: memory to field */
} kaon_matrix_copy_args;

typedef struct kaon_import_ops {
  void (*import_values)(const kaon_launch *launch, const kaon_import_args *args); /* psi to the column */
  void (*export_values)(const kaon_launch *launch, const kaon_import_args *args); /* the column to psi */
  void (*find)(const kaon_launch *launch, const kaon_import_args *args);
  void (*copy_matrices)(const kaon_launch *launch, const kaon_matrix_copy_args *args);
} kaon_import_ops;

#endif
