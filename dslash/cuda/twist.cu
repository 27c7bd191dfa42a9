/* twist.cu - the site term of twisted mass on a spinor, site by site, on the GPU (dslash_ops.h). */
#include "dslash/cuda/kernels.h"
#include "dslash/cuda/site.h"

typedef struct twist_call {
  uint32_t nsites;
  int nrhs, overlaps;
  double a, p, q;
  const void *term, *after;
  const float *term_scale, *after_scale;
  kaon_view in, x, w, out;
  kaon_cuda_sums sums;
} twist_call;

KAON_DEVICE void twist_site(const twist_call &a, int column, uint32_t site, vspinor *d) {
  vspinor in;
  spinor_load(column_view(a.in, column), site, a.nrhs, &in);
  *d = in;
  if (a.term != NULL) site_clover(a.term, a.term_scale, site, d);
  spinor_scale(d, a.term != NULL ? 0.5 * a.p : a.p);
  twist_spinor(d, a.q, &in);
  if (a.after != NULL) {
    site_clover(a.after, a.after_scale, site, d);
    spinor_scale(d, 0.5);
  }
  if (a.x.data == NULL) return;
  vspinor x;
  spinor_load(column_view(a.x, column), site, a.nrhs, &x);
  spinor_add(d, (real)a.a, &x);
}

static __global__ void __launch_bounds__(SITE_THREADS)
    twist_kernel(const __grid_constant__ twist_call a) {
  const unsigned columns = gridDim.x / (unsigned)a.sums.chunks;
  const int column = (int)(blockIdx.x % columns), chunk = (int)(blockIdx.x / columns);
  __shared__ site_room room;
  kaon_wait_for_previous();
  if (!gate_open(a.sums.gate, column)) return;
  site_sums_begin(a.sums, room);
  const uint32_t step = (uint32_t)a.sums.chunks * blockDim.x;
  for (uint32_t site = (uint32_t)chunk * blockDim.x + threadIdx.x; site < a.nsites; site += step) {
    vspinor d;
    twist_site(a, column, site, &d);
    if (a.overlaps) kaon_let_next_start();
    spinor_store(column_view(a.out, column), site, a.nrhs, &d);
    site_sums(a.sums, a.w.data == NULL ? a.w : column_view(a.w, column), site, a.nrhs, &d, room);
  }
  if (a.sums.sum.state != NULL) site_sums_finish(a.sums, column, chunk, room);
}

extern "C" void KAON_EXPORT(kaon_dslash_twist)(const kaon_launch *launch,
                                               const kaon_twist_args *args) {
  twist_call a = {};
  a.nsites = (uint32_t)args->stencil->sites[args->parity];
  a.nrhs = args->nrhs;
  a.overlaps = site_overlaps(a.nsites);
  a.a = args->a;
  a.p = args->p;
  a.q = args->q;
  a.term = args->term;
  a.term_scale = args->term_scale;
  a.after = args->after;
  a.after_scale = args->after_scale;
  a.in = args->in;
  a.x = args->x;
  a.w = args->w;
  a.out = args->out;
  const int threads = site_threads(a.nsites);
  const int chunks = site_chunks(a.nsites, threads, args->sum.state != NULL);
  a.sums = kaon_cuda_sums_of(launch, &args->gate, &args->sum, chunks);
  if (args->w.data == NULL) a.sums.sum.slot[1] = KAON_NO_SLOT;
  kaon_cuda_launch(launch, twist_kernel, (unsigned)(chunks * args->nrhs), (unsigned)threads, a);
}
