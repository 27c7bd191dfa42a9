/* pipelined.cu - the updates of pipelined methods on the GPU (blas_ops.h): all vectors between two
 * sums in one pass, together with the sums. There is one kernel for each precision. The choice of
 * the update is uniform over a launch. The registers of the largest update still allow enough
 * blocks, because each thread has up to sixteen accesses in flight. */
#include "blas/cuda/words.h"

enum { OPERANDS = PIPE_OPERANDS };
typedef words_call<OPERANDS> pipe_call;

#if KAON_IS_HALF

/* Adds |x|^2 of a site to to[0] only, since to[1] may be another sum. */
KAON_DEVICE void add_norm(double *to, const double *product) {
  to[0] += product[0];
}

/* A spinor stays in registers as integers. Two passes: to find the largest value, and to round. */
template <int OP>
KAON_DEVICE void update_spinor(const pipe_call &a, const vcomplex *c, int64_t unit, int lane,
                               double *sum) {
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
      formula<OP>(v, c, 0);
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
#define ADD_NORM(to, i)         \
  {                             \
    double product[2] = {0, 0}; \
    ADD(product, i, i);         \
    add_norm(to, product);      \
  }
#define KAON_NORM(slot, i) ADD_NORM(sum + 2 * slot, i)
#define KAON_NORM_BESIDE(slot, i) ADD_NORM(sum + 2 * slot + 1, i)
#define KAON_PRODUCT(slot, i, j) ADD(sum + 2 * slot, i, j);
#define ADD(to, i, j) add_spinors(to, q[i], scale[i], q[j], scale[j])
  KAON_PIPELINED_ROWS(SUMS_OF_ROW)
#undef ADD
}

template <int OP>
KAON_DEVICE void sum_site(const pipe_call &a, int64_t unit, int lane, double *sum) {
#define ADD(to, i, j) add_sites(to, a.v[i], a.v[j], a.w, unit, lane)
  KAON_PIPELINED_ROWS(SUMS_OF_ROW)
#undef ADD
#undef ADD_NORM
#undef KAON_NORM
#undef KAON_NORM_BESIDE
#undef KAON_PRODUCT
}

template <int OP>
KAON_DEVICE void update_column(const pipe_call &a, const vcomplex *c, share mine, double *sum) {
  const int64_t step = (int64_t)a.sums.chunks * KAON_THREADS;
  for (int64_t i = (int64_t)mine.chunk * KAON_THREADS + threadIdx.x; i < a.w.count; i += step) {
    const int64_t unit = unit_of(a.w, i, mine.column);
    if (a.w.ncomp == SPINOR)
      update_spinor<OP>(a, c, unit, lane_of(i), sum);
    else {
      update_site<OP>(a, c, unit, lane_of(i));
      sum_site<OP>(a, unit, lane_of(i), sum);
    }
  }
}

#endif

template <int OP>
KAON_DEVICE void update_share(const pipe_call &a, share mine) {
  constexpr traits t = traits_of<OP>();
  vcomplex c[COEFFICIENTS];
  double sum[2 * t.sums];
  update_begin<OP>(a, a.state, mine.column, c, sum);
  update_column<OP>(a, c, mine, sum);
  sums_real<OP>(a.complex_space, sum);
  kaon_let_next_start();
  if (a.sums.sum.state == NULL) return;
  if constexpr (OP == PIPECGNR) {
    if (a.sums.sum.leave) {
      deferred_leave<t.sums>(a.sums, mine.chunk, sum);
      return;
    }
  }
  sums_finish<t.sums, 8, false>(a.sums, mine.column, mine.chunk, sum);
}

static __global__ void __launch_bounds__(KAON_THREADS)
    pipelined_kernel(const __grid_constant__ pipe_call a) {
  const share mine = share_of(a.sums);
  kaon_wait_for_previous();
  if (!gate_open(a.sums.gate, mine.column)) return;
#define KAON_X(op, entry, form, reads, summed, writes, coefficients, sums, ...) \
  case op:                                                                      \
    update_share<op>(a, mine);                                                  \
    break;
  switch (a.op) { KAON_PIPELINED_ROWS(KAON_X) }
#undef KAON_X
}

static void launch_pipelined(const kaon_launch *launch, const kaon_update_args *args, int op,
                             int sums) {
  const pipe_call a = words_call_of<OPERANDS>(launch, args, op, sums);
  if (args->sum.leave) args->sum.deferred->chunks = a.sums.chunks;
  const unsigned blocks = (unsigned)a.sums.chunks * (unsigned)args->shape.nrhs;
  kaon_cuda_launch_listed(launch, listed_of(op), pipelined_kernel, blocks, KAON_THREADS, a,
                          a.state);
}

#define KAON_X(op, entry, form, reads, summed, writes, coefficients, sums_, ...) \
  extern "C" void KAON_EXPORT(kaon_##entry)(const kaon_launch *launch,           \
                                            const kaon_update_args *args) {      \
    launch_pipelined(launch, args, op, traits_of<op>().sums);                    \
  }
KAON_PIPELINED_ROWS(KAON_X)
#undef KAON_X
