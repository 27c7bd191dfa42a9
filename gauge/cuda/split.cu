/* split.cu - the size of links, and links of U(3) as phases and links of SU(3), on the GPU
 * (gauge_ops.h). A thread handles a site; results are merged as described in results.h. */
#include "gauge/cuda/links.h"
#include "gauge/cuda/results.h"
#include "lib/math/link_split.h"

typedef struct size_call {
  links_call on;
  kaon_exact_scale scale;
  kaon_cuda_sums sums;
} size_call;

/* The largest component is the negative of PIVOT's smallest value. */
static __global__ void __launch_bounds__(KAON_THREADS)
    size_kernel(const __grid_constant__ size_call a) {
  const kaon_stencil *st = &a.on.stencil;
  double value[RESULTS];
  results_begin<PIVOT>(value);
#pragma unroll 1
  for (int64_t i = results_first(); i < st->sites[a.on.parity]; i += results_step(a.sums)) {
    const vsites x = sites_local(st, a.on.parity, i);
    double sum = 0, largest = 0, parts[KAON_EXACT_PARTS];
#pragma unroll 1
    for (int mu = 0; mu < 4; mu++) {
      vsu3 u;
      sites_link(st, links_of(a.on), &x, mu, &u);
      sum += link_size(&u, &largest);
    }
    KAON_EXACT_SPLIT(a.scale, sum, parts);
    value[0] += parts[0];
    value[3] += parts[1];
    keep_pivot(-largest, (double)i, value);
  }
  if (!results_finish<PIVOT>(a.sums, value)) return;
  a.on.result[0] = value[0];
  a.on.result[1] = value[3];
  a.on.result[2] = value[1] < 0 ? -value[1] : 0;
}

extern "C" void KAON_EXPORT(kaon_links_size)(const kaon_launch *launch,
                                            const kaon_links_args *args) {
  size_call a = {};
  a.on = links_call_of(args);
  a.scale = args->scale;
  a.sums = results_of(launch, a.on.stencil.sites[args->parity]);
  size_kernel<<<(unsigned)a.sums.chunks, KAON_THREADS, 0, (cudaStream_t)launch->queue>>>(a);
}

typedef struct split_call {
  links_call on;
  double factor;
  int bytes;
  void *phase;
  kaon_cuda_sums sums;
} split_call;

static __device__ __forceinline__ double split_site(const split_call &a, const vsites &x, int64_t i,
                                                    int mu) {
  const kaon_stencil *st = &a.on.stencil;
  double theta = 0, turn[2];
  vsu3 u;
  sites_link(st, links_of(a.on), &x, mu, &u);
  const vcomplex det = link_scale(&u, a.factor);
  if (a.phase != NULL) {
    theta = link_angle(det.re, det.im, turn);
    link_turn(&u, c_make(turn[0], turn[1]));
    const int64_t stride = kaon_link_blocks(kaon_matrix_blocks(st)) * KAON_LANES;
    link_store_angle(a.phase, mu * stride + i, a.bytes, theta);
  }
  sites_store_link(st, a.on.parity ? a.on.links[1] : a.on.links[0], i, mu, &u);
  return fabs(theta);
}

static __global__ void __launch_bounds__(KAON_THREADS)
    split_kernel(const __grid_constant__ split_call a) {
  const kaon_stencil *st = &a.on.stencil;
  double value[RESULTS];
  results_begin<WORST>(value);
#pragma unroll 1
  for (int64_t i = results_first(); i < st->sites[a.on.parity]; i += results_step(a.sums)) {
    const vsites x = sites_local(st, a.on.parity, i);
#pragma unroll 1
    for (int mu = 0; mu < 4; mu++) value[0] = fmax(value[0], split_site(a, x, i, mu));
  }
  if (results_finish<WORST>(a.sums, value)) a.on.result[0] = value[0];
}

extern "C" void KAON_EXPORT(kaon_links_split)(const kaon_launch *launch,
                                             const kaon_split_args *args) {
  split_call a = {};
  a.on = links_call_of(&args->on);
  a.factor = args->factor;
  a.bytes = args->bytes;
  a.phase = args->phase;
  a.sums = results_of(launch, a.on.stencil.sites[args->on.parity]);
  split_kernel<<<(unsigned)a.sums.chunks, KAON_THREADS, 0, (cudaStream_t)launch->queue>>>(a);
}
