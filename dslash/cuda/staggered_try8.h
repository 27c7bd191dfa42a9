/* staggered_try8.h - EXPERIMENT: naive half with links of 8 reals, by KAON_X_R8. */
#ifndef KAON_DSLASH_CUDA_STAGGERED_TRY8_H
#define KAON_DSLASH_CUDA_STAGGERED_TRY8_H

#include <stdlib.h>

#include "dslash/cuda/staggered_kernel.h"

#if KAON_HALF
template <bool I2F>
static __device__ __forceinline__ vcomplex try8_load(const stored *p) {
  if constexpr (!I2F) return c_load(p);
  return c_make((float)p[0], (float)p[1]);
}

/* V, not turned, and whether it is. */
template <bool I2F>
static __device__ __forceinline__ void try8_decode(const stored *p, vcomplex *u, bool turn_link) {
  const vreal one = 32767.0f * 32767.0f;
  vreal y[8];
  for (int i = 0; i < 4; i++) {
    const vcomplex z = try8_load<I2F>(p + 2 * i);
    y[2 * i] = z.re;
    y[2 * i + 1] = z.im;
  }
  vreal s = y[0] * y[0];
  for (int i = 1; i < 5; i++) s = v_fma(y[i], y[i], s);
  vreal r = v_inverse(one + s);
  r = v_select_odd(p, -r, r);
  vreal twice = r * (2 * 32767.0f);
  const vcomplex a0 = c_make(y[0] * twice, y[1] * twice), a1 = c_make(y[2] * twice, y[3] * twice);
  const vcomplex a2 = c_make((one - s) * r, y[4] * twice);
  const vreal n2 = v_fma(a2.re, a2.re, v_fma(a2.im, a2.im, v_fma(a1.re, a1.re, a1.im * a1.im)));
  s = v_fma(y[7], y[7], v_fma(y[6], y[6], y[5] * y[5]));
  r = v_inverse_root(one + s, n2);
  r = v_select_odd(p + 1, -r, r);
  twice = r * (2 * 32767.0f);
  const vcomplex alpha = c_make((one - s) * r, y[5] * twice);
  const vcomplex beta = c_make(y[6] * twice, y[7] * twice);
  const vcomplex t = c_conj_mul(a0, alpha);
  const vcomplex b1 = c_fma(t, a1, c_conj_mul(a2, beta));
  const vcomplex v[6] = {
      a0, a1, a2, c_scale(alpha, n2), c_make(-b1.re, -b1.im), c_fnma(t, a2, c_conj_mul(a1, beta))};
  for (int i = 0; i < 6; i++) {
    const vcomplex turned = v[i / 3 * 3 + (i + 2) % 3];
    u[i].re = turn_link ? v_select_odd(p + 2, v[i].re, turned.re) : v[i].re;
    u[i].im = turn_link ? v_select_odd(p + 2, v[i].im, turned.im) : v[i].im;
  }
  recon_row2(u);
}

/* MODE: 1 link by I2F, 2 chi by I2F, 4 forward hops turn chi and not the link */
template <int DIR, int MODE>
static __device__ __forceinline__ void try8_hop(const staggered_call &a, const staggered_site &s,
                                                const kaon_view &in, vcolour *d) {
  constexpr bool backward = DIR >= 4, chi_turns = !backward && (MODE & 4) != 0;
  int boundary;
  const uint32_t from = hop_from<DIR, false>(a, s.here, &boundary);
  real eta = DIR % 4 == 3 && boundary < 0 ? -s.eta[3] : s.eta[DIR % 4];
  const uint32_t at = DIR < 4 ? (uint32_t)s.here.at : from;
  stored link[8], raw[COLOURS];
  packets_read<8, true>(packet_address<8>(a.fat[DIR], packet_at<8>(at, 1)), link);
  packets_read<COLOURS, false>(packet_address<COLOURS>(in.data, packet_at<COLOURS>(from, a.nrhs)),
                               raw);
  const real factor =
      in.scale[scale_at(from, a.nrhs)] * ((backward ? -eta : eta) * KAON_HALF_STEP);
  vcomplex u[9];
  try8_decode<(MODE & 1) != 0>(link, u, !chi_turns);
  vcolour x, chi;
#pragma unroll
  for (int i = 0; i < 3; i++) x.c[i] = c_scale(try8_load<(MODE & 2) != 0>(raw + 2 * i), factor);
  chi = x;
  if (chi_turns) {
#pragma unroll
    for (int i = 0; i < 3; i++) { /* V_j = U_{j+1} */
      chi.c[i].re = v_select_odd(link + 2, x.c[i].re, x.c[(i + 1) % 3].re);
      chi.c[i].im = v_select_odd(link + 2, x.c[i].im, x.c[(i + 1) % 3].im);
    }
  }
  real numbers[18];
#pragma unroll
  for (int i = 0; i < 9; i++) {
    numbers[2 * i] = u[i].re;
    numbers[2 * i + 1] = u[i].im;
  }
  colour_add_link(numbers, KAON_LINK_BUFFER, backward, &chi, d);
}

template <int MODE, int BLOCKS>
static __global__ void __launch_bounds__(SITE_THREADS, BLOCKS)
    staggered_try8(const __grid_constant__ staggered_call a) {
  kaon_wait_for_previous();
  const uint32_t at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= (uint32_t)a.sites.nsites) return;
  const staggered_site s = site_of(a, kaon_here_of(&a.sites, a.parity, (int32_t)at));
  vcolour d = colour_zero();
  try8_hop<3, MODE>(a, s, a.in, &d);
  try8_hop<7, MODE>(a, s, a.in, &d);
  try8_hop<2, MODE>(a, s, a.in, &d);
  try8_hop<6, MODE>(a, s, a.in, &d);
  try8_hop<1, MODE>(a, s, a.in, &d);
  try8_hop<5, MODE>(a, s, a.in, &d);
  try8_hop<0, MODE>(a, s, a.in, &d);
  try8_hop<4, MODE>(a, s, a.in, &d);
  if (a.overlaps) kaon_let_next_start();
  colour_join(a.fat_factor, &d, 0, a.naik_factor, &d);
  hop_end<false>(a, at, 0, &d, NULL);
}

template <int MODE, int BLOCKS>
static void try8_run(const kaon_launch *launch, const kaon_staggered_args *args) {
  const staggered_call a = call_of(args);
  const int threads = site_threads((uint32_t)a.sites.nsites);
  kaon_cuda_launch(launch, staggered_try8<MODE, BLOCKS>,
                   (unsigned)((a.sites.nsites + threads - 1) / threads), (unsigned)threads, a);
}
#endif

static bool try8(const kaon_launch *launch, const kaon_staggered_args *args) {
  static int way = -1;
  if (way < 0) way = getenv("KAON_X_R8") != NULL ? atoi(getenv("KAON_X_R8")) : 0;
  if (way == 0 || args->nrhs > 1 || args->sum.state != NULL || args->naik.links[0] != NULL)
    return false;
#if KAON_HALF
  switch (way) {
    case 1: try8_run<0, 6>(launch, args); return true;
    case 2: try8_run<0, 5>(launch, args); return true;
    case 3: try8_run<1, 6>(launch, args); return true;
    case 4: try8_run<3, 6>(launch, args); return true;
    case 5: try8_run<4, 6>(launch, args); return true;
    case 6: try8_run<5, 6>(launch, args); return true;
    case 7: try8_run<2, 6>(launch, args); return true;
    case 8: try8_run<5, 5>(launch, args); return true;
    case 9: try8_run<4, 8>(launch, args); return true;
    default: break;
  }
#endif
  return false;
}

#endif
