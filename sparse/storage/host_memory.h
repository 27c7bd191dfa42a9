/* host_memory.h - the size of host memory, to refuse work that cannot fit before it begins. */
#pragma once

#include <stdint.h>
#include <unistd.h>

/* Bytes of host memory; INT64_MAX if unknown. */
static inline int64_t kaon_host_memory(void) {
  const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 ? (int64_t)pages * size : INT64_MAX;
}
