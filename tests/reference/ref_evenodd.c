/* ref_evenodd.c - the even-odd Schur complement of the clover operator (test oracle).
 * M = [[A_p, -kappa D_pq], [-kappa D_qp, A_q]]: DeGrand, Comput. Phys. Commun. 52 (1988) 161;
 * Jansen, Liu, Comput. Phys. Commun. 99 (1997) 221. Vectors are full-lattice arrays. */
#include "reference.h"

#include <stdlib.h>
#include <string.h>

static void copy_parity(const ref_dirac *d, int parity, const ref_complex *in, ref_complex *out) {
  for (size_t x = 0; x < ref_volume(&d->L); x++)
    if (ref_parity(&d->L, x) == parity) memcpy(out + 12 * x, in + 12 * x, 12 * sizeof *out);
}

static void clover_parity(const ref_dirac *d, int parity, const ref_complex *in, ref_complex *out) {
  ref_complex *all = ref_new(ref_spinor_size(&d->L));
  ref_clover_multiply(d, in, all);
  copy_parity(d, parity, all, out);
  free(all);
}

void ref_clover_solve_parity(const ref_dirac *d, int parity, const ref_complex *in,
                             ref_complex *out) {
  for (size_t x = 0; x < ref_volume(&d->L); x++) {
    if (ref_parity(&d->L, x) != parity) continue;
    if (d->clover)
      ref_solve_dense(12, d->clover + 144 * x, in + 12 * x, out + 12 * x);
    else
      memmove(out + 12 * x, in + 12 * x, 12 * sizeof *out);
  }
}

/* out_p = D_pq A_q^-1 D_qp in_p (sign +1), or the same with D^dag (sign -1). */
static void through_other(const ref_dirac *d, int parity, int sign, const ref_complex *in,
                          ref_complex *out) {
  ref_complex *other = ref_new(ref_spinor_size(&d->L));
  ref_hop_parity(d, sign, 1 - parity, in, other);
  ref_clover_solve_parity(d, 1 - parity, other, other);
  ref_hop_parity(d, sign, parity, other, out);
  free(other);
}

static void subtract_parity(const ref_dirac *d, int parity, double factor, const ref_complex *v,
                            ref_complex *out) {
  for (size_t x = 0; x < ref_volume(&d->L); x++)
    if (ref_parity(&d->L, x) == parity) ref_axpy(-factor, v + 12 * x, out + 12 * x, 12);
}

static void schur(const ref_dirac *d, int parity, int symmetric, int sign, const ref_complex *in,
                  ref_complex *out) {
  ref_complex *v = ref_new(ref_spinor_size(&d->L)), *start = ref_new(ref_spinor_size(&d->L));
  copy_parity(d, parity, in, start);
  if (symmetric && sign < 0) /* (A_p^-1 K)^dag = K^dag A_p^-1 */
    ref_clover_solve_parity(d, parity, start, start);
  through_other(d, parity, sign, start, v);
  if (symmetric && sign > 0) ref_clover_solve_parity(d, parity, v, v);
  if (symmetric)
    copy_parity(d, parity, in, start);
  else
    clover_parity(d, parity, in, start);
  subtract_parity(d, parity, d->kappa * d->kappa, v, start);
  copy_parity(d, parity, start, out);
  free(v);
  free(start);
}

void ref_schur(const ref_dirac *d, int parity, int symmetric, const ref_complex *in,
               ref_complex *out) {
  schur(d, parity, symmetric, 1, in, out);
}

void ref_schur_dagger(const ref_dirac *d, int parity, int symmetric, const ref_complex *in,
                      ref_complex *out) {
  schur(d, parity, symmetric, -1, in, out);
}

void ref_schur_prepare(const ref_dirac *d, int parity, int symmetric, const ref_complex *b,
                       ref_complex *out) {
  ref_complex *other = ref_new(ref_spinor_size(&d->L)), *v = ref_new(ref_spinor_size(&d->L));
  ref_clover_solve_parity(d, 1 - parity, b, other);
  ref_hop_parity(d, 1, parity, other, v);
  copy_parity(d, parity, b, other);
  subtract_parity(d, parity, -d->kappa, v, other);
  if (symmetric) ref_clover_solve_parity(d, parity, other, other);
  copy_parity(d, parity, other, out);
  free(other);
  free(v);
}

void ref_schur_reconstruct(const ref_dirac *d, int parity, const ref_complex *b, ref_complex *x) {
  ref_complex *other = ref_new(ref_spinor_size(&d->L)), *v = ref_new(ref_spinor_size(&d->L));
  ref_hop_parity(d, 1, 1 - parity, x, v);
  copy_parity(d, 1 - parity, b, other);
  subtract_parity(d, 1 - parity, -d->kappa, v, other);
  ref_clover_solve_parity(d, 1 - parity, other, x);
  free(other);
  free(v);
}
