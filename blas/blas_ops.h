/* blas_ops.h - kernel table of vector updates and reductions, one for each backend and precision.
 * The arithmetic of each entry is one formula in lib/math/steps/update.h. Half: a site is read,
 * updated in float and quantised once; sums are over the stored values. If sum.state is set, every
 * entry ends with the recurrence sum.then on the gated columns. */
#pragma once

#include "lib/core/launch.h"

typedef struct kaon_shape {
  int64_t nblocks;
  int width;
  int ncomp; /* real components a lane; even if the space is complex */
  int nrhs;
  int complex_space; /* components are (re, im) pairs and coefficients act as complex numbers */
} kaon_shape;

enum { KAON_MAX_OPERANDS = 40, KAON_MAX_COEFFICIENTS = 36 };

/* coefficient i of column k = sign[i] * state[k].slot[slot[i]], or sign[i] if slot[i] =
 * KAON_NO_SLOT. */
typedef struct kaon_coefficients {
  const kaon_column_state *state;
  int slot[KAON_MAX_COEFFICIENTS];
  double sign[KAON_MAX_COEFFICIENTS];
} kaon_coefficients;

typedef struct kaon_update_args {
  kaon_shape shape;
  int n;      /* number of operands of the multi_ entries */
  int shared; /* number of columns of a shared operand (precond_ops.h) */
  kaon_view v[KAON_MAX_OPERANDS];
  kaon_coefficients c;
  kaon_gate gate;
  kaon_sum sum;
} kaon_update_args;

/* X(entry, formula over v[] and c[]; contents of sum.slot[]). A v marked ' is written; sums use the
 * new values. The last three combine the open columns: entry (i, j) of the matrix Mk is sign[k]
 * times slot[k] + i of column j, with i and j open and nrhs <= KAON_BLOCK_MAX
 * (lib/math/steps/block_recurrences.h). */
#define KAON_BLAS_OPS(X)                                                                           \
  X(zero, "v0' = 0")                                                                               \
  X(copy, "v1' = v0, bit by bit; slot0: |v1|^2")                                                   \
  X(scale, "v0' = c0 v0; slot0: |v0|^2")                                                           \
  X(axpy, "v1' = v1 + c0 v0; slot0: |v1|^2, slot1: (v2, v1) if v2 is given")                       \
  X(xpay, "v1' = v0 + c0 v1; slot0: |v1|^2")                                                       \
  X(axpby, "v1' = c0 v0 + c1 v1; slot0: |v1|^2")                                                   \
  X(axpy_xpay,                                                                                     \
    "v2' = v2 + c0 v1, then v1' = v0 + c1 v1 (CG: x += a p, p = r + b p); slot0: |v1|^2")          \
  X(bicgstab_direction, "v1' = v0 + c0 (v1 + c1 v2) (p = r + b (p - w v)); slot0: |v1|^2")         \
  X(bicgstab_solution,                                                                             \
    "v3' = v3 + c0 v0 + c1 v1, v1' = v1 + c2 v2 (x += a p + w s, r = s - w t);"                    \
    " slot0: |v1|^2, slot1: (v4, v1) if v4 is given")                                              \
  X(pipecg,                                                                                        \
    "v1' = v0 + c0 v1, v3' = v2 + c0 v3, v5' = v4 + c0 v5, v6' = v6 + c1 v5', "                    \
    "v4' = v4 + c2 v3', v2' = v2 + c2 v1'; slot0: |v4|^2, slot1: (v4, v2)")                        \
  X(pipecgnr,                                                                                      \
    "v1' = v0 + c0 v1, v3' = v2 + c0 v3, v4' = v4 + c1 v3', v2' = v2 + c2 v1'; "                   \
    "slot0: |v2|^2, slot1: (v2, v1), slot2: (v3, v1), slot3: (v3, v2)")                            \
  X(pipebicgstab_direction,                                                                        \
    "v3' = v0 + c0 (v3 + c1 v4), v4' = v1 + c0 (v4 + c1 v5), v5' = v2 + c0 (v5 + c1 v6), "         \
    "v0' = v0 + c2 v4', v1' = v1 + c2 v5'; slot0: (v0, v1), slot1: |v1|^2 + i |v0|^2, "            \
    "slot2: (v7, v4), slot3: (v7, v5)")                                                            \
  X(pipebicgstab_solution,                                                                         \
    "v5' = v5 + c0 v0 + c1 v1, v1' = v1 + c2 v2, v2' = v2 + c2 (v3 + c3 v4); "                     \
    "slot0: |v1|^2, slot1: (v6, v1), slot2: (v6, v2)")                                             \
  X(multi_axpy, "v[n]' = v[n] + sum_i<n c_i v_i; slot0: |v[n]|^2")                                 \
  X(dot, "slot0: (v0, v1), slot1: |v0|^2, slot2: |v1|^2")                                          \
  X(site_ratio, "slot0: sum over sites with v1 != 0 of |v0|^2 / |v1|^2, number of these sites")    \
  X(multi_dot, "slot[0] + i: (v_i, v[n]) for i < n; slot[1]: |v[n]|^2")                            \
  X(recur, "no vector: runs sum.then on every gated column")                                       \
  X(gram,                                                                                          \
    "slot[0] + i of column j: (v0 of column i, v1 of column j); n = 1: known to be "               \
    "Hermitian; sum.then is of lib/math/steps/block_recurrences.h and runs once for all columns; " \
    "v0 NULL: "                                                                                    \
    "no sums, sum.then alone")                                                                     \
  X(block_axpy, "v1_j' = v1_j + sum_i v0_i M0_ij; slot0: |v1|^2")                                  \
  X(block_rotate,                                                                                  \
    "v0' = v0 M0; with v1: v1' = v0' + v1 M1; with v2: v2' = v2 + v1 M2, v1 as it was")

typedef struct kaon_blas_ops {
#define KAON_X(entry, formula) \
  void (*entry)(const kaon_launch *launch, const kaon_update_args *args);
  KAON_BLAS_OPS(KAON_X)
#undef KAON_X
} kaon_blas_ops;

/* Kernels of two precisions (one table a backend): v[1]' = v[0], or v[1] + v[0] if add is set; then
 * v[0]' = 0 if clear is set. from, to: 0 double, 1 single, 2 half. slot0: |v1|^2. */
typedef struct kaon_convert_args {
  kaon_shape shape;
  int from, to;
  int add, clear;
  kaon_view v[2];
  kaon_gate gate;
  kaon_sum sum;
} kaon_convert_args;

typedef struct kaon_convert_ops {
  void (*convert)(const kaon_launch *launch, const kaon_convert_args *args);
} kaon_convert_ops;
