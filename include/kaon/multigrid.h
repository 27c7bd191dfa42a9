/** @file multigrid.h
 * Adaptive multigrid preconditioners for lattice Dirac operators. */
#ifndef KAON_MULTIGRID_H
#define KAON_MULTIGRID_H

#include <kaon/precond.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Most levels of a multigrid preconditioner. Level 0 is the lattice itself. */
#define KAON_MULTIGRID_LEVELS 4

/** Smoothers: what reduces an error that coarser levels cannot see. GCR and MR take steps on the
 * even-odd reduction of the level's operator. SAP and ASYNC are the Schwarz methods
 * #KAON_SCHWARZ_MULTIPLICATIVE and #KAON_SCHWARZ_ASYNCHRONOUS on blocks that are the aggregates. */
typedef enum kaon_smoother {
  KAON_SMOOTHER_GCR,
  KAON_SMOOTHER_MR,
  KAON_SMOOTHER_SAP,
  KAON_SMOOTHER_ASYNC
} kaon_smoother;

/** Options of a multigrid preconditioner. In arrays, [l] is level l; the coarsest has none. */
typedef struct kaon_multigrid_options {
  size_t size;
  int version;
  int levels; /**< 2 to 4. 0: as many as it takes until the coarsest can be inverted (`dense`) */
  int block[KAON_MULTIGRID_LEVELS - 1][4]; /**< sites of an aggregate in x, y, z, t. 0: 4 on level 0
                                               and 2 below, or the next larger extent that divides
                                               a rank's part */
  int vectors
      [KAON_MULTIGRID_LEVELS -
       1]; /**< of the basis, up to 32. 0: 20 on level 0, 24 below, or fewer on small blocks */
  kaon_smoother smoother[KAON_MULTIGRID_LEVELS - 1];
  int steps[KAON_MULTIGRID_LEVELS - 1]; /**< of the smoother; SAP and ASYNC: cycles of 4 steps. 0:
                                            4; SAP and ASYNC 3 */
  int cycle[KAON_MULTIGRID_LEVELS - 1]; /**< GCR steps that solve the level below, if it is not the
                                            coarsest, each with one cycle as preconditioner (a
                                            K-cycle). 1: one cycle without GCR (a V-cycle). 0: 2 */
  kaon_precision precision[KAON_MULTIGRID_LEVELS - 1]; /**< single or half. Level 0: of its vectors
                                                           and basis. Others: of their matrices;
                                                           their vectors are single */
  int setup; /**< rounds of the set-up, in each of which the cycle improves its own basis */
  int dense; /**< most unknowns of a coarsest level that is inverted as a dense matrix, which takes 16 bytes for each pair of them, twice on a device. Larger ones are solved by 32 steps of GCR, as on devices of several ranks */
  uint64_t seed; /**< of the random vectors that the set-up begins with */
} kaon_multigrid_options;
/** Defaults. */
#define KAON_MULTIGRID_OPTIONS_INIT                                                      \
  {                                                                                      \
    sizeof(kaon_multigrid_options), KAON_OPTIONS_VERSION(KAON_OPTIONS_MULTIGRID, 1), 0,  \
        {{0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}}, {0, 0, 0},                           \
        {KAON_SMOOTHER_GCR, KAON_SMOOTHER_GCR, KAON_SMOOTHER_GCR}, {0, 0, 0}, {0, 0, 0}, \
        {KAON_HALF, KAON_SINGLE, KAON_SINGLE}, 4, 4096, 1                                \
  }

/** Creates K ~ A^-1 by multigrid, for kaon_solver_options.preconditioner with method gcr, whose K
 * may change from step to step. A is a lattice operator on all sites, of kaon_dirac_create(); its
 * even-odd reduction is used inside. `options` NULL: the defaults.
 *
 * The set-up finds vectors that A makes small, by applying the smoother and then the growing
 * multigrid method itself to random ones. They are cut into aggregates and halves of either
 * chirality, and become the basis of the coarse space, on which the same is done again. It takes as
 * long as some solves, so one K should serve many right-hand sides, also together: columns share
 * the basis and all matrices.
 *
 * A is retained. Collective. Errors: ARGUMENT (an option out of range; aggregates that do not
 * divide the lattice), UNSUPPORTED (A offers no hops in one direction), SINGULAR (dependent
 * vectors, a singular coarse operator), STALE, MEMORY, NOT_BUILT.
 *
 * Sources: Frommer et al., SIAM J. Sci. Comput. 36 (2014) A1581; Babich et al., Phys. Rev. Lett. 105
 * (2010) 201602. */
KAON_API kaon_status kaon_multigrid_create(kaon_operator *A, const kaon_multigrid_options *options,
                                           kaon_operator **K);

/** One level of kaon_multigrid_info. */
typedef struct kaon_multigrid_level {
  int extents[4];            /**< of the whole lattice of this level */
  int numbers;               /**< complex numbers a site */
  int block[4];              /**< aggregates; 0 on the coarsest level */
  int vectors;               /**< of the basis; likewise */
  int64_t unknowns;          /**< complex numbers in all */
  int64_t bytes;             /**< of basis and matrices on a rank; without those of A itself */
  int cycles;                /**< on this level in one application of K; coarsest: solves */
  double seconds;            /**< of the set-up */
  double dense_inverse_norm; /**< coarsest level, if dense: estimate of |A^-1|_1; else 0 */
} kaon_multigrid_level;

/** Output of kaon_multigrid_describe() and kaon_multigrid_plan(). */
typedef struct kaon_multigrid_info {
  size_t size;
  int levels;
  kaon_multigrid_level level[KAON_MULTIGRID_LEVELS];
  int64_t bytes;        /**< of all levels on a rank, with their tables */
  int64_t setup_bytes;  /**< of work vectors, at most, in the set-up */
  int64_t column_bytes; /**< of work vectors for each column that K is applied to */
  double
      seconds; /**< of the set-up, on this rank; the parts below leave out memory and random numbers */
  double smooth; /**< smoothing and cycles */
  double orthonormalise;
  double galerkin; /**< hops and restrictions */
  double dense;
} kaon_multigrid_info;
/** Initial value. */
#define KAON_MULTIGRID_INFO_INIT KAON_SIZED(kaon_multigrid_info)
/** Describes a preconditioner of kaon_multigrid_create(). Local. Errors: ARGUMENT (no such
 * operator). */
KAON_API kaon_status kaon_multigrid_describe(const kaon_operator *K, kaon_multigrid_info *info);

/** Describes what kaon_multigrid_create() would make of a Dirac operator with 12 complex numbers a
 * site, without making or allocating anything: levels and bytes, which are estimates within 15 per
 * cent. Seconds and norms are 0. `grid`: ranks in each direction. Local. Errors: ARGUMENT (as of
 * kaon_multigrid_create(); extents that the grid does not divide). */
KAON_API kaon_status kaon_multigrid_plan(const kaon_context *ctx, const int extents[4],
                                         const int grid[4], const kaon_multigrid_options *options,
                                         kaon_multigrid_info *info);

/** What kaon_multigrid_update() does after A has changed.
 *
 * - UPDATE: the same basis; the coarse operators are made again
 * - REFRESH: one round of the set-up improves the basis first
 * - REBUILD: everything from random vectors */
typedef enum kaon_multigrid_refresh {
  KAON_MULTIGRID_UPDATE,
  KAON_MULTIGRID_REFRESH,
  KAON_MULTIGRID_REBUILD
} kaon_multigrid_refresh;
/** Follows a change of A (kaon_dirac_update()). Until then K is STALE. Solvers that have K go on with
 * it. After a failure K is STALE, and the next call rebuilds. Collective. Errors: those of
 * kaon_multigrid_create(). */
KAON_API kaon_status kaon_multigrid_update(kaon_operator *K, kaon_multigrid_refresh how);

#ifdef __cplusplus
}
#endif
#endif
