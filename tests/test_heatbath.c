/* test_heatbath.c - quenched updates: reproducible, microcanonical where they should be, and with
 * the plaquettes that theory and other codes found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>
#include <cmocka.h>

#include "gauge/gauge_internal.h"
#include "tests/util/link_case.h"

static const int shape_plain[4] = {4, 6, 2, 10}, shape_split[4] = {8, 8, 8, 8};

static double plaquette_of(dirac_case *c) {
  kaon_observables o = KAON_OBSERVABLES_INIT;
  must(c->ctx, kaon_gauge_measure(c->gauge, &o));
  return o.plaquette;
}

/* ---- reproducibility ---- */

/* Links after `sweeps` sweeps from unit links, on `threads` threads, in pieces of `piece` sweeps.
 */
static ref_complex *links_after(int threads, int piece, int sweeps) {
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  kaon_heatbath_options heatbath = KAON_HEATBATH_OPTIONS_INIT;
  dirac_case c = {.L = ref_lattice_make(4, 6, 2, 10)};
  options.threads = threads;
  heatbath.overrelaxation = 2;
  heatbath.seed = 12345;
  must(NULL, kaon_context_create(&options, &c.ctx));
  must(c.ctx, kaon_lattice_create(c.ctx, shape_plain, KAON_PERIODIC, &c.lattice));
  must(c.ctx, kaon_gauge_create(c.lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &c.gauge));
  for (int done = 0; done < sweeps; done += piece) {
    heatbath.sweep = (uint64_t)done;
    must(c.ctx, kaon_gauge_heatbath(c.gauge, &heatbath, piece));
  }
  ref_complex *u = case_links(&c, c.gauge);
  case_close(&c);
  return u;
}

static void links_do_not_depend_on_threads_nor_on_interruptions(void **state) {
  (void)state;
  ref_complex *u = links_after(1, 6, 6);
  for (int threads = 1; threads <= 3; threads++) {
    ref_complex *v = links_after(threads, threads, 6);
    assert_memory_equal(u, v, 36 * 480 * sizeof *u);
    free(v);
  }
  free(u);
  printf("  1, 2, 3 threads; 6 x 1, 3 x 2, 2 x 3 sweeps: the same bits\n");
}

/* One sweep. Instruction sets differ only in site order and in fused multiply-adds. */
static void compare_machines(double beta) {
  ref_complex *first = NULL;
  printf(" beta %g\n", beta);
  for (int isa = KAON_ISA_SCALAR; isa <= MACHINE_LAST; isa++) {
    dirac_case c;
    kaon_heatbath_options heatbath = KAON_HEATBATH_OPTIONS_INIT;
    heatbath.overrelaxation = 0;
    heatbath.beta = beta;
    if (!case_open(&c, isa, shape_split, 0, LINKS_WEAK, 3)) continue;
    must(c.ctx, kaon_gauge_heatbath(c.gauge, &heatbath, 1));
    ref_complex *u = case_links(&c, c.gauge);
    if (first == NULL) {
      first = u;
    } else {
      /* an update passes its staples' error on, amplified by the condition of projecting on SU(2)
       * (norm 12 over its smallest, above 0.1 here); 8 updates build on each other: 8 x 120 x 100
       * roundings. A draw that one set rejects and another accepts would show at order 1 */
      test_below(isa_names[isa], ref_max_diff(u, first, ref_links_size(&c.L)),
                 8 * 120 * 100 * ROUND);
      free(u);
    }
    case_close(&c);
  }
  free(first);
}

static void instruction_sets_agree_to_rounding(void **state) {
  (void)state;
  compare_machines(6.0);
  compare_machines(
      0.3); /* weak pull: Creutz's draws, whose log1p and expm1 are the machine's own */
}

/* ---- over-relaxation ---- */

static void over_relaxation_keeps_the_action(void **state) {
  (void)state;
  for (int isa = KAON_ISA_SCALAR; isa <= MACHINE_LAST; isa++) {
    dirac_case c;
    if (!case_open(&c, isa, isa % 2 ? shape_plain : shape_split, 0, LINKS_WEAK, 9)) continue;
    const kaon_gauge_ops *ops = NULL;
    kaon_launch launch;
    kaon_wide_links wide;
    kaon_site_table table;
    const double before = plaquette_of(&c);
    must(c.ctx, kaon_gauge_kernels(c.ctx, &ops));
    must(c.ctx, kaon_launch_prepare(c.ctx, 1, 0, &launch));
    must(c.ctx, kaon_wide_open(c.gauge, 0, &wide));
    must(c.ctx, kaon_site_table_create(c.lattice, &table));
    for (int step = 0; step < 24; step++) { /* three sweeps */
      const kaon_update_links_args args = {.on = kaon_links_on(&wide, step / 4 % 2, &table, NULL),
                                           .kind = KAON_UPDATE_OVERRELAX,
                                           .mu = step % 4};
      ops->update(&launch, &args);
    }
    kaon_site_table_release(&table);
    ref_complex *u = case_links(&c, c.gauge);
    assert_true(ref_max_diff(u, c.u, ref_links_size(&c.L)) > 0.1);
    free(u);
    /* 12 updates of each link (three of each of 4 mu enter a plaquette), 100 roundings each */
    test_close("plaquette after three sweeps", plaquette_of(&c), before, 12 * 100 * ROUND);
    case_close(&c);
  }
}

/* ---- expectation values ---- */

/* Mean and error (from 10 blocks) of the plaquette over `sweeps` measurements. */
static double mean_plaquette(dirac_case *c, kaon_heatbath_options *heatbath, int thermalise,
                             int sweeps, double *error) {
  enum { BLOCKS = 10 };
  double block[BLOCKS] = {0}, mean = 0, square = 0;
  must(c->ctx, kaon_gauge_heatbath(c->gauge, heatbath, thermalise));
  heatbath->sweep += (uint64_t)thermalise;
  for (int i = 0; i < sweeps; i++) {
    must(c->ctx, kaon_gauge_heatbath(c->gauge, heatbath, 1));
    heatbath->sweep++;
    kaon_wide_links wide;
    double p[KAON_PLAQUETTE_MEANS];
    must(c->ctx, kaon_wide_open(c->gauge, 0, &wide));
    must(c->ctx, kaon_wide_plaquette(&wide, p));
    block[i * BLOCKS / sweeps] += (p[0] + p[1]) / 2 * BLOCKS / sweeps;
  }
  for (int b = 0; b < BLOCKS; b++) mean += block[b] / BLOCKS;
  for (int b = 0; b < BLOCKS; b++) square += (block[b] - mean) * (block[b] - mean);
  *error = sqrt(square / (BLOCKS * (BLOCKS - 1)));
  return mean;
}

/* <Re tr U / 3> of one plaquette with weight exp(beta Re tr U / 3): Weyl's integration formula over
 * the two angles of SU(3)'s torus; periodic, so equal steps converge exponentially. */
static double one_plaquette(double beta) {
  enum { STEPS = 64 };
  const double pi = 3.14159265358979323846;
  double top = 0, bottom = 0;
  for (int i = 0; i < STEPS; i++)
    for (int j = 0; j < STEPS; j++) {
      const double a = 2 * pi * i / STEPS, b = 2 * pi * j / STEPS, c = -a - b;
      const double haar = pow(sin((a - b) / 2) * sin((b - c) / 2) * sin((c - a) / 2), 2);
      const double trace = (cos(a) + cos(b) + cos(c)) / 3;
      top += trace * haar * exp(beta * trace);
      bottom += haar * exp(beta * trace);
    }
  return top / bottom;
}

/* At strong coupling <P> is that of a single plaquette up to cubes, of order 4 (d - 2) u^5 (J.-M.
 * Drouffe, J.-B. Zuber, Phys. Rep. 102 (1983) 1), which is far below the errors here. */
static void strong_coupling_matches_the_expansion(void **state) {
  (void)state;
  static const double betas[] = {0.1, 1.0};
  test_close("series beta/18 + beta^2/216 at 0.1", one_plaquette(0.1), 0.1 / 18 + 0.01 / 216, 1e-6);
  for (int i = 0; i < 2; i++) {
    dirac_case c;
    kaon_heatbath_options heatbath = KAON_HEATBATH_OPTIONS_INIT;
    double error;
    assert_true(case_open(&c, KAON_ISA_AUTO, shape_split, 0, LINKS_RANDOM, 1));
    heatbath.beta = betas[i];
    heatbath.overrelaxation = i;
    const double mean = mean_plaquette(&c, &heatbath, 10, 50, &error);
    const double cubes = 8 * pow(one_plaquette(betas[i]), 5);
    printf("  beta %g: error %.1e, cubes %.1e\n", betas[i], error, cubes);
    /* the error of 10 blocks is itself uncertain: not below the independent-plaquette one */
    const double floor = sqrt(1.0 / 18 / (6 * 4096 * 50));
    test_close("plaquette", mean, one_plaquette(betas[i]), 4 * fmax(error, floor) + cubes);
    case_close(&c);
  }
}

/* 4^4 at beta 6.0 against an independent program: plain Metropolis, 20000 sweeps of 8 hits with
 * Gaussian proposals around 1, gave 0.59682(19) (20 blocks). */
static void small_lattice_agrees_with_metropolis(void **state) {
  (void)state;
  static const int shape[4] = {4, 4, 4, 4};
  dirac_case c;
  kaon_heatbath_options heatbath = KAON_HEATBATH_OPTIONS_INIT;
  double error;
  if (TEST_SLOWED) skip(); /* statistics alone */
  assert_true(case_open(&c, KAON_ISA_AUTO, shape, 0, LINKS_UNIT, 1));
  const double mean = mean_plaquette(&c, &heatbath, 100, 2000, &error);
  printf("  error from 10 blocks: %.1e\n", error);
  assert_true(error < 6e-4);
  test_close("plaquette at beta 6.0, 4^4", mean, 0.59682, 4 * hypot(error, 1.9e-4));
  case_close(&c);
}

/* Infinite volume at beta 6.0: 0.5937. The box matters by a few 10^-4 (long runs of this program:
 * 8^4 0.59423(9), 12^4 0.59355(8)). */
static void plaquette_at_beta_6_is_the_known_one(void **state) {
  (void)state;
  dirac_case c;
  kaon_heatbath_options heatbath = KAON_HEATBATH_OPTIONS_INIT;
  double error;
  assert_true(case_open(&c, KAON_ISA_AUTO, shape_split, 0, LINKS_UNIT, 1));
  heatbath.seed = 7;
  const double mean = mean_plaquette(&c, &heatbath, 100, 200, &error);
  printf("  error from 10 blocks: %.1e\n", error);
  assert_true(error < 1e-3);
  test_close("plaquette at beta 6.0, 8^4", mean, 0.5937, 4 * error + 6e-4);
  kaon_observables o = KAON_OBSERVABLES_INIT;
  must(c.ctx, kaon_gauge_measure(c.gauge, &o));
  test_below("unitarity after 300 sweeps", o.unitarity, 32 * ROUND);
  case_close(&c);
}

static void bad_options_are_refused(void **state) {
  (void)state;
  dirac_case c;
  assert_true(case_open(&c, KAON_ISA_AUTO, shape_plain, 0, LINKS_UNIT, 1));
  kaon_heatbath_options options = KAON_HEATBATH_OPTIONS_INIT;
  must_refuse(c.ctx, KAON_ERR_ARGUMENT, kaon_gauge_heatbath(c.gauge, &options, -1));
  options.beta = NAN;
  must_refuse(c.ctx, KAON_ERR_ARGUMENT, kaon_gauge_heatbath(c.gauge, &options, 1));
  options.beta = 6;
  options.overrelaxation = -1;
  must_refuse(c.ctx, KAON_ERR_ARGUMENT, kaon_gauge_heatbath(c.gauge, &options, 1));
  options.overrelaxation = 1;
  options.sweep = UINT32_MAX;
  must_refuse(c.ctx, KAON_ERR_ARGUMENT, kaon_gauge_heatbath(c.gauge, &options, 1));
  must_refuse(c.ctx, KAON_ERR_ARGUMENT, kaon_gauge_heatbath(c.gauge, NULL, 1));
  case_close(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(links_do_not_depend_on_threads_nor_on_interruptions),
      cmocka_unit_test(instruction_sets_agree_to_rounding),
      cmocka_unit_test(over_relaxation_keeps_the_action),
      cmocka_unit_test(strong_coupling_matches_the_expansion),
      cmocka_unit_test(small_lattice_agrees_with_metropolis),
      cmocka_unit_test(plaquette_at_beta_6_is_the_known_one),
      cmocka_unit_test(bad_options_are_refused),
  };
  /* every kernel, no statistics */
  const struct CMUnitTest few[] = {
      cmocka_unit_test(instruction_sets_agree_to_rounding),
      cmocka_unit_test(over_relaxation_keeps_the_action),
  };
  if (test_brief()) return test_main(few, NULL, NULL);
  return test_main(tests, NULL, NULL);
}
