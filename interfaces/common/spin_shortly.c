/* spin_shortly.c - how long threads spin at barriers before they sleep. GNU's OpenMP spins 300000
 * times by default. Where another program shares the processors, spinning threads keep the awaited
 * one from running, and small solves become slow. 1000 spins take some microseconds, enough for an
 * undisturbed solve. The runtime reads GOMP_SPINCOUNT while the program is loaded, before main, so
 * the program executes itself again with it set. A value that the user set stays. With bound
 * threads (OMP_PROC_BIND, OMP_PLACES) the runtime has already bound the first thread; the
 * processors of all places are given back to it first, else the new process would have only one
 * place. */
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
