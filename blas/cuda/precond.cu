/* precond.cu - updates of preconditioned methods on the GPU (blas/precond_ops.h), in double and
 * single: all vectors between two sums in one pass, with the sums. Two kernels a precision. An
 * operand of one column is read by all columns' blocks and found in the cache. */
#include "blas/cuda/unit.h"
#include "blas/precond_ops.h"
#include "lib/math/precond.h"

#if !KAON_HALF

enum op {
  SCALED,
  RESIDUAL_SCALED,
  SHIFTED,
  PIPEPCG,
  PIPECG_SCALED,
  GROPP_DIRECTION,
  GROPP_RESIDUAL,
  RBI_HALF,
  RBI_END
};
enum { OPERANDS = 10, COEFFICIENTS = 4 };

/* What an update reads (for its sums too) and writes (bit masks of operands), how many coefficients
 * and sums it has, whether operand 0 has one column. */
typedef struct traits {
  int reads, writes, coefficients, sums, shared;
} traits;

template <int OP>
static __host__ __device__ constexpr traits traits_of() {
  return OP == SCALED            ? traits{0x5, 0x2, 0, 2, 1}
         : OP == RESIDUAL_SCALED ? traits{0xb, 0x6, 1, 2, 1}
         : OP == SHIFTED         ? traits{0x7, 0x6, 2, 1, 1}
         : OP == PIPEPCG         ? traits{0x3ff, 0x37e, 3, 3, 0}
         : OP == PIPECG_SCALED   ? traits{0xff, 0x17e, 3, 3, 1}
         : OP == GROPP_DIRECTION ? traits{0xf, 0xa, 1, 1, 0}
         : OP == GROPP_RESIDUAL  ? traits{0x3f, 0x2a, 2, 2, 0}
         : OP == RBI_HALF        ? traits{0x1f, 0xa, 1, 2, 0}
                                 : traits{0x7f, 0x17, 4, 1, 0};
}

template <int OP>
static __device__ __forceinline__ void formula(vcomplex *v, const vcomplex *c, int kind) {
  if constexpr (OP == SCALED) kaon_precond_scaled(v, c, kind);
  if constexpr (OP == RESIDUAL_SCALED) kaon_precond_residual_scaled(v, c, kind);
  if constexpr (OP == SHIFTED) kaon_precond_shifted(v, c, kind);
  if constexpr (OP == PIPEPCG) kaon_precond_pipepcg(v, c, kind);
  if constexpr (OP == PIPECG_SCALED) kaon_precond_pipecg_scaled(v, c, kind);
  if constexpr (OP == GROPP_DIRECTION) kaon_precond_groppcg_direction(v, c, kind);
  if constexpr (OP == GROPP_RESIDUAL) kaon_precond_groppcg_residual(v, c, kind);
  if constexpr (OP == RBI_HALF) kaon_precond_rbicgstab_half(v, c, kind);
  if constexpr (OP == RBI_END) kaon_precond_rbicgstab_end(v, c, kind);
}

typedef struct precond_call {
  walk w;
  int complex_space, kind;
  enum op op;
  kaon_view v[OPERANDS];
  const kaon_column_state *state;
  int slot[COEFFICIENTS];
  double sign[COEFFICIENTS];
  kaon_cuda_sums sums;
} precond_call;

/* Words that a thread has on their way at once, of every operand: two, where registers hold them.
 */
template <int OP>
static __host__ __device__ constexpr int batch_of() {
  return OP == PIPEPCG || OP == PIPECG_SCALED ? 1 : 2;
}

template <int OP>
static __device__ __forceinline__ void update_word(const vcomplex *c, int kind, word *x) {
  constexpr traits t = traits_of<OP>();
#pragma unroll
  for (int p = 0; p < PAIRS; p++) {
    vcomplex v[OPERANDS];
#pragma unroll
    for (int o = 0; o < OPERANDS; o++)
      if (t.reads >> o & 1) v[o] = c_make(x[o].v[2 * p], x[o].v[2 * p + 1]);
    formula<OP>(v, c, kind);
#pragma unroll
    for (int o = 0; o < OPERANDS; o++)
      if (t.writes >> o & 1) {
        x[o].v[2 * p] = v[o].re;
        x[o].v[2 * p + 1] = v[o].im;
      }
  }
}

/* Adds d |x|^2 with d real: of a complex space the real parts. */
static __device__ __forceinline__ void add_weighted(double *sum, const word &d, const word &x,
                                                    int complex_space) {
#pragma unroll
  for (int i = 0; i < WORD; i++) {
    const double weight = (double)(complex_space && i % 2 ? d.v[i - i % 2] : d.v[i]);
    sum[0] = fma(weight * (double)x.v[i], (double)x.v[i], sum[0]);
  }
}

template <int OP>
static __device__ __forceinline__ void add_sums(const precond_call &a, const word *x, double *sum) {
  if constexpr (OP == SHIFTED) { /* none */
  } else if constexpr (OP == SCALED) {
    add_square(sum, x[1]);
  } else if constexpr (OP == RESIDUAL_SCALED) {
    add_square(sum, x[1]);
    add_words(sum + 2, x[1], x[2]);
  } else if constexpr (OP == PIPEPCG) {
    add_square(sum, x[4]);
    add_words(sum + 2, x[4], x[9]);
    add_words(sum + 4, x[2], x[9]);
  } else if constexpr (OP == PIPECG_SCALED) {
    add_square(sum, x[4]);
    add_weighted(sum + 2, x[0], x[4], a.complex_space);
    add_words(sum + 4, x[8], x[4]);
  } else if constexpr (OP == GROPP_DIRECTION) {
    add_words(sum, x[1], x[3]);
  } else if constexpr (OP == GROPP_RESIDUAL) {
    add_square(sum, x[3]);
    add_words(sum + 2, x[3], x[5]);
  } else if constexpr (OP == RBI_HALF) {
    add_square(sum, x[3]);
    add_words(sum + 2, x[4], x[3]);
  } else {
    add_square(sum, x[4]);
  }
}

/* N words, `step` apart: all are read before the first is written. */
template <int OP, int N>
static __device__ __forceinline__ void update_words(const precond_call &a, const vcomplex *c,
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
      if (t.reads >> o & 1) x[n][o] = word_read(a.v[o], t.shared && o == 0 ? i + n * step : at[n]);
#pragma unroll
  for (int n = 0; n < N; n++) update_word<OP>(c, a.kind, x[n]);
#pragma unroll
  for (int n = 0; n < N; n++)
#pragma unroll
    for (int o = 0; o < OPERANDS; o++)
      if (t.writes >> o & 1) ((word *)a.v[o].data)[at[n]] = x[n][o];
#pragma unroll
  for (int n = 0; n < N; n++) {
    add_sums<OP>(a, x[n], sum);
    if (OP == SCALED && a.v[3].data != NULL) add_words(sum + 2, word_read(a.v[3], at[n]), x[n][1]);
  }
}

template <int OP>
static __device__ __forceinline__ void update_share(const precond_call &a, share mine) {
  constexpr traits t = traits_of<OP>();
  vcomplex c[COEFFICIENTS];
  double sum[2 * t.sums];
#pragma unroll
  for (int i = 0; i < t.coefficients; i++)
    c[i] = coefficient_of(a.state, a.slot[i], a.sign[i], mine.column, a.complex_space);
#pragma unroll
  for (int i = 0; i < 2 * t.sums; i++) sum[i] = 0;
  const int64_t step = (int64_t)a.sums.chunks * KAON_THREADS;
  int64_t i = (int64_t)mine.chunk * KAON_THREADS + threadIdx.x;
  constexpr int batch = batch_of<OP>();
  for (; batch > 1 && i + (batch - 1) * step < a.w.count; i += batch * step)
    update_words<OP, batch>(a, c, i, step, mine.column, sum);
  for (; i < a.w.count; i += step) update_words<OP, 1>(a, c, i, step, mine.column, sum);
  kaon_let_next_start();
  if (a.sums.sum.state == NULL) return;
#pragma unroll
  for (int j = 1; j < 2 * t.sums; j += 2)
    if (!a.complex_space) sum[j] = 0;
  sums_finish<t.sums, 8, false>(a.sums, mine.column, mine.chunk, sum);
}

template <int OP>
static __device__ __forceinline__ void update_if(const precond_call &a, share mine) {
  if (a.op == OP) update_share<OP>(a, mine);
}

/* Updates of preconditioned CG have few operands: of their own kernel, half as many warps again fit
 * a multiprocessor as of one that has to hold the registers of the others too. */
template <int FEW>
static __global__ void __launch_bounds__(KAON_THREADS, FEW ? 3 : 1)
    precond_kernel(const __grid_constant__ precond_call a) {
  const share mine = share_of(a.sums);
  kaon_wait_for_previous();
  if (!gate_open(a.sums.gate, mine.column)) return;
  if constexpr (FEW) {
    update_if<SCALED>(a, mine);
    update_if<RESIDUAL_SCALED>(a, mine);
    update_if<SHIFTED>(a, mine);
  } else {
    update_if<PIPEPCG>(a, mine);
    update_if<PIPECG_SCALED>(a, mine);
    update_if<GROPP_DIRECTION>(a, mine);
    update_if<GROPP_RESIDUAL>(a, mine);
    update_if<RBI_HALF>(a, mine);
    update_if<RBI_END>(a, mine);
  }
}

static void launch_precond(const kaon_launch *launch, const kaon_update_args *args, enum op op,
                           int sums) {
  precond_call a = {};
  a.w = walk_of(&args->shape);
  a.complex_space = args->shape.complex_space;
  a.kind = !a.complex_space               ? KAON_SCALED_REAL
           : op == SCALED && args->n == 1 ? KAON_SCALED_CONJ
                                          : KAON_SCALED_COMPLEX;
  a.op = op;
  for (int i = 0; i < OPERANDS; i++) a.v[i] = args->v[i];
  a.state = args->c.state;
  for (int i = 0; i < COEFFICIENTS; i++) {
    a.slot[i] = args->c.slot[i];
    a.sign[i] = args->c.sign[i];
  }
  const int chunks = chunks_of(launch, a.w.count, args->sum.state != NULL ? 2 * sums : 0);
  a.sums = kaon_cuda_sums_of(launch, &args->gate, &args->sum, chunks);
  const unsigned blocks = (unsigned)chunks * (unsigned)args->shape.nrhs;
  if (op == SCALED || op == RESIDUAL_SCALED || op == SHIFTED)
    kaon_cuda_launch(launch, precond_kernel<1>, blocks, KAON_THREADS, a);
  else
    kaon_cuda_launch(launch, precond_kernel<0>, blocks, KAON_THREADS, a);
}

#define ENTRY(entry, op)                                                            \
  extern "C" void KAON_EXPORT(kaon_precond_##entry)(const kaon_launch *launch,      \
                                                    const kaon_update_args *args) { \
    launch_precond(launch, args, op, traits_of<op>().sums);                         \
  }

ENTRY(scaled, SCALED)
ENTRY(residual_scaled, RESIDUAL_SCALED)
ENTRY(shifted, SHIFTED)
ENTRY(pipepcg, PIPEPCG)
ENTRY(pipecg_scaled, PIPECG_SCALED)
ENTRY(groppcg_direction, GROPP_DIRECTION)
ENTRY(groppcg_residual, GROPP_RESIDUAL)
ENTRY(rbicgstab_half, RBI_HALF)
ENTRY(rbicgstab_end, RBI_END)

#endif
