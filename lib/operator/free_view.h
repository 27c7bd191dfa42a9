/* free_view.h - parameters and statistics of asynchronous blocks (lib/operator/free_blocks.h), as
 * kernels see them. */
#pragma once

#include <stdint.h>

/* One call of kaon_free_ops.run. Each part does `cycles` cycles: it computes its residual from what
 * the others have written so far, does `steps` minimal residual steps in each of its blocks (step
 * lengths times `relaxation`), and writes. No part begins a cycle more than `lag` ahead of a part
 * that it reads. seed: of the order in which parts begin, which differs in each cycle. */
typedef struct kaon_free_how {
  int steps, cycles, lag;
  double relaxation;
  uint64_t seed;
} kaon_free_how;

/* Statistics of the parts, added up over calls. */
typedef struct kaon_free_lags {
  int64_t reads; /* reads of another part */
  int64_t late;  /* reads of a part that had completed fewer cycles than the reader */
  int oldest;    /* largest such difference */
} kaon_free_lags;
