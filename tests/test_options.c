/* test_options.c - structs of the public interface that are smaller or larger than the library's:
 * those of applications that were compiled with another version of the headers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <kaon/kaon.h>
#include <kaon/lab.h>

#include "lib/core/options_table.h"
#include "lib/core/output.h"
#include "tests/util/test_util.h"

/* A struct of the next version: one option more. */
typedef struct newer_heatbath_options {
  kaon_heatbath_options known;
  double more;
} newer_heatbath_options;

/* Guard bytes on both sides of what a caller knows. */
enum { GUARD = 64, ROOM = 1024 };

static void guard(unsigned char *bytes, size_t n) {
  memset(bytes, 0xa5, n);
}

static int is_guard(const unsigned char *bytes, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (bytes[i] != 0xa5) return 0;
  return 1;
}

static void smaller_options_take_defaults(void **state) {
  (void)state;
  kaon_heatbath_options given = KAON_HEATBATH_OPTIONS_INIT, taken;
  given.beta = 5.5;
  given.overrelaxation = 9;
  given.seed = 77;
  given.size = offsetof(kaon_heatbath_options, seed);
  assert_int_equal(kaon_options_take(KAON_OPTIONS_HEATBATH, &given, &taken), KAON_OK);
  assert_int_equal(taken.size, sizeof taken);
  assert_true(taken.beta == 5.5);
  assert_int_equal(taken.overrelaxation, 9);
  assert_int_equal(taken.seed, 1); /* the default, not the 77 that stands beyond */
  assert_int_equal(kaon_options_check(KAON_OPTIONS_HEATBATH, &given), KAON_OK);
  assert_int_equal(kaon_options_take(KAON_OPTIONS_HEATBATH, NULL, &taken), KAON_OK);
  assert_true(taken.beta == 6.0);
}

/* Every prefix of every struct, byte by byte: nothing beyond the given bytes is read. */
static void any_smaller_size_is_accepted(void **state) {
  (void)state;
  for (int kind = 0; kaon_options_table_of((kaon_options_kind)kind) != NULL; kind++) {
    const kaon_options_table *table = kaon_options_table_of((kaon_options_kind)kind);
    const size_t least = 2 * sizeof(size_t);
    for (size_t size = least; size <= table->size; size++) {
      union {
        double aligned;
        unsigned char bytes[ROOM];
      } given, taken;
      guard(given.bytes, sizeof given.bytes);
      assert_int_equal(kaon_options_init((kaon_options_kind)kind, &given, size), KAON_OK);
      assert_true(is_guard(given.bytes + size, sizeof given.bytes - size));
      assert_int_equal(kaon_options_take((kaon_options_kind)kind, &given, &taken), KAON_OK);
      union {
        double aligned;
        unsigned char bytes[ROOM];
      } defaults;
      assert_int_equal(kaon_options_take((kaon_options_kind)kind, NULL, &defaults), KAON_OK);
      assert_memory_equal(&taken, &defaults, table->size);
    }
  }
}

static void larger_options_are_accepted_if_the_rest_is_zero(void **state) {
  (void)state;
  newer_heatbath_options given = {KAON_HEATBATH_OPTIONS_INIT, 0.0};
  kaon_heatbath_options taken;
  given.known.size = sizeof given;
  given.known.beta = 5.5;
  assert_int_equal(kaon_options_take(KAON_OPTIONS_HEATBATH, &given, &taken), KAON_OK);
  assert_int_equal(taken.size, sizeof taken);
  assert_true(taken.beta == 5.5);
  given.more = 1;
  assert_int_equal(kaon_options_check(KAON_OPTIONS_HEATBATH, &given), KAON_ERR_ARGUMENT);
  assert_non_null(strstr(kaon_last_error(NULL), "newer kaon"));
}

/* The version says the kind, so that the fields of another struct are neither read nor written. */
static void structs_of_another_kind_are_refused(void **state) {
  (void)state;
  for (int of = 0; of <= KAON_OPTIONS_PROPAGATOR_WRITE; of++)
    for (int as = 0; as <= KAON_OPTIONS_PROPAGATOR_WRITE; as++) {
      union {
        double aligned;
        unsigned char bytes[ROOM];
      } given, before;
      char text[ROOM];
      if (as == of) continue;
      const kaon_options_table *table = kaon_options_table_of((kaon_options_kind)of);
      guard(given.bytes, sizeof given.bytes);
      must(NULL, kaon_options_init((kaon_options_kind)of, &given, table->size));
      before = given;
      assert_int_equal(kaon_options_check((kaon_options_kind)as, &given), KAON_ERR_ARGUMENT);
      assert_non_null(strstr(kaon_last_error(NULL), table->name));
      assert_int_equal(kaon_options_parse((kaon_options_kind)as, &given, ""), KAON_ERR_ARGUMENT);
      assert_int_equal(
          kaon_options_parse((kaon_options_kind)as, &given, "tol=1e-5, precision=single"),
          KAON_ERR_ARGUMENT);
      assert_int_equal(kaon_options_print((kaon_options_kind)as, &given, text, sizeof text, NULL),
                       KAON_ERR_ARGUMENT);
      assert_memory_equal(&given, &before, sizeof given);
    }
}

static void sizes_that_are_none_are_refused(void **state) {
  (void)state;
  const size_t sizes[] = {0, 1, sizeof(size_t), (size_t)1 << 40};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    kaon_dirac_options options = KAON_DIRAC_OPTIONS_INIT;
    options.size = sizes[i];
    assert_int_equal(kaon_options_check(KAON_OPTIONS_DIRAC, &options), KAON_ERR_ARGUMENT);
  }
  kaon_dirac_options options = KAON_DIRAC_OPTIONS_INIT;
  options.version = 2;
  assert_int_equal(kaon_options_check(KAON_OPTIONS_DIRAC, &options), KAON_ERR_ARGUMENT);
  assert_int_equal(kaon_options_init(KAON_OPTIONS_DIRAC, &options, 4), KAON_ERR_ARGUMENT);
}

static void text_sets_only_what_the_caller_has(void **state) {
  (void)state;
  union {
    kaon_heatbath_options options;
    unsigned char bytes[ROOM];
  } u;
  char text[256];
  const size_t size = offsetof(kaon_heatbath_options, seed);
  guard(u.bytes, sizeof u.bytes);
  assert_int_equal(kaon_options_init(KAON_OPTIONS_HEATBATH, &u, size), KAON_OK);
  assert_int_equal(kaon_options_parse(KAON_OPTIONS_HEATBATH, &u, "beta=5.5"), KAON_OK);
  assert_true(u.options.beta == 5.5);
  assert_int_equal(kaon_options_parse(KAON_OPTIONS_HEATBATH, &u, "seed=3"), KAON_ERR_ARGUMENT);
  assert_int_equal(kaon_options_print(KAON_OPTIONS_HEATBATH, &u, text, sizeof text, NULL), KAON_OK);
  assert_string_equal(text, "beta=5.5, overrelaxation=4");
  assert_true(is_guard(u.bytes + size, sizeof u.bytes - size));
}

static void outputs_end_where_the_callers_do(void **state) {
  (void)state;
  kaon_context *ctx = NULL;
  kaon_context_options options = KAON_CONTEXT_OPTIONS_INIT;
  options.backend = KAON_BACKEND_CPU;
  options.size = offsetof(kaon_context_options, lab); /* an application of an older version */
  assert_int_equal(kaon_context_create(&options, &ctx), KAON_OK);
  kaon_context_info whole = KAON_CONTEXT_INFO_INIT;
  assert_int_equal(kaon_context_query(ctx, &whole), KAON_OK);
  assert_int_equal(whole.size, sizeof whole);
  assert_string_equal(whole.backend, "cpu");
  for (size_t size = sizeof(size_t); size <= sizeof whole + GUARD; size++) {
    union {
      kaon_context_info info;
      unsigned char bytes[ROOM];
    } u;
    guard(u.bytes, sizeof u.bytes);
    u.info.size = size;
    assert_int_equal(kaon_context_query(ctx, &u.info), KAON_OK);
    assert_int_equal(u.info.size, size);
    assert_true(is_guard(u.bytes + size, sizeof u.bytes - size));
    if (size >= offsetof(kaon_context_info, device)) assert_string_equal(u.info.backend, "cpu");
    for (size_t i = sizeof whole; i < size; i++) assert_int_equal(u.bytes[i], 0);
  }
  whole.size = 0;
  assert_int_equal(kaon_context_query(ctx, &whole), KAON_ERR_ARGUMENT);
  assert_non_null(strstr(kaon_last_error(ctx), "_INIT"));
  kaon_context_destroy(&ctx);
}

/* All output structs begin with the size; the library writes them by one function. */
static void output_structs_begin_with_their_size(void **state) {
  (void)state;
#define BEGINS(type) assert_int_equal(offsetof(type, size), 0)
  BEGINS(kaon_context_info);
  BEGINS(kaon_observables);
  BEGINS(kaon_fatten_report);
  BEGINS(kaon_gauge_file_info);
  BEGINS(kaon_propagator_file_info);
  BEGINS(kaon_staggered_file_info);
  BEGINS(kaon_condensate);
  BEGINS(kaon_matrix_info);
  BEGINS(kaon_matrix_distribution);
  BEGINS(kaon_matrix_file_info);
  BEGINS(kaon_solve_report);
  BEGINS(kaon_spectrum);
  BEGINS(kaon_kaczmarz_info);
  BEGINS(kaon_precond_info);
  BEGINS(kaon_relax_report);
  BEGINS(kaon_schwarz_lags);
  BEGINS(kaon_multigrid_info);
}

static void versions_agree(void **state) {
  (void)state;
  char text[32];
  snprintf(text, sizeof text, "%d.%d.%d", KAON_VERSION_MAJOR, KAON_VERSION_MINOR,
           KAON_VERSION_PATCH);
  assert_string_equal(kaon_version(), text);
  assert_int_equal(KAON_VERSION,
                   10000 * KAON_VERSION_MAJOR + 100 * KAON_VERSION_MINOR + KAON_VERSION_PATCH);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(smaller_options_take_defaults),
      cmocka_unit_test(any_smaller_size_is_accepted),
      cmocka_unit_test(larger_options_are_accepted_if_the_rest_is_zero),
      cmocka_unit_test(structs_of_another_kind_are_refused),
      cmocka_unit_test(sizes_that_are_none_are_refused),
      cmocka_unit_test(text_sets_only_what_the_caller_has),
      cmocka_unit_test(outputs_end_where_the_callers_do),
      cmocka_unit_test(output_structs_begin_with_their_size),
      cmocka_unit_test(versions_agree),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
