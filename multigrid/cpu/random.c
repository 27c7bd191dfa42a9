/* random.c - random numbers in the host's order on the CPU. */
#include "multigrid/cpu/kernels.h"
#if defined(KAON_PREC_DOUBLE)
#include "multigrid/random_numbers.h"

void KAON_EXPORT(kaon_transfer_random)(const kaon_launch *launch, const kaon_random_args *args) {
  const int threads = launch->threads;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t site = 0; site < args->sites; site++) {
    const int64_t whole = kaon_random_site(args, site);
    for (int c = 0; c < args->reals; c += 4)
      kaon_random_numbers(args, whole, c / 4, args->to + site * args->reals + c);
  }
}
#endif
