/* pipelined.c - the updates of pipelined methods (blas.h): assigns operands. */
#include <stddef.h>

#include "blas/submit.h"
#include "lib/math/steps/update_rows.h"

#define KAON_X(OP, entry, form, reads, summed, writes, coefficients, sums, ...) OP,
enum { KAON_PIPELINED_ROWS(KAON_X) };
#undef KAON_X

#define KAON_X(OP, entry, form, reads, summed, writes, coefficients, sums, ...) \
  [OP] = KAON_UPDATE_ROW(kaon_blas_ops, entry, form, reads, summed, writes, coefficients, sums),
static const kaon_update_row rows[] = {KAON_PIPELINED_ROWS(KAON_X)};
#undef KAON_X

#define OF(name) \
  { #name, v->name }

/* v: a vector in whose precision the kernel is compiled. */
static const kaon_blas_ops *ops_of(const kaon_vector *v) {
  return v != NULL ? v->ctx->backend->blas[v->precision] : NULL;
}

kaon_status kaon_blas_pipecg(int a, int b, const kaon_pipecg_vectors *v, const int slot[2],
                             const kaon_pass *pass) {
  const kaon_operand x[] = {OF(q), OF(z), OF(w), OF(s), OF(r), OF(p), OF(x)};
  const kaon_coefficient c[] = {KAON_PLUS(b), KAON_PLUS(a), KAON_MINUS(a)};
  return kaon_update_run_row(&rows[PIPECG], ops_of(v->r), x, c, slot, 0, pass);
}

kaon_status kaon_blas_pipecgnr(int a, int b, const kaon_pipecgnr_vectors *v, const int slot[4],
                               const kaon_pass *pass) {
  const kaon_operand x[] = {OF(u), OF(s), OF(r), OF(p), OF(x)};
  const kaon_coefficient c[] = {KAON_PLUS(b), KAON_PLUS(a), KAON_MINUS(a)};
  return kaon_update_run_row(&rows[PIPECGNR], ops_of(v->r), x, c, slot, KAON_SUMS_LEAVES, pass);
}

kaon_status kaon_blas_pipebicgstab_direction(int a, int b, int o,
                                             const kaon_pipebicgstab_vectors *v, const int slot[4],
                                             const kaon_pass *pass) {
  const kaon_operand x[] = {OF(r), OF(w), OF(t), OF(p), OF(s), OF(z), OF(v), OF(r0)};
  const kaon_coefficient c[] = {KAON_PLUS(b), KAON_MINUS(o), KAON_MINUS(a)};
  return kaon_update_run_row(&rows[PIPEBICGSTAB_DIRECTION], ops_of(v->r), x, c, slot, 0, pass);
}

kaon_status kaon_blas_pipebicgstab_solution(int a, int o, const kaon_pipebicgstab_vectors *v,
                                            const int slot[3], const kaon_pass *pass) {
  const kaon_operand x[] = {OF(p), OF(r), OF(w), OF(t), OF(v), OF(x), OF(r0)};
  const kaon_coefficient c[] = {KAON_PLUS(a), KAON_PLUS(o), KAON_MINUS(o), KAON_MINUS(a)};
  return kaon_update_run_row(&rows[PIPEBICGSTAB_SOLUTION], ops_of(v->r), x, c, slot, 0, pass);
}
