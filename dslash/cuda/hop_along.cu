/* hop_along.cu - the hop in one direction alone, or where it leaves blocks of the lattice
 * (kaon_stencil.along), on a whole or a divided lattice. It is the hop of hop_kernel.h with one
 * column for each thread; the direction and the storage of the links are run-time numbers. Messages
 * are gathered by hop_faces, for all directions, and never in the same launch. A divided lattice
 * has the tiles of hop_faces.h. The caller computes sums separately. */
#include "dslash/cuda/hop_faces.h"

typedef struct along_call {
  faces_call f;
  int dir, recon;
  int cut;            /* only hops that leave a block count */
  kaon_divisor block; /* divides by the block's extent */
} along_call;

/* The link of site `at` as 18 reals in one unit; the identity if it is not wanted. */
template <int RECON>
KAON_DEVICE void along_link_of(const stored *links, uint32_t at, bool wanted, real *u) {
  stored raw[RECON];
  link_unit<RECON>(raw);
  packets_read_if<RECON>(wanted, packet_address<RECON>(links, packet_at<RECON>(at, 1)), raw);
  link_numbers<RECON>(raw, u);
  if constexpr (row2_owes<RECON>())
    for (int i = 12; i < 18; i++) u[i] *= KAON_HALF_STEP;
}

KAON_DEVICE void along_link(const along_call &a, uint32_t at, bool wanted, real *u) {
  const stored *links = a.f.h.links[a.dir];
  if (a.recon == 18)
    along_link_of<18>(links, at, wanted, u);
  else if (a.recon == 12)
    along_link_of<12>(links, at, wanted, u);
  else
    along_link_of<8>(links, at, wanted, u);
}

/* Reads the ghost of a hop that leaves the rank; *unit is that of its integers. */
KAON_DEVICE void along_ghost(const along_call &a, const kaon_here &here, int column, int64_t half,
                             vhalf *h, real *unit) {
  const faces_call &f = a.f;
  const uint32_t n = kaon_ghost_of(&f.h.sites, &here, a.dir & 3);
  stored ghost[KAON_GHOST_REALS] = {};
  ghost_read_if(true, ghost_address(f.ghosts[a.dir], half, column, f.h.nrhs, n), ghost);
#pragma unroll
  for (int i = 0; i < 6; i++) h->s[i / 3][i % 3] = c_load(ghost + 2 * i);
  *unit = 1;
#if KAON_IS_HALF
  *unit = kaon_half_unit(__ldcg(ghost_scale(f.ghosts[a.dir], half, column, f.h.nrhs, n)));
#endif
}

/* Adds f g to the spinor that belongs to it. */
template <int MU, int SIGN>
KAON_DEVICE void along_add(const hop_call &a, const vhalf &g, real f, vspinor *d) {
#pragma unroll
  for (int c = 0; c < 3; c++) {
    vpair z = {{g.s[0][c], g.s[1][c]}};
    for (int i = 0; i < 2; i++) z.s[i] = c_scale_split(z.s[i], f, f * a.rest[MU]);
    spin_accumulate(MU, SIGN, z, c, d);
  }
}

/* projector: as in gather_project_any. */
KAON_DEVICE void along_add_any(int projector, const hop_call &a, const vhalf &g, real f,
                               vspinor *d) {
  switch (projector) {
    case 0:
      return along_add<0, 1>(a, g, f, d);
    case 1:
      return along_add<0, -1>(a, g, f, d);
    case 2:
      return along_add<1, 1>(a, g, f, d);
    case 3:
      return along_add<1, -1>(a, g, f, d);
    case 4:
      return along_add<2, 1>(a, g, f, d);
    case 5:
      return along_add<2, -1>(a, g, f, d);
    case 6:
      return along_add<3, 1>(a, g, f, d);
    default:
      return along_add<3, -1>(a, g, f, d);
  }
}

/* d = the hop to a site; 0 if it does not count. half: as in peer_half. */
KAON_DEVICE void along_site(const along_call &a, const kaon_here &here, int column, int64_t half,
                            vspinor *d) {
  const hop_call &h = a.f.h;
  const int dir = a.dir, mu = dir & 3;
  const bool backward = dir >= 4;
  const int projector = 2 * mu + (backward != (!EXCHANGES && h.dagger));
  const uint32_t at = (uint32_t)kaon_here_coordinate(&here, mu);
  const uint32_t in_block = at - kaon_divide_by(at, &a.block) * a.block.d;
  const bool leaves = (a.f.partitioned >> dir & 1) && kaon_leaves(&h.sites, &here, dir);
#pragma unroll
  for (int i = 0; i < 12; i++) d->s[i / 3][i % 3] = c_make(0, 0);
  if (a.cut && in_block != (backward ? 0 : a.block.d - 1)) return;
  int sign = 1;
  const uint32_t from =
      leaves ? (uint32_t)here.at : (uint32_t)kaon_neighbour_of(&h.sites, &here, dir, &sign);
  real f = leaves && backward ? a.f.ghost_factor[mu] : h.factor[mu], unit;
  if (mu == 3 && ((leaves && !backward) ? a.f.forward_sign : leaves ? 1 : sign) < 0) f = -f;
  vhalf in;
  if (leaves)
    along_ghost(a, here, column, half, &in, &unit);
  else
    gather_project_any(projector, column_view(h.in, column), from, h.nrhs, h.exchange, &in, &unit);
  if (KAON_IS_HALF) f *= unit;
  if (!(leaves && backward)) { /* the sender has multiplied by the link of a backward hop */
    const bool identity = mu == 3 && h.temporal && here.t != (backward ? 0 : h.last_t);
    const vhalf half_spinor = in;
    real u[18];
    along_link(a, backward ? from : (uint32_t)here.at, !identity, u);
#pragma unroll
    for (int c = 0; c < 3; c++) {
      const vpair g = backward ? link_times_half(u, KAON_LINK_BUFFER, 1, c, &half_spinor)
                               : link_times_half(u, KAON_LINK_BUFFER, 0, c, &half_spinor);
      for (int i = 0; i < 2; i++) in.s[i][c] = g.s[i];
    }
  }
  along_add_any(projector, h, in, f, d);
}

/* The thread's site in the interior, if it has one. */
KAON_DEVICE bool interior_here(const faces_call &a, uint32_t tile, kaon_here *here) {
  const uint32_t n = tile * blockDim.x + threadIdx.x;
  if (n >= a.boxes.box[0].sites) return false;
  *here = kaon_here_in_box(&a.h.sites, &a.boxes.box[0], a.h.parity, n);
  return kaon_here_exists(&a.h.sites, here);
}

/* A block has a tile of the interior, or in a launch of the boundary one of that. */
static __global__ void __launch_bounds__(SITE_THREADS)
    hop_along(const __grid_constant__ along_call a) {
  const faces_call &f = a.f;
  const unsigned columns = (unsigned)f.h.nrhs;
  const int column = (int)(blockIdx.x % columns);
  const uint32_t tile = blockIdx.x / columns;
  const bool face = f.boundary > 0;
  kaon_here here;
  kaon_wait_for_previous();
  const int64_t half = f.hold || (face && f.peered) ? peer_receive(f.peer) : 0;
  const bool is_site = face ? face_here(f, tile, &here) : interior_here(f, tile, &here);
  if (is_site && inner_gate_open(f.h.sums.gate, column)) {
    __shared__ site_room room; /* for no sums */
    vspinor d;
    along_site(a, here, column, half, &d);
    if (f.h.overlaps) kaon_let_next_start();
    hop_end<false, SUMS_NONE>(f.h, (uint32_t)here.at, column, 0, &d, room, NULL);
  }
  if (face && f.peered && threadIdx.x == 0)
    peer_leave(f.peer, peer_turn(f.peer), 1,
               (f.sends[KAON_DIRS] + f.boundary_tiles) * (uint32_t)f.h.nrhs);
}

template <int RECON>
static void run_along(const kaon_launch *launch, const kaon_kernel_choice *choice,
                      const kaon_gather_args *, const kaon_hop_args *args) {
  const kaon_stencil *st = args->stencil;
  const kaon_sum none = {};
  along_call a = {};
  a.dir = st->along - 1;
  a.recon = RECON;
  a.cut = st->cut[a.dir & 3] != 0;
  a.block = kaon_divisor_of((uint32_t)(a.cut ? st->cut[a.dir & 3] : 1));
  a.f.h = call_of(args);
  faces_share(&a.f, st->faces, 1, choice->threads);
  faces_sides(&a.f, st->faces);
  faces_ghosts(&a.f, args);
  a.f.hold = args->part == KAON_PART_INTERIOR && a.f.peered;
  a.f.boundary = args->part == KAON_PART_BOUNDARY ? (int)a.f.boundary_tiles : 0;
  const int tiles = a.f.boundary > 0 ? a.f.boundary : (int)a.f.interior_tiles;
  a.f.h.sums = kaon_cuda_sums_of(launch, &args->gate, &none, tiles > 0 ? tiles : 1);
  if (tiles > 0)
    kaon_cuda_launch(launch, hop_along, (unsigned)(tiles * args->nrhs), (unsigned)choice->threads,
                     a);
}

KAON_HOP_LAUNCHER(kaon_hop_along, 18, run_along)
KAON_HOP_LAUNCHER(kaon_hop_along, 12, run_along)
KAON_HOP_LAUNCHER(kaon_hop_along, 8, run_along)
