/* test_transfer.c - aggregates and the transfer to a coarse lattice against a slow reference, on
 * every machine, in every precision: orthonormal bases, restriction, prolongation, gates, refusals.
 *
 * Bounds, with u the unit roundoff of the arithmetic and e = 0.51 sqrt(reals) / 32767 the relative
 * error of a site's norm by a store in half precision (0 in others):
 * - A restricted number is a sum over d terms, one behind the other, with d the sites of an
 *   aggregate and the numbers of a half: (2 d + 4) u |v| |f| on the aggregate, where |v| = 1.
 * - Prolonged numbers are sums of n terms. Their errors are (2 n + 4) u sum |v_j e_j|, in norm at
 *   most (2 n + 4) u sqrt(n) |e|.
 * - A basis that is rounded by e is off by sqrt(n) e in norm. It is read twice in P P^dagger. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "multigrid/transfer.h"
#include "tests/reference/reference.h"
#include "tests/util/dirac_case.h"

typedef struct shape {
  int extents[4], block[4], reals, turned, n, columns;
} shape;
static const shape shapes[] = {
    {{8, 8, 8, 8}, {4, 4, 4, 4}, 24, 1, 24, 1},   {{8, 8, 8, 8}, {2, 2, 2, 2}, 24, 1, 12, 3},
    {{4, 6, 2, 10}, {2, 3, 1, 5}, 16, 0, 5, 5},   {{4, 6, 2, 10}, {1, 3, 1, 5}, 48, 0, 1, 2},
    {{12, 6, 6, 12}, {6, 3, 3, 3}, 24, 1, 24, 2}, {{12, 6, 6, 12}, {2, 3, 3, 6}, 48, 0, 5, 1},
    {{16, 8, 8, 8}, {4, 2, 2, 4}, 24, 1, 12, 12}, {{8, 4, 4, 8}, {2, 2, 2, 4}, 96, 0, 24, 4},
    {{16, 8, 8, 8}, {4, 4, 4, 4}, 16, 0, 24, 24}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

typedef struct bed {
  const shape *s;
  kaon_context *ctx;
  kaon_lattice *lattice;
  kaon_aggregates *aggregates;
  kaon_transfer *transfer;
  const kaon_space *space;
  size_t fine, coarse; /* complex numbers of a column */
  double u, e;
  ref_transfer r; /* with the basis of the transfer */
} bed;

static void bed_open(bed *b, int machine, const shape *s, kaon_precision precision, int threads) {
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  options.threads = threads;
  *b = (bed){.s = s};
  must(NULL, machine_open(machine, options, &b->ctx));
  must(b->ctx, kaon_lattice_create(b->ctx, s->extents, KAON_ANTIPERIODIC, &b->lattice));
  must(b->ctx, kaon_aggregates_create(b->lattice, s->block, &b->aggregates));
  b->space = kaon_lattice_space(b->lattice, KAON_FULL, s->reals, 1);
  must(b->ctx, kaon_transfer_create(b->aggregates, b->space,
                                    s->turned ? KAON_HALVES_SPIN : KAON_HALVES_COMPONENTS, s->n,
                                    precision, &b->transfer));
  b->r = (ref_transfer){.numbers = s->reals / 2, .turned = s->turned, .n = s->n};
  memcpy(b->r.L.n, s->extents, sizeof b->r.L.n);
  memcpy(b->r.block, s->block, sizeof b->r.block);
  b->fine = ref_volume(&b->r.L) * (size_t)b->r.numbers;
  b->coarse = ref_aggregates(&b->r) * 2 * (size_t)s->n;
  b->u = precision == KAON_DOUBLE ? 0x1p-53 : 0x1p-24;
  b->e = precision == KAON_HALF ? 0.51 * sqrt(s->reals) / 32767 : 0;
}

static void bed_close(bed *b) {
  if (b->r.v != NULL) case_free_columns((ref_complex **)b->r.v, b->s->n);
  kaon_transfer_destroy(&b->transfer);
  kaon_aggregates_destroy(&b->aggregates);
  kaon_lattice_destroy(&b->lattice);
  kaon_context_destroy(&b->ctx);
}

/* 0: the machine is not there. */
static int has(int machine) {
  return !machine_lacks(machine);
}

static kaon_vector *vector_of(const bed *b, const kaon_space *space, kaon_precision precision,
                              int columns) {
  kaon_vector *v = NULL;
  must(b->ctx, kaon_vector_create(b->ctx, space, precision, columns, &v));
  return v;
}

static void import(const bed *b, kaon_vector *v, ref_complex *const *psi) {
  for (int k = 0; k < v->nrhs; k++)
    must(b->ctx, kaon_vector_import(v, k, (const double *)psi[k], KAON_BASIS_UKQCD));
}

static size_t numbers_of(const kaon_vector *v) {
  return (size_t)v->space->nsites * (size_t)v->space->ncomp / 2;
}

static ref_complex **export(const bed *b, const kaon_vector *v) {
  ref_complex **psi = ref_alloc((size_t)v->nrhs, sizeof *psi);
  for (int k = 0; k < v->nrhs; k++) {
    psi[k] = ref_new(numbers_of(v));
    must(b->ctx, kaon_vector_export(v, k, (double *)psi[k], KAON_BASIS_UKQCD));
  }
  return psi;
}

/* Random columns. */
static kaon_vector *random_vector(const bed *b, const kaon_space *space, kaon_precision precision,
                                  int columns, uint64_t seed) {
  kaon_vector *v = vector_of(b, space, precision, columns);
  ref_complex *psi = ref_new(numbers_of(v));
  for (int k = 0; k < columns; k++) {
    for (size_t i = 0; i < numbers_of(v); i++) {
      const double re = test_uniform(&seed);
      psi[i] = re + I * test_uniform(&seed);
    }
    must(b->ctx, kaon_vector_import(v, k, (const double *)psi, KAON_BASIS_UKQCD));
  }
  free(psi);
  return v;
}

static double norm(const ref_complex *a, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += creal(a[i]) * creal(a[i]) + cimag(a[i]) * cimag(a[i]);
  return sqrt(sum);
}

static double distance(const ref_complex *a, const ref_complex *b, size_t n) {
  ref_complex *off = ref_new(n);
  for (size_t i = 0; i < n; i++) off[i] = a[i] - b[i];
  const double d = norm(off, n);
  free(off);
  return d;
}

static ref_complex dot(const ref_complex *a, const ref_complex *b, size_t n) {
  ref_complex sum = 0;
  for (size_t i = 0; i < n; i++) sum += conj(a[i]) * b[i];
  return sum;
}

/* Sets a random basis; *given: the columns before. */
static kaon_vector *set_basis(bed *b, ref_complex ***given) {
  const kaon_precision p =
      b->transfer->precision == KAON_HALF ? KAON_SINGLE : b->transfer->precision;
  kaon_vector *v = random_vector(b, b->space, p, b->s->n, 99);
  kaon_dependence found = {.vector = 7};
  *given = export(b, v);
  must(b->ctx, kaon_transfer_set(b->transfer, v, &found));
  assert_int_equal(found.vector, -1);
  b->r.v = export(b, b->transfer->basis);
  return v;
}

/* ---- parts of the comparison; all return the worst error / bound ---- */

/* V of the reference from the same vectors, and V in the operator's components in v. */
static double check_basis(const bed *b, ref_complex *const *given, const kaon_vector *v) {
  static const double unitary[] = {1e-13, 1e-6, 2e-4};
  ref_complex **halves = ref_alloc((size_t)b->s->n, sizeof *halves), **after = export(b, v);
  ref_complex *expected = ref_new(b->fine);
  ref_transfer r = b->r;
  double worst = ref_unitarity(&b->r) / unitary[b->transfer->precision];
  for (int j = 0; j < b->s->n; j++) {
    halves[j] = ref_new(b->fine);
    ref_halves(&b->r, given[j], halves[j]);
  }
  r.v = halves;
  ref_gram_schmidt(&r);
  /* Errors of both sides grow with the condition of random vectors, which is below 10. */
  const double bound = sqrt((double)ref_aggregates(&r) * 2) * (10 * 4 * b->s->n * b->u + b->e);
  for (int j = 0; j < b->s->n; j++) {
    worst = larger(worst, distance(b->r.v[j], halves[j], b->fine) / bound);
    ref_halves(&b->r, halves[j], expected);
    worst = larger(worst, distance(after[j], expected, b->fine) / bound);
  }
  case_free_columns(halves, b->s->n);
  case_free_columns(after, b->s->n);
  free(expected);
  return worst;
}

static double check_halves(const bed *b) {
  kaon_vector *y = vector_of(b, b->space, b->transfer->precision, b->s->n);
  ref_complex *one = ref_new(b->fine), *expected = ref_new(b->fine);
  const size_t m = (size_t)b->r.numbers;
  double worst = 0;
  for (int half = 0; half < 2; half++) {
    must(b->ctx, kaon_transfer_half(b->transfer, half, y));
    ref_complex **got = export(b, y);
    for (int j = 0; j < b->s->n; j++) {
      for (size_t i = 0; i < b->fine; i++)
        one[i] = (i % m >= m / 2) == (size_t)half ? b->r.v[j][i] : 0;
      ref_halves(&b->r, one, expected);
      worst = larger(
          worst, distance(got[j], expected, b->fine) / norm(expected, b->fine) / (4 * b->u + b->e));
    }
    case_free_columns(got, b->s->n);
  }
  free(one);
  free(expected);
  kaon_vector_destroy(&y);
  return worst;
}

static double restrict_bound(const bed *b, double fine) {
  const double depth = b->aggregates->view.sites + b->s->reals / 4;
  return (2 * depth + 4) * b->u * sqrt(2 * b->s->n) * fine;
}

static double prolong_bound(const bed *b, double coarse, double fine) {
  return (2 * b->s->n + 4) * b->u * sqrt(b->s->n) * coarse + (4 * b->u + b->e) * fine;
}

/* Both ways with random vectors, and (e, P^dagger f) = (P e, f). */
static double check_vectors(const bed *b) {
  const int columns = b->s->columns;
  const kaon_transfer *t = b->transfer;
  kaon_vector *f = random_vector(b, b->space, t->precision, columns, 5);
  kaon_vector *e = random_vector(b, t->coarse, t->coarse_precision, columns, 6);
  kaon_vector *rf = vector_of(b, t->coarse, t->coarse_precision, columns);
  kaon_vector *pe = vector_of(b, b->space, t->precision, columns);
  ref_complex **hf = export(b, f), **he = export(b, e);
  ref_complex *coarse = ref_new(b->coarse), *fine = ref_new(b->fine);
  double worst = 0;
  must(b->ctx, kaon_transfer_restrict(t, f, rf, NULL));
  must(b->ctx, kaon_transfer_prolong(t, e, 0, pe, NULL));
  must(b->ctx, kaon_transfer_prolong(t, e, 1, f, NULL));
  ref_complex **hrf = export(b, rf), **hpe = export(b, pe), **sum = export(b, f);
  for (int k = 0; k < columns; k++) {
    const double nf = norm(hf[k], b->fine), ne = norm(he[k], b->coarse);
    ref_restrict(&b->r, hf[k], coarse);
    ref_prolong(&b->r, he[k], fine);
    const double np = norm(fine, b->fine);
    const double there = restrict_bound(b, nf), back = prolong_bound(b, ne, np);
    worst = larger(worst, distance(hrf[k], coarse, b->coarse) / there);
    worst = larger(worst, distance(hpe[k], fine, b->fine) / back);
    const double off = cabs(dot(he[k], hrf[k], b->coarse) - dot(hpe[k], hf[k], b->fine));
    worst = larger(worst, off / (there * ne + back * nf));
    for (size_t i = 0; i < b->fine; i++) fine[i] += hf[k][i];
    worst = larger(worst, distance(sum[k], fine, b->fine) / prolong_bound(b, ne, np + nf));
  }
  ref_complex **const all[] = {hf, he, hrf, hpe, sum};
  for (int i = 0; i < 5; i++) case_free_columns(all[i], columns);
  kaon_vector *const vectors[] = {f, e, rf, pe};
  for (int i = 0; i < 4; i++) kaon_vector_destroy(&(kaon_vector *){vectors[i]});
  free(coarse);
  free(fine);
  return worst;
}

/* (1 - P P^dagger) v = 0 for the vectors that the basis was made of. */
static double check_projection(const bed *b, ref_complex *const *given) {
  const kaon_transfer *t = b->transfer;
  kaon_vector *v = vector_of(b, b->space, t->precision, b->s->n);
  kaon_vector *c = vector_of(b, t->coarse, t->coarse_precision, b->s->n);
  double worst = 0;
  import(b, v, given);
  must(b->ctx, kaon_transfer_restrict(t, v, c, NULL));
  must(b->ctx, kaon_transfer_prolong(t, c, 0, v, NULL));
  ref_complex **got = export(b, v);
  for (int j = 0; j < b->s->n; j++) {
    const double n = norm(given[j], b->fine);
    /* of v itself and of the basis, whose errors grow with the condition of the vectors */
    const double basis = sqrt(b->s->n) * (b->e + 10 * 4 * b->s->n * b->u);
    const double bound = restrict_bound(b, n) + prolong_bound(b, n, n) + (2 * basis + b->e) * n;
    worst = larger(worst, distance(got[j], given[j], b->fine) / bound);
  }
  case_free_columns(got, b->s->n);
  kaon_vector_destroy(&v);
  kaon_vector_destroy(&c);
  return worst;
}

/* gamma_5 P e = P (Gamma e) in every bit: gamma_5 exchanges upper and lower components if halves are
 * turned, else changes the sign of the second half. */
static void check_gamma(const bed *b) {
  const kaon_transfer *t = b->transfer;
  kaon_vector *e = random_vector(b, t->coarse, t->coarse_precision, 1, 8);
  kaon_vector *pe = vector_of(b, b->space, t->precision, 1);
  const size_t m = (size_t)b->r.numbers, n = (size_t)b->s->n;
  ref_complex **he = export(b, e);
  must(b->ctx, kaon_transfer_prolong(t, e, 0, pe, NULL));
  ref_complex **plain = export(b, pe);
  for (size_t i = 0; i < b->coarse; i++)
    if (i % (2 * n) >= n) he[0][i] = -he[0][i];
  import(b, e, he);
  must(b->ctx, kaon_transfer_prolong(t, e, 0, pe, NULL));
  ref_complex **flipped = export(b, pe);
  for (size_t i = 0; i < b->fine; i++) {
    const int second = i % m >= m / 2;
    const ref_complex expected = b->s->turned ? plain[0][second ? i - m / 2 : i + m / 2]
                                 : second     ? -plain[0][i]
                                              : plain[0][i];
    if (flipped[0][i] != expected) fail_msg("number %zu: gamma_5 P e is not P Gamma e", i);
  }
  case_free_columns(he, 1);
  case_free_columns(plain, 1);
  case_free_columns(flipped, 1);
  kaon_vector_destroy(&e);
  kaon_vector_destroy(&pe);
}

static void transfers_agree_with_the_reference(void **state) {
  (void)state;
  for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++)
    for (int i = 0; has(machine) && i < SHAPES; i++)
      for (int p = 0; p < 3; p++) {
        const shape *s = &shapes[i];
        ref_complex **given;
        char what[96];
        bed b;
        if (test_brief() && (i + p) % 3 != 0) continue;
        bed_open(&b, machine, s, (kaon_precision)p, 0);
        kaon_vector *v = set_basis(&b, &given);
        snprintf(what, sizeof what, "%s %s %dx%dx%dx%d, n = %d%s: error / bound",
                 isa_names[machine], precision_names[p], s->extents[0], s->extents[1],
                 s->extents[2], s->extents[3], s->n, b.aggregates->view.aligned ? ", aligned" : "");
        const double basis = check_basis(&b, given, v), halves = check_halves(&b);
        const double vectors = check_vectors(&b), projection = check_projection(&b, given);
        check_gamma(&b);
        printf("  %.2g %.2g %.2g %.2g ", basis, halves, vectors, projection);
        test_below(what, larger(larger(basis, halves), larger(vectors, projection)), 1);
        case_free_columns(given, s->n);
        kaon_vector_destroy(&v);
        bed_close(&b);
      }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(transfers_agree_with_the_reference),
  };
  return test_main(tests, NULL, NULL);
}
