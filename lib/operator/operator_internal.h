/* operator_internal.h - the inside of kaon_operator: the handful of methods that every solver works through.
 */
#ifndef KAON_LIB_OPERATOR_H
#define KAON_LIB_OPERATOR_H

#include <kaon/operator.h>

#include "lib/operator/domains.h"
#include "lib/operator/free_blocks.h"
#include "lib/core/launch.h"
#include "lib/operator/row_sweeps.h"

/* Scalars of a batch of columns, in the context's memory (lib/math/steps/recurrence.h). */
typedef struct kaon_scalars {
  kaon_context *ctx;
  int columns;
  kaon_column_state *state; /* device memory */
  /* A split sum over ranks (kaon_pass.split): device memory with room for KAON_SPLIT_SLOTS slots a
   * column, and what is under way there. */
  double *message;
  int under_way;
  kaon_deferred_sums deferred; /* or sent */
  int local;      /* 1: sums are this rank's own, nothing is sent */
} kaon_scalars;

kaon_status kaon_scalars_create(kaon_context *ctx, int columns, kaon_scalars **scalars);
void kaon_scalars_destroy(kaon_scalars **scalars);
/* The context's own, for sums of one call: every column open to KAON_GATE_STEP, slots of any
 * content, gates to stay as they are. They are made once, since making them is as long as a short
 * sum; what `scalars` says holds until they are lent again. Not where host_scalars is set. */
kaon_status kaon_scalars_borrow(kaon_context *ctx, int columns, kaon_scalars *scalars);
/* Drops sums that a step kept for a message that a failure kept from being sent. */
static inline void kaon_scalars_drop_deferred(kaon_scalars *scalars) {
  if (!scalars->under_way) scalars->deferred.n = 0;
  scalars->deferred.left = 0;
}
/* Host copies, for the loop runner's looks and services alone. */
kaon_status kaon_scalars_read(const kaon_scalars *scalars, kaon_column_state *host);
kaon_status kaon_scalars_write(kaon_scalars *scalars, const kaon_column_state *host);

/* How an application is gated and what is summed in the same pass.
 *   gate   columns to work on (scalars NULL: all)
 *   norm   slot for sum |y|^2, or KAON_NO_SLOT
 *   dot    slot for sum conj(w) y, or KAON_NO_SLOT; w: a vector of y's space
 *   then   recurrence run on each gated column when the sums are complete
 *   split  START: sums over ranks are only started; kaon_blas_finish with the same pass completes
 *          them and runs `then`. Work comes in between that needs neither the sums nor what `then`
 *          makes of them; on columns that `then` closes it may take place or not, as there are
 *          ranks or not, so nothing may depend on what it leaves there. One a context at a time.
 *          KEEP: the slots hold this rank's sums until the next START, which takes them along, or
 *          JOIN, which does as well and waits for them.
 *          LEAVE: for a JOIN by an operator that takes sums (`takes` below), on one rank too: the
 *          slots need not have their sums before that. What was kept before is dropped; between the
 *          two come no other sums than KEPT ones
 *   sent   1: of an application: what it asks of other ranks was sent (kaon_operator_send) */
enum { KAON_SUM_WHOLE, KAON_SUM_DEFER, KAON_SUM_START, KAON_SUM_MERGE, KAON_SUM_PARTIAL };
typedef struct kaon_pass {
  kaon_scalars *scalars;
  int gate;
  int norm, dot;
  const kaon_vector *w;
  int then;
  int split;
  int sent;
} kaon_pass;
#define KAON_PASS_INIT \
  { NULL, KAON_GATE_STEP, KAON_NO_SLOT, KAON_NO_SLOT, NULL, 0, 0, 0 }

/* Refuses sums without scalars (ARGUMENT) and scalars of another column count (SHAPE); `name`: of
 * the function, for the sentence. NULL passes. */
kaon_status kaon_pass_check(const kaon_context *ctx, const char *name, const kaon_pass *pass,
                            int columns);

/* How an operator is cut, for `local_part`. */
typedef struct kaon_local {
  int block[4]; /* on a lattice, extents of the blocks; 0: all that the rank has. Matrix rows:
                   block[0] rows */
  kaon_precision precision;
  kaon_reconstruct reconstruct;
  int alternating; /* 1: the domains are to be worked on by colour, none beside one of its own */
} kaon_local;

typedef struct kaon_operator_ops {
  const char *name;
  /* y = A x or A^dagger x, gated and summed as `pass` says (NULL: all columns, no sums). */
  kaon_status (*apply)(kaon_operator *A, kaon_mode mode, const kaon_vector *x, kaon_vector *y,
                       const kaon_pass *pass);
  /* x += sign * slot w first, slot of pass->scalars, then as apply: the same bits in fewer passes
   * over vectors. w may be y. NULL: not offered. */
  kaon_status (*apply_updated)(kaon_operator *A, kaon_mode mode, int slot, double sign,
                               const kaon_vector *w, kaon_vector *x, kaon_vector *y,
                               const kaon_pass *pass);
  /* The same operator in another precision and link storage; a new object. */
  kaon_status (*at_precision)(kaon_operator *A, kaon_precision precision,
                              kaon_reconstruct reconstruct, kaon_operator **twin);
  /* What is left of A where couplings between blocks of its sites or rows, and between ranks, are
   * left out: a new object whose applications send nothing. *domains: those blocks, the caller's;
   * NULL: not asked for. NULL: not offered. Collective. */
  kaon_status (*local_part)(kaon_operator *A, const kaon_local *how, kaon_operator **local,
                            kaon_domains **domains);
  /* The domains of `local`, which was cut from A in A's precision, for threads that go on by
   * themselves; keeps neither. *blocks NULL: not on this backend, or they cannot be told apart.
   * NULL: not offered. Not collective. Errors: MEMORY. */
  kaon_status (*free_blocks)(kaon_operator *A, kaon_operator *local, const kaon_domains *domains,
                             kaon_free_blocks **blocks);
  kaon_status (*diagonal)(kaon_operator *A, kaon_vector *d); /* NULL: not offered */
  /* A's rows on this rank as relaxation and Kaczmarz methods work on them (lib/operator/row_sweeps.h), in
   * A's precision: a new object. NULL: not offered. Collective. */
  kaon_status (*rows)(kaon_operator *A, const kaon_row_how *how, kaon_row_sweeps **rows);
  /* |A|, whose entries are the absolute values of A's: a new object in A's precision. NULL: not
   * offered. Collective. */
  kaon_status (*absolute)(kaon_operator *A, kaon_operator **absolute);
  /* Where A x = d x, component by component (A^dagger x = conj(d) x): d, a vector of one column
   * that A keeps; solvers then have kernels that spare passes over vectors. NULL: A is no such
   * operator.
   */
  const kaon_vector *(*scaling)(const kaon_operator *A);
  /* 1: a JOIN of this operator's, of so many columns, takes sums that stand in parts
   * (KAON_SUM_PARTIAL). NULL: it does not. */
  int (*takes)(const kaon_operator *A, int columns);
  /* Sends what other ranks need for an application to x, which comes next of A's, with the same
   * gate and pass->sent: until then neither x nor what A reads changes. Where that application does
   * not come, or fails, unsend takes in the messages that were started. `sends`: 1: all that is
   * worth a pass over vectors that is cut in two. Collective; NULL: not offered. */
  int (*sends)(const kaon_operator *A);
  kaon_status (*send)(kaon_operator *A, const kaon_vector *x, const kaon_pass *pass);
  void (*cancel_send)(kaon_operator *A, int columns);
  /* Takes what an application to up to `columns` columns needs, so that none inside a solve
   * allocates; NULL: needs nothing. */
  kaon_status (*reserve)(kaon_operator *A, int columns);
  /* The same for applications of A^dagger, asked for beside `reserve` where there will be some;
   * NULL: these need nothing more. */
  kaon_status (*reserve_dagger)(kaon_operator *A, int columns);
  /* Fails as an application would where what A is made of has changed since (a gauge field, say).
   * NULL: an application to no column is asked instead. */
  kaon_status (*check)(const kaon_operator *A);
  kaon_cost (*cost)(const kaon_operator *A, int columns);
  void (*destroy)(kaon_operator *A); /* frees self, A itself, and lets go of what they hold */
} kaon_operator_ops;

/* A reduction of `parent`: how a source of the parent's space becomes one of ours and a solution
 * goes back. lift: the parent's residual b - A x after reconstruct, restricted to where it does not
 * vanish, from our residual (NULL: the same vector); it writes the columns of the pass' gate alone,
 * as others may still be at work in r. */
typedef struct kaon_reduction {
  kaon_operator *parent;
  kaon_status (*prepare)(kaon_operator *R, const kaon_vector *b, kaon_vector *reduced_b);
  kaon_status (*reconstruct)(kaon_operator *R, const kaon_vector *reduced_x, const kaon_vector *b,
                             kaon_vector *x);
  kaon_status (*lift)(kaon_operator *R, const kaon_vector *reduced_r, kaon_vector *r,
                      const kaon_pass *pass);
  /* Where the parent's residual does not follow from ours: r = b - A x of our x and the parent's b,
   * gated and summed like lift, which is then not asked. Solvers take it now and then, and often
   * where it is near the tolerance (KAON_FLAG_MONITOR). */
  kaon_status (*residual)(kaon_operator *R, const kaon_vector *reduced_x, const kaon_vector *b,
                          kaon_vector *r, const kaon_pass *pass);
  /* Our residual of the parent's, for operators with `residual`: what prepare would make of r as a
   * source, on the gate's columns, summed like lift. Its error is in proportion to r, that of
   * b - A x in our operator to x: by more than the residual itself, near the end, where our
   * operator is the parent's squared. NULL: not offered. */
  kaon_status (*reduce)(kaon_operator *R, const kaon_vector *r, kaon_vector *reduced_r,
                        const kaon_pass *pass);
  /* An initial guess of the parent's space -> ours (NULL: guesses of the parent's space are not
   * used, the solve starts from zero). */
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

/* Checks shapes, precisions and aliasing, then applies. What solvers call. */
kaon_status kaon_operator_run(kaon_operator *A, kaon_mode mode, const kaon_vector *x,
                              kaon_vector *y, const kaon_pass *pass);
void kaon_operator_retain(kaon_operator *A);
/* `sends` and `send` of its ops, 0 where there are none; `unsend` is called by itself. */
static inline int kaon_operator_can_send(const kaon_operator *A) {
  return A->ops->sends != NULL && A->ops->sends(A);
}
kaon_status kaon_operator_send(kaon_operator *A, const kaon_vector *x, const kaon_pass *pass);
/* How a pass is split whose sums wait for a JOIN of A's, of so many columns: LEAVE or KEEP. */
static inline int kaon_operator_split(const kaon_operator *A, int columns) {
  return A->ops->takes != NULL && A->ops->takes(A, columns) ? KAON_SUM_PARTIAL : KAON_SUM_DEFER;
}

#endif
