/* test_solvers_dirac.c - the solvers on Wilson-clover operators: full-lattice sources through both
 * even-odd forms to a true residual of 1e-10, step counts of mixed precision on a thermalised
 * configuration, columns together and alone, full-lattice guesses. Residuals are computed with the
 * full operator M by public functions only. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/operator/operator_internal.h"
#include "tests/util/dirac_case.h"
#include "tests/util/methods.h"
#include "tests/util/test_util.h"

static const char *const form_names[] = {"symmetric", "asymmetric", "none"};
static const char *const stop_names[] = {"full", "reduced", "normal"};
static const int small_extents[4] = {4, 6, 2, 10};
enum { COLUMNS = 12 };

typedef struct {
  kaon_context *ctx;
  kaon_lattice *lattice;
  kaon_gauge *gauge;
  kaon_operator *M;
  kaon_vector *b, *x;
} world;

/* Weak links, or the configuration of `file`. 0: the file is not here. */
static int open_world(world *w, const char *file, const int extents[4], double kappa, double csw,
                      int columns, int threads) {
  char buffer[1024];
  const char *path = file != NULL ? test_data(file, buffer) : NULL;
  memset(w, 0, sizeof *w);
  if (file != NULL && path == NULL) return 0;
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  options.backend = KAON_BACKEND_CPU;
  options.threads = threads;
  must(NULL, kaon_context_create(&options, &w->ctx));
  must(w->ctx, kaon_lattice_create(w->ctx, extents, KAON_ANTIPERIODIC, &w->lattice));
  must(w->ctx, kaon_gauge_create(w->lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &w->gauge));
  if (file != NULL)
    must(w->ctx, kaon_gauge_read(w->gauge, path, NULL, NULL));
  else
    must(w->ctx, kaon_gauge_weak(w->gauge, 0.3, 11));
  kaon_dirac_options dirac = KAON_DIRAC_OPTIONS_INIT;
  dirac.kappa = kappa;
  dirac.csw = csw;
  must(w->ctx, kaon_dirac_create(w->gauge, &dirac, &w->M));
  const kaon_space *space = kaon_operator_space(w->M);
  must(w->ctx, kaon_vector_create(w->ctx, space, KAON_DOUBLE, columns, &w->b));
  must(w->ctx, kaon_vector_create(w->ctx, space, KAON_DOUBLE, columns, &w->x));
  return 1;
}

static void close_world(world *w) {
  kaon_vector_destroy(&w->b);
  kaon_vector_destroy(&w->x);
  kaon_operator_destroy(&w->M);
  kaon_gauge_destroy(&w->gauge);
  kaon_lattice_destroy(&w->lattice);
  kaon_context_destroy(&w->ctx);
}

/* Column k of b: spin-colour component `first + k` of a point source, or random numbers. */
static void set_sources(world *w, int point, int first) {
  const size_t n = 24 * (size_t)kaon_lattice_volume(w->lattice);
  double *psi = calloc(n, sizeof *psi);
  for (int k = 0; k < kaon_vector_columns(w->b); k++) {
    ref_rng rng;
    ref_rng_seed(&rng, (uint64_t)(first + k));
    memset(psi, 0, n * sizeof *psi);
    if (point)
      psi[2 * (first + k)] = 1;
    else
      for (size_t i = 0; i < n; i++) psi[i] = ref_gauss(&rng);
    must(w->ctx, kaon_vector_import(w->b, k, psi, KAON_BASIS_UKQCD));
  }
  free(psi);
}

static kaon_operator *reduce(world *w, kaon_even_odd form, kaon_parity parity, int temporal) {
  kaon_even_odd_options options = KAON_EVEN_ODD_OPTIONS_INIT;
  kaon_operator *R = NULL;
  options.form = form;
  options.parity = parity;
  options.temporal_gauge = temporal;
  must(w->ctx, kaon_dirac_even_odd(w->M, &options, &R));
  return R;
}

/* The worst |b - M x| / |b| of the columns. */
static double true_residual(world *w) {
  double r2[COLUMNS], b2[COLUMNS], worst = 0;
  kaon_vector *r = NULL;
  const int columns = kaon_vector_columns(w->b);
  must(w->ctx, kaon_vector_create(w->ctx, kaon_operator_space(w->M), KAON_DOUBLE, columns, &r));
  must(w->ctx, kaon_operator_apply(w->M, KAON_PLAIN, w->x, r));
  must(w->ctx, kaon_vector_axpy(-1, 0, w->b, r));
  must(w->ctx, kaon_vector_norm2(r, r2));
  must(w->ctx, kaon_vector_norm2(w->b, b2));
  for (int k = 0; k < columns; k++) worst = larger(worst, sqrt(r2[k] / b2[k]));
  kaon_vector_destroy(&r);
  return worst;
}

static kaon_solver_options options_of(kaon_method method, kaon_precision sloppy) {
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  o.method = method;
  o.sloppy = sloppy;
  return o;
}

/* Solves from w->x; the reports' truth is checked against M. */
static void solve(world *w, kaon_operator *A, const kaon_solver_options *o, kaon_column_report *r) {
  kaon_solver *s = NULL;
  const int columns = kaon_vector_columns(w->b);
  must(w->ctx, kaon_solver_create(A, columns, o, &s));
  must(w->ctx, kaon_solver_solve(s, w->b, w->x, r, NULL));
  kaon_solver_destroy(&s);
  double reported = 0;
  for (int k = 0; k < columns; k++) {
    reported = larger(reported, r[k].residual);
    if (r[k].reason != KAON_CONVERGED || r[k].stop_residual > 1.1 * o->tol)
      print_error("column %d: %s, stop residual %.2e\n", k, kaon_stop_reason_name(r[k].reason),
                  r[k].stop_residual);
    assert_int_equal(r[k].reason, KAON_CONVERGED);
    assert_true(r[k].stop_residual <= 1.1 * o->tol);
  }
  const double own = true_residual(w);
  if (o->stop == KAON_STOP_FULL) assert_true(own <= 1.1 * o->tol);
  assert_true(fabs(own - reported) <= 1e-3 * own);
}

static void every_method_solves_every_form(void **state) {
  (void)state;
  static const kaon_method methods[] = {KAON_CGNR, KAON_CGNE,     KAON_BICGSTAB,    KAON_MR,
                                        KAON_GCR,  KAON_PIPECGNR, KAON_PIPEBICGSTAB};
  world w;
  open_world(&w, NULL, small_extents, 0.12, 1.0, 2, 2);
  set_sources(&w, 0, 1);
  for (int form = 0; form < 3; form++)
    for (int temporal = 0; temporal < 2; temporal++) {
      kaon_operator *R = reduce(&w, (kaon_even_odd)form, temporal ? KAON_ODD : KAON_EVEN, temporal);
      for (size_t m = 0; m < sizeof methods / sizeof *methods; m++)
        for (int p = KAON_DOUBLE; p <= KAON_HALF; p++) {
          const kaon_solver_options o = options_of(methods[m], (kaon_precision)p);
          kaon_column_report r[2];
          must(w.ctx, kaon_vector_zero(w.x));
          solve(&w, R, &o, r);
          printf("  %-10s %s %-8s double/%-6s %3d, %3d steps, residual %.2e\n", form_names[form],
                 temporal ? "odd, temporal" : "even         ", method_name((int)methods[m]),
                 precision_names[p], r[0].iterations, r[1].iterations, r[0].residual);
        }
      kaon_operator_destroy(&R);
    }
  close_world(&w);
}

/* For a point source (b, D b) = (b, D D b) = 0: a hop leads to the other parity, and one there and
 * back is 0. So BiCG has (r', r) = 0 to rounding in its first step, and must restart. */
static void bicg_leaves_a_point_source(void **state) {
  (void)state;
  static const int extents[4] = {4, 4, 4, 4};
  world w;
  open_world(&w, NULL, extents, 0.12, 0, 4, 2);
  set_sources(&w, 1, 0);
  for (int p = KAON_DOUBLE; p <= KAON_SINGLE; p++) {
    kaon_solver_options o = options_of(KAON_BICG, (kaon_precision)p);
    kaon_column_report r[4];
    o.max_iterations = 300;
    must(w.ctx, kaon_vector_zero(w.x));
    solve(&w, w.M, &o, r);
    assert_true(p != KAON_DOUBLE || r[0].updates == 2); /* the restart and the end */
  }
  close_world(&w);
}

/* Each choice of stopping residual reaches that residual; M itself needs no reduction. */
static void each_stopping_residual_is_reached(void **state) {
  (void)state;
  static const kaon_method methods[] = {KAON_CGNR, KAON_BICGSTAB, KAON_PIPECGNR, KAON_PIPEBICGSTAB};
  world w;
  open_world(&w, NULL, small_extents, 0.12, 1.0, 2, 2);
  set_sources(&w, 1, 3);
  kaon_operator *R = reduce(&w, KAON_EVEN_ODD_SYMMETRIC, KAON_ODD, 0);
  for (int stop = KAON_STOP_FULL; stop <= KAON_STOP_NORMAL; stop++)
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
      for (int whole = 0; whole < 2; whole++) {
        const kaon_method m = methods[i];
        kaon_solver_options o = options_of(m, KAON_HALF);
        kaon_column_report r[2];
        o.stop = (kaon_stop)stop;
        must(w.ctx, kaon_vector_zero(w.x));
        solve(&w, whole ? w.M : R, &o, r);
        printf("  %-8s on %-7s stop %-7s %3d steps, residual %.2e, stop residual %.2e\n",
               method_name(m), whole ? "M" : "reduced", stop_names[stop], r[0].iterations,
               r[0].residual, r[0].stop_residual);
      }
  kaon_operator_destroy(&R);
  close_world(&w);
}

/* The steps of all columns of a point source, and the largest ratio to those of `plain`, if any. */
static double count_steps(world *w, kaon_operator *R, kaon_precision sloppy, int columns,
                          const int *plain, int *steps) {
  const kaon_solver_options o = options_of(KAON_CGNR, sloppy);
  kaon_column_report r[4];
  double worst = 0;
  must(w->ctx, kaon_vector_zero(w->x));
  solve(w, R, &o, r);
  for (int k = 0; k < columns; k++) {
    steps[k] = r[k].iterations;
    if (plain != NULL) worst = fmax(worst, steps[k] / (double)plain[k]);
  }
  return worst;
}

/* CG's count may grow by 5 % in double/single and 15 % in double/half, in each column: the three
 * colours of a spin and one of another. */
static void mixed_precision_keeps_the_iteration_count(void **state) {
  (void)state;
  static const char *const files[] = {"milc/milc_lat.sample.l8888",
                                      "gauge/openqcd_gen_8x8x8x8_b6.0"};
  enum { KAPPAS = 3, SOURCES = TEST_SLOWED ? 1 : 4 };
  static const double kappas[KAPPAS] = {0.1300, 0.1345, 0.1350}, most[] = {1, 1.05, 1.15};
  static const int extents[4] = {8, 8, 8, 8};
  int found = 0;
  for (int f = 0; f < 2; f++)
    for (int i = 0; i < KAPPAS; i++) {
      world w;
      if (TEST_SLOWED && i != 2 * f) continue;
      if (!open_world(&w, files[f], extents, kappas[i], 1.769, SOURCES, 2)) continue;
      found = 1;
      set_sources(&w, 1, 0);
      kaon_operator *R = reduce(&w, KAON_EVEN_ODD_SYMMETRIC, KAON_EVEN, 0);
      int plain[SOURCES], steps[SOURCES];
      count_steps(&w, R, KAON_DOUBLE, SOURCES, NULL, plain);
      for (int p = KAON_SINGLE; p <= KAON_HALF; p++) {
        const double worst = count_steps(&w, R, (kaon_precision)p, SOURCES, plain, steps);
        char text[80];
        snprintf(text, sizeof text, "kappa %.4f, double/%s: %d steps (column 0) over pure double's",
                 kappas[i], precision_names[p], steps[0]);
        test_below(text, worst, most[p]);
      }
      kaon_operator_destroy(&R);
      close_world(&w);
    }
  if (!found) skip();
}

/* Bits of a column of v. */
static double *bits(world *w, const kaon_vector *v, int column) {
  double *psi = calloc(24 * (size_t)kaon_lattice_volume(w->lattice), sizeof *psi);
  must(w->ctx, kaon_vector_export(v, column, psi, KAON_BASIS_UKQCD));
  return psi;
}

static int same_bits(world *a, const kaon_vector *u, int i, world *b, const kaon_vector *v, int j) {
  double *p = bits(a, u, i), *q = bits(b, v, j);
  const int same = memcmp(p, q, 24 * (size_t)kaon_lattice_volume(a->lattice) * sizeof *p) == 0;
  free(p);
  free(q);
  return same;
}

/* 1: the inner operator of R gives a column the same bits alone and beside others. */
static int columns_are_independent(world *all, kaon_operator *R_all, world *one,
                                   kaon_operator *R_one, kaon_precision precision) {
  world *w[2] = {all, one};
  kaon_operator *R[2] = {R_all, R_one}, *inner[2];
  kaon_vector *x[2], *y[2];
  for (int i = 0; i < 2; i++) {
    const int columns = kaon_vector_columns(w[i]->b);
    must(w[i]->ctx, R[i]->ops->twin(R[i], precision, KAON_RECONSTRUCT_18, &inner[i]));
    must(w[i]->ctx, kaon_vector_create(w[i]->ctx, R[i]->space, KAON_DOUBLE, columns, &x[i]));
    must(w[i]->ctx, kaon_vector_create(w[i]->ctx, R[i]->space, precision, columns, &y[i]));
    must(w[i]->ctx, kaon_operator_prepare(R[i], w[i]->b, x[i]));
    kaon_vector *source = NULL;
    must(w[i]->ctx, kaon_vector_create(w[i]->ctx, R[i]->space, precision, columns, &source));
    must(w[i]->ctx, kaon_vector_copy(source, x[i]));
    must(w[i]->ctx, kaon_operator_apply(inner[i], KAON_PLAIN, source, y[i]));
    kaon_vector_destroy(&source);
  }
  const int same = same_bits(all, y[0], 0, one, y[1], 0);
  for (int i = 0; i < 2; i++) {
    kaon_vector_destroy(&x[i]);
    kaon_vector_destroy(&y[i]);
    kaon_operator_destroy(&inner[i]);
  }
  return same;
}

/* Twelve columns on two threads, checked every 10 steps, and each alone on one thread, checked
 * every 7: where the operator treats columns independently bit by bit, so do the solvers. */
static void columns_together_are_columns_alone(void **state) {
  (void)state;
  for (int p = KAON_DOUBLE; p <= KAON_HALF; p++) {
    world all, one;
    kaon_column_report together[COLUMNS], alone;
    kaon_solver_options o = options_of(p ? KAON_CGNR : KAON_BICGSTAB, (kaon_precision)p);
    open_world(&all, NULL, small_extents, 0.12, 1.0, COLUMNS, 2);
    open_world(&one, NULL, small_extents, 0.12, 1.0, 1, 1);
    set_sources(&all, 1, 0);
    set_sources(&one, 1, 0);
    kaon_operator *R_all = reduce(&all, KAON_EVEN_ODD_SYMMETRIC, KAON_EVEN, 0),
                  *R_one = reduce(&one, KAON_EVEN_ODD_SYMMETRIC, KAON_EVEN, 0);
    const int exact = columns_are_independent(&all, R_all, &one, R_one, (kaon_precision)p);
    assert_true(exact ||
                p == KAON_HALF); /* which decodes links of 18 reals once for many columns */
    solve(&all, R_all, &o, together);
    o.check_interval = 7;
    for (int k = 0; k < COLUMNS; k += 11) {
      set_sources(&one, 1, k);
      must(one.ctx, kaon_vector_zero(one.x));
      solve(&one, R_one, &o, &alone);
      const int same = same_bits(&all, all.x, k, &one, one.x, 0);
      printf("  double/%-6s column %2d: %d steps together, %d alone, %s bits%s\n",
             precision_names[p], k, together[k].iterations, alone.iterations,
             same ? "the same" : "other",
             exact ? "" : " (the operator's bits depend on the column count)");
      if (exact) assert_true(same);
      if (exact) assert_int_equal(together[k].iterations, alone.iterations);
    }
    kaon_operator_destroy(&R_all);
    kaon_operator_destroy(&R_one);
    close_world(&all);
    close_world(&one);
  }
}

/* Guess of column k: 0, or its solution in `solved` to about 1e-5 and better with k. */
static void set_guess(world *w, const kaon_vector *solved, int near) {
  for (int k = 0; k < kaon_vector_columns(w->x); k++) {
    double *psi = bits(w, solved, k);
    const double factor = k < near ? 1 + 1e-5 * pow(10, -k) : 0;
    for (size_t i = 0; i < 24 * (size_t)kaon_lattice_volume(w->lattice); i++) psi[i] *= factor;
    must(w->ctx, kaon_vector_import(w->x, k, psi, KAON_BASIS_UKQCD));
    free(psi);
  }
}

/* Two columns end early, and the work at their ends affects no other column, whichever vectors the
 * method and the reduction to the temporal gauge share. Nor does the check interval matter. */
static void early_ends_leave_other_columns_alone(void **state) {
  (void)state;
  enum { THREE = 3 };
  static const kaon_method methods[] = {KAON_CGNR, KAON_CGNE, KAON_BICGSTAB, KAON_PIPECGNR,
                                        KAON_PIPEBICGSTAB};
  world w;
  kaon_column_report first[THREE], seldom[THREE], often[THREE];
  kaon_vector *solved = NULL, *kept = NULL;
  open_world(&w, NULL, small_extents, 0.12, 1.0, THREE, 2);
  set_sources(&w, 0, 3);
  const kaon_space *space = kaon_operator_space(w.M);
  must(w.ctx, kaon_vector_create(w.ctx, space, KAON_DOUBLE, THREE, &solved));
  must(w.ctx, kaon_vector_create(w.ctx, space, KAON_DOUBLE, THREE, &kept));
  for (int form = KAON_EVEN_ODD_SYMMETRIC; form <= KAON_EVEN_ODD_NONE; form++)
    for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
      kaon_solver_options o = options_of(methods[m], KAON_DOUBLE);
      kaon_operator *R = reduce(&w, (kaon_even_odd)form, KAON_EVEN, 1);
      must(w.ctx, kaon_vector_zero(w.x));
      solve(&w, R, &o, first);
      must(w.ctx, kaon_vector_copy(solved, w.x));
      o.check_interval = 100;
      set_guess(&w, solved, 2);
      solve(&w, R, &o, seldom);
      must(w.ctx, kaon_vector_copy(kept, w.x));
      o.check_interval = 1;
      set_guess(&w, solved, 2);
      solve(&w, R, &o, often);
      for (int k = 0; k < THREE; k++) {
        assert_int_equal(often[k].iterations, seldom[k].iterations);
        assert_true(same_bits(&w, w.x, k, &w, kept, k));
      }
      assert_true(often[0].iterations < often[2].iterations);
      assert_int_equal(often[2].iterations, first[2].iterations);
      kaon_operator_destroy(&R);
    }
  kaon_vector_destroy(&solved);
  kaon_vector_destroy(&kept);
  close_world(&w);
}

static void a_full_lattice_guess_is_used(void **state) {
  (void)state;
  world w;
  open_world(&w, NULL, small_extents, 0.12, 1.0, 1, 1);
  set_sources(&w, 0, 5);
  kaon_operator *R = reduce(&w, KAON_EVEN_ODD_ASYMMETRIC, KAON_EVEN, 1);
  kaon_solver_options o = options_of(KAON_CGNR, KAON_SINGLE);
  kaon_column_report cold, warm;
  o.tol = 1e-11;
  solve(&w, R, &o, &cold);
  o.tol = 1e-10;
  solve(&w, R, &o, &warm);
  assert_int_equal(warm.iterations, 0);
  must(w.ctx, kaon_vector_axpy(1e-5, 0, w.b, w.x));
  solve(&w, R, &o, &warm);
  printf("  from zero %d steps, from 1e-5 away %d\n", cold.iterations, warm.iterations);
  assert_true(warm.iterations < cold.iterations && warm.iterations > 0);
  kaon_operator_destroy(&R);
  close_world(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_method_solves_every_form),
      cmocka_unit_test(bicg_leaves_a_point_source),
      cmocka_unit_test(each_stopping_residual_is_reached),
      cmocka_unit_test(mixed_precision_keeps_the_iteration_count),
      cmocka_unit_test(columns_together_are_columns_alone),
      cmocka_unit_test(early_ends_leave_other_columns_alone),
      cmocka_unit_test(a_full_lattice_guess_is_used),
  };
  return test_main(tests, NULL, NULL);
}
