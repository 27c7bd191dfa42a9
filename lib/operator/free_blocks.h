/* free_blocks.h - the blocks of an operator for asynchronous Schwarz (KAON_CAPABILITY_FREE_BLOCKS).
 * Threads take blocks by tickets and do not wait, except for the bound on how
 * far one may be ahead. Blocks that share vector lanes form a part and are updated together, so two
 * parts never write the same memory. */
#pragma once

#include <kaon/operator.h>

#include "lib/operator/domains.h"
#include "lib/operator/free_view.h"

struct kaon_pass;
typedef struct kaon_free_blocks kaon_free_blocks;

/* z ~ A^-1 b, starting from 0, for the columns of the gate; other columns are unchanged. r, q:
 * workspace, vectors like b. work: its size is kaon_domains_work. No two arguments may alias. With
 * one thread the result is reproducible; with several it is not. Errors: those of applying the
 * operators. */
typedef struct kaon_free_ops {
  kaon_status (*run)(kaon_free_blocks *self, const kaon_free_how *how, const kaon_vector *b,
                     kaon_vector *z, kaon_vector *r, kaon_vector *q, double *work,
                     const struct kaon_pass *gate);
  /* Allocates the workspace for calls with the given number of columns. Errors: MEMORY. */
  kaon_status (*reserve)(kaon_free_blocks *self, int columns);
  void (*destroy)(kaon_free_blocks *self);
} kaon_free_ops;

struct kaon_free_blocks {
  const kaon_free_ops *ops;
  int parts, threads;
  kaon_free_lags lags;
};

typedef struct kaon_free_access {
  /* The domains of `local`, which was cut from A in A's precision, for asynchronous threads.
   * Retains neither. *blocks is NULL if this backend has none, or if the domains cannot be
   * separated. Not collective. Errors: MEMORY. */
  kaon_status (*blocks)(kaon_operator *A, kaon_operator *local, const kaon_domains *domains,
                        kaon_free_blocks **blocks);
} kaon_free_access;
