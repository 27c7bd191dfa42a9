/* spin_shortly.c - how long the program's threads spin at barriers before they sleep.
 *
 * GNU's OpenMP spins 300000 turns at a barrier unless told otherwise (libgomp's manual,
 * GOMP_SPINCOUNT): with another program on the same processors the thread that is waited for is
 * kept off them by the one that waits, and a solve of 0.02 s took seconds (README.md, The program,
 * has the command). 1000 turns, some microseconds, cover the barriers of a solve that has its
 * processors to itself and give them away soon where it has not. The runtime reads its environment
 * while the program is being loaded, before main: so the program begins once more, with the count
 * set. What a user has set stays.
 *
 * Where threads are bound to places (OMP_PROC_BIND, OMP_PLACES) the runtime has bound this first
 * one by then, and what begins once more would take its place for the whole machine and put all
 * threads there: the processors of all places are given back to it first. */
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "interfaces/common/cli.h"

#if defined(_OPENMP) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__)
#define SPINS_LONG

/* To the processors of place `place`; 0: no memory. */
static int add_place(int place, cpu_set_t *all) {
  const int count = omp_get_place_num_procs(place);
  int *ids = malloc((size_t)(count > 0 ? count : 1) * sizeof *ids);
  if (ids == NULL) return 0;
  omp_get_place_proc_ids(place, ids);
  for (int i = 0; i < count; i++)
    if (ids[i] < CPU_SETSIZE) CPU_SET(ids[i], all);
  free(ids);
  return 1;
}

/* 0: this thread stays bound. */
static int leave_place(void) {
  cpu_set_t all;
  CPU_ZERO(&all);
  const int places = omp_get_num_places();
  for (int i = 0; i < places; i++)
    if (!add_place(i, &all)) return 0;
  return places == 0 || sched_setaffinity(0, sizeof all, &all) == 0;
}
#endif

void cli_spin_shortly(char **argv) {
#ifdef SPINS_LONG
  if (getenv("OMP_WAIT_POLICY") || getenv("GOMP_SPINCOUNT") || !leave_place()) return;
  if (setenv("GOMP_SPINCOUNT", "1000", 1) == 0)
    execv("/proc/self/exe", argv); /* returns only where it failed: then threads spin for long */
#else
  (void)argv;
#endif
}
