/* test_spaces.c - spaces that an application makes, numbers of vectors in place, and operators
 * between two spaces: what they do, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "blas/blas.h"
#include "lib/operator/operator_internal.h"
#include "tests/util/machine.h"
#include "tests/util/test_util.h"

enum { FINE = 37, COARSE = 13, COLUMNS = 3 };

static kaon_context *open_machine(int machine) {
  const kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  kaon_context *ctx = NULL;
  must(NULL, machine_open(machine, options, &ctx));
  return ctx;
}

static kaon_vector *vector_of(const kaon_space *space, kaon_precision precision, int columns) {
  kaon_vector *v = NULL;
  must(space->ctx, kaon_vector_create(space->ctx, space, precision, columns, &v));
  return v;
}

static void fill(kaon_vector *v, uint64_t seed) {
  const kaon_space *s = v->space;
  const size_t sites = (size_t)(s->lattice != NULL ? s->lattice->volume : s->nsites);
  const size_t count = sites * (size_t)s->ncomp;
  double *psi = calloc(count + 1, sizeof *psi);
  for (int k = 0; k < v->nrhs; k++) {
    for (size_t i = 0; i < count; i++) psi[i] = test_uniform(&seed);
    must(v->ctx, kaon_vector_import(v, k, psi, KAON_BASIS_UKQCD));
  }
  free(psi);
}

/* ---- spaces ---- */

/* The number that kaon_vector_locate() and the formula of its storage find. */
static double number_at(const kaon_vector_storage *s, kaon_precision precision, int64_t place,
                        int column, int c) {
  const int64_t at = kaon_storage_index(s, place, column, c);
  const int64_t formula =
      ((place / s->width * s->columns + column) * s->reals + c - c % s->group) * s->width +
      place % s->width * s->group + c % s->group;
  assert_int_equal(at, formula);
  if (precision == KAON_DOUBLE) return ((const double *)s->data)[at];
  if (precision == KAON_SINGLE) return (double)((const float *)s->data)[at];
  const int64_t site = (place / s->width * s->columns + column) * s->width + place % s->width;
  return ((const int16_t *)s->data)[at] / 32767.0 * (double)s->scale[site];
}

/* Each place holds what the host array has for its site, in half to the three roundings of a load in
 * single (lib/math/half.h); places without a site hold 0; each site has one place. */
static void check_places(const kaon_space *space, size_t sites, size_t held) {
  for (int p = KAON_DOUBLE; p <= KAON_HALF; p++) {
    kaon_vector *v = vector_of(space, (kaon_precision)p, COLUMNS);
    kaon_vector_storage s = KAON_VECTOR_STORAGE_INIT;
    double *psi = calloc(sites * (size_t)space->ncomp + 1, sizeof *psi);
    fill(v, 5);
    must(v->ctx, kaon_vector_locate(v, &s));
    assert_int_equal(s.reals, space->ncomp);
    assert_int_equal(s.columns, COLUMNS);
    int64_t *site = calloc((size_t)s.places + 1, sizeof *site);
    size_t found = 0;
    must(v->ctx, kaon_space_order(space, s.places, site));
    for (int k = 0; k < COLUMNS; k++) {
      must(v->ctx, kaon_vector_export(v, k, psi, KAON_BASIS_UKQCD));
      for (int64_t n = 0; n < s.places; n++) {
        found += k == 0 && site[n] >= 0;
        for (int c = 0; c < s.reals; c++) {
          const double there = number_at(&s, (kaon_precision)p, n, k, c);
          const double wanted = site[n] >= 0 ? psi[site[n] * s.reals + c] : 0;
          assert_true(fabs(there - wanted) <= (p == KAON_HALF ? 3 * 0x1p-24 : 0));
        }
      }
    }
    assert_int_equal(found, held);
    must_refuse(v->ctx, KAON_ERR_ARGUMENT, kaon_space_order(space, s.places + 1, site));
    free(site);
    free(psi);
    kaon_vector_destroy(&v);
  }
}

static void numbers_are_where_they_are_said_to_be(void **state) {
  static const int numbers[] = {1, 3, 12};
  (void)state;
  for (int machine = KAON_ISA_SCALAR; machine < MACHINE_CUDA; machine++) {
    if (machine_lacks(machine)) continue;
    kaon_context *ctx = open_machine(machine);
    for (int i = 0; i < 2 * 3; i++) {
      kaon_space *space = NULL;
      must(ctx, kaon_space_create(ctx, FINE, numbers[i / 2], i % 2, &space));
      check_places(space, FINE, FINE);
      kaon_space_destroy(&space);
      assert_null(space);
    }
    if (ctx->backend->dslash[KAON_DOUBLE] != NULL) {
      const int extents[4] = {4, 6, 2, 10}; /* halves that fill no register */
      kaon_lattice *lattice = NULL;
      must(ctx, kaon_lattice_create(ctx, extents, KAON_PERIODIC, &lattice));
      for (int parity = KAON_EVEN; parity <= KAON_FULL; parity++) {
        const size_t held = parity == KAON_FULL ? 480 : 240;
        check_places(kaon_lattice_spinors(lattice, (kaon_parity)parity), 480, held);
        check_places(kaon_lattice_staggered(lattice, (kaon_parity)parity), 480, held);
      }
      kaon_lattice_destroy(&lattice);
    }
    kaon_context_destroy(&ctx);
  }
}

/* Vectors keep a space and its context; a rank may have no site; wrong numbers are refused. */
static void spaces_live_as_long_as_they_are_used(void **state) {
  (void)state;
  kaon_context *ctx = open_machine(KAON_ISA_AUTO);
  kaon_space *space = NULL, *none = NULL, *wrong = NULL;
  double norm2[2], norm = 1;
  must(ctx, kaon_space_create(ctx, FINE, 2, 1, &space));
  must(ctx, kaon_space_create(ctx, 0, 2, 0, &none));
  kaon_vector *v = vector_of(space, KAON_DOUBLE, 2), *empty = vector_of(none, KAON_DOUBLE, 1);
  must_refuse(ctx, KAON_ERR_ARGUMENT, kaon_space_create(ctx, -1, 1, 0, &wrong));
  must_refuse(ctx, KAON_ERR_ARGUMENT, kaon_space_create(ctx, INT64_MAX, 1, 0, &wrong));
  must_refuse(ctx, KAON_ERR_ARGUMENT, kaon_space_create(ctx, 1, 0, 0, &wrong));
  must_refuse(ctx, KAON_ERR_ARGUMENT, kaon_space_create(ctx, 1, 65, 1, &wrong));
  must_refuse(NULL, KAON_ERR_ARGUMENT, kaon_space_create(NULL, 1, 1, 0, &wrong));
  assert_null(wrong);
  kaon_space_destroy(&space);
  kaon_space_destroy(&none);
  kaon_space_destroy(NULL);
  kaon_context *last = ctx;
  kaon_context_destroy(&ctx);
  fill(v, 3);
  must(last, kaon_vector_norm2(v, norm2));
  assert_true(norm2[0] > 0 && norm2[1] > 0);
  must(last, kaon_vector_norm2(empty, &norm));
  assert_true(norm == 0);
  kaon_vector_destroy(&v);
  kaon_vector_destroy(&empty);
}

/* ---- operators between two spaces ---- */

/* R adds up what a number of the coarse space stands for: those of the fine one with its index,
 * modulo COARSE, each with its own factor. */
typedef struct restriction {
  kaon_context *ctx;
  kaon_space *fine, *coarse;
  kaon_operator *R;
  int calls;
} restriction;

static double factor(int64_t i) {
  return 1 + 0.1 * (double)(i % 7);
}

static kaon_status apply_R(void *user, kaon_mode mode, const kaon_vector *x, kaon_vector *y) {
  double in[FINE][2], out[FINE][2];
  ((restriction *)user)->calls++;
  for (int k = 0; k < kaon_vector_columns(x); k++) {
    memset(out, 0, sizeof out);
    KAON_TRY(kaon_vector_export(x, k, in[0], KAON_BASIS_UKQCD));
    for (int i = 0; i < FINE; i++)
      for (int c = 0; c < 2; c++) {
        const int to = mode == KAON_PLAIN ? i % COARSE : i;
        const int from = mode == KAON_PLAIN ? i : i % COARSE;
        out[to][c] += factor(i) * in[from][c];
      }
    KAON_TRY(kaon_vector_import(y, k, out[0], KAON_BASIS_UKQCD));
  }
  return KAON_OK;
}

static void open_R(restriction *r, int machine) {
  kaon_shell_methods methods = KAON_SHELL_METHODS_INIT;
  kaon_shell_options o = KAON_SHELL_OPTIONS_INIT;
  memset(r, 0, sizeof *r);
  r->ctx = open_machine(machine);
  methods.apply = apply_R;
  o.any_precision = 1;
  must(r->ctx, kaon_space_create(r->ctx, FINE, 1, 1, &r->fine));
  must(r->ctx, kaon_space_create(r->ctx, COARSE, 1, 1, &r->coarse));
  must(r->ctx, kaon_shell_create(r->fine, r->coarse, &methods, r, &o, &r->R));
  assert_ptr_equal(kaon_operator_space(r->R), r->fine);
  assert_ptr_equal(kaon_operator_range(r->R), r->coarse);
}

static void close_R(restriction *r) {
  kaon_operator_destroy(&r->R);
  kaon_space_destroy(&r->fine);
  kaon_space_destroy(&r->coarse);
  kaon_context_destroy(&r->ctx);
}

/* (y, A x) = (A^dag y, x), to the rounding of at most FINE products and sums of each number. */
static void check_adjoint(kaon_operator *A) {
  kaon_vector *x = vector_of(kaon_operator_space(A), A->precision, COLUMNS);
  kaon_vector *y = vector_of(kaon_operator_range(A), A->precision, COLUMNS);
  kaon_vector *ax = vector_of(kaon_operator_range(A), A->precision, COLUMNS);
  kaon_vector *ay = vector_of(kaon_operator_space(A), A->precision, COLUMNS);
  double one[COLUMNS][2], other[COLUMNS][2];
  const double unit = A->precision == KAON_DOUBLE ? 0x1p-53 : 0x1p-24;
  fill(x, 1);
  fill(y, 2);
  must(A->ctx, kaon_operator_apply(A, KAON_PLAIN, x, ax));
  must(A->ctx, kaon_operator_apply(A, KAON_DAGGER, y, ay));
  must(A->ctx, kaon_vector_dot(y, ax, one));
  must(A->ctx, kaon_vector_dot(ay, x, other));
  for (int k = 0; k < COLUMNS; k++)
    for (int c = 0; c < 2; c++) /* |x|, |y| <= 1, factors <= 1.6 */
      test_below("adjoint", fabs(one[k][c] - other[k][c]), 4 * FINE * 1.6 * FINE * unit);
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&y);
  kaon_vector_destroy(&ax);
  kaon_vector_destroy(&ay);
}

/* Closed columns of the result stay, and sums are those of the open ones, in both directions. */
static void check_gates(kaon_operator *A, kaon_mode mode) {
  kaon_vector *x = vector_of(kaon_operator_from(A, mode), A->precision, COLUMNS);
  kaon_vector *y = vector_of(kaon_operator_to(A, mode), A->precision, COLUMNS);
  kaon_vector *all = vector_of(kaon_operator_to(A, mode), A->precision, COLUMNS);
  kaon_scalars *scalars = NULL;
  kaon_column_state host[COLUMNS];
  double norm2[COLUMNS], left[COLUMNS];
  kaon_pass pass = KAON_PASS_INIT;
  must(A->ctx, kaon_scalars_create(A->ctx, COLUMNS, &scalars));
  must(A->ctx, kaon_scalars_read(scalars, host));
  for (int k = 0; k < COLUMNS; k++) host[k].gate = k == 1 ? 0 : KAON_GATE_STEP;
  must(A->ctx, kaon_scalars_write(scalars, host));
  fill(x, 7);
  must(A->ctx, kaon_operator_apply(A, mode, x, all));
  pass.scalars = scalars;
  pass.norm = 0;
  must(A->ctx, kaon_operator_reserve(A, mode, COLUMNS));
  must(A->ctx, kaon_operator_run(A, mode, x, y, &pass));
  must(A->ctx, kaon_scalars_read(scalars, host));
  must(A->ctx, kaon_vector_norm2(all, norm2));
  must(A->ctx, kaon_vector_norm2(y, left));
  for (int k = 0; k < COLUMNS; k++) {
    assert_true(left[k] == (k == 1 ? 0 : norm2[k]));
    if (k != 1) test_close("sum", host[k].slot[0][0], norm2[k], 1e-6 * norm2[k]);
  }
  kaon_scalars_destroy(&scalars);
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&y);
  kaon_vector_destroy(&all);
}

static void operators_map_one_space_to_another(void **state) {
  (void)state;
  for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++) {
    if (machine_lacks(machine)) continue;
    restriction r;
    kaon_operator *twin = NULL;
    open_R(&r, machine);
    check_adjoint(r.R);
    check_gates(r.R, KAON_PLAIN);
    check_gates(r.R, KAON_DAGGER);
    must(r.ctx, r.R->ops->twin(r.R, KAON_SINGLE, KAON_RECONSTRUCT_18, &twin));
    check_adjoint(twin);
    kaon_operator_destroy(&twin);
    close_R(&r);
  }
}

/* ---- refusals ---- */

static void vectors_of_the_wrong_space_are_refused(void **state) {
  (void)state;
  restriction r;
  open_R(&r, KAON_ISA_AUTO);
  kaon_vector *fine[2], *coarse[2];
  kaon_scalars *scalars = NULL;
  kaon_pass pass = KAON_PASS_INIT;
  for (int i = 0; i < 2; i++) {
    fine[i] = vector_of(r.fine, KAON_DOUBLE, 1);
    coarse[i] = vector_of(r.coarse, KAON_DOUBLE, 1);
  }
  const int calls = r.calls;
  must_refuse(r.ctx, KAON_ERR_SHAPE, kaon_operator_apply(r.R, KAON_PLAIN, coarse[0], fine[0]));
  assert_non_null(strstr(kaon_last_error(r.ctx), "37 sites"));
  assert_non_null(strstr(kaon_last_error(r.ctx), "kaon_operator_space"));
  must_refuse(r.ctx, KAON_ERR_SHAPE, kaon_operator_apply(r.R, KAON_PLAIN, fine[0], fine[1]));
  assert_non_null(strstr(kaon_last_error(r.ctx), "kaon_operator_range"));
  must_refuse(r.ctx, KAON_ERR_SHAPE, kaon_operator_apply(r.R, KAON_PLAIN, coarse[0], coarse[1]));
  must_refuse(r.ctx, KAON_ERR_SHAPE, kaon_operator_apply(r.R, KAON_DAGGER, fine[0], coarse[0]));
  must_refuse(r.ctx, KAON_ERR_SHAPE, kaon_operator_apply(r.R, KAON_DAGGER, coarse[0], coarse[1]));
  must(r.ctx, kaon_scalars_create(r.ctx, 1, &scalars));
  pass.scalars = scalars;
  pass.dot = 0;
  pass.w = fine[1];
  must_refuse(r.ctx, KAON_ERR_SHAPE, kaon_operator_run(r.R, KAON_PLAIN, fine[0], coarse[0], &pass));
  assert_int_equal(r.calls, calls);
  pass.gate = KAON_GATE_STEP;
  pass.w = coarse[1];
  must(r.ctx, kaon_operator_run(r.R, KAON_PLAIN, fine[0], coarse[0], &pass));
  kaon_scalars_destroy(&scalars);
  for (int i = 0; i < 2; i++) {
    kaon_vector_destroy(&fine[i]);
    kaon_vector_destroy(&coarse[i]);
  }
  close_R(&r);
}

/* Every function that works on one space says so. */
static void functions_of_square_operators_refuse_others(void **state) {
  (void)state;
  restriction r;
  open_R(&r, KAON_ISA_AUTO);
  kaon_operator *K = NULL, *square = NULL;
  kaon_solver *solver = NULL;
  kaon_multishift *multishift = NULL;
  kaon_spectrum spectrum = KAON_SPECTRUM_INIT;
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  const double sigma = 1;
  const int block[4] = {0};
  must_refuse(r.ctx, KAON_ERR_SHAPE, kaon_solver_create(r.R, 1, NULL, &solver));
  must_refuse(r.ctx, KAON_ERR_SHAPE, kaon_multishift_create(r.R, 1, &sigma, NULL, &multishift));
  must_refuse(r.ctx, KAON_ERR_SHAPE, kaon_precond_jacobi(r.R, &K));
  must_refuse(r.ctx, KAON_ERR_SHAPE, kaon_precond_chebyshev(r.R, NULL, &K));
  must_refuse(r.ctx, KAON_ERR_SHAPE, kaon_schwarz_create(r.R, NULL, &K));
  must_refuse(r.ctx, KAON_ERR_SHAPE, kaon_spectrum_estimate(r.R, 0, &spectrum));
  must_refuse(r.ctx, KAON_ERR_SHAPE,
              kaon_operator_local_part(r.R, block, KAON_DOUBLE, KAON_RECONSTRUCT_18, &K));
  must(r.ctx, kaon_operator_create_shell(r.fine, apply_R, &r, NULL, &square));
  o.method = KAON_GCR;
  o.preconditioner = r.R;
  must_refuse(r.ctx, KAON_ERR_SHAPE, kaon_solver_create(square, 1, &o, &solver));
  assert_non_null(strstr(kaon_last_error(r.ctx), "preconditioner"));
  assert_null(K);
  assert_null(solver);
  assert_null(multishift);
  kaon_operator_destroy(&square);
  close_R(&r);
}

static kaon_status no_diagonal(void *user, kaon_vector *d) {
  (void)user;
  return kaon_vector_zero(d);
}

static void creation_says_what_does_not_fit(void **state) {
  (void)state;
  restriction r;
  kaon_shell_methods methods = KAON_SHELL_METHODS_INIT;
  kaon_shell_options half = KAON_SHELL_OPTIONS_INIT;
  kaon_operator *A = NULL;
  kaon_space *far = NULL;
  open_R(&r, KAON_ISA_AUTO);
  kaon_context *other = open_machine(KAON_ISA_SCALAR);
  must(other, kaon_space_create(other, COARSE, 1, 1, &far));
  must_refuse(r.ctx, KAON_ERR_ARGUMENT, kaon_shell_create(r.fine, NULL, &methods, &r, NULL, &A));
  methods.apply = apply_R;
  must_refuse(r.ctx, KAON_ERR_ARGUMENT, kaon_shell_create(r.fine, far, &methods, &r, NULL, &A));
  must_refuse(NULL, KAON_ERR_ARGUMENT, kaon_shell_create(NULL, far, &methods, &r, NULL, &A));
  must_refuse(r.ctx, KAON_ERR_ARGUMENT, kaon_shell_create(r.fine, NULL, NULL, &r, NULL, &A));
  methods.diagonal = no_diagonal;
  must_refuse(r.ctx, KAON_ERR_ARGUMENT,
              kaon_shell_create(r.fine, r.coarse, &methods, &r, NULL, &A));
  half.precision = KAON_HALF;
  must_refuse(r.ctx, KAON_ERR_UNSUPPORTED,
              kaon_shell_create(r.fine, NULL, &methods, &r, &half, &A));
  methods.size = offsetof(kaon_shell_methods, twin); /* an older struct: only apply */
  must(r.ctx, kaon_shell_create(r.fine, r.coarse, &methods, &r, NULL, &A));
  kaon_operator_destroy(&A);
  kaon_space_destroy(&far);
  kaon_context_destroy(&other);
  close_R(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(numbers_are_where_they_are_said_to_be),
                                     cmocka_unit_test(spaces_live_as_long_as_they_are_used),
                                     cmocka_unit_test(operators_map_one_space_to_another),
                                     cmocka_unit_test(vectors_of_the_wrong_space_are_refused),
                                     cmocka_unit_test(functions_of_square_operators_refuse_others),
                                     cmocka_unit_test(creation_says_what_does_not_fit)};
  return test_main(tests, NULL, NULL);
}
