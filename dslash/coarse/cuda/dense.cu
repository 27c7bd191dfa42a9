/* dense.cu - products with one dense matrix for a whole lattice on the GPU (coarse_ops.h). A block
 * of threads has a few sites and one packet of their rows. Its threads share the columns, and their
 * sums are added in a fixed order. */
#include "dslash/coarse/cuda/kernels.h"
#include "dslash/coarse/cuda/product.h"

enum { DENSE_SITES = 8, DENSE_SHARES = KAON_THREADS / DENSE_SITES };

typedef struct dense_call {
  int64_t blocks, rows;
  int reals, packets, nrhs, tiles;
  const int32_t *order;
  kaon_view out, matrix;
  vcomplex *collected;
  kaon_gate gate;
} dense_call;

/* The collected numbers as packets of vectors. */
struct collected_vectors {
  const vcomplex *first;
  int last, rows_apart;
  __device__ __forceinline__ numbers read(int k, int p) const {
    numbers x;
#pragma unroll
    for (int j = 0; j < PACK; j++)
      x.c[j] = first[(int64_t)(p * PACK + j) * rows_apart + min(k, last)];
    return x;
  }
};

/* The thread's sums: of columns share, share + DENSE_SHARES, ... in packets. */
template <int COLUMNS>
KAON_DEVICE void dense_add(const dense_call &a, const column_tile &c, int64_t place, int row,
                           int share, numbers (*d)[COLUMNS]) {
  const int pack = kaon_pack(KAON_ACCESS, a.reals, (int)sizeof(real));
  collected_vectors v;
  v.first = a.collected + c.first;
  v.last = c.count - 1;
  v.rows_apart = a.nrhs;
  const matrix_rows<false> m[1] = {matrix_of<false>(a.matrix, place, a.rows, a.reals, pack, row)};
  product_add<false, 1, COLUMNS>(m, v, share, (int)(a.rows / PACK), DENSE_SHARES, d);
}

/* Adds the shares, and stores the results. */
template <int COLUMNS>
KAON_DEVICE void dense_product(const dense_call &a, const column_tile &c, int64_t place, int row,
                               int share, bool is_site) {
  __shared__ numbers sums[DENSE_SHARES][DENSE_SITES];
  const int near = (int)threadIdx.x % DENSE_SITES;
  numbers d[1][COLUMNS];
#pragma unroll
  for (int k = 0; k < COLUMNS; k++) d[0][k] = numbers_zero();
  if (is_site) dense_add<COLUMNS>(a, c, place, row, share, d);
#pragma unroll
  for (int k = 0; k < COLUMNS; k++) {
    sums[share][near] = d[0][k];
    for (int step = DENSE_SHARES / 2; step > 0; step /= 2) {
      __syncthreads();
      if (share < step) numbers_add(&sums[share][near], 1, sums[share + step][near]);
    }
    if (share == 0 && is_site && (c.open >> k & 1))
      numbers_at(a.out, place, a.nrhs, a.packets, c.first + k)[row * KAON_LANES] = sums[0][near];
    __syncthreads();
  }
}

static __global__ void __launch_bounds__(KAON_THREADS, 2)
    coarse_dense(const __grid_constant__ dense_call a) {
  const int tile = (int)(blockIdx.x % (unsigned)a.tiles);
  const unsigned rest = blockIdx.x / (unsigned)a.tiles;
  const int row = (int)(rest % (unsigned)a.packets);
  const int64_t place =
      (int64_t)(rest / (unsigned)a.packets) * DENSE_SITES + threadIdx.x % DENSE_SITES;
  const int share = (int)threadIdx.x / DENSE_SITES;
  kaon_wait_for_previous();
  const bool is_site = a.order[place] >= 0;
  const column_tile c = column_tile_of(a.gate, tile, a.nrhs, MOST_COLUMNS);
  if (!__syncthreads_or(is_site) || c.open == 0) return;
  if (c.count == 1)
    dense_product<1>(a, c, place, row, share, is_site);
  else
    dense_product<MOST_COLUMNS>(a, c, place, row, share, is_site);
}

static dense_call call_of(const kaon_dense_args *args) {
  dense_call a = {};
  a.blocks = args->blocks;
  a.rows = args->rows;
  a.reals = args->reals;
  a.packets = args->reals / (2 * PACK);
  a.nrhs = args->nrhs;
  a.tiles = column_tiles(args->nrhs, MOST_COLUMNS);
  a.order = args->order;
  a.out = args->out;
  a.matrix = args->matrix;
  a.collected = (vcomplex *)args->collected;
  a.gate = args->gate;
  return a;
}

extern "C" void KAON_EXPORT(kaon_coarse_dense)(const kaon_launch *launch,
                                               const kaon_dense_args *args) {
  const dense_call a = call_of(args);
  const int64_t groups = a.blocks * KAON_LANES / DENSE_SITES;
  kaon_cuda_launch(launch, coarse_dense, (unsigned)(groups * a.packets * a.tiles), KAON_THREADS, a);
}
