/* halo.c - the exchange of faces (lib/halo.h): buffers, and the one persistent exchange on them. */
#include "lib/halo.h"

#include <stdlib.h>

/* Bytes of a face's message, and where its scales begin. */
static size_t message_bytes(const kaon_halo *halo, const kaon_faces *faces, int mu,
                            size_t *scales_at) {
  const size_t group = (size_t)faces->group[mu];
  const size_t sites = ((size_t)faces->ghosts[mu] + group - 1) / group * group;
  const size_t numbers = sites * (size_t)halo->nrhs;
  *scales_at = (numbers * KAON_GHOST_REALS * kaon_precision_bytes(halo->precision) + 63) / 64 * 64;
  return *scales_at + (halo->precision == KAON_HALF ? numbers * sizeof(float) : 0);
}

static kaon_status take(kaon_halo *halo, size_t bytes, size_t scales_at, kaon_view *view) {
  void *memory = NULL;
  KAON_TRY(kaon_pool_take(halo->ctx, bytes, "the faces of a spinor field", &memory));
  view->data = memory;
  if (halo->precision == KAON_HALF) view->scale = (float *)((char *)memory + scales_at);
  return halo->ctx->backend->memory->clear(halo->ctx, memory, bytes); /* the last group's rest */
}

static kaon_status declare(kaon_halo *halo, const kaon_lattice *lattice) {
  kaon_message messages[KAON_DIRS];
  int n = 0;
  for (int dir = 0; dir < KAON_DIRS; dir++) {
    const int mu = dir % 4, back = (dir + 4) % KAON_DIRS;
    size_t scales_at = 0;
    if (!lattice->partitioned[mu]) continue;
    const size_t bytes = message_bytes(halo, lattice->faces, mu, &scales_at);
    KAON_TRY(take(halo, bytes, scales_at, &halo->receive[dir]));
    KAON_TRY(take(halo, bytes, scales_at, &halo->send[back]));
    if (lattice->peer[dir] != halo->ctx->comm->rank) halo->bytes += (int64_t)bytes;
    /* hops in dir need what the neighbour in dir has; it hops in the opposite one to us */
    messages[n++] = (kaon_message){.dir = dir,
                                   .peer = lattice->peer[dir],
                                   .send = halo->send[back].data,
                                   .receive = halo->receive[dir].data,
                                   .bytes = bytes};
  }
  kaon_comm *comm = halo->ctx->comm;
  return comm->ops->exchange_create(comm, messages, n, &halo->exchange);
}

static void halo_destroy(kaon_halo *halo) {
  if (halo->exchange != NULL) halo->ctx->comm->ops->exchange_destroy(&halo->exchange);
  for (int dir = 0; dir < KAON_DIRS; dir++) {
    kaon_pool_give(halo->ctx, halo->send[dir].data);
    kaon_pool_give(halo->ctx, halo->receive[dir].data);
  }
  free(halo);
}

static kaon_status make(kaon_lattice *lattice, kaon_precision precision, int nrhs,
                        kaon_halo **halo) {
  kaon_halo *made = calloc(1, sizeof *made);
  if (made == NULL) return kaon_fail(lattice->ctx, KAON_ERR_MEMORY, "halo: no host memory");
  *made = (kaon_halo){.ctx = lattice->ctx, .precision = precision, .nrhs = nrhs};
  const kaon_status status = declare(made, lattice);
  if (status != KAON_OK)
    halo_destroy(made);
  else
    *halo = made;
  return status;
}

kaon_status kaon_halo_get(kaon_lattice *lattice, kaon_precision precision, int nrhs,
                          kaon_halo **halo) {
  for (kaon_halo *h = lattice->halos; h != NULL; h = h->next)
    if (h->precision == precision && h->nrhs == nrhs) {
      *halo = h;
      return KAON_OK;
    }
  kaon_halo *made = NULL;
  kaon_status status = kaon_agree(lattice->ctx, make(lattice, precision, nrhs, &made));
  if (status != KAON_OK) {
    if (made != NULL) halo_destroy(made);
    return status;
  }
  made->next = lattice->halos;
  lattice->halos = made;
  *halo = made;
  return KAON_OK;
}

kaon_status kaon_halo_start(kaon_halo *halo) {
  return halo->ctx->comm->ops->exchange_start(halo->exchange);
}

kaon_status kaon_halo_finish(kaon_halo *halo) {
  return halo->ctx->comm->ops->exchange_finish(halo->exchange);
}

void kaon_halos_destroy(kaon_lattice *lattice) {
  while (lattice->halos != NULL) {
    kaon_halo *gone = lattice->halos;
    lattice->halos = gone->next;
    halo_destroy(gone);
  }
}
