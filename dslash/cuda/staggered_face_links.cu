/* staggered_face_links.cu - packs the links of the neighbour's backward hops into a message
 * (staggered_ops.h), one thread for each link, value by value. Set-up. */
#include "dslash/cuda/kernels.h"
#include "dslash/cuda/site.h"
#include "lib/cuda/ranks/boxes.h"

typedef struct face_links_call {
  kaon_sites sites;
  kaon_face face;
  int parity; /* parity in coordinates on the rank (kaon_here) */
  int dir, recon, pack;
  uint32_t ghosts;
  const stored *links, *phase; /* of the direction; phase NULL: none */
  stored *to, *to_phase;
} face_links_call;

static __global__ void __launch_bounds__(SITE_THREADS)
    face_links(const __grid_constant__ face_links_call a) {
  const uint32_t n = blockIdx.x * SITE_THREADS + threadIdx.x;
  kaon_wait_for_previous();
  if (n >= a.ghosts) return;
  const int64_t at = kaon_far_sender_of(&a.sites, &a.face, a.parity, a.dir, n).at;
  const int lane = (int)(at % KAON_LANES), there = (int)(n % KAON_LANES);
  for (int c = 0; c < a.recon; c++)
    a.to[kaon_packed_index(n / KAON_LANES, 0, c, there, 1, a.recon, KAON_LANES, a.pack)] =
        a.links[kaon_packed_index(at / KAON_LANES, 0, c, lane, 1, a.recon, KAON_LANES, a.pack)];
  if (a.phase != NULL) a.to_phase[n] = a.phase[at];
}

extern "C" void KAON_EXPORT(kaon_staggered_face_links)(const kaon_launch *launch,
                                                       const kaon_face_links_args *args) {
  const kaon_hop_links *l = &args->links;
  const int64_t blocks = kaon_link_blocks(kaon_matrix_blocks(args->stencil));
  const int64_t first = args->mu * blocks * KAON_LANES;
  face_links_call a = {};
  a.sites = kaon_sites_of(args->stencil, args->parity);
  a.face = kaon_face_of(&a.sites, args->mu);
  a.parity = args->parity ^ args->stencil->odd_origin;
  a.dir = args->mu + 4;
  a.recon = l->recon;
  a.pack = kaon_pack(KAON_ACCESS, l->recon, (int)sizeof(stored));
  a.ghosts = (uint32_t)args->steps * a.face.ghosts;
  a.links = (const stored *)l->links[args->parity] + first * l->recon;
  a.to = (stored *)args->to;
  a.to_phase = (stored *)args->to_phase;
  if (l->phase[args->parity] != NULL) a.phase = (const stored *)l->phase[args->parity] + first;
  kaon_cuda_launch(launch, face_links, (a.ghosts + SITE_THREADS - 1) / SITE_THREADS, SITE_THREADS,
                   a);
}
