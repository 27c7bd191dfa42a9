/* precondition.c - applies the preconditioner in a step. If its precision differs from that of the
 * process, vectors are converted before and after. */
#include "solvers/engine/method.h"

kaon_status kaon_precondition(kaon_solver *s, kaon_mode mode, const kaon_vector *r, kaon_vector *z,
                              const kaon_pass *pass) {
  const kaon_pass gate = kaon_pass_gate_only(pass);
  if (s->K == NULL) {
    KAON_TRY(kaon_blas_copy(r, z, &gate));
    return kaon_pass_sum_separately(z, pass);
  }
  if (s->process.precond_input == NULL) return kaon_operator_run(s->K, mode, r, z, pass);
  KAON_TRY(kaon_blas_convert(r, s->process.precond_input, 0, &gate));
  KAON_TRY(
      kaon_operator_run(s->K, mode, s->process.precond_input, s->process.precond_output, &gate));
  KAON_TRY(kaon_blas_convert(s->process.precond_output, z, 0, &gate));
  return kaon_pass_sum_separately(z, pass);
}
