/* measure.h - sources and hadron correlators. */
#ifndef KAON_MEASURE_H
#define KAON_MEASURE_H

#include <kaon/vector.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Fill every column k of a full-lattice spinor vector, or of a staggered one. Columns are
 * spin-colour components in order, k = 3 spin + colour in the internal basis, cyclically if there
 * are more than 12 (staggered: colours, cyclically). Sites and slices
 * are the whole lattice's, and so are the numbers that noise is drawn by: with several ranks the
 * source is that of one. Collective. Errors: ARGUMENT, SHAPE, NOT_BUILT, MEMORY. */
/* Point source of norm 1 at `site`. Errors: ARGUMENT (outside the lattice). */
kaon_status kaon_source_point(kaon_vector *source, const int site[4]);
/* 1 on every spatial site of slice t (no gauge fixing is done). */
kaon_status kaon_source_wall(kaon_vector *source, int t);
/* Staggered: 1 on the sites of slice t with even x, y and z, a corner of each cube. */
kaon_status kaon_source_corner(kaon_vector *source, int t);
/* Noise on all sites and components: Z4 ((+-1 +- i)/sqrt 2) or complex Gaussian of unit variance;
 * column k differs from the others; depends on seed, column and site alone. */
kaon_status kaon_source_z4(kaon_vector *source, uint64_t seed);
kaon_status kaon_source_gauss(kaon_vector *source, uint64_t seed);

/* Zero-momentum correlators of a 12-column propagator (kappa-normalised) with source slice t0,
 * shifted so that element 0 is the source slice; arrays of T numbers. pion(t) = sum_x tr S^dag S;
 * rho(t) = 1/3 sum_k of the vector channel gamma_k. pion of a staggered propagator's 3 columns: the
 * Goldstone pion, sum_x tr S^dag S over colours. Collective: sums over all ranks. Errors:
 * ARGUMENT, SHAPE (not 12 columns), NOT_BUILT, MEMORY. */
kaon_status kaon_correlator_pion(const kaon_vector *propagator, int t0, double *pion);
kaon_status kaon_correlator_rho(const kaon_vector *propagator, int t0, double *rho);

/* Staggered quark condensate by noise, tr M^-1 over colours a site, as MILC counts it (PBP): on
 * each parity (2 / V) Re sum over its sites of eta^dagger M^-1 eta, M = 2 mass + D, V all sites.
 * `whole`: the mean of both, Re tr M^-1 / V on average. Errors: of the mean over sources, from
 * their spread; NaN for one source. */
typedef struct kaon_condensate {
  double even, odd, whole;
  double even_error, odd_error, whole_error;
  int sources;
} kaon_condensate;
/*   sources    columns eta with <eta eta^dagger> = 1, as kaon_source_z4 and _gauss make them
 *   solutions  x = M^-1 eta of each, of the same space, precision and columns
 *   columns    even and odd of each column, or NULL
 * Staggered vectors on all sites; both are unchanged. Collective. Errors: ARGUMENT, SHAPE,
 * PRECISION, MEMORY, NOT_BUILT. */
kaon_status kaon_condensate_measure(const kaon_vector *sources, const kaon_vector *solutions,
                                    kaon_condensate *condensate, double (*columns)[2]);

#ifdef __cplusplus
}
#endif
#endif
