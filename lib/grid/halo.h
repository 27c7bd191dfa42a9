/* halo.h - what hops need from other ranks: the messages with a lattice's neighbours for spinors of
 * one precision and column count, declared once and used again. A message is the face's ghosts
 * (kaon_faces in lib/vector/layout.h): 12 reals a site and column in the vector's own precision, and in
 * half behind them the scales, one a site and column. */
#ifndef KAON_LIB_HALO_H
#define KAON_LIB_HALO_H

#include "lib/vector/space.h"

typedef struct kaon_halo {
  struct kaon_halo *next;
  kaon_context *ctx;
  kaon_precision precision;
  int nrhs;
  const kaon_faces *faces; /* whose ghosts they are, */
  int reals;               /* and how many reals each has */
  int64_t bytes;           /* of an exchange that go to other ranks */
  kaon_exchange *exchange; /* of the communicator, or of the device: one of the two */
  kaon_device_exchange *device;
  const kaon_peer_exchange *peer; /* kernels send and wait by themselves; NULL: they do not */
  int under_way;                  /* started, not finished */
  /* By direction of the hop that the ghosts are for; NULL where nothing is partitioned. What is
   * sent for hops in dir goes to the neighbour in the opposite direction. */
  kaon_view send[KAON_DIRS], receive[KAON_DIRS];
} kaon_halo;

/* The lattice's halo for such spinors; made when it is first asked for, owned by the lattice.
 * Collective. Errors: MEMORY, COMM. */
kaon_status kaon_halo_get(kaon_lattice *lattice, kaon_precision precision, int nrhs,
                          kaon_halo **halo);
/* The same for ghosts of `reals` numbers on faces of the lattice's (faces, far). */
kaon_status kaon_halo_get_of(kaon_lattice *lattice, const kaon_faces *faces, int reals,
                             kaon_precision precision, int nrhs, kaon_halo **halo);
kaon_status kaon_halo_start(kaon_halo *halo);
kaon_status kaon_halo_finish(kaon_halo *halo);
/* Takes in what was started and is not asked for any more, on all ranks; what was recorded has not
 * been sent. Errors: COMM. */
kaon_status kaon_halo_abandon(kaon_halo *halo);
void kaon_halos_destroy(kaon_lattice *lattice);

#endif
