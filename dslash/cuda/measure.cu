/* measure.cu - sources and meson contractions on the GPU (measure_ops.h), with one thread for each
 * site. */
#include "dslash/cuda/kernels.h"
#include "dslash/cuda/site.h"
#include "dslash/measure/source.h"
#include "lib/cuda/memory/site_steps.h"
#include "lib/math/meson.h"

/* The index in the whole lattice of site i, with even sites before odd ones; -1 if it is masked. */
KAON_DEVICE int64_t number_of_site(const kaon_stencil &st, int64_t i) {
  const int parity = i >= st.nblocks * KAON_LANES;
  const int64_t at = i - parity * (st.nblocks * KAON_LANES);
  return at < st.sites[parity] ? sites_index(&st, parity, at) : -1;
}

static __global__ void __launch_bounds__(KAON_THREADS)
    source_kernel(const __grid_constant__ kaon_source_args a,
                  const __grid_constant__ kaon_stencil stencil) {
  const int64_t site = (int64_t)blockIdx.x * KAON_THREADS + threadIdx.x;
  if (site >= a.nblocks * KAON_LANES) return;
  const int64_t number = number_of_site(stencil, site);
#pragma unroll 1
  for (int k = 0; k < a.nrhs; k++) {
    double psi[24];
    vspinor d;
    kaon_source_site(&a, number, k, psi);
#pragma unroll
    for (int i = 0; i < 12; i++) d.s[i / 3][i % 3] = c_make((real)psi[2 * i], (real)psi[2 * i + 1]);
    spinor_store(column_view(a.out, k), (uint32_t)site, a.nrhs, &d);
  }
}

extern "C" void KAON_EXPORT(kaon_source)(const kaon_launch *launch, const kaon_source_args *args) {
  const unsigned blocks =
      (unsigned)((args->nblocks * KAON_LANES + KAON_THREADS - 1) / KAON_THREADS);
  source_kernel<<<blocks, KAON_THREADS, 0, (cudaStream_t)launch->queue>>>(*args, *args->stencil);
}

/* Columns are contracted one by one and added in double. */
static __global__ void __launch_bounds__(KAON_THREADS)
    meson_kernel(const __grid_constant__ kaon_meson_args a) {
  const int64_t site = (int64_t)blockIdx.x * KAON_THREADS + threadIdx.x;
  if (site >= a.nblocks * KAON_LANES) return;
  double density = 0;
#pragma unroll 1
  for (int k = 0; k < 12; k++) {
    vspinor s, pair;
    spinor_load(column_view(a.propagator, k), (uint32_t)site, 12, &s);
    if (a.meson == KAON_MESON_PION) {
      density += (double)meson_pion(s.s);
      continue;
    }
    const int s0 = k / 3;
    spinor_load(column_view(a.propagator, 3 * (s0 ^ 1) + k % 3), (uint32_t)site, 12, &pair);
    density += (double)(meson_rho(s.s, pair.s, s0) * v_set(1.0 / 3));
  }
  a.density[site] = density;
}

extern "C" void KAON_EXPORT(kaon_meson)(const kaon_launch *launch, const kaon_meson_args *args) {
  const unsigned blocks =
      (unsigned)((args->nblocks * KAON_LANES + KAON_THREADS - 1) / KAON_THREADS);
  meson_kernel<<<blocks, KAON_THREADS, 0, (cudaStream_t)launch->queue>>>(*args);
}
