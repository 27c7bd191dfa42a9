/* completion.h - the wait for the snapshot that ends a whole solve (lib/cuda/queue/graph.c). */
#pragma once

#include "lib/cuda/device.h"
#include "lib/cuda/queue/loop.h"

/* Times are in nanoseconds. */
typedef struct kaon_completion {
  kaon_loop_done *loop_done; /* pinned */
  int64_t lasted;            /* usual time of a solve on the device; 0: none yet */
  int64_t lead;              /* added to that for the length of a sleep */
  int late;                  /* sleeps in a row that ended after the snapshot */
  int waits;                 /* waits so far, counted while the lead settles */
} kaon_completion;

/* Call it before the solve is launched. No other solve may be in flight, or its snapshot would be
 * taken for this one. */
void kaon_completion_expect(kaon_completion *completion);
/* Sleeps, or polls if the context's option says so, until the snapshot is there. */
kaon_status kaon_completion_await(const kaon_context *ctx, kaon_completion *completion);
