/* config.h - the one documented place where the library reads its environment. */
#ifndef KAON_LIB_CONFIG_H
#define KAON_LIB_CONFIG_H

#include <kaon/context.h>

/* KAON_BACKEND = auto | cpu | cuda; used where the caller left AUTO. */
kaon_status kaon_config_backend(kaon_backend_kind *backend);
/* KAON_ISA = auto | scalar | x86-64 | avx2 | avx512; used where the caller left AUTO. */
kaon_status kaon_config_isa(kaon_isa *isa);
/* Threads for a request of 0: OMP_NUM_THREADS if set, else the processors this process may run on.
 */
int kaon_config_threads(void);
/* Sets NCCL_NVLS_ENABLE = 0 for what NCCL reads when it begins: it shall not take NVLink's
 * multicast memory, which not every machine that has it hands out, and which sums of few numbers
 * gain nothing by. NCCL has no other way to be told. Before threads that read the environment. */
void kaon_config_no_multicast(void);

#endif
