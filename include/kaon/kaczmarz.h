/* kaczmarz.h - row projections of a sparse matrix: as reductions that solvers solve by (CGMNC,
 * CARP-CG, Cimmino-CG, the plain iteration), and as preconditioners. */
#ifndef KAON_KACZMARZ_H
#define KAON_KACZMARZ_H

#include <kaon/sparse.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A sweep of A x = b projects x, row after row, onto what the row's equation says, `lambda` of the
 * way: x += lambda (b_i - a_i x) / |a_i|^2 a_i^H.
 *   SWEEP    forward alone: Kaczmarz' iteration (solver: richardson)
 *   DOUBLE   forward, then backward, which is self-adjoint (solver: cg; together: CGMNC)
 *   CARP     the same within blocks of rows that have copies of x of their own, which are averaged
 *            after each of the two (solver: cg; CARP-CG). Gordon, Gordon, Parallel Computing 36
 *            (2010) 495
 *   CIMMINO  all rows at once, twice: x += lambda A^H D^-1 (b - A x), D = diag |a_i|^2, which is
 *            two products with sparse matrices each time (solver: cg) */
typedef enum kaon_kaczmarz_kind {
  KAON_KACZMARZ_SWEEP,
  KAON_KACZMARZ_DOUBLE,
  KAON_KACZMARZ_CARP,
  KAON_KACZMARZ_CIMMINO
} kaon_kaczmarz_kind;

/* The order of the rows, of SWEEP and DOUBLE; CARP knows PERMUTATION, and takes the others as ROWS.
 * "Number" of a row: where the caller gave it, or where the matrix' ordering (RCM) put it. Rows of
 * one class do not overlap, so they are projected at once, and results depend neither on threads
 * nor on the machine's way of sharing them out.
 *   ROWS         by number, one after another
 *   PERMUTATION  the same in the caller's order: permutation[n] is the n-th row
 *   RANDOM       the same in an order drawn by `seed`
 *   COLOURS      greedy distance-2 colours, rows of a colour at once
 *   GROUPS       a banded matrix' rows by number in 2 * `groups` groups of at least 2 b rows, b =
 *                bandwidth; every other group at once, a group's rows one after another (S1)
 *   STRIDES      rows whose numbers are equal modulo 2 b + 1 at once (S2)
 *   SECTIONS     by `coordinates`: sections of space wider than any two overlapping rows are apart,
 *                in 2^dimensions classes; those of a class at once, a section's rows by number
 * Source of the last three: Faroux et al., Kaczmarz-inspired CUDA solvers, ETH Zurich (2024). */
typedef enum kaon_sweep_order {
  KAON_SWEEP_ROWS,
  KAON_SWEEP_PERMUTATION,
  KAON_SWEEP_RANDOM,
  KAON_SWEEP_COLOURS,
  KAON_SWEEP_GROUPS,
  KAON_SWEEP_STRIDES,
  KAON_SWEEP_SECTIONS
} kaon_sweep_order;

/* Which rows a block of CARP has: as many as the others, to one, and by number within it.
 *   NEAR         rows that have columns in common: the pattern is halved along a breadth-first
 *                search, and the halves again, so that few unknowns have copies
 *   CONSECUTIVE  consecutive numbers
 * With order PERMUTATION: rows that follow one another there, whatever this says. */
typedef enum kaon_carp_rows { KAON_CARP_NEAR, KAON_CARP_CONSECUTIVE } kaon_carp_rows;

typedef struct kaon_kaczmarz_options {
  size_t size;
  int version;
  kaon_kaczmarz_kind kind;
  kaon_sweep_order order;
  double lambda; /* 0: by rule: 1; CIMMINO 1.8 over the largest eigenvalue of A^H D^-1 A, which 30
                    steps of the power method estimate (below 2 of them it converges); CARP of one
                    row a block the same of S^-1 A^H D^-1 A, S the copies of each unknown. Else
                    above 0, below 2 (CIMMINO, CARP of one row a block: below 1e3) */
  int blocks;    /* CARP: equal to one row; 0: of 128 rows each */
  int colour;    /* CARP: 1: rows of a block by colour, so that a device projects many at once */
  int groups;    /* GROUPS; 0: as many as there can be */
  uint64_t seed; /* RANDOM */
  const int32_t
      *permutation;          /* PERMUTATION: this matrix' rows in the caller's numbers, each once */
  const double *coordinates; /* SECTIONS: [row * dimensions + d], rows in the caller's order */
  int dimensions;            /* 1 to 3 */
  kaon_carp_rows block_rows; /* CARP, but for PERMUTATION */
} kaon_kaczmarz_options;
#define KAON_KACZMARZ_OPTIONS_INIT                                                            \
  {                                                                                           \
    sizeof(kaon_kaczmarz_options), 1, KAON_KACZMARZ_DOUBLE, KAON_SWEEP_ROWS, 0.0, 0, 0, 0, 1, \
        NULL, NULL, 0, KAON_CARP_NEAR                                                         \
  }

/* The reduction (1 - Q) x = R b of A x = b, where Q x + R b is what the sweeps make of x: solvers
 * made on it take b and x of A's space, stop on |b - A x| / |b| and report that. Hermitian and
 * positive semidefinite but for SWEEP, whatever A is, and singular where A is. A: from
 * kaon_matrix_operator, kept alive; square, as kaon's matrices are. options NULL: the defaults.
 * *reduced is NULL on failure. Collective. Errors: ARGUMENT (an option; not a permutation),
 * SINGULAR (a row of zeros, in the caller's number: no equation), NOT_FINITE (a row whose norm
 * overflows), UNSUPPORTED (A is no matrix; a matrix of several ranks, but for CIMMINO with a
 * lambda), NOT_BUILT, MEMORY. */
kaon_status kaon_kaczmarz_reduce(kaon_operator *A, const kaon_kaczmarz_options *options,
                                 kaon_operator **reduced);
/* K r = `sweeps` times what the sweeps make of x for A x = r, from x = 0: a preconditioner, linear
 * but not Hermitian (for gcr and bicgstab, and with A's own error propagation as a smoother).
 * Errors besides: ARGUMENT (sweeps below 1). */
kaon_status kaon_kaczmarz_preconditioner(kaon_operator *A, const kaon_kaczmarz_options *options,
                                         int sweeps, kaon_operator **K);

typedef struct kaon_kaczmarz_info {
  kaon_kaczmarz_options options; /* lambda, blocks and groups as they were chosen */
  int classes;                   /* of rows or groups that are worked on one after another */
  int64_t groups;                /* in all of them */
  double copies;                 /* CARP: of an unknown, on average */
  double bytes;                  /* that a (single) sweep over one column moves at least */
  double seconds;                /* that its making took */
} kaon_kaczmarz_info;
/* Not collective. Errors: ARGUMENT (not made by the two above). */
kaon_status kaon_kaczmarz_describe(const kaon_operator *reduced, kaon_kaczmarz_info *info);

#ifdef __cplusplus
}
#endif
#endif
