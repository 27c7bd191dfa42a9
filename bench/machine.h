/* machine.h - what a machine can do at best, measured in the same run as every benchmark figure:
 * streaming reads, and fused multiply-adds; of the CPU also STREAM triad with stores past the
 * cache, of a device also copies. */
#ifndef KAON_BENCH_MACHINE_H
#define KAON_BENCH_MACHINE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct machine {
  double read_gbs;            /* the limit that figures are held against */
  double triad_gbs, copy_gbs; /* CPU; device: bytes read and written. NaN on the other one */
  double fma_gflops[2];       /* double, single; all threads */
  /* of the CPU, whose bandwidth is measured again beside each figure */
  int threads;
  size_t count; /* doubles in each array: four last-level caches, STREAM's rule */
  double *a, *b, *c;
} machine;

/* Measures all, of the processor or of the current CUDA device ("cpu", "cuda": a context's backend
 * name). sharing: how many processes measure on this processor at the same time, 1 or more; their
 * arrays are a share each. NULL: done; else a sentence that says what is missing. machine_close in
 * any case. */
const char *machine_open(const char *backend, int threads, int sharing, machine *m);
/* Measures the processor's two bandwidths again (a fraction of a second): other loads on the
 * machine come and go, so each figure is held against the bound of its own moment. A device is this
 * process's own: its figures stay. */
void machine_bandwidth(machine *m);
void machine_close(machine *m);

/* bench/cuda/limits.cu, where CUDA is built: see machine_open. */
const char *machine_cuda_limits(machine *m);

#ifdef __cplusplus
}
#endif
#endif
