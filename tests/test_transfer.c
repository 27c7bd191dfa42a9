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

#include "tests/util/transfer_case.h"

static const shape shapes[] = {
    {{8, 8, 8, 8}, {4, 4, 4, 4}, 24, 1, 24, 1},   {{8, 8, 8, 8}, {2, 2, 2, 2}, 24, 1, 12, 3},
    {{4, 6, 2, 10}, {2, 3, 1, 5}, 16, 0, 5, 5},   {{4, 6, 2, 10}, {1, 3, 1, 5}, 48, 0, 1, 2},
    {{12, 6, 6, 12}, {6, 3, 3, 3}, 24, 1, 12, 2}, {{12, 6, 6, 12}, {2, 3, 3, 6}, 48, 0, 5, 1},
    {{16, 8, 8, 8}, {4, 2, 2, 4}, 24, 1, 12, 12}, {{8, 4, 4, 8}, {2, 2, 2, 4}, 96, 0, 24, 4},
    {{16, 8, 8, 8}, {4, 4, 4, 4}, 16, 0, 12, 24}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

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

/* A basis that is set from itself has the bits of one that is set from another vector. */
static void check_in_place(bed *b, const kaon_vector *candidates) {
  must(b->ctx, kaon_vector_copy(b->transfer->basis, candidates));
  must(b->ctx, kaon_transfer_set(b->transfer, b->transfer->basis, NULL));
  ref_complex **again = export(b, b->transfer->basis);
  for (int j = 0; j < b->s->n; j++)
    assert_memory_equal(again[j], b->r.v[j], b->fine * sizeof **again);
  case_free_columns(again, b->s->n);
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
  if (p == b->transfer->precision) {
    kaon_vector *same = random_vector(b, b->space, p, b->s->n, 99);
    check_in_place(b, same);
    kaon_vector_destroy(&same);
  }
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
    must(b->ctx, kaon_transfer_half(b->transfer, half, 0, b->s->n, y));
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

/* All numbers of a vector, as its bits. */
static char *bits_of(const bed *b, const kaon_vector *v, size_t *bytes) {
  const size_t numbers = (size_t)v->space->nblocks * (size_t)v->space->width * (size_t)v->nrhs *
                         (size_t)v->space->ncomp;
  *bytes = numbers * kaon_precision_bytes(v->precision);
  return machine_read(b->ctx, v->data, *bytes);
}

static void same_bits(const bed *a, const kaon_vector *u, const bed *b, const kaon_vector *v) {
  size_t nu, nv;
  char *left = bits_of(a, u, &nu), *right = bits_of(b, v, &nv);
  assert_int_equal(nu, nv);
  assert_memory_equal(left, right, nu);
  free(left);
  free(right);
}

/* P e on the sites of one parity has the bits of P e on all. */
static void check_parities(const bed *b) {
  const kaon_transfer *t = b->transfer;
  kaon_vector *e = random_vector(b, t->coarse, t->coarse_precision, 2, 8);
  kaon_vector *pe = vector_of(b, b->space, t->precision, 2);
  must(b->ctx, kaon_transfer_prolong(t, e, 0, pe, NULL));
  for (int parity = KAON_EVEN; parity <= KAON_ODD; parity++) {
    kaon_vector all, *part = NULL;
    must(b->ctx, kaon_vector_view(pe, (kaon_parity)parity, &all));
    must(b->ctx, kaon_vector_create(b->ctx, all.space, t->precision, 2, &part));
    must(b->ctx, kaon_transfer_prolong(t, e, 0, part, NULL));
    same_bits(b, part, b, &all);
    kaon_vector_destroy(&part);
  }
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
        /* on a CPU each shape in one precision, another one with each instruction set */
        if (machine != MACHINE_CUDA && (i + p + machine) % 3 != 0) continue;
        bed_open(&b, machine, s, (kaon_precision)p, 0);
        kaon_vector *v = set_basis(&b, &given);
        snprintf(what, sizeof what, "%s %s %dx%dx%dx%d, n = %d%s: error / bound",
                 isa_names[machine], precision_names[p], s->extents[0], s->extents[1],
                 s->extents[2], s->extents[3], s->n, b.aggregates->view.aligned ? ", aligned" : "");
        const double basis = check_basis(&b, given, v), halves = check_halves(&b);
        const double vectors = check_vectors(&b), projection = check_projection(&b, given);
        check_gamma(&b);
        check_parities(&b);
        printf("  %.2g %.2g %.2g %.2g ", basis, halves, vectors, projection);
        test_below(what, larger(larger(basis, halves), larger(vectors, projection)), 1);
        case_free_columns(given, s->n);
        kaon_vector_destroy(&v);
        bed_close(&b);
      }
}

/* V, V^dagger f and f + V V^dagger f. */
typedef struct results {
  kaon_vector *fine, *coarse;
} results;

static results run(bed *b, int columns) {
  const kaon_transfer *t = b->transfer;
  ref_complex **given;
  results r = {random_vector(b, b->space, t->precision, columns, 5),
               vector_of(b, t->coarse, t->coarse_precision, columns)};
  kaon_vector *v = set_basis(b, &given);
  case_free_columns(given, b->s->n);
  kaon_vector_destroy(&v);
  must(b->ctx, kaon_transfer_restrict(t, r.fine, r.coarse, NULL));
  must(b->ctx, kaon_transfer_prolong(t, r.coarse, 1, r.fine, NULL));
  return r;
}

static void destroy(results *r) {
  kaon_vector_destroy(&r->fine);
  kaon_vector_destroy(&r->coarse);
}

/* Columns together have the bits of one by one, too. */
static void bits_depend_on_no_threads_nor_columns(void **state) {
  (void)state;
  static const shape both[] = {{{8, 8, 8, 8}, {2, 2, 2, 2}, 24, 1, 7, 5},
                               {{12, 6, 6, 6}, {2, 3, 3, 3}, 16, 0, 7, 5}};
  static const int threads[] = {1, 2, 5};
  for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++)
    for (int i = 0; has(machine) && i < 6; i++) {
      const shape *s = &both[i % 2];
      bed b[4];
      results r[4];
      for (int n = 0; n < 4; n++) {
        bed_open(&b[n], machine, s, (kaon_precision)(i / 2), threads[n % 3]);
        r[n] = run(&b[n], n < 3 ? s->columns : 1);
        if (n == 0) continue;
        same_bits(&b[0], b[0].transfer->basis, &b[n], b[n].transfer->basis);
        if (n == 3) continue;
        same_bits(&b[0], r[0].coarse, &b[n], r[n].coarse);
        same_bits(&b[0], r[0].fine, &b[n], r[n].fine);
      }
      for (int n = 0; n < 2; n++) { /* column 0 with others, and alone */
        const kaon_vector *together = n ? r[0].fine : r[0].coarse;
        const kaon_vector *alone = n ? r[3].fine : r[3].coarse;
        ref_complex **all = export(&b[0], together), **one = export(&b[3], alone);
        assert_memory_equal(all[0], one[0], numbers_of(alone) * sizeof **all);
        case_free_columns(all, s->columns);
        case_free_columns(one, 1);
      }
      for (int n = 0; n < 4; n++) {
        destroy(&r[n]);
        bed_close(&b[n]);
      }
    }
}

/* Column k of a field that repeats itself every four sites in x and y, as number c of site x y z t
 * of any lattice. */
static void repeating(const bed *b, kaon_vector *v, uint64_t seed) {
  ref_complex *psi = ref_new(b->fine);
  const size_t m = (size_t)b->r.numbers;
  for (int k = 0; k < v->nrhs; k++) {
    for (size_t i = 0; i < b->fine; i++) {
      int x[4];
      ref_coords(&b->r.L, i / m, x);
      const int place = x[0] % 4 + 4 * (x[1] % 4 + 4 * (x[2] + 8 * x[3]));
      uint64_t at = seed + (uint64_t)((place * 64 + (int)(i % m)) * 64 + k) * 7919;
      const double re = test_uniform(&at);
      psi[i] = re + I * test_uniform(&at);
    }
    must(b->ctx, kaon_vector_import(v, k, (const double *)psi, KAON_BASIS_UKQCD));
  }
  free(psi);
}

/* The same numbers have the same sums whether aggregates are side by side in the lanes of blocks or
 * not, and wherever they are. */
static void bits_do_not_depend_on_the_place_of_an_aggregate(void **state) {
  (void)state;
  static const shape both[2] = {{{8, 8, 8, 8}, {2, 2, 2, 2}, 24, 1, 5, 3},
                                {{4, 4, 8, 8}, {2, 2, 2, 2}, 24, 1, 5, 3}};
  for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++)
    for (int p = 0; has(machine) && p < 3; p++) {
      bed b[2];
      ref_complex **coarse[2];
      const kaon_precision of_basis = p == KAON_HALF ? KAON_SINGLE : (kaon_precision)p;
      for (int n = 0; n < 2; n++) {
        bed_open(&b[n], machine, &both[n], (kaon_precision)p, 0);
        const kaon_transfer *t = b[n].transfer;
        results r = {vector_of(&b[n], b[n].space, t->precision, 3),
                     vector_of(&b[n], t->coarse, t->coarse_precision, 3)};
        kaon_vector *v = vector_of(&b[n], b[n].space, of_basis, 5);
        repeating(&b[n], v, 3);
        repeating(&b[n], r.fine, 4);
        must(b[n].ctx, kaon_transfer_set(b[n].transfer, v, NULL));
        must(b[n].ctx, kaon_transfer_restrict(t, r.fine, r.coarse, NULL));
        coarse[n] = export(&b[n], r.coarse);
        kaon_vector_destroy(&v);
        destroy(&r);
      }
      if (machine != MACHINE_CUDA) assert_true(b[0].aggregates->view.aligned);
      if (machine == KAON_ISA_AVX2) assert_false(b[1].aggregates->view.aligned);
      for (int k = 0; k < 3; k++)
        for (size_t i = 0; i < b[0].coarse; i++) {
          int x[4];
          const size_t in = 10; /* numbers of a coarse site */
          ref_lattice large = {{4, 4, 4, 4}}, small = {{2, 2, 4, 4}};
          ref_coords(&large, i / in, x);
          x[0] %= 2;
          x[1] %= 2;
          assert_true(coarse[0][k][i] == coarse[1][k][ref_site(&small, x) * in + i % in]);
        }
      for (int n = 0; n < 2; n++) {
        case_free_columns(coarse[n], 3);
        bed_close(&b[n]);
      }
    }
}

/* Closed columns of the source hold NaN, those of the result numbers that must stay. */
static void closed_columns_are_left_alone(void **state) {
  (void)state;
  static const shape s = {{4, 6, 2, 10}, {2, 3, 1, 5}, 24, 1, 5, 5};
  for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++)
    for (int p = 0; has(machine) && p < 2; p++) {
      bed b;
      kaon_column_state columns[5];
      kaon_scalars *scalars = NULL;
      kaon_pass pass = KAON_PASS_INIT;
      bed_open(&b, machine, &s, (kaon_precision)p, 0);
      const kaon_transfer *t = b.transfer;
      results r = run(&b, 5);
      must(b.ctx, kaon_scalars_create(b.ctx, 5, &scalars));
      memset(columns, 0, sizeof columns);
      for (int k = 0; k < 5; k++)
        columns[k].gate = k == 1 || k == 4 ? KAON_GATE_SERVICE : KAON_GATE_STEP;
      must(b.ctx, kaon_scalars_write(scalars, columns));
      pass.scalars = scalars;
      for (int there = 0; there < 2; there++) {
        kaon_vector *from = there ? r.fine : r.coarse, *to = there ? r.coarse : r.fine;
        ref_complex **source = export(&b, from), **before = export(&b, to);
        kaon_vector *all = vector_of(&b, to->space, to->precision, 5);
        if (there)
          must(b.ctx, kaon_transfer_restrict(t, from, all, NULL));
        else
          must(b.ctx, kaon_transfer_prolong(t, from, 0, all, NULL));
        ref_complex **expected = export(&b, all);
        must(b.ctx, kaon_vector_poison(from));
        for (int k = 0; k < 5; k++)
          if (columns[k].gate == KAON_GATE_STEP)
            must(b.ctx, kaon_vector_import(from, k, (const double *)source[k], KAON_BASIS_UKQCD));
        if (there)
          must(b.ctx, kaon_transfer_restrict(t, from, to, &pass));
        else
          must(b.ctx, kaon_transfer_prolong(t, from, 0, to, &pass));
        ref_complex **after = export(&b, to);
        for (int k = 0; k < 5; k++)
          assert_memory_equal(after[k], columns[k].gate == KAON_GATE_STEP ? expected[k] : before[k],
                              numbers_of(to) * sizeof **after);
        ref_complex **const gone[] = {source, before, expected, after};
        import(&b, from, source);
        for (int i = 0; i < 4; i++) case_free_columns(gone[i], 5);
        kaon_vector_destroy(&all);
      }
      destroy(&r);
      kaon_scalars_destroy(&scalars);
      bed_close(&b);
    }
}

/* Vector 3 is a sum of others on one aggregate in one half; then vector 0 is zero everywhere. */
static void dependent_vectors_are_named(void **state) {
  (void)state;
  static const shape s = {{4, 6, 6, 10}, {2, 3, 3, 5}, 24, 1, 5, 1};
  static const int where[4] = {1, 0, 1, 1};
  for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++)
    for (int p = 0; has(machine) && p < 2; p++) {
      bed b;
      kaon_dependence found;
      ref_complex **again;
      bed_open(&b, machine, &s, (kaon_precision)p, 0);
      kaon_vector *v = random_vector(&b, b.space, (kaon_precision)p, s.n, 12);
      ref_complex **psi = export(&b, v), **halves = export(&b, v);
      const ref_lattice coarse = {{2, 2, 2, 2}};
      const size_t m = 12, aggregate = ref_site(&coarse, where);
      for (int j = 0; j < s.n; j++) ref_halves(&b.r, psi[j], halves[j]);
      for (size_t i = 0; i < b.fine; i++)
        if (ref_aggregate(&b.r, i / m) == aggregate && i % m >= m / 2)
          halves[3][i] = (1 + 2 * I) * halves[0][i] - halves[2][i] / 3;
      ref_halves(&b.r, halves[3], psi[3]);
      import(&b, v, psi);
      must_refuse(b.ctx, KAON_ERR_SINGULAR, kaon_transfer_set(b.transfer, v, &found));
      assert_int_equal(found.vector, 3);
      assert_memory_equal(found.site, where, sizeof where);
      memset(psi[0], 0, b.fine * sizeof **psi);
      import(&b, v, psi);
      must_refuse(b.ctx, KAON_ERR_SINGULAR, kaon_transfer_set(b.transfer, v, &found));
      assert_int_equal(found.vector, 0);
      for (int mu = 0; mu < 4; mu++) assert_int_equal(found.site[mu], 0);
      kaon_vector_destroy(&v);
      v = set_basis(&b, &again); /* all is well again */
      test_below("V^dagger V - 1", ref_unitarity(&b.r), p == KAON_DOUBLE ? 1e-13 : 1e-6);
      case_free_columns(psi, s.n);
      case_free_columns(halves, s.n);
      case_free_columns(again, s.n);
      kaon_vector_destroy(&v);
      bed_close(&b);
    }
}

static void what_does_not_fit_is_refused(void **state) {
  (void)state;
  static const shape s = {{4, 6, 2, 12}, {2, 3, 1, 2}, 24, 1, 5, 1};
  static const int bad[][4] = {{4, 1, 1, 1}, {3, 1, 1, 1}, {0, 1, 1, 1}, {1, 2, 1, 1},
                               {1, 1, 2, 1}, {1, 1, 1, 4}, {1, 1, 1, -2}};
  kaon_aggregates *none = NULL;
  kaon_transfer *wrong = NULL;
  bed b;
  bed_open(&b, KAON_ISA_AUTO, &s, KAON_DOUBLE, 0);
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    must_refuse(b.ctx, KAON_ERR_ARGUMENT, kaon_aggregates_create(b.lattice, bad[i], &none));
    assert_null(none);
  }
  assert_non_null(strstr(kaon_last_error(b.ctx), "1, 2, 3, 6"));
  const kaon_space *odd = kaon_lattice_space(b.lattice, KAON_FULL, 6, 1);
  const kaon_space *even = kaon_lattice_space(b.lattice, KAON_EVEN, 24, 1);
  const kaon_space *coarse = b.transfer->coarse;
  const kaon_space *const spaces[] = {odd, even, coarse};
  for (int i = 0; i < 3; i++)
    must_refuse(b.ctx, KAON_ERR_ARGUMENT,
                kaon_transfer_create(b.aggregates, spaces[i], KAON_HALVES_COMPONENTS, 5,
                                     KAON_DOUBLE, &wrong));
  must_refuse(
      b.ctx, KAON_ERR_UNSUPPORTED,
      kaon_transfer_create(b.aggregates, b.space, KAON_HALVES_TURNED, 0, KAON_DOUBLE, &wrong));
  must_refuse(b.ctx, KAON_ERR_UNSUPPORTED,
              kaon_transfer_create(b.aggregates, b.space, KAON_HALVES_TURNED,
                                   KAON_TRANSFER_VECTORS + 1, KAON_DOUBLE, &wrong));
  assert_null(wrong);
  kaon_vector *f = vector_of(&b, b.space, KAON_DOUBLE, 2);
  kaon_vector *c = vector_of(&b, coarse, KAON_DOUBLE, 2);
  kaon_vector *few = vector_of(&b, coarse, KAON_DOUBLE, 1);
  kaon_vector *rough = vector_of(&b, b.space, KAON_SINGLE, 2);
  kaon_vector *half = vector_of(&b, b.space, KAON_HALF, s.n);
  must_refuse(b.ctx, KAON_ERR_SHAPE, kaon_transfer_restrict(b.transfer, c, f, NULL));
  must_refuse(b.ctx, KAON_ERR_SHAPE, kaon_transfer_restrict(b.transfer, f, few, NULL));
  must_refuse(b.ctx, KAON_ERR_PRECISION, kaon_transfer_prolong(b.transfer, c, 0, rough, NULL));
  must_refuse(b.ctx, KAON_ERR_SHAPE, kaon_transfer_set(b.transfer, f, NULL));
  must_refuse(b.ctx, KAON_ERR_PRECISION, kaon_transfer_set(b.transfer, half, NULL));
  must_refuse(b.ctx, KAON_ERR_PRECISION, kaon_transfer_half(b.transfer, 0, 0, s.n, half));
  kaon_vector *const vectors[] = {f, c, few, rough, half};
  for (int i = 0; i < 5; i++) kaon_vector_destroy(&(kaon_vector *){vectors[i]});
  bed_close(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(transfers_agree_with_the_reference),
      cmocka_unit_test(bits_depend_on_no_threads_nor_columns),
      cmocka_unit_test(bits_do_not_depend_on_the_place_of_an_aggregate),
      cmocka_unit_test(closed_columns_are_left_alone),
      cmocka_unit_test(dependent_vectors_are_named),
      cmocka_unit_test(what_does_not_fit_is_refused),
  };
  return test_main(tests, NULL, NULL);
}
