/* dirac_case.h - one lattice with links on both sides: the library's gauge field and the
 * reference's array. Also copies between host arrays and vectors, and CG by the library's public
 * vector functions. Include the cmocka preamble before. */
#ifndef DIRAC_CASE_H
#define DIRAC_CASE_H

#include <kaon/kaon.h>

#include "tests/reference/reference.h"
#include "tests/util/machine.h"
#include "tests/util/test_util.h"

typedef enum { LINKS_UNIT, LINKS_RANDOM, LINKS_WEAK } links_kind;

typedef struct {
  int isa; /* the machine: a kaon_isa, or MACHINE_CUDA */
  kaon_context *ctx;
  kaon_lattice *lattice;
  kaon_gauge *gauge; /* double, 18 reals */
  ref_lattice L;
  ref_complex *u;
  int antiperiodic;
} dirac_case;

extern const char *const isa_names[];       /* by machine */
extern const char *const precision_names[]; /* by kaon_precision */

/* 0: this processor or build lacks the machine or its link kernels. case_open_checked opens in
 * check mode, where fresh memory is poisoned. */
int case_open_checked(dirac_case *c, int isa, const int extents[4], int antiperiodic,
                      links_kind kind, uint64_t seed);
int case_open(dirac_case *c, int isa, const int extents[4], int antiperiodic, links_kind kind,
              uint64_t seed);
void case_close(dirac_case *c);
/* Hands the reference's links (changed by the test) to the gauge field. */
void case_import_links(dirac_case *c);

/* kaon_dirac_create with these numbers. */
kaon_operator *case_dirac(dirac_case *c, double kappa, double csw, double anisotropy,
                          kaon_precision precision, kaon_reconstruct reconstruct);
kaon_operator *case_even_odd(dirac_case *c, kaon_operator *M, kaon_even_odd form,
                             kaon_parity parity, int temporal);
/* The reference's operator of the same numbers; ref_dirac_free releases it. */
ref_dirac case_reference(const dirac_case *c, double kappa, double csw, double anisotropy);

kaon_vector *case_vector(dirac_case *c, kaon_parity parity, kaon_precision precision, int nrhs);
/* psi[k], k < nrhs: full-lattice host spinors; only the vector's parity is read or written. */
void case_import(dirac_case *c, kaon_vector *v, ref_complex *const *psi);
/* One column into a zeroed array. */
ref_complex *case_export(dirac_case *c, const kaon_vector *v, int column);
/* `nrhs` random columns, different ones; case_free_columns releases. */
ref_complex **case_random_columns(const dirac_case *c, int nrhs, uint64_t seed);
void case_free_columns(ref_complex **psi, int nrhs);
/* Sets the sites of the other parity to zero. */
void case_restrict(const dirac_case *c, int parity, ref_complex *psi);

/* |a - b| / |b| of the worst of the columns, comparing v with host columns. */
double case_deviation(dirac_case *c, const kaon_vector *v, ref_complex *const *expected);

/* Solves A x = b (column 0, general A) by CG on A^dag A x = A^dag b to |A^dag r| <= tol |A^dag b|
 * with the public vector functions alone; returns |b - A x| / |b|. */
double case_solve(dirac_case *c, kaon_operator *A, const kaon_vector *b, kaon_vector *x,
                  double tol);

/* Errors in the 2-norm over |x|, from rounding alone: e_hop of D x (without kappa), e_store of
 * storing a spinor, e_clover of A x or A^-1 x over the block's norm.
 * case_rounding: no arrangement of errors exceeds it. case_rounding_rms: what independent errors,
 * each uniform within its bound, add up to on random spinors, where |D x| = 4 |x|; tests on those
 * allow three times as much. */
typedef struct {
  double e_hop, e_store, e_clover;
} rounding;
rounding case_rounding(kaon_precision precision, kaon_reconstruct reconstruct);
rounding case_rounding_rms(kaon_precision precision, kaon_reconstruct reconstruct);

#endif
