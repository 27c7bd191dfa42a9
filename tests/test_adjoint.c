/* Operators made of another one: the adjoint and A^dagger A have the bits of applications of A, and
 * mix precisions. A solver used as operator has a dagger, A^-dagger. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include <kaon/kaon.h>

#include "tests/util/machine.h"
#include "tests/util/test_util.h"

enum { KINDS = 6 };
static const int extents[4] = {4, 4, 4, 4}, machines[2] = {MACHINE_CPU, MACHINE_CUDA};
static const double tol = 1e-9;

typedef struct fixture {
  kaon_context *ctx;
  kaon_lattice *lattice;
  kaon_gauge *gauge;
  kaon_matrix *matrix;
  kaon_operator *A; /* of one of the kinds */
} fixture;

static const char *const kinds[KINDS] = {"wilson",    "even-odd clover",    "twisted",
                                         "staggered", "even-odd staggered", "matrix"};

static int open_fixture(fixture *f, int machine, int kind) {
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  kaon_dirac_options d = KAON_DIRAC_OPTIONS_INIT;
  kaon_operator *M = NULL;
  if (machine_lacks(machine)) return 0;
  *f = (fixture){0};
  must(NULL, machine_open(machine, options, &f->ctx));
  must(f->ctx, kaon_lattice_create(f->ctx, extents, KAON_ANTIPERIODIC, &f->lattice));
  must(f->ctx, kaon_gauge_create(f->lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &f->gauge));
  must(f->ctx, kaon_gauge_weak(f->gauge, 0.2, 1));
  d.kappa = 0.12;
  d.csw = kind == 1 ? 1 : 0;
  d.mu = kind == 2 ? 0.3 : 0;
  if (kind <= 2) must(f->ctx, kaon_dirac_create(f->gauge, &d, &M));
  if (kind == 3 || kind == 4) must(f->ctx, kaon_staggered_create(f->gauge, NULL, NULL, &M));
  if (kind == 5) {
    must(f->ctx, kaon_matrix_generate(f->ctx, "convdiff3d:5,3", NULL, &f->matrix, NULL));
    must(f->ctx, kaon_matrix_operator(f->matrix, NULL, &M));
  }
  if (kind == 1) must(f->ctx, kaon_dirac_even_odd(M, NULL, &f->A));
  if (kind == 4) must(f->ctx, kaon_staggered_even_odd(M, KAON_EVEN, &f->A));
  if (f->A == NULL)
    f->A = M;
  else
    kaon_operator_destroy(&M);
  return 1;
}

static void close_fixture(fixture *f) {
  kaon_operator_destroy(&f->A);
  kaon_matrix_destroy(&f->matrix);
  kaon_gauge_destroy(&f->gauge);
  kaon_lattice_destroy(&f->lattice);
  kaon_context_destroy(&f->ctx);
}

static kaon_vector *vector(const fixture *f, int columns) {
  kaon_vector *v = NULL;
  must(f->ctx, kaon_vector_create(f->ctx, kaon_operator_space(f->A), kaon_operator_precision(f->A),
                                  columns, &v));
  return v;
}

/* Numbers of every space and column: whatever its size, a host array of the whole lattice holds
 * them. */
static kaon_vector *noise(const fixture *f, int columns, double phase) {
  static double psi[4 * 4 * 4 * 4 * 24];
  kaon_vector *v = vector(f, columns);
  for (int k = 0; k < columns; k++) {
    for (int i = 0; i < 4 * 4 * 4 * 4 * 24; i++) psi[i] = cos(phase + k + 0.7 * i + 1e-3 * i * i);
    must(f->ctx, kaon_vector_import(v, k, psi, KAON_BASIS_UKQCD));
  }
  return v;
}

static double norm2(const fixture *f, const kaon_vector *v) {
  double all[2];
  must(f->ctx, kaon_vector_norm2(v, all));
  return all[0];
}

/* |a - b| / |b|; a is overwritten. */
static double difference(const fixture *f, kaon_vector *a, const kaon_vector *b) {
  must(f->ctx, kaon_vector_axpy(-1, 0, b, a));
  return sqrt(norm2(f, a) / norm2(f, b));
}

static void applications_have_the_bits_of_the_operator(void **state) {
  (void)state;
  for (int m = 0; m < 2; m++)
    for (int kind = 0; kind < KINDS; kind++) {
      fixture f;
      kaon_operator *adjoint = NULL, *normal = NULL;
      kaon_cost once, twice;
      if (!open_fixture(&f, machines[m], kind)) continue;
      must(f.ctx, kaon_operator_adjoint(f.A, &adjoint));
      must(f.ctx, kaon_operator_normal(f.A, &normal));
      kaon_vector *x = noise(&f, 2, 0), *y = vector(&f, 2), *z = vector(&f, 2), *w = vector(&f, 2);
      for (int mode = KAON_PLAIN; mode <= KAON_DAGGER; mode++) {
        must(f.ctx, kaon_operator_apply(adjoint, (kaon_mode)mode, x, y));
        must(f.ctx, kaon_operator_apply(f.A, (kaon_mode)(1 - mode), x, z));
        assert_true(difference(&f, y, z) == 0);
        must(f.ctx, kaon_operator_apply(normal, (kaon_mode)mode, x, y));
        must(f.ctx, kaon_operator_apply(f.A, KAON_PLAIN, x, z));
        must(f.ctx, kaon_operator_apply(f.A, KAON_DAGGER, z, w));
        assert_true(difference(&f, y, w) == 0);
      }
      must(f.ctx, kaon_operator_cost(f.A, 2, &once));
      must(f.ctx, kaon_operator_cost(normal, 2, &twice));
      assert_true(twice.flops == 2 * once.flops && twice.bytes == 2 * once.bytes);
      kaon_vector_destroy(&x);
      kaon_vector_destroy(&y);
      kaon_vector_destroy(&z);
      kaon_vector_destroy(&w);
      kaon_operator_destroy(&adjoint);
      kaon_operator_destroy(&normal);
      close_fixture(&f);
    }
}

/* (A^dagger A) x = b by CG in every inner precision, and (A A^dagger) x = b. The residual is that of
 * two applications of A. */
static void normal_equations_mix_precisions(void **state) {
  (void)state;
  for (int m = 0; m < 2; m++)
    for (int kind = 0; kind < KINDS; kind++)
      for (int run = 0; run < 4; run++) {
        fixture f;
        kaon_operator *adjoint = NULL, *normal = NULL;
        kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
        kaon_solver *s = NULL;
        kaon_column_report r;
        if (!open_fixture(&f, machines[m], kind)) continue;
        must(f.ctx, kaon_operator_adjoint(f.A, &adjoint));
        must(f.ctx, kaon_operator_normal(run == 3 ? adjoint : f.A, &normal));
        kaon_vector *b = noise(&f, 1, 1), *x = vector(&f, 1), *y = vector(&f, 1),
                    *z = vector(&f, 1);
        o.method = KAON_CG;
        o.tol = tol;
        o.sloppy = (kaon_precision)(run % 3);
        must(f.ctx, kaon_solver_create(normal, 1, &o, &s));
        must(f.ctx, kaon_solver_solve(s, b, x, &r, NULL));
        assert_int_equal(r.reason, KAON_CONVERGED);
        must(f.ctx, kaon_operator_apply(f.A, run == 3 ? KAON_DAGGER : KAON_PLAIN, x, y));
        must(f.ctx, kaon_operator_apply(f.A, run == 3 ? KAON_PLAIN : KAON_DAGGER, y, z));
        const double residual = difference(&f, z, b);
        printf("  %-18s inner %d: %3d steps, residual %.1e\n", kinds[kind], run % 3, r.iterations,
               residual);
        assert_true(residual <= 1.1 * tol);
        kaon_solver_destroy(&s);
        kaon_vector_destroy(&b);
        kaon_vector_destroy(&x);
        kaon_vector_destroy(&y);
        kaon_vector_destroy(&z);
        kaon_operator_destroy(&adjoint);
        kaon_operator_destroy(&normal);
        close_fixture(&f);
      }
}

/* y = A^-dagger b by the dagger of solvers of several methods: |b - A^dagger y| <= 1.1 tol |b|. */
static void solvers_have_a_dagger(void **state) {
  static const kaon_method methods[] = {KAON_CGNR, KAON_BICGSTAB, KAON_GCR};
  (void)state;
  for (int m = 0; m < 2; m++)
    for (int kind = 0; kind < KINDS; kind++)
      for (int i = 0; i < 3; i++) {
        fixture f;
        kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
        kaon_operator *K = NULL, *inverse = NULL;
        kaon_solver *inner = NULL, *s = NULL;
        if (!open_fixture(&f, machines[m], kind)) continue;
        kaon_vector *b = noise(&f, 1, 1), *y = vector(&f, 1), *z = vector(&f, 1);
        o.method = KAON_GCR;
        o.tol = 0;
        o.max_iterations = 3;
        if (methods[i] == KAON_GCR) { /* with a preconditioner, of which the adjoint is taken too */
          must(f.ctx, kaon_solver_create(f.A, 1, &o, &inner));
          must(f.ctx, kaon_solver_as_operator(inner, &K));
        }
        o.method = methods[i];
        o.tol = tol;
        o.max_iterations = 1000;
        o.sloppy = KAON_SINGLE;
        o.preconditioner = K;
        must(f.ctx, kaon_solver_create(f.A, 1, &o, &s));
        must(f.ctx, kaon_solver_as_operator(s, &inverse));
        must(f.ctx, kaon_operator_apply(inverse, KAON_DAGGER, b, y));
        must(f.ctx, kaon_operator_apply(f.A, KAON_DAGGER, y, z));
        assert_true(difference(&f, z, b) <= 1.1 * tol);
        must(f.ctx, kaon_operator_apply(inverse, KAON_PLAIN, b, y)); /* as before */
        must(f.ctx, kaon_operator_apply(f.A, KAON_PLAIN, y, z));
        assert_true(difference(&f, z, b) <= 1.1 * tol);
        kaon_solver_destroy(&s);
        kaon_solver_destroy(&inner);
        kaon_operator_destroy(&inverse);
        kaon_operator_destroy(&K);
        kaon_vector_destroy(&b);
        kaon_vector_destroy(&y);
        kaon_vector_destroy(&z);
        close_fixture(&f);
      }
}

/* bicg applies K^dagger in each step. */
static void a_solver_serves_methods_that_need_its_dagger(void **state) {
  (void)state;
  for (int m = 0; m < 2; m++) {
    fixture f;
    kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
    kaon_relax_options damped = KAON_RELAX_OPTIONS_INIT;
    kaon_operator *K = NULL;
    kaon_solver *inner = NULL, *s = NULL;
    kaon_column_report r;
    if (!open_fixture(&f, machines[m], 5)) continue;
    kaon_vector *b = noise(&f, 1, 1), *x = vector(&f, 1);
    o.method = KAON_RICHARDSON;
    damped.tau = 0.1;
    o.relax = &damped;
    o.tol = 0;
    o.max_iterations = 3;
    must(f.ctx, kaon_solver_create(f.A, 1, &o, &inner));
    must(f.ctx, kaon_solver_as_operator(inner, &K));
    o = (kaon_solver_options)KAON_SOLVER_OPTIONS_INIT;
    o.method = KAON_BICG;
    o.tol = tol;
    o.preconditioner = K;
    must(f.ctx, kaon_solver_create(f.A, 1, &o, &s));
    must(f.ctx, kaon_solver_solve(s, b, x, &r, NULL));
    assert_int_equal(r.reason, KAON_CONVERGED);
    kaon_solver_destroy(&s);
    kaon_solver_destroy(&inner);
    kaon_operator_destroy(&K);
    kaon_vector_destroy(&b);
    kaon_vector_destroy(&x);
    close_fixture(&f);
  }
}

static void daggers_that_are_not_offered_are_refused(void **state) {
  fixture f;
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  kaon_operator *reduced = NULL, *inverse = NULL;
  kaon_solver *s = NULL;
  (void)state;
  if (!open_fixture(&f, MACHINE_CPU, 5)) return;
  kaon_vector *x = noise(&f, 1, 1), *y = vector(&f, 1);
  o.method = KAON_GS;
  must(f.ctx, kaon_solver_create(f.A, 1, &o, &s));
  must(f.ctx, kaon_solver_as_operator(s, &inverse));
  must_refuse(f.ctx, KAON_ERR_UNSUPPORTED, kaon_operator_apply(inverse, KAON_DAGGER, x, y));
  kaon_solver_destroy(&s);
  kaon_operator_destroy(&inverse);
  must(f.ctx, kaon_kaczmarz_reduce(f.A, NULL, &reduced));
  o.method = KAON_CG;
  must(f.ctx, kaon_solver_create(reduced, 1, &o, &s));
  must(f.ctx, kaon_solver_as_operator(s, &inverse));
  must_refuse(f.ctx, KAON_ERR_UNSUPPORTED, kaon_operator_apply(inverse, KAON_DAGGER, x, y));
  kaon_solver_destroy(&s);
  kaon_operator_destroy(&inverse);
  kaon_operator_destroy(&reduced);
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&y);
  close_fixture(&f);
}

/* ---- between two spaces ---- */

enum { SMALL = 3, LARGE = 5 };

/* y_i = x_(i mod 3), and its transpose. */
static kaon_status repeat(void *user, kaon_mode mode, const kaon_vector *x, kaon_vector *y) {
  double from[LARGE] = {0}, to[LARGE] = {0};
  (void)user;
  kaon_status status = kaon_vector_export(x, 0, from, KAON_BASIS_UKQCD);
  for (int i = 0; i < LARGE; i++) {
    if (mode == KAON_PLAIN) to[i] = from[i % SMALL];
    if (mode == KAON_DAGGER) to[i % SMALL] += from[i];
  }
  return status != KAON_OK ? status : kaon_vector_import(y, 0, to, KAON_BASIS_UKQCD);
}

static void rectangular_operators_have_both(void **state) {
  kaon_context *ctx = NULL;
  kaon_space *small = NULL, *large = NULL;
  kaon_shell_methods methods = KAON_SHELL_METHODS_INIT;
  kaon_operator *A = NULL, *adjoint = NULL, *normal = NULL;
  kaon_vector *x = NULL, *y = NULL, *z = NULL;
  double numbers[LARGE] = {1, 2, 3, 4, 5};
  (void)state;
  methods.apply = repeat;
  must(NULL, kaon_context_create(NULL, &ctx));
  must(ctx, kaon_space_create(ctx, SMALL, 1, 0, &small));
  must(ctx, kaon_space_create(ctx, LARGE, 1, 0, &large));
  must(ctx, kaon_shell_create(small, large, &methods, NULL, NULL, &A));
  must(ctx, kaon_operator_adjoint(A, &adjoint));
  must(ctx, kaon_operator_normal(A, &normal));
  assert_ptr_equal(kaon_operator_space(adjoint), large);
  assert_ptr_equal(kaon_operator_range(adjoint), small);
  assert_ptr_equal(kaon_operator_range(normal), small);
  must(ctx, kaon_vector_create(ctx, large, KAON_DOUBLE, 1, &x));
  must(ctx, kaon_vector_create(ctx, small, KAON_DOUBLE, 1, &y));
  must(ctx, kaon_vector_create(ctx, small, KAON_DOUBLE, 1, &z));
  must(ctx, kaon_vector_import(x, 0, numbers, KAON_BASIS_UKQCD));
  must(ctx, kaon_operator_apply(adjoint, KAON_PLAIN, x, y)); /* 1 + 4, 2 + 5, 3 */
  must(ctx, kaon_operator_apply(normal, KAON_PLAIN, y, z));  /* twice, twice, once */
  must(ctx, kaon_vector_export(z, 0, numbers, KAON_BASIS_UKQCD));
  assert_true(numbers[0] == 10 && numbers[1] == 14 && numbers[2] == 3);
  kaon_operator_destroy(&A);
  kaon_operator_destroy(&adjoint);
  kaon_operator_destroy(&normal);
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&y);
  kaon_vector_destroy(&z);
  kaon_space_destroy(&small);
  kaon_space_destroy(&large);
  kaon_context_destroy(&ctx);
}

int main(void) {
  const struct CMUnitTest cases[] = {
      cmocka_unit_test(applications_have_the_bits_of_the_operator),
      cmocka_unit_test(normal_equations_mix_precisions),
      cmocka_unit_test(solvers_have_a_dagger),
      cmocka_unit_test(a_solver_serves_methods_that_need_its_dagger),
      cmocka_unit_test(daggers_that_are_not_offered_are_refused),
      cmocka_unit_test(rectangular_operators_have_both),
  };
  return test_main(cases, NULL, NULL);
}
