/* generate_elasticity.c - linear elasticity of a cube of n^3 nodes. The elements are trilinear
 * hexahedra with Young's modulus 1, Poisson's ratio 0.3 and edges of length 1. The cube is clamped
 * at x = 0, and the nodes there are left out. Gravity acts along -z. Node (x, y, z), x > 0, has the
 * rows 3 (x - 1 + (n - 1) (y + n z)) + c. Element matrix: K = sum over 2 x 2 x 2 Gauss points of
 * B^T D B (exact for a box), e.g. Hughes, "The Finite Element Method" (1987), chapter 2.7. */
#include <math.h>
#include <stdlib.h>

#include "sparse/generate/generate_matrix.h"

enum { NODES = 8, UNKNOWNS = 24, STRAINS = 6 };

typedef struct element {
  double k[UNKNOWNS][UNKNOWNS]; /* [3 a + c][3 b + d], nodes a and b */
} element;

/* The gradient at `at` of the shape function of node a = ax + 2 ay + 4 az of the unit cube. */
static void gradient(int a, const double at[3], double g[3]) {
  double f[3], d[3];
  for (int c = 0; c < 3; c++) {
    const int upper = a >> c & 1;
    f[c] = upper ? at[c] : 1 - at[c];
    d[c] = upper ? 1 : -1;
  }
  g[0] = d[0] * f[1] * f[2];
  g[1] = f[0] * d[1] * f[2];
  g[2] = f[0] * f[1] * d[2];
}

/* Strains xx, yy, zz, xy, yz, zx of displacement c with gradient g. */
static void strain(int c, const double g[3], double e[STRAINS]) {
  for (int s = 0; s < STRAINS; s++) e[s] = 0;
  e[c] = g[c];
  if (c == 0) e[3] = g[1], e[5] = g[2];
  if (c == 1) e[3] = g[0], e[4] = g[2];
  if (c == 2) e[4] = g[1], e[5] = g[0];
}

static double energy(const double e[STRAINS], const double f[STRAINS]) {
  const double nu = 0.3, lambda = nu / ((1 + nu) * (1 - 2 * nu)), mu = 1 / (2 * (1 + nu));
  const double trace = (e[0] + e[1] + e[2]) * (f[0] + f[1] + f[2]);
  double sum = lambda * trace;
  for (int s = 0; s < 3; s++) sum += 2 * mu * e[s] * f[s];
  for (int s = 3; s < STRAINS; s++) sum += mu * e[s] * f[s];
  return sum;
}

static void make_element(element *e) {
  const double away = 0.5 / sqrt(3.0);
  for (int i = 0; i < UNKNOWNS; i++)
    for (int j = 0; j <= i; j++) {
      double sum = 0;
      for (int q = 0; q < NODES; q++) {
        double at[3], gi[3], gj[3], si[STRAINS], sj[STRAINS];
        for (int c = 0; c < 3; c++) at[c] = 0.5 + (q >> c & 1 ? away : -away);
        gradient(i / 3, at, gi);
        gradient(j / 3, at, gj);
        strain(i % 3, gi, si);
        strain(j % 3, gj, sj);
        sum += energy(si, sj) / NODES;
      }
      e->k[i][j] = e->k[j][i] = sum;
    }
}

/* The first and one past the last element along an axis that contain both nodes p and q. */
static void shared(int64_t p, int64_t q, int64_t n, int64_t *first, int64_t *end) {
  const int64_t low = p < q ? p : q, high = p < q ? q : p;
  *first = high > 0 ? high - 1 : 0;
  *end = low < n - 1 ? low + 1 : n - 1;
}

/* Adds row c of the block of nodes p and q. The order of the elements is the same for (p, q) and
 * (q, p), so the matrix is symmetric to the last bit. */
static void add_block(const element *e, int64_t n, const int64_t p[3], const int64_t q[3], int c,
                      double block[3]) {
  int64_t first[3], end[3];
  for (int a = 0; a < 3; a++) shared(p[a], q[a], n, &first[a], &end[a]);
  block[0] = block[1] = block[2] = 0;
  for (int64_t z = first[2]; z < end[2]; z++)
    for (int64_t y = first[1]; y < end[1]; y++)
      for (int64_t x = first[0]; x < end[0]; x++) {
        const int64_t a = p[0] - x + 2 * (p[1] - y) + 4 * (p[2] - z);
        const int64_t b = q[0] - x + 2 * (q[1] - y) + 4 * (q[2] - z);
        for (int d = 0; d < 3; d++) block[d] += e->k[3 * a + c][3 * b + d];
      }
}

static int row_elasticity(const kaon_generator *g, int64_t i, int32_t *column, double *value,
                          double *rhs) {
  const int64_t n = g->n, node = i / 3;
  const int64_t p[3] = {node % (n - 1) + 1, node / (n - 1) % n, node / ((n - 1) * n)};
  int64_t q[3];
  int count = 0;
  for (q[2] = p[2] - 1; q[2] <= p[2] + 1; q[2]++) {
    if (q[2] < 0 || q[2] >= n) continue;
    for (q[1] = p[1] - 1; q[1] <= p[1] + 1; q[1]++) {
      if (q[1] < 0 || q[1] >= n) continue;
      for (q[0] = p[0] - 1; q[0] <= p[0] + 1; q[0]++) {
        if (q[0] < 1 || q[0] >= n) continue;
        const int64_t j = 3 * (q[0] - 1 + (n - 1) * (q[1] + n * q[2]));
        add_block(g->table, n, p, q, (int)(i % 3), value + count);
        for (int d = 0; d < 3; d++) column[count++] = (int32_t)(j + d);
      }
    }
  }
  int elements = 1; /* an eighth of the weight of each element that contains the node */
  for (int a = 0; a < 3; a++) elements *= p[a] > 0 && p[a] < n - 1 ? 2 : 1;
  *rhs = i % 3 == 2 ? -0.125 * elements : 0;
  return count;
}

kaon_status kaon_generate_elasticity(const kaon_context *ctx, const double *numbers, int count,
                                     kaon_generator *g) {
  (void)count;
  element *e = malloc(sizeof *e);
  if (e == NULL) return kaon_fail(ctx, KAON_ERR_MEMORY, "matrix 'elasticity': out of host memory");
  make_element(e);
  g->n = (int64_t)numbers[0];
  g->rows = 3 * g->n * g->n * (g->n - 1);
  g->entries = 9 * (3 * g->n - 5) * (3 * g->n - 2) * (3 * g->n - 2);
  g->longest = 3 * 27;
  g->has_rhs = 1;
  g->table = e;
  g->row = row_elasticity;
  return KAON_OK;
}
