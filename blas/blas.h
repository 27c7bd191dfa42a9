/* blas.h - vector updates and reductions as solvers write them: gated, with coefficients from
 * scalars and sums into scalars. For axpy_xpay, bicgstab_*, multi_axpy and multi_dot, a NULL entry
 * of the kernel table is composed from other entries (half: rounded after every part). All other
 * entries are required. */
#pragma once

#include "lib/operator/operator_internal.h"

/* A coefficient: sign * slot of the scalars, or the value `sign` itself if slot = KAON_NO_SLOT. */
typedef struct kaon_coefficient {
  int slot;
  double sign;
} kaon_coefficient;
#define KAON_PLUS(slot) ((kaon_coefficient){(slot), 1.0})
#define KAON_MINUS(slot) ((kaon_coefficient){(slot), -1.0})
#define KAON_NUMBER(value) ((kaon_coefficient){KAON_NO_SLOT, (value)})

/* Rules for every function.
 * - Operands have one space, precision and number of columns (SHAPE, PRECISION). A written
 *   operand must not overlap another one (ALIAS).
 * - `pass` gates the columns and receives sums over the result as stored (half: after
 *   quantisation). pass->norm gets |result|^2. pass->dot gets (pass->w, result) if blas_ops.h
 *   offers it (else UNSUPPORTED). Then pass->then runs. The scalars have as many columns as the
 *   vectors.
 * - pass = NULL: all columns, no sums; coefficients must then be values.
 * - In a real space, coefficients use the slot's real part.
 * - Functions with sums are collective.
 * - Other errors: ARGUMENT (NULL operand, slot out of range), NOT_BUILT. */
kaon_status kaon_blas_zero(kaon_vector *y, const kaon_pass *pass);
kaon_status kaon_blas_copy(const kaon_vector *x, kaon_vector *y, const kaon_pass *pass);
kaon_status kaon_blas_scale(kaon_coefficient a, kaon_vector *y, const kaon_pass *pass);
/* y *= 2^exponent, in steps; and the exponent of the next step, whose factor y's precision holds. */
kaon_status kaon_blas_times_power(kaon_vector *y, int exponent);
int kaon_blas_power(const kaon_vector *y, int exponent);
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
/* y += sum_i a_i x_i, i < n, 0 <= n <= KAON_BLAS_MULTI */
enum { KAON_BLAS_MULTI = 32 };
kaon_status kaon_blas_multi_axpy(int n, const kaon_coefficient *a, kaon_vector *const *x,
                                 kaon_vector *y, const kaon_pass *pass);
/* slot[0] <- (x, y), slot[1] <- |x|^2, slot[2] <- |y|^2; KAON_NO_SLOT: not wanted; then
 * pass->then */
kaon_status kaon_blas_dot(const kaon_vector *x, const kaon_vector *y, const int slot[3],
                          const kaon_pass *pass);
/* slot <- over sites (rows) with x != 0: the sum of |r|^2 / |x|^2, and their number; then
 * pass->then */
kaon_status kaon_blas_site_ratio(const kaon_vector *r, const kaon_vector *x, int slot,
                                 const kaon_pass *pass);
/* first_slot + i <- (x_i, y); pass->norm <- |y|^2; then pass->then */
kaon_status kaon_blas_multi_dot(int n, kaon_vector *const *x, const kaon_vector *y, int first_slot,
                                const kaon_pass *pass);

/* ---- pipelined methods: all updates between two sums in one pass; the sums may be split ---- */

/* z = q + b z; s = w + b s; p = r + b p; x += a p; r -= a s; w -= a z.
 *   slot[0] <- |r|^2, slot[1] <- (r, w); KAON_NO_SLOT: not wanted; then pass->then */
typedef struct kaon_pipecg_vectors {
  const kaon_vector *q;
  kaon_vector *z, *w, *s, *r, *p, *x;
} kaon_pipecg_vectors;
kaon_status kaon_blas_pipecg(int a, int b, const kaon_pipecg_vectors *v, const int slot[2],
                             const kaon_pass *pass); /* a, b: slots */
/* s = u + b s; p = r + b p; x += a p; r -= a s.
 *   slot[0] <- |r|^2, slot[1] <- (r, s), slot[2] <- (p, s), slot[3] <- (p, r) */
typedef struct kaon_pipecgnr_vectors {
  const kaon_vector *u;
  kaon_vector *s, *r, *p, *x;
} kaon_pipecgnr_vectors;
kaon_status kaon_blas_pipecgnr(int a, int b, const kaon_pipecgnr_vectors *v, const int slot[4],
                               const kaon_pass *pass);
/* direction: p = r + b (p - o s); s = w + b (s - o z); z = t + b (z - o v); r -= a s; w -= a z.
 *   slot[0] <- (r, w), slot[1] <- |w|^2 with |r|^2 as its imaginary part,
 *   slot[2] <- (r0, s), slot[3] <- (r0, z)
 * solution: x += a p + o r; r -= o w; w -= o (t - a v).
 *   slot[0] <- |r|^2, slot[1] <- (r0, r), slot[2] <- (r0, w) */
typedef struct kaon_pipebicgstab_vectors {
  const kaon_vector *r0, *t, *v;
  kaon_vector *r, *w, *p, *s, *z, *x;
} kaon_pipebicgstab_vectors;
kaon_status kaon_blas_pipebicgstab_direction(int a, int b, int o,
                                             const kaon_pipebicgstab_vectors *v, const int slot[4],
                                             const kaon_pass *pass);
kaon_status kaon_blas_pipebicgstab_solution(int a, int o, const kaon_pipebicgstab_vectors *v,
                                            const int slot[3], const kaon_pass *pass);

/* ---- updates that combine columns (solvers/methods/blockcg.c) ----
 * There are n = nrhs columns, at most KAON_BLOCK_MAX (UNSUPPORTED beyond). A coefficient names a
 * matrix: entry (i, j) is its sign times slot + i of column j. Columns closed by the gate have
 * neither rows nor columns; they are neither read nor written. `pass` must have scalars. pass->then
 * is a recurrence of a column; in gram and block_recur it is one of a block
 * (lib/math/steps/block_recurrences.h). */

/* slot first + i of column j <- (x_i, y_j). hermitian: 1: the result is known to be Hermitian,
 * which halves the work; y may be x. */
kaon_status kaon_blas_gram(const kaon_vector *x, const kaon_vector *y, int hermitian, int first,
                           const kaon_pass *pass);
/* y_j += sum_i x_i m_ij; pass->norm <- |y|^2 */
kaon_status kaon_blas_block_axpy(kaon_coefficient m, const kaon_vector *x, kaon_vector *y,
                                 const kaon_pass *pass);
/* x += p a; q = q t; p = q + p m in one pass, with matrices as above. If x is NULL, or p and x are,
 * their lines are omitted. No sums. */
kaon_status kaon_blas_block_rotate(kaon_coefficient t, kaon_vector *q, kaon_coefficient m,
                                   kaon_vector *p, kaon_coefficient a, kaon_vector *x,
                                   const kaon_pass *pass);
/* Runs the block recurrence `then` on the gated columns, with this rank's current scalars. */
kaon_status kaon_blas_block_recur(kaon_context *ctx, const kaon_pass *pass);

/* to = from or to += from across precisions; pass->norm <- |to|^2 */
kaon_status kaon_blas_convert(const kaon_vector *from, kaon_vector *to, int add,
                              const kaon_pass *pass);
/* to += from, then from = 0, in one pass; pass->norm <- |to|^2 */
kaon_status kaon_blas_add_and_zero(kaon_vector *from, kaon_vector *to, const kaon_pass *pass);
/* Runs recurrence `then` on the gated columns, with this rank's current scalars. */
kaon_status kaon_blas_recur(kaon_context *ctx, const kaon_pass *pass);
/* For an operator with private scalars: opens (KAON_GATE_STEP) the columns that are open in
 * `outside`, and closes the others. Both have the same number of columns. */
kaon_status kaon_blas_follow(const kaon_pass *outside, kaon_scalars *own);
