/* square.cu - between vectors and one dense matrix for a whole lattice on the GPU (coarse_ops.h),
 * and numbers of vectors in the order of its rows. A thread has one number of a column, or one
 * column of the matrix. Threads side by side have columns side by side, which are a line of the
 * matrix. */
#include "dslash/coarse/cuda/kernels.h"
#include "dslash/coarse/cuda/product.h"

/* What is done; the entries of coarse_ops.h. One kernel, since each takes little time. */
enum { ADD, TAKE, COLLECT, NORMS };
enum { NORM_THREADS = 64 }; /* of a block, so that more multiprocessors have one */

typedef struct square_call {
  int what;
  int64_t places, rows;
  int reals, pack, nrhs;
  const int32_t *order, *reads;
  kaon_view vector;
  double2 *matrix;
  double *norms;
  vcomplex *collected;
  const vcomplex *list;
  kaon_gate gate;
} square_call;

KAON_DEVICE void column_norm(const square_call &a, int64_t j) {
  double sum = 0;
  if (j >= a.rows) return;
#pragma unroll 8
  for (int64_t i = 0; i < a.rows; i++) {
    const double2 z = a.matrix[i * a.rows + j];
    sum += hypot(z.x, z.y);
  }
  a.norms[j] = sum;
}

/* Number `number` of column k belongs to this row of the matrix, and to `element` in it. */
KAON_DEVICE void number_move(const square_call &a, int64_t row, int k, real *number,
                             double2 *element) {
  if (a.what == COLLECT) {
    const bool open = inner_gate_open(a.gate, k);
    a.collected[row * a.nrhs + k] = open ? c_make(number[0], number[1]) : c_make(0, 0);
  } else if (a.what == TAKE) {
    const double2 z = *element;
    number[0] = (real)z.x;
    number[1] = (real)z.y;
  } else {
    const double2 z = *element;
    *element = make_double2(z.x + (double)number[0], z.y + (double)number[1]);
  }
}

static __global__ void __launch_bounds__(KAON_THREADS)
    coarse_square(const __grid_constant__ square_call a) {
  const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
  kaon_wait_for_previous();
  if (a.what == NORMS) {
    column_norm(a, i);
    return;
  }
  const int numbers = a.reals / 2, k = (int)(i % a.nrhs);
  const int64_t unit = i / a.nrhs, place = unit / numbers;
  const int c = (int)(unit % numbers);
  if (place >= a.places) return;
  real *number = (real *)a.vector.data + kaon_packed_index(place / KAON_LANES, k, 2 * c,
                                                           (int)(place % KAON_LANES), a.nrhs,
                                                           a.reals, KAON_LANES, a.pack);
  if (a.list != NULL) number = (real *)(a.list + i);
  const int64_t site = a.order[place], row = site * numbers + c;
  const int64_t first = a.reads != NULL ? (int64_t)a.reads[place] * numbers : 0;
  if (site >= 0) {
    number_move(a, row, k, number, a.matrix + row * a.rows + first + k);
  } else if (a.what == TAKE) {
    number[0] = number[1] = 0;
  }
}

static void run(const kaon_launch *launch, const square_call &a) {
  const unsigned threads = (unsigned)(a.what == NORMS ? (int)NORM_THREADS : (int)KAON_THREADS);
  const int64_t work = a.what == NORMS ? a.rows : a.places * (a.reals / 2) * a.nrhs;
  kaon_cuda_launch(launch, coarse_square, (unsigned)((work + threads - 1) / threads), threads, a);
}

static void run_square(const kaon_launch *launch, const kaon_square_args *args, int what) {
  square_call a = {};
  a.what = what;
  a.places = args->blocks * KAON_LANES;
  a.rows = args->rows;
  a.reals = args->reals;
  a.pack = kaon_pack(KAON_ACCESS, args->reals, (int)sizeof(real));
  a.nrhs = args->nrhs;
  a.order = args->order;
  a.reads = args->reads;
  a.vector = args->vector;
  a.matrix = (double2 *)args->matrix;
  a.norms = args->norms;
  run(launch, a);
}

extern "C" void KAON_EXPORT(kaon_coarse_add_to_matrix)(const kaon_launch *launch,
                                                       const kaon_square_args *args) {
  run_square(launch, args, ADD);
}

extern "C" void KAON_EXPORT(kaon_coarse_take_from_matrix)(const kaon_launch *launch,
                                                          const kaon_square_args *args) {
  run_square(launch, args, TAKE);
}

extern "C" void KAON_EXPORT(kaon_coarse_column_norms)(const kaon_launch *launch,
                                                      const kaon_square_args *args) {
  run_square(launch, args, NORMS);
}

extern "C" void KAON_EXPORT(kaon_coarse_collect)(const kaon_launch *launch,
                                                 const kaon_dense_args *args) {
  square_call a = {};
  a.what = COLLECT;
  a.places = args->blocks * KAON_LANES;
  a.reals = args->reals;
  a.pack = kaon_pack(KAON_ACCESS, args->reals, (int)sizeof(real));
  a.nrhs = args->nrhs;
  a.order = args->order;
  a.vector = args->in;
  a.collected = (vcomplex *)args->collected;
  a.list = (const vcomplex *)args->list;
  a.gate = args->gate;
  run(launch, a);
}
