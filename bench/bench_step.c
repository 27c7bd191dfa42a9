/* bench_step.c - the traffic of a step of a Krylov method on a matrix: its cost as the library says it,
 * with every possible fusion. */
#include "bench/bench_matrix.h"

bench_step bench_count_step(const linear *l, int columns, int ahead) {
  const kaon_method_info method = method_info(l->options.method);
  const int scaled = l->K && l->args->precond == PRECOND_JACOBI && method.diagonal.read > 0;
  const kaon_method_cost *cost = scaled ? &method.diagonal : l->K ? &method.with : &method.cost;
  const int preconditions = scaled ? 0 : method.preconditions;
  const double cycle = method.cycles ? l->options.subspace : 0;
  const double end = cycle > 0 ? 1 / cycle : 0;
  /* what a sweep of projections moves is not known */
  const int known = cost->read > 0 && l->projections != KAON_KACZMARZ_SWEEP;
  const double size = bench_size(l->options.sloppy == KAON_DOUBLE ? KAON_DOUBLE : KAON_SINGLE);
  const int again = !ahead ? 0
                    : l->K ? 3
                           : 2; /* additional reads: s and w; s, w and q; with d: s, m and d */
  bench_step step = {.read = (known ? cost->read + cycle + end : 0) + again,
                     .written = known ? cost->written + end : 0};
  kaon_cost A = {0}, K = {0};
  const int mixed = l->options.sloppy != l->precision;
  /* the cost of an operator in another precision is not known */
  if (mixed || !known || kaon_operator_cost(l->A, columns, &A) != KAON_OK) return step;
  if (l->K && preconditions && kaon_operator_cost(l->K, columns, &K) != KAON_OK) return step;
  double sum = method.products * A.bytes + preconditions * K.bytes +
               (step.read + step.written) * size * (double)(l->info.rows * l->info.reals);
  if (ranks_sum(&sum, 1) == KAON_OK) step.bytes = sum * columns;
  return step;
}
