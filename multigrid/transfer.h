/* transfer.h - between a fine and a coarse lattice: the basis V of n vectors, each in two halves a
 * site, orthonormal on every aggregate. P = V, and restriction is V^dagger. */
#pragma once

#include "lib/operator/couplings.h"
#include "multigrid/aggregates.h"

typedef struct kaon_transfer {
  kaon_context *ctx;
  const kaon_aggregates *aggregates; /* not owned */
  const kaon_space *fine, *coarse;   /* on all sites; a coarse site has 4 n reals */
  int vectors;                       /* n */
  int turned;                        /* halves of fine vectors (KAON_HALVES_TURNED) */
  kaon_precision precision;          /* of V and of fine vectors */
  kaon_precision coarse_precision;   /* double for double, else single */
  kaon_vector *basis;                /* V, n columns */
} kaon_transfer;

/* Where a vector depends on those before it. */
typedef struct kaon_dependence {
  int vector;  /* -1: nowhere */
  int site[4]; /* the aggregate, in the whole coarse lattice */
} kaon_dependence;

/* A transfer without numbers. `aggregates` and the fine space must outlive it. Collective. Errors:
 * ARGUMENT (another lattice, one parity, a fifth dimension, halves that are not whole complex
 * numbers), UNSUPPORTED (more vectors or reals than kernels hold), MEMORY, NOT_BUILT. */
kaon_status kaon_transfer_create(const kaon_aggregates *aggregates, const kaon_space *fine,
                                 kaon_halves halves, int vectors, kaon_precision precision,
                                 kaon_transfer **transfer);
void kaon_transfer_destroy(kaon_transfer **transfer);

/* V = v, orthonormalised twice on every aggregate. v: n columns of the fine space in double or
 * single precision, in which it is done, and which hold V in the operator's own components
 * afterwards. v may be transfer->basis, which takes no other memory. Collective. *dependence: the first dependent vector and the first aggregate where it
 * is one, the same on all ranks (NULL: not wanted). Errors: SINGULAR (a dependent vector; v and V
 * are lost), SHAPE, PRECISION, MEMORY. */
kaon_status kaon_transfer_set(kaon_transfer *transfer, kaon_vector *v, kaon_dependence *dependence);
/* Column k < count of y = half `half` of vector first + k, in the operator's own components. Other
 * columns have any numbers afterwards. Errors: ARGUMENT, SHAPE, PRECISION. */
kaon_status kaon_transfer_half(const kaon_transfer *transfer, int half, int first, int count,
                               kaon_vector *y);

/* coarse = V^dagger fine. fine = V coarse, or fine += V coarse if `add`. The columns of the gate of
 * `pass`, which has no sums (NULL: all); others are neither read nor written. fine is of the
 * transfer's precision, coarse of coarse_precision. Prolongation also fills a vector of one parity
 * of the fine space. Errors: SHAPE, PRECISION. */
kaon_status kaon_transfer_restrict(const kaon_transfer *transfer, const kaon_vector *fine,
                                   kaon_vector *coarse, const kaon_pass *pass);
/* Restriction of a vector that vanishes except on the sites from which a hop in this direction leaves
 * its aggregate. */
kaon_status kaon_transfer_restrict_face(const kaon_transfer *transfer, int direction,
                                        const kaon_vector *fine, kaon_vector *coarse);
kaon_status kaon_transfer_prolong(const kaon_transfer *transfer, const kaon_vector *coarse, int add,
                                  kaon_vector *fine, const kaon_pass *pass);
