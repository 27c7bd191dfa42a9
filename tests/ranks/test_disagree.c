/* Ranks that do not call alike: each collective function that creates something says on all ranks
 * which argument differs, and both values. Nothing waits for ever. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <kaon/measure.h>

#include "tests/ranks/ranks.h"

typedef struct fixture {
  kaon_context *ctx;
  int odd; /* 1: this rank calls otherwise than rank 0 */
  kaon_lattice *lattice;
  kaon_gauge *links;
  kaon_operator *M;
} fixture;

static const int extents[4] = {4, 4, 4, 8};

static int open_all(void **state) {
  static fixture f;
  f.ctx = ranks_open(KAON_ISA_AUTO, NULL);
  f.odd = f.ctx->comm->rank == f.ctx->comm->ranks - 1 && f.ctx->comm->ranks > 1;
  kaon_dirac_options o = KAON_DIRAC_OPTIONS_INIT;
  o.kappa = 0.12;
  must(f.ctx, kaon_lattice_create(f.ctx, extents, KAON_PERIODIC, &f.lattice));
  must(f.ctx, kaon_gauge_create(f.lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &f.links));
  must(f.ctx, kaon_dirac_create(f.links, &o, &f.M));
  *state = &f;
  return 0;
}

static int close_all(void **state) {
  fixture *f = *state;
  kaon_operator_destroy(&f->M);
  kaon_gauge_destroy(&f->links);
  kaon_lattice_destroy(&f->lattice);
  kaon_context_destroy(&f->ctx);
  return 0;
}

/* All ranks must have failed with this sentence about the first and the last rank. */
static void differs(const fixture *f, kaon_status status, const char *what, const char *first,
                    const char *last) {
  char sentence[256];
  const int ranks = f->ctx->comm->ranks;
  snprintf(sentence, sizeof sentence,
           "%s is %s on rank 0, but %s on rank %d; give all ranks the same", what, first, last,
           ranks - 1);
  assert_int_equal(status, ranks == 1 ? KAON_OK : KAON_ERR_ARGUMENT);
  if (ranks > 1) assert_string_equal(kaon_last_error(f->ctx), sentence);
}

static void shapes(void **state) {
  const fixture *f = *state;
  int other[4] = {4, 4, 4, f->odd ? 16 : 8};
  const kaon_space *space = kaon_lattice_spinors(f->lattice, KAON_FULL);
  kaon_lattice *lattice = NULL;
  kaon_gauge *gauge = NULL;
  kaon_vector *v = NULL;
  differs(f, kaon_lattice_create(f->ctx, other, KAON_PERIODIC, &lattice), "lattice: extents[3]",
          "8", "16");
  kaon_lattice_destroy(&lattice);
  differs(f, kaon_gauge_create(f->lattice, KAON_DOUBLE, f->odd ? 12 : 18, &gauge),
          "gauge: reconstruct", "18", "12");
  kaon_gauge_destroy(&gauge);
  differs(f, kaon_vector_create(f->ctx, space, f->odd ? KAON_SINGLE : KAON_DOUBLE, 1, &v),
          "vector: precision", "0", "1");
  kaon_vector_destroy(&v);
  differs(f, kaon_vector_create(f->ctx, space, KAON_DOUBLE, f->odd ? 3 : 2, &v), "vector: columns",
          "2", "3");
  kaon_vector_destroy(&v);
  space = kaon_lattice_spinors_5d(f->lattice, f->odd ? 3 : 2, KAON_FULL);
  differs(f, kaon_vector_create(f->ctx, space, KAON_DOUBLE, 1, &v),
          "vector: sites of the fifth dimension", "2", "3");
  kaon_vector_destroy(&v);
}

static void seeds(void **state) {
  const fixture *f = *state;
  const kaon_space *space = kaon_lattice_spinors(f->lattice, KAON_FULL);
  kaon_heatbath_options o = KAON_HEATBATH_OPTIONS_INIT;
  const uint64_t largest = UINT64_MAX;
  kaon_vector *v = NULL;
  o.beta = f->odd ? 5.75 : 6;
  must(f->ctx, kaon_vector_create(f->ctx, space, KAON_DOUBLE, 1, &v));
  differs(f, kaon_gauge_weak(f->links, 0.25, f->odd ? largest : largest - 1), "gauge: weak: seed",
          "18446744073709551614", "18446744073709551615");
  differs(f, kaon_source_z4(v, f->odd), "source: seed", "0", "1");
  differs(f, kaon_gauge_heatbath(f->links, &o, 1), "heatbath: beta", "6", "5.75");
  kaon_vector_destroy(&v);
  must(f->ctx, kaon_gauge_unit(f->links));
  must(f->ctx, kaon_dirac_update(f->M));
}

static void options(void **state) {
  const fixture *f = *state;
  kaon_operator *made = NULL;
  kaon_solver *solver = NULL;
  kaon_dirac_options d = KAON_DIRAC_OPTIONS_INIT;
  kaon_even_odd_options e = KAON_EVEN_ODD_OPTIONS_INIT;
  kaon_solver_options s = KAON_SOLVER_OPTIONS_INIT;
  d.kappa = f->odd ? 0.125 : 0.25;
  differs(f, kaon_dirac_create(f->links, &d, &made), "dirac: kappa", "0.25", "0.125");
  kaon_operator_destroy(&made);
  kaon_domain_wall_options walls = KAON_DOMAIN_WALL_OPTIONS_INIT;
  walls.ls = f->odd ? 4 : 6;
  differs(f, kaon_domain_wall_create(f->links, &walls, &made), "domain wall: ls", "6", "4");
  kaon_operator_destroy(&made);
  e.form = f->odd ? KAON_EVEN_ODD_ASYMMETRIC : KAON_EVEN_ODD_SYMMETRIC;
  differs(f, kaon_dirac_even_odd(f->M, &e, &made), "even-odd: form", "symmetric", "asymmetric");
  kaon_operator_destroy(&made);
  s.method = f->odd ? KAON_BICGSTAB : KAON_CGNR;
  differs(f, kaon_solver_create(f->M, 1, &s, &solver), "solver: method", "cgnr", "bicgstab");
  kaon_solver_destroy(&solver);
  s = (kaon_solver_options)KAON_SOLVER_OPTIONS_INIT;
  s.method = KAON_CGNR;
  s.tol = f->odd ? 0.5 : 0.25;
  differs(f, kaon_solver_create(f->M, 1, &s, &solver), "solver: tol", "0.25", "0.5");
  kaon_solver_destroy(&solver);
  differs(f, kaon_solver_create(f->M, f->odd ? 2 : 1, NULL, &solver), "solver: columns", "1", "2");
  kaon_solver_destroy(&solver);
}

/* The others find out when they meet next. */
static void other_functions(void **state) {
  const fixture *f = *state;
  const kaon_space *space = kaon_lattice_spinors(f->lattice, KAON_FULL);
  kaon_vector *v = NULL;
  kaon_gauge *gauge = NULL;
  const kaon_status status = f->odd ? kaon_vector_create(f->ctx, space, KAON_DOUBLE, 1, &v)
                                    : kaon_gauge_create(f->lattice, KAON_DOUBLE, 18, &gauge);
  assert_int_equal(status, f->ctx->comm->ranks == 1 ? KAON_OK : KAON_ERR_STATE);
  if (status != KAON_OK)
    assert_non_null(strstr(kaon_last_error(f->ctx), "called different functions"));
  kaon_vector_destroy(&v);
  kaon_gauge_destroy(&gauge);
}

/* A rank that forgets its solver returns at once; the others wait for it no longer than asked. */
static void a_missing_rank(void **state) {
  const fixture *f = *state;
  const kaon_space *space = kaon_lattice_spinors(f->lattice, KAON_FULL);
  kaon_vector *b = NULL, *x = NULL;
  kaon_solver *solver = NULL;
  kaon_column_report report;
  must(f->ctx, kaon_vector_create(f->ctx, space, KAON_DOUBLE, 1, &b));
  must(f->ctx, kaon_vector_create(f->ctx, space, KAON_DOUBLE, 1, &x));
  must(f->ctx, kaon_source_z4(b, 1));
  must(f->ctx, kaon_solver_create(f->M, 1, NULL, &solver));
  if (f->ctx->comm->ranks > 1 && strcmp(f->ctx->comm->ops->name, "MPI") == 0) {
    f->ctx->options.patience = 0.5;
    const kaon_status status = kaon_solver_solve(f->odd ? NULL : solver, b, x, &report, NULL);
    assert_int_equal(status, f->odd ? KAON_ERR_ARGUMENT : KAON_ERR_COMM);
    if (!f->odd) assert_non_null(strstr(kaon_last_error(f->ctx), "gave up"));
    MPI_Barrier(MPI_COMM_WORLD);
  }
  kaon_solver_destroy(&solver);
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
}

static kaon_status failing(void *user, kaon_mode mode, const kaon_vector *x, kaon_vector *y) {
  const fixture *f = user;
  return f->odd ? KAON_ERR_IO : kaon_operator_apply(f->M, mode, x, y);
}

/* An application's function that fails on one rank, between messages of the others. */
static void a_rank_that_fails_alone(void **state) {
  fixture *f = *state;
  const kaon_space *space = kaon_lattice_spinors(f->lattice, KAON_FULL);
  kaon_vector *b = NULL, *x = NULL;
  kaon_operator *shell = NULL;
  kaon_solver *solver = NULL;
  kaon_column_report report;
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  o.method = KAON_GCR;
  o.sloppy = KAON_DOUBLE;
  must(f->ctx, kaon_vector_create(f->ctx, space, KAON_DOUBLE, 1, &b));
  must(f->ctx, kaon_vector_create(f->ctx, space, KAON_DOUBLE, 1, &x));
  must(f->ctx, kaon_source_z4(b, 1));
  must(f->ctx, kaon_operator_create_shell(space, failing, f, NULL, &shell));
  must(f->ctx, kaon_solver_create(shell, 1, &o, &solver));
  if (f->ctx->comm->ranks > 1 && strcmp(f->ctx->comm->ops->name, "MPI") == 0) {
    f->ctx->options.patience = 0.5;
    assert_int_equal(kaon_solver_solve(solver, b, x, &report, NULL), KAON_ERR_IO);
    assert_non_null(strstr(kaon_last_error(f->ctx), "the application's function returned"));
  }
  kaon_solver_destroy(&solver);
  kaon_operator_destroy(&shell);
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
}

static const struct CMUnitTest disagree[] = {
    cmocka_unit_test_setup_teardown(shapes, open_all, close_all),
    cmocka_unit_test_setup_teardown(seeds, open_all, close_all),
    cmocka_unit_test_setup_teardown(options, open_all, close_all),
    cmocka_unit_test_setup_teardown(other_functions, open_all, close_all),
    cmocka_unit_test_setup_teardown(a_missing_rank, open_all, close_all),
    cmocka_unit_test_setup_teardown(a_rank_that_fails_alone, open_all, close_all),
};
RANKS_MAIN(disagree)
