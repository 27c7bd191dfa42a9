/* cgn_count.c - how many CG steps on the normal equations a MILC v5 configuration takes, a figure
 * that DDalphaAMG printed for the same field (MANIFEST of the test data). A program to run by
 * hand: 16^4 at kappa .1345 takes minutes.
 *
 *  cc -std=c99 -O3 -march=native -ffast-math -I. cgn_count.c ref_*.c milc_files.c -lm
 *  cgn_count FILE KAPPA CSW [TOL [MAX_STEPS [SEED]]]
 *
 * Boundary antiperiodic in t; each real component of the source is uniform in [-1/2, 1/2],
 * DDalphaAMG's random source. It prints the step at which the residual of the normal equations,
 * |M^dag r| / |M^dag b|, is first at most TOL, the step at which that of the system, |r| / |b|,
 * is, and both true residuals at the end. DDalphaAMG's count is the larger of the two steps: its
 * first loop stops on the former and continues until the latter holds too. The operator is
 * ref_apply with a neighbour table and without the zeros of the gamma matrices; it is compared
 * with ref_apply before the solve. */
#include "milc_files.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  const ref_dirac *d;
  size_t n;
  size_t *forward, *backward; /* [site * 4 + mu] */
  int column[4][4];           /* gamma_mu has value[mu][s] at (s, column[mu][s]) */
  ref_complex value[4][4];
} fast;

static void fast_init(fast *f, const ref_dirac *d) {
  size_t volume = ref_volume(&d->L);
  f->d = d;
  f->n = ref_spinor_size(&d->L);
  f->forward = ref_alloc(4 * volume, sizeof *f->forward);
  f->backward = ref_alloc(4 * volume, sizeof *f->backward);
  for (size_t x = 0; x < volume; x++)
    for (int mu = 0; mu < 4; mu++) {
      f->forward[4 * x + (size_t)mu] = ref_shift(&d->L, x, mu, 1);
      f->backward[4 * x + (size_t)mu] = ref_shift(&d->L, x, mu, -1);
    }
  for (int mu = 0; mu < 4; mu++) {
    ref_complex g[16];
    ref_gamma(REF_UKQCD, mu, g);
    for (int i = 0; i < 16; i++)
      if (g[i] != 0) {
        f->column[mu][i / 4] = i % 4;
        f->value[mu][i / 4] = g[i];
      }
  }
}

/* out += factor (1 + sign gamma_mu) u in, u or its adjoint. */
static void add(const fast *f, int mu, double sign, double factor, const ref_complex *u,
                int adjoint, const ref_complex *in, ref_complex *out) {
  ref_complex v[12];
  for (int s = 0; s < 4; s++)
    for (int i = 0; i < 3; i++) {
      ref_complex sum = 0;
      for (int j = 0; j < 3; j++)
        sum += (adjoint ? conj(u[3 * j + i]) : u[3 * i + j]) * in[3 * s + j];
      v[3 * s + i] = factor * sum;
    }
  for (int s = 0; s < 4; s++)
    for (int i = 0; i < 3; i++)
      out[3 * s + i] += v[3 * s + i] + sign * f->value[mu][s] * v[3 * f->column[mu][s] + i];
}

/* M (sign 1) or M^dag (sign -1). */
static void apply(const fast *f, int sign, const ref_complex *in, ref_complex *out) {
  const ref_dirac *d = f->d;
  size_t volume = ref_volume(&d->L), slice = volume / (size_t)d->L.n[3];
  for (size_t x = 0; x < volume; x++) {
    ref_complex r[12];
    const ref_complex *a = d->clover + 144 * x;
    for (size_t i = 0; i < 12; i++) {
      r[i] = 0;
      for (size_t j = 0; j < 12; j++) r[i] += a[12 * i + j] * in[12 * x + j];
    }
    for (int mu = 0; mu < 4; mu++) {
      size_t y = f->forward[4 * x + (size_t)mu], z = f->backward[4 * x + (size_t)mu];
      double ahead = mu == 3 && x >= volume - slice ? d->kappa : -d->kappa;
      double behind = mu == 3 && x < slice ? d->kappa : -d->kappa;
      add(f, mu, -sign, ahead, d->u + 9 * (4 * x + (size_t)mu), 0, in + 12 * y, r);
      add(f, mu, sign, behind, d->u + 9 * (4 * z + (size_t)mu), 1, in + 12 * z, r);
    }
    memcpy(out + 12 * x, r, sizeof r);
  }
}

static void solve(const fast *f, const ref_complex *b, double tol, int max_steps) {
  size_t n = f->n;
  ref_complex *x = ref_new(n), *r = ref_new(n), *s = ref_new(n), *p = ref_new(n), *q = ref_new(n);
  ref_complex *w = ref_new(n);
  memcpy(r, b, n * sizeof *r);
  apply(f, -1, b, s);
  memcpy(p, s, n * sizeof *p);
  double rr0 = ref_norm2(r, n), ss0 = ref_norm2(s, n), rr = rr0, ss = ss0;
  int full = 0, normal = 0;
  for (int step = 1; step <= max_steps && !(full && normal); step++) {
    apply(f, 1, p, q);
    apply(f, -1, q, w);
    double alpha = ss / ref_norm2(q, n);
    for (size_t i = 0; i < n; i++) {
      x[i] += alpha * p[i];
      r[i] -= alpha * q[i];
      s[i] -= alpha * w[i];
    }
    double next = ref_norm2(s, n), beta = next / ss;
    for (size_t i = 0; i < n; i++) p[i] = s[i] + beta * p[i];
    ss = next;
    rr = ref_norm2(r, n);
    if (!normal && ss <= tol * tol * ss0) normal = step;
    if (!full && rr <= tol * tol * rr0) full = step;
    if (step % 100 == 0)
      printf("step %d: system %.3e, normal equations %.3e\n", step, sqrt(rr / rr0), sqrt(ss / ss0));
    fflush(stdout);
  }
  apply(f, 1, x, q);
  for (size_t i = 0; i < n; i++) q[i] = b[i] - q[i];
  apply(f, -1, q, w);
  printf(
      "normal equations at step %d, system at step %d; true residuals: system %.3e, normal %.3e\n",
      normal, full, sqrt(ref_norm2(q, n) / rr0), sqrt(ref_norm2(w, n) / ss0));
}

int main(int argc, char **argv) {
  if (argc < 4) {
    fprintf(stderr, "usage: cgn_count FILE KAPPA CSW [TOL [MAX_STEPS [SEED]]]\n");
    return 2;
  }
  ref_lattice L;
  ref_complex *u;
  const char *error = milc_read_gauge(argv[1], &L, &u);
  if (error) {
    fprintf(stderr, "%s: %s\n", argv[1], error);
    return 2;
  }
  ref_rng rng;
  ref_rng_seed(&rng, argc > 6 ? strtoull(argv[6], NULL, 10) : 1);
  double csw = strtod(argv[3], NULL);
  /* the clover array is wanted for csw = 0 as well */
  ref_dirac d = ref_dirac_make(&L, u, strtod(argv[2], NULL), csw == 0 ? 1e-300 : csw, 1);
  fast f;
  fast_init(&f, &d);
  ref_complex *b = ref_new(f.n), *c = ref_new(f.n), *e = ref_new(f.n);
  for (size_t i = 0; i < f.n; i++) {
    double re = ref_uniform(&rng) - 0.5, im = ref_uniform(&rng) - 0.5;
    b[i] = re + I * im;
  }
  ref_apply(&d, b, c);
  apply(&f, 1, b, e);
  printf("plaquette %.12f; operator - ref_apply: %.1e", ref_plaquette(&L, u).all,
         ref_rel_diff(e, c, f.n));
  ref_apply_dagger(&d, b, c);
  apply(&f, -1, b, e);
  printf(", dagger %.1e\n", ref_rel_diff(e, c, f.n));
  solve(&f, b, argc > 4 ? strtod(argv[4], NULL) : 1e-10, argc > 5 ? atoi(argv[5]) : 10000);
  return 0;
}
