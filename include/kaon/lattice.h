/* lattice.h - a four-dimensional periodic lattice and the vector spaces on it. */
#ifndef KAON_LATTICE_H
#define KAON_LATTICE_H

#include <kaon/context.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kaon_lattice kaon_lattice;
typedef struct kaon_space kaon_space;

typedef enum kaon_boundary { KAON_PERIODIC, KAON_ANTIPERIODIC } kaon_boundary;
typedef enum kaon_parity { KAON_EVEN, KAON_ODD, KAON_FULL } kaon_parity;

/* Whether the ranks of ctx can hold a lattice of `extents` = X, Y, Z, T sites: each even, from 2 to
 * 4096, at most 536870910 sites a rank (31-bit tables of 8 neighbours a site). Nothing is made. ctx
 * may be NULL: one rank (the sentence is then kaon_last_error(NULL)'s). Not collective. Errors:
 * ARGUMENT. */
kaon_status kaon_lattice_check(const kaon_context *ctx, const int extents[4]);

/* Creates the lattice of `extents` = X, Y, Z, T sites, which kaon_lattice_check accepts. With
 * several ranks each has an equal part, whose extents and number of sites may be odd, by the
 * context's grid or, if it was given none, by kaon_ranks_grid's (kaon/ranks.h). A site's parity is
 * that of its coordinates in the whole lattice. boundary_t is what fermions see in t; links never
 * carry it. Immutable; objects made from it keep it alive. *lattice is NULL on failure. Collective.
 * Errors: ARGUMENT (a NULL, extents, boundary_t, extents that the grid does not divide into such
 * parts), MEMORY, UNSUPPORTED (too large for its tables), COMM. */
kaon_status kaon_lattice_create(kaon_context *ctx, const int extents[4], kaon_boundary boundary_t,
                                kaon_lattice **lattice);
/* Lets go of it and sets *lattice to NULL; NULL is allowed. */
void kaon_lattice_destroy(kaon_lattice **lattice);

/* X, Y, Z, T of the whole lattice. */
void kaon_lattice_extents(const kaon_lattice *lattice, int extents[4]);
/* All sites, of all ranks. */
int64_t kaon_lattice_volume(const kaon_lattice *lattice);
/* This rank's part: its extents, the coordinates of its first site, and how many ranks there are in
 * x, y, z, t; each may be NULL. Not collective. */
void kaon_lattice_part(const kaon_lattice *lattice, int extents[4], int origin[4], int grid[4]);

/* Slice t of the whole lattice, on every rank, of numbers of which each rank has its own sites':
 * part[site][reals] of this rank's part, slice[site][reals] of X * Y * Z sites, both x fastest. For
 * what is written slice by slice. Collective. Errors: ARGUMENT, MEMORY, COMM. */
kaon_status kaon_lattice_gather_slice(const kaon_lattice *lattice, int t, int reals,
                                      const double *part, double *slice);

/* The space of Wilson colour-spinors (12 complex numbers a site) on the sites of `parity`. Owned by
 * the lattice: the same pointer each time, so spaces are compared by identity. NULL, which
 * kaon_vector_create refuses, for no lattice or a parity that is none. */
const kaon_space *kaon_lattice_spinors(kaon_lattice *lattice, kaon_parity parity);
/* The same of staggered vectors, three colours (complex numbers) a site; host arrays are `double
 * chi[site][colour][2]`, in KAON_BASIS_UKQCD as there is no spin to change. */
const kaon_space *kaon_lattice_staggered(kaon_lattice *lattice, kaon_parity parity);

#ifdef __cplusplus
}
#endif
#endif
