/* failing_apply.h - an operator's application that fails after some calls. A test puts
 * failing_apply in the place of the true one, which it keeps in true_apply. */
#ifndef FAILING_APPLY_H
#define FAILING_APPLY_H

#include "lib/operator/operator_internal.h"

static kaon_status (*true_apply)(kaon_operator *, kaon_mode, const kaon_vector *, kaon_vector *,
                                 const kaon_pass *);
static int calls_left;

static kaon_status failing_apply(kaon_operator *A, kaon_mode mode, const kaon_vector *x,
                                 kaon_vector *y, const kaon_pass *pass) {
  if (--calls_left < 0) return kaon_fail(A->ctx, KAON_ERR_STATE, "this product fails");
  return true_apply(A, mode, x, y, pass);
}

#endif
