/* test_io_common.h - fields in memory, random SU(3), a naive plaquette, and where the test data
 * are. */
#ifndef KAON_TEST_IO_COMMON_H
#define KAON_TEST_IO_COMMON_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above first */
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <kaon/io.h>

#include "tests/util/test_util.h"

/* Natural order: u[site][mu][18]. */
typedef struct field {
  int e[4];
  int64_t volume;
  double *u;
  int64_t links; /* handed over by a reader */
} field;

static inline field field_new(const int e[4]) {
  field f = {{e[0], e[1], e[2], e[3]}, (int64_t)e[0] * e[1] * e[2] * e[3], NULL, 0};
  f.u = calloc((size_t)f.volume * 72, sizeof *f.u);
  assert_non_null(f.u);
  return f;
}

static inline double *link_at(const field *f, int64_t site, int mu) {
  return f->u + (site * 4 + mu) * 18;
}

static inline void put_link(void *sink, int64_t site, int mu, const double u[18]) {
  field *f = sink;
  assert_in_range(site, 0, f->volume - 1);
  memcpy(link_at(f, site, mu), u, 18 * sizeof *u);
  f->links++;
}

static inline void get_link(void *source, int64_t site, int mu, double u[18]) {
  memcpy(u, link_at(source, site, mu), 18 * sizeof *u);
}

/* Uniform in [-1, 1): splitmix64 of a counter. */
static inline double uniform(uint64_t *state) {
  uint64_t z = (*state += 0x9e3779b97f4a7c15u);
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return (double)((z ^ z >> 31) >> 11) * 0x1p-52 - 1.0;
}

static inline void random_su3(double u[18], uint64_t *state) {
  for (int i = 0; i < 12; i++) u[i] = uniform(state);
  for (int row = 0; row < 2; row++) {
    double *r = u + 6 * row, re = 0, im = 0, norm = 0;
    for (int c = 0; row == 1 && c < 3; c++) { /* (row 0, row 1) */
      re += u[2 * c] * r[2 * c] + u[2 * c + 1] * r[2 * c + 1];
      im += u[2 * c] * r[2 * c + 1] - u[2 * c + 1] * r[2 * c];
    }
    for (int c = 0; row == 1 && c < 3; c++) {
      r[2 * c] -= re * u[2 * c] - im * u[2 * c + 1];
      r[2 * c + 1] -= re * u[2 * c + 1] + im * u[2 * c];
    }
    for (int i = 0; i < 6; i++) norm += r[i] * r[i];
    for (int i = 0; i < 6; i++) r[i] /= sqrt(norm);
  }
  for (int c = 0; c < 3; c++) {
    const double *a = u, *b = u + 6;
    int j = 2 * ((c + 1) % 3), k = 2 * ((c + 2) % 3);
    u[12 + 2 * c] = a[j] * b[k] - a[j + 1] * b[k + 1] - a[k] * b[j] + a[k + 1] * b[j + 1];
    u[13 + 2 * c] = -(a[j] * b[k + 1] + a[j + 1] * b[k] - a[k] * b[j + 1] - a[k + 1] * b[j]);
  }
}

static inline field field_random(const int e[4], uint64_t seed) {
  field f = field_new(e);
  for (int64_t i = 0; i < f.volume * 4; i++) random_su3(f.u + 18 * i, &seed);
  return f;
}

static inline int64_t site_index(const int e[4], const int x[4]) {
  return x[0] + (int64_t)e[0] * (x[1] + (int64_t)e[1] * (x[2] + (int64_t)e[2] * x[3]));
}

static inline int64_t neighbour(const int e[4], int64_t site, int mu) {
  int x[4];
  for (int d = 0; d < 4; d++) {
    x[d] = (int)(site % e[d]);
    site /= e[d];
  }
  x[mu] = (x[mu] + 1) % e[mu];
  return site_index(e, x);
}

/* c = a b; conjugate transposes by flag. */
static inline void multiply(const double *a, int adag, const double *b, int bdag, double *c) {
  for (int i = 0; i < 3; i++) {
    for (int j = 0; j < 3; j++) {
      double re = 0, im = 0;
      for (int k = 0; k < 3; k++) {
        const double *p = adag ? a + 2 * (3 * k + i) : a + 2 * (3 * i + k);
        const double *q = bdag ? b + 2 * (3 * j + k) : b + 2 * (3 * k + j);
        double pi = adag ? -p[1] : p[1], qi = bdag ? -q[1] : q[1];
        re += p[0] * q[0] - pi * qi;
        im += p[0] * qi + pi * q[0];
      }
      c[2 * (3 * i + j)] = re;
      c[2 * (3 * i + j) + 1] = im;
    }
  }
}

static inline double plaquette(const field *f) {
  double sum = 0;
  for (int64_t s = 0; s < f->volume; s++) {
    for (int mu = 0; mu < 4; mu++) {
      for (int nu = mu + 1; nu < 4; nu++) {
        double ab[18], cd[18], p[18];
        multiply(link_at(f, s, mu), 0, link_at(f, neighbour(f->e, s, mu), nu), 0, ab);
        multiply(link_at(f, neighbour(f->e, s, nu), mu), 1, link_at(f, s, nu), 1, cd);
        multiply(ab, 0, cd, 0, p);
        sum += p[0] + p[8] + p[16];
      }
    }
  }
  return sum / (18.0 * (double)f->volume);
}

static inline double link_trace(const field *f) {
  double sum = 0;
  for (int64_t i = 0; i < f->volume * 4; i++)
    sum += f->u[18 * i] + f->u[18 * i + 8] + f->u[18 * i + 16];
  return sum / (12.0 * (double)f->volume);
}

#define NEED_DATA(name, path)                                                                 \
  do {                                                                                        \
    if (!test_data_path(name, path, sizeof path)) {                                           \
      print_message("SKIPPED: no test data at %s; set KAON_TEST_DATA to the folder\n", path); \
      skip();                                                                                 \
    }                                                                                         \
  } while (0)

/* A path in a fresh folder of this test, removed by remove_scratch. */
static char scratch_folder[64];
static inline int make_scratch(void **state) {
  (void)state;
  strcpy(scratch_folder, "/tmp/kaon-io-XXXXXX");
  return mkdtemp(scratch_folder) ? 0 : -1;
}
static inline int remove_scratch(void **state) {
  (void)state;
  return rmdir(scratch_folder); /* fails, and so the test, if a temporary was left behind */
}
static inline const char *scratch(const char *name) {
  static char path[128];
  snprintf(path, sizeof path, "%s/%s", scratch_folder, name);
  return path;
}

static inline unsigned char *load_file(const char *path, size_t *size) {
  FILE *f = fopen(path, "rb");
  assert_non_null(f);
  fseek(f, 0, SEEK_END);
  *size = (size_t)ftell(f);
  rewind(f);
  unsigned char *data = malloc(*size + 1);
  assert_non_null(data);
  assert_int_equal(fread(data, 1, *size, f), *size);
  fclose(f);
  return data;
}

#define assert_ok(call)                                                       \
  do {                                                                        \
    kaon_status status_ = (call);                                             \
    if (status_ != KAON_OK) fail_msg("%s: %s", #call, kaon_last_error(NULL)); \
  } while (0)

#endif
