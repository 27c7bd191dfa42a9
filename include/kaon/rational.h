/* rational.h - r(A) b with r(x) = constant + sum_i residue_i / (x + pole_i) close to a power of x,
 * by CG of several shifts (kaon/multishift.h). */
#ifndef KAON_RATIONAL_H
#define KAON_RATIONAL_H

#include <kaon/multishift.h>

#ifdef __cplusplus
extern "C" {
#endif

/* r(x) ~ x^power for x in [lo, hi], |r(x) / x^power - 1| <= error there. */
typedef struct kaon_rational {
  int terms; /* 1 to KAON_MULTISHIFT_MAX */
  double power, lo, hi, error;
  double constant, residue[KAON_MULTISHIFT_MAX], pole[KAON_MULTISHIFT_MAX];
} kaon_rational;

/* Zolotarev's approximation to x^(-1/2), the best one of its kind, by elliptic functions: constant
 * 0 and poles above 0. Other powers: scripts/rational_approximation.py writes files for
 * kaon_rational_read.
 *   terms   1 to KAON_MULTISHIFT_MAX; the error falls like exp(-pi^2 terms / log(4 hi / lo)), down
 *           to roundings of the coefficients, which are not in r->error: some 1e-15 up to hi / lo =
 *           1e10, 4e-14 at 1e12, 3e-12 at 1e16
 *   lo, hi  0 < lo < hi, hi / lo at most 1e16
 * Source: Zolotarev (1877); van den Eshof et al., hep-lat/0202025. Not collective. Errors:
 * ARGUMENT. */
kaon_status kaon_rational_inverse_root(int terms, double lo, double hi, kaon_rational *r);

/* A text file: words with blanks or line ends between, # to the end of a line a comment, in this
 * order:
 *   kaon-rational 1
 *   power P  interval LO HI  error E  constant C  terms N
 *   N times: residue pole
 * ctx: whose ranks read it together, or NULL. r(x) is compared with x^P on [LO, HI]: where it is
 * further away than E says the file is refused. *r is unchanged on failure. Collective over ctx.
 * Errors: ARGUMENT, IO, FORMAT (with the line). */
kaon_status kaon_rational_read(kaon_context *ctx, const char *path, kaon_rational *r);

/* r(x). Not collective. */
double kaon_rational_value(const kaon_rational *r, double x);

/* r(A) for an operator A (options->normal: for A^dagger A), Hermitian and positive definite with
 * all eigenvalues in [lo, hi], which the caller has to know (a multiple of the identity shifts
 * them). Refers to A, which must outlive it, and copies r; options as of kaon_multishift_create,
 * NULL: the defaults. *function is NULL on failure. Collective. Errors: those of
 * kaon_multishift_create. */
typedef struct kaon_rational_function kaon_rational_function;
kaon_status kaon_rational_create(kaon_operator *A, const kaon_rational *r,
                                 const kaon_multishift_options *options,
                                 kaon_rational_function **function);
/* Destroys it and sets *function to NULL; NULL is allowed. */
void kaon_rational_destroy(kaon_rational_function **function);

/* y = r(A) b.
 *   b, y         of A's space and precision, equal columns; must not alias; b is unchanged
 *   columns_out  a report for each pole and column, pole by pole as of kaon_multishift_solve; or
 *                NULL
 *   report       or NULL
 * Each solution's residual is options->tol |b| at most where it converged, so y is off by tol sum_i
 * |residue_i| / (lo + pole_i) |b| at most beside r's own error. Collective. Errors: those of
 * kaon_multishift_solve. */
kaon_status kaon_rational_apply(kaon_rational_function *function, const kaon_vector *b,
                                kaon_vector *y, kaon_column_report *columns_out,
                                kaon_solve_report *report);

#ifdef __cplusplus
}
#endif
#endif
