/* fem_mesh.h - the mesh of the finite-element matrices: nine triangles and quadrilaterals on [0,
 * 3]^2, refined regularly. Vertices, edges and cells are numbered as in LehrFEM++ (its hybrid test
 * mesh 0 and its regular refinement). The systems of the Kaczmarz paper were made with it, and so
 * agree entry by entry. */
#pragma once

#include "lib/core/error.h"

#include <stdint.h>

/* Edge k joins corners k and k + 1 (the last one: that and corner 0), in either direction. */
typedef struct kaon_fem_cell {
  int corners; /* 3 or 4 */
  int32_t vertex[4], edge[4];
} kaon_fem_cell;

typedef struct kaon_fem_mesh {
  int64_t vertices, edges, cells;
  double (*at)[2];    /* [vertex] x, y */
  int32_t (*edge)[2]; /* [edge] from, to */
  kaon_fem_cell *cell;
} kaon_fem_mesh;

enum {
  KAON_FEM_TRIANGLES = 7,
  KAON_FEM_QUADS = 2
}; /* on level 0; four times as many on each
                                                        further level */

/* Refined `level` times. Errors: MEMORY. */
kaon_status kaon_fem_mesh_create(const kaon_context *ctx, int level, kaon_fem_mesh *mesh);
void kaon_fem_mesh_release(kaon_fem_mesh *mesh);
