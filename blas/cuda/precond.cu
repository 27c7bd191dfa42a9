/* precond.cu - updates of preconditioned methods on the GPU (blas/precond_ops.h), in double and
 * single: all vectors between two sums in one pass, together with the sums. There are two kernels
 * for each precision. An operand shared by columns is read by the blocks of each; the cache serves
 * the repetitions. */
#include "blas/cuda/words.h"
#include "blas/precond_ops.h"

#if !KAON_IS_HALF

typedef words_call<PRECOND_OPERANDS> precond_call;

template <int OP>
KAON_DEVICE void update_share(const precond_call &a, share mine) {
  constexpr traits t = traits_of<OP>();
  double sum[2 * t.sums];
  update_chunk<OP>(a, a.state, mine, sum);
  kaon_let_next_start();
  if (a.sums.sum.state == NULL) return;
  if constexpr (OP == CHRONGEAR || OP == CHRONGEAR_SCALED) {
    if (a.sums.sum.leave) {
      deferred_leave<t.sums>(a.sums, mine.chunk, sum);
      return;
    }
  }
  sums_finish<t.sums, 8, false>(a.sums, mine.column, mine.chunk, sum);
}

/* The column of a block. Columns that share a column of operand 0 follow one another, so that it
 * stays in the cache. */
KAON_DEVICE share cyclic_columns(const precond_call &a) {
  share mine = share_of(a.sums);
  if (a.shared <= 1) return mine;
  const int each = (int)(gridDim.x / (unsigned)(a.sums.chunks * a.shared));
  mine.column = mine.column % each * a.shared + mine.column / each;
  return mine;
}

static __host__ __device__ constexpr bool is_few(int op) {
  return op == SCALED || op == RESIDUAL_SCALED || op == SHIFTED;
}

/* Updates of preconditioned CG have few operands and a kernel of their own. It needs fewer
 * registers, so a multiprocessor holds half as many warps again. */
template <int FEW>
static __global__ void __launch_bounds__(KAON_THREADS, FEW ? 3 : 2)
    precond_kernel(const __grid_constant__ precond_call a) {
  const share mine = FEW ? cyclic_columns(a) : share_of(a.sums);
  kaon_wait_for_previous();
  if (!gate_open(a.sums.gate, mine.column)) return;
#define UPDATE(op)                                              \
  case op:                                                      \
    if constexpr (FEW == is_few(op)) update_share<op>(a, mine); \
    break;
#define KAON_X(op, entry, form, reads, summed, writes, coefficients, sums, ...) UPDATE(op)
  switch (a.op) { UPDATE(SCALED) KAON_PRECOND_ROWS(KAON_X) }
#undef KAON_X
#undef UPDATE
}

/* Blocks for a column if there are sums: as many as a device of 132 multiprocessors holds at once,
 * or twice as many for the kernel with more loads in flight. The number does not depend on the
 * device, so that sums have the same bits. Each block first reads gate and coefficients, and writes
 * partial sums. PIPECG_BEHIND has as many as PIPECG (pipelined.cu), because it computes the same
 * sums. */
enum { FEW_CHUNKS = 3 * 132, MANY_CHUNKS = 2 * 2 * 132 };

static void launch_precond(const kaon_launch *launch, const kaon_update_args *args, int op,
                           int sums) {
  precond_call a = words_call_of<PRECOND_OPERANDS>(launch, args, op, sums);
  a.kind = !a.complex_space               ? KAON_SCALED_REAL
           : op == SCALED && args->n == 1 ? KAON_SCALED_CONJ
                                          : KAON_SCALED_COMPLEX;
  const bool few = is_few(op);
  const int most = few ? FEW_CHUNKS : MANY_CHUNKS;
  if (a.sums.sum.state != NULL && a.sums.chunks > most && op != PIPECG_BEHIND) a.sums.chunks = most;
  if (args->sum.leave) args->sum.deferred->chunks = a.sums.chunks;
  const unsigned blocks = (unsigned)a.sums.chunks * (unsigned)args->shape.nrhs;
  void (*kernel)(precond_call) = few ? precond_kernel<1> : precond_kernel<0>;
  kaon_cuda_launch_listed(launch, listed_of(op), kernel, blocks, KAON_THREADS, a, a.state);
}

#define ENTRY(entry, op)                                                            \
  extern "C" void KAON_EXPORT(kaon_precond_##entry)(const kaon_launch *launch,      \
                                                    const kaon_update_args *args) { \
    launch_precond(launch, args, op, traits_of<op>().sums);                         \
  }

ENTRY(scaled, SCALED)
#define KAON_X(op, entry, form, reads, summed, writes, coefficients, sums, ...) ENTRY(entry, op)
KAON_PRECOND_ROWS(KAON_X)
#undef KAON_X

#endif
