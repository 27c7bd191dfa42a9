/* test_polling.c - how often the host checks a solve changes neither its bits nor what it sends. No
 * step after the end sends messages, on CPUs and on devices whose messages the hosts carry. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "ranks.h"

static const int extents[4] = {8, 4, 8, 16};

typedef struct {
  kaon_context *ctx;
  kaon_lattice *lattice;
  kaon_gauge *gauge;
  kaon_operator *M, *A;
  kaon_vector *b, *x, *first;
} fixture;

static void open_fixture(fixture *v, kaon_transport transport) {
  static const int grids[4][4] = {{1, 1, 1, 1}, {1, 1, 1, 2}, {2, 1, 1, 2}, {2, 1, 2, 2}};
  kaon_context_options options = ranks_options(KAON_ISA_AUTO);
  kaon_dirac_options dirac = KAON_DIRAC_OPTIONS_INIT;
  const int size = world_size();
  *v = (fixture){NULL};
  if (transport != KAON_TRANSPORT_AUTO) options.transport = transport;
  must(NULL, kaon_context_create_ranks(&options, NULL, grids[size == 8 ? 3 : size / 2], &v->ctx));
  must(v->ctx, kaon_lattice_create(v->ctx, extents, KAON_ANTIPERIODIC, &v->lattice));
  must(v->ctx, kaon_gauge_create(v->lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &v->gauge));
  must(v->ctx, kaon_gauge_weak(v->gauge, 0.3, 7));
  dirac.kappa = 0.125;
  dirac.csw = 1;
  must(v->ctx, kaon_dirac_create(v->gauge, &dirac, &v->M));
  must(v->ctx, kaon_dirac_even_odd(v->M, NULL, &v->A));
  const kaon_space *space = kaon_operator_space(v->M);
  must(v->ctx, kaon_vector_create(v->ctx, space, KAON_DOUBLE, 1, &v->b));
  must(v->ctx, kaon_vector_create(v->ctx, space, KAON_DOUBLE, 1, &v->x));
  must(v->ctx, kaon_vector_create(v->ctx, space, KAON_DOUBLE, 1, &v->first));
  must(v->ctx, kaon_source_gauss(v->b, 9));
}

static void close_fixture(fixture *v) {
  kaon_vector_destroy(&v->first);
  kaon_vector_destroy(&v->x);
  kaon_vector_destroy(&v->b);
  kaon_operator_destroy(&v->A);
  kaon_operator_destroy(&v->M);
  kaon_gauge_destroy(&v->gauge);
  kaon_lattice_destroy(&v->lattice);
  kaon_context_destroy(&v->ctx);
}

typedef struct {
  kaon_method method;
  kaon_precision sloppy;
  int preconditioned;
  const char *name;
} way;

static kaon_traffic solve(const fixture *v, const way *w, int interval, int *steps) {
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  kaon_schwarz_options schwarz = KAON_SCHWARZ_OPTIONS_INIT;
  kaon_operator *K = NULL;
  kaon_solver *s = NULL;
  kaon_column_report r;
  kaon_solve_report whole = KAON_SOLVE_REPORT_INIT;
  o.method = w->method;
  o.sloppy = w->sloppy;
  o.tol = 1e-9;
  o.check_interval = interval;
  schwarz.kind = KAON_SCHWARZ_MULTIPLICATIVE;
  if (w->preconditioned) must(v->ctx, kaon_schwarz_create(v->A, &schwarz, &K));
  o.preconditioner = K;
  must(v->ctx, kaon_solver_create(v->A, 1, &o, &s));
  must(v->ctx, kaon_vector_zero(v->x));
  must(v->ctx, kaon_solver_solve(s, v->b, v->x, &r, &whole));
  assert_int_equal(r.reason, KAON_CONVERGED);
  *steps = r.iterations;
  kaon_solver_destroy(&s);
  kaon_operator_destroy(&K);
  return whole.traffic;
}

static void check_way(const fixture *v, const way *w) {
  static const int intervals[] = {1, 10, 255};
  kaon_traffic first = {0};
  int steps = 0;
  for (int i = 0; i < 3; i++) {
    int own = 0;
    double off = 0;
    const kaon_traffic sent = solve(v, w, intervals[i], &own);
    if (i == 0) {
      first = sent;
      steps = own;
      must(v->ctx, kaon_vector_copy(v->first, v->x));
    }
    printf("  %-12s a look in %3d steps: %d steps, %lld sums, %lld exchanges of %lld bytes\n",
           w->name, intervals[i], own, (long long)sent.sums, (long long)sent.exchanges,
           (long long)sent.bytes);
    assert_int_equal(own, steps);
    assert_int_equal(sent.sums, first.sums);
    assert_int_equal(sent.exchanges, first.exchanges);
    assert_int_equal(sent.bytes, first.bytes);
    must(v->ctx, kaon_vector_axpy(-1, 0, v->first, v->x));
    must(v->ctx, kaon_vector_norm2(v->x, &off));
    assert_true(off == 0);
  }
}

static void a_solve_sends_the_same_however_often_the_host_looks(void **state) {
  static const way ways[] = {{KAON_CGNR, KAON_HALF, 0, "cgnr"},
                             {KAON_CGNR, KAON_DOUBLE, 0, "cgnr, plain"},
                             {KAON_BICGSTAB, KAON_SINGLE, 0, "bicgstab"},
                             {KAON_PIPECGNR, KAON_SINGLE, 0, "pipecgnr"},
                             {KAON_PIPEBICGSTAB, KAON_SINGLE, 0, "pipebicgstab"},
                             {KAON_GCR, KAON_HALF, 1, "gcr, sap"}};
  static const kaon_transport transports[] = {KAON_TRANSPORT_AUTO, KAON_TRANSPORT_HOST};
  (void)state;
  const int device = ranks_options(KAON_ISA_AUTO).backend == KAON_BACKEND_CUDA;
  for (int t = 0; t <= device; t++) {
    fixture v;
    open_fixture(&v, transports[t]);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) check_way(&v, &ways[i]);
    close_fixture(&v);
  }
}

static const struct CMUnitTest looks[] = {
    cmocka_unit_test(a_solve_sends_the_same_however_often_the_host_looks),
};

RANKS_MAIN(looks)
