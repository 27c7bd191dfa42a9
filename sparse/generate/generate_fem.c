/* generate_fem.c - the three boundary value problems of the Kaczmarz paper, by finite elements of
 * degree 1 to 3 on the mesh of fem_mesh.h: integral alpha grad u . grad v + gamma u v = f v, u = 0
 * on the boundary. Formulas: docs/conventions.md, "Generated matrices". Unknowns are numbered:
 * vertices, then inner nodes of edges, then those of cells. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sparse/generate/fem_mesh.h"
#include "sparse/generate/generate_matrix.h"
#include "sparse/storage/host_memory.h"

enum { MOST_NODES = 16, MOST_POINTS = 16, MOST_DEGREE = 3 };

/* Shape functions of one kind of cell at the quadrature points. */
typedef struct element {
  int corners, nodes, inner; /* inner: nodes inside the cell, which come last */
  int points;
  int node[MOST_NODES][2]; /* position in units of 1 / degree */
  double at[MOST_POINTS][2], weight[MOST_POINTS];
  double value[MOST_POINTS][MOST_NODES], slope[MOST_POINTS][MOST_NODES][2];
} element;

/* ---- quadrature of order 2 * degree ---- */

typedef struct orbit {
  double a, b, weight; /* (a, a), (1 - 2 a, a), ... 3 points; b > 0: (a, b), ... 6 points */
} orbit;

/* Degree 2: Strang and Fix (1973); degree 4: Dunavant, Int. J. Numer. Meth. Eng. 21 (1985) 1129;
 * degree 6: the 12 points of LehrFEM++ (lf/quad). The sum of the weights is the triangle's area
 * 1/2. */
static const orbit orbits[MOST_DEGREE][3] = {
    {{1.0 / 6, 0, 1.0 / 6}},
    {{0.4459484909159649, 0, 0.11169079483900575}, {0.09157621350977074, 0, 0.054975871827660935}},
    {{0.21942998254978297, 0, 0.0856665620764905},
     {0.48013796411221504, 0, 0.04036554479651548},
     {0.14161901592396814, 0.019371724361240802, 0.020317279896830326}}};

static void add_point(element *e, double x, double y, double weight) {
  e->at[e->points][0] = x;
  e->at[e->points][1] = y;
  e->weight[e->points++] = weight;
}

static void triangle_points(element *e, int degree) {
  for (int k = 0; k < degree; k++) {
    const orbit *o = &orbits[degree - 1][k];
    const double second = o->b > 0 ? o->b : o->a, c = 1 - o->a - second;
    add_point(e, o->a, second, o->weight);
    add_point(e, second, c, o->weight);
    add_point(e, c, o->a, o->weight);
    if (o->b <= 0) continue;
    add_point(e, second, o->a, o->weight);
    add_point(e, o->a, c, o->weight);
    add_point(e, c, second, o->weight);
  }
}

/* Gauss-Legendre, degree + 1 points in each direction. */
static void quad_points(element *e, int degree) {
  const double s = sqrt(1.2);
  const double x2 = 1 / sqrt(3.0), x3 = sqrt(0.6);
  const double inner = sqrt((3 - 2 * s) / 7), outer = sqrt((3 + 2 * s) / 7);
  const double w_in = (18 + sqrt(30.0)) / 36, w_out = (18 - sqrt(30.0)) / 36;
  const double x[MOST_DEGREE][4] = {{-x2, x2}, {-x3, 0, x3}, {-outer, -inner, inner, outer}};
  const double w[MOST_DEGREE][4] = {
      {1, 1}, {5.0 / 9, 8.0 / 9, 5.0 / 9}, {w_out, w_in, w_in, w_out}};
  for (int i = 0; i <= degree; i++)
    for (int j = 0; j <= degree; j++)
      add_point(e, 0.5 + 0.5 * x[degree - 1][i], 0.5 + 0.5 * x[degree - 1][j],
                0.25 * w[degree - 1][i] * w[degree - 1][j]);
}

/* ---- nodes and functions ---- */

static void add_node(element *e, int x, int y) {
  e->node[e->nodes][0] = x;
  e->node[e->nodes++][1] = y;
}

static void make_nodes(element *e, int p) {
  static const int corner[2][4][2] = {{{0, 0}, {1, 0}, {0, 1}, {0, 0}},
                                      {{0, 0}, {1, 0}, {1, 1}, {0, 1}}};
  const int(*c)[2] = corner[e->corners == 4];
  for (int k = 0; k < e->corners; k++) add_node(e, p * c[k][0], p * c[k][1]);
  for (int k = 0; k < e->corners; k++) {
    const int *from = c[k], *to = c[(k + 1) % e->corners];
    for (int n = 1; n < p; n++)
      add_node(e, (p - n) * from[0] + n * to[0], (p - n) * from[1] + n * to[1]);
  }
  const int before = e->nodes;
  if (e->corners == 3 && p == 3) add_node(e, 1, 1);
  if (e->corners == 4 && p == 2) add_node(e, 1, 1);
  if (e->corners == 4 && p == 3)
    for (int k = 0; k < 4; k++) add_node(e, 1 + c[k][0], 1 + c[k][1]);
  e->inner = e->nodes - before;
}

/* prod_{m in [0, last], m != skip} (p t - m) / (i - m) and its derivative with respect to t. */
static void factor(double t, int p, int i, int last, int skip, double *value, double *slope) {
  *value = 1;
  *slope = 0;
  for (int m = 0; m <= last; m++) {
    if (m == skip) continue;
    const double f = (p * t - m) / (i - m), d = (double)p / (i - m);
    *slope = *slope * f + *value * d;
    *value *= f;
  }
}

/* Triangle: a product over the barycentric coordinates; quadrilateral: over the directions. */
static void make_functions(element *e, int p) {
  for (int q = 0; q < e->points; q++)
    for (int n = 0; n < e->nodes; n++) {
      const double x = e->at[q][0], y = e->at[q][1];
      const int i = e->node[n][0], j = e->node[n][1];
      double f, df, g, dg, h = 1, dh = 0;
      if (e->corners == 3) {
        factor(x, p, i, i - 1, -1, &f, &df);
        factor(y, p, j, j - 1, -1, &g, &dg);
        factor(1 - x - y, p, p - i - j, p - i - j - 1, -1, &h, &dh);
      } else {
        factor(x, p, i, p, i, &f, &df);
        factor(y, p, j, p, j, &g, &dg);
      }
      e->value[q][n] = f * g * h;
      e->slope[q][n][0] = df * g * h - f * g * dh;
      e->slope[q][n][1] = f * dg * h - f * g * dh;
    }
}

static void make_element(element *e, int corners, int degree) {
  *e = (element){.corners = corners};
  if (corners == 3)
    triangle_points(e, degree);
  else
    quad_points(e, degree);
  make_nodes(e, degree);
  make_functions(e, degree);
}

/* ---- the problems ---- */

typedef struct coefficients {
  double alpha, gamma, f;
} coefficients;

static coefficients coefficients_at(int problem, double x, double y) {
  const double u = x - x * x, v = y - y * y;
  if (problem == 1) return (coefficients){1, 1, 2 * u + 2 * v + 1000};
  if (problem == 2) {
    const double gamma = x * x + y * y;
    return (coefficients){1, gamma, 2 * u + 2 * v + gamma * u * v};
  }
  const double u2 = x * u, v2 = y * v; /* x^2 - x^3 */
  return (coefficients){x * y, x * y, -((1 - 4 * x) * v2 + (1 - 4 * y) * u2) + u2 * v2};
}

/* Position and Jacobian [direction][reference direction] at point q of a cell. */
static void place(const kaon_fem_mesh *mesh, const kaon_fem_cell *c, const element *e, int q,
                  double at[2], double jacobian[2][2]) {
  const double x = e->at[q][0], y = e->at[q][1];
  const double *p[4];
  for (int k = 0; k < 4; k++) p[k] = mesh->at[c->vertex[k < c->corners ? k : 0]];
  for (int d = 0; d < 2; d++) {
    const double a = p[1][d] - p[0][d], b = (c->corners == 3 ? p[2][d] : p[3][d]) - p[0][d];
    const double twist = c->corners == 3 ? 0 : p[2][d] - p[1][d] - p[3][d] + p[0][d];
    at[d] = p[0][d] + a * x + b * y + twist * x * y;
    jacobian[d][0] = a + twist * y;
    jacobian[d][1] = b + twist * x;
  }
}

/* A cell's contribution to the matrix (lower triangle) and to the right-hand side. */
static void integrate(const kaon_fem_mesh *mesh, const kaon_fem_cell *c, const element *e,
                      int problem, double matrix[MOST_NODES][MOST_NODES], double load[MOST_NODES]) {
  memset(matrix, 0, sizeof(double[MOST_NODES][MOST_NODES]));
  memset(load, 0, sizeof(double[MOST_NODES]));
  for (int q = 0; q < e->points; q++) {
    double at[2], j[2][2], slope[MOST_NODES][2];
    place(mesh, c, e, q, at, j);
    const double det = j[0][0] * j[1][1] - j[0][1] * j[1][0];
    const coefficients k = coefficients_at(problem, at[0], at[1]);
    const double w = e->weight[q] * fabs(det);
    for (int n = 0; n < e->nodes; n++) {
      const double *s = e->slope[q][n];
      slope[n][0] = (j[1][1] * s[0] - j[1][0] * s[1]) / det;
      slope[n][1] = (-j[0][1] * s[0] + j[0][0] * s[1]) / det;
    }
    for (int n = 0; n < e->nodes; n++) {
      load[n] += w * k.f * e->value[q][n];
      for (int m = 0; m <= n; m++)
        matrix[n][m] += w * (k.alpha * (slope[n][0] * slope[m][0] + slope[n][1] * slope[m][1]) +
                             k.gamma * e->value[q][n] * e->value[q][m]);
    }
  }
}

/* ---- assembly ---- */

typedef struct fem_system {
  int degree, problem;
  element kind[2]; /* triangles, quadrilaterals */
  kaon_fem_mesh mesh;
  kaon_csr *csr;
  double *rhs;
  unsigned char *fixed; /* [unknown] 1: on the boundary */
} fem_system;

static int64_t unknowns(const fem_system *s) {
  int64_t inner = 0;
  for (int64_t c = 0; c < s->mesh.cells; c++) inner += s->kind[s->mesh.cell[c].corners == 4].inner;
  return s->mesh.vertices + s->mesh.edges * (s->degree - 1) + inner;
}

/* The unknowns of a cell's nodes. Its inner ones begin at *inner, which is advanced. */
static const element *unknowns_of(const fem_system *s, int64_t cell, int64_t *inner,
                                  int32_t number[MOST_NODES]) {
  const kaon_fem_cell *c = &s->mesh.cell[cell];
  const element *e = &s->kind[c->corners == 4];
  const int between = s->degree - 1;
  int n = 0;
  for (; n < c->corners; n++) number[n] = c->vertex[n];
  for (int k = 0; k < c->corners; k++) {
    const int forward = s->mesh.edge[c->edge[k]][0] == c->vertex[k];
    for (int m = 0; m < between; m++)
      number[n++] = (int32_t)(s->mesh.vertices + (int64_t)c->edge[k] * between +
                              (forward ? m : between - 1 - m));
  }
  while (n < e->nodes) number[n++] = (int32_t)(*inner)++;
  return e;
}

static int64_t first_inner(const fem_system *s) {
  return s->mesh.vertices + s->mesh.edges * (s->degree - 1);
}

/* The boundary: edges that belong to one cell only, with their ends and inner nodes. */
static kaon_status find_boundary(const kaon_context *ctx, fem_system *s) {
  const kaon_fem_mesh *m = &s->mesh;
  unsigned char *cells = calloc((size_t)m->edges, 1);
  s->fixed = calloc((size_t)unknowns(s), 1);
  if (cells == NULL || s->fixed == NULL) {
    free(cells);
    return kaon_fail(ctx, KAON_ERR_MEMORY, "matrix 'fem': out of host memory for %lld edges",
                     (long long)m->edges);
  }
  for (int64_t c = 0; c < m->cells; c++)
    for (int k = 0; k < m->cell[c].corners; k++) cells[m->cell[c].edge[k]]++;
  for (int64_t e = 0; e < m->edges; e++) {
    if (cells[e] != 1) continue;
    s->fixed[m->edge[e][0]] = s->fixed[m->edge[e][1]] = 1;
    for (int n = 0; n < s->degree - 1; n++) s->fixed[m->vertices + e * (s->degree - 1) + n] = 1;
  }
  free(cells);
  return KAON_OK;
}

/* Called for the pairs of unknowns of all cells that are entries of the matrix. A fixed unknown has
 * only its diagonal. */
typedef void take_pair(fem_system *s, int64_t i, int32_t j, double value);

static int stands(const fem_system *s, int32_t i, int32_t j) {
  return i == j || (!s->fixed[i] && !s->fixed[j]);
}

static void each_pair(fem_system *s, int with_values, take_pair *take) {
  int64_t inner = first_inner(s);
  double matrix[MOST_NODES][MOST_NODES], load[MOST_NODES];
  int32_t number[MOST_NODES];
  for (int64_t c = 0; c < s->mesh.cells; c++) {
    const element *e = unknowns_of(s, c, &inner, number);
    if (with_values) integrate(&s->mesh, &s->mesh.cell[c], e, s->problem, matrix, load);
    for (int n = 0; n < e->nodes; n++) {
      for (int m = 0; m < e->nodes; m++)
        if (stands(s, number[n], number[m]))
          take(s, number[n], number[m], !with_values ? 0 : n >= m ? matrix[n][m] : matrix[m][n]);
      if (with_values && !s->fixed[number[n]]) s->rhs[number[n]] += load[n];
    }
  }
}

static void count_pair(fem_system *s, int64_t i, int32_t j, double value) {
  (void)j, (void)value;
  s->csr->start[i + 1]++;
}

static void note_pair(fem_system *s, int64_t i, int32_t j, double value) {
  const int64_t at = s->csr->start[i]++;
  s->csr->column[at] = j;
  s->csr->value[at] = value;
}

static void add_pair(fem_system *s, int64_t i, int32_t j, double value) {
  s->csr->value[kaon_csr_find(s->csr, i, j)] += value;
}

/* The pattern with zeros: collects the pairs, sorts them and removes duplicates. */
static kaon_status make_pattern(const kaon_context *ctx, fem_system *s, int64_t rows) {
  const int64_t each[2] = {s->kind[0].nodes, s->kind[1].nodes};
  int64_t most = 0;
  for (int64_t c = 0; c < s->mesh.cells; c++) {
    const int64_t n = each[s->mesh.cell[c].corners == 4];
    most += n * n;
  }
  KAON_TRY(kaon_csr_create(ctx, rows, rows, 1, most, &s->csr));
  memset(s->csr->start, 0, ((size_t)rows + 1) * sizeof *s->csr->start);
  each_pair(s, 0, count_pair);
  for (int64_t i = 0; i < rows; i++) s->csr->start[i + 1] += s->csr->start[i];
  each_pair(s, 0, note_pair);
  memmove(s->csr->start + 1, s->csr->start, (size_t)rows * sizeof *s->csr->start);
  s->csr->start[0] = 0;
  return kaon_csr_sort(ctx, s->csr, KAON_CSR_ADD);
}

static kaon_status assemble(const kaon_context *ctx, fem_system *s) {
  const int64_t rows = unknowns(s);
  KAON_TRY(find_boundary(ctx, s));
  KAON_TRY(make_pattern(ctx, s, rows));
  s->rhs = calloc((size_t)rows, sizeof *s->rhs);
  if (s->rhs == NULL)
    return kaon_fail(ctx, KAON_ERR_MEMORY, "matrix 'fem': out of host memory for %lld unknowns",
                     (long long)rows);
  each_pair(s, 1, add_pair);
  for (int64_t i = 0; i < rows; i++)
    if (s->fixed[i]) s->csr->value[s->csr->start[i]] = 1;
  return KAON_OK;
}

/* ---- rows ---- */

static void release(void *table) {
  fem_system *s = table;
  if (s == NULL) return;
  kaon_fem_mesh_release(&s->mesh);
  kaon_csr_destroy(&s->csr);
  free(s->rhs);
  free(s->fixed);
  free(s);
}

static int row_fem(const kaon_generator *g, int64_t i, int32_t *column, double *value,
                   double *rhs) {
  const fem_system *s = g->table;
  const int64_t first = s->csr->start[i], count = s->csr->start[i + 1] - first;
  memcpy(column, s->csr->column + first, (size_t)count * sizeof *column);
  memcpy(value, s->csr->value + first, (size_t)count * sizeof *value);
  *rhs = s->rhs[i];
  return (int)count;
}

static int longest_row(const kaon_csr *csr) {
  int64_t longest = 1;
  for (int64_t i = 0; i < csr->rows; i++)
    if (csr->start[i + 1] - csr->start[i] > longest) longest = csr->start[i + 1] - csr->start[i];
  return (int)longest;
}

static kaon_status require_memory(const kaon_context *ctx, const fem_system *s, int level) {
  const double n3 = s->kind[0].nodes, n4 = s->kind[1].nodes;
  const double cells = ldexp(1, 2 * level);
  const double pairs = cells * (KAON_FEM_TRIANGLES * n3 * n3 + KAON_FEM_QUADS * n4 * n4);
  const double need = 12 * pairs + 80 * (KAON_FEM_TRIANGLES + KAON_FEM_QUADS) * cells;
  const double have = (double)kaon_host_memory();
  if (need <= have) return KAON_OK;
  return kaon_fail(ctx, KAON_ERR_MEMORY,
                   "matrix 'fem': level %d needs %.3f GB of host memory, but the machine has %.3f "
                   "GB; take a lower one",
                   level, need * 1e-9, have * 1e-9);
}

kaon_status kaon_generate_fem(const kaon_context *ctx, const double *numbers, int count,
                              kaon_generator *g) {
  (void)count;
  fem_system *s = calloc(1, sizeof *s);
  if (s == NULL) return kaon_fail(ctx, KAON_ERR_MEMORY, "matrix 'fem': out of host memory");
  g->table = s;
  g->release = release;
  s->problem = (int)numbers[0];
  s->degree = (int)numbers[1];
  make_element(&s->kind[0], 3, s->degree);
  make_element(&s->kind[1], 4, s->degree);
  KAON_TRY(require_memory(ctx, s, (int)numbers[2]));
  KAON_TRY(kaon_fem_mesh_create(ctx, (int)numbers[2], &s->mesh));
  KAON_TRY(assemble(ctx, s));
  g->rows = s->csr->rows;
  g->entries = s->csr->start[g->rows];
  g->longest = longest_row(s->csr);
  g->has_rhs = 1;
  g->row = row_fem;
  return KAON_OK;
}
