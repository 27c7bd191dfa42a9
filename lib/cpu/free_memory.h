/* free_memory.h - bytes that this process could still have of the machine's memory. */
#ifndef KAON_LIB_CPU_FREE_MEMORY_H
#define KAON_LIB_CPU_FREE_MEMORY_H

#include <stdint.h>

/* What the machine has beside (MemAvailable of /proc/meminfo), or what the limits of the control
 * groups that this process is in leave, whichever is less. Ranks of one machine share it: each is
 * told all of it. What is not there, or cannot be understood, bounds nothing; -1: not known at all.
 * `root`: stands before /proc and /sys; "" but for tests. */
int64_t kaon_cpu_free_memory(const char *root);

#endif
