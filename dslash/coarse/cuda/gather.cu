/* gather.cu - fills the messages of coarse operators on the GPU (coarse_ops.h). Ghosts have the
 * layout of sites (lib/vector/layout.h), numbered as in lib/cuda/ranks/boxes.h. */
#include "dslash/coarse/cuda/kernels.h"
#include "dslash/coarse/cuda/product.h"
#include "lib/cuda/ranks/boxes.h"
#include "lib/cuda/ranks/peer.h"

enum { GATHER_MOST = 32 }; /* blocks for a direction */

typedef struct gather_call {
  kaon_sites sites;
  int parity; /* of the sites that are sent, in coordinates on the rank */
  int packets, nrhs, peered;
  uint32_t first[KAON_DIRS + 1]; /* the block at which each direction begins, and the end */
  kaon_face face[4];
  kaon_view in, send[KAON_DIRS];
  kaon_gate gate;
  kaon_peer_exchange peer;
} gather_call;

/* Packet by packet: ghosts first, then packets of a column, then columns. */
static __global__ void __launch_bounds__(KAON_THREADS)
    coarse_gather(const __grid_constant__ gather_call a) {
  kaon_wait_for_previous();
  int dir = 0;
  while (blockIdx.x >= a.first[dir + 1]) dir++;
  const uint32_t turn = a.peered ? peer_turn(a.peer) : 0;
  kaon_view to = a.send[dir];
  if (a.peered) to.data = (char *)to.data + peer_half(a.peer, turn);
  const uint32_t blocks = a.first[dir + 1] - a.first[dir], ghosts = a.face[dir & 3].ghosts;
  const uint32_t all = ghosts * (uint32_t)(a.packets * a.nrhs);
  for (uint32_t i = (blockIdx.x - a.first[dir]) * blockDim.x + threadIdx.x; i < all;
       i += blocks * blockDim.x) {
    const uint32_t n = i % ghosts, unit = i / ghosts;
    const int packet = (int)(unit % (uint32_t)a.packets),
              column = (int)(unit / (uint32_t)a.packets);
    if (!inner_gate_open(a.gate, column)) continue;
    const kaon_here from = kaon_sender_of(&a.sites, &a.face[dir & 3], a.parity, dir, n);
    numbers_at(to, n, a.nrhs, a.packets, column)[packet * KAON_LANES] =
        numbers_at(a.in, from.at, a.nrhs, a.packets, column)[packet * KAON_LANES];
  }
  if (!a.peered) return;
  __syncthreads();
  if (threadIdx.x == 0) peer_sent(a.peer, dir, turn, blocks);
}

extern "C" void KAON_EXPORT(kaon_coarse_gather)(const kaon_launch *launch,
                                                const kaon_coarse_gather_args *args) {
  gather_call a = {};
  a.sites = kaon_sites_of(args->stencil, args->parity);
  a.parity = 1 - (args->parity ^ args->stencil->odd_origin);
  a.packets = args->reals / (2 * PACK);
  a.nrhs = args->nrhs;
  a.in = args->in;
  a.gate = args->gate;
  memcpy(a.send, args->send, sizeof a.send);
  if (args->peer != NULL) {
    a.peered = 1;
    a.peer = *args->peer;
  }
  for (int mu = 0; mu < 4; mu++)
    if (args->stencil->faces->partitioned[mu]) a.face[mu] = kaon_face_of(&a.sites, mu);
  for (int dir = 0; dir < KAON_DIRS; dir++) {
    const uint32_t all = a.face[dir & 3].ghosts * (uint32_t)(a.packets * a.nrhs);
    const uint32_t blocks = (all + KAON_THREADS - 1) / KAON_THREADS;
    a.first[dir + 1] = a.first[dir] + (blocks < GATHER_MOST ? blocks : GATHER_MOST);
  }
  kaon_cuda_launch(launch, coarse_gather, a.first[KAON_DIRS], KAON_THREADS, a);
}
