/* sites.h - streams the sites of a stored field through one small buffer. */
#pragma once

#include "lib/io/bytes.h"

/* Layout of a field in a file: `sites` times `reals` words of `bits`, contiguous from `offset`. */
typedef struct kaon_site_layout {
  int64_t offset, sites;
  int reals;
  int bits; /* 32 or 64 */
  int big_endian;
} kaon_site_layout;

/* Receives one site, as stored and as doubles. `site` counts from 0 in file order. */
typedef kaon_status kaon_site_fn(void *user, int64_t site, const unsigned char *raw,
                                 const double *values);

/* Calls fn for every site in order; stops at its first error. Errors: FORMAT, IO, MEMORY, fn's. */
kaon_status kaon_sites_read(const kaon_context *ctx, const kaon_bytes *bytes,
                            const kaon_site_layout *layout, kaon_site_fn *fn, void *user);

static inline size_t kaon_site_bytes(const kaon_site_layout *layout) {
  return (size_t)layout->reals * (size_t)(layout->bits / 8);
}
