/* site_table.c - lexicographic site indices in device memory. */
#include "lib/grid/site_table.h"

#include <stdlib.h>

static void fill(const kaon_lattice *lattice, int64_t *numbers) {
  const kaon_stencil *st = &lattice->stencil;
#pragma omp parallel for num_threads(lattice->ctx->threads) schedule(static)
  for (int64_t i = 0; i < 2 * st->nblocks; i++)
    for (int lane = 0; lane < st->width; lane++) {
      const int parity = i >= st->nblocks;
      int site[4];
      const int real_site =
          kaon_lattice_site(lattice, parity, i - parity * st->nblocks, lane, site);
      for (int mu = 0; mu < 4; mu++) site[mu] = real_site ? site[mu] + lattice->origin[mu] : 0;
      numbers[i * st->width + lane] = real_site ? kaon_site_index(lattice->global, site) : -1;
    }
}

kaon_status kaon_site_table_create(const kaon_lattice *lattice, kaon_site_table *table) {
  kaon_context *ctx = lattice->ctx;
  const size_t count = (size_t)lattice->stencil.nblocks * (size_t)lattice->stencil.width;
  const size_t bytes = 2 * count * sizeof(int64_t);
  void *device = NULL;
  *table = (kaon_site_table){.ctx = ctx};
  if (ctx->backend->computed_neighbours) return KAON_OK;
  KAON_TRY(kaon_pool_allocate(ctx, bytes, "site table", &device));
  table->sites[0] = device;
  table->sites[1] = table->sites[0] + count;
  if (ctx->backend->host_accessible) {
    fill(lattice, table->sites[0]);
    return KAON_OK;
  }
  KAON_AUTOFREE int64_t *host = malloc(bytes);
  if (host == NULL)
    return kaon_fail(ctx, KAON_ERR_MEMORY, "lattice: out of host memory for a table of %zu sites",
                     2 * count);
  fill(lattice, host);
  return ctx->backend->memory->to_device(ctx, device, host, bytes);
}

void kaon_site_table_release(kaon_site_table *table) {
  if (table->ctx != NULL) kaon_pool_release(table->ctx, table->sites[0]);
  *table = (kaon_site_table){0};
}
