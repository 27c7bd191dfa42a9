/* test_util.h - what every test needs: main(), calls that must succeed or be refused, bounds that
 * print the measured figure, data files, random numbers, a clock. Include the cmocka preamble
 * (stdarg.h, stddef.h, setjmp.h, cmocka.h) before. */
#ifndef TEST_UTIL_H
#define TEST_UTIL_H

#include <stdint.h>
#include <stdio.h>

#include <kaon/kaon.h>

#include "tests/util/max_error.h"

/* Fails the test with the library's sentence when `call` does not return KAON_OK. */
#define must(ctx, call) must_at((ctx), (call), #call, __FILE__, __LINE__)
void must_at(const kaon_context *ctx, kaon_status status, const char *call, const char *file,
             int line);
/* The call must return `expected`; its sentence is printed. */
#define must_refuse(ctx, expected, call) \
  must_refuse_at((ctx), (expected), (call), #call, __FILE__, __LINE__)
void must_refuse_at(const kaon_context *ctx, kaon_status expected, kaon_status status,
                    const char *call, const char *file, int line);

/* Prints the figure beside its bound; the test fails if it is above, or not a number. */
#define test_below(what, measured, bound) \
  test_below_at((what), (measured), (bound), __FILE__, __LINE__)
void test_below_at(const char *what, double measured, double bound, const char *file, int line);

/* Prints and checks |measured - expected| <= bound. */
#define test_close(what, measured, expected, bound) \
  test_close_at((what), (measured), (expected), (bound), __FILE__, __LINE__)
void test_close_at(const char *what, double measured, double expected, double bound,
                   const char *file, int line);

/* The path of a data file, "gauge/name" or "milc/name": below KAON_TEST_DATA of the environment,
 * else below CMake's KAON_TEST_DATA. 0: it is absent. */
int test_data_path(const char *name, char *path, size_t size);
/* The same. If it is absent, prints a message and returns NULL; the test then calls skip(). The
 * text lives in `buffer`. */
const char *test_data(const char *name, char buffer[1024]);

/* Runs the cases between `setup` and `teardown`, either of which may be NULL, and says how many
 * passed, failed and were skipped. To be returned from main(): 0, 1 where a case failed, and 77,
 * which ctest calls skipped, where none ran. */
#define test_main(cases, setup, teardown) (test_group(cases, setup, teardown), test_end())
/* Programs of several groups: each group, then test_end() for main()'s result. */
#define test_group(cases, setup, teardown) \
  test_group_of(#cases, (cases), sizeof(cases) / sizeof *(cases), (setup), (teardown))
void test_group_of(const char *name, const struct CMUnitTest *cases, size_t count,
                   CMFixtureFunction setup, CMFixtureFunction teardown);
int test_end(void);
enum { TEST_SKIPPED = 77 };
/* cmocka's skip(), counted. */
#undef skip
#define skip() test_skip_at(__FILE__, __LINE__)
void test_skip_at(const char *file, int line);

/* 1: under tools that are a hundred times slower (KAON_TEST_BRIEF). Run every kernel on few rows,
 * once or twice. */
int test_brief(void);
/* 1: built with sanitizers, which are several times slower. Leave out cases that repeat the paths
 * of others. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { TEST_SLOWED = 1 };
#else
enum { TEST_SLOWED = 0 };
#endif
/* Seconds of a monotonic clock. */
double test_now(void);
/* [-1, 1) */
double test_uniform(uint64_t *seed);
/* A context's log callback: counts warnings and errors in the int that log_user points to. */
void test_count_warnings(void *user, kaon_log_level level, const char *line);

#endif
