/* hop_kernel.h - the Wilson hop on the GPU, fused with x-pay, clover blocks and sums
 * (dslash_ops.h). A thread a site; COLUMNS columns of it side by side, for which a link is loaded
 * and rebuilt once. The eight directions add up in registers, t first, since its two hops fill one
 * half of the result each. The dagger only exchanges the projectors (lib/math/spin.h): SIGN = -1.
 * Included by one file for each link storage, which the compiler can take side by side. */
#ifndef KAON_DSLASH_CUDA_HOP_KERNEL_H
#define KAON_DSLASH_CUDA_HOP_KERNEL_H

#include "dslash/cuda/kernels.h"
#include "dslash/cuda/site.h"
#include "lib/math/recon.h"

/* How many columns a thread takes where there are enough. */
enum { COLUMNS_MANY = sizeof(real) == 8 ? 2 : 3 };

typedef struct hop_call {
  kaon_sites sites;
  int parity, nrhs, temporal, clover_on;
  double a, b;
  real factor[4];         /* of a direction's hops: its coefficient, and in t the projector's 2 */
  real rest[4];           /* what rounding took from it, relative to it */
  const stored *links[2]; /* of the result's parity, of the other */
  int64_t link_stride;    /* numbers from one direction's links to the next's */
  const void *clover;
  const float *clover_scale;
  kaon_view in, x, w, out;
  kaon_cuda_sums sums;
} hop_call;

/* How a link is handed to the physics text. */
template <int RECON, int COLUMNS>
static __device__ __forceinline__ constexpr int kind_of() {
  return RECON == 18 && !KAON_HALF    ? (int)KAON_LINK_18
         : RECON != 8 && COLUMNS == 1 ? RECON
                                      : (int)KAON_LINK_BUFFER;
}

template <int RECON, int COLUMNS>
static __device__ __forceinline__ void link_load_site(const hop_call &a, int dir, uint32_t at,
                                                      stored *raw, real *decoded) {
  const int mu = dir & 3;
  const stored *base = a.links[dir >> 2] + mu * a.link_stride + unit_at(at, 1, 0, RECON);
  site_read_once<RECON>(base, lane_at(at), raw);
  if constexpr (kind_of<RECON, COLUMNS>() == KAON_LINK_BUFFER) {
    vcomplex u[9];
    recon_decode(raw, RECON, u);
#pragma unroll
    for (int i = 0; i < 9; i++) {
      decoded[2 * i] = u[i].re;
      decoded[2 * i + 1] = u[i].im;
    }
  }
}

/* h = the projected neighbour with every factor of the hop. */
template <int MU, int S>
static __device__ __forceinline__ void hop_project(const hop_call &a, const raw_spinor &psi,
                                                   real factor, vhalf *h) {
  spin_project(MU, S, psi.c, psi.c + 12, h);
  if (!KAON_HALF && MU != 3 && factor == 1) return;
  const real f = factor * psi.unit, rest = f * a.rest[MU];
#pragma unroll
  for (int i = 0; i < 6; i++) h->s[i / 3][i % 3] = c_scale_split(h->s[i / 3][i % 3], f, rest);
}

/* Adds the hop from direction DIR to every column. */
template <int RECON, int COLUMNS, int DIR, int SIGN>
static __device__ __forceinline__ void hop_direction(const hop_call &a, const kaon_here &here,
                                                     int column, vspinor *d) {
  constexpr int mu = DIR & 3, s = (DIR < 4 ? 1 : -1) * SIGN;
  constexpr int kind = kind_of<RECON, COLUMNS>();
  int sign;
  const uint32_t from = (uint32_t)kaon_neighbour_of(&a.sites, &here, DIR, &sign);
  const bool edge = mu == 3 && here.t == (DIR < 4 ? a.sites.extents[3] - 1 : 0);
  const bool unit = mu == 3 && a.temporal && !edge;
  real factor = sign < 0 ? -a.factor[mu] : a.factor[mu];
  stored raw[RECON];
  real decoded[kind == KAON_LINK_BUFFER ? 18 : 1];
  if (!unit) {
    link_load_site<RECON, COLUMNS>(a, DIR, DIR < 4 ? (uint32_t)here.at : from, raw, decoded);
    if (KAON_HALF && kind != KAON_LINK_BUFFER) factor *= KAON_HALF_STEP;
  }
  const void *u = kind == KAON_LINK_BUFFER ? (const void *)decoded : (const void *)raw;
#pragma unroll
  for (int k = 0; k < COLUMNS; k++) {
    raw_spinor psi;
    vhalf h;
    raw_load(a.in, from, a.nrhs, column + k, &psi);
    hop_project<mu, s>(a, psi, factor, &h);
#pragma unroll
    for (int c = 0; c < 3; c++) {
      vpair g;
      if (unit) {
        g.s[0] = h.s[0][c];
        g.s[1] = h.s[1][c];
      } else {
        g = link_times_half(u, kind, DIR >= 4, c, &h);
      }
      spin_accumulate(mu, s, g, c, &d[k]);
    }
  }
}

template <int RECON, int COLUMNS, int SIGN>
static __device__ __forceinline__ void hop_all(const hop_call &a, const kaon_here &here, int column,
                                               vspinor *d) {
  hop_direction<RECON, COLUMNS, 3, SIGN>(a, here, column, d);
  hop_direction<RECON, COLUMNS, 7, SIGN>(a, here, column, d);
  hop_direction<RECON, COLUMNS, 2, SIGN>(a, here, column, d);
  hop_direction<RECON, COLUMNS, 6, SIGN>(a, here, column, d);
  hop_direction<RECON, COLUMNS, 1, SIGN>(a, here, column, d);
  hop_direction<RECON, COLUMNS, 5, SIGN>(a, here, column, d);
  hop_direction<RECON, COLUMNS, 0, SIGN>(a, here, column, d);
  hop_direction<RECON, COLUMNS, 4, SIGN>(a, here, column, d);
}

/* out = a [C] x + b [C] d, with its sums. */
template <bool CLOVER>
static __device__ __forceinline__ void hop_end(const hop_call &a, uint32_t site, int column,
                                               vspinor *d, double *sum) {
  const bool on_hop = CLOVER && a.clover_on == KAON_CLOVER_ON_HOP;
  const bool on_x = CLOVER && a.clover_on == KAON_CLOVER_ON_X;
  if (on_hop) site_clover(a.clover, a.clover_scale, site, d);
  spinor_scale(d, on_hop ? 0.5 * a.b : a.b);
  if (a.x.data != NULL) {
    vspinor x;
    spinor_load(a.x, site, a.nrhs, column, &x);
    if (on_x) site_clover(a.clover, a.clover_scale, site, &x);
    spinor_add(d, (real)(on_x ? 0.5 * a.a : a.a), &x);
  }
  spinor_store(a.out, site, a.nrhs, column, d);
}

template <int RECON, int COLUMNS, bool CLOVER>
static __global__ void __launch_bounds__(KAON_THREADS)
    hop_kernel(const __grid_constant__ hop_call a, int dagger) {
  const int first = (int)(blockIdx.x / (unsigned)a.sums.chunks) * COLUMNS;
  const int chunk = (int)(blockIdx.x % (unsigned)a.sums.chunks);
  const uint32_t step = (uint32_t)a.sums.chunks * KAON_THREADS;
  bool open[COLUMNS], any = false;
  double sum[COLUMNS][4];
#pragma unroll
  for (int k = 0; k < COLUMNS; k++) {
    open[k] = gate_open(a.sums.gate, first + k);
    any |= open[k];
    sum[k][0] = sum[k][1] = sum[k][2] = sum[k][3] = 0;
  }
  if (!any) return;
  for (uint32_t site = (uint32_t)chunk * KAON_THREADS + threadIdx.x;
       site < (uint32_t)a.sites.nsites; site += step) {
    const kaon_here here = kaon_here_of(&a.sites, a.parity, (int32_t)site);
    vspinor d[COLUMNS];
    if (dagger)
      hop_all<RECON, COLUMNS, -1>(a, here, first, d);
    else
      hop_all<RECON, COLUMNS, 1>(a, here, first, d);
#pragma unroll
    for (int k = 0; k < COLUMNS; k++) {
      if (!open[k]) continue;
      hop_end<CLOVER>(a, site, first + k, &d[k], sum[k]);
      site_sums(a.sums, a.w, site, a.nrhs, first + k, &d[k], sum[k]);
    }
  }
  if (a.sums.sum.state == NULL) return;
#pragma unroll
  for (int k = 0; k < COLUMNS; k++) {
    if (open[k]) sums_finish<2>(a.sums, first + k, chunk, sum[k]);
    __syncthreads();
  }
}

template <int RECON, int COLUMNS, bool CLOVER>
static void run(const kaon_launch *launch, hop_call *a, const kaon_hop_args *args) {
  const int chunks = site_chunks((uint32_t)a->sites.nsites, args->sum.state != NULL);
  a->sums = kaon_cuda_sums_of(launch, &args->gate, &args->sum, chunks);
  if (args->w.data == NULL) a->sums.sum.slot[1] = KAON_NO_SLOT;
  const unsigned blocks = (unsigned)chunks * (unsigned)(args->nrhs / COLUMNS);
  hop_kernel<RECON, COLUMNS, CLOVER>
      <<<blocks, KAON_THREADS, 0, (cudaStream_t)launch->queue>>>(*a, args->dagger);
}

template <int RECON, int COLUMNS>
static void run_clover(const kaon_launch *launch, hop_call *a, const kaon_hop_args *args) {
  if (args->clover_on == KAON_CLOVER_NONE)
    run<RECON, COLUMNS, false>(launch, a, args);
  else
    run<RECON, COLUMNS, true>(launch, a, args);
}

static hop_call call_of(const kaon_hop_args *args) {
  const kaon_stencil *st = args->stencil;
  hop_call a = {};
  a.sites = kaon_sites_of(st);
  a.parity = args->parity;
  a.nrhs = args->nrhs;
  a.temporal = st->temporal;
  a.clover_on = args->clover_on;
  a.a = args->a;
  a.b = args->b;
  for (int mu = 0; mu < 4; mu++) {
    const double f = args->coefficient[mu] * (mu == 3 ? 2 : 1);
    a.factor[mu] = (real)f;
    a.rest[mu] = (real)((f - (double)(real)f) / f);
  }
  a.links[0] = (const stored *)args->links[args->parity];
  a.links[1] = (const stored *)args->links[1 - args->parity];
  a.link_stride = kaon_link_blocks(st->nblocks) * args->recon * KAON_LANES;
  a.clover = args->clover;
  a.clover_scale = args->clover_scale;
  a.in = args->in;
  a.x = args->x;
  a.w = args->w;
  a.out = args->out;
  return a;
}

template <int RECON>
static void run_recon(const kaon_launch *launch, const kaon_hop_args *args) {
  hop_call a = call_of(args);
  if (args->nrhs % COLUMNS_MANY == 0)
    run_clover<RECON, COLUMNS_MANY>(launch, &a, args);
  else
    run_clover<RECON, 1>(launch, &a, args);
}

#endif
