/* test_util.h - what every test needs: calls that must succeed or be refused, bounds with their
 * measured figure printed, data files, random numbers, a clock. Needs the cmocka preamble
 * (stdarg.h, stddef.h, setjmp.h, cmocka.h) included before. */
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

/* The path of a data file, "gauge/name" or "milc/name": below the environment's KAON_TEST_DATA,
 * else below the folder that CMake's KAON_TEST_DATA names; 0: it is not there. */
int test_data_path(const char *name, char *path, size_t size);
/* The same; when it is not there, says so and returns NULL: the test then calls skip(). The text
 * lives in `buffer`. */
const char *test_data(const char *name, char buffer[1024]);

/* Under tools that take a hundred times as long (KAON_TEST_BRIEF): every kernel on few rows, once
 * or twice. */
int test_brief(void);
/* 1: sanitizers watch, which take several times as long. Then cases that take the paths of others
 * once more are left out. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { TEST_SLOWED = 1 };
#else
enum { TEST_SLOWED = 0 };
#endif
/* Seconds, of a clock that nobody sets. */
double test_now(void);
/* [-1, 1) */
double test_uniform(uint64_t *seed);
/* A context's log: adds warnings and errors up in the int that log_user points to. */
void test_count_warnings(void *user, kaon_log_level level, const char *line);

#endif
