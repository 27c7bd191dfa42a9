/* faces.c - the tables of hops across the faces of a partitioned lattice (kaon_faces in
 * lib/vector/layout.h). All ranks have parts of the same shape. So the sending rank derives from
 * its own sites the order in which the neighbour's sites use the ghosts. */
#include <stdlib.h>
#include <string.h>

#include "lib/vector/space.h"

/* Host memory for the tables of one parity, of maximum size. */
typedef struct host_tables {
  int32_t *interior, *boundary, *first; /* [nblocks], [nblocks], [nblocks * 8] */
  uint32_t *lanes;                      /* [nblocks * 8] */
  int32_t *slot;                        /* [nblocks]: index among the senders, or -1 */
  int32_t *sender, *target;             /* [nblocks], [nblocks * W] */
} host_tables;

static void host_tables_close(host_tables *w) {
  free(w->interior);
  free(w->boundary);
  free(w->first);
  free(w->lanes);
  free(w->slot);
  free(w->sender);
  free(w->target);
}

static kaon_status host_tables_open(const kaon_lattice *lattice, host_tables *w) {
  const size_t n = (size_t)lattice->stencil.nblocks, width = (size_t)lattice->stencil.width;
  *w = (host_tables){.interior = malloc(n * sizeof *w->interior),
                     .boundary = malloc(n * sizeof *w->boundary),
                     .first = malloc(n * KAON_DIRS * sizeof *w->first),
                     .lanes = malloc(n * KAON_DIRS * sizeof *w->lanes),
                     .slot = malloc(n * sizeof *w->slot),
                     .sender = malloc(n * sizeof *w->sender),
                     .target = malloc(n * width * sizeof *w->target)};
  if (w->interior && w->boundary && w->first && w->lanes && w->slot && w->sender && w->target)
    return KAON_OK;
  host_tables_close(w);
  return kaon_fail(lattice->ctx, KAON_ERR_MEMORY,
                   "lattice: out of host memory for the tables of its faces");
}

/* 1 if a hop of `steps` sites from `site` in direction dir leaves the rank. */
static int leaves(const kaon_lattice *lattice, const int site[4], int dir, int steps) {
  const int mu = dir % 4;
  if (!lattice->partitioned[mu]) return 0;
  return dir < 4 ? site[mu] + steps >= lattice->extents[mu] : site[mu] < steps;
}

/* Length of the hops, and of the longest hops of the same operator. Blocks that use ghosts of the
 * longest hops are all boundary blocks. */
typedef struct hop_length {
  int steps, reach;
} hop_length;

/* Lists which lanes of which blocks use which ghosts. */
static void list_blocks(const kaon_lattice *lattice, int parity, hop_length length,
                        kaon_faces *faces, host_tables *w) {
  const kaon_stencil *st = &lattice->stencil;
  int64_t ghosts[KAON_DIRS] = {0};
  for (int32_t block = 0; block < st->nblocks; block++) {
    const int64_t place = faces->boundary_blocks[parity];
    int32_t *first = w->first + place * KAON_DIRS;
    uint32_t *lanes = w->lanes + place * KAON_DIRS, any = 0;
    for (int dir = 0; dir < KAON_DIRS; dir++) {
      first[dir] = (int32_t)ghosts[dir];
      lanes[dir] = 0;
      for (int lane = 0; lane < st->width; lane++) {
        int site[4];
        if (!kaon_lattice_site(lattice, parity, block, lane, site)) continue;
        any |= (uint32_t)leaves(lattice, site, dir, length.reach);
        if (!leaves(lattice, site, dir, length.steps)) continue;
        lanes[dir] |= UINT32_C(1) << lane;
        ghosts[dir]++;
      }
    }
    if (any)
      w->boundary[faces->boundary_blocks[parity]++] = block;
    else
      w->interior[faces->interior_blocks[parity]++] = block;
  }
}

/* Lists the local sites from which the ghosts of direction dir are made. The neighbour in the
 * opposite direction uses these ghosts. If the extent is odd, its sites of a parity are at the
 * local positions of the other parity. */
static void list_senders(const kaon_lattice *lattice, int parity, int dir, int steps,
                         kaon_faces *faces, host_tables *w) {
  const kaon_stencil *st = &lattice->stencil;
  const int mu = dir % 4, width = st->width;
  const int theirs = parity ^ (lattice->extents[mu] & 1);
  int64_t ghost = 0, *count = &faces->senders[parity][dir];
  memset(w->slot, -1, (size_t)st->nblocks * sizeof *w->slot);
  *count = 0;
  for (int32_t block = 0; block < st->nblocks; block++)
    for (int lane = 0; lane < width; lane++) {
      int site[4];
      if (!kaon_lattice_site(lattice, theirs, block, lane, site)) continue;
      if (!leaves(lattice, site, dir, steps)) continue;
      site[mu] += dir < 4 ? steps - lattice->extents[mu] : lattice->extents[mu] - steps;
      const kaon_place from = kaon_lattice_place(lattice, site);
      if (w->slot[from.block] < 0) {
        w->slot[from.block] = (int32_t)*count;
        w->sender[*count] = (int32_t)from.block;
        for (int l = 0; l < width; l++) w->target[*count * width + l] = -1;
        ++*count;
      }
      w->target[w->slot[from.block] * (int64_t)width + from.lane] = (int32_t)ghost++;
    }
  if (ghost > faces->ghosts[mu]) faces->ghosts[mu] = ghost; /* the other parity may have more */
}

/* Copies tables to device memory; does nothing more after a failure. */
typedef struct device_tables {
  kaon_context *ctx;
  kaon_status status;
} device_tables;

static void *keep(device_tables *to, const void *host, int64_t bytes) {
  void *device = NULL;
  if (to->status == KAON_OK)
    to->status =
        kaon_table_upload(to->ctx, host, (size_t)bytes, "tables of the lattice's faces", &device);
  return device;
}

static kaon_status fill(kaon_lattice *lattice, int parity, hop_length length, kaon_faces *f,
                        host_tables *w) {
  device_tables to = {lattice->ctx, KAON_OK};
  const int64_t width = lattice->stencil.width;
  list_blocks(lattice, parity, length, f, w);
  const int64_t inside = f->interior_blocks[parity], edge = f->boundary_blocks[parity];
  f->interior[parity] = keep(&to, w->interior, inside * 4);
  f->boundary[parity] = keep(&to, w->boundary, edge * 4);
  f->first[parity] = keep(&to, w->first, edge * KAON_DIRS * 4);
  f->lanes[parity] = keep(&to, w->lanes, edge * KAON_DIRS * 4);
  for (int dir = 0; dir < KAON_DIRS; dir++) {
    if (!lattice->partitioned[dir % 4]) continue;
    list_senders(lattice, parity, dir, length.steps, f, w);
    const int64_t n = f->senders[parity][dir];
    f->sender[parity][dir] = keep(&to, w->sender, n * 4);
    f->target[parity][dir] = keep(&to, w->target, n * width * 4);
  }
  return to.status;
}

/* Kernels that compute neighbours compute ghosts too (lib/cuda/ranks/boxes.h: kaon_face). */
static void count_ghosts(const kaon_lattice *lattice, int steps, kaon_faces *faces) {
  const int *n = lattice->extents;
  for (int mu = 0; mu < 4; mu++) {
    const int row = mu == 0 ? 1 : 0; /* direction whose pairs are counted: y or x */
    int64_t slice = (n[row] + 1) / 2;
    for (int nu = 0; nu < 4; nu++)
      if (nu != mu && nu != row) slice *= n[nu];
    if (lattice->partitioned[mu]) faces->ghosts[mu] = steps * slice;
  }
}

static kaon_status fill_tables(kaon_lattice *lattice, hop_length length, kaon_faces *faces) {
  host_tables w;
  KAON_TRY(host_tables_open(lattice, &w));
  kaon_status status = fill(lattice, 0, length, faces, &w);
  if (status == KAON_OK) status = fill(lattice, 1, length, faces, &w);
  host_tables_close(&w);
  return status;
}

/* The caller releases *faces after success and after failure. */
static kaon_status make(kaon_lattice *lattice, hop_length length, kaon_faces **faces) {
  kaon_faces *made = *faces = calloc(1, sizeof *made);
  if (made == NULL) return kaon_fail(lattice->ctx, KAON_ERR_MEMORY, "lattice: out of host memory");
  for (int mu = 0; mu < 4; mu++) {
    made->partitioned[mu] = lattice->partitioned[mu];
    made->group[mu] = lattice->stencil.width / lattice->cut[mu];
  }
  /* Both signs belong to the last slice: the receiver applies the forward one, the sender the
   * backward one. */
  const int last = lattice->origin[3] + lattice->extents[3] == lattice->global[3];
  for (int dir = 0; dir < KAON_DIRS; dir++)
    made->sign[dir] = dir % 4 == 3 && last && lattice->boundary_t == KAON_ANTIPERIODIC ? -1 : 1;
  if (!lattice->ctx->backend->computed_neighbours) return fill_tables(lattice, length, made);
  count_ghosts(lattice, length.steps, made);
  return KAON_OK;
}

static void release(kaon_context *ctx, kaon_faces **faces) {
  kaon_faces *f = *faces;
  *faces = NULL;
  if (f == NULL) return;
  for (int parity = 0; parity < 2; parity++) {
    kaon_pool_release(ctx, f->interior[parity]);
    kaon_pool_release(ctx, f->boundary[parity]);
    kaon_pool_release(ctx, f->first[parity]);
    kaon_pool_release(ctx, f->lanes[parity]);
    for (int dir = 0; dir < KAON_DIRS; dir++) {
      kaon_pool_release(ctx, f->sender[parity][dir]);
      kaon_pool_release(ctx, f->target[parity][dir]);
    }
  }
  free(f);
}

kaon_status kaon_faces_create(kaon_lattice *lattice) {
  KAON_TRY(make(lattice, (hop_length){1, 1}, &lattice->faces));
  lattice->stencil.faces = lattice->faces;
  return KAON_OK;
}

kaon_status kaon_faces_far(kaon_lattice *lattice) {
  if (lattice->far[1] != NULL) return KAON_OK;
  for (int mu = 0; mu < 4; mu++)
    if (lattice->partitioned[mu] && lattice->extents[mu] < KAON_FAR_SITES)
      return kaon_fail(lattice->ctx, KAON_ERR_UNSUPPORTED,
                       "lattice: a rank has %d sites in %c, but hops of three sites need at least "
                       "3 in a divided direction; take another grid",
                       lattice->extents[mu], "XYZT"[mu]);
  kaon_status status = make(lattice, (hop_length){1, 3}, &lattice->far[0]);
  if (status == KAON_OK) status = make(lattice, (hop_length){3, 3}, &lattice->far[1]);
  status = kaon_agree(lattice->ctx, status);
  for (int i = 0; i < 2 && status != KAON_OK; i++) release(lattice->ctx, &lattice->far[i]);
  return status;
}

void kaon_faces_destroy(kaon_lattice *lattice) {
  release(lattice->ctx, &lattice->faces);
  for (int i = 0; i < 2; i++) release(lattice->ctx, &lattice->far[i]);
}
