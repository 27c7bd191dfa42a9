/* test_operator.c - what every operator says that it offers is what it does: the methods that must
 * be there, and each capability of its table against applications of the operator. Then operators
 * of an application that offer the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <kaon/kaon.h>

#include "blas/blas.h"
#include "lib/operator/free_blocks.h"
#include "lib/operator/fused_apply.h"
#include "lib/operator/pointwise.h"
#include "lib/operator/row_sweeps.h"
#include "lib/operator/send_ahead.h"
#include "sparse/storage/sparse_operator.h"
#include "tests/util/dirac_case.h"
#include "tests/util/precond_case.h"
#include "tests/util/row_case.h"
#include "tests/util/staggered_case.h"

enum { COLUMNS = 2 };

/* Bits of capabilities. */
enum {
  ROWS = 1 << KAON_CAPABILITY_ROWS,
  ABSOLUTE = 1 << KAON_CAPABILITY_ABSOLUTE,
  FREE = 1 << KAON_CAPABILITY_FREE_BLOCKS,
  POINTWISE = 1 << KAON_CAPABILITY_POINTWISE,
  AHEAD = 1 << KAON_CAPABILITY_SEND_AHEAD,
  PARTIAL = 1 << KAON_CAPABILITY_PARTIAL_SUMS,
  UPDATED = 1 << KAON_CAPABILITY_UPDATED_APPLY,
  COUPLINGS = 1 << KAON_CAPABILITY_COUPLINGS,
  OF_MATRIX = ROWS | ABSOLUTE | AHEAD | PARTIAL | 1 << KAON_CAPABILITY_NULL_SPACE
};
/* Bits of methods that may be missing. */
enum { LOCAL = 1, DIAGONAL = 2, RESERVE = 4 };

static kaon_vector *vector_of(const kaon_operator *A, int columns) {
  kaon_vector *v = NULL;
  must(A->ctx, kaon_vector_create(A->ctx, A->space, A->precision, columns, &v));
  return v;
}

static size_t host_length(const kaon_vector *v) {
  const kaon_space *s = v->space;
  return (size_t)(s->lattice != NULL ? s->lattice->volume : s->nsites) * (size_t)s->ncomp;
}

static double *exported(const kaon_vector *v, int column) {
  double *psi = calloc(host_length(v), sizeof *psi);
  must(v->ctx, kaon_vector_export(v, column, psi, KAON_BASIS_UKQCD));
  return psi;
}

static kaon_vector *random_vector(const kaon_operator *A, int columns, uint64_t seed) {
  kaon_vector *v = vector_of(A, columns);
  double *psi = calloc(host_length(v), sizeof *psi);
  for (int k = 0; k < columns; k++) {
    for (size_t i = 0; i < host_length(v); i++) psi[i] = test_uniform(&seed);
    must(A->ctx, kaon_vector_import(v, k, psi, KAON_BASIS_UKQCD));
  }
  free(psi);
  return v;
}

/* |x - y| / |y| of column 0 */
static double distance(const kaon_vector *x, const kaon_vector *y) {
  double *a = exported(x, 0), *b = exported(y, 0), off = 0, size = 0;
  for (size_t i = 0; i < host_length(x); i++) {
    off += (a[i] - b[i]) * (a[i] - b[i]);
    size += b[i] * b[i];
  }
  free(a);
  free(b);
  return sqrt(off / size);
}

/* ---- capabilities ---- */

/* The rows are on A's space, in its precision. Operators made from a matrix' rows refuse. */
static void check_rows(kaon_operator *A) {
  const kaon_row_access *access = kaon_operator_capability(A, KAON_CAPABILITY_ROWS);
  const kaon_row_how how = {.kind = KAON_ROW_TRIANGLE, .omega = 1};
  kaon_row_sweeps *sweeps = NULL;
  if (kaon_operator_matrix(A) == NULL) {
    must_refuse(A->ctx, KAON_ERR_UNSUPPORTED, access->rows(A, &how, &sweeps));
    assert_null(sweeps);
    return;
  }
  must(A->ctx, access->rows(A, &how, &sweeps));
  assert_ptr_equal(sweeps->space, A->space);
  assert_int_equal(sweeps->precision, A->precision);
  kaon_row_sweeps_destroy(&sweeps);
}

/* | |A| | = |A|, and |A x| <= |A| |x| number by number of a real matrix. */
static void check_absolute(kaon_operator *A) {
  const kaon_absolute_values *values = kaon_operator_capability(A, KAON_CAPABILITY_ABSOLUTE);
  kaon_operator *once = NULL, *twice = NULL;
  must(A->ctx, values->absolute(A, &once));
  assert_ptr_equal(once->space, A->space);
  values = kaon_operator_capability(once, KAON_CAPABILITY_ABSOLUTE);
  if (values != NULL) must(A->ctx, values->absolute(once, &twice));
  kaon_vector *x = random_vector(A, 1, 3), *y = vector_of(A, 1), *z = vector_of(A, 1);
  must(A->ctx, kaon_operator_apply(A, KAON_PLAIN, x, y));
  double *ax = exported(y, 0), *numbers = exported(x, 0);
  for (size_t i = 0; i < host_length(x); i++) numbers[i] = fabs(numbers[i]);
  must(A->ctx, kaon_vector_import(x, 0, numbers, KAON_BASIS_UKQCD));
  free(numbers);
  must(A->ctx, kaon_operator_apply(once, KAON_PLAIN, x, y));
  numbers = exported(y, 0);
  for (size_t i = 0; i < host_length(x); i++) /* each sums up to 10 terms */
    assert_true(fabs(ax[i]) <= numbers[i] * (1 + 20 * 0x1p-53));
  if (twice != NULL) {
    must(A->ctx, kaon_operator_apply(twice, KAON_PLAIN, x, z));
    assert_true(distance(z, y) == 0);
  }
  free(ax);
  free(numbers);
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&y);
  kaon_vector_destroy(&z);
  kaon_operator_destroy(&once);
  kaon_operator_destroy(&twice);
}

/* Blocks of 2^4 sites. A backend or a division without such blocks gives none. */
static void check_free_blocks(kaon_operator *A) {
  const kaon_free_access *access = kaon_operator_capability(A, KAON_CAPABILITY_FREE_BLOCKS);
  const kaon_local how = {{2, 2, 2, 2}, A->precision, KAON_RECONSTRUCT_18, 0};
  kaon_operator *local = NULL;
  kaon_domains *domains = NULL;
  kaon_free_blocks *blocks = NULL;
  must(A->ctx, A->ops->local(A, &how, &local, &domains));
  must(A->ctx, access->blocks(A, local, domains, &blocks));
  if (blocks != NULL) {
    assert_true(blocks->parts > 1 && blocks->threads > 0);
    must(A->ctx, blocks->ops->reserve(blocks, COLUMNS));
    blocks->ops->destroy(blocks);
  }
  kaon_domains_destroy(&domains);
  kaon_operator_destroy(&local);
}

/* A x = d x, to the rounding of a complex product. */
static void check_pointwise(kaon_operator *A) {
  const kaon_pointwise *pointwise = kaon_operator_capability(A, KAON_CAPABILITY_POINTWISE);
  const kaon_vector *d = pointwise->factors(A);
  assert_ptr_equal(d->space, A->space);
  assert_int_equal(d->precision, A->precision);
  assert_int_equal(d->nrhs, 1);
  kaon_vector *x = random_vector(A, COLUMNS, 4), *y = vector_of(A, COLUMNS);
  must(A->ctx, kaon_operator_apply(A, KAON_PLAIN, x, y));
  double *a = exported(d, 0), *b = exported(x, 1), *c = exported(y, 1);
  const size_t parts = A->space->complex_space ? 2 : 1;
  for (size_t i = 0; i < host_length(x); i += parts) {
    const double im_a = parts == 2 ? a[i + 1] : 0, im_b = parts == 2 ? b[i + 1] : 0;
    const double size = hypot(a[i], im_a) * hypot(b[i], im_b);
    assert_true(fabs(c[i] - (a[i] * b[i] - im_a * im_b)) <= 4 * 0x1p-53 * size);
  }
  free(a);
  free(b);
  free(c);
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&y);
}

/* y = A (x + slot w) in the bits of an update and an application, for both modes; w is y. */
static void check_updated(kaon_operator *A) {
  const kaon_updated_apply *updated = kaon_operator_capability(A, KAON_CAPABILITY_UPDATED_APPLY);
  kaon_scalars *scalars = NULL;
  kaon_column_state host[COLUMNS];
  kaon_pass pass = KAON_PASS_INIT;
  must(A->ctx, kaon_scalars_create(A->ctx, COLUMNS, &scalars));
  must(A->ctx, kaon_scalars_read(scalars, host));
  for (int k = 0; k < COLUMNS; k++) {
    host[k].gate = KAON_GATE_STEP;
    host[k].slot[3][0] = 0.3 + k;
  }
  must(A->ctx, kaon_scalars_write(scalars, host));
  pass.scalars = scalars;
  for (int mode = KAON_PLAIN; mode <= KAON_DAGGER; mode++) {
    kaon_vector *x[2], *y[2];
    for (int i = 0; i < 2; i++) {
      x[i] = random_vector(A, COLUMNS, 5);
      y[i] = random_vector(A, COLUMNS, 6);
    }
    must(A->ctx, kaon_operator_reserve(A, (kaon_mode)mode, COLUMNS));
    must(A->ctx, updated->apply(A, (kaon_mode)mode, 3, -1, y[0], x[0], y[0], &pass));
    must(A->ctx, kaon_blas_axpy((kaon_coefficient){3, -1}, y[1], x[1], &pass));
    must(A->ctx, kaon_operator_run(A, (kaon_mode)mode, x[1], y[1], &pass));
    assert_true(distance(x[0], x[1]) == 0 && distance(y[0], y[1]) == 0);
    for (int i = 0; i < 2; i++) {
      kaon_vector_destroy(&x[i]);
      kaon_vector_destroy(&y[i]);
    }
  }
  kaon_scalars_destroy(&scalars);
}

static void check_capabilities(kaon_operator *A, unsigned expected) {
  for (int kind = 0; kind < KAON_CAPABILITIES; kind++) {
    const int offered = kaon_operator_capability(A, (kaon_capability)kind) != NULL;
    if (offered != (int)(expected >> kind & 1))
      fail_msg("%s: capability %d is%s offered", A->ops->name, kind, offered ? "" : " not");
  }
  if (expected & ROWS) check_rows(A);
  if (expected & ABSOLUTE) check_absolute(A);
  if (expected & FREE) check_free_blocks(A);
  if (expected & POINTWISE) check_pointwise(A);
  if (expected & UPDATED) check_updated(A);
  if (!(expected & AHEAD) || A->ctx->comm->ranks == 1) /* one rank has no messages */
    assert_false(kaon_operator_sends_ahead(A));
  if (!(expected & PARTIAL)) assert_false(kaon_operator_completes_sums(A, 1));
}

/* ---- methods ---- */

/* Results of twins in single differ by rounding alone. The most roundings behind a number here are
 * those of a preconditioner's sweeps, below 2^10; norms of intermediate results stay below 2^4. */
static void check_twin(kaon_operator *A) {
  kaon_operator *twin = NULL;
  kaon_vector *x = random_vector(A, 1, 7), *y = vector_of(A, 1), *back = vector_of(A, 1);
  const kaon_status status = A->ops->twin(A, KAON_SINGLE, KAON_RECONSTRUCT_18, &twin);
  if (status == KAON_ERR_UNSUPPORTED) {
    assert_null(twin);
    assert_true(kaon_last_error(A->ctx)[0] != '\0');
  } else {
    must(A->ctx, status);
    assert_ptr_equal(twin->space, A->space);
    assert_int_equal(twin->precision, KAON_SINGLE);
    kaon_vector *in = vector_of(twin, 1), *out = vector_of(twin, 1);
    must(A->ctx, kaon_vector_copy(in, x));
    must(A->ctx, kaon_operator_apply(twin, KAON_PLAIN, in, out));
    must(A->ctx, kaon_operator_apply(A, KAON_PLAIN, x, y));
    must(A->ctx, kaon_vector_copy(back, out));
    test_below(A->ops->name, distance(back, y), 0x1p14 * 0x1p-24);
    kaon_vector_destroy(&in);
    kaon_vector_destroy(&out);
    kaon_operator_destroy(&twin);
  }
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&y);
  kaon_vector_destroy(&back);
}

/* d_i = (e_i, A e_i) for some unit vectors. */
static void check_diagonal(kaon_operator *A) {
  kaon_vector *d = vector_of(A, COLUMNS), *e = vector_of(A, 1), *y = vector_of(A, 1);
  must(A->ctx, A->ops->diagonal(A, d));
  double *of = exported(d, COLUMNS - 1), *unit = calloc(host_length(d), sizeof *unit);
  for (size_t i = 0; i < host_length(d); i += host_length(d) / 6 / 2 * 2) {
    unit[i] = 1;
    must(A->ctx, kaon_vector_import(e, 0, unit, KAON_BASIS_UKQCD));
    unit[i] = 0;
    must(A->ctx, kaon_operator_apply(A, KAON_PLAIN, e, y));
    double *image = exported(y, 0);
    test_close(A->ops->name, of[i], image[i], 64 * 0x1p-53 * fabs(image[i]));
    free(image);
  }
  free(of);
  free(unit);
  kaon_vector_destroy(&d);
  kaon_vector_destroy(&e);
  kaon_vector_destroy(&y);
}

/* Everything about A, which is in double. `methods`: those that it has besides the required ones. */
static void check_operator(kaon_operator *A, unsigned methods, unsigned capabilities) {
  const kaon_operator_ops *ops = A->ops;
  assert_non_null(ops->name);
  assert_true(ops->apply != NULL && ops->twin != NULL && ops->cost != NULL && ops->destroy != NULL);
  assert_int_equal(ops->local != NULL, (methods & LOCAL) != 0);
  assert_int_equal(ops->diagonal != NULL, (methods & DIAGONAL) != 0);
  assert_int_equal(ops->reserve != NULL, (methods & RESERVE) != 0);
  assert_ptr_equal(kaon_operator_space(A), kaon_operator_range(A));
  must(A->ctx, kaon_operator_reserve(A, KAON_PLAIN, COLUMNS));
  check_twin(A);
  if (ops->diagonal != NULL) check_diagonal(A);
  check_capabilities(A, capabilities);
}

/* ---- the library's operators ---- */

static void wilson_operators_are_what_they_say(void **state) {
  static const int extents[4] = {4, 4, 4, 8};
  (void)state;
  for (int clover = 0; clover < 2; clover++) {
    dirac_case c;
    if (!case_open(&c, KAON_ISA_AUTO, extents, 1, LINKS_WEAK, 11)) skip();
    kaon_operator *M = case_dirac(&c, 0.12, clover, 1, KAON_DOUBLE, KAON_RECONSTRUCT_18);
    const unsigned all = LOCAL | RESERVE;
    check_operator(M, all | DIAGONAL, FREE | COUPLINGS);
    for (int form = KAON_EVEN_ODD_SYMMETRIC; form <= KAON_EVEN_ODD_NONE; form++) {
      kaon_operator *R = case_even_odd(&c, M, (kaon_even_odd)form, KAON_EVEN, 0);
      check_operator(R, all,
                     FREE | (form == KAON_EVEN_ODD_SYMMETRIC ? UPDATED
                             : form == KAON_EVEN_ODD_NONE    ? COUPLINGS
                                                             : 0));
      kaon_operator_destroy(&R);
    }
    kaon_operator_destroy(&M);
    case_close(&c);
  }
}

static void staggered_operators_are_what_they_say(void **state) {
  static const int extents[4] = {4, 4, 4, 8};
  (void)state;
  for (int improved = 0; improved < 2; improved++) {
    staggered_case s;
    kaon_operator *R = NULL;
    if (!staggered_open(&s, KAON_ISA_AUTO, extents, 1, improved)) skip();
    kaon_operator *M =
        staggered_operator(&s, 0.1, 0, KAON_PHASES_MILC, KAON_DOUBLE, KAON_RECONSTRUCT_18);
    check_operator(M, DIAGONAL | RESERVE, COUPLINGS);
    must(s.c.ctx, kaon_staggered_even_odd(M, KAON_EVEN, &R));
    check_operator(R, RESERVE, 0);
    kaon_operator_destroy(&R);
    kaon_operator_destroy(&M);
    staggered_close(&s);
  }
}

typedef struct rows_case {
  kaon_context *ctx;
  kaon_csr *csr;
  kaon_matrix *matrix;
  kaon_operator *A;
} rows_case;

static int open_rows(rows_case *r, int machine) {
  const kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  memset(r, 0, sizeof *r);
  must(NULL, machine_open(machine, options, &r->ctx));
  if (r->ctx->backend->sparse[KAON_DOUBLE] == NULL) {
    kaon_context_destroy(&r->ctx);
    return 0;
  }
  r->csr = row_case_laplace(12, 11, 1);
  r->matrix = precond_matrix(r->ctx, r->csr, 0);
  must(r->ctx, kaon_matrix_operator(r->matrix, NULL, &r->A));
  return 1;
}

static void close_rows(rows_case *r) {
  kaon_operator_destroy(&r->A);
  kaon_matrix_destroy(&r->matrix);
  kaon_csr_destroy(&r->csr);
  kaon_context_destroy(&r->ctx);
}

static void operators_of_matrices_are_what_they_say(void **state) {
  (void)state;
  rows_case r;
  kaon_operator *K = NULL;
  kaon_solver *solver = NULL;
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  kaon_precond_options precond = KAON_PRECOND_OPTIONS_INIT;
  const int block[4] = {12, 0, 0, 0};
  if (!open_rows(&r, KAON_ISA_AUTO)) skip();
  check_operator(r.A, LOCAL | DIAGONAL | RESERVE, OF_MATRIX);
  must(r.ctx, kaon_operator_local_part(r.A, block, KAON_DOUBLE, KAON_RECONSTRUCT_18, &K));
  check_operator(K, LOCAL | DIAGONAL | RESERVE, OF_MATRIX);
  kaon_operator_destroy(&K);
  must(r.ctx, kaon_precond_jacobi(r.A, &K));
  check_operator(K, 0, POINTWISE);
  kaon_operator_destroy(&K);
  must(r.ctx, kaon_precond_chebyshev(r.A, NULL, &K));
  check_operator(K, RESERVE, 0);
  kaon_operator_destroy(&K);
  must(r.ctx, kaon_schwarz_create(r.A, NULL, &K));
  K->precision == KAON_DOUBLE ? check_operator(K, RESERVE, 0) : check_capabilities(K, 0);
  kaon_operator_destroy(&K);
  precond.kind = KAON_PRECOND_IC0;
  must(r.ctx, kaon_precond_create(r.matrix, &precond, &K));
  check_operator(K, RESERVE, 0);
  kaon_operator_destroy(&K);
  must(r.ctx, kaon_kaczmarz_reduce(r.A, NULL, &K));
  check_operator(K, RESERVE, 0);
  kaon_operator_destroy(&K);
  o.tol = 0;
  o.max_iterations = 3;
  must(r.ctx, kaon_solver_create(r.A, COLUMNS, &o, &solver));
  must(r.ctx, kaon_solver_as_operator(solver, &K));
  check_capabilities(K, 0);
  kaon_operator_destroy(&K);
  kaon_solver_destroy(&solver);
  close_rows(&r);
}

/* ---- operators of an application ---- */

/* Its functions pass on to operators of the library. */
typedef struct passed_on {
  kaon_operator *of[2]; /* by precision: A of a matrix, or a diagonal K */
  kaon_vector *d[2];    /* factors of K */
  int wrong;            /* functions make what does not fit */
  int destroyed, reserved;
} passed_on;

static kaon_status pass_apply(void *user, kaon_mode mode, const kaon_vector *x, kaon_vector *y) {
  const passed_on *p = user;
  return kaon_operator_apply(p->of[kaon_vector_precision(x)], mode, x, y);
}

static kaon_status pass_twin(void *user, kaon_precision precision, kaon_operator **twin) {
  const passed_on *p = user;
  if (p->wrong) return kaon_operator_create_shell(p->of[0]->space, pass_apply, user, NULL, twin);
  *twin = p->of[precision];
  kaon_operator_retain(*twin);
  return KAON_OK;
}

static kaon_status pass_local(void *user, kaon_precision precision, kaon_operator **local) {
  const passed_on *p = user;
  const int block[4] = {0};
  if (p->wrong) return KAON_OK; /* without an operator */
  return kaon_operator_local_part(p->of[0], block, precision, KAON_RECONSTRUCT_18, local);
}

static kaon_status pass_diagonal(void *user, kaon_vector *d) {
  const passed_on *p = user;
  return p->wrong ? KAON_ERR_STATE : p->of[0]->ops->diagonal(p->of[0], d);
}

static kaon_status pass_reserve(void *user, kaon_mode mode, int columns) {
  passed_on *p = user;
  p->reserved |= mode == KAON_DAGGER ? 2 : 1;
  return kaon_operator_reserve(p->of[0], mode, columns);
}

static kaon_status pass_factors(void *user, kaon_precision precision, const kaon_vector **d) {
  const passed_on *p = user;
  *d = p->d[p->wrong ? KAON_SINGLE : precision];
  return KAON_OK;
}

static kaon_status pass_absolute(void *user, kaon_precision precision, kaon_operator **absolute) {
  const passed_on *p = user;
  const kaon_absolute_values *values =
      kaon_operator_capability(p->of[precision], KAON_CAPABILITY_ABSOLUTE);
  return values->absolute(p->of[precision], absolute);
}

static void count_destroy(void *user) {
  ((passed_on *)user)->destroyed++;
}

static const kaon_shell_methods every_method = {.size = sizeof every_method,
                                                .version = 1,
                                                .apply = pass_apply,
                                                .twin = pass_twin,
                                                .local = pass_local,
                                                .diagonal = pass_diagonal,
                                                .reserve = pass_reserve,
                                                .absolute = pass_absolute,
                                                .destroy = count_destroy};

static void open_passed(rows_case *r, passed_on *p) {
  memset(p, 0, sizeof *p);
  p->of[0] = r->A;
  must(r->ctx, r->A->ops->twin(r->A, KAON_SINGLE, KAON_RECONSTRUCT_18, &p->of[1]));
}

/* A shell with every function offers what the matrix offers: it is preconditioned, solved in mixed
 * precision and looked at beforehand, with the results of the matrix. */
static void shells_have_the_same_rights(void **state) {
  (void)state;
  rows_case r;
  passed_on p;
  kaon_operator *shell = NULL, *K = NULL;
  if (!open_rows(&r, KAON_ISA_AUTO)) skip();
  open_passed(&r, &p);
  must(r.ctx, kaon_shell_create(r.A->space, NULL, &every_method, &p, NULL, &shell));
  check_operator(shell, LOCAL | DIAGONAL | RESERVE, ABSOLUTE);
  kaon_vector *b = random_vector(r.A, 1, 9), *x[2] = {vector_of(r.A, 1), vector_of(r.A, 1)};
  for (int precond = 0; precond < 3; precond++) {
    kaon_column_report reports[2];
    for (int i = 0; i < 2; i++) {
      kaon_operator *A = i ? shell : r.A;
      kaon_solver *solver = NULL;
      kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
      if (precond == 0) must(r.ctx, kaon_precond_jacobi(A, &K));
      if (precond == 1) must(r.ctx, kaon_precond_chebyshev(A, NULL, &K));
      if (precond == 2) must(r.ctx, kaon_schwarz_create(A, NULL, &K));
      o.method = precond == 2 ? KAON_GCR : KAON_CG;
      o.sloppy = KAON_SINGLE;
      o.preconditioner = K;
      must(r.ctx, kaon_solver_create(A, 1, &o, &solver));
      must(r.ctx, kaon_vector_zero(x[i]));
      must(r.ctx, kaon_solver_solve(solver, b, x[i], &reports[i], NULL));
      assert_int_equal(reports[i].reason, KAON_CONVERGED);
      kaon_solver_destroy(&solver);
      kaon_operator_destroy(&K);
    }
    printf("  %d and %d steps\n", reports[0].iterations, reports[1].iterations);
    /* a GPU adds up in another order */
    assert_true(abs(reports[0].iterations - reports[1].iterations) <=
                (r.ctx->backend->host_accessible ? 0 : 3 + reports[0].iterations / 5));
    /* both to 1e-10; the condition number is below 12^2 */
    test_below("solutions", distance(x[1], x[0]), 2 * 144 * 1e-10);
  }
  kaon_spectrum one = KAON_SPECTRUM_INIT, other = KAON_SPECTRUM_INIT;
  must(r.ctx, kaon_spectrum_estimate(r.A, 0, &one));
  must(r.ctx, kaon_spectrum_estimate(shell, 0, &other));
  test_close("spectral radius", other.rho, one.rho, 1e-6);
  test_close("of |B|", other.rho_absolute, one.rho_absolute, 1e-6);
  assert_int_equal(p.reserved & 1, 1);
  assert_int_equal(p.destroyed, 0);
  kaon_operator_destroy(&shell);
  assert_int_equal(p.destroyed, 1);
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x[0]);
  kaon_vector_destroy(&x[1]);
  kaon_operator_destroy(&p.of[1]);
  close_rows(&r);
}

/* A diagonal shell is multiplied in the solver's own passes, in either precision. */
static void diagonal_shells_give_their_factors(void **state) {
  (void)state;
  rows_case r;
  passed_on p, k = {.destroyed = 0};
  kaon_operator *shell = NULL, *twin = NULL;
  kaon_shell_methods methods = KAON_SHELL_METHODS_INIT;
  kaon_shell_options o = KAON_SHELL_OPTIONS_INIT;
  if (!open_rows(&r, KAON_ISA_AUTO)) skip();
  open_passed(&r, &p);
  for (int i = 0; i < 2; i++) {
    must(r.ctx, kaon_precond_jacobi(p.of[i], &k.of[i]));
    const kaon_pointwise *pointwise = kaon_operator_capability(k.of[i], KAON_CAPABILITY_POINTWISE);
    k.d[i] = (kaon_vector *)(uintptr_t)pointwise->factors(k.of[i]);
  }
  methods.apply = pass_apply;
  methods.factors = pass_factors;
  methods.destroy = count_destroy;
  o.any_precision = 1;
  must(r.ctx, kaon_shell_create(r.A->space, NULL, &methods, &k, &o, &shell));
  check_operator(shell, RESERVE, POINTWISE);
  must(r.ctx, shell->ops->twin(shell, KAON_SINGLE, KAON_RECONSTRUCT_18, &twin));
  const kaon_pointwise *of_twin = kaon_operator_capability(twin, KAON_CAPABILITY_POINTWISE);
  assert_ptr_equal(of_twin->factors(twin), k.d[1]);
  kaon_operator_destroy(&shell);
  assert_int_equal(k.destroyed, 0); /* the twin has the same functions */
  kaon_operator_destroy(&twin);
  assert_int_equal(k.destroyed, 1);
  k.wrong = 1;
  must_refuse(r.ctx, KAON_ERR_SHAPE, kaon_shell_create(r.A->space, NULL, &methods, &k, &o, &shell));
  assert_null(shell);
  assert_int_equal(k.destroyed, 1); /* a failed creation leaves `user` to the caller */
  for (int i = 0; i < 2; i++) kaon_operator_destroy(&k.of[i]);
  kaon_operator_destroy(&p.of[1]);
  close_rows(&r);
}

/* What the application's functions make is looked at. */
static void wrong_functions_are_refused(void **state) {
  (void)state;
  rows_case r;
  passed_on p;
  kaon_operator *shell = NULL, *made = NULL;
  const int none[4] = {0}, block[4] = {12, 0, 0, 0};
  if (!open_rows(&r, KAON_ISA_AUTO)) skip();
  open_passed(&r, &p);
  must(r.ctx, kaon_shell_create(r.A->space, NULL, &every_method, &p, NULL, &shell));
  must_refuse(r.ctx, KAON_ERR_UNSUPPORTED,
              kaon_operator_local_part(shell, block, KAON_DOUBLE, KAON_RECONSTRUCT_18, &made));
  p.wrong = 1;
  must_refuse(r.ctx, KAON_ERR_PRECISION,
              shell->ops->twin(shell, KAON_SINGLE, KAON_RECONSTRUCT_18, &made));
  assert_null(made);
  must_refuse(r.ctx, KAON_ERR_ARGUMENT,
              kaon_operator_local_part(shell, none, KAON_DOUBLE, KAON_RECONSTRUCT_18, &made));
  must_refuse(r.ctx, KAON_ERR_STATE, kaon_precond_jacobi(shell, &made));
  assert_non_null(strstr(kaon_last_error(r.ctx), "diagonal"));
  assert_null(made);
  kaon_operator_destroy(&shell);
  kaon_operator_destroy(&p.of[1]);
  close_rows(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(wilson_operators_are_what_they_say),
                                     cmocka_unit_test(staggered_operators_are_what_they_say),
                                     cmocka_unit_test(operators_of_matrices_are_what_they_say),
                                     cmocka_unit_test(shells_have_the_same_rights),
                                     cmocka_unit_test(diagonal_shells_give_their_factors),
                                     cmocka_unit_test(wrong_functions_are_refused)};
  return test_main(tests, NULL, NULL);
}
