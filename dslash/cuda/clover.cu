/* clover.cu - clover blocks on a spinor, site by site, on the GPU (dslash_ops.h). */
#include "dslash/cuda/kernels.h"
#include "dslash/cuda/site.h"

typedef struct clover_call {
  uint32_t nsites;
  int nrhs;
  const void *clover;
  const float *clover_scale;
  kaon_view in, out;
  kaon_cuda_sums sums;
} clover_call;

static __global__ void __launch_bounds__(KAON_THREADS)
    clover_kernel(const __grid_constant__ clover_call a) {
  const int column = (int)(blockIdx.x / (unsigned)a.sums.chunks);
  const int chunk = (int)(blockIdx.x % (unsigned)a.sums.chunks);
  if (!gate_open(a.sums.gate, column)) return;
  const uint32_t step = (uint32_t)a.sums.chunks * KAON_THREADS;
  const kaon_view none = {NULL, NULL};
  double sum[4] = {0, 0, 0, 0};
  for (uint32_t site = (uint32_t)chunk * KAON_THREADS + threadIdx.x; site < a.nsites;
       site += step) {
    vspinor d;
    spinor_load(a.in, site, a.nrhs, column, &d);
    site_clover(a.clover, a.clover_scale, site, &d);
    spinor_scale(&d, 0.5);
    spinor_store(a.out, site, a.nrhs, column, &d);
    site_sums(a.sums, none, site, a.nrhs, column, &d, sum);
  }
  if (a.sums.sum.state != NULL) sums_finish<2>(a.sums, column, chunk, sum);
}

extern "C" void KAON_EXPORT(kaon_dslash_clover)(const kaon_launch *launch,
                                                const kaon_clover_args *args) {
  clover_call a = {};
  a.nsites = (uint32_t)args->stencil->nsites;
  a.nrhs = args->nrhs;
  a.clover = args->clover;
  a.clover_scale = args->clover_scale;
  a.in = args->in;
  a.out = args->out;
  const int chunks = site_chunks(a.nsites, args->sum.state != NULL);
  a.sums = kaon_cuda_sums_of(launch, &args->gate, &args->sum, chunks);
  a.sums.sum.slot[1] = KAON_NO_SLOT;
  clover_kernel<<<(unsigned)chunks *(unsigned)args->nrhs, KAON_THREADS, 0,
                  (cudaStream_t)launch->queue>>>(a);
}
