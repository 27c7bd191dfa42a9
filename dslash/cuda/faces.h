/* faces.h - what hops on partitioned lattices share (hop_faces.h, staggered_faces.h): how the sites
 * and messages of a launch are distributed over its blocks. CALL: the arguments of a kernel. */
#pragma once

#include "lib/cuda/ranks/boxes.h"
#include "lib/cuda/ranks/peer.h"

/* FACES_CHUNKS: maximum chunks of the boundary where the sums have no space for all. GATHER_BLOCKS:
 * maximum gathering blocks for a direction. They are limited by the links between devices, and
 * occupy slots that other blocks could use. */
enum { FACES_CHUNKS = 1024, GATHER_BLOCKS = 32 };

/* The thread's site in a tile of the boundary, if it has one. */
template <typename CALL>
KAON_DEVICE bool face_here(const CALL &a, uint32_t tile, kaon_here *here) {
  int slab = 0;
  while (slab + 1 < a.boxes.slabs && tile >= a.first[slab + 1]) slab++;
  const kaon_box &box = a.boxes.box[1 + slab];
  const uint32_t n = (tile - a.first[slab]) * blockDim.x + threadIdx.x;
  if (n >= box.sites) return false;
  *here = kaon_here_in_box(&a.h.sites, &box, a.h.parity, n);
  return kaon_here_exists(&a.h.sites, here);
}

static uint32_t faces_tiles(uint32_t sites, int threads) {
  return (sites + (uint32_t)threads - 1) / (uint32_t)threads;
}

/* Boxes, messages of `layers` and their distribution over blocks: the same in all launches of a hop.
 * faces NULL: an undivided lattice, which is all interior. */
template <typename CALL>
static void faces_share(CALL *a, const kaon_faces *faces, int layers, int threads) {
  static const kaon_faces none = {};
  if (faces == NULL) faces = &none;
  const kaon_sites *sites = &a->h.sites;
  a->boxes = kaon_boxes_deep(sites, faces->partitioned, layers);
  a->interior_tiles = faces_tiles(a->boxes.box[0].sites, threads);
  for (int i = 0; i < a->boxes.slabs; i++) {
    a->first[i] = a->boundary_tiles;
    a->boundary_tiles += faces_tiles(a->boxes.box[1 + i].sites, threads);
  }
  for (int mu = 0; mu < 4; mu++)
    if (faces->partitioned[mu]) a->face[mu] = kaon_face_of(sites, mu);
  for (int dir = 0; dir < KAON_DIRS; dir++) {
    const uint32_t tiles = faces_tiles((uint32_t)layers * a->face[dir % 4].ghosts, threads);
    const uint32_t most = a->interior_tiles > 0 ? GATHER_BLOCKS : tiles; /* else all wait for it */
    a->sends[dir + 1] = a->sends[dir] + (tiles < most ? tiles : most);
  }
}

/* Chunks of the sums: one for each block of sites, unless the space is too small. Then the
 * interior's chunks have equal sizes. norm: only |out|^2 of a column is summed. */
template <typename CALL>
static void faces_chunks(CALL *a, const kaon_launch *launch, const kaon_gate *gate,
                         const kaon_sum *sum, int norm, int dot) {
  const int room = KAON_REDUCE_CHUNKS * KAON_REDUCE_MAX / 4;
  int inside = (int)a->interior_tiles, edge = (int)a->boundary_tiles;
  if (sum->state != NULL && !norm && inside + edge > room) {
    const int most = inside > 0 ? FACES_CHUNKS : room;
    if (edge > most) edge = most;
    const int turns = inside > 0 ? (inside + room - edge - 1) / (room - edge) : 1;
    if (turns > 1) inside = (inside + turns - 1) / turns;
  }
  a->interior_chunks = inside;
  a->h.sums = kaon_cuda_sums_of(launch, gate, sum, inside + edge);
  if (!dot) a->h.sums.sum.slot[1] = KAON_NO_SLOT;
}

template <typename CALL>
static void faces_peer(CALL *a, const kaon_peer_exchange *peer) {
  if (peer == NULL) return;
  a->peered = 1;
  a->peer = *peer;
}

/* The blocks of this part of the hop. */
template <typename CALL>
static void faces_blocks(CALL *a, int part) {
  a->hold = part == KAON_PART_INTERIOR && a->peered;
  if (part == KAON_PART_INTERIOR || part == KAON_PART_FUSED) a->interior = a->interior_chunks;
  if (part == KAON_PART_BOUNDARY || part == KAON_PART_FUSED)
    a->boundary = a->h.sums.chunks - a->interior_chunks;
  a->turned = a->interior_tiles / 2;
  a->before = (int)((int64_t)a->interior * (a->interior_tiles - a->turned) /
                    (a->interior_tiles + !a->interior_tiles));
}
