/* backend.h - the CPU backend: one table for each instruction set, compiled from the same
 * sources. */
#pragma once

#include "lib/core/backend.h"

/* The table for `isa` (AUTO: the widest that this processor has). check: memory with guard pages,
 * filled with a poison value. Errors: NO_DEVICE if the processor lacks the set, NOT_BUILT if the
 * build does. */
kaon_status kaon_cpu_backend(kaon_isa isa, int check, const kaon_backend **backend);
/* 1 if both this processor and this build support it. */
int kaon_cpu_has(kaon_isa isa);
/* The processor's name, or "unknown processor" if the system hides it. */
void kaon_cpu_describe(char *text, size_t room);
/* Bytes of the cache of one core (level 2) or of the last cache, shared by all (level 3). */
size_t kaon_cpu_cache_bytes(int level);

/* Bytes that a call with `threads` threads may touch before its stores bypass a last cache of
 * `last` bytes. That is the whole cache, unless many cores of a socket share it: then only the part
 * of these threads (bench/notes/design-cpu-streaming.md). */
size_t kaon_cpu_stream_bytes(size_t last, int threads);
/* The cache level, 1 or 2, into which kernels should prefetch on this processor
 * (bench/notes/design-cpu-prefetch.md). */
int kaon_cpu_prefetch_level(void);

/* Joules that all processor packages have counted; NaN if the counters may not be read. */
double kaon_cpu_energy(kaon_context *ctx);

extern const kaon_memory_ops kaon_cpu_memory;
extern const kaon_memory_ops kaon_cpu_memory_checked;
