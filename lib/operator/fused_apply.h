/* fused_apply.h - applications that also do work of the pass before: they complete its sums
 * (KAON_CAPABILITY_PARTIAL_SUMS), or update x first (KAON_CAPABILITY_UPDATED_APPLY). */
#pragma once

#include "lib/operator/operator_internal.h"

typedef struct kaon_partial_sums {
  /* 1: on every rank, kernels of an application to this many columns can complete deferred sums
   * with their own (kaon_pass.completed_by, KAON_SUMS_COMPLETES). */
  int (*accepts)(const kaon_operator *A, int columns);
} kaon_partial_sums;

/* First x += sign * slot w, with `slot` of pass->scalars, then y = A x or A^dagger x. Gives the
 * same bits in fewer passes over vectors. w may be y. */
typedef struct kaon_updated_apply {
  kaon_status (*apply)(kaon_operator *A, kaon_mode mode, int slot, double sign,
                       const kaon_vector *w, kaon_vector *x, kaon_vector *y, const kaon_pass *pass);
} kaon_updated_apply;

/* `accepts`; 0 without the capability. */
int kaon_operator_completes_sums(const kaon_operator *A, int columns);
