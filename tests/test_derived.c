/* test_derived.c - derived objects follow changes of their sources, or are STALE until the calls
 * that the error sentence names. Everything that the library derives from links, or from an
 * operator of the application, is made and used. Then its source changes. Afterwards its results
 * have the same bits as those of new objects, made from the changed source.
 *
 * The table is complete: the public headers have no other function that makes one object of
 * another, and every method, kind of Schwarz preconditioner and form of reduction is tried.
 * Matrices never change, and what needs one refuses other operators. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kaon/kaon.h>

#include "tests/util/source_case.h"

/* ---- derived objects ---- */

/* One of the objects is set. Its vectors have the space and precision of `like`. */
typedef struct derived {
  kaon_operator *A;
  kaon_solver *solver;
  kaon_multishift *shifts;
  kaon_rational_function *function;
  const kaon_operator *like;
  int columns; /* of x */
} derived;

#define NO_MORE ((kaon_status)-1) /* the library offers no further kind */

static kaon_status solver_of(kaon_operator *A, kaon_method method, kaon_operator *K, double tol,
                             kaon_precision sloppy, derived *d) {
  kaon_solver_options options = KAON_SOLVER_OPTIONS_INIT;
  options.method = method;
  options.tol = tol;
  options.max_iterations = tol > 0 ? 40 : 4;
  options.sloppy = sloppy;
  options.preconditioner = K;
  d->like = A;
  return kaon_solver_create(A, 1, &options, &d->solver);
}

/* A solver with the preconditioner K, of which it has the only reference. */
static kaon_status preconditioned(kaon_operator *A, kaon_method method, kaon_operator *K,
                                  kaon_status made, derived *d) {
  if (made != KAON_OK) return made;
  const kaon_status status = solver_of(A, method, K, 1e-6, KAON_SINGLE, d);
  kaon_operator_destroy(&K);
  return status;
}

static kaon_status itself(world *w, int n, derived *d) {
  (void)n;
  d->A = w->M;
  return KAON_OK;
}
static kaon_status even_odd(world *w, int n, derived *d) {
  kaon_even_odd_options o = KAON_EVEN_ODD_OPTIONS_INIT;
  if (w->kind == DOMAIN_WALL && n % 2 == 1) return KAON_ERR_UNSUPPORTED;
  o.form = (kaon_even_odd)(n / 2);
  o.temporal_gauge = n % 2;
  return kaon_dirac_even_odd(w->M, &o, &d->A);
}
static kaon_status even_odd_colours(world *w, int n, derived *d) {
  return kaon_staggered_even_odd(w->M, (kaon_parity)n, &d->A);
}
static kaon_status adjoint(world *w, int n, derived *d) {
  (void)n;
  return kaon_operator_adjoint(w->M, &d->A);
}
static kaon_status normal(world *w, int n, derived *d) {
  (void)n;
  return kaon_operator_normal(w->M, &d->A);
}
static kaon_status local_part(world *w, int n, derived *d) {
  const int block[4] = {2, 2, 2, 4};
  return kaon_operator_local_part(w->M, block, (kaon_precision)n, KAON_RECONSTRUCT_18, &d->A);
}
static kaon_status jacobi(world *w, int n, derived *d) {
  kaon_operator *K = NULL;
  if (n == 0) return kaon_precond_jacobi(w->M, &d->A);
  const kaon_status made = kaon_precond_jacobi(w->M, &K);
  const kaon_method fused = w->kind == SHELL ? KAON_CG : KAON_BICGSTAB;
  return preconditioned(w->M, n == 1 ? KAON_GCR : fused, K, made, d);
}
/* Bits of n: 1: in a solver. 2: with a given interval. */
static kaon_status chebyshev(world *w, int n, derived *d) {
  kaon_chebyshev_options o = KAON_CHEBYSHEV_OPTIONS_INIT;
  kaon_operator *K = NULL;
  if (n & 2) o.low = 0.1;
  if (n & 2) o.high = 40;
  const kaon_status made = kaon_precond_chebyshev(w->H, &o, &K);
  if (n & 1) return preconditioned(w->H, KAON_CG, K, made, d);
  d->A = K;
  return made;
}
static kaon_status schwarz(world *w, int n, derived *d) {
  kaon_schwarz_options o = KAON_SCHWARZ_OPTIONS_INIT;
  kaon_operator *K = NULL;
  o.kind = (kaon_schwarz_kind)(n / 2);
  o.precision = KAON_SINGLE;
  for (int mu = 0; mu < 4; mu++) o.block[mu] = 2;
  if (kaon_options_check(KAON_OPTIONS_SCHWARZ, &o) != KAON_OK) return NO_MORE;
  const kaon_status made = kaon_schwarz_create(w->M, &o, &K);
  if (n % 2 == 1) return preconditioned(w->M, KAON_GCR, K, made, d);
  d->A = K;
  return made;
}
/* Bit 1 of n: in a solver. Half of it: the smoother. */
static kaon_status multigrid(world *w, int n, derived *d) {
  kaon_multigrid_options o = KAON_MULTIGRID_OPTIONS_INIT;
  o.vectors[0] = 4;
  o.setup = 1;
  o.smoother[0] = (kaon_smoother)(n / 2);
  const kaon_status made = kaon_multigrid_create(w->M, &o, &w->K);
  kaon_operator *K = w->K;
  if (n % 2 == 1) return preconditioned(w->M, KAON_GCR, K, made, d);
  d->A = K;
  return made;
}
/* Bits of n: 1: a fixed number of steps. 2: as a preconditioner. */
static kaon_status inverse(world *w, int n, derived *d) {
  derived inner = {.A = NULL};
  kaon_operator *K = NULL;
  kaon_status made = solver_of(w->M, KAON_BICGSTAB, NULL, n & 1 ? 0 : 1e-6, KAON_SINGLE, &inner);
  if (made == KAON_OK) made = kaon_solver_as_operator(inner.solver, &K);
  kaon_solver_destroy(&inner.solver);
  if (n & 2) return preconditioned(w->M, KAON_GCR, K, made, d);
  d->A = K;
  return made;
}
static kaon_status solver(world *w, int n, derived *d) {
  kaon_method_info info = KAON_METHOD_INFO_INIT;
  const kaon_method method = (kaon_method)(n / 3);
  const kaon_status known = kaon_method_query(method, &info);
  if (known != KAON_OK) return NO_MORE;
  return solver_of(info.traits & KAON_METHOD_HERMITIAN ? w->H : w->M, method, NULL, 1e-6,
                   (kaon_precision)(n % 3), d);
}
/* Jacobi relaxation with an estimated damping. */
static kaon_status relaxation(world *w, int n, derived *d) {
  kaon_relax_options relax = KAON_RELAX_OPTIONS_INIT;
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  relax.tau = 0;
  o.method = KAON_JACOBI;
  o.tol = 0.5;
  o.sloppy = (kaon_precision)n;
  o.relax = &relax;
  d->like = w->M;
  return kaon_solver_create(w->M, 1, &o, &d->solver);
}
static kaon_status multishift(world *w, int n, derived *d) {
  const double sigma[SHIFTS] = {0.1, 0.5};
  kaon_multishift_options o = KAON_MULTISHIFT_OPTIONS_INIT;
  o.tol = 1e-6;
  o.sloppy = (kaon_precision)n;
  d->like = w->H;
  d->columns = SHIFTS;
  return kaon_multishift_create(w->H, SHIFTS, sigma, &o, &d->shifts);
}
static kaon_status rational(world *w, int n, derived *d) {
  kaon_rational r;
  kaon_multishift_options o = KAON_MULTISHIFT_OPTIONS_INIT;
  o.tol = 1e-6;
  (void)n;
  must(w->ctx, kaon_rational_inverse_root(4, 0.01, 50, &r));
  d->like = w->H;
  return kaon_rational_create(w->H, &r, &o, &d->function);
}
/* The next three need a matrix' rows, and refuse other operators. */
static kaon_status projections(world *w, int n, derived *d) {
  (void)n;
  return kaon_kaczmarz_reduce(w->M, NULL, &d->A);
}
static kaon_status projecting(world *w, int n, derived *d) {
  (void)n;
  return kaon_kaczmarz_preconditioner(w->M, NULL, 1, &d->A);
}
static kaon_status chosen(world *w, int n, derived *d) {
  kaon_precond_choice choice = KAON_PRECOND_CHOICE_INIT;
  (void)n;
  return kaon_precond_auto(w->M, -1, 1, KAON_DOUBLE, &choice, &d->A);
}

/* cases: number of values of n; 0: all that the library offers. Cases that the library does not
 * offer are UNSUPPORTED or refused. precisions: number of the operator's precisions. A single case
 * is tried in each; several cases take them in turn. */
static const struct {
  const char *name;
  kaon_status (*make)(world *w, int n, derived *d);
  int cases, precisions;
  unsigned sources, refused; /* kinds of source that it is made of; kinds that it refuses */
  const char *functions;     /* public functions that the row covers */
} table[] = {
    {"operator", itself, 1, 3, ALL | COPIES, 0,
     " kaon_dirac_create kaon_domain_wall_create kaon_staggered_create kaon_fatten "
     "kaon_fatten_paths kaon_gauge_copy kaon_gauge_temporal "},
    {"even-odd", even_odd, 6, 3, SPINORS, COLOURS, " kaon_dirac_even_odd "},
    {"even-odd", even_odd_colours, 2, 3, COLOURS, SPINORS, " kaon_staggered_even_odd "},
    {"adjoint", adjoint, 1, 3, ALL, 0, " kaon_operator_adjoint "},
    {"normal", normal, 1, 3, ALL, 0, " kaon_operator_normal "},
    {"local part", local_part, 3, 3, SPINORS, COLOURS, " kaon_operator_local_part "},
    {"jacobi", jacobi, 3, 2, ALL, 0, " kaon_precond_jacobi "},
    {"chebyshev", chebyshev, 4, 2, ALL, 0, " kaon_precond_chebyshev "},
    {"schwarz", schwarz, 0, 3, SPINORS, COLOURS, " kaon_schwarz_create "},
    {"multigrid", multigrid, 6, 2, SPINORS & ~(1 << DOMAIN_WALL),
     COLOURS | 1 << DOMAIN_WALL | 1 << SHELL, " kaon_multigrid_create kaon_multigrid_load "},
    {"inverse", inverse, 4, 2, ALL, 0, " kaon_solver_as_operator "},
    {"solver", solver, 0, 2, ALL, 0, " kaon_solver_create "},
    {"relaxation", relaxation, 2, 2, 1 << SHELL, 0, ""},
    {"multishift", multishift, 3, 2, ALL, 0, " kaon_multishift_create "},
    {"rational", rational, 1, 2, ALL, 0, " kaon_rational_create "},
    {"projections", projections, 1, 1, 0, ALL, " kaon_kaczmarz_reduce "},
    {"projections", projecting, 1, 1, 0, ALL, " kaon_kaczmarz_preconditioner "},
    {"choice", chosen, 1, 1, 0, ALL, " kaon_precond_auto "},
};
enum { ROWS = sizeof table / sizeof *table };
/* Functions of matrices, whose numbers never change. A null space is used by solvers that are made
 * after it is set, and by functions that only read the matrix. */
static const char of_matrices[] =
    " kaon_matrix_operator kaon_precond_create kaon_matrix_set_null_space kaon_matrix_project_rhs "
    "kaon_matrix_check_consistency ";
/* It follows by kaon_dirac_set_clover: test_given_clover. */
static const char of_given_terms[] = " kaon_dirac_create_clover ";

static void destroy(const world *w, derived *d) {
  kaon_solver_destroy(&d->solver);
  kaon_multishift_destroy(&d->shifts);
  kaon_rational_destroy(&d->function);
  if (d->A != w->M) kaon_operator_destroy(&d->A);
}

/* ---- using them ---- */

enum { ROOM = 24 * 4 * 256 }; /* reals of a column */

typedef struct result {
  double *numbers;
  size_t count;
  kaon_column_report reports[4 * SHIFTS];
} result;

static kaon_vector *vector(const world *w, const kaon_operator *A, int columns) {
  kaon_vector *v = NULL;
  must(w->ctx,
       kaon_vector_create(w->ctx, kaon_operator_space(A), kaon_operator_precision(A), columns, &v));
  return v;
}

/* Applies it, or solves with it, from the same source and from zero. */
static kaon_status use(const world *w, const derived *d, result *r) {
  const kaon_operator *like = d->like != NULL ? d->like : d->A;
  kaon_vector *b = vector(w, like, 1), *x = vector(w, like, d->columns > 0 ? d->columns : 1);
  static double source[ROOM];
  uint64_t seed = 7;
  for (int i = 0; i < ROOM; i++) source[i] = test_uniform(&seed);
  must(w->ctx, kaon_vector_import(b, 0, source, KAON_BASIS_UKQCD));
  must(w->ctx, kaon_vector_zero(x));
  memset(r->reports, 0, sizeof r->reports);
  const kaon_status status =
      d->solver != NULL     ? kaon_solver_solve(d->solver, b, x, r->reports, NULL)
      : d->shifts != NULL   ? kaon_multishift_solve(d->shifts, b, x, r->reports, NULL)
      : d->function != NULL ? kaon_rational_apply(d->function, b, x, r->reports, NULL)
                            : kaon_operator_apply(d->A, KAON_PLAIN, b, x);
  if (status == KAON_OK) {
    const size_t column = ROOM;
    r->count = column * (size_t)kaon_vector_columns(x);
    free(r->numbers);
    r->numbers = calloc(r->count, sizeof *r->numbers);
    for (int k = 0; k < kaon_vector_columns(x); k++)
      must(w->ctx, kaon_vector_export(x, k, r->numbers + (size_t)k * column, KAON_BASIS_UKQCD));
  }
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
  return status;
}

static void compare(const char *what, const result *followed, const result *fresh) {
  assert_int_equal(followed->count, fresh->count);
  if (memcmp(followed->numbers, fresh->numbers, fresh->count * sizeof *fresh->numbers) != 0 ||
      followed->reports[0].iterations != fresh->reports[0].iterations ||
      followed->reports[0].reason != fresh->reports[0].reason)
    fail_msg("%s: not the bits of a new one (%d steps, new one %d)", what,
             followed->reports[0].iterations, fresh->reports[0].iterations);
}

/* 1: made; 0: not offered, or refused as it should be. */
static int made(world *w, int row, int n, derived *d, int *last) {
  const kaon_status status = table[row].make(w, n, d);
  *last = status == NO_MORE && table[row].cases == 0;
  if (table[row].refused >> w->kind & 1) assert_int_not_equal(status, KAON_OK);
  if (status != KAON_OK && status != KAON_ERR_UNSUPPORTED && !*last &&
      !(table[row].refused >> w->kind & 1))
    fail_msg("%s %d of %s: %s", table[row].name, n, source_names[w->kind], kaon_last_error(w->ctx));
  return status == KAON_OK;
}

/* asked: 1: the object is used while STALE, and the calls that the sentence names are made. 0: the
 * necessary calls are made without such a use. */
static int follows(int machine, int row, int n, source_kind kind, kaon_precision precision,
                   int asked, int *last) {
  char what[128];
  world old, new;
  derived d = {.A = NULL}, anew = {.A = NULL};
  result followed = {.numbers = NULL}, fresh = {.numbers = NULL};
  const int times = machine == MACHINE_CUDA ? 3 : 1; /* a device replays the third solve */
  int unused;
  snprintf(what, sizeof what, "%s: %s %d of %s, precision %d%s", machine_name(machine),
           table[row].name, n, source_names[kind], (int)precision, asked ? "" : ", unasked");
  open_world(&old, machine, kind, precision, 1);
  const int offered = made(&old, row, n, &d, last);
  if (offered) {
    for (int again = 0; again < times; again++) must(old.ctx, use(&old, &d, &followed));
    change_source(&old);
    if (asked && kind != SHELL) {
      must_refuse(old.ctx, KAON_ERR_STALE, use(&old, &d, &followed));
      mend_as_told(&old);
    } else {
      mend_unasked(&old);
    }
    open_world(&new, machine, kind, precision, 2);
    assert_int_equal(made(&new, row, n, &anew, &unused), 1);
    for (int again = 0; again < times; again++) {
      must(old.ctx, use(&old, &d, &followed));
      must(new.ctx, use(&new, &anew, &fresh));
      compare(what, &followed, &fresh);
    }
    destroy(&new, &anew);
    close_world(&new);
  }
  destroy(&old, &d);
  close_world(&old);
  free(followed.numbers);
  free(fresh.numbers);
  return offered;
}

/* Every case of a row, from one kind of source. Returns how many are offered. */
static int walk(int machine, int row, source_kind kind) {
  const int cases = table[row].cases, precisions = table[row].precisions;
  int offered = 0, last = 0;
  for (int n = 0; !last && (cases == 0 || n < cases); n++) {
    if (table[row].make == solver && (n + (int)kind) % 5 != 0) continue; /* each with two sources */
    for (int p = 0; p < (cases == 1 ? precisions : 1); p++) {
      const int precision =
          (p + n + (int)kind) % (kind == SHELL && precisions == 3 ? 2 : precisions);
      offered += follows(machine, row, n, kind, (kaon_precision)precision, (n + p) % 2, &last);
    }
  }
  return offered;
}

static void all_that_is_derived_follows_or_is_stale(void **state) {
  const int machines[] = {MACHINE_CPU, MACHINE_CUDA};
  (void)state;
  for (int m = 0; m < 2; m++)
    for (int row = 0; row < ROWS && !machine_lacks(machines[m]); row++)
      for (int kind = 0; kind < SOURCES; kind++) {
        if (table[row].refused >> kind & 1)
          assert_int_equal(walk(machines[m], row, (source_kind)kind), 0);
        if (table[row].sources >> kind & 1)
          assert_true(walk(machines[m], row, (source_kind)kind) > 0);
      }
}

/* An operator stays STALE after an update that failed. Replaced links no longer depend on what
 * they were made of. */
static void a_failed_update_is_called_again(void **state) {
  world w;
  derived d = {.A = NULL};
  result r = {.numbers = NULL};
  kaon_dirac_options options = KAON_DIRAC_OPTIONS_INIT;
  (void)state;
  if (machine_lacks(MACHINE_CPU)) skip();
  open_world(&w, MACHINE_CPU, HISQ, KAON_DOUBLE, 1);
  options.reconstruct = KAON_RECONSTRUCT_12;
  must(w.ctx, kaon_gauge_weak(w.fat[0], 0.1, 3));
  must(w.ctx, kaon_dirac_create(w.fat[0], &options, &d.A));
  must(w.ctx, use(&w, &d, &r));
  must(w.ctx, kaon_fatten(w.thin, NULL, w.fat[0], NULL, NULL)); /* they are not in SU(3) */
  must_refuse(w.ctx, KAON_ERR_UNITARITY, kaon_dirac_update(d.A));
  must_refuse(w.ctx, KAON_ERR_STALE, use(&w, &d, &r));
  assert_non_null(strstr(kaon_last_error(w.ctx), "the last kaon_dirac_update failed"));
  must(w.ctx, kaon_gauge_weak(w.fat[0], 0.1, 3));
  must(w.ctx, kaon_dirac_update(d.A));
  must(w.ctx, kaon_gauge_weak(w.thin, 0.1, 5));
  must(w.ctx, use(&w, &d, &r));
  destroy(&w, &d);
  close_world(&w);
  free(r.numbers);
}

/* ---- completeness ---- */

/* The number of arguments of this type with this many asterisks, such as "kaon_gauge *". */
static int takes(const char *arguments, const char *type, int asterisks) {
  int count = 0;
  const size_t length = strlen(type);
  for (const char *at = arguments; (at = strstr(at, type)) != NULL; at += length)
    if (at[length] == ' ') count += (int)strspn(at + length + 1, "*") == asterisks;
  return count;
}

static int takes_any(const char *arguments, int asterisks) {
  static const char *const types[] = {"kaon_gauge",  "kaon_operator",   "kaon_matrix",
                                      "kaon_solver", "kaon_multishift", "kaon_rational_function"};
  int count = 0;
  for (int i = 0; i < 6; i++) count += takes(arguments, types[i], asterisks);
  return count;
}

/* 1: an argument `type *` without const. */
static int changes(const char *arguments, const char *type) {
  for (const char *at = arguments; (at = strstr(at, type)) != NULL; at++) {
    const int constant = at >= arguments + 6 && strncmp(at - 6, "const ", 6) == 0;
    if (strncmp(at + strlen(type), " *", 2) == 0 && at[strlen(type) + 2] != '*' && !constant)
      return 1;
  }
  return 0;
}

/* 1: the function makes one object of another. */
static int derives(const char *arguments) {
  return (takes_any(arguments, 1) > 0 && takes_any(arguments, 2) > 0) ||
         (takes(arguments, "kaon_gauge", 1) > 1 && changes(arguments, "kaon_gauge"));
}

static int known(const char *name) {
  char word[80];
  snprintf(word, sizeof word, " %s ", name);
  int found = strstr(of_matrices, word) != NULL || strstr(of_given_terms, word) != NULL;
  for (int row = 0; row < ROWS; row++) found |= strstr(table[row].functions, word) != NULL;
  return found;
}

/* Checks the functions of one header. Returns how many make one object of another. */
static int check_header(const char *text) {
  int found = 0;
  for (const char *at = text; (at = strstr(at, "KAON_API ")) != NULL;) {
    const char *const open = strchr(at, '('), *const end = strstr(at, ");");
    const char *name = open;
    char arguments[2048], function[80];
    assert_true(open != NULL && end != NULL && (size_t)(end - open) < sizeof arguments);
    while (name[-1] != ' ' && name[-1] != '*') name--;
    snprintf(function, sizeof function, "%.*s", (int)(open - name), name);
    snprintf(arguments, sizeof arguments, "%.*s", (int)(end - open), open);
    found += derives(arguments);
    if (derives(arguments) && !known(function))
      fail_msg("%s makes one object of another: give it a row of the table", function);
    if (changes(arguments, "kaon_matrix") && !known(function))
      fail_msg("%s can change a matrix: what is made of matrices must follow", function);
    at = end;
  }
  return found;
}

static void the_table_has_all_that_derives(void **state) {
  glob_t headers;
  int found = 0;
  (void)state;
  assert_int_equal(glob(KAON_SOURCE_DIR "/include/kaon/*.h", 0, NULL, &headers), 0);
  for (size_t i = 0; i < headers.gl_pathc; i++) {
    static char text[1 << 16];
    FILE *file = fopen(headers.gl_pathv[i], "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    assert_true(feof(file));
    fclose(file);
    found += check_header(text);
  }
  globfree(&headers);
  assert_true(found > 20);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_table_has_all_that_derives),
      cmocka_unit_test(all_that_is_derived_follows_or_is_stale),
      cmocka_unit_test(a_failed_update_is_called_again),
  };
  return test_main(tests, NULL, NULL);
}
