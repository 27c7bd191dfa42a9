/* clover.cu - clover blocks on a spinor, site by site, on the GPU (dslash_ops.h). */
#include "dslash/cuda/kernels.h"
#include "dslash/cuda/site.h"

typedef struct clover_call {
  uint32_t nsites;
  int nrhs, overlaps;
  const void *clover;
  const float *clover_scale;
  kaon_view in, out;
  kaon_cuda_sums sums;
} clover_call;

static __global__ void __launch_bounds__(SITE_THREADS)
    clover_kernel(const __grid_constant__ clover_call a) {
  const unsigned columns = gridDim.x / (unsigned)a.sums.chunks;
  const int column = (int)(blockIdx.x % columns), chunk = (int)(blockIdx.x / columns);
  const kaon_view none = {NULL, NULL};
  __shared__ site_room room;
  kaon_wait_for_previous();
  if (!gate_open(a.sums.gate, column)) return;
  site_sums_begin(a.sums, room);
  const uint32_t step = (uint32_t)a.sums.chunks * blockDim.x;
  for (uint32_t site = (uint32_t)chunk * blockDim.x + threadIdx.x; site < a.nsites; site += step) {
    vspinor d;
    spinor_load(column_view(a.in, column), site, a.nrhs, &d);
    site_clover(a.clover, a.clover_scale, site, &d);
    if (a.overlaps) kaon_let_next_start();
    spinor_scale(&d, 0.5);
    spinor_store(column_view(a.out, column), site, a.nrhs, &d);
    site_sums(a.sums, none, site, a.nrhs, &d, room);
  }
  if (a.sums.sum.state != NULL) site_sums_finish(a.sums, column, chunk, room);
}

extern "C" void KAON_EXPORT(kaon_dslash_clover)(const kaon_launch *launch,
                                                const kaon_kernel_choice *choice,
                                                const kaon_clover_args *args) {
  clover_call a = {};
  a.nsites = (uint32_t)args->stencil->sites[args->parity];
  a.nrhs = args->nrhs;
  a.overlaps = site_overlaps(a.nsites);
  a.clover = args->clover;
  a.clover_scale = args->clover_scale;
  a.in = args->in;
  a.out = args->out;
  const int threads = choice->threads;
  const int chunks = site_chunks(a.nsites, threads, args->sum.state != NULL);
  a.sums = kaon_cuda_sums_of(launch, &args->gate, &args->sum, chunks);
  a.sums.sum.slot[1] = KAON_NO_SLOT;
  kaon_cuda_launch(launch, clover_kernel, (unsigned)(chunks * args->nrhs), (unsigned)threads, a);
}
