/* rank_gather.c - see rank_gather.h. After the directions before mu a rank has a contiguous run of
 * members. It sends the run to each rank of its line in mu, and gets theirs beside it. */
#include "lib/grid/rank_gather.h"

#include <stdlib.h>

#include "lib/core/entry.h"
#include "lib/grid/site_table.h"

/* Messages between the ranks of a line, at most KAON_DIRS: a direction tells apart those between
 * two ranks. */
typedef struct step {
  int mu, n;
  size_t mine, theirs[KAON_DIRS]; /* offsets of the runs */
  size_t bytes;                   /* of a run */
  kaon_message messages[KAON_DIRS];
  kaon_exchange *exchange; /* of the communicator or of the device: one of the two is NULL */
  kaon_device_exchange *device;
} step;

struct kaon_rank_gather {
  kaon_context *ctx;
  char *all;
  size_t mine; /* offset of this rank's bytes */
  int steps;
  step step[];
};

/* ---- the messages ---- */

typedef struct place {
  int at[4], member[4]; /* of this rank in the grid, and in its box */
} place;

static place place_of(const kaon_lattice *l, const int box[4]) {
  place p;
  for (int mu = 0; mu < 4; mu++) {
    p.at[mu] = l->origin[mu] / l->extents[mu];
    p.member[mu] = p.at[mu] % box[mu];
  }
  return p;
}

static int rank_of(const kaon_lattice *l, const place *p, int mu, int member) {
  int at[4];
  memcpy(at, p->at, sizeof at);
  at[mu] += member - p->member[mu];
  return (int)kaon_site_index(l->grid, at);
}

static size_t run_at(const int box[4], const place *p, int mu, int member, size_t run) {
  size_t index = 0;
  for (int nu = 3; nu > mu; nu--) index = (index + (size_t)p->member[nu]) * (size_t)box[nu - 1];
  return (index + (size_t)member) * run;
}

/* A message to and from the member `shift` ranks further. Both sides must give it opposite
 * directions: the members that are `shift` apart do, and so do halves of a line. */
static void add_message(const kaon_lattice *l, const int box[4], const place *p, step *s,
                        int shift) {
  const int length = box[s->mu], member = (p->member[s->mu] + shift + length) % length;
  const int slot = (abs(shift) - 1) % (KAON_DIRS / 2);
  const int back = 2 * abs(shift) == length ? p->member[s->mu] >= abs(shift) : shift < 0;
  s->theirs[s->n] = run_at(box, p, s->mu, member, s->bytes);
  s->messages[s->n++] = (kaon_message){.dir = slot + back * (KAON_DIRS / 2),
                                       .peer = rank_of(l, p, s->mu, member),
                                       .bytes = s->bytes};
}

/* The steps of a line. */
static int steps_of(int length) {
  return (length / 2 + KAON_DIRS / 2 - 1) / (KAON_DIRS / 2);
}

static void list(const kaon_lattice *l, const int box[4], size_t bytes, kaon_rank_gather *gather) {
  const place p = place_of(l, box);
  step *s = gather->step;
  for (int mu = 0; mu < 4; bytes *= (size_t)box[mu++])
    for (int i = 0; i < steps_of(box[mu]); i++, s++) {
      *s = (step){.mu = mu, .bytes = bytes, .mine = run_at(box, &p, mu, p.member[mu], bytes)};
      for (int shift = 1 + i * KAON_DIRS / 2;
           shift <= box[mu] / 2 && shift <= (i + 1) * KAON_DIRS / 2; shift++) {
        add_message(l, box, &p, s, shift);
        if (2 * shift < box[mu]) add_message(l, box, &p, s, -shift);
      }
    }
}

static kaon_status declare(kaon_rank_gather *gather, step *s) {
  kaon_context *ctx = gather->ctx;
  if (!ctx->backend->host_accessible)
    return ctx->backend->ranks->exchange_create(ctx, s->messages, s->n, &s->device, NULL);
  for (int i = 0; i < s->n; i++) {
    s->messages[i].send = gather->all + s->mine;
    s->messages[i].receive = gather->all + s->theirs[i];
  }
  return ctx->comm->ops->exchange_create(ctx->comm, s->messages, s->n, &s->exchange);
}

/* ---- lifetime ---- */

static kaon_status make(const kaon_lattice *l, const int box[4], size_t bytes,
                        kaon_rank_gather *gather) {
  const place p = place_of(l, box);
  const size_t members = (size_t)(box[0] * box[1] * box[2] * box[3]);
  void *all = NULL;
  gather->mine = run_at(box, &p, 0, p.member[0], bytes);
  kaon_status status =
      kaon_pool_allocate(l->ctx, members * bytes, "numbers of several ranks", &all);
  gather->all = all;
  KAON_TRY(kaon_agree(l->ctx, status));
  list(l, box, bytes, gather);
  for (int i = 0; i < gather->steps && status == KAON_OK; i++)
    status = declare(gather, &gather->step[i]);
  return kaon_agree(l->ctx, status);
}

kaon_status kaon_rank_gather_create(const kaon_lattice *lattice, const int box[4], size_t bytes,
                                    kaon_rank_gather **gather) {
  int steps = 0;
  for (int mu = 0; mu < 4; mu++) steps += steps_of(box[mu]);
  kaon_rank_gather *made = calloc(1, sizeof *made + (size_t)steps * sizeof made->step[0]);
  kaon_status status = KAON_AGREE_MEMORY(lattice->ctx, made != NULL, "ranks: out of host memory");
  if (made != NULL) {
    made->ctx = lattice->ctx;
    made->steps = steps;
  }
  if (status == KAON_OK) status = make(lattice, box, bytes, made);
  *gather = made;
  if (status != KAON_OK) kaon_rank_gather_destroy(gather);
  return status;
}

void kaon_rank_gather_destroy(kaon_rank_gather **gather) {
  if (gather == NULL || *gather == NULL) return;
  kaon_rank_gather *gone = *gather;
  kaon_context *ctx = gone->ctx;
  *gather = NULL;
  for (int i = 0; i < gone->steps; i++) {
    if (gone->step[i].exchange != NULL) ctx->comm->ops->exchange_destroy(&gone->step[i].exchange);
    if (gone->step[i].device != NULL) ctx->backend->ranks->exchange_destroy(&gone->step[i].device);
  }
  kaon_pool_release(ctx, gone->all);
  free(gone);
}

/* ---- gathering ---- */

void *kaon_rank_gather_mine(const kaon_rank_gather *gather) {
  return gather->all + gather->mine;
}

const void *kaon_rank_gather_all(const kaon_rank_gather *gather) {
  return gather->all;
}

/* A device's exchange has buffers of its own. */
static kaon_status copy(const kaon_rank_gather *gather, void *to, const void *from, size_t bytes) {
  return gather->ctx->backend->memory->copy(gather->ctx, to, bytes, from, bytes, bytes, 1);
}

static kaon_status start(const kaon_rank_gather *gather, const step *s) {
  kaon_context *ctx = gather->ctx;
  ctx->comm->traffic.exchanges++;
  ctx->comm->traffic.bytes += (int64_t)s->bytes * s->n;
  if (s->exchange != NULL) return ctx->comm->ops->exchange_start(s->exchange);
  for (int i = 0; i < s->n; i++)
    KAON_TRY(copy(gather, s->messages[i].send, gather->all + s->mine, s->bytes));
  return ctx->backend->ranks->exchange_start(s->device);
}

static kaon_status finish(const kaon_rank_gather *gather, const step *s) {
  kaon_context *ctx = gather->ctx;
  if (s->exchange != NULL) return ctx->comm->ops->exchange_finish(s->exchange);
  KAON_TRY(ctx->backend->ranks->exchange_finish(s->device));
  for (int i = 0; i < s->n; i++)
    KAON_TRY(copy(gather, gather->all + s->theirs[i], s->messages[i].receive, s->bytes));
  return KAON_OK;
}

kaon_status kaon_rank_gather_run(kaon_rank_gather *gather) {
  for (int i = 0; i < gather->steps; i++) {
    KAON_TRY(start(gather, &gather->step[i]));
    KAON_TRY(finish(gather, &gather->step[i]));
  }
  return KAON_OK;
}

void kaon_rank_gather_order(const kaon_lattice *l, const int box[4], int32_t *from) {
  int part[4];
  for (int mu = 0; mu < 4; mu++) part[mu] = box[mu] * l->extents[mu];
  const int64_t volume = (int64_t)part[0] * part[1] * part[2] * part[3];
  for (int64_t site = 0; site < volume; site++) {
    int x[4], member[4], local[4];
    kaon_site_coordinates(part, site, x);
    for (int mu = 0; mu < 4; mu++) {
      member[mu] = x[mu] / l->extents[mu];
      local[mu] = x[mu] % l->extents[mu];
    }
    from[site] =
        (int32_t)(kaon_site_index(box, member) * l->volume + kaon_site_index(l->extents, local));
  }
}
