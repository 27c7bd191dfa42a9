/* precond_updates.c - the updates of preconditioned methods (precond_updates.h): assigns
 * operands. */
#include "blas/precond_updates.h"

#include "blas/precond_ops.h"
#include "blas/submit.h"

#define ENTRY(u, name)                                                        \
  ((u).ctx != NULL && (u).ctx->backend->precond[(u).shape->precision] != NULL \
       ? (u).ctx->backend->precond[(u).shape->precision]->name                \
       : NULL)

kaon_status kaon_blas_scaled(const kaon_vector *d, int dagger, const kaon_vector *x, kaon_vector *y,
                             const kaon_pass *pass) {
  kaon_update u;
  kaon_update_begin(&u, "scaled", y, pass);
  u.args.n = dagger != 0;
  kaon_update_read_shared(&u, 0, "d", d);
  kaon_update_write(&u, 1, "y", y);
  kaon_update_read(&u, 2, "x", x);
  kaon_update_pass_sums(&u, 3);
  return kaon_update_launch(&u, ENTRY(u, scaled));
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
  kaon_update u;
  kaon_update_begin(&u, "residual_scaled", r, pass);
  kaon_update_read_shared(&u, 0, "d", d);
  kaon_update_write(&u, 1, "r", r);
  kaon_update_write(&u, 2, "z", z);
  kaon_update_read(&u, 3, "q", q);
  kaon_update_coefficient(&u, 0, a);
  for (int i = 0; i < 2; i++) kaon_update_sum(&u, i, slot[i]);
  return kaon_update_launch(&u, ENTRY(u, residual_scaled));
}

kaon_status kaon_blas_shifted(kaon_coefficient a, kaon_vector *p, kaon_vector *x,
                              const kaon_vector *r, kaon_coefficient b, const kaon_pass *pass) {
  kaon_update u;
  kaon_update_begin(&u, "shifted", p, pass);
  kaon_update_read_cyclic(&u, 0, "r", r);
  kaon_update_write(&u, 1, "p", p);
  kaon_update_write(&u, 2, "x", x);
  kaon_update_coefficient(&u, 0, a);
  kaon_update_coefficient(&u, 1, b);
  return kaon_update_launch(&u, ENTRY(u, shifted));
}

static void pipelined_coefficients(kaon_update *u, int a, int b, const int slot[3]) {
  kaon_update_coefficient(u, 0, KAON_PLUS(b));
  kaon_update_coefficient(u, 1, KAON_PLUS(a));
  kaon_update_coefficient(u, 2, KAON_MINUS(a));
  for (int i = 0; i < 3; i++) kaon_update_sum(u, i, slot[i]);
}

kaon_status kaon_blas_pipepcg(int a, int b, const kaon_pipepcg_vectors *v, const int slot[3],
                              const kaon_pass *pass) {
  kaon_update u;
  kaon_update_begin(&u, "pipepcg", v->r, pass);
  kaon_update_write(&u, 1, "z", v->z);
  kaon_update_write(&u, 2, "w", v->w);
  kaon_update_write(&u, 3, "s", v->s);
  kaon_update_write(&u, 4, "r", v->r);
  kaon_update_write(&u, 5, "p", v->p);
  kaon_update_write(&u, 6, "x", v->x);
  if (v->d != NULL) {
    kaon_update_read_shared(&u, 0, "d", v->d);
    kaon_update_read(&u, 7, "n", v->n);
    kaon_update_write(&u, 8, "m", v->m);
    pipelined_coefficients(&u, a, b, slot);
    return kaon_update_launch(&u, ENTRY(u, pipecg_scaled));
  }
  kaon_update_read(&u, 0, "n", v->n);
  kaon_update_read(&u, 7, "m", v->m);
  kaon_update_write(&u, 8, "q", v->q);
  kaon_update_write(&u, 9, "u", v->u);
  pipelined_coefficients(&u, a, b, slot);
  return kaon_update_launch(&u, ENTRY(u, pipepcg));
}

kaon_status kaon_blas_pipepcg_ahead(int a, int b, const kaon_pipepcg_vectors *v,
                                    const kaon_pass *pass) {
  kaon_update u;
  kaon_update_begin(&u, "pipepcg_ahead", v->w, pass);
  kaon_update_write(&u, 1, "z", v->z);
  kaon_update_write(&u, 2, "w", v->w);
  kaon_update_write(&u, 3, "s", v->s);
  kaon_update_coefficient(&u, 0, KAON_PLUS(b));
  kaon_update_coefficient(&u, 1, KAON_MINUS(a));
  if (v->d != NULL) {
    kaon_update_read_shared(&u, 0, "d", v->d);
    kaon_update_read(&u, 4, "n", v->n);
    kaon_update_write(&u, 5, "m", v->m);
    return kaon_update_launch(&u, ENTRY(u, pipecg_scaled_ahead));
  }
  kaon_update_read(&u, 0, "n", v->n);
  if (v->q == NULL) return kaon_update_launch(&u, ENTRY(u, pipecg_ahead));
  kaon_update_read(&u, 4, "m", v->m);
  kaon_update_write(&u, 5, "q", v->q);
  return kaon_update_launch(&u, ENTRY(u, pipepcg_ahead));
}

kaon_status kaon_blas_pipepcg_behind(int a, int b, const kaon_pipepcg_vectors *v, const int slot[3],
                                     const kaon_pass *pass) {
  kaon_update u;
  kaon_update_begin(&u, "pipepcg_behind", v->r, pass);
  kaon_update_write(&u, 1, "r", v->r);
  kaon_update_write(&u, 3, "p", v->p);
  kaon_update_write(&u, 4, "x", v->x);
  kaon_update_coefficient(&u, 0, KAON_PLUS(b));
  kaon_update_coefficient(&u, 1, KAON_PLUS(a));
  kaon_update_coefficient(&u, 2, KAON_MINUS(a));
  for (int i = 0; i < (v->d != NULL || v->u != NULL ? 3 : 2); i++) kaon_update_sum(&u, i, slot[i]);
  kaon_update_read(&u, 2, v->d != NULL ? "m" : "w", v->d != NULL ? v->m : v->w);
  if (v->d != NULL) {
    kaon_update_read_shared(&u, 0, "d", v->d);
    kaon_update_read(&u, 5, "s", v->s);
    return kaon_update_launch(&u, ENTRY(u, pipecg_scaled_behind));
  }
  kaon_update_read(&u, 0, "s", v->s);
  if (v->u == NULL) return kaon_update_launch(&u, ENTRY(u, pipecg_behind));
  kaon_update_read(&u, 5, "q", v->q);
  kaon_update_write(&u, 6, "u", v->u);
  return kaon_update_launch(&u, ENTRY(u, pipepcg_behind));
}

kaon_status kaon_blas_groppcg_direction(int b, const kaon_groppcg_vectors *v, int slot,
                                        const kaon_pass *pass) {
  kaon_update u;
  kaon_update_begin(&u, "groppcg_direction", v->p, pass);
  kaon_update_read(&u, 0, "z", v->z);
  kaon_update_write(&u, 1, "p", v->p);
  kaon_update_read(&u, 2, "w", v->w);
  kaon_update_write(&u, 3, "s", v->s);
  kaon_update_coefficient(&u, 0, KAON_PLUS(b));
  kaon_update_sum(&u, 0, slot);
  return kaon_update_launch(&u, ENTRY(u, groppcg_direction));
}

kaon_status kaon_blas_groppcg_residual(int a, const kaon_groppcg_vectors *v, const int slot[2],
                                       const kaon_pass *pass) {
  kaon_update u;
  kaon_update_begin(&u, "groppcg_residual", v->r, pass);
  kaon_update_read(&u, 0, "p", v->p);
  kaon_update_write(&u, 1, "x", v->x);
  kaon_update_read(&u, 2, "s", v->s);
  kaon_update_write(&u, 3, "r", v->r);
  kaon_update_read(&u, 4, "q", v->q);
  kaon_update_write(&u, 5, "z", v->z);
  kaon_update_coefficient(&u, 0, KAON_PLUS(a));
  kaon_update_coefficient(&u, 1, KAON_MINUS(a));
  for (int i = 0; i < 2; i++) kaon_update_sum(&u, i, slot[i]);
  return kaon_update_launch(&u, ENTRY(u, groppcg_residual));
}

kaon_status kaon_blas_chrongear(int a, int b, const kaon_chrongear_vectors *v, const int slot[4],
                                const kaon_pass *pass) {
  /* These are the updates of pipelined CGNR without its last sum. */
  if (v->u == NULL) {
    const kaon_pipecgnr_vectors all = {.u = v->w, .s = v->s, .r = v->r, .p = v->p, .x = v->x};
    const int sums[4] = {slot[0], slot[1], slot[2], KAON_NO_SLOT};
    return kaon_blas_pipecgnr(a, b, &all, sums, pass);
  }
  kaon_update u;
  kaon_update_begin(&u, "chrongear", v->r, pass);
  u.offers |= KAON_SUMS_LEAVES;
  kaon_update_write(&u, 1, "s", v->s);
  kaon_update_write(&u, 3, "p", v->p);
  kaon_update_write(&u, 4, "x", v->x);
  kaon_update_coefficient(&u, 0, KAON_PLUS(b));
  kaon_update_coefficient(&u, 1, KAON_PLUS(a));
  kaon_update_coefficient(&u, 2, KAON_MINUS(a));
  kaon_update_sum(&u, 0, slot[0]);
  if (v->d == NULL) {
    kaon_update_read(&u, 0, "w", v->w);
    kaon_update_read(&u, 2, "u", v->u);
    kaon_update_write(&u, 5, "r", v->r);
    kaon_update_sum(&u, 1, slot[2]);
    return kaon_update_launch(&u, ENTRY(u, chrongear));
  }
  kaon_update_read_shared(&u, 0, "d", v->d);
  kaon_update_write(&u, 2, "r", v->r);
  kaon_update_write(&u, 5, "u", v->u);
  kaon_update_read(&u, 6, "w", v->w);
  for (int i = 1; i < 4; i++) kaon_update_sum(&u, i, slot[i]);
  return kaon_update_launch(&u, ENTRY(u, chrongear_scaled));
}

kaon_status kaon_blas_rbicgstab_half(int a, const kaon_rbicgstab_vectors *v, const int slot[2],
                                     const kaon_pass *pass) {
  kaon_update u;
  kaon_update_begin(&u, "rbicgstab_half", v->r, pass);
  kaon_update_read(&u, 0, "s", v->s);
  kaon_update_write(&u, 1, "z", v->z);
  kaon_update_read(&u, 2, "v", v->v);
  kaon_update_write(&u, 3, "r", v->r);
  kaon_update_read(&u, 4, "r0", v->r0);
  kaon_update_coefficient(&u, 0, KAON_MINUS(a));
  for (int i = 0; i < 2; i++) kaon_update_sum(&u, i, slot[i]);
  return kaon_update_launch(&u, ENTRY(u, rbicgstab_half));
}

kaon_status kaon_blas_rbicgstab_end(int a, int o, int b, const kaon_rbicgstab_vectors *v, int slot,
                                    const kaon_pass *pass) {
  kaon_update u;
  kaon_update_begin(&u, "rbicgstab_end", v->r, pass);
  kaon_update_write(&u, 0, "y", v->y);
  kaon_update_write(&u, 1, "z", v->z);
  kaon_update_write(&u, 2, "x", v->x);
  kaon_update_read(&u, 3, "t", v->t);
  kaon_update_write(&u, 4, "r", v->r);
  kaon_update_read(&u, 5, "m", v->m);
  kaon_update_read(&u, 6, "s", v->s);
  kaon_update_coefficient(&u, 0, KAON_PLUS(a));
  kaon_update_coefficient(&u, 1, KAON_PLUS(o));
  kaon_update_coefficient(&u, 2, KAON_MINUS(o));
  kaon_update_coefficient(&u, 3, KAON_PLUS(b));
  kaon_update_sum(&u, 0, slot);
  return kaon_update_launch(&u, ENTRY(u, rbicgstab_end));
}
