/* precond_ops.h - kernel table of updates of preconditioned methods, one for each backend and
 * precision (NULL in half, which these methods do not offer). The arithmetic of each entry is one
 * formula in lib/math/steps/precond_step.h.
 * In entries with "d", operand 0 is a vector of one column, which all columns use. d x is a product
 * component by component, of complex numbers in a complex space, of reals in a real one. */
#pragma once

#include "blas/blas_ops.h"

/* X(entry, formula over v[] and c[]; contents of sum.slot[]), with the notation of blas_ops.h. */
#define KAON_PRECOND_OPS(X)                                                                   \
  X(scaled,                                                                                   \
    "d; v1' = v0 v2, conj(v0) v2 where n = 1; slot0: |v1|^2, slot1: (v3, v1) if v3 is "       \
    "given")                                                                                  \
  X(residual_scaled, "d; v1' = v1 + c0 v3, v2' = v0 v1'; slot0: |v1|^2, slot1: (v1, v2)")     \
  X(shifted, "v0 of `shared` columns, in turn; v2' = v2 + c0 v1, v1' = v0 + c1 v1; no sums")  \
  X(pipepcg,                                                                                  \
    "v1' = v0 + c0 v1, v8' = v7 + c0 v8, v3' = v2 + c0 v3, v5' = v9 + c0 v5, v6' = v6 + c1 "  \
    "v5', v4' = v4 + c2 v3', v9' = v9 + c2 v8', v2' = v2 + c2 v1'; slot0: |v4|^2, slot1: "    \
    "(v4, v9), slot2: (v2, v9)")                                                              \
  X(pipecg_scaled,                                                                            \
    "d real; v1' = v7 + c0 v1, v3' = v2 + c0 v3, v5' = v0 v4 + c0 v5, v6' = v6 + c1 v5', "    \
    "v4' = v4 + c2 v3', v2' = v2 + c2 v1', v8' = v0 v2'; slot0: |v4|^2, slot1: (v4, v0 v4), " \
    "slot2: (v8, v4)")                                                                        \
  X(pipecg_ahead, "v1' = v0 + c0 v1, v3' = v2 + c0 v3, v2' = v2 + c1 v1'; no sums")           \
  X(pipecg_behind,                                                                            \
    "v3' = v1 + c0 v3, v4' = v4 + c1 v3', v1' = v1 + c2 v0; slot0: |v1|^2, slot1: (v1, v2)")  \
  X(pipepcg_ahead,                                                                            \
    "v1' = v0 + c0 v1, v3' = v2 + c0 v3, v5' = v4 + c0 v5, v2' = v2 + c1 v1'; no sums")       \
  X(pipepcg_behind,                                                                           \
    "v3' = v6 + c0 v3, v4' = v4 + c1 v3', v1' = v1 + c2 v0, v6' = v6 + c2 v5; slot0: "        \
    "|v1|^2, slot1: (v1, v6), slot2: (v2, v6)")                                               \
  X(pipecg_scaled_ahead,                                                                      \
    "d real; v1' = v4 + c0 v1, v3' = v2 + c0 v3, v2' = v2 + c1 v1', v5' = v0 v2'; no sums")   \
  X(pipecg_scaled_behind,                                                                     \
    "d real; v3' = v0 v1 + c0 v3, v4' = v4 + c1 v3', v1' = v1 + c2 v5; slot0: |v1|^2, "       \
    "slot1: (v1, v0 v1), slot2: (v2, v1)")                                                    \
  X(groppcg_direction, "v1' = v0 + c0 v1, v3' = v2 + c0 v3; slot0: (v1, v3)")                 \
  X(groppcg_residual,                                                                         \
    "v1' = v1 + c0 v0, v3' = v3 + c1 v2, v5' = v5 + c1 v4; slot0: |v3|^2, slot1: (v3, v5)")   \
  X(chrongear,                                                                                \
    "v1' = v0 + c0 v1, v3' = v2 + c0 v3, v4' = v4 + c1 v3', v5' = v5 + c2 v1'; slot0: "       \
    "|v5|^2, slot1: (v3, v1)")                                                                \
  X(chrongear_scaled,                                                                         \
    "d; v1' = v6 + c0 v1, v3' = v0 v2 + c0 v3, v4' = v4 + c1 v3', v2' = v2 + c2 v1', v5' = "  \
    "v0 v2'; slot0: |v2|^2, slot1: (v5, v1), slot2: (v3, v1), slot3: (v2, v5)")               \
  X(rbicgstab_half, "v1' = v1 + c0 v0, v3' = v3 + c0 v2; slot0: |v3|^2, slot1: (v4, v3)")     \
  X(rbicgstab_end,                                                                            \
    "v2' = v2 + c0 v0 + c1 v1, v4' = v4 + c2 v3, v1' = v1 + c2 v5, v0' = v1' + c3 (v0 + c2 "  \
    "v6); slot0: |v4|^2")

typedef struct kaon_precond_ops {
#define KAON_X(entry, formula) \
  void (*entry)(const kaon_launch *launch, const kaon_update_args *args);
  KAON_PRECOND_OPS(KAON_X)
#undef KAON_X
} kaon_precond_ops;
