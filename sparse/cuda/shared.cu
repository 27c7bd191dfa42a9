/* shared.cu - products of matrices in CSR whose rows are of very different lengths, on the GPU.
 *
 * Ends of rows and entries, merged in the order in which they come, are items; every block has as
 * many of them as the next one, takes them in tiles, and finds by search in which rows a tile
 * begins and ends (Merrill and Garland's merge-based product, Supercomputing 2016). A tile's
 * products go through shared memory, from where groups of threads add up its rows. What a block has
 * of a row that ends in a later one is a carry, which a second kernel adds, carries of one row in
 * their order; so bits do not depend on who comes first. Sums are then those of the vector kernels.
 */
#include "sparse/cuda/rows.h"

#include "blas/cuda/kernels.h"

/* Items of a tile; doubles that a carry takes (re, im, row); carries of a column. */
enum { TILE = 2048, CARRY = 3, CARRIES = 4096 };

typedef struct shared_call {
  rows_call rows;  /* first, last: of rows */
  double *carries; /* [column][chunk][CARRY] */
  int half, reals, chunks;
} shared_call;

/* How many of the rows first, first + 1, ... below `last` end before item d: row r ends behind item
 * start[r + 1] - base + r - origin. All lanes of a warp; 32 places at a time. */
static __device__ __forceinline__ int rows_before(const rows_call &a, int first, int last,
                                                  int origin, int64_t base, int64_t d) {
  const int lane = threadIdx.x % 32;
  int low = first, high = last; /* the answer's row is in [low, high] */
  while (low < high) {
    const int step = (high - low + 31) / 32;
    const int64_t r = low + (int64_t)step * (lane + 1) - 1; /* the last of a lane's share */
    const bool before = r < high && start_read(a, (int64_t)r + 1) - base + (r - origin) < d;
    const int count = __popc(__ballot_sync(0xffffffffu, before));
    const int64_t end = (int64_t)low + (int64_t)step * (count + 1) - 1;
    low += step * count;
    if (end < high) high = (int)end;
  }
  return low;
}

template <int REALS>
static __device__ __forceinline__ kaon_packet<real, REALS> product(const rows_call &a, int half,
                                                                   int column, int64_t i,
                                                                   uint64_t policy) {
  typedef kaon_packet<real, REALS> number;
  const int c = column_read(a.column + i, policy);
  number v, s = {};
#if defined(KAON_PREC_SINGLE)
  if (half)
    v = entry_number<REALS, 1>(entry_read<REALS, 1>(a.value, i, policy));
  else
#endif
    v = entry_number<REALS, 0>(entry_read<REALS, 0>(a.value, i, policy));
  (void)half;
  number_add<REALS>(&s, v, source_of<REALS, false, true>(a, c)[column * KAON_LANES]);
  return s;
}

static __device__ __forceinline__ real shared_scale(const shared_call &a, int row) {
  return a.half && row < a.rows.rows ? (real)(__ldg(a.rows.scale + row) * (1.0f / 32767)) : (real)1;
}

template <int REALS>
static __device__ __forceinline__ void shared_store(const shared_call &a, int row, int column,
                                                    kaon_packet<real, REALS> s) {
  typedef kaon_packet<real, REALS> number;
  const int64_t at = number_at(a.rows, row) + column * KAON_LANES;
  const real scale = shared_scale(a, row);
  number b = {};
  if (a.rows.b != NULL) b = ((const number *)a.rows.b)[at];
#pragma unroll
  for (int i = 0; i < REALS; i++)
    s.v[i] = a.rows.b != NULL ? a.rows.a * scale * s.v[i] + b.v[i] : scale * s.v[i];
  ((number *)a.rows.y)[at] = s;
}

/* Threads of a group that adds up a row, where a tile has so many rows. */
static __device__ __forceinline__ int group_of(int rows) {
  int group = 32;
  while (group > 1 && rows * group > KAON_THREADS) group /= 2;
  return group;
}

template <int REALS>
static __global__ void __launch_bounds__(KAON_THREADS, 4)
    shared_kernel(const __grid_constant__ shared_call a) {
  typedef kaon_packet<real, REALS> number;
  __shared__ number products[TILE], carry[2];
  __shared__ int found;
  const int column = (int)(blockIdx.x % (unsigned)a.rows.nrhs);
  const int chunk = (int)(blockIdx.x / (unsigned)a.rows.nrhs);
  const int origin = a.rows.first, last = a.rows.last, warp = threadIdx.x / 32;
  const uint64_t policy = matrix_policy(a.rows);
  kaon_wait_for_previous();
  if (!gate_open(a.rows.sums.gate, column)) return;
  const int64_t base = start_read(a.rows, origin);
  const int64_t items = start_read(a.rows, last) - base + (last - origin);
  const int64_t share = (items + a.chunks - 1) / a.chunks;
  int64_t d = chunk * share;
  const int64_t end = d + share < items ? d + share : items;
  if (warp == 0) found = rows_before(a.rows, origin, last, origin, base, d);
  if (threadIdx.x == 0) carry[0] = carry[1] = number{};
  __syncthreads();
  int row = found, turn = 0;
  int64_t entry = d - (row - origin) + base;
  __syncthreads(); /* `found` has been read */
  while (d < end) {
    const int64_t to = d + TILE < end ? d + TILE : end;
    const int most = last - row < TILE ? last : row + TILE;
    if (warp == 0) found = rows_before(a.rows, row, most, origin, base, to);
    __syncthreads();
    const int rows = found - row; /* that end in this tile; the next one has begun, or may have */
    const int64_t next = to - (found - origin) + base;
    for (int i = (int)threadIdx.x; i < (int)(next - entry); i += KAON_THREADS)
      products[i] = product<REALS>(a.rows, a.half, column, entry + i, policy);
    __syncthreads();
    const int group = group_of(rows + 1), lane = threadIdx.x & (group - 1);
    const int groups = KAON_THREADS / group;
    for (int n = 0; n <= rows; n += groups) { /* all threads turn alike: they shuffle */
      const int mine = n + (int)threadIdx.x / group;
      number s = {};
      if (mine <= rows) {
        const int64_t begin = mine == 0 ? entry : start_read(a.rows, row + mine);
        const int64_t stop = mine == rows ? next : start_read(a.rows, row + mine + 1);
        for (int i = (int)(begin - entry) + lane; i < (int)(stop - entry); i += group)
#pragma unroll
          for (int c = 0; c < REALS; c++) s.v[c] += products[i].v[c];
      }
      for (int other = group / 2; other > 0; other /= 2)
#pragma unroll
        for (int c = 0; c < REALS; c++) s.v[c] += __shfl_xor_sync(0xffffffffu, s.v[c], other);
      if (mine > rows || lane != 0) continue;
      if (mine == 0)
#pragma unroll
        for (int c = 0; c < REALS; c++) s.v[c] += carry[turn].v[c];
      if (mine == rows)
        carry[turn ^ 1] = s;
      else
        shared_store<REALS>(a, row + mine, column, s);
    }
    turn ^= 1;
    row = found;
    entry = next;
    d = to;
    __syncthreads(); /* the carry is there; `found` and the products have been read */
  }
  kaon_let_next_start();
  if (threadIdx.x != 0) return;
  double *out = a.carries + ((int64_t)column * a.chunks + chunk) * CARRY;
  out[0] = (double)carry[turn].v[0];
  out[1] = REALS == 2 ? (double)carry[turn].v[REALS - 1] : 0;
  out[2] = row < last ? (double)row : -1;
}

/* y += the carries of a row, a warp for the first of them. The lanes behind the last row stay 0. */
static __global__ void __launch_bounds__(KAON_THREADS)
    carries_kernel(const __grid_constant__ shared_call a) {
  const int column = (int)(blockIdx.x % (unsigned)a.rows.nrhs);
  const int lane = threadIdx.x % 32;
  const int chunk = (int)(blockIdx.x / (unsigned)a.rows.nrhs * KAON_WARPS + threadIdx.x / 32);
  kaon_wait_for_previous();
  if (!gate_open(a.rows.sums.gate, column) || chunk >= a.chunks) return;
  const int beyond = a.rows.last + lane;
  if (chunk == 0 && a.rows.last == a.rows.rows && beyond < (a.rows.rows + 31) / 32 * 32)
    for (int c = 0; c < a.reals; c++)
      ((real *)a.rows.y)[(number_at(a.rows, beyond) + column * KAON_LANES) * a.reals + c] = 0;
  const double *in = a.carries + (int64_t)column * a.chunks * CARRY;
  const double row = in[chunk * CARRY + 2];
  if (row < 0 || (chunk > 0 && in[(chunk - 1) * CARRY + 2] == row)) return;
  double s[2] = {0, 0};
  for (int i = chunk;; i += 32) { /* a row's carries stand side by side */
    const bool mine = i + lane < a.chunks && in[(i + lane) * CARRY + 2] == row;
    if (mine) {
      s[0] += in[(i + lane) * CARRY];
      s[1] += in[(i + lane) * CARRY + 1];
    }
    if (__ballot_sync(0xffffffffu, mine) != 0xffffffffu) break;
  }
  s[0] = warp_sum(s[0]);
  s[1] = warp_sum(s[1]);
  if (lane != 0) return;
  real *y = (real *)a.rows.y + (number_at(a.rows, (int)row) + column * KAON_LANES) * a.reals;
  const real factor = shared_scale(a, (int)row) * (a.rows.b != NULL ? a.rows.a : (real)1);
  for (int c = 0; c < a.reals; c++) y[c] += factor * (real)(c == 0 ? s[0] : s[1]);
}

/* The sums of all rows, when they are written. */
static void sums_apart(const kaon_launch *launch, const kaon_spmv_args *args) {
  const kaon_stored_matrix *m = args->matrix;
  kaon_update_args sums = {};
  sums.shape.nblocks = m->blocks;
  sums.shape.width = KAON_LANES;
  sums.shape.ncomp = m->reals;
  sums.shape.nrhs = args->nrhs;
  sums.shape.complex_space = m->reals == 2;
  sums.v[0] = args->w.data != NULL ? args->w : args->y;
  sums.v[1] = args->y;
  sums.gate = args->gate;
  sums.sum = args->sum;
  sums.sum.slot[0] = args->sum.slot[1];
  sums.sum.slot[1] = args->sum.slot[2];
  sums.sum.slot[2] = args->sum.slot[0];
  KAON_EXPORT(kaon_dot)(launch, &sums);
}

template <int REALS>
static void launch_shared(const kaon_launch *launch, const shared_call &a) {
  const unsigned columns = (unsigned)a.rows.nrhs;
  kaon_cuda_launch(launch, shared_kernel<REALS>, (unsigned)a.chunks * columns, KAON_THREADS, a);
  kaon_cuda_launch(launch, carries_kernel,
                   ((unsigned)a.chunks + KAON_WARPS - 1) / KAON_WARPS * columns, KAON_THREADS, a);
}

extern "C" void KAON_EXPORT(kaon_spmv_shared)(const kaon_launch *launch,
                                              const kaon_spmv_args *args) {
  const kaon_stored_matrix *m = args->matrix;
  shared_call a = {};
  a.rows = rows_of(launch, args);
  a.rows.sums.gate = args->gate;
  a.rows.first *= KAON_LANES;
  a.rows.last = a.rows.last < m->blocks ? a.rows.last * KAON_LANES : (int)m->rows;
  a.half = m->half;
  a.reals = m->reals;
  a.carries = launch->partials;
  const int64_t tiles = (m->entries + m->rows + TILE - 1) / TILE;
  a.chunks = tiles < CARRIES ? (int)tiles : CARRIES;
  if (a.rows.last > a.rows.first) {
    if (m->reals == 1)
      launch_shared<1>(launch, a);
    else
      launch_shared<2>(launch, a);
  }
  if (args->part != KAON_ROWS_INTERIOR && args->sum.state != NULL) sums_apart(launch, args);
}
