/* halo.c - the exchange of faces (lib/grid/halo.h): buffers and the one persistent exchange that
 * uses them. On a device both belong to the backend. */
#include "lib/grid/halo.h"

#include <stdlib.h>

/* Size of a face's message, and the offset of its scales. */
static size_t message_bytes(const kaon_halo *halo, int mu, size_t *scales_at) {
  const kaon_faces *faces = halo->faces;
  const size_t group = (size_t)faces->group[mu];
  const size_t sites = ((size_t)faces->ghosts[mu] + group - 1) / group * group;
  const size_t numbers = sites * (size_t)halo->nrhs;
  *scales_at =
      (numbers * (size_t)halo->reals * kaon_precision_bytes(halo->precision) + 63) / 64 * 64;
  return *scales_at + (halo->precision == KAON_HALF ? numbers * sizeof(float) : 0);
}

static kaon_view view_of(const kaon_halo *halo, void *memory, size_t scales_at) {
  const int scaled = memory != NULL && halo->precision == KAON_HALF;
  return (kaon_view){.data = memory,
                     .scale = scaled ? (float *)((char *)memory + scales_at) : NULL};
}

/* Allocates buffers for messages that the communicator sends itself. */
static kaon_status take(kaon_halo *halo, size_t bytes, void **memory) {
  KAON_TRY(kaon_pool_allocate(halo->ctx, bytes, "the faces of a spinor field", memory));
  /* Clears the unused rest of the last group too. */
  return halo->ctx->backend->memory->clear(halo->ctx, *memory, bytes);
}

/* Lists the messages by direction, without their buffers; returns their number. */
static int list(const kaon_halo *halo, const kaon_lattice *lattice, kaon_message *messages,
                size_t *scales_at) {
  int n = 0;
  for (int dir = 0; dir < KAON_DIRS; dir++) {
    if (!lattice->partitioned[dir % 4]) continue;
    messages[n] = (kaon_message){.dir = dir,
                                 .peer = lattice->peer[dir],
                                 .bytes = message_bytes(halo, dir % 4, &scales_at[n])};
    n++;
  }
  return n;
}

static kaon_status declare(kaon_halo *halo, const kaon_lattice *lattice) {
  kaon_message messages[KAON_DIRS];
  size_t scales_at[KAON_DIRS];
  kaon_context *ctx = halo->ctx;
  const int n = list(halo, lattice, messages, scales_at), host = ctx->backend->host_accessible;
  kaon_status status = KAON_OK;
  if (!host)
    KAON_TRY(ctx->backend->ranks->exchange_create(ctx, messages, n, &halo->device, &halo->peer));
  for (int i = 0; i < n && status == KAON_OK; i++) {
    if (messages[i].peer != ctx->comm->rank) halo->bytes += (int64_t)messages[i].bytes;
    const int dir = messages[i].dir, back = (dir + 4) % KAON_DIRS;
    if (host) status = take(halo, messages[i].bytes, &messages[i].receive);
    halo->receive[dir] = view_of(halo, messages[i].receive, scales_at[i]);
    if (host && status == KAON_OK) status = take(halo, messages[i].bytes, &messages[i].send);
    /* Hops in dir read the sites of the neighbour in dir, which reads ours by hops in the opposite
     * direction. */
    halo->send[back] = view_of(halo, messages[i].send, scales_at[i]);
  }
  if (!host || status != KAON_OK) return status;
  return ctx->comm->ops->exchange_create(ctx->comm, messages, n, &halo->exchange);
}

static void halo_destroy(kaon_halo *halo) {
  if (halo->exchange != NULL) halo->ctx->comm->ops->exchange_destroy(&halo->exchange);
  if (halo->device != NULL) halo->ctx->backend->ranks->exchange_destroy(&halo->device);
  for (int dir = 0; dir < KAON_DIRS && halo->ctx->backend->host_accessible; dir++) {
    kaon_pool_release(halo->ctx, halo->send[dir].data);
    kaon_pool_release(halo->ctx, halo->receive[dir].data);
  }
  free(halo);
}

static kaon_status make(kaon_lattice *lattice, const kaon_halo *what, kaon_halo **halo) {
  kaon_halo *made = calloc(1, sizeof *made);
  if (made == NULL) return kaon_fail(lattice->ctx, KAON_ERR_MEMORY, "halo: out of host memory");
  *made = *what;
  const kaon_status status = declare(made, lattice);
  if (status != KAON_OK)
    halo_destroy(made);
  else
    *halo = made;
  return status;
}

kaon_status kaon_halo_get_of(kaon_lattice *lattice, const kaon_faces *faces, int reals,
                             kaon_precision precision, int nrhs, kaon_halo **halo) {
  const kaon_halo what = {
      .ctx = lattice->ctx, .precision = precision, .nrhs = nrhs, .faces = faces, .reals = reals};
  for (kaon_halo *h = lattice->halos; h != NULL; h = h->next)
    if (h->precision == precision && h->nrhs == nrhs && h->faces == faces && h->reals == reals) {
      *halo = h;
      return KAON_OK;
    }
  kaon_halo *made = NULL;
  kaon_status status = kaon_agree(lattice->ctx, make(lattice, &what, &made));
  if (status != KAON_OK) {
    if (made != NULL) halo_destroy(made);
    return status;
  }
  made->next = lattice->halos;
  lattice->halos = made;
  *halo = made;
  return KAON_OK;
}

kaon_status kaon_halo_get(kaon_lattice *lattice, kaon_precision precision, int nrhs,
                          kaon_halo **halo) {
  return kaon_halo_get_of(lattice, lattice->faces, KAON_GHOST_REALS, precision, nrhs, halo);
}

void kaon_halo_count(const kaon_halo *halo) {
  halo->ctx->comm->traffic.exchanges++;
  halo->ctx->comm->traffic.bytes += halo->bytes;
}

static kaon_status begin(const kaon_halo *halo) {
  if (halo->device != NULL) return halo->ctx->backend->ranks->exchange_start(halo->device);
  return halo->ctx->comm->ops->exchange_start(halo->exchange);
}

kaon_status kaon_halo_start(kaon_halo *halo) {
  KAON_TRY(begin(halo));
  halo->under_way = 1;
  return KAON_OK;
}

kaon_status kaon_halo_finish(kaon_halo *halo) {
  halo->under_way = 0;
  if (halo->device != NULL) return halo->ctx->backend->ranks->exchange_finish(halo->device);
  return halo->ctx->comm->ops->exchange_finish(halo->exchange);
}

kaon_status kaon_halo_abandon(kaon_halo *halo) {
  if (halo->under_way && !halo->ctx->recording) return kaon_halo_finish(halo);
  halo->under_way = 0;
  return KAON_OK;
}

void kaon_halos_destroy(kaon_lattice *lattice) {
  while (lattice->halos != NULL) {
    kaon_halo *gone = lattice->halos;
    lattice->halos = gone->next;
    halo_destroy(gone);
  }
}
