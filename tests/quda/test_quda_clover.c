/* test_quda_clover.c - clover terms of QUDA's clients: made from the links, handed back, handed over in
 * every order. The operator of a term is kaon's own, and its determinant in any order is too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "quda.h"
#include "quda_case.h"

static const int extents[4] = {4, 4, 4, 8};
static const double kappa = 0.13, csw = 1.1;
static quda_case c;

static QudaInvertParam parameters(void) {
  QudaInvertParam param;
  memset(&param, 0, sizeof param);
  param.dslash_type = QUDA_CLOVER_WILSON_DSLASH;
  param.kappa = kappa;
  param.clover_csw = csw; /* clover_coeff = 0: kappa csw */
  param.clover_order = QUDA_PACKED_CLOVER_ORDER;
  param.clover_cpu_prec = QUDA_DOUBLE_PRECISION;
  param.clover_location = QUDA_CPU_FIELD_LOCATION;
  param.compute_clover_trlog = 1;
  return param;
}

/* Links with this factor in time, which no closed path sees. */
static void load_links(double complex factor) {
  double *links = quda_case_links(&c, c.gauge, KAON_ORDER_MILC);
  QudaGaugeParam param;
  memset(&param, 0, sizeof param);
  memcpy(param.X, c.local, sizeof param.X);
  param.location = QUDA_CPU_FIELD_LOCATION;
  param.gauge_order = QUDA_MILC_GAUGE_ORDER;
  param.t_boundary = QUDA_PERIODIC_T;
  param.cpu_prec = QUDA_DOUBLE_PRECISION;
  param.anisotropy = 1.0;
  for (size_t i = 0; i < c.sites * 72; i += 2)
    if (i / 18 % 4 == 3) {
      const double complex u = factor * (links[i] + I * links[i + 1]);
      links[i] = creal(u), links[i + 1] = cimag(u);
    }
  loadGaugeQuda(links, &param);
  free(links);
}

/* What the library's own operator has. */
static kaon_operator *own_operator(const double *term) {
  kaon_dirac_options options = KAON_DIRAC_OPTIONS_INIT;
  kaon_operator *M = NULL;
  options.kappa = kappa;
  options.csw = term == NULL ? csw : 0;
  assert_int_equal(term == NULL ? kaon_dirac_create(c.gauge, &options, &M)
                                : kaon_dirac_create_clover(c.gauge, &options, KAON_ORDER_MILC,
                                                           KAON_DOUBLE, term, &M),
                   KAON_OK);
  return M;
}

static void own_logs(double logs[2]) {
  kaon_operator *M = own_operator(NULL);
  for (int parity = 0; parity < 2; parity++) {
    int64_t negative;
    assert_int_equal(kaon_dirac_clover_logdet(M, (kaon_parity)parity, &logs[parity], &negative),
                     KAON_OK);
  }
  kaon_operator_destroy(&M);
}

/* |M x - M' x| / |M x| of a noise vector. */
static double difference(kaon_operator *M, kaon_operator *other) {
  kaon_vector *x = NULL, *y = NULL, *z = NULL;
  double norm[2];
  const kaon_space *space = kaon_lattice_spinors(c.lattice, KAON_FULL);
  double *array = malloc(c.sites * 24 * sizeof *array);
  for (size_t i = 0; i < c.sites * 24; i++) array[i] = (double)(i * 7919 % 1009) / 1009 - 0.5;
  assert_int_equal(kaon_vector_create(c.ctx, space, KAON_DOUBLE, 1, &x), KAON_OK);
  assert_int_equal(kaon_vector_create(c.ctx, space, KAON_DOUBLE, 1, &y), KAON_OK);
  assert_int_equal(kaon_vector_create(c.ctx, space, KAON_DOUBLE, 1, &z), KAON_OK);
  assert_int_equal(kaon_vector_import(x, 0, array, KAON_BASIS_UKQCD), KAON_OK);
  assert_int_equal(kaon_operator_apply(M, KAON_PLAIN, x, y), KAON_OK);
  assert_int_equal(kaon_operator_apply(other, KAON_PLAIN, x, z), KAON_OK);
  assert_int_equal(kaon_vector_norm2(y, &norm[0]), KAON_OK);
  assert_int_equal(kaon_vector_axpy(-1, 0, y, z), KAON_OK);
  assert_int_equal(kaon_vector_norm2(z, &norm[1]), KAON_OK);
  kaon_vector_destroy(&x), kaon_vector_destroy(&y), kaon_vector_destroy(&z);
  free(array);
  return sqrt(norm[1] / norm[0]);
}

/* Element (row, column) of a packed block. */
static double complex element(const double *block, int row, int column) {
  if (row == column) return block[row];
  if (row < column) return conj(element(block, column, row));
  const double *z = block + 6 + 2 * (column * (11 - column) / 2 + row - column - 1);
  return z[0] + I * z[1];
}

/* Largest entry of |A B - 1| of a packed block. */
static double off_identity(const double *a, const double *b) {
  double most = 0;
  for (int i = 0; i < 6; i++)
    for (int j = 0; j < 6; j++) {
      double complex sum = i == j ? -1 : 0;
      for (int k = 0; k < 6; k++) sum += element(a, i, k) * element(b, k, j);
      if (cabs(sum) > most) most = cabs(sum);
    }
  return most;
}

/* The term that is handed back makes kaon's operator. Reading it off the operator costs a change of
 * basis, some 10 roundings of each number; the inverse has the condition number of a block, below
 * 100 here, times 40 of them. */
static void check_made(double complex factor) {
  QudaInvertParam param = parameters();
  double *term = malloc(c.sites * 72 * sizeof *term),
         *inverse = malloc(c.sites * 72 * sizeof *term);
  double logs[2];
  load_links(factor);
  param.return_clover = param.return_clover_inverse = param.compute_clover = 1;
  loadCloverQuda(term, inverse, &param);
  assert_true(param.clover_coeff == kappa * csw);
  own_logs(logs);
  for (int i = 0; i < 2; i++)
    assert_true(fabs(param.trlogA[i] - logs[i]) < 1e-11 * (1 + fabs(logs[i])));
  kaon_operator *M = own_operator(NULL), *other = own_operator(term);
  assert_true(difference(M, other) < 1e-14);
  for (size_t block = 0; block < 2 * c.sites; block++)
    assert_true(off_identity(term + 36 * block, inverse + 36 * block) < 1e-11);
  kaon_operator_destroy(&M), kaon_operator_destroy(&other);
  freeCloverQuda();
  free(term), free(inverse);
}

static void test_terms_are_made_of_links(void **state) {
  QudaInvertParam param = parameters();
  double logs[2];
  (void)state;
  check_made(1.0);
  check_made(cexp(0.1 * I));
  load_links(1.0);
  loadCloverQuda(NULL, NULL, &param);
  own_logs(logs);
  for (int i = 0; i < 2; i++)
    assert_true(fabs(param.trlogA[i] - logs[i]) < 1e-11 * (1 + fabs(logs[i])));
  freeCloverQuda();
}

/* The packed term of the links, from libquda. */
static double *packed(void) {
  QudaInvertParam param = parameters();
  double *term = malloc(c.sites * 72 * sizeof *term);
  load_links(1.0);
  param.return_clover = param.compute_clover = 1;
  loadCloverQuda(term, NULL, &param);
  return term;
}

/* Chroma's numbers: in row r, columns below it one after the other, r (r - 1) / 2 + column. */
static void to_qdpjit(const double *term, double *below, double *diagonal) {
  const size_t half = c.sites / 2;
  for (size_t i = 0; i < c.sites * 2; i++) {
    const size_t parity = i / 2 / half, site = i / 2 % half, chirality = i % 2;
    for (size_t row = 0; row < 6; row++) {
      diagonal[((row * 2 + chirality) * 2 + parity) * half + site] = term[36 * i + row];
      for (size_t column = 0; column < row; column++) {
        const double complex z = element(term + 36 * i, (int)row, (int)column);
        const size_t k = row * (row - 1) / 2 + column;
        below[((k * 2 + chirality) * 2 + parity) * half + site] = creal(z);
        below[(((15 + k) * 2 + chirality) * 2 + parity) * half + site] = cimag(z);
      }
    }
  }
}

/* A term that is handed over has the determinant of the packed one. */
static void test_terms_are_taken_in_other_orders(void **state) {
  double *term = packed(), *other = malloc(c.sites * 72 * sizeof *other);
  float *single = malloc(c.sites * 72 * sizeof *single);
  void *pointers[2] = {other, other + c.sites * 60};
  double logs[2];
  QudaInvertParam param = parameters();
  (void)state;
  own_logs(logs);
  loadCloverQuda(term, NULL, &param);
  for (int i = 0; i < 2; i++) assert_true(fabs(param.trlogA[i] - logs[i]) < 1e-9);
  memcpy(logs, param.trlogA, sizeof logs);
  to_qdpjit(term, pointers[0], pointers[1]);
  param = parameters();
  param.clover_order = QUDA_QDPJIT_CLOVER_ORDER;
  loadCloverQuda(pointers, NULL, &param);
  assert_true(param.trlogA[0] == logs[0] && param.trlogA[1] == logs[1]);
  /* floats: rounding of 6e-8 in each of 12 eigenvalues a site, of size 1 and above 0.1 */
  for (size_t i = 0; i < c.sites * 72; i++) single[i] = (float)term[i];
  param = parameters();
  param.clover_cpu_prec = QUDA_SINGLE_PRECISION;
  loadCloverQuda(single, NULL, &param);
  for (int i = 0; i < 2; i++)
    assert_true(fabs(param.trlogA[i] - logs[i]) < 6e-8 * 12 * 10 * (double)(c.sites / 2));
  freeGaugeQuda();
  freeCloverQuda();
  free(term), free(other), free(single);
}

/* ---- refusals ---- */

static void clover_without_links(void) {
  QudaInvertParam param = parameters();
  loadCloverQuda(NULL, NULL, &param);
}

static void save_without_links(void) {
  QudaGaugeParam param = {.type = QUDA_ASQTAD_LONG_LINKS};
  saveGaugeQuda(&param, &param);
}

static void load_momenta(void) {
  QudaGaugeParam param = {.type = QUDA_MOMENTUM_LINKS};
  loadGaugeQuda(&param, &param);
}

static void loop_in_space(void) {
  double loop[2];
  polyakovLoopQuda(loop, 0);
}

/* Functions that cannot tell of a failure end the process with status 1. None of these calls gets as far as
 * the library, whose objects a child may not use. */
static void test_failures_end_the_process(void **state) {
  void (*const calls[])(void) = {clover_without_links, save_without_links, load_momenta,
                                 loop_in_space};
  (void)state;
  freeGaugeQuda();
  for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
    int status;
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
      calls[i]();
      _exit(7);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
  }
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_terms_are_made_of_links),
                                     cmocka_unit_test(test_terms_are_taken_in_other_orders),
                                     cmocka_unit_test(test_failures_end_the_process)};
  quda_case_start(&argc, &argv, &c);
  quda_case_open(&c, extents);
  /* a field near 1, on which all blocks are positive */
  if (kaon_gauge_weak(c.gauge, 0.2, 3) != KAON_OK) return 1;
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  quda_case_close(&c);
  quda_case_end();
  return failed;
}
