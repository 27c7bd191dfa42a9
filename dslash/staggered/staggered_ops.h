/* staggered_ops.h - kernel table of the staggered operators: one per backend and precision. */
#ifndef KAON_DSLASH_STAGGERED_OPS_H
#define KAON_DSLASH_STAGGERED_OPS_H

#include "lib/core/launch.h"

enum { KAON_STAGGERED_REALS = 6 };

/* Hops of `steps` sites, as kernels look them up; tables by the parity of the sites that the hops
 * lead to. steps is odd, so the neighbour is of the other parity. */
typedef struct kaon_hop_table {
  int steps;
  const uint32_t *neighbour[2]; /* [block * 8 + dir]: block << KAON_NB_SHIFT | flags, EXCHANGE or
                                   GATHER */
  const int32_t *gather[2];     /* plain order: [(block * 8 + dir) * width + lane]: block * width +
                                   lane of the neighbour; else NULL */
  const uint32_t *negative[2];  /* [block * 8 + dir]: lanes whose hop has the sign -1, eta_mu(x) and
                                   the antiperiodic boundary together */
} kaon_hop_table;

/* Links of hops of one length, by parity: `recon` reals of SU(3) (18: of any matrix), times
 * e^{i theta} where there is a phase (lib/math/staggered_hop.h), times `factor`. */
typedef struct kaon_hop_links {
  const void *links[2];
  const void *phase[2]; /* [mu][block][W], blocks as of links; NULL: none */
  int recon;
  double factor;
  /* Of a divided lattice, for kernels that multiply by the links of all hops themselves
   * (face_links below): those of hops backward in each direction that come from beyond the face, a
   * link at ghost n where links of one direction have it at site n; and their phases. */
  const void *ghosts[2][4], *ghost_phase[2][4];
} kaon_hop_links;

/* out = a x + b D in on the sites of `parity`, D of docs/conventions.md. x.data == NULL: a is taken
 * as 0. in is of the other parity; x and out may be the same vector; in must not alias out. sum:
 * slot[0] <- sum |out|^2, slot[1] <- sum conj(w) out; half: of out as it is before it is rounded.
 */
typedef struct kaon_staggered_args {
  const kaon_stencil *stencil;
  int parity;
  int nrhs;
  double a, b;
  kaon_hop_links fat, naik; /* naik.links[0] == NULL: no hops of three sites */
  /* Signs of hops in mu: (-1)^(number of odd coordinates among those of phases[mu], a bit a
   * direction). Where kernels look neighbours up, reach has them. */
  uint8_t phases[4];
  const kaon_hop_table *reach[2]; /* of one site, of three; NULL where neighbours are computed */
  /* Of a divided lattice: which blocks (KAON_PART_... of dslash_ops.h), the faces of hops of one
   * and of three sites, and in BOUNDARY what came for hops in each direction; with face_links both
   * are those of the longest hops, twice. peer: as kaon_hop_args of dslash_ops.h says. */
  int part;
  const kaon_faces *faces[2];
  kaon_view ghosts[2][KAON_DIRS];
  const kaon_peer_exchange *peer;
  kaon_view in, x, w, out;
  kaon_gate gate;
  kaon_sum sum;
} kaon_staggered_args;

/* What the neighbours' hops of one length to the sites of `parity` meet here, into messages: chi
 * itself for hops forward, U^dag chi with the link's phase for those backward; signs, factors and
 * half's link units are left to who receives. in is of the other parity. to: by direction. With
 * face_links: chi for all hops of up to `steps` sites, and links are but the storage's. */
typedef struct kaon_staggered_gather_args {
  const kaon_stencil *stencil;
  const kaon_faces *faces;
  int steps;
  int parity;
  int nrhs;
  kaon_hop_links links;
  kaon_view in;
  kaon_view to[KAON_DIRS];
  const kaon_peer_exchange *peer; /* NULL: the messages are buffers of this rank */
  kaon_gate gate;
} kaon_staggered_gather_args;

/* The links of the sites of `parity` that the neighbour's hops of `steps` sites backward in mu come
 * over, to where kaon_hop_links.ghosts has them there, and their phases where there are some. */
typedef struct kaon_face_links_args {
  const kaon_stencil *stencil;
  int parity, mu, steps;
  kaon_hop_links links;
  void *to, *to_phase;
} kaon_face_links_args;

typedef struct kaon_staggered_ops {
  void (*hop)(const kaon_launch *launch, const kaon_staggered_args *args);
  /* NULL: no divided lattices */
  void (*gather)(const kaon_launch *launch, const kaon_staggered_gather_args *args);
  /* All of a hop in one launch, where gather->peer and args->peer are set; NULL: not built */
  void (*hop_fused)(const kaon_launch *launch, const kaon_staggered_gather_args *gather,
                    const kaon_staggered_args *args);
  /* NULL: who sends multiplies by the links of hops backward, and each length has messages of its
   * own. Else one message a direction has chi for both lengths. */
  void (*face_links)(const kaon_launch *launch, const kaon_face_links_args *args);
} kaon_staggered_ops;

#endif
