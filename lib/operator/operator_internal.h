/* operator_internal.h - the inside of kaon_operator: the methods through which every solver
 * works. */
#ifndef KAON_LIB_OPERATOR_H
#define KAON_LIB_OPERATOR_H

#include <kaon/operator.h>

#include "lib/operator/domains.h"
#include "lib/operator/free_blocks.h"
#include "lib/operator/pass.h"
#include "lib/operator/row_sweeps.h"

/* How `local_part` cuts an operator. */
typedef struct kaon_local {
  int block[4]; /* extents of the blocks on a lattice; 0: the rank's whole extent. Matrix rows:
                   block[0] rows */
  kaon_precision precision;
  kaon_reconstruct reconstruct;
  int alternating; /* 1: the domains will be updated by colour, none beside one of its own colour */
} kaon_local;

typedef struct kaon_operator_ops {
  const char *name;
  /* y = A x or A^dagger x, gated and summed as `pass` says (NULL: all columns, no sums). */
  kaon_status (*apply)(kaon_operator *A, kaon_mode mode, const kaon_vector *x, kaon_vector *y,
                       const kaon_pass *pass);
  /* First x += sign * slot w, with `slot` of pass->scalars, then as apply. Gives the same bits in
   * fewer passes over vectors. w may be y. NULL: not offered. */
  kaon_status (*apply_updated)(kaon_operator *A, kaon_mode mode, int slot, double sign,
                               const kaon_vector *w, kaon_vector *x, kaon_vector *y,
                               const kaon_pass *pass);
  /* A new object: the same operator in another precision and link storage. */
  kaon_status (*at_precision)(kaon_operator *A, kaon_precision precision,
                              kaon_reconstruct reconstruct, kaon_operator **twin);
  /* A new object: A without the couplings between blocks of its sites or rows and between ranks.
   * Its applications send nothing. *domains: these blocks, owned by the caller; domains NULL: not
   * wanted. NULL: not offered. Collective. */
  kaon_status (*local_part)(kaon_operator *A, const kaon_local *how, kaon_operator **local,
                            kaon_domains **domains);
  /* The domains of `local`, which was cut from A in A's precision, for asynchronous threads.
   * Retains neither. *blocks is NULL if this backend has none, or if the domains cannot be
   * separated. NULL: not offered. Not collective. Errors: MEMORY. */
  kaon_status (*free_blocks)(kaon_operator *A, kaon_operator *local, const kaon_domains *domains,
                             kaon_free_blocks **blocks);
  kaon_status (*diagonal)(kaon_operator *A, kaon_vector *d); /* NULL: not offered */
  /* A new object in A's precision: A's rows on this rank, for relaxation and Kaczmarz methods
   * (lib/operator/row_sweeps.h). NULL: not offered. Collective. */
  kaon_status (*rows)(kaon_operator *A, const kaon_row_how *how, kaon_row_sweeps **rows);
  /* A new object in A's precision: |A|, whose entries are the absolute values of A's. NULL: not
   * offered. Collective. */
  kaon_status (*absolute)(kaon_operator *A, kaon_operator **absolute);
  /* For a diagonal A, A x = d x component by component (A^dagger x = conj(d) x): returns d, a
   * vector of one column that A owns. Solvers then have kernels with fewer passes over vectors.
   * Returns NULL, or is NULL: A is not diagonal. */
  const kaon_vector *(*scaling)(const kaon_operator *A);
  /* 1: on every rank, A's kernels can complete deferred sums with their own (kaon_pass.completed_by,
   * KAON_SUMS_COMPLETES). NULL: they cannot. */
  int (*takes)(const kaon_operator *A, int columns);
  /* sends: 1: A can send early, and a pass over vectors split in two pays off. NULL: not offered.
   * send: starts the exchange for an application to x. That application must be A's next, with the
   * same gate. Until then neither x nor what A reads may change. Collective.
   * cancel_send: receives the messages that were started, if the application fails or does not
   * come. */
  int (*sends)(const kaon_operator *A);
  kaon_status (*send)(kaon_operator *A, const kaon_vector *x, const kaon_pass *pass);
  void (*cancel_send)(kaon_operator *A, int columns);
  /* Allocates what an application to up to `columns` columns needs, so that no application inside a
   * solve allocates. NULL: nothing is needed. */
  kaon_status (*reserve)(kaon_operator *A, int columns);
  /* The same for applications of A^dagger; called in addition to `reserve` if there will be any.
   * NULL: nothing more is needed. */
  kaon_status (*reserve_dagger)(kaon_operator *A, int columns);
  /* Fails like an application if what A is made of has changed since (for example a gauge field).
   * NULL: the caller applies A to no column instead. */
  kaon_status (*check)(const kaon_operator *A);
  kaon_cost (*cost)(const kaon_operator *A, int columns);
  void (*destroy)(kaon_operator *A); /* frees self and A, and releases what they retain */
} kaon_operator_ops;

/* A reduction of `parent` (such as even-odd) maps a source of the parent's space to the reduced
 * space, and a solution back.
 * lift: computes the parent's residual b - A x after reconstruct from the reduced residual,
 * restricted to where it does not vanish (NULL: both are the same vector). It writes only the
 * columns of the pass's gate, as other columns of r may be in use. */
typedef struct kaon_reduction {
  kaon_operator *parent;
  kaon_status (*prepare)(kaon_operator *R, const kaon_vector *b, kaon_vector *reduced_b);
  kaon_status (*reconstruct)(kaon_operator *R, const kaon_vector *reduced_x, const kaon_vector *b,
                             kaon_vector *x);
  kaon_status (*lift)(kaon_operator *R, const kaon_vector *reduced_r, kaon_vector *r,
                      const kaon_pass *pass);
  /* For reductions whose residual does not determine the parent's: r = b - A x from the reduced x
   * and the parent's b, gated and summed like lift. Solvers then call it instead of lift. They do
   * so now and then, and often near the tolerance (KAON_FLAG_MONITOR). */
  kaon_status (*residual)(kaon_operator *R, const kaon_vector *reduced_x, const kaon_vector *b,
                          kaon_vector *r, const kaon_pass *pass);
  /* For operators with `residual`: computes the reduced residual from the parent's, as prepare
   * would treat r as a source, on the gate's columns, summed like lift. Its error is proportional
   * to r, while that of b - A x in the reduced operator is proportional to x. If the reduced
   * operator is the parent's squared, the latter exceeds the residual itself near the end. NULL:
   * not offered. */
  kaon_status (*reduce)(kaon_operator *R, const kaon_vector *r, kaon_vector *reduced_r,
                        const kaon_pass *pass);
  /* Maps an initial guess of the parent's space to the reduced space. NULL: guesses are not used,
   * and the solve starts from zero. */
  kaon_status (*guess)(kaon_operator *R, const kaon_vector *x, kaon_vector *reduced_x);
} kaon_reduction;

struct kaon_operator {
  const kaon_operator_ops *ops;
  const kaon_reduction *reduction; /* NULL: not a reduction */
  kaon_context *ctx;
  const kaon_space *space;
  kaon_precision precision;
  int references;
  void *self;
};

/* Checks shapes, precisions and aliasing, then applies A. Solvers call this. */
kaon_status kaon_operator_run(kaon_operator *A, kaon_mode mode, const kaon_vector *x,
                              kaon_vector *y, const kaon_pass *pass);
void kaon_operator_retain(kaon_operator *A);
/* `sends` and `send` of the operator's table; 0 if it has none. */
static inline int kaon_operator_can_send(const kaon_operator *A) {
  return A->ops->sends != NULL && A->ops->sends(A);
}
kaon_status kaon_operator_send(kaon_operator *A, const kaon_vector *x, const kaon_pass *pass);

#endif
