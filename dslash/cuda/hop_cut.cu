/* hop_cut.cu - the hop without the hops between blocks of the lattice (kaon_stencil.cut). It is the
 * hop of hop_kernel.h with one column for each thread. An omitted hop has the factor 0, its link is
 * not read, and its spinor is one that the site reads anyway. So there are no branches, and loads
 * are issued early. The caller computes sums separately: then no loop over tiles is needed, which
 * saves registers. */
#include "dslash/cuda/hop_kernel.h"

typedef struct cut_call {
  hop_call h;
  kaon_divisor block[4]; /* divides by the block's extents */
  int cut[4];
} cut_call;

/* One bit for each direction whose hop is omitted. */
KAON_DEVICE uint32_t cut_directions(const cut_call &a, const kaon_here &here) {
  const int site[4] = {here.x, here.y, here.z, here.t};
  uint32_t out = 0;
#pragma unroll
  for (int mu = 0; mu < 4; mu++) {
    const uint32_t c = (uint32_t)site[mu], d = a.block[mu].d;
    const uint32_t in_block = c - kaon_divide_by(c, &a.block[mu]) * d;
    if (a.cut[mu] && in_block == d - 1) out |= 1u << mu;
    if (a.cut[mu] && in_block == 0) out |= 16u << mu;
  }
  return out;
}

template <int RECON, int DIR, int SIGN, bool SPLIT>
KAON_DEVICE void cut_direction(const hop_call &a, const kaon_here &here, uint32_t out,
                               const kaon_view &in, vspinor *d) {
  const bool left_out = out >> DIR & 1;
  int sign;
  const uint32_t there = (uint32_t)kaon_neighbour_of(&a.sites, &here, DIR, &sign);
  const uint32_t from = left_out ? (uint32_t)here.at : there;
  const uint32_t packet = packet_at<RECON>(DIR < 4 ? (uint32_t)here.at : from, 1);
  const real factor = left_out ? (real)0 : hop_factor<DIR>(a, sign);
  const bool unit = DIR % 4 == 3 && a.temporal && here.t != (DIR < 4 ? a.last_t : 0);
  stored raw[RECON];
  real u[18];
  link_unit<RECON>(raw);
  packets_read_if<RECON>(!left_out && !unit, packet_address<RECON>(a.links[DIR], packet), raw);
  link_numbers<RECON>(raw, u);
  raw_spinor psi;
  raw_load(in, from, a.nrhs, &psi, a.exchange);
  hop_add<RECON, DIR, SIGN, SPLIT>(a, psi, u, factor, d);
}

template <int RECON, int SIGN, bool SPLIT>
KAON_DEVICE void cut_all(const hop_call &a, const kaon_here &here, uint32_t out,
                         const kaon_view &in, vspinor *d) {
  cut_direction<RECON, 3, SIGN, SPLIT>(a, here, out, in, d);
  cut_direction<RECON, 7, SIGN, SPLIT>(a, here, out, in, d);
  cut_direction<RECON, 2, SIGN, SPLIT>(a, here, out, in, d);
  cut_direction<RECON, 6, SIGN, SPLIT>(a, here, out, in, d);
  cut_direction<RECON, 1, SIGN, SPLIT>(a, here, out, in, d);
  cut_direction<RECON, 5, SIGN, SPLIT>(a, here, out, in, d);
  cut_direction<RECON, 0, SIGN, SPLIT>(a, here, out, in, d);
  cut_direction<RECON, 4, SIGN, SPLIT>(a, here, out, in, d);
}

template <int RECON>
static __global__ void __launch_bounds__(SITE_THREADS, least_blocks<RECON, false>())
    hop_cut(const __grid_constant__ cut_call a) {
  const unsigned columns = (unsigned)a.h.nrhs;
  const int column = columns == 1 ? 0 : (int)(blockIdx.x % columns);
  const uint32_t site =
      (columns == 1 ? blockIdx.x : blockIdx.x / columns) * blockDim.x + threadIdx.x;
  kaon_wait_for_previous();
  if (site >= (uint32_t)a.h.sites.nsites || !inner_gate_open(a.h.sums.gate, column)) return;
  const kaon_here here = kaon_here_of(&a.h.sites, a.h.parity, (int32_t)site);
  const uint32_t out = cut_directions(a, here);
  const kaon_view in = column_view(a.h.in, column);
  vspinor d;
  const bool split = sizeof(real) < 8 && a.h.split;
  if (split) {
    if constexpr (sizeof(real) < 8) {
      if (!EXCHANGES && a.h.dagger)
        cut_all<RECON, -1, true>(a.h, here, out, in, &d);
      else
        cut_all<RECON, 1, true>(a.h, here, out, in, &d);
    }
  } else if (!EXCHANGES && a.h.dagger) {
    cut_all<RECON, -1, false>(a.h, here, out, in, &d);
  } else {
    cut_all<RECON, 1, false>(a.h, here, out, in, &d);
  }
  if (a.h.overlaps) kaon_let_next_start();
  __shared__ site_room room; /* for no sums */
  hop_end<true, SUMS_NONE>(a.h, site, column, 0, &d, room, NULL);
}

template <int RECON>
static void run_cut(const kaon_launch *launch, const kaon_kernel_choice *choice,
                    const kaon_gather_args *, const kaon_hop_args *args) {
  cut_call a = {};
  a.h = call_of(args);
  for (int mu = 0; mu < 4; mu++) {
    a.cut[mu] = args->stencil->cut[mu] != 0;
    a.block[mu] = kaon_divisor_of((uint32_t)(a.cut[mu] ? args->stencil->cut[mu] : 1));
  }
  const int chunks = site_chunks((uint32_t)a.h.sites.nsites, choice->threads, 0);
  const kaon_sum none = {};
  a.h.sums = kaon_cuda_sums_of(launch, &args->gate, &none, chunks);
  kaon_cuda_launch(launch, hop_cut<RECON>, (unsigned)(chunks * a.h.nrhs), (unsigned)choice->threads,
                   a);
}

KAON_HOP_LAUNCHER(kaon_hop_cut, 18, run_cut)
KAON_HOP_LAUNCHER(kaon_hop_cut, 12, run_cut)
KAON_HOP_LAUNCHER(kaon_hop_cut, 8, run_cut)
