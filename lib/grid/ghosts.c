/* ghosts.c - Contract: ghosts.h. */
#include "lib/grid/ghosts.h"

#include <stdlib.h>
#include <string.h>

#include "lib/vector/import_ops.h"

enum { MATRIX = 18 };

/* The exchange across the two faces of one direction, with one matrix for each site of one parity.
 * The first half of each buffer is for the forward neighbour, the second for the backward one. Site
 * indices are block * W + lane. */
typedef struct stage {
  int64_t count;           /* upper bound of the sites of a parity on both faces */
  int32_t *from[2];        /* [parity]: sites to send; -1: none */
  int32_t *to[2];          /* [parity]: ghosts to receive into; both tables are in device memory */
  double *send, *receive;  /* host memory */
  kaon_exchange *exchange; /* NULL: not partitioned */
} stage;

struct kaon_ghosts {
  stage stages[4];
  int32_t *walk[2];
  uint8_t *edge[2];
  void *room; /* matrices of a stage in device memory; NULL if the host reaches all of it */
};

/* The local lattice with a margin of one site in every partitioned direction. site[...] is the
 * index of the site within its parity, or -1 beyond an edge of three faces. */
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
                     "lattice: out of host memory for the map of %lld sites and their neighbours",
                     (long long)volume);
  int x[4];
  FOR_BOX(x, b->begin, b->end) {
    const int beyond = outside(lattice, x), parity = kaon_lattice_parity(lattice, x);
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

/* Index of the neighbour of x in direction dir, or of x itself if no path continues there. */
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
                   "lattice: out of host memory for the tables of sites received from other ranks");
}

static kaon_status too_many(const kaon_lattice *lattice, int64_t sites) {
  return kaon_fail(
      lattice->ctx, KAON_ERR_UNSUPPORTED,
      "lattice: %lld sites of a parity with those beyond its faces, but at most %d fit "
      "one rank; take more ranks, or divide fewer directions",
      (long long)sites, INT32_MAX / KAON_DIRS);
}

/* The part of fill_walk with one t. */
static void fill_slice(const kaon_lattice *lattice, const box *b, int t, int parity, int32_t *walk,
                       uint8_t *edge) {
  const int width = lattice->stencil.width;
  const int begin[4] = {b->begin[0], b->begin[1], b->begin[2], t};
  const int end[4] = {b->end[0], b->end[1], b->end[2], t + 1};
  int x[4];
  FOR_BOX(x, begin, end) {
    const int64_t site = b->site[box_index(b, x)];
    if (site < 0 || kaon_lattice_parity(lattice, x) != parity) continue;
    const int64_t block = site / width, lane = site % width;
    for (int dir = 0; dir < KAON_DIRS; dir++)
      walk[(block * KAON_DIRS + dir) * width + lane] = neighbour(lattice, b, x, dir);
    if (!at_face(lattice, x)) continue;
#pragma omp atomic write
    edge[block] = 1;
  }
}

/* Fills the walk table from the sites of one parity, and marks the blocks at a face. Masked lanes
 * lead to the last index, which no site has (build_walk); a field's matrix there is zero. */
static void fill_walk(const kaon_lattice *lattice, const box *b, int parity, int32_t *walk,
                      uint8_t *edge) {
  const kaon_stencil *st = &lattice->stencil;
  const int64_t entries = kaon_matrix_blocks(st) * st->width * KAON_DIRS;
  memset(edge, 0, (size_t)kaon_matrix_blocks(st));
#pragma omp parallel num_threads(lattice->ctx->threads)
  {
#pragma omp for schedule(static)
    for (int64_t i = 0; i < entries; i++) walk[i] = (int32_t)(entries / KAON_DIRS - 1);
#pragma omp for schedule(static)
    for (int t = b->begin[3]; t < b->end[3]; t++) fill_slice(lattice, b, t, parity, walk, edge);
  }
}

static kaon_status upload_walk(kaon_lattice *lattice, int parity, const int32_t *walk,
                               const uint8_t *edge) {
  kaon_ghosts *g = lattice->ghosts;
  kaon_stencil *st = &lattice->stencil;
  const size_t blocks = (size_t)kaon_matrix_blocks(st);
  const size_t entries = blocks * (size_t)st->width * KAON_DIRS;
  void *device = NULL;
  KAON_TRY(
      kaon_table_upload(lattice->ctx, walk, entries * sizeof *walk, "table of paths", &device));
  st->walk[parity] = g->walk[parity] = device;
  if (lattice->ctx->backend->computed_neighbours) return KAON_OK;
  KAON_TRY(kaon_table_upload(lattice->ctx, edge, blocks, "table of paths", &device));
  st->edge[parity] = g->edge[parity] = device;
  return KAON_OK;
}

static kaon_status build_walk(kaon_lattice *lattice, const box *b) {
  kaon_stencil *st = &lattice->stencil;
  const int64_t most = b->ghosts[0] > b->ghosts[1] ? b->ghosts[0] : b->ghosts[1];
  st->ghost_blocks = most / st->width + 1; /* no site has the last index */
  const int64_t sites = kaon_matrix_blocks(st) * st->width;
  if (sites > INT32_MAX / KAON_DIRS) return too_many(lattice, sites);
  KAON_AUTOFREE int32_t *walk = malloc((size_t)sites * KAON_DIRS * sizeof *walk);
  KAON_AUTOFREE uint8_t *edge = malloc((size_t)kaon_matrix_blocks(st));
  KAON_TRY(walk != NULL && edge != NULL ? KAON_OK : no_memory(lattice));
  for (int p = 0; p < 2; p++) {
    fill_walk(lattice, b, p, walk, edge);
    KAON_TRY(upload_walk(lattice, p, walk, edge));
  }
  return KAON_OK;
}

/* Lists the sites with coordinate x_mu = at in the order that both sides of a face share: local
 * sites, and ghosts of the directions before mu. */
static void list_face(const kaon_lattice *lattice, const box *b, int mu, int at, int32_t *sites[2],
                      int64_t count[2]) {
  int begin[4], end[4], x[4];
  count[0] = count[1] = 0;
  for (int nu = 0; nu < 4; nu++) {
    begin[nu] = nu < mu ? b->begin[nu] : nu == mu ? at : 0;
    end[nu] = nu < mu ? b->end[nu] : nu == mu ? at + 1 : lattice->extents[nu];
  }
  FOR_BOX(x, begin, end) {
    int others[4];
    memcpy(others, x, sizeof others);
    others[mu] = 0;
    if (outside(lattice, others) > 1) continue;
    const int p = kaon_lattice_parity(lattice, x);
    sites[p][count[p]++] = b->site[box_index(b, x)];
  }
}

/* Upper bound of the sites of a parity that list_face lists: a whole slice with its margins. */
static int64_t face_capacity(const box *b, int mu) {
  int64_t most = 1;
  for (int nu = 0; nu < 4; nu++) most *= nu == mu ? 1 : b->end[nu] - b->begin[nu];
  return most;
}

/* Lists both faces, the sites of the second after those of the first. Returns the capacity, which
 * is equal for all faces and parities. If the other extents are odd, one of them has a site less,
 * and -1 instead. */
static int64_t list_both(const kaon_lattice *lattice, const box *b, int mu, const int at[2],
                         int32_t *sites[2], int64_t most) {
  int64_t count[2][2], half = 0;
  for (int side = 0; side < 2; side++) {
    list_face(lattice, b, mu, at[side],
              (int32_t *[2]){sites[0] + side * most, sites[1] + side * most}, count[side]);
    for (int p = 0; p < 2; p++)
      if (count[side][p] > half) half = count[side][p];
  }
  for (int p = 0; p < 2; p++) {
    for (int side = 0; side < 2; side++)
      for (int64_t i = count[side][p]; i < half; i++) sites[p][side * most + i] = -1;
    memmove(sites[p] + half, sites[p] + most, (size_t)half * sizeof **sites);
  }
  return 2 * half;
}

/* Makes the tables of the sites that are sent across mu (at[]: forward, backward), or of the
 * ghosts. */
static kaon_status list_faces(kaon_lattice *lattice, const box *b, int mu, const int at[2],
                              int32_t *tables[2], int64_t *count) {
  const int64_t most = face_capacity(b, mu);
  int32_t *sites[2] = {malloc((size_t)most * 2 * sizeof **sites),
                       malloc((size_t)most * 2 * sizeof **sites)};
  kaon_status status = sites[0] != NULL && sites[1] != NULL ? KAON_OK : no_memory(lattice);
  if (status == KAON_OK) *count = list_both(lattice, b, mu, at, sites, most);
  for (int p = 0; p < 2 && status == KAON_OK; p++) {
    void *device = NULL;
    status = kaon_table_upload(lattice->ctx, sites[p], (size_t)*count * sizeof **sites,
                               "tables of links' messages", &device);
    tables[p] = device;
  }
  free(sites[0]);
  free(sites[1]);
  return status;
}

static kaon_status build_stage(kaon_lattice *lattice, const box *b, int mu) {
  stage *s = &lattice->ghosts->stages[mu];
  const int extent = lattice->extents[mu];
  KAON_TRY(list_faces(lattice, b, mu, (int[2]){extent - 1, 0}, s->from, &s->count));
  KAON_TRY(list_faces(lattice, b, mu, (int[2]){extent, -1}, s->to, &s->count));
  const size_t reals = (size_t)s->count * MATRIX;
  s->send = calloc(reals, sizeof *s->send); /* entries without a site are 0 */
  s->receive = malloc(reals * sizeof *s->receive);
  return s->send != NULL && s->receive != NULL ? KAON_OK : no_memory(lattice);
}

/* Allocates device memory for the matrices of the largest stage, if the host does not reach it. */
static kaon_status allocate_workspace(kaon_lattice *lattice) {
  const kaon_backend *backend = lattice->ctx->backend;
  int64_t most = 0;
  for (int mu = 0; mu < 4; mu++)
    if (lattice->ghosts->stages[mu].count > most) most = lattice->ghosts->stages[mu].count;
  if (backend->host_accessible) return KAON_OK;
  if (backend->import_ops == NULL || backend->import_ops->copy_matrices == NULL)
    return kaon_fail(lattice->ctx, KAON_ERR_NOT_BUILT,
                     "lattice: backend %s cannot exchange links between ranks", backend->name);
  return kaon_pool_allocate(lattice->ctx, (size_t)most * MATRIX * sizeof(double),
                            "workspace for links sent between ranks", &lattice->ghosts->room);
}

static kaon_status declare(kaon_lattice *lattice, int mu) {
  stage *s = &lattice->ghosts->stages[mu];
  kaon_comm *comm = lattice->ctx->comm;
  const int64_t half = s->count / 2 * MATRIX;
  kaon_message messages[2];
  for (int side = 0; side < 2; side++) {
    const int dir = side == 0 ? mu : mu + 4;
    messages[side] = (kaon_message){.dir = dir,
                                    .peer = lattice->peer[dir],
                                    .send = s->send + side * half,
                                    .receive = s->receive + side * half,
                                    .bytes = (size_t)half * sizeof(double)};
  }
  return comm->ops->exchange_create(comm, messages, 2, &s->exchange);
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
  if (status == KAON_OK) status = allocate_workspace(lattice);
  for (int mu = 0; mu < 4 && status == KAON_OK; mu++)
    if (lattice->partitioned[mu]) status = declare(lattice, mu);
  return status;
}

void kaon_ghosts_destroy(kaon_lattice *lattice) {
  kaon_ghosts *g = lattice->ghosts;
  kaon_context *ctx = lattice->ctx;
  if (g == NULL) return;
  for (int mu = 0; mu < 4; mu++) {
    stage *s = &g->stages[mu];
    if (s->exchange != NULL) ctx->comm->ops->exchange_destroy(&s->exchange);
    for (int p = 0; p < 2; p++) {
      kaon_pool_release(ctx, s->from[p]);
      kaon_pool_release(ctx, s->to[p]);
    }
    free(s->send);
    free(s->receive);
  }
  for (int p = 0; p < 2; p++) {
    kaon_pool_release(ctx, g->walk[p]);
    kaon_pool_release(ctx, g->edge[p]);
  }
  kaon_pool_release(ctx, g->room);
  free(g);
  lattice->ghosts = NULL;
}

/* ---- the messages ---- */

static void copy_matrices_on_host(const kaon_lattice *lattice, const kaon_matrix_copy_args *a) {
  const int width = lattice->stencil.width;
#pragma omp parallel for num_threads(lattice->ctx->threads) schedule(static)
  for (int64_t i = 0; i < a->count; i++) {
    const int64_t site = a->sites[i];
    if (site < 0) continue;
    double *p =
        a->field + kaon_field_index(site / width, 0, 0, (int)(site % width), 1, MATRIX, width);
    double *q = a->memory + i * MATRIX;
    for (int c = 0; c < MATRIX; c++)
      if (a->import_values)
        p[c * width] = q[c];
      else
        q[c] = p[c * width];
  }
}

/* Copies matrices between the field and a message: if import_values, received ones to the ghosts,
 * else those to send. */
static kaon_status copy_matrices(const kaon_lattice *lattice, const stage *s, int parity,
                                 double *field, int import_values) {
  kaon_context *ctx = lattice->ctx;
  const kaon_backend *backend = ctx->backend;
  const size_t bytes = (size_t)s->count * MATRIX * sizeof(double);
  double *message = import_values ? s->receive : s->send, *room = lattice->ghosts->room;
  const kaon_matrix_copy_args args = {.sites = import_values ? s->to[parity] : s->from[parity],
                                      .count = s->count,
                                      .field = field,
                                      .memory = room != NULL ? room : message,
                                      .import_values = import_values};
  kaon_launch launch;
  if (room == NULL) {
    copy_matrices_on_host(lattice, &args);
    return KAON_OK;
  }
  KAON_TRY(kaon_launch_prepare(ctx, 1, 0, &launch));
  if (import_values) KAON_TRY(backend->memory->to_device(ctx, room, message, bytes));
  backend->import_ops->copy_matrices(&launch, &args);
  return import_values ? KAON_OK : backend->memory->to_host(ctx, message, room, bytes);
}

kaon_status kaon_ghosts_fill(const kaon_lattice *lattice, int parity, double *field) {
  const kaon_comm_ops *ops = lattice->ctx->comm->ops;
  if (lattice->ghosts == NULL) return KAON_OK;
  for (int mu = 0; mu < 4; mu++) {
    const stage *s = &lattice->ghosts->stages[mu];
    if (s->exchange == NULL) continue;
    KAON_TRY(copy_matrices(lattice, s, parity, field, 0));
    KAON_TRY(ops->exchange_start(s->exchange));
    KAON_TRY(ops->exchange_finish(s->exchange));
    KAON_TRY(copy_matrices(lattice, s, parity, field, 1));
  }
  return KAON_OK;
}
