/* transfer_ops.h - kernels of the set-up and of cycles, most of them between a fine and a coarse
 * lattice, whose sites are aggregates of fine ones. One table for each precision of the fine vectors
 * and of the basis; coarse numbers have the precision of the arithmetic (half: single).
 *
 * A basis has n vectors. Each has two halves, its components of either chirality, so a coarse site
 * has 2 n complex numbers: number h n + j belongs to half h of vector j. The halves of a stored
 * basis are its components below and from fine_reals / 2 on; those of a fine vector are the same,
 * or, if `turned`, (upper + lower) / sqrt 2 and (upper - lower) / sqrt 2 (KAON_HALVES_TURNED). */
#pragma once

#include "lib/core/launch.h"
#include "lib/vector/layout.h"

/* Tables in the context's memory. A place is block * width + lane; those of odd sites follow those
 * of even ones. All aggregates have the same number of sites, in the same order. */
typedef struct kaon_aggregate_view {
  int64_t fine_blocks, coarse_blocks; /* of both parities */
  int width;
  int access; /* kaon_stencil.access */
  int sites;  /* of an aggregate */
  /* [(coarse block * sites + s) * width + lane]: place of site s of the aggregate in this lane; -1:
   * there is no aggregate. */
  const int32_t *list;
  const int32_t *aggregate; /* [fine place]: place of its aggregate; -1: there is no site */
  /* 1: the sites of list entries side by side are side by side in one block, lane by lane. */
  int aligned;
} kaon_aggregate_view;

/* The largest basis that kernels accept. */
enum { KAON_TRANSFER_VECTORS = 128, KAON_TRANSFER_REALS = 512 };

/* Gram matrices and their factors: element (i, j), 0 <= i <= j < n, of lane l is at
 *   (((coarse block * 2 + half) * n * n + i * n + j) * 2 + reim) * width + l.
 * Elements below the diagonal may have any value. */
typedef struct kaon_transfer_args {
  kaon_aggregate_view aggregates;
  int fine_reals; /* of a fine site */
  int vectors;    /* n */
  int turned;     /* halves of fine vectors, see above; the kernels turn them */
  int nrhs;       /* columns of fine and coarse */
  kaon_view basis;
  kaon_view fine, coarse;
  int add;      /* prolong: 1: fine += basis coarse; 0: fine = */
  int half;     /* take_half: 0 or 1, or 2 for both */
  double *gram; /* factors replace it */
  /* [(coarse place) * 2 + half]: 1 + the first vector that depends on those before it; 0: none */
  int32_t *dependent;
  double least; /* factor: a pivot below `least` times its diagonal element: a dependent vector */
  kaon_gate gate;
} kaon_transfer_args;

/* Random numbers of one column, uniform between -1 and 1: to[site * reals + c] for the sites of a
 * rank's part, x fastest. They depend on the seed, the column, c and the site of the whole lattice
 * alone. */
typedef struct kaon_random_args {
  uint64_t seed;
  int64_t sites;
  int extents[4], origin[4], global[4]; /* of the part; its first site; of the whole lattice */
  int reals;                            /* of a site, a multiple of 4 */
  int column;
  double *to; /* device memory */
} kaon_random_args;

typedef struct kaon_transfer_ops {
  /* coarse = basis^dagger fine; masked coarse lanes get 0. */
  void (*restrict_to)(const kaon_launch *launch, const kaon_transfer_args *args);
  /* fine = basis coarse, or fine += */
  void (*prolong)(const kaon_launch *launch, const kaon_transfer_args *args);
  /* Column k of fine, which has n columns, = vector k of the basis, of it only this half, as fine
   * vectors have their components. With half = 2 and basis a fine vector of n columns it is the
   * way back: the stored form of a basis. fine may be basis. Not gated. */
  void (*take_half)(const kaon_launch *launch, const kaon_transfer_args *args);
  /* The next three are NULL in half precision. None is gated.
   * gram: element (i, j) = sum conj(V_i) V_j over the aggregate's sites, in double.
   * factor: G = R^dagger R with R upper triangular; R^-1 replaces G. A dependent vector is
   * reported, and its column of R^-1 is 0.
   * transform: V_j = sum over i <= j of V_i R^-1_ij. */
  void (*gram)(const kaon_launch *launch, const kaon_transfer_args *args);
  void (*factor)(const kaon_launch *launch, const kaon_transfer_args *args);
  void (*transform)(const kaon_launch *launch, const kaon_transfer_args *args);
  /* In double alone. */
  void (*random)(const kaon_launch *launch, const kaon_random_args *args);
} kaon_transfer_ops;
