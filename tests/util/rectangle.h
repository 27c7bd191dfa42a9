/* rectangle.h - systems on the points of a rectangle, and preconditioners for them, as maps of
 * plain arrays (shell_operator.h). */
#ifndef RECTANGLE_H
#define RECTANGLE_H

#include "tests/util/shell_operator.h"

enum { NX = 48, NY = 64, POINTS = NX * NY };

/* ---- equations on a rectangle, five points, zero outside ---- */

enum { CENTRE, WEST, EAST, SOUTH, NORTH, ARMS };
static const int arm_x[ARMS] = {0, -1, 1, 0, 0}, arm_y[ARMS] = {0, 0, 0, -1, 1};

typedef struct {
  const char *name;
  int hermitian;
  double c[POINTS][ARMS];
} equation;

static int neighbour(int i, int arm) {
  const int x = i % NX + arm_x[arm], y = i / NX + arm_y[arm];
  return x < 0 || x >= NX || y < 0 || y >= NY ? -1 : y * NX + x;
}

static inline void map_equation(const void *user, int dagger, size_t n, const shell_complex *x,
                                shell_complex *y) {
  const equation *e = user;
  memset(y, 0, n * sizeof *y);
  for (int i = 0; i < POINTS; i++)
    for (int a = 0; a < ARMS; a++) {
      const int j = neighbour(i, a);
      if (j >= 0) y[dagger ? j : i] += e->c[i][a] * x[dagger ? i : j];
    }
}

/* A diffusion coefficient between 0.1 and 10, the same from both sides of a face. */
static double coefficient(int i, int j) {
  const uint64_t seed = (uint64_t)(i < j ? i : j) * POINTS + (uint64_t)(i < j ? j : i);
  const uint64_t z = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15);
  return pow(10, 2 * ((double)((z ^ z >> 31) >> 11) * 0x1p-53) - 1);
}

/* -div k grad u; Poisson: k = 1; wind: upwind convection, every row times a number of its own. */
static void fill(equation *e, const char *name, int variable, double wind) {
  e->name = name;
  e->hermitian = wind == 0;
  for (int i = 0; i < POINTS; i++) {
    e->c[i][CENTRE] = 0;
    for (int a = WEST; a < ARMS; a++) {
      const int j = neighbour(i, a);
      const double k = variable && j >= 0 ? coefficient(i, j) : 1;
      const double upwind = a == WEST || a == SOUTH ? wind : 0;
      e->c[i][a] = -k - upwind;
      e->c[i][CENTRE] += k + upwind;
    }
    for (int a = 0; a < ARMS && wind > 0; a++) e->c[i][a] *= 0.5 + coefficient(i, i);
  }
}

static equation poisson, layers, convection;

static void make_equations(void) {
  fill(&poisson, "Poisson", 0, 0);
  fill(&layers, "variable", 1, 0);
  fill(&convection, "convection", 0, 0.4);
}

/* ---- preconditioners as maps ---- */

static inline void map_jacobi(const void *user, int dagger, size_t n, const shell_complex *x,
                              shell_complex *y) {
  const equation *e = user;
  (void)dagger;
  for (size_t i = 0; i < n; i++) y[i] = x[i] / e->c[i][CENTRE];
}

/* Symmetric Gauss-Seidel, (D + U)^-1 D (D + L)^-1; all is real, so the adjoint is the transpose. */
static inline void map_sweeps(const void *user, int dagger, size_t n, const shell_complex *x,
                              shell_complex *y) {
  const equation *e = user;
  (void)n;
  for (int i = 0; i < POINTS; i++) {
    shell_complex sum = x[i];
    for (int a = WEST; a < ARMS; a++) {
      const int j = neighbour(i, a);
      const int back = a == WEST ? EAST : a == EAST ? WEST : a == SOUTH ? NORTH : SOUTH;
      if (j >= 0 && j < i) sum -= (dagger ? e->c[j][back] : e->c[i][a]) * y[j];
    }
    y[i] = sum / e->c[i][CENTRE];
  }
  for (int i = 0; i < POINTS; i++) y[i] *= e->c[i][CENTRE];
  for (int i = POINTS - 1; i >= 0; i--) {
    shell_complex sum = y[i];
    for (int a = WEST; a < ARMS; a++) {
      const int j = neighbour(i, a);
      const int back = a == WEST ? EAST : a == EAST ? WEST : a == SOUTH ? NORTH : SOUTH;
      if (j > i) sum -= (dagger ? e->c[j][back] : e->c[i][a]) * y[j];
    }
    y[i] = sum / e->c[i][CENTRE];
  }
}

static inline void map_minus_jacobi(const void *user, int dagger, size_t n, const shell_complex *x,
                                    shell_complex *y) {
  map_jacobi(user, dagger, n, x, y);
  for (size_t i = 0; i < n; i++) y[i] = -y[i];
}

static inline void map_nothing(const void *user, int dagger, size_t n, const shell_complex *x,
                               shell_complex *y) {
  (void)user, (void)dagger, (void)x;
  memset(y, 0, n * sizeof *y);
}

static inline void map_minus_equation(const void *user, int dagger, size_t n,
                                      const shell_complex *x, shell_complex *y) {
  map_equation(user, dagger, n, x, y);
  for (size_t i = 0; i < n; i++) y[i] = -y[i];
}

#endif
