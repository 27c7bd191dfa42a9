/* test_galerkin.c - the coarse operator A_c = V^dagger A V: its product with random vectors is that
 * of V, A and V^dagger one after the other; its matrices are those of a slow reference; and they have
 * the symmetry of A under gamma_5. All of it again one level down, where A is the coarse operator.
 * Random columns, which sets of vectors begin with.
 *
 * Bounds, with u the unit roundoff and d the complex numbers of a half of an aggregate, at most 400
 * here: every number is a sum of d products, so its error is below 2 d u times the sum of their
 * sizes. On random vectors errors add like independent ones, and a result is off by a few u
 * sqrt(d). In double a bound of 9000 u is safe and far below what a wrong term does. In single 170 u
 * are some 8 sqrt(d) u. The relation between a matrix and the one opposite compares two sums of the
 * same products. It has a tenth of these. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "lib/math/philox.h"
#include "multigrid/hierarchy.h"
#include "tests/util/dirac_case.h"

static const double product_bound[] = {1e-12, 1e-5}, symmetry_bound[] = {1e-13, 1e-6};

enum { WILSON, CLOVER, TWISTED, ACTIONS };
static const char *const action_names[] = {"Wilson", "clover", "twisted clover"};

/* block, n: by level. Levels have an even number of aggregates in each direction. */
typedef struct shape {
  int extents[4], block[2][4], n[2];
} shape;
static const shape shapes[] = {
    {{8, 4, 4, 8}, {{2, 2, 2, 2}, {2, 1, 1, 2}}, {6, 8}},
    {{12, 6, 4, 4}, {{3, 3, 2, 2}, {2, 1, 1, 1}}, {5, 4}},
    {{4, 6, 2, 10}, {{2, 3, 1, 5}, {1, 1, 1, 1}}, {3, 3}},
    {{8, 4, 4, 8}, {{4, 2, 2, 4}, {1, 1, 1, 1}}, {24, 7}},
    {{12, 6, 4, 4}, {{6, 1, 2, 2}, {1, 3, 1, 1}}, {4, 12}},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* ---- levels ---- */

typedef struct level {
  kaon_aggregates *aggregates;
  kaon_transfer *transfer;
  kaon_operator *A[2]; /* of the operators above */
  double projection;   /* |(1 - P P^dagger) v| / |v| of the vectors of the basis */
} level;

static const kaon_couplings *couplings_of(const kaon_operator *A) {
  const kaon_couplings *c = kaon_operator_capability(A, KAON_CAPABILITY_COUPLINGS);
  assert_non_null(c);
  return c;
}

static kaon_vector *vector_of(const kaon_operator *A, int columns) {
  kaon_vector *v = NULL;
  must(A->ctx, kaon_vector_create(A->ctx, A->space, A->precision, columns, &v));
  return v;
}

static kaon_vector *random_vector(const kaon_operator *A, int columns, uint64_t seed) {
  kaon_vector *v = vector_of(A, columns);
  must(A->ctx, kaon_random_columns(v, 0, seed));
  return v;
}

/* |a - b| / |b| of the worst column; a is lost. */
static double off(kaon_vector *a, const kaon_vector *b) {
  double error[KAON_TRANSFER_VECTORS], size[KAON_TRANSFER_VECTORS], worst = 0;
  must(a->ctx, kaon_vector_axpy(-1, 0, b, a));
  must(a->ctx, kaon_vector_norm2(a, error));
  must(a->ctx, kaon_vector_norm2(b, size));
  for (int k = 0; k < a->nrhs; k++) worst = larger(worst, sqrt(error[k] / size[k]));
  return worst;
}

static void set_basis(level *l, const kaon_operator *A, int n) {
  kaon_dependence where;
  kaon_vector *v = random_vector(A, n, 77), *w = vector_of(A, n), *c = NULL;
  must(A->ctx, kaon_vector_copy(w, v));
  must(A->ctx, kaon_transfer_set(l->transfer, w, &where));
  must(A->ctx, kaon_vector_create(A->ctx, l->transfer->coarse, A->precision, n, &c));
  must(A->ctx, kaon_transfer_restrict(l->transfer, v, c, NULL));
  must(A->ctx, kaon_transfer_prolong(l->transfer, c, 0, w, NULL));
  l->projection = off(w, v);
  kaon_vector_destroy(&v);
  kaon_vector_destroy(&w);
  kaon_vector_destroy(&c);
}

static kaon_operator *coarse_of(kaon_operator *A, const kaon_transfer *t, int half_matrices) {
  kaon_coarse_links links;
  kaon_operator *coarse = NULL;
  must(A->ctx,
       kaon_coarse_links_create(t->aggregates->coarse, 4 * t->vectors, A->precision, &links));
  must(A->ctx, kaon_galerkin(A, t, &links));
  must(A->ctx, kaon_coarse_create(&links, A->precision, half_matrices, &coarse));
  return coarse;
}

/* above[1]: A with -mu, or NULL. */
static level level_open(kaon_operator *const above[2], const int block[4], int n) {
  kaon_operator *A = above[0];
  level l = {NULL};
  must(A->ctx, kaon_aggregates_create(A->space->lattice, block, &l.aggregates));
  must(A->ctx, kaon_transfer_create(l.aggregates, A->space, couplings_of(A)->halves, n,
                                    A->precision, &l.transfer));
  set_basis(&l, A, n);
  for (int i = 0; i < 2 && above[i] != NULL; i++) l.A[i] = coarse_of(above[i], l.transfer, 0);
  return l;
}

static void level_close(level *l) {
  kaon_operator_destroy(&l->A[0]);
  kaon_operator_destroy(&l->A[1]);
  kaon_transfer_destroy(&l->transfer);
  kaon_aggregates_destroy(&l->aggregates);
}

/* ---- checks ---- */

/* |A_c e - V^dagger A V e| / |V^dagger A V e| */
static double check_product(const level *l, kaon_operator *A, kaon_operator *coarse, int columns) {
  kaon_vector *e = random_vector(coarse, columns, 5), *direct = vector_of(coarse, columns);
  kaon_vector *fine = vector_of(A, columns), *image = vector_of(A, columns);
  must(A->ctx, kaon_operator_apply(coarse, KAON_PLAIN, e, direct));
  must(A->ctx, kaon_transfer_prolong(l->transfer, e, 0, fine, NULL));
  must(A->ctx, kaon_operator_apply(A, KAON_PLAIN, fine, image));
  must(A->ctx, kaon_transfer_restrict(l->transfer, image, e, NULL));
  const double worst = off(direct, e);
  kaon_vector_destroy(&e);
  kaon_vector_destroy(&direct);
  kaon_vector_destroy(&fine);
  kaon_vector_destroy(&image);
  return worst;
}

/* Matrices in 16 bits: each column of a matrix is off by 0.51 / 32767 of its largest number, in both
 * parts of its m numbers, so by 0.73 sqrt(m) / 32767 of its norm; and likewise a product with random
 * numbers, of which few columns may have some more. */
static double half_bound(const kaon_operator *coarse) {
  return 2 * 0.73 * sqrt(coarse->space->ncomp / 2) / 32767;
}

/* Element (i, j) of a site is [(j * sites + site) * m + i]. */
static ref_complex *matrices(const kaon_vector *field) {
  const size_t numbers = (size_t)field->space->nsites * (size_t)field->space->ncomp / 2;
  ref_complex *a = ref_new(numbers * (size_t)field->nrhs);
  for (int j = 0; j < field->nrhs; j++)
    must(field->ctx,
         kaon_vector_export(field, j, (double *)(a + (size_t)j * numbers), KAON_BASIS_UKQCD));
  return a;
}

static ref_lattice lattice_of(const kaon_operator *A) {
  const int *n = A->space->lattice->extents;
  return ref_lattice_make(n[0], n[1], n[2], n[3]);
}

/* Site X + d. */
static size_t next(const ref_lattice *L, size_t site, int d) {
  return d == KAON_DIRS ? site : ref_shift(L, site, d % 4, d < 4 ? 1 : -1);
}

static ref_complex *field_of(kaon_operator *A, int d) {
  const kaon_coarse_links *links = kaon_coarse_links_of(A);
  return matrices(d == KAON_DIRS ? links->inside : links->hop[d]);
}

/* a(X) = Gamma b(X + d)^dagger Gamma, with b the opposite field of the operator with -mu: the
 * largest difference over the largest number. */
static double opposite(kaon_operator *A, kaon_operator *turned, int d) {
  const ref_lattice L = lattice_of(A);
  const size_t m = (size_t)A->space->ncomp / 2, sites = ref_volume(&L);
  ref_complex *a = field_of(A, d), *b = field_of(turned, d == KAON_DIRS ? d : (d + 4) % 8);
  double worst = 0, largest = 0;
  for (size_t j = 0; j < m; j++)
    for (size_t site = 0; site < sites; site++)
      for (size_t i = 0; i < m; i++) {
        const double sign = (i < m / 2) == (j < m / 2) ? 1 : -1;
        const ref_complex p = a[(j * sites + site) * m + i];
        const ref_complex q = b[(i * sites + next(&L, site, d)) * m + j];
        worst = larger(worst, cabs(p - sign * conj(q)));
        largest = larger(largest, cabs(p));
      }
  free(a);
  free(b);
  return worst / largest;
}

static double check_symmetry(const level *l) {
  double worst = 0;
  for (int d = 0; d <= KAON_DIRS; d++) /* backward fields say what forward ones do */
    if (d < 4 || d == KAON_DIRS)
      worst = larger(worst, opposite(l->A[0], l->A[1] != NULL ? l->A[1] : l->A[0], d));
  return worst;
}

/* The even-odd reduction of the coarse operator has its solution: |b - A x| / |b| of all sites. */
static double check_reduction(kaon_operator *A, kaon_even_odd form) {
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  kaon_operator *R = NULL;
  kaon_solver *solver = NULL;
  kaon_column_report report[2];
  kaon_vector *b = random_vector(A, 2, 9), *x = vector_of(A, 2), *image = vector_of(A, 2);
  o.method = KAON_BICGSTAB;
  o.tol = 1e-11;
  o.stop = KAON_STOP_REDUCED;
  must(A->ctx, couplings_of(A)->reduce(A, form, &R));
  must(A->ctx, kaon_solver_create(R, 2, &o, &solver));
  must(A->ctx, kaon_vector_zero(x));
  must(A->ctx, kaon_solver_solve(solver, b, x, report, NULL));
  assert_int_equal(report[0].reason, KAON_CONVERGED);
  must(A->ctx, kaon_operator_apply(A, KAON_PLAIN, x, image));
  const double worst = off(image, b);
  kaon_solver_destroy(&solver);
  kaon_operator_destroy(&R);
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&image);
  return worst;
}

/* ---- cases ---- */

/* The lattice divided against itself: its faces send messages to themselves. */
static void divide(dirac_case *c, const int extents[4], int mask) {
  kaon_gauge_destroy(&c->gauge);
  kaon_lattice_destroy(&c->lattice);
  for (int mu = 0; mu < 4; mu++) c->ctx->comm->partitioned[mu] = mask >> mu & 1;
  must(c->ctx,
       kaon_lattice_create(c->ctx, extents, c->antiperiodic ? KAON_ANTIPERIODIC : KAON_PERIODIC,
                           &c->lattice));
  must(c->ctx, kaon_gauge_create(c->lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &c->gauge));
  case_import_links(c);
}

static kaon_dirac_options options_of(int action, kaon_precision precision) {
  kaon_dirac_options o = KAON_DIRAC_OPTIONS_INIT;
  o.kappa = 0.1;
  o.csw = action == WILSON ? 0 : 0.9;
  o.anisotropy = action == CLOVER ? 0.7 : 1;
  o.mu = action == TWISTED ? 0.4 : 0;
  o.precision = precision;
  return o;
}

static void fine_operators(dirac_case *c, int action, kaon_precision precision,
                           kaon_operator *A[2]) {
  kaon_dirac_options o = options_of(action, precision);
  A[0] = A[1] = NULL;
  must(c->ctx, kaon_dirac_create(c->gauge, &o, &A[0]));
  o.mu = -o.mu;
  if (action == TWISTED) must(c->ctx, kaon_dirac_create(c->gauge, &o, &A[1]));
}

static void check_level(const char *what, const level *l, kaon_operator *const above[2],
                        int columns) {
  char text[192];
  const kaon_precision p = above[0]->precision;
  snprintf(text, sizeof text, "%s: product", what);
  test_below(text, check_product(l, above[0], l->A[0], columns), product_bound[p]);
  snprintf(text, sizeof text, "%s: symmetry", what);
  test_below(text, check_symmetry(l), symmetry_bound[p]);
  snprintf(text, sizeof text, "%s: projection", what);
  test_below(text, l->projection, product_bound[p]);
  if (p != KAON_SINGLE) return;
  kaon_operator *rounded = coarse_of(above[0], l->transfer, 1);
  snprintf(text, sizeof text, "%s: product, matrices in half", what);
  test_below(text, check_product(l, above[0], rounded, columns), half_bound(rounded));
  kaon_operator_destroy(&rounded);
}

static void check_shape(dirac_case *c, const shape *s, int action, kaon_precision precision,
                        int columns, const char *what) {
  kaon_operator *A[2];
  char text[160];
  fine_operators(c, action, precision, A);
  level one = level_open(A, s->block[0], s->n[0]);
  level two = level_open(one.A, s->block[1], s->n[1]);
  snprintf(text, sizeof text, "%s, level 1", what);
  check_level(text, &one, A, columns);
  snprintf(text, sizeof text, "%s, level 2", what);
  check_level(text, &two, one.A, columns);
  level_close(&two);
  level_close(&one);
  kaon_operator_destroy(&A[0]);
  kaon_operator_destroy(&A[1]);
}

static void one_case(int machine, int i, int mask, kaon_precision precision, int action) {
  static const int columns[] = {1, 2, 5, 12};
  const shape *s = &shapes[i % SHAPES];
  char what[128];
  dirac_case c;
  if (!case_open(&c, machine, s->extents, i % 2, LINKS_RANDOM, 3)) return;
  divide(&c, s->extents, mask);
  snprintf(what, sizeof what, "%s %s %s %dx%dx%dx%d divided %x%s", isa_names[machine],
           precision_names[precision], action_names[action], s->extents[0], s->extents[1],
           s->extents[2], s->extents[3], (unsigned)mask, i % 2 ? ", antiperiodic" : "");
  check_shape(&c, s, action, precision, columns[i % 4], what);
  case_close(&c);
}

static void coarse_operators_are_galerkin_products(void **state) {
  (void)state;
  for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++)
    for (int i = 0; i < 2 * SHAPES && !machine_lacks(machine); i++) {
      if (test_brief() && i % SHAPES > 1) continue;
      one_case(machine, i + machine, 0, (kaon_precision)((i + i / SHAPES) % 2),
               (i + machine) % ACTIONS);
    }
}

static void divided_lattices(void **state) {
  (void)state;
  for (int mask = 1; mask < 16; mask++) {
    if (test_brief() && mask % 5 != 0) continue;
    for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++)
      if (machine == MACHINE_CUDA || machine % 3 == mask % 3)
        if (!machine_lacks(machine))
          one_case(machine, mask, mask, (kaon_precision)(mask % 2), mask / 3 % ACTIONS);
  }
}

static void even_odd_solves_are_full_ones(void **state) {
  (void)state;
  const shape *s = &shapes[0];
  for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++)
    for (int action = WILSON; action < ACTIONS; action++) {
      kaon_operator *A[2];
      dirac_case c;
      if (machine_lacks(machine)) break;
      if (!case_open(&c, machine, s->extents, 1, LINKS_WEAK, 3)) break;
      divide(&c, s->extents, action == CLOVER ? 9 : 0);
      fine_operators(&c, action, KAON_DOUBLE, A);
      level l = level_open(A, s->block[0], s->n[0]);
      const kaon_even_odd form =
          action == TWISTED ? KAON_EVEN_ODD_ASYMMETRIC : KAON_EVEN_ODD_SYMMETRIC;
      /* the reduced residual is 1.1e-11 at most, and T of either parity is far from singular */
      test_below(isa_names[machine], check_reduction(l.A[0], form), 1e-10);
      level_close(&l);
      kaon_operator_destroy(&A[0]);
      kaon_operator_destroy(&A[1]);
      case_close(&c);
    }
}

/* ---- against the reference ---- */

/* Random vectors, made orthonormal by the reference. They are those of set_basis(). */
static ref_transfer reference_basis(const kaon_operator *A, const shape *s) {
  const int n = s->n[0];
  ref_transfer t = {.L = lattice_of(A), .numbers = 12, .turned = 1, .n = n};
  ref_complex **halves = ref_alloc((size_t)n, sizeof *halves);
  ref_complex *psi = ref_new(ref_spinor_size(&t.L));
  kaon_vector *v = random_vector(A, n, 77);
  memcpy(t.block, s->block[0], sizeof t.block);
  for (int j = 0; j < n; j++) {
    halves[j] = ref_new(ref_spinor_size(&t.L));
    must(A->ctx, kaon_vector_export(v, j, (double *)psi, KAON_BASIS_UKQCD));
    ref_halves(&t, psi, halves[j]);
  }
  t.v = halves;
  ref_gram_schmidt(&t);
  free(psi);
  kaon_vector_destroy(&v);
  return t;
}

/* The whole matrix from the nine fields, column by column. */
static ref_complex *whole_matrix(kaon_operator *A) {
  const ref_lattice L = lattice_of(A);
  const size_t m = (size_t)A->space->ncomp / 2, sites = ref_volume(&L), rows = sites * m;
  ref_complex *whole = ref_new(rows * rows);
  for (int d = 0; d <= KAON_DIRS; d++) {
    ref_complex *field = field_of(A, d);
    for (size_t j = 0; j < m; j++)
      for (size_t site = 0; site < sites; site++)
        for (size_t i = 0; i < m; i++)
          whole[(next(&L, site, d) * m + j) * rows + site * m + i] +=
              field[(j * sites + site) * m + i];
    free(field);
  }
  return whole;
}

static double compare_matrix(kaon_operator *coarse, const ref_dirac *d, const ref_transfer *t) {
  const size_t rows = ref_aggregates(t) * 2 * (size_t)t->n;
  ref_complex *whole = whole_matrix(coarse), *unit = ref_new(rows), *column = ref_new(rows);
  ref_complex *fine = ref_new(ref_spinor_size(&t->L)), *image = ref_new(ref_spinor_size(&t->L));
  double worst = 0, largest = 0;
  for (size_t k = 0; k < rows; k++) {
    unit[k] = 1;
    ref_prolong(t, unit, fine);
    ref_apply(d, fine, image);
    ref_restrict(t, image, column);
    worst = larger(worst, ref_max_diff(whole + k * rows, column, rows));
    for (size_t i = 0; i < rows; i++) largest = larger(largest, cabs(column[i]));
    unit[k] = 0;
  }
  free(whole);
  free(unit);
  free(column);
  free(fine);
  free(image);
  return worst / largest;
}

/* The bound is for bases, too: random vectors have a condition below 10. */
static void matrices_are_those_of_the_reference(void **state) {
  (void)state;
  static const shape small = {{8, 4, 2, 4}, {{2, 2, 1, 2}, {0}}, {3, 0}};
  for (int action = WILSON; action < ACTIONS; action++) {
    kaon_operator *A[2];
    dirac_case c;
    assert_true(case_open(&c, KAON_ISA_AUTO, small.extents, action != CLOVER, LINKS_RANDOM, 3));
    const kaon_dirac_options o = options_of(action, KAON_DOUBLE);
    ref_dirac d = case_reference(&c, o.kappa, o.csw, o.anisotropy);
    if (o.mu != 0) ref_dirac_twist(&d, o.mu);
    fine_operators(&c, action, KAON_DOUBLE, A);
    level l = level_open(A, small.block[0], small.n[0]);
    ref_transfer t = reference_basis(A[0], &small);
    test_below(action_names[action], compare_matrix(l.A[0], &d, &t), 1e-12);
    case_free_columns((ref_complex **)t.v, t.n);
    level_close(&l);
    kaon_operator_destroy(&A[0]);
    kaon_operator_destroy(&A[1]);
    ref_dirac_free(&d);
    case_close(&c);
  }
}

/* ---- random columns ---- */

static double random_number(uint64_t seed, int64_t site, int column, int c) {
  return kaon_random_bits(seed, site, KAON_STREAM_BASIS, 0, (uint32_t)column, (uint32_t)(c / 4))
                 .v[c % 4] *
             0x1p-31 -
         1;
}

/* Those before the first keep their numbers, which are 0 here. */
static void random_columns_are_functions_of_the_site(void **state) {
  (void)state;
  enum { SITES = 4 * 6 * 2 * 10, REALS = 8, COLUMNS = 3 };
  static const int extents[4] = {4, 6, 2, 10};
  static double host[SITES * REALS];
  for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++) {
    const kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
    kaon_context *ctx = NULL;
    kaon_lattice *lattice = NULL;
    kaon_vector *v = NULL;
    if (machine_lacks(machine)) continue;
    must(NULL, machine_open(machine, options, &ctx));
    must(ctx, kaon_lattice_create(ctx, extents, KAON_PERIODIC, &lattice));
    must(ctx, kaon_vector_create(ctx, kaon_lattice_space(lattice, KAON_FULL, REALS, 1), KAON_DOUBLE,
                                 COLUMNS, &v));
    must(ctx, kaon_random_columns(v, 1, 5));
    for (int column = 0; column < COLUMNS; column++) {
      must(ctx, kaon_vector_export(v, column, host, KAON_BASIS_UKQCD));
      for (int i = 0; i < SITES * REALS; i++)
        assert_true(host[i] == (column == 0 ? 0 : random_number(5, i / REALS, column, i % REALS)));
    }
    kaon_vector_destroy(&v);
    kaon_lattice_destroy(&lattice);
    kaon_context_destroy(&ctx);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(matrices_are_those_of_the_reference),
      cmocka_unit_test(coarse_operators_are_galerkin_products),
      cmocka_unit_test(divided_lattices),
      cmocka_unit_test(even_odd_solves_are_full_ones),
      cmocka_unit_test(random_columns_are_functions_of_the_site),
  };
  return test_main(tests, NULL, NULL);
}
