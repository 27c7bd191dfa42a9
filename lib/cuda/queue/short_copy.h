/* short_copy.h - a few bytes from the device to the host: a kernel stores them into the host's memory
 * and then a word that says so, for which the host looks. A copy and an event take some
 * microseconds more: the copy engine is another queue, and has to be told that the kernels before
 * have ended. */
#ifndef KAON_LIB_CUDA_SHORT_COPY_H
#define KAON_LIB_CUDA_SHORT_COPY_H

#include "lib/core/launch.h"

/* The states of two columns go in one. */
enum { KAON_SHORT_COPY_BYTES = 32 << 10 };

/* Pinned memory. */
typedef struct kaon_short_copy {
  uint32_t turn; /* whose bytes are there: of the last call that has ended */
  uint32_t spare[3];
  double bytes[KAON_SHORT_COPY_BYTES / sizeof(double)];
} kaon_short_copy;

typedef struct kaon_short_copy_call {
  const double *from; /* device memory */
  int count;          /* doubles */
  uint32_t turn;
  kaon_short_copy *to;
} kaon_short_copy_call;

#ifdef __cplusplus
extern "C" {
#endif

/* Behind all that is in the stream. */
void kaon_short_copy_send(const kaon_launch *launch, const kaon_short_copy_call *call);

#ifdef __cplusplus
}
#endif
#endif
