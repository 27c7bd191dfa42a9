/* direct.h - direct solvers of other libraries, as baselines of bench kaczmarz: UMFPACK
 * (SuiteSparse) on the processor, cuDSS on a device, where the program was built with them. */
#ifndef KAON_BENCH_DIRECT_H
#define KAON_BENCH_DIRECT_H

#include <stdint.h>

/* A real system of `rows` equations, rows as kaon_matrix_rows gives them; x: the result. */
typedef struct direct_system {
  int64_t rows;
  const int64_t *start;
  const int32_t *column;
  const double *value, *b;
  double *x;
} direct_system;

typedef struct direct_solver {
  const char *name;
  int device; /* 1: it works on the device that is current */
  /* Analysis, factors and solution, x to host memory. NULL, or what went wrong, in words. */
  const char *(*solve)(const direct_system *system);
} direct_solver;

/* Those that were built in, `device` ones or the processor's; NULL: none. */
const direct_solver *direct_find(int device);
extern const direct_solver direct_cudss; /* cuda/direct_cudss.c, where that is built */

#endif
