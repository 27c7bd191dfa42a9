/* row_case.c - see row_case.h. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "row_case.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct triplets {
  int64_t count, room;
  int64_t *row, *column;
  double *value; /* re, im */
} triplets;

static void *held(void *p) {
  if (p == NULL) abort();
  return p;
}

static void add(triplets *t, int64_t row, int64_t column, double complex value) {
  if (t->count == t->room) {
    t->room = t->room < 64 ? 64 : 2 * t->room;
    t->row = held(realloc(t->row, (size_t)t->room * sizeof *t->row));
    t->column = held(realloc(t->column, (size_t)t->room * sizeof *t->column));
    t->value = held(realloc(t->value, (size_t)t->room * 2 * sizeof *t->value));
  }
  t->row[t->count] = row;
  t->column[t->count] = column;
  t->value[2 * t->count] = creal(value);
  t->value[2 * t->count + 1] = cimag(value);
  t->count++;
}

static kaon_csr *made_of(triplets *t, int64_t n, int reals) {
  kaon_csr *csr = NULL;
  if (reals == 1)
    for (int64_t i = 0; i < t->count; i++) t->value[i] = t->value[2 * i];
  if (kaon_csr_from_triplets(NULL, n, n, reals, t->count, t->row, t->column, t->value, KAON_CSR_ADD,
                             &csr) != KAON_OK) {
    print_message("%s\n", kaon_last_error(NULL));
    abort();
  }
  free(t->row);
  free(t->column);
  free(t->value);
  return csr;
}

static kaon_csr *read_market(FILE *f) {
  char line[1024];
  triplets t = {0};
  long long rows = 0, columns = 0, entries = 0;
  if (fgets(line, sizeof line, f) == NULL) abort();
  const int symmetric = strstr(line, "symmetric") != NULL;
  if (strstr(line, "coordinate") == NULL || strstr(line, "complex") != NULL) abort();
  while (fgets(line, sizeof line, f) != NULL && line[0] == '%') continue;
  if (sscanf(line, "%lld %lld %lld", &rows, &columns, &entries) != 3 || rows != columns) abort();
  for (long long n = 0; n < entries; n++) {
    long long i = 0, j = 0;
    double value = 0;
    if (fscanf(f, "%lld %lld %lf", &i, &j, &value) != 3) abort();
    add(&t, i - 1, j - 1, value);
    if (symmetric && i != j) add(&t, j - 1, i - 1, value);
  }
  return made_of(&t, rows, 1);
}

static kaon_csr *read_triplets(FILE *f) {
  triplets t = {0};
  long long entries = 0, rows = 0, columns = 0;
  if (fscanf(f, "%lld %lld %lld", &entries, &rows, &columns) != 3 || rows != columns) abort();
  for (long long n = 0; n < entries; n++) {
    long long i = 0, j = 0;
    double value = 0;
    if (fscanf(f, "%lld %lld %lf", &i, &j, &value) != 3) abort();
    add(&t, i, j, value);
  }
  return made_of(&t, rows, 1);
}

kaon_csr *row_case_file(const char *name) {
  char path[1024];
  if (test_data(name, path) == NULL) return NULL;
  FILE *f = held(fopen(path, "r"));
  kaon_csr *csr = strstr(name, ".mtx") != NULL ? read_market(f) : read_triplets(f);
  fclose(f);
  return csr;
}

kaon_csr *row_case_laplace(int nx, int ny, int nz) {
  const int extent[3] = {nx, ny, nz};
  const int64_t step[3] = {1, nx, (int64_t)nx * ny};
  triplets t = {0};
  double diagonal = 0;
  for (int mu = 0; mu < 3; mu++) diagonal += extent[mu] > 1 ? 2 : 0;
  for (int64_t i = 0; i < step[2] * nz; i++) {
    const int64_t at[3] = {i % nx, i / nx % ny, i / step[2]};
    add(&t, i, i, diagonal);
    for (int mu = 0; mu < 3; mu++) {
      if (at[mu] > 0) add(&t, i, i - step[mu], -1);
      if (at[mu] + 1 < extent[mu]) add(&t, i, i + step[mu], -1);
    }
  }
  return made_of(&t, step[2] * nz, 1);
}

kaon_csr *row_case_tridiagonal(int n, int reals, int hermitian) {
  triplets t = {0};
  for (int i = 0; i < n; i++) {
    add(&t, i, i, 2.5 + 0.25 * (i % 3));
    if (i + 1 == n) break;
    const double complex beside = -cexp(I * (reals == 2 ? 0.7 * i : 0.0)) * (1 + 0.1 * (i % 2));
    add(&t, i + 1, i, beside);
    add(&t, i, i + 1, (hermitian ? 1 : 0.3) * conj(beside));
  }
  return made_of(&t, n, reals);
}

static double uniform(uint64_t *seed) { /* [-1, 1) */
  *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  const uint64_t mixed = (*seed ^ *seed >> 29) * UINT64_C(0x9E3779B97F4A7C15);
  return (double)(int64_t)(mixed ^ mixed >> 32) * 0x1p-63;
}

kaon_csr *row_case_random(int n, int each, int reals, int hermitian, uint64_t seed) {
  triplets t = {0};
  double *sum = held(calloc((size_t)n, sizeof *sum));
  for (int i = 0; i < n; i++)
    for (int e = 0; e < (hermitian ? (each + 1) / 2 : each); e++) {
      const int j = (int)(fabs(uniform(&seed)) * n) % n;
      const double re = uniform(&seed), im = reals == 2 ? uniform(&seed) : 0;
      if (j == i) continue;
      add(&t, i, j, re + I * im);
      sum[i] += hypot(re, im);
      if (!hermitian) continue;
      add(&t, j, i, re - I * im);
      sum[j] += hypot(re, im);
    }
  for (int i = 0; i < n; i++)
    add(&t, i, i, (1.1 * sum[i] + 0.1) * (hermitian ? 1 : cexp(I * (reals == 2 ? 0.3 * i : 0.0))));
  free(sum);
  return made_of(&t, n, reals);
}

kaon_csr *row_case_ghosts(const kaon_csr *A, int ghosts) {
  triplets t = {0};
  const int64_t n = A->rows;
  kaon_csr *made = NULL;
  for (int64_t i = 0; i < n; i++) {
    for (int64_t m = A->start[i]; m < A->start[i + 1]; m++) add(&t, i, A->column[m], A->value[m]);
    add(&t, i, n + i % ghosts, 100);
  }
  double *real = held(calloc((size_t)t.count, sizeof *real));
  for (int64_t m = 0; m < t.count; m++) real[m] = t.value[2 * m];
  const kaon_status status = kaon_csr_from_triplets(NULL, n, n + ghosts, 1, t.count, t.row,
                                                    t.column, real, KAON_CSR_ADD, &made);
  assert_int_equal(status, KAON_OK);
  free(real);
  free(t.row), free(t.column), free(t.value);
  return made;
}

void row_case_shuffle(int n, uint64_t seed, int32_t *order) {
  for (int i = 0; i < n; i++) order[i] = i;
  for (int i = n - 1; i > 0; i--) {
    const int j = (int)(fabs(uniform(&seed)) * (i + 1)) % (i + 1);
    const int32_t other = order[i];
    order[i] = order[j];
    order[j] = other;
  }
}

static double complex value_at(const kaon_csr *A, int64_t n) {
  return A->reals == 1 ? A->value[n] : A->value[2 * n] + I * A->value[2 * n + 1];
}

double complex *row_case_dense(const kaon_csr *csr) {
  double complex *dense = held(calloc((size_t)(csr->rows * csr->rows) + 1, sizeof *dense));
  for (int64_t i = 0; i < csr->rows; i++)
    for (int64_t n = csr->start[i]; n < csr->start[i + 1]; n++)
      if (csr->column[n] < csr->rows) dense[i * csr->rows + csr->column[n]] += value_at(csr, n);
  return dense;
}

void row_case_multiply(const kaon_csr *A, int dagger, const double complex *x, double complex *y) {
  for (int64_t i = 0; i < A->rows; i++) y[i] = 0;
  for (int64_t i = 0; i < A->rows; i++)
    for (int64_t n = A->start[i]; n < A->start[i + 1]; n++)
      if (dagger)
        y[A->column[n]] += conj(value_at(A, n)) * x[i];
      else
        y[i] += value_at(A, n) * x[A->column[n]];
}

double complex row_case_dot(int64_t n, const double complex *x, const double complex *y) {
  double complex sum = 0;
  for (int64_t i = 0; i < n; i++) sum += conj(x[i]) * y[i];
  return sum;
}

double row_case_norm(int64_t n, const double complex *x) {
  return sqrt(creal(row_case_dot(n, x, x)));
}

void row_case_vector(int64_t n, int reals, uint64_t seed, double complex *x) {
  for (int64_t i = 0; i < n; i++) {
    const double re = uniform(&seed), im = uniform(&seed);
    x[i] = reals == 2 ? re + I * im : re;
  }
}
