/* timeline.h - when the parts of a divided lattice's hops begin and end, for measurements
 * (tests/measure/hop_timeline.c). A launch of a hop leaves a row of the device's nanoseconds;
 * minima (BEGIN, FIRST) begin at UINT64_MAX, maxima at 0. Nothing is left where nobody asks. */
#ifndef KAON_DSLASH_CUDA_TIMELINE_H
#define KAON_DSLASH_CUDA_TIMELINE_H

#include <stdint.h>

enum {
  TIMELINE_GATHER_BEGIN,
  TIMELINE_GATHER_END,
  TIMELINE_INTERIOR_BEGIN,
  TIMELINE_INTERIOR_END,
  TIMELINE_BOUNDARY_BEGIN, /* of the wait for messages */
  TIMELINE_ARRIVED_FIRST,  /* the first block that has all messages, and the last */
  TIMELINE_ARRIVED_LAST,
  TIMELINE_BOUNDARY_END,
  TIMELINE_EVENTS
};

/* Where the next launch leaves its row, in device memory, and how many rows are free: a context's
 * (lib/core/context_internal.h), set by who measures, not while steps are recorded. */
typedef struct kaon_timeline {
  uint64_t *rows;
  int left;
} kaon_timeline;

#endif
