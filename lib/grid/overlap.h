/* overlap.h - the pipeline of an operation that reads beyond the faces, and how it hides messages
 * (kaon_overlap in kaon/context.h): gather what the neighbours need; start the messages; work on
 * what needs none; finish; work on the rest. */
#ifndef KAON_LIB_OVERLAP_H
#define KAON_LIB_OVERLAP_H

#include "lib/grid/halo.h"

/* The stages, each handed `user`. boundary completes the sums that interior began. */
typedef struct kaon_stages {
  void (*gather)(void *user);
  void (*interior)(void *user, int after_messages); /* 1: it must not begin before they are there */
  void (*boundary)(void *user);
  void (*fused)(void *user); /* all at once, where the halo's messages are the kernels' own affair
                                (halo->peer); NULL: not built */
  void *user;
  int lenient; /* where FUSED is asked for, STAGED will do */
  int sent;    /* messages are under way (kaon_overlap_send): the first stage is over */
} kaon_stages;

/* What the context's option comes to with this halo: FUSED, STAGED or NONE. fused: it is built.
 * Errors: UNSUPPORTED (FUSED is asked for and not possible; the same on all ranks). */
kaon_status kaon_overlap_choose(const kaon_halo *halo, int fused, kaon_overlap *how);

/* What the option asks of an operation that is not told to send ahead: UPDATES is as AUTO. */
kaon_overlap kaon_overlap_wanted(const kaon_context *ctx);
/* 1: methods that can are to have messages sent before they update vectors that the operation does
 * not ask for. The same on all ranks. */
int kaon_overlap_ahead(const kaon_context *ctx);
/* The first stage by itself, messages started; work that leaves x alone may follow, and then
 * kaon_overlap_run with stages->sent, or kaon_halo_abandon. Collective. Errors: COMM. */
kaon_status kaon_overlap_send(kaon_halo *halo, const kaon_stages *stages);

/* Collective. Errors: COMM; those of kaon_overlap_choose. */
kaon_status kaon_overlap_run(kaon_halo *halo, const kaon_stages *stages);
/* With the messages of several halos, all under way together; not fused. */
kaon_status kaon_overlap_run_all(kaon_halo *const *halos, int n, const kaon_stages *stages);

#endif
