/* timeline.h - records when the parts of a partitioned lattice's hops begin and end, for
 * measurements (bench/measure/hop_timeline.c). Each launch of a hop writes a row of device times in
 * nanoseconds. Minima (BEGIN, FIRST) must be UINT64_MAX initially, maxima 0. Nothing is recorded
 * unless requested. */
#pragma once

#include <stdint.h>

enum {
  TIMELINE_GATHER_BEGIN,
  TIMELINE_GATHER_END,
  TIMELINE_INTERIOR_BEGIN,
  TIMELINE_INTERIOR_END,
  TIMELINE_BOUNDARY_BEGIN, /* of the wait for messages */
  TIMELINE_ARRIVED_FIRST,  /* the first block that has all its messages, and the last */
  TIMELINE_ARRIVED_LAST,
  TIMELINE_BOUNDARY_END,
  TIMELINE_EVENTS
};

/* Where the next launch writes its row, in device memory, and how many rows are free. It belongs to
 * a context (lib/core/context_internal.h). The measuring program sets it, but not while steps are
 * recorded. */
typedef struct kaon_timeline {
  uint64_t *rows;
  int left;
} kaon_timeline;
