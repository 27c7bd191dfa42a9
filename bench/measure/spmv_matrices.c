/* spmv_matrices.c - see spmv_matrices.h. */
#include "bench/measure/spmv_matrices.h"

#include <math.h>
#include <stdlib.h>

#include "tests/util/stored_rows.h"

static uint64_t scattered(int64_t i, int64_t j) {
  uint64_t z = (uint64_t)(i < j ? i : j) * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)(i + j);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

double matrix_number(int64_t i, int64_t j) {
  return (double)(int64_t)scattered(i, j) * 0x1p-63;
}

static int put(int32_t *column, int k, int64_t at) {
  if (column != NULL) column[k] = (int32_t)at;
  return k + 1;
}

int laplace_row(int64_t n, int64_t row, int32_t *column) {
  const int64_t x = row % n, y = row / n % n, z = row / (n * n);
  int k = 0;
  if (z > 0) k = put(column, k, row - n * n);
  if (y > 0) k = put(column, k, row - n);
  if (x > 0) k = put(column, k, row - 1);
  k = put(column, k, row);
  if (x < n - 1) k = put(column, k, row + 1);
  if (y < n - 1) k = put(column, k, row + n);
  if (z < n - 1) k = put(column, k, row + n * n);
  return k;
}

int elasticity_row(int64_t n, int64_t row, int32_t *column) {
  const int64_t node = row / 3, x = node % n, y = node / n % n, z = node / (n * n);
  int k = 0;
  for (int64_t c = z - 1; c <= z + 1; c++)
    for (int64_t b = y - 1; b <= y + 1; b++)
      for (int64_t a = x - 1; a <= x + 1; a++) {
        if (a < 0 || b < 0 || c < 0 || a >= n || b >= n || c >= n) continue;
        for (int d = 0; d < 3; d++) k = put(column, k, 3 * (a + n * (b + n * c)) + d);
      }
  return k;
}

int trefethen_row(int64_t n, int64_t row, int32_t *column) {
  int k = 0;
  int64_t step = 1;
  while (step < n) step *= 2;
  for (; step > 0; step /= 2)
    if (row - step >= 0) k = put(column, k, row - step);
  k = put(column, k, row);
  for (step = 1; step < n; step *= 2)
    if (row + step < n) k = put(column, k, row + step);
  return k;
}

/* ---- skewed ---- */

/* A permutation of the numbers below 2^bits. */
static int64_t shuffled(int64_t i, int bits) {
  const uint64_t mask = (UINT64_C(1) << bits) - 1;
  const int half = bits / 2;
  uint64_t z = (uint64_t)i;
  z = (z ^ (z >> half)) * UINT64_C(0x9e3779b1) & mask;
  z = (z ^ (z >> half)) * UINT64_C(0x85ebca6b) & mask;
  return (int64_t)(z ^ (z >> half));
}

/* Of 1024 rows 1023 have 4 to 8 entries. The others, put in order, have SHORTEST (count / r)^(3/4),
 * r = 1/2, 3/2, ...: the share of those that are longer than L falls as L^(-4/3), so their mean is
 * finite and their variance is not. */
static int64_t skewed_length(int64_t rows, int64_t rank) {
  enum { ONE_IN = 1024, SHORTEST = 1000 };
  const int64_t count = rows / ONE_IN;
  if (rank >= count) return 4 + rank % 5;
  const double share = (double)count / ((double)rank + 0.5);
  const double length = SHORTEST * sqrt(share * sqrt(share));
  return length < (double)(rows / 2) ? (int64_t)length : rows / 2;
}

/* One column in each of as many adjacent ranges of columns as the row has entries: of up to 512 columns
 * around the diagonal, so that short rows meet their neighbours and long ones the whole matrix, as
 * where a circuit's supply lines meet its cells. */
int skewed_row(int64_t n, int64_t row, int32_t *column) {
  enum { SPREAD = 512 };
  const int64_t rows = INT64_C(1) << n, length = skewed_length(rows, shuffled(row, (int)n));
  const int64_t width = rows / length < SPREAD ? rows / length : SPREAD;
  const int64_t last = rows - length * width;
  int64_t first = row - length * width / 2;
  if (first < 0) first = 0;
  if (first > last) first = last;
  for (int64_t k = 0; k < length && column != NULL; k++)
    column[k] =
        (int32_t)(first + k * width + (int64_t)(scattered(row, rows + k) % (uint64_t)width));
  return (int)length;
}

/* ---- all ---- */

void matrix_make(row_maker *maker, int64_t n, int64_t rows, kaon_csr *m) {
  *m = (kaon_csr){.rows = rows, .columns = rows, .reals = 1};
  m->start = stored_room((size_t)(rows + 1) * sizeof *m->start);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < rows; i++) m->start[i + 1] = maker(n, i, NULL);
  for (int64_t i = 0; i < rows; i++) m->start[i + 1] += m->start[i];
  m->column = stored_room((size_t)m->start[rows] * sizeof *m->column);
  m->value = stored_room((size_t)m->start[rows] * sizeof *m->value);
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < rows; i++) {
    const int count = maker(n, i, m->column + m->start[i]);
    for (int k = 0; k < count; k++) {
      const int64_t at = m->start[i] + k;
      m->value[at] = m->column[at] == i ? count : matrix_number(i, m->column[at]);
    }
  }
}

void matrix_free(kaon_csr *m) {
  free(m->start), free(m->column), free(m->value);
  *m = (kaon_csr){0};
}

int matrix_columns_are_near(const kaon_csr *m) {
  int far = 0;
#pragma omp parallel for schedule(static) reduction(| : far)
  for (int64_t first = 0; first < m->rows; first += 32)
    for (int64_t j = 0, any = 1; any && !far; j++) {
      int64_t least = m->rows, most = 0;
      any = 0;
      for (int64_t i = first; i < first + 32; i++) {
        const int64_t count = i < m->rows ? m->start[i + 1] - m->start[i] : 0;
        any |= j < count;
        const int64_t at = j < count ? j : count - 1;
        const int64_t column = i >= m->rows ? 0 : count > 0 ? m->column[m->start[i] + at] : i;
        if (column < least) least = column;
        if (column > most) most = column;
      }
      far |= most - least > UINT16_MAX;
    }
  return !far;
}
