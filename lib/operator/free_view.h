/* free_view.h - what kernels see of blocks that go on by themselves (lib/operator/free_blocks.h). */
#ifndef KAON_LIB_FREE_VIEW_H
#define KAON_LIB_FREE_VIEW_H

#include <stdint.h>

/* One call of `run`: `cycles` times each part takes its residual of what the others have written by
 * then, `steps` of minimal residuals in each of its blocks (factor `relaxation` of their lengths),
 * and writes. None begins a cycle more than `lag` ahead of a part that it reads. seed: of the order
 * in which parts begin, another one each cycle. */
typedef struct kaon_free_how {
  int steps, cycles, lag;
  double relaxation;
  uint64_t seed;
} kaon_free_how;

/* What parts found, added up over calls. */
typedef struct kaon_free_lags {
  int64_t reads; /* of another part */
  int64_t late;  /* of them those of one that had not ended as many cycles as the reader */
  int oldest;    /* by how many it was behind at most */
} kaon_free_lags;

#endif
