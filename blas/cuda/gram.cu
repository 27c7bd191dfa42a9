/* gram.cu - sums that join columns on the GPU (blas_ops.h): all products of two vectors' columns,
 * and the block recurrences after them. A block takes `rows` places of all columns to shared
 * memory, in double, and its threads have an EDGE x EDGE piece of the matrix each, for some of the
 * places. How many blocks there are depends on the shape alone, and every sum is taken in a fixed
 * order. */
#include "blas/cuda/items.h"
#include "lib/math/block.h"

enum {
  EDGE = 3,
  PIECE = EDGE * EDGE,
  GRAM_CHUNKS = 264,
  GROUPS = 16,
  BATCH = 4,
  STAGE_BYTES = 56 << 10
};

typedef struct gram_call {
  items w;
  int hermitian, same, complex_space;
  int rows;   /* places at a time, a power of 2, */
  int bits;   /* in 2^bits items of a column */
  int edges;  /* pieces side by side */
  int pieces; /* of the matrix, or of its upper triangle */
  int shared_room;
  kaon_view v[2];
  kaon_cuda_sums sums;
} gram_call;

/* One copy a file; all threads of the block. */
static __device__ __noinline__ void block_run(int id, kaon_column_state *state, int n, int mask,
                                              double *room) {
  const kaon_block_team team =
      kaon_block_team_of(state, n, mask, (int)threadIdx.x, (int)blockDim.x, room);
  kaon_block_run(id, &team);
}

/* Piece number p covers rows EDGE * *pi .. and columns EDGE * *pj ..; the upper triangle's are
 * numbered column by column. */
static __device__ __forceinline__ void piece_place(const gram_call &a, int p, int *pi, int *pj) {
  *pj = 0;
  if (!a.hermitian) {
    *pi = p % a.edges;
    *pj = p / a.edges;
    return;
  }
  while (p > *pj) p -= ++*pj;
  *pi = p;
}

/* Items first .. of operand o, all columns, to shared memory in double: row r of column k at
 * stage[k (rows + 1) + r]. BATCH of them are under way at once. */
static __device__ __forceinline__ void stage_items(const gram_call &a, int o, int64_t first,
                                                   const unsigned char *open, double2 *stage) {
  const int pairs = a.w.pack > 1 ? a.w.pack / 2 : 1, bits = a.bits, each = 1 << bits;
  const int count = a.w.nrhs << bits;
  for (int begin = threadIdx.x; begin < count; begin += BATCH * KAON_THREADS) {
    item x[BATCH];
    float step[BATCH];
#pragma unroll
    for (int c = 0; c < BATCH; c++) {
      const int e = begin + c * KAON_THREADS, k = e >> bits;
      const int64_t i = first + (e & (each - 1));
      item zero = {};
      x[c] = zero;
      step[c] = 1;
      if (e >= count || !open[k] || i >= a.w.count) continue;
      const int64_t at = item_at(a.w, i, k);
      x[c] = item_read(a.v[o], a.w, at);
      step[c] = item_step(a.v[o], a.w, at);
    }
#pragma unroll
    for (int c = 0; c < BATCH; c++) {
      const int e = begin + c * KAON_THREADS;
      real value[NUMBERS];
      if (e >= count) continue;
      item_values(x[c], 1, value);
      double2 *to = stage + (e >> bits) * (a.rows + 1) + (e & (each - 1)) * pairs;
#pragma unroll
      for (int r = 0; r < NUMBERS / 2; r++)
        if (r < pairs)
          to[r] = make_double2((double)value[2 * r] * step[c], (double)value[2 * r + 1] * step[c]);
    }
  }
}

/* Places slice, slice + slices, ... of the stage to this thread's piece. */
static __device__ __forceinline__ void add_rows(const double2 *x, const double2 *y, int stride,
                                                int rows, int slice, int slices,
                                                double sum[PIECE][2]) {
  for (int r = slice; r < rows; r += slices) {
    double2 u[EDGE], w[EDGE];
#pragma unroll
    for (int i = 0; i < EDGE; i++) {
      u[i] = x[i * stride + r];
      w[i] = y[i * stride + r];
    }
#pragma unroll
    for (int j = 0; j < EDGE; j++)
#pragma unroll
      for (int i = 0; i < EDGE; i++) add_product(sum[j * EDGE + i], u[i].x, u[i].y, w[j].x, w[j].y);
  }
}

/* This block's sums of all its pieces to partials[(chunk * pieces + piece) * PIECE + entry]. */
static __device__ __forceinline__ void gram_leave(const gram_call &a, int chunk, int first,
                                                  int count, int slices, double sum[PIECE][2],
                                                  double2 *room) {
  double2 *partials = (double2 *)a.sums.partials + ((int64_t)chunk * a.pieces + first) * PIECE;
  for (int e = 0; e < PIECE; e++) {
    double re = 0, im = 0;
#pragma unroll
    for (int o = 0; o < PIECE; o++)
      if (o == e) re = sum[o][0], im = sum[o][1];
    __syncthreads();
    room[threadIdx.x] = make_double2(re, im);
    __syncthreads();
    if (threadIdx.x >= count) continue;
    double2 total = room[threadIdx.x];
    for (int s = 1; s < slices; s++) {
      total.x += room[s * count + threadIdx.x].x;
      total.y += room[s * count + threadIdx.x].y;
    }
    partials[threadIdx.x * PIECE + e] = total;
  }
  __threadfence();
}

/* Sum of parts first, first + step, ... below end into part `to` of entry e. */
static __device__ __forceinline__ double2 gram_add(const gram_call &a, int entry, int first,
                                                   int step, int end) {
  const double2 *parts = (const double2 *)a.sums.partials;
  double2 total = make_double2(0, 0);
#pragma unroll 8
  for (int c = first; c < end; c += step) {
    const double2 z = __ldcg(parts + (int64_t)c * a.pieces * PIECE + entry);
    total.x += z.x;
    total.y += z.y;
  }
  return total;
}

/* Many chunks are added in groups, each by its last block, and the groups by the last of those:
 * chunk c is of group c % groups, and what a group's chunks add up to takes the place of chunk
 * `group`. A group has a ticket of its own, and there is one for each column. 0: no groups. */
static __device__ __forceinline__ int gram_groups(const gram_call &a) {
  const int n = a.w.nrhs;
  return n < 4 || a.sums.chunks <= 2 * GROUPS ? 0 : n <= GROUPS ? n - 1 : GROUPS;
}

/* The block that is last has all sums. */
static __device__ __forceinline__ bool gram_last(const gram_call &a, int chunk, int blocks_y) {
  const int chunks = a.sums.chunks, groups = gram_groups(a);
  if (groups == 0) return sums_last(a.sums, 0, chunks * blocks_y);
  const int group = chunk % groups, members = (chunks - group + groups - 1) / groups;
  if (!sums_last(a.sums, 1 + group, members * blocks_y)) return false;
  for (int e = threadIdx.x; e < a.pieces * PIECE; e += KAON_THREADS)
    ((double2 *)a.sums.partials)[(int64_t)group * a.pieces * PIECE + e] =
        gram_add(a, e, group, groups, chunks);
  __threadfence();
  return sums_last(a.sums, 0, groups);
}

/* Entry (i, j) into column j's slot, and its mirror image. */
static __device__ __forceinline__ void gram_slots(const gram_call &a, const unsigned char *open) {
  const int n = a.w.nrhs, parts = gram_groups(a) > 0 ? gram_groups(a) : a.sums.chunks;
  kaon_column_state *state = a.sums.sum.state;
  for (int e = threadIdx.x; e < a.pieces * PIECE; e += KAON_THREADS) {
    int pi, pj;
    piece_place(a, e / PIECE, &pi, &pj);
    const int i = pi * EDGE + e % PIECE % EDGE, j = pj * EDGE + e % PIECE / EDGE;
    double2 z = gram_add(a, e, 0, 1, parts);
    if (i >= n || j >= n || !open[i] || !open[j] || (a.hermitian && i > j)) continue;
    if (!a.complex_space || (a.hermitian && i == j)) z.y = 0;
    kaon_set(&state[j], a.sums.sum.slot[0] + i, z.x, z.y);
    if (a.hermitian && i != j) kaon_set(&state[i], a.sums.sum.slot[0] + j, z.x, -z.y);
  }
  __syncthreads();
}

static __global__ void __launch_bounds__(KAON_THREADS, 2)
    gram_kernel(const __grid_constant__ gram_call a) {
  extern __shared__ __align__(16) char shared[];
  __shared__ unsigned char open[KAON_BLOCK_MAX + 2];
  const int n = a.w.nrhs, stride = a.rows + 1;
  bool any = false;
  for (int k = 0; k < n; k++) any |= gate_open(a.sums.gate, k);
  if (a.v[0].data != NULL) {
    if (!any) return;
    for (int k = threadIdx.x; k < n; k += KAON_THREADS) open[k] = gate_open(a.sums.gate, k);
    double2 *x = (double2 *)shared, *y = a.same ? x : x + a.edges * EDGE * stride;
    for (int e = threadIdx.x; e < (a.same ? 1 : 2) * a.edges * EDGE * stride; e += KAON_THREADS)
      x[e] = make_double2(0, 0);
    __syncthreads();
    const int first = blockIdx.y * KAON_THREADS;
    const int count = a.pieces - first < KAON_THREADS ? a.pieces - first : KAON_THREADS;
    const int slices = KAON_THREADS / count, slice = threadIdx.x / count;
    int pi, pj;
    piece_place(a, first + threadIdx.x % count, &pi, &pj);
    double sum[PIECE][2];
#pragma unroll
    for (int e = 0; e < PIECE; e++) sum[e][0] = sum[e][1] = 0;
    const int each = 1 << a.bits;
    for (int64_t i = (int64_t)blockIdx.x * each; i < a.w.count;
         i += (int64_t)a.sums.chunks * each) {
      stage_items(a, 0, i, open, x);
      if (!a.same) stage_items(a, 1, i, open, y);
      __syncthreads();
      if (slice < slices)
        add_rows(x + pi * EDGE * stride, y + pj * EDGE * stride, stride, a.rows, slice, slices,
                 sum);
      __syncthreads();
    }
    gram_leave(a, blockIdx.x, first, count, slices, sum, x);
    if (!gram_last(a, blockIdx.x, gridDim.y)) return;
    gram_slots(a, open);
  }
  if (a.sums.sum.then != 0)
    block_run(a.sums.sum.then, a.sums.sum.state, n, a.sums.gate.mask,
              a.shared_room ? (double *)shared : a.sums.partials);
}

extern "C" void KAON_EXPORT(kaon_gram)(const kaon_launch *launch, const kaon_update_args *args) {
  gram_call a = {};
  const int n = args->shape.nrhs;
  if (args->sum.state == NULL) return;
  a.v[0] = args->v[0];
  a.v[1] = args->v[1];
  a.same = args->v[0].data == args->v[1].data;
  a.hermitian = args->n;
  a.complex_space = args->shape.complex_space;
  a.edges = (n + EDGE - 1) / EDGE;
  a.pieces = a.hermitian ? a.edges * (a.edges + 1) / 2 : a.edges * a.edges;
  const int stages = a.same ? 1 : 2;
  for (a.rows = 128; a.rows > 8; a.rows /= 2)
    if (stages * a.edges * EDGE * (a.rows + 1) * (int)sizeof(double2) <= STAGE_BYTES) break;
  int64_t chunks = 1;
  a.w.nrhs = n;
  if (args->v[0].data != NULL) {
    a.w = items_of(&args->shape);
    const int each = a.rows / (a.w.pack > 1 ? a.w.pack / 2 : 1);
    while (1 << a.bits < each) a.bits++;
    const int64_t room = (int64_t)KAON_REDUCE_CHUNKS * KAON_REDUCE_MAX * n / (2 * a.pieces * PIECE);
    chunks = (a.w.count + each - 1) / each;
    if (chunks > GRAM_CHUNKS) chunks = GRAM_CHUNKS;
    if (chunks > room) chunks = room;
  }
  a.sums = kaon_cuda_sums_of(launch, &args->gate, &args->sum, (int)chunks);
  size_t bytes = (size_t)(stages * a.edges * EDGE * (a.rows + 1)) * sizeof(double2);
  const size_t room_bytes = (size_t)kaon_block_room(n) * sizeof(double);
  if (bytes < KAON_THREADS * sizeof(double2)) bytes = KAON_THREADS * sizeof(double2);
  a.shared_room = room_bytes <= 40 << 10;
  if (a.shared_room && bytes < room_bytes) bytes = room_bytes;
  const dim3 grid((unsigned)chunks, args->v[0].data != NULL
                                        ? (unsigned)((a.pieces + KAON_THREADS - 1) / KAON_THREADS)
                                        : 1);
  if (bytes > 48 << 10)
    cudaFuncSetAttribute((const void *)gram_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                         (int)bytes);
  gram_kernel<<<grid, KAON_THREADS, bytes, (cudaStream_t)launch->queue>>>(a);
}
