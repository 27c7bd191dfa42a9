/* quda_case.h - a small lattice as a client of QUDA's interface has it: links and spinors in arrays,
 * parameter structs, norms. Beside them kaon's own objects of the same links. Include the cmocka
 * preamble before. */
#ifndef QUDA_CASE_H
#define QUDA_CASE_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <kaon/kaon.h>

#include "quda.h"
#include "tests/util/test_util.h"

enum { CASE_SPINOR = 24, CASE_COLOUR = 6, CASE_MATRIX = 18 };

typedef struct quda_case {
  kaon_context *ctx;
  kaon_lattice *lattice; /* antiperiodic */
  kaon_gauge *gauge;     /* links without signs */
  int extents[4];
  size_t sites;
  double *links[4]; /* QDP order, with the sign of the boundary */
} quda_case;

/* Weak links of both sides, and initQuda(). */
static inline void quda_case_open(quda_case *c, const int extents[4], double eps) {
  const int grid[4] = {1, 1, 1, 1};
  c->sites = 1;
  for (int d = 0; d < 4; d++) c->sites *= (size_t)(c->extents[d] = extents[d]);
  must(NULL, kaon_context_create(NULL, &c->ctx));
  must(c->ctx, kaon_lattice_create(c->ctx, extents, KAON_ANTIPERIODIC, &c->lattice));
  must(c->ctx, kaon_gauge_create(c->lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &c->gauge));
  must(c->ctx, kaon_gauge_weak(c->gauge, eps, 7));
  for (int mu = 0; mu < 4; mu++) c->links[mu] = malloc(c->sites * CASE_MATRIX * sizeof(double));
  must(c->ctx, kaon_gauge_export(c->gauge, KAON_ORDER_QDP, KAON_DOUBLE, (void *const *)c->links));
  const size_t slice = c->sites / (size_t)extents[3] / 2; /* of one parity */
  for (int parity = 0; parity < 2; parity++) {
    double *last = c->links[3] + ((size_t)(parity + 1) * c->sites / 2 - slice) * CASE_MATRIX;
    for (size_t i = 0; i < slice * CASE_MATRIX; i++) last[i] = -last[i];
  }
  initCommsGridQuda(4, grid, NULL, NULL);
  initQuda(-1);
  setVerbosityQuda(QUDA_SUMMARIZE, "", stdout);
}

static inline void quda_case_close(quda_case *c) {
  endQuda();
  for (int mu = 0; mu < 4; mu++) free(c->links[mu]);
  kaon_gauge_destroy(&c->gauge);
  kaon_lattice_destroy(&c->lattice);
  kaon_context_destroy(&c->ctx);
}

static inline QudaGaugeParam quda_case_gauge(const quda_case *c) {
  QudaGaugeParam param = newQudaGaugeParam();
  memcpy(param.X, c->extents, sizeof param.X);
  param.type = QUDA_WILSON_LINKS;
  param.gauge_order = QUDA_QDP_GAUGE_ORDER;
  param.t_boundary = QUDA_ANTI_PERIODIC_T;
  param.anisotropy = 1.0;
  param.cpu_prec = param.cuda_prec = param.cuda_prec_sloppy = QUDA_DOUBLE_PRECISION;
  param.reconstruct = param.reconstruct_sloppy = QUDA_RECONSTRUCT_NO;
  param.gauge_fix = QUDA_GAUGE_FIXED_NO;
  param.ga_pad = 0;
  return param;
}

static inline QudaInvertParam quda_case_invert(QudaDslashType dslash) {
  QudaInvertParam param = newQudaInvertParam();
  param.dslash_type = dslash;
  param.kappa = 0.12;
  param.mass = 0.1;
  param.mu = 0.3;
  param.m5 = -1.4;
  param.Ls = 1;
  param.twist_flavor = QUDA_TWIST_SINGLET;
  param.inv_type = QUDA_CG_INVERTER;
  param.tol = 1e-10;
  param.maxiter = 1000;
  param.reliable_delta = 0.1;
  param.solution_type = QUDA_MAT_SOLUTION;
  param.solve_type = QUDA_DIRECT_PC_SOLVE;
  param.matpc_type = QUDA_MATPC_EVEN_EVEN;
  param.mass_normalization = QUDA_KAPPA_NORMALIZATION;
  param.dagger = QUDA_DAG_NO;
  param.cpu_prec = param.cuda_prec = param.cuda_prec_sloppy = QUDA_DOUBLE_PRECISION;
  param.clover_cpu_prec = param.clover_cuda_prec = QUDA_DOUBLE_PRECISION;
  param.clover_order = QUDA_PACKED_CLOVER_ORDER;
  param.dirac_order = QUDA_DIRAC_ORDER;
  param.gamma_basis = QUDA_DEGRAND_ROSSI_GAMMA_BASIS;
  param.verbosity = QUDA_SILENT;
  return param;
}

static inline double *quda_case_array(size_t reals, uint64_t seed) {
  double *array = calloc(reals, sizeof *array);
  for (size_t i = 0; i < reals && seed != 0; i++) array[i] = test_uniform(&seed);
  return array;
}

static inline double quda_case_norm(const double *x, size_t reals) {
  double sum = 0;
  for (size_t i = 0; i < reals; i++) sum += x[i] * x[i];
  return sqrt(sum);
}

/* |a x - b| / |b| */
static inline double quda_case_deviation(double a, const double *x, const double *b, size_t reals) {
  double sum = 0;
  for (size_t i = 0; i < reals; i++) sum += (a * x[i] - b[i]) * (a * x[i] - b[i]);
  return sqrt(sum) / quda_case_norm(b, reals);
}

/* kaon's own vector of such an array: all sites, or those of one parity. */
static inline kaon_vector_layout quda_case_layout(const kaon_space *space, const quda_case *c,
                                                  kaon_basis basis) {
  kaon_vector_layout layout = KAON_VECTOR_LAYOUT_INIT;
  layout.sites = space == kaon_lattice_spinors(c->lattice, KAON_FULL) ? KAON_SITES_EVEN_ODD
                                                                      : KAON_SITES_ONE_PARITY;
  layout.components = KAON_COMPONENTS_SPIN_COLOUR;
  layout.precision = KAON_DOUBLE;
  layout.basis = basis;
  return layout;
}

static inline kaon_vector *quda_case_vector(const quda_case *c, kaon_parity parity, int columns,
                                            const double *const *arrays, kaon_basis basis) {
  const kaon_space *space = kaon_lattice_spinors(c->lattice, parity);
  const kaon_vector_layout layout = quda_case_layout(space, c, basis);
  const size_t bytes = c->sites * CASE_SPINOR * sizeof(double) / (parity == KAON_FULL ? 1 : 2);
  kaon_vector *v = NULL;
  must(c->ctx, kaon_vector_create(c->ctx, space, KAON_DOUBLE, columns, &v));
  for (int k = 0; k < columns && arrays != NULL; k++)
    must(c->ctx, kaon_vector_import_ordered(v, k, arrays[k], bytes, &layout));
  return v;
}

static inline void quda_case_export(const quda_case *c, const kaon_vector *v, int column,
                                    double *array, kaon_basis basis) {
  const kaon_space *space = kaon_vector_space(v);
  const kaon_vector_layout layout = quda_case_layout(space, c, basis);
  const size_t part = layout.sites == KAON_SITES_EVEN_ODD ? 1 : 2;
  must(c->ctx, kaon_vector_export_ordered(v, column, array,
                                          c->sites * CASE_SPINOR * sizeof(double) / part, &layout));
}

#endif
