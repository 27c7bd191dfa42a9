/* look.h - the look that a whole solve ends in (lib/cuda/graph.c): how it is waited for and taken.
 */
#ifndef KAON_LIB_CUDA_LOOK_H
#define KAON_LIB_CUDA_LOOK_H

#include "lib/cuda/device.h"
#include "lib/cuda/loop.h"

/* Nanoseconds. */
typedef struct kaon_look {
  kaon_loop_arrival *arrival; /* pinned */
  int64_t lasted;             /* the last one, on the device; 0: there was none */
  int64_t lead;               /* how much longer a nap should be than that */
  int late;                   /* naps in a row by whose end it was there */
} kaon_look;

/* Before it is issued. */
void kaon_look_expect(kaon_look *look);
/* Sleeps, or polls where the context's option says so, until it is there. */
kaon_status kaon_look_await(const kaon_context *ctx, kaon_look *look);
/* What a kernel has copied of states (numbers 0) or norms (1); the rest of `host` stays as it is.
 */
void kaon_look_take(const kaon_column_state *copy, int number, int columns,
                    kaon_column_state *host);

#endif
