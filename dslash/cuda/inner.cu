/* inner.cu - matrices between the sites of a fifth dimension on the GPU (dslash_ops.h).
 * A thread has some packets of a site's spinors, at all sites of the fifth dimension. It copies them
 * to shared memory and multiplies from there, a few rows of the matrix at a time. So it reads each
 * once, and out may be in. In half, where a spinor has one scale, a thread has whole spinors. */
#include <cuda_pipeline.h>

#include "dslash/cuda/kernels.h"
#include "dslash/cuda/site.h"

enum {
  INNER_SPLIT = KAON_IS_HALF ? 1 : SPINOR_HALF,              /* threads of a site */
  INNER_PACKETS = KAON_IS_HALF ? packets<24>::count : 2,     /* of a thread in a spinor */
  INNER_REALS = 12 / INNER_SPLIT,                            /* of a thread in half a spinor */
  INNER_ROWS = KAON_IS_HALF ? 2 : 4,                         /* rows at a time */
  INNER_BYTES = INNER_PACKETS * 16 + (KAON_IS_HALF ? 4 : 0), /* of a thread's part of a spinor */
  INNER_ELEMENTS = INNER_ROWS * INNER_PARTS,
  INNER_SHARED = 48 << 10 /* of a block, so that a multiprocessor holds several */
};
static_assert(KAON_INNER_ROWS % INNER_ROWS == 0, "a thread reads the elements of its rows at once");

typedef struct inner_call {
  uint32_t nsites;
  int nrhs, inner, overlaps;
  int units; /* columns of a hop */
  double a, b;
  const void *matrix;
  kaon_view in, x, w, out;
  kaon_cuda_sums sums;
} inner_call;

typedef struct inner_place {
  uint32_t site;
  int part;
} inner_place;

/* The thread's packet j of a spinor. */
KAON_DEVICE char *inner_packet(const inner_call &a, const kaon_view &v, const inner_place &p,
                               int j) {
  const int packet = KAON_IS_HALF ? j : p.part + j * SPINOR_HALF;
  return (char *)packet_address<24>(v.data, packet_at<24>(p.site, a.units)) +
         packet * (KAON_LANES * 16);
}

KAON_DEVICE kaon_view inner_view(const inner_call &a, const kaon_view &v, int column, int s) {
  return column_view(v, s * a.nrhs + column);
}

/* ---- shared memory: packet j of site s of the fifth dimension, [s][j][thread], then scales ---- */

KAON_DEVICE void inner_stage(const inner_call &a, int column, const inner_place &p, char *stage) {
  char *scales = stage + a.inner * INNER_PACKETS * (int)blockDim.x * 16;
  for (int s = 0; s < a.inner; s++) {
    const kaon_view v = inner_view(a, a.in, column, s);
#pragma unroll
    for (int j = 0; j < INNER_PACKETS; j++)
      __pipeline_memcpy_async(
          stage + ((s * INNER_PACKETS + j) * (int)blockDim.x + (int)threadIdx.x) * 16,
          inner_packet(a, v, p, j), 16);
    if (KAON_IS_HALF)
      __pipeline_memcpy_async(scales + (s * (int)blockDim.x + (int)threadIdx.x) * 4,
                              v.scale + scale_at(p.site, a.units), 4);
  }
  __pipeline_commit();
  __pipeline_wait_prior(0); /* a thread reads only what it has copied */
}

/* Numbers from packets; unit: of integers. */
KAON_DEVICE void inner_numbers(const stored *raw, real unit, real *value) {
#pragma unroll
  for (int i = 0; i < 2 * INNER_REALS; i++)
    value[i] = KAON_IS_HALF ? (real)raw[i] * unit : (real)raw[i];
}

KAON_DEVICE void inner_staged(const inner_call &a, const char *stage, int s, real *value) {
  stored raw[2 * INNER_REALS];
#pragma unroll
  for (int j = 0; j < INNER_PACKETS; j++) {
    const int at = (s * INNER_PACKETS + j) * (int)blockDim.x + (int)threadIdx.x;
    const words<16> x = *(const words<16> *)(stage + at * 16);
    memcpy((char *)raw + 16 * j, &x, 16);
  }
  const char *scales = stage + a.inner * INNER_PACKETS * (int)blockDim.x * 16;
  const float *scale = (const float *)scales + s * (int)blockDim.x + (int)threadIdx.x;
  inner_numbers(raw, KAON_IS_HALF ? kaon_half_unit(*scale) : 1, value);
}

/* ---- spinors in memory; v: of the column and site of the fifth dimension ---- */

KAON_DEVICE void inner_load(const inner_call &a, const kaon_view &v, const inner_place &p,
                            real *value) {
  stored raw[2 * INNER_REALS];
#pragma unroll
  for (int j = 0; j < INNER_PACKETS; j++) {
    const words<16> x = read_cached<16>(inner_packet(a, v, p, j));
    memcpy((char *)raw + 16 * j, &x, 16);
  }
  inner_numbers(raw, KAON_IS_HALF ? kaon_half_unit(v.scale[scale_at(p.site, a.units)]) : 1, value);
}

KAON_DEVICE void inner_store(const inner_call &a, const kaon_view &v, const inner_place &p,
                             real *value) {
#if KAON_IS_HALF
  vspinor d;
  memcpy(&d, value, sizeof d);
  spinor_store(v, p.site, a.units, &d);
#else
#pragma unroll
  for (int j = 0; j < INNER_PACKETS; j++)
    packets_stream<24, 0, 1>(inner_packet(a, v, p, j), value + j * INNER_REALS);
#endif
}

/* ---- the kernel ---- */

/* The elements (s, t) of a chirality, for the rows from s on. */
KAON_DEVICE void inner_elements(const inner_call &a, int chirality, int s, int t, real *element) {
  const real *from =
      (const real *)a.matrix + INNER_PARTS * kaon_inner_index(a.inner, chirality, s, t);
#pragma unroll
  for (int i = 0; i < INNER_ELEMENTS * (int)sizeof(real) / 16; i++) {
    const words<16> x = read_shared<16>((const char *)from + 16 * i);
    memcpy((char *)element + 16 * i, &x, 16);
  }
}

/* Adds |d|^2 and (w, d). */
KAON_DEVICE void inner_sums(const inner_call &a, const kaon_view &w, const inner_place &p,
                            const real *d, double *sum) {
  if (a.sums.sum.state == NULL) return;
  real norm = 0, re = 0, im = 0;
#pragma unroll
  for (int i = 0; i < 2 * INNER_REALS; i++) norm = v_fma(d[i], d[i], norm);
  if (sums_want(a.sums, 0)) sum[0] += (double)norm;
  if (a.w.data == NULL || !sums_want(a.sums, 1)) return;
  real other[2 * INNER_REALS];
  inner_load(a, w, p, other);
#pragma unroll
  for (int i = 0; i < 2 * INNER_REALS; i += 2) {
    re = v_fma(other[i], d[i], v_fma(other[i + 1], d[i + 1], re));
    im = v_fma(other[i], d[i + 1], v_fnma(other[i + 1], d[i], im));
  }
  sum[2] += (double)re;
  sum[3] += (double)im;
}

/* The rows from s on. */
KAON_DEVICE void inner_rows(const inner_call &a, int column, const inner_place &p,
                            const char *stage, int s, double *sum) {
  real d[INNER_ROWS][2 * INNER_REALS] = {};
  for (int t = 0; t < a.inner; t++) {
    real in[2 * INNER_REALS], element[INNER_ELEMENTS];
    inner_staged(a, stage, t, in);
    inner_split(INNER_REALS, in);
#pragma unroll
    for (int c = 0; c < 2; c++) {
      inner_elements(a, c, s, t, element);
#pragma unroll
      for (int i = 0; i < INNER_ROWS; i++)
        inner_add(INNER_REALS, element + i * INNER_PARTS, in + c * INNER_REALS,
                  d[i] + c * INNER_REALS);
    }
  }
#pragma unroll
  for (int i = 0; i < INNER_ROWS; i++) {
    if (s + i >= a.inner) return;
    inner_join(INNER_REALS, a.b, d[i]);
    if (a.x.data != NULL) {
      real x[2 * INNER_REALS];
      inner_load(a, inner_view(a, a.x, column, s + i), p, x);
#pragma unroll
      for (int j = 0; j < 2 * INNER_REALS; j++) d[i][j] = v_fma((real)a.a, x[j], d[i][j]);
    }
    inner_store(a, inner_view(a, a.out, column, s + i), p, d[i]);
    inner_sums(a, a.w.data == NULL ? a.w : inner_view(a, a.w, column, s + i), p, d[i], sum);
  }
}

/* Warps of a column's blocks take 32 sites and a part of their spinors at a time. */
static __global__ void __launch_bounds__(SITE_THREADS)
    inner_kernel(const __grid_constant__ inner_call a) {
  extern __shared__ __align__(16) char stage[];
  const unsigned columns = (unsigned)a.nrhs;
  const int column = (int)(blockIdx.x % columns), chunk = (int)(blockIdx.x / columns);
  const uint32_t warps = blockDim.x / KAON_LANES, lane = threadIdx.x % KAON_LANES;
  const uint32_t work = (a.nsites + KAON_LANES - 1) / KAON_LANES * INNER_SPLIT;
  double sum[4] = {};
  kaon_wait_for_previous();
  if (!gate_open(a.sums.gate, column)) return;
  for (uint32_t i = (uint32_t)chunk * warps + threadIdx.x / KAON_LANES; i < work;
       i += (uint32_t)a.sums.chunks * warps) {
    const inner_place p = {i / INNER_SPLIT * KAON_LANES + lane, (int)(i % INNER_SPLIT)};
    if (p.site >= a.nsites) continue;
    inner_stage(a, column, p, stage);
    if (a.overlaps) kaon_let_next_start();
#pragma unroll 1
    for (int s = 0; s < a.inner; s += INNER_ROWS) inner_rows(a, column, p, stage, s, sum);
  }
  if (a.sums.sum.state != NULL) sums_finish<2, 8, true, false>(a.sums, column, chunk, sum);
}

static unsigned inner_threads(int inner) {
  unsigned threads = SITE_THREADS;
  while (threads > KAON_LANES && threads * (unsigned)inner * INNER_BYTES > INNER_SHARED)
    threads /= 2;
  return threads;
}

extern "C" void KAON_EXPORT(kaon_dslash_inner)(const kaon_launch *launch,
                                               const kaon_inner_args *args) {
  inner_call a = {};
  a.nsites = (uint32_t)args->stencil->sites[args->parity];
  a.nrhs = args->nrhs;
  a.inner = args->inner;
  a.units = args->nrhs * args->inner;
  a.overlaps = site_overlaps(a.nsites);
  a.a = args->a;
  a.b = args->b;
  a.matrix = args->matrix;
  a.in = args->in;
  a.x = args->x;
  a.w = args->w;
  a.out = args->out;
  const unsigned threads = inner_threads(args->inner);
  const unsigned shared = threads * (unsigned)args->inner * INNER_BYTES;
  const uint32_t work = (a.nsites + KAON_LANES - 1) / KAON_LANES * INNER_SPLIT * KAON_LANES;
  const int chunks = site_chunks(work, (int)threads, args->sum.state != NULL);
  a.sums = kaon_cuda_sums_of(launch, &args->gate, &args->sum, chunks);
  if (args->w.data == NULL) a.sums.sum.slot[1] = KAON_NO_SLOT;
  cudaFuncSetAttribute(inner_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared);
  kaon_cuda_launch(launch, inner_kernel, (unsigned)(chunks * args->nrhs), threads, a, shared);
}
