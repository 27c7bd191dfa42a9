/* test_util.h - what every test needs: a bound with its measured figure printed, and data files.
 * Needs the cmocka preamble (stdarg.h, stddef.h, setjmp.h, cmocka.h) included before. */
#ifndef TEST_UTIL_H
#define TEST_UTIL_H

#include <stdio.h>

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

#endif
