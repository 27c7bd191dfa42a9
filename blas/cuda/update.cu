/* update.cu - vector updates of a fixed number of operands on the GPU (blas_ops.h): one kernel,
 * made for each formula. Sums are over what is stored, in the same pass. */
#include "blas/cuda/unit.h"

enum op { ZERO, COPY, SCALE, AXPY, XPAY, AXPBY, AXPY_XPAY, BICGSTAB_DIRECTION, BICGSTAB_SOLUTION };
enum { OPERANDS = 5, COEFFICIENTS = 4, FEW_BLOCKS = 264 };

/* What a formula reads and writes (bit masks of operands), how many coefficients it has, which
 * operand's norm goes to slot 0, and which operand's product with that to slot 1 (-1: none). */
typedef struct traits {
  int reads, writes, coefficients, norm, dot;
} traits;

template <int OP>
static __host__ __device__ constexpr traits traits_of() {
  return OP == ZERO                 ? traits{0, 1, 0, 0, -1}
         : OP == COPY               ? traits{1, 2, 0, 1, -1}
         : OP == SCALE              ? traits{1, 1, 1, 0, -1}
         : OP == AXPY               ? traits{3, 2, 1, 1, 2}
         : OP == XPAY               ? traits{3, 2, 1, 1, -1}
         : OP == AXPBY              ? traits{3, 2, 2, 1, -1}
         : OP == AXPY_XPAY          ? traits{7, 6, 2, 1, -1}
         : OP == BICGSTAB_DIRECTION ? traits{7, 2, 2, 1, -1}
                                    : traits{15, 10, 3, 1, 4};
}

template <int OP>
static __device__ __forceinline__ void formula(vcomplex *v, const vcomplex *c) {
  if constexpr (OP == ZERO) v[0] = c_make(0, 0);
  if constexpr (OP == COPY) v[1] = v[0];
  if constexpr (OP == SCALE) kaon_update_scale(v, c);
  if constexpr (OP == AXPY) kaon_update_axpy(v, c);
  if constexpr (OP == XPAY) kaon_update_xpay(v, c);
  if constexpr (OP == AXPBY) kaon_update_axpby(v, c);
  if constexpr (OP == AXPY_XPAY) kaon_update_axpy_xpay(v, c);
  if constexpr (OP == BICGSTAB_DIRECTION) kaon_update_bicgstab_direction(v, c);
  if constexpr (OP == BICGSTAB_SOLUTION) kaon_update_bicgstab_solution(v, c);
}

/* The arguments that these kernels need: a third of kaon_update_args. */
typedef struct update_call {
  walk w;
  int complex_space;
  int few; /* blocks that the device holds all at once: the next kernel may come in beside them */
  kaon_view v[OPERANDS];
  const kaon_column_state *state;
  int slot[COEFFICIENTS];
  double sign[COEFFICIENTS];
  kaon_cuda_sums sums;
} update_call;

#if !KAON_HALF

/* Words that a thread has on their way at once. */
enum { BATCH = 2 };

template <int OP>
static __device__ __forceinline__ void update_word(const vcomplex *c, word *x) {
  constexpr traits t = traits_of<OP>();
#pragma unroll
  for (int p = 0; p < PAIRS; p++) {
    vcomplex v[OPERANDS];
#pragma unroll
    for (int o = 0; o < OPERANDS; o++)
      if (t.reads >> o & 1) v[o] = c_make(x[o].v[2 * p], x[o].v[2 * p + 1]);
    formula<OP>(v, c);
#pragma unroll
    for (int o = 0; o < OPERANDS; o++)
      if (t.writes >> o & 1) {
        x[o].v[2 * p] = v[o].re;
        x[o].v[2 * p + 1] = v[o].im;
      }
  }
}

/* N words, `step` apart: all are read before the first is written. */
template <int OP, int N>
static __device__ __forceinline__ void update_words(const update_call &a, const vcomplex *c,
                                                    int64_t i, int64_t step, int column,
                                                    double *sum) {
  constexpr traits t = traits_of<OP>();
  word x[N][OPERANDS];
  int64_t at[N];
#pragma unroll
  for (int n = 0; n < N; n++) at[n] = word_at(a.w, i + n * step, column);
#pragma unroll
  for (int n = 0; n < N; n++)
#pragma unroll
    for (int o = 0; o < OPERANDS; o++)
      if (t.reads >> o & 1) x[n][o] = word_read(a.v[o], at[n]);
#pragma unroll
  for (int n = 0; n < N; n++) update_word<OP>(c, x[n]);
#pragma unroll
  for (int n = 0; n < N; n++)
#pragma unroll
    for (int o = 0; o < OPERANDS; o++)
      if (t.writes >> o & 1) ((word *)a.v[o].data)[at[n]] = x[n][o];
  if constexpr (OP != ZERO) {
    if (a.sums.sum.state == NULL) return;
#pragma unroll
    for (int n = 0; n < N; n++) {
      if (sums_want(a.sums, 0)) add_square(sum, x[n][t.norm]);
      if (t.dot >= 0 && sums_want(a.sums, 1)) /* after the store: it may be an operand */
        add_words(sum + 2, word_read(a.v[t.dot >= 0 ? t.dot : 0], at[n]), x[n][t.norm]);
    }
  }
}

template <int OP>
static __device__ __forceinline__ void update_column(const update_call &a, const vcomplex *c,
                                                     share mine, double *sum) {
  const int64_t step = (int64_t)a.sums.chunks * KAON_THREADS;
  int64_t i = (int64_t)mine.chunk * KAON_THREADS + threadIdx.x;
  for (; i + (BATCH - 1) * step < a.w.count; i += BATCH * step)
    update_words<OP, BATCH>(a, c, i, step, mine.column, sum);
  for (; i < a.w.count; i += step) update_words<OP, 1>(a, c, i, step, mine.column, sum);
}

#else

template <int OP>
static __device__ __forceinline__ void sum_site(const update_call &a, int64_t unit, int lane,
                                                double *sum) {
  constexpr traits t = traits_of<OP>();
  if (a.sums.sum.state == NULL) return;
  if (sums_want(a.sums, 0)) add_sites(sum, a.v[t.norm], a.v[t.norm], a.w, unit, lane);
  if (t.dot >= 0 && sums_want(a.sums, 1))
    add_sites(sum + 2, a.v[t.dot >= 0 ? t.dot : 0], a.v[t.norm], a.w, unit, lane);
}

/* A site of NCOMP reals, in registers. */
template <int OP, int NCOMP>
static __device__ __forceinline__ void update_held(const update_call &a, const vcomplex *c,
                                                   int64_t unit, int lane, double *sum) {
  constexpr traits t = traits_of<OP>();
  stored q[OPERANDS][NCOMP];
  float value[OPERANDS][NCOMP], step[OPERANDS], scale[OPERANDS];
#pragma unroll
  for (int o = 0; o < OPERANDS; o++)
    if (t.reads >> o & 1) {
      site_read<stored, NCOMP>(integers_of(a.v[o], a.w, unit), lane, q[o]);
      step[o] = kaon_half_unit(*scale_at(a.v[o], unit, lane));
    }
#pragma unroll
  for (int i = 0; i < NCOMP; i += 2) {
    vcomplex v[OPERANDS];
#pragma unroll
    for (int o = 0; o < OPERANDS; o++)
      if (t.reads >> o & 1) v[o] = c_scale(c_load(q[o] + i), step[o]);
    formula<OP>(v, c);
#pragma unroll
    for (int o = 0; o < OPERANDS; o++)
      if (t.writes >> o & 1) {
        value[o][i] = v[o].re;
        value[o][i + 1] = v[o].im;
      }
  }
#pragma unroll
  for (int o = 0; o < OPERANDS; o++)
    if (t.writes >> o & 1) {
      scale[o] = quantise_site<NCOMP>(value[o], q[o]);
      site_write<stored, NCOMP>(integers_of(a.v[o], a.w, unit), lane, q[o]);
      *scale_at(a.v[o], unit, lane) = scale[o];
    }
  if (OP == ZERO || a.sums.sum.state == NULL) return;
  if (sums_want(a.sums, 0)) add_spinors<NCOMP>(sum, q[t.norm], scale[t.norm], q[t.norm], scale[t.norm]);
  if (t.dot >= 0 && sums_want(a.sums, 1)) { /* after the store: it may be an operand */
    const kaon_view &w = a.v[t.dot >= 0 ? t.dot : 0];
    stored late[NCOMP];
    site_read<stored, NCOMP>(integers_of(w, a.w, unit), lane, late);
    add_spinors<NCOMP>(sum + 2, late, *scale_at(w, unit, lane), q[t.norm], scale[t.norm]);
  }
}

/* Components i and i + 1 of a site of any size, after the formula. */
template <int OP>
static __device__ __forceinline__ void update_pair(const update_call &a, const vcomplex *c,
                                                   const float *step, int64_t unit, int lane, int i,
                                                   vcomplex *v) {
  constexpr traits t = traits_of<OP>();
#pragma unroll
  for (int o = 0; o < OPERANDS; o++)
    if (t.reads >> o & 1) {
      v[o].re = *integer_at(a.v[o], a.w, unit, lane, i) * step[o];
      v[o].im = i + 1 < a.w.ncomp ? *integer_at(a.v[o], a.w, unit, lane, i + 1) * step[o] : 0;
    }
  formula<OP>(v, c);
}

/* Once to find the largest, once more to round: nothing is kept in between but the scales. */
template <int OP>
static __device__ __forceinline__ void update_site(const update_call &a, const vcomplex *c,
                                                   int64_t unit, int lane, double *sum) {
  constexpr traits t = traits_of<OP>();
  float step[OPERANDS], scale[OPERANDS] = {0, 0, 0, 0, 0}, factor[OPERANDS];
  vcomplex v[OPERANDS];
#pragma unroll
  for (int o = 0; o < OPERANDS; o++)
    if (t.reads >> o & 1) step[o] = kaon_half_unit(*scale_at(a.v[o], unit, lane));
#pragma unroll 1
  for (int i = 0; i < a.w.ncomp; i += 2) {
    update_pair<OP>(a, c, step, unit, lane, i, v);
#pragma unroll
    for (int o = 0; o < OPERANDS; o++)
      if (t.writes >> o & 1) {
        scale[o] = quantise_largest(scale[o], v[o].re);
        if (i + 1 < a.w.ncomp) scale[o] = quantise_largest(scale[o], v[o].im);
      }
  }
#pragma unroll
  for (int o = 0; o < OPERANDS; o++) factor[o] = kaon_half_factor(scale[o]);
#pragma unroll 1
  for (int i = 0; i < a.w.ncomp; i += 2) {
    update_pair<OP>(a, c, step, unit, lane, i, v);
#pragma unroll
    for (int o = 0; o < OPERANDS; o++)
      if (t.writes >> o & 1) {
        v_store_int16(integer_at(a.v[o], a.w, unit, lane, i), v[o].re * factor[o]);
        if (i + 1 < a.w.ncomp)
          v_store_int16(integer_at(a.v[o], a.w, unit, lane, i + 1), v[o].im * factor[o]);
      }
  }
#pragma unroll
  for (int o = 0; o < OPERANDS; o++)
    if (t.writes >> o & 1) *scale_at(a.v[o], unit, lane) = scale[o];
  if (OP != ZERO) sum_site<OP>(a, unit, lane, sum);
}

/* Bit by bit: a site is not rounded again. */
static __device__ __forceinline__ void copy_site(const update_call &a, int64_t unit, int lane,
                                                 double *sum) {
  if (a.w.ncomp == SPINOR) {
    stored q[SPINOR];
    site_read<stored, SPINOR>(integers_of(a.v[0], a.w, unit), lane, q);
    site_write<stored, SPINOR>(integers_of(a.v[1], a.w, unit), lane, q);
  } else {
#pragma unroll 1
    for (int c = 0; c < a.w.ncomp; c++)
      *integer_at(a.v[1], a.w, unit, lane, c) = *integer_at(a.v[0], a.w, unit, lane, c);
  }
  *scale_at(a.v[1], unit, lane) = *scale_at(a.v[0], unit, lane);
  sum_site<COPY>(a, unit, lane, sum);
}

template <int OP>
static __device__ __forceinline__ void update_column(const update_call &a, const vcomplex *c,
                                                     share mine, double *sum) {
  const int64_t step = (int64_t)a.sums.chunks * KAON_THREADS;
  for (int64_t i = (int64_t)mine.chunk * KAON_THREADS + threadIdx.x; i < a.w.count; i += step) {
    const int64_t unit = unit_of(a.w, i, mine.column);
    if (OP == COPY)
      copy_site(a, unit, lane_of(i), sum);
    else if (a.w.ncomp == SPINOR)
      update_held<OP, SPINOR>(a, c, unit, lane_of(i), sum);
    else if (a.w.ncomp == COLOURS)
      update_held<OP, COLOURS>(a, c, unit, lane_of(i), sum);
    else
      update_site<OP>(a, c, unit, lane_of(i), sum);
  }
}

#endif

static __device__ __forceinline__ double read_now(const double *p) {
  double x;
  asm volatile("ld.global.f64 %0, [%1];" : "=d"(x) : "l"(p));
  return x;
}

/* Blocks that a multiprocessor has room for, where the compiler would not see to it by itself (0:
 * it does, or has no need to): the end of the sums takes more registers than the update. */
template <int OP>
static __host__ __device__ constexpr int update_blocks() {
  return OP == SCALE || OP == AXPY || OP == XPAY || (KAON_HALF && OP == COPY) ? 4 : 0;
}

template <int OP>
static __global__ void __launch_bounds__(KAON_THREADS, update_blocks<OP>())
    update_kernel(const __grid_constant__ update_call a) {
  constexpr traits t = traits_of<OP>();
  const share mine = share_of(a.sums);
  vcomplex c[COEFFICIENTS];
  double slot[COEFFICIENTS][2];
  kaon_wait_for_previous();
  if (a.few) kaon_let_next_start();
#pragma unroll
  for (int i = 0; i < t.coefficients; i++) /* on their way together with the gate */
    for (int k = 0; k < 2; k++)
      slot[i][k] =
          a.slot[i] == KAON_NO_SLOT ? 1 - k : read_now(&a.state[mine.column].slot[a.slot[i]][k]);
  if (!gate_open(a.sums.gate, mine.column)) return;
#pragma unroll
  for (int i = 0; i < t.coefficients; i++)
    c[i] =
        c_make(v_set(a.sign[i] * slot[i][0]), v_set(a.complex_space ? a.sign[i] * slot[i][1] : 0));
  double sum[4] = {0, 0, 0, 0};
  update_column<OP>(a, c, mine, sum);
  if (!a.few) kaon_let_next_start();
  if (a.sums.sum.state == NULL) return;
  if (!a.complex_space) sum[3] = 0;
  sums_finish<2>(a.sums, mine.column, mine.chunk, sum);
}

template <int OP>
static void launch_update(const kaon_launch *launch, const kaon_update_args *args) {
  update_call a = {};
  a.w = walk_of(&args->shape);
  a.complex_space = args->shape.complex_space;
  for (int i = 0; i < OPERANDS; i++) a.v[i] = args->v[i];
  a.state = args->c.state;
  for (int i = 0; i < COEFFICIENTS; i++) {
    a.slot[i] = args->c.slot[i];
    a.sign[i] = args->c.sign[i];
  }
  const int chunks = chunks_of(launch, a.w.count, args->sum.state != NULL ? 4 : 0);
  a.sums = kaon_cuda_sums_of(launch, &args->gate, &args->sum, chunks);
  if (args->v[2].data == NULL && traits_of<OP>().dot == 2) a.sums.sum.slot[1] = KAON_NO_SLOT;
  if (args->v[4].data == NULL && traits_of<OP>().dot == 4) a.sums.sum.slot[1] = KAON_NO_SLOT;
  const unsigned blocks = (unsigned)chunks * (unsigned)args->shape.nrhs;
  a.few = blocks <= FEW_BLOCKS;
  kaon_cuda_launch(launch, update_kernel<OP>, blocks, KAON_THREADS, a);
}

#define ENTRY(entry, op)                                                    \
  extern "C" void KAON_EXPORT(kaon_##entry)(const kaon_launch *launch,      \
                                            const kaon_update_args *args) { \
    launch_update<op>(launch, args);                                        \
  }

ENTRY(zero, ZERO)
ENTRY(copy, COPY)
ENTRY(scale, SCALE)
ENTRY(axpy, AXPY)
ENTRY(xpay, XPAY)
ENTRY(axpby, AXPBY)
ENTRY(axpy_xpay, AXPY_XPAY)
ENTRY(bicgstab_direction, BICGSTAB_DIRECTION)
ENTRY(bicgstab_solution, BICGSTAB_SOLUTION)
