/* try.c - see try.h. */
#include "lib/try.h"

#include <time.h>

kaon_tries kaon_try;

static double seconds(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Time since the stamp before. */
void kaon_stamp(int i) {
  static double wall, cpu;
  if (!kaon_try.stamps) return;
  const double w = seconds(CLOCK_MONOTONIC), c = seconds(CLOCK_PROCESS_CPUTIME_ID);
  kaon_try.wall[i] += w - wall;
  kaon_try.cpu[i] += c - cpu;
  wall = seconds(CLOCK_MONOTONIC);
  cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
}
