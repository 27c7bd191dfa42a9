/** @file precond.h
 * Preconditioners K ~ A^-1: from products with A, from the entries of a sparse matrix, and Schwarz
 * methods. They are operators, for kaon_solver_options.preconditioner. */
#ifndef KAON_PRECOND_H
#define KAON_PRECOND_H

#include <kaon/solver.h>
#include <kaon/sparse.h>

#ifdef __cplusplus
extern "C" {
#endif

/** @name From the diagonal and products
 * For any operator. K is linear and the same in each step, and a device records it like any other
 * operator. */
/** @{ */

/** Creates Jacobi's preconditioner: K x = x / d, component by component, with d the present
 * diagonal of A. In A's precision, double or single; also offered in the other one. K follows
 * changes of A (kaon_dirac_update(), kaon_shell_changed()) at its next use, which then can have the
 * errors below. Collective. Errors: ARGUMENT, UNSUPPORTED (A does not know its diagonal; half
 * precision), SINGULAR, NOT_FINITE (on the diagonal; with the row, counted on its rank from 1 in
 * the caller's order), MEMORY, those of A. */
KAON_API kaon_status kaon_precond_jacobi(kaon_operator *A, kaon_operator **K);

/** Options of Chebyshev's preconditioner. */
typedef struct kaon_chebyshev_options {
  size_t size;
  int version;
  int degree;    /**< products with A in an application, 1 to 64 */
  int scaled;    /**< 1: a polynomial in D^-1 A, with D the diagonal, if A knows it. 0: in A */
  double low;    /**< lower end of the interval of eigenvalues */
  double high;   /**< upper end. 0: both ends are estimated */
  int steps;     /**< of the estimate by Lanczos, 2 to 64 */
  double safety; /**< `high` = safety times the largest eigenvalue estimated */
  double ratio; /**< `low` = the larger of high / ratio and the smallest eigenvalue seen (other than
                     a singular A's 0) */
} kaon_chebyshev_options;
/** Defaults. */
#define KAON_CHEBYSHEV_OPTIONS_INIT                                                             \
  {                                                                                             \
    sizeof(kaon_chebyshev_options), KAON_OPTIONS_VERSION(KAON_OPTIONS_CHEBYSHEV, 1), 4, 1, 0.0, \
        0.0, 16, 1.1, 30.0                                                                      \
  }

/** Creates K = p(D^-1 A) D^-1 with p of degree `degree`, such that the largest |1 - t p(t)| on
 * [low, high] is as small as possible.
 *
 * A is Hermitian positive definite, with positive D, and is retained. K is positive definite
 * too, as long as no eigenvalue exceeds `high` by much. It needs no sums over ranks. A singular A
 * without negative eigenvalues is accepted, for systems that have a solution. `options` NULL: the
 * defaults.
 *
 * After changes of A (kaon_dirac_update(), kaon_shell_changed()) an interval is estimated again at
 * the next use of K, which takes memory and can have the errors below. One that was given stays.
 * Collective. Errors: those of kaon_precond_jacobi(); ARGUMENT (an option out of range;
 * low >= high; the estimate saw a negative eigenvalue, which the sentence names).
 *
 * Source: Saad, Iterative Methods for Sparse Linear Systems, 2nd edition, sections 12.3.2 and
 * 6.6. */
KAON_API kaon_status kaon_precond_chebyshev(kaon_operator *A, const kaon_chebyshev_options *options,
                                            kaon_operator **K);
/** The interval of such a K, as last used. Local. Errors: ARGUMENT (no such operator). */
KAON_API kaon_status kaon_precond_chebyshev_interval(const kaon_operator *K, double *low,
                                                     double *high);
/** @} */

/** @name From the entries of a sparse matrix */
/** @{ */

/** Kinds. D, L, U are the diagonal and the strict triangles of A, with rows in the order of
 * `order`.
 *
 * - BLOCK_JACOBI: inverses of the diagonal blocks of `block` consecutive rows
 * - DIC, DILU: ((E + L) E^-1 (E + U))^-1, with a diagonal E such that the product has A's diagonal.
 *   OpenFOAM's simplified incomplete factors; DIC for Hermitian A, for which DILU is DIC
 * - SSOR: omega (2 - omega) (D + omega U)^-1 D (D + omega L)^-1
 * - GS: symmetric Gauss-Seidel by colours, which is SSOR with omega = 1 in colour order
 * - IC0, ILU0: incomplete factors without fill; IC0 for Hermitian A
 * - AINV: a sparse approximate inverse in factors, Z D^-1 W^H, which is two products. SAINV for
 *   Hermitian A (W = Z), else biconjugation
 * - FSAI: the factorised sparse approximate inverse G^H G, which is two products, for Hermitian
 *   positive definite A. G has the lower triangle of the pattern of A^power, (G A)_ij = 0 there off
 *   the diagonal, and diag(G A G^H) = 1 */
typedef enum kaon_precond_kind {
  KAON_PRECOND_BLOCK_JACOBI,
  KAON_PRECOND_DIC,
  KAON_PRECOND_DILU,
  KAON_PRECOND_SSOR,
  KAON_PRECOND_GS,
  KAON_PRECOND_IC0,
  KAON_PRECOND_ILU0,
  KAON_PRECOND_AINV,
  KAON_PRECOND_FSAI
} kaon_precond_kind;

/** Order of the rows. NATURAL: as the matrix was given, or by its kaon_ordering. COLOUR: by a
 * greedy colouring; rows of a colour are not coupled and run at once. There are few levels then,
 * and a solver takes more steps. GS always has COLOUR. */
typedef enum kaon_precond_order { KAON_PRECOND_NATURAL, KAON_PRECOND_COLOUR } kaon_precond_order;

/** Options of a preconditioner from entries. */
typedef struct kaon_precond_options {
  size_t size;
  int version;
  kaon_precond_kind kind;
  kaon_precond_order order;
  kaon_precision precision; /**< of vectors: double or single. HALF: values have 16 bits and a scale
                                 a row, vectors are single; K is Hermitian to these 16 bits only */
  int sweeps;   /**< DIC to ILU0. 0: triangles are solved exactly, level by level. Else each by
                     this many Jacobi sweeps, which are products with sparse matrices (K is
                     Hermitian if A is) */
  double omega; /**< SSOR, in (0, 2) */
  int block;    /**< rows of a block, 1 to 32 */
  double drop;  /**< AINV: smaller entries are dropped (A scaled to a diagonal of 1). 0: none */
  int fill;     /**< AINV: most entries of a direction beside its own. 0: no limit */
  double shift; /**< factorise A with its diagonal times 1 + shift */
  int tries;    /**< after a breakdown double the shift, from 1e-3 on, and start again, at most this
                  often. Manteuffel, Math. Comp. 34 (1980) 473 */
  int power; /**< FSAI: 1 to 8. The work for a row grows with the third power of its entries; in two
                  dimensions power 2 has 2 to 3 times the entries of power 1 */
} kaon_precond_options;
/** Defaults. */
#define KAON_PRECOND_OPTIONS_INIT                                                                  \
  {                                                                                                \
    sizeof(kaon_precond_options), KAON_OPTIONS_VERSION(KAON_OPTIONS_PRECOND, 1), KAON_PRECOND_IC0, \
        KAON_PRECOND_NATURAL, KAON_DOUBLE, 0, 1.0, 4, 0.1, 0, 0.0, 0, 1                            \
  }

/** Creates K ~ A^-1 on vectors of the matrix' space. `options` NULL: the defaults.
 *
 * K is linear and the same in each step, also with KAON_DAGGER. A device records it like any other
 * operator. On several ranks it has each rank's own rows and columns (additive Schwarz without
 * overlap), and sends nothing. It keeps the matrix alive.
 *
 * The factorisation runs on the host with one thread (FSAI: with all of the context's, and the same
 * bits). It runs again for other precisions that a solver needs, and for the adjoint of factors
 * that are not Hermitian. Collective. Sources: sparse/precond/factors.h. Errors: ARGUMENT (an
 * option out of range; DIC, IC0, FSAI: A is not Hermitian), SINGULAR (a breakdown, with the row in
 * the caller's numbers and its pivot), NOT_BUILT, MEMORY. */
KAON_API kaon_status kaon_precond_create(kaon_matrix *matrix, const kaon_precond_options *options,
                                         kaon_operator **K);

/** What was made. */
typedef struct kaon_precond_info {
  size_t size;
  const kaon_precond_options *options; /**< as given. Lives as long as the operator */
  double shift;                        /**< as used */
  int64_t entries;                     /**< stored on this rank */
  int levels;     /**< of both triangles together, on this rank. 0: there are none */
  int colours;    /**< COLOUR order; else 0 */
  double seconds; /**< that its creation took, on this rank */
} kaon_precond_info;
/** Initial value. */
#define KAON_PRECOND_INFO_INIT KAON_SIZED(kaon_precond_info)
/** Describes an operator of kaon_precond_create(). Local. Errors: ARGUMENT (no such operator). */
KAON_API kaon_status kaon_precond_describe(const kaon_operator *K, kaon_precond_info *info);
/** @} */

/** @name A choice by rule */
/** @{ */

/** Output of kaon_precond_auto(). */
typedef struct kaon_precond_choice {
  size_t size;
  kaon_method method;  /**< as given, or chosen: CG, CGNR or BICGSTAB */
  const char *precond; /**< "none", "jacobi", "ic0", "ilu0", "ainv" or "fsai" */
  char why[200];       /**< what of the matrix decided, in words */
} kaon_precond_choice;
/** Initial value. */
#define KAON_PRECOND_CHOICE_INIT KAON_SIZED(kaon_precond_choice)

/** Chooses a method and a preconditioner for a sparse matrix by the rule of docs/choosing.md, and
 * makes the preconditioner.
 *
 * The rule looks once at the entries of each rank's own block: symmetry, signs and spread of the
 * diagonal, diagonal dominance, the strongest couplings, row lengths; and at the backend, the
 * threads and the columns. It solves nothing, so a matrix with a positive diagonal may turn out
 * indefinite.
 *
 * - A: of kaon_matrix_operator()
 * - method: a kaon_method that will be used, or -1: chosen too
 * - columns: right-hand sides that will be solved together
 * - sloppy: precision of the inner process
 * - K: NULL: nothing is made. Else *K is the preconditioner, NULL for "none". Factors that break
 *   down, and those of "ilu0" by which a vector grows 1e4 times, are replaced by "jacobi" or "none"
 *
 * Collective. Errors: ARGUMENT, MEMORY, those of kaon_precond_create(). */
KAON_API kaon_status kaon_precond_auto(kaon_operator *A, int method, int columns,
                                       kaon_precision sloppy, kaon_precond_choice *choice,
                                       kaon_operator **K);
/** @} */

/** @name Schwarz methods
 * Operators that are cut into blocks, and preconditioners that solve on these blocks. */
/** @{ */

/** Creates A without its couplings between blocks and between ranks: Dirichlet boundaries around
 * every block. An even-odd reduction becomes the reduction of the cut operator, with the same
 * clover blocks.
 *
 * - `block`: extents of the blocks in x, y, z, t. They divide the rank's part. An extent equal to the part's also cuts the hops around an undivided lattice. 0: hops of that
 *   direction are cut between ranks only. For a matrix: `block[0]` rows a block, 0: all
 * - `precision`, `reconstruct`: of the result's vectors and links. Links and clover blocks are
 *   shared with A where it has them so
 *
 * Applications send nothing. The result follows kaon_dirac_update(). Collective. Errors: ARGUMENT
 * (the blocks), UNSUPPORTED (A cannot be cut: a solver, a cut operator), STALE, MEMORY, NOT_BUILT;
 * UNITARITY, NOT_FINITE, SINGULAR. */
KAON_API kaon_status kaon_operator_local_part(kaon_operator *A, const int block[4],
                                              kaon_precision precision,
                                              kaon_reconstruct reconstruct, kaon_operator **local);

/** Kinds of Schwarz methods.
 *
 * - ADDITIVE: all blocks at once, from the same residual.
 * - MULTIPLICATIVE (SAP): blocks in red-black order, with a new residual in between. The whole
 *   lattice has 1 block or an even number of them in each direction.
 * - ASYNCHRONOUS: as ADDITIVE, but no block waits for another. On one rank of the CPU blocks run
 *   freely: threads take them one by one, each with the residual of what the others have written by
 *   then, at most `lag` cycles ahead of a neighbour. With `groups`, on devices and on several
 *   ranks, blocks take turns in an order that is drawn for each cycle. Each uses the residual of
 *   what the others wrote last, and of other ranks the faces that have arrived, however old.
 *   Results differ from run to run on several ranks, and where blocks run freely on several
 *   threads. */
typedef enum kaon_schwarz_kind {
  KAON_SCHWARZ_ADDITIVE,
  KAON_SCHWARZ_MULTIPLICATIVE,
  KAON_SCHWARZ_ASYNCHRONOUS
} kaon_schwarz_kind;

/** Options of a Schwarz preconditioner. */
typedef struct kaon_schwarz_options {
  size_t size;
  int version;
  kaon_schwarz_kind kind;
  int block[4];      /**< as for kaon_operator_local_part(). As text: block_x, block_y,
                          block_z, block_t */
  int steps;         /**< minimal-residual steps in a block. 0: 10 (ADDITIVE), 4 (the others) */
  int cycles;        /**< cycles over all blocks. 0: 1 (ADDITIVE), 5 (the others) */
  double relaxation; /**< factor w of the step lengths, up to 1.99. A step reduces |r|^2 by w (2 -
                          w) of what w = 1 reduces it by */
  kaon_precision precision; /**< of all vectors in it */
  kaon_reconstruct reconstruct;
  int groups;    /**< ASYNCHRONOUS: turns of a rank's blocks in a cycle. 1: all at once, as always
                      where a rank has one block. 0: blocks run freely where they can, else 2 */
  uint64_t seed; /**< ASYNCHRONOUS: of the blocks' order */
  int lag; /**< ASYNCHRONOUS, running freely: cycles that a block may be ahead of those it reads */
} kaon_schwarz_options;
/** Defaults. */
#define KAON_SCHWARZ_OPTIONS_INIT                                                               \
  {                                                                                             \
    sizeof(kaon_schwarz_options), KAON_OPTIONS_VERSION(KAON_OPTIONS_SCHWARZ, 1),                \
        KAON_SCHWARZ_ADDITIVE, {0, 0, 0, 0}, 0, 0, 1.0, KAON_HALF, KAON_RECONSTRUCT_18, 0, 1, 2 \
  }

/** Creates K ~ A^-1 on vectors of A's space in the options' precision. Each block solves its cut
 * operator approximately, by a fixed number of minimal-residual steps with its own step lengths.
 * `options` NULL: the defaults.
 *
 * K is not linear: use it with gcr or fcg, whose process may have another precision. KAON_DAGGER is not
 * offered. An application never fails because blocks do not converge. K keeps A alive.
 *
 * ADDITIVE with one cycle sends nothing. A cycle of MULTIPLICATIVE applies A once for each colour
 * but the first. ASYNCHRONOUS applies A for each turn but the first; at the end of an application
 * it receives what its neighbours sent. On several ranks it needs MPI, and on devices transport
 * HOST. Collective. Errors: those of kaon_operator_local_part(); ARGUMENT (an option out of range;
 * MULTIPLICATIVE with an odd number of blocks, not 1, in a direction); UNSUPPORTED (ASYNCHRONOUS
 * over QMP, or on devices by another transport).
 *
 * Sources: Luscher, Comput. Phys. Commun. 156 (2004) 209; Babich et al., SC 2011 (arXiv:1109.2935);
 * asynchronous: Frommer, Schwandt, Szyld, ETNA 5 (1997) 48. */
KAON_API kaon_status kaon_schwarz_create(kaon_operator *A, const kaon_schwarz_options *options,
                                         kaon_operator **K);

/** What K was made with, with steps and cycles as chosen. `options` is set up by its `_INIT` macro.
 * Local. Errors: ARGUMENT (K is no Schwarz preconditioner). */
KAON_API kaon_status kaon_schwarz_describe(const kaon_operator *K, kaon_schwarz_options *options);
/** @} */

#ifdef __cplusplus
}
#endif
#endif
