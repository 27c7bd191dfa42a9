/* test_energy.c - the energy counter of each machine. It exists where the system offers one, never
 * decreases, and shows a plausible power while the machine works. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
#include <cmocka.h>

#include <kaon/kaon.h>

#include "tests/util/machine.h"
#include "tests/util/test_util.h"

static void a_counter_needs_a_context_and_a_place(void **state) {
  (void)state;
  const kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  kaon_context *ctx = NULL;
  double joules = 0;
  assert_int_equal(machine_open(MACHINE_CPU, options, &ctx), KAON_OK);
  assert_int_equal(kaon_context_energy(NULL, &joules), KAON_ERR_ARGUMENT);
  assert_int_equal(kaon_context_energy(ctx, NULL), KAON_ERR_ARGUMENT);
  kaon_context_destroy(&ctx);
}

/* Sums over a vector for a second, to keep the CPU or the device busy. */
static double joules_of_a_second(kaon_context *ctx, double *seconds) {
  const int extents[4] = {8, 8, 8, 16};
  kaon_lattice *lattice = NULL;
  kaon_vector *v = NULL;
  double norm2, before = NAN, after = NAN;
  assert_int_equal(kaon_lattice_create(ctx, extents, KAON_ANTIPERIODIC, &lattice), KAON_OK);
  assert_int_equal(
      kaon_vector_create(ctx, kaon_lattice_spinors(lattice, KAON_FULL), KAON_DOUBLE, 1, &v),
      KAON_OK);
  assert_int_equal(kaon_context_energy(ctx, &before), KAON_OK);
  const double begin = test_now();
  while (test_now() - begin < 1) assert_int_equal(kaon_vector_norm2(v, &norm2), KAON_OK);
  assert_int_equal(kaon_context_energy(ctx, &after), KAON_OK);
  *seconds = test_now() - begin;
  kaon_vector_destroy(&v);
  kaon_lattice_destroy(&lattice);
  return after - before;
}

static void counters_move_with_plausible_power(void **state) {
  (void)state;
  const kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  const int machines[] = {KAON_ISA_SCALAR, MACHINE_CUDA};
  for (int i = 0; i < 2; i++) {
    kaon_context *ctx = NULL;
    double seconds, joules;
    if (machine_lacks(machines[i])) continue;
    assert_int_equal(machine_open(machines[i], options, &ctx), KAON_OK);
    joules = joules_of_a_second(ctx, &seconds);
    printf("%s: %.1f J in %.2f s\n", machine_name(machines[i]), joules, seconds);
    if (machines[i] != MACHINE_CUDA) /* said to be there exactly where Linux lets it be read */
      assert_int_equal(isnan(joules) != 0,
                       access("/sys/class/powercap/intel-rapl:0/energy_uj", R_OK) != 0);
    /* An idle package or GPU takes a few watts, the largest machines less than 10 kW. */
    if (!isnan(joules)) assert_true(joules > 1 * seconds && joules < 1e4 * seconds);
    kaon_context_destroy(&ctx);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_counter_needs_a_context_and_a_place),
      cmocka_unit_test(counters_move_with_plausible_power),
  };
  return test_main(tests, NULL, NULL);
}
