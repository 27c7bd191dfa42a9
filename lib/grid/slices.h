/* slices.h - reads the sites of a lattice on all ranks in the order of the whole lattice, as files
 * are written. A slice in t is sent to all ranks when its first site is read; a few slices are
 * cached. */
#pragma once

#include "lib/vector/space.h"

/* Returns the `reals` values of a site of this rank, given by its local coordinates. */
typedef void kaon_site_values(const void *user, const int site[4], double *values);

enum {
  KAON_SLICES_CACHED = 3
}; /* a site's slice and its neighbours in t, for files that need
                                    those */

typedef struct kaon_slices {
  const kaon_lattice *lattice;
  kaon_site_values *values;
  const void *user;
  int reals;
  int t[KAON_SLICES_CACHED]; /* -1: empty */
  int next;
  double *cached[KAON_SLICES_CACHED];
  double *piece;      /* the part of one rank */
  kaon_status status; /* the first failure; values read after it are 0 */
} kaon_slices;

/* Collective. Errors: MEMORY. May be closed after success and after failure. */
kaon_status kaon_slices_open(const kaon_lattice *lattice, int reals, kaon_site_values *values,
                             const void *user, kaon_slices *slices);
/* Returns the values of site `number` of the whole lattice. All ranks must read the same sites in
 * the same order. */
const double *kaon_slices_site(kaon_slices *slices, int64_t number);
void kaon_slices_close(kaon_slices *slices);
