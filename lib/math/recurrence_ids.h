/* recurrence_ids.h - the recurrences' numbers, and which kernels run them. What they do:
 * lib/math/recurrences.h. */
#ifndef KAON_LIB_MATH_RECURRENCE_IDS_H
#define KAON_LIB_MATH_RECURRENCE_IDS_H

#include "lib/layout.h"

/* A device's compiler makes a copy of a recurrence for every kernel that runs it, which was half of
 * its time. So kernels run those alone that methods' steps end them with, and services of CG and
 * CGNR; what else they are asked for follows as a launch of its own (kaon_recurrence_is_of). */
enum {
  KAON_OF_NONE = 0,
  KAON_OF_PRODUCT = 1, /* of a lattice operator */
  KAON_OF_DOT = 2,     /* and of sums that are taken apart from what makes their vector */
  KAON_OF_MULTI_DOT = 4,
  KAON_OF_MULTI_AXPY = 8,
  KAON_OF_AXPY = 16, /* which may end a preconditioner as well */
  KAON_OF_XPAY = 32,
  KAON_OF_COPY = 64, /* of a right-hand side that is the residual, at x = 0 */
  KAON_OF_AXPY_XPAY = 128,
  KAON_OF_SOLUTION = 256, /* bicgstab_solution */
  KAON_OF_PIPELINED = 512,
  KAON_OF_SCALED = 1024,  /* scaled, residual_scaled: of preconditioned methods */
  KAON_OF_PRECOND = 2048, /* their other updates (blas/precond_ops.h) */
  KAON_OF_CONVERT = 4096, /* conversions to a coarser precision */
  KAON_OF_ROWS = 8192,    /* products of matrices, which may be a preconditioner as well */
  KAON_OF_PRODUCTS = KAON_OF_PRODUCT | KAON_OF_ROWS | KAON_OF_DOT
};

/* X(id, function, kernels that run it): those of products of lattices, and all. */
#define KAON_RECURRENCES_OF_PRODUCTS(X)                                                       \
  X(KAON_REC_VERIFY, kaon_rec_verify, KAON_OF_PRODUCTS)                                       \
  X(KAON_REC_CG_ALPHA, kaon_cg_alpha, KAON_OF_PRODUCTS | KAON_OF_AXPY_XPAY | KAON_OF_PRECOND) \
  X(KAON_REC_CGNR_START, kaon_cgnr_start, KAON_OF_PRODUCTS)                                   \
  X(KAON_REC_CGNR_BETA, kaon_cgnr_beta, KAON_OF_PRODUCTS)                                     \
  X(KAON_REC_CGNR_RENEW, kaon_cgnr_renew, KAON_OF_PRODUCTS | KAON_OF_COPY | KAON_OF_CONVERT)  \
  X(KAON_REC_CGNE_INJECT, kaon_cgne_inject, KAON_OF_PRODUCTS)                                 \
  X(KAON_REC_BICGSTAB_ALPHA, kaon_bicgstab_alpha, KAON_OF_PRODUCTS)                           \
  X(KAON_REC_BICGSTAB_OMEGA, kaon_bicgstab_omega, KAON_OF_PRODUCTS)                           \
  X(KAON_REC_RBICGSTAB_STEP, kaon_rbicgstab_step, KAON_OF_PRODUCTS)                           \
  X(KAON_REC_BICG_ALPHA, kaon_bicg_alpha, KAON_OF_PRODUCTS)                                   \
  X(KAON_REC_PIPECGNR_STEP, kaon_pipecgnr_step, KAON_OF_PRODUCTS)                             \
  X(KAON_REC_MR_ALPHA, kaon_mr_alpha, KAON_OF_PRODUCTS)                                       \
  X(KAON_REC_LOCAL_ALPHA, kaon_local_alpha, KAON_OF_PRODUCTS)                                 \
  X(KAON_REC_GCR_ALPHA, kaon_gcr_alpha, KAON_OF_PRODUCTS | KAON_OF_MULTI_AXPY)                \
  X(KAON_REC_SHIFT_ALPHA, kaon_shift_alpha, KAON_OF_PRODUCTS)
#define KAON_RECURRENCES(X)                                                                    \
  KAON_RECURRENCES_OF_PRODUCTS(X)                                                              \
  X(KAON_REC_VERIFY_OUTER, kaon_rec_verify_outer, KAON_OF_DOT | KAON_OF_XPAY | KAON_OF_COPY)   \
  X(KAON_REC_VERIFY_ZERO, kaon_rec_verify_zero, KAON_OF_DOT | KAON_OF_COPY)                    \
  X(KAON_REC_OUTER, kaon_stop_outer, KAON_OF_DOT | KAON_OF_XPAY)                               \
  X(KAON_REC_RESUME, kaon_stop_resume, KAON_OF_DOT | KAON_OF_AXPY)                             \
  X(KAON_REC_CANCEL, kaon_stop_cancel, KAON_OF_NONE)                                           \
  X(KAON_REC_FIXED_BEGIN, kaon_fixed_begin, KAON_OF_NONE)                                      \
  X(KAON_REC_FIXED_RESUME, kaon_fixed_resume, KAON_OF_NONE)                                    \
  X(KAON_REC_CG_START, kaon_cg_start, KAON_OF_NONE)                                            \
  X(KAON_REC_CG_BETA, kaon_cg_beta, KAON_OF_DOT | KAON_OF_AXPY)                                \
  X(KAON_REC_CG_RENEW, kaon_cg_renew, KAON_OF_DOT)                                             \
  X(KAON_REC_PCG_START, kaon_pcg_start, KAON_OF_NONE)                                          \
  X(KAON_REC_PCG_BETA, kaon_pcg_beta,                                                          \
    KAON_OF_ROWS | KAON_OF_DOT | KAON_OF_AXPY | KAON_OF_SCALED | KAON_OF_PRECOND)              \
  X(KAON_REC_PCG_RENEW, kaon_pcg_renew, KAON_OF_DOT)                                           \
  X(KAON_REC_PIPEPCG_START, kaon_pipepcg_start, KAON_OF_NONE)                                  \
  X(KAON_REC_PIPEPCG_STEP, kaon_pipepcg_step, KAON_OF_PRECOND)                                 \
  X(KAON_REC_PIPEPCG_INJECT, kaon_pipepcg_inject, KAON_OF_NONE)                                \
  X(KAON_REC_CGNR_RESIDUAL, kaon_cgnr_residual, KAON_OF_DOT | KAON_OF_AXPY)                    \
  X(KAON_REC_BICGSTAB_START, kaon_bicgstab_start, KAON_OF_NONE)                                \
  X(KAON_REC_BICGSTAB_BETA, kaon_bicgstab_beta, KAON_OF_DOT | KAON_OF_AXPY | KAON_OF_SOLUTION) \
  X(KAON_REC_BICGSTAB_INJECT, kaon_bicgstab_inject, KAON_OF_DOT)                               \
  X(KAON_REC_RBICGSTAB_START, kaon_rbicgstab_start, KAON_OF_NONE)                              \
  X(KAON_REC_CG_DEFLATED, kaon_cg_deflated, KAON_OF_NONE)                                      \
  X(KAON_REC_DEFLATED_SCALE, kaon_deflated_scale, KAON_OF_CONVERT)                             \
  X(KAON_REC_DEFLATED_RESUME, kaon_deflated_resume, KAON_OF_NONE)                              \
  X(KAON_REC_RBICGSTAB_OMEGA, kaon_rbicgstab_omega, KAON_OF_MULTI_DOT)                         \
  X(KAON_REC_RBICGSTAB_INJECT, kaon_rbicgstab_inject, KAON_OF_NONE)                            \
  X(KAON_REC_BICG_START, kaon_bicg_start, KAON_OF_NONE)                                        \
  X(KAON_REC_BICG_BETA, kaon_bicg_beta,                                                        \
    KAON_OF_ROWS | KAON_OF_DOT | KAON_OF_AXPY | KAON_OF_SCALED)                                \
  X(KAON_REC_BICG_SHADOW, kaon_bicg_shadow, KAON_OF_DOT | KAON_OF_AXPY)                        \
  X(KAON_REC_BICG_INJECT, kaon_bicg_inject, KAON_OF_NONE)                                      \
  X(KAON_REC_PIPECG_START, kaon_pipecg_start, KAON_OF_NONE)                                    \
  X(KAON_REC_PIPECG_STEP, kaon_pipecg_step, KAON_OF_PIPELINED)                                 \
  X(KAON_REC_PIPECG_INJECT, kaon_pipecg_inject, KAON_OF_NONE)                                  \
  X(KAON_REC_PIPECGNR_RENEWED, kaon_pipecgnr_renewed, KAON_OF_NONE)                            \
  X(KAON_REC_PIPEBI_START, kaon_pipebi_start, KAON_OF_NONE)                                    \
  X(KAON_REC_PIPEBI_OMEGA, kaon_pipebi_omega, KAON_OF_PIPELINED)                               \
  X(KAON_REC_PIPEBI_STEP, kaon_pipebi_step, KAON_OF_PIPELINED)                                 \
  X(KAON_REC_PIPEBI_INJECT, kaon_pipebi_inject, KAON_OF_NONE)                                  \
  X(KAON_REC_MR_RESIDUAL, kaon_mr_residual,                                                    \
    KAON_OF_DOT | KAON_OF_AXPY | KAON_OF_XPAY | KAON_OF_SOLUTION)                              \
  X(KAON_REC_LOCAL_OPEN, kaon_local_open, KAON_OF_NONE)                                        \
  X(KAON_REC_LOCAL_CLOSE, kaon_local_close, KAON_OF_NONE)                                      \
  X(KAON_REC_GCR_ORTHO, kaon_gcr_ortho, KAON_OF_DOT | KAON_OF_MULTI_DOT)                       \
  X(KAON_REC_GCR_RESIDUAL, kaon_gcr_residual, KAON_OF_DOT | KAON_OF_AXPY)                      \
  X(KAON_REC_GCR_SOLVE, kaon_gcr_solve, KAON_OF_NONE)                                          \
  X(KAON_REC_SHIFT_STEP, kaon_shift_step, KAON_OF_NONE)

enum {
  KAON_REC_NONE,
#define KAON_X(id, function, of) id,
  KAON_RECURRENCES(KAON_X)
#undef KAON_X
};

/* 1: kernels `of` run it, or there is none to run. */
static inline int kaon_recurrence_is_of(int id, int of) {
  switch (id) {
    case KAON_REC_NONE:
      return 1;
#define KAON_X(number, function, kernels) \
  case number:                            \
    return ((kernels)&of) != 0;
      KAON_RECURRENCES(KAON_X)
#undef KAON_X
    default:
      return 0;
  }
}

#endif
