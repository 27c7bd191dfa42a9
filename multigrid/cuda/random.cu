/* random.cu - random numbers in the host's order on the GPU. A thread makes four numbers of a site,
 * whose 32 bytes are side by side with those of other threads. */
#include "multigrid/cuda/kernels.h"
#if defined(KAON_PREC_DOUBLE)
#include "lib/cuda/queue/dependent.h"
#include "multigrid/random_numbers.h"

enum { RANDOM_THREADS = 256 };

static __global__ void __launch_bounds__(RANDOM_THREADS)
    transfer_random(const __grid_constant__ kaon_random_args a) {
  const int64_t i = (int64_t)blockIdx.x * RANDOM_THREADS + threadIdx.x;
  const int quarters = a.reals / 4;
  const int64_t site = i / quarters;
  double out[4];
  kaon_wait_for_previous();
  if (site >= a.sites) return;
  kaon_random_numbers(&a, kaon_random_site(&a, site), (int)(i % quarters), out);
  double2 *to = (double2 *)(a.to + 4 * i);
  to[0] = make_double2(out[0], out[1]);
  to[1] = make_double2(out[2], out[3]);
}

extern "C" void KAON_EXPORT(kaon_transfer_random)(const kaon_launch *launch,
                                                  const kaon_random_args *args) {
  const int64_t work = args->sites * (args->reals / 4);
  kaon_cuda_launch(launch, transfer_random,
                   (unsigned)((work + RANDOM_THREADS - 1) / RANDOM_THREADS), RANDOM_THREADS, *args);
}
#endif
