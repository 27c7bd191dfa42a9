/* fatten.cu - fat and long links and their unitarisation on the GPU (gauge_ops.h). A thread handles
 * a site. Blocks of the two parities alternate, so that what they read of each other is in the
 * cache.
 *
 * Memory traffic of the levels, in matrices a site: for each mu STAPLES reads 4 and writes 3,
 * SECOND_STAPLES reads 7 and writes 3, LINK reads 7 and writes 1. Two lines read 3 and write 2 in
 * all. With long links that is 120 matrices, of 72 bytes in single. */
#include "gauge/cuda/links.h"
#include "gauge/cuda/results.h"
#include "lib/math/link_fatten.h"
#include "lib/math/unitary.h"

typedef struct stage_call {
  kaon_stencil stencil;
  int mu;
  kaon_fat_factors factors;
  const void *links[2], *from[2];
  void *to[2];
} stage_call;

/* Blocks of threads for both parities. */
static inline unsigned pair_blocks(const kaon_stencil *st) {
  return 2 * link_blocks(st->nsites);
}

KAON_DEVICE int pair_parity(void) {
  return (int)(blockIdx.x & 1);
}

KAON_DEVICE int64_t pair_site(void) {
  return (int64_t)(blockIdx.x >> 1) * KAON_LINK_THREADS + threadIdx.x;
}

KAON_DEVICE void *pick(void *const field[2], int parity) {
  return parity ? field[1] : field[0];
}

template <int STAGE>
static __global__ void __launch_bounds__(KAON_LINK_THREADS)
    stage_kernel(const __grid_constant__ stage_call a) {
  const kaon_stencil *st = &a.stencil;
  const int parity = pair_parity();
  const int64_t i = pair_site();
  if (i >= st->sites[parity]) return;
  const vsites x = sites_local(st, parity, i);
  vsu3 u;
  if (STAGE == KAON_FATTEN_LINK) {
    fat_link(st, a.links, a.from, &a.factors, &x, a.mu, &u);
    sites_store_link(st, pick(a.to, parity), i, a.mu, &u);
  } else {
#pragma unroll 1
    for (int b = 0; b < 4; b++) {
      if (b == a.mu) continue;
      if (STAGE == KAON_FATTEN_STAPLES)
        fat_staples(st, a.links, &x, a.mu, b, &u);
      else
        fat_second_staples(st, a.links, a.from, &a.factors, &x, a.mu, b, &u);
      sites_store_link(st, pick(a.to, parity), i, b, &u);
    }
  }
}

extern "C" void KAON_EXPORT(kaon_links_fatten)(const kaon_launch *launch,
                                               const kaon_fatten_args *args) {
  stage_call a = {};
  a.stencil = *args->stencil;
  a.mu = args->mu;
  a.factors = args->factors;
  for (int p = 0; p < 2; p++) {
    a.links[p] = args->links[p];
    a.from[p] = args->from[p];
    a.to[p] = args->to[p];
  }
  const unsigned blocks = pair_blocks(args->stencil);
  const cudaStream_t stream = (cudaStream_t)launch->queue;
  if (args->stage == KAON_FATTEN_STAPLES)
    stage_kernel<KAON_FATTEN_STAPLES><<<blocks, KAON_LINK_THREADS, 0, stream>>>(a);
  else if (args->stage == KAON_FATTEN_SECOND_STAPLES)
    stage_kernel<KAON_FATTEN_SECOND_STAPLES><<<blocks, KAON_LINK_THREADS, 0, stream>>>(a);
  else
    stage_kernel<KAON_FATTEN_LINK><<<blocks, KAON_LINK_THREADS, 0, stream>>>(a);
}

typedef struct line_call {
  kaon_stencil stencil;
  double factor;
  const void *left[2], *right[2];
  void *to[2];
} line_call;

static __global__ void __launch_bounds__(KAON_LINK_THREADS)
    line_kernel(const __grid_constant__ line_call a) {
  const kaon_stencil *st = &a.stencil;
  const int parity = pair_parity(), mu = blockIdx.y;
  const int64_t i = pair_site();
  if (i >= st->sites[parity]) return;
  const vsites x = sites_local(st, parity, i);
  vsu3 u;
  fat_line(st, a.left, a.right, v_set(a.factor), &x, mu, &u);
  sites_store_link(st, pick(a.to, parity), i, mu, &u);
}

extern "C" void KAON_EXPORT(kaon_links_line)(const kaon_launch *launch,
                                             const kaon_line_args *args) {
  line_call a = {};
  a.stencil = *args->stencil;
  a.factor = args->factor;
  for (int p = 0; p < 2; p++) {
    a.left[p] = args->left[p];
    a.right[p] = args->right[p];
    a.to[p] = args->to[p];
  }
  const dim3 blocks(pair_blocks(args->stencil), 4);
  line_kernel<<<blocks, KAON_LINK_THREADS, 0, (cudaStream_t)launch->queue>>>(a);
}

typedef struct unitarise_call {
  kaon_stencil stencil;
  kaon_unitary_limits limits;
  void *links[2];
  int64_t lanes; /* of one parity and direction, including masked ones: a warp is a block */
  double *result;
  kaon_cuda_sums sums;
} unitarise_call;

/* Unitarises the link of lane i of the parity. */
KAON_DEVICE void unitarise_link(const unitarise_call &a, int parity, int mu, int64_t i,
                                double *value) {
  const kaon_stencil *st = &a.stencil;
  const int lane = (int)(i % KAON_LANES);
  real *block = sites_link_block(st, pick(a.links, parity), (unsigned)i, mu), u[18];
  double v[18];
  int fallback = 0;
  site_read<real, 18>(block, lane, u);
#pragma unroll
  for (int c = 0; c < 18; c++) v[c] = (double)u[c];
  const double det = unitary_project(&a.limits, v, &fallback);
#pragma unroll
  for (int c = 0; c < 18; c++) u[c] = (real)v[c];
  site_write<real, 18>(block, lane, u);
  value[0] += fallback;
  value[3] += !isfinite(det);
  if (det == det) keep_pivot(det, 4.0 * (double)sites_index(st, parity, i) + mu, value);
}

static __global__ void __launch_bounds__(KAON_THREADS)
    unitarise_kernel(const __grid_constant__ unitarise_call a) {
  double value[RESULTS];
  results_begin<PIVOT>(value);
#pragma unroll 1
  for (int64_t n = results_first(); n < 8 * a.lanes; n += results_step(a.sums)) {
    const int64_t i = n % a.lanes;
    const int which = (int)(n / a.lanes);
    if (i < a.stencil.sites[which / 4]) unitarise_link(a, which / 4, which % 4, i, value);
  }
  if (!results_finish<PIVOT>(a.sums, value)) return;
  for (int r = 0; r < KAON_UNITARISE_RESULTS; r++) a.result[r] = value[r];
}

extern "C" void KAON_EXPORT(kaon_links_unitarise)(const kaon_launch *launch,
                                                  const kaon_unitarise_args *args) {
  unitarise_call a = {};
  a.stencil = *args->stencil;
  a.limits = args->limits;
  for (int p = 0; p < 2; p++) a.links[p] = args->links[p];
  a.lanes = args->stencil->nblocks * KAON_LANES;
  a.result = args->result;
  a.sums = results_of(launch, 8 * a.lanes);
  unitarise_kernel<<<(unsigned)a.sums.chunks, KAON_THREADS, 0, (cudaStream_t)launch->queue>>>(a);
}
