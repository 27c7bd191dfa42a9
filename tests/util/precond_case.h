/* precond_case.h - what preconditioners of a matrix must compute, by plain loops on the host with
 * the host's factors; matrices and columns copied between both. Include the cmocka preamble
 * before. */
#ifndef PRECOND_CASE_H
#define PRECOND_CASE_H

#include <complex.h>

#include <kaon/kaon.h>

#include "lib/operator/operator_internal.h"
#include "sparse/precond/factors.h"
#include "sparse/order/orderings.h"

typedef double complex number;

void precond_ok(const kaon_context *ctx, kaon_status status);

/* On one rank. window: of kaon_matrix_options. */
kaon_matrix *precond_matrix(kaon_context *ctx, const kaon_csr *csr, int window);
kaon_matrix *precond_matrix_of(kaon_context *ctx, const kaon_csr *csr,
                               const kaon_matrix_options *options);
/* n numbers; real spaces take the real part. */
void precond_import(kaon_vector *v, int column, int64_t n, const number *x);
void precond_export(const kaon_vector *v, int column, int64_t n, number *x);

/* Whether matrices that are Hermitian (or are not) may have that kind. */
int precond_fits(int kind, int hermitian);

/* The factors that the options ask for of these rows as they stand, in double. */
typedef struct precond_host {
  int64_t rows;
  kaon_precond_options options;
  int32_t *order; /* place in the factorisation -> row */
  kaon_factors *factors;
  kaon_inverse_factors inverse;
  kaon_csr *blocks;
} precond_host;
precond_host *precond_host_create(const kaon_csr *csr, const kaon_precond_options *options);
/* Row i of the rows that it was made of is called names[i] from now on. */
void precond_host_rename(precond_host *host, const int32_t *names);
void precond_host_destroy(precond_host **host);
/* z = K x, or K^H x; not the same vector. */
void precond_host_apply(const precond_host *host, int dagger, const number *x, number *z);

#endif
