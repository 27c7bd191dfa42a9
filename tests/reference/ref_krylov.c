/* ref_krylov.c - preconditioned Krylov methods, one line of code for each line of the paper.
 *
 * PCG: Saad, Iterative Methods for Sparse Linear Systems, algorithm 9.1. BiCGStab, preconditioned
 * on the right: van der Vorst, SIAM J. Sci. Stat. Comput. 13 (1992) 631. Reordered BiCGStab:
 * Krasnopolsky, Procedia Comput. Sci. 1 (2010) 213. BiCG: Saad, algorithm 7.3, with K. Pipelined
 * CG: Ghysels, Vanroose, Parallel Comput. 40 (2014) 224, algorithm 4. */
#include "reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef ref_complex cplx;

/* out = K in; without K a copy. */
static void precondition(const ref_system *s, int dagger, const cplx *in, cplx *out) {
  if (s->k != NULL)
    s->k(s->k_user, dagger, s->n, in, out);
  else
    memcpy(out, in, s->n * sizeof *in);
}

static void apply(const ref_system *s, int dagger, const cplx *in, cplx *out) {
  s->a(s->a_user, dagger, s->n, in, out);
}

double ref_system_residual(const ref_system *s, const cplx *b, const cplx *x) {
  cplx *ax = ref_new(s->n);
  double r2 = 0, b2 = 0;
  apply(s, 0, x, ax);
  for (size_t i = 0; i < s->n; i++) {
    const cplx r = b[i] - ax[i];
    r2 += creal(r * conj(r));
    b2 += creal(b[i] * conj(b[i]));
  }
  free(ax);
  return sqrt(r2 / b2);
}

/* Room for `count` vectors of zeros. */
static void take(const ref_system *s, cplx **v, int count) {
  for (int i = 0; i < count; i++) v[i] = ref_new(s->n);
}

static void drop(cplx **v, int count) {
  for (int i = 0; i < count; i++) free(v[i]);
}

/* Notes |r| / |b| of a step; 1: the end. */
static int ends(ref_history *h, const cplx *r, size_t n, double b2, double tol, int most) {
  const double relative = sqrt(ref_norm2(r, n) / b2);
  if (h->count < REF_HISTORY) h->residual[h->count] = relative;
  h->count++;
  return relative <= tol || h->count - 1 >= most;
}

int ref_pcg(const ref_system *s, const cplx *b, cplx *x, double tol, int most, ref_history *h) {
  enum { R, Z, P, AP, N };
  cplx *v[N];
  const size_t n = s->n;
  const double b2 = ref_norm2(b, n);
  take(s, v, N);
  memset(x, 0, n * sizeof *x);
  memcpy(v[R], b, n * sizeof *b);
  precondition(s, 0, v[R], v[Z]);
  memcpy(v[P], v[Z], n * sizeof *b);
  double rz = creal(ref_dot(v[R], v[Z], n));
  h->count = 0;
  while (!ends(h, v[R], n, b2, tol, most)) {
    apply(s, 0, v[P], v[AP]);
    const double alpha = rz / creal(ref_dot(v[P], v[AP], n));
    ref_axpy(alpha, v[P], x, n);
    ref_axpy(-alpha, v[AP], v[R], n);
    precondition(s, 0, v[R], v[Z]);
    const double next = creal(ref_dot(v[R], v[Z], n)), beta = next / rz;
    for (size_t i = 0; i < n; i++) v[P][i] = v[Z][i] + beta * v[P][i];
    rz = next;
  }
  drop(v, N);
  return h->count - 1;
}

int ref_pipecg(const ref_system *s, const cplx *b, cplx *x, double tol, int most, ref_history *h) {
  enum { R, U, W, M, NN, Z, Q, S, P, N };
  cplx *v[N];
  const size_t n = s->n;
  const double b2 = ref_norm2(b, n);
  double gamma_old = 0, alpha = 0;
  take(s, v, N);
  memset(x, 0, n * sizeof *x);
  memcpy(v[R], b, n * sizeof *b);
  precondition(s, 0, v[R], v[U]);
  apply(s, 0, v[U], v[W]);
  for (h->count = 0; !ends(h, v[R], n, b2, tol, most);) {
    const double gamma = creal(ref_dot(v[R], v[U], n)), delta = creal(ref_dot(v[W], v[U], n));
    precondition(s, 0, v[W], v[M]);
    apply(s, 0, v[M], v[NN]);
    const double beta = h->count > 1 ? gamma / gamma_old : 0;
    alpha = h->count > 1 ? gamma / (delta - beta * gamma / alpha) : gamma / delta;
    gamma_old = gamma;
    for (size_t i = 0; i < n; i++) {
      v[Z][i] = v[NN][i] + beta * v[Z][i];
      v[Q][i] = v[M][i] + beta * v[Q][i];
      v[S][i] = v[W][i] + beta * v[S][i];
      v[P][i] = v[U][i] + beta * v[P][i];
      x[i] += alpha * v[P][i];
      v[R][i] -= alpha * v[S][i];
      v[U][i] -= alpha * v[Q][i];
      v[W][i] -= alpha * v[Z][i];
    }
  }
  drop(v, N);
  return h->count - 1;
}

int ref_pbicgstab(const ref_system *s, const cplx *b, cplx *x, double tol, int most,
                  ref_history *h) {
  enum { R, R0, P, KP, V, KS, T, N };
  cplx *v[N], rho = 1, alpha = 1, omega = 1;
  const size_t n = s->n;
  const double b2 = ref_norm2(b, n);
  take(s, v, N);
  memset(x, 0, n * sizeof *x);
  memcpy(v[R], b, n * sizeof *b);
  memcpy(v[R0], b, n * sizeof *b);
  for (h->count = 0; !ends(h, v[R], n, b2, tol, most);) {
    const cplx next = ref_dot(v[R0], v[R], n), beta = next / rho * (alpha / omega);
    for (size_t i = 0; i < n; i++) v[P][i] = v[R][i] + beta * (v[P][i] - omega * v[V][i]);
    precondition(s, 0, v[P], v[KP]);
    apply(s, 0, v[KP], v[V]);
    alpha = next / ref_dot(v[R0], v[V], n);
    ref_axpy(-alpha, v[V], v[R], n);
    precondition(s, 0, v[R], v[KS]);
    apply(s, 0, v[KS], v[T]);
    omega = ref_dot(v[T], v[R], n) / ref_norm2(v[T], n);
    ref_axpy(alpha, v[KP], x, n);
    ref_axpy(omega, v[KS], x, n);
    ref_axpy(-omega, v[T], v[R], n);
    rho = next;
  }
  drop(v, N);
  return h->count - 1;
}

int ref_rbicgstab(const ref_system *s, int printed, const cplx *b, cplx *x, double tol, int most,
                  ref_history *h) {
  enum { R, RW, Z, VH, V, S, TH, T, N };
  cplx *v[N];
  const size_t n = s->n;
  const double b2 = ref_norm2(b, n);
  take(s, v, N);
  memset(x, 0, n * sizeof *x);
  memcpy(v[R], b, n * sizeof *b);
  memcpy(v[RW], b, n * sizeof *b);
  precondition(s, 0, v[R], v[Z]);
  memcpy(v[VH], v[Z], n * sizeof *b);
  cplx rho = ref_dot(v[RW], v[R], n);
  for (h->count = 0; !ends(h, v[R], n, b2, tol, most);) {
    apply(s, 0, v[VH], v[V]);
    precondition(s, 0, v[V], v[S]);
    const cplx alpha = rho / ref_dot(v[RW], v[V], n);
    for (size_t i = 0; i < n; i++) v[TH][i] = v[Z][i] - alpha * v[S][i];
    apply(s, 0, v[TH], v[T]);
    ref_axpy(alpha, v[VH], x, n);
    ref_axpy(-alpha, v[V], v[R], n);
    const cplx omega = ref_dot(v[T], v[R], n) / ref_norm2(v[T], n);
    const cplx chi = printed ? 0 : ref_dot(v[RW], v[R], n);
    const cplx next = chi - omega * ref_dot(v[RW], v[T], n), beta = alpha / omega * (next / rho);
    precondition(s, 0, v[T], v[Z]);
    ref_axpy(omega, v[TH], x, n);
    ref_axpy(-omega, v[T], v[R], n);
    for (size_t i = 0; i < n; i++) {
      v[Z][i] = v[TH][i] - omega * v[Z][i];
      v[VH][i] = v[Z][i] + beta * (v[VH][i] - omega * v[S][i]);
    }
    rho = next;
  }
  drop(v, N);
  return h->count - 1;
}

int ref_pbicg(const ref_system *s, const cplx *b, cplx *x, double tol, int most, ref_history *h) {
  enum { R, RS, Z, ZS, P, PS, Q, QS, N };
  cplx *v[N], rho = 1;
  const size_t n = s->n;
  const double b2 = ref_norm2(b, n);
  take(s, v, N);
  memset(x, 0, n * sizeof *x);
  memcpy(v[R], b, n * sizeof *b);
  memcpy(v[RS], b, n * sizeof *b);
  for (h->count = 0; !ends(h, v[R], n, b2, tol, most);) {
    precondition(s, 0, v[R], v[Z]);
    precondition(s, 1, v[RS], v[ZS]);
    const cplx next = ref_dot(v[RS], v[Z], n), beta = next / rho;
    for (size_t i = 0; i < n; i++) {
      v[P][i] = v[Z][i] + beta * v[P][i];
      v[PS][i] = v[ZS][i] + conj(beta) * v[PS][i];
    }
    apply(s, 0, v[P], v[Q]);
    apply(s, 1, v[PS], v[QS]);
    const cplx alpha = next / ref_dot(v[PS], v[Q], n);
    ref_axpy(alpha, v[P], x, n);
    ref_axpy(-alpha, v[Q], v[R], n);
    ref_axpy(-conj(alpha), v[QS], v[RS], n);
    rho = next;
  }
  drop(v, N);
  return h->count - 1;
}
