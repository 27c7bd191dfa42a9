/* blas.c - vector updates and reductions (blas.h): assigns operands, and composes entries that the
 * backend lacks. */
#include "blas/blas.h"

#include "blas/submit.h"

#define ENTRY(u, name) ((u)->ops != NULL ? (u)->ops->name : NULL)
/* An entry that fuses several others. */
#define FUSED(u, name) (kaon_separate((u)->ctx) ? NULL : ENTRY(u, name))

kaon_status kaon_blas_zero(kaon_vector *y, const kaon_pass *pass) {
  kaon_update u;
  kaon_update_begin(&u, "zero", y, pass);
  kaon_update_write(&u, 0, "y", y);
  if (u.status == KAON_OK && pass != NULL && pass->norm != KAON_NO_SLOT)
    return kaon_fail(u.ctx, KAON_ERR_UNSUPPORTED, "zero: it computes no norm");
  kaon_update_pass_sums(&u, -1);
  return kaon_update_launch(&u, ENTRY(&u, zero));
}

kaon_status kaon_blas_copy(const kaon_vector *x, kaon_vector *y, const kaon_pass *pass) {
  kaon_update u;
  kaon_update_begin(&u, "copy", y, pass);
  kaon_update_read(&u, 0, "x", x);
  kaon_update_write(&u, 1, "y", y);
  kaon_update_pass_sums(&u, -1);
  return kaon_update_launch(&u, ENTRY(&u, copy));
}

kaon_status kaon_blas_scale(kaon_coefficient a, kaon_vector *y, const kaon_pass *pass) {
  kaon_update u;
  kaon_update_begin(&u, "scale", y, pass);
  kaon_update_write(&u, 0, "y", y);
  kaon_update_coefficient(&u, 0, a);
  kaon_update_pass_sums(&u, -1);
  return kaon_update_launch(&u, ENTRY(&u, scale));
}

kaon_status kaon_blas_axpy(kaon_coefficient a, const kaon_vector *x, kaon_vector *y,
                           const kaon_pass *pass) {
  kaon_update u;
  kaon_update_begin(&u, "axpy", y, pass);
  kaon_update_read(&u, 0, "x", x);
  kaon_update_write(&u, 1, "y", y);
  kaon_update_coefficient(&u, 0, a);
  kaon_update_pass_sums(&u, 2);
  return kaon_update_launch(&u, ENTRY(&u, axpy));
}

kaon_status kaon_blas_xpay(const kaon_vector *x, kaon_coefficient a, kaon_vector *y,
                           const kaon_pass *pass) {
  kaon_update u;
  kaon_update_begin(&u, "xpay", y, pass);
  kaon_update_read(&u, 0, "x", x);
  kaon_update_write(&u, 1, "y", y);
  kaon_update_coefficient(&u, 0, a);
  kaon_update_pass_sums(&u, -1);
  return kaon_update_launch(&u, ENTRY(&u, xpay));
}

kaon_status kaon_blas_axpby(kaon_coefficient a, const kaon_vector *x, kaon_coefficient b,
                            kaon_vector *y, const kaon_pass *pass) {
  kaon_update u;
  kaon_update_begin(&u, "axpby", y, pass);
  kaon_update_read(&u, 0, "x", x);
  kaon_update_write(&u, 1, "y", y);
  kaon_update_coefficient(&u, 0, a);
  kaon_update_coefficient(&u, 1, b);
  kaon_update_pass_sums(&u, -1);
  return kaon_update_launch(&u, ENTRY(&u, axpby));
}

kaon_status kaon_blas_axpy_xpay(kaon_coefficient a, kaon_vector *p, kaon_vector *x,
                                const kaon_vector *r, kaon_coefficient b, const kaon_pass *pass) {
  kaon_update u;
  kaon_update_begin(&u, "axpy_xpay", p, pass);
  kaon_update_read(&u, 0, "r", r);
  kaon_update_write(&u, 1, "p", p);
  kaon_update_write(&u, 2, "x", x);
  kaon_update_coefficient(&u, 0, a);
  kaon_update_coefficient(&u, 1, b);
  kaon_update_pass_sums(&u, -1);
  KAON_TRY(kaon_update_check(&u));
  if (FUSED(&u, axpy_xpay) != NULL) return kaon_update_launch(&u, u.ops->axpy_xpay);
  const kaon_pass gate = kaon_pass_gate_only(pass);
  KAON_TRY(kaon_blas_axpy(a, p, x, &gate));
  return kaon_blas_xpay(r, b, p, pass);
}

kaon_status kaon_blas_bicgstab_direction(const kaon_vector *r, kaon_coefficient b, kaon_vector *p,
                                         kaon_coefficient c, const kaon_vector *v,
                                         const kaon_pass *pass) {
  kaon_update u;
  kaon_update_begin(&u, "bicgstab_direction", p, pass);
  kaon_update_read(&u, 0, "r", r);
  kaon_update_write(&u, 1, "p", p);
  kaon_update_read(&u, 2, "v", v);
  kaon_update_coefficient(&u, 0, b);
  kaon_update_coefficient(&u, 1, c);
  kaon_update_pass_sums(&u, -1);
  KAON_TRY(kaon_update_check(&u));
  if (FUSED(&u, bicgstab_direction) != NULL)
    return kaon_update_launch(&u, u.ops->bicgstab_direction);
  const kaon_pass gate = kaon_pass_gate_only(pass);
  KAON_TRY(kaon_blas_axpy(c, v, p, &gate));
  return kaon_blas_xpay(r, b, p, pass);
}

kaon_status kaon_blas_bicgstab_solution(kaon_coefficient a, const kaon_vector *p,
                                        kaon_coefficient w, kaon_vector *r, kaon_coefficient m,
                                        const kaon_vector *t, kaon_vector *x,
                                        const kaon_pass *pass) {
  kaon_update u;
  kaon_update_begin(&u, "bicgstab_solution", x, pass);
  kaon_update_read(&u, 0, "p", p);
  kaon_update_write(&u, 1, "r", r);
  kaon_update_read(&u, 2, "t", t);
  kaon_update_write(&u, 3, "x", x);
  kaon_update_coefficient(&u, 0, a);
  kaon_update_coefficient(&u, 1, w);
  kaon_update_coefficient(&u, 2, m);
  kaon_update_pass_sums(&u, 4);
  KAON_TRY(kaon_update_check(&u));
  if (FUSED(&u, bicgstab_solution) != NULL) return kaon_update_launch(&u, u.ops->bicgstab_solution);
  const kaon_pass gate = kaon_pass_gate_only(pass);
  KAON_TRY(kaon_blas_axpy(a, p, x, &gate));
  KAON_TRY(kaon_blas_axpy(w, r, x, &gate));
  return kaon_blas_axpy(m, t, r, pass);
}

static kaon_status check_multi(const kaon_vector *y, const char *name, int n, const void *a,
                               const void *x) {
  if (n < 0 || n > KAON_BLAS_MULTI)
    return kaon_fail(y ? y->ctx : NULL, KAON_ERR_ARGUMENT,
                     "%s: %d vectors at once, but 0 to %d are possible; split the call", name, n,
                     KAON_BLAS_MULTI);
  if (n > 0 && (a == NULL || x == NULL))
    return kaon_fail(y ? y->ctx : NULL, KAON_ERR_ARGUMENT, "%s: the list of %s is NULL", name,
                     a == NULL ? "coefficients" : "vectors");
  return KAON_OK;
}

kaon_status kaon_blas_multi_axpy(int n, const kaon_coefficient *a, kaon_vector *const *x,
                                 kaon_vector *y, const kaon_pass *pass) {
  KAON_TRY(check_multi(y, "multi_axpy", n, a, x));
  kaon_update u;
  kaon_update_begin(&u, "multi_axpy", y, pass);
  u.args.n = n;
  for (int i = 0; i < n; i++) {
    kaon_update_read(&u, i, "x[i]", x[i]);
    kaon_update_coefficient(&u, i, a[i]);
  }
  kaon_update_write(&u, n, "y", y);
  kaon_update_pass_sums(&u, -1);
  KAON_TRY(kaon_update_check(&u));
  if (FUSED(&u, multi_axpy) != NULL) return kaon_update_launch(&u, u.ops->multi_axpy);
  const kaon_pass gate = kaon_pass_gate_only(pass);
  for (int i = 0; i + 1 < n; i++) KAON_TRY(kaon_blas_axpy(a[i], x[i], y, &gate));
  if (n > 0) return kaon_blas_axpy(a[n - 1], x[n - 1], y, pass);
  return kaon_blas_scale(KAON_NUMBER(1), y, pass);
}

kaon_status kaon_blas_dot(const kaon_vector *x, const kaon_vector *y, const int slot[3],
                          const kaon_pass *pass) {
  kaon_update u;
  kaon_update_begin(&u, "dot", y, pass);
  kaon_update_read(&u, 0, "x", x);
  kaon_update_read(&u, 1, "y", y);
  for (int i = 0; i < 3; i++) kaon_update_sum(&u, i, slot[i]);
  return kaon_update_launch(&u, ENTRY(&u, dot));
}

kaon_status kaon_blas_site_ratio(const kaon_vector *r, const kaon_vector *x, int slot,
                                 const kaon_pass *pass) {
  kaon_update u;
  kaon_update_begin(&u, "site_ratio", r, pass);
  u.offers = KAON_SUMS_RECURRENCES;
  kaon_update_read(&u, 0, "r", r);
  kaon_update_read(&u, 1, "x", x);
  kaon_update_sum(&u, 0, slot);
  return kaon_update_launch(&u, ENTRY(&u, site_ratio));
}

kaon_status kaon_blas_multi_dot(int n, kaon_vector *const *x, const kaon_vector *y, int first_slot,
                                const kaon_pass *pass) {
  KAON_TRY(check_multi(y, "multi_dot", n, x, x));
  kaon_update u;
  kaon_update_begin(&u, "multi_dot", y, pass);
  u.args.n = n;
  u.offers = KAON_SUMS_RECURRENCES;
  u.sums.sum.slot[0] = first_slot;
  for (int i = 0; i < n; i++) {
    kaon_update_read(&u, i, "x[i]", x[i]);
    kaon_update_slot(&u, first_slot + i);
  }
  kaon_update_read(&u, n, "y", y);
  if (pass != NULL) kaon_update_sum(&u, 1, pass->norm);
  KAON_TRY(kaon_update_check(&u));
  if (FUSED(&u, multi_dot) != NULL) return kaon_update_launch(&u, u.ops->multi_dot);
  const kaon_pass gate = kaon_pass_gate_only(pass);
  for (int i = 0; i < n; i++) {
    const int slot[3] = {first_slot + i, KAON_NO_SLOT, KAON_NO_SLOT};
    KAON_TRY(kaon_blas_dot(x[i], y, slot, &gate));
  }
  const int slot[3] = {KAON_NO_SLOT, KAON_NO_SLOT, pass ? pass->norm : KAON_NO_SLOT};
  return kaon_blas_dot(y, y, slot, pass);
}
