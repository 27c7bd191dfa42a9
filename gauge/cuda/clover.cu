/* clover.cu - clover blocks from links, their inverse and their square, on the GPU (gauge_ops.h). A thread
 * handles a site. Masked lanes get the unit block. */
#include "gauge/cuda/links.h"
#include "gauge/cuda/results.h"
#include "lib/math/clover_block.h"

enum { CLOVER = KAON_CLOVER_REALS };

typedef struct term_call {
  links_call on;
  double coefficient, electric;
  double *blocks;
} term_call;

static __global__ void __launch_bounds__(KAON_LINK_THREADS)
    term_kernel(const __grid_constant__ term_call a) {
  const int64_t i = link_thread();
  const kaon_stencil *st = &a.on.stencil;
  if (i >= st->nblocks * KAON_LANES) return;
  vsu3 b[3], e[3];
  double block[CLOVER];
  if (i < st->sites[a.on.parity]) {
    const vsites x = sites_local(st, a.on.parity, i);
    clover_fields(st, links_of(a.on), &x, b, e);
  } else {
    for (int k = 0; k < 3; k++) su3_zero(&b[k]), su3_zero(&e[k]);
  }
  clover_store_chirality(b, e, a.electric, a.coefficient, block);
  clover_store_chirality(b, e, -a.electric, a.coefficient, block + CLOVER / 2);
  site_write<double, CLOVER>(sites_block(a.blocks, (unsigned)i, CLOVER), (int)(i % KAON_LANES),
                             block);
}

extern "C" void KAON_EXPORT(kaon_links_clover_term)(const kaon_launch *launch,
                                                    const kaon_clover_term_args *args) {
  term_call a = {};
  a.on = links_call_of(&args->on);
  a.coefficient = args->coefficient;
  a.electric = args->electric;
  a.blocks = args->blocks;
  term_kernel<<<link_blocks(a.on.stencil.nblocks * KAON_LANES), KAON_LINK_THREADS, 0,
                (cudaStream_t)launch->queue>>>(a);
}

typedef struct invert_call {
  int64_t lanes, nsites;
  double *blocks;
  double *result;
  kaon_cuda_sums sums;
} invert_call;

KAON_DEVICE void invert_block(const invert_call &a, int64_t i, int chirality, double *value) {
  const int64_t first = (i / KAON_LANES * CLOVER + chirality * CLOVER / 2) * KAON_LANES;
  const int lane = (int)(i % KAON_LANES);
  double packed[CLOVER / 2];
  site_read<double, CLOVER / 2>(a.blocks + first, lane, packed);
  if (i < a.nsites) {
    double pivots[6], sign, log_det = 0;
    const double ratio = block_invert(packed, packed, pivots, &sign);
    for (int c = 0; c < 6; c++) log_det += log(pivots[c]);
    value[0] += log_det;
    value[3] += sign < 0;
    keep_pivot(ratio, (double)i, value);
  }
  site_write<double, CLOVER / 2>(a.blocks + first, lane, packed);
}

static __global__ void __launch_bounds__(KAON_THREADS)
    invert_kernel(const __grid_constant__ invert_call a) {
  double value[RESULTS];
  results_begin<PIVOT>(value);
#pragma unroll 1
  for (int64_t i = results_first(); i < 2 * a.lanes; i += results_step(a.sums))
    invert_block(a, i % a.lanes, i >= a.lanes, value);
  if (!results_finish<PIVOT>(a.sums, value)) return;
  for (int r = 0; r < KAON_INVERT_RESULTS; r++) a.result[r] = value[r];
}

extern "C" void KAON_EXPORT(kaon_links_clover_invert)(const kaon_launch *launch,
                                                      const kaon_clover_invert_args *args) {
  invert_call a = {};
  a.lanes = args->stencil->nblocks * KAON_LANES;
  a.nsites = args->stencil->sites[args->parity];
  a.blocks = args->blocks;
  a.result = args->result;
  a.sums = results_of(launch, 2 * a.lanes);
  invert_kernel<<<(unsigned)a.sums.chunks, KAON_THREADS, 0, (cudaStream_t)launch->queue>>>(a);
}

static __global__ void __launch_bounds__(KAON_THREADS)
    square_kernel(int64_t lanes, double shift, double *blocks) {
  const int64_t i = (int64_t)blockIdx.x * KAON_THREADS + threadIdx.x;
  if (i >= 2 * lanes) return;
  const int64_t site = i % lanes, chirality = i / lanes;
  double *first = blocks + (site / KAON_LANES * CLOVER + chirality * CLOVER / 2) * KAON_LANES;
  const int lane = (int)(site % KAON_LANES);
  double packed[CLOVER / 2];
  site_read<double, CLOVER / 2>(first, lane, packed);
  block_square(packed, shift, packed);
  site_write<double, CLOVER / 2>(first, lane, packed);
}

extern "C" void KAON_EXPORT(kaon_links_clover_square)(const kaon_launch *launch,
                                                      const kaon_clover_square_args *args) {
  const int64_t lanes = args->stencil->nblocks * KAON_LANES;
  square_kernel<<<(unsigned)((2 * lanes + KAON_THREADS - 1) / KAON_THREADS), KAON_THREADS, 0,
                  (cudaStream_t)launch->queue>>>(lanes, args->shift, args->blocks);
}
