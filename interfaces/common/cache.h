/* cache.h - the size of the processor's last-level cache. */
#ifndef KAON_COMMON_CACHE_H
#define KAON_COMMON_CACHE_H

#include <stddef.h>

/* Bytes; 0: unknown. */
size_t cache_bytes(void);

#endif
