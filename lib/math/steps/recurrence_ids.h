/* recurrence_ids.h - the ids of the recurrences, and which of them the kernels of lattice products
 * run. The recurrences themselves are in recurrences.h. */
#pragma once

#include "lib/vector/layout.h"

/* X(id, function): the recurrences that methods run after a lattice product. There are many such
 * kernels, and each contains a copy of every recurrence in this list, so the list is short to limit
 * compile time. Any other recurrence after a product runs in a launch of its own
 * (kaon_sums_after_kernel). */
#define KAON_RECURRENCES_OF_PRODUCTS(X)           \
  X(KAON_REC_VERIFY, kaon_rec_verify)             \
  X(KAON_REC_CG_ALPHA, kaon_cg_alpha)             \
  X(KAON_REC_CGNR_START, kaon_cgnr_start)         \
  X(KAON_REC_CGNR_BETA, kaon_cgnr_beta)           \
  X(KAON_REC_CGNR_RENEW, kaon_cgnr_renew)         \
  X(KAON_REC_CGNE_CONTINUE, kaon_cgne_continue)   \
  X(KAON_REC_BICGSTAB_ALPHA, kaon_bicgstab_alpha) \
  X(KAON_REC_BICGSTAB_OMEGA, kaon_bicgstab_omega) \
  X(KAON_REC_RBICGSTAB_STEP, kaon_rbicgstab_step) \
  X(KAON_REC_BICG_ALPHA, kaon_bicg_alpha)         \
  X(KAON_REC_PIPECGNR_STEP, kaon_pipecgnr_step)   \
  X(KAON_REC_MR_ALPHA, kaon_mr_alpha)             \
  X(KAON_REC_LOCAL_ALPHA, kaon_local_alpha)       \
  X(KAON_REC_GCR_ALPHA, kaon_gcr_alpha)           \
  X(KAON_REC_SHIFT_ALPHA, kaon_shift_alpha)
#define KAON_OTHER_RECURRENCES(X)                         \
  X(KAON_REC_VERIFY_OUTER, kaon_rec_verify_outer)         \
  X(KAON_REC_VERIFY_ZERO, kaon_rec_verify_zero)           \
  X(KAON_REC_HEAVY, kaon_rec_heavy)                       \
  X(KAON_REC_OUTER, kaon_stop_outer)                      \
  X(KAON_REC_RESUME, kaon_stop_resume)                    \
  X(KAON_REC_CANCEL, kaon_stop_cancel)                    \
  X(KAON_REC_FIXED_BEGIN, kaon_fixed_begin)               \
  X(KAON_REC_FIXED_RESUME, kaon_fixed_resume)             \
  X(KAON_REC_CG_START, kaon_cg_start)                     \
  X(KAON_REC_CG_BETA, kaon_cg_beta)                       \
  X(KAON_REC_CG_RENEW, kaon_cg_renew)                     \
  X(KAON_REC_PCG_START, kaon_pcg_start)                   \
  X(KAON_REC_PCG_BETA, kaon_pcg_beta)                     \
  X(KAON_REC_PCG_RENEW, kaon_pcg_renew)                   \
  X(KAON_REC_PIPEPCG_START, kaon_pipepcg_start)           \
  X(KAON_REC_PIPEPCG_STEP, kaon_pipepcg_step)             \
  X(KAON_REC_PIPEPCG_CONTINUE, kaon_pipepcg_continue)     \
  X(KAON_REC_CHRONGEAR_STEP, kaon_chrongear_step)         \
  X(KAON_REC_PCHRONGEAR_STEP, kaon_pchrongear_step)       \
  X(KAON_REC_CGNR_RESIDUAL, kaon_cgnr_residual)           \
  X(KAON_REC_BICGSTAB_START, kaon_bicgstab_start)         \
  X(KAON_REC_BICGSTAB_BETA, kaon_bicgstab_beta)           \
  X(KAON_REC_BICGSTAB_CONTINUE, kaon_bicgstab_continue)   \
  X(KAON_REC_RBICGSTAB_START, kaon_rbicgstab_start)       \
  X(KAON_REC_CG_DEFLATED, kaon_cg_deflated)               \
  X(KAON_REC_DEFLATED_SCALE, kaon_deflated_scale)         \
  X(KAON_REC_DEFLATED_RESUME, kaon_deflated_resume)       \
  X(KAON_REC_RBICGSTAB_OMEGA, kaon_rbicgstab_omega)       \
  X(KAON_REC_RBICGSTAB_CONTINUE, kaon_rbicgstab_continue) \
  X(KAON_REC_BICG_START, kaon_bicg_start)                 \
  X(KAON_REC_BICG_BETA, kaon_bicg_beta)                   \
  X(KAON_REC_BICG_SHADOW, kaon_bicg_shadow)               \
  X(KAON_REC_BICG_CONTINUE, kaon_bicg_continue)           \
  X(KAON_REC_PIPECG_START, kaon_pipecg_start)             \
  X(KAON_REC_PIPECG_STEP, kaon_pipecg_step)               \
  X(KAON_REC_PIPECG_CONTINUE, kaon_pipecg_continue)       \
  X(KAON_REC_PIPECGNR_RENEWED, kaon_pipecgnr_renewed)     \
  X(KAON_REC_PIPEBI_START, kaon_pipebi_start)             \
  X(KAON_REC_PIPEBI_OMEGA, kaon_pipebi_omega)             \
  X(KAON_REC_PIPEBI_STEP, kaon_pipebi_step)               \
  X(KAON_REC_PIPEBI_CONTINUE, kaon_pipebi_continue)       \
  X(KAON_REC_MR_RESIDUAL, kaon_mr_residual)               \
  X(KAON_REC_LOCAL_OPEN, kaon_local_open)                 \
  X(KAON_REC_LOCAL_CLOSE, kaon_local_close)               \
  X(KAON_REC_GCR_ORTHO, kaon_gcr_ortho)                   \
  X(KAON_REC_GCR_RESIDUAL, kaon_gcr_residual)             \
  X(KAON_REC_GCR_SOLVE, kaon_gcr_solve)                   \
  X(KAON_REC_SHIFT_STEP, kaon_shift_step)                 \
  X(KAON_REC_SHIFT_LAST, kaon_shift_last)                 \
  X(KAON_REC_FCG_BETA, kaon_fcg_beta)

enum {
  KAON_REC_NONE,
#define KAON_X(id, function) id,
  /* no recurrence: larger ids are in the other list */
  KAON_RECURRENCES_OF_PRODUCTS(KAON_X) KAON_REC_OTHERS,
  KAON_OTHER_RECURRENCES(KAON_X)
#undef KAON_X
};

/* 1: kernels of products can run it, or there is nothing to run. */
static inline KAON_HD int kaon_recurrence_of_product(int id) {
  return id < KAON_REC_OTHERS;
}
