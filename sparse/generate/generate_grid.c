/* generate_grid.c - finite differences on regular grids, x fastest: point (x, y, z) is row x + n (y
 * + n z). Formulas: docs/conventions.md, "Generated matrices". */
#include "sparse/generate/generate_matrix.h"

typedef struct point {
  int64_t x, y, z;
} point;

static inline point point_of(const kaon_generator *g, int64_t i) {
  return (point){i % g->n, i / g->n % g->n, i / (g->n * g->n)};
}

/* Appends an entry to a row. */
static inline void put(int32_t *column, double *value, int *count, int64_t j, double a) {
  column[*count] = (int32_t)j;
  value[*count] = a;
  (*count)++;
}

static int row_laplace2d(const kaon_generator *g, int64_t i, int32_t *column, double *value,
                         double *rhs) {
  const int64_t n = g->n, x = i % n, y = i / n;
  int count = 0;
  (void)rhs;
  if (y > 0) put(column, value, &count, i - n, -1);
  if (x > 0) put(column, value, &count, i - 1, -1);
  put(column, value, &count, i, 4);
  if (x < n - 1) put(column, value, &count, i + 1, -1);
  if (y < n - 1) put(column, value, &count, i + n, -1);
  return count;
}

/* 7-point stencil: `below` for neighbours with smaller coordinates, `above` for the others.
 * *diagonal: index of the diagonal entry. */
static int row_of_seven(const kaon_generator *g, int64_t i, double below, double centre,
                        double above, int32_t *column, double *value, int *diagonal) {
  const int64_t n = g->n, plane = n * n;
  const point p = point_of(g, i);
  int count = 0;
  if (p.z > 0) put(column, value, &count, i - plane, below);
  if (p.y > 0) put(column, value, &count, i - n, below);
  if (p.x > 0) put(column, value, &count, i - 1, below);
  *diagonal = count;
  put(column, value, &count, i, centre);
  if (p.x < n - 1) put(column, value, &count, i + 1, above);
  if (p.y < n - 1) put(column, value, &count, i + n, above);
  if (p.z < n - 1) put(column, value, &count, i + plane, above);
  return count;
}

static int row_laplace3d(const kaon_generator *g, int64_t i, int32_t *column, double *value,
                         double *rhs) {
  int diagonal;
  (void)rhs;
  return row_of_seven(g, i, -1, 6, -1, column, value, &diagonal);
}

/* Upwind: the wind blows towards larger coordinates, so it transports the values of smaller
 * ones. */
static int row_convdiff3d(const kaon_generator *g, int64_t i, int32_t *column, double *value,
                          double *rhs) {
  int diagonal;
  (void)rhs;
  return row_of_seven(g, i, -(1 + g->strength), 6 + 3 * g->strength, -1, column, value, &diagonal);
}

/* The diagonal is the number of neighbours; twice that in cell 0, whose value is fixed. */
static int row_cavity3d(const kaon_generator *g, int64_t i, int32_t *column, double *value,
                        double *rhs) {
  int diagonal;
  (void)rhs;
  const int count = row_of_seven(g, i, -1, 0, -1, column, value, &diagonal);
  value[diagonal] = (count - 1) * (i == 0 ? 2 : 1);
  return count;
}

static int row_laplace3d27(const kaon_generator *g, int64_t i, int32_t *column, double *value,
                           double *rhs) {
  const int64_t n = g->n;
  const point p = point_of(g, i);
  int count = 0;
  (void)rhs;
  for (int64_t z = p.z - 1; z <= p.z + 1; z++) {
    if (z < 0 || z >= n) continue;
    for (int64_t y = p.y - 1; y <= p.y + 1; y++) {
      if (y < 0 || y >= n) continue;
      for (int64_t x = p.x - 1; x <= p.x + 1; x++) {
        if (x < 0 || x >= n) continue;
        const int64_t j = x + n * (y + n * z);
        put(column, value, &count, j, j == i ? 26 : -1);
      }
    }
  }
  return count;
}

static kaon_status grid(kaon_generator *g, double edge, int dimensions, int longest,
                        kaon_generator_row *row) {
  const int64_t n = g->n = (int64_t)edge, face = dimensions == 3 ? n * n : n;
  g->rows = face * n;
  g->entries = longest == 27 ? (3 * n - 2) * (3 * n - 2) * (3 * n - 2)
                             : longest * g->rows - 2 * dimensions * face;
  g->longest = longest;
  g->row = row;
  return KAON_OK;
}

kaon_status kaon_generate_laplace2d(const kaon_context *ctx, const double *numbers, int count,
                                    kaon_generator *g) {
  (void)ctx, (void)count;
  return grid(g, numbers[0], 2, 5, row_laplace2d);
}

kaon_status kaon_generate_laplace3d(const kaon_context *ctx, const double *numbers, int count,
                                    kaon_generator *g) {
  (void)ctx, (void)count;
  return grid(g, numbers[0], 3, 7, row_laplace3d);
}

kaon_status kaon_generate_laplace3d27(const kaon_context *ctx, const double *numbers, int count,
                                      kaon_generator *g) {
  (void)ctx, (void)count;
  return grid(g, numbers[0], 3, 27, row_laplace3d27);
}

kaon_status kaon_generate_convdiff3d(const kaon_context *ctx, const double *numbers, int count,
                                     kaon_generator *g) {
  (void)ctx, (void)count;
  g->strength = numbers[1] / (numbers[0] + 1);
  return grid(g, numbers[0], 3, 7, row_convdiff3d);
}

kaon_status kaon_generate_cavity3d(const kaon_context *ctx, const double *numbers, int count,
                                   kaon_generator *g) {
  (void)ctx, (void)count;
  return grid(g, numbers[0], 3, 7, row_cavity3d);
}
