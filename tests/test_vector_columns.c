/* Vector functions that treat columns apart: copies of columns keep every bit and touch no other
 * column, factors by column are those of complex arithmetic, gamma_5 is that of the conventions.
 * Each refuses what does not fit. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <kaon/kaon.h>

#include "tests/util/machine.h"
#include "tests/util/test_util.h"

enum { SITES = 4 * 4 * 2 * 6, REALS = 24, NUMBERS = SITES * REALS, FIVE = 5 };
static const int extents[4] = {4, 4, 2, 6}, machines[2] = {MACHINE_CPU, MACHINE_CUDA};
/* Rounding of a number that is stored once, over the largest of its site. */
static const double unit[3] = {0x1p-53, 0x1p-24, 0x1p-15};

typedef struct fixture {
  kaon_context *ctx;
  kaon_lattice *lattice;
  const kaon_space *space;
} fixture;

static int open_fixture(fixture *f, int machine, kaon_parity parity) {
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  if (machine_lacks(machine)) return 0;
  options.threads = 2;
  must(NULL, machine_open(machine, options, &f->ctx));
  must(f->ctx, kaon_lattice_create(f->ctx, extents, KAON_ANTIPERIODIC, &f->lattice));
  f->space = kaon_lattice_spinors(f->lattice, parity);
  return 1;
}

static void close_fixture(fixture *f) {
  kaon_lattice_destroy(&f->lattice);
  kaon_context_destroy(&f->ctx);
}

static kaon_vector *vector(const fixture *f, kaon_precision precision, int columns) {
  kaon_vector *v = NULL;
  must(f->ctx, kaon_vector_create(f->ctx, f->space, precision, columns, &v));
  return v;
}

/* Columns of numbers in [-1, 1), times a size that differs from site to site. */
static kaon_vector *noise(const fixture *f, kaon_precision precision, int columns, uint64_t seed) {
  kaon_vector *v = vector(f, precision, columns);
  double *psi = malloc(NUMBERS * sizeof *psi);
  for (int k = 0; k < columns; k++) {
    for (int i = 0; i < NUMBERS; i++) {
      seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
      psi[i] = (double)(int64_t)seed * 0x1p-63 * (1 + i / REALS % 7);
    }
    must(f->ctx, kaon_vector_import(v, k, psi, KAON_BASIS_UKQCD));
  }
  free(psi);
  return v;
}

/* One column; numbers of the other parity are 0. */
static double *exported(const fixture *f, const kaon_vector *v, int column) {
  double *psi = calloc(NUMBERS, sizeof *psi);
  must(f->ctx, kaon_vector_export(v, column, psi, KAON_BASIS_UKQCD));
  return psi;
}

static void same_column(const fixture *f, const kaon_vector *a, int i, const kaon_vector *b,
                        int j) {
  double *x = exported(f, a, i), *y = exported(f, b, j);
  assert_memory_equal(x, y, NUMBERS * sizeof *x);
  free(x);
  free(y);
}

static void columns_are_copied_bit_by_bit(void **state) {
  (void)state;
  for (int m = 0; m < 2; m++)
    for (int p = KAON_DOUBLE; p <= KAON_HALF; p++) {
      fixture f;
      if (!open_fixture(&f, machines[m], p == KAON_SINGLE ? KAON_ODD : KAON_FULL)) continue;
      kaon_vector *from = noise(&f, (kaon_precision)p, FIVE, 1);
      kaon_vector *to = noise(&f, (kaon_precision)p, 3, 2), *old = vector(&f, (kaon_precision)p, 3);
      must(f.ctx, kaon_vector_copy(old, to));
      must(f.ctx, kaon_vector_copy_columns(to, 1, from, 3, 2));
      same_column(&f, to, 0, old, 0);
      same_column(&f, to, 1, from, 3);
      same_column(&f, to, 2, from, 4);
      must(f.ctx, kaon_vector_copy_columns(to, 0, to, 2, 1)); /* within a vector */
      same_column(&f, to, 0, from, 4);
      same_column(&f, to, 1, from, 3);
      must(f.ctx, kaon_vector_copy_columns(to, 1, to, 1, 2));
      must(f.ctx, kaon_vector_copy_columns(to, 3, from, 0, 0));
      must_refuse(f.ctx, KAON_ERR_ALIAS, kaon_vector_copy_columns(to, 0, to, 1, 2));
      must_refuse(f.ctx, KAON_ERR_SHAPE, kaon_vector_copy_columns(to, 2, from, 0, 2));
      must_refuse(f.ctx, KAON_ERR_SHAPE, kaon_vector_copy_columns(to, 0, from, 4, 2));
      must_refuse(f.ctx, KAON_ERR_SHAPE, kaon_vector_copy_columns(to, -1, from, 0, 1));
      must_refuse(f.ctx, KAON_ERR_SHAPE, kaon_vector_copy_columns(to, 0, from, 0, -1));
      must_refuse(f.ctx, KAON_ERR_SHAPE, kaon_vector_copy_columns(to, 0, from, 0, INT32_MAX));
      kaon_vector_destroy(&old);
      old = vector(&f, p == KAON_DOUBLE ? KAON_SINGLE : KAON_DOUBLE, 3);
      must_refuse(f.ctx, KAON_ERR_PRECISION, kaon_vector_copy_columns(old, 0, from, 0, 1));
      kaon_vector_destroy(&old);
      kaon_vector_destroy(&to);
      kaon_vector_destroy(&from);
      close_fixture(&f);
    }
}

/* |found - (x + factor y)| over the largest number of the site. A complex product rounds four times
 * at most, and the result is stored once. */
static void compare(const double *x, const double *y, const double factor[2], const double *found,
                    double bound) {
  for (int site = 0; site < SITES; site++) {
    const int at = site * REALS;
    double largest = 0;
    for (int c = at; c < at + REALS; c++) largest = fmax(largest, fabs(x[c]) + 2 * fabs(y[c]));
    for (int c = at; c < at + REALS; c += 2) {
      assert_true(fabs(found[c] - (x[c] + factor[0] * y[c] - factor[1] * y[c + 1])) <=
                  bound * largest);
      assert_true(fabs(found[c + 1] - (x[c + 1] + factor[0] * y[c + 1] + factor[1] * y[c])) <=
                  bound * largest);
    }
  }
}

static void every_column_has_its_factor(void **state) {
  static const double factor[3][2] = {{0.5, 0}, {0.25, -0.75}, {-1, 0.125}};
  static const double zeros[NUMBERS];
  (void)state;
  for (int m = 0; m < 2; m++)
    for (int p = KAON_DOUBLE; p <= KAON_HALF; p++) {
      fixture f;
      if (!open_fixture(&f, machines[m], KAON_FULL)) continue;
      kaon_vector *x = noise(&f, (kaon_precision)p, 3, 1), *y = noise(&f, (kaon_precision)p, 3, 2);
      kaon_vector *sum = vector(&f, (kaon_precision)p, 3),
                  *times = vector(&f, (kaon_precision)p, 3);
      must(f.ctx, kaon_vector_copy(sum, y));
      must(f.ctx, kaon_vector_copy(times, x));
      must(f.ctx, kaon_vector_axpy_columns(factor, x, sum));
      must(f.ctx, kaon_vector_scale(factor, times));
      for (int k = 0; k < 3; k++) {
        double *a = exported(&f, x, k), *b = exported(&f, y, k);
        double *c = exported(&f, sum, k), *d = exported(&f, times, k);
        compare(b, a, factor[k], c, 5 * unit[p]);
        compare(zeros, a, factor[k], d, 5 * unit[p]);
        free(a), free(b), free(c), free(d);
      }
      must_refuse(f.ctx, KAON_ERR_ALIAS, kaon_vector_axpy_columns(factor, x, x));
      kaon_vector_destroy(&x);
      kaon_vector_destroy(&y);
      kaon_vector_destroy(&sum);
      kaon_vector_destroy(&times);
      close_fixture(&f);
    }
}

static void real_spaces_have_real_factors(void **state) {
  static const double complex_factor[1][2] = {{1, 1}}, two[1][2] = {{2, 0}};
  kaon_context *ctx = NULL;
  kaon_space *space = NULL;
  kaon_vector *v = NULL;
  double x[3] = {1, 2, 3};
  (void)state;
  must(NULL, kaon_context_create(NULL, &ctx));
  must(ctx, kaon_space_create(ctx, 3, 1, 0, &space));
  must(ctx, kaon_vector_create(ctx, space, KAON_DOUBLE, 1, &v));
  must(ctx, kaon_vector_import(v, 0, x, KAON_BASIS_UKQCD));
  must_refuse(ctx, KAON_ERR_ARGUMENT, kaon_vector_scale(complex_factor, v));
  must(ctx, kaon_vector_scale(two, v));
  must(ctx, kaon_vector_export(v, 0, x, KAON_BASIS_UKQCD));
  for (int i = 0; i < 3; i++) assert_true(x[i] == 2 * (i + 1));
  kaon_vector_destroy(&v);
  kaon_space_destroy(&space);
  kaon_context_destroy(&ctx);
}

/* gamma_5 = [[0, 1], [1, 0]] in this basis (docs/conventions.md): spins 0, 1 and 2, 3 change places.
 * Numbers in double and single keep their bits; in half they are rounded at most once more. */
static void gamma_5_exchanges_the_halves(void **state) {
  (void)state;
  for (int m = 0; m < 2; m++)
    for (int p = KAON_DOUBLE; p <= KAON_HALF; p++) {
      fixture f;
      if (!open_fixture(&f, machines[m], p == KAON_SINGLE ? KAON_EVEN : KAON_FULL)) continue;
      kaon_vector *x = noise(&f, (kaon_precision)p, 2, 1), *y = vector(&f, (kaon_precision)p, 2);
      must(f.ctx, kaon_vector_gamma5(x, y));
      for (int k = 0; k < 2; k++) {
        double *a = exported(&f, x, k), *b = exported(&f, y, k);
        for (int i = 0; i < NUMBERS; i++) {
          const double wanted = a[i / REALS * REALS + (i + REALS / 2) % REALS];
          assert_true(p == KAON_HALF ? fabs(b[i] - wanted) <= 7 * unit[p] : b[i] == wanted);
        }
        free(a), free(b);
      }
      must_refuse(f.ctx, KAON_ERR_ALIAS, kaon_vector_gamma5(x, x));
      kaon_vector_destroy(&y);
      y = vector(&f, (kaon_precision)p, 1);
      must_refuse(f.ctx, KAON_ERR_SHAPE, kaon_vector_gamma5(x, y));
      kaon_vector_destroy(&y);
      f.space = kaon_lattice_staggered(f.lattice, KAON_FULL);
      kaon_vector *chi = vector(&f, KAON_DOUBLE, 2), *psi = vector(&f, KAON_DOUBLE, 2);
      must_refuse(f.ctx, KAON_ERR_SHAPE, kaon_vector_gamma5(chi, psi));
      kaon_vector_destroy(&chi);
      kaon_vector_destroy(&psi);
      kaon_vector_destroy(&x);
      close_fixture(&f);
    }
}

/* The term of twisted mass is 2 i kappa mu gamma_5 x, which has its sign. M x is a sum of at most 12
 * (8 hops, each of a product of matrices with 3 terms; the mass; the twist) numbers of size |x|. */
static void gamma_5_has_the_sign_of_twisted_mass(void **state) {
  (void)state;
  for (int m = 0; m < 2; m++) {
    kaon_dirac_options d = KAON_DIRAC_OPTIONS_INIT;
    kaon_gauge *gauge = NULL;
    kaon_operator *M = NULL, *twisted = NULL;
    fixture f;
    double norm2, off2;
    if (!open_fixture(&f, machines[m], KAON_FULL)) continue;
    must(f.ctx, kaon_gauge_create(f.lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &gauge));
    must(f.ctx, kaon_gauge_random(gauge, 1));
    must(f.ctx, kaon_dirac_create(gauge, &d, &M));
    d.mu = 0.5;
    must(f.ctx, kaon_dirac_create(gauge, &d, &twisted));
    kaon_vector *x = noise(&f, KAON_DOUBLE, 1, 1), *y = vector(&f, KAON_DOUBLE, 1);
    kaon_vector *z = vector(&f, KAON_DOUBLE, 1), *g = vector(&f, KAON_DOUBLE, 1);
    must(f.ctx, kaon_operator_apply(M, KAON_PLAIN, x, y));
    must(f.ctx, kaon_operator_apply(twisted, KAON_PLAIN, x, z));
    must(f.ctx, kaon_vector_axpy(-1, 0, y, z));
    must(f.ctx, kaon_vector_gamma5(x, g));
    must(f.ctx, kaon_vector_axpy(0, -2 * d.kappa * d.mu, g, z));
    must(f.ctx, kaon_vector_norm2(x, &norm2));
    must(f.ctx, kaon_vector_norm2(z, &off2));
    test_below("twist less gamma_5", sqrt(off2 / norm2), 12 * 5 * 0x1p-53);
    kaon_vector_destroy(&x);
    kaon_vector_destroy(&y);
    kaon_vector_destroy(&z);
    kaon_vector_destroy(&g);
    kaon_operator_destroy(&M);
    kaon_operator_destroy(&twisted);
    kaon_gauge_destroy(&gauge);
    close_fixture(&f);
  }
}

int main(void) {
  const struct CMUnitTest cases[] = {
      cmocka_unit_test(columns_are_copied_bit_by_bit),
      cmocka_unit_test(every_column_has_its_factor),
      cmocka_unit_test(real_spaces_have_real_factors),
      cmocka_unit_test(gamma_5_exchanges_the_halves),
      cmocka_unit_test(gamma_5_has_the_sign_of_twisted_mass),
  };
  return test_main(cases, NULL, NULL);
}
