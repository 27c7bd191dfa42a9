/* square.cu - between vectors and one dense matrix for a whole lattice on the GPU (coarse_ops.h). A
 * thread has one number of the vector, or one column of the matrix. Threads side by side have
 * columns side by side, which are a line of the matrix. */
#include "dslash/coarse/cuda/kernels.h"
#include "dslash/coarse/cuda/product.h"

enum { NORM_THREADS = 64 };

typedef struct square_call {
  int64_t places, rows;
  int reals, pack, nrhs;
  int take; /* 1: from the matrix to the vector */
  const int32_t *order, *reads;
  kaon_view vector;
  double2 *matrix;
  double *norms;
} square_call;

static __global__ void __launch_bounds__(KAON_THREADS)
    coarse_square(const __grid_constant__ square_call a) {
  const int64_t i = (int64_t)blockIdx.x * KAON_THREADS + threadIdx.x, unit = i / a.nrhs;
  const int numbers = a.reals / 2, k = (int)(i % a.nrhs), c = (int)(unit % numbers);
  const int64_t place = unit / numbers;
  kaon_wait_for_previous();
  if (place >= a.places) return;
  real *number = (real *)a.vector.data + kaon_packed_index(place / KAON_LANES, k, 2 * c,
                                                           (int)(place % KAON_LANES), a.nrhs,
                                                           a.reals, KAON_LANES, a.pack);
  const int64_t site = a.order[place];
  if (site < 0) {
    if (a.take) number[0] = number[1] = 0;
    return;
  }
  const int64_t column = (a.reads != NULL ? (int64_t)a.reads[place] * numbers : 0) + k;
  double2 *element = a.matrix + (site * numbers + c) * a.rows + column;
  if (a.take) {
    const double2 z = *element;
    number[0] = (real)z.x;
    number[1] = (real)z.y;
  } else {
    double2 z = *element;
    z.x += (double)number[0];
    z.y += (double)number[1];
    *element = z;
  }
}

static square_call call_of(const kaon_square_args *args) {
  square_call a = {};
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
  return a;
}

static void run(const kaon_launch *launch, const kaon_square_args *args, int take) {
  square_call a = call_of(args);
  const int64_t work = a.places * (a.reals / 2) * a.nrhs;
  a.take = take;
  kaon_cuda_launch(launch, coarse_square, (unsigned)((work + KAON_THREADS - 1) / KAON_THREADS),
                   KAON_THREADS, a);
}

extern "C" void KAON_EXPORT(kaon_coarse_add_to_matrix)(const kaon_launch *launch,
                                                       const kaon_square_args *args) {
  run(launch, args, 0);
}

extern "C" void KAON_EXPORT(kaon_coarse_take_from_matrix)(const kaon_launch *launch,
                                                          const kaon_square_args *args) {
  run(launch, args, 1);
}

#if defined(KAON_PREC_DOUBLE)
static __global__ void __launch_bounds__(NORM_THREADS)
    coarse_column_norms(const __grid_constant__ square_call a) {
  const int64_t j = (int64_t)blockIdx.x * NORM_THREADS + threadIdx.x;
  double sum = 0;
  kaon_wait_for_previous();
  if (j >= a.rows) return;
#pragma unroll 8
  for (int64_t i = 0; i < a.rows; i++) {
    const double2 z = a.matrix[i * a.rows + j];
    sum += hypot(z.x, z.y);
  }
  a.norms[j] = sum;
}

extern "C" void KAON_EXPORT(kaon_coarse_column_norms)(const kaon_launch *launch,
                                                      const kaon_square_args *args) {
  const square_call a = call_of(args);
  kaon_cuda_launch(launch, coarse_column_norms,
                   (unsigned)((a.rows + NORM_THREADS - 1) / NORM_THREADS), NORM_THREADS, a);
}
#endif
