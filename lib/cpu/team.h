/* team.h - how many threads take part in a call: all of the context's or the caller alone, and
 * never a number between. A team of another size than the last one costs more than small work does:
 * libgomp ends the threads that it has too many of and starts them anew for the next larger team.
 * Nor is a team of one asked for, which would be made anew as well. */
#ifndef KAON_LIB_CPU_TEAM_H
#define KAON_LIB_CPU_TEAM_H

#include "lib/launch.h"

/* worthwhile: the work outweighs waking the others and waiting for them, 3 to 4 us with two threads
 * (kaon bench krylov --matrix laplace2d:N --threads 1, 2: one is as fast until N = 80). */
static inline int kaon_team(const kaon_launch *launch, int worthwhile) {
  return worthwhile ? launch->threads : 1;
}

#endif
