/* relax_case.h - a matrix in host memory and in a context, and its solves by relaxation. A failure
 * ends the program. Include the cmocka preamble before. */
#ifndef RELAX_CASE_H
#define RELAX_CASE_H

#include <kaon/kaon.h>
#include <kaon/lab.h>

#include "tests/reference/reference.h"
#include "tests/util/machine.h"
#include "tests/util/row_case.h"

typedef struct relax_case {
  kaon_context *ctx;
  kaon_csr *csr;
  ref_rows rows; /* the same */
  ref_complex *values;
  kaon_matrix *matrix;
  kaon_operator *A;
  int columns;
  ref_complex *b, *x; /* [column * rows + row] */
  kaon_vector *right, *solution;
} relax_case;

/* Takes over csr. b = 1 in every row of column 0, noise in the others; machine as in machine.h. 0:
 * the machine has no such kernels. */
int relax_case_open(relax_case *c, int machine, int threads, kaon_csr *csr,
                    kaon_precision precision, int columns);
void relax_case_close(relax_case *c);

/* From x = 0; x is in c->x afterwards. report: columns of them. relaxation may be NULL. */
void relax_case_solve(relax_case *c, kaon_method method, const kaon_relax_options *relax,
                      double tol, int steps, kaon_column_report *report,
                      kaon_relax_report *relaxation);
/* Residuals of column 0 by iteration in the last solve; the caller's, *count of them. */
double *relax_case_history(relax_case *c, kaon_method method, const kaon_relax_options *relax,
                           double tol, int steps, int *count, kaon_relax_report *relaxation);
/* |b - A x| / |b| of a column, on the host. */
double relax_case_residual(const relax_case *c, int column);
/* Its error when computed in the case's precision: a row's sum of k products and b has at most k +
 * 3 roundings (complex numbers: twice as many) of the sum of its terms' magnitudes, with values
 * and b rounded already. The norm is taken in double and adds nothing noticeable. */
double relax_case_rounding(const relax_case *c, int column);

#endif
