/* hop_faces.h - the hop on a lattice that is partitioned among ranks. It is the hop of hop_kernel.h
 * with one column for each thread. Its thread blocks have one of three roles, chosen by index.
 *   GATHER    packs the ghosts of the neighbours' hops into messages;
 *   INTERIOR  updates sites that need no ghost (lib/cuda/ranks/boxes.h), with hop_kernel.h's code;
 *   BOUNDARY  updates the other sites, all eight directions at once. So corners need no order, and
 *             half precision rounds once.
 * If messages are stores into the neighbours' memory (lib/cuda/ranks/peer.h), one launch has all
 * three roles, and messages travel while the interior is computed. Else there are three launches.
 *
 * In double and single a site has the same bits as on the undivided lattice. The directions are
 * summed in the same order, and the receiver applies the factors where hop_kernel.h does. The
 * sender of backward hops only multiplies by U^dag and by the antiperiodic sign. */
#pragma once

#include "dslash/cuda/hop_kernel.h"
#include "dslash/cuda/faces.h"
#include "dslash/cuda/timeline.h"

typedef struct faces_call {
  hop_call h; /* of h.sums.chunks, the interior's come first */
  kaon_boxes boxes;
  uint32_t first[KAON_SLABS];    /* index of the boundary tile at which each slab begins */
  uint32_t sends[KAON_DIRS + 1]; /* index of the gathering block at which each direction begins, and
                                    the end */
  kaon_face face[4];
  uint32_t partitioned;           /* one bit for each direction */
  int gather, interior, boundary; /* blocks of this launch for a column */
  int before;                     /* interior blocks that precede the boundary's */
  uint32_t turned;                /* index of the first interior tile */
  int interior_chunks;            /* interior chunks of the sums */
  uint32_t interior_tiles, boundary_tiles;
  int forward_sign, backward_sign; /* for ghosts across t */
  real ghost_factor[4];            /* for ghosts of backward hops, which contain no link integers */
  kaon_view ghosts[KAON_DIRS], to[KAON_DIRS];
  kaon_peer_exchange peer;
  int peered;      /* the kernel itself sends and waits for messages */
  int hold;        /* the interior waits for the messages too */
  int late;        /* only hops in x need ghosts: the boundary waits just before them */
  uint64_t *times; /* timeline.h; NULL: not recorded */
} faces_call;

KAON_DEVICE void faces_time(const faces_call &a, int event, bool first) {
  if (a.times == NULL || threadIdx.x != 0) return;
  unsigned long long *at = (unsigned long long *)a.times + event;
  if (first)
    atomicMin(at, (unsigned long long)peer_clock());
  else
    atomicMax(at, (unsigned long long)peer_clock());
}

/* ---- ghosts in messages ---- */

/* Address of the first packet of ghost n of a column, plus `half` bytes. */
KAON_DEVICE char *ghost_address(const kaon_view &v, int64_t half, int column, int units,
                                uint32_t n) {
  const uint32_t packet = packet_at<KAON_GHOST_REALS>(n, units);
  return (char *)packet_address<KAON_GHOST_REALS>(v.data, packet) + half +
         column * (KAON_GHOST_REALS * KAON_LANES * (int)sizeof(stored));
}

KAON_DEVICE float *ghost_scale(const kaon_view &v, int64_t half, int column, int units,
                               uint32_t n) {
  return (float *)((char *)v.scale + half) + column * KAON_LANES + scale_at(n, units);
}

/* Writes the values h * unit (single and double: unit = 1). */
KAON_DEVICE void ghost_write(const faces_call &a, const kaon_view &v, int64_t half, int column,
                             uint32_t n, vhalf *h, real unit) {
  typedef packets<KAON_GHOST_REALS> p;
  char *to = ghost_address(v, half, column, a.h.nrhs, n);
  stored value[KAON_GHOST_REALS];
#if KAON_IS_HALF
  const float largest = quantise_site<KAON_GHOST_REALS, true>((const real *)h, value);
  *ghost_scale(v, half, column, a.h.nrhs, n) = largest * unit;
#else
  (void)unit;
  memcpy(value, h, sizeof value);
#endif
#pragma unroll
  for (int g = 0; g < p::count; g++) {
    words<p::bytes> x;
    memcpy(&x, value + g * p::group, p::bytes);
    *(words<p::bytes> *)(to + g * (KAON_LANES * p::bytes)) = x;
  }
}

/* Reads COUNT packets past the first-level cache if wanted; else *value is unchanged. Volatile, so
 * that it stays after the wait for messages. */
KAON_DEVICE void ghost_read_if(bool wanted, const char *from, stored *value) {
  typedef packets<KAON_GHOST_REALS> p;
#pragma unroll
  for (int g = 0; g < p::count; g++) {
    words<p::bytes> x;
    memcpy(&x, value + g * p::group, p::bytes);
    const char *at = from + g * (KAON_LANES * p::bytes);
    if constexpr (p::bytes == 16)
      asm volatile(
          "{.reg .pred w; setp.ne.s32 w, %5, 0;"
          "@w ld.global.cg.v4.u32 {%0,%1,%2,%3}, [%4];}"
          : "+r"(x.w[0]), "+r"(x.w[1]), "+r"(x.w[2]), "+r"(x.w[3])
          : "l"(at), "r"((int)wanted)
          : "memory");
    else
      asm volatile(
          "{.reg .pred w; setp.ne.s32 w, %3, 0;"
          "@w ld.global.cg.v2.u32 {%0,%1}, [%2];}"
          : "+r"(x.w[0]), "+r"(x.w[1])
          : "l"(at), "r"((int)wanted)
          : "memory");
    memcpy(value + g * p::group, &x, p::bytes);
  }
}

/* ---- GATHER ---- */

/* The projected spinor, as values or as integers in units of *unit. */
template <int MU, int SIGN>
KAON_DEVICE void gather_project(const kaon_view &in, uint32_t at, int units, int exchange, vhalf *h,
                                real *unit) {
  raw_spinor psi;
  raw_load(in, at, units, &psi, exchange);
  spin_project(MU, SIGN, psi.c, psi.c + 12, h);
  *unit = psi.unit;
}

/* projector: 2 mu, plus 1 if exactly one of these holds: the hop is backward; the projectors are
 * the dagger's. */
KAON_DEVICE void gather_project_any(int projector, const kaon_view &in, uint32_t at, int units,
                                    int exchange, vhalf *h, real *unit) {
  switch (projector) {
    case 0:
      return gather_project<0, 1>(in, at, units, exchange, h, unit);
    case 1:
      return gather_project<0, -1>(in, at, units, exchange, h, unit);
    case 2:
      return gather_project<1, 1>(in, at, units, exchange, h, unit);
    case 3:
      return gather_project<1, -1>(in, at, units, exchange, h, unit);
    case 4:
      return gather_project<2, 1>(in, at, units, exchange, h, unit);
    case 5:
      return gather_project<2, -1>(in, at, units, exchange, h, unit);
    case 6:
      return gather_project<3, 1>(in, at, units, exchange, h, unit);
    default:
      return gather_project<3, -1>(in, at, units, exchange, h, unit);
  }
}

/* h = sign U^dag h, with U as stored in raw; *unit is multiplied by the unit of its integers. */
template <int RECON>
KAON_DEVICE void gather_link(const stored *raw, int sign, vhalf *h, real *unit) {
  real u[18];
  link_numbers<RECON>(raw, u);
  if constexpr (row2_owes<RECON>())
    for (int i = 0; i < 2; i++) h->s[i][2] = c_scale(h->s[i][2], KAON_HALF_STEP);
  const vhalf from = *h;
#pragma unroll
  for (int c = 0; c < 3; c++) {
    const vpair g = link_times_half(u, KAON_LINK_BUFFER, 1, c, &from);
    for (int i = 0; i < 2; i++) {
      h->s[i][c].re = sign < 0 ? -g.s[i].re : g.s[i].re;
      h->s[i][c].im = sign < 0 ? -g.s[i].im : g.s[i].im;
    }
  }
  if (KAON_IS_HALF && RECON != 8) *unit *= KAON_HALF_STEP;
}

template <int RECON>
KAON_DEVICE void gather_site(const faces_call &a, int dir, int column, uint32_t n, int64_t half) {
  const kaon_here here = kaon_sender_of(&a.h.sites, &a.face[dir & 3], 1 - a.h.parity, dir, n);
  const kaon_view in = column_view(a.h.in, column);
  const bool backward = dir >= 4;
  stored raw[RECON];
  link_unit<RECON>(raw);
  packets_read_if<RECON>(
      backward, packet_address<RECON>(a.h.links[dir], packet_at<RECON>((uint32_t)here.at, 1)), raw);
  vhalf h;
  real unit;
  const int projector = 2 * (dir & 3) + (backward != (!EXCHANGES && a.h.dagger));
  gather_project_any(projector, in, (uint32_t)here.at, a.h.nrhs, a.h.exchange, &h, &unit);
  if (backward) gather_link<RECON>(raw, dir == 7 ? a.backward_sign : 1, &h, &unit);
  ghost_write(a, a.to[dir], half, column, n, &h, unit);
}

template <int RECON>
KAON_DEVICE void gather_block(const faces_call &a, int column, uint32_t block) {
  int dir = 0;
  while (block >= a.sends[dir + 1]) dir++;
  const uint32_t turn = a.peered ? peer_turn(a.peer) : 0;
  const int64_t half = a.peered ? peer_half(a.peer, turn) : 0;
  const uint32_t blocks = a.sends[dir + 1] - a.sends[dir];
  faces_time(a, TIMELINE_GATHER_BEGIN, true);
  if (inner_gate_open(a.h.sums.gate, column))
    for (uint32_t n = (block - a.sends[dir]) * blockDim.x + threadIdx.x; n < a.face[dir & 3].ghosts;
         n += blocks * blockDim.x)
      gather_site<RECON>(a, dir, column, n, half);
  if (a.peered) {
    __syncthreads();
    if (threadIdx.x == 0) {
      const uint32_t columns = (uint32_t)a.h.nrhs;
      peer_sent(a.peer, dir, turn, blocks * columns);
      peer_leave(a.peer, turn, 1, (a.sends[KAON_DIRS] + a.boundary_tiles) * columns);
    }
  }
  faces_time(a, TIMELINE_GATHER_END, false);
}

/* ---- BOUNDARY ---- */

/* hop_direction for tiles in which some sites read ghosts. Every site loads a spinor and a link
 * from this rank (where the hop leaves it, a nearby one). A site whose hop leaves loads the ghost
 * too and selects it. There are no branches. */
template <int RECON, int DIR, int SIGN, bool SPLIT>
KAON_DEVICE void face_direction(const faces_call &a, const kaon_here &here, const kaon_view &in,
                                int column, int64_t half, vspinor *d) {
  constexpr int mu = DIR & 3, s = (DIR < 4 ? 1 : -1) * SIGN;
  const bool leaves = (a.partitioned >> DIR & 1) && kaon_leaves(&a.h.sites, &here, DIR);
  const uint32_t n = leaves ? kaon_ghost_of(&a.h.sites, &here, mu) : 0;
  int sign;
  const uint32_t there = (uint32_t)kaon_neighbour_of(&a.h.sites, &here, DIR, &sign);
  const uint32_t from = leaves ? (uint32_t)here.at : there;
  stored raw[RECON], ghost[KAON_GHOST_REALS] = {};
  raw_spinor psi;
  real u[18], f = hop_factor<DIR>(a.h, sign);
  hop_link<RECON, DIR>(a.h, here, from, raw);
  ghost_read_if(leaves, ghost_address(a.ghosts[DIR], half, column, a.h.nrhs, n), ghost);
  raw_load(in, from, a.h.nrhs, &psi, a.h.exchange);
  link_numbers<RECON>(raw, u);
  if (DIR >= 4) f = leaves ? a.ghost_factor[mu] : f;
  if (DIR == 3) f = leaves && a.forward_sign < 0 ? -f : f;
#if KAON_IS_HALF
  float scale = 0;
  if (leaves) scale = __ldcg(ghost_scale(a.ghosts[DIR], half, column, a.h.nrhs, n));
  f *= leaves ? kaon_half_unit(scale) : psi.unit;
#endif
  vhalf h, seen;
  spin_project(mu, s, psi.c, psi.c + 12, &h);
#pragma unroll
  for (int i = 0; i < 6; i++) {
    const vcomplex z = c_load(ghost + 2 * i), mine = h.s[i / 3][i % 3];
    seen.s[i / 3][i % 3] = z;
    if (DIR < 4) h.s[i / 3][i % 3] = c_make(leaves ? z.re : mine.re, leaves ? z.im : mine.im);
  }
  const real f2 = row2_owes<RECON>() && DIR < 4 ? f * KAON_HALF_STEP : f;
  if constexpr (row2_owes<RECON>() && DIR >= 4)
    for (int i = 0; i < 2; i++) h.s[i][2] = c_scale(h.s[i][2], KAON_HALF_STEP);
#pragma unroll
  for (int c = 0; c < 3; c++) {
    vpair g = link_times_half(u, KAON_LINK_BUFFER, DIR >= 4, c, &h);
    const real fc = c == 2 ? f2 : f;
    for (int i = 0; i < 2; i++) {
      if (DIR >= 4)
        g.s[i] = c_make(leaves ? seen.s[i][c].re : g.s[i].re, leaves ? seen.s[i][c].im : g.s[i].im);
      if constexpr (SPLIT) g.s[i] = split_scale(a.h, mu, g.s[i], fc);
    }
    spin_accumulate_scaled(mu, s, SPLIT ? split_factor(a.h, fc) : fc, g, c, d);
  }
}

/* All hops but those in x. */
template <int RECON, int SIGN, bool SPLIT>
KAON_DEVICE void face_most(const faces_call &a, const kaon_here &here, const kaon_view &in,
                           int column, int64_t half, vspinor *d) {
  face_direction<RECON, 3, SIGN, SPLIT>(a, here, in, column, half, d);
  face_direction<RECON, 7, SIGN, SPLIT>(a, here, in, column, half, d);
  face_direction<RECON, 2, SIGN, SPLIT>(a, here, in, column, half, d);
  face_direction<RECON, 6, SIGN, SPLIT>(a, here, in, column, half, d);
  face_direction<RECON, 1, SIGN, SPLIT>(a, here, in, column, half, d);
  face_direction<RECON, 5, SIGN, SPLIT>(a, here, in, column, half, d);
}

template <int RECON, int SIGN, bool SPLIT>
KAON_DEVICE void face_x(const faces_call &a, const kaon_here &here, const kaon_view &in, int column,
                        int64_t half, vspinor *d) {
  face_direction<RECON, 0, SIGN, SPLIT>(a, here, in, column, half, d);
  face_direction<RECON, 4, SIGN, SPLIT>(a, here, in, column, half, d);
}

/* Whether the factors of a kernel may have a remainder. */
template <int SUMS>
KAON_DEVICE constexpr bool may_split() {
  return SUMS == SUMS_ALL && sizeof(real) < 8;
}

/* ALL: sums may be requested, a block may have several tiles, and a factor may have a remainder. */
template <int RECON, int SUMS>
KAON_DEVICE void boundary_block(const faces_call &a, int column, int chunk, site_room &room,
                                real *norm) {
  faces_time(a, TIMELINE_BOUNDARY_BEGIN, true);
  int64_t half = a.peered && !a.late ? peer_receive(a.peer) : 0;
  faces_time(a, TIMELINE_ARRIVED_FIRST, true);
  faces_time(a, TIMELINE_ARRIVED_LAST, false);
  const bool open = inner_gate_open(a.h.sums.gate, column);
  const kaon_view in = column_view(a.h.in, column);
  uint32_t tiles = 0;
  if (SUMS == SUMS_ALL) site_sums_begin(a.h.sums, room);
  for (uint32_t tile = (uint32_t)chunk; tile < a.boundary_tiles;
       tile += (uint32_t)(a.h.sums.chunks - a.interior_chunks)) {
    kaon_here here;
    vspinor d;
    tiles++;
    const bool exists = open && face_here(a, tile, &here), dagger = !EXCHANGES && a.h.dagger;
    if (exists && dagger) face_most<RECON, -1, may_split<SUMS>()>(a, here, in, column, half, &d);
    if (exists && !dagger) face_most<RECON, 1, may_split<SUMS>()>(a, here, in, column, half, &d);
    if (a.late) half = peer_receive(a.peer);
    if (exists) {
      if (dagger)
        face_x<RECON, -1, may_split<SUMS>()>(a, here, in, column, half, &d);
      else
        face_x<RECON, 1, may_split<SUMS>()>(a, here, in, column, half, &d);
      if (a.h.overlaps) kaon_let_next_start();
      hop_end<true, SUMS>(a.h, (uint32_t)here.at, column, 0, &d, room, norm);
    }
    if (SUMS != SUMS_ALL) break;
  }
  faces_time(a, TIMELINE_BOUNDARY_END, false);
  if (a.peered && threadIdx.x == 0)
    peer_leave(a.peer, peer_turn(a.peer), tiles,
               (a.sends[KAON_DIRS] + a.boundary_tiles) * (uint32_t)a.h.nrhs);
  if (SUMS == SUMS_ALL && open && a.h.sums.sum.state != NULL)
    site_sums_finish(a.h.sums, column, a.interior_chunks + chunk, room);
}

/* ---- INTERIOR ---- */

template <int RECON, int SUMS>
KAON_DEVICE void interior_block(const faces_call &a, int column, int chunk, site_room &room,
                                real *norm) {
  if (a.hold) peer_receive(a.peer);
  if (!inner_gate_open(a.h.sums.gate, column)) return;
  faces_time(a, TIMELINE_INTERIOR_BEGIN, true);
  const kaon_view in = column_view(a.h.in, column);
  if (SUMS == SUMS_ALL) site_sums_begin(a.h.sums, room);
  for (uint32_t tile = (uint32_t)chunk; tile < a.interior_tiles;
       tile += (uint32_t)a.interior_chunks) {
    const uint32_t there = tile + a.turned;
    const uint32_t n =
        (there < a.interior_tiles ? there : there - a.interior_tiles) * blockDim.x + threadIdx.x;
    if (n >= a.boxes.box[0].sites) {
      if (SUMS == SUMS_ALL) continue; /* the last tile is not necessarily processed last */
      break;
    }
    const kaon_here here = kaon_here_in_box(&a.h.sites, &a.boxes.box[0], a.h.parity, n);
    if (!kaon_here_exists(&a.h.sites, &here)) {
      if (SUMS == SUMS_ALL) continue;
      break;
    }
    vspinor d;
    if (!EXCHANGES && a.h.dagger)
      hop_all<RECON, 1, -1, may_split<SUMS>()>(a.h, here, &in, &d);
    else
      hop_all<RECON, 1, 1, may_split<SUMS>()>(a.h, here, &in, &d);
    if (a.h.overlaps) kaon_let_next_start();
    hop_end<true, SUMS>(a.h, (uint32_t)here.at, column, 0, &d, room, norm);
    if (SUMS != SUMS_ALL) break;
  }
  faces_time(a, TIMELINE_INTERIOR_END, false);
  if (SUMS == SUMS_ALL && a.h.sums.sum.state != NULL)
    site_sums_finish(a.h.sums, column, chunk, room);
}

/* NORM: stores |out|^2 of the only column. The gate is still the original one, since a recurrence
 * runs only when all blocks have stored their parts. */
KAON_DEVICE void faces_norm_finish(const faces_call &a, real norm) {
  const int work = block_index_of() - a.gather, behind = work - a.before;
  if (!inner_gate_open(a.h.sums.gate, 0)) return;
  const int chunk = behind < 0            ? work
                    : behind < a.boundary ? a.interior_chunks + behind
                                          : work - a.boundary;
  site_norm_finish(a.h.sums, 0, chunk, norm);
}

/* The blocks of each column have the order GATHER, INTERIOR, BOUNDARY, INTERIOR. The interior
 * begins in its middle. So the slices of t next to the boundary are processed just before and after
 * it, while caches hold what they share, and no block waits at the end. */
template <int RECON, int SUMS>
static __global__ void __launch_bounds__(SITE_THREADS, least_blocks<RECON, SUMS>())
    hop_faces(const __grid_constant__ faces_call a) {
  __shared__ site_room room;
  const unsigned columns = (unsigned)a.h.nrhs;
  const int column = columns == 1 ? 0 : (int)(blockIdx.x % columns);
  const int block = (int)(columns == 1 ? blockIdx.x : blockIdx.x / columns);
  kaon_wait_for_previous();
  const int work = block - a.gather, behind = work - a.before;
  real norm = 0;
  if (work < 0) {
    gather_block<RECON>(a, column, (uint32_t)block);
    return;
  }
  if (behind >= 0 && behind < a.boundary)
    boundary_block<RECON, SUMS>(a, column, behind, room, &norm);
  else
    interior_block<RECON, SUMS>(a, column, behind < 0 ? work : work - a.boundary, room, &norm);
  if (SUMS == SUMS_NORM) faces_norm_finish(a, norm);
}

/* ---- launches ---- */

static void faces_sides(faces_call *a, const kaon_faces *faces) {
  a->forward_sign = a->backward_sign = 1;
  if (faces == NULL) return;
  for (int dir = 0; dir < KAON_DIRS; dir++)
    if (faces->partitioned[dir % 4]) a->partitioned |= 1u << dir;
  a->forward_sign = faces->sign[3] < 0 ? -1 : 1;
  a->backward_sign = faces->sign[7] < 0 ? -1 : 1;
  if (faces->partitioned[3]) a->h.sites.antiperiodic = 0; /* the two ghost signs cover it */
}

/* What the boundary reads. */
static void faces_ghosts(faces_call *a, const kaon_hop_args *args) {
  for (int mu = 0; mu < 4; mu++)
    a->ghost_factor[mu] = (real)(args->coefficient[mu] * (mu == 3 ? 2 : 1));
  memcpy(a->ghosts, args->ghosts, sizeof a->ghosts);
  faces_peer(a, args->peer);
}

/* The next row of a measurement: one for all launches of a hop. */
static uint64_t *faces_row(const kaon_launch *launch, bool last) {
  kaon_timeline *t = launch->timeline;
  uint64_t *row = t != NULL && t->left > 0 ? t->rows : NULL;
  if (row != NULL && last) {
    t->rows += TIMELINE_EVENTS;
    t->left--;
  }
  return row;
}

/* gather: also write messages. */
template <int RECON>
static void run_faces(const kaon_launch *launch, const kaon_kernel_choice *choice,
                      const kaon_gather_args *gather, const kaon_hop_args *args) {
  const int threads = choice->threads;
  faces_call a = {};
  a.h = call_of(args);
  faces_share(&a, args->stencil->faces, 1, threads);
  faces_sides(&a, args->stencil->faces);
  a.h.norm = choice->sums == SUMS_NORM;
  faces_chunks(&a, launch, &args->gate, &args->sum, a.h.norm, args->w.data != NULL);
  faces_ghosts(&a, args);
  if (gather != NULL) {
    memcpy(a.to, gather->to, sizeof a.to);
    faces_peer(&a, gather->peer);
    a.gather = (int)a.sends[KAON_DIRS];
  }
  faces_blocks(&a, args->part);
  a.late = a.peered && a.partitioned == (1u << 0 | 1u << 4);
  a.times = faces_row(launch, a.boundary > 0);
  const unsigned blocks = (unsigned)(a.gather + a.interior + a.boundary) * (unsigned)a.h.nrhs;
  auto kernel = hop_faces<RECON, SUMS_ALL>;
  if constexpr (SITE_HAS_NORM(sizeof(stored)))
    if (choice->sums == SUMS_NORM) kernel = hop_faces<RECON, SUMS_NORM>;
  if constexpr (SITE_HAS_PLAIN(sizeof(stored), RECON))
    if (choice->sums == SUMS_NONE) kernel = hop_faces<RECON, SUMS_NONE>;
  if (blocks > 0) kaon_cuda_launch(launch, kernel, blocks, (unsigned)threads, a);
}
