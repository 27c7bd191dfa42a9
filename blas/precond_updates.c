/* precond_updates.c - the updates of preconditioned methods (precond_updates.h): assigns
 * operands. */
#include "blas/precond_updates.h"

#include <stddef.h>

#include "blas/precond_ops.h"
#include "blas/submit.h"
#include "lib/math/steps/update_rows.h"

#define KAON_X(OP, entry, form, reads, summed, writes, coefficients, sums, ...) OP,
enum { KAON_PRECOND_ROWS(KAON_X) };
#undef KAON_X

#define KAON_X(OP, entry, form, reads, summed, writes, coefficients, sums, ...) \
  [OP] = KAON_UPDATE_ROW(kaon_precond_ops, entry, form, reads, summed, writes, coefficients, sums),
static const kaon_update_row rows[] = {KAON_PRECOND_ROWS(KAON_X)};
#undef KAON_X

#define OF(name) \
  { #name, v->name }

/* v: a vector in whose precision the kernel is compiled. */
static const kaon_precond_ops *ops_of(const kaon_vector *v) {
  return v != NULL ? v->ctx->backend->precond[v->precision] : NULL;
}

static kaon_status run(int op, const kaon_vector *v, const kaon_operand operands[],
                       const kaon_coefficient c[], const int slot[], const kaon_pass *pass) {
  const int offers = op == CHRONGEAR || op == CHRONGEAR_SCALED ? KAON_SUMS_LEAVES : 0;
  return kaon_update_run_row(&rows[op], ops_of(v), operands, c, slot, offers, pass);
}

kaon_status kaon_blas_scaled(const kaon_vector *d, int dagger, const kaon_vector *x, kaon_vector *y,
                             const kaon_pass *pass) {
  kaon_update u;
  kaon_update_begin(&u, "scaled", y, pass);
  u.args.n = dagger != 0;
  kaon_update_read_shared(&u, 0, "d", d);
  kaon_update_write(&u, 1, "y", y);
  kaon_update_read(&u, 2, "x", x);
  kaon_update_pass_sums(&u, 3);
  return kaon_update_launch(&u, y != NULL && ops_of(y) != NULL ? ops_of(y)->scaled : NULL);
}

kaon_status kaon_blas_residual_scaled(kaon_coefficient a, const kaon_vector *q, kaon_vector *r,
                                      const kaon_vector *d, kaon_vector *z, const int slot[2],
                                      const kaon_pass *pass) {
  if (r != NULL && kaon_separate(r->ctx) && pass != NULL) {
    const kaon_pass gate = kaon_pass_gate_only(pass);
    const int sums[3] = {slot[1], slot[0], KAON_NO_SLOT};
    KAON_TRY(kaon_blas_axpy(a, q, r, &gate));
    KAON_TRY(kaon_blas_scaled(d, 0, r, z, &gate));
    return kaon_blas_dot(r, z, sums, pass);
  }
  const kaon_operand x[] = {{"d", d}, {"r", r}, {"z", z}, {"q", q}};
  return run(RESIDUAL_SCALED, r, x, &a, slot, pass);
}

kaon_status kaon_blas_shifted(kaon_coefficient a, kaon_vector *p, kaon_vector *x,
                              const kaon_vector *r, kaon_coefficient b, const kaon_pass *pass) {
  const kaon_operand vectors[] = {{"r", r}, {"p", p}, {"x", x}};
  return run(SHIFTED, p, vectors, (kaon_coefficient[]){a, b}, NULL, pass);
}

kaon_status kaon_blas_pipepcg(int a, int b, const kaon_pipepcg_vectors *v, const int slot[3],
                              const kaon_pass *pass) {
  const kaon_operand scaled[] = {OF(d), OF(z), OF(w), OF(s), OF(r), OF(p), OF(x), OF(n), OF(m)};
  const kaon_operand plain[] = {OF(n), OF(z), OF(w), OF(s), OF(r),
                                OF(p), OF(x), OF(m), OF(q), OF(u)};
  const kaon_coefficient c[] = {KAON_PLUS(b), KAON_PLUS(a), KAON_MINUS(a)};
  if (v->d != NULL) return run(PIPECG_SCALED, v->r, scaled, c, slot, pass);
  return run(PIPEPCG, v->r, plain, c, slot, pass);
}

kaon_status kaon_blas_pipepcg_ahead(int a, int b, const kaon_pipepcg_vectors *v,
                                    const kaon_pass *pass) {
  const kaon_operand scaled[] = {OF(d), OF(z), OF(w), OF(s), OF(n), OF(m)};
  const kaon_operand plain[] = {OF(n), OF(z), OF(w), OF(s), OF(m), OF(q)};
  const kaon_coefficient c[] = {KAON_PLUS(b), KAON_MINUS(a)};
  if (v->d != NULL) return run(SCALED_AHEAD, v->w, scaled, c, NULL, pass);
  return run(v->q != NULL ? PIPEPCG_AHEAD : PIPECG_AHEAD, v->w, plain, c, NULL, pass);
}

kaon_status kaon_blas_pipepcg_behind(int a, int b, const kaon_pipepcg_vectors *v, const int slot[3],
                                     const kaon_pass *pass) {
  const kaon_operand scaled[] = {OF(d), OF(r), OF(m), OF(p), OF(x), OF(s)};
  const kaon_operand plain[] = {OF(s), OF(r), OF(w), OF(p), OF(x), OF(q), OF(u)};
  const kaon_coefficient c[] = {KAON_PLUS(b), KAON_PLUS(a), KAON_MINUS(a)};
  if (v->d != NULL) return run(SCALED_BEHIND, v->r, scaled, c, slot, pass);
  return run(v->u != NULL ? PIPEPCG_BEHIND : PIPECG_BEHIND, v->r, plain, c, slot, pass);
}

kaon_status kaon_blas_groppcg_direction(int b, const kaon_groppcg_vectors *v, int slot,
                                        const kaon_pass *pass) {
  const kaon_operand x[] = {OF(z), OF(p), OF(w), OF(s)};
  const kaon_coefficient c[] = {KAON_PLUS(b)};
  return run(GROPP_DIRECTION, v->p, x, c, &slot, pass);
}

kaon_status kaon_blas_groppcg_residual(int a, const kaon_groppcg_vectors *v, const int slot[2],
                                       const kaon_pass *pass) {
  const kaon_operand x[] = {OF(p), OF(x), OF(s), OF(r), OF(q), OF(z)};
  const kaon_coefficient c[] = {KAON_PLUS(a), KAON_MINUS(a)};
  return run(GROPP_RESIDUAL, v->r, x, c, slot, pass);
}

kaon_status kaon_blas_chrongear(int a, int b, const kaon_chrongear_vectors *v, const int slot[4],
                                const kaon_pass *pass) {
  /* These are the updates of pipelined CGNR without its last sum. */
  if (v->u == NULL) {
    const kaon_pipecgnr_vectors all = {.u = v->w, .s = v->s, .r = v->r, .p = v->p, .x = v->x};
    const int sums[4] = {slot[0], slot[1], slot[2], KAON_NO_SLOT};
    return kaon_blas_pipecgnr(a, b, &all, sums, pass);
  }
  const kaon_operand scaled[] = {OF(d), OF(s), OF(r), OF(p), OF(x), OF(u), OF(w)};
  const kaon_operand plain[] = {OF(w), OF(s), OF(u), OF(p), OF(x), OF(r)};
  const kaon_coefficient c[] = {KAON_PLUS(b), KAON_PLUS(a), KAON_MINUS(a)};
  if (v->d != NULL) return run(CHRONGEAR_SCALED, v->r, scaled, c, slot, pass);
  return run(CHRONGEAR, v->r, plain, c, (int[]){slot[0], slot[2]}, pass);
}

kaon_status kaon_blas_rbicgstab_half(int a, const kaon_rbicgstab_vectors *v, const int slot[2],
                                     const kaon_pass *pass) {
  const kaon_operand x[] = {OF(s), OF(z), OF(v), OF(r), OF(r0)};
  const kaon_coefficient c[] = {KAON_MINUS(a)};
  return run(RBI_HALF, v->r, x, c, slot, pass);
}

kaon_status kaon_blas_rbicgstab_end(int a, int o, int b, const kaon_rbicgstab_vectors *v, int slot,
                                    const kaon_pass *pass) {
  const kaon_operand x[] = {OF(y), OF(z), OF(x), OF(t), OF(r), OF(m), OF(s)};
  const kaon_coefficient c[] = {KAON_PLUS(a), KAON_PLUS(o), KAON_MINUS(o), KAON_PLUS(b)};
  return run(RBI_END, v->r, x, c, &slot, pass);
}
