/* machine.h - what a machine can do at best, measured beside every benchmark figure: STREAM triad
 * with stores past the cache, streaming reads, fused multiply-adds. CPU only. */
#ifndef KAON_BENCH_MACHINE_H
#define KAON_BENCH_MACHINE_H

#include <stddef.h>

typedef struct machine {
  int threads;
  size_t count; /* doubles in each array: four last-level caches, STREAM's rule */
  double *a, *b, *c;
  double fma_gflops[2]; /* double, single; all threads */
  double triad_gbs, read_gbs;
} machine;

/* Allocates the arrays and measures all. 0: out of memory. machine_close in any case. */
int machine_open(int threads, machine *m);
/* Measures the two bandwidths again (a fraction of a second): other loads on the machine come and
 * go, so each figure is held against the bound of its own moment. */
void machine_bandwidth(machine *m);
/* Bytes of the last-level cache; 0: unknown. */
size_t machine_cache(void);
void machine_close(machine *m);

#endif
