/* test_util.c - see test_util.h. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "test_util.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

void must_at(const kaon_context *ctx, kaon_status status, const char *call, const char *file,
             int line) {
  if (status == KAON_OK) return;
  print_error("%s: %s: %s\n", call, kaon_status_name(status), kaon_last_error(ctx));
  _fail(file, line);
}

void must_refuse_at(const kaon_context *ctx, kaon_status expected, kaon_status status,
                    const char *call, const char *file, int line) {
  if (status == expected) {
    printf("  refused: %s\n", kaon_last_error(ctx));
    return;
  }
  print_error("%s: returned %s, expected %s\n", call, kaon_status_name(status),
              kaon_status_name(expected));
  _fail(file, line);
}

void test_below_at(const char *what, double measured, double bound, const char *file, int line) {
  int ok = measured <= bound;
  printf("  %-58s %10.3e  bound %.1e%s\n", what, measured, bound, ok ? "" : "  FAILED");
  if (!ok) _fail(file, line);
}

void test_close_at(const char *what, double measured, double expected, double bound,
                   const char *file, int line) {
  int ok = fabs(measured - expected) <= bound;
  printf("  %-58s %.12g  expected %.12g +- %.1e%s\n", what, measured, expected, bound,
         ok ? "" : "  FAILED");
  if (!ok) _fail(file, line);
}

/* A file that was not there counts for the next skip(). */
static int cases_run, cases_failed, cases_skipped, cases_without_data, file_missing;

void test_group_of(const char *name, const struct CMUnitTest *cases, size_t count,
                   CMFixtureFunction setup, CMFixtureFunction teardown) {
  cases_run += (int)count;
  cases_failed += _cmocka_run_group_tests(name, cases, count, setup, teardown);
}

int test_end(void) {
  printf("cases: %d passed, %d failed, %d skipped, %d of them without data\n",
         cases_run - cases_failed - cases_skipped, cases_failed, cases_skipped, cases_without_data);
  fflush(stdout);
  if (cases_failed != 0) return 1;
  return cases_skipped == cases_run ? TEST_SKIPPED : 0;
}

void test_skip_at(const char *file, int line) {
  cases_skipped++;
  cases_without_data += file_missing;
  file_missing = 0;
  _skip(file, line);
}

int test_data_path(const char *name, char *path, size_t size) {
  const char *root = getenv("KAON_TEST_DATA");
  snprintf(path, size, "%s/%s", root && *root ? root : KAON_TEST_DATA_DEFAULT, name);
  if (access(path, R_OK) == 0) return 1;
  file_missing = 1;
  return 0;
}

const char *test_data(const char *name, char buffer[1024]) {
  if (test_data_path(name, buffer, 1024)) return buffer;
  printf("  no %s: set KAON_TEST_DATA to the data folder; skipped\n", buffer);
  return NULL;
}

int test_brief(void) {
  return getenv("KAON_TEST_BRIEF") != NULL;
}

double test_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double test_uniform(uint64_t *seed) {
  *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (double)(int64_t)(*seed ^ *seed >> 31) * 0x1p-63;
}

void test_count_warnings(void *user, kaon_log_level level, const char *line) {
  (void)line;
  if (level <= KAON_LOG_WARNING) ++*(int *)user;
}
