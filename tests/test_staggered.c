/* test_staggered.c - staggered operators against the reference: the hop with thin links and with
 * fat and long ones, on split and plain lattices, with partly filled vectors and with extents that
 * a step of three wraps around; both sign conventions; every machine, precision and storage; M,
 * its adjoint, the even-odd reduction, sums and gates.
 *
 * Bounds of |error| / |result| on random vectors:
 * - A component of the result is a sum of 24 n / 8 products (n = 8 or 16 hops). Their errors of
 *   one or two roundings add like independent ones: sqrt(2 * 3 n) eps / 2 over sqrt(3 n) times the
 *   size of a term, so about eps for any n. Tests allow eight times that.
 * - 8 reals: KAON_RECON8_BOUND eps for each component of a link, independent: at most 20 / 2.
 * - Half, in steps of 1 / 32767: each number of the vector has a uniform error of up to 0.51 steps
 *   of the site's largest component. The rms is 1 / sqrt 3 of it, and the largest of six is about
 *   twice the rms of one: 0.51 * 2 / sqrt 3 = 0.6 steps for the vector, and as much for the
 *   result. Links have 0.3 steps of their scale, which is up to four times a component: 1.2.
 *   Together 1.5. With 8 reals the errors of a link are up to 20 times 0.3 steps. Tests allow
 *   three times that. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blas/blas.h"
#include "tests/util/staggered_case.h"
#include "tests/util/test_util.h"

static double allowed(kaon_precision precision, kaon_reconstruct reconstruct) {
  const double eps = precision == KAON_DOUBLE ? DBL_EPSILON : (double)FLT_EPSILON;
  const int eight = reconstruct == KAON_RECONSTRUCT_8;
  if (precision == KAON_HALF) return 3 * (eight ? 6 : 1.5) / 32767;
  return 8 * (eight ? 10 : 1) * eps;
}

/* 8^4, 8x4x4x8: split; 4^4 with two sites a half; 4x6x2x10: plain, with a partly filled vector,
 * wrapping in y and z. */
static const int shapes[][4] = {
    {8, 4, 4, 8}, {4, 4, 4, 4}, {4, 6, 2, 10}, {8, 8, 8, 8}, {2, 2, 2, 2}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* CPUs: as if the caches were empty, so that hops prefetch into this level and store past them. */
static void without_caches(staggered_case *s, int level) {
  s->c.ctx->core_cache_bytes = s->c.ctx->cache_bytes = 0;
  s->c.ctx->prefetch_level = level;
}

/* 12: groups of a device's threads that are full, on the first shape. */
enum { COUNTS = 4, MOST = 12 };
static const int counts[COUNTS] = {1, 3, 5, MOST};
static int counts_of(int shape) {
  return shape == 0 ? COUNTS : COUNTS - 1;
}

/* The reference's D in[1 - parity] of MOST columns or fewer by the signs' convention. Columns do
 * not depend on their number, nor links on the machine. */
typedef struct hops {
  int columns;
  ref_complex **in[2], **out[2][2]; /* in[parity][k], out[phases][parity][k] */
} hops;

static double epsilon_of(const staggered_case *s) {
  return s->improved ? -0.3 : 0;
}

static hops expect_hops(staggered_case *s, int columns) {
  hops h = {.columns = columns};
  for (int p = 0; p < 2; p++) h.in[p] = staggered_columns(s, (kaon_parity)p, columns, 5);
  for (int i = 0; i < 4; i++) {
    const int phases = i / 2, parity = i % 2;
    const ref_staggered d =
        staggered_reference(s, 0.1, epsilon_of(s), (kaon_staggered_phases)phases);
    h.out[phases][parity] = ref_alloc((size_t)columns, sizeof(ref_complex *));
    for (int k = 0; k < columns; k++) {
      h.out[phases][parity][k] = ref_new(staggered_size(s));
      ref_staggered_hop(&d, parity, h.in[1 - parity][k], h.out[phases][parity][k]);
    }
  }
  return h;
}

static void forget_hops(hops *h) {
  for (int i = 0; i < 2; i++) case_free_columns(h->in[i], h->columns);
  for (int i = 0; i < 4; i++) case_free_columns(h->out[i / 2][i % 2], h->columns);
}

/* D on both parities, and on each again without caches; error / bound. */
static double check_hop(staggered_case *s, const hops *h, kaon_operator *M,
                        kaon_staggered_phases phases, kaon_precision precision,
                        kaon_reconstruct reconstruct, int columns) {
  double worst = 0;
  for (int parity = 0; parity < 2; parity++) {
    const kaon_parity other = (kaon_parity)(1 - parity);
    kaon_vector *x = staggered_vector(s, other, precision, columns);
    kaon_vector *y = staggered_vector(s, (kaon_parity)parity, precision, columns);
    staggered_import(s, x, h->in[other]);
    const kaon_context rule = *s->c.ctx;
    for (int again = 0; again <= s->c.ctx->backend->host_accessible; again++) {
      must(s->c.ctx, kaon_vector_zero(y)); /* not what the hop before left */
      if (again) without_caches(s, 1 + parity);
      must(s->c.ctx, kaon_staggered_hop(M, (kaon_parity)parity, x, y));
      worst = larger(worst, staggered_deviation(s, y, h->out[phases][parity]) /
                                allowed(precision, reconstruct));
    }
    s->c.ctx->core_cache_bytes = rule.core_cache_bytes;
    s->c.ctx->cache_bytes = rule.cache_bytes;
    kaon_vector_destroy(&x);
    kaon_vector_destroy(&y);
  }
  return worst;
}

/* Every precision and link storage. */
static void check_hops(staggered_case *s, const hops *h, int shape) {
  static const kaon_reconstruct storages[] = {KAON_RECONSTRUCT_18, KAON_RECONSTRUCT_12,
                                              KAON_RECONSTRUCT_8};
  for (int p = KAON_DOUBLE; p <= KAON_HALF; p++)
    for (int r = 0; r < 3; r++) {
      const kaon_staggered_phases phases = (kaon_staggered_phases)((shape + r) % 2);
      kaon_operator *M =
          staggered_operator(s, 0.1, epsilon_of(s), phases, (kaon_precision)p, storages[r]);
      char what[128];
      double worst = 0;
      for (int n = 0; n < counts_of(shape); n++)
        worst =
            larger(worst, check_hop(s, h, M, phases, (kaon_precision)p, storages[r], counts[n]));
      snprintf(what, sizeof what, "%s %dx%dx%dx%d improved %d %s %d reals: error / bound",
               isa_names[s->c.isa], shapes[shape][0], shapes[shape][1], shapes[shape][2],
               shapes[shape][3], s->improved, precision_names[p], (int)storages[r]);
      test_below(what, worst, 1);
      kaon_operator_destroy(&M);
    }
}

static void hops_are_those_of_the_reference(void **state) {
  (void)state;
  for (int i = 0; i < SHAPES * 3; i++) {
    const int shape = i / 3, improved = i % 3;
    hops h = {0};
    for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++) {
      staggered_case s;
      if (machine_lacks(machine)) continue;
      if (!staggered_open(&s, machine, shapes[shape], shape % 2 == 0, improved)) continue;
      if (h.columns == 0) h = expect_hops(&s, counts[counts_of(shape) - 1]);
      check_hops(&s, &h, shape);
      staggered_close(&s);
    }
    if (h.columns > 0) forget_hops(&h);
  }
}

/* M, M^dagger on all sites and A on either parity. */
static void operators_are_those_of_the_reference(void **state) {
  (void)state;
  const int extents[4] = {8, 4, 4, 8};
  const double mass = 0.35;
  for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++) {
    staggered_case s;
    if (machine_lacks(machine) || !staggered_open(&s, machine, extents, 1, 2)) continue;
    without_caches(&s, 1);
    const ref_staggered d = staggered_reference(&s, mass, 0, KAON_PHASES_MILC);
    for (int p = KAON_DOUBLE; p <= KAON_HALF; p++) {
      const double bound = 2 * allowed((kaon_precision)p, KAON_RECONSTRUCT_12);
      kaon_operator *M =
          staggered_operator(&s, mass, 0, KAON_PHASES_MILC, (kaon_precision)p, KAON_RECONSTRUCT_12);
      ref_complex **in = staggered_columns(&s, KAON_FULL, 2, 5);
      ref_complex **out = staggered_columns(&s, KAON_FULL, 2, 6);
      kaon_vector *x = staggered_vector(&s, KAON_FULL, (kaon_precision)p, 2);
      kaon_vector *y = staggered_vector(&s, KAON_FULL, (kaon_precision)p, 2);
      staggered_import(&s, x, in);
      for (int dagger = 0; dagger < 2; dagger++) {
        must(s.c.ctx, kaon_operator_apply(M, dagger ? KAON_DAGGER : KAON_PLAIN, x, y));
        for (int k = 0; k < 2; k++) ref_staggered_apply(&d, dagger ? -1 : 1, in[k], out[k]);
        test_below(dagger ? "M^dagger" : "M", staggered_deviation(&s, y, out), bound);
      }
      kaon_vector_destroy(&x);
      kaon_vector_destroy(&y);
      for (int parity = 0; parity < 2; parity++) {
        kaon_operator *A = NULL;
        must(s.c.ctx, kaon_staggered_even_odd(M, (kaon_parity)parity, &A));
        x = staggered_vector(&s, (kaon_parity)parity, (kaon_precision)p, 2);
        y = staggered_vector(&s, (kaon_parity)parity, (kaon_precision)p, 2);
        staggered_import(&s, x, in);
        must(s.c.ctx, kaon_operator_apply(A, KAON_PLAIN, x, y));
        for (int k = 0; k < 2; k++) {
          memset(out[k], 0, staggered_size(&s) * sizeof **out);
          ref_staggered_normal(&d, parity, in[k], out[k]);
        }
        test_below("A", staggered_deviation(&s, y, out), 2 * bound);
        kaon_vector_destroy(&x);
        kaon_vector_destroy(&y);
        kaon_operator_destroy(&A);
      }
      case_free_columns(in, 2);
      case_free_columns(out, 2);
      kaon_operator_destroy(&M);
    }
    staggered_close(&s);
  }
}

/* Sums of a pass are those of the stored numbers; a closed column is not touched. */
static void sums_and_gates_are_kept(void **state) {
  enum { COLUMNS = 3, CLOSED = 1 };
  (void)state;
  const int extents[4] = {4, 6, 2, 10};
  for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++) {
    staggered_case s;
    if (machine_lacks(machine) || !staggered_open(&s, machine, extents, 1, 2)) continue;
    without_caches(&s, 2);
    for (int p = KAON_DOUBLE; p <= KAON_HALF; p++) {
      kaon_operator *A = NULL, *M = staggered_operator(&s, 0.2, 0, KAON_PHASES_MILC,
                                                       (kaon_precision)p, KAON_RECONSTRUCT_12);
      must(s.c.ctx, kaon_staggered_even_odd(M, KAON_ODD, &A));
      ref_complex **in = staggered_columns(&s, KAON_ODD, COLUMNS, 5);
      ref_complex **old = staggered_columns(&s, KAON_ODD, COLUMNS, 9);
      kaon_vector *x = staggered_vector(&s, KAON_ODD, (kaon_precision)p, COLUMNS);
      kaon_vector *y = staggered_vector(&s, KAON_ODD, (kaon_precision)p, COLUMNS);
      staggered_import(&s, x, in);
      staggered_import(&s, y, old);
      kaon_scalars *scalars = NULL;
      kaon_column_state host[COLUMNS];
      double norm2[COLUMNS], dot[COLUMNS][2];
      must(s.c.ctx, kaon_scalars_create(s.c.ctx, COLUMNS, &scalars));
      must(s.c.ctx, kaon_scalars_read(scalars, host));
      for (int k = 0; k < COLUMNS; k++) host[k].gate = k == CLOSED ? 0 : KAON_GATE_STEP;
      must(s.c.ctx, kaon_scalars_write(scalars, host));
      kaon_pass pass = KAON_PASS_INIT;
      pass.scalars = scalars;
      pass.norm = 0;
      pass.dot = 1;
      pass.w = x;
      must(s.c.ctx, kaon_operator_run(A, KAON_PLAIN, x, y, &pass));
      must(s.c.ctx, kaon_scalars_read(scalars, host));
      must(s.c.ctx, kaon_vector_norm2(y, norm2));
      must(s.c.ctx, kaon_vector_dot(x, y, dot));
      const double bound = p == KAON_HALF ? 1e-4 : p == KAON_SINGLE ? 1e-6 : 1e-14;
      for (int k = 0; k < COLUMNS; k++) {
        if (k == CLOSED) continue;
        test_below("|y|^2", fabs(host[k].slot[0][0] / norm2[k] - 1), bound);
        test_below("(x, y)", fabs(host[k].slot[1][0] / dot[k][0] - 1), bound);
        assert_true(dot[k][0] > 0); /* A is positive definite */
      }
      ref_complex *kept = ref_new(staggered_size(&s));
      must(s.c.ctx, kaon_vector_export(y, CLOSED, (double *)kept, KAON_BASIS_UKQCD));
      test_below("closed column", ref_rel_diff(kept, old[CLOSED], staggered_size(&s)),
                 p == KAON_HALF     ? 1.0 / 32767
                 : p == KAON_SINGLE ? FLT_EPSILON
                                    : 0);
      free(kept);
      kaon_scalars_destroy(&scalars);
      kaon_vector_destroy(&x);
      kaon_vector_destroy(&y);
      case_free_columns(in, COLUMNS);
      case_free_columns(old, COLUMNS);
      kaon_operator_destroy(&A);
      kaon_operator_destroy(&M);
    }
    staggered_close(&s);
  }
}

static void solutions_solve_the_whole_system(void **state) {
  (void)state;
  const int extents[4] = {8, 4, 4, 8};
  static const kaon_precision inner[] = {KAON_DOUBLE, KAON_SINGLE, KAON_HALF};
  for (int i = 0; i < 3; i++) {
    staggered_case s;
    if (!staggered_open(&s, KAON_ISA_AUTO, extents, 1, 2)) skip();
    const ref_staggered d = staggered_reference(&s, 0.3, 0, KAON_PHASES_CHROMA);
    kaon_operator *A = NULL, *M = staggered_operator(&s, 0.3, 0, KAON_PHASES_CHROMA, KAON_DOUBLE,
                                                     KAON_RECONSTRUCT_18);
    must(s.c.ctx, kaon_staggered_even_odd(M, KAON_EVEN, &A));
    ref_complex **b = staggered_columns(&s, KAON_FULL, 3, 5), *x = ref_new(staggered_size(&s));
    ref_complex *back = ref_new(staggered_size(&s));
    kaon_vector *source = staggered_vector(&s, KAON_FULL, KAON_DOUBLE, 3);
    kaon_vector *solution = staggered_vector(&s, KAON_FULL, KAON_DOUBLE, 3);
    staggered_import(&s, source, b);
    kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
    o.method = KAON_CG;
    o.sloppy = inner[i];
    o.reconstruct = KAON_RECONSTRUCT_8;
    o.tol = 1e-10;
    kaon_solver *solver = NULL;
    must(s.c.ctx, kaon_solver_create(A, 3, &o, &solver));
    kaon_column_report reports[3];
    must(s.c.ctx, kaon_solver_solve(solver, source, solution, reports, NULL));
    for (int k = 0; k < 3; k++) {
      must(s.c.ctx, kaon_vector_export(solution, k, (double *)x, KAON_BASIS_UKQCD));
      ref_staggered_apply(&d, 1, x, back);
      printf("  %s inside: %d steps\n", precision_names[inner[i]], (int)reports[k].iterations);
      test_below("|b - M x| / |b|", ref_rel_diff(back, b[k], staggered_size(&s)), 1.1e-10);
      test_close("reported", reports[k].residual, ref_rel_diff(back, b[k], staggered_size(&s)),
                 1e-12);
    }
    kaon_solver_destroy(&solver);
    kaon_vector_destroy(&source);
    kaon_vector_destroy(&solution);
    case_free_columns(b, 3);
    free(x);
    free(back);
    kaon_operator_destroy(&A);
    kaon_operator_destroy(&M);
    staggered_close(&s);
  }
}

/* Weak links, periodic: |r| grows several times on the way, and the recurrences of pipelined CG
 * lose it in single precision. It then restarts, which may take as many steps as CG, or twice as
 * many, but reaches the solution. */
static void pipelined_cg_survives_in_single(void **state) {
  static const int extents[4] = {4, 6, 2, 10};
  static const kaon_method methods[] = {KAON_CG, KAON_PIPECG};
  (void)state;
  for (int machine = KAON_ISA_SCALAR; machine <= MACHINE_LAST; machine++) {
    staggered_case s;
    kaon_operator *A = NULL;
    kaon_column_report r[2][2];
    if (machine_lacks(machine) || !staggered_open(&s, machine, extents, 0, 0)) continue;
    must(s.c.ctx, kaon_gauge_weak(s.c.gauge, 0.3, 2));
    kaon_operator *M =
        staggered_operator(&s, 0.1, 0, KAON_PHASES_MILC, KAON_DOUBLE, KAON_RECONSTRUCT_18);
    must(s.c.ctx, kaon_staggered_even_odd(M, KAON_EVEN, &A));
    kaon_vector *b = staggered_vector(&s, KAON_FULL, KAON_DOUBLE, 2),
                *x = staggered_vector(&s, KAON_FULL, KAON_DOUBLE, 2);
    must(s.c.ctx, kaon_source_gauss(b, 5));
    for (int m = 0; m < 2; m++) {
      kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
      kaon_solver *solver = NULL;
      o.method = methods[m];
      o.sloppy = KAON_SINGLE;
      o.tol = 1e-10;
      must(s.c.ctx, kaon_solver_create(A, 2, &o, &solver));
      must(s.c.ctx, kaon_vector_zero(x));
      must(s.c.ctx, kaon_solver_solve(solver, b, x, r[m], NULL));
      kaon_solver_destroy(&solver);
    }
    for (int k = 0; k < 2; k++) {
      printf("  %s: %d steps, %.1e; cg %d\n", machine_name(machine), r[1][k].iterations,
             r[1][k].residual, r[0][k].iterations);
      assert_int_equal(r[1][k].reason, KAON_CONVERGED);
      assert_true(r[1][k].residual <= 1.1e-10);
      assert_true(r[1][k].iterations <= 3 * r[0][k].iterations);
    }
    kaon_vector_destroy(&b);
    kaon_vector_destroy(&x);
    kaon_operator_destroy(&A);
    kaon_operator_destroy(&M);
    staggered_close(&s);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(hops_are_those_of_the_reference),
      cmocka_unit_test(operators_are_those_of_the_reference),
      cmocka_unit_test(sums_and_gates_are_kept),
      cmocka_unit_test(solutions_solve_the_whole_system),
      cmocka_unit_test(pipelined_cg_survives_in_single),
  };
  return test_main(tests, NULL, NULL);
}
