/* solve_case.h - a small lattice as a client of QUDA's interface has it: links and spinors in arrays,
 * parameter structs, norms. Beside them kaon's own objects of the same links. Include the cmocka
 * preamble before. */
#ifndef SOLVE_CASE_H
#define SOLVE_CASE_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <kaon/kaon.h>

#ifdef KAON_QUDA_MPI
#include <mpi.h>
#endif

#include "quda.h"
#include "tests/util/test_util.h"

static const double solve_case_csw = 1.3;
enum { CASE_SPINOR = 24, CASE_COLOUR = 6, CASE_MATRIX = 18 };

typedef struct solve_case {
  kaon_context *ctx;
  kaon_lattice *lattice; /* antiperiodic */
  kaon_gauge *gauge;     /* links without signs */
  int extents[4], grid[4], part[4], rank;
  size_t sites;     /* of this rank */
  double *links[4]; /* QDP order, with the sign of the boundary */
} solve_case;

/* Sets grid, rank and context: one rank, or those of MPI, divided in t and then in z. */
static inline void solve_case_ranks(solve_case *c) {
  int ranks = 1;
  c->rank = 0;
#ifdef KAON_QUDA_MPI
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &c->rank);
#endif
  for (int d = 0; d < 4; d++) c->grid[d] = 1;
  c->grid[3] = ranks > 1 ? 2 : 1;
  c->grid[2] = ranks / c->grid[3];
  if (ranks == 1)
    must(NULL, kaon_context_create(NULL, &c->ctx));
  else
    must(NULL, kaon_context_create_ranks(NULL, NULL, c->grid, &c->ctx));
}

static inline double solve_case_sum(double part) {
  double sum = part;
#ifdef KAON_QUDA_MPI
  MPI_Allreduce(&part, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
#endif
  return sum;
}

/* The boundary's sign, in links of QDP order. */
static inline void solve_case_fold(solve_case *c) {
  const size_t slice = c->sites / (size_t)c->part[3] / 2; /* of one parity */
  for (int parity = 0; parity < 2; parity++) {
    double *last = c->links[3] + ((size_t)(parity + 1) * c->sites / 2 - slice) * CASE_MATRIX;
    for (size_t i = 0; i < slice * CASE_MATRIX; i++) last[i] = -last[i];
  }
}

/* Weak links, on both sides. */
static inline void solve_case_links(solve_case *c, double eps, uint64_t seed) {
  int origin[4];
  kaon_lattice_part(c->lattice, NULL, origin, NULL);
  must(c->ctx, kaon_gauge_weak(c->gauge, eps, seed));
  must(c->ctx, kaon_gauge_export(c->gauge, KAON_ORDER_QDP, KAON_DOUBLE, (void *const *)c->links));
  if (origin[3] + c->part[3] == c->extents[3]) solve_case_fold(c);
}

/* Lattice, links and initQuda(). */
static inline void solve_case_open(solve_case *c, const int extents[4], double eps) {
  solve_case_ranks(c);
  memcpy(c->extents, extents, sizeof c->extents);
  must(c->ctx, kaon_lattice_create(c->ctx, extents, KAON_ANTIPERIODIC, &c->lattice));
  kaon_lattice_part(c->lattice, c->part, NULL, NULL);
  c->sites = 1;
  for (int d = 0; d < 4; d++) c->sites *= (size_t)c->part[d];
  must(c->ctx, kaon_gauge_create(c->lattice, KAON_DOUBLE, KAON_RECONSTRUCT_18, &c->gauge));
  for (int mu = 0; mu < 4; mu++) c->links[mu] = malloc(c->sites * CASE_MATRIX * sizeof(double));
  solve_case_links(c, eps, 7);
  if (c->grid[2] == 1) initCommsGridQuda(4, c->grid, NULL, NULL); /* else: QMP's */
  initQuda(-1);
  setVerbosityQuda(QUDA_SUMMARIZE, "", stdout);
}

static inline void solve_case_close(solve_case *c) {
  endQuda();
  for (int mu = 0; mu < 4; mu++) free(c->links[mu]);
  kaon_gauge_destroy(&c->gauge);
  kaon_lattice_destroy(&c->lattice);
  kaon_context_destroy(&c->ctx);
}

static inline QudaGaugeParam solve_case_gauge(const solve_case *c) {
  QudaGaugeParam param = newQudaGaugeParam();
  memcpy(param.X, c->part, sizeof param.X);
  param.type = QUDA_WILSON_LINKS;
  param.gauge_order = QUDA_QDP_GAUGE_ORDER;
  param.t_boundary = QUDA_ANTI_PERIODIC_T;
  param.anisotropy = 1.0;
  param.cpu_prec = param.cuda_prec = param.cuda_prec_sloppy = QUDA_DOUBLE_PRECISION;
  param.reconstruct = QUDA_RECONSTRUCT_NO;
  param.reconstruct_sloppy = QUDA_RECONSTRUCT_12;
  param.gauge_fix = QUDA_GAUGE_FIXED_NO;
  param.ga_pad = 0;
  return param;
}

static inline QudaInvertParam solve_case_invert(QudaDslashType dslash) {
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

static inline double *solve_case_array(size_t reals, uint64_t seed) {
  double *array = calloc(reals, sizeof *array);
  for (size_t i = 0; i < reals && seed != 0; i++) array[i] = test_uniform(&seed);
  return array;
}

static inline double solve_case_norm(const double *x, size_t reals) {
  double sum = 0;
  for (size_t i = 0; i < reals; i++) sum += x[i] * x[i];
  return sqrt(solve_case_sum(sum));
}

/* |a x - b| / |b| */
static inline double solve_case_deviation(double a, const double *x, const double *b,
                                          size_t reals) {
  double sum = 0;
  for (size_t i = 0; i < reals; i++) sum += (a * x[i] - b[i]) * (a * x[i] - b[i]);
  return sqrt(solve_case_sum(sum)) / solve_case_norm(b, reals);
}

/* kaon's own vector of such an array: all sites, or those of one parity. */
static inline kaon_vector_layout solve_case_layout(const kaon_space *space, const solve_case *c,
                                                   kaon_basis basis) {
  kaon_vector_layout layout = KAON_VECTOR_LAYOUT_INIT;
  layout.sites = space == kaon_lattice_spinors(c->lattice, KAON_FULL) ? KAON_SITES_EVEN_ODD
                                                                      : KAON_SITES_ONE_PARITY;
  layout.components = KAON_COMPONENTS_SPIN_COLOUR;
  layout.precision = KAON_DOUBLE;
  layout.basis = basis;
  return layout;
}

static inline kaon_vector *solve_case_vector(const solve_case *c, kaon_parity parity, int columns,
                                             const double *const *arrays, kaon_basis basis) {
  const kaon_space *space = kaon_lattice_spinors(c->lattice, parity);
  const kaon_vector_layout layout = solve_case_layout(space, c, basis);
  const size_t bytes = c->sites * CASE_SPINOR * sizeof(double) / (parity == KAON_FULL ? 1 : 2);
  kaon_vector *v = NULL;
  must(c->ctx, kaon_vector_create(c->ctx, space, KAON_DOUBLE, columns, &v));
  for (int k = 0; k < columns && arrays != NULL; k++)
    must(c->ctx, kaon_vector_import_ordered(v, k, arrays[k], bytes, &layout));
  return v;
}

static inline void solve_case_export(const solve_case *c, const kaon_vector *v, int column,
                                     double *array, kaon_basis basis) {
  const kaon_space *space = kaon_vector_space(v);
  const kaon_vector_layout layout = solve_case_layout(space, c, basis);
  const size_t part = layout.sites == KAON_SITES_EVEN_ODD ? 1 : 2;
  must(c->ctx, kaon_vector_export_ordered(v, column, array,
                                          c->sites * CASE_SPINOR * sizeof(double) / part, &layout));
}

/* Loads the links, as a client does. */
static inline void solve_case_load(solve_case *c) {
  QudaGaugeParam param = solve_case_gauge(c);
  loadGaugeQuda(c->links, &param);
}

/* And a clover term of them. */
static inline void solve_case_clover(void) {
  QudaInvertParam param = solve_case_invert(QUDA_CLOVER_WILSON_DSLASH);
  param.compute_clover = param.compute_clover_inverse = 1;
  param.clover_coeff = param.kappa * solve_case_csw;
  loadCloverQuda(NULL, NULL, &param);
}

/* Factors by which QUDA's normalisations divide, by pc. */
static inline double solve_case_divisor(int pc, int norm, double kappa) {
  if (norm == QUDA_KAPPA_NORMALIZATION) return 1;
  return pc && norm == QUDA_MASS_NORMALIZATION ? 4 * kappa * kappa : 2 * kappa;
}

#endif
