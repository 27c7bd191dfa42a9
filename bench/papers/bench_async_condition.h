/* bench_async_condition.h - condition numbers in the 1-norm, for table 1 of bench async. */
#ifndef KAON_BENCH_ASYNC_CONDITION_H
#define KAON_BENCH_ASYNC_CONDITION_H

#include "bench/papers/bench_relax.h"

/* A condition number, NaN where there is none. why: "", or why there is none or only a lower bound.
 */
typedef struct condition_number {
  double value;
  int bound;
  const char *why;
} condition_number;
/* Of A and of D^-1 A. There are none where A is complex, not Hermitian positive definite, or on
 * several ranks. */
typedef struct condition {
  condition_number plain, scaled;
  int solves;
} condition;
/* Takes about CONDITION_SECONDS for each of the two. Exit status. */
enum { CONDITION_SECONDS = 30 };
int condition_estimate(relax_bench *r, condition *c);
/* "12.76", "at least 12.76", "n/a". */
const char *condition_text(const condition_number *n, char text[32]);

#endif
