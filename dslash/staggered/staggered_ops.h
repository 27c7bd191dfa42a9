/* staggered_ops.h - kernel table of the staggered operators: one per backend and precision. */
#pragma once

#include <stddef.h>

#include "lib/core/launch.h"

enum { KAON_STAGGERED_REALS = 6 };

/* Hops of `steps` sites, as kernels look them up. Tables are indexed by the parity of the sites
 * that the hops lead to. steps is odd, so the neighbour has the other parity. */
typedef struct kaon_hop_table {
  int steps;
  const uint32_t *neighbour[2]; /* [block * 8 + dir]: block << KAON_NB_SHIFT | flags, EXCHANGE or
                                   GATHER */
  const int32_t *gather[2];     /* plain order: [(block * 8 + dir) * width + lane]: block * width +
                                   lane of the neighbour; else NULL */
  const uint32_t *negative[2];  /* [block * 8 + dir]: lanes whose hop has the sign -1: eta_mu(x)
                                   times the antiperiodic boundary */
} kaon_hop_table;

/* Links of hops of one length, by parity: `recon` reals of SU(3) (18: of any matrix), times e^{i
 * theta} if there is a phase (lib/math/staggered_hop.h), times `factor`. */
typedef struct kaon_hop_links {
  const void *links[2];
  const void *phase[2]; /* [mu][block][W], with the links' blocks; NULL: none */
  int recon;
  double factor;
  /* Partitioned lattice, for kernels that multiply by the links of all hops (face_links below): the
   * ghost links of backward hops in each direction, and their phases. Ghost n is stored where site
   * n is among the links of one direction. */
  const void *ghosts[2][4], *ghost_phase[2][4];
} kaon_hop_links;

/* out = a x + b D in on the sites of `parity`, with D of docs/conventions.md.
 * - x.data == NULL means a = 0.
 * - in has the other parity and must not alias out; x and out may be the same vector.
 * - sum: slot[0] <- sum |out|^2, slot[1] <- sum conj(w) out. In half both are taken from out before
 *   it is rounded. */
typedef struct kaon_staggered_args {
  const kaon_stencil *stencil;
  int parity;
  int nrhs;
  double a, b;
  kaon_hop_links fat, naik; /* naik.links[0] == NULL: no hops of three sites */
  /* Signs of hops in mu: (-1)^n, with n the number of odd coordinates among those of phases[mu],
   * one bit for each direction. Where kernels look neighbours up, `reach` has the signs. */
  uint8_t phases[4];
  const kaon_hop_table *reach[2]; /* of one site, of three sites; NULL where neighbours are
                                     computed */
  /* Partitioned lattice: the blocks to update (KAON_PART_..., lib/core/launch.h), the faces of hops of
   * one and of three sites, and for BOUNDARY the ghosts received for hops in each direction. With
   * face_links both entries are those of the longest hops. peer: as in kaon_hop_args of
   * dslash_ops.h. */
  int part;
  const kaon_faces *faces[2];
  kaon_view ghosts[2][KAON_DIRS];
  const kaon_peer_exchange *peer;
  kaon_view in, x, w, out;
  kaon_gate gate;
  kaon_sum sum;
} kaon_staggered_args;

/* Packs what the neighbours' hops of one length to the sites of `parity` read on this rank. Forward
 * hops read chi itself; backward hops read U^dag chi, with the link's phase. The receiver applies
 * signs, factors and, in half, the unit of the links. in has the other parity. to: by direction.
 * With face_links the messages are chi for all hops of up to `steps` sites, and of the links only
 * the storage is used. */
typedef struct kaon_staggered_gather_args {
  const kaon_stencil *stencil;
  const kaon_faces *faces;
  int steps;
  int parity;
  int nrhs;
  kaon_hop_links links;
  kaon_view in;
  kaon_view to[KAON_DIRS];
  const kaon_peer_exchange *peer; /* NULL: the messages go into buffers of this rank */
  kaon_gate gate;
} kaon_staggered_gather_args;

/* Packs the links of the sites of `parity` that the neighbour's backward hops of `steps` sites in
 * mu use, and their phases if any. The order is that of the neighbour's kaon_hop_links.ghosts. */
typedef struct kaon_face_links_args {
  const kaon_stencil *stencil;
  int parity, mu, steps;
  kaon_hop_links links;
  void *to, *to_phase;
} kaon_face_links_args;

typedef struct kaon_staggered_ops {
  void (*hop)(const kaon_launch *launch, const kaon_staggered_args *args);
  /* NULL: no partitioned lattices */
  void (*gather)(const kaon_launch *launch, const kaon_staggered_gather_args *args);
  /* The whole hop in one launch, with gather->peer and args->peer set; NULL: not built */
  void (*hop_fused)(const kaon_launch *launch, const kaon_staggered_gather_args *gather,
                    const kaon_staggered_args *args);
  /* NULL: the sender multiplies by the links of backward hops, and each length has its own
   * messages. Else one message for each direction has chi for both lengths. */
  void (*face_links)(const kaon_launch *launch, const kaon_face_links_args *args);
} kaon_staggered_ops;
