/* coarse_case.h - random coarse operators on both sides: the library's, and the reference's on the
 * whole lattice. Include the cmocka preamble before. */
#ifndef COARSE_CASE_H
#define COARSE_CASE_H

#include "dslash/coarse/coarse.h"
#include "lib/vector/space.h"
#include "tests/reference/reference.h"
#include "tests/util/machine.h"
#include "tests/util/test_util.h"

/* The lattice is the caller's context's, which is released with the case. */
typedef struct {
  kaon_context *ctx;
  kaon_lattice *lattice;
  ref_coarse r;
  int reals;
} coarse_case;

void coarse_open(coarse_case *c, kaon_context *ctx, const int extents[4], int reals, uint64_t seed);
void coarse_close(coarse_case *c);
/* Writes this rank's part of the reference's matrices. */
void coarse_import(const coarse_case *c, const kaon_coarse_links *links);
/* The operator, with the matrices first in the precision `links`. */
kaon_operator *coarse_operator(const coarse_case *c, kaon_precision links, kaon_precision precision,
                               int half_matrices);
kaon_vector *coarse_vector(const coarse_case *c, kaon_parity parity, kaon_precision precision,
                           int columns);
/* Column k is random, a function of seed + k and of the site in the whole lattice. */
kaon_vector *coarse_noise(const coarse_case *c, kaon_parity parity, kaon_precision precision,
                          int columns, uint64_t seed);
/* The same on the whole lattice, and its size. */
ref_complex *coarse_random(const coarse_case *c, uint64_t seed);
size_t coarse_size(const coarse_case *c);
/* One column on this rank's part. */
ref_complex *coarse_export(const coarse_case *c, const kaon_vector *v, int column);

#endif
