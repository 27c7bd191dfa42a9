/* overlap.h - the pipeline of an operation that reads beyond the faces, and how it hides messages
 * (kaon_overlap in kaon/context.h): gather what the neighbours need; start the messages; do the
 * work that needs none; finish the messages; do the rest. */
#pragma once

#include "lib/grid/halo.h"

typedef struct kaon_stages {
  /* Runs a part (KAON_PART_..., lib/core/launch.h) other than ALL. peer: the exchange whose messages the kernel of this part waits for
   * by itself (FUSED: and sends); NULL: none. */
  void (*run)(void *user, int part, const kaon_peer_exchange *peer);
  void *user;
  int fused;   /* 1: FUSED is built. It needs kernels that send messages (halo->peer) */
  int lenient; /* 1: use STAGED if FUSED is requested but not possible */
  int sent;    /* 1: kaon_overlap_send has started the messages, so GATHER is done */
} kaon_stages;

/* Chooses FUSED, STAGED or NONE from the context's option for this halo. fused: 1: the kernel is
 * built. Errors: UNSUPPORTED (FUSED is requested and not possible; the same on all ranks). */
kaon_status kaon_overlap_choose(const kaon_halo *halo, int fused, kaon_overlap *how);

/* The option's value for an operation that does not send early: UPDATES counts as AUTO. */
kaon_overlap kaon_overlap_wanted(const kaon_context *ctx);
/* 1: methods that can should send messages before they update vectors that the operation does not
 * read. The same on all ranks. */
int kaon_overlap_ahead(const kaon_context *ctx);
/* Runs only GATHER and starts the messages. Work that does not change x may follow, then
 * kaon_overlap_run with stages->sent, or kaon_halo_abandon. Collective. Errors: COMM. */
kaon_status kaon_overlap_send(kaon_halo *halo, const kaon_stages *stages);

/* Runs all parts, with the messages of 1 or 2 halos sent together; several are not fused. Counts
 * the exchanges. Collective. Errors: COMM; those of kaon_overlap_choose. */
kaon_status kaon_overlap_run(kaon_halo *const *halos, int count, const kaon_stages *stages);
