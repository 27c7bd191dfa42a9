/* matrix_precond.h - the inside of preconditioners made of a matrix' entries. */
#ifndef KAON_SPARSE_PRECOND_PARTS_H
#define KAON_SPARSE_PRECOND_PARTS_H

#include <kaon/precond.h>

#include "lib/operator/workspace.h"
#include "sparse/precond/factors.h"
#include "sparse/sweeps/triangle.h"

typedef struct kaon_precond {
  kaon_matrix *matrix; /* kept alive */
  int hermitian;       /* K = K^H: the adjoint needs nothing of its own */
  kaon_precond_options options;
  kaon_precond_info info;
  /* Triangles solved exactly: [0] of K, [1] of K^H (made by reserve_dagger), forward, backward. */
  kaon_triangle *forward[2], *backward[2];
  /* By sweeps: E^-1 L, E^-1 U, scale E^-1. */
  kaon_operator *lower, *upper, *diagonal;
  /* Products: K = second first, or first alone. */
  kaon_operator *first, *second;
  kaon_workspace *work;
} kaon_precond;

/* Makes what K, or (dagger) K^H solved exactly, is applied with. Collective. Errors: those of
 * kaon_precond_create. */
kaon_status kaon_precond_build(kaon_precond *self, int dagger);

#endif
