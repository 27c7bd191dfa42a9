/* staggered_faces.h - the staggered hop on a lattice that is partitioned among ranks. As in
 * hop_faces.h, thread blocks have one of three roles, chosen by index.
 *   GATHER    copies what the neighbours' hops read into messages;
 *   INTERIOR  updates sites with no hop that leaves the rank (lib/cuda/ranks/boxes.h);
 *   BOUNDARY  updates the other sites, all directions and both lengths at once.
 * If messages are stores into the neighbours' memory (lib/cuda/ranks/peer.h), one launch has all
 * three roles; else there are three launches.
 *
 * Ghosts are chi as stored, for forward and backward hops and for both lengths: three layers of a
 * face, or one if there are no long links. The links of backward hops across the face are stored on
 * this rank too (kaon_hop_links.ghosts). So a hop that leaves the rank is the hop of
 * staggered_kernel.h with other addresses. Its bits are those of the undivided lattice in all three
 * precisions, and messages do not depend on the storage of links. The receiver applies the
 * signs. */
#pragma once

#include "dslash/cuda/staggered_kernel.h"
#include "dslash/dslash_ops.h"
#include "dslash/cuda/faces.h"

enum { FACES_MANY = FACES_COLUMNS((int)sizeof(stored)) };

typedef struct divided_call {
  staggered_call h; /* of h.sums.chunks, the interior's come first */
  kaon_boxes boxes;
  uint32_t first[KAON_SLABS];    /* index of the boundary tile at which each slab begins */
  uint32_t sends[KAON_DIRS + 1]; /* index of the gathering block at which each direction begins, and
                                    the end */
  kaon_face face[4];
  uint32_t layers;
  uint32_t partitioned;           /* one bit for each of x, y, z, t */
  int gather, interior, boundary; /* blocks of this launch for a group of columns */
  int before;                     /* interior blocks that precede the boundary's */
  uint32_t turned;                /* index of the first interior tile */
  int interior_chunks;            /* interior chunks of the sums */
  uint32_t interior_tiles, boundary_tiles;
  int changes_sign[2]; /* for hops across t from ghosts, forward and backward */
  const stored *fat_ghosts[4], *naik_ghosts[4], *phase_ghosts[4]; /* links of backward hops */
  kaon_view ghosts[KAON_DIRS], to[KAON_DIRS];
  kaon_peer_exchange peer;
  int peered; /* the kernel itself sends and waits for messages */
  int hold;   /* the interior waits for the messages too */
} divided_call;

/* A cap on registers (staggered_blocks). With sums, half needs too many registers for six
 * blocks. */
template <bool IMPROVED, int COLUMNS, bool SUMS>
KAON_DEVICE constexpr int divided_blocks() {
  return COLUMNS > 1            ? (sizeof(real) == 8 ? 2 : 3)
         : KAON_IS_HALF && SUMS ? 5
                                : staggered_blocks<COLUMNS>();
}

/* View of a column of a message, plus `half` bytes. */
KAON_DEVICE kaon_view ghost_view(const kaon_view &v, int64_t half, int column) {
  kaon_view moved;
  moved.data = (char *)v.data + half;
  moved.scale = KAON_IS_HALF ? (float *)((char *)v.scale + half) : NULL;
  return colour_view(moved, column);
}

/* ---- GATHER ---- */

/* Copies a site's colours as stored. */
KAON_DEVICE void colour_copy(const kaon_view &from, uint32_t site, const kaon_view &to, uint32_t n,
                             int units) {
  typedef packets<COLOURS> p;
  const char *source = packet_address<COLOURS>(from.data, packet_at<COLOURS>(site, units));
  char *target = (char *)packet_address<COLOURS>(to.data, packet_at<COLOURS>(n, units));
  words<p::bytes> x[p::count];
#pragma unroll
  for (int g = 0; g < p::count; g++)
    x[g] = read_cached<p::bytes>(source + g * (KAON_LANES * p::bytes));
#pragma unroll
  for (int g = 0; g < p::count; g++)
    *(words<p::bytes> *)(target + g * (KAON_LANES * p::bytes)) = x[g];
#if KAON_IS_HALF
  to.scale[scale_at(n, units)] = from.scale[scale_at(site, units)];
#endif
}

template <int COLUMNS>
KAON_DEVICE void gather_block(const divided_call &a, const column_group &c, uint32_t block) {
  int dir = 0;
  while (block >= a.sends[dir + 1]) dir++;
  const kaon_face face = a.face[dir & 3];
  const uint32_t turn = a.peered ? peer_turn(a.peer) : 0;
  const int64_t half = a.peered ? peer_half(a.peer, turn) : 0;
  const uint32_t blocks = a.sends[dir + 1] - a.sends[dir];
  for (uint32_t n = (block - a.sends[dir]) * blockDim.x + threadIdx.x; n < a.layers * face.ghosts;
       n += blocks * blockDim.x) {
    const kaon_here from = kaon_far_sender_of(&a.h.sites, &face, 1 - a.h.parity, dir, n);
#pragma unroll
    for (int k = 0; k < COLUMNS; k++)
      if (c.open >> k & 1)
        colour_copy(colour_view(a.h.in, c.first + k), (uint32_t)from.at,
                    ghost_view(a.to[dir], half, c.first + k), n, a.h.nrhs);
  }
  if (!a.peered) return;
  __syncthreads();
  if (threadIdx.x == 0) {
    const uint32_t groups = (uint32_t)a.h.groups;
    peer_sent(a.peer, dir, turn, blocks * groups);
    peer_leave(a.peer, turn, 1, (a.sends[KAON_DIRS] + a.boundary_tiles) * groups);
  }
}

/* ---- hops of sites that read ghosts ---- */

/* add_hop of staggered_kernel.h. If the hop leaves the rank, it reads the ghosts. No branches. */
template <int RECON, int DIR, bool FAR, int COLUMNS>
KAON_DEVICE void face_hop(const divided_call &a, const staggered_site &s, const kaon_view &in,
                          const column_group &c, int64_t half, vcolour *d) {
  constexpr int mu = DIR & 3;
  constexpr bool backward = DIR >= 4;
  int boundary;
  const uint32_t near = hop_from<DIR, FAR, false>(a.h, s.here, &boundary);
  const int layer = kaon_layer_of(&a.h.sites, &s.here, DIR, FAR ? 3 : 1);
  const bool leaves = (a.partitioned >> mu & 1) && layer >= 0;
  const uint32_t ghost =
      (uint32_t)layer * a.face[mu].ghosts + kaon_ghost_of(&a.h.sites, &s.here, mu);
  const uint32_t from = leaves ? ghost : near;
  const stored *links = FAR ? a.h.naik[DIR] : a.h.fat[DIR], *phases = a.h.phase[DIR];
  if (backward) {
    links = leaves ? (FAR ? a.naik_ghosts[mu] : a.fat_ghosts[mu]) : links;
    phases = leaves ? a.phase_ghosts[mu] : phases;
  }
  const bool minus = mu == 3 && (leaves ? a.changes_sign[backward] != 0 : boundary < 0);
  const kaon_view there = ghost_view(a.ghosts[DIR], half, c.first);
  kaon_view seen;
  seen.data = leaves ? there.data : in.data;
  seen.scale = leaves ? there.scale : in.scale;
  hop_add<RECON, DIR, FAR, COLUMNS, false>(a.h, links, phases,
                                           backward ? from : (uint32_t)s.here.at, seen, from,
                                           minus ? -s.eta[mu] : s.eta[mu], c.count, d);
}

template <int RECON, bool FAR, int COLUMNS>
KAON_DEVICE void face_all(const divided_call &a, const staggered_site &s, const kaon_view &in,
                          const column_group &c, int64_t half, vcolour *d) {
  face_hop<RECON, 3, FAR, COLUMNS>(a, s, in, c, half, d);
  face_hop<RECON, 7, FAR, COLUMNS>(a, s, in, c, half, d);
  face_hop<RECON, 2, FAR, COLUMNS>(a, s, in, c, half, d);
  face_hop<RECON, 6, FAR, COLUMNS>(a, s, in, c, half, d);
  face_hop<RECON, 1, FAR, COLUMNS>(a, s, in, c, half, d);
  face_hop<RECON, 5, FAR, COLUMNS>(a, s, in, c, half, d);
  face_hop<RECON, 0, FAR, COLUMNS>(a, s, in, c, half, d);
  face_hop<RECON, 4, FAR, COLUMNS>(a, s, in, c, half, d);
}

/* site_hops of staggered_kernel.h, with some hops from ghosts. */
template <int RECON, bool IMPROVED, int COLUMNS>
KAON_DEVICE void face_hops(const divided_call &a, const kaon_here &here, const kaon_view &in,
                           const column_group &c, int64_t half, vcolour *d, vcolour *far) {
  const staggered_site s = site_of(a.h, here);
#pragma unroll
  for (int k = 0; k < COLUMNS; k++) d[k] = colour_zero();
  face_all<IMPROVED ? 18 : RECON, false, COLUMNS>(a, s, in, c, half, d);
  if constexpr (IMPROVED) {
#pragma unroll
    for (int k = 0; k < COLUMNS; k++) far[k] = colour_zero();
    face_all<RECON, true, COLUMNS>(a, s, in, c, half, far);
  }
}

/* ---- INTERIOR and BOUNDARY ---- */

/* A site's hops and the end of its update. FACE: some hops may read ghosts. */
template <int RECON, bool IMPROVED, int COLUMNS, bool SUMS, bool FACE>
KAON_DEVICE void divided_site(const divided_call &a, const kaon_here &here, const kaon_view &in,
                              const column_group &c, int64_t half) {
  vcolour d[COLUMNS], far[IMPROVED ? COLUMNS : 1];
  if constexpr (FACE)
    face_hops<RECON, IMPROVED, COLUMNS>(a, here, in, c, half, d, far);
  else
    site_hops<RECON, IMPROVED, COLUMNS, false, false>(a.h, here, in, c.count, d, far);
  if (a.h.overlaps) kaon_let_next_start();
  columns_end<IMPROVED, COLUMNS, SUMS>(a.h, (uint32_t)here.at, c, d, far);
}

template <int RECON, bool IMPROVED, int COLUMNS, bool SUMS>
KAON_DEVICE void boundary_block(const divided_call &a, int chunk, const kaon_view &in,
                                const column_group &c) {
  const int64_t half = a.peered ? peer_receive(a.peer) : 0;
  uint32_t tiles = 0;
  for (uint32_t tile = (uint32_t)chunk; tile < a.boundary_tiles;
       tile += (uint32_t)(a.h.sums.chunks - a.interior_chunks)) {
    kaon_here here;
    tiles++;
    if (c.open != 0 && face_here(a, tile, &here))
      divided_site<RECON, IMPROVED, COLUMNS, SUMS, true>(a, here, in, c, half);
    if (!SUMS) break;
  }
  if (a.peered && threadIdx.x == 0)
    peer_leave(a.peer, peer_turn(a.peer), tiles,
               (a.sends[KAON_DIRS] + a.boundary_tiles) * (uint32_t)a.h.groups);
}

template <int RECON, bool IMPROVED, int COLUMNS, bool SUMS>
KAON_DEVICE void interior_block(const divided_call &a, int chunk, const kaon_view &in,
                                const column_group &c) {
  if (a.hold) peer_receive(a.peer);
  if (c.open == 0) return;
  for (uint32_t tile = (uint32_t)chunk; tile < a.interior_tiles;
       tile += (uint32_t)a.interior_chunks) {
    const uint32_t there = tile + a.turned;
    const uint32_t n =
        (there < a.interior_tiles ? there : there - a.interior_tiles) * blockDim.x + threadIdx.x;
    if (n < a.boxes.box[0].sites) { /* the last tile is not necessarily processed last */
      const kaon_here here = kaon_here_in_box(&a.h.sites, &a.boxes.box[0], a.h.parity, n);
      if (kaon_here_exists(&a.h.sites, &here))
        divided_site<RECON, IMPROVED, COLUMNS, SUMS, false>(a, here, in, c, 0);
    }
    if (!SUMS) break;
  }
}

/* The blocks of each group of columns have the order GATHER, INTERIOR, BOUNDARY, INTERIOR, for the
 * reasons given in hop_faces.h. */
template <int RECON, bool IMPROVED, int COLUMNS, bool SUMS>
static __global__ void __launch_bounds__(SITE_THREADS, (divided_blocks<IMPROVED, COLUMNS, SUMS>()))
    staggered_faces(const __grid_constant__ divided_call a) {
  const unsigned groups = (unsigned)a.h.groups;
  const int group = groups == 1 ? 0 : (int)(blockIdx.x % groups);
  const int block = (int)(groups == 1 ? blockIdx.x : blockIdx.x / groups);
  const int work = block - a.gather, behind = work - a.before;
  kaon_wait_for_previous();
  const column_group c = group_begin<COLUMNS, SUMS>(a.h, group);
  const kaon_view in = colour_view(a.h.in, c.first);
  if (work < 0) {
    gather_block<COLUMNS>(a, c, (uint32_t)block);
    return;
  }
  int chunk;
  if (behind >= 0 && behind < a.boundary) {
    chunk = a.interior_chunks + behind;
    boundary_block<RECON, IMPROVED, COLUMNS, SUMS>(a, behind, in, c);
  } else {
    chunk = behind < 0 ? work : work - a.boundary;
    interior_block<RECON, IMPROVED, COLUMNS, SUMS>(a, chunk, in, c);
  }
  if constexpr (SUMS) columns_finish(a.h, group, c, chunk);
}

/* ---- launches ---- */

static void divided_sides(divided_call *a, const kaon_stencil *st, const kaon_faces *faces) {
  if (faces == NULL) return;
  for (int mu = 0; mu < 4; mu++)
    if (faces->partitioned[mu]) a->partitioned |= 1u << mu;
  if (!faces->partitioned[3]) return;
  a->changes_sign[0] = st->antiperiodic && st->origin[3] + st->extents[3] == st->global[3];
  a->changes_sign[1] = st->antiperiodic && st->origin[3] == 0;
  a->h.sites.antiperiodic = 0;
}

static void divided_links(divided_call *a, const kaon_staggered_args *args) {
  const int other = 1 - args->parity;
  for (int mu = 0; mu < 4; mu++) {
    a->fat_ghosts[mu] = (const stored *)args->fat.ghosts[other][mu];
    a->naik_ghosts[mu] = (const stored *)args->naik.ghosts[other][mu];
    a->phase_ghosts[mu] = (const stored *)args->naik.ghost_phase[other][mu];
  }
}

/* gather: also write messages. */
template <int RECON, bool IMPROVED, int COLUMNS>
static void run_divided(const kaon_launch *launch, const kaon_kernel_choice *choice,
                        const kaon_staggered_gather_args *gather, const kaon_staggered_args *args) {
  const int threads = choice->threads;
  divided_call a = {};
  a.h = call_of(args);
  share_columns<COLUMNS>(&a.h, choice);
  a.layers = IMPROVED ? 3 : 1;
  faces_share(&a, args->faces[0], (int)a.layers, threads);
  divided_sides(&a, args->stencil, args->faces[0]);
  faces_chunks(&a, launch, &args->gate, &args->sum, 0, args->w.data != NULL);
  divided_links(&a, args);
  memcpy(a.ghosts, args->ghosts[0], sizeof a.ghosts);
  faces_peer(&a, args->peer);
  if (gather != NULL) {
    memcpy(a.to, gather->to, sizeof a.to);
    faces_peer(&a, gather->peer);
    a.gather = (int)a.sends[KAON_DIRS];
  }
  faces_blocks(&a, args->part);
  const unsigned blocks = (unsigned)(a.gather + a.interior + a.boundary) * (unsigned)a.h.groups;
  auto kernel = staggered_faces<RECON, IMPROVED, COLUMNS, true>;
  if constexpr (COLUMNS == 1 && FACES_HAS_PLAIN(sizeof(stored)))
    if (choice->sums == SUMS_NONE) kernel = staggered_faces<RECON, IMPROVED, 1, false>;
  if (blocks > 0)
    kaon_cuda_launch(launch, kernel, blocks, (unsigned)threads, a,
                     sums_room(args->sum.state != NULL, COLUMNS, threads));
}

template <int RECON, bool IMPROVED>
static void run_divided_columns(const kaon_launch *launch, const kaon_kernel_choice *choice,
                                const kaon_staggered_gather_args *gather,
                                const kaon_staggered_args *args) {
  if (args->nrhs > 1)
    run_divided<RECON, IMPROVED, FACES_MANY>(launch, choice, gather, args);
  else
    run_divided<RECON, IMPROVED, 1>(launch, choice, gather, args);
}

template <int RECON>
static void run_faces(const kaon_launch *launch, const kaon_kernel_choice *choice,
                      const kaon_staggered_gather_args *gather, const kaon_staggered_args *args) {
  if (args->naik.links[0] != NULL)
    run_divided_columns<RECON, true>(launch, choice, gather, args);
  else
    run_divided_columns<RECON, false>(launch, choice, gather, args);
}
