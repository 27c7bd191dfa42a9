/* staggered_case.h - staggered operators on both sides: links of every kind, the library's
 * operator and the reference's. A dirac_case provides machine, lattice and thin links. Include the
 * cmocka preamble before. */
#ifndef STAGGERED_CASE_H
#define STAGGERED_CASE_H

#include "tests/util/dirac_case.h"

typedef struct {
  dirac_case c;
  int improved;
  kaon_gauge *fat, *naik;      /* improved; double, 18 reals */
  ref_complex *u_fat, *u_naik; /* the reference's arrays: thin links where it is not improved */
} staggered_case;

/* 0 where the machine has no staggered kernels. improved: 0 naive; 1 long links are c times SU(3);
 * 2 c times U(3). Fat links are no unitary matrices and have components above 1. */
int staggered_open(staggered_case *s, int machine, const int extents[4], int antiperiodic,
                   int improved);
void staggered_close(staggered_case *s);

/* Transports and ways of hiding messages: a device's in turn. A rank chooses its transport at its
 * first exchange, so a case retains the first one. host: messages go through the host. */
void staggered_choose_way(staggered_case *s, int i, int host);
/* The same links and vectors, but faces of the directions of `mask` use messages from now on. */
void staggered_divide(staggered_case *s, const int extents[4], int mask);

extern const double staggered_naik; /* coefficient of the long links */

kaon_operator *staggered_operator(staggered_case *s, double mass, double epsilon,
                                  kaon_staggered_phases phases, kaon_precision precision,
                                  kaon_reconstruct reconstruct);
ref_staggered staggered_reference(const staggered_case *s, double mass, double epsilon,
                                  kaon_staggered_phases phases);

kaon_vector *staggered_vector(staggered_case *s, kaon_parity parity, kaon_precision precision,
                              int columns);
size_t staggered_size(const staggered_case *s); /* complex numbers of a column on all sites */
/* Random columns, zero on the other parity; freed by case_free_columns. */
ref_complex **staggered_columns(const staggered_case *s, kaon_parity parity, int columns,
                                uint64_t seed);
void staggered_import(staggered_case *s, kaon_vector *v, ref_complex *const *chi);
/* |v - expected| / |expected| of the worst column; what is not on v's sites must be 0 in expected.
 */
double staggered_deviation(staggered_case *s, const kaon_vector *v, ref_complex *const *expected);

#endif
