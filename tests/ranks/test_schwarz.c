/* test_schwarz.c - Schwarz preconditioners on several ranks. Additive ones send nothing. Blocks of
 * equal shape have equal bits wherever they lie. GCR takes the same path to the same solution as
 * on one rank, which every process computes too. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>

#include "lib/operator/operator_internal.h"
#include "ranks.h"
#include "tests/util/partition.h"

static const int extents[4] = {8, 4, 8, 8};

static partition_pair open_pair(double kappa) {
  partition_pair pair;
  kaon_context *whole = NULL;
  const kaon_context_options options = ranks_options(KAON_ISA_AUTO);
  static const int grids[4][4] = {{1, 1, 1, 1}, {1, 1, 1, 2}, {2, 1, 1, 2}, {2, 1, 2, 2}};
  const int size = world_size();
  must(NULL, kaon_context_create(&options, &whole));
  const int row = size == 8 ? 3 : size / 2; /* of 1, 2, 4, 8 */
  kaon_context *part = ranks_open(KAON_ISA_AUTO, grids[row]);
  partition_open(&pair, whole, part, extents, 0, KAON_ANTIPERIODIC);
  kaon_dirac_options dirac = KAON_DIRAC_OPTIONS_INIT;
  must(whole, kaon_gauge_weak(pair.whole.gauge, 0.3, 6));
  must(part, kaon_gauge_weak(pair.part.gauge, 0.3, 6));
  dirac.kappa = kappa;
  dirac.csw = 1;
  partition_dirac(&pair, &dirac);
  return pair;
}

static kaon_operator *even_odd(const partition_side *s) {
  kaon_operator *A = NULL;
  must(s->ctx, kaon_dirac_even_odd(s->M, NULL, &A));
  return A;
}

static kaon_vector *vector(const partition_side *s, kaon_parity parity, kaon_precision precision) {
  kaon_vector *v = NULL;
  must(s->ctx,
       kaon_vector_create(s->ctx, kaon_lattice_spinors(s->lattice, parity), precision, 1, &v));
  return v;
}

/* The numbers of a full source on the vector's sites. */
static void gauss(const partition_side *s, kaon_vector *v) {
  kaon_vector *full = vector(s, KAON_FULL, kaon_vector_precision(v)), view;
  must(s->ctx, kaon_source_gauss(full, 5));
  if (v->space->parity == KAON_FULL) {
    must(s->ctx, kaon_vector_copy(v, full));
  } else {
    must(s->ctx, kaon_vector_view(full, v->space->parity, &view));
    must(s->ctx, kaon_vector_copy(v, &view));
  }
  kaon_vector_destroy(&full);
}

/* out = this rank's part of a vector of the whole lattice, full sites in the basis of exports. */
static void cut_out(const partition_pair *pair, const kaon_vector *whole, double *out) {
  const kaon_lattice *l = pair->part.lattice;
  const int *n = l->extents, *o = l->origin, *g = l->global;
  double *p = calloc((size_t)l->global_volume * 24, sizeof *p);
  assert_non_null(p);
  must(pair->whole.ctx, kaon_vector_export(whole, 0, p, KAON_BASIS_UKQCD));
  for (int64_t i = 0; i < l->volume; i++) {
    const int x = o[0] + (int)(i % n[0]), y = o[1] + (int)(i / n[0] % n[1]);
    const int z = o[2] + (int)(i / n[0] / n[1] % n[2]), t = o[3] + (int)(i / n[0] / n[1] / n[2]);
    memcpy(out + 24 * i, p + 24 * (x + g[0] * (y + g[1] * (z + (int64_t)g[2] * t))),
           24 * sizeof *out);
  }
  free(p);
}

static double *room(const partition_pair *pair) {
  double *p = calloc((size_t)pair->part.lattice->volume * 24, sizeof *p);
  assert_non_null(p);
  return p;
}

/* |part - whole| over all ranks' sites; *largest: the largest difference here over the largest
 * number; *differ: how many bits do here. */
static double compare(const partition_pair *pair, const kaon_vector *whole, const kaon_vector *part,
                      double *largest, int64_t *differ) {
  const int64_t n = pair->part.lattice->volume * 24;
  double *p = room(pair), *q = room(pair), most = 0, worst = 0, sum = 0;
  cut_out(pair, whole, p);
  must(pair->part.ctx, kaon_vector_export(part, 0, q, KAON_BASIS_UKQCD));
  *differ = 0;
  for (int64_t i = 0; i < n; i++) {
    const double off = fabs(p[i] - q[i]);
    worst = larger(worst, off);
    most = larger(most, fabs(p[i]));
    sum += off * off;
    *differ += p[i] != q[i];
  }
  free(p);
  free(q);
  must(pair->part.ctx, kaon_comm_sum(pair->part.ctx, &sum, 1));
  *largest = worst / most;
  return sqrt(sum);
}

/* Every call to the network is counted. */
static int calls;
static const kaon_comm_ops *real_ops;
static kaon_status counted_sum(kaon_comm *comm, double *values, int n) {
  calls++;
  return real_ops->sum_start(comm, values, n);
}
static kaon_status counted_exchange(kaon_exchange *exchange) {
  calls++;
  return real_ops->exchange_start(exchange);
}

static void additive_schwarz_sends_nothing(void **state) {
  (void)state;
  partition_pair pair = open_pair(0.13);
  const partition_side *s = &pair.part;
  for (int form = 0; form < 2; form++)
    for (int blocks = 0; blocks < 2; blocks++) {
      kaon_operator *A = form ? even_odd(s) : s->M, *K = NULL;
      const kaon_parity sites = form ? KAON_EVEN : KAON_FULL;
      kaon_schwarz_options o = KAON_SCHWARZ_OPTIONS_INIT;
      for (int mu = 0; mu < 4 && blocks; mu++) o.block[mu] = 4;
      must(s->ctx, kaon_schwarz_create(A, &o, &K));
      kaon_vector *x = vector(s, sites, KAON_HALF), *y = vector(s, sites, KAON_HALF);
      gauss(s, x);
      must(s->ctx, kaon_operator_apply(K, KAON_PLAIN, x, y));
      kaon_comm_ops ops = *s->ctx->comm->ops;
      kaon_traffic before, after;
      real_ops = s->ctx->comm->ops;
      ops.sum_start = counted_sum;
      ops.exchange_start = counted_exchange;
      calls = 0;
      must(s->ctx, kaon_context_traffic(s->ctx, &before));
      s->ctx->comm->ops = &ops;
      must(s->ctx, kaon_operator_apply(K, KAON_PLAIN, x, y));
      assert_int_equal(calls, 0);
      must(s->ctx, kaon_context_traffic(s->ctx, &after));
      assert_memory_equal(&before, &after, sizeof before);
      /* while A itself sends: one exchange for each hop */
      kaon_operator *sloppy = NULL;
      must(s->ctx, A->ops->twin(A, KAON_HALF, KAON_RECONSTRUCT_18, &sloppy));
      must(s->ctx, kaon_operator_apply(sloppy, KAON_PLAIN, x, y));
      must(s->ctx, kaon_context_traffic(s->ctx, &after));
      assert_int_equal(after.exchanges - before.exchanges, world_size() > 1 ? 2 : 0);
      if (s->ctx->backend->host_accessible) /* a device's go by its transport */
        assert_int_equal(calls, after.exchanges - before.exchanges);
      assert_int_equal(after.bytes > before.bytes, world_size() > 1);
      s->ctx->comm->ops = real_ops;
      kaon_operator_destroy(&sloppy);
      kaon_vector_destroy(&x);
      kaon_vector_destroy(&y);
      kaon_operator_destroy(&K);
      if (form) kaon_operator_destroy(&A);
    }
  partition_close(&pair);
}

/* K x of a side's even-odd operator, x from a seed. */
static kaon_vector *preconditioned(const partition_side *s, int kind, kaon_precision precision) {
  kaon_operator *A = even_odd(s), *K = NULL;
  kaon_schwarz_options o = KAON_SCHWARZ_OPTIONS_INIT;
  o.kind = (kaon_schwarz_kind)kind;
  o.precision = precision;
  for (int mu = 0; mu < 4; mu++) o.block[mu] = mu == 0 ? 2 : 4;
  must(s->ctx, kaon_schwarz_create(A, &o, &K));
  kaon_vector *x = vector(s, KAON_EVEN, precision), *y = vector(s, KAON_EVEN, precision);
  gauss(s, x);
  must(s->ctx, kaon_operator_apply(K, KAON_PLAIN, x, y));
  kaon_vector_destroy(&x);
  kaon_operator_destroy(&K);
  kaon_operator_destroy(&A);
  return y;
}

/* In half the hops of a divided lattice have one rounding more: of ghosts, h = P psi, whose
 * numbers are at most 2 |psi| (P has two terms), so the variance of their errors is up to 4 times
 * that of psi's own. A site has at most 3 ghosts here, each with kappa^2 times that: 0.13^2 * 4 *
 * 3 = 0.2 of the rounding of the hop's result. Allowing twice all of that, the distance to the
 * result in double is at most sqrt(2) times that of one rank. */
static const double half_growth = 1.4142;

static void blocks_have_the_same_bits_everywhere(void **state) {
  (void)state;
  partition_pair pair = open_pair(0.13);
  if (kaon_lattice_partitioned(pair.part.lattice)) partition_same_order(&pair.whole);
  for (int kind = KAON_SCHWARZ_ADDITIVE; kind <= KAON_SCHWARZ_MULTIPLICATIVE; kind++) {
    kaon_vector *exact[2] = {NULL, NULL};
    for (int p = KAON_DOUBLE; p <= KAON_HALF; p++) {
      kaon_vector *y[2] = {preconditioned(&pair.whole, kind, (kaon_precision)p),
                           preconditioned(&pair.part, kind, (kaon_precision)p)};
      int64_t differ, others;
      double off, most;
      compare(&pair, y[0], y[1], &off, &differ);
      printf("%s kind %d, %s: off by %.1e, %lld numbers differ\n", pair.name, kind,
             precision_names[p], off, (long long)differ);
      if (p == KAON_DOUBLE) memcpy(exact, y, sizeof exact);
      if (p == KAON_HALF && kind == KAON_SCHWARZ_MULTIPLICATIVE) {
        const double whole = compare(&pair, y[0], exact[1], &most, &others);
        const double part = compare(&pair, exact[0], y[1], &most, &others);
        printf("  from double: %.3e on one rank, %.3e here\n", whole, part);
        assert_true(whole > 0 && part <= half_growth * whole);
      } else {
        assert_int_equal(differ, 0);
      }
      for (int i = 0; i < 2 && p != KAON_DOUBLE; i++) kaon_vector_destroy(&y[i]);
    }
    for (int i = 0; i < 2; i++) kaon_vector_destroy(&exact[i]);
  }
  partition_close(&pair);
}

static kaon_column_report solve(const partition_side *s, const kaon_solver_options *options,
                                const kaon_schwarz_options *o, kaon_vector *x,
                                kaon_solve_report *report) {
  kaon_operator *A = even_odd(s), *K = NULL;
  kaon_solver_options own = *options;
  kaon_solver *solver = NULL;
  kaon_column_report column;
  kaon_vector *b = vector(s, KAON_FULL, KAON_DOUBLE);
  must(s->ctx, kaon_source_gauss(b, 9));
  if (o != NULL) must(s->ctx, kaon_schwarz_create(A, o, &K));
  own.preconditioner = K;
  must(s->ctx, kaon_solver_create(A, 1, &own, &solver));
  must(s->ctx, kaon_vector_zero(x));
  must(s->ctx, kaon_solver_solve(solver, b, x, &column, report));
  assert_int_equal(column.reason, KAON_CONVERGED);
  kaon_solver_destroy(&solver);
  kaon_operator_destroy(&K);
  kaon_operator_destroy(&A);
  kaon_vector_destroy(&b);
  return column;
}

/* |M (x - x')| / |b| in double, with x from the whole lattice and x' from this rank's. Since M x =
 * b - r, it is |r - r'| / |b|, at most the sum of both residuals for any condition of M; 1e-12 for
 * roundings of M, of norm below 3, on solutions of at most 1e3 |b|. */
static double residuals_apart(const partition_pair *pair, const kaon_vector *whole,
                              const kaon_vector *part) {
  const partition_side *s = &pair->part;
  kaon_vector *b = vector(s, KAON_FULL, KAON_DOUBLE), *x = vector(s, KAON_FULL, KAON_DOUBLE);
  kaon_vector *r = vector(s, KAON_FULL, KAON_DOUBLE);
  double *p = room(pair), *q = room(pair), norm_b, norm_r;
  cut_out(pair, whole, p);
  must(s->ctx, kaon_vector_export(part, 0, q, KAON_BASIS_UKQCD));
  for (int64_t i = 0; i < s->lattice->volume * 24; i++) p[i] -= q[i];
  must(s->ctx, kaon_vector_import(x, 0, p, KAON_BASIS_UKQCD));
  must(s->ctx, kaon_operator_apply(s->M, KAON_PLAIN, x, r));
  must(s->ctx, kaon_source_gauss(b, 9));
  must(s->ctx, kaon_vector_norm2(b, &norm_b));
  must(s->ctx, kaon_vector_norm2(r, &norm_r));
  free(p);
  free(q);
  kaon_vector_destroy(&b);
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&r);
  return sqrt(norm_r / norm_b);
}

/* Also in blocks of a rank, which are others on each grid. */
static void gcr_goes_the_same_way(void **state) {
  (void)state;
  partition_pair pair = open_pair(0.13);
  partition_same_order(&pair.whole);
  kaon_vector *x[2] = {vector(&pair.whole, KAON_FULL, KAON_DOUBLE),
                       vector(&pair.part, KAON_FULL, KAON_DOUBLE)};
  for (int row = 0; row < 4; row++) {
    kaon_solver_options so = KAON_SOLVER_OPTIONS_INIT;
    kaon_schwarz_options o = KAON_SCHWARZ_OPTIONS_INIT;
    kaon_solve_report report[2] = {KAON_SOLVE_REPORT_INIT, KAON_SOLVE_REPORT_INIT};
    kaon_column_report column[2];
    so.method = KAON_GCR;
    so.sloppy = KAON_SINGLE;
    so.tol = 1e-9;
    o.kind = (kaon_schwarz_kind)(row % 2);
    for (int mu = 0; mu < 4 && row < 2; mu++) o.block[mu] = mu == 0 ? 2 : 4;
    column[0] = solve(&pair.whole, &so, &o, x[0], &report[0]);
    column[1] = solve(&pair.part, &so, &o, x[1], &report[1]);
    const double off = residuals_apart(&pair, x[0], x[1]);
    const kaon_traffic *t = &report[1].traffic;
    printf(
        "%s kind %d %s: %d and %d steps, residuals %.1e apart; %lld sums, %lld exchanges, %lld "
        "bytes\n",
        pair.name, row % 2, row < 2 ? "4^4" : "a rank", column[0].iterations, column[1].iterations,
        off, (long long)t->sums, (long long)t->exchanges, (long long)t->bytes);
    assert_true(off <= column[0].residual + column[1].residual + 1e-12);
    assert_true(fmax(column[0].residual, column[1].residual) <= 1.1 * so.tol);
    if (row < 2) assert_true(abs(column[0].iterations - column[1].iterations) <= 1);
    if (row < 2 && column[0].iterations == column[1].iterations)
      assert_true(llabs(t->sums - report[0].traffic.sums) <= 4); /* of services */
    assert_int_equal(t->exchanges > 0, world_size() > 1);
    assert_int_equal(t->bytes > 0, world_size() > 1);
  }
  kaon_vector_destroy(&x[0]);
  kaon_vector_destroy(&x[1]);
  partition_close(&pair);
}

static const struct CMUnitTest schwarz[] = {
    cmocka_unit_test(additive_schwarz_sends_nothing),
    cmocka_unit_test(blocks_have_the_same_bits_everywhere),
    cmocka_unit_test(gcr_goes_the_same_way),
};
RANKS_MAIN(schwarz)
