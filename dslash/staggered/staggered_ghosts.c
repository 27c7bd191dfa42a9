/* staggered_ghosts.c - ghost links, for kernels that multiply by the links of all their hops
 * (kaon_staggered_ops.face_links). They are the links of backward hops across a face: U_mu(x - n
 * mu) of the neighbour in -mu, as it stores them. They change with the links only, so the messages
 * of hops contain colours only. This is set-up: one direction after another, through host memory
 * (lib/grid/ghosts.c). */
#include <stdlib.h>

#include "dslash/staggered/staggered_internal.h"

/* What is sent across one face: even links, odd links, then the phases in the same order. */
typedef struct parcel {
  size_t links, phases, bytes; /* of one parity; of all */
} parcel;

static parcel parcel_of(const kaon_staggered_links *l, size_t sites) {
  const size_t size = kaon_precision_bytes(l->links->precision);
  parcel p = {.links = sites * (size_t)l->links->reconstruct * size};
  if (l->phase[0] != NULL) p.phases = sites * size;
  p.bytes = 2 * (p.links + p.phases);
  return p;
}

static size_t sites_of(const kaon_lattice *lattice, int mu, int steps) {
  const size_t width = (size_t)lattice->stencil.width;
  const size_t ghosts = (size_t)steps * (size_t)lattice->faces->ghosts[mu];
  return (ghosts + width - 1) / width * width;
}

static char *links_at(void *room, const parcel *p, int parity) {
  return (char *)room + (size_t)parity * p->links;
}

static char *phases_at(void *room, const parcel *p, int parity) {
  return p->phases == 0 ? NULL : (char *)room + 2 * p->links + (size_t)parity * p->phases;
}

/* ---- the messages ---- */

/* The exchange of one direction. Host buffers: what is sent, what comes from behind, and what the
 * neighbour ahead sends, since messages go both ways. */
typedef struct link_exchange {
  parcel p;
  void *room; /* device memory for the message */
  char *host;
  kaon_exchange *exchange;
} link_exchange;

static void link_exchange_close(kaon_context *ctx, link_exchange *c) {
  if (c->exchange != NULL) ctx->comm->ops->exchange_destroy(&c->exchange);
  kaon_pool_release(ctx, c->room);
  free(c->host);
}

/* Allocates this rank's memory and creates the exchange; sends nothing. */
static kaon_status link_exchange_open(kaon_staggered_links *l, int mu, link_exchange *c) {
  const kaon_lattice *lattice = l->links->lattice;
  kaon_context *ctx = lattice->ctx;
  const size_t bytes = c->p.bytes;
  if (l->ghosts[mu] != NULL && l->ghost_bytes[mu] != bytes) {
    kaon_pool_release(ctx, l->ghosts[mu]);
    l->ghosts[mu] = NULL;
  }
  if (l->ghosts[mu] == NULL)
    KAON_TRY(kaon_pool_allocate(ctx, bytes, "links received from other ranks", &l->ghosts[mu]));
  l->ghost_bytes[mu] = bytes;
  KAON_TRY(kaon_pool_allocate(ctx, bytes, "links sent to other ranks", &c->room));
  c->host = calloc(3, bytes);
  if (c->host == NULL)
    return kaon_fail(ctx, KAON_ERR_MEMORY, "staggered: out of host memory for messages of links");
  const kaon_message messages[2] = {{.dir = mu,
                                     .peer = lattice->peer[mu],
                                     .send = c->host,
                                     .receive = c->host + 2 * bytes,
                                     .bytes = bytes},
                                    {.dir = mu + 4,
                                     .peer = lattice->peer[mu + 4],
                                     .send = c->host,
                                     .receive = c->host + bytes,
                                     .bytes = bytes}};
  return ctx->comm->ops->exchange_create(ctx->comm, messages, 2, &c->exchange);
}

/* Copies this rank's links at its face to the host. */
static kaon_status pack(const kaon_staggered_links *l, int mu, int steps, const link_exchange *c) {
  kaon_context *ctx = l->links->ctx;
  const kaon_memory_ops *memory = ctx->backend->memory;
  kaon_face_links_args args = {.stencil = &l->links->lattice->stencil,
                               .mu = mu,
                               .steps = steps,
                               .links = kaon_staggered_links_of(l)};
  kaon_launch launch;
  KAON_TRY(memory->clear(ctx, c->room, c->p.bytes)); /* the unused lanes of the last block */
  KAON_TRY(kaon_launch_prepare(ctx, 1, 0, &launch));
  for (args.parity = 0; args.parity < 2; args.parity++) {
    args.to = links_at(c->room, &c->p, args.parity);
    args.to_phase = phases_at(c->room, &c->p, args.parity);
    ctx->backend->staggered[l->links->precision]->face_links(&launch, &args);
  }
  return memory->to_host(ctx, c->host, c->room, c->p.bytes);
}

static kaon_status bring(kaon_staggered_links *l, int mu, int steps, link_exchange *c) {
  kaon_context *ctx = l->links->ctx;
  const kaon_comm_ops *ops = ctx->comm->ops;
  KAON_TRY(kaon_agree(ctx, link_exchange_open(l, mu, c)));
  KAON_TRY(kaon_agree(ctx, pack(l, mu, steps, c)));
  KAON_TRY(ops->exchange_start(c->exchange));
  KAON_TRY(ops->exchange_finish(c->exchange));
  return kaon_agree(
      ctx, ctx->backend->memory->to_device(ctx, l->ghosts[mu], c->host + c->p.bytes, c->p.bytes));
}

kaon_status kaon_staggered_ghosts_fill(kaon_staggered_links *links, int steps) {
  const kaon_lattice *lattice = links->links->lattice;
  kaon_status status = KAON_OK;
  if (lattice->ctx->backend->staggered[links->links->precision]->face_links == NULL) return KAON_OK;
  for (int mu = 0; mu < 4 && status == KAON_OK; mu++) {
    if (!lattice->partitioned[mu]) continue;
    links->ghost_sites[mu] = sites_of(lattice, mu, steps);
    link_exchange c = {.p = parcel_of(links, links->ghost_sites[mu])};
    status = bring(links, mu, steps, &c);
    link_exchange_close(lattice->ctx, &c);
  }
  return status;
}

void kaon_staggered_ghosts_release(kaon_context *ctx, kaon_staggered_links *links) {
  for (int mu = 0; mu < 4; mu++) {
    kaon_pool_release(ctx, links->ghosts[mu]);
    links->ghosts[mu] = NULL;
  }
}

/* ---- for kernels ---- */

kaon_hop_links kaon_staggered_links_of(const kaon_staggered_links *from) {
  kaon_hop_links to = {.recon = (int)from->links->reconstruct, .factor = from->factor};
  for (int p = 0; p < 2; p++) {
    to.links[p] = kaon_gauge_links(from->links, p);
    to.phase[p] = from->phase[p];
  }
  for (int i = 0; i < 8; i++) {
    const int mu = i / 2, p = i % 2;
    if (from->ghosts[mu] == NULL) continue;
    const parcel ghosts = parcel_of(from, from->ghost_sites[mu]);
    to.ghosts[p][mu] = links_at(from->ghosts[mu], &ghosts, p);
    to.ghost_phase[p][mu] = phases_at(from->ghosts[mu], &ghosts, p);
  }
  return to;
}
