/* fill.cu - unit, random and weak links, and the projection to SU(3), on the GPU (gauge_ops.h). A
 * thread handles a site and direction. */
#include "gauge/cuda/links.h"
#include "lib/math/link_fill.h"

typedef struct fill_call {
  links_call on;
  int kind;
  double eps;
  uint64_t seed;
} fill_call;

static __global__ void __launch_bounds__(KAON_LINK_THREADS)
    fill_kernel(const __grid_constant__ fill_call a) {
  const int64_t i = link_thread();
  const int mu = blockIdx.y;
  const kaon_stencil *st = &a.on.stencil;
  if (i >= st->sites[a.on.parity]) return;
  vsu3 u;
  su3_unit(&u);
  if (a.kind != KAON_FILL_UNIT) {
    const int64_t site = sites_index(st, a.on.parity, i);
    double rows[12];
    kaon_draw_rows(a.kind == KAON_FILL_WEAK, a.eps, a.seed, site, mu, rows);
    link_from_rows(rows, &u);
  }
  sites_store_link(st, a.on.links[a.on.parity], i, mu, &u);
}

extern "C" void KAON_EXPORT(kaon_links_fill)(const kaon_launch *launch,
                                             const kaon_fill_links_args *args) {
  fill_call a = {};
  a.on = links_call_of(&args->on);
  a.kind = args->kind;
  a.eps = args->eps;
  a.seed = args->seed;
  const dim3 blocks(link_blocks(a.on.stencil.nsites), 4);
  fill_kernel<<<blocks, KAON_LINK_THREADS, 0, (cudaStream_t)launch->queue>>>(a);
}

static __global__ void __launch_bounds__(KAON_LINK_THREADS)
    project_kernel(const __grid_constant__ links_call a) {
  const int64_t i = link_thread();
  const int mu = blockIdx.y;
  if (i >= a.stencil.sites[a.parity]) return;
  const vsites x = sites_local(&a.stencil, a.parity, i);
  vsu3 u;
  sites_link(&a.stencil, links_of(a), &x, mu, &u);
  su3_project(&u, 0);
  sites_store_link(&a.stencil, a.links[a.parity], i, mu, &u);
}

extern "C" void KAON_EXPORT(kaon_links_project)(const kaon_launch *launch,
                                                const kaon_links_args *args) {
  const links_call a = links_call_of(args);
  const dim3 blocks(link_blocks(a.stencil.nsites), 4);
  project_kernel<<<blocks, KAON_LINK_THREADS, 0, (cudaStream_t)launch->queue>>>(a);
}
