/* test_util.c - bounds with figures, data files (see test_util.h). */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "test_util.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

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

int test_data_path(const char *name, char *path, size_t size) {
  const char *root = getenv("KAON_TEST_DATA");
  snprintf(path, size, "%s/%s", root && *root ? root : KAON_TEST_DATA_DEFAULT, name);
  return access(path, R_OK) == 0;
}

const char *test_data(const char *name, char buffer[1024]) {
  if (test_data_path(name, buffer, 1024)) return buffer;
  printf("  no %s: set KAON_TEST_DATA to the data folder; skipped\n", buffer);
  return NULL;
}
