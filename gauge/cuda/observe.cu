/* observe.cu - plaquette, topological charge, Polyakov loop and the check for SU(3) on the GPU
 * (gauge_ops.h). A thread handles a site; results are merged as described in results.h. */
#include "gauge/cuda/links.h"
#include "gauge/cuda/results.h"

typedef struct observe_call {
  links_call on;
  void *g[2];             /* polyakov */
  int64_t first, count;   /* range of sites that take part */
  kaon_exact_scale scale; /* plaquette */
  kaon_cuda_sums sums;
} observe_call;

static observe_call observe_call_of(const kaon_launch *launch, const kaon_links_args *args,
                                    int64_t first, int values = RESULTS) {
  observe_call a = {};
  a.on = links_call_of(args);
  a.first = first;
  a.count = a.on.stencil.sites[args->parity] - first;
  a.sums = results_of(launch, a.count, values);
  return a;
}

static __global__ void __launch_bounds__(KAON_THREADS)
    plaquette_kernel(const __grid_constant__ observe_call a) {
  double value[KAON_PLAQUETTE_RESULTS];
  results_begin<SUM, KAON_PLAQUETTE_RESULTS>(value);
#pragma unroll 1
  for (int64_t i = results_first(); i < a.count; i += results_step(a.sums)) {
    const vsites x = sites_local(&a.on.stencil, a.on.parity, i);
    double site[KAON_PLAQUETTE_MEANS] = {0, 0, 0}, parts[KAON_EXACT_PARTS];
    path_add_plaquettes(&a.on.stencil, links_of(a.on), &x, site);
#pragma unroll
    for (int m = 0; m < KAON_PLAQUETTE_MEANS; m++) {
      KAON_EXACT_SPLIT(a.scale, site[m], parts);
      value[m] += parts[0];
      value[KAON_PLAQUETTE_MEANS + m] += parts[1];
    }
  }
  if (!results_finish<SUM, KAON_PLAQUETTE_RESULTS>(a.sums, value)) return;
  for (int r = 0; r < KAON_PLAQUETTE_RESULTS; r++) a.on.result[r] = value[r];
}

extern "C" void KAON_EXPORT(kaon_links_plaquette)(const kaon_launch *launch,
                                                  const kaon_links_args *args) {
  observe_call a = observe_call_of(launch, args, 0, KAON_PLAQUETTE_RESULTS);
  a.scale = args->scale;
  plaquette_kernel<<<(unsigned)a.sums.chunks, KAON_THREADS, 0, (cudaStream_t)launch->queue>>>(a);
}

static __global__ void __launch_bounds__(KAON_THREADS)
    charge_kernel(const __grid_constant__ observe_call a) {
  double value[RESULTS];
  results_begin<SUM>(value);
#pragma unroll 1
  for (int64_t i = results_first(); i < a.count; i += results_step(a.sums)) {
    const vsites x = sites_local(&a.on.stencil, a.on.parity, i);
#pragma unroll 1
    for (int product = 0; product < 3; product++)
      value[0] += kaon_charge_sign(product) *
                  path_charge_product(&a.on.stencil, links_of(a.on), &x, product);
  }
  if (results_finish<SUM>(a.sums, value)) a.on.result[0] = value[0] * KAON_CHARGE_FACTOR;
}

extern "C" void KAON_EXPORT(kaon_links_charge)(const kaon_launch *launch,
                                               const kaon_links_args *args) {
  const observe_call a = observe_call_of(launch, args, 0);
  charge_kernel<<<(unsigned)a.sums.chunks, KAON_THREADS, 0, (cudaStream_t)launch->queue>>>(a);
}

/* tr g(x) U_t(x) at the ends of the lines: the sites from slice t on; none if that slice is on
 * another rank. */
static __global__ void __launch_bounds__(KAON_THREADS)
    polyakov_kernel(const __grid_constant__ observe_call a) {
  double value[RESULTS];
  results_begin<SUM>(value);
#pragma unroll 1
  for (int64_t i = results_first(); i < a.count; i += results_step(a.sums)) {
    const vsites x = sites_local(&a.on.stencil, a.on.parity, a.first + i);
    vsu3 g, u;
    sites_matrix(&a.on.stencil, (const void *const *)a.g, &x, &g);
    sites_link(&a.on.stencil, links_of(a.on), &x, 3, &u);
    const vcomplex trace = su3_trace_of_product(&g, &u);
    value[0] += trace.re;
    value[1] += trace.im;
  }
  if (!results_finish<SUM>(a.sums, value)) return;
  for (int r = 0; r < KAON_POLYAKOV_RESULTS; r++) a.on.result[r] = value[r];
}

extern "C" void KAON_EXPORT(kaon_links_polyakov)(const kaon_launch *launch,
                                                 const kaon_transport_args *args) {
  const int64_t first = sites_of_slice(args->on.stencil, args->on.parity, args->t);
  observe_call a = observe_call_of(launch, &args->on, first);
  for (int p = 0; p < 2; p++) a.g[p] = args->g[p];
  polyakov_kernel<<<(unsigned)a.sums.chunks, KAON_THREADS, 0, (cudaStream_t)launch->queue>>>(a);
}

static __global__ void __launch_bounds__(KAON_THREADS)
    inspect_kernel(const __grid_constant__ observe_call a) {
  double value[RESULTS];
  results_begin<WORST>(value);
#pragma unroll 1
  for (int64_t i = results_first(); i < a.count; i += results_step(a.sums)) {
    const vsites x = sites_local(&a.on.stencil, a.on.parity, i);
#pragma unroll 1
    for (int mu = 0; mu < 4; mu++) {
      vsu3 u;
      sites_link(&a.on.stencil, links_of(a.on), &x, mu, &u);
      kaon_inspect_link(su3_unitarity2(&u), su3_det_deviation2(&u), su3_re_trace_dagger(&u, &u),
                        4.0 * (double)sites_index(&a.on.stencil, a.on.parity, i) + mu, value);
    }
  }
  if (!results_finish<WORST>(a.sums, value)) return;
  a.on.result[0] = sqrt(value[0]);
  a.on.result[1] = sqrt(value[1]);
  a.on.result[2] = value[2];
}

extern "C" void KAON_EXPORT(kaon_links_inspect)(const kaon_launch *launch,
                                                const kaon_links_args *args) {
  const observe_call a = observe_call_of(launch, args, 0);
  inspect_kernel<<<(unsigned)a.sums.chunks, KAON_THREADS, 0, (cudaStream_t)launch->queue>>>(a);
}
