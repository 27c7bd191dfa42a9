/* test_quda_invert.c - what clients ask of QUDA's solves beside a solution: guesses, tolerances,
 * shifts, links with phases, and refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/quda/quda_case.h"
#include "tests/quda/solve_case.h"

enum { LINK_SEED = 7 };
static const double LINK_EPS = 0.4;
static solve_case c;

static int open_case(void **state) {
  (void)state;
  solve_case_open(&c, (const int[4]){4, 2, 4, 4}, LINK_EPS);
  return 0;
}

static int close_case(void **state) {
  (void)state;
  solve_case_close(&c);
  return 0;
}

/* ---- Chroma: the odd half, guesses, absolute tolerances, other precisions ---- */

static void test_half_arrays_take_guesses(void **state) {
  const size_t half = c.sites * CASE_SPINOR / 2;
  double *b = solve_case_array(2 * half, 4), *x = solve_case_array(2 * half, 0),
         *y = solve_case_array(half, 0);
  (void)state;
  solve_case_load(&c);
  solve_case_clover();
  QudaInvertParam param = solve_case_invert(QUDA_CLOVER_WILSON_DSLASH);
  param.matpc_type = QUDA_MATPC_ODD_ODD_ASYMMETRIC;
  param.solution_type = QUDA_MATPC_SOLUTION;
  param.solve_type = QUDA_NORMOP_PC_SOLVE;
  param.cuda_prec_sloppy = QUDA_HALF_PRECISION;
  invertQuda(x + half, b + half, &param);
  const int steps = param.iter;
  MatQuda(y, x + half, &param);
  test_below("|A x - b| / |b| in half precision", solve_case_deviation(1, y, b + half, half),
             1.2e-10);
  assert_true(solve_case_norm(x, half) == 0); /* the even half is another's */
  param.use_init_guess = QUDA_USE_INIT_GUESS_YES;
  invertQuda(x + half, b + half, &param);
  assert_true(param.iter < steps / 4);
  param.use_init_guess = QUDA_USE_INIT_GUESS_NO;
  param.residual_type = QUDA_L2_ABSOLUTE_RESIDUAL;
  param.tol = 1e-6;
  invertQuda(x + half, b + half, &param);
  MatQuda(y, x + half, &param);
  const double absolute =
      solve_case_deviation(1, y, b + half, half) * solve_case_norm(b + half, half);
  test_below("|A x - b|", absolute, 1.2e-6);
  assert_true(absolute > 1e-9); /* it stopped early */
  /* with both norms the stricter counts: of a source below 1 the relative one */
  const double norm = solve_case_norm(b + half, half);
  for (size_t i = 0; i < half; i++) b[half + i] *= 1e-3 / norm;
  param.residual_type = QUDA_L2_RELATIVE_RESIDUAL | QUDA_L2_ABSOLUTE_RESIDUAL;
  invertQuda(x + half, b + half, &param);
  MatQuda(y, x + half, &param);
  test_below("|A x - b| / |b|", solve_case_deviation(1, y, b + half, half), 1.2e-6);
  param.residual_type = QUDA_L2_RELATIVE_RESIDUAL | QUDA_HEAVY_QUARK_RESIDUAL;
  param.tol = 1e-2;
  param.tol_hq = 1e-7;
  invertQuda(x + half, b + half, &param);
  assert_true(param.true_res_hq[0] > 0 && param.true_res_hq[0] <= 1.1e-7);
  param.residual_type = QUDA_HEAVY_QUARK_RESIDUAL;
  invertQuda(x + half, b + half, &param);
  assert_true(param.true_res_hq[0] > 0 && param.true_res_hq[0] <= 1.1e-7);
  free(b), free(x), free(y);
}

/* ---- tmLQCD: phases in the links ---- */

/* Multiplies complex numbers of one slice after another by exp(i angle t), or by exp(i angle). */
static void turn(double *z, size_t reals, double angle, int by_slice) {
  int origin[4];
  kaon_lattice_part(c.lattice, NULL, origin, NULL);
  const size_t half = c.sites * reals / 2, slice = half / (size_t)c.part[3];
  for (size_t i = 0; i < 2 * half; i += 2) {
    const double a = by_slice ? angle * (double)((size_t)origin[3] + i % half / slice) : angle;
    const double re = z[i] * cos(a) - z[i + 1] * sin(a), im = z[i] * sin(a) + z[i + 1] * cos(a);
    z[i] = re;
    z[i + 1] = im;
  }
}

static void load_phases(double angle) {
  QudaGaugeParam param = solve_case_gauge(&c);
  double *bare = solve_case_array(c.sites * CASE_MATRIX, 0), *with_sign = c.links[3];
  param.t_boundary = QUDA_PERIODIC_T;
  param.reconstruct_sloppy = QUDA_RECONSTRUCT_NO;
  solve_case_links(&c, LINK_EPS, LINK_SEED); /* without the sign: */
  must(c.ctx, kaon_gauge_export(c.gauge, KAON_ORDER_QDP, KAON_DOUBLE,
                                (void *const[]){c.links[0], c.links[1], c.links[2], bare}));
  turn(bare, CASE_MATRIX, angle, 0);
  c.links[3] = bare;
  loadGaugeQuda(c.links, &param);
  c.links[3] = with_sign;
  free(bare);
}

/* With U_t exp(i pi / T) on a periodic lattice, M' = G M G^dagger, where M is antiperiodic and
 * G = exp(-i pi t / T). */
static void test_phases_are_a_boundary(void **state) {
  const size_t reals = c.sites * CASE_SPINOR;
  const double angle = acos(-1.0) / c.extents[3];
  double *b = solve_case_array(reals, 3), *x = solve_case_array(reals, 0),
         *turned = solve_case_array(reals, 0);
  (void)state;
  for (int i = 0; i < 2; i++) {
    const QudaDslashType dslash = i == 0 ? QUDA_WILSON_DSLASH : QUDA_TWISTED_CLOVER_DSLASH;
    QudaInvertParam param = solve_case_invert(dslash);
    param.gamma_basis = QUDA_CHIRAL_GAMMA_BASIS;
    param.solve_type = QUDA_NORMOP_PC_SOLVE;
    param.matpc_type = QUDA_MATPC_ODD_ODD_ASYMMETRIC;
    param.cuda_prec_sloppy = QUDA_SINGLE_PRECISION;
    solve_case_load(&c);
    solve_case_clover();
    invertQuda(x, b, &param);
    load_phases(angle);
    solve_case_clover();
    turn(b, CASE_SPINOR, -angle, 1);
    invertQuda(turned, b, &param);
    turn(b, CASE_SPINOR, angle, 1);
    turn(turned, CASE_SPINOR, angle, 1);
    /* both to 1e-10, times the condition of M, which is below 50 at this kappa */
    test_below("phases against a boundary", solve_case_deviation(1, turned, x, reals), 1e-8);
  }
  free(b), free(x), free(turned);
}

/* ---- shifts ---- */

static void test_shifts_are_those_of_the_client(void **state) {
  enum { SHIFTS = 3 };
  const double offsets[SHIFTS] = {0.01, 0.1, 1.5};
  const size_t half = c.sites * CASE_SPINOR / 2;
  double *b = solve_case_array(half, 4), *y = solve_case_array(half, 0), *x[SHIFTS];
  (void)state;
  solve_case_load(&c);
  solve_case_clover();
  for (int i = 0; i < SHIFTS; i++) x[i] = solve_case_array(half, 0);
  for (int norm = 0; norm < 3; norm++) {
    QudaInvertParam param = solve_case_invert(QUDA_CLOVER_WILSON_DSLASH);
    param.solution_type = QUDA_MATPCDAG_MATPC_SOLUTION;
    param.solve_type = QUDA_NORMOP_PC_SOLVE;
    param.mass_normalization = norm;
    param.num_offset = SHIFTS;
    for (int i = 0; i < SHIFTS; i++) {
      param.offset[i] = offsets[i];
      param.tol_offset[i] = 1e-9;
    }
    param.compute_action = 1;
    double action = 0;
    for (int i = 0; i < SHIFTS; i++) param.residue[i] = i + 0.5;
    invertMultiShiftQuda((void **)x, b, &param);
    for (int i = 0; i < SHIFTS; i++)
      for (size_t k = 0; k < half; k++) action += (i + 0.5) * b[k] * x[i][k];
    action = solve_case_sum(action);
    if (norm != QUDA_KAPPA_NORMALIZATION)
      action *= pow(solve_case_divisor(1, norm, param.kappa), 2);
    test_close("action", param.action[0], action, 1e-12 * fabs(action));
    for (int i = 0; i < SHIFTS; i++) {
      MatDagMatQuda(y, x[i], &param);
      for (size_t k = 0; k < half; k++) y[k] += offsets[i] * x[i][k];
      test_below("|(A^dag A + offset) x - b| / |b|", solve_case_deviation(1, y, b, half), 1.2e-9);
      assert_true(param.true_res_offset[i] <= 1.1e-9);
    }
  }
  for (int i = 0; i < SHIFTS; i++) free(x[i]);
  free(b), free(y);
}

/* ---- Chroma: guesses from earlier solutions ---- */

/* Steps for a source that moves on by `t`. */
static int steps_at(QudaInvertParam *param, double t, double *b, double *x, size_t reals) {
  for (size_t i = 0; i < reals; i++) b[i] = 1 + sin((double)(i % 1009) + t);
  invertQuda(x, b, param);
  assert_true(param->true_res[0] <= 1.1 * param->tol);
  return param->iter;
}

/* sin(i + t) has two dimensions, and the constant is a third. */
static void test_earlier_solutions_are_guesses(void **state) {
  const size_t reals = c.sites * CASE_SPINOR / 2;
  double *b = solve_case_array(reals, 0), *x = solve_case_array(reals, 0);
  (void)state;
  solve_case_load(&c);
  solve_case_clover();
  QudaInvertParam param = solve_case_invert(QUDA_CLOVER_WILSON_DSLASH);
  param.solution_type = QUDA_MATPC_SOLUTION;
  param.dagger = QUDA_DAG_YES;
  param.use_init_guess = QUDA_USE_INIT_GUESS_YES; /* chrono_use_resident goes before */
  param.chrono_index = 3;
  param.chrono_max_dim = 3;
  param.chrono_make_resident = param.chrono_use_resident = 1;
  const int cold = steps_at(&param, 0, b, x, reals);
  for (int i = 1; i < 3; i++) steps_at(&param, 0.1 * i, b, x, reals);
  assert_true(steps_at(&param, 0.3, b, x, reals) < cold / 2);
  flushChronoQuda(2);
  assert_true(steps_at(&param, 0.4, b, x, reals) < cold / 2);
  flushChronoQuda(-1);
  assert_true(steps_at(&param, 0.5, b, x, reals) > cold / 2);
  param.chrono_replace_last = 1;
  for (int i = 0; i < 2; i++) steps_at(&param, 0.6, b, x, reals);
  assert_true(steps_at(&param, 0.6, b, x, reals) <= 1);
  flushChronoQuda(-1);
  free(b), free(x);
}

/* ---- other links ---- */

static void expect_term(double *in, double *out, const double *expected, size_t reals) {
  QudaInvertParam param = solve_case_invert(QUDA_CLOVER_WILSON_DSLASH);
  cloverQuda(out, in, &param, QUDA_EVEN_PARITY, 0);
  test_below("the term against the former one", solve_case_deviation(1, out, expected, reals),
             3e-14);
}

/* Until loadCloverQuda() is called again, the term is that of the links that it saw. */
static void test_clover_term_stays_when_links_change(void **state) {
  const size_t half = c.sites * CASE_SPINOR / 2;
  double *in = solve_case_array(half, 4), *out = solve_case_array(half, 0),
         *expected = solve_case_array(half, 0);
  QudaInvertParam param = solve_case_invert(QUDA_CLOVER_WILSON_DSLASH);
  QudaGaugeParam periodic = solve_case_gauge(&c);
  (void)state;
  periodic.t_boundary = QUDA_PERIODIC_T;
  for (int freed = 0; freed < 2; freed++) {
    solve_case_load(&c);
    solve_case_clover();
    cloverQuda(expected, in, &param, QUDA_EVEN_PARITY, 0);
    solve_case_fold(&c);
    loadGaugeQuda(c.links, &periodic);
    expect_term(in, out, expected, half);
    if (freed) freeGaugeQuda();
    solve_case_links(&c, LINK_EPS, LINK_SEED + 1);
    solve_case_load(&c);
    expect_term(in, out, expected, half);
    solve_case_links(&c, LINK_EPS, LINK_SEED);
    solve_case_load(&c);
    expect_term(in, out, expected, half);
  }
  free(in), free(out), free(expected);
}

/* Links above 1 do not fit half precision: single takes its place. */
static void test_large_links_run_in_single(void **state) {
  const size_t reals = c.sites * CASE_SPINOR;
  double *b = solve_case_array(reals, 4), *x = solve_case_array(reals, 0);
  QudaInvertParam param = solve_case_invert(QUDA_WILSON_DSLASH);
  (void)state;
  for (int mu = 0; mu < 4; mu++)
    for (size_t i = 0; i < c.sites * CASE_MATRIX; i++) c.links[mu][i] *= 1.3;
  solve_case_load(&c);
  param.kappa = 0.08;
  param.verbosity = QUDA_SUMMARIZE;
  param.cuda_prec_sloppy = QUDA_HALF_PRECISION;
  invertQuda(x, b, &param);
  assert_true(param.true_res[0] <= 1.1e-10);
  solve_case_links(&c, LINK_EPS, LINK_SEED);
  free(b), free(x);
}

/* On one parity - D D of mass 0 is solved. The links need staggered phases, or the flag of them. */
static void test_staggered_mass_may_be_zero(void **state) {
  const size_t half = c.sites * CASE_COLOUR / 2;
  double *b = solve_case_array(half, 4), *x = solve_case_array(half, 0),
         *y = solve_case_array(half, 0);
  QudaInvertParam param = solve_case_invert(QUDA_STAGGERED_DSLASH);
  QudaGaugeParam links = solve_case_gauge(&c);
  (void)state;
  links.staggered_phase_applied = 1;
  loadGaugeQuda(c.links, &links);
  param.mass = 0;
  param.mass_normalization = QUDA_MASS_NORMALIZATION;
  param.solution_type = QUDA_MATPC_SOLUTION;
  invertQuda(x, b, &param);
  assert_true(param.true_res[0] <= 1.1e-10);
  MatQuda(y, x, &param);
  test_below("|D D x + b| / |b|", solve_case_deviation(1, y, b, half), 1.2e-10);
  param.mass = 0.1;
  param.num_offset = 1;
  param.tol_offset[0] = 1e-10;
  memset(x, 0, half * sizeof *x);
  invertMultiShiftQuda((void **)&x, b, &param); /* offset 0 */
  param.mass = 0;
  MatQuda(y, x, &param);
  test_below("|D D x + b| / |b|, shift", solve_case_deviation(1, y, b, half), 1.2e-10);
  setenv("KAON_QUDA_ON_ERROR", "return", 1);
  param.offset[0] = -0.1;
  invertMultiShiftQuda((void **)&x, b, &param);
  assert_true(param.iter == -1 && param.secs > 0 && isnan(param.true_res_hq_offset[0]));
  param.mass_normalization = QUDA_KAPPA_NORMALIZATION; /* divides by the mass */
  invertQuda(x, b, &param);
  assert_int_equal(param.iter, -1);
  param.mass_normalization = QUDA_MASS_NORMALIZATION;
  solve_case_load(&c);
  invertQuda(x, b, &param);
  assert_int_equal(param.iter, -1);
  unsetenv("KAON_QUDA_ON_ERROR");
  free(b), free(x), free(y);
}

/* ---- refusals ---- */

static void spoil(QudaInvertParam *param, int how) {
  switch (how) {
    case 0:
      param->dslash_type = QUDA_MOBIUS_DWF_DSLASH;
      break;
    case 1:
      param->inv_type = QUDA_EIGCG_INVERTER;
      break;
    case 2:
      param->solution_type = QUDA_MATPC_SOLUTION, param->solve_type = QUDA_DIRECT_SOLVE;
      break;
    case 3:
      param->maxiter = QUDA_INVALID_ENUM;
      break;
    case 4:
      param->kappa = newQudaInvertParam().kappa;
      break;
    case 5:
      param->inv_type_precondition = QUDA_MG_INVERTER, param->preconditioner = param;
      break;
    case 6:
      param->num_src = QUDA_MAX_MULTI_SRC + 1;
      break;
    case 7:
      param->mass_normalization = QUDA_INVALID_NORMALIZATION;
      break;
    case 8:
      param->tol = NAN;
      break;
    case 9:
      param->tol = 2;
      break;
    case 10:
      param->residual_type = QUDA_HEAVY_QUARK_RESIDUAL, param->tol_hq = NAN;
      break;
    case 11:
      param->residual_type = 0;
      break;
    case 12:
      param->dagger = QUDA_DAG_INVALID;
      break;
    case 13:
      param->dslash_type = QUDA_TWISTED_MASS_DSLASH, param->twist_flavor = QUDA_TWIST_NO;
      break;
    case 14:
      param->dslash_type = QUDA_DOMAIN_WALL_4D_DSLASH, param->m5 = -5;
      break;
    case 15:
      param->num_src = 0;
      break;
    default:
      param->matpc_type = QUDA_MATPC_INVALID;
      break;
  }
}

static void test_refusals_leave_the_client_alive(void **state) {
  const size_t reals = c.sites * CASE_SPINOR;
  double *b = solve_case_array(reals, 3), *x = solve_case_array(reals, 0);
  (void)state;
  solve_case_load(&c);
  setenv("KAON_QUDA_ON_ERROR", "return", 1);
  for (int how = 0; how < 17; how++) {
    QudaInvertParam param = solve_case_invert(QUDA_WILSON_DSLASH);
    spoil(&param, how);
    param.iter = 5;
    param.true_res[0] = param.secs = 0;
    invertMultiSrcQuda((void **)&x, (void **)&b, &param);
    assert_int_equal(param.iter, -1);
    assert_true(isnan(param.true_res[0]) && param.secs > 0);
  }
  unsetenv("KAON_QUDA_ON_ERROR");
  assert_true(solve_case_norm(x, reals) == 0);
  free(b), free(x);
}

int main(int argc, char **argv) {
  quda_case ranks;
  quda_case_start(&argc, &argv, &ranks);
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_half_arrays_take_guesses),
                                     cmocka_unit_test(test_phases_are_a_boundary),
                                     cmocka_unit_test(test_shifts_are_those_of_the_client),
                                     cmocka_unit_test(test_earlier_solutions_are_guesses),
                                     cmocka_unit_test(test_clover_term_stays_when_links_change),
                                     cmocka_unit_test(test_large_links_run_in_single),
                                     cmocka_unit_test(test_staggered_mass_may_be_zero),
                                     cmocka_unit_test(test_refusals_leave_the_client_alive)};
  const int failed = test_main(tests, open_case, close_case);
  quda_case_end();
  return failed;
}
