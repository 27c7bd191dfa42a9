/* threads.c - how long the program's threads spin at barriers before they sleep.
 *
 * GNU's OpenMP spins 300000 turns at a barrier unless told otherwise (libgomp's manual,
 * GOMP_SPINCOUNT): with another program on the same processors the thread that is waited for is kept
 * off them by the one that waits, and a solve of 0.02 s took seconds (README.md,
 * The program, has the command). 1000 turns, some
 * microseconds, cover the barriers of a solve that has its processors to itself and give them away
 * soon where it has not. The runtime reads its environment while the program is being loaded, before
 * main: so the program begins once more, with the count set. What a user has set stays. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <unistd.h>

#include "cli.h"

void cli_spin_shortly(char **argv) {
#if defined(_OPENMP) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__)
  if (getenv("OMP_WAIT_POLICY") || getenv("GOMP_SPINCOUNT")) return;
  if (setenv("GOMP_SPINCOUNT", "1000", 1) == 0)
    execv("/proc/self/exe", argv); /* returns only where it failed: then threads spin for long */
#else
  (void)argv;
#endif
}
