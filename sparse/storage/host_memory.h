/* host_memory.h - what the machine has, for refusing what cannot fit before it is begun. */
#ifndef KAON_SPARSE_HOST_MEMORY_H
#define KAON_SPARSE_HOST_MEMORY_H

#include <stdint.h>
#include <unistd.h>

/* Bytes of memory that the machine is equipped with; INT64_MAX where it does not say. */
static inline int64_t kaon_host_memory(void) {
  const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 ? (int64_t)pages * size : INT64_MAX;
}

#endif
