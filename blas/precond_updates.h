/* precond_updates.h - updates of preconditioned methods: everything between two sums in one pass.
 * The rules of blas.h apply. Not in half precision (NOT_BUILT). d: a vector of one column; d x is a
 * product component by component. Integer coefficients are slots. */
#pragma once

#include "blas/blas.h"

/* y = d x (dagger: conj(d) x); pass->norm <- |y|^2, pass->dot <- (w, y) */
kaon_status kaon_blas_scaled(const kaon_vector *d, int dagger, const kaon_vector *x, kaon_vector *y,
                             const kaon_pass *pass);
/* r += a q, then z = d r; slot[0] <- |r|^2, slot[1] <- (r, z); then pass->then */
kaon_status kaon_blas_residual_scaled(kaon_coefficient a, const kaon_vector *q, kaon_vector *r,
                                      const kaon_vector *d, kaon_vector *z, const int slot[2],
                                      const kaon_pass *pass);

/* x += a p, then p = r + b p; no sums. The number of columns of r divides that of p and x: column k
 * of these uses column k modulo it */
kaon_status kaon_blas_shifted(kaon_coefficient a, kaon_vector *p, kaon_vector *x,
                              const kaon_vector *r, kaon_coefficient b, const kaon_pass *pass);

/* z = n + b z; q = m + b q; s = w + b s; p = u + b p; x += a p; r -= a s; u -= a q; w -= a z;
 * slot[0] <- |r|^2, slot[1] <- (r, u), slot[2] <- (w, u).
 * If u and q are d r and d s with d real, they need not be stored. Then d is given, n is A m, and m
 * is written: m = d w for the new w. */
typedef struct kaon_pipepcg_vectors {
  const kaon_vector *d, *n;
  kaon_vector *m, *z, *q, *w, *s, *r, *u, *p, *x; /* q, u: NULL if d is given */
} kaon_pipepcg_vectors;
kaon_status kaon_blas_pipepcg(int a, int b, const kaon_pipepcg_vectors *v, const int slot[3],
                              const kaon_pass *pass);
/* The same in two passes, with the same bits, if what n = A m needs of other ranks is sent between
 * them. They also replace kaon_blas_pipecg: d, m, q and u are NULL, n is its q, slot[0] <- |r|^2,
 * slot[1] <- (r, w).
 *   ahead   z = n + b z; q = m + b q; s = w + b s; w -= a z; d given: m = d w; no sums
 *   behind  p = u + b p; x += a p; r -= a s; u -= a q; and the sums, for which w, or m, is read */
kaon_status kaon_blas_pipepcg_ahead(int a, int b, const kaon_pipepcg_vectors *v,
                                    const kaon_pass *pass);
kaon_status kaon_blas_pipepcg_behind(int a, int b, const kaon_pipepcg_vectors *v, const int slot[3],
                                     const kaon_pass *pass);

/* direction: p = z + b p; s = w + b s; slot <- (p, s)
 * residual: x += a p; r -= a s; z -= a q; slot[0] <- |r|^2, slot[1] <- (r, z) */
typedef struct kaon_groppcg_vectors {
  const kaon_vector *q, *w;
  kaon_vector *z, *p, *s, *x, *r;
} kaon_groppcg_vectors;
kaon_status kaon_blas_groppcg_direction(int b, const kaon_groppcg_vectors *v, int slot,
                                        const kaon_pass *pass);
kaon_status kaon_blas_groppcg_residual(int a, const kaon_groppcg_vectors *v, const int slot[2],
                                       const kaon_pass *pass);

/* s = w + b s; p = u + b p; x += a p; r -= a s, with u = K r of the old r.
 * Always slot[0] <- |r|^2, slot[2] <- (p, s). Besides:
 *   u given, d NULL  slot[1] and slot[3] are not used
 *   u NULL           u is r; slot[1] <- (r, s); slot[3] is not used
 *   d given          u was d r, and u = d r is written for the new r; slot[1] <- (u, s),
 *                    slot[3] <- (r, u) */
typedef struct kaon_chrongear_vectors {
  const kaon_vector *d, *w;
  kaon_vector *u, *s, *r, *p, *x;
} kaon_chrongear_vectors;
kaon_status kaon_blas_chrongear(int a, int b, const kaon_chrongear_vectors *v, const int slot[4],
                                const kaon_pass *pass);

/* half: z -= a s; r -= a v; slot[0] <- |r|^2, slot[1] <- (r0, r)
 * end: x += a y + o z; r -= o t; z -= o m; y = z + b (y - o s); slot <- |r|^2 */
typedef struct kaon_rbicgstab_vectors {
  const kaon_vector *r0, *s, *v, *t, *m;
  kaon_vector *z, *y, *r, *x;
} kaon_rbicgstab_vectors;
kaon_status kaon_blas_rbicgstab_half(int a, const kaon_rbicgstab_vectors *v, const int slot[2],
                                     const kaon_pass *pass);
kaon_status kaon_blas_rbicgstab_end(int a, int o, int b, const kaon_rbicgstab_vectors *v, int slot,
                                    const kaon_pass *pass);
