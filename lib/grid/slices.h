/* slices.h - a lattice's sites, read on all ranks in the order of the whole lattice: files are
 * written so. A slice in t is handed round when a site of it is first asked for; a few are kept. */
#ifndef KAON_LIB_SLICES_H
#define KAON_LIB_SLICES_H

#include "lib/vector/space.h"

/* The `reals` numbers of one of this rank's sites, given in its own coordinates. */
typedef void kaon_site_values(const void *user, const int site[4], double *values);

enum { KAON_SLICES_CACHED = 3 }; /* a site, and its neighbours in t in a file that wants those */

typedef struct kaon_slices {
  const kaon_lattice *lattice;
  kaon_site_values *values;
  const void *user;
  int reals;
  int t[KAON_SLICES_CACHED]; /* -1: empty */
  int next;
  double *cached[KAON_SLICES_CACHED];
  double *piece;      /* of one rank */
  kaon_status status; /* the first failure: what is read after it is 0 */
} kaon_slices;

/* Collective. Errors: MEMORY. May be closed after any outcome. */
kaon_status kaon_slices_open(const kaon_lattice *lattice, int reals, kaon_site_values *values,
                             const void *user, kaon_slices *slices);
/* The numbers of site `number` of the whole lattice; all ranks ask for the same sites in the same
 * order. */
const double *kaon_slices_site(kaon_slices *slices, int64_t number);
void kaon_slices_close(kaon_slices *slices);

#endif
