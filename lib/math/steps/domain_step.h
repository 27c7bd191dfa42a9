/* domain_step.h - one step of minimal residual in a domain of a Schwarz preconditioner
 * (blas/domain_ops.h), for all backends:
 *   r -= alpha q,   x += alpha r,   alpha = relaxation (q, r) / (q, q). */
#pragma once

#include <math.h>

#include "lib/vector/layout.h"
#include "lib/math/su3.h"

/* The step length from |q|^2 and conj(q) r. If it is not finite, the step is skipped (alpha =
 * 0). */
static inline KAON_HD void kaon_domain_length(double relaxation, double norm, double re, double im,
                                              double alpha[2]) {
  const double f = norm != 0 ? relaxation / norm : 0; /* r = 0: nothing to add */
  const int usable = isfinite(f * re) && isfinite(f * im);
  alpha[0] = usable ? f * re : 0;
  alpha[1] = usable ? f * im : 0;
}

/* sum = x + a r, rest = r - a q, of one complex component. */
KAON_MATH void domain_pair(vcomplex a, vcomplex x, vcomplex r, vcomplex q, vcomplex *sum,
                           vcomplex *rest) {
  *sum = c_fma(a, r, x);
  *rest = c_fma(c_make(-a.re, -a.im), q, r);
}
