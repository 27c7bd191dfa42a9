/** @file multigrid.h
 * Adaptive multigrid preconditioners for lattice Dirac operators. */
#ifndef KAON_MULTIGRID_H
#define KAON_MULTIGRID_H

#include <kaon/precond.h>
#include <kaon/solver.h>

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
                                               and 2 below, or another extent that divides a rank's
                                               part; below level 0 no direction is cut once a
                                               block has 16 sites */
  int vectors
      [KAON_MULTIGRID_LEVELS -
       1]; /**< of the basis, up to 32. 0: 20 on level 0, 24 below, or fewer on small blocks */
  kaon_smoother smoother[KAON_MULTIGRID_LEVELS - 1];
  int steps[KAON_MULTIGRID_LEVELS - 1]; /**< of the smoother; SAP and ASYNC: cycles of 4 steps. 0:
                                            4; SAP and ASYNC 3 */
  int cycle[KAON_MULTIGRID_LEVELS - 1]; /**< GCR steps that solve the level below, if it is not
                                            inverted, each with one cycle as preconditioner (a
                                            K-cycle). 1: one cycle without GCR (a V-cycle). 0: 2 */
  kaon_precision precision[KAON_MULTIGRID_LEVELS - 1]; /**< single or half. Level 0: of its vectors
                                                           and basis. Others: of their matrices;
                                                           their vectors are single */
  int setup; /**< rounds of the set-up, in each of which the cycle improves its own basis */
  int dense; /**< most unknowns of a coarsest level that is inverted as a dense matrix, which takes
                16 bytes for each pair of them, twice on a device. On larger ones 32 steps of GCR
                stand for a cycle */
  uint64_t seed;            /**< of the random vectors that the set-up begins with */
  kaon_monitor_fn *monitor; /**< watches the set-up: called with (monitor_user, round, level, 0)
                               before the first vectors of a level are smoothed (round 0) and when
                               each of its rounds begins. Other values than 0 cancel the set-up.
                               NULL: none */
  void *monitor_user;       /**< passed to `monitor`; both are used by updates of K, too */
} kaon_multigrid_options;
/** Defaults. */
#define KAON_MULTIGRID_OPTIONS_INIT                                                      \
  {                                                                                      \
    sizeof(kaon_multigrid_options), KAON_OPTIONS_VERSION(KAON_OPTIONS_MULTIGRID, 1), 0,  \
        {{0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}}, {0, 0, 0},                           \
        {KAON_SMOOTHER_GCR, KAON_SMOOTHER_GCR, KAON_SMOOTHER_GCR}, {0, 0, 0}, {0, 0, 0}, \
        {KAON_HALF, KAON_SINGLE, KAON_SINGLE}, 4, 4096, 1, NULL, NULL                    \
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
 * Aggregates lie within the part of a rank. Where a level that becomes coarser would have 1 site a
 * rank in a divided direction, neighbouring ranks merge their parts: fewer ranks hold this level and
 * those below, and all ranks of a group do the same work. Only CPUs merge. On devices such a level
 * stays divided, and its aggregates have 1 site in these directions. The ranks of the coarsest level
 * share the rows of its dense inverse.
 *
 * A is retained. Collective. Errors: ARGUMENT (an option out of range; aggregates that do not
 * divide the lattice), UNSUPPORTED (A offers no hops in one direction), SINGULAR (dependent
 * vectors, a singular coarse operator), CANCELLED (by the monitor), STALE, MEMORY, NOT_BUILT.
 *
 * Sources: Frommer et al., SIAM J. Sci. Comput. 36 (2014) A1581; Babich et al., Phys. Rev. Lett. 105
 * (2010) 201602. */
KAON_API kaon_status kaon_multigrid_create(kaon_operator *A, const kaon_multigrid_options *options,
                                           kaon_operator **K);

/** What kaon_multigrid_update() does.
 *
 * - REUSE: nothing. Coarse levels stay those of the former A, which only costs steps; the smoother
 *   has the numbers of the present one
 * - UPDATE: the same bases; the coarse operators are made again
 * - REFRESH: one round of the set-up, with the former coarse operators, improves the bases; then
 *   UPDATE
 * - REBUILD: everything from random vectors
 * - AUTO: by the solves that kaon_multigrid_solved() was told of. REBUILD after a solve that did not
 *   converge. If the slowest solve since the last call took more than 1.5 times the steps of the
 *   slowest one after the last REBUILD, creation or load: REFRESH, or REBUILD if the last call was
 *   a REFRESH. Else UPDATE */
typedef enum kaon_multigrid_refresh {
  KAON_MULTIGRID_REUSE,
  KAON_MULTIGRID_UPDATE,
  KAON_MULTIGRID_REFRESH,
  KAON_MULTIGRID_REBUILD,
  KAON_MULTIGRID_AUTO
} kaon_multigrid_refresh;

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
  double complexity;         /**< operations of the level's operator over those of level 0's */
  double dense_inverse_norm; /**< coarsest level, if dense: estimate of |A^-1|_1; else 0 */
} kaon_multigrid_level;

/** Output of kaon_multigrid_describe() and kaon_multigrid_plan(). */
typedef struct kaon_multigrid_info {
  size_t size;
  int levels;
  kaon_multigrid_level level[KAON_MULTIGRID_LEVELS];
  int64_t bytes;        /**< of all levels on a rank, with their tables */
  int64_t setup_bytes;  /**< of work memory, at most, in the set-up */
  int64_t column_bytes; /**< of work vectors for each column that K is applied to */
  double
      seconds; /**< of the set-up, on this rank; the parts below leave out memory and random numbers */
  double smooth; /**< smoothing and cycles */
  double orthonormalise;
  double galerkin; /**< hops and restrictions */
  double dense;
  kaon_multigrid_refresh last; /**< what kaon_multigrid_update() did last; before it, REBUILD, or
                                    UPDATE after kaon_multigrid_load() */
  int grid[KAON_MULTIGRID_LEVELS][4]; /**< ranks of level l in x, y, z, t; if they are fewer than
                                          there are, several have the same parts */
} kaon_multigrid_info;
/** Initial value. */
#define KAON_MULTIGRID_INFO_INIT KAON_SIZED(kaon_multigrid_info)
/** Describes a preconditioner of kaon_multigrid_create(). Local. Errors: ARGUMENT (no such
 * operator). */
KAON_API kaon_status kaon_multigrid_describe(const kaon_operator *K, kaon_multigrid_info *info);

/** Seconds that one level takes in one application of K, by part. */
typedef struct kaon_multigrid_part {
  double seconds;  /**< of all parts */
  double smoother; /**< with the residuals; 0 on the coarsest level */
  double transfer; /**< to the level below and back; likewise */
  double krylov;   /**< the GCR by which the level above solves this one, without its cycles */
  double coarsest; /**< solves of the coarsest level; 0 on others */
} kaon_multigrid_part;

/** Output of kaon_multigrid_measure(). */
typedef struct kaon_multigrid_times {
  size_t size;
  int levels;
  kaon_multigrid_part level[KAON_MULTIGRID_LEVELS];
  double seconds; /**< of all levels */
} kaon_multigrid_times;
/** Initial value. */
#define KAON_MULTIGRID_TIMES_INIT KAON_SIZED(kaon_multigrid_times)
/** Measures how long each part of an application of K to so many columns takes on this rank, in all
 * about five applications. Each part is run by itself, several times, and the shortest time counts
 * as often as K needs the part. On a device small parts take longer alone than in a solve that
 * repeats recorded steps. K stays as it is. Collective. Errors: ARGUMENT (K was not made by
 * kaon_multigrid_create(); columns < 1), STALE, MEMORY. */
KAON_API kaon_status kaon_multigrid_measure(kaon_operator *K, int columns,
                                            kaon_multigrid_times *times);

/** Describes what kaon_multigrid_create() would make of a Dirac operator with 12 complex numbers a
 * site, without making or allocating anything: levels and bytes, which are estimates within 15 per
 * cent. Seconds, complexities and norms are 0. `grid`: ranks in each direction. Local. Errors:
 * ARGUMENT (as of kaon_multigrid_create(); extents that the grid does not divide). */
KAON_API kaon_status kaon_multigrid_plan(const kaon_context *ctx, const int extents[4],
                                         const int grid[4], const kaon_multigrid_options *options,
                                         kaon_multigrid_info *info);

/** @name Operators that change
 * K is STALE after kaon_dirac_update() until kaon_multigrid_update(). In molecular dynamics:
 * @code
 *   kaon_dirac_update(A);
 *   kaon_multigrid_update(K, KAON_MULTIGRID_AUTO);
 *   kaon_solver_solve(solver, b, x, reports, NULL);
 *   kaon_multigrid_solved(K, reports, columns);
 * @endcode
 * After a solve that failed, the second to fourth line once more rebuild K and solve again.
 *
 * Several masses can share one K: a solver of another operator on the same lattice takes it as its
 * preconditioner. K approximates the inverse of its own A, so steps grow with the difference; make
 * K for the lightest mass. K is STALE when its own A is. */
/** @{ */

/** Follows a change of A (kaon_dirac_update()). Until then K is STALE. Solvers that have K go on with
 * it. After a failure K is STALE, and the next call rebuilds. kaon_multigrid_describe() says what AUTO
 * did. Collective. Errors: those of kaon_multigrid_create(). */
KAON_API kaon_status kaon_multigrid_update(kaon_operator *K, kaon_multigrid_refresh how);
/** Tells K how a solve with it went, for AUTO: `reports` of its `columns`, as kaon_solver_solve()
 * filled them. Columns that a monitor cancelled do not count. Every rank calls it. Any number of
 * solves may be reported, the same kinds after each update. Local. Errors: ARGUMENT
 * (K was not made by kaon_multigrid_create(); no column). */
KAON_API kaon_status kaon_multigrid_solved(kaon_operator *K, const kaon_column_report *reports,
                                           int columns);
/** @} */

/** @name Files
 * The bases of all levels in one SciDAC/LIME file (docs/files.md). Set-ups are dear, and files of
 * one lattice, action and mass serve later jobs, on any grid of ranks whose parts the aggregates
 * divide. */
/** @{ */

/** Writes the bases of K. The file appears whole or not at all. Collective. Errors: ARGUMENT (K was
 * not made by kaon_multigrid_create()), STALE, IO, NOT_FINITE, MEMORY. */
KAON_API kaon_status kaon_multigrid_save(const kaon_operator *K, const char *path);
/** As kaon_multigrid_create(), but begins with the bases of a file and does what UPDATE does, which
 * takes a small part of a set-up. `options` NULL: the defaults. Levels, aggregates and numbers of
 * vectors that are 0 are those of the file.
 *
 * With the options of the K that was saved, and the same A, rank grid and instruction set, K has
 * the same bits. Where the file is of an A with other links or parameters, the log has a warning,
 * and kaon_multigrid_update() with REFRESH adapts the bases.
 *
 * A is retained. Collective. Errors: those of kaon_multigrid_create(); IO, FORMAT (damaged, or of
 * another kind), CHECKSUM, NOT_FINITE, SHAPE (of another lattice, or other numbers a site),
 * ARGUMENT (options that differ from the file). */
KAON_API kaon_status kaon_multigrid_load(kaon_operator *A, const kaon_multigrid_options *options,
                                         const char *path, kaon_operator **K);
/** Completes options by a file, for kaon_multigrid_plan(): levels, aggregates and numbers of vectors
 * that are 0 become those of the file. `extents`: of the operator's whole lattice. `ctx` may be
 * NULL; with a context of several ranks it is collective. Errors: IO, FORMAT, SHAPE, ARGUMENT,
 * likewise. */
KAON_API kaon_status kaon_multigrid_probe(const kaon_context *ctx, const char *path,
                                          const int extents[4], kaon_multigrid_options *options);
/** @} */

#ifdef __cplusplus
}
#endif
#endif
