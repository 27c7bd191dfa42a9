/* free_blocks.c - asynchronous blocks of the Wilson-like operators (lib/operator/free_blocks.h). It
 * finds which blocks share lanes, what each of them reads, and which hops it needs. The hops are
 * recorded from the operators' applications (kaon_recorded_hops) and restricted to lists of
 * blocks. */
#include <stdlib.h>
#include <string.h>

#include "blas/domain_ops.h"
#include "dslash/wilson/wilson.h"

typedef struct free_blocks {
  kaon_free_blocks base;
  kaon_context *ctx;
  kaon_operator *A, *local; /* the operators must outlive this object */
  const kaon_domains *domains;
  kaon_free_tables tables;
  int32_t *count, *version; /* [parts] */
  int columns;
  kaon_vector **z, **between; /* [threads], with the column count that was reserved */
  kaon_view *views;           /* [2 * threads]: views of these */
} free_blocks;

static kaon_status no_memory(kaon_context *ctx) {
  return kaon_fail(ctx, KAON_ERR_MEMORY, "schwarz: out of host memory for blocks' tables");
}

/* ---- neighbours ---- */

/* Nodes: blocks of lanes of parity 0, of parity 1, then the domains. */
typedef struct map {
  const kaon_stencil *whole, *cut;
  const kaon_space *space;
  const kaon_domain_view *domains;
  int64_t blocks;      /* of one parity */
  int first, parities; /* of the vectors' sites */
  int64_t nodes;
  int32_t *owner;    /* [node]: a node of the same part; finally the part */
  int64_t *begin;    /* [parts + 1]: a part's nodes in `order` */
  int32_t *order;    /* [node] */
  uint8_t *mark;     /* [node], for the current part */
  uint64_t *touched; /* [node]: the marked ones, owner << 32 | node */
  int64_t touches;
} map;

/* The node of a lane's neighbour; -1 for a masked lane or an omitted hop. */
static int64_t neighbour(const map *m, const kaon_stencil *st, int parity, int64_t block, int dir,
                         int lane) {
  const int64_t at = block * KAON_DIRS + dir;
  const int tail = block == m->blocks - 1 ? st->tail_lanes[parity] : st->width;
  int64_t there = st->neighbour[parity][at] >> KAON_NB_SHIFT;
  if (lane >= tail) return -1;
  if (st->cuts != NULL && st->cuts->lanes[parity][at] >> lane & 1) return -1;
  if (st->gather[parity] != NULL && st->neighbour[parity][at] & KAON_NB_GATHER) {
    const int32_t site = st->gather[parity][at * st->width + lane];
    there = (site < 0 ? ~site : site) / st->width;
  }
  return (1 - parity) * m->blocks + there;
}

static int32_t root_of(const map *m, int64_t node) {
  int32_t at = (int32_t)node;
  while (m->owner[at] != at) at = m->owner[at] = m->owner[m->owner[at]];
  return at;
}

static void join(map *m, int64_t a, int64_t b) {
  const int32_t x = root_of(m, a), y = root_of(m, b);
  m->owner[x > y ? x : y] = x > y ? y : x;
}

/* Converts a block index of the vectors to a node, and back (-1: not a block of the vectors). */
static int64_t node_of(const map *m, int64_t block) {
  return m->parities == 2 ? block : m->first * m->blocks + block;
}

static int64_t block_of(const map *m, int64_t node) {
  if (m->parities == 2) return node;
  return node / m->blocks == m->first ? node % m->blocks : -1;
}

/* Joins domains and blocks that are written together, and returns the number of parts. A root is
 * the first node that it owns, so a node's owner is always renumbered before the node. */
static int find_parts(map *m) {
  const int width = m->whole->width;
  int parts = 0;
  for (int64_t n = 0; n < m->nodes; n++) m->owner[n] = (int32_t)n;
  for (int64_t block = 0; block < m->parities * m->blocks; block++)
    for (int lane = 0; lane < width; lane++) {
      const int32_t domain = m->domains->domain[block * width + lane];
      if (domain >= 0) join(m, node_of(m, block), 2 * m->blocks + domain);
    }
  for (int64_t n = 0; n < 2 * m->blocks; n++)
    for (int dir = 0; dir < KAON_DIRS; dir++)
      for (int lane = 0; lane < width; lane++) {
        const int64_t to = neighbour(m, m->cut, (int)(n / m->blocks), n % m->blocks, dir, lane);
        if (to >= 0) join(m, n, to);
      }
  for (int64_t n = 0; n < m->nodes; n++)
    m->owner[n] = m->owner[n] == n ? parts++ : m->owner[m->owner[n]];
  return parts;
}

static void sort_nodes(map *m, int parts) {
  for (int64_t n = 0; n < m->nodes; n++) m->begin[m->owner[n] + 1]++;
  for (int part = 0; part < parts; part++) m->begin[part + 1] += m->begin[part];
  for (int64_t n = 0; n < m->nodes; n++) m->order[m->begin[m->owner[n]]++] = (int32_t)n;
  for (int part = parts; part > 0; part--) m->begin[part] = m->begin[part - 1];
  m->begin[0] = 0;
}

/* ---- lists ---- */

typedef struct growing {
  kaon_part_lists *to;
  int64_t count, room;
} growing;

static int append(growing *g, int32_t value) {
  if (g->count == g->room) {
    const int64_t room = 2 * g->room + 64;
    int32_t *list = realloc(g->to->list, (size_t)room * sizeof *list);
    if (list == NULL) return 0;
    g->to->list = list;
    g->room = room;
  }
  g->to->list[g->count++] = value;
  return 1;
}

static int end_list(growing *g, int64_t *places, int64_t number) {
  if (number + 1 >= *places) {
    const int64_t room = 2 * *places + 64;
    int64_t *first = realloc(g->to->first, (size_t)room * sizeof *first);
    if (first == NULL) return 0;
    g->to->first = first;
    *places = room;
  }
  if (number == 0) g->to->first[0] = 0;
  g->to->first[number + 1] = g->count;
  return 1;
}

/* Marks of a part's tables. */
enum { OWN = 1, WHOLE = 2, COPIED = 4 };

static void set_mark(map *m, int64_t node, uint8_t mark) {
  if (m->mark[node] == 0)
    m->touched[m->touches++] = (uint64_t)m->owner[node] << 32 | (uint64_t)node;
  m->mark[node] |= mark;
}

static void mark_neighbours(map *m, int64_t node, uint8_t mark) {
  for (int dir = 0; dir < KAON_DIRS; dir++)
    for (int lane = 0; lane < m->whole->width; lane++) {
      const int64_t to =
          neighbour(m, m->whole, (int)(node / m->blocks), node % m->blocks, dir, lane);
      if (to >= 0) set_mark(m, to, mark);
    }
}

static int in_order(const void *a, const void *b) {
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

/* Marks the nodes on which a part's residual is computed, and the nodes of z that this reads. With
 * vectors of one parity the residual takes two hops: to the neighbouring sites of the other parity,
 * which in turn read the neighbours of those. */
static void mark_part(map *m, int part) {
  for (int64_t i = 0; i < m->touches; i++) m->mark[m->touched[i] & UINT32_MAX] = 0;
  m->touches = 0;
  for (int64_t i = m->begin[part]; i < m->begin[part + 1]; i++) {
    const int64_t n = m->order[i];
    set_mark(m, n, OWN);
    if (n >= 2 * m->blocks || block_of(m, n) < 0) continue;
    set_mark(m, n, WHOLE | COPIED);
    mark_neighbours(m, n, m->parities == 2 ? COPIED : WHOLE);
  }
  const int64_t found = m->touches;
  for (int64_t i = 0; i < found && m->parities == 1; i++) {
    const int64_t n = (int64_t)(m->touched[i] & UINT32_MAX);
    if (m->mark[n] & WHOLE && block_of(m, n) < 0) mark_neighbours(m, n, COPIED);
  }
  qsort(m->touched, (size_t)m->touches, sizeof *m->touched, in_order);
}

typedef struct lists {
  growing own, domains, others, copied, whole[2], local[2];
  int64_t places[8], reads;
} lists;

/* Lists a node of the current part or of its surroundings. Hops are in launch order: parity 0 and
 * 1, or first to the parity that the vectors do not have. */
static int list_node(const map *m, lists *l, int64_t n) {
  const int mark = m->mark[n];
  if (n >= 2 * m->blocks) return append(&l->domains, (int32_t)(n - 2 * m->blocks));
  const int parity = (int)(n / m->blocks), hop = m->parities == 2 ? parity : parity == m->first;
  const int32_t block = (int32_t)(n % m->blocks), at = (int32_t)block_of(m, n);
  return (!(mark & OWN) || at < 0 || append(&l->own, at)) &&
         (!(mark & WHOLE) || append(&l->whole[hop], block)) &&
         (!(mark & OWN) || append(&l->local[hop], block)) &&
         (!(mark & COPIED) || append(&l->copied, at));
}

/* The copied nodes are sorted by owner. */
static int list_part(const map *m, lists *l, int part) {
  int fine = 1;
  for (int64_t i = 0; i < m->touches && fine; i++) {
    const int64_t before = l->copied.count;
    const int32_t owner = (int32_t)(m->touched[i] >> 32);
    int32_t last = owner;
    do {
      fine = list_node(m, l, (int64_t)(m->touched[i] & UINT32_MAX));
      last = i + 1 < m->touches ? (int32_t)(m->touched[i + 1] >> 32) : -1;
    } while (fine && last == owner && ++i < m->touches);
    if (l->copied.count > before)
      fine = fine && append(&l->others, owner) && end_list(&l->copied, &l->places[3], l->reads++);
  }
  fine = fine && end_list(&l->own, &l->places[0], part) &&
         end_list(&l->domains, &l->places[1], part) && end_list(&l->others, &l->places[2], part);
  for (int i = 0; i < 2; i++)
    fine = fine && end_list(&l->whole[i], &l->places[4 + i], part) &&
           end_list(&l->local[i], &l->places[6 + i], part);
  return fine;
}

static int make_tables(map *m, kaon_free_tables *t) {
  lists l = {.own = {.to = &t->own},
             .domains = {.to = &t->domains},
             .others = {.to = &t->others},
             .copied = {.to = &t->copied},
             .whole = {{.to = &t->whole[0]}, {.to = &t->whole[1]}},
             .local = {{.to = &t->local[0]}, {.to = &t->local[1]}}};
  const size_t nodes = (size_t)(m->nodes = 2 * m->blocks + m->domains->count);
  m->owner = malloc(nodes * sizeof *m->owner);
  m->begin = calloc(nodes + 1, sizeof *m->begin);
  m->order = malloc(nodes * sizeof *m->order);
  m->mark = calloc(nodes, sizeof *m->mark);
  m->touched = malloc(nodes * sizeof *m->touched);
  int fine = m->owner && m->begin && m->order && m->mark && m->touched;
  if (fine) t->parts = find_parts(m);
  if (fine) sort_nodes(m, t->parts);
  for (int part = 0; part < t->parts && fine && t->parts > 1; part++) {
    mark_part(m, part);
    fine = list_part(m, &l, part);
  }
  free(m->owner);
  free(m->begin);
  free(m->order);
  free(m->mark);
  free(m->touched);
  return fine;
}

/* ---- the object ---- */

static void release_all(free_blocks *f) {
  for (int i = 0; i < f->base.threads; i++) {
    if (f->z != NULL) kaon_vector_destroy(&f->z[i]);
    if (f->between != NULL) kaon_vector_destroy(&f->between[i]);
  }
  f->columns = 0;
}

static void free_lists(kaon_part_lists *of) {
  free(of->first);
  free(of->list);
}

static void destroy(kaon_free_blocks *self) {
  free_blocks *f = (free_blocks *)self;
  kaon_part_lists *all[] = {&f->tables.own,      &f->tables.domains,  &f->tables.others,
                            &f->tables.copied,   &f->tables.whole[0], &f->tables.whole[1],
                            &f->tables.local[0], &f->tables.local[1]};
  release_all(f);
  for (int i = 0; i < 8; i++) free_lists(all[i]);
  free(f->z);
  free(f->between);
  free(f->views);
  free(f->count);
  free(f->version);
  free(f);
}

static kaon_status reserve(kaon_free_blocks *self, int columns) {
  free_blocks *f = (free_blocks *)self;
  const kaon_space *space = f->A->space;
  if (f->columns == columns) return KAON_OK;
  release_all(f);
  const kaon_lattice *lattice = kaon_fields_of(f->A)->family->lattice;
  for (int i = 0; i < self->threads; i++) {
    KAON_TRY(kaon_vector_create(f->ctx, space, f->A->precision, columns, &f->z[i]));
    if (space->parity != KAON_FULL)
      KAON_TRY(kaon_vector_create(f->ctx, &lattice->spinors[1 - (int)space->parity],
                                  f->A->precision, columns, &f->between[i]));
  }
  f->columns = columns;
  return KAON_OK;
}

/* Records the hops of y = A x. */
static kaon_status record_hops(kaon_operator *A, const kaon_vector *x, kaon_vector *y,
                               const kaon_pass *gate, kaon_hop_args hop[2]) {
  kaon_dirac_family *family = kaon_dirac_family_of(kaon_fields_of(A));
  kaon_recorded_hops recorded_hops = {0};
  family->recorded_hops = &recorded_hops;
  const kaon_status status = A->ops->apply(A, KAON_PLAIN, x, y, gate);
  family->recorded_hops = NULL;
  KAON_TRY(status);
  if (recorded_hops.count != KAON_RECORDED_HOPS)
    return kaon_fail(A->ctx, KAON_ERR_UNSUPPORTED,
                     "schwarz: an application of '%s' takes %d hops, but blocks run asynchronously "
                     "only where it takes %d; set the option groups",
                     A->ops->name, recorded_hops.count, KAON_RECORDED_HOPS);
  memcpy(hop, recorded_hops.hop, sizeof recorded_hops.hop);
  return KAON_OK;
}

static kaon_status run(kaon_free_blocks *self, const kaon_free_how *how, const kaon_vector *b,
                       kaon_vector *z, kaon_vector *r, kaon_vector *q, double *work,
                       const kaon_pass *gate) {
  free_blocks *f = (free_blocks *)self;
  const kaon_space *s = b->space;
  const kaon_backend *backend = f->ctx->backend;
  kaon_free_args args = {.tables = &f->tables,
                         .shape = {.nblocks = s->nblocks,
                                   .width = s->width,
                                   .ncomp = s->ncomp,
                                   .nrhs = b->nrhs,
                                   .complex_space = s->complex_space},
                         .domains = f->domains->view,
                         .domain = backend->domain[b->precision],
                         .blas = backend->blas[b->precision],
                         .b = kaon_view_of(b),
                         .z = kaon_view_of(z),
                         .r = kaon_view_of(r),
                         .q = kaon_view_of(q),
                         .copies = f->views,
                         .betweens = f->views + self->threads,
                         .work = work,
                         .count = f->count,
                         .version = f->version,
                         .how = *how,
                         .lags = &self->lags,
                         .gate = kaon_pass_gate(gate)};
  kaon_launch launch;
  KAON_TRY(reserve(self, b->nrhs));
  KAON_TRY(kaon_blas_zero(z, gate));
  KAON_TRY(record_hops(f->A, z, r, gate, args.whole));
  KAON_TRY(record_hops(f->local, r, q, gate, args.local));
  if (s->parity != KAON_FULL) args.between = args.whole[0].out;
  for (int i = 0; i < self->threads; i++) {
    f->views[i] = kaon_view_of(f->z[i]);
    f->views[self->threads + i] = kaon_view_of(f->between[i]);
  }
  memset(f->count, 0, (size_t)self->parts * sizeof *f->count);
  KAON_TRY(kaon_launch_prepare(f->ctx, b->nrhs, 0, &launch));
  launch.threads = self->threads;
  backend->dslash[b->precision]->free_blocks(&launch, &args);
  f->ctx->no_flush_needed = 1;
  return KAON_OK;
}

static const kaon_free_ops free_ops = {run, reserve, destroy};

/* 1 if the backend and the lattice support asynchronous blocks. */
static int can_be_free(const kaon_operator *A, const kaon_domains *domains) {
  const kaon_backend *backend = A->ctx->backend;
  const kaon_dslash_ops *ops = backend->dslash[A->precision];
  const kaon_stencil *stencil = &kaon_fields_of(A)->stencil;
  return ops != NULL && ops->free_blocks != NULL && backend->host_accessible &&
         backend->domain[A->precision] != NULL && stencil->faces == NULL && domains->view.count > 1;
}

static kaon_status make_blocks(kaon_operator *A, kaon_operator *local, const kaon_domains *domains,
                               kaon_free_blocks **blocks) {
  const kaon_stencil *stencil = &kaon_fields_of(A)->stencil;
  const kaon_space *space = A->space;
  *blocks = NULL;
  if (!can_be_free(A, domains)) return KAON_OK;
  const int full = space->parity == KAON_FULL;
  map m = {.whole = stencil,
           .cut = kaon_stencil_of(kaon_lattice_operator_of(local), KAON_PLAIN),
           .space = space,
           .domains = &domains->view,
           .blocks = stencil->nblocks,
           .first = full ? 0 : (int)space->parity,
           .parities = full ? 2 : 1};
  free_blocks *f = calloc(1, sizeof *f);
  if (f == NULL) return no_memory(A->ctx);
  *f = (free_blocks){
      .base = {.ops = &free_ops}, .ctx = A->ctx, .A = A, .local = local, .domains = domains};
  int fine = make_tables(&m, &f->tables);
  const int parts = f->base.parts = f->tables.parts;
  if (fine && parts > 1) {
    const int threads = A->ctx->threads < parts ? A->ctx->threads : parts;
    f->z = calloc((size_t)threads, sizeof *f->z);
    f->between = calloc((size_t)threads, sizeof *f->between);
    f->count = calloc((size_t)parts, sizeof *f->count);
    f->version = calloc((size_t)parts, sizeof *f->version);
    f->views = calloc(2 * (size_t)threads, sizeof *f->views);
    fine = f->views != NULL && f->z != NULL && f->between != NULL && f->count != NULL &&
           f->version != NULL;
    f->base.threads = threads;
  }
  if (!fine || parts < 2) {
    destroy(&f->base);
    return fine ? KAON_OK : no_memory(A->ctx);
  }
  *blocks = &f->base;
  return KAON_OK;
}

const kaon_free_access kaon_spinor_free_blocks = {make_blocks};
