/* bench_step.c - the traffic of a step of a Krylov method on a matrix. Counts are those of the
 * heads of solvers/methods, with every possible fusion. */
#include "bench/bench_matrix.h"

/* Vectors read and written besides the products. `with`: with a preconditioner. `scaled`: where a
 * diagonal preconditioner is fused into the updates (0, 0: there is no such case). */
typedef struct step_cost {
  int products, preconditions; /* of A (and A^dag), of K (and K^dag) */
  double plain[2], with[2], scaled[2];
} step_cost;

static const step_cost costs[] = {[KAON_CG] = {1, 1, {5, 3}, {5, 3}, {6, 4}},
                                  [KAON_PIPECG] = {1, 1, {7, 6}, {10, 8}, {8, 7}},
                                  [KAON_GROPPCG] = {1, 1, {8, 4}, {10, 5}, {0, 0}},
                                  [KAON_CHRONGEAR] = {1, 1, {5, 4}, {8, 4}, {6, 5}},
                                  [KAON_BICG] = {2, 2, {10, 5}, {9, 5}, {0, 0}},
                                  [KAON_BICGSTAB] = {2, 2, {10, 4}, {11, 4}, {0, 0}},
                                  [KAON_RBICGSTAB] = {2, 2, {17, 8}, {15, 6}, {0, 0}},
                                  [KAON_PIPEBICGSTAB] = {2, 2, {15, 8}, {15, 8}, {0, 0}},
                                  [KAON_CGNR] = {2, 0, {5, 3}, {0, 0}, {0, 0}},
                                  [KAON_CGNE] = {2, 0, {5, 3}, {0, 0}, {0, 0}},
                                  [KAON_MR] = {1, 0, {3, 2}, {0, 0}, {0, 0}},
                                  [KAON_BLOCKCG] = {1, 0, {8, 4}, {0, 0}, {0, 0}},
                                  [KAON_JACOBI] = {1, 0, {6, 3}, {0, 0}, {0, 0}},
                                  [KAON_RICHARDSON] = {0, 0, {0, 0}, {0, 0}, {0, 0}}};

bench_step bench_count_step(const linear *l, int columns, int ahead) {
  const kaon_method method = l->options.method;
  const step_cost *c = &costs[method];
  const int k = l->options.subspace, jacobi = l->args->precond == PRECOND_JACOBI;
  const double gcr[2] = {k + 5.0 + (k + 1.0) / k, 3 + 1.0 / k};
  const int scaled = l->K && jacobi && c->scaled[0] > 0;
  const double *moved = method == KAON_GCR ? gcr : scaled ? c->scaled : l->K ? c->with : c->plain;
  const int products = method == KAON_GCR ? 1 : c->products;
  const int preconditions = scaled ? 0 : method == KAON_GCR ? 1 : c->preconditions;
  const double size = bench_size(l->options.sloppy == KAON_DOUBLE ? KAON_DOUBLE : KAON_SINGLE);
  const int again = !ahead ? 0
                    : l->K ? 3
                           : 2; /* additional reads: s and w; s, w and q; with d: s, m and d */
  bench_step step = {.read = moved[0] + again, .written = moved[1]};
  kaon_cost A = {0}, K = {0};
  const int mixed = l->options.sloppy != l->precision;
  /* the cost of an operator in another precision is not known */
  if (mixed || moved[0] == 0 || kaon_operator_cost(l->A, columns, &A) != KAON_OK) return step;
  if (l->K && preconditions && kaon_operator_cost(l->K, columns, &K) != KAON_OK) return step;
  double sum = products * A.bytes + preconditions * K.bytes +
               (step.read + step.written) * size * (double)(l->info.rows * l->info.reals);
  if (ranks_sum(&sum, 1) == KAON_OK) step.bytes = sum * columns;
  return step;
}
