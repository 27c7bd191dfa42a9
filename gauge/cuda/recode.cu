/* recode.cu - converts links and clover blocks from double to the storage of the other tables and
 * back, on the GPU (gauge_ops.h). A thread handles a matrix, including masked lanes and unused
 * blocks. Storage of links: lib/math/recon.h; of clover blocks in half: lib/math/half.h. */
#include "gauge/cuda/kernels.h"
#include "lib/core/kernel.h"
#include "lib/cuda/memory/access.h"
#include "lib/cuda/reduction/quantise.h"
#include "lib/math/recon.h"

enum { THREADS = 128, CLOVER = KAON_CLOVER_REALS };

static inline unsigned blocks_of(int64_t count) {
  return (unsigned)((count + THREADS - 1) / THREADS);
}

/* 1: the lane of a block of matrices holds a site. */
KAON_DEVICE bool holds_site(const kaon_recode_args &a, int64_t block, int lane) {
  const int64_t at = block % a.stride;
  const int tail = a.tail_lanes[block >= a.stride * a.matrices ? 1 : 0];
  return at < a.nblocks - 1 || (at == a.nblocks - 1 && lane < tail);
}

/* Masked lanes get zeros, which every kernel decodes to finite values. */
template <int RECON>
static __global__ void __launch_bounds__(THREADS)
    encode_kernel(const __grid_constant__ kaon_recode_args a) {
  const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x, block = i / KAON_LANES;
  const int lane = (int)(i % KAON_LANES);
  if (block >= 2 * a.stride * a.matrices) return;
  double u[18];
  stored v[RECON];
  site_read<double, 18>((const double *)a.wide + block * 18 * KAON_LANES, lane, u);
  if (RECON == 8) {
#pragma unroll
    for (int c = 0; c < RECON; c++) v[c] = 0;
    if (holds_site(a, block, lane)) recon_encode8(u, v, 1);
  } else {
#pragma unroll
    for (int c = 0; c < RECON; c++) v[c] = recon_plain(u[c]);
  }
  site_write<stored, RECON>((stored *)a.narrow + block * RECON * KAON_LANES, lane, v);
}

/* Masked lanes become zeros again, because sums over links rely on that. */
template <int RECON>
static __global__ void __launch_bounds__(THREADS)
    decode_kernel(const __grid_constant__ kaon_recode_args a) {
  const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x, block = i / KAON_LANES;
  const int lane = (int)(i % KAON_LANES);
  if (block >= 2 * a.stride * a.matrices) return;
  double wide[18];
  stored v[RECON];
  vcomplex u[9];
  site_read<stored, RECON>((const stored *)a.narrow + block * RECON * KAON_LANES, lane, v);
  recon_decode(v, RECON, u);
  const bool keep = holds_site(a, block, lane);
#pragma unroll
  for (int c = 0; c < 18; c++)
    wide[c] = !keep ? 0 : c % 2 ? (double)u[c / 2].im : (double)u[c / 2].re;
  site_write<double, 18>((double *)a.wide + block * 18 * KAON_LANES, lane, wide);
}

#define ENTRY(entry)                                                             \
  extern "C" void KAON_EXPORT(kaon_links_##entry)(const kaon_launch *launch,     \
                                                  const kaon_recode_args *a) {   \
    const unsigned blocks = blocks_of(2 * a->stride * a->matrices * KAON_LANES); \
    const cudaStream_t stream = (cudaStream_t)launch->queue;                     \
    if (a->recon == 8)                                                           \
      entry##_kernel<8><<<blocks, THREADS, 0, stream>>>(*a);                     \
    else if (a->recon == 12)                                                     \
      entry##_kernel<12><<<blocks, THREADS, 0, stream>>>(*a);                    \
    else                                                                         \
      entry##_kernel<18><<<blocks, THREADS, 0, stream>>>(*a);                    \
  }
ENTRY(encode)
ENTRY(decode)

static __global__ void __launch_bounds__(THREADS)
    clover_store_kernel(const __grid_constant__ kaon_clover_store_args a) {
  const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x, block = i / KAON_LANES;
  const int lane = (int)(i % KAON_LANES);
  if (block >= a.nblocks) return;
  double wide[CLOVER];
  real value[CLOVER];
  site_read<double, CLOVER>(a.wide + block * CLOVER * KAON_LANES, lane, wide);
#pragma unroll
  for (int c = 0; c < CLOVER; c++) value[c] = (real)wide[c];
  stored *to = (stored *)a.narrow + block * CLOVER * KAON_LANES;
#if KAON_IS_HALF
  stored q[CLOVER];
  float scale[2];
#pragma unroll
  for (int chirality = 0; chirality < 2; chirality++)
    scale[chirality] =
        quantise_site<CLOVER / 2>(value + chirality * CLOVER / 2, q + chirality * CLOVER / 2);
  site_write<float, 2>(a.scale + block * 2 * KAON_LANES, lane, scale);
  site_write<stored, CLOVER>(to, lane, q);
#else
  site_write<stored, CLOVER>(to, lane, value);
#endif
}

extern "C" void KAON_EXPORT(kaon_links_clover_store)(const kaon_launch *launch,
                                                     const kaon_clover_store_args *a) {
  clover_store_kernel<<<blocks_of(a->nblocks * KAON_LANES), THREADS, 0,
                        (cudaStream_t)launch->queue>>>(*a);
}
