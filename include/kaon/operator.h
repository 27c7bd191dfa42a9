/* operator.h - y = A x: Dirac operators, their even-odd reductions, and solvers used as operators.
 */
#ifndef KAON_OPERATOR_H
#define KAON_OPERATOR_H

#include <kaon/gauge.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kaon_operator kaon_operator;

typedef enum kaon_mode { KAON_PLAIN, KAON_DAGGER } kaon_mode;

/* y = A x or A^dagger x on every column. x and y: of kaon_operator_space(A), in
 * kaon_operator_precision(A), equal columns; they must not alias; x is unchanged, y overwritten.
 * Collective; asynchronous on CUDA. Errors: ARGUMENT, SHAPE, PRECISION, ALIAS, STALE (the links
 * changed; kaon_dirac_update), UNSUPPORTED (the dagger of a solver that is not cg), NOT_BUILT,
 * MEMORY (the first application to more columns than before); of a solver, those of
 * kaon_solver_solve. */
kaon_status kaon_operator_apply(kaon_operator *A, kaon_mode mode, const kaon_vector *x,
                                kaon_vector *y);
/* Lets go of it and sets *A to NULL; NULL is allowed. */
void kaon_operator_destroy(kaon_operator **A);

/* The space of A's vectors, and A's precision; A is not NULL. Not collective. */
const kaon_space *kaon_operator_space(const kaon_operator *A);
kaon_precision kaon_operator_precision(const kaon_operator *A);

typedef struct kaon_cost {
  double flops; /* of one application to one column, on this rank, by docs/conventions.md */
  double bytes; /* ideal traffic of one application to `columns` columns, per column */
} kaon_cost;
/* What docs/conventions.md, "Cost", counts for `columns` (at least 1) columns at once; of a solver
 * used as operator, for all its steps. Not collective. Errors: ARGUMENT. */
kaon_status kaon_operator_cost(const kaon_operator *A, int columns, kaon_cost *cost);

typedef struct kaon_dirac_options {
  size_t size;
  int version;
  double kappa;             /* hopping parameter; kappa = 1 / (2 mass + 8) */
  double csw;               /* clover coefficient; 0: Wilson */
  double anisotropy;        /* factor nu / xi_0 on the spatial hops; 1: isotropic */
  kaon_precision precision; /* of vectors and of the links that the operator keeps */
  kaon_reconstruct reconstruct;
} kaon_dirac_options;
#define KAON_DIRAC_OPTIONS_INIT \
  { sizeof(kaon_dirac_options), 1, 0.125, 0.0, 1.0, KAON_DOUBLE, KAON_RECONSTRUCT_18 }

/* M = A - kappa D on full-lattice spinors (docs/conventions.md); options NULL: the defaults. Keeps
 * the gauge field alive; becomes STALE when its links change (kaon_dirac_update follows). Where the
 * field is stored otherwise than options say, M keeps links of its own. *M is NULL on failure.
 * Collective. Errors: ARGUMENT, MEMORY, NOT_BUILT; UNITARITY, NOT_FINITE (12 or 8 reals of links
 * off SU(3)). */
kaon_status kaon_dirac_create(kaon_gauge *gauge, const kaon_dirac_options *options,
                              kaon_operator **M);
/* Rebuilds, in place, links and clover blocks of M and of everything made from it (reductions,
 * twins inside solvers) from the gauge field's present links; M may be any of them. After a failure
 * they stay STALE. Collective. Errors: ARGUMENT, SINGULAR, UNITARITY, NOT_FINITE, MEMORY,
 * UNSUPPORTED (no such operator). */
kaon_status kaon_dirac_update(kaon_operator *M);

/* Hopping term: out(x) = sum_mu [(1 - s g_mu) U_mu(x) in(x+mu) + (1 + s g_mu) U_mu(x-mu)^dag
 * in(x-mu)] on the sites x of `parity`, with the operator's anisotropy and boundary.
 *   M        from kaon_dirac_create, or a reduction of it (temporal gauge: its rotated links)
 *   parity   KAON_EVEN or KAON_ODD: of out; in is of the other one
 *   mode     KAON_PLAIN: s = +1, D; KAON_DAGGER: s = -1, D^dagger
 *   in, out  single-parity colour-spinors of M's lattice and precision, equal columns; in is
 *            unchanged
 * Lattice units, no kappa. Collective; asynchronous on CUDA.
 * Errors: ARGUMENT, SHAPE, PRECISION, STALE, UNSUPPORTED, NOT_BUILT. */
kaon_status kaon_dirac_hop(kaon_operator *M, kaon_parity parity, kaon_mode mode,
                           const kaon_vector *in, kaon_vector *out);

typedef enum kaon_even_odd {
  KAON_EVEN_ODD_SYMMETRIC,
  KAON_EVEN_ODD_ASYMMETRIC,
  KAON_EVEN_ODD_NONE
} kaon_even_odd;

typedef struct kaon_even_odd_options {
  size_t size;
  int version;
  kaon_even_odd form; /* symmetric: 1 - kappa^2 A_pp^-1 D_pq A_qq^-1 D_qp; asymmetric: A_pp -
                         kappa^2 D_pq A_qq^-1 D_qp */
  kaon_parity parity; /* p: the sites that are kept, KAON_EVEN or KAON_ODD */
  int temporal_gauge; /* 1: work on links whose t component is the identity on all slices but one */
} kaon_even_odd_options;
#define KAON_EVEN_ODD_OPTIONS_INIT \
  { sizeof(kaon_even_odd_options), 1, KAON_EVEN_ODD_SYMMETRIC, KAON_EVEN, 0 }

/* The even-odd reduction of M (form NONE: M itself, for temporal gauge alone); options NULL: the
 * defaults. M comes from kaon_dirac_create and is kept alive. A solver made on the reduction
 * accepts sources of either space: of M's space it prepares the source, solves, reconstructs and
 * reports M's residual. *reduced is NULL on failure. Collective. Source: DeGrand, Comput. Phys.
 * Commun. 52 (1988) 161; Jansen, Liu, Comput. Phys. Commun. 99 (1997) 221. Errors: ARGUMENT,
 * UNSUPPORTED (M is no such operator), STALE, SINGULAR (a clover block cannot be inverted: site and
 * kappa csw are named), MEMORY, NOT_BUILT; temporal gauge in 12 or 8 reals: UNITARITY, NOT_FINITE.
 */
kaon_status kaon_dirac_even_odd(kaon_operator *M, const kaon_even_odd_options *options,
                                kaon_operator **reduced);

/* The determinant of the clover term on the sites of `parity` (KAON_FULL: on both), which is real:
 * det A = (-1)^negative exp(logdet).
 *   M         from kaon_dirac_create, or a reduction of it
 *   logdet    log |det A|, summed over sites: all that an even number of flavours needs
 *   negative  how many of the 6x6 blocks, two a site, have a negative determinant. An odd number of
 *             flavours needs it: where it is not 0 the field is one on which roots and rational
 *             approximations of det A mean nothing. NULL: a negative det A is refused (ARGUMENT)
 * Both are unchanged after an error. Collective. Errors: ARGUMENT, UNSUPPORTED (csw = 0, or no such
 * operator), STALE, SINGULAR, MEMORY. */
kaon_status kaon_dirac_clover_logdet(kaon_operator *M, kaon_parity parity, double *logdet,
                                     int64_t *negative);

/* The two halves of a reduction R of M, from kaon_dirac_even_odd, for callers with a solver of
 * their own: prepare turns b into the source of R's equation, reconstruct the solution of that into
 * the one of M x = b, where the sites that R keeps come from reduced_x and the others from it and b
 * (form NONE, where b is not read: all from reduced_x). In temporal gauge the rotations are in
 * them. Where R's space is M's (form NONE) kaon's own solvers on R take vectors for M's already: do
 * not prepare and reconstruct besides.
 *   b, x                  of M's space
 *   reduced_b, reduced_x  of R's space
 * All are in R's precision and of equal columns. The result (reduced_b; x) is overwritten and must
 * not be one of the other vectors; these are unchanged. Collective; asynchronous on CUDA. Errors:
 * ARGUMENT, UNSUPPORTED (R is no reduction), SHAPE, PRECISION, ALIAS, STALE, NOT_BUILT, MEMORY. */
kaon_status kaon_operator_prepare(kaon_operator *R, const kaon_vector *b, kaon_vector *reduced_b);
kaon_status kaon_operator_reconstruct(kaon_operator *R, const kaon_vector *reduced_x,
                                      const kaon_vector *b, kaon_vector *x);

/* y = A x, or A^dagger x, of an application's own. x and y: vectors of the operator's space with
 * equal columns, in the precision that the vectors say; x is not to be changed, all of y is to be
 * written. Their numbers are reached by kaon_vector_export and _import, or by operators and vector
 * functions of kaon's. Called by every rank alike, and outside of recorded steps alone: a solve
 * with such an operator issues its steps one by one. Columns that a solver has closed come along,
 * and what is written to them is thrown away. What it returns ends the solve where it is not
 * KAON_OK; on several ranks it has to be the same on all, by kaon_context_agree (ranks.h) where one
 * may fail alone: else the others wait for it. */
typedef kaon_status kaon_shell_apply(void *user, kaon_mode mode, const kaon_vector *x,
                                     kaon_vector *y);

typedef struct kaon_shell_options {
  size_t size;
  int version;
  kaon_precision precision; /* of the vectors that `apply` is handed: double or single */
  int any_precision;        /* 1: it takes double and single, so that solvers may mix them */
  double flops;             /* kaon_cost of an application to one column; 0: not known */
  double bytes;
} kaon_shell_options;
#define KAON_SHELL_OPTIONS_INIT \
  { sizeof(kaon_shell_options), 1, KAON_DOUBLE, 0, 0.0, 0.0 }

/* An operator on vectors of `space` that does what `apply` does, for solvers and wherever kaon
 * takes an operator; options NULL: the defaults. user: handed on, and kept alive by the caller.
 * Keeps the space alive. *A is NULL on failure. Collective. Errors: ARGUMENT, UNSUPPORTED (half
 * precision), MEMORY. */
kaon_status kaon_operator_create_shell(const kaon_space *space, kaon_shell_apply *apply, void *user,
                                       const kaon_shell_options *options, kaon_operator **A);

#ifdef __cplusplus
}
#endif
#endif
