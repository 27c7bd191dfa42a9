/* precondition.c - applies the preconditioner in a step. If its precision differs from that of the
 * process, vectors are converted before and after. */
#include <math.h>

#include "solvers/engine/method.h"

/* A K = 2^exponent A' K' (kaon_operator.exponent); 0 if K was made from A. */
int kaon_precond_exponent(const kaon_solver *s) {
  return s->K->exponent + s->inner->exponent;
}

kaon_status kaon_precondition(kaon_solver *s, kaon_mode mode, const kaon_vector *r, kaon_vector *z,
                              const kaon_pass *pass) {
  const kaon_pass gate = kaon_pass_gate_only(pass);
  kaon_vector *in = s->process.precond_input, *out = s->process.precond_output;
  if (s->K == NULL) {
    KAON_TRY(kaon_blas_copy(r, z, &gate));
    return kaon_pass_sum_separately(z, pass);
  }
  const int exponent = kaon_precond_exponent(s);
  if (in == NULL && exponent == 0) return kaon_operator_run(s->K, mode, r, z, pass);
  if (in != NULL) KAON_TRY(kaon_blas_convert(r, in, 0, &gate));
  KAON_TRY(kaon_operator_run(s->K, mode, in != NULL ? in : r, in != NULL ? out : z, &gate));
  if (in != NULL) KAON_TRY(kaon_blas_convert(out, z, 0, &gate));
  if (exponent != 0) KAON_TRY(kaon_blas_scale(KAON_NUMBER(ldexp(1, exponent)), z, &gate));
  return kaon_pass_sum_separately(z, pass);
}
