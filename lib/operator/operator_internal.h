/* operator_internal.h - the inside of kaon_operator: the methods through which every solver
 * works. */
#pragma once

#include <kaon/operator.h>

#include "lib/operator/domains.h"
#include "lib/operator/pass.h"
#include "lib/operator/revision.h"

/* How `local` cuts an operator. */
typedef struct kaon_local {
  int block[4]; /* extents of the blocks on a lattice; 0: the rank's whole extent. Matrix rows:
                   block[0] rows */
  kaon_precision precision;
  kaon_reconstruct reconstruct;
  int alternating; /* 1: the domains will be updated by colour, none beside one of its own colour */
} kaon_local;

/* What only some operators offer. Each kind has a structure of functions, in the header named. */
typedef enum kaon_capability {
  KAON_CAPABILITY_ROWS,          /* kaon_row_access, row_sweeps.h */
  KAON_CAPABILITY_ABSOLUTE,      /* kaon_absolute_values, row_sweeps.h */
  KAON_CAPABILITY_FREE_BLOCKS,   /* kaon_free_access, free_blocks.h */
  KAON_CAPABILITY_POINTWISE,     /* kaon_pointwise, pointwise.h */
  KAON_CAPABILITY_SEND_AHEAD,    /* kaon_send_ahead, send_ahead.h */
  KAON_CAPABILITY_PARTIAL_SUMS,  /* kaon_partial_sums, fused_apply.h */
  KAON_CAPABILITY_UPDATED_APPLY, /* kaon_updated_apply, fused_apply.h */
  KAON_CAPABILITY_COUPLINGS,     /* kaon_couplings, couplings.h */
  KAON_CAPABILITY_NULL_SPACE,    /* kaon_null_space, null_space.h */
  KAON_CAPABILITIES
} kaon_capability;

/* The methods of every operator. `apply`, `twin`, `cost` and `destroy` are required. */
typedef struct kaon_operator_ops {
  const char *name;
  /* y = A x or A^dagger x, gated and summed as `pass` says (NULL: all columns, no sums). */
  kaon_status (*apply)(kaon_operator *A, kaon_mode mode, const kaon_vector *x, kaon_vector *y,
                       const kaon_pass *pass);
  /* A new object: the same operator in another precision and link storage. */
  kaon_status (*twin)(kaon_operator *A, kaon_precision precision, kaon_reconstruct reconstruct,
                      kaon_operator **twin);
  /* A new object: A without the couplings between blocks of its sites or rows and between ranks.
   * Its applications send nothing. *domains: these blocks, owned by the caller; domains NULL: not
   * wanted. NULL: not offered. Collective. */
  kaon_status (*local)(kaon_operator *A, const kaon_local *how, kaon_operator **local,
                       kaon_domains **domains);
  kaon_status (*diagonal)(kaon_operator *A, kaon_vector *d); /* NULL: not offered */
  /* Allocates what applications in this mode to up to `columns` columns need, so that no
   * application inside a solve allocates. NULL: nothing is needed. */
  kaon_status (*reserve)(kaon_operator *A, kaon_mode mode, int columns);
  kaon_cost (*cost)(const kaon_operator *A, int columns);
  void (*destroy)(kaon_operator *A); /* frees self and A, and releases what they retain */
  /* [KAON_CAPABILITIES]: the structure of each kind, NULL where it is not offered. NULL: none. */
  const void *const *capabilities;
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
  const kaon_space *space; /* of x in y = A x */
  const kaon_space *range; /* of y; NULL: the same space */
  kaon_precision precision;
  /* A is 2^exponent times what `apply` and the other methods compute, so that A^dagger A and A^-1
   * of matrices with very large or small entries stay in range. Solvers work with A', where A =
   * 2^exponent A', and likewise with K' of K. No method sees the factors. The end of a solve and
   * blas/apply.c return to the user's units. */
  int exponent;
  kaon_revision *revision; /* of its numbers; owned by self, or by an object that self keeps alive.
                              NULL: they never change */
  int references;
  int at_work; /* 1: it is being applied (kaon_begin_work) */
  void *self;
};

/* Space of the vectors that A maps to, and of those that it maps, in this mode. */
static inline const kaon_space *kaon_operator_to(const kaon_operator *A, kaon_mode mode) {
  return mode == KAON_DAGGER || A->range == NULL ? A->space : A->range;
}
static inline const kaon_space *kaon_operator_from(const kaon_operator *A, kaon_mode mode) {
  return kaon_operator_to(A, mode == KAON_DAGGER ? KAON_PLAIN : KAON_DAGGER);
}
/* Refuses an operator between two spaces with SHAPE. `what`: the function, for the message. */
kaon_status kaon_operator_check_square(const kaon_operator *A, const char *what);

/* Refuse a v of another space than `space` or in another precision than A's, and x and y with
 * different numbers of columns. */
kaon_status kaon_operator_check_vector(const kaon_operator *A, const kaon_space *space,
                                       const kaon_vector *v, const char *name);
kaon_status kaon_operator_check_columns(const kaon_operator *A, const kaon_vector *x,
                                        const kaon_vector *y);
/* Checks shapes, precisions, aliasing and that A is current, then applies A'. Solvers call this. */
kaon_status kaon_operator_run(kaon_operator *A, kaon_mode mode, const kaon_vector *x,
                              kaon_vector *y, const kaon_pass *pass);
/* An operator with the methods, context, spaces and precision of `like`, one reference, and `bytes`
 * of zeros at self; NULL: out of memory. After the last reference, ops->destroy releases what self
 * holds, and the memory of both is freed. */
kaon_operator *kaon_operator_new(kaon_operator like, size_t bytes);
void kaon_operator_retain(kaon_operator *A);
/* The structure of this kind (kaon_capability names its type); NULL: A does not offer it. */
static inline const void *kaon_operator_capability(const kaon_operator *A, kaon_capability kind) {
  return A->ops->capabilities != NULL ? A->ops->capabilities[kind] : NULL;
}
/* Method `reserve`, if A has it. */
static inline kaon_status kaon_operator_reserve(kaon_operator *A, kaon_mode mode, int columns) {
  return A->ops->reserve != NULL ? A->ops->reserve(A, mode, columns) : KAON_OK;
}
