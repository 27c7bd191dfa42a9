/** @file lattice.h
 * A four-dimensional periodic lattice and the spaces of vectors on it. */
#ifndef KAON_LATTICE_H
#define KAON_LATTICE_H

#include <kaon/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A lattice. It never changes. */
typedef struct kaon_lattice kaon_lattice;
/** A space of vectors: the sites or rows, and the numbers on each. Compared by its address. */
typedef struct kaon_space kaon_space;

/** Boundary condition of fermions in t. */
typedef enum kaon_boundary { KAON_PERIODIC, KAON_ANTIPERIODIC } kaon_boundary;
/** Parity of a site: (x + y + z + t) mod 2, with coordinates in the whole lattice. */
typedef enum kaon_parity { KAON_EVEN, KAON_ODD, KAON_FULL } kaon_parity;

/** Checks whether the ranks of ctx can hold a lattice of `extents` = X, Y, Z, T sites. Each extent
 * is even, from 2 to 4096; a rank holds at most 536870910 sites. Nothing is created. `ctx` NULL:
 * one rank. Local. Errors: ARGUMENT. */
KAON_API kaon_status kaon_lattice_check(const kaon_context *ctx, const int extents[4]);

/** Creates a lattice of `extents` = X, Y, Z, T sites, which kaon_lattice_check() accepts.
 *
 * With several ranks each has an equal part, by the context's grid or else by that of
 * kaon_ranks_grid(). A part may have odd extents and an odd number of sites. `boundary_t` applies
 * to fermions in t; links never carry its sign. Collective. Errors: ARGUMENT (extents, boundary_t,
 * or the grid does not divide the extents); MEMORY; UNSUPPORTED (too large for its tables);
 * COMM. */
KAON_API kaon_status kaon_lattice_create(kaon_context *ctx, const int extents[4],
                                         kaon_boundary boundary_t, kaon_lattice **lattice);
/** Destroys a lattice. Objects that were made from it keep it alive. */
KAON_API void kaon_lattice_destroy(kaon_lattice **lattice);

/** Extents X, Y, Z, T of the whole lattice. Local. */
KAON_API void kaon_lattice_extents(const kaon_lattice *lattice, int extents[4]);
/** Number of sites of the whole lattice. Local. */
KAON_API int64_t kaon_lattice_volume(const kaon_lattice *lattice);
/** This rank's part: its extents, the coordinates of its first site, and the number of ranks in x,
 * y, z, t. Each may be NULL. Local. */
KAON_API void kaon_lattice_part(const kaon_lattice *lattice, int extents[4], int origin[4],
                                int grid[4]);

/** Gathers slice t of the whole lattice on every rank, for output slice by slice.
 * `part[site][reals]` has the numbers of this rank's part. `slice[site][reals]` gets those of all
 * sites (x, y, z) of slice t. In both x runs fastest. They do not overlap. Collective. Errors:
 * ARGUMENT, MEMORY, COMM. */
KAON_API kaon_status kaon_lattice_gather_slice(const kaon_lattice *lattice, int t, int reals,
                                               const double *part, double *slice);

/** Space of Wilson colour-spinors, 12 complex numbers a site, on the sites of `parity`. Owned by
 * the lattice; the same pointer in each call. NULL if the lattice is NULL or the parity is none.
 * Local. */
KAON_API const kaon_space *kaon_lattice_spinors(kaon_lattice *lattice, kaon_parity parity);
/** The same for spinors with a fifth dimension of `ls` sites, 1 to 64, which domain-wall operators
 * act on. A column has `ls` spinors at each site, and host arrays are `double
 * psi[s][site][spin][colour][2]`. With ls = 1 it is the space above. NULL also if a rank
 * would have more than some 2^31 sites times `ls`, or if memory is out. Local. */
KAON_API const kaon_space *kaon_lattice_spinors_5d(kaon_lattice *lattice, int ls,
                                                   kaon_parity parity);
/** The same for staggered vectors, 3 complex numbers a site. Host arrays are `double
 * chi[site][colour][2]`, in #KAON_BASIS_UKQCD, because there is no spin to change. Local. */
KAON_API const kaon_space *kaon_lattice_staggered(kaon_lattice *lattice, kaon_parity parity);

#ifdef __cplusplus
}
#endif
#endif
