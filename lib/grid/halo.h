/* halo.h - the messages with a lattice's neighbours for spinors of one precision and number of
 * columns, declared once and reused. A message holds the ghosts of a face (kaon_faces in
 * lib/vector/layout.h): 12 reals a site and column in the vector's precision. In half precision the
 * scales follow, one a site and column. */
#pragma once

#include "lib/vector/space.h"

typedef struct kaon_halo {
  struct kaon_halo *next;
  kaon_context *ctx;
  kaon_precision precision;
  int nrhs;
  const kaon_faces *faces; /* the faces of these ghosts */
  int reals;               /* reals of a ghost */
  int64_t bytes;           /* sent to other ranks in one exchange */
  kaon_exchange *exchange; /* of the communicator or of the device: one of the two is NULL */
  kaon_device_exchange *device;
  const kaon_peer_exchange *peer; /* kernels send and wait by themselves; NULL: they do not */
  int under_way;                  /* started and not finished */
  /* By direction of the hops that use the ghosts; NULL if the direction is not partitioned. What is
   * sent for hops in dir goes to the neighbour in the opposite direction. */
  kaon_view send[KAON_DIRS], receive[KAON_DIRS];
} kaon_halo;

/* Returns the lattice's halo for such spinors, made on first use and owned by the lattice.
 * Collective. Errors: MEMORY, COMM. */
kaon_status kaon_halo_get(kaon_lattice *lattice, kaon_precision precision, int nrhs,
                          kaon_halo **halo);
/* The same for ghosts of `reals` values on other faces of the lattice (faces, far). */
kaon_status kaon_halo_get_of(kaon_lattice *lattice, const kaon_faces *faces, int reals,
                             kaon_precision precision, int nrhs, kaon_halo **halo);
/* Adds one exchange to the counts of the communicator. */
void kaon_halo_count(const kaon_halo *halo);
kaon_status kaon_halo_start(kaon_halo *halo);
kaon_status kaon_halo_finish(kaon_halo *halo);
/* Receives messages that were started and are no longer needed, on all ranks. Recorded exchanges
 * have sent nothing. Errors: COMM. */
kaon_status kaon_halo_abandon(kaon_halo *halo);
void kaon_halos_destroy(kaon_lattice *lattice);
