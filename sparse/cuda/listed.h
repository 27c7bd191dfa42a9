/* listed.h - executes the entries of a launch list (lib/cuda/queue/launch_list.h), for the forms
 * that read it on the device: cdp.cu and resident.cu. An entry does what its kernel does, chunk by
 * chunk, with the same bits.
 *
 * RUN: the reader of the list. Blocks take chunks blockIdx.x, blockIdx.x + gridDim.x, ...
 *   run.state(theirs)    the state from which coefficients are read, instead of `theirs`
 *   run.template leave<SLOTS, NORM>(sums, chunk, value)  stores a block's part of an entry's sums
 *                                                        as sums_finish (reduce.h) does
 *   run.template end<SLOTS, NORM>(sums)                  this block has no more chunks
 * Functions are not inlined: else the registers of one would be those of all. */
#pragma once

#include "blas/cuda/convert.h"
#include "blas/cuda/words.h"
#include "sparse/cuda/csr.h"
#include "sparse/cuda/sell.h"

template <int OP, class RUN>
static __device__ __noinline__ void listed_update(const kaon_launch_list_entry &e, RUN &run) {
  typedef words_call<operands_of(OP)> call;
  constexpr int slots = traits_of<OP>().sums;
  constexpr bool norm = chosen_sums(OP);
  static_assert(sizeof(call) <= KAON_CALL_BYTES, "an entry holds the arguments");
  const call &deferred = *(const call *)e.call;
  const call a = deferred; /* in registers, since no store can change it */
  for (int chunk = (int)blockIdx.x; chunk < e.chunks; chunk += (int)gridDim.x) {
    double sum[2 * slots];
    update_chunk<OP>(a, run.state(a.state), share{0, chunk}, sum);
    if (a.sums.sum.state != NULL) run.template leave<slots, norm>(deferred.sums, chunk, sum);
  }
  if (!e.joined) run.template end<slots, norm>(deferred.sums);
}

template <int KIND, class RUN>
static __device__ __noinline__ void listed_rows(const kaon_launch_list_entry &e, RUN &run) {
  static_assert(sizeof(rows_call) <= KAON_CALL_BYTES, "an entry holds the arguments");
  const rows_call &deferred = *(const rows_call *)e.call;
  const rows_call a = deferred;
  [[maybe_unused]] const uint64_t policy = matrix_policy(a);
  for (int chunk = (int)blockIdx.x; chunk < e.chunks; chunk += (int)gridDim.x) {
    double sum[ROW_SUMS] = {};
    if constexpr (KIND == KAON_LISTED_SELL) sell_chunk<1, 0>(a, chunk, sum);
    if constexpr (KIND == KAON_LISTED_SELL_SHARED) sell_shared_chunk<1, 0>(a, chunk, sum);
    if constexpr (KIND == KAON_LISTED_CSR) csr_chunk<1, 1>(a, columns{0, 1, 1}, chunk, policy, sum);
    const double value[ROW_VALUES] = {sum[0], 0, sum[1], sum[2], sum[3], 0};
    if (a.sums.sum.state != NULL) run.template leave<3, true>(deferred.sums, chunk, value);
  }
  run.template end<3, true>(deferred.sums);
}

/* Adds the inner solution to the outer one and sets it to 0. */
template <class RUN>
static __device__ __noinline__ void listed_add_and_zero(const kaon_launch_list_entry &e, RUN &run) {
  static_assert(sizeof(convert_call) <= KAON_CALL_BYTES, "an entry holds the arguments");
  const convert_call &deferred = *(const convert_call *)e.call;
  const convert_call a = deferred;
  const int64_t step = (int64_t)a.sums.chunks * KAON_THREADS;
  for (int chunk = (int)blockIdx.x; chunk < e.chunks; chunk += (int)gridDim.x) {
    double sum[2] = {0, 0};
    for (int64_t i = (int64_t)chunk * KAON_THREADS + threadIdx.x; i < a.sites; i += step)
      convert_site<SINGLE, DOUBLE>(a, i / KAON_LANES, (int)(i % KAON_LANES), sum);
    if (a.sums.sum.state != NULL) run.template leave<1, true>(deferred.sums, chunk, sum);
  }
  run.template end<1, true>(deferred.sums);
}

/* Executes an entry whose gate is open. All threads of all blocks must call it. */
template <class RUN>
KAON_DEVICE void listed_run(const kaon_launch_list_entry &e, RUN &run) {
#define UPDATE(op)              \
  case KAON_LISTED_UPDATE + op: \
    listed_update<op>(e, run);  \
    break;
#define ROWS(kind)             \
  case kind:                   \
    listed_rows<kind>(e, run); \
    break;
  switch (e.kind % KAON_LISTED_PRECISION) { /* listed_of in blas/cuda/words.h, and rows_listed */
    UPDATE(AXPY)
    UPDATE(XPAY)
    UPDATE(AXPY_XPAY)
    UPDATE(BICGSTAB_DIRECTION)
    UPDATE(BICGSTAB_SOLUTION)
    UPDATE(AXPY_AXPY)
    UPDATE(PIPECG)
    UPDATE(SCALED)
    UPDATE(RESIDUAL_SCALED)
    UPDATE(PIPECG_SCALED)
    ROWS(KAON_LISTED_SELL)
    ROWS(KAON_LISTED_SELL_SHARED)
    ROWS(KAON_LISTED_CSR)
#if defined(KAON_PREC_SINGLE)
    case KAON_LISTED_ADD_AND_ZERO:
      listed_add_and_zero(e, run);
      break;
#endif
  }
#undef UPDATE
#undef ROWS
}
