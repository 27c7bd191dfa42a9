/* solve_times.c - where the time of a short solve goes on a CUDA device: whole solves in blocks of
 * several lengths and with several deltas, the time of a step and of a service by themselves, and
 * the remainder for beginning and end; the processor's time beside it. CGNR on the even-odd clover
 * operator, kappa 0.13, csw 1, weak links, one column, to 1e-10. A program to run by hand:
 *
 *  cmake --build <build> --target solve_times; <build>/bench/measure/solve_times */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/measure/world.h"

enum { REPEATS = 60 };

typedef struct {
  double best, mean, cpu; /* seconds; cpu: the mean */
  kaon_column_report report;
} timing;

static timing time_solves(world *w, const kaon_solver_options *o, int block) {
  kaon_solver *s = NULL;
  timing t = {.best = 1e30};
  must(w->c.ctx, kaon_solver_create(w->R, 1, o, &s));
  if (block > 0) s->replay.block = block;
  for (int i = -5; i < REPEATS; i++) {
    must(w->c.ctx, kaon_vector_zero(w->x));
    must(w->c.ctx, kaon_context_synchronise(w->c.ctx));
    const double cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID), begin = seconds_of(CLOCK_MONOTONIC);
    must(w->c.ctx, kaon_solver_solve(s, w->b, w->x, &t.report, NULL));
    const double time = seconds_of(CLOCK_MONOTONIC) - begin;
    if (i < 0) continue;
    if (time < t.best) t.best = time;
    t.mean += time / REPEATS;
    t.cpu += (seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cpu) / REPEATS;
  }
  kaon_solver_destroy(&s);
  return t;
}

static kaon_solver_options options_of(kaon_precision sloppy) {
  kaon_solver_options o = KAON_SOLVER_OPTIONS_INIT;
  o.sloppy = sloppy;
  o.reconstruct = KAON_RECONSTRUCT_12;
  o.stop = KAON_STOP_NORMAL;
  return o;
}

static void print_solve(const char *name, int size, kaon_precision p, const timing *t) {
  printf(
      "%2d^4 double/%-6s %-34s %3d steps %2d updates: best %7.0f us, %5.1f a step; mean %7.0f, "
      "cpu %5.0f (%4.1f %%)\n",
      size, precision_names[p], name, t->report.iterations, t->report.updates, 1e6 * t->best,
      1e6 * t->best / t->report.iterations, 1e6 * t->mean, 1e6 * t->cpu, 100 * t->cpu / t->mean);
}

/* Microseconds a step and a service, from solves that end early, with few services and with many.
 */
static void print_slopes(world *w, int size, kaon_precision p) {
  kaon_solver_options o = options_of(p);
  double step[2], updates[2];
  for (int many = 0; many < 2; many++) {
    timing t[2];
    o.delta = many ? 0.9 : 1e-6;
    for (int i = 0; i < 2; i++) {
      o.max_iterations = i ? 48 : 16;
      t[i] = time_solves(w, &o, many ? 1 : 0);
    }
    step[many] = (t[1].best - t[0].best) / 32;
    updates[many] = (t[1].report.updates - t[0].report.updates) / 32.0;
    if (!many)
      printf("%2d^4 double/%-6s a step %.1f us, all besides of a solve %.0f us\n", size,
             precision_names[p], 1e6 * step[0], 1e6 * (t[0].best - 16 * step[0]));
  }
  printf("%2d^4 double/%-6s a service after every step or two (%.2f a step): %.1f us\n", size,
         precision_names[p], updates[1], 1e6 * (step[1] - step[0]) / (updates[1] - updates[0]));
}

int main(void) {
  static const int sizes[] = {8, 16};
  if (machine_lacks(MACHINE_CUDA)) return 1;
  for (int i = 0; i < 2; i++) {
    const int extents[4] = {sizes[i], sizes[i], sizes[i], sizes[i]};
    world w;
    if (!open_world(&w, extents, KAON_RECONSTRUCT_12)) return 1;
    for (int p = KAON_HALF; p >= KAON_DOUBLE; p--) {
      const kaon_precision sloppy = (kaon_precision)p;
      kaon_solver_options o = options_of(sloppy);
      timing t = time_solves(&w, &o, 0);
      print_solve("", sizes[i], sloppy, &t);
      for (int block = 2; block <= 8; block *= 2) {
        char name[32];
        snprintf(name, sizeof name, "blocks of %d", block);
        t = time_solves(&w, &o, block);
        print_solve(name, sizes[i], sloppy, &t);
      }
      if (p != KAON_DOUBLE)
        for (int k = 0; k < 4; k++) {
          static const double deltas[] = {0.1, 0.03, 0.01, 0.003};
          char name[32];
          o.delta = deltas[k];
          snprintf(name, sizeof name, "delta %g", deltas[k]);
          t = time_solves(&w, &o, 0);
          print_solve(name, sizes[i], sloppy, &t);
        }
      print_slopes(&w, sizes[i], sloppy);
    }
    close_world(&w);
  }
  return 0;
}
