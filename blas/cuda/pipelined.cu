/* pipelined.cu - the updates of pipelined methods on the GPU (blas_ops.h): all vectors between two
 * sums in one pass, with the sums. One kernel a precision: which update it is, is the same for a
 * whole launch, and what registers the largest one takes leaves room for enough blocks, as each
 * thread has up to sixteen accesses on their way. */
#include "blas/cuda/unit.h"

enum op { PIPECG, PIPECGNR, DIRECTION, SOLUTION };
enum { OPERANDS = 8, COEFFICIENTS = 4 };

/* What an update reads and writes (bit masks of operands), how many coefficients and sums it has.
 */
typedef struct traits {
  int reads, writes, coefficients, sums;
} traits;

template <int OP>
static __host__ __device__ constexpr traits traits_of() {
  return OP == PIPECG      ? traits{0x7f, 0x7e, 3, 2}
         : OP == PIPECGNR  ? traits{0x1f, 0x1e, 3, 4}
         : OP == DIRECTION ? traits{0xff, 0x3b, 3, 4}
                           : traits{0x7f, 0x26, 4, 3};
}

template <int OP>
static __device__ __forceinline__ void formula(vcomplex *v, const vcomplex *c) {
  if constexpr (OP == PIPECG) kaon_update_pipecg(v, c);
  if constexpr (OP == PIPECGNR) kaon_update_pipecgnr(v, c);
  if constexpr (OP == DIRECTION) kaon_update_pipebicgstab_direction(v, c);
  if constexpr (OP == SOLUTION) kaon_update_pipebicgstab_solution(v, c);
}

typedef struct pipe_call {
  walk w;
  int complex_space;
  enum op op;
  kaon_view v[OPERANDS];
  const kaon_column_state *state;
  int slot[COEFFICIENTS];
  double sign[COEFFICIENTS];
  kaon_cuda_sums sums;
} pipe_call;

/* The sums of an update over what PRODUCT(to, x, y) adds to to[0], to[1] and NORM(to, x) to to[0],
 * x and y numbers of operands. */
#define ADD_SUMS(OP, sum, NORM, PRODUCT)      \
  do {                                        \
    if constexpr ((OP) == PIPECG) {           \
      NORM(sum, 4);                           \
      PRODUCT(sum + 2, 4, 2);                 \
    } else if constexpr ((OP) == PIPECGNR) {  \
      NORM(sum, 2);                           \
      PRODUCT(sum + 2, 2, 1);                 \
      PRODUCT(sum + 4, 3, 1);                 \
      PRODUCT(sum + 6, 3, 2);                 \
    } else if constexpr ((OP) == DIRECTION) { \
      PRODUCT(sum, 0, 1);                     \
      NORM(sum + 2, 1);                       \
      NORM(sum + 3, 0);                       \
      PRODUCT(sum + 4, 7, 4);                 \
      PRODUCT(sum + 6, 7, 5);                 \
    } else {                                  \
      NORM(sum, 1);                           \
      PRODUCT(sum + 2, 6, 1);                 \
      PRODUCT(sum + 4, 6, 2);                 \
    }                                         \
  } while (0)

#if !KAON_HALF

/* Words that a thread has on their way at once, of every operand. */
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
static __device__ __forceinline__ void update_words(const pipe_call &a, const vcomplex *c,
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
#pragma unroll
  for (int n = 0; n < N; n++) {
#define NORM(to, i) add_square(to, x[n][i])
#define PRODUCT(to, i, j) add_words(to, x[n][i], x[n][j])
    ADD_SUMS(OP, sum, NORM, PRODUCT);
#undef NORM
#undef PRODUCT
  }
}

template <int OP>
static __device__ __forceinline__ void update_column(const pipe_call &a, const vcomplex *c,
                                                     share mine, double *sum) {
  const int64_t step = (int64_t)a.sums.chunks * KAON_THREADS;
  int64_t i = (int64_t)mine.chunk * KAON_THREADS + threadIdx.x;
  for (; i + (BATCH - 1) * step < a.w.count; i += BATCH * step)
    update_words<OP, BATCH>(a, c, i, step, mine.column, sum);
  for (; i < a.w.count; i += step) update_words<OP, 1>(a, c, i, step, mine.column, sum);
}

#else

/* |x|^2 of a site into to[0] alone: its neighbour may be another sum. */
static __device__ __forceinline__ void add_norm(double *to, const double *product) {
  to[0] += product[0];
}

/* A spinor stays in registers as integers: once through it to find the largest, once to round. */
template <int OP>
static __device__ __forceinline__ void update_spinor(const pipe_call &a, const vcomplex *c,
                                                     int64_t unit, int lane, double *sum) {
  constexpr traits t = traits_of<OP>();
  stored q[OPERANDS][SPINOR];
  float step[OPERANDS], scale[OPERANDS], factor[OPERANDS];
#pragma unroll
  for (int o = 0; o < OPERANDS; o++)
    if (t.reads >> o & 1) {
      site_read<stored, SPINOR>(integers_of(a.v[o], a.w, unit), lane, q[o]);
      scale[o] = *scale_at(a.v[o], unit, lane);
      step[o] = kaon_half_unit(scale[o]);
      if (t.writes >> o & 1) scale[o] = 0;
    }
#pragma unroll
  for (int round = 0; round < 2; round++) {
#pragma unroll
    for (int i = 0; i < SPINOR; i += 2) {
      vcomplex v[OPERANDS];
#pragma unroll
      for (int o = 0; o < OPERANDS; o++)
        if (t.reads >> o & 1) v[o] = c_make(q[o][i] * step[o], q[o][i + 1] * step[o]);
      formula<OP>(v, c);
#pragma unroll
      for (int o = 0; o < OPERANDS; o++)
        if (t.writes >> o & 1) {
          if (round == 0) {
            scale[o] = quantise_largest(quantise_largest(scale[o], v[o].re), v[o].im);
          } else {
            v_store_int16(&q[o][i], v[o].re * factor[o]);
            v_store_int16(&q[o][i + 1], v[o].im * factor[o]);
          }
        }
    }
#pragma unroll
    for (int o = 0; o < OPERANDS; o++)
      if (t.writes >> o & 1) factor[o] = kaon_half_factor(scale[o]);
  }
#pragma unroll
  for (int o = 0; o < OPERANDS; o++)
    if (t.writes >> o & 1) {
      site_write<stored, SPINOR>(integers_of(a.v[o], a.w, unit), lane, q[o]);
      *scale_at(a.v[o], unit, lane) = scale[o];
    }
#define PRODUCT(to, i, j) add_spinors(to, q[i], scale[i], q[j], scale[j])
#define NORM(to, i)             \
  do {                          \
    double product[2] = {0, 0}; \
    PRODUCT(product, i, i);     \
    add_norm(to, product);      \
  } while (0)
  ADD_SUMS(OP, sum, NORM, PRODUCT);
#undef PRODUCT
}

/* Components i and i + 1 of a site of any size, after the formula. */
template <int OP>
static __device__ __forceinline__ void update_pair(const pipe_call &a, const vcomplex *c,
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

/* The same from memory, for a site of any size. */
template <int OP>
static __device__ __forceinline__ void update_site(const pipe_call &a, const vcomplex *c,
                                                   int64_t unit, int lane, double *sum) {
  constexpr traits t = traits_of<OP>();
  float step[OPERANDS], scale[OPERANDS] = {0, 0, 0, 0, 0, 0, 0, 0}, factor[OPERANDS];
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
#define PRODUCT(to, i, j) add_sites(to, a.v[i], a.v[j], a.w, unit, lane)
  ADD_SUMS(OP, sum, NORM, PRODUCT);
#undef NORM
#undef PRODUCT
}

template <int OP>
static __device__ __forceinline__ void update_column(const pipe_call &a, const vcomplex *c,
                                                     share mine, double *sum) {
  const int64_t step = (int64_t)a.sums.chunks * KAON_THREADS;
  for (int64_t i = (int64_t)mine.chunk * KAON_THREADS + threadIdx.x; i < a.w.count; i += step) {
    const int64_t unit = unit_of(a.w, i, mine.column);
    if (a.w.ncomp == SPINOR)
      update_spinor<OP>(a, c, unit, lane_of(i), sum);
    else
      update_site<OP>(a, c, unit, lane_of(i), sum);
  }
}

#endif

template <int OP>
static __device__ __forceinline__ void update_share(const pipe_call &a, share mine) {
  constexpr traits t = traits_of<OP>();
  vcomplex c[COEFFICIENTS];
  double sum[2 * t.sums];
#pragma unroll
  for (int i = 0; i < t.coefficients; i++)
    c[i] = coefficient_of(a.state, a.slot[i], a.sign[i], mine.column, a.complex_space);
#pragma unroll
  for (int i = 0; i < 2 * t.sums; i++) sum[i] = 0;
  update_column<OP>(a, c, mine, sum);
  kaon_let_next_start();
  if (a.sums.sum.state == NULL) return;
#pragma unroll
  for (int i = 1; i < 2 * t.sums; i += 2) /* two norms are one sum of DIRECTION */
    if (!a.complex_space && !(OP == DIRECTION && i == 3)) sum[i] = 0;
  sums_finish<t.sums, 8, false>(a.sums, mine.column, mine.chunk, sum);
}

static __global__ void __launch_bounds__(KAON_THREADS)
    pipelined_kernel(const __grid_constant__ pipe_call a) {
  const share mine = share_of(a.sums);
  kaon_wait_for_previous();
  if (!gate_open(a.sums.gate, mine.column)) return;
  switch (a.op) {
    case PIPECG:
      update_share<PIPECG>(a, mine);
      break;
    case PIPECGNR:
      update_share<PIPECGNR>(a, mine);
      break;
    case DIRECTION:
      update_share<DIRECTION>(a, mine);
      break;
    case SOLUTION:
      update_share<SOLUTION>(a, mine);
      break;
  }
}

static void launch_pipelined(const kaon_launch *launch, const kaon_update_args *args, enum op op,
                             int sums) {
  pipe_call a = {};
  a.w = walk_of(&args->shape);
  a.complex_space = args->shape.complex_space;
  a.op = op;
  for (int i = 0; i < OPERANDS; i++) a.v[i] = args->v[i];
  a.state = args->c.state;
  for (int i = 0; i < COEFFICIENTS; i++) {
    a.slot[i] = args->c.slot[i];
    a.sign[i] = args->c.sign[i];
  }
  const int chunks = chunks_of(launch, a.w.count, args->sum.state != NULL ? 2 * sums : 0);
  a.sums = kaon_cuda_sums_of(launch, &args->gate, &args->sum, chunks);
  kaon_cuda_launch(launch, pipelined_kernel, (unsigned)chunks * (unsigned)args->shape.nrhs,
                   KAON_THREADS, a);
}

#define ENTRY(entry, op)                                                    \
  extern "C" void KAON_EXPORT(kaon_##entry)(const kaon_launch *launch,      \
                                            const kaon_update_args *args) { \
    launch_pipelined(launch, args, op, traits_of<op>().sums);               \
  }

ENTRY(pipecg, PIPECG)
ENTRY(pipecgnr, PIPECGNR)
ENTRY(pipebicgstab_direction, DIRECTION)
ENTRY(pipebicgstab_solution, SOLUTION)
