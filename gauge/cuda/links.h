/* links.h - shared parts of the kernels on links in double, on the GPU: their arguments, which
 * contain a copy of the stencil, and one thread for each site of a parity. Masked lanes are not
 * touched: they are zero in every field that a kernel writes (gauge_ops.h). */
#pragma once

#include "gauge/cuda/kernels.h"
#include "lib/cuda/memory/sites.h"

/* Threads of a block without sums. Few, because registers are the limit. */
enum { KAON_LINK_THREADS = 128 };

typedef struct links_call {
  kaon_stencil stencil;
  int parity;
  void *links[2];
  double *result;
} links_call;

static inline links_call links_call_of(const kaon_links_args *args) {
  links_call a = {};
  a.stencil = *args->stencil;
  a.parity = args->parity;
  for (int i = 0; i < 2; i++) a.links[i] = args->links[i];
  a.result = args->result;
  return a;
}

/* The number of blocks for `count` threads. */
static inline unsigned link_blocks(int64_t count) {
  return (unsigned)((count + KAON_LINK_THREADS - 1) / KAON_LINK_THREADS);
}

KAON_DEVICE int64_t link_thread(void) {
  return (int64_t)blockIdx.x * KAON_LINK_THREADS + threadIdx.x;
}

KAON_DEVICE const void *const *links_of(const links_call &a) {
  return (const void *const *)a.links;
}
