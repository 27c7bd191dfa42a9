/* orthonormal.cu - Cholesky QR of the basis on every aggregate and half on the GPU
 * (transfer_ops.h): Gram matrices, their factors, and the product of the basis with the inverse
 * factor. All of it is in double. A block of threads has a half of an aggregate. */
#include "multigrid/cuda/columns.h"

#if !KAON_IS_HALF

/* ROWS: numbers of every vector in shared memory at a time. FACTOR_THREADS: of a block, at least
 * KAON_TRANSFER_VECTORS. ROOM: shared memory of a block, unless it needs more. */
enum { ROWS = 16, FACTOR_THREADS = 128, ROOM = 64 << 10 };

typedef struct orthonormal_call {
  const int32_t *list;
  int sites, vectors;
  kaon_divisor by_sites;
  field basis;
  double *gram;
  int32_t *dependent;
  double least;
} orthonormal_call;

/* A half of an aggregate. */
typedef struct aggregate_half {
  int place, half;
  bool there;
} aggregate_half;

KAON_DEVICE aggregate_half half_of_block(const orthonormal_call &a) {
  aggregate_half x;
  x.place = (int)(blockIdx.x / 2);
  x.half = (int)(blockIdx.x % 2);
  x.there =
      a.list[(int64_t)(x.place / KAON_LANES) * a.sites * KAON_LANES + x.place % KAON_LANES] >= 0;
  return x;
}

/* Complex numbers of a vector in it: site by site, then the next number of all sites. */
KAON_DEVICE int rows_of(const orthonormal_call &a) {
  return a.basis.reals / 4 * a.sites;
}

/* Number `row` of a vector. */
KAON_DEVICE vcomplex *basis_at(const orthonormal_call &a, const aggregate_half &x, int row,
                               int vector) {
  const int number = (int)kaon_divide_by((uint32_t)row, &a.by_sites);
  const int64_t entry = ((int64_t)(x.place / KAON_LANES) * a.sites + row - number * a.sites);
  const int there = a.list[entry * KAON_LANES + x.place % KAON_LANES];
  const int component = x.half * (a.basis.reals / 2) + 2 * number;
  return (vcomplex *)((real *)a.basis.data + column_at(a.basis, there, vector) +
                      kaon_component_offset(component, KAON_LANES, a.basis.pack));
}

/* Element (i, j), i <= j, of the aggregate's matrix; the imaginary part is KAON_LANES further. */
KAON_DEVICE double *gram_at(const orthonormal_call &a, const aggregate_half &x, int i, int j) {
  const int64_t first = ((int64_t)(x.place / KAON_LANES) * 2 + x.half) * a.vectors * a.vectors;
  return a.gram + (first + i * a.vectors + j) * 2 * KAON_LANES + x.place % KAON_LANES;
}

/* c += conj(a) b, c += a b, in double. */
KAON_DEVICE void add_conj_product(double2 a, double2 b, double2 *c) {
  c->x = fma(a.x, b.x, fma(a.y, b.y, c->x));
  c->y = fma(a.x, b.y, fma(-a.y, b.x, c->y));
}
KAON_DEVICE void add_product(double2 a, double2 b, double2 *c) {
  c->x = fma(a.x, b.x, fma(-a.y, b.y, c->x));
  c->y = fma(a.x, b.y, fma(a.y, b.x, c->y));
}

/* An upper triangle, column by column. */
static __host__ __device__ constexpr int triangle(int j) {
  return j * (j + 1) / 2;
}

/* The column of element t. */
KAON_DEVICE int triangle_column(int t) {
  int j = 0;
  while (triangle(j + 1) <= t) j++;
  return j;
}

/* ---- Gram matrices: a thread has two rows and two columns ---- */

/* Reads ROWS rows of all vectors, from `begin` on; zeros beyond the last row. */
KAON_DEVICE void rows_load(const orthonormal_call &a, const aggregate_half &x, int begin, int step,
                           double2 *rows) {
  __syncthreads();
  for (int i = (int)threadIdx.x; i < ROWS * a.vectors; i += BLOCK_THREADS) {
    const int row = i % ROWS, vector = i / ROWS;
    double2 z = make_double2(0, 0);
    if (begin + row < rows_of(a)) {
      const vcomplex v = *basis_at(a, x, begin + row, vector);
      z = make_double2((double)v.re, (double)v.im);
    }
    rows[row * step + vector] = z;
  }
  __syncthreads();
}

static __global__ void __launch_bounds__(BLOCK_THREADS)
    transfer_gram(const __grid_constant__ orthonormal_call a) {
  extern __shared__ __align__(16) char gram_shared[];
  double2 *rows = (double2 *)gram_shared;
  const int step = a.vectors | 1; /* an odd one has no conflicts of banks */
  const int tiles = triangle((a.vectors + 1) / 2), last = a.vectors - 1;
  kaon_wait_for_previous();
  const aggregate_half x = half_of_block(a);
  if (!x.there) return;
  for (int first = 0; first < tiles; first += BLOCK_THREADS) {
    const int tile = min(first + (int)threadIdx.x, tiles - 1), tj = triangle_column(tile);
    const int i = 2 * (tile - triangle(tj)), j = 2 * tj;
    double2 sum[2][2] = {};
    for (int begin = 0; begin < rows_of(a); begin += ROWS) {
      rows_load(a, x, begin, step, rows);
#pragma unroll 4
      for (int r = 0; r < ROWS; r++) {
        const double2 *row = rows + r * step;
        const double2 left[2] = {row[i], row[min(i + 1, last)]};
        const double2 right[2] = {row[j], row[min(j + 1, last)]};
#pragma unroll
        for (int e = 0; e < 4; e++) add_conj_product(left[e / 2], right[e % 2], &sum[e / 2][e % 2]);
      }
    }
    for (int e = 0; e < 4; e++) {
      if (first + (int)threadIdx.x >= tiles || i + e / 2 > j + e % 2 || j + e % 2 > last) continue;
      double *to = gram_at(a, x, i + e / 2, j + e % 2);
      to[0] = sum[e / 2][e % 2].x;
      to[KAON_LANES] = sum[e / 2][e % 2].y;
    }
  }
}

/* ---- factors ---- */

/* Copies the triangle from memory, or back. */
KAON_DEVICE void triangle_copy(const orthonormal_call &a, const aggregate_half &x, bool back,
                               double2 *u) {
  for (int t = (int)threadIdx.x; t < triangle(a.vectors); t += (int)blockDim.x) {
    const int j = triangle_column(t);
    double *from = gram_at(a, x, t - triangle(j), j);
    if (back) {
      from[0] = u[t].x;
      from[KAON_LANES] = u[t].y;
    } else {
      u[t] = make_double2(from[0], from[KAON_LANES]);
    }
  }
}

/* R, with 1 / R_ii in the place of R_ii, or 0 where vector i is dependent. Row by row; each row is
 * subtracted from the rest at once. Returns 1 + the first dependent vector, in thread 0. */
KAON_DEVICE int triangle_factor(int n, double least, const double *diagonal, double2 *u) {
  const int thread = (int)threadIdx.x, warp = thread / 32, lane = thread % 32;
  int dependent = 0;
  for (int k = 0; k < n; k++) {
    if (thread == 0) {
      const double pivot = u[triangle(k) + k].x;
      const bool good = pivot > 0 && pivot >= least * diagonal[k]; /* not NaN */
      u[triangle(k) + k] = make_double2(good ? 1 / sqrt(pivot) : 0, 0);
      if (!good && dependent == 0) dependent = k + 1;
    }
    __syncthreads();
    const double inverse = u[triangle(k) + k].x;
    for (int j = k + 1 + thread; j < n; j += FACTOR_THREADS) {
      double2 *z = &u[triangle(j) + k];
      *z = make_double2(z->x * inverse, z->y * inverse);
    }
    __syncthreads();
    for (int j = k + 1 + warp; j < n; j += FACTOR_THREADS / 32)
      for (int i = k + 1 + lane; i <= j; i += 32) {
        const double2 r = u[triangle(i) + k];
        add_conj_product(make_double2(-r.x, -r.y), u[triangle(j) + k], &u[triangle(j) + i]);
      }
    __syncthreads();
  }
  return dependent;
}

/* R^-1 replaces R, column by column; thread i has row i. */
KAON_DEVICE void triangle_invert(int n, double2 *u) {
  const int i = (int)threadIdx.x;
  for (int j = 0; j < n; j++) {
    const double inverse = u[triangle(j) + j].x;
    double2 sum = make_double2(0, 0);
    for (int k = i; k < j; k++) add_product(u[triangle(k) + i], u[triangle(j) + k], &sum);
    __syncthreads();
    if (i < j) u[triangle(j) + i] = make_double2(-sum.x * inverse, -sum.y * inverse);
    __syncthreads();
  }
}

static __global__ void __launch_bounds__(FACTOR_THREADS)
    transfer_factor(const __grid_constant__ orthonormal_call a) {
  extern __shared__ __align__(16) char factor_shared[];
  double2 *u = (double2 *)factor_shared;
  double *diagonal = (double *)(u + triangle(a.vectors));
  kaon_wait_for_previous();
  const aggregate_half x = half_of_block(a);
  int dependent = 0;
  if (x.there) {
    triangle_copy(a, x, false, u);
    __syncthreads();
    for (int i = (int)threadIdx.x; i < a.vectors; i += FACTOR_THREADS)
      diagonal[i] = u[triangle(i) + i].x;
    __syncthreads();
    dependent = triangle_factor(a.vectors, a.least, diagonal, u);
    triangle_invert(a.vectors, u);
    triangle_copy(a, x, true, u);
  }
  if (threadIdx.x == 0) a.dependent[blockIdx.x] = dependent;
}

/* ---- the basis times R^-1: a thread has a number of all vectors ---- */

static __global__ void __launch_bounds__(FACTOR_THREADS)
    transfer_transform(const __grid_constant__ orthonormal_call a) {
  extern __shared__ __align__(16) char transform_shared[];
  double2 *u = (double2 *)transform_shared;
  vcomplex *held = (vcomplex *)(u + triangle(a.vectors)) + threadIdx.x;
  const int threads = (int)blockDim.x;
  kaon_wait_for_previous();
  const aggregate_half x = half_of_block(a);
  if (!x.there) return;
  triangle_copy(a, x, false, u);
  __syncthreads();
  for (int row = (int)threadIdx.x; row < rows_of(a); row += threads) {
    for (int i = 0; i < a.vectors; i++) held[i * threads] = *basis_at(a, x, row, i);
    for (int j = 0; j < a.vectors; j++) {
      double2 sum = make_double2(0, 0);
      for (int i = 0; i <= j; i++) {
        const vcomplex v = held[i * threads];
        add_product(make_double2((double)v.re, (double)v.im), u[triangle(j) + i], &sum);
      }
      *basis_at(a, x, row, j) = c_make((real)sum.x, (real)sum.y);
    }
  }
}

/* ---- launches ---- */

static orthonormal_call call_of(const kaon_transfer_args *args) {
  orthonormal_call a = {};
  a.list = args->aggregates.list;
  a.sites = args->aggregates.sites;
  a.vectors = args->vectors;
  a.by_sites = kaon_divisor_of((uint32_t)a.sites);
  a.basis = field_of(&args->basis, args->vectors, args->fine_reals, (int)sizeof(real));
  a.gram = args->gram;
  a.dependent = args->dependent;
  a.least = args->least;
  return a;
}

static unsigned blocks_of(const kaon_transfer_args *args) {
  return (unsigned)(args->aggregates.coarse_blocks * KAON_LANES * 2);
}

extern "C" void KAON_EXPORT(kaon_transfer_gram)(const kaon_launch *launch,
                                                const kaon_transfer_args *args) {
  const int shared = ROWS * (args->vectors | 1) * (int)sizeof(double2);
  kaon_cuda_launch(launch, transfer_gram, blocks_of(args), BLOCK_THREADS, call_of(args),
                   (unsigned)shared);
}

extern "C" void KAON_EXPORT(kaon_transfer_factor)(const kaon_launch *launch,
                                                  const kaon_transfer_args *args) {
  const int shared =
      triangle(args->vectors) * (int)sizeof(double2) + args->vectors * (int)sizeof(double);
  cudaFuncSetAttribute(transfer_factor, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
  kaon_cuda_launch(launch, transfer_factor, blocks_of(args), FACTOR_THREADS, call_of(args),
                   (unsigned)shared);
}

extern "C" void KAON_EXPORT(kaon_transfer_transform)(const kaon_launch *launch,
                                                     const kaon_transfer_args *args) {
  const int factor = triangle(args->vectors) * (int)sizeof(double2);
  const int each = args->vectors * (int)sizeof(vcomplex);
  int threads = FACTOR_THREADS;
  while (threads > 32 && factor + threads * each > ROOM) threads /= 2;
  const int shared = factor + threads * each;
  cudaFuncSetAttribute(transfer_transform, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
  kaon_cuda_launch(launch, transfer_transform, blocks_of(args), (unsigned)threads, call_of(args),
                   (unsigned)shared);
}

#endif
