/* generate_points.c - coordinates of the unknowns of generated matrices, for sweep orders by
 * spatial sections. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kaon/sparse.h>

#include "lib/core/context_internal.h"
#include "sparse/generate/fem_mesh.h"
#include "lib/core/entry.h"

enum { MOST_LEVEL = 12, MOST_POINTS = 1 << 12 }; /* above the limits of all generated matrices */

static kaon_status no_memory(const kaon_context *ctx, const char *name) {
  return kaon_fail(ctx, KAON_ERR_MEMORY, "points of %s: out of host memory", name);
}

/* Degree 1: the vertices, in the mesh's order. */
static kaon_status of_mesh(const kaon_context *ctx, const char *name, int level, double **points) {
  KAON_AUTO(kaon_fem_mesh_release) kaon_fem_mesh mesh = {0};
  KAON_TRY(kaon_fem_mesh_create(ctx, level, &mesh));
  *points = malloc((size_t)mesh.vertices * 2 * sizeof **points + 1);
  if (*points != NULL) memcpy(*points, mesh.at, (size_t)mesh.vertices * 2 * sizeof **points);
  return *points != NULL ? KAON_OK : no_memory(ctx, name);
}

/* x fastest. */
static kaon_status of_grid(const kaon_context *ctx, const char *name, int n, int dimensions,
                           double **points) {
  int64_t rows = 1;
  for (int d = 0; d < dimensions; d++) rows *= n;
  *points = malloc((size_t)(rows * dimensions) * sizeof **points + 1);
  if (*points == NULL) return no_memory(ctx, name);
  for (int64_t i = 0; i < rows; i++) {
    int64_t left = i;
    for (int d = 0; d < dimensions; d++, left /= n)
      (*points)[i * dimensions + d] = (double)(left % n);
  }
  return KAON_OK;
}

kaon_status kaon_matrix_generate_points(kaon_context *ctx, const char *name, int *dimensions,
                                        double **points) {
  int a = 0, b = 0, c = 0, used = 0;
  if (points != NULL) *points = NULL;
  KAON_ENTER(ctx, ctx, name, dimensions, points);
  const size_t length = strlen(name);
  *dimensions = 2;
  if (sscanf(name, "fem:%d,%d,%d%n", &a, &b, &c, &used) == 3 && (size_t)used == length && b == 1 &&
      c >= 0 && c <= MOST_LEVEL)
    return of_mesh(ctx, name, c, points);
  if (sscanf(name, "laplace2d:%d%n", &a, &used) == 1 && (size_t)used == length && a > 0 &&
      a <= 8 * MOST_POINTS)
    return of_grid(ctx, name, a, 2, points);
  *dimensions = 3;
  if (sscanf(name, "laplace3d:%d%n", &a, &used) == 1 && (size_t)used == length && a > 0 &&
      a <= MOST_POINTS)
    return of_grid(ctx, name, a, 3, points);
  *dimensions = 0;
  return kaon_fail(ctx, KAON_ERR_UNSUPPORTED,
                   "points: where the unknowns of %.80s are is not known; it is for laplace2d:N, "
                   "laplace3d:N and fem:PROBLEM,1,LEVEL",
                   name);
}
