/** @file operator.h
 * Operators y = A x: Dirac operators, their even-odd reductions, operators of the application. */
#ifndef KAON_OPERATOR_H
#define KAON_OPERATOR_H

#include <kaon/gauge.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A linear operator, from vectors of one space to vectors of the same or of another space. */
typedef struct kaon_operator kaon_operator;

/** A or its adjoint. */
typedef enum kaon_mode { KAON_PLAIN, KAON_DAGGER } kaon_mode;

/** `y = A x` or `y = A^dagger x` on every column. x and y are of A's space and precision with equal
 * columns. If A maps between two spaces, y is of kaon_operator_range(); with KAON_DAGGER, x is of
 * it and y of kaon_operator_space(). x and y must not alias. x is unchanged, y is overwritten.
 * Collective; asynchronous on CUDA.
 * Errors: ARGUMENT, SHAPE, PRECISION, ALIAS, STALE (what A was made of has changed; the sentence
 * names the calls that update A), STATE (A is being applied already), UNSUPPORTED (this operator
 * has no adjoint), NOT_BUILT, MEMORY (only with more columns than ever before). A solver used as
 * operator adds those of kaon_solver_solve(). */
KAON_API kaon_status kaon_operator_apply(kaon_operator *A, kaon_mode mode, const kaon_vector *x,
                                         kaon_vector *y);
/** Destroys an operator. What was made from it, such as a solver, keeps it alive. */
KAON_API void kaon_operator_destroy(kaon_operator **A);

/** Creates A^dagger as an operator, for example to solve A^dagger x = b. It maps vectors of
 * kaon_operator_range() to vectors of kaon_operator_space(). A is retained. The result follows
 * kaon_dirac_update() and the like; it is no reduction, whatever A is. Collective. Errors: ARGUMENT,
 * MEMORY. If A has no adjoint, applications are UNSUPPORTED. */
KAON_API kaon_status kaon_operator_adjoint(kaon_operator *A, kaon_operator **adjoint);
/** Creates A^dagger A as an operator on kaon_operator_space() of A, for example to solve M^dagger M x
 * = phi of two flavours. It is Hermitian and positive definite, unless A is singular: for method cg,
 * kaon_multishift_create() and functions of matrices. An application is one of A and one of
 * A^dagger. For A A^dagger take kaon_operator_normal() of kaon_operator_adjoint(). Otherwise as
 * kaon_operator_adjoint(). Collective. Errors: ARGUMENT, MEMORY. */
KAON_API kaon_status kaon_operator_normal(kaon_operator *A, kaon_operator **normal);

/** Space of A's vectors; of x in `y = A x`, where A maps between two spaces. Local. */
KAON_API const kaon_space *kaon_operator_space(const kaon_operator *A);
/** Space of y in `y = A x`. It differs from kaon_operator_space() only if kaon_shell_create() made
 * A between two spaces. Solvers, preconditioners and kaon_spectrum_estimate() refuse such an A
 * (SHAPE). Local. */
KAON_API const kaon_space *kaon_operator_range(const kaon_operator *A);
/** Precision of A's vectors. Local. */
KAON_API kaon_precision kaon_operator_precision(const kaon_operator *A);

/** Cost of one application to one column, on this rank (docs/conventions.md, "Cost"). Fixed
 * size. */
typedef struct kaon_cost {
  double flops;
  double bytes; /**< ideal traffic, if `columns` columns are applied together */
} kaon_cost;
/** Cost with `columns` (at least 1) columns at once. For a solver used as operator: of all its
 * steps. Local. Errors: ARGUMENT. */
KAON_API kaon_status kaon_operator_cost(const kaon_operator *A, int columns, kaon_cost *cost);

/** Options of Wilson, clover and twisted-mass operators. */
typedef struct kaon_dirac_options {
  size_t size;
  int version;
  double kappa;      /**< hopping parameter, 1 / (2 mass + 8); 1 / (2 (1 + 3 anisotropy + mass)) */
  double csw;        /**< clover coefficient. 0: Wilson */
  double anisotropy; /**< factor nu / xi_0 of the spatial hops. 1: isotropic */
  kaon_precision precision; /**< of vectors, and of the links that the operator keeps */
  kaon_reconstruct reconstruct;
  double mu; /**< twisted mass of one flavour, of either sign. 0: none */
  double
      csw_electric; /**< clover coefficient of the planes with t, divided by csw. 1: they have the
                            same; anisotropic lattices need two */
} kaon_dirac_options;
/** Defaults. */
#define KAON_DIRAC_OPTIONS_INIT                                                               \
  {                                                                                           \
    sizeof(kaon_dirac_options), KAON_OPTIONS_VERSION(KAON_OPTIONS_DIRAC, 1), 0.125, 0.0, 1.0, \
        KAON_DOUBLE, KAON_RECONSTRUCT_18, 0.0, 1.0                                            \
  }

/** Creates M = A + 2 i kappa mu gamma_5 - kappa D on spinors of all sites (docs/conventions.md).
 * `options` NULL: the defaults. With mu = 0 the operator is Wilson's, in every bit.
 *
 * M keeps the gauge field alive. It becomes STALE when the links change, until kaon_dirac_update().
 * If the field is stored in another way than the options say, M has a copy of the links.
 * Collective. Errors: ARGUMENT, STALE (links of kaon_fatten() whose thin links changed), MEMORY,
 * NOT_BUILT; UNITARITY, NOT_FINITE (12 or 8 reals of links off SU(3)); UNSUPPORTED (half precision
 * of components above 1). */
KAON_API kaon_status kaon_dirac_create(kaon_gauge *gauge, const kaon_dirac_options *options,
                                       kaon_operator **M);
/** kaon_dirac_create() with a clover term A of the application in place of one made from links.
 *
 * - `options`: as there, with csw = 0; NULL: the defaults
 * - `order`: of sites. KAON_ORDER_NATURAL: lexicographic; KAON_ORDER_MILC: even sites first
 * - `host_precision`: KAON_DOUBLE or KAON_SINGLE, the type of the reals
 * - `term`: 72 reals a site, two blocks of 36, in memory of the host or of the context's device.
 *   With several ranks it has this rank's part. It is copied
 *
 * A contains the 1 and the coefficient. Its blocks are Hermitian 6x6 matrices, on spins 0, 1 and on
 * spins 2, 3 of KAON_BASIS_DEGRAND_ROSSI, with index 3 spin + colour. A block is stored as 6
 * diagonal reals, then 15 complex elements below the diagonal, column by column: (1,0), (2,0) to
 * (5,0), (2,1) and so on. This is QUDA's packed order.
 *
 * M becomes STALE when the links change, until kaon_dirac_set_clover(). It has no reduction in
 * temporal gauge. Collective. Errors: those of kaon_dirac_create(); NOT_FINITE also for a number of
 * the term, with its site; ARGUMENT also for csw other than 0, and for memory of another device. */
KAON_API kaon_status kaon_dirac_create_clover(kaon_gauge *gauge, const kaon_dirac_options *options,
                                              kaon_gauge_order order, kaon_precision host_precision,
                                              const void *term, kaon_operator **M);
/** Gives M another clover term, and takes the gauge field's present links: kaon_dirac_update() for
 * operators of kaon_dirac_create_clover(). All that was made from M follows; M may be any of them.
 * `order`, `host_precision` and `term` are as there. A refused term (ARGUMENT, NOT_FINITE) changes
 * nothing; after other failures M may be STALE. Collective. Errors: those of kaon_dirac_update(); ARGUMENT,
 * NOT_FINITE; UNSUPPORTED (M was made in another way). */
KAON_API kaon_status kaon_dirac_set_clover(kaon_operator *M, kaon_gauge_order order,
                                           kaon_precision host_precision, const void *term);

/** Options of domain-wall operators. */
typedef struct kaon_domain_wall_options {
  size_t size;
  int version;
  double mass;              /**< of the quark, in lattice units */
  double m5;                /**< domain-wall height M_5; between 0 and 2 for one quark */
  int ls;                   /**< sites of the fifth dimension, 1 to 64 */
  kaon_precision precision; /**< of vectors, and of the links that the operator keeps */
  kaon_reconstruct reconstruct;
} kaon_domain_wall_options;
/** Defaults. */
#define KAON_DOMAIN_WALL_OPTIONS_INIT                                                              \
  {                                                                                                \
    sizeof(kaon_domain_wall_options), KAON_OPTIONS_VERSION(KAON_OPTIONS_DOMAIN_WALL, 1), 0.1, 1.8, \
        8, KAON_DOUBLE, KAON_RECONSTRUCT_18                                                        \
  }

/** Creates Shamir's domain-wall operator on spinors with a fifth dimension, those of
 * kaon_lattice_spinors_5d() on all sites (docs/conventions.md):
 *
 *     (M psi)_s = (D_W(-m5) + 1) psi_s - P- psi_(s+1) - P+ psi_(s-1)
 *
 * with D_W(m) = m + 4 - D / 2 and P+- = (1 +- gamma_5) / 2. Across the ends, from s = ls - 1 to 0
 * and back, both shifts have the factor -mass. `options` NULL: the defaults.
 *
 * Columns are right-hand sides; each has all ls sites. kaon_dirac_update(), kaon_dirac_hop() and
 * kaon_dirac_even_odd() accept the operator. Even and odd are those of four dimensions, and T of
 * #kaon_even_odd is the part of M without hops. Otherwise as kaon_dirac_create(). Collective.
 * Errors: those of kaon_dirac_create(); SINGULAR (T has no inverse). */
KAON_API kaon_status kaon_domain_wall_create(kaon_gauge *gauge,
                                             const kaon_domain_wall_options *options,
                                             kaon_operator **M);

/** Rebuilds links and clover blocks from the gauge field's present links, in place: of M and of all
 * that was made from it (reductions, copies in other precisions inside solvers). M may be any of
 * them. After a failure all of them are STALE. Collective. Errors: ARGUMENT, STALE (links of
 * kaon_fatten() whose thin links changed), SINGULAR, UNITARITY, NOT_FINITE, MEMORY, UNSUPPORTED (no
 * such operator, or one that needs kaon_dirac_set_clover()). */
KAON_API kaon_status kaon_dirac_update(kaon_operator *M);

/** Hopping term on the sites x of `parity`:
 *
 *     out(x) = sum_mu [(1 - s g_mu) U_mu(x) in(x + mu) + (1 + s g_mu) U_mu(x - mu)^dag in(x - mu)]
 *
 * with the operator's anisotropy and boundary, without kappa.
 *
 * - `M`: from kaon_dirac_create(), or a reduction of it (temporal gauge: its rotated links)
 * - `parity`: KAON_EVEN or KAON_ODD, of `out`; `in` has the other one
 * - `mode`: KAON_PLAIN: s = +1, D. KAON_DAGGER: s = -1, D^dagger
 * - `in`, `out`: spinors of one parity, of M's lattice and precision, with equal columns; `in` is
 *   unchanged
 *
 * Collective; asynchronous on CUDA. Errors: ARGUMENT, SHAPE, PRECISION, STALE, UNSUPPORTED,
 * NOT_BUILT. */
KAON_API kaon_status kaon_dirac_hop(kaon_operator *M, kaon_parity parity, kaon_mode mode,
                                    const kaon_vector *in, kaon_vector *out);

/** Multiplies by the part of M within a site: out = T in with T as in #kaon_even_odd, or out = T^-1
 * in if `inverse` is 1; with KAON_DAGGER by its adjoint.
 *
 * - `M`: from any constructor of this header, or a reduction of it. In temporal gauge
 *   T is the rotated one
 * - `in`, `out`: spinors on the sites of `parity`, KAON_EVEN or KAON_ODD, of M's lattice and
 *   precision, with equal columns. They may be the same vector
 *
 * The first call with T^-1 computes and keeps it. Collective; asynchronous on CUDA. Errors:
 * ARGUMENT, SHAPE, PRECISION, STALE, SINGULAR, UNSUPPORTED, MEMORY, NOT_BUILT. */
KAON_API kaon_status kaon_dirac_site(kaon_operator *M, kaon_parity parity, kaon_mode mode,
                                     int inverse, const kaon_vector *in, kaon_vector *out);

/** Forms of the even-odd reduction to the sites p, with q the other ones, and
 * T = A + 2 i kappa mu gamma_5.
 *
 * - SYMMETRIC: 1 - kappa^2 T_pp^-1 D_pq T_qq^-1 D_qp
 * - ASYMMETRIC: T_pp - kappa^2 D_pq T_qq^-1 D_qp
 * - NONE: M itself, for temporal gauge alone */
typedef enum kaon_even_odd {
  KAON_EVEN_ODD_SYMMETRIC,
  KAON_EVEN_ODD_ASYMMETRIC,
  KAON_EVEN_ODD_NONE
} kaon_even_odd;

/** Options of the even-odd reduction. */
typedef struct kaon_even_odd_options {
  size_t size;
  int version;
  kaon_even_odd form;
  kaon_parity parity; /**< p, the sites that are kept: KAON_EVEN or KAON_ODD */
  int temporal_gauge; /**< 1: use links whose t component is the identity on all slices but one */
} kaon_even_odd_options;
/** Defaults. */
#define KAON_EVEN_ODD_OPTIONS_INIT                                                 \
  {                                                                                \
    sizeof(kaon_even_odd_options), KAON_OPTIONS_VERSION(KAON_OPTIONS_EVEN_ODD, 1), \
        KAON_EVEN_ODD_SYMMETRIC, KAON_EVEN, 0                                      \
  }

/** Creates the even-odd reduction of M, which comes from kaon_dirac_create() or
 * kaon_dirac_create_clover() and is retained.
 * `options` NULL: the defaults.
 *
 * A solver that was made on the reduction accepts right-hand sides of either space. For one of M's
 * space it prepares the source, solves, reconstructs, and reports M's residual. Collective. Errors:
 * ARGUMENT, UNSUPPORTED (no such operator; temporal gauge with a given clover term), STALE,
 * SINGULAR (a clover block; with site and kappa csw), MEMORY, NOT_BUILT; in temporal gauge:
 * UNITARITY (links off U(3); 12 or 8 reals: off SU(3)), NOT_FINITE.
 *
 * Sources: DeGrand, Comput. Phys. Commun. 52 (1988) 161; Jansen, Liu, Comput. Phys. Commun. 99
 * (1997) 221. */
KAON_API kaon_status kaon_dirac_even_odd(kaon_operator *M, const kaon_even_odd_options *options,
                                         kaon_operator **reduced);

/** Determinant of the clover term A on the sites of `parity` (KAON_FULL: all). It is
 * real: det A = (-1)^negative exp(logdet).
 *
 * - `M`: from kaon_dirac_create(), kaon_dirac_create_clover(), or a reduction of it
 * - `logdet`: log |det A|, summed over sites. An even number of flavours needs no more
 * - `negative`: number of 6x6 blocks, two a site, with a negative determinant. An odd number of
 *   flavours needs it: unless it is 0, roots and rational approximations of det A mean nothing on
 *   this field. NULL: a negative determinant is refused (ARGUMENT)
 *
 * M with mu is refused: its site term is A + 2 i kappa mu gamma_5, with another determinant, and a
 * pair of flavours +-mu needs log det(A^2 + 4 kappa^2 mu^2). For det A make M with mu = 0.
 *
 * After an error both are unchanged. Collective. Errors: ARGUMENT, UNSUPPORTED (no clover term, mu
 * not 0, or no such operator), STALE, SINGULAR, MEMORY. */
KAON_API kaon_status kaon_dirac_clover_logdet(kaon_operator *M, kaon_parity parity, double *logdet,
                                              int64_t *negative);

/** Prepares the source of a reduction R's equation from b, for callers with a solver of their own.
 *
 * b is of M's space, reduced_b of R's space, both in R's precision with equal columns. reduced_b is
 * overwritten and is not b. In temporal gauge the rotation is included. If R has M's space (form
 * NONE), kaon's own solvers on R take M's vectors: do not prepare and reconstruct for these.
 * Collective; asynchronous on CUDA. Errors: ARGUMENT, UNSUPPORTED (R is no reduction), SHAPE,
 * PRECISION, ALIAS, STALE, NOT_BUILT, MEMORY. */
KAON_API kaon_status kaon_operator_prepare(kaon_operator *R, const kaon_vector *b,
                                           kaon_vector *reduced_b);
/** Makes the solution x of M x = b from the solution of R's equation. The sites that R keeps are
 * taken from reduced_x, the others computed from it and from b. With form NONE all come from
 * reduced_x, and b is not read. b and x are of M's space, reduced_x of R's; x is overwritten and is
 * none of the others. Otherwise as kaon_operator_prepare(), with the same errors. Collective;
 * asynchronous on CUDA. */
KAON_API kaon_status kaon_operator_reconstruct(kaon_operator *R, const kaon_vector *reduced_x,
                                               const kaon_vector *b, kaon_vector *x);

/** Computes y = A x, or A^dagger x, for an operator of the application.
 *
 * x and y have equal columns. x is of the operator's space and y of its range, or the other way
 * round for A^dagger; kaon_vector_precision() tells their precision. x must not change, and all of
 * y must be written. The context's option `check` finds what is not: y then holds NaN before.
 * Reach the numbers in place by kaon_vector_locate(), or by kaon_vector_export(),
 * kaon_vector_import() and other kaon functions. Objects that are at work, such as the solver that
 * applies this operator, or the operator itself, must not be used: they answer STATE. An operator
 * without adjoint returns KAON_ERR_UNSUPPORTED for KAON_DAGGER.
 *
 * All ranks are called alike. A solve with such an operator issues its steps one by one. Columns
 * that are already solved are still passed; what is written to them is ignored. A status other than
 * KAON_OK ends the solve. It must be the same on all ranks: use kaon_context_agree() where one may
 * fail alone, or the other ranks wait. */
typedef kaon_status kaon_shell_apply(void *user, kaon_mode mode, const kaon_vector *x,
                                     kaon_vector *y);

/** Options of an operator of the application. */
typedef struct kaon_shell_options {
  size_t size;
  int version;
  kaon_precision precision; /**< of the vectors that the function gets: double or single */
  int any_precision;        /**< 1: it takes double and single, so that solvers may mix them */
  double flops;             /**< cost of an application to one column. 0: not known */
  double bytes;             /**< likewise */
} kaon_shell_options;
/** Defaults. */
#define KAON_SHELL_OPTIONS_INIT                                                                   \
  {                                                                                               \
    sizeof(kaon_shell_options), KAON_OPTIONS_VERSION(KAON_OPTIONS_SHELL, 1), KAON_DOUBLE, 0, 0.0, \
        0.0                                                                                       \
  }

/** Creates an operator on vectors of `space` that calls `apply`. It can be used wherever kaon takes
 * an operator. kaon_shell_create() takes more functions, and two spaces. `options` NULL: the
 * defaults. `user` is passed on and stays owned by the caller. The space is retained. Collective.
 * Errors: ARGUMENT, UNSUPPORTED (half precision), MEMORY. */
KAON_API kaon_status kaon_operator_create_shell(const kaon_space *space, kaon_shell_apply *apply,
                                                void *user, const kaon_shell_options *options,
                                                kaon_operator **A);

/** Functions of an operator of the application. Only `apply` is needed; the others may be NULL.
 * `user` is the pointer that the operator was created with. All but `destroy` return a status as
 * `apply` does, and all ranks are called alike. New operators (`twin`, `local`, `absolute`) are of
 * the same space, and belong to kaon, which destroys them. */
typedef struct kaon_shell_methods {
  size_t size;
  int version;
  /** y = A x or A^dagger x. */
  kaon_shell_apply *apply;
  /** The same operator in another precision, so that solvers may mix precisions. If half is asked
   * for, a twin in single is accepted. NULL: as the option any_precision says. */
  kaon_status (*twin)(void *user, kaon_precision precision, kaon_operator **twin);
  /** A without the couplings between ranks, in this precision. For Schwarz preconditioners with one
   * block for each rank. */
  kaon_status (*local)(void *user, kaon_precision precision, kaon_operator **local);
  /** Writes the diagonal of A to all columns of d, which is of A's space in A's precision or in
   * that of a twin. For Jacobi and Chebyshev preconditioners. */
  kaon_status (*diagonal)(void *user, kaon_vector *d);
  /** Allocates what applications to `columns` columns in this mode need. Called before a solve. */
  kaon_status (*reserve)(void *user, kaon_mode mode, int columns);
  /** For a diagonal A: its diagonal in this precision, as one column. The application owns it, and
   * keeps it unchanged as long as A lives. Solvers then multiply by it in their own passes. */
  kaon_status (*factors)(void *user, kaon_precision precision, const kaon_vector **d);
  /** |A|, whose entries are the absolute values of A's, for kaon_spectrum_estimate(). */
  kaon_status (*absolute)(void *user, kaon_precision precision, kaon_operator **absolute);
  /** Called once, when A and all that was made from it are destroyed. */
  void (*destroy)(void *user);
} kaon_shell_methods;
/** No function: fill in `apply` and others. */
#define KAON_SHELL_METHODS_INIT \
  { sizeof(kaon_shell_methods), 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL }

/** Creates an operator of the application, from vectors of `space` to vectors of `range`.
 *
 * - `range`: NULL for `space`. Between two spaces only `apply`, `twin`, `reserve` and `destroy` may
 *   be given. The spaces are retained
 * - `methods`: copied
 * - `user`: passed to every function
 * - `options`: NULL for the defaults
 *
 * If creation fails, `destroy` is not called. Collective. Errors: ARGUMENT (no `apply`, spaces of
 * two contexts, a function that is not for two spaces), UNSUPPORTED (half precision), MEMORY. */
KAON_API kaon_status kaon_shell_create(const kaon_space *space, const kaon_space *range,
                                       const kaon_shell_methods *methods, void *user,
                                       const kaon_shell_options *options, kaon_operator **A);
/** Reports that the numbers behind an operator of the application have changed. What was made of
 * it, such as the interval of kaon_precond_chebyshev(), follows at its next use. Operators that its
 * functions made (`twin`, `local`) need no call. To be called on all ranks. Local. Errors:
 * ARGUMENT, UNSUPPORTED (A is no operator of the application). */
KAON_API kaon_status kaon_shell_changed(kaon_operator *A);

#ifdef __cplusplus
}
#endif
#endif
