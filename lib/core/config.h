/* config.h - the one place where the library reads its environment. */
#pragma once

#include <kaon/context.h>

/* KAON_BACKEND = auto | cpu | cuda; used if the caller left AUTO. */
kaon_status kaon_config_backend(kaon_backend_kind *backend);
/* KAON_ISA = auto | scalar | x86-64 | avx2 | avx512; used if the caller left AUTO. */
kaon_status kaon_config_isa(kaon_isa *isa);
/* Threads for a request of 0: OMP_NUM_THREADS if set, else the processors available to this
 * process. */
int kaon_config_threads(void);
/* Sets NCCL_NVLS_ENABLE = 0, which NCCL reads when it starts: NCCL then uses no NVLink multicast
 * memory. Some machines that have it do not grant it, and sums of few values gain nothing from it.
 * NCCL has no other interface for this. Call it before any thread reads the environment. */
void kaon_config_no_multicast(void);
