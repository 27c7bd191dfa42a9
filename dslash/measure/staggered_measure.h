/* staggered_measure.h - the staggered parts of sources.c and correlators.c. */
#pragma once

#include "dslash/measure/measure_ops.h"
#include "lib/vector/space.h"

/* 1 if the vector is staggered and has all sites of its lattice. */
int kaon_is_staggered(const kaon_vector *v);
/* Fills the source described by args (kind, first, end, seed). corners: only sites with even x, y,
 * z. */
kaon_status kaon_staggered_fill(kaon_vector *source, const kaon_source_args *args, int corners);
/* Sum over columns and the sites of a slice of |chi|^2. t0 must be in range. */
kaon_status kaon_staggered_pion(const kaon_vector *propagator, int t0, double *pion);
