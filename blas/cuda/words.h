/* words.h - the formulas of vector updates in CUDA kernels (update.cu, pipelined.cu, precond.cu,
 * and the listed steps of sparse/cuda/listed.h). For double and single also how a thread goes
 * through the words of a column with a formula. Sums describe the stored values and are computed in
 * the same pass. */
#pragma once

#include "blas/cuda/unit.h"
#include "lib/cuda/queue/launch_list.h"
#include "lib/math/steps/precond_step.h"
#include "lib/math/steps/update_rows.h"

enum word_op {
  /* update.cu; the caller chooses their sums */
  ZERO,
  COPY,
  SCALE,
  AXPY,
  XPAY,
  AXPBY,
  AXPY_XPAY,
  BICGSTAB_DIRECTION,
  BICGSTAB_SOLUTION,
  AXPY_AXPY, /* multi_axpy of two vectors, only in lists */
#define KAON_X(op, entry, form, reads, summed, writes, coefficients, sums, ...) op,
  KAON_PIPELINED_ROWS(KAON_X) /* pipelined.cu */
  SCALED,                     /* from here on precond.cu */
  KAON_PRECOND_ROWS(KAON_X)
#undef KAON_X
};
enum { COEFFICIENTS = 4, UPDATE_OPERANDS = 5, PIPE_OPERANDS = 8, PRECOND_OPERANDS = 10 };

/* The properties of a formula: bit masks of the operands that it reads (for its sums too) and
 * writes; numbers of coefficients and sums; whether columns share operand 0. For update.cu also:
 * norm, the operand whose norm goes to slot 0; dot, the operand whose product with that one goes to
 * slot 1 (-1: none). */
typedef struct traits {
  int reads, writes, coefficients, sums, shared, norm, dot;
} traits;

template <int OP>
static __host__ __device__ constexpr traits traits_of() {
  return OP == ZERO                 ? traits{0, 1, 0, 2, 0, 0, -1}
         : OP == COPY               ? traits{1, 2, 0, 2, 0, 1, -1}
         : OP == SCALE              ? traits{1, 1, 1, 2, 0, 0, -1}
         : OP == AXPY               ? traits{3, 2, 1, 2, 0, 1, 2}
         : OP == XPAY               ? traits{3, 2, 1, 2, 0, 1, -1}
         : OP == AXPBY              ? traits{3, 2, 2, 2, 0, 1, -1}
         : OP == AXPY_XPAY          ? traits{7, 6, 2, 2, 0, 1, -1}
         : OP == BICGSTAB_DIRECTION ? traits{7, 2, 2, 2, 0, 1, -1}
         : OP == BICGSTAB_SOLUTION  ? traits{15, 10, 3, 2, 0, 1, 4}
         : OP == AXPY_AXPY          ? traits{7, 4, 2, 2, 0, 2, -1}
         : OP == SCALED             ? traits{0x5, 0x2, 0, 2, 1, 0, 0}
#define KAON_FORM_PLAIN 0
#define KAON_FORM_SCALED 1
#define KAON_FORM_CYCLIC 1
#define KAON_X(op, entry, form, reads, summed, writes, coefficients, sums, ...)             \
  : OP == op ? traits{                                                                      \
    (reads) | (summed), writes, coefficients, (sums) > 0 ? sums : 1, KAON_FORM_##form, 0, 0 \
  }
             KAON_PIPELINED_ROWS(KAON_X) KAON_PRECOND_ROWS(KAON_X)
#undef KAON_X
                        : traits{};
}

/* Operands that no other kernel of a step uses: the solution, a preconditioner's diagonal,
 * directions of pipelined CG (except d and s in two passes), and for chrongear all but those of the
 * product. They are accessed with a hint that leaves the second-level cache to vectors that the
 * product and the next update need. */
static __host__ __device__ constexpr int once_of(int op) {
  return op == AXPY_XPAY          ? 0x4
         : op == RESIDUAL_SCALED  ? 0x1
         : op == PIPECG_SCALED    ? 0x6b
         : op == SCALED_AHEAD     ? 0x2
         : op == SCALED_BEHIND    ? 0x39
         : op == CHRONGEAR_SCALED ? 0x1f
                                  : 0;
}

/* 1: the caller chooses the sums; slot 0 is then a norm. */
static __host__ __device__ constexpr bool chosen_sums(int op) {
  return op <= AXPY_AXPY;
}

/* The number of operands of the formula's family. */
static __host__ __device__ constexpr int operands_of(int op) {
  return op <= AXPY_AXPY ? UPDATE_OPERANDS : op < SCALED ? PIPE_OPERANDS : PRECOND_OPERANDS;
}

/* The number of the formula in launch lists (sparse/cuda/listed.h), or NONE. */
static inline int listed_of(int op) {
#if KAON_IS_HALF
  (void)op;
  return KAON_LISTED_NONE;
#else
  switch (op) {
    case AXPY:
    case XPAY:
    case AXPY_XPAY:
    case BICGSTAB_DIRECTION:
    case BICGSTAB_SOLUTION:
    case AXPY_AXPY:
    case PIPECG:
    case SCALED:
    case RESIDUAL_SCALED:
    case PIPECG_SCALED:
      return KAON_LISTED_UPDATE + op;
    default:
      return KAON_LISTED_NONE;
  }
#endif
}

/* Words of every operand that a thread has in flight at once: two, if registers suffice. */
static __host__ __device__ constexpr int batch_of(int op) {
  return op == PIPEPCG || op == PIPECG_SCALED ? 1 : 2;
}

template <int OP>
KAON_DEVICE void formula(vcomplex *v, const vcomplex *c, int kind) {
  (void)kind;
  if constexpr (OP == ZERO) v[0] = c_make(0, 0);
  if constexpr (OP == COPY) v[1] = v[0];
  if constexpr (OP == SCALE) kaon_update_scale(v, c);
  if constexpr (OP == AXPY) kaon_update_axpy(v, c);
  if constexpr (OP == XPAY) kaon_update_xpay(v, c);
  if constexpr (OP == AXPBY) kaon_update_axpby(v, c);
  if constexpr (OP == AXPY_XPAY) kaon_update_axpy_xpay(v, c);
  if constexpr (OP == BICGSTAB_DIRECTION) kaon_update_bicgstab_direction(v, c);
  if constexpr (OP == BICGSTAB_SOLUTION) kaon_update_bicgstab_solution(v, c);
  if constexpr (OP == AXPY_AXPY) { /* one after the other, as in multi_axpy */
    vcomplex first[2] = {v[0], v[2]};
    kaon_update_axpy(first, c);
    v[2] = first[1];
    kaon_update_axpy(v + 1, c + 1);
  }
  if constexpr (OP == SCALED) kaon_precond_scaled(v, c, kind);
#define KAON_X(op, entry, form, reads, summed, writes, coefficients, sums, ...) \
  if constexpr (OP == op) kaon_update_##entry(v, c);
  KAON_PIPELINED_ROWS(KAON_X)
#undef KAON_X
#define KAON_X(op, entry, form, reads, summed, writes, coefficients, sums, ...) \
  if constexpr (OP == op) kaon_precond_##entry(v, c, kind);
  KAON_PRECOND_ROWS(KAON_X)
#undef KAON_X
}

/* The arguments of a kernel with N operands: part of kaon_update_args. */
template <int N>
struct words_call {
  walk w;
  int complex_space;
  int op;      /* pipelined.cu, precond.cu: the update */
  int kind;    /* precond.cu: the kind of products d x */
  int shared;  /* precond.cu: columns of operand 0 if columns share it */
  int packets; /* half, update.cu: a thread handles a packet */
  int few;     /* all blocks fit the device at once: the next kernel may start beside them */
  kaon_view v[N];
  const kaon_column_state *state;
  int slot[COEFFICIENTS];
  double sign[COEFFICIENTS];
  kaon_cuda_sums sums;
};

/* Sets everything but few and kind. op: one of the family. */
template <int N>
static words_call<N> words_call_of(const kaon_launch *launch, const kaon_update_args *args, int op,
                                   int sums) {
  words_call<N> a = {};
  a.w = walk_of(&args->shape);
  a.complex_space = args->shape.complex_space;
  a.shared = args->shared;
  a.op = op;
  for (int i = 0; i < N; i++) a.v[i] = args->v[i];
  a.state = args->c.state;
  for (int i = 0; i < COEFFICIENTS; i++) {
    a.slot[i] = args->c.slot[i];
    a.sign[i] = args->c.sign[i];
  }
  const int chunks = chunks_of(launch, a.w.count, args->sum.state != NULL ? 2 * sums : 0);
  a.sums = kaon_cuda_sums_of(launch, &args->gate, &args->sum, chunks);
  return a;
}

/* Initialises a chunk: its coefficients, and zero sums. */
template <int OP, int N>
KAON_DEVICE void update_begin(const words_call<N> &a, const kaon_column_state *state, int column,
                              vcomplex *c, double *sum) {
  constexpr traits t = traits_of<OP>();
#pragma unroll
  for (int i = 0; i < t.coefficients; i++)
    c[i] = coefficient_of(state, a.slot[i], a.sign[i], column, a.complex_space);
#pragma unroll
  for (int i = 0; i < 2 * t.sums; i++) sum[i] = 0;
}

/* Clears the imaginary parts of a real space's sums, since its pairs of values are not complex. */
template <int OP>
KAON_DEVICE void sums_real(int complex_space, double *sum) {
#pragma unroll
  for (int j = 1; j < 2 * traits_of<OP>().sums; j += 2) /* here two norms share one sum */
    if (!complex_space && !(OP == PIPEBICGSTAB_DIRECTION && j == 3)) sum[j] = 0;
}

/* The sums of a row, if it is OP's. */
#define SUMS_OF_ROW(op, entry, form, reads, summed, writes, coefficients, sums, ...) \
  if constexpr (OP == op) {                                                          \
    __VA_ARGS__                                                                      \
  }

#if !KAON_IS_HALF

template <int OP>
KAON_DEVICE void update_word(const vcomplex *c, int kind, word *x) {
  constexpr traits t = traits_of<OP>();
  constexpr int operands = operands_of(OP);
#pragma unroll
  for (int p = 0; p < PAIRS; p++) {
    vcomplex v[operands];
#pragma unroll
    for (int o = 0; o < operands; o++)
      if (t.reads >> o & 1) v[o] = c_make(x[o].v[2 * p], x[o].v[2 * p + 1]);
    formula<OP>(v, c, kind);
#pragma unroll
    for (int o = 0; o < operands; o++)
      if (t.writes >> o & 1) {
        x[o].v[2 * p] = v[o].re;
        x[o].v[2 * p + 1] = v[o].im;
      }
  }
}

/* Adds d |x|^2 with real d; of a complex d only the real part counts. */
KAON_DEVICE void add_weighted(double *sum, const word &d, const word &x, int complex_space) {
#pragma unroll
  for (int i = 0; i < WORD; i++) {
    const double weight = (double)(complex_space && i % 2 ? d.v[i - i % 2] : d.v[i]);
    sum[0] = fma(weight * (double)x.v[i], (double)x.v[i], sum[0]);
  }
}

/* Adds a word's contribution to the sums of its column. Runs after the store, since operands read
 * again may have been written. */
template <int OP, int N>
KAON_DEVICE void add_sums(const words_call<N> &a, const word *x, int64_t at, double *sum) {
  [[maybe_unused]] constexpr traits t = traits_of<OP>();
  if constexpr (OP == ZERO) {
    return;
  } else if constexpr (chosen_sums(OP)) {
    if (a.sums.sum.state == NULL) return;
    if (sums_want(a.sums, 0)) add_square(sum, x[t.norm]);
    if (t.dot >= 0 && sums_want(a.sums, 1))
      add_words(sum + 2, word_read(a.v[t.dot >= 0 ? t.dot : 0], at), x[t.norm]);
  } else if constexpr (OP == SCALED) {
    add_square(sum, x[1]);
    if (a.v[3].data != NULL) add_words(sum + 2, word_read(a.v[3], at), x[1]);
  } else {
#define KAON_NORM(slot, i) add_square(sum + 2 * slot, x[i]);
#define KAON_NORM_BESIDE(slot, i) add_square(sum + 2 * slot + 1, x[i]);
#define KAON_PRODUCT(slot, i, j) add_words(sum + 2 * slot, x[i], x[j]);
#define KAON_WEIGHTED(slot, d, i) add_weighted(sum + 2 * slot, x[d], x[i], a.complex_space);
    KAON_PIPELINED_ROWS(SUMS_OF_ROW)
    KAON_PRECOND_ROWS(SUMS_OF_ROW)
#undef KAON_NORM
#undef KAON_NORM_BESIDE
#undef KAON_PRODUCT
#undef KAON_WEIGHTED
  }
}

/* The index of word i in the column of operand 0 that `column` uses. */
template <int OP, int N>
KAON_DEVICE int64_t shared_at(const words_call<N> &a, int64_t i, int column) {
  if (OP != SHIFTED || a.shared <= 1) return i;
  walk w = a.w;
  w.gap = (a.shared - 1) * a.w.unit;
  return word_at(w, i, column % a.shared);
}

/* Updates BATCH words, `step` apart. All are read before the first is written. */
template <int OP, int BATCH, int N>
KAON_DEVICE void update_words(const words_call<N> &a, const vcomplex *c, int64_t i, int64_t step,
                              int column, double *sum) {
  constexpr traits t = traits_of<OP>();
  constexpr int operands = operands_of(OP);
  word x[BATCH][operands];
  int64_t at[BATCH];
#pragma unroll
  for (int n = 0; n < BATCH; n++) at[n] = word_at(a.w, i + n * step, column);
#pragma unroll
  for (int n = 0; n < BATCH; n++)
#pragma unroll
    for (int o = 0; o < operands; o++)
      if (t.reads >> o & 1) {
        const int64_t from = t.shared && o == 0 ? shared_at<OP>(a, i + n * step, column) : at[n];
        x[n][o] = once_of(OP) >> o & 1 ? word_read_once(a.v[o], from) : word_read(a.v[o], from);
      }
#pragma unroll
  for (int n = 0; n < BATCH; n++) update_word<OP>(c, a.kind, x[n]);
#pragma unroll
  for (int n = 0; n < BATCH; n++)
#pragma unroll
    for (int o = 0; o < operands; o++)
      if (t.writes >> o & 1) {
        if (once_of(OP) >> o & 1)
          word_write_once(a.v[o], at[n], x[n][o]);
        else
          ((word *)a.v[o].data)[at[n]] = x[n][o];
      }
#pragma unroll
  for (int n = 0; n < BATCH; n++) add_sums<OP>(a, x[n], at[n], sum);
}

template <int OP, int N>
KAON_DEVICE void update_column(const words_call<N> &a, const vcomplex *c, share mine, double *sum) {
  constexpr int batch = batch_of(OP);
  const int64_t step = (int64_t)a.sums.chunks * KAON_THREADS;
  int64_t i = (int64_t)mine.chunk * KAON_THREADS + threadIdx.x;
  for (; batch > 1 && i + (batch - 1) * step < a.w.count; i += batch * step)
    update_words<OP, batch>(a, c, i, step, mine.column, sum);
  for (; i < a.w.count; i += step) update_words<OP, 1>(a, c, i, step, mine.column, sum);
}

/* Updates a chunk of a column. Its sums go to sum[2 * traits.sums]. */
template <int OP, int N>
KAON_DEVICE void update_chunk(const words_call<N> &a, const kaon_column_state *state, share mine,
                              double *sum) {
  vcomplex c[COEFFICIENTS];
  update_begin<OP>(a, state, mine.column, c, sum);
  update_column<OP>(a, c, mine, sum);
  sums_real<OP>(a.complex_space, sum);
}

#else

/* Components i and i + 1 of a site of any size, after the formula. */
template <int OP, int N>
KAON_DEVICE void update_pair(const words_call<N> &a, const vcomplex *c, const float *step,
                             int64_t unit, int lane, int i, vcomplex *v) {
  constexpr traits t = traits_of<OP>();
#pragma unroll
  for (int o = 0; o < N; o++)
    if (t.reads >> o & 1) {
      v[o].re = *integer_at(a.v[o], a.w, unit, lane, i) * step[o];
      v[o].im = i + 1 < a.w.ncomp ? *integer_at(a.v[o], a.w, unit, lane, i + 1) * step[o] : 0;
    }
  formula<OP>(v, c, 0);
}

/* Updates a site of any size, from memory. Two passes: to find the largest value, and to round. Only
 * the scales are stored between them. */
template <int OP, int N>
KAON_DEVICE void update_site(const words_call<N> &a, const vcomplex *c, int64_t unit, int lane) {
  constexpr traits t = traits_of<OP>();
  float step[N], scale[N] = {}, factor[N];
  vcomplex v[N];
#pragma unroll
  for (int o = 0; o < N; o++)
    if (t.reads >> o & 1) step[o] = kaon_half_unit(*scale_at(a.v[o], unit, lane));
#pragma unroll 1
  for (int i = 0; i < a.w.ncomp; i += 2) {
    update_pair<OP>(a, c, step, unit, lane, i, v);
#pragma unroll
    for (int o = 0; o < N; o++)
      if (t.writes >> o & 1) {
        scale[o] = quantise_largest(scale[o], v[o].re);
        if (i + 1 < a.w.ncomp) scale[o] = quantise_largest(scale[o], v[o].im);
      }
  }
#pragma unroll
  for (int o = 0; o < N; o++) factor[o] = kaon_half_factor(scale[o]);
#pragma unroll 1
  for (int i = 0; i < a.w.ncomp; i += 2) {
    update_pair<OP>(a, c, step, unit, lane, i, v);
#pragma unroll
    for (int o = 0; o < N; o++)
      if (t.writes >> o & 1) {
        v_store_int16(integer_at(a.v[o], a.w, unit, lane, i), v[o].re * factor[o]);
        if (i + 1 < a.w.ncomp)
          v_store_int16(integer_at(a.v[o], a.w, unit, lane, i + 1), v[o].im * factor[o]);
      }
  }
#pragma unroll
  for (int o = 0; o < N; o++)
    if (t.writes >> o & 1) *scale_at(a.v[o], unit, lane) = scale[o];
}

#endif
