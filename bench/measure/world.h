/* world.h - what programs that time solves by hand share: CGNR's system on a device, the even-odd
 * clover operator at kappa 0.13, csw 1, on weak links, one column; clocks. Include the cmocka
 * preamble before. */
#ifndef WORLD_H
#define WORLD_H

#include <string.h>
#include <time.h>

#include "solvers/engine/method.h"
#include "tests/util/dirac_case.h"
#include "tests/util/machine.h"

typedef struct {
  dirac_case c;
  kaon_operator *M, *R;
  kaon_vector *b, *x;
} world;

/* 0: there is no device. */
static inline int open_world(world *w, const int extents[4], kaon_reconstruct reconstruct) {
  memset(w, 0, sizeof *w);
  if (!case_open(&w->c, MACHINE_CUDA, extents, 1, LINKS_WEAK, 5)) return 0;
  w->M = case_dirac(&w->c, 0.13, 1, 1, KAON_DOUBLE, reconstruct);
  w->R = case_even_odd(&w->c, w->M, KAON_EVEN_ODD_SYMMETRIC, KAON_EVEN, 0);
  w->b = case_vector(&w->c, KAON_FULL, KAON_DOUBLE, 1);
  w->x = case_vector(&w->c, KAON_FULL, KAON_DOUBLE, 1);
  must(w->c.ctx, kaon_source_gauss(w->b, 3));
  return 1;
}

static inline void close_world(world *w) {
  kaon_vector_destroy(&w->b);
  kaon_vector_destroy(&w->x);
  kaon_operator_destroy(&w->R);
  kaon_operator_destroy(&w->M);
  case_close(&w->c);
}

static inline double seconds_of(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif
