/* shell_operator.h - any linear map on host arrays as a kaon_operator in any precision, so that
 * solvers are tested without physics.
 *
 * A shell acts on the numbers of a spinor space in lexicographic order. Its twins in lower
 * precision round what they read and write, exactly as stored vectors do. It works on the host:
 * each application exports its columns. Its local parts are blocks of block[0] sites in that
 * order, in two alternating colours. Include the cmocka preamble before. */
#ifndef SHELL_OPERATOR_H
#define SHELL_OPERATOR_H

#include <complex.h>

#include <kaon/kaon.h>

#include "lib/comm/comm.h"
#include "lib/operator/operator_internal.h"

typedef double complex shell_complex;
/* y = A x (dagger = 0) or A^dagger x over n numbers. */
typedef void shell_map(const void *user, int dagger, size_t n, const shell_complex *x,
                       shell_complex *y);

/* A lattice whose full spinor space is the shells' vector space; n = 12 sites. space: of vectors
 * made below; a test sets it if its operator is not a shell. */
typedef struct {
  kaon_context *ctx;
  kaon_lattice *lattice;
  const kaon_space *space;
  size_t n;
} shell_case;

/* Where shell_open makes its context (machine.h). */
extern int shell_machine;
void shell_open(shell_case *c, const int extents[4], int threads);
void shell_close(shell_case *c);

/* `user` must outlive the operator and its twins. */
kaon_operator *shell_operator(shell_case *c, kaon_precision precision, shell_map *map,
                              const void *user);
/* The same map as a matrix of the library, whose entries are obtained from the map. Applications
 * stay where the vectors are, so a device repeats steps by itself. Vectors belong to its
 * kaon_operator_space. The library's matrices have none in half: twins in half round what a single
 * one reads and writes. */
kaon_operator *shell_matrix(shell_case *c, kaon_precision precision, shell_map *map,
                            const void *user);
/* A matrix where shell_machine is a device, else a shell, in double; c->space becomes its space. */
kaon_operator *shell_placed(shell_case *c, shell_map *map, const void *user);
/* Applications so far (columns together count once), of a shell and all its twins. */
int shell_applications(const kaon_operator *A);

kaon_vector *shell_vector(shell_case *c, kaon_precision precision, int columns);
void shell_import(shell_case *c, kaon_vector *v, int column, const shell_complex *x);
void shell_export(shell_case *c, const kaon_vector *v, int column, shell_complex *x);
/* n numbers, real and imaginary parts uniform in [-1, 1]. Free with free(). */
shell_complex *shell_random(const shell_case *c, uint64_t seed);
/* A new vector with different random columns from `seed` on. */
kaon_vector *shell_random_vector(shell_case *c, kaon_precision precision, int columns,
                                 uint64_t seed);
/* |b - A x| / |b| of one column, by the map itself in double. */
double shell_residual(shell_case *c, shell_map *map, const void *user, const kaon_vector *b,
                      const kaon_vector *x, int column);

/* ---- maps ---- */

/* Diagonal with `distinct` eigenvalues spread evenly in [low, high]; user = spectrum. */
typedef struct {
  int distinct;
  double low, high;
} spectrum;
shell_map map_diagonal;

/* A chain with complex phases: (2 + mass) x_i - (1 + wind) e^{-i phase} x_{i-1}
 * - (1 - wind) e^{i phase} x_{i+1}, open ends. wind = 0: Hermitian positive definite Laplacian;
 * else convection-diffusion. */
typedef struct {
  double mass, wind, phase;
} chain;
shell_map map_chain;

/* Dense, row-major n x n. */
shell_map map_dense;

/* A gather of tests that pretend to have more ranks: all of them have what this one has. */
kaon_status shell_gather(kaon_comm *comm, const double *mine, int n, double *all);

#endif
