/* domain.cu - work by Schwarz domains on the GPU (blas/domain_ops.h). As on the CPU a step of
 * minimal residual has three passes: the products of each site, written to `work`; the sums and
 * step lengths of the domains (one block of threads for each); the update, with the step length of
 * each site's domain. A thread handles a site. Spinors are held in registers; sites of other sizes
 * are processed component by component. */
#include "blas/cuda/unit.h"
#include "lib/math/steps/domain_step.h"

typedef struct domain_call {
  kaon_domain_args a;
  double *alpha; /* [(domain * nrhs + column) * 2] */
  int pack;
} domain_call;

/* A thread's site. */
typedef struct place {
  int64_t site, unit;
  int lane, column;
} place;

KAON_DEVICE bool place_of(const domain_call &c, place *p) {
  p->site = (int64_t)blockIdx.x * KAON_THREADS + threadIdx.x;
  p->column = (int)blockIdx.y;
  p->lane = (int)(p->site % KAON_LANES);
  p->unit = p->site / KAON_LANES * c.a.shape.nrhs + p->column;
  return p->site < c.a.shape.nblocks * KAON_LANES && gate_open(c.a.gate, p->column);
}

KAON_DEVICE stored *base_of(const domain_call &c, const kaon_view &v, const place &p) {
  return (stored *)v.data + p.unit * c.a.shape.ncomp * KAON_LANES;
}

/* The factor from the integers of half to values. */
KAON_DEVICE real unit_of_site(const kaon_view &v, const place &p) {
#if KAON_IS_HALF
  return kaon_half_unit(v.scale[p.unit * KAON_LANES + p.lane]);
#else
  (void)v, (void)p;
  return 1;
#endif
}

/* The values of a site. NCOMP = 0: any number of components, each read from memory. */
template <int NCOMP>
struct site_values {
  stored value[NCOMP > 0 ? NCOMP : 1];
  const stored *base;
  int lane, pack;
  __device__ __forceinline__ void open(const domain_call &c, const kaon_view &v, const place &p) {
    base = base_of(c, v, p);
    lane = p.lane;
    pack = c.pack;
    if constexpr (NCOMP > 0) site_read<stored, NCOMP>(base, lane, value);
  }
  __device__ __forceinline__ real at(int i) const {
    if constexpr (NCOMP > 0) return (real)value[i];
    return (real)base[site_offset(i, lane, pack)];
  }
};

template <int NCOMP>
static __global__ void __launch_bounds__(KAON_THREADS) products_kernel(domain_call c) {
  place p;
  if (!place_of(c, &p)) return;
  const int ncomp = NCOMP > 0 ? NCOMP : c.a.shape.ncomp;
  site_values<NCOMP> q, r;
  q.open(c, c.a.q, p);
  r.open(c, c.a.r, p);
  double norm = 0, re = 0, im = 0;
#pragma unroll
  for (int i = 0; i < ncomp; i++) {
    const double x = (double)q.at(i);
    norm = fma(x, x, norm);
    re = fma(x, (double)r.at(i), re);
    if (!c.a.shape.complex_space) continue;
    im = i % 2 == 0 ? fma(x, (double)r.at(i + 1), im) : fma(-x, (double)r.at(i - 1), im);
  }
  const double uq = (double)unit_of_site(c.a.q, p), ur = (double)unit_of_site(c.a.r, p);
  double *to = c.a.work + p.unit * KAON_DOMAIN_WORK * KAON_LANES + p.lane;
  to[0] = norm * uq * uq;
  to[KAON_LANES] = re * uq * ur;
  to[2 * KAON_LANES] = im * uq * ur;
}

static __global__ void __launch_bounds__(KAON_THREADS) steps_kernel(domain_call c) {
  __shared__ double warps[KAON_DOMAIN_WORK][KAON_WARPS];
  const int domain = (int)blockIdx.x, column = (int)blockIdx.y, nrhs = c.a.shape.nrhs;
  if (!gate_open(c.a.gate, column)) return;
  double sum[KAON_DOMAIN_WORK] = {0, 0, 0};
  const int64_t end = c.a.domains.first[domain + 1];
  for (int64_t i = c.a.domains.first[domain] + threadIdx.x; i < end; i += KAON_THREADS) {
    const int32_t site = c.a.domains.list[i];
    const int64_t unit = (int64_t)(site / KAON_LANES) * nrhs + column;
    const double *from = c.a.work + unit * KAON_DOMAIN_WORK * KAON_LANES + site % KAON_LANES;
    for (int v = 0; v < KAON_DOMAIN_WORK; v++) sum[v] += from[v * KAON_LANES];
  }
  for (int v = 0; v < KAON_DOMAIN_WORK; v++) {
    const double x = warp_sum(sum[v]);
    if (threadIdx.x % 32 == 0) warps[v][threadIdx.x / 32] = x;
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int v = 0; v < KAON_DOMAIN_WORK; v++) {
    sum[v] = 0;
    for (int w = 0; w < KAON_WARPS; w++) sum[v] += warps[v][w];
  }
  kaon_domain_length(c.a.relaxation, sum[0], sum[1], sum[2],
                     c.alpha + ((int64_t)domain * nrhs + column) * 2);
}

/* Components i and i + 1 of x + a r and r - a q. In a real space a is real. */
template <int NCOMP>
KAON_DEVICE void updated(const site_values<NCOMP> &x, const site_values<NCOMP> &r,
                         const site_values<NCOMP> &q, const real unit[3], vcomplex a, int i,
                         bool pair, vcomplex *sum, vcomplex *rest, bool fresh) {
  const vcomplex zero = c_make(0, 0);
  const vcomplex old = c_make(r.at(i) * unit[1], pair ? r.at(i + 1) * unit[1] : 0);
  const vcomplex image = c_make(q.at(i) * unit[2], pair ? q.at(i + 1) * unit[2] : 0);
  const vcomplex was = fresh ? zero : c_make(x.at(i) * unit[0], pair ? x.at(i + 1) * unit[0] : 0);
  domain_pair(a, was, old, image, sum, rest);
}

KAON_DEVICE vcomplex step_of(const domain_call &c, const place &p) {
  const int64_t domain = c.a.domains.domain[p.site];
  if (domain < 0) return c_make(0, 0);
  const double *alpha = c.alpha + (domain * c.a.shape.nrhs + p.column) * 2;
  return c_make((real)alpha[0], (real)alpha[1]);
}

/* Writes a spinor whose values are all known. */
KAON_DEVICE void write_spinor(const domain_call &c, const kaon_view &v, const place &p,
                              const real *value) {
#if KAON_IS_HALF
  stored integers[SPINOR];
  v.scale[p.unit * KAON_LANES + p.lane] = quantise_site<SPINOR>(value, integers);
  site_write<stored, SPINOR>(base_of(c, v, p), p.lane, integers);
#else
  site_write<stored, SPINOR>(base_of(c, v, p), p.lane, value);
#endif
}

static __global__ void __launch_bounds__(KAON_THREADS) update_spinors_kernel(domain_call c) {
  place p;
  if (!place_of(c, &p)) return;
  const vcomplex a = step_of(c, p);
  site_values<SPINOR> x, r, q;
  if (!c.a.fresh) x.open(c, c.a.x, p);
  r.open(c, c.a.r, p);
  q.open(c, c.a.q, p);
  const real unit[3] = {c.a.fresh ? 0 : unit_of_site(c.a.x, p), unit_of_site(c.a.r, p),
                        unit_of_site(c.a.q, p)};
  real sums[SPINOR], rests[SPINOR];
#pragma unroll
  for (int i = 0; i < SPINOR; i += 2) {
    vcomplex sum, rest;
    updated(x, r, q, unit, a, i, true, &sum, &rest, c.a.fresh != 0);
    sums[i] = sum.re;
    sums[i + 1] = sum.im;
    rests[i] = rest.re;
    rests[i + 1] = rest.im;
  }
  write_spinor(c, c.a.x, p, sums);
  write_spinor(c, c.a.r, p, rests);
}

KAON_DEVICE stored rounded(real value, real factor) {
#if KAON_IS_HALF
  return (stored)(quantise_pair<false>(value, 0.0f, factor) & 0xffff);
#else
  (void)factor;
  return value;
#endif
}

/* For any number of components. Half makes two passes: to find the largest value, and to store. */
static __global__ void __launch_bounds__(KAON_THREADS) update_sites_kernel(domain_call c) {
  place p;
  if (!place_of(c, &p)) return;
  const int ncomp = c.a.shape.ncomp;
  const vcomplex a = step_of(c, p);
  site_values<0> x, r, q;
  x.open(c, c.a.x, p);
  r.open(c, c.a.r, p);
  q.open(c, c.a.q, p);
  const real unit[3] = {c.a.fresh ? 0 : unit_of_site(c.a.x, p), unit_of_site(c.a.r, p),
                        unit_of_site(c.a.q, p)};
  real factor[2] = {1, 1};
#if KAON_IS_HALF
  float largest[2] = {0, 0};
  for (int i = 0; i < ncomp; i += 2) {
    vcomplex sum, rest;
    updated(x, r, q, unit, a, i, i + 1 < ncomp, &sum, &rest, c.a.fresh != 0);
    largest[0] = quantise_largest(quantise_largest(largest[0], sum.re), sum.im);
    largest[1] = quantise_largest(quantise_largest(largest[1], rest.re), rest.im);
  }
  for (int k = 0; k < 2; k++) factor[k] = kaon_half_factor(largest[k]);
#endif
  for (int i = 0; i < ncomp; i += 2) {
    const bool pair = i + 1 < ncomp;
    vcomplex sum, rest;
    updated(x, r, q, unit, a, i, pair, &sum, &rest, c.a.fresh != 0);
    stored *xs = base_of(c, c.a.x, p), *rs = base_of(c, c.a.r, p);
    xs[site_offset(i, p.lane, c.pack)] = rounded(sum.re, factor[0]);
    rs[site_offset(i, p.lane, c.pack)] = rounded(rest.re, factor[1]);
    if (!pair) continue;
    xs[site_offset(i + 1, p.lane, c.pack)] = rounded(sum.im, factor[0]);
    rs[site_offset(i + 1, p.lane, c.pack)] = rounded(rest.im, factor[1]);
  }
#if KAON_IS_HALF
  c.a.x.scale[p.unit * KAON_LANES + p.lane] = fmaf(largest[0], 0.0f, largest[0]);
  c.a.r.scale[p.unit * KAON_LANES + p.lane] = fmaf(largest[1], 0.0f, largest[1]);
#endif
}

static __global__ void __launch_bounds__(KAON_THREADS) mask_kernel(domain_call c) {
  place p;
  if (!place_of(c, &p)) return;
  const int32_t domain = c.a.domains.domain[p.site];
  const bool keep = domain >= 0 && c.a.domains.turn[domain] == c.a.turn;
  const stored *from = base_of(c, c.a.r, p);
  stored *to = base_of(c, c.a.x, p);
  for (int i = 0; i < c.a.shape.ncomp; i++) {
    const int at = site_offset(i, p.lane, c.pack);
    to[at] = keep ? from[at] : (stored)0;
  }
#if KAON_IS_HALF
  const int64_t at = p.unit * KAON_LANES + p.lane;
  c.a.x.scale[at] = keep ? c.a.r.scale[at] : 0.0f;
#endif
}

static domain_call call_of(const kaon_domain_args *args) {
  domain_call c;
  c.a = *args;
  c.pack = kaon_pack(KAON_ACCESS, args->shape.ncomp, (int)sizeof(stored));
  c.alpha = NULL;
  if (args->work != NULL)
    c.alpha = args->work + KAON_DOMAIN_WORK * args->shape.nblocks * KAON_LANES * args->shape.nrhs;
  return c;
}

static dim3 grid_of(const kaon_shape *s) {
  const int64_t sites = s->nblocks * KAON_LANES;
  return dim3((unsigned)((sites + KAON_THREADS - 1) / KAON_THREADS), (unsigned)s->nrhs);
}

extern "C" void KAON_EXPORT(kaon_domain_mr)(const kaon_launch *launch,
                                            const kaon_domain_args *args) {
  const domain_call c = call_of(args);
  const cudaStream_t queue = (cudaStream_t)launch->queue;
  const dim3 grid = grid_of(&args->shape);
  const bool spinors = args->shape.ncomp == SPINOR && args->shape.complex_space;
  if (spinors)
    products_kernel<SPINOR><<<grid, KAON_THREADS, 0, queue>>>(c);
  else
    products_kernel<0><<<grid, KAON_THREADS, 0, queue>>>(c);
  const dim3 domains((unsigned)args->domains.count, (unsigned)args->shape.nrhs);
  steps_kernel<<<domains, KAON_THREADS, 0, queue>>>(c);
  if (spinors)
    update_spinors_kernel<<<grid, KAON_THREADS, 0, queue>>>(c);
  else
    update_sites_kernel<<<grid, KAON_THREADS, 0, queue>>>(c);
}

extern "C" void KAON_EXPORT(kaon_domain_mask)(const kaon_launch *launch,
                                              const kaon_domain_args *args) {
  mask_kernel<<<grid_of(&args->shape), KAON_THREADS, 0, (cudaStream_t)launch->queue>>>(
      call_of(args));
}
