/* domains.c - tables of a division into domains (lib/operator/domains.h). */
#include "lib/operator/domains.h"

#include <stdlib.h>

/* Lists the sites of each domain in the order of `order`. first: count + 1 entries. */
static void list_sites(const kaon_space *space, int count, const int32_t *domain,
                       const int32_t *order, int64_t *first, int32_t *list) {
  for (int64_t i = 0; i < space->nsites; i++) first[domain[order[i]] + 1]++;
  for (int d = 0; d < count; d++) first[d + 1] += first[d];
  for (int64_t i = 0; i < space->nsites; i++) list[first[domain[order[i]]]++] = order[i];
  for (int d = count; d > 0; d--) first[d] = first[d - 1];
  first[0] = 0;
}

static kaon_status keep(kaon_context *ctx, const void *host, size_t bytes, const void *table) {
  void *device = NULL;
  KAON_TRY(kaon_table_upload(ctx, host, bytes, "tables of domains", &device));
  *(const void **)table = device;
  return KAON_OK;
}

static kaon_status fill(const kaon_space *space, const int32_t *domain, const int32_t *turn,
                        const int64_t *first, const int32_t *list, kaon_domain_view *view) {
  const size_t sites = (size_t)(space->nblocks * space->width), count = (size_t)view->count;
  KAON_TRY(keep(space->ctx, domain, sites * sizeof *domain, &view->domain));
  KAON_TRY(keep(space->ctx, turn, count * sizeof *turn, &view->turn));
  KAON_TRY(keep(space->ctx, first, (count + 1) * sizeof *first, &view->first));
  return keep(space->ctx, list, (size_t)space->nsites * sizeof *list, &view->list);
}

kaon_status kaon_domains_create(const kaon_space *space, int count, const int32_t *domain,
                                const int32_t *order, const int32_t *turn, int turns,
                                kaon_domains **domains) {
  kaon_context *ctx = space->ctx;
  kaon_domains *made = calloc(1, sizeof *made);
  int64_t *first = calloc((size_t)count + 1, sizeof *first);
  int32_t *list = malloc((size_t)(count > 1 ? space->nsites : 1) * sizeof *list);
  kaon_status status = KAON_OK;
  if (made == NULL || first == NULL || list == NULL) {
    free(made);
    made = NULL;
    status = kaon_fail(ctx, KAON_ERR_MEMORY, "domains: out of host memory for their tables");
  }
  if (status == KAON_OK) {
    *made = (kaon_domains){.ctx = ctx, .turns = turns, .turn = turn[0]};
    made->view.count = count;
    kaon_context_retain(ctx);
    if (count > 1) {
      list_sites(space, count, domain, order, first, list);
      status = fill(space, domain, turn, first, list, &made->view);
    }
  }
  free(first);
  free(list);
  if (status != KAON_OK) kaon_domains_destroy(&made);
  *domains = made;
  return status;
}

void kaon_domains_destroy(kaon_domains **domains) {
  if (domains == NULL || *domains == NULL) return;
  kaon_domains *gone = *domains;
  *domains = NULL;
  kaon_pool_release(gone->ctx, (void *)gone->view.domain);
  kaon_pool_release(gone->ctx, (void *)gone->view.turn);
  kaon_pool_release(gone->ctx, (void *)gone->view.first);
  kaon_pool_release(gone->ctx, (void *)gone->view.list);
  kaon_context_release(gone->ctx);
  free(gone);
}
