/* inverse.cu - inverses of the matrices of sites on the GPU (coarse_ops.h): Gauss-Jordan
 * elimination in place with pivots of a column, a block of threads for each site. The matrix is in
 * shared memory in double. If it is too large for that, the elimination works on `inverse` itself,
 * in its precision. */
#include <float.h>

#include "dslash/coarse/cuda/kernels.h"
#include "dslash/coarse/cuda/product.h"

typedef struct inverse_call {
  int64_t blocks;
  int n, pack, shared; /* n: rows. shared: the matrix is in shared memory */
  const uint8_t *site_places;
  kaon_view matrix, inverse;
  double *worst;
} inverse_call;

/* A block's matrix. */
typedef struct square {
  int n, step;   /* of `held`, from row to row */
  double2 *held; /* NULL: in the field */
  real *field;   /* column 0 of the site's inverse, row 0 */
  int pack;
  int64_t columns; /* reals from column to column */
} square;

KAON_DEVICE real *field_at(const square &s, int i, int j) {
  return s.field + j * s.columns + kaon_component_offset(2 * i, KAON_LANES, s.pack);
}

KAON_DEVICE double2 get(const square &s, int i, int j) {
  if (s.held != NULL) return s.held[i * s.step + j];
  const real *at = field_at(s, i, j);
  return make_double2((double)at[0], (double)at[1]);
}

KAON_DEVICE void put(const square &s, int i, int j, double2 z) {
  if (s.held != NULL) {
    s.held[i * s.step + j] = z;
    return;
  }
  real *at = field_at(s, i, j);
  at[0] = (real)z.x;
  at[1] = (real)z.y;
}

KAON_DEVICE double2 times(double2 a, double2 b) {
  return make_double2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

KAON_DEVICE double2 reciprocal(double2 a) {
  const double scale = fmax(fabs(a.x), fabs(a.y)), x = a.x / scale, y = a.y / scale;
  const double d = (x * x + y * y) * scale;
  return make_double2(x / d, -y / d);
}

/* The largest sum of absolute values of a column. Called by all threads; the result is in all. */
KAON_DEVICE double norm_of(const square &s) {
  __shared__ double largest[KAON_WARPS];
  const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
  double most = 0;
  for (int j = (int)threadIdx.x; j < s.n; j += KAON_THREADS) {
    double sum = 0;
    for (int i = 0; i < s.n; i++) {
      const double2 z = get(s, i, j);
      sum += sqrt(z.x * z.x + z.y * z.y);
    }
    if (!(sum <= most)) most = sum; /* a NaN stays */
  }
  for (int step = 16; step > 0; step /= 2) {
    const double other = __shfl_down_sync(0xffffffffu, most, step);
    if (!(other <= most) && !isnan(most)) most = other;
  }
  if (lane == 0) largest[warp] = most;
  __syncthreads();
  most = largest[0];
  for (int w = 1; w < KAON_WARPS; w++)
    if (!(largest[w] <= most) && !isnan(most)) most = largest[w];
  __syncthreads();
  return most;
}

/* The row from k on whose number in column k is the largest; of equal ones the first. By the first
 * warp. */
KAON_DEVICE int pivot_of(const square &s, int k) {
  double most = -1;
  int row = k;
  for (int i = k + (int)threadIdx.x; i < s.n; i += 32) {
    const double2 z = get(s, i, k);
    const double size = fabs(z.x) + fabs(z.y);
    if (size > most) {
      most = size;
      row = i;
    }
  }
  for (int step = 16; step > 0; step /= 2) {
    const double other = __shfl_down_sync(0xffffffffu, most, step);
    const int there = __shfl_down_sync(0xffffffffu, row, step);
    if (other > most || (other == most && there < row)) {
      most = other;
      row = there;
    }
  }
  return row;
}

/* Replaces the matrix by its inverse. factors: room for a column; rows: for the pivots. Returns
 * false if there is none. */
KAON_DEVICE bool invert(const square &s, double2 *factors, int *rows) {
  __shared__ double2 pivot;
  const int thread = (int)threadIdx.x;
  for (int k = 0; k < s.n; k++) {
    if (thread < 32) {
      const int row = pivot_of(s, k);
      if (thread == 0) {
        rows[k] = row;
        pivot = get(s, row, k);
      }
    }
    __syncthreads();
    const int row = rows[k];
    const double size = fabs(pivot.x) + fabs(pivot.y);
    if (!(size > 0) || !(size <= DBL_MAX)) return false;
    const double2 by = reciprocal(pivot);
    /* Exchanges the rows; row k is divided by the pivot. */
    for (int j = thread; j < s.n; j += KAON_THREADS) {
      const double2 above = get(s, k, j), below = get(s, row, j);
      if (row != k) put(s, row, j, above);
      put(s, k, j, j == k ? by : times(below, by));
    }
    __syncthreads();
    for (int i = thread; i < s.n; i += KAON_THREADS) factors[i] = get(s, i, k);
    __syncthreads();
    for (int e = thread; e < s.n * s.n; e += KAON_THREADS) {
      const int i = e / s.n, j = e % s.n;
      if (i == k) continue;
      const double2 d = times(factors[i], get(s, k, j));
      const double2 was = j == k ? make_double2(0, 0) : get(s, i, j);
      put(s, i, j, make_double2(was.x - d.x, was.y - d.y));
    }
    __syncthreads();
  }
  /* Rows were exchanged, so the inverse's columns are, in the opposite order. */
  for (int i = thread; i < s.n; i += KAON_THREADS)
    for (int k = s.n - 1; k >= 0; k--) {
      const int j = rows[k];
      if (j == k) continue;
      const double2 z = get(s, i, k);
      put(s, i, k, get(s, i, j));
      put(s, i, j, z);
    }
  __syncthreads();
  return true;
}

static __global__ void __launch_bounds__(KAON_THREADS)
    coarse_inverse(const __grid_constant__ inverse_call a) {
  extern __shared__ __align__(16) char inverse_shared[];
  const int64_t place = blockIdx.x;
  kaon_wait_for_previous();
  double2 *factors = (double2 *)inverse_shared;
  int *rows = (int *)(factors + a.n);
  square s;
  s.n = a.n;
  s.step = a.n;
  s.pack = a.pack;
  s.columns = (int64_t)2 * a.n * KAON_LANES;
  const int64_t first = place / KAON_LANES * a.n * s.columns + place % KAON_LANES * a.pack;
  s.field = (real *)a.matrix.data + first;
  s.held = NULL;
  square to = s;
  to.field = (real *)a.inverse.data + first;
  if (!a.site_places[place]) {
    if (threadIdx.x == 0) a.worst[place] = 0;
    for (int e = (int)threadIdx.x; e < a.n * a.n; e += KAON_THREADS)
      put(to, e % a.n, e / a.n, make_double2(0, 0));
    return;
  }
  /* `rows` takes as many bytes as n / 4 numbers, rounded up. */
  if (a.shared) to.held = factors + a.n + (a.n + 3) / 4;
  for (int e = (int)threadIdx.x; e < a.n * a.n; e += KAON_THREADS)
    put(to, e % a.n, e / a.n, get(s, e % a.n, e / a.n));
  __syncthreads();
  const double before = norm_of(to);
  const bool done = invert(to, factors, rows);
  const double after = done ? norm_of(to) : 0;
  if (threadIdx.x == 0) {
    const double estimate = before * after;
    a.worst[place] = done && estimate <= DBL_MAX ? estimate : (double)INFINITY;
  }
  if (!a.shared) return;
  square out = to;
  out.held = NULL;
  for (int e = (int)threadIdx.x; e < a.n * a.n; e += KAON_THREADS)
    put(out, e % a.n, e / a.n, get(to, e % a.n, e / a.n));
}

extern "C" void KAON_EXPORT(kaon_coarse_inverse)(const kaon_launch *launch,
                                                 const kaon_coarse_inverse_args *args) {
  inverse_call a = {};
  a.blocks = args->blocks;
  a.n = args->reals / 2;
  a.pack = kaon_pack(KAON_ACCESS, args->reals, (int)sizeof(real));
  a.site_places = (const uint8_t *)args->site_places;
  a.matrix = args->matrix;
  a.inverse = args->inverse;
  a.worst = args->worst;
  int device = 0, most = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  most -= 1 << 10; /* what kernels declare themselves */
  const int beside = (a.n + (a.n + 3) / 4) * (int)sizeof(double2);
  const int64_t all = beside + (int64_t)a.n * a.n * (int)sizeof(double2);
  a.shared = all <= most;
  const int shared = a.shared ? (int)all : beside;
  cudaFuncSetAttribute(coarse_inverse, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
  kaon_cuda_launch(launch, coarse_inverse, (unsigned)(args->blocks * KAON_LANES), KAON_THREADS, a,
                   (unsigned)shared);
}
