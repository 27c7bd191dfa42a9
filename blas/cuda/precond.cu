/* precond.cu - updates of preconditioned methods on the GPU (blas/precond_ops.h), in double and
 * single: all vectors between two sums in one pass, with the sums. One kernel a precision, as in
 * pipelined.cu. An operand of one column is read by all columns' blocks and found in the cache. */
#include "blas/cuda/words.h"
#include "blas/precond_ops.h"

#if !KAON_HALF

typedef words_call<PRECOND_OPERANDS> precond_call;

template <int OP>
static __device__ __forceinline__ void update_share(const precond_call &a, share mine) {
  constexpr traits t = traits_of<OP>();
  double sum[2 * t.sums];
  update_chunk<OP>(a, a.state, mine, sum);
  kaon_let_next_start();
  if (a.sums.sum.state == NULL) return;
  sums_finish<t.sums, 8, false>(a.sums, mine.column, mine.chunk, sum);
}

static __global__ void __launch_bounds__(KAON_THREADS)
    precond_kernel(const __grid_constant__ precond_call a) {
  const share mine = share_of(a.sums);
  kaon_wait_for_previous();
  if (!gate_open(a.sums.gate, mine.column)) return;
  switch (a.op) {
    case SCALED:
      update_share<SCALED>(a, mine);
      break;
    case RESIDUAL_SCALED:
      update_share<RESIDUAL_SCALED>(a, mine);
      break;
    case PIPEPCG:
      update_share<PIPEPCG>(a, mine);
      break;
    case PIPECG_SCALED:
      update_share<PIPECG_SCALED>(a, mine);
      break;
    case GROPP_DIRECTION:
      update_share<GROPP_DIRECTION>(a, mine);
      break;
    case GROPP_RESIDUAL:
      update_share<GROPP_RESIDUAL>(a, mine);
      break;
    case RBI_HALF:
      update_share<RBI_HALF>(a, mine);
      break;
    case RBI_END:
      update_share<RBI_END>(a, mine);
      break;
  }
}

static void launch_precond(const kaon_launch *launch, const kaon_update_args *args, int op,
                           int sums) {
  precond_call a = words_call_of<PRECOND_OPERANDS>(launch, args, op, sums);
  a.kind = !a.complex_space               ? KAON_SCALED_REAL
           : op == SCALED && args->n == 1 ? KAON_SCALED_CONJ
                                          : KAON_SCALED_COMPLEX;
  const unsigned blocks = (unsigned)a.sums.chunks * (unsigned)args->shape.nrhs;
  kaon_cuda_launch_listed(launch, listed_of(op), precond_kernel, blocks, KAON_THREADS, a, a.state);
}

#define ENTRY(entry, op)                                                            \
  extern "C" void KAON_EXPORT(kaon_precond_##entry)(const kaon_launch *launch,      \
                                                    const kaon_update_args *args) { \
    launch_precond(launch, args, op, traits_of<op>().sums);                         \
  }

ENTRY(scaled, SCALED)
ENTRY(residual_scaled, RESIDUAL_SCALED)
ENTRY(pipepcg, PIPEPCG)
ENTRY(pipecg_scaled, PIPECG_SCALED)
ENTRY(groppcg_direction, GROPP_DIRECTION)
ENTRY(groppcg_residual, GROPP_RESIDUAL)
ENTRY(rbicgstab_half, RBI_HALF)
ENTRY(rbicgstab_end, RBI_END)

#endif
