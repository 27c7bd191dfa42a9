/* direct.h - direct solvers of other libraries, as baselines of kaczmarz: UMFPACK (SuiteSparse) on
 * the processor, cuDSS on a device, where the program was built with them. */
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
  int device; /* 1: it runs on the current device */
  /* Analysis, factors and solution; x in host memory. Returns NULL, or what failed. */
  const char *(*solve)(const direct_system *system);
} direct_solver;

/* The solver of the device or of the processor; NULL: none was built in. */
const direct_solver *direct_find(int device);
extern const direct_solver direct_cudss; /* bench/cuda/direct_cudss.c */

#endif
