/* overlap.h - the pipeline of an operation that reads beyond the faces, and how it hides messages
 * (kaon_overlap in kaon/context.h): gather what the neighbours need; start the messages; do the
 * work that needs none; finish the messages; do the rest. */
#ifndef KAON_LIB_OVERLAP_H
#define KAON_LIB_OVERLAP_H

#include "lib/grid/halo.h"

/* The stages; each receives `user`. boundary completes the sums that interior began. */
typedef struct kaon_stages {
  void (*gather)(void *user);
  /* after_messages: 1: interior must not begin before the messages have arrived. */
  void (*interior)(void *user, int after_messages);
  void (*boundary)(void *user);
  void (*fused)(void *user); /* all stages in one kernel, if kernels send the messages themselves
                                (halo->peer); NULL: not built */
  void *user;
  int lenient; /* 1: use STAGED if FUSED is requested but not possible */
  int sent;    /* 1: kaon_overlap_send has started the messages, so the first stage is done */
} kaon_stages;

/* Chooses FUSED, STAGED or NONE from the context's option for this halo. fused: 1: the kernel is
 * built. Errors: UNSUPPORTED (FUSED is requested and not possible; the same on all ranks). */
kaon_status kaon_overlap_choose(const kaon_halo *halo, int fused, kaon_overlap *how);

/* The option's value for an operation that does not send early: UPDATES counts as AUTO. */
kaon_overlap kaon_overlap_wanted(const kaon_context *ctx);
/* 1: methods that can should send messages before they update vectors that the operation does not
 * read. The same on all ranks. */
int kaon_overlap_ahead(const kaon_context *ctx);
/* Runs only the first stage and starts the messages. Work that does not change x may follow, then
 * kaon_overlap_run with stages->sent, or kaon_halo_abandon. Collective. Errors: COMM. */
kaon_status kaon_overlap_send(kaon_halo *halo, const kaon_stages *stages);

/* Runs all stages. Collective. Errors: COMM; those of kaon_overlap_choose. */
kaon_status kaon_overlap_run(kaon_halo *halo, const kaon_stages *stages);
/* The same with several halos, whose messages are all sent together; not fused. */
kaon_status kaon_overlap_run_all(kaon_halo *const *halos, int n, const kaon_stages *stages);

#endif
