/* update_rows.h - fused updates as rows. The kernels of both machines are made from a row and the
 * formula of that name in update.h or precond_step.h; the host checks operands by the row
 * (blas/submit.h).
 * X(OP, entry, form, reads, summed, writes, coefficients, sums, how):
 * - OP: its number in CUDA kernels; entry: its name in blas_ops.h or precond_ops.h
 * - form: PLAIN. SCALED: operand 0 has one column, which all columns use. CYCLIC: it has a number
 *   of columns that divides the others', and serves them in turn
 * - reads, writes: bit masks of the operands of the formula; summed: those that its sums alone read
 * - coefficients, sums: their numbers
 * - how: the sums, of the written values. KAON_NORM(slot, i): |v_i|^2. KAON_PRODUCT(slot, i, j):
 *   (v_i, v_j). KAON_WEIGHTED(slot, d, i): sum v_d |v_i|^2. KAON_NORM_BESIDE(slot, i): |v_i|^2 as
 *   the imaginary part of a norm. Kernels define these four
 * New rows come last in their list: CUDA kernels know updates by their position. */
#pragma once

#define KAON_PIPELINED_ROWS(X)                                                         \
  X(PIPECG, pipecg, PLAIN, 0x7f, 0, 0x7e, 3, 2, KAON_NORM(0, 4) KAON_PRODUCT(1, 4, 2)) \
  X(PIPECGNR, pipecgnr, PLAIN, 0x1f, 0, 0x1e, 3, 4,                                    \
    KAON_NORM(0, 2) KAON_PRODUCT(1, 2, 1) KAON_PRODUCT(2, 3, 1) KAON_PRODUCT(3, 3, 2)) \
  X(PIPEBICGSTAB_DIRECTION, pipebicgstab_direction, PLAIN, 0x7f, 0x80, 0x3b, 3, 4,     \
    KAON_PRODUCT(0, 0, 1) KAON_NORM(1, 1) KAON_NORM_BESIDE(1, 0) KAON_PRODUCT(2, 7, 4) \
        KAON_PRODUCT(3, 7, 5))                                                         \
  X(PIPEBICGSTAB_SOLUTION, pipebicgstab_solution, PLAIN, 0x3f, 0x40, 0x26, 4, 3,       \
    KAON_NORM(0, 1) KAON_PRODUCT(1, 6, 1) KAON_PRODUCT(2, 6, 2))

#define KAON_PRECOND_ROWS(X)                                                                      \
  X(RESIDUAL_SCALED, residual_scaled, SCALED, 0xb, 0, 0x6, 1, 2,                                  \
    KAON_NORM(0, 1) KAON_PRODUCT(1, 1, 2))                                                        \
  X(SHIFTED, shifted, CYCLIC, 0x7, 0, 0x6, 2, 0, )                                                \
  X(PIPEPCG, pipepcg, PLAIN, 0x3ff, 0, 0x37e, 3, 3,                                               \
    KAON_NORM(0, 4) KAON_PRODUCT(1, 4, 9) KAON_PRODUCT(2, 2, 9))                                  \
  X(PIPECG_SCALED, pipecg_scaled, SCALED, 0xff, 0, 0x17e, 3, 3,                                   \
    KAON_NORM(0, 4) KAON_WEIGHTED(1, 0, 4) KAON_PRODUCT(2, 8, 4))                                 \
  X(PIPECG_AHEAD, pipecg_ahead, PLAIN, 0xf, 0, 0xe, 2, 0, )                                       \
  X(PIPECG_BEHIND, pipecg_behind, PLAIN, 0x1b, 0x4, 0x1a, 3, 2,                                   \
    KAON_NORM(0, 1) KAON_PRODUCT(1, 1, 2))                                                        \
  X(PIPEPCG_AHEAD, pipepcg_ahead, PLAIN, 0x3f, 0, 0x2e, 2, 0, )                                   \
  X(PIPEPCG_BEHIND, pipepcg_behind, PLAIN, 0x7b, 0x4, 0x5a, 3, 3,                                 \
    KAON_NORM(0, 1) KAON_PRODUCT(1, 1, 6) KAON_PRODUCT(2, 2, 6))                                  \
  X(SCALED_AHEAD, pipecg_scaled_ahead, SCALED, 0x1f, 0, 0x2e, 2, 0, )                             \
  X(SCALED_BEHIND, pipecg_scaled_behind, SCALED, 0x3b, 0x4, 0x1a, 3, 3,                           \
    KAON_NORM(0, 1) KAON_WEIGHTED(1, 0, 1) KAON_PRODUCT(2, 2, 1))                                 \
  X(GROPP_DIRECTION, groppcg_direction, PLAIN, 0xf, 0, 0xa, 1, 1, KAON_PRODUCT(0, 1, 3))          \
  X(GROPP_RESIDUAL, groppcg_residual, PLAIN, 0x3f, 0, 0x2a, 2, 2,                                 \
    KAON_NORM(0, 3) KAON_PRODUCT(1, 3, 5))                                                        \
  X(CHRONGEAR, chrongear, PLAIN, 0x3f, 0, 0x3a, 3, 2, KAON_NORM(0, 5) KAON_PRODUCT(1, 3, 1))      \
  X(CHRONGEAR_SCALED, chrongear_scaled, SCALED, 0x5f, 0, 0x3e, 3, 4,                              \
    KAON_NORM(0, 2) KAON_PRODUCT(1, 5, 1) KAON_PRODUCT(2, 3, 1) KAON_PRODUCT(3, 2, 5))            \
  X(RBI_HALF, rbicgstab_half, PLAIN, 0xf, 0x10, 0xa, 1, 2, KAON_NORM(0, 3) KAON_PRODUCT(1, 4, 3)) \
  X(RBI_END, rbicgstab_end, PLAIN, 0x7f, 0, 0x17, 4, 1, KAON_NORM(0, 4))
