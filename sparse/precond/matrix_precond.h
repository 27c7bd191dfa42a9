/* matrix_precond.h - the private structure of preconditioners made from a matrix' entries. */
#pragma once

#include <kaon/precond.h>

#include "lib/operator/workspace.h"
#include "sparse/precond/factors.h"
#include "sparse/sweeps/triangle.h"

typedef struct kaon_precond {
  kaon_matrix *matrix; /* retained */
  int hermitian;       /* K = K^H: the adjoint needs no parts of its own */
  kaon_precond_options options;
  kaon_precond_info info;
  /* Triangles solved exactly, forward and backward: [0] for K, [1] for K^H (made by
   * `reserve`). */
  kaon_triangle *forward[2], *backward[2];
  /* For sweeps: E^-1 L, E^-1 U, scale E^-1. */
  kaon_operator *lower, *upper, *diagonal;
  /* Products: K = second first, or only first. */
  kaon_operator *first, *second;
  kaon_workspace *work;
} kaon_precond;

/* Makes the parts of K, or (dagger) of an exact K^H. Collective. Errors: those of
 * kaon_precond_create. */
kaon_status kaon_precond_build(kaon_precond *self, int dagger);
