/* convert.cu - converts vectors between precisions on the GPU. These are the only kernels that use
 * two precisions.
 * A thread handles a site. The groups of components differ between precisions, so each side is
 * accessed in its own layout. If that leaves most of the device idle and one side is in half, the
 * warps of a block share 32 sites. Each warp then takes as many components as half has in one
 * access.
 * A value is widened to double, added to the target if requested, and rounded once. The source may
 * be set to zero. The norm is that of the stored values. */
#define KAON_PREC_SINGLE /* unit.h needs a `real`, which is not used here */
#undef KAON_PREC_ALL
#include "blas/cuda/convert.h"
#include "lib/cuda/queue/launch_list.h"

enum {
  PART = KAON_ACCESS / (int)sizeof(int16_t),
  PARTS = SPINOR / PART,
  PART_THREADS = PARTS * KAON_LANES
};

/* The largest of the values that the warps of a block found in their parts of a site. On return all
 * warps have read their parts. Called by all threads. */
KAON_DEVICE float largest_of_parts(int lane, float own) {
  __shared__ quantise_room<PARTS> room;
  room[threadIdx.x / KAON_LANES][lane] = own;
  __syncthreads();
  return quantise_over_parts<PARTS>(room, lane);
}

/* Converts a site of NCOMP reals, in registers. PARTED: only PART components of a spinor, while
 * other warps of the block have the rest; then all threads of the block call it. */
template <int FROM, int TO, int NCOMP, bool PARTED = false>
KAON_DEVICE void convert_held(const convert_call &a, int64_t unit, int lane, double *sum) {
  typedef typename number_of<FROM>::type source;
  typedef typename number_of<TO>::type target;
  source x[NCOMP];
  target y[NCOMP];
  const int part = PARTED ? (int)threadIdx.x / KAON_LANES : 0;
  const int64_t first =
      PARTED ? (unit * PARTS + part) * PART * KAON_LANES : unit * NCOMP * KAON_LANES;
  target *to = (target *)a.v[1].data + first;
  source *from = (source *)a.v[0].data + first;
  site_read<source, NCOMP>(from, lane, x);
  const float x_step = step_of<FROM>(a.v[0], unit, lane);
  float y_step = a.add ? step_of<TO>(a.v[1], unit, lane) : 1.0f;
  if (a.add) site_read<target, NCOMP>(to, lane, y);
  if constexpr (TO == HALF) {
    float value[NCOMP], largest = 0;
#pragma unroll
    for (int c = 0; c < NCOMP; c++) {
      const double old = a.add ? value_of<TO>(y[c], y_step) : 0;
      value[c] = (float)(old + value_of<FROM>(x[c], x_step));
      largest = quantise_largest(largest, value[c]);
    }
    if (PARTED) largest = largest_of_parts(lane, largest);
    const float factor = kaon_half_factor(largest);
#pragma unroll
    for (int c = 0; c < NCOMP; c++) y[c] = (int16_t)__float2int_rn(value[c] * factor);
    if (part == 0) a.v[1].scale[unit * KAON_LANES + lane] = largest;
    y_step = kaon_half_unit(largest);
  } else {
#pragma unroll
    for (int c = 0; c < NCOMP; c++) {
      const double old = a.add ? (double)y[c] : 0;
      y[c] = (target)(old + value_of<FROM>(x[c], x_step));
    }
  }
  site_write<target, NCOMP>(to, lane, y);
  if (a.clear) {
#pragma unroll
    for (int c = 0; c < NCOMP; c++) x[c] = 0;
    site_write<source, NCOMP>(from, lane, x);
    if (PARTED && FROM == HALF && TO != HALF) __syncthreads(); /* all have read the scale */
    if (FROM == HALF && part == 0) a.v[0].scale[unit * KAON_LANES + lane] = 0;
  }
  if (!sums_want(a.sums, 0)) return;
#pragma unroll
  for (int c = 0; c < NCOMP; c++) {
    const double stored_value = value_of<TO>(y[c], y_step);
    *sum = fma(stored_value, stored_value, *sum);
  }
}

template <int FROM, int TO>
static __global__ void __launch_bounds__(KAON_THREADS)
    convert_kernel(const __grid_constant__ convert_call a) {
  const share mine = share_of(a.sums);
  kaon_wait_for_previous();
  if (!gate_open(a.sums.gate, mine.column)) return;
  double sum[2] = {0, 0};
  if constexpr ((FROM == HALF) != (TO == HALF))
    if (a.parted)
      convert_held<FROM, TO, PART, true>(a, (int64_t)mine.chunk * a.nrhs + mine.column,
                                         (int)threadIdx.x % KAON_LANES, sum);
  const int64_t step = (int64_t)a.sums.chunks * KAON_THREADS;
  for (int64_t i = (int64_t)mine.chunk * KAON_THREADS + threadIdx.x; !a.parted && i < a.sites;
       i += step) {
    const int64_t unit = i / KAON_LANES * a.nrhs + mine.column;
    if (a.ncomp == SPINOR)
      convert_held<FROM, TO, SPINOR>(a, unit, (int)(i % KAON_LANES), sum);
    else if (a.ncomp == COLOURS)
      convert_held<FROM, TO, COLOURS>(a, unit, (int)(i % KAON_LANES), sum);
    else
      convert_site<FROM, TO>(a, unit, (int)(i % KAON_LANES), sum);
  }
  kaon_let_next_start();
  if (a.sums.sum.state == NULL) return;
  sums_finish<1>(a.sums, mine.column, mine.chunk, sum);
}

static bool takes_parts(const kaon_convert_args *args) {
  const kaon_shape *s = &args->shape;
  return (args->from == HALF) != (args->to == HALF) && s->ncomp == SPINOR &&
         s->nblocks * s->nrhs <= (args->sum.state != NULL ? QUANTISE_BLOCKS / 2 : QUANTISE_BLOCKS);
}

extern "C" void kaon_convert_cuda(const kaon_launch *launch, const kaon_convert_args *args) {
  const kaon_shape *s = &args->shape;
  convert_call a = {};
  a.sites = s->nblocks * KAON_LANES;
  a.ncomp = s->ncomp;
  a.nrhs = s->nrhs;
  a.add = args->add;
  a.clear = args->clear;
  for (int i = 0; i < 2; i++) a.v[i] = args->v[i];
  a.parted = takes_parts(args);
  const int chunks =
      a.parted ? (int)s->nblocks : chunks_of(launch, a.sites, args->sum.state != NULL ? 2 : 0);
  const unsigned threads = a.parted ? (unsigned)PART_THREADS : (unsigned)KAON_THREADS;
  a.sums = kaon_cuda_sums_of(launch, &args->gate, &args->sum, chunks);
  const unsigned blocks = (unsigned)chunks * (unsigned)s->nrhs;
#define PAIR(from_, to_)                                                      \
  case 3 * from_ + to_:                                                       \
    kaon_cuda_launch(launch, convert_kernel<from_, to_>, blocks, threads, a); \
    break;
  if (launch->list != NULL && args->from == SINGLE && args->to == DOUBLE) {
    kaon_cuda_launch_listed(launch, KAON_LISTED_ADD_AND_ZERO, convert_kernel<SINGLE, DOUBLE>,
                            blocks, KAON_THREADS, a, NULL);
    return;
  }
  switch (3 * args->from + args->to) {
    PAIR(DOUBLE, DOUBLE)
    PAIR(DOUBLE, SINGLE)
    PAIR(DOUBLE, HALF)
    PAIR(SINGLE, DOUBLE)
    PAIR(SINGLE, SINGLE)
    PAIR(SINGLE, HALF)
    PAIR(HALF, DOUBLE)
    PAIR(HALF, SINGLE)
    PAIR(HALF, HALF)
  }
#undef PAIR
}
