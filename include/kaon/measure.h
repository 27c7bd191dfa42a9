/** @file measure.h
 * Sources, hadron correlators, quark condensate. */
#ifndef KAON_MEASURE_H
#define KAON_MEASURE_H

#include <kaon/vector.h>

#ifdef __cplusplus
extern "C" {
#endif

/** @name Sources
 * Each function fills all columns of a spinor or staggered vector on all sites. Column k is
 * component k of a site: k = 3 spin + colour in the UKQCD basis, or the colour for staggered
 * vectors. Further columns begin again at component 0. Sites and random numbers count in the whole
 * lattice, so several ranks make the source of one. All are collective. Errors of all: ARGUMENT,
 * SHAPE, NOT_BUILT, MEMORY. */
/** @{ */
/** Point source of norm 1 at `site`. ARGUMENT also: outside the lattice. */
KAON_API kaon_status kaon_source_point(kaon_vector *source, const int site[4]);
/** 1 on every site of slice t. The gauge is not fixed. */
KAON_API kaon_status kaon_source_wall(kaon_vector *source, int t);
/** Staggered: 1 on the sites of slice t with even x, y and z, a corner of each cube. */
KAON_API kaon_status kaon_source_corner(kaon_vector *source, int t);
/** Z4 noise, (+-1 +- i) / sqrt(2), on all sites and components. Depends on seed, column and
 * site. */
KAON_API kaon_status kaon_source_z4(kaon_vector *source, uint64_t seed);
/** Complex Gaussian noise of variance 1, likewise. */
KAON_API kaon_status kaon_source_gauss(kaon_vector *source, uint64_t seed);
/** @} */

/** Pion correlator at zero momentum: `pion[t]` = sum over x of tr S^dag S, T numbers. Element 0 is
 * the source slice `t0`. `propagator` has 12 columns, normalised with kappa. 3 staggered columns
 * give the Goldstone pion, with the trace over colours. All ranks get all numbers. Collective.
 * Errors: ARGUMENT, SHAPE (another number of columns), NOT_BUILT, MEMORY. */
KAON_API kaon_status kaon_correlator_pion(const kaon_vector *propagator, int t0, double *pion);
/** Rho correlator, likewise: `rho[t]` = 1/3 of the sum over k of the vector channel gamma_k. 12
 * columns. Collective. Errors: those of kaon_correlator_pion(). */
KAON_API kaon_status kaon_correlator_rho(const kaon_vector *propagator, int t0, double *rho);

/** Condensate of staggered quarks from noise: tr M^-1 over colours, for each site, with M = 2 mass
 * + D. This is MILC's normalisation (PBP). On each parity it is (2 / V) times the real part of the
 * sum of `eta^dagger M^-1 eta` over the sites of that parity; V is the number of all sites. */
typedef struct kaon_condensate {
  size_t size;
  double even, odd;
  double whole;      /**< mean of both: Re tr M^-1 / V on average */
  double even_error; /**< of the mean, from the spread of the sources; NaN for one source */
  double odd_error, whole_error; /**< likewise */
  int sources;
} kaon_condensate;
/** Initial value. */
#define KAON_CONDENSATE_INIT KAON_SIZED(kaon_condensate)
/** Measures the condensate.
 *
 * - `sources`: columns eta with `<eta eta^dagger> = 1`, as kaon_source_z4() and kaon_source_gauss()
 *   make them
 * - `solutions`: x = M^-1 eta of each, of the same space, precision and columns
 * - `columns`: gets the even and odd part of each column. May be NULL
 *
 * Staggered vectors on all sites; both are unchanged. Collective. Errors: ARGUMENT, SHAPE,
 * PRECISION, MEMORY, NOT_BUILT. */
KAON_API kaon_status kaon_condensate_measure(const kaon_vector *sources,
                                             const kaon_vector *solutions,
                                             kaon_condensate *condensate, double (*columns)[2]);

#ifdef __cplusplus
}
#endif
#endif
