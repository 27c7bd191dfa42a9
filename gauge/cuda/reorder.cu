/* reorder.cu - imports and exports links in the orders of other codes, on the GPU (gauge_ops.h). A
 * thread handles a matrix of the array; a warp reads and writes the matrices in whole rows
 * (lib/cuda/memory/records.h). */
#include "lib/math/link_orders.h"

#include "gauge/cuda/links.h"
#include "lib/cuda/memory/records.h"

typedef struct reorder_call {
  kaon_stencil stencil;
  int order, array;
  int64_t first, count;
  kaon_link_scale scale;
  void *memory;
  void *links[2];
} reorder_call;

template <typename T, bool TAKE>
static __global__ void __launch_bounds__(KAON_LINK_THREADS)
    reorder_kernel(const __grid_constant__ reorder_call a) {
  __shared__ T room[KAON_LINK_THREADS / 32][RECORDS_SHARED_BYTES(18)];
  const int64_t i = link_thread();
  const kaon_stencil *st = &a.stencil;
  T *record = i < a.count ? (T *)a.memory + 18 * i : NULL;
  const int64_t matrix = a.first + (i < a.count ? i : 0);
  const bool transposed = kaon_order_transposed(a.order);
  double value[18], u[18];
  int x[4];
  const int mu = kaon_order_link(a.order, st->extents, st->odd_origin, a.array, matrix, x);
  const int parity = (x[0] + x[1] + x[2] + x[3] + st->odd_origin) & 1;
  const unsigned rank = sites_rank_at(st, x);
  double *block = sites_link_block(st, parity ? a.links[1] : a.links[0], rank, mu);
  const int lane = (int)(rank % KAON_LANES);
  if (TAKE) {
    const double scale = kaon_link_scale_at(&a.scale, x, mu);
    records_read<T, 18>(record, room[threadIdx.x / 32], value);
#pragma unroll
    for (int c = 0; c < 18; c++)
      u[c] = scale * (transposed ? value[kaon_order_element(1, c)] : value[c]);
    if (record != NULL) site_write<double, 18>(block, lane, u);
  } else {
    site_read<double, 18>(block, lane, u);
#pragma unroll
    for (int c = 0; c < 18; c++) value[c] = transposed ? u[kaon_order_element(1, c)] : u[c];
    records_write<T, 18>(record, room[threadIdx.x / 32], value);
  }
}

template <typename T>
static void run(const kaon_launch *launch, const reorder_call &a, int take) {
  const unsigned blocks = link_blocks(a.count);
  const cudaStream_t stream = (cudaStream_t)launch->queue;
  if (take)
    reorder_kernel<T, true><<<blocks, KAON_LINK_THREADS, 0, stream>>>(a);
  else
    reorder_kernel<T, false><<<blocks, KAON_LINK_THREADS, 0, stream>>>(a);
}

extern "C" void KAON_EXPORT(kaon_links_reorder)(const kaon_launch *launch,
                                                const kaon_reorder_args *args) {
  reorder_call a = {};
  a.stencil = *args->stencil;
  a.order = args->order;
  a.array = args->array;
  a.first = args->first;
  a.count = args->count;
  a.scale = args->scale;
  a.memory = args->memory;
  for (int p = 0; p < 2; p++) a.links[p] = args->links[p];
  if (args->single)
    run<float>(launch, a, args->take);
  else
    run<double>(launch, a, args->take);
}
