/* sites.c - Contract: sites.h. */
#include "lib/io/sites.h"

#include <stdlib.h>

enum { CHUNK = 1 << 18 }; /* bytes read at once: fits the second-level cache */

kaon_status kaon_sites_read(const kaon_context *ctx, const kaon_bytes *bytes,
                            const kaon_site_layout *layout, kaon_site_fn *fn, void *user) {
  size_t size = kaon_site_bytes(layout);
  int64_t per_chunk = size < CHUNK ? (int64_t)(CHUNK / size) : 1;
  if (per_chunk > layout->sites) per_chunk = layout->sites;
  if (per_chunk == 0) return KAON_OK;
  KAON_AUTOFREE unsigned char *raw = malloc((size_t)per_chunk * size);
  KAON_AUTOFREE double *values = malloc((size_t)layout->reals * sizeof *values);
  kaon_status status = KAON_CHECK_MEMORY(ctx, raw != NULL && values != NULL,
                                         "%s: out of memory for a read buffer", bytes->name);
  for (int64_t site = 0; status == KAON_OK && site < layout->sites; site += per_chunk) {
    int64_t n = layout->sites - site < per_chunk ? layout->sites - site : per_chunk;
    status =
        kaon_bytes_read(ctx, bytes, layout->offset + site * (int64_t)size, (size_t)n * size, raw);
    for (int64_t i = 0; status == KAON_OK && i < n; i++) {
      const unsigned char *at = raw + (size_t)i * size;
      kaon_words_to_doubles(at, (size_t)layout->reals, layout->bits, layout->big_endian, values);
      status = fn(user, site + i, at, values);
    }
  }
  return status;
}
