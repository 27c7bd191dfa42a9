/* overlap.h - the pipeline of an operation that reads beyond the faces: gather what the neighbours
 * need; start the messages; work on what needs none; finish; work on the rest. */
#ifndef KAON_LIB_OVERLAP_H
#define KAON_LIB_OVERLAP_H

#include "lib/halo.h"

/* The stages, each handed `user`. boundary completes the sums that interior began. */
typedef struct kaon_stages {
  void (*gather)(void *user);
  void (*interior)(void *user);
  void (*boundary)(void *user);
  void *user;
} kaon_stages;

/* Collective. Errors: COMM. */
kaon_status kaon_overlap_run(kaon_halo *halo, const kaon_stages *stages);

#endif
