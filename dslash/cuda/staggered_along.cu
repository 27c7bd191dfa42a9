/* staggered_along.cu - the staggered hop in one direction alone, or where it leaves blocks of the
 * lattice (kaon_stencil.along), on a whole or a divided lattice. It is the hop of staggered_kernel.h
 * and staggered_faces.h; the direction and the storage of the links are run-time numbers, and a
 * thread takes its columns one after another. Messages are gathered by staggered_faces, for all
 * directions, and never in the same launch. */
#include "dslash/cuda/staggered_faces.h"

typedef struct along_call {
  divided_call f;
  int dir, recon[2]; /* reals of a link: of hops of one site, of three; 0: none */
  int cut;           /* only hops that leave a block count */
  kaon_divisor block;
} along_call;

/* The link of site `at` as 18 reals in one unit. */
template <int RECON>
KAON_DEVICE void along_link_of(const stored *links, uint32_t at, real *u) {
  stored raw[RECON];
  link_packets<RECON, false>(links, at, raw);
  link_numbers<RECON, false, false>(raw, u);
}

/* A hop's site and its link. */
typedef struct along_from {
  kaon_view in;
  uint32_t site, link_site;
  const stored *links, *phases;
  real sign;
} along_from;

/* Where the hop of one site (FAR: of three) to a site comes from. */
template <bool FAR>
KAON_DEVICE along_from along_source(const along_call &a, const kaon_here &here, int column,
                                    int64_t half) {
  const divided_call &f = a.f;
  const int dir = a.dir, mu = dir & 3;
  const bool backward = dir >= 4;
  const int layer = kaon_layer_of(&f.h.sites, &here, dir, FAR ? 3 : 1);
  const bool leaves = (f.partitioned >> mu & 1) && layer >= 0;
  int boundary = 1;
  along_from from;
  from.links = FAR ? f.h.naik[dir] : f.h.fat[dir];
  from.phases = f.h.phase[dir];
  if (leaves) {
    from.site = (uint32_t)layer * f.face[mu].ghosts + kaon_ghost_of(&f.h.sites, &here, mu);
    from.in = ghost_view(f.ghosts[dir], half, column);
    if (backward) from.links = FAR ? f.naik_ghosts[mu] : f.fat_ghosts[mu];
    if (backward) from.phases = f.phase_ghosts[mu];
  } else {
    from.site = (uint32_t)(FAR ? kaon_far_neighbour_of(&f.h.sites, &f.h.far, &here, dir, &boundary)
                               : kaon_neighbour_of(&f.h.sites, &here, dir, &boundary));
    from.in = colour_view(f.h.in, column);
  }
  from.link_site = backward ? from.site : (uint32_t)here.at;
  const bool minus = mu == 3 && (leaves ? f.changes_sign[backward] != 0 : boundary < 0);
  const real eta = site_of(f.h, here).eta[mu];
  from.sign = minus != backward ? -eta : eta;
  return from;
}

/* d += the hop of one site (FAR: of three), if it counts. */
template <bool FAR>
KAON_DEVICE void along_add(const along_call &a, const kaon_here &here, int column, int64_t half,
                           vcolour *d) {
  const int recon = a.recon[FAR], steps = FAR ? 3 : 1;
  const bool backward = a.dir >= 4;
  const uint32_t at = (uint32_t)kaon_here_coordinate(&here, a.dir & 3);
  const int in_block = (int)(at - kaon_divide_by(at, &a.block) * a.block.d);
  if (a.cut && (backward ? in_block >= steps : in_block < (int)a.block.d - steps)) return;
  const along_from from = along_source<FAR>(a, here, column, half);
  real u[18];
  vcolour chi = colour_read(from.in, from.site, a.f.h.nrhs);
  if (recon == 18)
    along_link_of<18>(from.links, from.link_site, u);
  else if (recon == 12)
    along_link_of<12>(from.links, from.link_site, u);
  else
    along_link_of<8>(from.links, from.link_site, u);
  chi = colour_scale(&chi, from.sign);
  if (FAR && a.f.h.phased)
    chi = colour_times_i(phase_read(1, from.phases, from.link_site), backward, &chi);
  if (backward)
    colour_add_link(u, KAON_LINK_BUFFER, 1, &chi, d);
  else
    colour_add_link(u, KAON_LINK_BUFFER, 0, &chi, d);
}

/* The thread's site in the interior, if it has one. */
KAON_DEVICE bool interior_here(const divided_call &a, uint32_t tile, kaon_here *here) {
  const uint32_t n = tile * blockDim.x + threadIdx.x;
  if (n >= a.boxes.box[0].sites) return false;
  *here = kaon_here_in_box(&a.h.sites, &a.boxes.box[0], a.h.parity, n);
  return kaon_here_exists(&a.h.sites, here);
}

/* A block has a tile of the interior, or in a launch of the boundary one of that, and a group of
 * columns. */
static __global__ void __launch_bounds__(SITE_THREADS)
    staggered_along(const __grid_constant__ along_call a) {
  const divided_call &f = a.f;
  const unsigned groups = (unsigned)f.h.groups;
  const int first = (int)(blockIdx.x % groups) * f.h.each;
  const int end = min(first + f.h.each, f.h.columns);
  const uint32_t tile = blockIdx.x / groups;
  const bool face = f.boundary > 0;
  kaon_here here;
  kaon_wait_for_previous();
  const int64_t half = f.hold || (face && f.peered) ? peer_receive(f.peer) : 0;
  const bool is_site = face ? face_here(f, tile, &here) : interior_here(f, tile, &here);
  for (int column = first; is_site && column < end; column++) {
    if (!gate_open(f.h.sums.gate, column)) continue;
    vcolour d = colour_zero(), far = colour_zero();
    along_add<false>(a, here, column, half, &d);
    if (a.recon[1] != 0) along_add<true>(a, here, column, half, &far);
    colour_join(f.h.fat_factor, &d, a.recon[1] != 0, f.h.naik_factor, &far);
    hop_end<STAGGERED_MANY, false>(f.h, (uint32_t)here.at, column, 0, &d);
  }
  if (face && f.peered && threadIdx.x == 0)
    peer_leave(f.peer, peer_turn(f.peer), 1, (f.sends[KAON_DIRS] + f.boundary_tiles) * groups);
}

template <int RECON>
static void run_along(const kaon_launch *launch, const kaon_kernel_choice *choice,
                      const kaon_staggered_gather_args *, const kaon_staggered_args *args) {
  const kaon_stencil *st = args->stencil;
  const kaon_sum none = {};
  const bool improved = args->naik.links[0] != NULL;
  along_call a = {};
  a.dir = st->along - 1;
  a.recon[0] = improved ? 18 : RECON;
  a.recon[1] = improved ? RECON : 0;
  a.cut = st->cut[a.dir & 3] != 0;
  a.block = kaon_divisor_of((uint32_t)(a.cut ? st->cut[a.dir & 3] : 1));
  a.f.h = call_of(args);
  share_columns<1>(&a.f.h, choice);
  a.f.layers = improved ? 3 : 1;
  faces_share(&a.f, args->faces[0], (int)a.f.layers, choice->threads);
  divided_sides(&a.f, st, args->faces[0]);
  divided_links(&a.f, args);
  memcpy(a.f.ghosts, args->ghosts[0], sizeof a.f.ghosts);
  faces_peer(&a.f, args->peer);
  a.f.hold = args->part == KAON_PART_INTERIOR && a.f.peered;
  a.f.boundary = args->part == KAON_PART_BOUNDARY ? (int)a.f.boundary_tiles : 0;
  const int tiles = a.f.boundary > 0 ? a.f.boundary : (int)a.f.interior_tiles;
  a.f.h.sums = kaon_cuda_sums_of(launch, &args->gate, &none, tiles > 0 ? tiles : 1);
  if (tiles > 0)
    kaon_cuda_launch(launch, staggered_along, (unsigned)(tiles * a.f.h.groups),
                     (unsigned)choice->threads, a);
}

KAON_STAGGERED_LAUNCHER(kaon_staggered_along, 18, run_along)
KAON_STAGGERED_LAUNCHER(kaon_staggered_along, 12, run_along)
KAON_STAGGERED_LAUNCHER(kaon_staggered_along, 8, run_along)
