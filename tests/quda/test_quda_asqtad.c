/* test_quda_asqtad.c - staggered operators and solves of quda.h, as PyQUDA calls them, against plain C. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/quda/milc_case.h"
#include "tests/quda/quda_case.h"
#include "tests/quda/solve_case.h"

/* Sums of some 50 products, twice. */
static const double rounding = 1e-14, mass = 0.2;
static milc_case m;
static double *source; /* of the whole lattice, lexicographic */

static int open_case(void **state) {
  static const int extents[4] = {4, 4, 6, 8}, grid[4] = {1, 1, 1, 1};
  (void)state;
  milc_open(&m, extents, grid, 0, 0);
  source = milc_random(&m, CASE_COLOUR, 5);
  initCommsGridQuda(4, grid, NULL, NULL);
  initQuda(-1);
  return 0;
}

static int close_case(void **state) {
  (void)state;
  endQuda();
  milc_close(&m);
  free(source);
  return 0;
}

static void load(QudaLinkType type, const double *links, int applied) {
  QudaGaugeParam param = newQudaGaugeParam();
  double *part = milc_part(&m, links, 4 * CASE_MATRIX, sizeof *part);
  memcpy(param.X, m.extents, sizeof param.X);
  param.type = type;
  param.gauge_order = QUDA_MILC_GAUGE_ORDER;
  param.t_boundary = QUDA_ANTI_PERIODIC_T;
  param.anisotropy = 1.0;
  param.cpu_prec = param.cuda_prec = param.cuda_prec_sloppy = QUDA_DOUBLE_PRECISION;
  param.reconstruct = param.reconstruct_sloppy = QUDA_RECONSTRUCT_NO;
  param.staggered_phase_type = QUDA_STAGGERED_PHASE_MILC;
  param.staggered_phase_applied = applied;
  loadGaugeQuda(part, &param);
  free(part);
}

static QudaInvertParam parameters(QudaDslashType dslash) {
  QudaInvertParam param = solve_case_invert(dslash);
  param.mass = mass;
  param.kappa = 0.5;
  param.mass_normalization = QUDA_MASS_NORMALIZATION;
  return param;
}

/* |a x - b| / |b|, x in the client's order and b of the whole lattice, on one parity or on both (2). */
static double deviation(double a, const double *x, const double *b, int parity) {
  double *there = milc_part(&m, b, CASE_COLOUR, sizeof *there), sum = 0, norm = 0;
  const int64_t half = m.sites / 2 * CASE_COLOUR, first = parity == 1 ? half : 0;
  const int64_t end = parity == 0 ? half : 2 * half;
  for (int64_t i = first; i < end; i++) {
    const double d = a * x[i - (parity == 1 ? first : 0)] - there[i];
    sum += d * d;
    norm += there[i] * there[i];
  }
  free(there);
  return sqrt(sum / norm);
}

static void test_operators_are_those_of_plain_c(void **state) {
  const size_t reals = (size_t)m.sites * CASE_COLOUR, half = reals / 2;
  double *in = milc_part(&m, source, CASE_COLOUR, sizeof *in), *out = solve_case_array(reals, 0);
  double *hop = milc_random(&m, CASE_COLOUR, 1), *expected = milc_random(&m, CASE_COLOUR, 1);
  (void)state;
  load(QUDA_WILSON_LINKS, m.fat, 1);
  load(QUDA_ASQTAD_FAT_LINKS, m.fat, 1);
  load(QUDA_ASQTAD_LONG_LINKS, m.naik, 1);
  for (int improved = 0; improved < 2; improved++) {
    QudaInvertParam param = parameters(improved ? QUDA_ASQTAD_DSLASH : QUDA_STAGGERED_DSLASH);
    for (int parity = 0; parity < 2; parity++)
      milc_hop(&m, m.fat, improved ? m.naik : NULL, parity, source, hop);
    for (int dagger = 0; dagger < 2; dagger++) { /* 2 m - D, and 2 m + D */
      const double sign = dagger ? 1 : -1;
      param.dagger = dagger;
      param.solution_type = QUDA_MAT_SOLUTION;
      for (size_t i = 0; i < reals; i++) expected[i] = 2 * mass * source[i] + sign * hop[i];
      MatQuda(out, in, &param);
      test_below("M", deviation(1, out, expected, 2), rounding);
      param.mass_normalization = QUDA_KAPPA_NORMALIZATION;
      MatQuda(out, in, &param);
      test_below("M / 2 m", deviation(2 * mass, out, expected, 2), rounding);
      dslashQuda(out, in + half, &param, QUDA_EVEN_PARITY);
      test_below("D / 2 m", deviation(-sign * 2 * mass, out, hop, 0), rounding);
      param.mass_normalization = QUDA_MASS_NORMALIZATION;
      dslashQuda(out, in, &param, QUDA_ODD_PARITY);
      test_below("D", deviation(-sign, out, hop, 1), rounding);
    }
    for (int parity = 0; parity < 2; parity++) {
      memset(expected, 0, reals * sizeof *expected);
      milc_hop(&m, m.fat, improved ? m.naik : NULL, parity, hop, expected);
      for (size_t i = 0; i < reals; i++) expected[i] = 4 * mass * mass * source[i] - expected[i];
      param.solution_type = QUDA_MATPC_SOLUTION;
      param.matpc_type = parity == 0 ? QUDA_MATPC_EVEN_EVEN : QUDA_MATPC_ODD_ODD;
      MatQuda(out, in + (parity == 0 ? 0 : half), &param);
      test_below("4 m^2 - D D", deviation(1, out, expected, parity), rounding);
    }
  }
  free(in), free(out), free(hop), free(expected);
}

/* The solution goes through the operator, and must be the source. */
static double apply(QudaInvertParam *param, const double *x, const double *b, size_t reals) {
  double *y = solve_case_array(reals, 0), sum = 0, norm = 0;
  (param->solution_type == QUDA_MATDAG_MAT_SOLUTION ? MatDagMatQuda : MatQuda)(
      y, (void *)(uintptr_t)x, param);
  for (size_t i = 0; i < reals; i++) {
    sum += (y[i] - b[i]) * (y[i] - b[i]);
    norm += b[i] * b[i];
  }
  free(y);
  return sqrt(sum / norm);
}

static const struct {
  QudaSolutionType solution;
  QudaSolveType solve;
  QudaInverterType inverter;
} systems[] = {{QUDA_MAT_SOLUTION, QUDA_DIRECT_PC_SOLVE, QUDA_CG_INVERTER},
               {QUDA_MAT_SOLUTION, QUDA_NORMOP_SOLVE, QUDA_CG_INVERTER},
               {QUDA_MAT_SOLUTION, QUDA_DIRECT_SOLVE, QUDA_GCR_INVERTER},
               {QUDA_MATDAG_MAT_SOLUTION, QUDA_NORMOP_SOLVE, QUDA_CG_INVERTER},
               {QUDA_MATPC_SOLUTION, QUDA_DIRECT_PC_SOLVE, QUDA_CG_INVERTER}};

static void test_solutions_go_through_the_operator(void **state) {
  const size_t reals = (size_t)m.sites * CASE_COLOUR;
  double *b = milc_part(&m, source, CASE_COLOUR, sizeof *b), *x = solve_case_array(reals, 0);
  double worst = 0;
  (void)state;
  load(QUDA_ASQTAD_FAT_LINKS, m.fat, 1);
  load(QUDA_ASQTAD_LONG_LINKS, m.naik, 1);
  for (size_t s = 0; s < sizeof systems / sizeof *systems; s++)
    for (int matpc = QUDA_MATPC_EVEN_EVEN; matpc <= QUDA_MATPC_ODD_ODD; matpc++)
      for (int norm = QUDA_KAPPA_NORMALIZATION; norm <= QUDA_MASS_NORMALIZATION; norm++)
        for (int dagger = 0; dagger < 2; dagger++) {
          QudaInvertParam param = parameters(QUDA_ASQTAD_DSLASH);
          const int pc = systems[s].solution == QUDA_MATPC_SOLUTION;
          const size_t first = pc && matpc == QUDA_MATPC_ODD_ODD ? reals / 2 : 0;
          param.solution_type = systems[s].solution;
          param.solve_type = systems[s].solve;
          param.inv_type = systems[s].inverter;
          param.matpc_type = matpc;
          param.mass_normalization = norm;
          param.dagger = dagger;
          param.cuda_prec_sloppy = QUDA_SINGLE_PRECISION;
          param.tol = 1e-9;
          invertQuda(x + first, b + first, &param);
          worst = fmax(worst, apply(&param, x + first, b + first, pc ? reals / 2 : reals));
        }
  test_below("largest |A x - b| / |b|", worst, 1.2e-9);
  free(b), free(x);
}

static void test_shifts_are_masses(void **state) {
  enum { SHIFTS = 3 };
  const double offsets[SHIFTS] = {0.04, 0.16, 1.0};
  const size_t half = (size_t)m.sites * CASE_COLOUR / 2;
  double *b = milc_part(&m, source, CASE_COLOUR, sizeof *b), *x[SHIFTS];
  (void)state;
  load(QUDA_ASQTAD_FAT_LINKS, m.fat, 1);
  load(QUDA_ASQTAD_LONG_LINKS, m.naik, 1);
  QudaInvertParam param = parameters(QUDA_ASQTAD_DSLASH);
  param.solution_type = QUDA_MATPC_SOLUTION;
  param.num_offset = SHIFTS;
  for (int i = 0; i < SHIFTS; i++) {
    x[i] = solve_case_array(half, 0);
    param.offset[i] = offsets[i];
    param.tol_offset[i] = 1e-9;
  }
  invertMultiShiftQuda((void **)x, b, &param);
  for (int i = 0; i < SHIFTS; i++) {
    param.mass = sqrt(offsets[i]) / 2;
    test_below("|(offset - D D) x - b| / |b|", apply(&param, x[i], b, half), 1.2e-9);
    free(x[i]);
  }
  free(b);
}

int main(int argc, char **argv) {
  quda_case ranks;
  quda_case_start(&argc, &argv, &ranks);
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_operators_are_those_of_plain_c),
                                     cmocka_unit_test(test_solutions_go_through_the_operator),
                                     cmocka_unit_test(test_shifts_are_masses)};
  const int failed = test_main(tests, open_case, close_case);
  quda_case_end();
  return failed;
}
