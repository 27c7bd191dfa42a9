/* sparse_precond.h - preconditioners made of the entries of a sparse matrix. (Those that need its
 * diagonal and products alone: kaon/precond.h.) */
#ifndef KAON_SPARSE_PRECOND_H
#define KAON_SPARSE_PRECOND_H

#include <kaon/sparse.h>

#ifdef __cplusplus
extern "C" {
#endif

/* With D, L, U the diagonal and the strict triangles of A, rows in the order of `order`:
 *   BLOCK_JACOBI  inverses of the diagonal blocks of `block` consecutive rows
 *   DIC, DILU     ((E + L) E^-1 (E + U))^-1 with a diagonal E such that the product's diagonal is
 *                 A's: OpenFOAM's simplified incomplete factors; DIC for Hermitian A
 *   SSOR          omega (2 - omega) (D + omega U)^-1 D (D + omega L)^-1
 *   GS            symmetric Gauss-Seidel, colour by colour: SSOR with omega = 1 in colour order
 *   IC0, ILU0     incomplete factors without fill; IC0 for Hermitian A
 *   AINV          a sparse approximate inverse in factors, Z D^-1 W^H, two products: SAINV for
 *                 Hermitian A (W = Z), biconjugation otherwise
 *   FSAI          the factorised sparse approximate inverse G^H G, two products: G on the lower
 *                 triangle of the pattern of A^power, (G A)_ij = 0 there but on the diagonal, and
 *                 diag(G A G^H) = 1; for Hermitian positive definite A */
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

/* NATURAL: the order that the matrix was given in, or that its options ask for (kaon_ordering).
 * COLOUR: by colours of a greedy colouring, so that rows of a colour, which no entry joins, are
 * worked on at once: few levels, more steps of a solver. (GS has it always.) */
typedef enum kaon_precond_order { KAON_PRECOND_NATURAL, KAON_PRECOND_COLOUR } kaon_precond_order;

typedef struct kaon_precond_options {
  size_t size;
  int version;
  kaon_precond_kind kind;
  kaon_precond_order order;
  kaon_precision precision; /* of vectors: double or single; HALF: of the values alone, 16 bits and
                               a scale a row, with vectors in single: K is then Hermitian to these
                               16 bits only */
  int sweeps;   /* of DIC to ILU0; 0: triangles are solved exactly, level by level; else by so many
                   Jacobi sweeps each, products with sparse matrices (Hermitian K for Hermitian A) */
  double omega; /* of SSOR, in (0, 2) */
  int block;    /* rows of a block, 1 to 32 */
  double drop;  /* AINV: entries below it are left out (A scaled to a diagonal of 1); 0: none */
  int fill;     /* AINV: at most so many entries a direction beside its own; 0: no limit */
  double shift; /* the factors are those of A with its diagonal times 1 + shift */
  int tries;    /* after a breakdown the shift is doubled, from 1e-3, and all is done again, so many
                   times. Manteuffel, Math. Comp. 34 (1980) 473 */
  int power;    /* FSAI: G has the pattern of A^power, 1 to 8. Making a row takes the third power of
                   its entries, which for 2 are 2 to 3 times those for 1 in the plane */
} kaon_precond_options;
#define KAON_PRECOND_OPTIONS_INIT                                                                 \
  {                                                                                               \
    sizeof(kaon_precond_options), 1, KAON_PRECOND_IC0, KAON_PRECOND_NATURAL, KAON_DOUBLE, 0, 1.0, \
        4, 0.1, 0, 0.0, 0, 1                                                                      \
  }

/* K ~ A^-1 on vectors of the matrix' space, linear, the same at every application, KAON_DAGGER
 * included; recorded by a device like any other operator. On several ranks it is made of each
 * rank's own rows and columns (additive Schwarz without overlap between ranks), and sends nothing.
 * It keeps the matrix alive. Factorised by one thread, on the host (FSAI by all of the context's,
 * with the bits of one); its twins in other precisions, which solvers make where they need them,
 * and the adjoint of factors that are not Hermitian anew. options NULL: the defaults. *K is NULL on
 * failure. Collective. Sources: sparse/precond/factors.h. Errors: ARGUMENT (an option out of range; DIC,
 * IC0, FSAI: A is not Hermitian), SINGULAR (a breakdown: the row, in the caller's numbers, and its
 * pivot), NOT_BUILT, MEMORY. */
kaon_status kaon_precond_create(kaon_matrix *matrix, const kaon_precond_options *options,
                                kaon_operator **K);

typedef struct kaon_precond_info {
  kaon_precond_options options;
  double shift;    /* that it was made with */
  int64_t entries; /* stored, of this rank */
  int levels;      /* of both triangles together, on this rank; 0: there are none */
  int colours;     /* COLOUR order; else 0 */
  double seconds;  /* that its making took, on this rank */
} kaon_precond_info;
/* Not collective. Errors: ARGUMENT (not made by kaon_precond_create). */
kaon_status kaon_precond_describe(const kaon_operator *K, kaon_precond_info *info);

#ifdef __cplusplus
}
#endif
#endif
