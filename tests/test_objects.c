/* Objects at work cannot be used again: by a function of the application that they call, or by
 * another thread. Such a call is STATE, and the work goes on as if it had not been made. An object
 * keeps alive what it needs, whatever the order of destruction, also while it is at work. Check mode
 * finds what an operator of the application leaves unwritten. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

#include <kaon/kaon.h>

#include "tests/util/test_util.h"

enum { SIDE = 6, TERMS = 3 };

/* ---- an operator of the application that does something more in one of its calls ---- */

static struct {
  kaon_context *ctx;
  kaon_matrix *matrix;
  kaon_operator *laplace, *A, *K, *inverse;
  kaon_solver *solver;
  kaon_multishift *shifts;
  kaon_rational_function *function;
  kaon_vector *b, *x, *y, *spare;
  /* The intrusion, in call `at` of `calls`; `seen`: what it returned, with its sentence. */
  kaon_status (*intrude)(void);
  int calls, at;
  kaon_status seen;
  char sentence[256];
} t;

static kaon_status apply(void *user, kaon_mode mode, const kaon_vector *x, kaon_vector *y) {
  (void)user;
  if (++t.calls == t.at) {
    t.seen = t.intrude();
    snprintf(t.sentence, sizeof t.sentence, "%s", kaon_last_error(t.ctx));
  }
  return kaon_operator_apply(t.laplace, mode, x, y);
}

static kaon_vector *vector(int columns) {
  kaon_vector *v = NULL;
  must(t.ctx, kaon_vector_create(t.ctx, kaon_matrix_space(t.matrix), KAON_DOUBLE, columns, &v));
  return v;
}

static void fill(kaon_vector *v, double first) {
  double numbers[SIDE * SIDE];
  for (int i = 0; i < SIDE * SIDE; i++) numbers[i] = first + i % 5;
  must(t.ctx, kaon_vector_import(v, 0, numbers, KAON_BASIS_UKQCD));
}

static kaon_solver *solver(kaon_method method, double tol, kaon_operator *K,
                           kaon_monitor_fn *watch) {
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  kaon_solver *made = NULL;
  o.method = method;
  o.tol = tol;
  o.max_iterations = tol > 0 ? 500 : 4;
  o.preconditioner = K;
  o.monitor = watch;
  must(t.ctx, kaon_solver_create(t.A, 1, &o, &made));
  return made;
}

static int open_case(void **state) {
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  char name[32];
  (void)state;
  memset(&t, 0, sizeof t);
  options.threads = 1;
  must(NULL, kaon_context_create(&options, &t.ctx));
  snprintf(name, sizeof name, "laplace2d:%d", SIDE);
  must(t.ctx, kaon_matrix_generate(t.ctx, name, NULL, &t.matrix, NULL));
  must(t.ctx, kaon_matrix_operator(t.matrix, NULL, &t.laplace));
  must(t.ctx, kaon_operator_create_shell(kaon_matrix_space(t.matrix), apply, NULL, NULL, &t.A));
  t.b = vector(1);
  t.x = vector(1);
  t.y = vector(1);
  t.spare = vector(1);
  fill(t.b, 1);
  fill(t.spare, 2);
  return 0;
}

static int close_case(void **state) {
  (void)state;
  kaon_vector_destroy(&t.b);
  kaon_vector_destroy(&t.x);
  kaon_vector_destroy(&t.y);
  kaon_vector_destroy(&t.spare);
  kaon_rational_destroy(&t.function);
  kaon_multishift_destroy(&t.shifts);
  kaon_operator_destroy(&t.inverse);
  kaon_solver_destroy(&t.solver);
  kaon_operator_destroy(&t.K);
  kaon_operator_destroy(&t.A);
  kaon_operator_destroy(&t.laplace);
  kaon_matrix_destroy(&t.matrix);
  kaon_context_destroy(&t.ctx);
  return 0;
}

/* ---- work, and its use by the operator that it applies ---- */

static kaon_status solve(void) {
  kaon_status status = kaon_vector_zero(t.x);
  kaon_column_report r = {0};
  if (status == KAON_OK) status = kaon_solver_solve(t.solver, t.b, t.x, &r, NULL);
  if (status == KAON_OK) assert_int_equal(r.reason, KAON_CONVERGED);
  return status;
}
static kaon_status shift(void) {
  return kaon_multishift_solve(t.shifts, t.b, t.x, NULL, NULL);
}
static kaon_status rational(void) {
  return kaon_rational_apply(t.function, t.b, t.x, NULL, NULL);
}
static kaon_status precondition(void) {
  return kaon_operator_apply(t.K, KAON_PLAIN, t.b, t.x);
}
static kaon_status invert(void) {
  return kaon_operator_apply(t.inverse, KAON_PLAIN, t.b, t.x);
}
static kaon_status apply_A(void) {
  return kaon_operator_apply(t.A, KAON_PLAIN, t.b, t.x);
}

static kaon_status solve_again(void) {
  return kaon_solver_solve(t.solver, t.spare, t.y, NULL, NULL);
}
static kaon_status shift_again(void) {
  return kaon_multishift_solve(t.shifts, t.spare, t.y, NULL, NULL);
}
static kaon_status rational_again(void) {
  return kaon_rational_apply(t.function, t.spare, t.y, NULL, NULL);
}
static kaon_status precondition_again(void) {
  return kaon_operator_apply(t.K, KAON_PLAIN, t.spare, t.y);
}
static kaon_status invert_again(void) {
  return kaon_operator_apply(t.inverse, KAON_PLAIN, t.spare, t.y);
}
static kaon_status apply_again(void) {
  return kaon_operator_apply(t.A, KAON_DAGGER, t.spare, t.y);
}

/* Runs the work alone, then with the intrusion at every call, which must change no bit. */
static void must_be_undisturbed(const char *what, kaon_status (*work)(void),
                                kaon_status (*intrude)(void)) {
  double alone[SIDE * SIDE], found[SIDE * SIDE];
  t.at = 0;
  t.calls = 0;
  must(t.ctx, work());
  must(t.ctx, kaon_vector_export(t.x, 0, alone, KAON_BASIS_UKQCD));
  const int calls = t.calls;
  assert_true(calls > 0);
  t.intrude = intrude;
  for (t.at = 1; t.at <= calls; t.at++) {
    t.calls = 0;
    t.seen = KAON_OK;
    must(t.ctx, work());
    assert_int_equal(t.seen, KAON_ERR_STATE);
    assert_non_null(strstr(t.sentence, "at work"));
    must(t.ctx, kaon_vector_export(t.x, 0, found, KAON_BASIS_UKQCD));
    assert_memory_equal(found, alone, sizeof found);
  }
  printf("  %-30s %3d calls; %s\n", what, calls, t.sentence);
}

static void solvers_refuse_their_operator(void **state) {
  static const kaon_method methods[] = {KAON_CG, KAON_CGNR, KAON_BICGSTAB, KAON_GCR, KAON_PIPECG};
  (void)state;
  for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
    kaon_method_info info = KAON_METHOD_INFO_INIT;
    must(t.ctx, kaon_method_query(methods[i], &info));
    t.solver = solver(methods[i], 1e-8, NULL, NULL);
    must_be_undisturbed(info.name, solve, solve_again);
    kaon_solver_destroy(&t.solver);
  }
  t.solver = solver(KAON_CG, 0, NULL, NULL);
  must(t.ctx, kaon_solver_as_operator(t.solver, &t.inverse));
  must_be_undisturbed("a solver of fixed steps", invert, invert_again);
  must_be_undisturbed("the same, by its solver", invert, solve_again);
}

static void operators_refuse_themselves(void **state) {
  kaon_chebyshev_options o = KAON_CHEBYSHEV_OPTIONS_INIT;
  (void)state;
  must_be_undisturbed("an operator of the application", apply_A, apply_again);
  must(t.ctx, kaon_precond_chebyshev(t.A, &o, &t.K));
  must_be_undisturbed("chebyshev", precondition, precondition_again);
  t.solver = solver(KAON_CG, 1e-8, t.K, NULL);
  must_be_undisturbed("cg with chebyshev", solve, solve_again);
  kaon_operator_destroy(&t.K);
  must(t.ctx, kaon_operator_normal(t.A, &t.K));
  must_be_undisturbed("normal", precondition, precondition_again);
}

static void shifts_refuse_their_operator(void **state) {
  const double zero = 0;
  kaon_rational r;
  (void)state;
  must(t.ctx, kaon_multishift_create(t.A, 1, &zero, NULL, &t.shifts));
  must_be_undisturbed("multishift", shift, shift_again);
  must(t.ctx, kaon_rational_inverse_root(TERMS, 0.1, 8, &r));
  must(t.ctx, kaon_rational_create(t.A, &r, NULL, &t.function));
  must_be_undisturbed("rational", rational, rational_again);
}

static int monitor(void *user, int iteration, int column, double residual) {
  (void)user, (void)column, (void)residual;
  if (iteration == 3) t.seen = solve_again();
  return 0;
}

static void a_monitor_cannot_use_its_solver(void **state) {
  (void)state;
  t.solver = solver(KAON_CG, 1e-8, NULL, monitor);
  must(t.ctx, solve());
  assert_int_equal(t.seen, KAON_ERR_STATE);
}

/* ---- another thread ---- */

static struct {
  pthread_mutex_t lock;
  pthread_cond_t moved;
  int turn; /* 1: the other thread's */
  kaon_status other_solver, vector, lattice, own_context;
} threads = {.lock = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER};

static void pass_turn(int to, int wait_for) {
  pthread_mutex_lock(&threads.lock);
  threads.turn = to;
  pthread_cond_broadcast(&threads.moved);
  while (threads.turn != wait_for) pthread_cond_wait(&threads.moved, &threads.lock);
  pthread_mutex_unlock(&threads.lock);
}

static kaon_status let_the_other_thread(void) {
  pass_turn(1, 0);
  return KAON_OK;
}

/* Calls with objects of the context at work, of which the thread has some to itself. */
static void *other_thread(void *user) {
  const int extents[4] = {2, 2, 2, 2};
  kaon_lattice *lattice = NULL;
  kaon_context *own = NULL;
  pthread_mutex_lock(&threads.lock);
  while (threads.turn != 1) pthread_cond_wait(&threads.moved, &threads.lock);
  pthread_mutex_unlock(&threads.lock);
  threads.other_solver = kaon_solver_solve(user, t.spare, t.y, NULL, NULL);
  printf("  %s\n", kaon_last_error(NULL));
  threads.vector = kaon_vector_zero(t.spare);
  threads.lattice = kaon_lattice_create(t.ctx, extents, KAON_PERIODIC, &lattice);
  threads.own_context = kaon_context_create(NULL, &own);
  if (threads.own_context == KAON_OK)
    threads.own_context = kaon_lattice_create(own, extents, KAON_PERIODIC, &lattice);
  kaon_lattice_destroy(&lattice);
  kaon_context_destroy(&own);
  pthread_mutex_lock(&threads.lock);
  threads.turn = 0;
  pthread_cond_broadcast(&threads.moved);
  pthread_mutex_unlock(&threads.lock);
  return NULL;
}

static void another_thread_is_refused(void **state) {
  double alone[SIDE * SIDE], found[SIDE * SIDE];
  pthread_t other;
  (void)state;
  t.solver = solver(KAON_CG, 1e-8, NULL, NULL);
  kaon_solver *second = solver(KAON_CG, 1e-8, NULL, NULL);
  must(t.ctx, solve());
  must(t.ctx, kaon_vector_export(t.x, 0, alone, KAON_BASIS_UKQCD));
  t.intrude = let_the_other_thread;
  t.at = 5;
  t.calls = 0;
  assert_int_equal(pthread_create(&other, NULL, other_thread, second), 0);
  must(t.ctx, solve());
  pthread_join(other, NULL);
  must(t.ctx, kaon_vector_export(t.x, 0, found, KAON_BASIS_UKQCD));
  assert_memory_equal(found, alone, sizeof found);
  assert_int_equal(threads.other_solver, KAON_ERR_STATE);
  assert_int_equal(threads.vector, KAON_ERR_STATE);
  assert_int_equal(threads.lattice, KAON_ERR_STATE);
  assert_int_equal(threads.own_context, KAON_OK);
  must(t.ctx, kaon_solver_solve(second, t.spare, t.y, NULL, NULL)); /* nobody is at work now */
  kaon_solver_destroy(&second);
}

/* ---- lifetimes ---- */

static kaon_status destroy_all(void) {
  kaon_rational_destroy(&t.function);
  kaon_multishift_destroy(&t.shifts);
  kaon_operator_destroy(&t.inverse);
  kaon_solver_destroy(&t.solver);
  kaon_operator_destroy(&t.K);
  kaon_operator_destroy(&t.A);
  return KAON_OK;
}

static void work_survives_the_end_of_its_objects(void **state) {
  static kaon_status (*const works[])(void) = {solve,        shift,  rational,
                                               precondition, invert, apply_A};
  const double zero = 0;
  kaon_rational r;
  must(t.ctx, kaon_rational_inverse_root(TERMS, 0.1, 8, &r));
  for (size_t i = 0; i < sizeof works / sizeof *works; i++) {
    if (i > 0) open_case(state);
    must(t.ctx, kaon_precond_chebyshev(t.A, NULL, &t.K));
    t.solver = solver(KAON_CG, 1e-8, t.K, NULL);
    must(t.ctx, kaon_solver_as_operator(t.solver, &t.inverse));
    must(t.ctx, kaon_multishift_create(t.A, 1, &zero, NULL, &t.shifts));
    must(t.ctx, kaon_rational_create(t.A, &r, NULL, &t.function));
    t.intrude = destroy_all;
    t.at = 1;
    t.calls = 0;
    must(t.ctx, works[i]());
    assert_null(t.A);
    if (i + 1 < sizeof works / sizeof *works) close_case(state);
  }
}

/* Each object is used after all that it was made from was destroyed. */
static void objects_keep_alive_what_they_need(void **state) {
  const int extents[4] = {4, 4, 4, 4};
  const double zero = 0;
  kaon_lattice *lattice = NULL;
  kaon_gauge *gauge = NULL;
  kaon_operator *M = NULL, *S = NULL, *K = NULL, *inverse = NULL, *adjoint = NULL, *normal = NULL;
  kaon_solver *outer = NULL, *inner = NULL;
  kaon_multishift *shifts = NULL;
  kaon_rational_function *function = NULL;
  kaon_vector *b = NULL, *x = NULL;
  kaon_rational r;
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  kaon_column_report report;
  (void)state;
  must(t.ctx, kaon_lattice_create(t.ctx, extents, KAON_ANTIPERIODIC, &lattice));
  must(t.ctx, kaon_gauge_create(lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &gauge));
  must(t.ctx, kaon_gauge_weak(gauge, 0.2, 1));
  must(t.ctx, kaon_dirac_create(gauge, NULL, &M));
  kaon_gauge_destroy(&gauge);
  must(t.ctx, kaon_dirac_even_odd(M, NULL, &S));
  must(t.ctx, kaon_vector_create(t.ctx, kaon_operator_space(M), KAON_DOUBLE, 1, &b));
  must(t.ctx, kaon_vector_create(t.ctx, kaon_operator_space(M), KAON_DOUBLE, 1, &x));
  kaon_lattice_destroy(&lattice);
  kaon_context *ctx = t.ctx;
  kaon_context_destroy(&ctx);
  must(NULL, kaon_source_z4(b, 1));
  o.method = KAON_GCR;
  o.sloppy = KAON_SINGLE;
  must(NULL, kaon_solver_create(M, 1, &o, &inner));
  must(NULL, kaon_solver_as_operator(inner, &inverse));
  must(NULL, kaon_schwarz_create(S, NULL, &K));
  o.preconditioner = K;
  must(NULL, kaon_solver_create(S, 1, &o, &outer));
  must(NULL, kaon_operator_adjoint(M, &adjoint));
  must(NULL, kaon_operator_normal(adjoint, &normal));
  must(NULL, kaon_multishift_create(normal, 1, &zero, NULL, &shifts));
  must(NULL, kaon_rational_inverse_root(TERMS, 0.01, 10, &r));
  must(NULL, kaon_rational_create(normal, &r, NULL, &function));
  kaon_solver_destroy(&inner);
  kaon_operator_destroy(&normal);
  kaon_operator_destroy(&K);
  kaon_operator_destroy(&S);
  kaon_operator_destroy(&M);
  must(NULL, kaon_operator_apply(inverse, KAON_PLAIN, b, x));
  must(NULL, kaon_operator_apply(inverse, KAON_DAGGER, b, x));
  must(NULL, kaon_operator_apply(adjoint, KAON_PLAIN, b, x));
  kaon_operator_destroy(&adjoint);
  must(NULL, kaon_vector_zero(x));
  must(NULL, kaon_solver_solve(outer, b, x, &report, NULL));
  assert_int_equal(report.reason, KAON_CONVERGED);
  must(NULL, kaon_multishift_solve(shifts, b, x, &report, NULL));
  assert_int_equal(report.reason, KAON_CONVERGED);
  must(NULL, kaon_rational_apply(function, b, x, NULL, NULL));
  t.ctx = NULL; /* destroyed above */
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
  kaon_solver_destroy(&outer);
  kaon_multishift_destroy(&shifts);
  kaon_rational_destroy(&function);
  kaon_operator_destroy(&inverse);
}

/* ---- check mode ---- */

static kaon_status write_nothing(void *user, kaon_mode mode, const kaon_vector *x, kaon_vector *y) {
  (void)user, (void)mode, (void)x, (void)y;
  return KAON_OK;
}

static void check_mode_finds_unwritten_numbers(void **state) {
  static const kaon_method methods[] = {KAON_CG, KAON_CGNR, KAON_BICGSTAB, KAON_GCR, KAON_BLOCKCG};
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  kaon_context *ctx = NULL;
  kaon_space *space = NULL;
  kaon_vector *b = NULL, *x = NULL;
  kaon_operator *A = NULL;
  kaon_vector_storage storage = KAON_VECTOR_STORAGE_INIT;
  double ones[11], norm2;
  (void)state;
  options.check = 1;
  options.threads = 1;
  options.backend = KAON_BACKEND_CPU;
  must(NULL, kaon_context_create(&options, &ctx));
  must(ctx, kaon_space_create(ctx, 11, 1, 0, &space));
  must(ctx, kaon_vector_create(ctx, space, KAON_DOUBLE, 1, &b));
  must(ctx, kaon_vector_create(ctx, space, KAON_DOUBLE, 1, &x));
  must(ctx, kaon_operator_create_shell(space, write_nothing, NULL, NULL, &A));
  for (int i = 0; i < 11; i++) ones[i] = 1;
  must(ctx, kaon_vector_import(b, 0, ones, KAON_BASIS_UKQCD));
  for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
    kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
    kaon_solver *s = NULL;
    kaon_column_report r;
    o.method = methods[i];
    must(ctx, kaon_solver_create(A, 1, &o, &s));
    must(ctx, kaon_vector_zero(x));
    must(ctx, kaon_solver_solve(s, b, x, &r, NULL));
    assert_int_equal(r.reason, KAON_BREAKDOWN);
    assert_int_equal(r.breakdown, KAON_BREAKDOWN_NOT_FINITE);
    assert_true(isnan(r.residual));
    kaon_solver_destroy(&s);
  }
  must(ctx, kaon_operator_apply(A, KAON_PLAIN, b, x));
  must(ctx, kaon_vector_norm2(x, &norm2));
  assert_true(isnan(norm2));
  must(ctx, kaon_vector_locate(x, &storage));
  for (int64_t place = 11; place < storage.places; place++) /* places without a site stay 0 */
    assert_true(((double *)storage.data)[kaon_storage_index(&storage, place, 0, 0)] == 0);
  kaon_operator_destroy(&A);
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
  kaon_space_destroy(&space);
  kaon_context_destroy(&ctx);
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, open_case, close_case)
  const struct CMUnitTest cases[] = {
      CASE(solvers_refuse_their_operator),     CASE(operators_refuse_themselves),
      CASE(shifts_refuse_their_operator),      CASE(a_monitor_cannot_use_its_solver),
      CASE(another_thread_is_refused),         CASE(work_survives_the_end_of_its_objects),
      CASE(objects_keep_alive_what_they_need), CASE(check_mode_finds_unwritten_numbers),
  };
  return test_main(cases, NULL, NULL);
}
