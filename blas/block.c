/* block.c - updates and sums that combine columns (blas.h): checks, and one launch for each. */
#include "lib/math/steps/block_recurrences.h"

#include "blas/submit.h"

_Static_assert((int)KAON_BLOCK_MAX <= (int)KAON_KERNEL_SLOTS, "slots of a column");

#define ENTRY(u, name) ((u)->ops != NULL ? (u)->ops->name : NULL)

static kaon_status check_columns(kaon_context *ctx, const char *name, int columns) {
  if (columns <= KAON_BLOCK_MAX) return KAON_OK;
  return kaon_fail(ctx, KAON_ERR_UNSUPPORTED,
                   "%s: %d columns, but at most %d can be joined; split them into batches", name,
                   columns, (int)KAON_BLOCK_MAX);
}

static kaon_status begin(kaon_update *u, const char *name, const kaon_vector *shape,
                         const kaon_pass *pass) {
  kaon_update_begin(u, name, shape, pass);
  u->offers = KAON_SUMS_RECURRENCES; /* no NORM, no DOT: sums join columns */
  KAON_TRY(u->status);
  return check_columns(u->ctx, name, shape->nrhs);
}

/* Sets matrix `number` and checks its first and last slot. */
static void matrix(kaon_update *u, int number, kaon_coefficient m) {
  kaon_coefficient last = m;
  last.slot = m.slot == KAON_NO_SLOT ? -2 : m.slot + u->shape->nrhs - 1;
  kaon_update_coefficient(u, number, last);
  kaon_update_coefficient(u, number, m);
}

kaon_status kaon_blas_gram(const kaon_vector *x, const kaon_vector *y, int hermitian, int first,
                           const kaon_pass *pass) {
  kaon_update u;
  KAON_TRY(begin(&u, "gram", y, pass));
  kaon_update_read(&u, 0, "x", x);
  kaon_update_read(&u, 1, "y", y);
  matrix(&u, 0, KAON_PLUS(first));
  u.sums.sum.slot[0] = first;
  for (int i = 0; i < y->nrhs; i++) kaon_update_slot(&u, first + i);
  u.args.n = hermitian;
  return kaon_update_launch(&u, ENTRY(&u, gram));
}

kaon_status kaon_blas_block_axpy(kaon_coefficient m, const kaon_vector *x, kaon_vector *y,
                                 const kaon_pass *pass) {
  kaon_update u;
  KAON_TRY(begin(&u, "block_axpy", y, pass));
  kaon_update_read(&u, 0, "x", x);
  kaon_update_write(&u, 1, "y", y);
  matrix(&u, 0, m);
  kaon_update_pass_sums(&u, -1);
  return kaon_update_launch(&u, ENTRY(&u, block_axpy));
}

kaon_status kaon_blas_block_rotate(kaon_coefficient t, kaon_vector *q, kaon_coefficient m,
                                   kaon_vector *p, kaon_coefficient a, kaon_vector *x,
                                   const kaon_pass *pass) {
  kaon_update u;
  KAON_TRY(begin(&u, "block_rotate", q, pass));
  if (pass != NULL && (pass->norm != KAON_NO_SLOT || pass->dot != KAON_NO_SLOT))
    return kaon_fail(u.ctx, KAON_ERR_UNSUPPORTED, "block_rotate: it computes no sums");
  kaon_update_write(&u, 0, "q", q);
  matrix(&u, 0, t);
  if (p != NULL) {
    kaon_update_write(&u, 1, "p", p);
    matrix(&u, 1, m);
  }
  if (p != NULL && x != NULL) {
    kaon_update_write(&u, 2, "x", x);
    matrix(&u, 2, a);
  }
  return kaon_update_launch(&u, ENTRY(&u, block_rotate));
}

kaon_status kaon_blas_block_recur(kaon_context *ctx, const kaon_pass *pass) {
  const kaon_blas_ops *ops = ctx->backend->blas[KAON_DOUBLE];
  const int columns = pass->scalars->columns;
  KAON_TRY(check_columns(ctx, "block_recur", columns));
  if (ops->gram == NULL)
    return kaon_fail(ctx, KAON_ERR_NOT_BUILT,
                     "block_recur: backend %s has no block recurrences; choose another backend",
                     ctx->backend->name);
  kaon_update_args args = {.shape = {.nrhs = columns},
                           .gate = {pass->scalars->state, pass->gate},
                           .sum = {.state = pass->scalars->state, .then = pass->then}};
  kaon_launch launch;
  KAON_TRY(kaon_launch_prepare(ctx, columns, 0, &launch));
  ops->gram(&launch, &args);
  return KAON_OK;
}
