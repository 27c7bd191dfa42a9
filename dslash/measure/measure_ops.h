/* measure_ops.h - kernel table of sources and contractions: one per backend and precision. Vectors
 * are full-lattice spinors. sites: the lexicographic index of the site in every lane, -1 where
 * masked (lib/grid/site_table.h); NULL where kernels compute it. */
#pragma once

#include "lib/core/launch.h"
#include "lib/vector/layout.h"

enum {
  KAON_FILL_ONE,  /* column k: 1 in component k mod 12 of sites first <= index < end, else 0 */
  KAON_FILL_Z4,   /* (+-1 +- i) / sqrt 2 in every component */
  KAON_FILL_GAUSS /* complex Gaussian of unit variance in every component */
};

typedef struct kaon_source_args {
  int64_t nblocks;
  int nrhs;
  int kind;
  const kaon_stencil *stencil;
  const int64_t *sites;
  int64_t first, end;
  uint64_t seed;
  kaon_view out;
} kaon_source_args;

/* density[block * W + lane] = the meson's contraction at the site (lib/math/meson.h), of the 12
 * columns of `propagator`; 0 in masked lanes. */
enum { KAON_MESON_PION, KAON_MESON_RHO };
typedef struct kaon_meson_args {
  int64_t nblocks;
  int meson;
  kaon_view propagator;
  double *density;
} kaon_meson_args;

typedef struct kaon_measure_ops {
  void (*source)(const kaon_launch *launch, const kaon_source_args *args);
  void (*meson)(const kaon_launch *launch, const kaon_meson_args *args);
} kaon_measure_ops;
