/* update.cu - heatbath and over-relaxation of the links of one direction and parity, on the GPU
 * (gauge_ops.h, lib/math/link_update.h). These links do not occur in each other's staples, so one
 * thread for each link works in place. */
#include "gauge/cuda/links.h"
#include "lib/math/link_paths.h"
#include "lib/math/link_update.h"

typedef struct update_call {
  links_call on;
  int mu;
  double beta;
  uint64_t seed;
  uint32_t sweep;
} update_call;

template <int OVERRELAX>
static __global__ void __launch_bounds__(KAON_LINK_THREADS)
    update_kernel(const __grid_constant__ update_call a) {
  const int64_t i = link_thread();
  const kaon_stencil *st = &a.on.stencil;
  if (i >= st->sites[a.on.parity]) return;
  const vsites x = sites_local(st, a.on.parity, i);
  vsu3 u, staple;
  su3_zero(&staple);
#pragma unroll 1
  for (int nu = 0; nu < 4; nu++)
    if (nu != a.mu) path_add_staple(st, links_of(a.on), &x, a.mu, nu, 1, &staple);
  sites_link(st, links_of(a.on), &x, a.mu, &u);
  const int64_t site = sites_index(st, a.on.parity, i);
  link_update how;
  how.overrelax = OVERRELAX;
  how.beta = a.beta;
  how.draw.seed = a.seed;
  how.draw.sweep = a.sweep;
  how.draw.mu = a.mu;
  how.draw.subgroup = 0;
  how.draw.site = &site;
  link_next(&how, &staple, &u);
  sites_store_link(st, a.on.links[a.on.parity], i, a.mu, &u);
}

extern "C" void KAON_EXPORT(kaon_links_update)(const kaon_launch *launch,
                                               const kaon_update_links_args *args) {
  update_call a = {};
  a.on = links_call_of(&args->on);
  a.mu = args->mu;
  a.beta = args->beta;
  a.seed = args->seed;
  a.sweep = args->sweep;
  const unsigned blocks = link_blocks(a.on.stencil.nsites);
  const cudaStream_t stream = (cudaStream_t)launch->queue;
  if (args->kind == KAON_UPDATE_OVERRELAX)
    update_kernel<1><<<blocks, KAON_LINK_THREADS, 0, stream>>>(a);
  else
    update_kernel<0><<<blocks, KAON_LINK_THREADS, 0, stream>>>(a);
}
