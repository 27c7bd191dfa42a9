/* rotate.cu - applies a gauge transformation to spinors on the GPU (gauge_ops.h). A thread handles
 * a site and uses its matrix for all columns. Masked lanes take part; their matrices are zero. */
#include "gauge/cuda/kernels.h"
#include "lib/core/kernel.h"
#include "lib/cuda/memory/access.h"
#include "lib/cuda/reduction/quantise.h"
#include "lib/cuda/reduction/reduce.h"
#include "lib/math/su3_matrix.h"

enum { ROTATE_THREADS = 128, SPINOR = 24 };

KAON_DEVICE void rotate_column(const kaon_rotate_args &a, const vsu3 *g, int64_t unit, int lane) {
  stored q[SPINOR];
  vcomplex v[4][3];
  real *value = (real *)v;
  site_read<stored, SPINOR>((const stored *)a.in.data + unit * SPINOR * KAON_LANES, lane, q);
#if KAON_IS_HALF
  const float step = kaon_half_unit(a.in.scale[unit * KAON_LANES + lane]);
#else
  const real step = 1;
#endif
#pragma unroll
  for (int c = 0; c < SPINOR; c++) value[c] = KAON_IS_HALF ? q[c] * step : (real)q[c];
#pragma unroll
  for (int s = 0; s < 4; s++) {
    if (a.dagger)
      su3_rotate(g, 1, v[s]);
    else
      su3_rotate(g, 0, v[s]);
  }
  stored *to = (stored *)a.out.data + unit * SPINOR * KAON_LANES;
#if KAON_IS_HALF
  a.out.scale[unit * KAON_LANES + lane] = quantise_site<SPINOR>(value, q);
  site_write<stored, SPINOR>(to, lane, q);
#else
  site_write<stored, SPINOR>(to, lane, value);
#endif
}

static __global__ void __launch_bounds__(ROTATE_THREADS)
    rotate_kernel(const __grid_constant__ kaon_rotate_args a) {
  const int64_t i = (int64_t)blockIdx.x * ROTATE_THREADS + threadIdx.x, block = i / KAON_LANES;
  const int lane = (int)(i % KAON_LANES);
  if (block >= a.nblocks) return;
  vsu3 g;
  site_read<real, 18>((const real *)a.g + block * 18 * KAON_LANES, lane, (real *)&g);
#pragma unroll 1
  for (int k = 0; k < a.nrhs; k++)
    if (inner_gate_open(a.gate, k)) rotate_column(a, &g, block * a.nrhs + k, lane);
}

extern "C" void KAON_EXPORT(kaon_links_rotate)(const kaon_launch *launch,
                                               const kaon_rotate_args *a) {
  const unsigned blocks =
      (unsigned)((a->nblocks * KAON_LANES + ROTATE_THREADS - 1) / ROTATE_THREADS);
  rotate_kernel<<<blocks, ROTATE_THREADS, 0, (cudaStream_t)launch->queue>>>(*a);
}
