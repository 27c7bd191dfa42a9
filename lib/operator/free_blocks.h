/* free_blocks.h - an operator's blocks as asynchronous Schwarz works on them: threads take them by
 * tickets, and nobody waits but for the bound on how far one may be ahead (`free_blocks` of
 * kaon_operator_ops). What is taken up together is a part: the blocks that share vector lanes, so
 * that two parts never write the same memory. */
#ifndef KAON_LIB_FREE_BLOCKS_H
#define KAON_LIB_FREE_BLOCKS_H

#include <kaon/operator.h>

#include "lib/operator/free_view.h"

struct kaon_pass;
typedef struct kaon_free_blocks kaon_free_blocks;

/* z ~ A^-1 b from 0, of the gate's columns; the others stay. r, q: room, vectors like b; work: what
 * kaon_domains_work says. None twice. With one thread the result is always the same; with several
 * it is another one each time. Errors: those of the operators' applications. */
typedef struct kaon_free_ops {
  kaon_status (*run)(kaon_free_blocks *self, const kaon_free_how *how, const kaon_vector *b,
                     kaon_vector *z, kaon_vector *r, kaon_vector *q, double *work,
                     const struct kaon_pass *gate);
  /* Takes what calls of so many columns work in. Errors: MEMORY. */
  kaon_status (*reserve)(kaon_free_blocks *self, int columns);
  void (*destroy)(kaon_free_blocks *self);
} kaon_free_ops;

struct kaon_free_blocks {
  const kaon_free_ops *ops;
  int parts, threads;
  kaon_free_lags lags;
};

#endif
