/* update.cu - vector updates with a fixed number of operands, on the GPU (blas_ops.h): one kernel
 * template, instantiated for each formula. Sums describe the stored values and are computed in the
 * same pass. */
#include "blas/cuda/words.h"

enum { OPERANDS = UPDATE_OPERANDS, FEW_BLOCKS = 264 };
typedef words_call<OPERANDS> update_call;

#if KAON_IS_HALF

template <int OP>
KAON_DEVICE void sum_site(const update_call &a, int64_t unit, int lane, double *sum) {
  constexpr traits t = traits_of<OP>();
  if (a.sums.sum.state == NULL) return;
  if (sums_want(a.sums, 0)) add_sites(sum, a.v[t.norm], a.v[t.norm], a.w, unit, lane);
  if (t.dot >= 0 && sums_want(a.sums, 1))
    add_sites(sum + 2, a.v[t.dot >= 0 ? t.dot : 0], a.v[t.norm], a.w, unit, lane);
}

enum { PACKET = KAON_ACCESS / (int)sizeof(stored), PACKETS = SPINOR / PACKET };

/* Accesses NCOMP components of a site: all of them or, with PARTS, the packet of this warp. */
template <int NCOMP, bool PARTS>
KAON_DEVICE void part_read(stored *integers, int lane, stored *q) {
  if constexpr (PARTS)
    site_read<stored, NCOMP>(integers + threadIdx.x / KAON_LANES * (NCOMP * KAON_LANES), lane, q);
  else
    site_read<stored, NCOMP>(integers, lane, q);
}

template <int NCOMP, bool PARTS>
KAON_DEVICE void part_write(stored *integers, int lane, const stored *q) {
  if constexpr (PARTS)
    site_write<stored, NCOMP>(integers + threadIdx.x / KAON_LANES * (NCOMP * KAON_LANES), lane, q);
  else
    site_write<stored, NCOMP>(integers, lane, q);
}

/* The largest over the parts, for each operand that is written. Called by all threads. */
template <int OP>
KAON_DEVICE void largest_of_parts(int lane, float *scale) {
  constexpr traits t = traits_of<OP>();
  __shared__ quantise_room<PACKETS> room[OPERANDS];
#pragma unroll
  for (int o = 0; o < OPERANDS; o++)
    if (t.writes >> o & 1) room[o][threadIdx.x / KAON_LANES][lane] = scale[o];
  __syncthreads();
#pragma unroll
  for (int o = 0; o < OPERANDS; o++)
    if (t.writes >> o & 1) scale[o] = quantise_over_parts<PACKETS>(room[o], lane);
}

/* Updates a site of NCOMP reals, in registers. PARTS: only a packet of that many; then all threads
 * of the block call it. */
template <int OP, int NCOMP, bool PARTS = false>
KAON_DEVICE void update_held(const update_call &a, const vcomplex *c, int64_t unit, int lane,
                             double *sum) {
  constexpr traits t = traits_of<OP>();
  stored q[OPERANDS][NCOMP];
  float value[OPERANDS][NCOMP], step[OPERANDS], scale[OPERANDS];
#pragma unroll
  for (int o = 0; o < OPERANDS; o++)
    if (t.reads >> o & 1) {
      part_read<NCOMP, PARTS>(integers_of(a.v[o], a.w, unit), lane, q[o]);
      step[o] = kaon_half_unit(*scale_at(a.v[o], unit, lane));
    }
#pragma unroll
  for (int i = 0; i < NCOMP; i += 2) {
    vcomplex v[OPERANDS];
#pragma unroll
    for (int o = 0; o < OPERANDS; o++)
      if (t.reads >> o & 1) v[o] = c_scale(c_load(q[o] + i), step[o]);
    formula<OP>(v, c, 0);
#pragma unroll
    for (int o = 0; o < OPERANDS; o++)
      if (t.writes >> o & 1) {
        value[o][i] = v[o].re;
        value[o][i + 1] = v[o].im;
      }
  }
  if constexpr (PARTS) {
#pragma unroll
    for (int o = 0; o < OPERANDS; o++)
      if (t.writes >> o & 1) scale[o] = quantise_most<NCOMP>(value[o]);
    largest_of_parts<OP>(lane, scale);
  }
#pragma unroll
  for (int o = 0; o < OPERANDS; o++)
    if (t.writes >> o & 1) {
      if (!PARTS) scale[o] = quantise_most<NCOMP>(value[o]);
      scale[o] = quantise_by<NCOMP>(value[o], scale[o], q[o]);
      part_write<NCOMP, PARTS>(integers_of(a.v[o], a.w, unit), lane, q[o]);
      if (!PARTS || threadIdx.x < KAON_LANES) *scale_at(a.v[o], unit, lane) = scale[o];
    }
  if (OP == ZERO || a.sums.sum.state == NULL) return;
  if (sums_want(a.sums, 0))
    add_spinors<NCOMP>(sum, q[t.norm], scale[t.norm], q[t.norm], scale[t.norm]);
  if (t.dot >= 0 && sums_want(a.sums, 1)) { /* after the store, since it may be an operand */
    const kaon_view &w = a.v[t.dot >= 0 ? t.dot : 0];
    stored late[NCOMP];
    part_read<NCOMP, PARTS>(integers_of(w, a.w, unit), lane, late);
    float late_scale = *scale_at(w, unit, lane);
    if constexpr (PARTS) /* another warp may be about to write the scale */
      for (int o = 0; o < OPERANDS; o++)
        if ((t.writes >> o & 1) && a.v[o].data == w.data) late_scale = scale[o];
    add_spinors<NCOMP>(sum + 2, late, late_scale, q[t.norm], scale[t.norm]);
  }
}

/* Copies bits, so a site is not rounded again. */
KAON_DEVICE void copy_site(const update_call &a, int64_t unit, int lane, double *sum) {
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
KAON_DEVICE void update_column(const update_call &a, const vcomplex *c, share mine, double *sum) {
  if constexpr (OP != ZERO && OP != COPY) {
    if (a.packets) { /* a block has 32 sites, and each of its warps one packet of them */
      const int64_t i = (int64_t)mine.chunk * KAON_LANES + threadIdx.x % KAON_LANES;
      update_held<OP, PACKET, true>(a, c, unit_of(a.w, i, mine.column), lane_of(i), sum);
      return;
    }
  }
  const int64_t step = (int64_t)a.sums.chunks * KAON_THREADS;
  for (int64_t i = (int64_t)mine.chunk * KAON_THREADS + threadIdx.x; i < a.w.count; i += step) {
    const int64_t unit = unit_of(a.w, i, mine.column);
    if (OP == COPY)
      copy_site(a, unit, lane_of(i), sum);
    else if (a.w.ncomp == SPINOR)
      update_held<OP, SPINOR>(a, c, unit, lane_of(i), sum);
    else if (a.w.ncomp == COLOURS)
      update_held<OP, COLOURS>(a, c, unit, lane_of(i), sum);
    else {
      update_site<OP>(a, c, unit, lane_of(i));
      if (OP != ZERO) sum_site<OP>(a, unit, lane_of(i), sum);
    }
  }
}

#endif

KAON_DEVICE double read_now(const double *p) {
  double x;
  asm volatile("ld.global.f64 %0, [%1];" : "=d"(x) : "l"(p));
  return x;
}

/* Blocks that a multiprocessor must hold, where the compiler needs the hint (0: it does not). The
 * completion of the sums takes more registers than the update. */
template <int OP>
static __host__ __device__ constexpr int update_blocks() {
  constexpr bool wide = sizeof(real) == 8;
  return OP == SCALE || OP == AXPY || OP == XPAY || (KAON_IS_HALF && (OP == COPY || OP == AXPBY)) ||
                 (OP == AXPY_XPAY && wide) || (OP == BICGSTAB_DIRECTION && (wide || KAON_IS_HALF))
             ? 4
         : (OP == BICGSTAB_SOLUTION && wide) || (OP == AXPY_XPAY && KAON_IS_HALF) ? 3
                                                                                  : 0;
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
  for (int i = 0; i < t.coefficients; i++) /* loaded together with the gate */
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
  sums_real<OP>(a.complex_space, sum);
  sums_finish<2>(a.sums, mine.column, mine.chunk, sum);
}

#if KAON_IS_HALF
/* 1: use packets, because one thread for each site would leave most of the device idle. With sums
 * the limit is lower, since there are more partial sums. */
static bool takes_packets(const kaon_launch *launch, const kaon_update_args *args, int op) {
  const kaon_shape *s = &args->shape;
  const bool sums = args->sum.state != NULL; /* tuning must not change their bits */
  return op != ZERO && op != COPY && s->ncomp == SPINOR && (sums || launch->tuned.blocks == 0) &&
         s->nblocks * s->nrhs <= (sums ? QUANTISE_BLOCKS / 2 : QUANTISE_BLOCKS);
}
#endif

template <int OP>
static void launch_update(const kaon_launch *launch, const kaon_update_args *args) {
  constexpr traits t = traits_of<OP>();
  update_call a = words_call_of<OPERANDS>(launch, args, OP, t.sums);
  if (t.dot > 0 && args->v[t.dot > 0 ? t.dot : 0].data == NULL) a.sums.sum.slot[1] = KAON_NO_SLOT;
  unsigned threads = KAON_THREADS;
#if KAON_IS_HALF
  if (takes_packets(launch, args, OP)) {
    a.packets = 1;
    a.sums.chunks = (int)args->shape.nblocks;
    threads = PACKETS * KAON_LANES;
  }
#endif
  const unsigned blocks = (unsigned)a.sums.chunks * (unsigned)args->shape.nrhs;
  a.few = blocks <= FEW_BLOCKS;
  kaon_cuda_launch_listed(launch, listed_of(OP), update_kernel<OP>, blocks, threads, a, a.state);
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
