/* short_copy.h - copies a few bytes from the device to the host. A kernel stores them into host
 * memory and then a sequence number, which the host polls. A copy and an event would take some
 * microseconds more: the copy engine is another queue, and must be told that the previous kernels
 * have ended. */
#pragma once

#include "lib/core/launch.h"

/* Enough for the states of two columns. */
enum { KAON_SHORT_COPY_BYTES = 32 << 10 };

/* In pinned memory. */
typedef struct kaon_short_copy {
  uint32_t turn; /* sequence number of the last call that has ended */
  uint32_t spare[3];
  double bytes[KAON_SHORT_COPY_BYTES / sizeof(double)];
} kaon_short_copy;

typedef struct kaon_short_copy_call {
  const double *from; /* device memory */
  int count;          /* number of doubles */
  uint32_t turn;
  kaon_short_copy *to;
} kaon_short_copy_call;

KAON_BEGIN_C

/* Runs after all that is in the stream. */
void kaon_short_copy_send(const kaon_launch *launch, const kaon_short_copy_call *call);

KAON_END_C
