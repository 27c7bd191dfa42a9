/* sparse_ops.h - kernel table of sparse matrices: one per backend and precision of vectors (double
 * and single).
 *
 * Row i of a rank is lane i % W of block i / W of its vectors, W = the backend's width; a real
 * matrix has one component a row, a complex one two. Rows stand in the space's own order
 * (sparse/matrix.h), whose rows without ghosts come first. */
#ifndef KAON_SPARSE_OPS_H
#define KAON_SPARSE_OPS_H

#include "lib/launch.h"

/* How a matrix is stored for products.
 *   CSR   start[row], entries of a row side by side
 *   SELL  SELL-C-sigma with C = W: blocks of W rows, padded to the longest; the j-th entries of a
 *         block's rows are side by side; sigma is the space's order. start[block] in units of W
 *         entries. Padding has value 0 and the column of the row's last entry (its own row, where
 *         it has none).
 *   ELL   SELL whose blocks are all `length` long; start is NULL */
enum { KAON_STORED_CSR, KAON_STORED_SELL, KAON_STORED_ELL };

/* Rows [first, last) of blocks; a chunk of a sum never depends on how rows are shared out. */
typedef struct kaon_stored_matrix {
  int form;
  int reals; /* of a value: 1 or 2. SELL, ELL: packed as a vector's components are
                (kaon_packed_index with the entry number in the place of the block) */
  int half;  /* values are int16, value = integer * scale[row] / 32767 (tables of single) */
  int wide;  /* start holds int64_t, else int32_t */
  int64_t rows, blocks;
  int64_t interior; /* blocks from 0 whose rows meet no ghost; the others come behind */
  int64_t entries;  /* stored, without padding */
  int length;       /* ELL */
  int lanes;        /* CSR on a GPU: threads that share a row, 1 to 32, a power of two; 0: rows
                       shared out by entries (skewed matrices) */
  const void *start;
  const int32_t *column; /* below `rows`: of this rank; rows + n: ghost n */
  /* SELL and ELL on a CPU, by entry number (of W lanes): the column of lane 0 where the W columns
   * are this rank's and follow one another, else -1. Those come first in a block, so that a kernel
   * reads neither `column` there nor gathers; the entries of a row are in no order. NULL: unknown
   */
  const int32_t *run;
  const void *value;
  const float *scale; /* half: one a row, of whole blocks */
} kaon_stored_matrix;

/* y = A x on the rows of the part (KAON_ROWS_...), or y = b + a A x where b.data is set (b may be
 * y). Sums over what is stored: slot[0] <- sum |y|^2, slot[1] <- sum conj(w) y, slot[2] <-
 * sum |w|^2; those of BOUNDARY are over both parts, a pass is INTERIOR, then BOUNDARY, with nothing
 * else in between. x must not alias y. ghosts: [column][ghost][component], columns as in a vector:
 * ghost n is lane n % W of block n / W. */
enum { KAON_ROWS_ALL, KAON_ROWS_INTERIOR, KAON_ROWS_BOUNDARY };
typedef struct kaon_spmv_args {
  const kaon_stored_matrix *matrix;
  int nrhs;
  int part;
  double a;
  kaon_view x, ghosts, b, w, y;
  kaon_gate gate;
  kaon_sum sum;
} kaon_spmv_args;

/* to[n] = x[row[n]], n < count, both laid out as vectors of nrhs columns with `reals` components:
 * what a message takes from x. */
typedef struct kaon_pick_args {
  int nrhs, reals;
  int64_t count;
  const int32_t *row;
  kaon_view x, to;
  kaon_gate gate;
} kaon_pick_args;

/* One sweep of a triangular solve over the rows of one level (or colour) after another, for
 * factors, Gauss-Seidel and SSOR: for each level from first to last (or from last to first where
 * `backward`), for its rows i: y_i = (x_i - sum_{j in row i of T} t_ij y_j) * d_i; T is strictly
 * triangular in the order of levels, so y_j are done. level[n]: first row of level n in `row`. */
typedef struct kaon_levels_args {
  const kaon_stored_matrix *matrix; /* CSR */
  int nrhs, backward;
  int levels;
  const int64_t *level; /* host and device copies: a CPU reads device memory */
  const int64_t *level_host;
  const int32_t *row;
  const void *diagonal; /* d, one value a row in the table's precision; NULL: 1 */
  kaon_view x, y;
  kaon_gate gate;
} kaon_levels_args;

/* The order of a sweep of row projections. Launches follow one another; groups of a launch touch
 * nothing in common, so they are worked on at once; a group's steps follow one another, and rows of
 * a step touch nothing in common again.
 *   launch[l]  host: first group of launch l, launches + 1 of them
 *   group[g]   first step of group g; NULL: group g is step g, launch by launch
 *   step[s]    first row of step s in `row`; NULL: step s is row[s] alone
 *   part[g]    first number of y that group g touches, numbers below part[g + 1] being its own;
 * NULL: no group has numbers of its own launch_there and all but launch are in the matrix' memory.
 * Steps come with one launch alone. */
typedef struct kaon_sweep_order_view {
  int launches;
  const int64_t *launch, *launch_there;
  const int64_t *group, *step, *part;
  const int32_t *row;
  int64_t longest; /* rows of the longest group */
  int64_t largest; /* numbers of the largest part */
} kaon_sweep_order_view;

/* One sweep in place: for the rows i of the order, or of its reverse, c = weight_i b_i - a_i y and
 * y
 * += c a_i^H (lib/math/projection.h). y is laid out like a vector but of any number of rows: the
 * matrix' columns. b.data NULL: 0. */
typedef struct kaon_project_args {
  const kaon_stored_matrix *matrix; /* CSR, values in the table's precision */
  const kaon_sweep_order_view *order;
  int nrhs, backward;
  const void *weight; /* one real a row in the table's precision */
  kaon_view b, y;
  kaon_gate gate;
} kaon_project_args;

typedef struct kaon_sparse_ops {
  void (*spmv)(const kaon_launch *launch, const kaon_spmv_args *args);
  void (*pick)(const kaon_launch *launch, const kaon_pick_args *args);
  void (*levels)(const kaon_launch *launch, const kaon_levels_args *args);
  void (*project)(const kaon_launch *launch, const kaon_project_args *args);
} kaon_sparse_ops;

#endif
