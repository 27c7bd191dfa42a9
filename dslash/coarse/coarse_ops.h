/* coarse_ops.h - kernels of coarse operators: hops with a dense matrix for each site and direction,
 * and products with one dense matrix for a whole lattice, which they fill, too. One table for each
 * precision of the vectors, double and single.
 *
 * A matrix field is a vector of reals / 2 columns in the layout of all vectors (lib/vector): column
 * j at a site is column j of that site's matrix. So Galerkin products write it in place. */
#pragma once

#include "dslash/operator/site_on.h"
#include "lib/core/launch.h"
#include "lib/vector/layout.h"

enum { KAON_COARSE_REALS = 256 }; /* the most numbers of a site */

/* out = a [T] x + b [T] D in on the sites of `parity`, with D in (X) = sum over directions d of
 * hop[d](X) in(X + d). T is a matrix field; `on` says where it acts (KAON_SITE_... of
 * dslash/operator/site_on.h). A number of D in is a sum over the numbers of all neighbours. Its
 * order depends on the machine alone. */
typedef struct kaon_coarse_args {
  const kaon_stencil *stencil;
  int parity;
  int reals; /* of a site, a multiple of 4 */
  int nrhs;
  /* Matrix fields are in half precision, though vectors are not. Single precision only. */
  int half_matrices;
  kaon_view hop[KAON_DIRS]; /* on the sites of `parity`. hop[0].data NULL: b is 0 */
  kaon_view site;           /* T on the sites of `parity`; data NULL: none */
  int on;
  double a, b;
  kaon_view in; /* on the other parity */
  kaon_view x;  /* data NULL: no such term; may be out */
  kaon_view w;
  kaon_view out; /* not in. Without hops it may be x */
  kaon_gate gate;
  kaon_sum sum; /* slot 0: |out|^2, slot 1: (w, out) */
  /* Divided lattices: KAON_PART_ALL, INTERIOR or BOUNDARY, and the neighbours' numbers: ghosts of
   * `reals` reals (kaon_ghost_index), by direction of the hops that read them. */
  int part;
  kaon_view ghost[KAON_DIRS];
  const kaon_peer_exchange *peer; /* the exchange whose messages this part waits for; NULL: none */
} kaon_coarse_args;

/* Fills messages: ghosts for hops of the other ranks' sites of `parity`, from `in`. */
typedef struct kaon_coarse_gather_args {
  const kaon_stencil *stencil;
  int parity, reals, nrhs;
  kaon_view in;
  kaon_view send[KAON_DIRS];
  const kaon_peer_exchange *peer; /* not NULL: the kernel sends by itself */
  kaon_gate gate;
} kaon_coarse_gather_args;

/* inverse(X) = matrix(X)^-1 for every site of `blocks` blocks, by elimination with pivots in
 * double; 0 in masked lanes. worst: device memory, one double for each place: the estimate
 * |matrix|_1 |inverse|_1; infinity if there is no inverse, 0 in masked lanes. */
typedef struct kaon_coarse_inverse_args {
  int64_t blocks;
  int width, access, reals;
  const void *site_places; /* uint8 [place]: 1: there is a site */
  kaon_view matrix, inverse;
  double *worst;
} kaon_coarse_inverse_args;

/* collect: to[row * nrhs + k] = number `row` of column k of `in`, for the rows of this rank; rows
 * are complex numbers: number c of the site at a place has row order[place] * reals / 2 + c.
 * order[place] = -1: no site. Columns that the gate closes get 0. With a list the numbers of a place
 * are there, place after place, as collected ones are, instead of in `in`.
 * spread: the reverse, into the open columns of `out`. Places without a site keep what they have.
 * NULL on devices: it is for lattices of fewer ranks (multigrid/agglomerate.h).
 * dense: out = M to, with column `row` of M as column `row` of the vector `matrix`, `rows` in all.
 * blocks: of out, both parities. */
typedef struct kaon_dense_args {
  int64_t blocks, rows;
  int width, access, reals, nrhs;
  const int32_t *order; /* [place], in device memory */
  kaon_view in, out;
  kaon_view matrix;
  void *collected;  /* reals of the table's precision */
  const void *list; /* likewise, not `collected`; NULL: none */
  kaon_gate gate;
} kaon_dense_args;

/* A vector of `nrhs` columns and a square matrix of complex numbers in double precision, element
 * (i, j) at 2 * (i * rows + j). Number c of the site at a place belongs to row order[place] * reals
 * / 2 + c, and column k to the matrix's column reads[place] * reals / 2 + k, or k where `reads` is
 * NULL. order[place] = -1: no site.
 * add_to_matrix: adds the vector to the elements.
 * take_from_matrix: the vector becomes the elements, and 0 in masked lanes.
 * column_norms: norms[j] = sum of the magnitudes in column j; of the members above it needs
 * `rows` and `matrix`. */
typedef struct kaon_square_args {
  int64_t blocks, rows; /* blocks: of the vector, both parities */
  int width, access, reals, nrhs;
  const int32_t *order, *reads; /* [place], in device memory */
  kaon_view vector;
  double *matrix, *norms; /* device memory */
} kaon_square_args;

typedef struct kaon_coarse_ops {
  void (*hop)(const kaon_launch *launch, const kaon_coarse_args *args);
  void (*gather)(const kaon_launch *launch, const kaon_coarse_gather_args *args);
  void (*inverse)(const kaon_launch *launch, const kaon_coarse_inverse_args *args);
  void (*collect)(const kaon_launch *launch, const kaon_dense_args *args);
  void (*spread)(const kaon_launch *launch, const kaon_dense_args *args);
  void (*dense)(const kaon_launch *launch, const kaon_dense_args *args);
  void (*add_to_matrix)(const kaon_launch *launch, const kaon_square_args *args);
  void (*take_from_matrix)(const kaon_launch *launch, const kaon_square_args *args);
  void (*column_norms)(const kaon_launch *launch, const kaon_square_args *args);
} kaon_coarse_ops;
