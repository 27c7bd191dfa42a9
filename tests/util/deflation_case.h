/* deflation_case.h - problems for tests of deflation: a clover operator close to a singular one,
 * and spectra with a few small values. Include the cmocka preamble before. */
#ifndef DEFLATION_CASE_H
#define DEFLATION_CASE_H

#include <math.h>
#include <string.h>

#include "solvers/spectra/deflate.h"
#include "tests/util/dirac_case.h"
#include "tests/util/machine.h"
#include "tests/util/shell_operator.h"
#include "tests/util/test_util.h"

static inline kaon_solver_options options_of(kaon_method method, kaon_precision sloppy,
                                             int deflation) {
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  o.method = method;
  o.sloppy = sloppy;
  o.deflation = deflation;
  o.max_iterations = 20000;
  return o;
}

typedef struct {
  dirac_case c;
  kaon_operator *M, *schur;
  kaon_vector *b, *x;
} critical;

/* Clover on rough links of 4^3x8, close to a singular matrix. */
static inline int critical_open(critical *t, int machine, double kappa, int columns) {
  static const int extents[4] = {4, 4, 4, 8};
  memset(t, 0, sizeof *t);
  if (!case_open(&t->c, machine, extents, 1, LINKS_UNIT, 1)) return 0;
  must(t->c.ctx, kaon_gauge_weak(t->c.gauge, 1, 2));
  t->M = case_dirac(&t->c, kappa, 1, 1, KAON_DOUBLE, KAON_RECONSTRUCT_18);
  t->schur = case_even_odd(&t->c, t->M, KAON_EVEN_ODD_SYMMETRIC, KAON_EVEN, 0);
  t->b = case_vector(&t->c, KAON_FULL, KAON_DOUBLE, columns);
  t->x = case_vector(&t->c, KAON_FULL, KAON_DOUBLE, columns);
  must(t->c.ctx, kaon_source_z4(t->b, 1));
  return 1;
}

static inline void critical_close(critical *t) {
  kaon_vector_destroy(&t->b);
  kaon_vector_destroy(&t->x);
  kaon_operator_destroy(&t->schur);
  kaon_operator_destroy(&t->M);
  case_close(&t->c);
}

/* Diagonal: `small` values from `least` to 0.05, in equal ratios, the others evenly in 0.1 to 1. */
typedef struct {
  int small;
  double least;
} two_scales;

static inline void map_two_scales(const void *user, int dagger, size_t n, const shell_complex *x,
                                  shell_complex *y) {
  const two_scales *s = user;
  (void)dagger;
  for (size_t i = 0; i < n; i++) {
    const size_t j = i * 37 % n; /* n has no factor 37 */
    const double ratio = s->small > 1 ? pow(0.05 / s->least, (double)j / (s->small - 1)) : 1;
    y[i] = x[i] * (j < (size_t)s->small ? s->least * ratio : 0.1 + 0.9 * (double)j / (double)n);
  }
}

#endif
