/* ghosts.c - Contract: ghosts.h. */
#include "lib/ghosts.h"

#include <stdlib.h>
#include <string.h>

enum { MATRIX = 18 };

/* The exchange across the two faces of one direction, of one matrix on each site of one parity;
 * side 0: with the forward neighbour, 1: with the backward one. Sites are block * W + lane. */
typedef struct stage {
  int64_t count;       /* sites of a parity on a side */
  int32_t *from[2][2]; /* [side][parity]: what is sent */
  int32_t *to[2][2];   /* and the ghosts for what arrives */
  double *send[2], *receive[2];
  kaon_exchange *exchange; /* NULL: not partitioned */
} stage;

struct kaon_ghosts {
  stage stages[4];
  int32_t *walk[2];
  uint8_t *edge[2];
};

/* The part with a margin of one site in every partitioned direction: site[...] is the number of the
 * site there, on its parity, or -1 beyond an edge of three faces. */
typedef struct box {
  int begin[4], end[4]; /* coordinates */
  int32_t *site;
  int64_t ghosts[2];
} box;

static int64_t box_index(const box *b, const int x[4]) {
  int64_t i = 0;
  for (int mu = 3; mu >= 0; mu--) i = i * (b->end[mu] - b->begin[mu]) + (x[mu] - b->begin[mu]);
  return i;
}

static int parity_of(const int x[4]) {
  return (x[0] + x[1] + x[2] + x[3]) & 1;
}

static int outside(const kaon_lattice *lattice, const int x[4]) {
  int n = 0;
  for (int mu = 0; mu < 4; mu++) n += x[mu] < 0 || x[mu] >= lattice->extents[mu];
  return n;
}

#define FOR_BOX(x, begin, end)                         \
  for (x[3] = (begin)[3]; x[3] < (end)[3]; x[3]++)     \
    for (x[2] = (begin)[2]; x[2] < (end)[2]; x[2]++)   \
      for (x[1] = (begin)[1]; x[1] < (end)[1]; x[1]++) \
        for (x[0] = (begin)[0]; x[0] < (end)[0]; x[0]++)

static kaon_status box_open(const kaon_lattice *lattice, box *b) {
  const kaon_stencil *st = &lattice->stencil;
  int64_t volume = 1;
  for (int mu = 0; mu < 4; mu++) {
    b->begin[mu] = lattice->partitioned[mu] ? -1 : 0;
    b->end[mu] = lattice->extents[mu] - b->begin[mu];
    volume *= b->end[mu] - b->begin[mu];
  }
  b->ghosts[0] = b->ghosts[1] = 0;
  b->site = malloc((size_t)volume * sizeof *b->site);
  if (b->site == NULL)
    return kaon_fail(lattice->ctx, KAON_ERR_MEMORY,
                     "lattice: no host memory for the map of %lld sites and their neighbours",
                     (long long)volume);
  int x[4];
  FOR_BOX(x, b->begin, b->end) {
    const int beyond = outside(lattice, x), parity = parity_of(x);
    int64_t number = -1;
    if (beyond == 0) {
      const kaon_place at = kaon_lattice_place(lattice, x);
      number = at.block * st->width + at.lane;
    } else if (beyond <= 2) {
      number = st->nblocks * st->width + b->ghosts[parity]++;
    }
    b->site[box_index(b, x)] = (int32_t)number;
  }
  return KAON_OK;
}

/* The number of the neighbour of x in direction dir, or x's own where no path goes on. */
static int32_t neighbour(const kaon_lattice *lattice, const box *b, const int x[4], int dir) {
  const int mu = dir % 4, extent = lattice->extents[mu];
  int to[4];
  memcpy(to, x, sizeof to);
  to[mu] += dir < 4 ? 1 : -1;
  if (!lattice->partitioned[mu]) to[mu] = (to[mu] + extent) % extent;
  if (to[mu] < b->begin[mu] || to[mu] >= b->end[mu]) return b->site[box_index(b, x)];
  const int32_t number = b->site[box_index(b, to)];
  return number >= 0 ? number : b->site[box_index(b, x)];
}

static int at_face(const kaon_lattice *lattice, const int x[4]) {
  for (int mu = 0; mu < 4; mu++)
    if (lattice->partitioned[mu] && (x[mu] <= 0 || x[mu] >= lattice->extents[mu] - 1)) return 1;
  return 0;
}

static kaon_status no_memory(const kaon_lattice *lattice) {
  return kaon_fail(lattice->ctx, KAON_ERR_MEMORY,
                   "lattice: no host memory for the tables of sites beyond its faces");
}

static kaon_status build_walk(kaon_lattice *lattice, const box *b) {
  kaon_stencil *st = &lattice->stencil;
  kaon_ghosts *g = lattice->ghosts;
  const int64_t most = b->ghosts[0] > b->ghosts[1] ? b->ghosts[0] : b->ghosts[1];
  st->ghost_blocks = (most + st->width - 1) / st->width;
  const int64_t sites = kaon_matrix_blocks(st) * st->width;
  if (sites > INT32_MAX / KAON_DIRS) return no_memory(lattice);
  for (int p = 0; p < 2; p++) {
    g->walk[p] = malloc((size_t)sites * KAON_DIRS * sizeof *g->walk[p]);
    g->edge[p] = calloc((size_t)kaon_matrix_blocks(st), 1);
    if (g->walk[p] == NULL || g->edge[p] == NULL) return no_memory(lattice);
    for (int64_t i = 0; i < sites * KAON_DIRS; i++) /* masked lanes: themselves */
      g->walk[p][i] = (int32_t)(i / (KAON_DIRS * st->width) * st->width + i % st->width);
  }
  int x[4];
  FOR_BOX(x, b->begin, b->end) {
    const int64_t site = b->site[box_index(b, x)];
    const int p = parity_of(x);
    if (site < 0) continue;
    const int64_t block = site / st->width, lane = site % st->width;
    for (int dir = 0; dir < KAON_DIRS; dir++)
      g->walk[p][(block * KAON_DIRS + dir) * st->width + lane] = neighbour(lattice, b, x, dir);
    if (at_face(lattice, x)) g->edge[p][block] = 1;
  }
  for (int p = 0; p < 2; p++) {
    st->walk[p] = g->walk[p];
    st->edge[p] = g->edge[p];
  }
  return KAON_OK;
}

/* Lists the sites with coordinate x_mu = at in the order that both sides of a face share: the own
 * ones, and the ghosts of the directions before mu. */
static int64_t list_face(const kaon_lattice *lattice, const box *b, int mu, int at,
                         int32_t *sites[2]) {
  int begin[4], end[4], x[4];
  int64_t count[2] = {0, 0};
  for (int nu = 0; nu < 4; nu++) {
    begin[nu] = nu < mu ? b->begin[nu] : nu == mu ? at : 0;
    end[nu] = nu < mu ? b->end[nu] : nu == mu ? at + 1 : lattice->extents[nu];
  }
  FOR_BOX(x, begin, end) {
    int others[4];
    memcpy(others, x, sizeof others);
    others[mu] = 0;
    if (outside(lattice, others) > 1) continue;
    const int p = parity_of(x);
    sites[p][count[p]++] = b->site[box_index(b, x)];
  }
  return count[0]; /* extents are even: so many on either parity */
}

static kaon_status build_stage(kaon_lattice *lattice, const box *b, int mu) {
  kaon_context *ctx = lattice->ctx;
  stage *s = &lattice->ghosts->stages[mu];
  const int extent = lattice->extents[mu];
  const int sent[2] = {extent - 1, 0}, ghost[2] = {extent, -1};
  size_t most = 1;
  for (int nu = 0; nu < 4; nu++)
    if (nu != mu) most *= (size_t)(b->end[nu] - b->begin[nu]);
  kaon_message messages[2];
  for (int side = 0; side < 2; side++) {
    for (int p = 0; p < 2; p++) {
      s->from[side][p] = malloc(most * sizeof(int32_t));
      s->to[side][p] = malloc(most * sizeof(int32_t));
      if (s->from[side][p] == NULL || s->to[side][p] == NULL) return no_memory(lattice);
    }
    s->count = list_face(lattice, b, mu, sent[side], s->from[side]);
    list_face(lattice, b, mu, ghost[side], s->to[side]);
    const size_t bytes = (size_t)s->count * MATRIX * sizeof(double);
    s->send[side] = malloc(bytes);
    s->receive[side] = malloc(bytes);
    if (s->send[side] == NULL || s->receive[side] == NULL) return no_memory(lattice);
    const int dir = side == 0 ? mu : mu + 4;
    messages[side] = (kaon_message){.dir = dir,
                                    .peer = lattice->peer[dir],
                                    .send = s->send[side],
                                    .receive = s->receive[side],
                                    .bytes = bytes};
  }
  return ctx->comm->ops->exchange_create(ctx->comm, messages, 2, &s->exchange);
}

kaon_status kaon_ghosts_create(kaon_lattice *lattice) {
  box b;
  lattice->ghosts = calloc(1, sizeof *lattice->ghosts);
  if (lattice->ghosts == NULL) return no_memory(lattice);
  KAON_TRY(box_open(lattice, &b));
  kaon_status status = build_walk(lattice, &b);
  for (int mu = 0; mu < 4 && status == KAON_OK; mu++)
    if (lattice->partitioned[mu]) status = build_stage(lattice, &b, mu);
  free(b.site);
  return status;
}

void kaon_ghosts_destroy(kaon_lattice *lattice) {
  kaon_ghosts *g = lattice->ghosts;
  if (g == NULL) return;
  for (int mu = 0; mu < 4; mu++) {
    stage *s = &g->stages[mu];
    if (s->exchange != NULL) lattice->ctx->comm->ops->exchange_destroy(&s->exchange);
    for (int side = 0; side < 2; side++) {
      for (int p = 0; p < 2; p++) {
        free(s->from[side][p]);
        free(s->to[side][p]);
      }
      free(s->send[side]);
      free(s->receive[side]);
    }
  }
  for (int p = 0; p < 2; p++) {
    free(g->walk[p]);
    free(g->edge[p]);
  }
  free(g);
  lattice->ghosts = NULL;
}

kaon_status kaon_ghosts_fill(const kaon_lattice *lattice, int parity, double *field) {
  const kaon_comm_ops *ops = lattice->ctx->comm->ops;
  const int width = lattice->stencil.width;
  if (lattice->ghosts == NULL) return KAON_OK;
  for (int mu = 0; mu < 4; mu++) {
    const stage *s = &lattice->ghosts->stages[mu];
    if (s->exchange == NULL) continue;
    for (int side = 0; side < 2; side++)
      for (int64_t i = 0; i < s->count; i++) {
        const int64_t site = s->from[side][parity][i];
        const double *p =
            field + kaon_field_index(site / width, 0, 0, (int)(site % width), 1, MATRIX, width);
        for (int c = 0; c < MATRIX; c++) s->send[side][i * MATRIX + c] = p[c * width];
      }
    KAON_TRY(ops->exchange_start(s->exchange));
    KAON_TRY(ops->exchange_finish(s->exchange));
    for (int side = 0; side < 2; side++)
      for (int64_t i = 0; i < s->count; i++) {
        const int64_t site = s->to[side][parity][i];
        double *p =
            field + kaon_field_index(site / width, 0, 0, (int)(site % width), 1, MATRIX, width);
        for (int c = 0; c < MATRIX; c++) p[c * width] = s->receive[side][i * MATRIX + c];
      }
  }
  return KAON_OK;
}
