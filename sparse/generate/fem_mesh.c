/* fem_mesh.c - Contract: fem_mesh.h. A refinement keeps the vertices, then adds the midpoints of
 * edges and those of quadrilaterals. Edge e becomes 2 e and 2 e + 1; inner edges of cells
 * follow. */
#include "sparse/generate/fem_mesh.h"

#include <stdlib.h>
#include <string.h>

enum { VERTICES = 10, EDGES = 18, CELLS = 9 };

static const double base_at[VERTICES][2] = {{1.5, 2}, {1, 1}, {2, 1}, {0, 0}, {1.5, 0},
                                            {3, 0},   {3, 2}, {3, 3}, {0, 3}, {0, 1}};
static const kaon_fem_cell base_cell[CELLS] = {
    {3, {0, 8, 9}, {0}},    {3, {3, 4, 1}, {0}}, {3, {4, 2, 1}, {0}},
    {3, {4, 5, 2}, {0}},    {3, {5, 6, 2}, {0}}, {4, {3, 1, 0, 9}, {0}},
    {4, {2, 6, 7, 0}, {0}}, {3, {0, 7, 8}, {0}}, {3, {0, 1, 2}, {0}}};

void kaon_fem_mesh_release(kaon_fem_mesh *mesh) {
  free(mesh->at);
  free(mesh->edge);
  free(mesh->cell);
  *mesh = (kaon_fem_mesh){0};
}

static kaon_status free_workspace(const kaon_context *ctx, int64_t vertices, int64_t edges,
                                  int64_t cells, kaon_fem_mesh *mesh) {
  mesh->vertices = vertices;
  mesh->edges = edges;
  mesh->cells = cells;
  mesh->at = malloc((size_t)vertices * sizeof *mesh->at);
  mesh->edge = malloc((size_t)edges * sizeof *mesh->edge);
  mesh->cell = malloc((size_t)cells * sizeof *mesh->cell);
  if (mesh->at != NULL && mesh->edge != NULL && mesh->cell != NULL) return KAON_OK;
  kaon_fem_mesh_release(mesh);
  return kaon_fail(ctx, KAON_ERR_MEMORY,
                   "matrix 'fem': out of host memory for a mesh of %lld cells", (long long)cells);
}

static int follows(const int32_t a[2], const int32_t b[2]) {
  const int32_t la = a[0] < a[1] ? a[0] : a[1], ha = a[0] < a[1] ? a[1] : a[0];
  const int32_t lb = b[0] < b[1] ? b[0] : b[1], hb = b[0] < b[1] ? b[1] : b[0];
  return la != lb ? la > lb : ha > hb;
}

static int joins(const int32_t edge[2], int32_t a, int32_t b) {
  return (edge[0] == a && edge[1] == b) || (edge[0] == b && edge[1] == a);
}

static int find_edge(const kaon_fem_mesh *mesh, int count, int32_t a, int32_t b) {
  for (int e = 0; e < count; e++)
    if (joins(mesh->edge[e], a, b)) return e;
  return -1;
}

/* An edge has the direction of the first cell that contains it. Edges are ordered by their lower,
 * then their higher vertex. */
static void make_base(kaon_fem_mesh *mesh) {
  int count = 0;
  memcpy(mesh->at, base_at, sizeof base_at);
  memcpy(mesh->cell, base_cell, sizeof base_cell);
  for (int c = 0; c < CELLS; c++)
    for (int k = 0; k < base_cell[c].corners; k++) {
      const int32_t a = base_cell[c].vertex[k];
      const int32_t b = base_cell[c].vertex[(k + 1) % base_cell[c].corners];
      if (find_edge(mesh, count, a, b) >= 0) continue;
      const int32_t edge[2] = {a, b};
      int at = count++;
      for (; at > 0 && follows(mesh->edge[at - 1], edge); at--)
        memcpy(mesh->edge[at], mesh->edge[at - 1], sizeof edge);
      memcpy(mesh->edge[at], edge, sizeof edge);
    }
  for (int c = 0; c < CELLS; c++)
    for (int k = 0; k < base_cell[c].corners; k++)
      mesh->cell[c].edge[k] = find_edge(mesh, EDGES, base_cell[c].vertex[k],
                                        base_cell[c].vertex[(k + 1) % base_cell[c].corners]);
}

/* ---- refinement ---- */

typedef struct refining {
  const kaon_fem_mesh *from;
  kaon_fem_mesh *to;
  int64_t middle; /* next vertex at the centre of a quadrilateral */
  int64_t edge;   /* next inner edge */
  int64_t cell;   /* next cell */
} refining;

/* The half of edge e that contains its vertex v. */
static int32_t half(const kaon_fem_mesh *from, int32_t e, int32_t v) {
  return 2 * e + (from->edge[e][0] != v);
}

static int32_t add_edge(refining *r, int32_t a, int32_t b) {
  r->to->edge[r->edge][0] = a;
  r->to->edge[r->edge][1] = b;
  return (int32_t)r->edge++;
}

static void add_triangle(refining *r, const int32_t v[3], const int32_t e[3]) {
  r->to->cell[r->cell++] = (kaon_fem_cell){3, {v[0], v[1], v[2], 0}, {e[0], e[1], e[2], 0}};
}

static void refine_triangle(refining *r, const kaon_fem_cell *c) {
  int32_t m[3];
  for (int k = 0; k < 3; k++) m[k] = (int32_t)(r->from->vertices + c->edge[k]);
  const int32_t i02 = add_edge(r, m[0], m[2]);
  const int32_t i01 = add_edge(r, m[0], m[1]);
  const int32_t i21 = add_edge(r, m[2], m[1]);
  const int32_t *v = c->vertex, *e = c->edge;
  const kaon_fem_mesh *f = r->from;
  add_triangle(r, (int32_t[]){v[0], m[0], m[2]},
               (int32_t[]){half(f, e[0], v[0]), i02, half(f, e[2], v[0])});
  add_triangle(r, (int32_t[]){v[1], m[0], m[1]},
               (int32_t[]){half(f, e[0], v[1]), i01, half(f, e[1], v[1])});
  add_triangle(r, (int32_t[]){v[2], m[2], m[1]},
               (int32_t[]){half(f, e[2], v[2]), i21, half(f, e[1], v[2])});
  add_triangle(r, m, (int32_t[]){i01, i21, i02});
}

/* Adds the quadrilateral at corner v between the edges whose midpoints are `next` and `last`
 * (indices in the cell). */
static void add_quad(refining *r, const kaon_fem_cell *c, int v, int next, int last,
                     const int32_t m[5], const int32_t inner[4]) {
  r->to->cell[r->cell++] =
      (kaon_fem_cell){4,
                      {c->vertex[v], m[next], m[4], m[last]},
                      {half(r->from, c->edge[next], c->vertex[v]), inner[next], inner[last],
                       half(r->from, c->edge[last], c->vertex[v])}};
}

static void refine_quad(refining *r, const kaon_fem_cell *c) {
  int32_t m[5], inner[4];
  double *middle = r->to->at[r->middle];
  for (int k = 0; k < 4; k++) m[k] = (int32_t)(r->from->vertices + c->edge[k]);
  m[4] = (int32_t)r->middle++;
  for (int d = 0; d < 2; d++) {
    const double(*at)[2] = (const double(*)[2])r->from->at;
    middle[d] = 0.25 * (at[c->vertex[0]][d] + at[c->vertex[1]][d] + at[c->vertex[2]][d] +
                        at[c->vertex[3]][d]);
  }
  for (int k = 0; k < 4; k++) inner[k] = add_edge(r, m[k], m[4]);
  add_quad(r, c, 0, 0, 3, m, inner);
  add_quad(r, c, 1, 1, 0, m, inner);
  add_quad(r, c, 2, 1, 2, m, inner);
  add_quad(r, c, 3, 2, 3, m, inner);
}

static void split_edges(refining *r) {
  const kaon_fem_mesh *from = r->from;
  for (int64_t e = 0; e < from->edges; e++) {
    const int32_t a = from->edge[e][0], b = from->edge[e][1];
    const int32_t middle = (int32_t)(from->vertices + e);
    for (int d = 0; d < 2; d++) r->to->at[middle][d] = 0.5 * (from->at[a][d] + from->at[b][d]);
    add_edge(r, a, middle);
    add_edge(r, middle, b);
  }
}

static kaon_status refine(const kaon_context *ctx, kaon_fem_mesh *mesh) {
  kaon_fem_mesh finer;
  int64_t quads = 0, inner = 0;
  for (int64_t c = 0; c < mesh->cells; c++) {
    quads += mesh->cell[c].corners == 4;
    inner += mesh->cell[c].corners;
  }
  KAON_TRY(free_workspace(ctx, mesh->vertices + mesh->edges + quads, 2 * mesh->edges + inner,
                          4 * mesh->cells, &finer));
  refining r = {mesh, &finer, mesh->vertices + mesh->edges, 0, 0};
  memcpy(finer.at, mesh->at, (size_t)mesh->vertices * sizeof *mesh->at);
  split_edges(&r);
  for (int64_t c = 0; c < mesh->cells; c++)
    if (mesh->cell[c].corners == 3)
      refine_triangle(&r, &mesh->cell[c]);
    else
      refine_quad(&r, &mesh->cell[c]);
  kaon_fem_mesh_release(mesh);
  *mesh = finer;
  return KAON_OK;
}

kaon_status kaon_fem_mesh_create(const kaon_context *ctx, int level, kaon_fem_mesh *mesh) {
  KAON_TRY(free_workspace(ctx, VERTICES, EDGES, CELLS, mesh));
  make_base(mesh);
  kaon_status status = KAON_OK;
  for (int n = 0; n < level && status == KAON_OK; n++) status = refine(ctx, mesh);
  if (status != KAON_OK) kaon_fem_mesh_release(mesh);
  return status;
}
