/* multi.cu - sums of products without an update, and the entries with any number of operands, on
 * the GPU (blas_ops.h). */
#include "blas/cuda/words.h"

/* Operands that multi_dot handles in one block; y is read once for all of them. */
enum { DOT_GROUP = 8 };

/* ---- dot: (v0, v1), |v0|^2, |v1|^2 ---- */

typedef struct dot_call {
  walk w;
  int complex_space;
  int ahead; /* after a product: prefetches its first batch while the previous kernel ends */
  kaon_view v[2];
  struct {
    int64_t sites; /* including masked ones; 0: this is no site_ratio */
    int ncomp, nrhs;
  } ratio;
  kaon_cuda_sums sums;
} dot_call;

/* Loads that a thread has in flight at once; all are issued before the first is used. Items
 * beyond the column read as 0. A block has few iterations, so incomplete ones are not done item
 * by item. */
template <int WANTS>
static __host__ __device__ constexpr int dot_batch() {
  constexpr bool one_operand = WANTS == 2 || WANTS == 4;
  return (one_operand ? 8 : 4) / (KAON_IS_HALF ? 4 : 1);
}

/* Blocks that a multiprocessor must hold if one sum is computed. Four, except for dot products in
 * half, which would spill registers. */
template <int WANTS>
static __host__ __device__ constexpr int dot_blocks() {
  return WANTS == 7 ? 1 : KAON_IS_HALF && WANTS == 1 ? 3 : 4;
}

#if !KAON_IS_HALF
/* WANTS: bit mask of the sums. */
template <int WANTS>
KAON_DEVICE void dot_items(const dot_call &a, int64_t i, int64_t step, int column, double *sum) {
  constexpr int N = dot_batch<WANTS>();
  word x[N], y[N];
#pragma unroll
  for (int n = 0; n < N; n++) {
    x[n] = y[n] = word{};
    if (i + n * step >= a.w.count) continue;
    const int64_t at = word_at(a.w, i + n * step, column);
    if (WANTS & 5) y[n] = word_read(a.v[1], at);
    if (WANTS & 3) x[n] = word_read(a.v[0], at);
  }
#pragma unroll
  for (int n = 0; n < N; n++) {
    if (WANTS & 1) add_words(sum, x[n], y[n]);
    if (WANTS & 2) add_square(sum + 2, x[n]);
    if (WANTS & 4) add_square(sum + 4, y[n]);
  }
}
#else
/* Spinor sites. WANTS: bit mask of the sums. */
template <int WANTS>
KAON_DEVICE void dot_items(const dot_call &a, int64_t i, int64_t step, int column, double *sum) {
  constexpr int N = dot_batch<WANTS>();
  stored x[N][SPINOR], y[N][SPINOR];
  float x_scale[N], y_scale[N];
#pragma unroll
  for (int n = 0; n < N; n++) {
#pragma unroll
    for (int c = 0; c < SPINOR; c++) x[n][c] = y[n][c] = 0;
    x_scale[n] = y_scale[n] = 0;
    if (i + n * step >= a.w.count) continue;
    const int64_t unit = unit_of(a.w, i + n * step, column);
    const int lane = lane_of(i + n * step);
    if (WANTS & 5) {
      site_read<stored, SPINOR>(integers_of(a.v[1], a.w, unit), lane, y[n]);
      y_scale[n] = *scale_at(a.v[1], unit, lane);
    }
    if (WANTS & 3) {
      site_read<stored, SPINOR>(integers_of(a.v[0], a.w, unit), lane, x[n]);
      x_scale[n] = *scale_at(a.v[0], unit, lane);
    }
  }
#pragma unroll
  for (int n = 0; n < N; n++) {
    if (WANTS & 1) add_spinors(sum, x[n], x_scale[n], y[n], y_scale[n]);
    if (WANTS & 2) add_spinors(sum + 2, x[n], x_scale[n], x[n], x_scale[n]);
    if (WANTS & 4) add_spinors(sum + 4, y[n], y_scale[n], y[n], y_scale[n]);
  }
}

/* A site of any size. */
template <int WANTS>
KAON_DEVICE void dot_site(const dot_call &a, int64_t i, int column, double *sum) {
  const int64_t unit = unit_of(a.w, i, column);
  const int lane = lane_of(i);
  if (WANTS & 1) add_sites(sum, a.v[0], a.v[1], a.w, unit, lane);
  if (WANTS & 2) add_sites(sum + 2, a.v[0], a.v[0], a.w, unit, lane);
  if (WANTS & 4) add_sites(sum + 4, a.v[1], a.v[1], a.w, unit, lane);
}
#endif

template <int WANTS>
KAON_DEVICE void dot_column(const dot_call &a, share mine, double *sum) {
  const int64_t step = (int64_t)a.sums.chunks * KAON_THREADS;
  int64_t i = (int64_t)mine.chunk * KAON_THREADS + threadIdx.x;
#if KAON_IS_HALF
  if (a.w.ncomp != SPINOR) {
    for (; i < a.w.count; i += step) dot_site<WANTS>(a, i, mine.column, sum);
    return;
  }
#endif
  for (; i < a.w.count; i += dot_batch<WANTS>() * step)
    dot_items<WANTS>(a, i, step, mine.column, sum);
}

/* Prefetches bytes [at, at + bytes) into the second-level cache. Writes of the previous kernel also
 * go there, so this need not wait for it. */
KAON_DEVICE void prefetch_row(const void *at, uint32_t bytes) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(at), "r"(bytes) : "memory");
#else
  (void)at, (void)bytes;
#endif
}

/* Prefetches a block's first batch of a single column: rows of KAON_THREADS items. */
KAON_DEVICE void dot_prefetch(const dot_call &a, share mine) {
  const int64_t row = (int64_t)(mine.chunk + (int)threadIdx.x * a.sums.chunks) * KAON_THREADS;
  if ((int)threadIdx.x >= dot_batch<1>() || row + KAON_THREADS > a.w.count) return;
#pragma unroll
  for (int o = 0; o < 2; o++) {
#if !KAON_IS_HALF
    prefetch_row((const word *)a.v[o].data + row, KAON_THREADS * sizeof(word));
#else
    prefetch_row((const stored *)a.v[o].data + row * SPINOR,
                 KAON_THREADS * SPINOR * sizeof(stored));
    prefetch_row(a.v[o].scale + row, KAON_THREADS * sizeof(float));
#endif
  }
}

/* site_ratio, which shares the kernel of several sums. A thread handles a site. Masked ones have
 * v1 = 0. */

KAON_DEVICE double site_norm(const dot_call &a, int operand, int64_t unit, int lane) {
  const int ncomp = a.ratio.ncomp, pack = kaon_pack(KAON_ACCESS, ncomp, (int)sizeof(stored));
  const stored *site = (const stored *)a.v[operand].data + unit * ncomp * KAON_LANES;
  double sum = 0;
#pragma unroll 1
  for (int c = 0; c < ncomp; c++) {
    const double value = (double)site[site_offset(c, lane, pack)];
    sum = fma(value, value, sum);
  }
#if KAON_IS_HALF
  const double step = (double)kaon_half_unit(a.v[operand].scale[unit * KAON_LANES + lane]);
  sum *= step * step;
#endif
  return sum;
}

KAON_DEVICE void site_ratios(const dot_call &a, share mine) {
  double sum[2] = {0, 0};
  const int64_t step = (int64_t)a.sums.chunks * KAON_THREADS;
  int64_t i = (int64_t)mine.chunk * KAON_THREADS + threadIdx.x;
  for (; i < a.ratio.sites; i += step) {
    const int64_t unit = i / KAON_LANES * a.ratio.nrhs + mine.column;
    const int lane = (int)(i % KAON_LANES);
    kaon_site_ratio(site_norm(a, 0, unit, lane), site_norm(a, 1, unit, lane), sum);
  }
  sums_finish<1>(a.sums, mine.column, mine.chunk, sum);
}

/* Bit mask of the values that a block writes. Norms are real. */
template <int WANTS>
KAON_DEVICE uint32_t dot_wanted(const kaon_cuda_sums &s) {
  if (WANTS != 7) return WANTS == 1 ? 3 : 1;
  return 1u | (sums_want(s, 0) ? 3u : 0u) | (sums_want(s, 1) ? 4u : 0u) |
         (sums_want(s, 2) ? 16u : 0u);
}

/* Only the sums in WANTS are computed. Each single sum has a specialised kernel: it has more loads
 * in flight, and its last block has less to add. */
template <int WANTS>
static __global__ void __launch_bounds__(KAON_THREADS, dot_blocks<WANTS>())
    dot_kernel(const __grid_constant__ dot_call a) {
  enum { FIRST = WANTS == 7 || WANTS == 1 ? 0 : WANTS == 2 ? 2 : 4 };
  enum { VALUES = WANTS == 7 ? 6 : WANTS == 1 ? 2 : 1 };
  __shared__ double total[6]; /* all of it is sent to other ranks */
  const share mine = share_of(a.sums);
  if (threadIdx.x < 6) total[threadIdx.x] = 0;
  if (WANTS == 1 && a.ahead) dot_prefetch(a, mine);
  kaon_wait_for_previous();
  kaon_let_next_start(); /* blocks of the next kernel may take freed places */
  if (!gate_open(a.sums.gate, mine.column)) return;
  if (WANTS == 7 && a.ratio.sites > 0) {
    site_ratios(a, mine);
    return;
  }
  double sum[6] = {0, 0, 0, 0, 0, 0};
  dot_column<WANTS>(a, mine, sum);
  if (!a.complex_space) sum[1] = 0;
  uint32_t mark = 0;
  if (a.sums.marked != NULL) {
    if (a.sums.peer_reduction != NULL && mine.chunk == a.sums.chunks - 1)
      peer_sum_prefetch(a.sums.peer_reduction);
    if (!sums_marked<VALUES, 8>(a.sums, mine.column, mine.chunk, dot_wanted<WANTS>(a.sums),
                                sum + FIRST, total + FIRST, &mark))
      return;
  } else {
    sums_leave<VALUES>(a.sums, mine.column, mine.chunk, VALUES, 0, sum + FIRST);
    if (!sums_last(a.sums, mine.column, a.sums.chunks)) return;
    sums_collect(a.sums, mine.column, VALUES, total + FIRST);
  }
  sums_over_ranks(a.sums, 3, total);
  if (threadIdx.x != 0) return;
  sums_conclude(a.sums, mine.column, 3, total);
  if (a.sums.marked != NULL) marked_end(a.sums, mark);
}

/* Chunks for one sum. It is a multiple of the blocks that 132 multiprocessors hold (dot_blocks):
 * one for a norm, two for a dot product. So few blocks end while others still read. If the work is
 * small, at least as many as they hold. */
static int dot_chunks(int64_t work, int wants) {
  enum { HELD = KAON_FEW_CHUNKS / 2, TURNS = 2 * dot_batch<2>() };
  const int64_t most = wants != 1 ? HELD : KAON_IS_HALF ? 2 * (HELD / 4 * 3) : 2 * HELD;
  const int64_t blocks = (work + KAON_THREADS - 1) / KAON_THREADS;
  int64_t chunks = blocks / TURNS;
  if (chunks < HELD) chunks = blocks < HELD ? blocks : HELD;
  if (chunks > most) chunks = most;
  return chunks > 0 ? (int)chunks : 1;
}

extern "C" void KAON_EXPORT(kaon_dot)(const kaon_launch *launch, const kaon_update_args *args) {
  dot_call a = {};
  if (args->sum.state == NULL) return;
  a.w = walk_of(&args->shape);
  a.complex_space = args->shape.complex_space;
  a.v[0] = args->v[0];
  a.v[1] = args->v[1];
  int wants = 0;
  for (int i = 0; i < 3; i++) wants |= (args->sum.slot[i] != KAON_NO_SLOT) << i;
  const bool one = wants == 1 || wants == 2 || wants == 4;
  const int chunks = one ? dot_chunks(a.w.count, wants) : kaon_cuda_chunks(a.w.count, 6);
  const unsigned blocks = (unsigned)chunks * (unsigned)args->shape.nrhs;
  a.sums = kaon_cuda_sums_of(launch, &args->gate, &args->sum, chunks);
  a.ahead = wants == 1 && launch->dependent && args->shape.nrhs == 1 && args->shape.ncomp == SPINOR;
  void (*kernel)(dot_call) = wants == 1   ? dot_kernel<1>
                             : wants == 2 ? dot_kernel<2>
                             : wants == 4 ? dot_kernel<4>
                                          : dot_kernel<7>;
  kaon_cuda_launch(launch, kernel, blocks, KAON_THREADS, a);
}

extern "C" void KAON_EXPORT(kaon_site_ratio)(const kaon_launch *launch,
                                             const kaon_update_args *args) {
  if (args->sum.state == NULL) return;
  dot_call a = {};
  for (int i = 0; i < 2; i++) a.v[i] = args->v[i];
  a.ratio = {args->shape.nblocks * KAON_LANES, args->shape.ncomp, args->shape.nrhs};
  a.sums = kaon_cuda_sums_of(launch, &args->gate, &args->sum, kaon_cuda_chunks(a.ratio.sites, 2));
  const unsigned blocks = (unsigned)a.sums.chunks * (unsigned)args->shape.nrhs;
  kaon_cuda_launch(launch, dot_kernel<7>, blocks, KAON_THREADS, a);
}

/* ---- multi_axpy: v[n] += sum_i c_i v_i ---- */

typedef struct multi_call {
  walk w;
  int complex_space;
  int n;
  int groups; /* multi_dot: groups of DOT_GROUP operands; blockIdx.y */
  kaon_view v[KAON_MAX_OPERANDS];
  kaon_coefficients c;
  kaon_cuda_sums sums;
} multi_call;

KAON_DEVICE vcomplex multi_coefficient(const multi_call &a, int i, int column) {
  return coefficient_of(a.c.state, a.c.slot[i], a.c.sign[i], column, a.complex_space);
}

#if !KAON_IS_HALF
KAON_DEVICE void multi_axpy_item(const multi_call &a, const vcomplex *c, int64_t i, int column,
                                 double *sum) {
  const int64_t at = word_at(a.w, i, column);
  word y = word_read(a.v[a.n], at);
#pragma unroll 4
  for (int o = 0; o < a.n; o++) {
    const word x = word_read(a.v[o], at);
#pragma unroll
    for (int p = 0; p < PAIRS; p++) {
      vcomplex v[2] = {c_make(x.v[2 * p], x.v[2 * p + 1]), c_make(y.v[2 * p], y.v[2 * p + 1])};
      kaon_update_axpy(v, c + o);
      y.v[2 * p] = v[1].re;
      y.v[2 * p + 1] = v[1].im;
    }
  }
  ((word *)a.v[a.n].data)[at] = y;
  if (sums_want(a.sums, 0)) add_square(sum, y);
}
#else
KAON_DEVICE void multi_axpy_spinor(const multi_call &a, const vcomplex *c, int64_t unit, int lane,
                                   double *sum) {
  stored q[SPINOR];
  float value[SPINOR];
  site_read<stored, SPINOR>(integers_of(a.v[a.n], a.w, unit), lane, q);
  const float step = kaon_half_unit(*scale_at(a.v[a.n], unit, lane));
#pragma unroll
  for (int i = 0; i < SPINOR; i++) value[i] = q[i] * step;
  for (int o = 0; o < a.n; o++) {
    site_read<stored, SPINOR>(integers_of(a.v[o], a.w, unit), lane, q);
    const float x_step = kaon_half_unit(*scale_at(a.v[o], unit, lane));
#pragma unroll
    for (int i = 0; i < SPINOR; i += 2) {
      vcomplex v[2] = {c_make(q[i] * x_step, q[i + 1] * x_step), c_make(value[i], value[i + 1])};
      kaon_update_axpy(v, c + o);
      value[i] = v[1].re;
      value[i + 1] = v[1].im;
    }
  }
  const float scale = quantise_site<SPINOR>(value, q);
  site_write<stored, SPINOR>(integers_of(a.v[a.n], a.w, unit), lane, q);
  *scale_at(a.v[a.n], unit, lane) = scale;
  if (sums_want(a.sums, 0)) add_spinors(sum, q, scale, q, scale);
}

KAON_DEVICE vcomplex multi_pair(const multi_call &a, int o, int64_t unit, int lane, int i) {
  const float step = kaon_half_unit(*scale_at(a.v[o], unit, lane));
  return c_make(*integer_at(a.v[o], a.w, unit, lane, i) * step,
                i + 1 < a.w.ncomp ? *integer_at(a.v[o], a.w, unit, lane, i + 1) * step : 0.0f);
}

KAON_DEVICE vcomplex multi_axpy_pair(const multi_call &a, const vcomplex *c, int64_t unit, int lane,
                                     int i) {
  vcomplex v[2] = {c_make(0, 0), multi_pair(a, a.n, unit, lane, i)};
#pragma unroll 1
  for (int o = 0; o < a.n; o++) {
    v[0] = multi_pair(a, o, unit, lane, i);
    kaon_update_axpy(v, c + o);
  }
  return v[1];
}

/* A site of any size. Two passes: to find the largest value, and to round. */
KAON_DEVICE void multi_axpy_site(const multi_call &a, const vcomplex *c, int64_t unit, int lane,
                                 double *sum) {
  float scale = 0;
#pragma unroll 1
  for (int i = 0; i < a.w.ncomp; i += 2) {
    const vcomplex y = multi_axpy_pair(a, c, unit, lane, i);
    scale = quantise_largest(quantise_largest(scale, y.re), i + 1 < a.w.ncomp ? y.im : 0);
  }
  const float factor = kaon_half_factor(scale);
#pragma unroll 1
  for (int i = 0; i < a.w.ncomp; i += 2) {
    const vcomplex y = multi_axpy_pair(a, c, unit, lane, i);
    v_store_int16(integer_at(a.v[a.n], a.w, unit, lane, i), y.re * factor);
    if (i + 1 < a.w.ncomp)
      v_store_int16(integer_at(a.v[a.n], a.w, unit, lane, i + 1), y.im * factor);
  }
  *scale_at(a.v[a.n], unit, lane) = scale;
  if (sums_want(a.sums, 0)) add_sites(sum, a.v[a.n], a.v[a.n], a.w, unit, lane);
}

KAON_DEVICE void multi_axpy_item(const multi_call &a, const vcomplex *c, int64_t i, int column,
                                 double *sum) {
  if (a.w.ncomp == SPINOR)
    multi_axpy_spinor(a, c, unit_of(a.w, i, column), lane_of(i), sum);
  else
    multi_axpy_site(a, c, unit_of(a.w, i, column), lane_of(i), sum);
}
#endif

static __global__ void __launch_bounds__(KAON_THREADS)
    multi_axpy_kernel(const __grid_constant__ multi_call a) {
  __shared__ vcomplex c[KAON_MAX_COEFFICIENTS];
  const share mine = share_of(a.sums);
  if (!gate_open(a.sums.gate, mine.column)) return;
  if (threadIdx.x < a.n) c[threadIdx.x] = multi_coefficient(a, threadIdx.x, mine.column);
  __syncthreads();
  double sum[2] = {0, 0};
  const int64_t step = (int64_t)a.sums.chunks * KAON_THREADS;
  for (int64_t i = (int64_t)mine.chunk * KAON_THREADS + threadIdx.x; i < a.w.count; i += step)
    multi_axpy_item(a, c, i, mine.column, sum);
  if (a.sums.sum.state == NULL) return;
  sum[1] = 0;
  sums_finish<1>(a.sums, mine.column, mine.chunk, sum);
}

static multi_call multi_call_of(const kaon_launch *launch, const kaon_update_args *args,
                                int values) {
  multi_call a = {};
  a.w = walk_of(&args->shape);
  a.complex_space = args->shape.complex_space;
  a.n = args->n;
  a.groups = 1;
  for (int i = 0; i <= args->n; i++) a.v[i] = args->v[i];
  a.c = args->c;
  a.sums = kaon_cuda_sums_of(launch, &args->gate, &args->sum, kaon_cuda_chunks(a.w.count, values));
  return a;
}

/* Lists know multi_axpy of two vectors as an update. */
static void multi_axpy_listed(const kaon_launch *launch, const kaon_update_args *args) {
  typedef words_call<UPDATE_OPERANDS> update_call;
  const update_call a = words_call_of<UPDATE_OPERANDS>(launch, args, AXPY_AXPY, 1);
  kaon_cuda_launch_listed(
      launch, args->n == 2 ? listed_of(AXPY_AXPY) : KAON_LISTED_NONE, (void (*)(update_call))NULL,
      (unsigned)a.sums.chunks * (unsigned)args->shape.nrhs, KAON_THREADS, a, a.state);
}

extern "C" void KAON_EXPORT(kaon_multi_axpy)(const kaon_launch *launch,
                                             const kaon_update_args *args) {
  const multi_call a = multi_call_of(launch, args, args->sum.state != NULL ? 2 : 0);
  const unsigned blocks = (unsigned)a.sums.chunks * (unsigned)args->shape.nrhs;
  if (launch->list != NULL)
    multi_axpy_listed(launch, args);
  else
    multi_axpy_kernel<<<blocks, KAON_THREADS, 0, (cudaStream_t)launch->queue>>>(a);
}

/* ---- multi_dot: (v_i, v[n]) for i < n, and |v[n]|^2 ---- */

/* Handles operands first .. first + DOT_GROUP - 1, as far as they exist. */
#if !KAON_IS_HALF
KAON_DEVICE void multi_dot_item(const multi_call &a, int first, bool norm, int64_t i, int column,
                                double *sum) {
  const int64_t at = word_at(a.w, i, column);
  const word y = word_read(a.v[a.n], at);
#pragma unroll
  for (int o = 0; o < DOT_GROUP; o++)
    if (first + o < a.n) add_words(sum + 2 * o, word_read(a.v[first + o], at), y);
  if (norm) add_square(sum + 2 * DOT_GROUP, y);
}
#else
KAON_DEVICE void multi_dot_item(const multi_call &a, int first, bool norm, int64_t i, int column,
                                double *sum) {
  const int64_t unit = unit_of(a.w, i, column);
  const int lane = lane_of(i);
  const kaon_view &y_view = a.v[a.n];
  if (a.w.ncomp != SPINOR) {
#pragma unroll
    for (int o = 0; o < DOT_GROUP; o++)
      if (first + o < a.n) add_sites(sum + 2 * o, a.v[first + o], y_view, a.w, unit, lane);
    if (norm) add_sites(sum + 2 * DOT_GROUP, y_view, y_view, a.w, unit, lane);
    return;
  }
  stored x[SPINOR], y[SPINOR];
  const float y_scale = *scale_at(y_view, unit, lane);
  site_read<stored, SPINOR>(integers_of(y_view, a.w, unit), lane, y);
#pragma unroll
  for (int o = 0; o < DOT_GROUP; o++) {
    if (first + o >= a.n) continue;
    const kaon_view &x_view = a.v[first + o];
    site_read<stored, SPINOR>(integers_of(x_view, a.w, unit), lane, x);
    add_spinors(sum + 2 * o, x, *scale_at(x_view, unit, lane), y, y_scale);
  }
  if (norm) add_spinors(sum + 2 * DOT_GROUP, y, y_scale, y, y_scale);
}
#endif

/* Pairs of values: i < n are the products; n is the norm, which the blocks of the last group
 * compute. */
KAON_DEVICE void multi_dot_conclude(const multi_call &a, int column, const double *total) {
  kaon_column_state *state = &a.sums.sum.state[column];
  for (int i = 0; i <= a.n; i++) {
    if (i == a.n && a.sums.sum.slot[1] == KAON_NO_SLOT) continue;
    double *slot = state->slot[i < a.n ? a.sums.sum.slot[0] + i : a.sums.sum.slot[1]];
    slot[0] = total[2 * i];
    slot[1] = total[2 * i + 1];
  }
  if (a.sums.sum.then != 0) recurrence_run(a.sums.sum.then, state);
}

static __global__ void __launch_bounds__(KAON_THREADS)
    multi_dot_kernel(const __grid_constant__ multi_call a) {
  __shared__ double total[KAON_REDUCE_MAX];
  const share mine = share_of(a.sums);
  if (!gate_open(a.sums.gate, mine.column)) return;
  const int first = (int)blockIdx.y * DOT_GROUP, values = 2 * (a.n + 1);
  const bool last_group = (int)blockIdx.y == a.groups - 1;
  const bool norm = last_group && a.sums.sum.slot[1] != KAON_NO_SLOT;
  double sum[2 * (DOT_GROUP + 1)];
#pragma unroll
  for (int i = 0; i < 2 * (DOT_GROUP + 1); i++) sum[i] = 0;
  const int64_t step = (int64_t)a.sums.chunks * KAON_THREADS;
  for (int64_t i = (int64_t)mine.chunk * KAON_THREADS + threadIdx.x; i < a.w.count; i += step)
    multi_dot_item(a, first, norm, i, mine.column, sum);
#pragma unroll
  for (int o = 0; o < DOT_GROUP; o++) {
    if (first + o >= a.n) continue;
    if (!a.complex_space) sum[2 * o + 1] = 0;
    sums_leave<2>(a.sums, mine.column, mine.chunk, values, 2 * (first + o), sum + 2 * o);
    __syncthreads(); /* the next iteration uses the same shared memory */
  }
  sum[2 * DOT_GROUP + 1] = 0;
  if (last_group)
    sums_leave<2>(a.sums, mine.column, mine.chunk, values, 2 * a.n, sum + 2 * DOT_GROUP);
  if (!sums_last(a.sums, mine.column, a.sums.chunks * a.groups)) return;
  sums_collect(a.sums, mine.column, values, total);
  if (threadIdx.x == 0) multi_dot_conclude(a, mine.column, total);
}

extern "C" void KAON_EXPORT(kaon_multi_dot)(const kaon_launch *launch,
                                            const kaon_update_args *args) {
  if (args->sum.state == NULL) return;
  multi_call a = multi_call_of(launch, args, 2 * (args->n + 1));
  a.groups = args->n > 0 ? (args->n + DOT_GROUP - 1) / DOT_GROUP : 1;
  const dim3 grid((unsigned)a.sums.chunks * (unsigned)args->shape.nrhs, (unsigned)a.groups);
  multi_dot_kernel<<<grid, KAON_THREADS, 0, (cudaStream_t)launch->queue>>>(a);
}

/* ---- recur: runs a recurrence without vectors ---- */

static __global__ void recur_kernel(kaon_gate gate, kaon_sum sum, int columns) {
  const int column = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (column < columns && gate_open(gate, column)) recurrence_run(sum.then, &sum.state[column]);
}

extern "C" void KAON_EXPORT(kaon_recur)(const kaon_launch *launch, const kaon_update_args *args) {
  const int columns = args->shape.nrhs;
  recur_kernel<<<(unsigned)(columns + 31) / 32, 32, 0, (cudaStream_t)launch->queue>>>(
      args->gate, args->sum, columns);
}
