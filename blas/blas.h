/* blas.h - vector updates and reductions as solvers write them: gated, coefficients from scalars,
 * sums back into them. */
#ifndef KAON_BLAS_H
#define KAON_BLAS_H

#include "lib/operator.h"

/* A coefficient: sign * slot of the scalars, or the number `sign` itself when slot = KAON_NO_SLOT.
 */
typedef struct kaon_coefficient {
  int slot;
  double sign;
} kaon_coefficient;
#define KAON_PLUS(slot) ((kaon_coefficient){(slot), 1.0})
#define KAON_MINUS(slot) ((kaon_coefficient){(slot), -1.0})
#define KAON_NUMBER(value) ((kaon_coefficient){KAON_NO_SLOT, (value)})

/* Every function: operands of one space, precision and column count (SHAPE, PRECISION), no aliasing
 * between a written and another operand (ALIAS). `pass` gates and receives sums: pass->norm gets
 * |result|^2, pass->dot gets (pass->w, result) where the entry in blas_ops.h offers it. pass =
 * NULL: all columns, no sums (coefficients must then be numbers). */
kaon_status kaon_blas_zero(kaon_vector *y, const kaon_pass *pass);
kaon_status kaon_blas_copy(const kaon_vector *x, kaon_vector *y, const kaon_pass *pass);
kaon_status kaon_blas_scale(kaon_coefficient a, kaon_vector *y, const kaon_pass *pass);
/* y += a x */
kaon_status kaon_blas_axpy(kaon_coefficient a, const kaon_vector *x, kaon_vector *y,
                           const kaon_pass *pass);
/* y = x + a y */
kaon_status kaon_blas_xpay(const kaon_vector *x, kaon_coefficient a, kaon_vector *y,
                           const kaon_pass *pass);
/* y = a x + b y */
kaon_status kaon_blas_axpby(kaon_coefficient a, const kaon_vector *x, kaon_coefficient b,
                            kaon_vector *y, const kaon_pass *pass);
/* x += a p, then p = r + b p */
kaon_status kaon_blas_axpy_xpay(kaon_coefficient a, kaon_vector *p, kaon_vector *x,
                                const kaon_vector *r, kaon_coefficient b, const kaon_pass *pass);
/* p = r + b (p + c v) */
kaon_status kaon_blas_bicgstab_direction(const kaon_vector *r, kaon_coefficient b, kaon_vector *p,
                                         kaon_coefficient c, const kaon_vector *v,
                                         const kaon_pass *pass);
/* x += a p + w r, then r += m t */
kaon_status kaon_blas_bicgstab_solution(kaon_coefficient a, const kaon_vector *p,
                                        kaon_coefficient w, kaon_vector *r, kaon_coefficient m,
                                        const kaon_vector *t, kaon_vector *x,
                                        const kaon_pass *pass);
/* y += sum_i a_i x_i, i < n */
kaon_status kaon_blas_multi_axpy(int n, const kaon_coefficient *a, kaon_vector *const *x,
                                 kaon_vector *y, const kaon_pass *pass);
/* slot[0] <- (x, y), slot[1] <- |x|^2, slot[2] <- |y|^2; KAON_NO_SLOT where not wanted; then
 * pass->then */
kaon_status kaon_blas_dot(const kaon_vector *x, const kaon_vector *y, const int slot[3],
                          const kaon_pass *pass);
/* first_slot + i <- (x_i, y); pass->norm <- |y|^2; then pass->then */
kaon_status kaon_blas_multi_dot(int n, kaon_vector *const *x, const kaon_vector *y, int first_slot,
                                const kaon_pass *pass);
/* to = from or to += from across precisions; pass->norm <- |to|^2 */
kaon_status kaon_blas_convert(const kaon_vector *from, kaon_vector *to, int add,
                              const kaon_pass *pass);
/* Runs recurrence `then` on the gated columns. */
kaon_status kaon_blas_recur(kaon_context *ctx, const kaon_pass *pass);

#endif
