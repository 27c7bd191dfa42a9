/* cache.c - the size of the processor's last-level cache. */
#include "interfaces/common/cache.h"

#include <stdio.h>
#include <unistd.h>

/* The kernel's figure first: on some processors sysconf gives the sum over all caches. */
size_t cache_bytes(void) {
  FILE *f = fopen("/sys/devices/system/cpu/cpu0/cache/index3/size", "r");
  unsigned long kib = 0;
  if (f && fscanf(f, "%luK", &kib) != 1) kib = 0;
  if (f) fclose(f);
  if (kib > 0) return (size_t)kib << 10;
  long bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
  return bytes > 0 ? (size_t)bytes : 0;
}
