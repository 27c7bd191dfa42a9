/* backend.h - the CPU backend: one table per instruction set, the same sources compiled again. */
#ifndef KAON_LIB_CPU_BACKEND_H
#define KAON_LIB_CPU_BACKEND_H

#include "lib/core/backend.h"

/* The table for `isa` (AUTO: the widest that this processor has). check: memory with guard pages,
 * poisoned. Errors: NO_DEVICE where the processor lacks the set, NOT_BUILT where the build does. */
kaon_status kaon_cpu_backend(kaon_isa isa, int check, const kaon_backend **backend);
/* 1 if this processor and this build have it. */
int kaon_cpu_has(kaon_isa isa);
/* The processor's name, "unknown processor" where the system hides it. */
void kaon_cpu_describe(char *text, size_t room);
/* Bytes of the cache of one core (level 2) or of all (level 3: the last there is). */
size_t kaon_cpu_cache_bytes(int level);

/* Bytes that a call of so many threads may go through before it stores past a last cache of `last`
 * bytes: all of it; of one that a socket of many cores shares the part of these
 * (bench/notes/design-cpu-streaming.md). */
size_t kaon_cpu_stream_bytes(size_t last, int threads);
/* The level of cache that kernels should ask for data into, 1 or 2, by what this processor is
 * (bench/notes/design-cpu-prefetch.md). */
int kaon_cpu_prefetch_level(void);

/* Joules that the processor's packages counted, together; NaN where they may not be read. */
double kaon_cpu_energy(kaon_context *ctx);

extern const kaon_memory_ops kaon_cpu_memory;
extern const kaon_memory_ops kaon_cpu_memory_checked;

#endif
