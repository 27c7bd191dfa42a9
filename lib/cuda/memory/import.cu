/* import.cu - import and export of a column of a vector from and to arrays in the host's order, on
 * the GPU (lib/vector/import_ops.h). A thread handles a site, a warp a block of the field. Every
 * value is rounded as in lib/vector/vector_import.c, so host and device give the same bits. */
#include "lib/cuda/memory/import.h"

#include "lib/cuda/memory/access.h"
#include "lib/cuda/memory/neighbours.h"
#include "lib/cuda/precisions.h"
#include "lib/cuda/reduction/quantise.h"
#include "lib/cuda/memory/records.h"

enum { THREADS = 128, SPINOR = 24, FIND_BLOCKS = 4096 };

typedef struct import_call {
  kaon_sites sites;
  int lattice;    /* 0: rows of a sparse system */
  int pairs;      /* in psi, sites of the other parity are interleaved with these */
  int odd_origin; /* kaon_stencil.odd_origin */
  int parity, ncomp, nrhs, column;
  int64_t nblocks, own[2], first, end; /* own: local sites of each parity */
  int64_t numbers;                     /* number of records in psi */
  kaon_view vector;
  double *psi;
  const int32_t *order;
  int changes;
  double scale;
  signed char sign[4][4]; /* inside = scale * sign * psi; for export its inverse */
  double limit;
  unsigned long long *found;
} import_call;

/* A thread's site. unit: index of its block and column; record: its values in psi, or NULL if the
 * lane is masked. */
typedef struct here {
  int lane;
  int64_t unit;
  double *record;
} here;

/* Returns false only for whole warps. */
KAON_DEVICE bool find_here(const import_call &a, here *h) {
  const int64_t at = a.first + (int64_t)blockIdx.x * THREADS + threadIdx.x;
  const int parity = a.lattice && a.parity > 1 ? (int)blockIdx.y : a.parity;
  const int64_t block = at / KAON_LANES + (a.lattice && a.parity > 1 ? parity * a.nblocks : 0);
  if (at / KAON_LANES * KAON_LANES >= a.end) return false;
  h->lane = (int)(at % KAON_LANES);
  h->unit = block * a.nrhs + a.column;
  h->record = NULL;
  if (at >= a.own[parity & 1]) return true;
  int64_t number = a.order != NULL ? a.order[at] : at - a.first;
  if (a.pairs) {
    const kaon_here site = kaon_here_of(&a.sites, parity ^ a.odd_origin, (int32_t)at);
    number = site.number - 2 * a.first;
  }
  h->record = a.psi + number * a.ncomp;
  return true;
}

KAON_DEVICE void change_basis(const import_call &a, double *value) {
#pragma unroll
  for (int c = 0; c < SPINOR / 4; c++) {
    double in[4];
#pragma unroll
    for (int j = 0; j < 4; j++) in[j] = value[SPINOR / 4 * j + c];
#pragma unroll
    for (int i = 0; i < 4; i++) {
      double sum = 0;
#pragma unroll
      for (int j = 0; j < 4; j++) sum += a.sign[i][j] * in[j];
      value[SPINOR / 4 * i + c] = a.scale * sum;
    }
  }
}

template <int PRECISION>
KAON_DEVICE void store_spinor(const import_call &a, const here &h, const double *value) {
  typedef typename number_of<PRECISION>::type number;
  number x[SPINOR];
  if constexpr (PRECISION == HALF) {
    float rounded[SPINOR];
#pragma unroll
    for (int c = 0; c < SPINOR; c++) rounded[c] = (float)value[c];
    a.vector.scale[h.unit * KAON_LANES + h.lane] = quantise_site<SPINOR>(rounded, x);
  } else {
#pragma unroll
    for (int c = 0; c < SPINOR; c++) x[c] = (number)value[c];
  }
  site_write<number, SPINOR>((number *)a.vector.data + h.unit * SPINOR * KAON_LANES, h.lane, x);
}

template <int PRECISION>
KAON_DEVICE void load_spinor(const import_call &a, const here &h, double *value) {
  typedef typename number_of<PRECISION>::type number;
  number x[SPINOR];
  site_read<number, SPINOR>((const number *)a.vector.data + h.unit * SPINOR * KAON_LANES, h.lane,
                            x);
  const float step =
      PRECISION == HALF ? kaon_half_unit(a.vector.scale[h.unit * KAON_LANES + h.lane]) : 1.0f;
#pragma unroll
  for (int c = 0; c < SPINOR; c++)
    value[c] = PRECISION == HALF ? (double)((float)x[c] * step) : (double)x[c];
}

template <int PRECISION>
static __global__ void __launch_bounds__(THREADS)
    import_values_kernel(const __grid_constant__ import_call a) {
  __shared__ double room[THREADS / 32][RECORDS_SHARED_BYTES(SPINOR)];
  double value[SPINOR];
  here h;
  if (!find_here(a, &h)) return;
  records_read<double, SPINOR>(h.record, room[threadIdx.x / 32], value);
  if (a.changes) change_basis(a, value);
  store_spinor<PRECISION>(a, h, value);
}

template <int PRECISION>
static __global__ void __launch_bounds__(THREADS)
    export_values_kernel(const __grid_constant__ import_call a) {
  __shared__ double room[THREADS / 32][RECORDS_SHARED_BYTES(SPINOR)];
  double value[SPINOR];
  here h;
  if (!find_here(a, &h)) return;
  load_spinor<PRECISION>(a, h, value);
  if (a.changes) change_basis(a, value);
  records_write<double, SPINOR>(h.record, room[threadIdx.x / 32], value);
}

/* Sites of any size, component by component. */
template <int PRECISION>
static __global__ void __launch_bounds__(THREADS)
    import_values_any_kernel(const __grid_constant__ import_call a) {
  typedef typename number_of<PRECISION>::type number;
  here h;
  if (!find_here(a, &h)) return;
  number *to = (number *)a.vector.data + h.unit * a.ncomp * KAON_LANES;
  const int pack = kaon_pack(KAON_ACCESS, a.ncomp, (int)sizeof(number));
  float largest = 0;
  for (int c = 0; PRECISION == HALF && h.record != NULL && c < a.ncomp; c++)
    largest = quantise_largest(largest, (float)h.record[c]);
  const float factor = kaon_half_factor(largest);
  for (int c = 0; c < a.ncomp; c++) {
    const double value = h.record != NULL ? h.record[c] : 0;
    to[site_offset(c, h.lane, pack)] =
        PRECISION == HALF ? (number)__float2int_rn((float)value * factor) : (number)value;
  }
  if (PRECISION == HALF) a.vector.scale[h.unit * KAON_LANES + h.lane] = largest;
}

template <int PRECISION>
static __global__ void __launch_bounds__(THREADS)
    export_values_any_kernel(const __grid_constant__ import_call a) {
  typedef typename number_of<PRECISION>::type number;
  here h;
  if (!find_here(a, &h) || h.record == NULL) return;
  const number *from = (const number *)a.vector.data + h.unit * a.ncomp * KAON_LANES;
  const int pack = kaon_pack(KAON_ACCESS, a.ncomp, (int)sizeof(number));
  const float step =
      PRECISION == HALF ? kaon_half_unit(a.vector.scale[h.unit * KAON_LANES + h.lane]) : 1.0f;
  for (int c = 0; c < a.ncomp; c++) {
    const number x = from[site_offset(c, h.lane, pack)];
    h.record[c] = PRECISION == HALF ? (double)((float)x * step) : (double)x;
  }
}

/* Searches the values in memory order. The position of a site matters only for bad values. */
static __global__ void __launch_bounds__(THREADS)
    find_kernel(const __grid_constant__ import_call a) {
  const int64_t numbers = a.numbers * a.ncomp;
  const int64_t step = (int64_t)gridDim.x * THREADS;
  for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < numbers; i += step) {
    if (fabs(a.psi[i]) <= a.limit) continue;
    const int64_t site = i / a.ncomp;
    if (a.pairs && a.parity < 2) { /* skip sites of the other parity */
      const kaon_here h =
          kaon_here_of(&a.sites, a.parity ^ a.odd_origin, (int32_t)(a.first + site / 2));
      if (h.number != 2 * a.first + site) continue; /* a gap, where one parity has one site less */
    }
    atomicMax(a.found, ~(unsigned long long)site);
  }
}

/* back: use the change of basis from inside to psi, S^T. */
static import_call call_of(const kaon_import_args *args, bool back) {
  import_call a = {};
  a.lattice = args->stencil != NULL;
  if (a.lattice) {
    a.sites = kaon_sites_of(args->stencil, args->parity & 1); /* valid for both parities */
    a.odd_origin = args->stencil->odd_origin;
  }
  a.pairs = a.lattice && !args->alone;
  a.parity = args->parity;
  a.ncomp = args->ncomp;
  a.nrhs = args->nrhs;
  a.column = args->column;
  a.nblocks = args->nblocks;
  for (int p = 0; p < 2; p++) a.own[p] = args->sites[p];
  a.numbers = args->numbers;
  a.first = args->first;
  a.end = args->first + args->count;
  a.vector = args->vector;
  a.psi = args->psi;
  a.order = args->order;
  a.limit = args->limit;
  a.found = (unsigned long long *)args->found;
  a.changes = args->basis != NULL;
  if (!a.changes) return a;
  a.scale = args->basis->scale;
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++)
      a.sign[i][j] = back ? args->basis->sign[j][i] : args->basis->sign[i][j];
  return a;
}

static dim3 grid_of(const import_call &a) {
  const int64_t count = a.end - a.first;
  return dim3((unsigned)((count + THREADS - 1) / THREADS), a.lattice && a.parity > 1 ? 2 : 1);
}

#define ENTRY(entry, back)                                                   \
  template <int PRECISION>                                                   \
  static void entry##_in(const kaon_launch *launch, const import_call &a) {  \
    const cudaStream_t stream = (cudaStream_t)launch->queue;                 \
    if (a.ncomp == SPINOR)                                                   \
      entry##_kernel<PRECISION><<<grid_of(a), THREADS, 0, stream>>>(a);      \
    else                                                                     \
      entry##_any_kernel<PRECISION><<<grid_of(a), THREADS, 0, stream>>>(a);  \
  }                                                                          \
  extern "C" void kaon_vector_##entry##_cuda(const kaon_launch *launch,      \
                                             const kaon_import_args *args) { \
    const import_call a = call_of(args, back);                               \
    if (args->precision == DOUBLE)                                           \
      entry##_in<DOUBLE>(launch, a);                                         \
    else if (args->precision == SINGLE)                                      \
      entry##_in<SINGLE>(launch, a);                                         \
    else                                                                     \
      entry##_in<HALF>(launch, a);                                           \
  }
ENTRY(import_values, false)
ENTRY(export_values, true)

extern "C" void kaon_vector_find_unstorable_cuda(const kaon_launch *launch,
                                                 const kaon_import_args *args) {
  const import_call a = call_of(args, false);
  find_kernel<<<FIND_BLOCKS, THREADS, 0, (cudaStream_t)launch->queue>>>(a);
}
