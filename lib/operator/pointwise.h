/* pointwise.h - diagonal operators (KAON_CAPABILITY_POINTWISE). Solvers multiply by the diagonal in
 * their own passes over vectors. */
#pragma once

#include <kaon/operator.h>

/* A x = d x component by component, A^dagger x = conj(d) x. d has one column and A's space and
 * precision. */
typedef struct kaon_pointwise {
  const kaon_vector *(*factors)(const kaon_operator *A); /* d, which A owns */
} kaon_pointwise;
