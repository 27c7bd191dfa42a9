/* long_rows.cu - adds the long rows to a product whose other rows are in SELL, on the GPU
 * (kaon_long_entries).
 * - A thread block has a unit: a range of columns, whose x it copies to shared memory, where random
 *   access takes a few cycles, and slices of 32 row chunks. A warp has a slice, a thread a
 *   chunk.
 * - So only the matrix is read from memory, in adjacent accesses. By contrast, a row-by-row product
 *   reads a 32-byte sector of the second-level cache for each x, which limits it.
 * - Each chunk stores its sum. A second kernel adds the sums of a row, with a warp or a block for
 *   each row, always in the same order.
 * Columns of the vectors are processed one at a time, since the space for sums suffices for one. */
#include "sparse/cuda/rows.h"

enum { LONG_THREADS = 512, LONG_RESIDENT = 2 };

typedef struct long_call {
  rows_call rows; /* of vectors, the gate and a */
  kaon_long_entries of;
  int reals, half, column;
} long_call;

/* Loaded entries of a thread. */
template <int REALS>
static __host__ __device__ constexpr int long_batch() {
  return REALS * (int)sizeof(real) > 8 ? 3 : 6;
}

/* The x of a unit: first element and array. Units of other ranks' columns use the ghosts. */
typedef struct unit_source {
  const void *x;
  int first;
} unit_source;

KAON_DEVICE unit_source unit_of(const long_call &a, int column) {
  const bool own = column < a.rows.rows;
  return {own ? a.rows.x : a.rows.ghosts, own ? column : column - a.rows.rows};
}

template <int REALS>
KAON_DEVICE kaon_packet<real, REALS> far_number(const long_call &a, const unit_source &s, int c) {
  const int64_t at = number_at(a.rows, s.first + c) + a.column * KAON_LANES;
  return ((const kaon_packet<real, REALS> *)s.x)[at];
}

/* The slices of a unit; NEAR: its x are in shared memory. */
template <int REALS, int HALF, bool NEAR>
KAON_DEVICE void slices_add(const long_call &a, const kaon_long_unit &u, const unit_source &source,
                            const kaon_packet<real, REALS> *near) {
  typedef kaon_packet<real, REALS> number;
  constexpr int BATCH = long_batch<REALS>();
  const int lane = threadIdx.x % 32, last = u.slice + u.slices;
  const uint64_t policy = matrix_policy(a.rows);
  for (int s = u.slice + (int)threadIdx.x / 32; s < last; s += LONG_THREADS / 32) {
    const int64_t begin = __ldg(a.of.start + s);
    int left = (int)(__ldg(a.of.start + s + 1) - begin);
    int64_t at = begin * KAON_LANES + lane;
    const int place = shared_read(a.of.place + (int64_t)s * KAON_LANES + lane);
    number sum = {};
#pragma unroll 1
    for (; left > 0; left -= BATCH, at += BATCH * KAON_LANES) {
      entry<REALS, HALF> v[BATCH];
      int c[BATCH];
      number x[BATCH];
#pragma unroll
      for (int i = 0; i < BATCH; i++)
        if (i < left) v[i] = entry_read<REALS, HALF>(a.of.value, at + i * KAON_LANES, policy);
#pragma unroll
      for (int i = 0; i < BATCH; i++)
        if (i < left) c[i] = narrow_read(a.of.column + at + i * KAON_LANES, policy);
#pragma unroll
      for (int i = 0; i < BATCH; i++)
        if (i < left) x[i] = NEAR ? near[c[i]] : far_number<REALS>(a, source, c[i]);
#pragma unroll
      for (int i = 0; i < BATCH; i++)
        if (i < left) number_add<REALS>(&sum, entry_number<REALS, HALF>(v[i]), x[i]);
    }
    if (place >= 0) ((number *)a.of.sum)[place] = sum;
  }
}

template <int REALS>
KAON_DEVICE void unit_add(const long_call &a, const kaon_long_unit &u, void *room) {
  typedef kaon_packet<real, REALS> number;
  const unit_source source = unit_of(a, u.column);
  number *near = (number *)room;
  if (u.near) {
    for (int c = (int)threadIdx.x; c < u.columns; c += LONG_THREADS)
      near[c] = far_number<REALS>(a, source, c);
    __syncthreads();
  }
#if defined(KAON_PREC_SINGLE)
  if (a.half) {
    if (u.near)
      slices_add<REALS, 1, true>(a, u, source, near);
    else
      slices_add<REALS, 1, false>(a, u, source, near);
    return;
  }
#endif
  if (u.near)
    slices_add<REALS, 0, true>(a, u, source, near);
  else
    slices_add<REALS, 0, false>(a, u, source, near);
}

static __global__ void __launch_bounds__(LONG_THREADS, LONG_RESIDENT)
    long_kernel(const __grid_constant__ long_call a) {
  extern __shared__ __align__(16) unsigned char near[];
  const kaon_long_unit u = a.of.unit[blockIdx.x];
  kaon_wait_for_previous();
  if (!gate_open(a.rows.sums.gate, a.column)) return;
  if (a.reals == 1)
    unit_add<1>(a, u, near);
  else
    unit_add<2>(a, u, near);
  kaon_let_next_start();
}

/* Rows with more chunks are added by a whole block. */
enum { MANY_CHUNKS = 512 };

/* Adds the chunks of row n that belong to one of the given number of threads, over its warp. */
template <int REALS>
KAON_DEVICE kaon_packet<real, REALS> chunks_sum(const long_call &a, int n, int thread,
                                                int threads) {
  typedef kaon_packet<real, REALS> number;
  const int64_t end = a.of.first[n + 1];
  number s = {};
#pragma unroll 16
  for (int64_t i = a.of.first[n] + thread; i < end; i += threads) {
    const number chunk = ((const number *)a.of.sum)[i];
#pragma unroll
    for (int c = 0; c < REALS; c++) s.v[c] += chunk.v[c];
  }
#pragma unroll
  for (int c = 0; c < REALS; c++)
    for (int other = 16; other > 0; other /= 2)
      s.v[c] += __shfl_xor_sync(0xffffffffu, s.v[c], other);
  return s;
}

/* Adds to y of row n. One thread must call it. */
template <int REALS>
KAON_DEVICE void long_row_end(const long_call &a, int n, const kaon_packet<real, REALS> &s) {
  typedef kaon_packet<real, REALS> number;
  const real scale = a.half ? (real)(a.of.scale[n] * (1.0f / 32767)) : (real)1;
  number *y = (number *)a.rows.y + number_at(a.rows, a.of.row[n]) + a.column * KAON_LANES;
  number sum = *y;
#pragma unroll
  for (int c = 0; c < REALS; c++) sum.v[c] += a.rows.a * scale * s.v[c];
  *y = sum;
}

/* All threads of a block must call it. The order is fixed. */
template <int REALS>
KAON_DEVICE void many_chunks_add(const long_call &a, int n) {
  typedef kaon_packet<real, REALS> number;
  __shared__ number part[KAON_WARPS];
  const int thread = (int)threadIdx.x;
  number s = chunks_sum<REALS>(a, n, thread, KAON_THREADS);
  __syncthreads(); /* the previous row has been read */
  if (thread % 32 == 0) part[thread / 32] = s;
  __syncthreads();
  if (thread != 0) return;
  for (int w = 1; w < KAON_WARPS; w++)
#pragma unroll
    for (int c = 0; c < REALS; c++) s.v[c] += part[w].v[c];
  long_row_end<REALS>(a, n, s);
}

template <int REALS>
KAON_DEVICE void chunks_add(const long_call &a) {
  const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
  for (int i = 0; i < KAON_WARPS; i++) {
    const int n = (int)blockIdx.x * KAON_WARPS + i;
    if (n >= a.of.rows) return;
    if (a.of.first[n + 1] - a.of.first[n] > MANY_CHUNKS) {
      many_chunks_add<REALS>(a, n);
    } else if (i == warp) {
      const kaon_packet<real, REALS> s = chunks_sum<REALS>(a, n, lane, 32);
      if (lane == 0) long_row_end<REALS>(a, n, s);
    }
  }
}

static __global__ void __launch_bounds__(KAON_THREADS)
    chunks_kernel(const __grid_constant__ long_call a) {
  kaon_wait_for_previous();
  if (!gate_open(a.rows.sums.gate, a.column)) return;
  if (a.reals == 1)
    chunks_add<1>(a);
  else
    chunks_add<2>(a);
}

/* Runs after the other rows of the last part, since long rows are not divided by their ghosts. */
extern "C" void KAON_EXPORT(kaon_spmv_long)(const kaon_launch *launch, const kaon_spmv_args *args) {
  const kaon_stored_matrix *m = args->matrix;
  if (args->part == KAON_ROWS_INTERIOR) return;
  long_call a = {};
  a.rows = rows_of(launch, args);
  a.rows.sums.gate = args->gate;
  if (args->b.data == NULL) a.rows.a = 1;
  a.of = *m->long_part;
  a.reals = m->reals;
  a.half = m->half;
  const unsigned room = (unsigned)(a.of.range_columns * m->reals * (int)sizeof(real));
  const unsigned rows = (unsigned)((a.of.rows + KAON_WARPS - 1) / KAON_WARPS);
  cudaFuncSetAttribute(long_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                       KAON_LONG_SHARED_BYTES);
  for (a.column = 0; a.column < args->nrhs; a.column++) {
    kaon_cuda_launch(launch, long_kernel, (unsigned)a.of.units, LONG_THREADS, a, room);
    kaon_cuda_launch(launch, chunks_kernel, rows, KAON_THREADS, a);
  }
}
