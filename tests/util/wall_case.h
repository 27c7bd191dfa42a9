/* wall_case.h - domain-wall operators with fixed numbers on both sides, and columns with a fifth
 * dimension, psi[s][site][spin][colour]. Include the cmocka preamble before. */
#ifndef WALL_CASE_H
#define WALL_CASE_H

#include "tests/util/dirac_case.h"

#define WALL_M5 1.8
#define WALL_MASS 0.1
enum { WALL_COLUMNS = 3, WALL_FORMS = 3 }; /* symmetric, asymmetric, M itself */

kaon_operator *wall_operator(dirac_case *c, int ls, kaon_precision precision,
                             kaon_reconstruct reconstruct);
kaon_operator *wall_operator_of(dirac_case *c, double m5, int ls, kaon_precision precision,
                                kaon_reconstruct reconstruct);
/* M, or its reduction to `parity`. The caller destroys both. */
kaon_operator *wall_in_form(dirac_case *c, kaon_operator *M, int form, int parity, int temporal);
ref_domain_wall wall_reference(const dirac_case *c, int ls);

/* Applications to compare: both reductions to both parities, then M; each and its adjoint. */
enum { WALL_APPLICATIONS = 10 };
typedef struct {
  int form, parity, dagger;
} wall_application;
wall_application wall_application_of(int i);
/* Bound of the error of one of them over |x|. */
double wall_bound(int ls, kaon_precision precision, kaon_reconstruct storage);

size_t wall_length(const dirac_case *c, int ls);
ref_complex *wall_random(const dirac_case *c, int ls, uint64_t seed);
/* Sets the sites of the other parity to zero. */
void wall_restrict(const dirac_case *c, int ls, int parity, ref_complex *psi);
kaon_vector *wall_vector(const dirac_case *c, const kaon_space *space, kaon_precision precision,
                         int nrhs);
void wall_import(const dirac_case *c, kaon_vector *v, int k, const ref_complex *psi);
/* Into a zeroed array. */
ref_complex *wall_export(const dirac_case *c, const kaon_vector *v, int k);
/* Random columns: column k is that of seed + k. */
void wall_fill(const dirac_case *c, kaon_vector *v, uint64_t seed);
/* Solves from zero and checks the reports. */
void wall_solve(dirac_case *c, kaon_operator *A, kaon_method method, kaon_precision sloppy,
                double tol, const kaon_vector *b, kaon_vector *x, kaon_column_report *report);

#endif
