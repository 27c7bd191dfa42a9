/* bench_async_condition.h - condition numbers in the 1-norm, for table 1 of bench async. */
#ifndef KAON_CLI_BENCH_ASYNC_CONDITION_H
#define KAON_CLI_BENCH_ASYNC_CONDITION_H

#include "bench_relax.h"

/* Of A and of D^-1 A; NaN where they are not estimated: A not Hermitian positive definite, complex,
 * or on several ranks, or a solve that did not converge. */
typedef struct condition {
  double plain, scaled;
  int solves;
} condition;
/* Exit status. */
int condition_estimate(relax_bench *r, condition *c);

#endif
