/* hierarchy.h - the levels of a multigrid preconditioner. Level l has an operator and, except the
 * coarsest, a transfer to level l + 1, whose operator is the Galerkin product of its own. */
#pragma once

#include <kaon/multigrid.h>

#include "blas/blas.h"
#include "lib/math/steps/recurrences.h"
#include "multigrid/agglomerate.h"
#include "multigrid/dense/dense_level.h"
#include "multigrid/refresh.h"
#include "multigrid/transfer.h"

/* What an application to a given number of columns needs. It is retained (lib/operator/workspace.h
 * says why). */
typedef struct kaon_cycle_room {
  struct kaon_cycle_room *next;
  int columns;
  kaon_operator *smoother;       /* ~ A^-1 */
  kaon_operator *below;          /* ~ the inverse of the level below */
  kaon_vector *start, *residual; /* on the space of the reduction */
  kaon_vector *correction;
  kaon_vector *coarse_source, *coarse_solution;
  /* If fewer ranks hold the level below: the same there, and what moves them. */
  kaon_vector *merged_source, *merged_solution;
  kaon_rank_gather *gather;
} kaon_cycle_room;

typedef struct kaon_mg_level {
  kaon_context *ctx;
  int number;
  kaon_operator *A;       /* in the level's precision */
  kaon_operator *reduced; /* its even-odd reduction */
  /* Absent on the coarsest level. */
  kaon_aggregates *aggregates;
  kaon_transfer *transfer;
  kaon_transfer *rounded;      /* set-up of level 0: the cycle's, in lower precision, or NULL */
  kaon_agglomeration *merging; /* of the coarse lattice, for the level below; NULL: none */
  struct kaon_mg_level *below;
  kaon_vector *coordinates; /* of the candidates in the basis: n columns of the coarse space */
  int64_t unknowns;         /* complex numbers of the whole lattice */
  int vectors, steps, cycle;
  kaon_smoother smoother;
  kaon_cycle_room *rooms;
  kaon_operator *K; /* ~ A^-1: a cycle, or the coarsest level's inverse; NULL: that is too large */
} kaon_mg_level;

typedef struct kaon_multigrid {
  kaon_multigrid_options options; /* without zeros that stand for defaults */
  kaon_operator *A;               /* the user's; retained */
  int lost;                       /* 1: the last set-up failed, so the bases mean nothing */
  kaon_refresh_rule rule;
  kaon_mg_level level[KAON_MULTIGRID_LEVELS];
  kaon_multigrid_info info;
} kaon_multigrid;

/* Chooses what the user left open, for a rank's part of a whole lattice (plan.c): as many levels as
 * it takes until the coarsest can be inverted as a dense matrix. Errors: ARGUMENT. */
kaon_status kaon_multigrid_complete(const kaon_context *ctx, const int part[4], const int whole[4],
                                    kaon_multigrid_options *options);
/* Levels and bytes of a multigrid method with complete options, with `reals` numbers a site of
 * level 0. Members of *info that are not about these stay. */
void kaon_multigrid_count(const kaon_context *ctx, const int part[4], const int whole[4], int reals,
                          const kaon_multigrid_options *options, kaon_multigrid_info *info);

/* Makes the reduction that a level's smoother, or the solver of a large coarsest level, works on. It
 * can be made only once the level has numbers. */
kaon_status kaon_level_reduce(kaon_mg_level *level);

static inline const kaon_couplings *kaon_couplings_of(const kaon_operator *A) {
  return kaon_operator_capability(A, KAON_CAPABILITY_COUPLINGS);
}

/* The operator K of a level that is not the coarsest: a cycle (cycle.c). It belongs to the level.
 * Errors: MEMORY. */
kaon_status kaon_cycle_create(kaon_mg_level *level);
/* A fixed number of steps as an operator ~ A^-1 for so many columns (smoother.c). */
kaon_status kaon_fixed_steps(kaon_operator *A, kaon_method method, int steps, int columns,
                             kaon_operator *precond, kaon_operator **inverse);
/* The same of a reduction R, on the space of R's parent. */
kaon_status kaon_reduced_steps(kaon_operator *R, kaon_method method, int steps, int columns,
                               kaon_operator **inverse);
/* For a level's smoother S: z = x + S (b - A x), where `start` is x on the reduction's space. The
 * numbers of x elsewhere have no influence. start and residual, on that space, are overwritten. z:
 * columns that the gate closes have any numbers afterwards. */
kaon_status kaon_reduced_improve(kaon_operator *S, const kaon_vector *b, kaon_vector *start,
                                 kaon_vector *residual, kaon_vector *z, const kaon_pass *gate);
/* The level's smoother as an operator for so many columns. */
kaon_status kaon_level_smoother(kaon_mg_level *level, int columns, kaon_operator **smoother);
/* Ends what a level does on the level below: where fewer ranks hold that, all of this level's agree. */
static inline kaon_status kaon_level_agree(const kaon_mg_level *level, kaon_status status) {
  return level->merging != NULL ? kaon_agree(level->ctx, status) : status;
}
/* The level's room for so many columns, made if there is none. Collective. Errors: MEMORY. */
kaon_status kaon_cycle_room_get(kaon_mg_level *level, int columns, kaon_cycle_room **room);
/* Drops the rooms of a level, with their solvers, that were made after `until`. NULL: all. */
void kaon_cycle_clear(kaon_mg_level *level, const kaon_cycle_room *until);

/* The matrices of the level below, from A's present numbers and V (galerkin.c). Collective. Errors:
 * MEMORY. */
kaon_status kaon_galerkin(kaon_operator *A, const kaon_transfer *transfer,
                          const kaon_coarse_links *links);

/* Uniform random numbers in the columns from `first` on. They depend on seed, column
 * and site (vectors.c). */
kaon_status kaon_random_columns(kaon_vector *v, int first, uint64_t seed);
/* Columns of norm 1; a column of zeros stays. */
kaon_status kaon_normalise_columns(kaon_vector *v);
/* Orthonormal columns with the same span, as far as they are independent. */
kaon_status kaon_orthonormalise_columns(kaon_vector *v);

/* Columns that the set-up works on at once, of n: enough to share links and matrices, and few, since
 * a cycle needs a dozen vectors for each. */
static inline int kaon_setup_columns(int n) {
  enum { MOST = 5 };
  const int batches = (n + MOST - 1) / MOST;
  return (n + batches - 1) / batches;
}

/* Finds bases and makes the matrices of all levels (setup.c). top: level 0 in single precision.
 * rounds: of improvement. fresh: begin with random vectors, else with the present bases, which
 * stay as they are with 0 rounds. Collective. */
kaon_status kaon_multigrid_setup(kaon_multigrid *mg, kaon_mg_level *top, int rounds, int fresh);

/* Files of bases (bases_file.c). complete: kaon_multigrid_probe. read: into the levels of *mg, for
 * which the options were completed by this file. */
kaon_status kaon_bases_complete(const kaon_context *ctx, const char *path, const int whole[4],
                                kaon_multigrid_options *options);
kaon_status kaon_bases_read(kaon_multigrid *mg, const char *path);
kaon_status kaon_bases_write(const kaon_multigrid *mg, const char *path);
