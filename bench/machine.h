/* machine.h - the limits of a machine, measured in the same run as a benchmark: streaming reads and
 * fused multiply-adds; on the CPU also STREAM triad with stores past the cache, on a device also
 * copies. */
#ifndef KAON_BENCH_MACHINE_H
#define KAON_BENCH_MACHINE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct machine {
  double read_gbs; /* the limit that figures are compared with */
  double triad_gbs,
      copy_gbs;         /* triad: CPU; copy: device, bytes read and written; NaN on the other */
  double fma_gflops[2]; /* double, single; all threads */
  /* the CPU measures its bandwidth again beside each figure */
  int threads;
  size_t count; /* doubles in each array: four last-level caches, STREAM's rule */
  double *a, *b, *c;
} machine;

/* Measures the processor or the current CUDA device ("cpu", "cuda": the name of a backend).
 * sharing: number of processes that measure on this processor at the same time; each takes a share
 * of the arrays. Returns NULL, or a sentence that says what is missing. machine_close in any case.
 */
const char *machine_open(const char *backend, int threads, int sharing, machine *m);
/* Measures the two bandwidths of the processor again, in a fraction of a second, since the load of
 * a machine changes. Figures of a device stay. */
void machine_bandwidth(machine *m);
void machine_close(machine *m);

/* In bench/cuda/limits.cu, where CUDA is built. As machine_open. */
const char *machine_cuda_limits(machine *m);

#ifdef __cplusplus
}
#endif
#endif
