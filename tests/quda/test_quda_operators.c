/* test_quda_operators.c - QUDA's operators, and solves in every form, called as PyQUDA calls them,
 * against kaon's own calls and against each other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/quda/quda_case.h"
#include "tests/quda/solve_case.h"

enum { COLUMNS = 12, LS = 4 };
static solve_case c;

/* A QMP of the application's, which gives the grid of four ranks; x runs fastest. */
int QMP_logical_topology_is_declared(void);
int QMP_get_logical_number_of_dimensions(void);
const int *QMP_get_logical_dimensions(void);
int QMP_get_node_number_from(const int *x);

int QMP_logical_topology_is_declared(void) {
  return c.grid[2] > 1;
}

int QMP_get_logical_number_of_dimensions(void) {
  return 4;
}

const int *QMP_get_logical_dimensions(void) {
  return c.grid;
}

int QMP_get_node_number_from(const int *x) {
  return x[3] * c.grid[2] + x[2];
}

static int open_case(void **state) {
  (void)state;
  solve_case_open(&c, (const int[4]){4, 2, 4, 4}, 0.4);
  return 0;
}

static int close_case(void **state) {
  (void)state;
  solve_case_close(&c);
  return 0;
}

static const QudaDslashType dslashes[] = {QUDA_WILSON_DSLASH, QUDA_CLOVER_WILSON_DSLASH,
                                          QUDA_TWISTED_MASS_DSLASH, QUDA_TWISTED_CLOVER_DSLASH};
enum { DSLASHES = sizeof dslashes / sizeof *dslashes };

/* ---- PyQUDA: 12 columns on all sites, BiCGStab on the even sites ---- */

static const struct {
  QudaGammaBasis quda;
  kaon_basis kaon;
} bases[] = {{QUDA_DEGRAND_ROSSI_GAMMA_BASIS, KAON_BASIS_DEGRAND_ROSSI},
             {QUDA_CHIRAL_GAMMA_BASIS, KAON_BASIS_CHIRAL}};

static void expect_columns(double *const *b, double *const *x, double factor, kaon_basis basis) {
  const double factors[COLUMNS][2] = {{factor, 0}, {factor, 0}, {factor, 0}, {factor, 0},
                                      {factor, 0}, {factor, 0}, {factor, 0}, {factor, 0},
                                      {factor, 0}, {factor, 0}, {factor, 0}, {factor, 0}};
  const size_t reals = c.sites * CASE_SPINOR;
  kaon_dirac_options dirac = KAON_DIRAC_OPTIONS_INIT;
  kaon_solver_options options = KAON_SOLVER_OPTIONS_INIT;
  kaon_operator *M = NULL, *R = NULL;
  kaon_solver *solver = NULL;
  double *expected = solve_case_array(reals, 0);
  dirac.kappa = 0.12;
  options.method = KAON_BICGSTAB;
  options.max_iterations = 1000;
  must(c.ctx, kaon_dirac_create(c.gauge, &dirac, &M));
  must(c.ctx, kaon_dirac_even_odd(M, NULL, &R));
  must(c.ctx, kaon_solver_create(R, COLUMNS, &options, &solver));
  kaon_vector *source = solve_case_vector(&c, KAON_FULL, COLUMNS, (const double *const *)b, basis);
  kaon_vector *solution = solve_case_vector(&c, KAON_FULL, COLUMNS, NULL, basis);
  must(c.ctx, kaon_vector_scale(factors, source));
  must(c.ctx, kaon_solver_solve(solver, source, solution, NULL, NULL));
  for (int k = 0; k < COLUMNS; k++) {
    solve_case_export(&c, solution, k, expected, basis);
    assert_memory_equal(expected, x[k], reals * sizeof *expected);
  }
  free(expected);
  kaon_vector_destroy(&source);
  kaon_vector_destroy(&solution);
  kaon_solver_destroy(&solver);
  kaon_operator_destroy(&R);
  kaon_operator_destroy(&M);
}

static void test_columns_have_the_bits_of_the_library(void **state) {
  const size_t reals = c.sites * CASE_SPINOR;
  double *b[COLUMNS], *x[COLUMNS];
  (void)state;
  solve_case_load(&c);
  for (int k = 0; k < COLUMNS; k++) {
    b[k] = solve_case_array(reals, 11 + (uint64_t)k);
    x[k] = solve_case_array(reals, 0);
  }
  for (int i = 0; i < 2; i++)
    for (int norm = QUDA_KAPPA_NORMALIZATION; norm <= QUDA_ASYMMETRIC_MASS_NORMALIZATION; norm++) {
      QudaInvertParam param = solve_case_invert(QUDA_WILSON_DSLASH);
      param.inv_type = QUDA_BICGSTAB_INVERTER;
      param.num_src = COLUMNS;
      param.gamma_basis = bases[i].quda;
      param.mass_normalization = norm;
      invertMultiSrcQuda((void **)x, (void **)b, &param);
      assert_true(param.iter > 3 && param.secs > 0 && param.gflops > 0);
      for (int k = 0; k < COLUMNS; k++) assert_true(param.true_res[k] < 1.1e-10);
      expect_columns(b, x, norm == QUDA_KAPPA_NORMALIZATION ? 1 : 2 * 0.12, bases[i].kaon);
    }
  for (int k = 0; k < COLUMNS; k++) free(b[k]), free(x[k]);
}

/* ---- operators are those of the library ---- */

static kaon_operator *own_operator(QudaDslashType dslash) {
  kaon_dirac_options options = KAON_DIRAC_OPTIONS_INIT;
  kaon_operator *M = NULL;
  options.kappa = 0.12;
  if (dslash == QUDA_CLOVER_WILSON_DSLASH || dslash == QUDA_TWISTED_CLOVER_DSLASH)
    options.csw = 0.12 * solve_case_csw / 0.12;
  if (dslash == QUDA_TWISTED_MASS_DSLASH || dslash == QUDA_TWISTED_CLOVER_DSLASH) options.mu = 0.3;
  must(c.ctx, kaon_dirac_create(c.gauge, &options, &M));
  return M;
}

static void expect_operator(kaon_operator *A, kaon_parity parity, QudaInvertParam *param,
                            const double *in, double *out, double *expected, double bound) {
  const int pc = parity != KAON_FULL;
  const size_t reals = c.sites * CASE_SPINOR / (pc ? 2 : 1);
  kaon_vector *x = solve_case_vector(&c, parity, 1, &in, KAON_BASIS_DEGRAND_ROSSI);
  kaon_vector *y = solve_case_vector(&c, parity, 1, NULL, KAON_BASIS_DEGRAND_ROSSI);
  must(c.ctx, kaon_operator_apply(A, param->dagger ? KAON_DAGGER : KAON_PLAIN, x, y));
  solve_case_export(&c, y, 0, expected, KAON_BASIS_DEGRAND_ROSSI);
  for (int norm = 0; norm < 3; norm++) {
    param->mass_normalization = norm;
    param->solution_type = pc ? QUDA_MATPC_SOLUTION : QUDA_MAT_SOLUTION;
    MatQuda(out, (void *)(uintptr_t)in, param);
    const double found =
        solve_case_deviation(solve_case_divisor(pc, norm, param->kappa), out, expected, reals);
    if (!(found <= bound)) test_below("MatQuda against kaon", found, bound);
  }
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&y);
}

/* Beside the factors, the adjoint of M on all sites is computed as gamma_5 M(-mu) gamma_5. Sums of some
 * 200 terms round by less than 200 times 1.1e-16. */
static void test_operators_are_the_librarys(void **state) {
  const size_t reals = c.sites * CASE_SPINOR;
  double *in = solve_case_array(reals, 3), *out = solve_case_array(reals, 0),
         *expected = solve_case_array(reals, 0);
  (void)state;
  solve_case_load(&c);
  solve_case_clover();
  for (int i = 0; i < DSLASHES; i++)
    for (int matpc = QUDA_MATPC_EVEN_EVEN; matpc <= QUDA_MATPC_ODD_ODD_ASYMMETRIC; matpc++)
      for (int dagger = 0; dagger < 2; dagger++) {
        kaon_even_odd_options options = KAON_EVEN_ODD_OPTIONS_INIT;
        kaon_operator *M = own_operator(dslashes[i]), *R = NULL;
        QudaInvertParam param = solve_case_invert(dslashes[i]);
        param.matpc_type = matpc;
        param.dagger = dagger;
        options.parity = matpc % 2 == 0 ? KAON_EVEN : KAON_ODD;
        options.form = matpc < QUDA_MATPC_EVEN_EVEN_ASYMMETRIC ? KAON_EVEN_ODD_SYMMETRIC
                                                               : KAON_EVEN_ODD_ASYMMETRIC;
        must(c.ctx, kaon_dirac_even_odd(M, &options, &R));
        expect_operator(M, KAON_FULL, &param, in, out, expected, 3e-14);
        expect_operator(R, options.parity, &param, in, out, expected, 3e-14);
        kaon_operator_destroy(&R);
        kaon_operator_destroy(&M);
      }
  free(in), free(out), free(expected);
}

/* Exchanges the parities of odd slices. */
static void exchange_slices(double *v) {
  const size_t slice = c.sites * CASE_SPINOR / 2;
  for (size_t s = 1; s < LS; s += 2)
    for (size_t i = 0; i < slice; i++) {
      double *even = v + s * slice + i, *odd = even + LS * slice, keep = *even;
      *even = *odd;
      *odd = keep;
    }
}

/* QUDA's operator is kaon's over 5 + m5, and its normalisations multiply by that. */
static void test_domain_walls_are_the_librarys(void **state) {
  const size_t reals = c.sites * CASE_SPINOR * LS, bytes = reals * sizeof(double);
  const kaon_space *space = kaon_lattice_spinors_5d(c.lattice, LS, KAON_FULL);
  kaon_vector_layout layout = solve_case_layout(space, &c, KAON_BASIS_DEGRAND_ROSSI);
  kaon_domain_wall_options options = KAON_DOMAIN_WALL_OPTIONS_INIT;
  QudaInvertParam param = solve_case_invert(QUDA_DOMAIN_WALL_4D_DSLASH);
  double *in = solve_case_array(reals, 3), *out = solve_case_array(reals, 0),
         *expected = solve_case_array(reals, 0);
  kaon_operator *M = NULL;
  kaon_vector *x = NULL, *y = NULL;
  (void)state;
  solve_case_load(&c);
  param.Ls = options.ls = LS;
  options.mass = param.mass;
  options.m5 = -param.m5;
  layout.sites = KAON_SITES_EVEN_ODD;
  must(c.ctx, kaon_domain_wall_create(c.gauge, &options, &M));
  must(c.ctx, kaon_vector_create(c.ctx, space, KAON_DOUBLE, 1, &x));
  must(c.ctx, kaon_vector_create(c.ctx, space, KAON_DOUBLE, 1, &y));
  must(c.ctx, kaon_vector_import_ordered(x, 0, in, bytes, &layout));
  for (int dagger = 0; dagger < 2; dagger++) {
    must(c.ctx, kaon_operator_apply(M, dagger ? KAON_DAGGER : KAON_PLAIN, x, y));
    must(c.ctx, kaon_vector_export_ordered(y, 0, expected, bytes, &layout));
    param.dagger = dagger;
    for (int norm = 0; norm < 3; norm++) {
      param.mass_normalization = norm;
      MatQuda(out, in, &param);
      const double factor = norm == QUDA_KAPPA_NORMALIZATION ? 5 + param.m5 : 1;
      test_below("domain wall", solve_case_deviation(factor, out, expected, reals), 3e-14);
    }
  }
  /* the same numbers in the order of a parity of five dimensions */
  exchange_slices(in);
  exchange_slices(expected);
  param.dslash_type = QUDA_DOMAIN_WALL_DSLASH;
  MatQuda(out, in, &param);
  test_below("parity of five", solve_case_deviation(1, out, expected, reals), 3e-14);
  invertQuda(in, expected, &param);
  MatQuda(out, in, &param);
  test_below("parity of five", solve_case_deviation(1, out, expected, reals), 1.2e-10);
  free(in), free(out), free(expected);
  kaon_vector_destroy(&x);
  kaon_vector_destroy(&y);
  kaon_operator_destroy(&M);
}

/* T^-1 D and the clover term: one parity of M x is T x_p - kappa D x_q, so T (T^-1 D x) = D x can be
 * had from MatQuda with x zero on p. */
static void test_hops_are_parts_of_the_operator(void **state) {
  const size_t half = c.sites * CASE_SPINOR / 2;
  double *x = solve_case_array(2 * half, 9), *y = solve_case_array(2 * half, 0),
         *hop = solve_case_array(half, 0), *site = solve_case_array(half, 0);
  (void)state;
  solve_case_load(&c);
  solve_case_clover();
  memset(x, 0, half * sizeof *x); /* even sites */
  for (int dagger = 0; dagger < 2; dagger++) {
    QudaInvertParam param = solve_case_invert(QUDA_CLOVER_WILSON_DSLASH);
    param.dagger = dagger;
    MatQuda(y, x, &param);
    dslashQuda(hop, x + half, &param, QUDA_EVEN_PARITY);
    cloverQuda(site, hop, &param, QUDA_EVEN_PARITY, 0);
    test_below("A A^-1 D against -M / kappa", solve_case_deviation(-0.12, site, y, half), 3e-14);
    cloverQuda(hop, x + half, &param, QUDA_ODD_PARITY, 0);
    test_below("A against M", solve_case_deviation(1, hop, y + half, half), 3e-14);
    cloverQuda(site, hop, &param, QUDA_ODD_PARITY, 1);
    test_below("A^-1 A", solve_case_deviation(1, site, x + half, half), 3e-14);
    param.dslash_type = QUDA_WILSON_DSLASH;
    dslashQuda(hop, x + half, &param, QUDA_EVEN_PARITY);
    test_below("D against -M / kappa", solve_case_deviation(-0.12, hop, y, half), 3e-14);
    void *many[2] = {site, hop}, *from[2] = {x, x + half};
    param.num_src = 2;
    dslashMultiSrcQuda(many, from, &param, QUDA_EVEN_PARITY);
    test_below("D of two sources", solve_case_deviation(-0.12, hop, y, half), 3e-14);
    test_below("D of a source that is 0", solve_case_norm(site, half), 0);
  }
  free(x), free(y), free(hop), free(site);
}

/* ---- every combination solves what MatQuda applies ---- */

static const struct {
  QudaSolutionType solution;
  int pc, normal, solves;
  QudaSolveType solve[6];
} systems[] = {
    {QUDA_MAT_SOLUTION,
     0,
     0,
     6,
     {QUDA_DIRECT_SOLVE, QUDA_NORMOP_SOLVE, QUDA_NORMERR_SOLVE, QUDA_DIRECT_PC_SOLVE,
      QUDA_NORMOP_PC_SOLVE, QUDA_NORMERR_PC_SOLVE}},
    {QUDA_MATDAG_MAT_SOLUTION, 0, 1, 2, {QUDA_DIRECT_SOLVE, QUDA_NORMOP_SOLVE}},
    {QUDA_MATPC_SOLUTION,
     1,
     0,
     3,
     {QUDA_DIRECT_PC_SOLVE, QUDA_NORMOP_PC_SOLVE, QUDA_NORMERR_PC_SOLVE}},
    {QUDA_MATPC_DAG_SOLUTION, 1, 0, 2, {QUDA_DIRECT_PC_SOLVE, QUDA_NORMOP_PC_SOLVE}},
    {QUDA_MATPCDAG_MATPC_SOLUTION, 1, 1, 2, {QUDA_DIRECT_PC_SOLVE, QUDA_NORMOP_PC_SOLVE}},
};
enum { SYSTEMS = sizeof systems / sizeof *systems };

static const QudaInverterType inverters[] = {QUDA_CG_INVERTER, QUDA_BICGSTAB_INVERTER,
                                             QUDA_GCR_INVERTER};

/* Solves with system s, solve i. The solution goes through the operator, and must be the source. The
 * inverter and the normalisation change from call to call. */
static double solve_and_apply(QudaInvertParam *param, int s, int i, double *const arrays[3]) {
  static int calls;
  double *b = arrays[0], *x = arrays[1], *y = arrays[2];
  param->solution_type = systems[s].solution;
  param->solve_type = systems[s].solve[i];
  param->inv_type = inverters[calls % 3];
  param->gcrNkrylov = 100; /* more than GCR has */
  param->mass_normalization = calls++ / 3 % 3;
  const size_t reals = c.sites * CASE_SPINOR * (size_t)param->Ls / (systems[s].pc ? 2 : 1);
  invertQuda(x, b, param);
  assert_true(param->true_res[0] <= 1.1 * param->tol);
  (systems[s].normal ? MatDagMatQuda : MatQuda)(y, x, param);
  return solve_case_deviation(1, y, b, reals);
}

static int is_pc(QudaSolveType solve) {
  return solve == QUDA_DIRECT_PC_SOLVE || solve == QUDA_NORMOP_PC_SOLVE ||
         solve == QUDA_NORMERR_PC_SOLVE;
}

static double worst_of(QudaDslashType dslash, int Ls, double *const arrays[3]) {
  QudaInvertParam param = solve_case_invert(dslash);
  param.Ls = Ls;
  double worst = 0;
  param.tol = 1e-8;
  for (int s = 0; s < SYSTEMS; s++)
    for (int i = 0; i < systems[s].solves; i++)
      for (int matpc = QUDA_MATPC_EVEN_EVEN; matpc <= QUDA_MATPC_ODD_ODD_ASYMMETRIC; matpc++)
        for (int dagger = 0; dagger < 2; dagger++) {
          static int calls;
          const int ranks = c.grid[2] * c.grid[3];
          if (matpc != QUDA_MATPC_EVEN_EVEN && !is_pc(systems[s].solve[i])) continue;
          if (ranks > 1 && calls++ % 13 != 0) continue; /* some of all */
          param.matpc_type = matpc;
          param.dagger = dagger;
          const double found = solve_and_apply(&param, s, i, arrays);
          if (!(found <= worst)) worst = found;
        }
  return worst;
}

static void test_solutions_go_through_the_operator(void **state) {
  const size_t reals = c.sites * CASE_SPINOR * LS;
  double *const arrays[3] = {solve_case_array(reals, 5), solve_case_array(reals, 0),
                             solve_case_array(reals, 0)};
  (void)state;
  solve_case_load(&c);
  solve_case_clover();
  for (int i = 0; i < DSLASHES; i++) /* a solve stops at 1.1 tol; rounding is far below */
    test_below("largest |A x - b| / |b|", worst_of(dslashes[i], 1, arrays), 1.2e-8);
  test_below("largest |A x - b| / |b|, domain wall",
             worst_of(QUDA_DOMAIN_WALL_4D_DSLASH, LS, arrays), 1.2e-8);
  for (int i = 0; i < 3; i++) free(arrays[i]);
}

int main(int argc, char **argv) {
  quda_case ranks;
  quda_case_start(&argc, &argv, &ranks);
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_columns_have_the_bits_of_the_library),
                                     cmocka_unit_test(test_operators_are_the_librarys),
                                     cmocka_unit_test(test_domain_walls_are_the_librarys),
                                     cmocka_unit_test(test_hops_are_parts_of_the_operator),
                                     cmocka_unit_test(test_solutions_go_through_the_operator)};
  const int failed = test_main(tests, open_case, close_case);
  quda_case_end();
  return failed;
}
