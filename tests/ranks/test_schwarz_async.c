/* test_schwarz_async.c - the asynchronous Schwarz preconditioner on several ranks. If no remote
 * value ever arrives, it is the one of the ranks' own parts. However late values arrive, GCR with
 * it converges. Exchanges after it work as usual. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>

#include "lib/operator/operator_internal.h"
#include "ranks.h"

static const int extents[4] = {8, 4, 8, 8};

typedef struct part {
  kaon_context *ctx;
  kaon_lattice *lattice;
  kaon_gauge *gauge;
  kaon_operator *M, *A;
  kaon_parity sites;
} part;

/* transport: of devices; nothing to a processor. */
static part open_part_by(kaon_transport transport, double csw, int reduced) {
  static const int grids[4][4] = {{1, 1, 1, 1}, {1, 1, 1, 2}, {2, 1, 1, 2}, {2, 1, 2, 2}};
  const int size = world_size(), row = size == 8 ? 3 : size / 2;
  kaon_dirac_options dirac = KAON_DIRAC_OPTIONS_INIT;
  kaon_context_options options = ranks_options(KAON_ISA_AUTO);
  part p = {NULL};
  if (size > 1) options.transport = transport;
  must(NULL, kaon_context_create_ranks(&options, NULL, grids[row], &p.ctx));
  must(p.ctx, kaon_lattice_create(p.ctx, extents, KAON_ANTIPERIODIC, &p.lattice));
  must(p.ctx, kaon_gauge_create(p.lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &p.gauge));
  must(p.ctx, kaon_gauge_weak(p.gauge, 0.3, 6));
  dirac.kappa = 0.13;
  dirac.csw = csw;
  must(p.ctx, kaon_dirac_create(p.gauge, &dirac, &p.M));
  p.A = p.M;
  if (reduced) must(p.ctx, kaon_dirac_even_odd(p.M, NULL, &p.A));
  p.sites = reduced ? KAON_EVEN : KAON_FULL;
  return p;
}

static part open_part(double csw, int reduced) {
  return open_part_by(KAON_TRANSPORT_HOST, csw, reduced);
}

static void close_part(part *p) {
  if (p->A != p->M) kaon_operator_destroy(&p->A);
  kaon_operator_destroy(&p->M);
  kaon_gauge_destroy(&p->gauge);
  kaon_lattice_destroy(&p->lattice);
  kaon_context_destroy(&p->ctx);
}

/* 1: this communicator and backend support it, or nothing is sent; otherwise it must be refused
 * with a sentence. */
static int offered(part *p) {
  kaon_operator *K = NULL;
  kaon_schwarz_options o = KAON_SCHWARZ_OPTIONS_INIT;
  o.kind = KAON_SCHWARZ_ASYNCHRONOUS;
  const kaon_comm *comm = p->ctx->comm;
  const kaon_ranks_ops *device = p->ctx->backend->ranks;
  const int waits = !p->ctx->backend->host_accessible && !device->by_host(p->ctx);
  if (comm->ranks == 1 || (comm->ops->async_round != NULL && !waits)) return 1;
  must_refuse(p->ctx, KAON_ERR_UNSUPPORTED, kaon_schwarz_create(p->A, &o, &K));
  assert_null(K);
  return 0;
}

static kaon_vector *vector(const part *p, kaon_parity sites, kaon_precision precision) {
  kaon_vector *v = NULL;
  must(p->ctx,
       kaon_vector_create(p->ctx, kaon_lattice_spinors(p->lattice, sites), precision, 1, &v));
  return v;
}

static void gauss(const part *p, kaon_vector *v, uint64_t seed) {
  kaon_vector *full = vector(p, KAON_FULL, kaon_vector_precision(v)), view;
  must(p->ctx, kaon_source_gauss(full, seed));
  if (p->sites == KAON_FULL) {
    must(p->ctx, kaon_vector_copy(v, full));
  } else {
    must(p->ctx, kaon_vector_view(full, p->sites, &view));
    must(p->ctx, kaon_vector_copy(v, &view));
  }
  kaon_vector_destroy(&full);
}

/* |x - y|^2 / |y|^2; x is overwritten. */
static double apart(const part *p, kaon_vector *x, const kaon_vector *y) {
  double off, all;
  must(p->ctx, kaon_vector_axpy(-1, 0, y, x));
  must(p->ctx, kaon_vector_norm2(x, &off));
  must(p->ctx, kaon_vector_norm2(y, &all));
  return off / all;
}

/* Ghosts that never arrive are 0, so A z is that of the operator cut between ranks, and the
 * preconditioner is the additive one of that operator, to the bit except for the sign of zeros. */
static void without_messages_it_is_that_of_each_part(void **state) {
  (void)state;
  for (int reduced = 0; reduced < 2; reduced++) {
    part p = open_part(1, reduced);
    if (p.ctx->comm->ranks > 1 && offered(&p)) {
      static const int whole[4] = {0, 0, 0, 0};
      kaon_schwarz_options o = KAON_SCHWARZ_OPTIONS_INIT;
      kaon_schwarz_lags lags = KAON_SCHWARZ_LAGS_INIT;
      kaon_operator *K[2] = {NULL, NULL}, *cut = NULL;
      o.precision = KAON_DOUBLE;
      o.steps = 3;
      o.cycles = 3;
      must(p.ctx, kaon_operator_local_part(p.A, whole, KAON_DOUBLE, KAON_RECONSTRUCT_18, &cut));
      kaon_vector *b = vector(&p, p.sites, KAON_DOUBLE), *x[2], *r;
      for (int i = 0; i < 2; i++) x[i] = vector(&p, p.sites, KAON_DOUBLE);
      r = vector(&p, p.sites, KAON_DOUBLE);
      gauss(&p, b, 3);
      o.kind = KAON_SCHWARZ_ASYNCHRONOUS;
      must(p.ctx, kaon_schwarz_create(p.A, &o, &K[0]));
      p.ctx->comm->late = 1000;
      must(p.ctx, kaon_operator_apply(K[0], KAON_PLAIN, b, x[0]));
      p.ctx->comm->late = 0;
      must(p.ctx, kaon_schwarz_describe_lags(K[0], &lags));
      assert_true(lags.reads > 0 && lags.late == lags.reads);
      assert_int_equal(lags.oldest, o.cycles - 1);
      /* x = sum of additive solves of what the cut operator leaves */
      o.kind = KAON_SCHWARZ_ADDITIVE;
      o.cycles = 1;
      must(p.ctx, kaon_schwarz_create(p.A, &o, &K[1]));
      must(p.ctx, kaon_operator_apply(K[1], KAON_PLAIN, b, x[1]));
      kaon_vector *step = vector(&p, p.sites, KAON_DOUBLE);
      for (int i = 1; i < 3; i++) {
        must(p.ctx, kaon_operator_apply(cut, KAON_PLAIN, x[1], r));
        must(p.ctx, kaon_vector_axpy(-1, 0, b, r)); /* -(b - A x) */
        must(p.ctx, kaon_operator_apply(K[1], KAON_PLAIN, r, step));
        must(p.ctx, kaon_vector_axpy(-1, 0, step, x[1]));
      }
      const double off = apart(&p, x[0], x[1]);
      printf("%d ranks: %.1e apart\n", world_size(), sqrt(off));
      assert_true(off <= 1e-28); /* order of x += a r alone differs */
      kaon_vector_destroy(&step);
      kaon_vector_destroy(&b);
      kaon_vector_destroy(&r);
      for (int i = 0; i < 2; i++) {
        kaon_vector_destroy(&x[i]);
        kaon_operator_destroy(&K[i]);
      }
      kaon_operator_destroy(&cut);
    }
    close_part(&p);
  }
}

static kaon_column_report solve(const part *p, const kaon_schwarz_options *o,
                                kaon_schwarz_lags *lags) {
  kaon_solver_options so = KAON_SOLVER_OPTIONS_INIT;
  kaon_operator *K = NULL;
  kaon_solver *solver = NULL;
  kaon_column_report column;
  so.method = KAON_GCR;
  so.sloppy = KAON_SINGLE;
  kaon_vector *b = vector(p, KAON_FULL, KAON_DOUBLE), *x = vector(p, KAON_FULL, KAON_DOUBLE);
  kaon_vector *r = vector(p, KAON_FULL, KAON_DOUBLE);
  must(p->ctx, kaon_source_gauss(b, 9));
  must(p->ctx, kaon_schwarz_create(p->A, o, &K));
  so.preconditioner = K;
  must(p->ctx, kaon_solver_create(p->A, 1, &so, &solver));
  must(p->ctx, kaon_vector_zero(x));
  must(p->ctx, kaon_solver_solve(solver, b, x, &column, NULL));
  assert_int_equal(column.reason, KAON_CONVERGED);
  must(p->ctx, kaon_schwarz_describe_lags(K, lags));
  /* the ordinary exchanges are as they were: the residual is taken with them */
  must(p->ctx, kaon_operator_apply(p->M, KAON_PLAIN, x, r));
  assert_true(sqrt(apart(p, r, b)) <= 1.2 * so.tol);
  kaon_solver_destroy(&solver);
  kaon_operator_destroy(&K);
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&r);
  return column;
}

/* Wilson on all sites and clover on the even ones; a rank's part in one block and in several; with
 * messages as they arrive, and with those of the last two residuals always held back. */
static void gcr_converges_whatever_comes(void **state) {
  (void)state;
  for (int clover = 0; clover < 2; clover++) {
    part p = open_part(clover, clover);
    if (offered(&p))
      for (int several = 0; several < 2; several++) {
        kaon_schwarz_options o = KAON_SCHWARZ_OPTIONS_INIT;
        kaon_schwarz_lags lags = KAON_SCHWARZ_LAGS_INIT;
        for (int mu = 0; mu < 4 && several; mu++) o.block[mu] = 2;
        o.steps = 4;
        o.cycles = 5;
        const int together = solve(&p, &o, &lags).iterations;
        assert_int_equal(lags.reads, 0);
        o.kind = KAON_SCHWARZ_ASYNCHRONOUS;
        for (int late = 0; late <= 2; late += 2) {
          p.ctx->comm->late = late;
          const int steps = solve(&p, &o, &lags).iterations;
          p.ctx->comm->late = 0;
          printf(
              "%d ranks, %s, %s: %d steps with additive, %d asynchronous, held back %d; %lld of "
              "%lld faces late, the oldest %d residuals\n",
              world_size(), clover ? "clover, even-odd" : "Wilson",
              several ? "blocks of 2^4" : "a block a rank", together, steps, late,
              (long long)lags.late, (long long)lags.reads, lags.oldest);
          if (world_size() == 1) continue;
          assert_true(lags.reads > 0 && lags.oldest >= late);
          if (late) assert_true(lags.late == lags.reads);
        }
      }
    close_part(&p);
  }
}

/* Created one after the other, with more rounds and fewer, on one lattice's exchanges, used in
 * turn, and destroyed before their operator is used again. */
static void several_share_their_exchanges(void **state) {
  (void)state;
  part p = open_part(1, 1);
  if (offered(&p)) {
    kaon_operator *K[3] = {NULL, NULL, NULL};
    kaon_vector *b = vector(&p, p.sites, KAON_SINGLE), *x = vector(&p, p.sites, KAON_SINGLE);
    gauss(&p, b, 4);
    for (int i = 0; i < 3; i++) {
      kaon_schwarz_options o = KAON_SCHWARZ_OPTIONS_INIT;
      o.kind = KAON_SCHWARZ_ASYNCHRONOUS;
      o.precision = KAON_SINGLE;
      o.cycles = i == 1 ? 7 : 3;
      must(p.ctx, kaon_schwarz_create(p.A, &o, &K[i]));
      for (int j = 0; j <= i; j++) must(p.ctx, kaon_operator_apply(K[j], KAON_PLAIN, b, x));
    }
    double norm[2];
    kaon_vector *y[2] = {vector(&p, p.sites, KAON_DOUBLE), vector(&p, p.sites, KAON_DOUBLE)};
    gauss(&p, y[0], 4);
    must(p.ctx, kaon_operator_apply(p.A, KAON_PLAIN, y[0], y[1]));
    must(p.ctx, kaon_vector_norm2(y[1], &norm[0]));
    for (int i = 0; i < 3; i++) kaon_operator_destroy(&K[i]);
    must(p.ctx, kaon_operator_apply(p.A, KAON_PLAIN, y[0], y[1]));
    must(p.ctx, kaon_vector_norm2(y[1], &norm[1]));
    assert_true(norm[0] == norm[1]);
    for (int i = 0; i < 2; i++) kaon_vector_destroy(&y[i]);
    kaon_vector_destroy(&b);
    kaon_vector_destroy(&x);
  }
  close_part(&p);
}

/* Devices that store into each other's memory wait for flags. */
static void other_transports_are_refused(void **state) {
  (void)state;
  part p = open_part_by(KAON_TRANSPORT_AUTO, 1, 1);
  (void)offered(&p);
  close_part(&p);
}

static const struct CMUnitTest schwarz_async[] = {
    cmocka_unit_test(without_messages_it_is_that_of_each_part),
    cmocka_unit_test(gcr_converges_whatever_comes),
    cmocka_unit_test(several_share_their_exchanges),
    cmocka_unit_test(other_transports_are_refused),
};
RANKS_MAIN(schwarz_async)
