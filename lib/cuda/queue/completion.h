/* completion.h - the look that a whole solve ends in (lib/cuda/queue/graph.c): how it is waited for. */
#ifndef KAON_LIB_CUDA_COMPLETION_H
#define KAON_LIB_CUDA_COMPLETION_H

#include "lib/cuda/device.h"
#include "lib/cuda/queue/loop.h"

/* Nanoseconds. */
typedef struct kaon_completion {
  kaon_loop_done *loop_done; /* pinned */
  int64_t lasted;             /* what they usually take on the device; 0: there was none */
  int64_t lead;               /* how much longer a nap should be than that */
  int late;                   /* naps in a row by whose end it was there */
  int waits;                  /* up to those by which the lead is found */
} kaon_completion;

/* Before it is issued: no other is on its way then, or it would be taken for this one. */
void kaon_completion_expect(kaon_completion *completion);
/* Sleeps, or polls where the context's option says so, until it is there. */
kaon_status kaon_completion_await(const kaon_context *ctx, kaon_completion *completion);

#endif
