/* staggered_measure.h - what sources.c and correlators.c leave to staggered_measure.c. */
#ifndef KAON_DSLASH_STAGGERED_MEASURE_H
#define KAON_DSLASH_STAGGERED_MEASURE_H

#include "dslash/measure/measure_ops.h"
#include "lib/vector/space.h"

/* 1 for vectors on all sites of a lattice. */
int kaon_is_staggered(const kaon_vector *v);
/* The source that args (kind, first, end, seed) say; corners: on sites with even x, y, z alone. */
kaon_status kaon_staggered_fill(kaon_vector *source, const kaon_source_args *args, int corners);
/* sum over columns and a slice's sites of |chi|^2; t0 is in range. */
kaon_status kaon_staggered_pion(const kaon_vector *propagator, int t0, double *pion);

#endif
