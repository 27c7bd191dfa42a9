/* transform.cu - transport along t and gauge transformations of links on the GPU (gauge_ops.h). */
#include "gauge/cuda/links.h"

/* Transport and Polyakov loop. The sites of a slice, of one parity, are contiguous. */
typedef struct transport_call {
  links_call on;
  void *g[2];
  int64_t first, count;
  int start; /* 1: the first slice, where g = 1 */
} transport_call;

/* g(x) = g(x - t) U_t(x - t) */
static __global__ void __launch_bounds__(KAON_LINK_THREADS)
    transport_kernel(const __grid_constant__ transport_call a) {
  const int64_t i = a.first + link_thread();
  const kaon_stencil *st = &a.on.stencil;
  if (i >= a.first + a.count) return;
  vsu3 product;
  su3_unit(&product);
  if (!a.start) {
    const vsites x = sites_local(st, a.on.parity, i);
    const vsites back = sites_step(st, &x, 7);
    vsu3 g, u;
    sites_matrix(st, (const void *const *)a.g, &back, &g);
    sites_link(st, links_of(a.on), &back, 3, &u);
    su3_mul(&product, &g, &u);
  }
  sites_store_matrix(a.g[a.on.parity], i, &product);
}

extern "C" void KAON_EXPORT(kaon_links_transport)(const kaon_launch *launch,
                                                  const kaon_transport_args *args) {
  transport_call a = {};
  a.on = links_call_of(&args->on);
  for (int p = 0; p < 2; p++) a.g[p] = args->g[p];
  a.first = sites_of_slice(args->on.stencil, args->on.parity, args->t);
  a.count = sites_of_slice(args->on.stencil, args->on.parity, args->t + 1) - a.first;
  a.start = args->t == 0;
  if (a.count == 0) return; /* a slice of one site has only one parity */
  transport_kernel<<<link_blocks(a.count), KAON_LINK_THREADS, 0, (cudaStream_t)launch->queue>>>(a);
}

typedef struct transform_call {
  links_call on;
  const void *g[2];
  void *to;
  int64_t unit_below;
} transform_call;

/* A thread handles a site and direction. */
static __global__ void __launch_bounds__(KAON_LINK_THREADS)
    transform_kernel(const __grid_constant__ transform_call a) {
  const int64_t i = link_thread();
  const int mu = blockIdx.y;
  const kaon_stencil *st = &a.on.stencil;
  if (i >= st->sites[a.on.parity]) return;
  const vsites x = sites_local(st, a.on.parity, i);
  vsu3 u;
  if (mu == 3 && sites_index(st, a.on.parity, i) < a.unit_below) {
    su3_unit(&u);
  } else {
    const vsites forward = sites_step(st, &x, mu);
    vsu3 here, there, gu;
    sites_matrix(st, a.g, &x, &here);
    sites_matrix(st, a.g, &forward, &there);
    sites_link(st, links_of(a.on), &x, mu, &u);
    su3_mul(&gu, &here, &u);
    su3_mul_dagger(&u, &gu, &there);
  }
  sites_store_link(st, a.to, i, mu, &u);
}

extern "C" void KAON_EXPORT(kaon_links_transform)(const kaon_launch *launch,
                                                  const kaon_transform_args *args) {
  transform_call a = {};
  a.on = links_call_of(&args->on);
  for (int p = 0; p < 2; p++) a.g[p] = args->g[p];
  a.to = args->to;
  a.unit_below = args->unit_below;
  const dim3 blocks(link_blocks(a.on.stencil.nsites), 4);
  transform_kernel<<<blocks, KAON_LINK_THREADS, 0, (cudaStream_t)launch->queue>>>(a);
}
