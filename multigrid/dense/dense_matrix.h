/* dense_matrix.h - a coarse operator as one dense matrix in the device's memory, and its inverse. */
#pragma once

#include "multigrid/dense/dense_level.h"

/* Row number of component c at a site of the whole lattice, x fastest: site * numbers + c, with
 * `numbers` complex numbers a site. So the order does not depend on the grid of ranks. */
typedef struct kaon_dense_matrix {
  const kaon_lattice *lattice;
  int numbers;
  int64_t rows;
  double *element; /* device memory: complex [row][column] of the whole matrix, on every rank */
  /* Device memory: [direction][place], the site of the whole lattice next to the rank's site at a
   * place; direction KAON_DIRS: itself. -1: no site. */
  int32_t *sites;
  size_t places;
} kaon_dense_matrix;

/* Index in the whole lattice, x fastest, of site `local` of a rank's part, x fastest too, moved by
 * one step in direction `dir` with periodic boundaries. KAON_DIRS: not moved. */
int64_t kaon_dense_matrix_site(const kaon_lattice *lattice, int rank, int64_t local, int dir);

/* Fills the matrix from the links. Collective. Errors: MEMORY. On failure it holds no memory. */
kaon_status kaon_dense_matrix_assemble(const kaon_coarse_links *links, kaon_dense_matrix *matrix);
void kaon_dense_matrix_free(kaon_dense_matrix *matrix);
/* Replaces the matrix by its inverse, by LU factors with pivots. Without a solver for the device
 * (kaon_backend.invert) that is the host's work, on one thread. Not collective; ranks with equal
 * processors get equal bits. Errors: SINGULAR (also if the condition number exceeds 1 /
 * DBL_EPSILON), NOT_FINITE, MEMORY. */
kaon_status kaon_dense_matrix_invert(kaon_dense_matrix *matrix, kaon_dense_info *info);
/* Stores this rank's rows: column j of the matrix as column j of a vector in double or single
 * precision, which has as many columns as the matrix. Errors: MEMORY. */
kaon_status kaon_dense_matrix_store(const kaon_dense_matrix *matrix, kaon_vector *vector);
