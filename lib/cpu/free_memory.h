/* free_memory.h - bytes of main memory that this process could still allocate. */
#pragma once

#include <stdint.h>

/* The machine's available memory (MemAvailable of /proc/meminfo), or what the limits of this
 * process's control groups leave, whichever is less. Ranks on one machine share it: each gets the
 * total. A source that is missing or cannot be parsed imposes no bound. Returns -1 if nothing is
 * known. `root` is prepended to /proc and /sys; it is "" except in tests. */
int64_t kaon_cpu_free_memory(const char *root);
