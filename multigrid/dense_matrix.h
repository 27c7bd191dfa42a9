/* dense_matrix.h - a coarse operator as one dense matrix on the host, and its inverse. */
#pragma once

#include "multigrid/dense_level.h"

/* Row number of component c at a site of the whole lattice, x fastest: site * numbers + c, with
 * `numbers` complex numbers a site. So the order does not depend on the grid of ranks. */
typedef struct kaon_dense_matrix {
  const kaon_lattice *lattice;
  int numbers;
  int64_t rows;
  double _Complex *element; /* [row][column] of the whole matrix, on every rank */
} kaon_dense_matrix;

/* Index in the whole lattice, x fastest, of site `local` of a rank's part, x fastest too, moved by
 * one step in direction `dir` with periodic boundaries. KAON_DIRS: not moved. */
int64_t kaon_dense_matrix_site(const kaon_lattice *lattice, int rank, int64_t local, int dir);

/* Fills the matrix from the links. Collective. Errors: MEMORY. Freed by the caller in any case. */
kaon_status kaon_dense_matrix_assemble(const kaon_coarse_links *links, kaon_dense_matrix *matrix);
/* Replaces the matrix by its inverse, by LU factors with pivots on one thread. Not collective; ranks
 * with equal processors get equal bits. Errors: SINGULAR (also if the condition number exceeds
 * 1 / DBL_EPSILON), NOT_FINITE, MEMORY. */
kaon_status kaon_dense_matrix_invert(kaon_dense_matrix *matrix, kaon_dense_info *info);
